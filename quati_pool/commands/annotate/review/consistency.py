"""How well people agree with themselves (repeats) and with known grades (gold pairs)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from quati_pool.agreement.coefficients import coefficients, why_undefined
from quati_pool.agreement.pairwise import grade_words
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import TranslatableText
from quati_pool.records import Int, State
from quati_pool.store.consistency_queries import grades_of, repeat_labels, training_labels

COEFFICIENTS = ("kappa", "kappa_quadratic", "agreement")
_SIDES = (TranslatableText("the first grades", "first_grades"), TranslatableText("the repeats", "repeats"))


class SelfAgreement(NamedTuple):
    """Agreement of a person's first grades and their grades of the same pairs when these came again, over ``n`` pairs;
    of all people pooled where ``name`` is None. ``values`` by COEFFICIENTS are None where they are undefined, with the
    reason in ``undefined``."""

    name: str | None
    n: int
    values: Mapping[str, float | None]
    undefined: Mapping[str, str]


class GoldResult(NamedTuple):
    """A person's answers to gold pairs: ``n`` grades, of which the share ``equal`` is the known one, and which are
    ``difference`` above it on average and ``distance`` away from it; ``cannot`` counts "cannot judge"."""

    name: str
    n: int
    equal: float
    difference: float
    distance: float
    cannot: int


def self_agreement(session: AnnotationSession) -> tuple[SelfAgreement, ...]:
    """The self-agreement of everybody with a repeat that compares, by name, and then of all pooled; empty if there is
    none. A repeat compares with the label of its pair that counted when it was answered."""
    scale = sorted(session.config.grades)
    place = {grade: number for number, grade in enumerate(scale)}
    given = repeat_labels(session.store, session.config.name, session.version)
    first = grades_of(session.store, [seq for _, label in given if (seq := label.extra.get("repeats")) is not None])
    tables: defaultdict[str, Int] = defaultdict(lambda: np.zeros((len(scale), len(scale)), dtype=np.int64))
    for name, label in given:
        grades = (first.get(label.extra.get("repeats") or 0), label.relevance)
        if grades[0] in place and grades[1] in place:
            tables[name][place[grades[0]], place[grades[1]]] += 1
    if not tables:
        return ()
    people = [_agreement(name, tables[name], scale) for name in sorted(tables)]
    return (*people, _agreement(None, np.sum([*tables.values()], axis=0), scale))


def _agreement(name: str | None, table: Int, scale: Sequence[int]) -> SelfAgreement:
    found = {key: float(value) for key, value in coefficients(table, scale, COEFFICIENTS).items()}
    values = {key: None if np.isnan(value) else value for key, value in found.items()}
    missing = [key for key, value in values.items() if value is None]
    undefined = dict.fromkeys(missing, why_undefined(table, grade_words(scale), *_SIDES)) if missing else {}
    return SelfAgreement(name, int(table.sum()), values, undefined)


def gold_results(session: AnnotationSession, people: Iterable[str]) -> tuple[GoldResult, ...]:
    """The results of these people on the present gold pairs, under the present version; without those who have graded
    none."""
    known = {(one.query_id, one.doc_id): one.relevance for one in session.training.all() if one.gold}
    if not known:
        return ()
    found = []
    for name in sorted(people):
        rows = training_labels(session.store, session.config.name, name, session.version, known)
        # Practice on a pair that became gold later does not count.
        gold = [row for row in rows if "block" in row.extra]
        off = np.array(
            [row.relevance - known[row.query_id, row.doc_id] for row in gold if row.relevance is not None],
            dtype=np.float64,
        )
        if len(off):
            cannot = sum(row.status is State.unsure for row in gold)
            equal, distance = float(np.mean(off == 0)), float(np.mean(np.abs(off)))
            found.append(GoldResult(name, len(off), equal, float(np.mean(off)), distance, cannot))
    return tuple(found)
