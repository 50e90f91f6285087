"""The answer of ``questions constraints``."""

from __future__ import annotations

import math

import yaml

from quati_pool.commands.annotate.authoring.constraints import ClusterDraw
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.tables import constraints as tables
from quati_pool.text.pluralize import counted


def answer(found: ClusterDraw) -> Answer:
    """What there is to write, what was left out and why, and what to do next."""
    clusters = counted(found.clusters, "cluster", "clusters")
    questions = counted(found.questions, "question", "questions")
    triples = counted(found.triples, "triple", "triples")
    there = "" if found.made else " (as it was)"
    sentences = [f"{clusters} with {questions} to write, from {triples}: {found.path}{there}."]
    if found.skipped:
        skipped = counted(found.skipped, "cluster", "clusters")
        sentences.append(f"Skipped: {skipped} {tables.too_few(found)}.")
    if found.discarded:
        reasons = wording.counts((tables.REASONS[reason], count) for reason, count in found.discarded.items())
        sentences.append(f"{sum(found.discarded.values()):,} of {found.drawn:,} draws gave no question: {reasons}.")
    sentences.append(f"{wording.share(found.negated / found.constraints)} of the questions' constraints are negated.")
    if found.all_answers:
        all_answers = counted(found.all_answers, "question", "questions")
        sentences.append(f"Of {all_answers} all candidates are answers, so none is wrong in the closed setting.")
    if found.evidence is None:
        sentences.append("No evidence: the triples lack the columns doc_id, start, end, evidence.")
    if found.unnamed:
        ids = counted(found.ids, "id", "ids")
        sentences.append(f"{found.unnamed:,} of {ids} have no label; people are shown the id.")
    return Answer(sentences, tables.sizes(found), f"next: add to pool.yaml, then quati-pool annotate\n{_entry(found)}")


def _entry(found: ClusterDraw) -> str:
    path = {"path": str(found.path)}
    sources = yaml.safe_dump(path, default_flow_style=True, allow_unicode=True, width=math.inf).strip()
    lines = ["authoring:", "  design: romqa", "  languages: [en]", f"  sources: {sources}"]
    return "\n".join(f"  {line}" for line in lines)
