"""The near-duplicates of a pool that a judge graded apart, and the list of them that an audit leaves for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from quati_pool.annotation.near_duplicate_passages import near_duplicates
from quati_pool.audit.base import PairTexts
from quati_pool.audit.near_duplicates import DuplicatePair, NearDuplicates, near_duplicates_apart
from quati_pool.commands.audit.drawn_cases import DrawnCases, Member
from quati_pool.commands.audit.graded_pairs import Key, people_of, read_pairs
from quati_pool.commands.audit.queue import shown_pair
from quati_pool.files.artifacts import clear_partials, locked
from quati_pool.files.tsv import put_tsv
from quati_pool.judging.pair import Pair
from quati_pool.labels.base import Labeler
from quati_pool.project.workspace import Workspace

EXAMPLES = 3
"""How many of the pairs to look at first are shown with their texts."""

_COLUMNS = (
    "query_id", "doc_id", "grade", "other_doc_id", "other_grade", "similarity", "people_grade", "other_people_grade",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class DuplicateAudit:
    """How a judge grades near-duplicates, next to ``people`` (None if nobody else graded), where the lowest grade that
    answers is ``answers_from``. ``texts`` are those of the first ``EXAMPLES`` pairs that it grades apart; ``path`` is
    the list of all."""

    found: NearDuplicates
    people: str | None
    answers_from: int
    texts: Mapping[Key, PairTexts]
    path: Path


def audit_near_duplicates(drawn: DrawnCases, people: str | None) -> DuplicateAudit:
    """Reads the grades of near-duplicates by the judge of ``drawn`` and by the labeler ``people``, by default those who
    say which pairs are irrelevant; writes nothing."""
    grading = drawn.grading
    truth = people_of(grading) if people is None else grading.labeler(people)
    truth = None if truth is not None and truth.name == drawn.name else truth
    found = near_duplicates_apart(list(_pairs(drawn, truth)), drawn.scale)
    first = found.apart[:EXAMPLES]
    keys = {(pair.query_id, doc_id) for pair in first for doc_id in (pair.doc_id, pair.other_doc_id)}
    texts = {key: pair.shown for key, pair in read_pairs(grading, keys).items()} if keys else {}
    path = Workspace(grading.config.folder).near_duplicates(drawn.name)
    return DuplicateAudit(found, None if truth is None else truth.name, drawn.scale.answers_from, texts, path)


def write_list(found: DuplicateAudit, drawn: DrawnCases, say: Callable[[str], None]) -> None:
    """Writes the pairs that are graded apart, those to look at first before others. A list that is the same stays as it
    is."""
    with locked(Workspace(drawn.grading.config.folder).lock(f"audit-{drawn.name}-near-duplicates"), say):
        clear_partials(found.path)
        rows = (pair._replace(similarity=round(pair.similarity, 4)) for pair in found.found.apart)
        put_tsv(found.path, _COLUMNS, rows)


class _Row(NamedTuple):
    """A pair that the judge graded, with its grade and people's."""

    pair: Pair
    grade: int
    people: int | None


def _pairs(drawn: DrawnCases, people: Labeler | None) -> Iterator[DuplicatePair]:
    """The near-duplicates in the order of the pool, each two of them once, without those that the judge is shown as
    equal texts."""
    grading = drawn.grading
    judge = grading.labeler(drawn.name)
    for chunk in grading.pairs():
        theirs = [None] * len(chunk) if people is None else [one.relevance for one in people.graded(chunk)]
        by_query: dict[str, list[_Row]] = {}
        for pair, graded, grade in zip(chunk, judge.graded(chunk), theirs, strict=True):
            if graded.relevance is not None:
                by_query.setdefault(pair.query_id, []).append(_Row(pair, graded.relevance, grade))
        for rows in by_query.values():
            yield from _alike(rows, drawn.members)


def _alike(rows: Sequence[_Row], members: Sequence[Member]) -> Iterator[DuplicatePair]:
    found = near_duplicates([row.pair.text for row in rows])
    shown = {place: _shown(row.pair, members) for place, row in enumerate(rows) if found[place]}
    for place, (row, others) in enumerate(zip(rows, found, strict=True)):
        for other, similarity in others:
            if place < other and shown[place] != shown[other]:
                one, two = row.pair, rows[other].pair
                yield DuplicatePair(
                    one.query_id, one.doc_id, row.grade, two.doc_id, rows[other].grade, similarity, row.people,
                    rows[other].people,
                )  # fmt: skip


def _shown(pair: Pair, members: Sequence[Member]) -> list[Pair]:
    """What each judge behind the grades is shown of a pair, which decides which pairs share an answer."""
    texts = PairTexts(pair.query, pair.text, pair.narrative)
    return [shown_pair(member.judge, "", "", texts)[0] for member in members]
