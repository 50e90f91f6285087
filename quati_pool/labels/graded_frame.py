"""The pairs that a sample for people was drawn from, with people's grades of the sample and a judge's of all pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from quati_pool.annotation.presentation_order import query_places
from quati_pool.annotation.sampling import frame_sha, random_query_order
from quati_pool.errors import QuatiPoolError
from quati_pool.estimation.pair_estimates import PairSample
from quati_pool.estimation.pair_frame import NO_GRADE
from quati_pool.estimation.query_regression import LEAST_OF_STRATUM, QuerySample
from quati_pool.estimation.results import Drawn, Unit
from quati_pool.labels.base import Labeler
from quati_pool.labels.gathered import LabelSource
from quati_pool.records import Ids, Int, Qrels, Sample, State
from quati_pool.stats.ratio import ratio
from quati_pool.text.pluralize import counted

# The store is imported only where it is read: label files do not need it.
if TYPE_CHECKING:
    from quati_pool.labels.labelers import Grading
    from quati_pool.store.designs import Designs
    from quati_pool.store.records import Design

Values = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Pair = tuple[str, str]

_METHODS = {
    "all": "all pairs",
    "random": "random pairs",
    "stratified": "stratified pairs",
    "random-queries": "random queries",
    "active": "pairs for a measure",
}
_ALL = "all"
AHEAD = "graded ahead of the random order"
"""Why a query is left out."""


@dataclass(frozen=True, eq=False)
class GradedPairs:
    """Pairs, sorted by query_id, then doc_id, in columns as those of Qrels. ``people`` and ``judge``, shape (pairs,),
    are grades, NO_GRADE where there is none."""

    query_ids: Ids
    doc_ids: Ids
    query: Int
    doc: Int
    people: Int
    judge: Int

    def qrels(self, relevance: Int, pairs: Flags | None = None) -> Qrels:
        """The pairs with a grade in ``relevance``, shape (pairs,); of ``pairs``, shape (pairs,), if given."""
        graded = relevance != NO_GRADE if pairs is None else (relevance != NO_GRADE) & pairs
        return Qrels(self.query_ids, self.doc_ids, self.query[graded], self.doc[graded], relevance[graded])


@dataclass(frozen=True, eq=False)
class GradedFrame(GradedPairs):
    """The pairs that a sample was drawn from.

    ``not_judged``, shape (pairs,), marks pairs of the sample that people could not judge. ``asked``, if pairs were
    drawn, are those that were drawn and answered, with or without a grade. ``queries`` are the queries that were drawn,
    or, if pairs were, those whose drawn pairs are all answered; None if these are all queries.
    """

    not_judged: Flags
    drawn: Drawn
    tied: int = 0
    """How many of ``not_judged`` several people judged without a majority."""
    queries: QuerySample | None = None
    asked: PairSample | None = None

    def pair_sample(self, relevance: Int) -> PairSample:
        """The drawn pairs that have a grade in ``relevance``, shape (pairs,). Within a stratum every drawn pair counts
        as having had the same chance to get one, so that probabilities are lowered by the share that did."""
        asked = self.asked
        assert asked is not None, "pairs were drawn"
        graded = relevance[asked.pair] != NO_GRADE
        drawn = np.bincount(asked.stratum, minlength=len(asked.sizes))
        share = ratio(np.bincount(asked.stratum[graded], minlength=len(asked.sizes)), drawn)
        return PairSample(
            asked.pair[graded],
            relevance[asked.pair[graded]].astype(np.float64),
            (asked.inclusion * share[asked.stratum])[graded],
            asked.stratum[graded],
            asked.sizes,
            asked.poisson,
        )


@dataclass(frozen=True)
class PeoplesGrades:
    """People's grades of the pairs of a pool, in its order, and the pairs that they were given and could not judge."""

    pairs: Sequence[Pair]
    grades: Mapping[Pair, int]
    not_judged: frozenset[Pair] = frozenset()
    tied: frozenset[Pair] = frozenset()
    """Those of ``not_judged`` that several people judged without a majority."""


def read_people(grading: Grading, people: Labeler) -> PeoplesGrades:
    """The current grades of a labeler."""
    pairs: list[Pair] = []
    grades: dict[Pair, int] = {}
    not_judged: set[Pair] = set()
    tied: set[Pair] = set()
    for chunk in grading.pairs():
        for one in people.graded(chunk):
            pair = (one.query_id, one.doc_id)
            pairs.append(pair)
            if one.relevance is not None:
                grades[pair] = one.relevance
            elif one.status is State.unsure:
                not_judged.add(pair)
                if one.tied:
                    tied.add(pair)
    return PeoplesGrades(pairs, grades, frozenset(not_judged), frozenset(tied))


def graded_pairs(people: PeoplesGrades, judge: Qrels) -> GradedPairs:
    """All pairs of people's pool, with the grades of both; without a pool, the pairs that either graded."""
    return _Frame(people.pairs or {*people.grades, *grades_by_pair(judge)}, people, judge).graded_pairs


def frame_of_design(people: PeoplesGrades, judge: Qrels, design: Design, designs: Designs) -> GradedFrame:
    """The frame of a stored design, with the current grades of ``people``.

    Raises QuatiPoolError for a design that is no random sample, whose pairs are no longer all in the pool, or of which
    too little is graded.
    """
    name = f"design {design.design_id}"
    if not design.is_random:
        raise QuatiPoolError(
            f"{name} ({design.method}) was chosen, not drawn at random, and says nothing about other queries; "
            "run: quati-pool assign --random-queries N"
        )
    pool = people.pairs
    frame = _Frame(_frame_pairs(design, designs, pool), people, judge)
    words = f"{name} ({_METHODS[design.method]}, seed {design.seed})"
    if len(frame.pairs) < len(pool):
        words += f", from the {len(frame.pairs):,} pairs that the pool had then"
    if design.method == "all":
        return frame.of_census(words)
    if design.method == "random-queries":
        return frame.of_queries(*_queries_in_order(design, designs), words)
    assert design.design_id is not None
    selected = designs.selections(design.design_id)
    return frame.of_pairs(
        {(one.query_id, one.doc_id): (one.stratum, one.inclusion) for one in selected},
        {stratum: int(counts[0]) for stratum, counts in design.strata.items()},
        words,
        list(query_places(design.seed, frame.query_ids.values.to_pylist())),
        poisson=design.poisson,
    )


def frame_of_files(people: LabelSource, judge: Qrels, sampled: str | None) -> GradedFrame:
    """The frame of label files: all pairs that the judge or people graded, and those that sampled qrels list.

    ``sampled`` says how the pairs of people's file were chosen, which a file of qrels does not: "queries" or "pairs".
    Raises QuatiPoolError where that is not known, or the file contradicts it.
    """
    qrels = people.qrels
    graded, listed = grades_by_pair(qrels), qrels.sample
    pairs = {*graded, *grades_by_pair(judge), *(grades_by_pair(listed.frame) if listed else ())}
    frame = _Frame(pairs, PeoplesGrades((), graded), judge)
    words, order = f"the pairs of {people.name}", frame.query_ids.values.to_pylist()
    if sampled == "queries":
        if listed is not None:
            raise QuatiPoolError(f"{people.name} is a sample of pairs, with their probabilities; leave out --sampled")
        return frame.of_listed_queries(people.name)
    if listed is not None:
        drawn, sizes = _listed_sample(listed)
        return frame.of_pairs(drawn, sizes, words, order, poisson=listed.stratum is None)
    if sampled == "pairs":
        frame.refuse_whole_queries(people.name)
        share = len(graded) / len(frame.pairs)
        return frame.of_pairs(
            dict.fromkeys(graded, (_ALL, share)), {_ALL: len(frame.pairs)}, words, order, poisson=False
        )
    raise QuatiPoolError(
        f"{people.name} does not say how its queries or pairs were chosen, and only a random sample says something "
        "about the others; give --sampled queries or --sampled pairs if they were drawn at random, or prels"
    )


class _Frame:
    """The sorted pairs of a frame with their grades; makes the sample of what was drawn and graded."""

    def __init__(self, pairs: Iterable[Pair], people: PeoplesGrades, judge: Qrels) -> None:
        self.pairs = sorted(pairs)
        self._query_ids = sorted({query_id for query_id, _ in self.pairs})
        self.query_ids, self.doc_ids = Ids(self._query_ids), Ids(sorted({doc_id for _, doc_id in self.pairs}))
        self.query = self.query_ids.encode([query_id for query_id, _ in self.pairs])
        self.people, self.judge = (
            np.array([graded.get(pair, NO_GRADE) for pair in self.pairs], dtype=np.int64)
            for graded in (people.grades, grades_by_pair(judge))
        )
        self.not_judged, self._tied = (
            np.array([pair in some for pair in self.pairs], dtype=np.bool_) for some in (people.not_judged, people.tied)
        )

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
            raise QuatiPoolError(
                f"query {self._query_ids[graded[first]]!r} has no grade by {name} for {lacking[first]:,} of its "
                f"{size:,} pairs, and {counted(int((lacking > 0).sum()) - 1, 'other', 'others')} lack some; a measure "
                "needs the whole query: have them graded, leave the query out, or give --sampled pairs"
            )
        order = [self._query_ids[query] for query in graded.tolist()]
        return self.of_queries(order, dict.fromkeys(self._query_ids, _ALL), f"the queries of {name}")

    def of_census(self, words: str) -> GradedFrame:
        """All queries, graded in full: the ones that are done while others wait are no random sample of them."""
        strata = dict.fromkeys(self._query_ids, _ALL)
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
        waiting = selected & (self.people == NO_GRADE) & ~self.not_judged
        codes = self.query_ids.encode(order)
        complete = np.bincount(self.query[waiting], minlength=len(self._query_ids))[codes] == 0
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
            int((within & self._tied).sum()),
            queries,
            asked,
        )


def _check_strata(sample: QuerySample, names: Sequence[str]) -> None:
    few = np.flatnonzero((sample.counts < LEAST_OF_STRATUM) & (sample.counts < sample.sizes))
    if len(names) > 1 and len(few):
        stratum = int(few[0])
        raise QuatiPoolError(
            f"the stratum {names[stratum]} has {counted(int(sample.counts[stratum]), 'query', 'queries')} graded, and "
            f"needs {LEAST_OF_STRATUM}; have more queries graded"
        )


def _frame_pairs(design: Design, designs: Designs, pool: Sequence[Pair]) -> list[Pair]:
    assert design.design_id is not None
    stored = designs.frame(design.design_id)
    if stored is None:
        if frame_sha(*zip(*pool, strict=True)) != design.frame_sha:
            raise QuatiPoolError(
                f"the pool has changed since design {design.design_id} was drawn, and what it was drawn from is not "
                "stored; draw a new design"
            )
        return list(pool)
    frame = [(one.query_id, one.doc_id) for one in stored]
    gone = set(frame).difference(pool)
    if gone:
        raise QuatiPoolError(
            f"{len(gone):,} of the {len(frame):,} pairs that design {design.design_id} was drawn from are no longer in "
            "the pool; build the pool that it was drawn from, or draw a new design"
        )
    return frame


def _queries_in_order(design: Design, designs: Designs) -> tuple[list[str], dict[str, str]]:
    """The drawn queries of a design in its random order, and the stratum of every query of the frame."""
    assert design.design_id is not None
    selected = dict.fromkeys(one.query_id for one in designs.selections(design.design_id))
    strata = {one.query_id: one.stratum for one in designs.frame(design.design_id) or ()}
    return [query_id for query_id in random_query_order(strata, design.seed) if query_id in selected], strata


def _listed_sample(sample: Sample) -> tuple[dict[Pair, tuple[str, float]], dict[str, int]]:
    """The drawn pairs of sampled qrels, each with its stratum and probability, and the sizes of the strata, which are
    strata of single queries."""
    pairs = list(grades_by_pair(sample.frame))
    if sample.stratum is None:
        assert sample.inclusion is not None
        drawn = zip(pairs, sample.inclusion.tolist(), strict=True)
        return {pair: (_ALL, share) for pair, share in drawn if share > 0}, {_ALL: len(pairs)}
    names = [f"{query_id} {stratum}" for (query_id, _), stratum in zip(pairs, sample.stratum.tolist(), strict=True)]
    sizes = Counter(names)
    judged = [pair for pair, grade in zip(pairs, sample.frame.relevance.tolist(), strict=True) if grade >= 0]
    name_of = dict(zip(pairs, names, strict=True))
    counts = Counter(name_of[pair] for pair in judged)
    return {pair: (name_of[pair], counts[name_of[pair]] / sizes[name_of[pair]]) for pair in judged}, dict(sizes)


def grades_by_pair(qrels: Qrels) -> dict[Pair, int]:
    """The grade of each (query_id, doc_id)."""
    query_ids, doc_ids = qrels.queries.decode(qrels.query).to_pylist(), qrels.docs.decode(qrels.doc).to_pylist()
    return dict(zip(zip(query_ids, doc_ids, strict=True), qrels.relevance.tolist(), strict=True))
