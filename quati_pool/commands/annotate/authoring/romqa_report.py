"""What ``quati-pool questions report`` says of questions about constraints: how they were verified, how large they are,
and how natural people find them.

Questions of one cluster are alike, so intervals, tests and bootstraps are over clusters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import mean, median
from typing import Any, NamedTuple

import numpy as np

from quati_pool.annotation.authoring.romqa import BLOCK, CLUSTER, QUERY
from quati_pool.commands.annotate.authoring.estimate import Agreement, Estimate, Rating, agreement, share_of
from quati_pool.commands.annotate.authoring.naturalness import BlockRating, Naturalness, naturalness
from quati_pool.commands.annotate.authoring.records import Record, Records
from quati_pool.commands.annotate.authoring.splits import Splits
from quati_pool.qa_benchmarks.base import SPLITS
from quati_pool.store.authoring_records import Entry

VERIFY = "verify"

_ONE_CLUSTER = "the questions are of one cluster"
_ALL_EQUAL = "all judgements are the same"
_NO_QUESTIONS = "there are no questions"
_NO_EVIDENCE = "the clusters have no evidence"


@dataclass(frozen=True)
class Verification:
    """How verifiers judged the questions that all ``verifiers`` have judged, kept or not.

    ``exact`` of ``judged`` questions ask exactly what their constraints say, as all verifiers agree; ``share`` is that
    share. ``refusals`` counts the other judgements by reason; a question may have several. In ``agreement`` a
    judgement is yes or no.
    """

    verifiers: int
    judged: int
    exact: int
    share: Estimate
    refusals: Mapping[str, int]
    agreement: Agreement


class ClusterFates(NamedTuple):
    """How many clusters stay, as ``least`` of their questions are kept, may still get there, or go."""

    least: int
    stay: int
    undecided: int
    go: int


class Spread(NamedTuple):
    """The mean and the median of a number a question has; ``why`` says why they are None."""

    mean: float | None
    median: float | None
    why: str | None = None


class Sizes(NamedTuple):
    """The questions of a split, or of all of them (``split`` None), as in RoMQA's tables: ``constraints``, ``answers``
    and different ``evidence`` texts a question, and the share of all their constraints that are ``negated``."""

    split: str | None
    clusters: int
    questions: int
    constraints: Spread
    negated: float | None
    answers: Spread
    evidence: Spread


class Comparison(NamedTuple):
    """How natural people find the questions next to those of the set ``other``."""

    other: str
    naturalness: Naturalness


@dataclass(frozen=True)
class RomqaReport:
    """``sizes`` are those of all questions that are released, then of each split that has some; ``comparison`` is None
    where they are compared with no other set."""

    verification: Verification
    clusters: ClusterFates
    sizes: Sequence[Sizes]
    comparison: Comparison | None


def romqa_report(records: Records, splits: Splits) -> RomqaReport:
    """The figures of these records. Sizes and naturalness are of the questions that are released."""
    kept = records.of(QUERY, kept=True)
    by_split = {split: [one for one in kept if splits.of(records, one["item_id"]) == split] for split in SPLITS}
    compare = records.design.parameters.compare
    return RomqaReport(
        _verification(records),
        _fates(records),
        [_sizes(None, kept), *(_sizes(split, of_split) for split, of_split in by_split.items() if of_split)],
        None if compare is None else Comparison(compare.name, naturalness(_ratings(records), records.config.seed)),
    )


def current_blocks(records: Records) -> list[Record]:
    """The blocks that show a question as it is released."""
    kept = {one["item_id"]: one["question"] for one in records.of(QUERY, kept=True)}
    return [
        one
        for one in records.of(BLOCK)
        if one["parent_id"] in kept and one["questions"][one["ours"]] == kept[one["parent_id"]]
    ]


def _verification(records: Records) -> Verification:
    verifiers = records.design.parameters.verifiers
    judgements: dict[int, list[Entry]] = {}
    for item, entry in records.counting():
        if item.kind == QUERY and entry.round == VERIFY:
            judgements.setdefault(item.item_id, []).append(entry)
    judged = {key: found for key, found in judgements.items() if len(found) >= verifiers}
    exact = [all(entry.action == "given" for entry in found) for found in judged.values()]
    clusters = np.array([records.root(key).item_id for key in judged], dtype=np.int64)
    refusals = Counter(
        entry.reason or "other" for found in judged.values() for entry in found if entry.action == "refused"
    )
    ratings: dict[str, list[Rating]] = {}
    for key, found in judged.items():
        for entry in found:
            rating = Rating(records.root(key).source_id, records.items[key].source_id, int(entry.action == "given"))
            ratings.setdefault(entry.by, []).append(rating)
    return Verification(
        verifiers,
        len(judged),
        sum(exact),
        share_of(exact, clusters, _ONE_CLUSTER),
        dict(refusals.most_common()),
        _agreement(ratings, verifiers, records.config.seed),
    )


def _agreement(ratings: Mapping[str, Sequence[Rating]], verifiers: int, seed: int) -> Agreement:
    if verifiers > 1 and ratings:
        found = agreement(ratings, [0, 1], "nominal", _ONE_CLUSTER, seed=seed)
        return found._replace(alpha=found.alpha._replace(why=_ALL_EQUAL)) if found.alpha.value is None else found
    why = "one person verifies each question" if verifiers < 2 else "no question is verified yet"
    nothing = Estimate(None, None, None, why)
    return Agreement(nothing, nothing, 0)


def _fates(records: Records) -> ClusterFates:
    least = records.design.parameters.least_questions
    states: dict[int, Counter[str]] = {
        item.item_id: Counter() for item in records.items.values() if item.kind == CLUSTER
    }
    for item in records.items.values():
        if item.kind == QUERY and item.parent_id is not None:
            states[item.parent_id][item.state] += 1
    stay = sum(found["kept"] >= least for found in states.values())
    go = sum(found["kept"] + found["open"] < least for found in states.values())
    return ClusterFates(least, stay, len(states) - stay - go, go)


def _sizes(split: str | None, questions: Sequence[Record]) -> Sizes:
    negated = [one["negated"] for question in questions for one in question["constraints"]]
    return Sizes(
        split,
        len({question["cluster_id"] for question in questions}),
        len(questions),
        _spread([len(question["constraints"]) for question in questions]),
        float(Fraction(sum(negated), len(negated))) if negated else None,
        _spread([question["answers"] for question in questions]),
        _spread([question["evidence"] for question in questions]),
    )


def _spread(values: Sequence[int | None]) -> Spread:
    known = [value for value in values if value is not None]
    if not known:
        return Spread(None, None, _NO_EVIDENCE if values else _NO_QUESTIONS)
    return Spread(float(mean(known)), float(median(known)))


def _ratings(records: Records) -> list[BlockRating]:
    found = []
    for block in current_blocks(records):
        ours = block["ours"]
        other = "b" if ours == "a" else "a"
        cluster = records.root(block["item_id"]).source_id
        rated: Sequence[Mapping[str, Any]] = block["ratings"]
        found += [BlockRating(str(block["item_id"]), cluster, one["by"], one[ours], one[other]) for one in rated]
    return found
