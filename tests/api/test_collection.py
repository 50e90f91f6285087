"""A collection in Python: its figures are the command line's, its frames round-trip, its results print and escape."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.metrics import cohen_kappa_score

import quati_pool as qp
from quati_pool.reporting.tables.evaluate import tables as evaluation_tables
from quati_pool.text.display_width import columns
from tests.cli.conftest import Cli

DRAWS = 50


def frame_of(data: list[dict[str, Any]], names: list[str]) -> list[list[Any]]:
    return [[row[name] for name in names] for row in data]


def rows_of(frame: pd.DataFrame, names: list[str]) -> list[list[Any]]:
    """The rows as JSON has them: None for NaN."""
    return frame[names].astype(object).where(frame[names].notna(), None).to_numpy().tolist()


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        (["labels"], lambda c: c.coverage()),
        (["labels", "lexical", "--missing"], lambda c: c.coverage("lexical", missing=True)),
        (["agree", "--draws", DRAWS], lambda c: c.agree(draws=DRAWS)),
        (["evaluate", "--draws", DRAWS], lambda c: c.evaluate(draws=DRAWS)),
        (
            ["evaluate", "lexical", "--baseline", "lsa", "--measures", "RR", "--draws", DRAWS, "--seed", 3],
            lambda c: c.evaluate("lexical", baseline="lsa", measures="RR", draws=DRAWS, seed=3),
        ),
        (["judge", "lexical", "--dry-run"], lambda c: c.judge("lexical", dry_run=True)),
        (["judge", "lexical"], lambda c: c.judge("lexical")),
        (["build"], lambda c: c.build()),
        (["build", "--plan"], lambda c: c.plan()),
        (["status"], lambda c: c.status()),
    ],
)
@pytest.mark.slow
@pytest.mark.usefixtures("sketched")
def test_results_are_those_of_the_command(
    changeable: qp.Collection, cli: Cli, arguments: list[Any], call: Callable[[qp.Collection], Any]
) -> None:
    result = call(changeable)
    found = result.to_dict()
    printed = json.loads(cli(*arguments, "-c", changeable.path, "--format", "json").out)
    for data in (found, printed):
        data.pop("seconds", None) if arguments[0] == "judge" else None
    assert found == printed
    latex = cli(*arguments, "-c", changeable.path, "--format", "latex").out
    # The time that a run took is printed.
    assert arguments == ["judge", "lexical"] or result.to_latex() == latex


def test_results_print_within_a_screen(demo: qp.Collection) -> None:
    for result in (demo.coverage(), demo.agree(draws=DRAWS), demo.evaluate(draws=DRAWS), demo.plan()):
        lines = str(result).splitlines()
        assert 3 < len(lines) <= 40
        assert max(map(columns, lines)) <= 80
        assert repr(result) == str(result)
        # What the commands say of files and options is of no use here.
        assert "--full" not in str(result)
        assert "to_latex()" in lines[-1] or "to_latex()" in lines[-2]


def test_agreement_as_frames_and_figures(demo: qp.Collection) -> None:
    a = demo.agree(draws=DRAWS)
    data = a.to_dict()
    names = ["a", "b", "n", "queries", "kappa", "kappa_linear", "kappa_quadratic", "spearman", "pearson", "kendall",
             "agreement", "difference"]  # fmt: skip
    assert rows_of(a.pairs, names) == frame_of(data["pairs"], names)
    [pair] = data["pairs"]
    assert a.pairs.loc[0, ["kappa_low", "kappa_high"]].tolist() == pair["intervals"]["kappa"]
    assert rows_of(a.overall.set_index("coefficient").T, ["fleiss_kappa"])[0] == [data["overall"]["fleiss_kappa"]]
    by_query = {(row["query_id"], one["a"], one["b"]): one for row in data["queries"] for one in row["pairs"]}
    ids = zip(*(a.per_query[name] for name in ("query_id", "a", "b")), strict=True)
    assert [[by_query[each]["kappa"]] for each in ids] == rows_of(a.per_query, ["kappa"])

    grades = demo.labels().pivot(index=["query_id", "doc_id"], columns="labeler", values="relevance").dropna()
    gold, lexical = (grades[name].astype(int) for name in ("sample-gold", "lexical"))
    kappa = a.kappa("lexical", "sample-gold", weights="quadratic")
    assert kappa.value == pytest.approx(cohen_kappa_score(gold, lexical, weights="quadratic"))
    assert kappa.n == len(grades)
    assert None not in (kappa.low, kappa.high)
    assert float(str(kappa.low)) < float(kappa) < float(str(kappa.high))
    assert str(kappa) == f"{kappa.value:.3f} ({kappa.low:.3f} to {kappa.high:.3f})"
    one, other = (
        a.coefficient("difference", "sample-gold", "lexical"),
        a.coefficient("difference", "lexical", "sample-gold"),
    )
    assert one.value == pytest.approx(gold.mean() - lexical.mean())
    assert (other.value, other.low, other.high) == (-one.value, -one.high, -one.low)  # type: ignore[operator]
    pd.testing.assert_frame_equal(
        a.confusion("lexical", "sample-gold"), pd.crosstab(lexical, gold), check_names=False, check_index_type=False,
        check_column_type=False,
    )  # fmt: skip
    pd.testing.assert_frame_equal(a.confusion("sample-gold", "lexical"), a.confusion("lexical", "sample-gold").T)
    with pytest.raises(qp.QuatiPoolError, match=r"there is no labeler 'gold' here; .*sample-gold"):
        a.kappa("gold", "lexical")
    with pytest.raises(qp.QuatiPoolError, match=r"there is no coefficient 'kapa'; did you mean 'kappa'"):
        a.coefficient("kapa", "lexical", "sample-gold")
    with pytest.raises(qp.QuatiPoolError, match="cannot be compared with itself"):
        a.kappa("lexical", "lexical")


def test_evaluation_as_frames_and_figures(demo: qp.Collection) -> None:
    e = demo.evaluate(baseline="bm25s", draws=DRAWS)
    data = e.to_dict(per_query=True)
    board = e.leaderboard
    runs = [(one["name"], run) for one in data["qrels"] for run in one["runs"]]
    assert list(zip(board["qrels"], board["run_tag"], board["rank"], strict=True)) == [
        (name, run["run_tag"], run["rank"]) for name, run in runs
    ]
    for measure in e.measures:
        figures = [list(run["measures"][measure].values()) for _, run in runs]
        assert rows_of(board, [measure, f"{measure}_low", f"{measure}_high"]) == [row[:3] for row in figures]
        long = e.per_query.set_index(["qrels", "run_tag", "query_id"]).sort_index()[measure]
        for name, run in runs:
            assert long[name, run["run_tag"]].to_dict() == run["per_query"][measure]
    against = [
        [one["name"], measure, test["a"], test["b"], test["p"], test["significant"]]
        for one in data["qrels"]
        for measure, tests in one["against_baseline"].items()
        for test in tests
    ]
    assert rows_of(e.comparisons, ["qrels", "measure", "a", "b", "p", "significant"]) == against
    [ranking] = data["rank_correlation"]
    assert rows_of(e.rank_correlation, ["a", "b", "tau", "tau_ap", "rbo"]) == frame_of(
        [ranking], ["a", "b", "tau", "tau_ap", "rbo"]
    )
    assert e.rank_correlation.loc[0, ["tau_low", "tau_high"]].tolist() == ranking["intervals"]["tau"]
    mean = e.mean("lsa", "RR(rel=2)@10", qrels="lexical")
    row = board[(board["qrels"] == "lexical") & (board["run_tag"] == "lsa")]
    assert [mean.value, mean.low, mean.high] == row[
        ["RR(rel=2)@10", "RR(rel=2)@10_low", "RR(rel=2)@10_high"]
    ].to_numpy()[0].tolist()
    with pytest.raises(qp.QuatiPoolError, match="there is no run 'lsi' here; did you mean 'lsa'"):
        e.mean("lsi")
    with pytest.raises(qp.QuatiPoolError, match="there are no qrels 'gold' here"):
        e.plot(qrels="gold")


def test_a_plot_is_a_figure_that_a_notebook_displays(demo: qp.Collection) -> None:
    from matplotlib.figure import Figure

    figure = demo.evaluate(draws=0).plot()
    assert isinstance(figure, Figure)
    shown: bytes = figure._repr_png_()  # type: ignore[attr-defined]
    assert shown.startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.usefixtures("sketched")
def test_saved_files_are_those_of_the_command(demo: qp.Collection, cli: Cli, tmp_path: Path) -> None:
    demo.evaluate(draws=DRAWS).save(tmp_path / "api")
    demo.agree(draws=DRAWS).save(tmp_path / "api")
    for command in ("evaluate", "agree"):
        cli(command, "-c", demo.path, "--draws", DRAWS, "-o", tmp_path / "command")
    files = {
        path.name: path.read_bytes() for path in (tmp_path / "command").glob("*.[mtcj]*") if "meta" not in path.name
    }
    assert len(files) > 8
    assert {name: (tmp_path / "api" / name).read_bytes() for name in files} == files
    with pytest.raises(qp.QuatiPoolError, match="no workspace with reports/ to save this to; name a folder"):
        qp.agree(labels={"a": demo.qrels("lexical"), "b": demo.qrels("sample-gold")}, draws=0).save()


def test_frames_have_the_documented_types(workspace: Path) -> None:
    c = qp.open(str(workspace / "pool.yaml"), progress=False)
    assert c.name == "small"
    assert c.runs().dtypes.astype(str).to_dict() == {
        "query_id": "str", "doc_id": "str", "rank": "int64", "score": "float32", "run_tag": "str",
    }  # fmt: skip
    assert {"007", "7"} <= set(c.runs()["query_id"]) == set(c.pool()["query_id"]) | {"7"}
    assert c.runs()["run_tag"].unique().tolist() == list(c.systems)
    assert c.pool().dtypes.astype(str).to_dict() == {
        "query_id": "str", "doc_id": "str", "query": "str", "text": "str", "runs": "object", "round": "int64",
        "reason": "str", "inclusion": "float64",
    }  # fmt: skip
    first = c.pool().iloc[0]
    ranks = c.runs()[lambda runs: (runs["query_id"] == first["query_id"]) & (runs["doc_id"] == first["doc_id"])]
    assert first["runs"] == dict(zip(ranks["run_tag"], ranks["rank"], strict=True))
    with pytest.raises(qp.QuatiPoolError, match="there is no system 'bm25'; did you mean 'bm25s'"):
        c.runs("bm25")
    labels = c.labels()
    assert len(labels) == 0
    assert labels.dtypes.astype(str).to_dict() == {
        "query_id": "str", "doc_id": "str", "labeler": "str", "kind": "str", "relevance": "Int64", "status": "str",
        "cut": "bool", "revealed": "bool",
    }  # fmt: skip


def test_frames_give_the_figures_of_the_files_they_came_from(demo: qp.Collection, tmp_path: Path) -> None:
    whole = demo.evaluate(draws=DRAWS)
    qrels = {name: demo.qrels(name) for name in ("sample-gold", "lexical")}
    measures = list(whole.measures)
    again = qp.evaluate(runs=demo.runs(), qrels=qrels, measures=measures, draws=DRAWS)
    pd.testing.assert_frame_equal(again.leaderboard, whole.leaderboard)
    pd.testing.assert_frame_equal(again.per_query, whole.per_query)
    # As a mapping, in another order, and from a file that the export writes.
    path = demo.export("qrels", labeler="lexical", output=tmp_path / "l.qrels")
    shuffled = {tag: demo.runs(tag).sample(frac=1, random_state=1) for tag in demo.systems}
    files = qp.evaluate(
        runs=shuffled, qrels={"sample-gold": qrels["sample-gold"], "lexical": path}, measures=measures, draws=DRAWS
    )
    pd.testing.assert_frame_equal(files.leaderboard, whole.leaderboard)

    pair = demo.agree(draws=DRAWS).pairs
    pd.testing.assert_frame_equal(qp.agree(labels=qrels, draws=DRAWS).pairs, pair)
    pd.testing.assert_frame_equal(demo.agree(labels=demo.labels("sample-gold", "lexical"), draws=DRAWS).pairs, pair)


def test_labels_say_why(demo: qp.Collection) -> None:
    labels = demo.labels("lexical", rationales=True)
    assert labels["rationale"].str.fullmatch(r"\d+ of \d+ terms of the query").all()
    assert set(labels["status"]) == {"ok"}
    with pytest.raises(qp.QuatiPoolError, match="there is no labeler 'lexicl'"):
        demo.labels("lexicl")


def test_qrels_refuse_what_the_command_refuses(changeable: qp.Collection, cli: Cli) -> None:
    text = changeable.path.read_text(encoding="utf-8")
    changeable.path.write_text(
        text.replace("judges:\n", "judges:\n  half: {judge: lexical, language: en}\n"), encoding="utf-8"
    )
    changeable.judge("half", limit=40)
    refused = cli("export", "qrels", "--labeler", "half", "-c", changeable.path).err
    with pytest.raises(qp.QuatiPoolError) as error:
        changeable.qrels("half")
    assert refused == f"quati-pool: {error.value}\n"
    assert len(changeable.qrels("half", allow_missing=True)) == 40
    assert changeable.judge("half").left == 0
    assert len(changeable.qrels("half")) == len(changeable.pool())


def test_names_cannot_inject_html() -> None:
    hostile = "<img src=x onerror=alert(1)>"
    labels = {hostile: {"q": {"d1": 0, "d2": 1}}, "b": {"q": {"d1": 0, "d2": 1}}}
    runs = {hostile: {"q": {"d1": 1.0, "d2": 0.5}}, "r": {"q": {"d2": 1.0}}}
    for result in (qp.agree(labels=labels, draws=0), qp.evaluate(runs=runs, qrels=labels, measures=["RR"], draws=0)):
        shown = result._repr_html_()
        assert "&lt;img src=x" in shown
        assert "<img" not in shown
        assert "<table" in shown


def test_oddities_are_warnings(tmp_path: Path) -> None:
    cut = tmp_path / "cut.run"
    cut.write_text("q1 Q0 d1 1 2.0 x\nq1 Q0 d2 2 1.0 x", encoding="utf-8")
    with pytest.warns(qp.QuatiPoolWarning, match="may be cut off") as warned:
        qp.evaluate(runs={"cut": cut}, qrels={"h": {"q1": {"d1": 1}}}, measures=["RR"], draws=0)
    assert warned[0].filename == __file__


def test_opening_what_is_no_workspace(tmp_path: Path) -> None:
    with pytest.raises(qp.QuatiPoolError, match=r"pool.yaml: there is no such file; run: quati-pool init DIR"):
        qp.open(tmp_path)
    (tmp_path / "pool.yaml").write_text("name: x\n", encoding="utf-8")
    with pytest.raises(qp.QuatiPoolError, match=r"pool\.yaml:1: "):
        qp.open(tmp_path / "pool.yaml")


def test_a_pool_of_frames_is_the_depth_pool() -> None:
    runs = {"a": {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}, "b": {"q1": {"d3": 9.0, "d1": 8.0}, "q2": {"d9": 0.0}}}
    expected = [
        ("q1", "d1", {"a": 1, "b": 2}),
        ("q1", "d3", {"a": 3, "b": 1}),
        ("q2", "d9", {"b": 1}),
    ]
    assert list(qp.pool(runs, depth=1).itertuples(index=False, name=None)) == expected
    with pytest.raises(qp.QuatiPoolError, match="depth is 0; expected at least 1"):
        qp.pool(runs, depth=0)


def test_an_estimate_without_a_value() -> None:
    a = qp.agree(labels={"a": {"q": {"d1": 1, "d2": 1}}, "b": {"q": {"d1": 1, "d2": 1}}}, draws=0)
    found = a.kappa("a", "b")
    assert found.value is None
    assert np.isnan(float(found))
    assert str(found) == f"undefined ({found.undefined})"
    assert found.undefined


@pytest.mark.slow
def test_exports_and_the_report_are_those_of_the_command(changeable: qp.Collection, cli: Cli, tmp_path: Path) -> None:
    qrels = changeable.export("qrels", labeler="lexical")
    assert qrels == changeable.folder / "qrels" / "lexical.qrels"
    rows = [line.split() for line in qrels.read_text(encoding="utf-8").splitlines()]
    frame = changeable.qrels("lexical")
    assert [(row[0], row[2], int(row[3])) for row in rows] == list(frame.itertuples(index=False, name=None))
    both = ["sample-gold", "lexical"]
    for form in ("beir", "explorer"):
        made, expected = (
            changeable.export(form, labeler=both, output=tmp_path / form),
            tmp_path / f"{form} of the command",
        )
        named = [part for name in both for part in ("--labeler", name)]
        assert cli("export", form, *named, "-c", changeable.path, "-o", expected).status == 0
        files = {path.relative_to(made) for path in made.rglob("*") if path.is_file()}
        assert files == {path.relative_to(expected) for path in expected.rglob("*") if path.is_file()}
        assert all((made / path).read_bytes() == (expected / path).read_bytes() for path in files)
    with pytest.raises(qp.QuatiPoolError, match="the explorer has no settings"):
        changeable.export("explorer", allow_missing=True)
    with pytest.raises(qp.QuatiPoolError, match="qrels are of one labeler and have no settings"):
        changeable.export("qrels", labeler=["sample-gold", "lexical"])
    page = changeable.report(draws=DRAWS, output=tmp_path / "report")
    assert page == tmp_path / "report" / "report.html"
    assert "nDCG@10" in page.read_text(encoding="utf-8")


def test_an_adaptive_pool_is_judged_as_the_command_does(changeable: qp.Collection) -> None:
    settings = yaml.safe_load(changeable.path.read_text(encoding="utf-8"))
    settings["pool"] |= {"method": "mm-ns", "steered_by": "lexical", "budget": 40}
    (changeable.folder / "labels.db").unlink()
    (changeable.folder / "pool.jsonl.gz").unlink()
    changeable.path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    c = qp.open(changeable.folder, progress=False)
    with pytest.raises(qp.QuatiPoolError, match="adaptive chooses the pairs as it asks"):
        c.judge(adaptive=True, reread=True)
    first = c.judge(adaptive=True, limit=7)
    assert (first.left, first.to_dict()["asked"]) == (33, 7)
    judging = c.judge("lexical", adaptive=True)
    assert judging.left == 0
    assert "mm-ns chose 40 of" in str(judging)
    pool = c.pool()
    assert len(pool) == 40 == judging.to_dict()["pool"]["pairs"]
    assert set(pool["reason"]) == {"mm-ns"}
    assert pool["inclusion"].isna().all()
    # Leaving a system out of it says too little, and the tables say so.
    notes = " ".join(table.note for table in evaluation_tables(c.evaluate("lexical", draws=0).result))
    assert notes.count("Grades chose the pool") == 2
