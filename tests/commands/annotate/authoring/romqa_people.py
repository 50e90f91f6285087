"""Clusters of constraints by hand, a workspace whose questions are written from clusters, and people who write, verify
and rate them without a browser."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from quati_pool.annotation.codes import token_sha
from quati_pool.commands.annotate.authoring.blocks import AddedBlocks
from quati_pool.commands.annotate.authoring.cluster_folder import CLUSTERS, ENTITIES
from quati_pool.commands.annotate.authoring.derive import derive
from quati_pool.commands.annotate.authoring.step import WritingStep
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.files.artifacts import write_folder
from tests.commands.annotate.authoring.people_writing import WRITERS, Answer, Refused, work_off
from tests.commands.annotate.authoring.rounds import nonce, opened
from tests.commands.annotate.writers import sign_in

TEXTS = [
    {"id": "P106", "label": "occupation", "description": "what a person does", "aliases": ["profession", "job"]},
    {"id": "P19", "label": "place of birth", "description": "where a person was born", "aliases": []},
    {"id": "P166", "label": "award received", "description": "", "aliases": ["prize"]},
    {"id": "Q1", "label": "pianist", "description": "person who plays the piano", "aliases": ["piano player"]},
    {"id": "Q2", "label": "Brazil", "description": "country in South America", "aliases": []},
    {"id": "Q3", "label": "Nelson Freire", "description": "Brazilian pianist", "aliases": []},
    {"id": "A1", "label": "Ana Lima", "description": "", "aliases": []},
    {"id": "A2", "label": "Bia Reis", "description": "", "aliases": []},
]
OTHER = [
    ("w1", "who are all pianists of brazil"),
    ("w2", "which people was born in lisbon"),
    ("w3", "who won the prize"),
]


def made_cluster(number: int, queries: int = 3, evidence: bool = True) -> dict[str, Any]:
    """A cluster of three constraints whose queries have the answers A1, A2 and others that only ids name: the first
    all constraints, the others two of them, the last one negated."""
    constraints = [
        {"entity": "Q1", "property": "P106", "side": "subj", "answers": 40},
        {"entity": f"Q2{number:02d}" if number else "Q2", "property": "P19", "side": "subj", "answers": 30},
        {"entity": "Q3", "property": "P166", "side": "obj", "answers": 20},
    ]
    signs = [
        [(0, False), (1, False), (2, False)],
        [(0, False), (1, True)],
        [(1, False), (2, True)],
        [(2, False), (0, True)],
    ]
    found = []
    for place in range(queries):
        answers = ["A1", "A2", *(f"B{number}.{place}.{n:02d}" for n in range(3 * place))]
        wrong = [f"C{number}.{place}.{n}" for n in range(3)]
        candidates: list[dict[str, Any]] = [{"entity": one, "is_answer": one in answers} for one in [*wrong, *answers]]
        if evidence:
            for one in candidates:
                text = f"A document about {one['entity']}."
                one["evidence"] = [{"doc_id": f"D{one['entity']}", "start": 0, "end": len(text), "text": text}]
        found.append(
            {
                "query_id": f"c{number}-{place + 1}",
                "constraints": [{"constraint": c, "negated": negated} for c, negated in signs[place % 4]],
                "answers": answers,
                "candidates": candidates,
            }
        )
    return {"cluster_id": f"c{number}", "constraints": constraints, "queries": found}


def write_clusters(
    folder: Path, clusters: Sequence[Mapping[str, Any]], texts: Sequence[Mapping[str, Any]] = TEXTS
) -> Path:
    """Writes a folder as ``quati-pool questions constraints`` does."""

    def fill(partial: Path) -> dict[str, int]:
        for name, rows in ((CLUSTERS, clusters), (ENTITIES, texts)):
            with gzip.open(partial / name, "wt", encoding="utf-8") as stream:
                stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return {}

    write_folder(folder, {"form": "by hand"}, {}, fill)
    return folder


def romqa_workspace(
    folder: Path,
    clusters: Sequence[Mapping[str, Any]] | None = None,
    texts: Sequence[Mapping[str, Any]] = TEXTS,
    **authoring: Any,
) -> Path:
    """Writes clusters (two of three queries by default; [] leaves out the folder), other.tsv and pool.yaml; returns the
    latter. ``authoring`` changes its settings; a None drops one."""
    folder.mkdir(parents=True, exist_ok=True)
    if clusters is None or clusters:
        write_clusters(folder / "clusters", [made_cluster(0), made_cluster(1)] if clusters is None else clusters, texts)
    lines = ["query_id\tquery", *("\t".join(one) for one in OTHER)]
    (folder / "other.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    settings = {
        "design": "romqa",
        "languages": ["en"],
        "sources": {"path": "clusters"},
        "raters": 1,
        "compare": {"path": "other.tsv", "name": "WebQs"},
        **authoring,
    }
    settings = {name: value for name, value in settings.items() if value is not None}
    path = folder / "pool.yaml"
    path.write_text(
        yaml.safe_dump({"name": "logic", "authoring": settings}, allow_unicode=True, sort_keys=False), encoding="utf-8"
    )
    return path


def question_of(constraints: Sequence[Mapping[str, Any]]) -> str:
    """A question for the constraints that a page shows."""
    said = [
        f"{'not ' if one['negated'] else ''}{one['property']['label']} {one['entity']['label']}" for one in constraints
    ]
    return f"Who has {' and '.join(said)}?"


class RomqaPeople:
    """Answers every step, and accepts drafts as they are. The queries whose question has a word of ``unclear`` are
    refused by who should write them, and the people in ``doubting`` refuse to verify what has a word of ``inexact``."""

    def __init__(
        self, inexact: Collection[str] = (), doubting: Collection[str] = WRITERS, unclear: Collection[str] = ()
    ) -> None:
        self._inexact, self._doubting, self._unclear = tuple(inexact), frozenset(doubting), tuple(unclear)

    def __call__(self, name: str, shown: WritingStep) -> Mapping[str, Any] | Refused:
        step = shown.step.name
        if step == "write":
            question = question_of(shown.shown["constraints"])
            refused = any(word in question for word in self._unclear)
            return Refused("unnatural") if refused else {shown.step.fields[0].name: question}
        if step == "draft_query":
            return {shown.step.fields[0].name: next(iter(shown.shown["question"].values()))}
        if step == "verify":
            (question,) = shown.shown["question"].values()
            refused = name in self._doubting and any(word in question for word in self._inexact)
            return Refused("says_less") if refused else {}
        assert step == "rate"
        natural = {side: 2 if text.startswith("Who has") else 4 for side, text in shown.shown["questions"].items()}
        return {f"natural.{side}": grade for side, grade in natural.items()}


def everybody(session: AnnotationSession, answer: Answer, names: Sequence[str] = WRITERS) -> int:
    """People of these names, new or known, do all that there is to do; returns the number of their forms."""
    return work_off(session, {name: signed(session, name) for name in names}, answer)


def signed(session: AnnotationSession, name: str) -> str:
    """The token of a new sign-in of a person, who may be new."""
    if session.people.named(name) is None:
        return sign_in(session, name)
    token = f"token-{name}-{nonce()}"
    session.people.sign_in(name, token_sha(token), 3600)
    return token


def people_done(folder: Path, answer: Answer | None = None) -> None:
    """Four people write and verify everything in a workspace of clusters; where pool.yaml says ``compare``, the blocks
    are derived and rated, too."""
    path, answer = folder / "pool.yaml", answer or RomqaPeople()
    with opened(path) as session:
        everybody(session, answer)
        settings = session.config.authoring
    assert settings is not None
    if settings.parameters.compare is not None:
        assert isinstance(derive(path), AddedBlocks)
        with opened(path) as session:
            everybody(session, answer)
