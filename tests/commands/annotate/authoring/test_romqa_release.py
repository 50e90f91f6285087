"""Releases of questions about constraints: RoMQA's files hold what the clusters and people say, and nothing unverified;
every task of ``bench romqa`` reads them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, median
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from quati_pool.annotation.authoring.constraints import ClusterSettings
from quati_pool.annotation.authoring.romqa import BLOCK, CLUSTER, QUERY
from quati_pool.commands.annotate.authoring.blocks import AddedBlocks
from quati_pool.commands.annotate.authoring.constraints import draw_constraints
from quati_pool.commands.annotate.authoring.data_set import data_set
from quati_pool.commands.annotate.authoring.derive import derive
from quati_pool.commands.annotate.authoring.records import open_records
from quati_pool.commands.annotate.authoring.release import possible_forms, release
from quati_pool.commands.annotate.authoring.report import report, rounds_report
from quati_pool.commands.annotate.authoring.romqa_release import write_romqa
from quati_pool.commands.annotate.authoring.splits import make_splits
from quati_pool.commands.annotate.authoring.step import WritingStep
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.qa_benchmarks.romqa_files import KINDS
from quati_pool.release.output import Output
from quati_pool.reporting.answers import authoring as answers
from tests.cli.conftest import Cli, cli
from tests.commands.annotate.authoring.people_writing import Refused
from tests.commands.annotate.authoring.romqa_example import write_graph
from tests.commands.annotate.authoring.romqa_people import (
    TEXTS,
    RomqaPeople,
    everybody,
    made_cluster,
    people_done,
    romqa_workspace,
    write_clusters,
)
from tests.commands.annotate.authoring.rounds import members, opened

__all__ = ["cli"]  # a fixture

NAMES = ("Zuleica", "Wandinha", "Xisto", "Ubirajara")
FILES = {"train": "train.json", "validation": "dev.json", "test": "test.json"}
CLUSTERS = [made_cluster(number) for number in range(5)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five clusters of three questions, written, verified and, as far as the other set goes, rated. Verifiers refuse a
    question of the fourth cluster, of which too few are left."""
    folder = tmp_path_factory.mktemp("finished") / "logic"
    path = romqa_workspace(folder, CLUSTERS, split={"shares": [50, 25, 25]})

    def answer(name: str, shown: WritingStep) -> Any:
        if shown.step.name == "verify" and "not place of birth Q203" in str(shown.shown["question"]):
            return Refused("other", "ask Wandinha of Zuleica's group")
        return RomqaPeople()(name, shown)

    with opened(path) as session:
        everybody(session, answer, NAMES)
    derive(path)
    with opened(path) as session:
        everybody(session, answer, NAMES)
    return path


@pytest.fixture
def pool(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished.parent, tmp_path / "logic")
    return tmp_path / "logic" / "pool.yaml"


def configured(pool: Path, **changes: Any) -> None:
    data = yaml.safe_load(pool.read_text(encoding="utf-8"))
    data["authoring"].update(changes.pop("authoring", {}))
    pool.write_text(yaml.safe_dump({**data, **changes}), encoding="utf-8")


def questions_in(folder: Path, kind: str = "gold") -> dict[str, tuple[str, dict[str, Any]]]:
    """The questions of the files of a kind, with their split, by id."""
    found = {}
    for split, name in FILES.items():
        path = folder / kind / name
        for one in json.loads(path.read_bytes()) if path.exists() else []:
            assert one["id"] not in found
            found[one["id"]] = (split, one)
    return found


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_files_hold_what_clusters_and_people_say(pool: Path, tmp_path: Path) -> None:
    done = release(pool, "romqa", tmp_path / "out")
    assert done.out == {QUERY: {"not_verified": 1, "small_cluster": 2}}
    assert (sum(done.units.values()), done.with_evidence, done.open) == (12, 12, {})
    found = questions_in(tmp_path / "out")
    kept = [cluster for number, cluster in enumerate(CLUSTERS) if number != 3]
    assert set(found) == {query["query_id"] for cluster in kept for query in cluster["queries"]}
    label = {one["id"]: one["label"] for one in TEXTS}
    for cluster in kept:
        splits = {found[query["query_id"]][0] for query in cluster["queries"]}
        assert len(splits) == 1
        for query in cluster["queries"]:
            _, one = found[query["query_id"]]
            assert one["cluster_id"] == cluster["cluster_id"]
            assert [each["uri"] for each in one["complete_answer"]] == query["answers"]
            assert [(each["uri"], each["is_answer"]) for each in one["candidates"]] == [
                (each["entity"], each["is_answer"]) for each in query["candidates"]
            ]
            assert [each["evidence"] for each in one["candidates"]] == [
                each["evidence"] for each in query["candidates"]
            ]
            assert [
                (each["prop"]["uri"], each["other_ent"]["uri"], each["prop_dir"], each["truthy"])
                for each in one["constraints"]
            ] == [
                (of["property"], of["entity"], of["side"], not each["negated"])
                for each in query["constraints"]
                for of in [cluster["constraints"][each["constraint"]]]
            ]
            for each in (*one["complete_answer"], *(part["prop"] for part in one["constraints"])):
                assert each["text"] == label.get(each["uri"], each["uri"])
            # People wrote the names of the constraints that they saw.
            assert all(part["prop"]["text"] in one["question"] for part in one["constraints"])
            assert "drafted_by" not in one
    for kind in KINDS:
        assert set(questions_in(tmp_path / "out", kind)) == set(found)
    # Made-up clusters have two constraints in common, which a draw never gives.
    assert done.shared_constraints == 2
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "2 constraints are in several splits, as the clusters are of several draws" in card
    assert "12 questions; splits are over clusters, drawn at random with the seed 0." in card
    assert "| all | 12 | 4 |" in card
    assert r"- query: 1 not\_verified, 2 small\_cluster" in card
    assert "## Verification" in card
    assert "a question from here and one of WebQs from 1 to 5" in card


def test_next_are_the_tasks_that_can_run(pool: Path, tmp_path: Path) -> None:
    rest = answers.released(release(pool, "romqa", tmp_path / "out")).rest.splitlines()
    assert rest[1:3] == [
        f"  quati-pool bench romqa closed --data {tmp_path}/out",
        f"  quati-pool bench romqa evidence --data {tmp_path}/out --to {tmp_path}/out-evidence",
    ]
    path = romqa_workspace(tmp_path / "bare", [made_cluster(0, evidence=False)], compare=None, raters=None)
    people_done(tmp_path / "bare")
    done = release(path, "romqa", tmp_path / "bare-out")
    assert done.with_evidence == 0
    assert [command[2] for command in done.commands] == ["closed"]
    assert "There is no evidence." in answers.released(done).sentences
    assert release(path, "jsonl", tmp_path / "lines").commands == ()


def test_only_verified_questions_are_released(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path / "logic", CLUSTERS[:2])

    left = [9]

    def answer(name: str, shown: WritingStep) -> Any:
        left[0] -= shown.step.name == "verify"
        return None if left[0] < 0 else RomqaPeople()(name, shown)

    with opened(path) as session:
        everybody(session, answer)
    waiting = sum(item.kind == QUERY and item.state == "open" for item in open_records(path).items.values())
    assert waiting
    with pytest.raises(QuatiPoolError, match=f"{waiting} items of kind question not finished; go on with"):
        release(path, "romqa", tmp_path / "out")
    for form in ("romqa", "jsonl"):
        found = release(path, form, tmp_path / form, allow_missing=True)
        assert found.open == {QUERY: waiting}
    kept = {one["query_id"] for one in open_records(path).units}
    assert set(questions_in(tmp_path / "romqa")) == kept
    lines = json_lines(tmp_path / "jsonl" / "query.jsonl")
    assert {one["question_id"] for one in lines} == kept
    # Once the rest is verified it goes where its cluster is.
    before = {name: split for name, (split, _) in questions_in(tmp_path / "romqa").items()}
    with opened(path) as session:
        everybody(session, RomqaPeople())
    release(path, "romqa", tmp_path / "romqa")
    after = {name: split for name, (split, _) in questions_in(tmp_path / "romqa").items()}
    assert len(after) == 6 > len(before)
    assert {name: after[name] for name in before} == before


def test_open_questions_of_a_cluster_that_is_too_small_hold_nothing_up(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path / "logic", CLUSTERS[:2], verifiers=1)

    def answer(name: str, shown: WritingStep) -> Any:
        # Of the three queries of the second cluster, one is refused and two are never written.
        if shown.step.name == "write" and "Q201" in str(shown.shown["constraints"]):
            return Refused("unnatural") if len(shown.shown["constraints"]) == 3 else None
        return RomqaPeople()(name, shown)

    with opened(path) as session:
        everybody(session, answer)
    records = open_records(path)
    states = {item.source_id: item.state for item in records.items.values() if item.kind == QUERY}
    assert [one for one, state in states.items() if state == "open"] == ["c1-2", "c1-3"]
    assert records.counts(QUERY) == {"kept": 3, "out": 3}
    assert records.out == {QUERY: {"unnatural": 1, "small_cluster": 2}}
    found = release(path, "romqa", tmp_path / "out")
    assert (found.open, sum(found.units.values())) == ({}, 3)
    # Their tasks stay, as a lead may restore what was refused; the questions that are kept can be rated all the same.
    progress = rounds_report(path)
    assert (progress.waiting, progress.to_derive) == ("write 2", 3)
    added = derive(path)
    assert isinstance(added, AddedBlocks)
    assert (added.added, added.waiting) == (3, 0)


def test_nothing_is_released_where_only_small_clusters_are_finished(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path / "logic", [made_cluster(0, queries=2)], compare=None, raters=None)
    people_done(tmp_path / "logic")
    with pytest.raises(QuatiPoolError, match=r"no question is finished yet, but for 2 that are left out \(small_clus"):
        release(path, "romqa", tmp_path / "out")


@pytest.mark.parametrize("other", ["gone", "fewer", "answers", "names"])
def test_questions_whose_clusters_are_others_by_now_are_refused(pool: Path, tmp_path: Path, other: str) -> None:
    folder = pool.parent / "clusters"
    clusters: list[Any] = json.loads(json.dumps(CLUSTERS))
    texts: Sequence[Mapping[str, Any]] = TEXTS
    if other == "gone":
        shutil.rmtree(folder)
        message = "there is no such folder; write it with"
    elif other == "fewer":
        clusters = clusters[1:]
        message = r"3 questions of the rounds not there any more, such as 'c0-1'; put the folder back"
    elif other == "answers":
        clusters[2]["queries"][1]["answers"].pop()
        message = r"clusters\.jsonl\.gz: 'c2-2' has other constraints, answers or names than people saw; put the folder"
    else:
        texts = [{**one, "label": "prize"} if one["id"] == "P166" else one for one in TEXTS]
        message = "has other constraints, answers or names than people saw"
    if other != "gone":
        write_clusters(folder, clusters, texts)
    with pytest.raises(QuatiPoolError, match=message):
        release(pool, "romqa", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    # Lines of records need no clusters.
    assert release(pool, "jsonl", tmp_path / "lines").made


def test_a_second_draw_adds_and_leaves_the_first_in_its_splits(pool: Path, tmp_path: Path) -> None:
    assert release(pool, "romqa", tmp_path / "out").made
    assert not release(pool, "romqa", tmp_path / "out").made
    before = {name: split for name, (split, _) in questions_in(tmp_path / "out").items()}
    write_clusters(pool.parent / "more", [made_cluster(number) for number in (7, 8)])
    configured(pool, authoring={"sources": {"path": ["clusters", "more"]}})
    with opened(pool) as session:
        everybody(session, RomqaPeople(), NAMES)
    done = release(pool, "romqa", tmp_path / "out")
    assert done.made
    after = {name: split for name, (split, _) in questions_in(tmp_path / "out").items()}
    assert len(after) == len(before) + 6 == sum(done.units.values())
    assert {name: after[name] for name in before} == before
    # Candidates are in no record: a release is renewed by the folder too.
    more = [made_cluster(number) for number in (7, 8)]
    for cluster in more:
        for query in cluster["queries"]:
            query["candidates"].reverse()
    write_clusters(pool.parent / "more", more)
    assert release(pool, "romqa", tmp_path / "out").made


def test_texts_that_may_not_be_published_are_the_evidence_alone(pool: Path, tmp_path: Path) -> None:
    configured(pool, release={"texts": False})
    with pytest.raises(ConfigError, match=r"RoMQA's gold files quote them as evidence; set it to true .*, or use --as"):
        release(pool, "romqa", tmp_path / "out")
    assert release(pool, "jsonl", tmp_path / "lines").made
    text = "A document about"
    assert not [file for file in (tmp_path / "lines").iterdir() if text in file.read_text(encoding="utf-8")]
    design = open_records(pool).design
    assert possible_forms(design, texts=False) == ["jsonl", "hf"]
    assert possible_forms(design) == ["romqa", "jsonl", "hf"]
    bare = romqa_workspace(tmp_path / "bare", [made_cluster(0, evidence=False)], compare=None, raters=None)
    people_done(tmp_path / "bare")
    configured(bare, release={"texts": False})
    assert release(bare, "romqa", tmp_path / "bare-out").made


def test_who_drafted_a_question_is_released_by_the_program_s_name(pool: Path, tmp_path: Path) -> None:
    records = open_records(pool)
    unit = records.units[0]["item_id"]
    # As if the question had been a draft; the next one had another, which somebody refused before they wrote it.
    other = records.units[1]["item_id"]
    drafts = {
        one: replace(item, content={**item.content, "draft": {"question.en": "Who?"}}, drafted_by="f00")
        for one, item in records.items.items()
        if one in (unit, other)
    }
    accepted = [replace(one, round="draft") if one.round == "write" else one for one in records.entries[unit]]
    entries = {**records.entries, unit: accepted}
    records = replace(records, items={**records.items, **drafts}, entries=entries, drafters={"f00": "smollm2"})
    data, _ = data_set(records, make_splits(records))
    write_romqa(data, Output(tmp_path))
    found = questions_in(tmp_path)
    drafted = [name for name, (_, one) in found.items() if one.get("drafted_by") == "smollm2"]
    assert drafted == [records.released_id(unit)]
    assert sum("drafted_by" in one for _, one in found.values()) == 1


@pytest.mark.parametrize("form", ["romqa", "jsonl", "hf"])
def test_names_of_people_never_leave(pool: Path, tmp_path: Path, form: str) -> None:
    release(pool, form, tmp_path / "out")
    for file in (*(tmp_path / "out").rglob("*"), tmp_path / "out.meta.json"):
        if file.is_file():
            data = file.read_bytes()
            if file.suffix == ".parquet":
                data = json.dumps(pq.read_table(file).to_pylist()).encode()
            assert not [name for name in NAMES if name.encode() in data], file


def test_lines_hold_the_records_of_what_is_released(pool: Path, tmp_path: Path) -> None:
    release(pool, "jsonl", tmp_path / "out")
    files = {path.stem: json_lines(path) for path in (tmp_path / "out").glob("*.jsonl")}
    assert set(files) == {CLUSTER, QUERY, BLOCK, "entries"}
    gone = {"c3-1", "c3-2", "c3-3"}
    assert {one["cluster_id"] for one in files[CLUSTER]} == {"c0", "c1", "c2", "c4"}
    questions = {one["question_id"]: one for one in files[QUERY]}
    assert len(questions) == 12
    assert not gone & set(questions)
    splits = json.loads((tmp_path / "out" / "splits.json").read_text())
    assert splits["by"] == "clusters"
    for one in (*files[QUERY], *files[CLUSTER], *files[BLOCK]):
        assert one["split"] == splits["units"][one["cluster_id"]]
    for one in files[BLOCK]:
        assert one["questions"][one["ours"]] == questions[one["question_id"]]["question"]
        assert [sorted(rating) for rating in one["ratings"]] == [["a", "b", "person"]]
    names = {name for of_file in (CLUSTER, QUERY, BLOCK) for name, _ in members(files[of_file])}
    assert not {"by", "task_id", "parent_id", "query_id", "source_id"} & names
    assert all(len(one["verifications"]) == 2 for one in files[QUERY])
    # Refusals are among the entries, without their comments.
    refused = [one for one in files["entries"] if one["action"] == "refused"]
    assert [(one["reason"], one["content"]) for one in refused] == [("other", {})] * len(refused) != []


def test_hugging_face_reads_the_data_set(pool: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    release(pool, "hf", tmp_path / "out")
    loaded = load_dataset(str(tmp_path / "out"), "query", cache_dir=str(tmp_path / "cache"))
    assert sum(len(loaded[split]) for split in loaded) == 12
    row = loaded["train"][0]
    assert row["question"].startswith("Who has")
    assert row["constraints"][0]["side"] in ("subj", "obj")
    blocks = load_dataset(str(tmp_path / "out"), "block", cache_dir=str(tmp_path / "cache"))
    assert sum(len(blocks[split]) for split in blocks) == 3


def test_every_task_of_the_benchmark_reads_what_people_wrote(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From triples with evidence to figures by cluster."""
    triples = write_graph(tmp_path / "triples.tsv")
    drawn = draw_constraints([tmp_path / "triples.tsv"], [], tmp_path / "logic" / "clusters", ClusterSettings(), 7)
    assert drawn.questions >= 20
    romqa_workspace(tmp_path / "logic", [], split={"shares": [60, 0, 40]}, compare=None, raters=None)
    people_done(tmp_path / "logic")
    monkeypatch.chdir(tmp_path / "logic")
    done = json.loads(cli("questions", "release", "--as", "romqa", "-o", "out", "--format", "json").out)
    assert sum(done["units"].values()) == drawn.questions == done["with_evidence"]
    assert done["shared_constraints"] == 0
    agrees_with_the_report(tmp_path / "logic")

    true = set(triples)
    for kind in KINDS:
        for _, one in questions_in(Path("out"), kind).values():
            assert 0 < len(one["candidates"]) <= 100
            # The complete answers, from the triples alone.
            fulfilled = [
                {x for x, p, e in true if (p, e) == (prop, entity)}
                if side == "subj"
                else {x for e, p, x in true if (e, p) == (entity, prop)}
                for prop, entity, side in (
                    (each["prop"]["uri"], each["other_ent"]["uri"], each["prop_dir"]) for each in one["constraints"]
                )
            ]
            wanted = set.intersection(
                *(found for found, each in zip(fulfilled, one["constraints"], strict=True) if each["truthy"])
            )
            for found, each in zip(fulfilled, one["constraints"], strict=True):
                wanted -= set() if each["truthy"] else found
            assert {each["uri"] for each in one["complete_answer"]} == wanted
            assert all(each["is_answer"] == (each["uri"] in wanted) for each in one["candidates"])

    for task in ("closed", "open"):
        found = json.loads(cli("bench", "romqa", task, "--data", "out", "--format", "json").out)["rows"]
        assert {row["split"]: row["n"] for row in found} == {k: n for k, n in done["units"].items() if n}
        assert all(row["measures"]["recall"] == 100 for row in found)
    *_, evidence = done["next"]
    assert evidence == "quati-pool bench romqa evidence --data out --to out-evidence"
    assert cli(*evidence.split()[1:]).status == 0
    workspace = Path("out-evidence/test-en/pool.yaml")
    settings = yaml.safe_load(workspace.read_text(encoding="utf-8"))
    settings["systems"] = {
        name: settings["systems"][name] for name in ("bm25s", "bm25s-words") if name in settings["systems"]
    }
    workspace.write_text(yaml.safe_dump(settings), encoding="utf-8")
    assert cli("build", "-c", workspace).status == 0
    evaluated = json.loads(cli("evaluate", "-c", workspace, "--robust", "--format", "json").out)
    tested = {split: n for split, n in done["units"].items() if n}["test"]
    (qrels,) = evaluated["qrels"]
    clusters = len({one["cluster_id"] for split, one in questions_in(Path("out")).values() if split == "test"})
    assert (qrels["robust"]["queries"], qrels["robust"]["clusters"]) == (tested, clusters)
    for run in qrels["robust"]["runs"]:
        found = run["clusters_of_several"]["nDCG@10"]
        assert 0 < found["minimum"]["value"] <= found["mean"]["value"]


def agrees_with_the_report(folder: Path) -> None:
    """The report's sizes are those of the released files."""
    found = report(folder / "pool.yaml").romqa
    assert found is not None
    first = found.sizes[0]
    rows = [one for _, one in questions_in(folder / "out").values()]
    texts = [len({e["text"] for each in one["candidates"] for e in each["evidence"]}) for one in rows]
    negated = [not each["truthy"] for one in rows for each in one["constraints"]]
    assert first.questions == len(rows)
    assert first.answers.mean == pytest.approx(mean(len(one["complete_answer"]) for one in rows))
    assert first.evidence == (pytest.approx(mean(texts)), median(texts), None)
    assert first.negated == pytest.approx(mean(negated))
