"""A hybrid labeler: people where they graded, a judge elsewhere; never people, and never a judge to be tested."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from quati_pool.cli.main import app
from quati_pool.commands.agree import agree
from quati_pool.commands.estimates.sources import EstimateSettings, chosen_judge, chosen_people
from quati_pool.commands.evaluate import Settings, evaluate
from quati_pool.commands.export.qrels import export_qrels
from quati_pool.commands.labels import labels
from quati_pool.commands.replay.estimate import complete_sources
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.estimation.hybrid_grades import FEWEST_LABELS
from quati_pool.labels.gathered import LabelFiles
from quati_pool.labels.hybrid import Hybrid
from quati_pool.labels.labelers import Grading
from quati_pool.labels.main_labeler import Candidate, main_labeler, peers
from quati_pool.labels.sources import gather
from quati_pool.project.config import HybridConfig, LabelFileConfig, load_config
from quati_pool.project.config.labelers import PeopleConfig
from quati_pool.records import State
from quati_pool.reporting.answers.labels import answer
from quati_pool.reporting.json_data.agree import as_data as agreement_data
from quati_pool.reporting.json_data.evaluate import as_data as evaluation_data
from quati_pool.reporting.json_data.labels import as_data as labels_data
from quati_pool.store.database import Store
from quati_pool.store.records import ADJUDICATED, Entry, content_sha
from tests.commands.judged import many, pair, workspace
from tests.labels.test_consensus import with_panels
from tests.labels.test_people import collection, said
from tests.store.samples import label

HYBRID = {"people": "majority", "else": "theirs"}
# Pair by pair as in test_people: majorities 3, -, 1, -, 2, 3 (the lead's), and nobody could judge the last two.
JUDGE = [0, 1, 2, 3, 0, 1, 2, None]


def hybrid_of(folder: Path, judge: list[int | None] = JUDGE, hybrid: Mapping[str, Any] = HYBRID) -> Path:
    """The workspace of test_people with a judge's label file and a hybrid of both."""
    path = collection(folder)
    rows = [f"q0000\td{place:04d}\t{grade}" for place, grade in enumerate(judge) if grade is not None]
    (folder / "theirs.tsv").write_text("\n".join(["query_id\tdoc_id\trelevance", *rows]) + "\n", encoding="utf-8")
    return add(path, {"hybrid": dict(hybrid)}, {"theirs": "theirs.tsv"})


def add(path: Path, judges: Mapping[str, Any], files: Mapping[str, Any]) -> Path:
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings.setdefault("judges", {}).update(judges)
    settings.setdefault("labels", {}).setdefault("files", {}).update(files)
    path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    return path


def read(path: Path, name: str = "hybrid") -> tuple[Hybrid, list[str | None]]:
    with Store.open(None, path.parent) as store:
        grading = Grading(load_config(path), store)
        found = grading.labeler(name)
        assert isinstance(found, Hybrid)
        graded = [one for chunk in grading.pairs() for one in found.graded(chunk)]
        # Read, as the store is closed afterwards.
        assert found.parts
    return found, [None if one.relevance is None else str(one.relevance) for one in graded]


# ---- Whose grade a pair has


def test_people_win_ties_wait_for_the_lead_and_the_judge_has_the_rest(tmp_path: Path) -> None:
    path = hybrid_of(tmp_path)
    # The judge's grade does not stand in for a lead's decision on a tie, but for that of people who cannot judge.
    assert said(path, "hybrid") == ["3", "unsure", "1", "unsure", "2", "3", "2", None]
    with pytest.raises(QuatiPoolError, match="2 tied"):
        export_qrels(path, "hybrid")


def test_a_leads_decision_ends_the_tie(tmp_path: Path) -> None:
    path = hybrid_of(tmp_path)
    assert said(path, "hybrid")[1] == "unsure"
    config = load_config(path)
    with Store.open(None, tmp_path) as store:
        grading = Grading(config, store)
        decisions = grading.labeler(ADJUDICATED)
        row = pair("q0000", "d0001")
        store.append([
            Entry(label=label(
                "q0000", "d0001", State.ok, collection="test", labeler_id=ADJUDICATED, kind="assessor", phase="final",
                version=decisions.version, content_sha=content_sha(row["query"], row["text"]), relevance=0,
            ))
        ])  # fmt: skip
    assert said(path, "hybrid")[1] == "0"


def test_a_judges_failure_is_no_grade_and_keeps_its_reason(tmp_path: Path) -> None:
    path = collection(tmp_path)
    add(path, {"hybrid": {"people": "majority", "else": "lexical"}}, {})
    config = load_config(path)
    with Store.open(None, tmp_path) as store:
        grading = Grading(config, store)
        judge = grading.labeler("lexical")
        row = pair("q0000", "d0007")
        store.append([
            Entry(label=label(
                "q0000", "d0007", State.failed, collection="test", labeler_id="lexical", version=judge.version,
                content_sha=content_sha(row["query"], row["text"]), relevance=None,
            ))
        ])  # fmt: skip
    assert said(path, "hybrid")[-2:] == [None, "failed"]
    with pytest.raises(QuatiPoolError, match=r"have no grade by hybrid .*1 failed"):
        export_qrels(path, "hybrid")


def many_graded(folder: Path, given: int, hybrid: Mapping[str, Any] | None = None) -> Path:
    """Ten queries of 20 pairs, all graded 3 by a judge; of the first ``given`` pairs people say 1."""
    pairs = many(10, 20)
    path = workspace(folder, pairs, {"hybrid": dict(hybrid or {"people": "ana", "else": "theirs"})})
    for name, rows, grade in (("ana", pairs[:given], 1), ("theirs", pairs, 3)):
        lines = [f"{row['query_id']}\t{row['doc_id']}\t{grade}" for row in rows]
        (folder / f"{name}.tsv").write_text("\n".join(["query_id\tdoc_id\trelevance", *lines]), encoding="utf-8")
    return add(path, {}, {"ana": {"path": "ana.tsv", "person": True}, "theirs": "theirs.tsv"})


def test_label_files_serve_as_people_and_judge(tmp_path: Path) -> None:
    found, grades = read(many_graded(tmp_path, 120))
    # All 120 common pairs say 1 for 3; so the other 80 are 1 too.
    assert grades == ["1"] * 200
    assert found.parts.as_json() == {
        "people": "ana", "judge": "theirs", "by_people": 120, "by_judge": 80, "calibrated": True, "labels": 120,
    }  # fmt: skip
    assert str(found.parts) == "ana's grades of 120 pairs, theirs's calibrated for 80"
    # Read again, it is the same.
    assert read(tmp_path / "pool.yaml")[1] == grades


def test_what_is_not_calibrated_is_named(tmp_path: Path) -> None:
    found, grades = read(many_graded(tmp_path, FEWEST_LABELS - 1))
    assert grades == ["1"] * 99 + ["3"] * 101
    assert str(found.parts) == (
        "ana's grades of 99 pairs, theirs's for 101 (as they are: both graded 99 pairs, and calibration needs 100)"
    )
    settings = {"people": "ana", "else": "theirs", "calibrated": False}
    found, grades = read(many_graded(tmp_path / "plain", 120, settings))
    assert grades == ["1"] * 120 + ["3"] * 80
    assert str(found.parts) == "ana's grades of 120 pairs, theirs's for 80"


# ---- Configuration


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("{people: majority, else: nobody}", "judges.hybrid.else: 'nobody' is neither a judge nor a label file; "),
        (
            "{people: anna, else: lexical}",
            "judges.hybrid.people: 'anna' is neither a method (majority, median, mean) nor a panel of people or a "
            "file; did you mean 'ana'?",
        ),
        ("{people: panel, else: panel}", "judges.hybrid.else: 'panel' is neither a judge nor a label file; "),
        ("{people: ana, else: ana}", "judges.hybrid.else: 'ana' cannot be people's grades and a judge's; name another"),
        ("{people: majority, else: other}", "judges.hybrid.else: 'other' is neither a judge nor a label file; "),
        ("{else: lexical}", "judges.hybrid: the key 'people' is missing; add it"),
        ("{people: majority, else: lexical, calibrate: true}", "judges.hybrid.calibrate: unknown key; did you mean"),
        ("{people: majority, else: lexical, calibrated: 1}", "judges.hybrid.calibrated: expected true or false, not 1"),
        ("{people: majority, else: [lexical]}", "judges.hybrid.else: expected text, not ['lexical']"),
    ],
)
def test_what_is_wrong_with_a_hybrid_is_one_line(tmp_path: Path, settings: str, message: str) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text(
        "name: test\ncorpus: {path: c.jsonl}\nqueries: {path: q.tsv}\nsystems: {a: {retriever: bm25s}}\njudges:\n"
        f"  lexical: {{judge: lexical}}\n  panel: {{people: median}}\n  hybrid: {settings}\n"
        "  other: {people: mean, else: lexical}\n"
        "labels: {files: {ana: {path: ana.tsv, person: true}}}\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError) as fault:
        load_config(path)
    assert str(fault.value).startswith(f"{path}:8: {message}")


def test_a_consensus_has_no_hybrid_among_its_members(tmp_path: Path) -> None:
    path = hybrid_of(tmp_path)
    add(path, {"both": {"consensus": ["lexical", "hybrid"]}}, {})
    with pytest.raises(InputError, match="'hybrid' is neither a judge nor a label file"):
        load_config(path)


def test_panels_consensuses_and_defaults_are_read(tmp_path: Path) -> None:
    path = hybrid_of(tmp_path, hybrid={"people": "final", "else": "both"})
    add(path, {"both": {"consensus": ["lexical", "theirs"]}}, {})
    found = load_config(path).judges
    assert found["hybrid"] == HybridConfig(people="final", judge="both", calibrated=True)
    assert isinstance(found["final"], PeopleConfig)


def test_files_are_people_only_if_they_say_so(tmp_path: Path) -> None:
    path = many_graded(tmp_path, 120, {"people": "theirs", "else": "ana"})
    with pytest.raises(ConfigError) as fault:
        read(path)
    assert str(fault.value) == (
        f"{path}: judges.hybrid.people: pool.yaml does not say that a person gave the labels of theirs; "
        "add person: true to that file, or name another"
    )
    path = many_graded(tmp_path, 120, {"people": "majority", "else": "ana"})
    with pytest.raises(ConfigError, match=r"judges.hybrid.else: the labels of ana are a person's; name a judge"):
        read(path)


def test_nobody_judges_audits_or_reveals_as_a_hybrid(tmp_path: Path) -> None:
    path = hybrid_of(tmp_path, hybrid={"people": "majority", "else": "lexical"})
    for command in (["judge", "hybrid"], ["audit", "hybrid"]):
        done = CliRunner().invoke(app, [*command, "-c", str(path)])
        assert isinstance(done.exception, ConfigError)
        assert "people's" in str(done.exception)
        assert "lexical" in str(done.exception)
    settings = yaml.safe_load(path.read_text(encoding="utf-8")) | {"annotation": {"reveal": "hybrid"}}
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    with pytest.raises(InputError, match="'hybrid' are other people's grades; name a judge"):
        load_config(path)


# ---- Never people, never a labeler of its own


def test_it_is_neither_people_nor_independent(tmp_path: Path) -> None:
    path = hybrid_of(tmp_path)
    gathered = gather(load_config(path), (), LabelFiles())
    (source,) = (one for one in gathered.sources if one.name == "hybrid")
    assert (source.kind, source.grader) == ("hybrid", "hybrid")
    assert source.members == {"ana", "bia", "caio", ADJUDICATED, "theirs"}
    assert "hybrid" not in gathered.people
    with pytest.raises(ConfigError, match="--person hybrid: a hybrid has a judge's grades in it; name a person"):
        gather(load_config(path), (), LabelFiles(), ["hybrid"])


def test_agreement_leaves_it_out_of_all_together_and_of_what_agrees_by_construction(tmp_path: Path) -> None:
    path = hybrid_of(tmp_path)
    with_it = agree(path, draws=0)
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    del settings["judges"]["hybrid"]
    path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    without = agree(path, draws=0)
    assert with_it.overall.labelers == without.overall.labelers
    assert with_it.overall.values == without.overall.values
    assert {(one.a, one.b) for one in with_it.compared} == {(one.a, one.b) for one in without.compared}
    (source,) = (one for one in agreement_data(with_it)["sources"] if one["labeler"] == "hybrid")
    assert source["derived"]
    assert source["hybrid"]["by_people"] == 4


@pytest.mark.parametrize("grader", ["people", "llm", "file", "program"])
def test_it_is_never_the_main_labeler_nor_published_unasked(grader: Any) -> None:
    one = Candidate("one", grader, 10)
    hybrid = Candidate("hybrid", "hybrid", 200, frozenset({"one", "other"}))
    assert main_labeler([hybrid, one]).name == "one"
    assert peers([hybrid, one], "one") == ["one"]


def test_estimates_take_it_neither_for_people_nor_for_the_judge(tmp_path: Path) -> None:
    path = hybrid_of(tmp_path)
    config = load_config(path)
    gathered = gather(config, (), LabelFiles())
    assert chosen_judge(gathered, EstimateSettings()).name == "theirs"
    with pytest.raises(ConfigError, match="--judge hybrid: a hybrid has people's grades in it"):
        chosen_judge(gathered, EstimateSettings(judge="hybrid"))
    with (
        Store.open(None, tmp_path) as store,
        pytest.raises(ConfigError, match="--people hybrid: a hybrid has a judge's grades in it"),
    ):
        chosen_people(Grading(config, store), EstimateSettings(people="hybrid"))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["hybrid", "theirs"], "--people hybrid: a hybrid has a judge's grades in it; name people"),
        (["theirs", "hybrid"], "--judge hybrid: a hybrid has people's in it; name its judge"),
    ],
)
def test_replays_take_it_for_neither(tmp_path: Path, names: list[str], said: str) -> None:
    gathered = gather(load_config(hybrid_of(tmp_path)), names, LabelFiles())
    with pytest.raises(ConfigError, match=re.escape(said)):
        complete_sources(gathered, names)


# ---- Commands


def test_qrels_have_the_likeliest_grade_and_their_sidecar_who_gave_it(tmp_path: Path) -> None:
    path = many_graded(tmp_path, 120)
    made = export_qrels(path, "hybrid")
    lines = [line.split() for line in made.path.read_text(encoding="utf-8").splitlines()]
    assert [line[3] for line in lines] == ["1"] * 200
    key = json.loads(made.path.with_name("hybrid.qrels.meta.json").read_text(encoding="utf-8"))["key"]
    assert key["hybrid"] == {
        "people": "ana", "judge": "theirs", "by_people": 120, "by_judge": 80, "calibrated": True, "labels": 120,
    }  # fmt: skip
    done = CliRunner().invoke(app, ["export", "qrels", "--labeler", "hybrid", "-c", str(path)])
    assert "the likeliest grades of a hybrid: ana's grades of 120 pairs, theirs's calibrated for 80" in done.stderr
    # The main labeler is a person, of whom only 120 pairs are known.
    assert export_qrels(path, allow_missing=True).path.name == "ana.qrels"


def test_labels_names_it(tmp_path: Path) -> None:
    report = labels(many_graded(tmp_path, 120))
    sentence = "hybrid is a hybrid: ana's grades of 120 pairs, theirs's calibrated for 80."
    assert sentence in answer(report).sentences
    kinds = {
        one["labeler"]: (one["kind"], one.get("hybrid", {}).get("by_people")) for one in labels_data(report)["labelers"]
    }
    assert kinds == {"hybrid": ("hybrid", 120), "ana": ("assessor", None), "theirs": ("file", None)}


# ---- evaluate


@pytest.fixture(scope="module")
def demo(finished_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo, with every third line of its gold labels as a person's."""
    path = with_panels(
        finished_demo, tmp_path_factory.mktemp("hybrid") / "demo", hybrid={"people": "people", "else": "lexical"}
    )
    rows = (path.parent / "labels.tsv").read_text(encoding="utf-8").splitlines()
    (path.parent / "people.tsv").write_text("\n".join([rows[0], *rows[3::3]]) + "\n", encoding="utf-8")
    return add(path, {}, {"people": {"path": "people.tsv", "person": True}})


def test_evaluate_says_which_measures_are_of_expected_gains(demo: Path) -> None:
    settings = Settings(["nDCG@10", "DCG@10", "AP(rel=2)", "P@5"], draws=0)
    found = evaluate(demo, ["hybrid", "sample-gold"], settings=settings)
    hybrid, gold = found.conditions
    data = evaluation_data(found)["qrels"]
    assert data[0]["gains"] == {
        "nDCG@10": "expected",
        "DCG@10": "expected",
        "AP(rel=2)": "likeliest",
        "P@5": "likeliest",
    }
    assert (data[0]["hybrid"]["judge"], "gains" in data[1]) == ("lexical", False)
    # All others are those of the exported qrels, under which nDCG is another figure.
    qrels = export_qrels(demo, "hybrid").path
    likeliest = evaluate(demo, ["lexical"], LabelFiles({"file": LabelFileConfig(path=str(qrels))}), settings=settings)
    (plain,) = (one for one in likeliest.conditions if one.name == "file")
    for name in ("AP(rel=2)", "P@5"):
        np.testing.assert_array_equal(hybrid.scores.of(name), plain.scores.of(name))
    assert np.abs(hybrid.scores.of("nDCG@10") - plain.scores.of("nDCG@10")).max() > 0.01
    assert hybrid.bounds == {}
    assert gold.bounds
    assert isinstance(hybrid.quality, str)


def test_evaluate_prints_it_once_in_words(demo: Path) -> None:
    done = CliRunner().invoke(app, ["evaluate", "-c", str(demo), "hybrid", "--measures", "nDCG@10, RR@10"])
    words = " ".join(done.stdout.split())
    assert words.count("hybrid is a hybrid: people's grades of") == 1
    assert "Under it nDCG@10 is of expected gains, RR@10 is of the likeliest grades." in words


def test_grades_that_are_all_certain_give_what_ir_measures_gives(finished_demo: Path, tmp_path: Path) -> None:
    path = with_panels(
        finished_demo, tmp_path / "demo", hybrid={"people": "majority", "else": "sample-gold", "calibrated": False}
    )
    settings = Settings(["nDCG@10", "nDCG", "DCG@10", "nDCG@20"], draws=0)
    found = evaluate(path, ["hybrid"], settings=settings).conditions[0].scores
    qrels = export_qrels(path, "hybrid").path
    files = LabelFiles({"file": LabelFileConfig(path=str(qrels))})
    (plain,) = (one for one in evaluate(path, ["lexical"], files, settings=settings).conditions if one.name == "file")
    for name in found.measures:
        np.testing.assert_allclose(found.of(name), plain.scores.of(name), atol=1e-12)
