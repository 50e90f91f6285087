"""Audits in Python: the command's figures as frames, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest
import yaml

import quati_pool as qp
from quati_pool.commands.audit import audit as command
from quati_pool.commands.audit.asking import Asked
from quati_pool.text.display_width import columns
from tests.cli.conftest import Cli
from tests.reporting.audit_reports import STUFFED, report

pytestmark = pytest.mark.slow

SMALL: dict[str, Any] = {"probes": ["stuffing", "repeat"], "pairs": 20}


def test_the_results_are_those_of_the_command(changeable: qp.Collection, cli: Cli) -> None:
    first = changeable.audit("lexical", **SMALL)
    assert first.judges == ("lexical",)
    assert first.cost == 0
    found = changeable.audit("lexical", **SMALL)
    arguments = ("audit", "lexical", "-c", changeable.path, "--probe", "stuffing", "--probe", "repeat", "--pairs", 20)
    assert json.loads(cli(*arguments, "--format", "json").out) == found.to_dict()
    assert cli(*arguments, "--format", "latex").out == found.to_latex()


def test_frames_have_a_row_per_probe_variant_and_example(changeable: qp.Collection) -> None:
    found = changeable.audit(**SMALL)
    data = found.to_dict()
    assert found.probes.probe.tolist() == ["stuffing", "repeat"]
    assert found.to_frame().equals(found.probes)
    for row, one in zip(found.probes.itertuples(), data["probes"], strict=True):
        assert (row.judge, row.danger, row.verdict, row.n) == ("lexical", one["danger"], one["verdict"], one["n"])
        assert (row.fooled, row.share) == (one["fooled"], one["share"])
        assert (row.share_low, row.share_high) == (one["low"], one["high"])
        assert (row.excess, row.excess_low, row.excess_high) == tuple(one["excess"].values())
        assert (row.fooled_by, row.controls_move) == (", ".join(one["fooled_by"]), one["controls_move"])
        assert (row.bound, row.ungraded, row.problem) == (one["bound"], one["ungraded"], "")
        assert pd.isna(row.control) == (one["control"] is None)
    variants = [
        (one["probe"], each["variant"], each["n"], each["fooled"]) for one in data["probes"] for each in one["variants"]
    ]
    assert list(found.variants[["probe", "variant", "n", "fooled"]].itertuples(index=False, name=None)) == variants
    worst = [(one["probe"], each) for one in data["probes"] for each in one["worst"]]
    assert len(found.worst) == len(worst) > 0
    for row, (probe, each) in zip(found.worst.itertuples(), worst, strict=True):
        assert (row.probe, row.query_id, row.doc_id, row.before, row.after) == (
            probe, each["query_id"], each["doc_id"], each["before"], each["after"],
        )  # fmt: skip
        assert (row.text, row.changed_text) == (each["original"]["text"], each["changed"]["text"])
        assert (row.control, row.control_text) == (each["control_grade"], each["control"]["text"])
    assert [str(found.worst.dtypes[name]) for name in ("doc_id", "before", "people")] == ["str", "int64", "Int64"]


def test_a_probe_that_cannot_be_used_says_why(changeable: qp.Collection) -> None:
    [row] = changeable.audit("lexical", probes="language").probes.itertuples()
    assert (row.verdict, row.n) == ("not asked", 0)
    assert row.problem.startswith("no translations")
    assert pd.isna(row.share)


def test_the_answer_prints_within_a_screen(changeable: qp.Collection) -> None:
    found = changeable.audit("lexical", **SMALL)
    lines = str(found).splitlines()
    assert 3 < len(lines) <= 40
    assert max(map(columns, lines)) <= 80
    assert "keyword stuffing" in found._repr_html_()


def test_a_plan_asks_nothing(changeable: qp.Collection, cli: Cli) -> None:
    found = changeable.audit("lexical", dry_run=True, **SMALL)
    assert not (changeable.folder / "audits").exists()
    arguments = ("audit", "lexical", "-c", changeable.path, "--dry-run", "--probe", "stuffing", "--probe", "repeat")
    assert json.loads(cli(*arguments, "--pairs", 20, "--format", "json").out) == found.to_dict()
    [row] = found.to_frame().itertuples()
    assert (row.audited, row.judge, row.texts) == ("lexical", "lexical", row.to_ask)


def test_grades_next_to_peoples(changeable: qp.Collection, cli: Cli) -> None:
    found = changeable.audit("lexical", pairs=5, people="sample-gold", measure="P@5")
    arguments = ("audit", "lexical", "-c", changeable.path, "--pairs", 5, "--people", "sample-gold", "--measure", "P@5")
    data = json.loads(cli(*arguments, "--format", "json").out)
    assert {**found.to_dict(), "asked": 0, "runs": []} == {**data, "runs": []}
    assert len(found.grades) == len(data["grade_lines"]) > 4
    for row, line in zip(found.grades.itertuples(), data["grade_lines"], strict=True):
        assert (row.judge, row.danger, row.verdict, row.of) == ("lexical", line["danger"], line["verdict"], line["of"])
        assert (row.seen, row.bound, row.n, row.advice) == (line["seen"], line["bound"], line["n"], line["advice"])
        assert (pd.isna(row.low), pd.isna(row.high)) == (line["low"] is None, line["high"] is None)
    assert [str(found.grades.dtypes[name]) for name in ("seen", "n", "of")] == ["float64", "int64", "str"]


def test_runs_families_and_a_judges_family_may_be_given(changeable: qp.Collection) -> None:
    (changeable.folder / "families.tsv").write_text("bm25s\tterms\nlsa\tothers\nrrf\tothers\n", encoding="utf-8")
    runs = [changeable.folder / "runs" / f"{tag}.trec.gz" for tag in ("bm25s", "lsa", "rrf")]
    data = changeable.audit(
        "lexical", pairs=2, people="sample-gold", runs=runs, families=changeable.folder / "families.tsv",
        judge_families={"lexical": "terms"},
    ).to_dict()  # fmt: skip
    assert data["order"]["systems"] == 3
    assert data["judge_family"] == {"family": "terms", "guessed": False}
    assert data["kinship"][0]["systems"] == {"bm25s": "family terms"}


def test_which_of_two_judges_to_take(changeable: qp.Collection, cli: Cli) -> None:
    pool = yaml.safe_load(changeable.path.read_text(encoding="utf-8"))
    pool["judges"]["other"] = pool["judges"]["lexical"]
    changeable.path.write_text(yaml.safe_dump(pool, allow_unicode=True), encoding="utf-8")
    both = qp.open(changeable.folder, progress=False)
    both.judge("other")
    both.audit("lexical", "other", pairs=5)
    found = both.audit("lexical", "other", compare=True, pairs=5, people="sample-gold")
    arguments = ("audit", "--compare", "lexical", "other", "-c", both.path, "--pairs", 5, "--people", "sample-gold")
    assert json.loads(cli(*arguments, "--format", "json").out) == found.to_dict()
    assert cli(*arguments, "--format", "latex").out == found.to_latex()
    assert (found.judges, found.take, found.by) == (("lexical", "other"), None, None)
    assert str(found).startswith("Take neither lexical nor other: ")
    assert found.figures.figure.tolist() == ["order", "level", "kappa"]
    assert found.figures.difference.tolist() == [0, 0, 0]
    [row] = found.dangers[found.dangers.danger == "keyword stuffing"].itertuples()
    assert (row.first, row.second, row.difference, row.same_texts, row.shown_of) == ("fooled", "fooled", 0, True, "")
    with pytest.raises(qp.QuatiPoolError, match="compare=True takes two judges, and 1 is named"):
        both.audit("lexical", compare=True)


def test_judges_to_which_an_ended_run_did_not_come_are_named(
    changeable: qp.Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = report(STUFFED, judge="a", runs=[Asked("a", 5, 7, error=qp.QuatiPoolError("the key is refused"))])
    monkeypatch.setattr(command, "audit", lambda *asked: [ended])
    with pytest.raises(qp.QuatiPoolError, match="the key is refused") as caught:
        changeable.audit("a", "b", "c")
    assert caught.value.__notes__ == ["the run ended before it came to b and c"]
    with pytest.raises(qp.QuatiPoolError) as alone:
        changeable.audit("a")
    assert alone.value is caught.value


@pytest.mark.parametrize(
    ("judges", "options", "message"),
    [
        (["lexical"], {"people": "nobody"}, "there is no labeler 'nobody'"),
        (["lexical"], {"probes": "repeat", "measure": "P@5"}, "compare grades, which probes leave out"),
        (["lexical"], {"dry_run": True, "runs": "a.trec"}, "compare grades, which dry_run leaves out"),
        (["lexical"], {"judge_families": {"lexcal": "a"}}, "judge_families has 'lexcal', which is not audited"),
        (["lexcal"], {}, "there is no judge 'lexcal'; did you mean 'lexical'"),
        (["lexical"], {"probes": "stufing"}, "did you mean 'stuffing'"),
        (["lexical"], {"pairs": 0}, "pairs is 0; give how many pairs each probe changes, such as 100"),
        (["sample-gold"], {}, "sample-gold is a label file"),
    ],
)
def test_bad_arguments_are_refused(
    changeable: qp.Collection, judges: list[str], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(qp.QuatiPoolError, match=message):
        changeable.audit(*judges, **options)
