"""The graded frame of label files, of which one is a sample by people."""

from __future__ import annotations

from collections import Counter

from quati_pool.errors import QuatiPoolError
from quati_pool.labels.gathered import LabelSource
from quati_pool.labels.graded_frame import GradedFrame
from quati_pool.labels.peoples_grades import Pair, PeoplesGrades
from quati_pool.labels.qrels import grades_by_pair
from quati_pool.labels.sampling_frame import ONLY_STRATUM, SamplingFrame
from quati_pool.records import Qrels, Sample


def frame_of_files(people: LabelSource, judge: Qrels, sampled: str | None) -> GradedFrame:
    """The frame of label files: all pairs that the judge or people graded, and those that sampled qrels list.

    ``sampled`` says how the pairs of people's file were chosen, which a file of qrels does not: "queries" or "pairs".
    Raises QuatiPoolError where that is not known, or the file contradicts it.
    """
    qrels = people.qrels
    graded, listed = grades_by_pair(qrels), qrels.sample
    drawn, sizes = _listed_sample(listed) if listed else ({}, {})
    pairs = {*graded, *grades_by_pair(judge), *(grades_by_pair(listed.frame) if listed else ())}
    not_judged = frozenset(drawn.keys() - graded.keys())
    frame = SamplingFrame(pairs, PeoplesGrades((), graded, not_judged), judge)
    words, order = f"the pairs of {people.name}", frame.query_ids.values.to_pylist()
    if sampled == "queries":
        if listed is not None:
            raise QuatiPoolError(f"{people.name} is a sample of pairs, with their probabilities; leave out --sampled")
        return frame.of_listed_queries(people.name)
    if listed is not None:
        return frame.of_pairs(drawn, sizes, words, order, poisson=listed.stratum is None)
    if sampled == "pairs":
        frame.refuse_whole_queries(people.name)
        share = len(graded) / len(frame.pairs)
        return frame.of_pairs(
            dict.fromkeys(graded, (ONLY_STRATUM, share)), {ONLY_STRATUM: len(frame.pairs)}, words, order, poisson=False
        )
    raise QuatiPoolError(
        f"{people.name} does not say how its queries or pairs were chosen, and only a random sample says something "
        "about the others; give --sampled queries or --sampled pairs if they were drawn at random, or prels"
    )


def _listed_sample(sample: Sample) -> tuple[dict[Pair, tuple[str, float]], dict[str, int]]:
    """The drawn pairs of sampled qrels, each with its stratum and probability, and the sizes of the strata, which are
    strata of single queries."""
    pairs = list(grades_by_pair(sample.frame))
    if sample.stratum is None:
        assert sample.inclusion is not None
        drawn = zip(pairs, sample.inclusion.tolist(), strict=True)
        return {pair: (ONLY_STRATUM, share) for pair, share in drawn if share > 0}, {ONLY_STRATUM: len(pairs)}
    names = [f"{query_id} {stratum}" for (query_id, _), stratum in zip(pairs, sample.stratum.tolist(), strict=True)]
    sizes = Counter(names)
    judged = [pair for pair, grade in zip(pairs, sample.frame.relevance.tolist(), strict=True) if grade >= 0]
    name_of = dict(zip(pairs, names, strict=True))
    counts = Counter(name_of[pair] for pair in judged)
    return {pair: (name_of[pair], counts[name_of[pair]] / sizes[name_of[pair]]) for pair in judged}, dict(sizes)
