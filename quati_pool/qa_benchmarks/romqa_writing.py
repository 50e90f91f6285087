"""Writes questions about constraints in the form of RoMQA's released files, so that every task of ``bench romqa`` reads
them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from quati_pool.errors import QuatiPoolError
from quati_pool.files.problems import quoted, surrogate_problem
from quati_pool.qa_benchmarks.romqa_files import KINDS, SPLITS
from quati_pool.records import id_problem

SIDES = ("subj", "obj")
"""The side of a constraint's triples that the answers are on (``prop_dir``)."""

_RELEASED = {ours: theirs for theirs, ours in SPLITS.items()}

# One encoder for all questions; json.dumps would create one per question.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class WrittenSplit(NamedTuple):
    """The files of a split, relative to the folder, none if there is no question; and how many questions they hold,
    and how many of these have evidence of an answer, without which ``bench romqa evidence`` leaves a question out."""

    files: tuple[str, ...]
    questions: int
    with_evidence: int


def write_split(
    folder: Path, split: str, questions: Iterable[Mapping[str, Any]], texts: Mapping[str, Mapping[str, Any]]
) -> WrittenSplit:
    """Writes ``gold``, ``closed`` and ``open`` files of a split (``train``, ``validation``, ``test``) into ``folder``,
    one question at a time, in the order of ``questions``; none if there is no question.

    ``questions`` and ``texts`` are those of ``released_question``. Raises QuatiPoolError for a question that the tasks
    would not read, and for an id that occurs twice; the files are then incomplete.
    """
    seen: set[str] = set()
    with_evidence = 0
    files = {kind: f"{kind}/{_RELEASED[split]}.json" for kind in KINDS}
    with ExitStack() as stack:
        streams: dict[str, BinaryIO] = {}
        for question in questions:
            row = released_question(question, texts)
            if row["id"] in seen:
                raise QuatiPoolError(f"question {quoted(row['id'])} occurs twice in {split}; expected each id once")
            seen.add(row["id"])
            lines = _lines(row)
            if not streams:
                for kind, name in files.items():
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    streams[kind] = stack.enter_context((folder / name).open("wb"))
            for kind, stream in streams.items():
                stream.write(b"[\n" if len(seen) == 1 else b",\n")
                stream.write(lines[kind])
            with_evidence += any(
                one["text"].strip()
                for candidate in row["candidates"]
                if candidate["is_answer"]
                for one in candidate["evidence"]
            )
        for stream in streams.values():
            stream.write(b"\n]\n")
    return WrittenSplit(tuple(files.values()) if seen else (), len(seen), with_evidence)


def released_question(question: Mapping[str, Any], texts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A question as the gold files have it.

    ``question`` has ``id``, ``cluster_id`` and ``question``; ``constraints``, each with ``entity``, ``property``,
    ``side`` (one of SIDES) and ``negated``; ``candidates``, each with ``entity`` and, where there is some,
    ``evidence``: passages with ``doc_id``, ``start``, ``end`` (None where unknown) and ``text``; ``complete_answer``,
    the ids of all answers; and ``drafted_by``, if a program drafted it. A candidate is right if it is among the
    complete answers. ``texts`` gives ``label``, ``description`` and ``aliases`` by the id of an entity or property;
    without a label, its name is its id.

    Raises QuatiPoolError for an id or cluster_id that cannot be a query_id, an empty question, no complete answer, and
    an unknown side.
    """
    problem = _problem(question)
    if problem is not None:
        raise QuatiPoolError(f"question {quoted(str(question['id']))}: {problem}")
    answers = set(question["complete_answer"])
    row = {
        "id": question["id"],
        "cluster_id": question["cluster_id"],
        "question": question["question"],
        "constraints": [
            {
                "prop": _named(one["property"], texts),
                "other_ent": _named(one["entity"], texts),
                "prop_dir": one["side"],
                "truthy": not one["negated"],
            }
            for one in question["constraints"]
        ],
        "candidates": [
            {
                **_named(one["entity"], texts),
                "is_answer": one["entity"] in answers,
                "evidence": [
                    {**{name: found.get(name) for name in ("doc_id", "start", "end")}, "text": found["text"]}
                    for found in one.get("evidence", ())
                ],
            }
            for one in question["candidates"]
        ],
        "complete_answer": [_named(entity, texts) for entity in question["complete_answer"]],
    }
    if question.get("drafted_by"):
        row["drafted_by"] = question["drafted_by"]
    return row


def _lines(row: Mapping[str, Any]) -> dict[str, bytes]:
    """The question as a line of each kind of file. Raises QuatiPoolError for a text that UTF-8 cannot encode."""
    without = [{name: value for name, value in one.items() if name != "evidence"} for one in row["candidates"]]
    gold, bare = _encode(row), _encode({**row, "candidates": without})
    problem = surrogate_problem(gold)
    if problem is not None:
        raise QuatiPoolError(f"question {quoted(row['id'])}: one of its texts {problem}")
    return {kind: (gold if kind == "gold" else bare).encode() for kind in KINDS}


def _problem(question: Mapping[str, Any]) -> str | None:
    """Why the tasks would not read a question; None if they would."""
    for name in ("id", "cluster_id"):
        # An id becomes a query_id, which must not look like a comment of a TREC file.
        fault = "begins with '#'" if question[name].startswith("#") else id_problem(question[name])
        if fault is not None:
            return f"its {name} {fault}; expected no white space or control characters, and no '#' first"
    if not question["question"].strip():
        return "its text is empty; expected a question"
    if not question["complete_answer"]:
        return "has no complete answer; expected one or more"
    for one in question["constraints"]:
        if one["side"] not in SIDES:
            return f"has a constraint with the answers on side {quoted(one['side'])}; expected {' or '.join(SIDES)}"
    return None


def _named(id_: str, texts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """An entity or property with its texts."""
    found = texts.get(id_, {})
    return {
        "uri": id_,
        # Answers are matched by this name, so every entity has one.
        "text": (found.get("label") or "").strip() or id_,
        "aliases": list(found.get("aliases") or ()),
        "desc": found.get("description") or "",
    }
