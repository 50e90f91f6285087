"""Makes the graded frame of a sample: the queries or pairs that were drawn, as far as people have answered them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from quati_pool.errors import QuatiPoolError
from quati_pool.estimation.pair_estimates import PairSample
from quati_pool.estimation.pair_frame import NO_GRADE
from quati_pool.estimation.query_regression import QuerySample
from quati_pool.estimation.results import Drawn, Unit
from quati_pool.labels.graded_frame import Flags, GradedFrame, GradedPairs
from quati_pool.labels.peoples_grades import Pair, PeoplesGrades
from quati_pool.labels.qrels import grades_by_pair
from quati_pool.records import Ids, Int, Qrels
from quati_pool.stats.sample_sizes import FEWEST_OF_STRATUM
from quati_pool.text.pluralize import counted

ONLY_STRATUM = "all"
"""The name of the only stratum of a frame without strata."""
AHEAD = "graded ahead of the random order"
"""Why a query is left out."""


def graded_pairs(people: PeoplesGrades, judge: Qrels) -> GradedPairs:
    """All pairs of people's pool, with the grades of both; without a pool, the pairs that either graded."""
    return SamplingFrame(people.pairs or {*people.grades, *grades_by_pair(judge)}, people, judge).graded_pairs


class SamplingFrame:
    """The sorted pairs of a frame with their grades, of which those that were drawn and answered become a sample.
    ``awaited`` are pairs whose grade by people may still change."""

    def __init__(
        self, pairs: Iterable[Pair], people: PeoplesGrades, judge: Qrels, awaited: Collection[Pair] = ()
    ) -> None:
        self.pairs = sorted(pairs)
        self._query_ids = sorted({query_id for query_id, _ in self.pairs})
        self.query_ids, self.doc_ids = Ids(self._query_ids), Ids(sorted({doc_id for _, doc_id in self.pairs}))
        self.query = self.query_ids.encode([query_id for query_id, _ in self.pairs])
        self.people, self.judge = (
            np.array([graded.get(pair, NO_GRADE) for pair in self.pairs], dtype=np.int64)
            for graded in (people.grades, grades_by_pair(judge))
        )
        self.not_judged, self._tied, awaited_pairs = (
            np.array([pair in some for pair in self.pairs], dtype=np.bool_)
            for some in (people.not_judged, people.tied, awaited)
        )
        self._waiting = awaited_pairs | ((self.people == NO_GRADE) & ~self.not_judged)
        self._answered_by = people.answered_by

    def refuse_whole_queries(self, name: str) -> None:
        """Raises QuatiPoolError if people graded some queries in full and others not at all."""
        graded = np.bincount(self.query[self.people != NO_GRADE], minlength=len(self._query_ids))
        whole, untouched = graded == np.bincount(self.query), graded == 0
        if whole.any() and untouched.any() and (whole | untouched).all():
            raise QuatiPoolError(
                f"{name} has all pairs of {counted(int(whole.sum()), 'query', 'queries')} and none of the others, so "
                "that queries were chosen, not pairs; give --sampled queries"
            )

    def of_listed_queries(self, name: str) -> GradedFrame:
        """The frame of a file whose queries were drawn at random: all that it has grades of."""
        graded = np.unique(self.query[self.people != NO_GRADE])
        lacking = np.bincount(self.query[self.people == NO_GRADE], minlength=len(self._query_ids))[graded]
        if lacking.any():
            first = int(np.argmax(lacking > 0))
            size = int((self.query == graded[first]).sum())
            others = int((lacking > 0).sum()) - 1
            some = f", and {counted(others, 'other lacks', 'others lack')} some" if others else ""
            raise QuatiPoolError(
                f"query {self._query_ids[graded[first]]!r} has no grade by {name} for {lacking[first]:,} of its "
                f"{size:,} pairs{some}; a measure needs the whole query: have them graded, leave the query out, or "
                "give --sampled pairs"
            )
        order = [self._query_ids[query] for query in graded.tolist()]
        return self.of_queries(order, dict.fromkeys(self._query_ids, ONLY_STRATUM), f"the queries of {name}")

    def of_census(self, words: str) -> GradedFrame:
        """All queries, graded in full: the ones that are done while others wait are no random sample of them."""
        strata = dict.fromkeys(self._query_ids, ONLY_STRATUM)
        found = self.of_queries(self._query_ids, strata, words)
        waiting = len(self._query_ids) - found.drawn.labelled
        if waiting:
            raise QuatiPoolError(
                f"{words} gave out all queries, in no random order, and not all are graded: those that are say nothing "
                "about the others; have all of them graded, or run: quati-pool assign --random-queries N"
            )
        return found

    def of_queries(self, order: Sequence[str], strata: Mapping[str, str], words: str) -> GradedFrame:
        """Whole queries, drawn in this ``order``; ``strata`` has the stratum of each query of the frame."""
        complete, left_out, waiting = self._complete(order, np.ones(len(self.pairs), dtype=np.bool_))
        names = sorted(set(strata.values()))
        stratum = np.array([names.index(strata[query_id]) for query_id in self._query_ids], dtype=np.int64)
        sample = QuerySample(complete, stratum)
        _check_strata(sample, names)
        within = np.isin(self.query, complete)
        return self._graded(within, words, "queries", left_out, waiting, queries=sample)

    def of_pairs(
        self,
        drawn: Mapping[Pair, tuple[str, float]],
        sizes: Mapping[str, int],
        words: str,
        order: Sequence[str],
        *,
        poisson: bool,
    ) -> GradedFrame:
        """Drawn pairs, each with its stratum and probability, graded in this ``order`` of queries; ``sizes`` counts the
        pairs of each stratum."""
        selected = np.array([pair in drawn for pair in self.pairs], dtype=np.bool_)
        if not selected.any():
            raise QuatiPoolError(f"{words}: no pair was drawn; estimates need people's grades of drawn pairs")
        complete, left_out, waiting = self._complete(order, selected)
        within = selected & np.isin(self.query, complete)
        rows = np.flatnonzero(within)
        everything = len(complete) == len(self._query_ids)
        names = sorted(sizes)
        code = {name: place for place, name in enumerate(names)}
        asked = PairSample(
            rows,
            self.people[rows].astype(np.float64),
            np.array([drawn[self.pairs[row]][1] for row in rows.tolist()]),
            np.array([code[drawn[self.pairs[row]][0]] for row in rows.tolist()], dtype=np.int64),
            np.array([sizes[name] for name in names], dtype=np.int64),
            # Of the queries that are done, no fixed number of pairs was drawn.
            poisson or not everything,
        )
        queries = None if everything else QuerySample(complete, np.zeros(len(self._query_ids), dtype=np.int64))
        return self._graded(within, words, "pairs", left_out, waiting, queries=queries, asked=asked)

    def _complete(self, order: Sequence[str], selected: Flags) -> tuple[Int, dict[str, int], str | None]:
        """The positions of the queries of ``order`` up to the first of which a ``selected`` pair is not answered, what
        is left out (queries that are done sooner than their turn may be easier ones), and that first query."""
        codes = self.query_ids.encode(order)
        complete = np.bincount(self.query[selected & self._waiting], minlength=len(self._query_ids))[codes] == 0
        count = len(codes) if complete.all() else int(np.argmin(complete))
        ahead = int(complete[count:].sum())
        left_out = {
            "not graded in full": len(codes) - count - ahead,
            AHEAD: ahead,
        }
        return np.sort(codes[:count]), left_out, order[count] if count < len(codes) else None

    @property
    def graded_pairs(self) -> GradedPairs:
        doc = self.doc_ids.encode([doc_id for _, doc_id in self.pairs])
        return GradedPairs(self.query_ids, self.doc_ids, self.query, doc, self.people, self.judge)

    def _graded(
        self,
        within: Flags,
        words: str,
        unit: Unit,
        left_out: Mapping[str, int],
        waiting: str | None,
        queries: QuerySample | None = None,
        asked: PairSample | None = None,
    ) -> GradedFrame:
        graded = within & (self.people != NO_GRADE)
        not_judged = within & self.not_judged
        drawn = Drawn(
            unit=unit,
            design=words,
            queries=len(self._query_ids),
            labelled=len(np.unique(self.query[graded])) if queries is None else len(queries.drawn),
            pairs=len(self.pairs),
            labels=int(graded.sum()),
            covered=int((self.judge != NO_GRADE).sum()),
            not_judged=int(not_judged.sum()),
            tied=int((within & self._tied).sum()),
            left_out=left_out,
            waiting=waiting,
        )
        pairs = self.graded_pairs
        return GradedFrame(
            pairs.query_ids,
            pairs.doc_ids,
            pairs.query,
            pairs.doc,
            pairs.people,
            pairs.judge,
            not_judged,
            drawn,
            queries,
            asked,
            self._people_of(within),
        )

    def _people_of(self, rows: Flags) -> tuple[str, ...]:
        answered = (self._answered_by.get(self.pairs[row], ()) for row in np.flatnonzero(rows).tolist())
        return tuple(sorted({name for names in answered for name in names}))


def _check_strata(sample: QuerySample, names: Sequence[str]) -> None:
    few = np.flatnonzero((sample.counts < FEWEST_OF_STRATUM) & (sample.counts < sample.sizes))
    if len(names) > 1 and len(few):
        stratum = int(few[0])
        raise QuatiPoolError(
            f"the stratum {names[stratum]} has {counted(int(sample.counts[stratum]), 'query', 'queries')} graded, and "
            f"needs {FEWEST_OF_STRATUM}; have more queries graded"
        )
