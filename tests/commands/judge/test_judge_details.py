"""What comes with a judge's grade (aspects, probabilities, samples, thoughts), kept, listed and exported apart from
it."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from quati_pool.files.label_files import read_label_file
from quati_pool.judging.verdict import Reading
from quati_pool.labels.rereading import read_again, thoughts_behind
from quati_pool.llm.thoughts import Marks, apart
from quati_pool.project.events import Listener
from quati_pool.records import State
from quati_pool.store.database import Store
from quati_pool.store.failed_answers import FailedAnswer, failed_answers
from quati_pool.store.records import Attempt, CurrentLabel, Entry, Label
from quati_pool.store.rereading import Owner
from tests.cli.conftest import Cli, cli
from tests.commands.judged import ID_PATTERN, many, pair, rows, workspace
from tests.former.make_answers import ANSWERS, KEPT, judges, one, two
from tests.llm.server import THOUGHT, ServerProcess, grade_of

__all__ = ["cli"]

PROMPT = {
    "id": "aspects", "version": 1, "language": "en", "summary": "a grade and two aspects",
    "scale": {0: "no", 1: "a little", 2: "yes", 3: "wholly"},
    "system": "Grade by {scale}", "user": "{query}\n\n{passage}", "reask": "{problem}",
    "answer": {"reasoning": "why", "grade": "O", "aspects": {"M": [0, 3], "T": [0, 2]}},
}  # fmt: skip
ASPECTS = {"M": range(4), "T": range(3)}


@pytest.fixture
def server(running_server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServerProcess:
    monkeypatch.setenv("OPENAI_BASE_URL", running_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.chdir(tmp_path)
    running_server.script(id_pattern=ID_PATTERN)
    running_server.clear()
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/aspects.yaml").write_text(yaml.safe_dump(PROMPT), encoding="utf-8")
    return running_server


def done(cli: Cli, *arguments: object) -> str:
    made = cli(*arguments)
    assert made.status == 0, made.err
    return made.out


def objects(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def labelers(cli: Cli, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(done(cli, "labels", *arguments, "--format", "json"))["labelers"]
    return found


def test_aspects_and_probabilities_are_listed_and_exported_and_never_the_grade(
    server: ServerProcess, tmp_path: Path, cli: Cli
) -> None:
    """What the server said of each pair follows from ``grade_of``; it gives a digit e^-0.4, the next one (3 goes round
    to 0) e^-1.1, and lists no other: 0.670320 and 0.332871 are more than 1 together, so nothing is off the scale."""
    pairs = many(2, 3)
    graph = {"model": "fake-1", "prompt": "aspects", "logprobs": True}
    workspace(tmp_path, pairs, {"gpt": graph, "lexical": {"judge": "lexical", "language": "pt"}})
    done(cli, "judge", "gpt")
    done(cli, "judge", "lexical")
    ids = {(row["query_id"], row["doc_id"]): f"{row['query_id']}/{row['doc_id']}" for row in pairs}
    grades = {at: grade_of(name) for at, name in ids.items()}
    said = {
        at: {key: grade_of(f"{name} {key}", scale=scale) for key, scale in ASPECTS.items()} for at, name in ids.items()
    }

    gpt, lexical = labelers(cli)
    for aspect, scale in ASPECTS.items():
        values = [found[aspect] for found in said.values()]
        assert gpt["aspects"][aspect] == {
            "answers": 6,
            "mean": pytest.approx(sum(values) / 6),
            "counts": {str(value): values.count(value) for value in scale},
        }
    assert "aspects" not in lexical
    assert gpt["grades"] == {str(grade): count for grade, count in sorted(Counter(grades.values()).items())}
    table = done(cli, "labels", "--full")
    assert "Aspects" in table
    assert "Aspects" not in done(cli, "labels", "--full", "lexical")

    for name in ("gpt.jsonl", "gpt.csv", "gpt.tsv"):
        done(cli, "export", "labels", "--labeler", "gpt", "-o", name)
        back = read_label_file(tmp_path / name)
        assert back.query_id is not None
        assert back.doc_id is not None
        assert dict(zip(zip(back.query_id, back.doc_id, strict=True), back.relevance, strict=True)) == grades
    for found in objects(tmp_path / "gpt.jsonl"):
        at = (found["query_id"], found["doc_id"])
        grade, after = grades[at], (grades[at] + 1) % 4
        assert (found["relevance"], found["aspects"]) == (grade, said[at])
        assert found["distribution"] == {
            str(each): pytest.approx({grade: 0.668188, after: 0.331812}.get(each, 0), abs=1e-6) for each in range(4)
        }
        assert found["expected_grade"] == pytest.approx(0.668188 * grade + 0.331812 * after, abs=1e-5)
        assert found["off_scale"] == 0
        assert found["rationale"].startswith("O trecho trata")
        assert found["reading"]
        assert "samples" not in found
        assert "thoughts" not in found
    with (tmp_path / "gpt.csv").open(encoding="utf-8", newline="") as stream:
        table_rows = list(csv.DictReader(stream))
    assert list(table_rows[0])[4:] == [
        "aspect_M", "aspect_T", "expected_grade", "off_scale", "probability_0", "probability_1", "probability_2",
        "probability_3",
    ]  # fmt: skip
    assert [int(row["aspect_M"]) for row in table_rows] == [found["M"] for found in said.values()]
    done(cli, "export", "labels", "--labeler", "lexical", "-o", "lexical.tsv")
    assert (tmp_path / "lexical.tsv").read_text("utf-8").startswith("query_id\tdoc_id\trelevance\tstatus\n")

    done(cli, "export", "qrels", "--labeler", "gpt", "-o", "gpt.qrels")
    lines = [line.split() for line in (tmp_path / "gpt.qrels").read_text(encoding="utf-8").splitlines()]
    assert {(query_id, doc_id): int(grade) for query_id, _, doc_id, grade in lines} == grades


def test_each_sample_is_exported_with_all_that_came_with_it(server: ServerProcess, tmp_path: Path, cli: Cli) -> None:
    base = {"model": "fake-1", "prompt": "aspects", "temperature": 1.0, "seed": 5, "logprobs": True}
    workspace(tmp_path, many(1, 2), {"gpt": {**base, "samples": 3, "aggregate": "median"}})
    done(cli, "judge", "gpt")
    for name in ("gpt.jsonl", "gpt.csv", "gpt.tsv"):
        done(cli, "export", "labels", "--labeler", "gpt", "-o", name)
    [gpt] = labelers(cli)
    # Every sample counts: the server answers by the seed, which is one higher for each further sample.
    for aspect, scale in ASPECTS.items():
        given = [grade_of(f"q0000/d000{d} {aspect}", 4 + s, scale=scale) for d in range(2) for s in (1, 2, 3)]
        assert gpt["aspects"][aspect]["counts"] == {str(value): given.count(value) for value in scale}
    with (tmp_path / "gpt.csv").open(encoding="utf-8", newline="") as stream:
        table = list(csv.DictReader(stream))
    for found, row in zip(objects(tmp_path / "gpt.jsonl"), table, strict=True):
        name = f"{found['query_id']}/{found['doc_id']}"
        grades = [grade_of(name, 4 + sample) for sample in (1, 2, 3)]
        assert [(each["sample"], each["relevance"]) for each in found["samples"]] == list(enumerate(grades, 1))
        assert [int(row[f"sample_{sample}"]) for sample in (1, 2, 3)] == grades
        assert found["relevance"] == int(row["relevance"]) == sorted(grades)[1]
        for sample in found["samples"]:
            aspects = {key: grade_of(f"{name} {key}", 4 + sample["sample"], scale=s) for key, s in ASPECTS.items()}
            assert sample["aspects"] == aspects
            assert sum(sample["distribution"].values()) == pytest.approx(1)
        assert found.keys().isdisjoint({"aspects", "distribution", "expected_grade"})
    for name in ("gpt.jsonl", "gpt.csv", "gpt.tsv"):
        assert read_label_file(tmp_path / name).relevance == [
            found["relevance"] for found in objects(tmp_path / "gpt.jsonl")
        ]


def test_thoughts_and_notes_come_apart_from_the_answers(server: ServerProcess, tmp_path: Path, cli: Cli) -> None:
    ways = ["thought_field", "thought_parts", "thought_alone", "unknown_part", "well"]
    pairs = [pair("q1", way, f"[[serve: {way}]] [pair {way}]") for way in ways]
    workspace(tmp_path, pairs, {"gpt": {"model": "fake-1", "prompt": "quati-pt"}})
    made = cli("judge", "--full", "gpt", "--reask", "0", "--format", "json")
    assert "such as q1 thought_alone, unparsed (the answer" in made.err
    assert "no answer, only thoughts; all of them" in made.err
    example = json.loads(made.out)["example_failure"]
    assert (example["doc_id"], example["answer"], example["thoughts"]) == ("thought_alone", None, repr(THOUGHT))
    done(cli, "export", "labels", "--labeler", "gpt", "-o", "gpt.jsonl")
    found = {row["doc_id"]: row.get("thoughts") for row in objects(tmp_path / "gpt.jsonl")}
    assert found == {"thought_field": THOUGHT, "thought_parts": THOUGHT, "well": None}
    [gpt] = labelers(cli, "--missing")
    missing = {row["doc_id"]: row for row in gpt["missing"]}
    assert (missing["thought_alone"]["answer"], missing["thought_alone"]["thoughts"]) == (None, THOUGHT)
    assert (missing["unknown_part"]["answer"], missing["unknown_part"]["thoughts"]) == (None, None)
    assert missing["unknown_part"]["notes"] == ["a part of type quotation was not read"]
    assert "only thoughts" in done(cli, "labels", "--missing", "--full")


def test_half_a_surrogate_pair_in_what_a_model_thought_is_exported_as_a_mark(
    server: ServerProcess, tmp_path: Path, cli: Cli
) -> None:
    workspace(tmp_path, [pair("q1", "d1", "[[serve: thought_field]] [pair d1]")], {
        "gpt": {"model": "fake-1", "prompt": "quati-pt"},
    })  # fmt: skip
    done(cli, "judge", "gpt")
    with closing(sqlite3.connect(tmp_path / "labels.db")) as connection:
        # As the store writes a lone \ud83d.
        connection.execute("UPDATE attempts SET thoughts = ?", ("a \x1ad83d b",))
        connection.commit()
    done(cli, "export", "labels", "--labeler", "gpt", "-o", "gpt.jsonl")
    [found] = objects(tmp_path / "gpt.jsonl")
    assert found["thoughts"] == "a \ufffd b"


def test_a_newer_reading_says_why_an_older_answer_is_no_grade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """Answers that the commit before read, read again; no call is made."""
    (tmp_path / "labels.db").write_bytes(KEPT.read_bytes())
    for name, pool in (("one", one()), ("two", two())):
        workspace(tmp_path / name, pool, judges(), name, labels={"url": f"sqlite:///{tmp_path}/labels.db"})
    monkeypatch.chdir(tmp_path / "one")
    done(cli, "judge", "--reread")
    [gpt] = labelers(cli, "--missing")
    missing = {row["doc_id"]: row for row in gpt["missing"]}
    lacking = {f"d{place:02d}" for place, (*_, now) in enumerate(ANSWERS) if now[1] is None}
    # The twin shares the answer 10, the pair with a token was never asked as it is shown now, and one has no text.
    assert set(missing) == lacking | {"twin", "tokens", "empty"}
    for place, (text, _, _, (state, grade)) in enumerate(ANSWERS):
        if grade is None:
            found = missing[f"d{place:02d}"]
            assert found["state"] == state
            assert found["problem"]
            assert (found["answer"], found["thoughts"]) == apart(text, None)
    assert (missing["d04"]["answer"], missing["d04"]["thoughts"]) == (
        "Desculpe, não consigo avaliar.",
        '{"Pontuação": 3}',
    )
    assert missing["d07"]["problem"] == "the answer ended within its thoughts"
    assert missing["twin"]["problem"] == missing["d10"]["problem"]
    assert "goes on" in missing["d10"]["problem"]


def test_another_collections_grade_is_shared_with_what_came_with_it_and_not_with_anothers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """The first collection was not read again yet; answer 0 stays 1, answer 6 was 0 and is 2 now."""
    (tmp_path / "labels.db").write_bytes(KEPT.read_bytes())
    with closing(sqlite3.connect(tmp_path / "labels.db")) as connection, connection:
        connection.execute("UPDATE labels SET extra = ?", ('{"expected_grade": 0.5, "off_scale": 0.25}',))
    pool = [pair("q1", f"f{place}", f"Um texto. [answer {place}]") for place in (0, 6)]
    workspace(tmp_path / "three", pool, judges(), "three", labels={"url": f"sqlite:///{tmp_path}/labels.db"})
    monkeypatch.chdir(tmp_path / "three")
    assert json.loads(done(cli, "judge", "--format", "json"))["shared"] == 2
    found = rows(tmp_path, "SELECT doc_id, relevance, extra FROM labels WHERE collection = 'three' ORDER BY doc_id")
    assert [(doc_id, relevance, json.loads(extra)) for doc_id, relevance, extra in found] == [
        ("f0", 1, {"expected_grade": 0.5, "off_scale": 0.25}),
        ("f6", 2, {}),
    ]


MINE = Owner("c", "gpt")
READING = Reading("Razão", "Pontuação", [], range(4), {"M": range(3)})


def labelled(doc_id: str, relevance: int | None, **values: Any) -> Label:
    status = State.unparsed if relevance is None else State.ok
    known = {"collection": "c", "labeler_id": "gpt", "kind": "judge", "version": "v", "query_id": "q"}
    return Label(**{**known, "status": status, "content_sha": doc_id, **values}, doc_id=doc_id, relevance=relevance)


def attempted(answer: str | None, number: int = 1, **values: Any) -> Attempt:
    return Attempt(**{"number": number, "status": State.ok, "answer": answer, **values})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(None, tmp_path) as opened:
        yield opened


def current(store: Store) -> dict[str, CurrentLabel]:
    return {row.doc_id: row for row in store.current("c", "gpt", "v", ["q"])}


def test_a_reading_keeps_the_probabilities_of_a_grade_that_stays_and_of_no_other(store: Store) -> None:
    extra = {
        "shown_characters": 90,
        "expected_grade": 1.5,
        "distribution": {"0": 0.25, "1": 0.25, "2": 0.25, "3": 0.25},
        "off_scale": 0.1,
        "aspects": {"M": 0},
    }
    answers = {
        "same": '{"M": 2, "Pontuação": 2}',
        "other": '{"Pontuação": 2}</think>{"M": 1, "Pontuação": 3}',
        "doubt": '{"Pontuação": 2} e {"Pontuação": 1}',
    }
    entries = [
        Entry(label=labelled(name, 2, extra=extra), attempts=(attempted(text),)) for name, text in answers.items()
    ]
    sharer = labelled("same", 2, extra=extra, labeler_id="copy")
    store.append([Entry(label=entries[0].label, attempts=entries[0].attempts, sharers=(sharer,)), *entries[1:]])
    read_again(store, MINE, "v", READING, Listener())
    found = current(store)
    assert (found["same"].relevance, found["same"].extra) == (2, {**extra, "aspects": {"M": 2}})
    assert (found["other"].relevance, found["other"].extra) == (3, {"shown_characters": 90, "aspects": {"M": 1}})
    assert (found["doubt"].relevance, found["doubt"].extra) == (None, {"shown_characters": 90})
    [copy] = store.current("c", "copy", "v", ["q"])
    assert (copy.reading, copy.extra) == (READING.version, found["same"].extra)


def test_of_a_failure_the_newest_reading_is_told_and_a_newer_answer_before_an_older(store: Store) -> None:
    def fails(doc_id: str, answer: str, problem: str, **values: Any) -> Entry:
        notes = {"notes": [f"note {answer}"]}
        attempt = attempted(answer, status=State.unparsed, problem=problem, extra=notes)
        return Entry(label=labelled(doc_id, None, rationale=problem, **values), attempts=(attempt,))

    first, second = store.append([fails("d", "first", "old 1"), fails("d", "second", "old 2")])
    # Read again in the order of the answers, the first one last: the second answer is still the newer one.
    store.append(
        [
            Entry(label=labelled("d", None, rationale="new 2", rereads=second, reading="r")),
            Entry(label=labelled("d", None, rationale="new 1", rereads=first, reading="r")),
        ]
    )
    # What failed once and is a grade now is no failure, whatever its first reading was.
    [third] = store.append([fails("e", "third", "old 3")])
    store.append([Entry(label=labelled("e", 2, rereads=third, reading="r"))])
    # A grade that is in doubt now; one that shares its answer; one with no attempts of its own or another's.
    [fourth] = store.append(
        [Entry(label=labelled("f", 1), attempts=(attempted("fourth"),), sharers=(labelled("g", 1),))]
    )
    store.append([Entry(label=labelled("f", None, rationale="new 4", rereads=fourth, reading="r"))])
    [fifth] = [row.seq for row in store.current("c", "gpt", "v", ["q"]) if row.doc_id == "g"]
    store.append([Entry(label=labelled("g", None, rationale="new 5", rereads=fifth, shared_from=fourth, reading="r"))])
    store.append([Entry(label=labelled("h", None, rationale="without a call"))])
    assert failed_answers(store, "c", "gpt", "v", ["q"]) == {
        ("q", "d"): FailedAnswer("q", "d", State.unparsed, "new 2", "second", None, ("note second",)),
        ("q", "f"): FailedAnswer("q", "f", State.unparsed, "new 4", "fourth"),
        ("q", "g"): FailedAnswer("q", "g", State.unparsed, "new 5", "fourth"),
        ("q", "h"): FailedAnswer("q", "h", State.unparsed, "without a call", None),
    }


def test_thoughts_are_those_before_the_answer_that_gave_the_grade(store: Store) -> None:
    """The first try was unreadable once and is the grade now; its copy shares the answer."""
    tries = (
        attempted('<think>a</think>{"Pontuação": 2}', status=State.unparsed),
        attempted('<think>b</think>{"Pontuação": 1} sim', 2, thoughts="before"),
    )
    [seq] = store.append([Entry(label=labelled("d", 1), attempts=tries, sharers=(labelled("e", 1),))])
    before = list(current(store).values())
    assert thoughts_behind(store, before, READING) == {row.seq: "before\n\nb" for row in before}
    read_again(store, MINE, "v", READING, Listener())
    after = list(current(store).values())
    assert [(row.relevance, row.answer) for row in after] == [(2, seq), (2, seq + 1)]
    assert thoughts_behind(store, after, READING) == {row.seq: "a" for row in after}


def test_apart() -> None:
    assert apart(None, None) == (None, None)
    assert apart(" 2 \n", "before") == (" 2 \n", "before")
    assert apart("<think>a</think>\n b ", "before") == ("b", "before\n\na")
    assert apart("<think>a", None) == ("", "a")
    assert apart("«a» 2", None) == ("«a» 2", None)
    assert apart("«a» 2", None, (Marks("«", "»"),)) == ("2", "a")
    assert apart("<think>a</think> 2", None, ()) == ("<think>a</think> 2", None)


def test_the_bundle_holds_all_of_it(server: ServerProcess, tmp_path: Path, cli: Cli) -> None:
    base = {"model": "fake-1", "prompt": "aspects", "temperature": 1.0, "logprobs": True, "samples": 2}
    workspace(tmp_path, [], {"gpt": base})
    passages = [json.dumps({"doc_id": f"d{d}", "text": f"Um texto. [pair q1/d{d}]"}) + "\n" for d in range(2)]
    (tmp_path / "corpus.jsonl").write_text("".join(passages), encoding="utf-8")
    (tmp_path / "queries.tsv").write_text("q1\tum texto\n", encoding="utf-8")
    done(cli, "build")
    done(cli, "judge", "gpt")
    done(cli, "export", "bundle", "--labeler", "gpt", "-o", "bundle", "--set", "corpus=pooled")
    found = pq.read_table(tmp_path / "bundle/labels/gpt.parquet").to_pylist()
    kept = rows(tmp_path, "SELECT doc_id, sample, relevance, reading, extra FROM labels ORDER BY doc_id, sample")
    assert [(row["doc_id"], row["sample"], row["relevance"], row["reading"]) for row in found] == [
        (doc_id, sample, relevance, reading) for doc_id, sample, relevance, reading, _ in kept
    ]
    assert [row["sample"] for row in found] == [1, 2, 1, 2]
    for row, (*_, extra) in zip(found, kept, strict=True):
        assert json.loads(row["extra"]) == json.loads(extra)
        assert json.loads(row["extra"]).keys() == {"aspects", "expected_grade", "distribution", "off_scale"}
