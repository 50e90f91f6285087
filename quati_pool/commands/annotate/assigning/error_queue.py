"""Pairs that people should look at to find errors, in the order in which they should."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from quati_pool.annotation.error_queues import contradictions, sure_relevant
from quati_pool.annotation.near_duplicate_passages import near_duplicates
from quati_pool.annotation.sampling import hash_unit
from quati_pool.audit.near_duplicates import DuplicatePair, near_duplicates_apart
from quati_pool.commands.annotate.assigning.measure_sampling import RankedPool
from quati_pool.commands.annotate.assigning.pool_grades import (
    JudgedPool,
    PoolGrades,
    as_values,
    in_words,
    too_few_judges,
)
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.audit.drawn_cases import scale_of
from quati_pool.errors import QuatiPoolError
from quati_pool.files.pools import has_text
from quati_pool.text.pluralize import counted, listed


@dataclass(frozen=True, eq=False)
class QueuedRows:
    """The ``rows`` of pairs in the order of the queue, what the design records of it, and notes for its author."""

    rows: Sequence[int]
    parameters: dict[str, Any]
    notes: Sequence[str]


class _Passage(NamedTuple):
    """A passage with the judge's grade, and people's, if there is one."""

    doc_id: str
    text: str
    grade: int
    people: int | None


class ErrorQueue:
    """Lists pairs of a session's pool. Pairs with equal claims come in a random order by ``seed``."""

    def __init__(self, session: AnnotationSession, grades: PoolGrades, seed: int) -> None:
        self._session = session
        self._grades = grades
        self._query_ids = [query_id for query_id, _ in grades.pairs]
        self._doc_ids = [doc_id for _, doc_id in grades.pairs]
        self._tie = hash_unit(seed, self._query_ids, self._doc_ids)
        self._scale = scale_of(session.config)

    def rows(self, queue: str, judge: str | None, further: Sequence[str], most: int) -> QueuedRows:
        """At most ``most`` pairs of a queue, without those that people have settled.

        Raises QuatiPoolError if no judge has graded a pair, or a judge that is named.
        """
        if queue == "contradictions":
            return self._contradictions(judge, further, most)
        name = judge or self._grades.usual_judge()
        if name is None:
            raise QuatiPoolError(
                f"--queue {queue} is about a judge's grades, and none has graded; run: quati-pool judge"
            )
        judged = self._grades.of(name)
        found = self._sure_relevant(judged) if queue == "sure-relevant" else self._near_duplicates(judged, most)
        rows = found[:most]
        by_grade = Counter(judged.grades[row] for row in rows)
        grades = listed([f"{count:,} of grade {grade}" for grade, count in sorted(by_grade.items(), reverse=True)])
        notes = [f"by the grades of {name}: {grades}", *self._fewer(rows, most)] if rows else []
        return QueuedRows(rows, {"judge": name, "judge_version": judged.version}, notes)

    def _sure_relevant(self, judged: JudgedPool) -> list[int]:
        """Pairs that the judge finds to answer the query, and nobody has graded."""
        grades = as_values(judged.grades)
        people = self._grades.people
        graded = np.array([answer is not None and answer.graded.relevance is not None for answer in people], dtype=bool)
        ranks = RankedPool(self._session, self._query_ids, self._doc_ids, None).ranks
        found = sure_relevant(np.where(graded, np.nan, grades), ranks, self._scale.answers_from, self._tie)
        rows: list[int] = found.tolist()
        return rows

    def _contradictions(self, judge: str | None, further: Sequence[str], most: int) -> QueuedRows:
        """Pairs on which judges, the samples of one or people differ, but for those that a lead has decided or several
        people have graded."""
        judges = self._compared(judge, further)
        people = self._grades.people
        theirs = as_values([None if answer is None else answer.graded.relevance for answer in people])
        answers = np.vstack([*(one.samples() for one in judges), theirs])
        settled = [answer is not None and (answer.decided or len(answer.people) > 1) for answer in people]
        answers[:, np.array(settled, dtype=bool)] = np.nan
        rows: list[int] = contradictions(answers, self._tie)[:most].tolist()
        notes = list(self._fewer(rows, most)) if rows else []
        if rows:
            compared = in_words(judges) + (" and people" if not np.isnan(theirs).all() else "")
            gaps = Counter(int(np.nanmax(answers[:, row]) - np.nanmin(answers[:, row])) for row in rows)
            apart = listed(
                [f"{count:,} by {counted(gap, 'grade', 'grades')}" for gap, count in sorted(gaps.items(), reverse=True)]
            )
            notes.insert(0, f"the grades of {compared} differ: {apart}")
        if graded := int((~np.isnan(theirs[rows])).sum()):
            notes.append(
                f"{counted(graded, 'pair has', 'pairs have')} a person's grade already; --overlap 2 asks another person"
            )
        return QueuedRows(rows, {"judges": {one.labeler.name: one.version for one in judges}}, notes)

    def _compared(self, judge: str | None, further: Sequence[str]) -> list[JudgedPool]:
        """The judges whose grades are compared: one alone if it has several samples, or people graded."""
        judges = self._grades.several(judge, further)
        if not judges and (name := self._grades.usual_judge()):
            judges = [self._grades.of(name)]
        graded = any(answer is not None and answer.graded.relevance is not None for answer in self._grades.people)
        if not judges or (len(judges) == 1 and not graded and len(judges[0].samples()) < 2):
            raise too_few_judges("--queue contradictions", judges)
        return judges

    def _near_duplicates(self, judged: JudgedPool, most: int) -> list[int]:
        """Passages of one query that are nearly the same and that the judge graded apart, two at a time."""
        row_of = {pair: row for row, pair in enumerate(self._grades.pairs)}
        pairs = list(self._alike(judged))
        found: dict[int, None] = {}
        for one in near_duplicates_apart(pairs, self._scale).apart if pairs else ():
            both = [row_of[one.query_id, doc_id] for doc_id in (one.doc_id, one.other_doc_id)]
            new = [row for row in both if row not in found]
            if not one.settled and len(found) + len(new) <= most:
                found |= dict.fromkeys(new)
        return list(found)

    def _alike(self, judged: JudgedPool) -> Iterator[DuplicatePair]:
        pool, people = self._session.pool_view, self._grades.people
        theirs = [None if answer is None else answer.graded.relevance for answer in people]
        for query_id in pool.query_ids:
            first = pool.query(query_id).start
            found = [
                _Passage(doc_id, text, grade, theirs[row])
                for row, (doc_id, text) in enumerate(pool.passages(query_id), first)
                if (grade := judged.grades[row]) is not None and has_text(text)
            ]
            for place, others in enumerate(near_duplicates([one.text for one in found])):
                one = found[place]
                for other, similarity in others:
                    if place < other:
                        two = found[other]
                        yield DuplicatePair(
                            query_id, one.doc_id, one.grade, two.doc_id, two.grade, similarity, one.people, two.people
                        )

    def _fewer(self, rows: Sequence[int], most: int) -> list[str]:
        if len(rows) == most:
            return []
        return [f"the queue has {counted(len(rows), 'pair', 'pairs')} at present, fewer than {most:,}"]
