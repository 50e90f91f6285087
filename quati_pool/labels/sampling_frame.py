"""Makes the graded frame of a sample: the queries or pairs that were drawn, as far as people have answered them."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence

import numpy as np

from quati_pool.errors import QuatiPoolError, TranslatableText
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
_NEARLY_WHOLE = 0.9
"""The share of a query's pairs above which it was probably to be graded as a whole."""
_BY_CHANCE = 1e-9
"""A file less probable than this was not drawn in the way that is said."""


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

    def among(self, pairs: Container[Pair]) -> Flags:
        """Which pairs of the frame are among ``pairs``, shape (pairs,)."""
        return np.array([pair in pairs for pair in self.pairs], dtype=np.bool_)

    def are_mostly_whole(self, chosen: Flags) -> bool:
        """Whether most queries of the ``chosen`` pairs have nearly all of theirs chosen."""
        counts, sizes = self._counts(chosen)
        touched = counts > 0
        return bool(np.median((counts / sizes)[touched]) > _NEARLY_WHOLE) if touched.any() else False

    def refuse_whole_queries(self, name: str, chosen: Flags) -> None:
        """Raises QuatiPoolError if all pairs of some queries were ``chosen`` and none of the others, but for frames of
        so small queries that pairs drawn at random may look so."""
        counts, sizes = self._counts(chosen)
        whole, untouched = counts == sizes, counts == 0
        if not (whole.any() and untouched.any() and (whole | untouched).all()):
            return
        rate = counts.sum() / sizes.sum()
        if np.logaddexp(sizes * np.log(rate), sizes * np.log1p(-rate)).sum() < np.log(_BY_CHANCE):
            raise QuatiPoolError(
                f"{name} has all pairs of {counted(int(whole.sum()), 'query', 'queries')} and none of the others, so "
                "that queries were chosen, not pairs; give --sampled queries"
            )

    def refuse_unequal_shares(self, name: str, chosen: Flags) -> None:
        """Raises QuatiPoolError if the shares of the queries' pairs that were ``chosen`` differ by more than pairs
        drawn with equal probabilities would by chance."""
        # Imported here, as designs of whole queries do not need scipy, whose import takes time and memory.
        from scipy.special import chdtrc

        counts, sizes = self._counts(chosen)
        rate = counts.sum() / sizes.sum()
        if len(sizes) < 2 or not 0 < rate < 1:
            return
        variance = sizes * rate * (1 - rate)
        # The sum of squares is compared with the scaled χ² of the mean and variance that it has, which follow from the
        # second and fourth moments of the binomial distribution. Squares in units of their own variance would give most
        # weight to queries of a single pair.
        squares, mean = ((counts - sizes * rate) ** 2).sum(), variance.sum()
        spread = (2 * variance**2 + variance * (1 - 6 * rate * (1 - rate))).sum()
        if chdtrc(2 * mean**2 / spread, 2 * mean * squares / spread) < _BY_CHANCE:
            shares = counts / sizes
            raise QuatiPoolError(
                f"{name} has from {100 * shares.min():.0f} to {100 * shares.max():.0f} % of a query's pairs, and "
                "pairs drawn with equal probabilities do not differ so much by chance; if queries were drawn, give "
                "--sampled queries and all pairs of each, else prels with the probability of each pair"
            )

    def _counts(self, chosen: Flags) -> tuple[Int, Int]:
        """The number of ``chosen`` pairs of each query, and of all its pairs."""
        return np.bincount(self.query[chosen], minlength=len(self._query_ids)), np.bincount(self.query)

    def of_listed_queries(self, name: str) -> GradedFrame:
        """The frame of a file whose queries were drawn at random: all that it has answers of."""
        answered = ~self._waiting
        graded = np.unique(self.query[answered])
        lacking = np.bincount(self.query[~answered], minlength=len(self._query_ids))[graded]
        if lacking.any():
            first = int(np.argmax(lacking > 0))
            size = int((self.query == graded[first]).sum())
            others = int((lacking > 0).sum()) - 1
            some = f", and {counted(others, 'other lacks', 'others lack')} some" if others else ""
            remedy = (
                "have them graded, or leave the query out"
                if self.are_mostly_whole(answered)
                else "have them graded, leave the query out, or give --sampled pairs"
            )
            raise QuatiPoolError(
                f"query {self._query_ids[graded[first]]!r} has no grade by {name} for {lacking[first]:,} of its "
                f"{size:,} pairs{some}; a measure needs the whole query: {remedy}"
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
        selected = self.among(drawn)
        if not selected.any():
            text = f"{words}: no pair was drawn; estimates need people's grades of drawn pairs"
            raise QuatiPoolError(TranslatableText(text, "nothing_drawn"))
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
        graded = int(sample.counts[stratum])
        text = (
            f"the stratum {names[stratum]} has {counted(graded, 'query', 'queries')} graded, and needs "
            f"{FEWEST_OF_STRATUM}; have more queries graded"
        )
        raise QuatiPoolError(
            TranslatableText(text, "few_of_stratum", stratum=names[stratum], count=graded, least=FEWEST_OF_STRATUM)
        )
