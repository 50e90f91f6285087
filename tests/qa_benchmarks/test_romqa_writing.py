"""Questions about constraints in RoMQA's files: what is written, refused, and read by the benchmark's tasks.

The keys are those that the checks in RoMQA's repository expect of its files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.commands.bench.bench import BenchOptions, bench
from quati_pool.errors import QuatiPoolError
from quati_pool.project.events import Listener
from quati_pool.qa_benchmarks.romqa import EvidenceTask, text_id
from quati_pool.qa_benchmarks.romqa_files import KINDS, find, gives_retrieved, read
from quati_pool.qa_benchmarks.romqa_writing import WrittenSplit, released_question, write_split
from tests.cli.conftest import Cli, cli

__all__ = ["cli"]  # a fixture

Entry = dict[str, Any]

TEXTS: Mapping[str, Entry] = {
    "P1": {"label": "lives in", "description": "where an animal lives", "aliases": ["habitat"]},
    "P2": {"label": "eats", "aliases": []},
    "wetland": {"label": "the Pantanal", "description": "a wetland", "aliases": ["Pantanal"]},
    "fish": {"label": "fish"},
    "jabiru": {"label": "jabiru", "description": "a stork", "aliases": ["tuiuiú"]},
    "otter": {"label": "giant otter", "description": None, "aliases": None},
}


def question(id_: str = "A1", cluster_id: str = "c1", **others: Any) -> Entry:
    return {
        "id": id_,
        "cluster_id": cluster_id,
        "question": "Which animals of the Pantanal eat no fish?",
        "constraints": [
            {"entity": "wetland", "property": "P1", "side": "subj", "negated": False},
            {"entity": "fish", "property": "P2", "side": "obj", "negated": True},
        ],
        "candidates": [
            {"entity": "jabiru", "evidence": [{"doc_id": "d1", "start": 3, "end": 30, "text": "Jabirus wade there."}]},
            {"entity": "otter", "evidence": [{"doc_id": "d2", "text": "Otters hunt."}]},
            {"entity": "Q9"},
        ],
        "complete_answer": ["jabiru", "Q9", "rhea"],
        **others,
    }


def written(folder: Path, *questions: Entry, split: str = "validation", texts: Any = TEXTS) -> WrittenSplit:
    return write_split(folder, split, questions, texts)


def test_a_question_has_the_keys_and_values_of_the_released_files(tmp_path: Path) -> None:
    assert written(tmp_path, question()).files == ("gold/dev.json", "closed/dev.json", "open/dev.json")
    gold, closed, opened = (json.loads((tmp_path / kind / "dev.json").read_bytes()) for kind in KINDS)
    jabiru = {"uri": "jabiru", "text": "jabiru", "aliases": ["tuiuiú"], "desc": "a stork"}
    otter = {"uri": "otter", "text": "giant otter", "aliases": [], "desc": ""}
    nameless = {"uri": "Q9", "text": "Q9", "aliases": [], "desc": ""}
    place = {"uri": "wetland", "text": "the Pantanal", "aliases": ["Pantanal"], "desc": "a wetland"}
    expected = {
        "id": "A1",
        "cluster_id": "c1",
        "question": "Which animals of the Pantanal eat no fish?",
        "constraints": [
            {
                "prop": {"uri": "P1", "text": "lives in", "aliases": ["habitat"], "desc": "where an animal lives"},
                "other_ent": place,
                "prop_dir": "subj",
                "truthy": True,
            },
            {
                "prop": {"uri": "P2", "text": "eats", "aliases": [], "desc": ""},
                "other_ent": {"uri": "fish", "text": "fish", "aliases": [], "desc": ""},
                "prop_dir": "obj",
                "truthy": False,
            },
        ],
        "candidates": [
            {
                **jabiru,
                "is_answer": True,
                "evidence": [{"doc_id": "d1", "start": 3, "end": 30, "text": "Jabirus wade there."}],
            },
            {
                **otter,
                "is_answer": False,
                "evidence": [{"doc_id": "d2", "start": None, "end": None, "text": "Otters hunt."}],
            },
            {**nameless, "is_answer": True, "evidence": []},
        ],
        "complete_answer": [jabiru, nameless, {"uri": "rhea", "text": "rhea", "aliases": [], "desc": ""}],
    }
    assert gold == [expected]
    for one in expected["candidates"]:
        assert isinstance(one, dict)
        del one["evidence"]
    assert closed == opened == [expected]


def test_who_drafted_a_question_is_in_all_files_and_nowhere_without_a_draft(tmp_path: Path) -> None:
    written(tmp_path, question(drafted_by="a model"), question("A2", drafted_by=None))
    for kind in KINDS:
        first, second = json.loads((tmp_path / kind / "dev.json").read_bytes())
        assert first["drafted_by"] == "a model"
        assert "drafted_by" not in second
        read_back = [one.drafted_by for one in read(tmp_path / kind / "dev.json")]
        assert read_back == ["a model", ""]
    (case,) = EvidenceTask().cases(tmp_path)
    topics = EvidenceTask().collection(tmp_path, case).queries
    assert [one.drafted_by for one in topics] == ["a model", ""]


def test_splits_have_their_released_names_and_an_empty_one_no_file(tmp_path: Path) -> None:
    written(tmp_path, question(), split="train")
    written(tmp_path, question(), split="test")
    assert written(tmp_path, split="validation") == ((), 0, 0)
    for kind in KINDS:
        found = find(tmp_path, kind)
        assert {split: path.name for split, path in found.answered.items()} == {
            "train": "train.json",
            "test": "test.json",
        }
        assert found.unanswered == {}
    # No texts are retrieved for the question, so ``open`` has no such setting.
    assert not gives_retrieved(tmp_path / "open" / "train.json")


def test_questions_with_evidence_of_an_answer_are_counted_and_read_one_by_one(tmp_path: Path) -> None:
    blank = [{"entity": "jabiru", "evidence": [{"doc_id": "d", "text": " \n"}]}]
    of_others = [{"entity": "jabiru"}, {"entity": "otter", "evidence": [{"doc_id": "d", "text": "Otters hunt."}]}]

    def stream() -> Iterator[Entry]:
        yield question("A1")
        # What came before is in the files already, up to what Python buffers.
        assert (tmp_path / "gold" / "train.json").exists()
        yield question("A2", candidates=blank)
        yield question("A3", candidates=of_others)

    assert write_split(tmp_path, "train", stream(), TEXTS)[1:] == (3, 1)
    assert [one.id for one in read(tmp_path / "gold" / "train.json", evidence=True)] == ["A1", "A2", "A3"]


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"id_": "A 1"}, r"question 'A 1': its id holds white space \(U\+0020\); expected no white space"),
        ({"id_": ""}, "question '': its id is empty"),
        ({"id_": "#1"}, "question '#1': its id begins with '#'"),
        ({"cluster_id": ""}, "question 'A1': its cluster_id is empty"),
        ({"cluster_id": "c\u200b"}, r"question 'A1': its cluster_id holds the character U\+200B"),
        ({"question": " \n"}, "question 'A1': its text is empty; expected a question"),
        ({"complete_answer": []}, "question 'A1': has no complete answer; expected one or more"),
        (
            {"constraints": [{"entity": "e", "property": "p", "side": "up", "negated": False}]},
            "question 'A1': has a constraint with the answers on side 'up'; expected subj or obj",
        ),
        ({"question": "Which \ud800?"}, "question 'A1': one of its texts holds half a surrogate pair"),
    ],
)
def test_what_the_tasks_would_not_read_is_refused(tmp_path: Path, others: Entry, message: str) -> None:
    with pytest.raises(QuatiPoolError, match=message):
        written(tmp_path, question(**others))


def test_an_id_occurs_once_in_a_split(tmp_path: Path) -> None:
    with pytest.raises(QuatiPoolError, match="question 'A1' occurs twice in validation; expected each id once"):
        written(tmp_path, question(), question("A2"), question())


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_HOSTILE = _TEXT | st.sampled_from(
    ['"],"is_answer":true,[', "</script><script>", "\x00\x1f\u2028\u2029\ufeff", "\u202egnp.exe", "]\n[", "{{x}}", "\\"]
)
_ENTITY = st.sampled_from([f"e{number}" for number in range(6)])
_EVIDENCE = st.fixed_dictionaries({"doc_id": _TEXT, "start": st.none() | st.integers(), "text": _HOSTILE})
_QUESTION = st.fixed_dictionaries(
    {
        "id": st.from_regex(r"[A-Z][0-9a-f]{1,6}", fullmatch=True),
        "cluster_id": st.from_regex(r"[^\W_]{1,4}", fullmatch=True),
        "question": _HOSTILE.filter(str.strip),
        "constraints": st.lists(
            st.fixed_dictionaries(
                {
                    "entity": _ENTITY,
                    "property": _ENTITY,
                    "side": st.sampled_from(["subj", "obj"]),
                    "negated": st.booleans(),
                }
            ),
            max_size=3,
        ),
        "candidates": st.lists(
            st.fixed_dictionaries({"entity": _ENTITY}, optional={"evidence": st.lists(_EVIDENCE, max_size=2)}),
            max_size=4,
        ),
        "complete_answer": st.lists(_ENTITY, min_size=1, max_size=4, unique=True),
    }
)
_TEXTS_OF = st.dictionaries(
    _ENTITY,
    st.fixed_dictionaries({"label": _HOSTILE}, optional={"description": _HOSTILE, "aliases": st.lists(_HOSTILE)}),
)


@given(st.lists(_QUESTION, min_size=1, max_size=3, unique_by=lambda one: one["id"]), _TEXTS_OF)
def test_any_question_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, questions: list[Entry], texts: dict[str, Entry]
) -> None:
    folder = tmp_path_factory.mktemp("romqa")
    count = written(folder, *questions, texts=texts)
    assert count.questions == len(questions)
    for kind in KINDS:
        path = folder / kind / "dev.json"
        assert json.loads(path.read_bytes())[0]["constraints"] == released_question(questions[0], texts)["constraints"]
        # Half a file is a fault, not fewer questions.
        read_back = read(path, evidence=kind == "gold")
        for was, found in zip(questions, read_back, strict=True):
            _same(was, found, texts, kind)


def _same(was: Entry, found: Any, texts: Mapping[str, Entry], kind: str) -> None:
    def name(entity: str) -> str:
        return str(texts.get(entity, {}).get("label", "")).strip() or entity

    assert found[:3] == (was["id"], was["cluster_id"], was["question"])
    assert found.complete == tuple(dict.fromkeys(map(name, was["complete_answer"])))
    for one, candidate in zip(was["candidates"], found.candidates, strict=True):
        assert candidate.text == name(one["entity"])
        assert candidate.description == texts.get(one["entity"], {}).get("description", "")
        assert candidate.is_answer == (one["entity"] in was["complete_answer"])
        evidence = tuple(passage["text"] for passage in one.get("evidence", ()))
        assert candidate.evidence == (evidence if kind == "gold" else ())


# Three clusters of three questions, on animals, boats and breads; in each cluster, ``all`` has three answers, the other
# questions two and one of them. A wrong candidate is of the cluster too.
CLUSTERS = {
    "animals": ("living in the marsh", ("jabiru", "caiman", "capybara"), "piranha"),
    "boats": ("moored in the old harbour", ("ferry", "schooner", "tugboat"), "canoe"),
    "breads": ("baked in a clay oven", ("broa", "focaccia", "flatbread"), "doughnut"),
}


def small_questions() -> Iterator[Entry]:
    for cluster, (habit, things, wrong) in CLUSTERS.items():
        for count in (3, 2, 1):
            right = things[:count]
            yield {
                "id": f"{cluster}-{count}",
                "cluster_id": cluster,
                "question": f"Which {cluster} are {habit}, {count} of them?",
                "constraints": [{"entity": habit, "property": "is", "side": "subj", "negated": False}],
                "candidates": [
                    {"entity": one, "evidence": [{"doc_id": f"about-{one}", "text": f"The {one} is {habit}."}]}
                    for one in right
                ]
                + [{"entity": wrong, "evidence": [{"doc_id": "other", "text": f"No {wrong} is ever {habit}."}]}],
                "complete_answer": list(right),
            }


SYSTEMS = """\
name: mine
corpus: {path: corpus.jsonl}
queries: {path: queries.tsv}
systems:
  stems: {retriever: bm25s, language: en}
  words: {retriever: bm25s, stemming: false}
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder with the nine questions as a validation split."""
    made = write_split(tmp_path / "romqa", "validation", small_questions(), {})
    assert made[1:] == (9, 9)
    return tmp_path / "romqa"


@pytest.mark.parametrize("task", ["closed", "open", "gold"])
def test_bench_measures_answers_on_what_is_written(small: Path, tmp_path: Path, task: str) -> None:
    (row,) = bench("romqa", task, small, BenchOptions(tmp_path / "bench"), Listener()).rows
    assert (row.system, row.n, row.extra) == ("predict-all", 9, {"clusters": 3, "single_query_clusters": 0})
    # Of 3, 2, 1 right candidates and a wrong one: precision 3/4, 2/3, 1/2, recall 1, F1 6/7, 4/5, 2/3.
    f1 = {"F1": (6 / 7 + 4 / 5 + 2 / 3) / 3, "cluster_min F1": 2 / 3, "precision": (3 / 4 + 2 / 3 + 1 / 2) / 3}
    for name, share in {**f1, "recall": 1, "complete F1": f1["F1"], "P@1": 1, "P@10": f1["precision"]}.items():
        assert row.measures[name] == pytest.approx(100 * share), name


def test_evidence_becomes_a_workspace_in_which_evaluate_robust_has_the_clusters(
    small: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = {"svg": b"a sketch", "png": b"a sketch"}
    monkeypatch.setattr("quati_pool.reporting.figures.plots.Drawing.render_all", lambda self: both)
    workspace, systems = tmp_path / "workspace", tmp_path / "systems.yaml"
    systems.write_text(SYSTEMS)
    done = cli("bench", "romqa", "evidence", "--data", small, "--to", workspace, "--systems", systems)
    assert done.status == 0, done.err
    asked = [json.loads(line) for line in (workspace / "queries.jsonl").read_text().splitlines()]
    assert {row["query_id"]: row["cluster_id"] for row in asked} == {
        f"{cluster}-{count}": cluster for cluster in CLUSTERS for count in (1, 2, 3)
    }
    # 3 clusters with 3 + 2 + 1 pieces of evidence of an answer.
    judged = [tuple(line.split()) for line in (workspace / "gold.qrels").read_text().splitlines()]
    assert len(judged) == 18
    assert ("boats-1", "0", text_id("The ferry is moored in the old harbour."), "1") in judged
    assert len((workspace / "corpus.jsonl").read_text().splitlines()) == 12

    assert cli("build", "-c", workspace / "pool.yaml").status == 0
    done = cli("evaluate", "-c", workspace / "pool.yaml", "--robust", "--draws", 20, "--format", "json")
    assert done.status == 0, done.err
    (qrels,) = json.loads(done.out)["qrels"]
    assert {name: qrels["robust"][name] for name in ("clusters", "single_query_clusters", "queries")} == {
        "clusters": 3,
        "single_query_clusters": 0,
        "queries": 9,
    }
    runs = qrels["robust"]["runs"]
    assert {run["run_tag"] for run in runs} == {"stems", "words"}
    for run in runs:
        assert 0 < run["measures"]["nDCG@10"]["minimum"]["value"] <= run["measures"]["nDCG@10"]["mean"]["value"]
