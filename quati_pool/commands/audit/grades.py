"""The part of an audit that asks nothing: a judge's grades next to people's, and what they do to the systems."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.agreement.alike import AlikeJudges, alike
from quati_pool.agreement.ratings import Ratings
from quati_pool.audit.kinship import FamilyShift, family_shifts, guessed_family, shift_of
from quati_pool.audit.overrating import Overrating, overrating
from quati_pool.commands.agree import join_ratings
from quati_pool.errors import QuatiPoolError
from quati_pool.evaluation.decision_contrast import DecisionContrast, contrast
from quati_pool.evaluation.judged_runs import JudgedRuns
from quati_pool.evaluation.oracle_run import oracle_run
from quati_pool.evaluation.qrels_comparison import RankingComparison, compare_rankings, restricted
from quati_pool.evaluation.scores import Scores, score
from quati_pool.evaluation.significance import compare
from quati_pool.labels.gathered import Gathered, LabelSource
from quati_pool.project.runs import RunSet
from quati_pool.records import Qrels
from quati_pool.stats.bootstrap import DRAWS
from quati_pool.stats.clustered_means import ClusteredMean, clustered_mean

ORACLE = "oracle of the judge"
COVERED = 0.8
"""The share of the judge's pairs that people must have graded for measures to be compared: under a sample of them
they would differ for that reason alone."""
BY_NAME = "by its name"
"""Why a system is kin where nothing declares it."""


@dataclass(frozen=True)
class Relations:
    """What is known of models: the ``families`` of systems and the names of what each ``uses``, by run_tag; the names
    of the judge and of its model, and the family of that, None if it is not declared; names and families of what the
    judge was distilled from, which are its kin too; and the names of what drafted queries, by query_id, with the
    families that are declared."""

    families: Mapping[str, str] = field(default_factory=dict)
    uses: Mapping[str, Collection[str]] = field(default_factory=dict)
    judge_names: Sequence[str] = ()
    judge_family: str | None = None
    teacher_names: Collection[str] = ()
    teacher_families: Collection[str] = ()
    drafters: Mapping[str, str] = field(default_factory=dict)
    drafter_families: Mapping[str, str] = field(default_factory=dict)

    @property
    def family(self) -> str | None:
        """The judge's family, declared or by its names."""
        guesses = (guessed_family(name) for name in self.judge_names)
        return self.judge_family or next((family for family in guesses if family is not None), None)

    def family_of_drafter(self, name: str) -> str | None:
        """The family of a drafter, declared or by its name."""
        return self.drafter_families.get(name) or guessed_family(name)

    @property
    def teachers(self) -> set[str]:
        """The families of what the judge was distilled from, declared or by their names."""
        guessed = (guessed_family(name) for name in self.teacher_names)
        return {*self.teacher_families, *(family for family in guessed if family is not None)}


@dataclass(frozen=True, eq=False)
class Kinship:
    """The judge's ``family`` (``guessed`` from names, unless declared), its kin among the systems with the reason for
    each, and how much more the judge raises all kin (``excess``), and each family, than the others. ``without_kin``
    compares the orders of the other systems, None if fewer than two are left or there are no kin."""

    family: str | None
    guessed: bool
    kin: Mapping[str, str]
    excess: ClusteredMean | None
    shifts: Sequence[FamilyShift]
    without_kin: RankingComparison | None


class DraftedQueries(NamedTuple):
    """Of ``of`` queries that were compared, ``queries`` were drafted by the judge's own ``family``, or by its own model
    where no family is known, which is then named."""

    family: str
    queries: int
    of: int


@dataclass(frozen=True)
class OracleRank:
    """The judge as a system, which orders documents by its grades: mean and rank under the judge and under people,
    among ``systems`` of which it is one; ``excess`` is how much more the judge raises it than the others."""

    systems: int
    mean_judge: float
    mean_people: float
    rank_judge: int
    rank_people: int
    excess: ClusteredMean


@dataclass(frozen=True, eq=False)
class GradeAudit:
    """A judge's grades against those of ``people``.

    ``gap`` is the judge's mean of the measure over systems and queries less people's, ``decisions`` contrasts which
    pairs of systems differ significantly under the judge (a) and under people (b). What needs runs, or a second judge,
    is None or empty without them; ``drafted`` is None if none of the queries was drafted by its family. A distilled
    judge is compared on the queries of which it saw no grades: it saw those of ``teachers``, of ``seen_queries``
    queries that it graded here. ``ratings`` are the grades of all labelers, ``scores`` those of the systems under the
    judge and under people, over their common queries.
    """

    judge: str
    people: str
    measure: str
    overrating: Overrating
    ratings: Ratings | None = None
    scores: tuple[Scores, Scores] | None = None
    gap: ClusteredMean | None = None
    rankings: RankingComparison | None = None
    decisions: DecisionContrast | None = None
    kinship: Kinship | None = None
    drafted: DraftedQueries | None = None
    oracle: OracleRank | None = None
    alike: Sequence[AlikeJudges] = ()
    teachers: tuple[str, ...] = ()
    seen_queries: int = 0


@dataclass(frozen=True)
class TextFeatures:
    """The length of each pair's passage in characters, and the share of its query's terms that it holds, by query_id
    and doc_id."""

    lengths: Mapping[tuple[str, str], int]
    overlaps: Mapping[tuple[str, str], float]


def audit_grades(
    gathered: Gathered,
    judge: LabelSource,
    people: LabelSource,
    run_set: RunSet | None,
    relations: Relations,
    *,
    measure: str,
    alpha: float = 0.05,
    draws: int = DRAWS,
    seed: int = 0,
    features: TextFeatures | None = None,
) -> GradeAudit:
    """Compares a judge with people over the pairs that both graded and, with runs, over the queries that both judged.

    Raises QuatiPoolError if there is no such pair.
    """
    ratings = join_ratings(gathered)
    shift = _overrating(ratings, judge.name, people.name, features)
    drafted = _drafted(ratings, judge.name, people.name, relations)
    found = GradeAudit(judge.name, people.name, measure, shift, ratings, drafted=drafted)
    others = [
        source.name
        for source in gathered.sources
        if source.grader not in ("people", "hybrid") and source.name not in (judge.name, people.name)
        if not ratings.shared_members(judge.name, source.name)
    ]
    pairs = [alike(ratings, judge.name, other, people.name, draws, seed) for other in others]
    found = replace(found, alike=[one for one in pairs if one.n])
    if run_set is None or len(run_set.runs) < 2:
        return found
    scores, of_people = (scores_of(run_set, source.qrels, measure) for source in (judge, people))
    by_judge, by_people = common_scores(scores, of_people, measure)
    gap = by_judge.of(measure) - by_people.of(measure)
    return replace(
        found,
        scores=(by_judge, by_people),
        gap=clustered_mean(gap.mean(axis=0), np.arange(gap.shape[1])),
        rankings=compare_rankings(by_people, by_judge, measure, alpha=alpha, draws=draws, seed=seed),
        decisions=contrast(*(compare(one, measure, "t", alpha=alpha, seed=seed) for one in (by_judge, by_people))),
        kinship=_kinship(by_judge, by_people, run_set, relations, measure, draws, seed),
        oracle=_oracle(run_set, judge, people, by_people.query_ids, measure),
    )


def _drafted(ratings: Ratings, judge: str, people: str, relations: Relations) -> DraftedQueries | None:
    """The queries with pairs that both graded whose drafter is the judge's model, or of its family."""
    both = (ratings.of(judge) >= 0) & (ratings.of(people) >= 0)
    query_ids = ratings.queries.decode(np.unique(ratings.query[both])).to_pylist()
    family = relations.family
    own = [
        drafter
        for query_id in query_ids
        if (drafter := relations.drafters.get(query_id)) is not None
        and (
            drafter in relations.judge_names or (family is not None and relations.family_of_drafter(drafter) == family)
        )
    ]
    return DraftedQueries(family or own[0], len(own), len(query_ids)) if own else None


def _overrating(ratings: Ratings, judge: str, people: str, features: TextFeatures | None) -> Overrating:
    both = np.flatnonzero((ratings.of(judge) >= 0) & (ratings.of(people) >= 0))
    if not len(both):
        raise QuatiPoolError(f"{judge} and {people} graded no pair in common")
    scale = np.array(ratings.scale)
    lengths = overlaps = None
    if features is not None:
        keys = ratings.pair_ids(both.tolist())
        lengths = np.array([features.lengths.get(key, 0) for key in keys])
        overlaps = np.array([features.overlaps.get(key, 0.0) for key in keys])
    by_judge, by_people = (scale[ratings.of(name)[both]] for name in (judge, people))
    return overrating(by_judge, by_people, ratings.query[both], lengths, overlaps)


def scores_of(run_set: RunSet, qrels: Qrels, measure: str) -> Scores:
    """The systems under grades, over the queries that these judge."""
    return score(JudgedRuns(run_set.answering(qrels), qrels), [measure])


def common_scores(one: Scores, other: Scores, measure: str) -> tuple[Scores, Scores]:
    """Both restricted to the queries that both judge. Raises QuatiPoolError if there are none."""
    judged = set(other.query_ids)
    query_ids = [query_id for query_id in one.query_ids if query_id in judged]
    if not query_ids:
        raise QuatiPoolError("the judge and people judge no query in common")
    return restricted(one, measure, one.run_tags, query_ids), restricted(other, measure, one.run_tags, query_ids)


def _kinship(
    by_judge: Scores,
    by_people: Scores,
    run_set: RunSet,
    relations: Relations,
    measure: str,
    draws: int,
    seed: int,
) -> Kinship:
    family = relations.family
    families = {tag: relations.families.get(tag) or run_set.families.get(tag) or tag for tag in by_judge.run_tags}
    related_families = {name for name in (family, *relations.teachers) if name is not None}
    kin = dict(_kin(by_judge.run_tags, families, relations, related_families))
    shifts = family_shifts(
        by_judge.of(measure),
        by_people.of(measure),
        list(families.values()),
        [tag in kin for tag in families],
        by_judge.run_tags,
    )
    rest = tuple(tag for tag in by_judge.run_tags if tag not in kin)
    without = None
    if kin and len(rest) > 1:
        reference, other = (restricted(one, measure, rest, list(one.query_ids)) for one in (by_people, by_judge))
        without = compare_rankings(reference, other, measure, draws=draws, seed=seed)
    related = np.array([tag in kin for tag in by_judge.run_tags])
    excess = shift_of(by_judge.of(measure) - by_people.of(measure), related)
    return Kinship(family, family is not None and not relations.judge_family, kin, excess, shifts, without)


def _kin(
    run_tags: Iterable[str], families: Mapping[str, str], relations: Relations, related: Collection[str]
) -> Iterable[tuple[str, str]]:
    """The systems that are kin to the judge, with the reason; ``related`` are its family and those of its teachers."""
    declared = {*relations.judge_names, *relations.teacher_names, *related}
    for tag in run_tags:
        used = sorted(declared.intersection(relations.uses.get(tag, ())))
        if used:
            yield tag, f"uses {used[0]}"
        elif families[tag] in related:
            yield tag, f"family {families[tag]}"
        elif not {guessed_family(tag), guessed_family(families[tag])}.isdisjoint(related):
            yield tag, BY_NAME


def _oracle(
    run_set: RunSet, judge: LabelSource, people: LabelSource, query_ids: Sequence[str], measure: str
) -> OracleRank:
    oracle = oracle_run(ORACLE, judge.qrels, run_set.runs)
    with_oracle = replace(run_set, runs=[*run_set.runs, oracle])
    by_judge, by_people = (
        restricted(scores, measure, scores.run_tags, list(query_ids))
        for scores in (scores_of(with_oracle, source.qrels, measure) for source in (judge, people))
    )
    gap = by_judge.of(measure) - by_people.of(measure)
    excess = shift_of(gap, np.arange(len(gap)) == len(gap) - 1)
    assert excess is not None
    means = [scores.means_of(measure) for scores in (by_judge, by_people)]
    return OracleRank(len(gap), float(means[0][-1]), float(means[1][-1]), _rank(means[0]), _rank(means[1]), excess)


def _rank(means: npt.NDArray[np.float64]) -> int:
    """The last system's rank; systems with equal means share the best."""
    return int(np.count_nonzero(means > means[-1])) + 1
