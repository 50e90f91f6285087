"""Audits in Python: the command's figures as frames, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

import quati_pool as qp
from quati_pool.text.display_width import columns
from tests.cli.conftest import Cli

SMALL: dict[str, Any] = {"probes": ["stuffing", "repeat"], "pairs": 20}


def test_the_results_are_those_of_the_command(changeable: qp.Collection, cli: Cli) -> None:
    first = changeable.audit("lexical", **SMALL)
    assert first.judges == ("lexical",)
    assert first.cost == 0
    found = changeable.audit("lexical", **SMALL)
    command = ("audit", "lexical", "-c", changeable.path, "--probe", "stuffing", "--probe", "repeat", "--pairs", 20)
    assert json.loads(cli(*command, "--format", "json").out) == found.to_dict()
    assert cli(*command, "--format", "latex").out == found.to_latex()


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
    command = ("audit", "lexical", "-c", changeable.path, "--dry-run", "--probe", "stuffing", "--probe", "repeat")
    assert json.loads(cli(*command, "--pairs", 20, "--format", "json").out) == found.to_dict()
    [row] = found.to_frame().itertuples()
    assert (row.audited, row.judge, row.texts) == ("lexical", "lexical", row.to_ask)


@pytest.mark.parametrize(
    ("judges", "options", "message"),
    [
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
