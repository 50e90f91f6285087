"""Records of what was written: kinds, what is out, people by number, ids of releases."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.annotate.authoring.records import open_records
from quati_pool.commands.annotate.authoring.report import rounds_report
from quati_pool.errors import ConfigError
from tests.commands.annotate.authoring.five_questions import QUESTIONS, Five, five
from tests.commands.annotate.authoring.people_writing import LEAD, Refused, signed_in, work_off
from tests.commands.annotate.authoring.rounds import TEXTS, opened, workspace


def test_records_are_of_what_is_not_out_and_people_are_numbered_by_their_first_entry(tmp_path: Path) -> None:
    people = Five()

    def answer(name: str, shown: Any) -> Any:
        if shown.step.name == "subject":
            return {"related": "coral" not in shown.shown["text"]["en"]}
        if shown.step.name == "edit" and shown.shown["question"]["en"] == QUESTIONS[0]:
            return Refused("decontextualised", "which water?")
        return people(name, shown)

    path = five(tmp_path, ("ana", "rui"), answer, subject="the sea")
    records = open_records(path)
    assert [records.counts(kind) for kind in records.kinds] == [{"kept": 4, "out": 1}, {"kept": 3, "out": 1}]
    assert records.kinds == ["text", "question"]
    assert records.out == {"text": {"unrelated": 1}, "question": {"decontextualised": 1}}
    assert len(records.of("text")) == 4
    assert len(records.of("question")) == len(records.of("question", kept=True)) == len(records.units) == 3
    assert records.people == {"ana": 1, LEAD: 2, "rui": 3}
    listed = rounds_report(path).units
    assert sorted(one.reason or "" for one in listed) == ["", "", "", "decontextualised"]
    assert {one.text for one in listed} <= set(QUESTIONS)


def test_entries_that_count_are_in_the_order_in_which_they_were_made(tmp_path: Path) -> None:
    records = open_records(five(tmp_path, ("ana", "rui"), Five()))
    found = list(records.counting())
    assert [entry.seq for _, entry in found] == sorted(entry.seq for _, entry in found)
    # Of five texts: a question and an end, an edit, three steps of an assessment, a curation.
    assert len(found) == 5 * (2 + 1 + 3 + 1)
    assert {entry.action for _, entry in found} == {"given", "ended"}


def test_ids_say_the_corpus_as_in_piras_files(tmp_path: Path) -> None:
    path = workspace(tmp_path)
    with opened(path) as session:
        work_off(session, signed_in(session, "ana"), lambda name, shown: None)
    records = open_records(path)
    # Ana opened a task and wrote nothing.
    assert {entry.by for entries in records.entries.values() for entry in entries} == {"ana", LEAD}
    assert records.people == {}
    assert sorted(records.released_id(item_id) for item_id in records.items) == ["A1", "A2", "B3"]
    assert len(records.items) == len(TEXTS)
    seventh = replace(records.items[1], item_id=7)
    sources = [replace(seventh, content={"kept": kept}) for kept in ({"corpus": "1"}, {"corpus": "2"}, {"corpus": "x"})]
    without = replace(seventh, content={})
    assert [records.design.released_id(seventh, one) for one in (*sources, without)] == ["A7", "B7", "A7", "A7"]


def test_a_collection_without_rounds_has_no_records(tmp_path: Path) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text("name: a\ncorpus: {path: c.jsonl}\nqueries: {path: q.tsv}\nsystems: {bm25: {retriever: bm25}}\n")
    with pytest.raises(ConfigError, match=r"pool\.yaml: no questions are written in rounds here"):
        open_records(path)
    assert not (tmp_path / "labels.db").exists()
