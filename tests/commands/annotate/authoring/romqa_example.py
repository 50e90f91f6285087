"""A made-up graph with evidence, and people who write, verify and rate what is drawn from it, not always agreeing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from quati_pool.annotation.authoring.constraints import ClusterSettings
from quati_pool.commands.annotate.authoring.constraints import draw_constraints
from quati_pool.commands.annotate.authoring.step import WritingStep
from tests.annotation.authoring.constraints_oracle import Triple
from tests.annotation.authoring.made_graphs import planted
from tests.commands.annotate.authoring.people_writing import WRITERS, Refused
from tests.commands.annotate.authoring.romqa_people import RomqaPeople, everybody, romqa_workspace
from tests.commands.annotate.authoring.rounds import opened

PEOPLE = (*WRITERS, "eva")


def write_graph(path: Path) -> list[Triple]:
    """Writes 4,000 triples, each with a mention, as a TSV."""
    triples = planted(4_000, plants=30)
    rows = ["subject\tproperty\tobject\tdoc_id\tstart\tend\tevidence"]
    for number, (subject, prop, obj) in enumerate(triples):
        text = f"It is written that {subject} {prop} {obj} since year {number % 97}."
        rows.append(f"{subject}\t{prop}\t{obj}\td{number % 500}\t0\t{len(text)}\t{text}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return triples


class ExamplePeople(RomqaPeople):
    """Refuse about one of eight questions that they verify, some together; and rate by the question's words."""

    def __call__(self, name: str, shown: WritingStep) -> Mapping[str, Any] | Refused:
        if shown.step.name == "verify":
            (question,) = shown.shown["question"].values()
            if crc32(question.encode()) % 20 == 0:
                return Refused("other_meaning")
            return Refused("says_less") if crc32(f"{name} {question}".encode()) % 12 == 0 else {}
        if shown.step.name == "rate":
            grades = {side: _grade(name, text) for side, text in shown.shown["questions"].items()}
            return {f"natural.{side}": grade for side, grade in grades.items()}
        return super().__call__(name, shown)


def _grade(name: str, question: str) -> int:
    usual = (2 if question.startswith("Who has") else 3) + crc32(question.encode()) % 3
    return min(5, usual + (crc32(f"{name} {question}".encode()) % 4 == 0))


def written(folder: Path) -> Path:
    """A workspace of twelve clusters whose questions five people wrote and verified; returns its pool.yaml."""
    write_graph(folder / "triples.tsv")
    draw_constraints([folder / "triples.tsv"], [], folder / "clusters", ClusterSettings(), 12)
    path = romqa_workspace(folder, [], raters=2)
    lines = ["query_id\tquery", *(f"w{number}\twhat is number {number} of the other set" for number in range(100))]
    (folder / "other.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    work_on(path)
    return path


def work_on(path: Path) -> None:
    """The five do all that there is to do."""
    with opened(path) as session:
        everybody(session, ExamplePeople(), PEOPLE)
