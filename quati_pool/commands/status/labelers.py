"""Who graded how much of the pool, and what of it no longer counts or was not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from quati_pool.commands.completeness import LabeledCompleteness, PoolGrades, labeled_completeness
from quati_pool.commands.labels import earlier_versions, unread_answers
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.artifacts import unfinished
from quati_pool.files.pools import read_pool
from quati_pool.judging.pair import Pair
from quati_pool.labels.base import Graded, Grader, Labeler
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.labels.labelers import Grading, chunks, file_labeler, make_judge
from quati_pool.labels.main_labeler import Candidate, MainLabeler, candidate, main_labeler
from quati_pool.labels.qrels import outside
from quati_pool.project.config import JudgeConfig, PoolConfig
from quati_pool.project.pool_reader import read_ledger
from quati_pool.project.workspace import Workspace
from quati_pool.records import FAILURES
from quati_pool.store.database import Store
from quati_pool.store.label_queries import extent
from quati_pool.store.listing import slot_counts
from quati_pool.store.people import People


@dataclass(frozen=True, eq=False)
class LabelerState:
    """What a labeler graded of the pool. ``version`` is that of the labels that count; ``earlier`` counts its labels of
    other versions, ``unread`` its stored answers that were not read by the current rules, ``in_batches`` the requests
    of its open ``batches``, ``outside`` its grades of pairs that are not pooled. ``members`` are the labelers that its
    grades are computed from. ``runs`` says that it is a judge of pool.yaml that ``quati-pool judge`` runs;
    ``irrelevant`` are the queries of which it graded all pairs and none above 0."""

    name: str
    grader: Grader
    coverage: LabelCoverage
    version: str | None = None
    members: frozenset[str] = frozenset()
    runs: bool = False
    earlier: int = 0
    unread: int = 0
    batches: int = 0
    in_batches: int = 0
    outside: int = 0
    irrelevant: tuple[str, ...] = ()

    @property
    def graded(self) -> int:
        return sum(self.coverage.grades.values())

    @property
    def failures(self) -> int:
        return sum(self.coverage.states[state] for state in FAILURES)


@dataclass(frozen=True, eq=False)
class LabelStates:
    """All labelers, and why one cannot be read, by name.

    ``common`` is the number of pairs that two independent labelers graded. ``pooled`` are the queries with pairs, None
    without a pool; ``unreadable`` says why the pool cannot be read. ``slots`` counts the assignments by state, and
    ``people`` those who have an access code. ``newer`` counts the collection's labels after a seq. ``completeness``
    says what the pool lacks, None where nothing is graded.
    """

    labelers: tuple[LabelerState, ...] = ()
    problems: dict[str, str] = field(default_factory=dict)
    common: int = 0
    pooled: frozenset[str] | None = None
    unreadable: str | None = None
    slots: dict[str, int] = field(default_factory=dict)
    people: int = 0
    newer: dict[int, int] = field(default_factory=dict)
    completeness: LabeledCompleteness | None = None

    @property
    def main(self) -> MainLabeler:
        """The main labeler among those with grades."""
        return main_labeler(
            [Candidate(one.name, one.grader, one.graded + one.outside, one.members) for one in self.labelers]
        )

    @property
    def with_grades(self) -> list[LabelerState]:
        return [one for one in self.labelers if one.graded or one.outside]


class _Tally:
    """Counts one labeler's grades, and those of each query."""

    def __init__(self, labeler: Labeler) -> None:
        self.labeler = labeler
        self.coverage = LabelCoverage(0)
        self._lacking: Counter[str] = Counter()
        self._relevant: Counter[str] = Counter()
        self._queries: dict[str, None] = {}
        self._grades: list[int | None] = []

    def add(self, pairs: Sequence[Pair]) -> list[bool]:
        """Whether it graded each of the pairs."""
        graded = self.labeler.graded(pairs)
        for one in graded:
            self.coverage.add(one)
            self._queries[one.query_id] = None
            self._lacking[one.query_id] += one.relevance is None
            self._relevant[one.query_id] += one.relevance is not None and one.relevance > 0
        grades = [one.relevance for one in graded]
        self._grades += grades
        return [grade is not None for grade in grades]

    @property
    def irrelevant(self) -> tuple[str, ...]:
        return tuple(query for query in self._queries if not self._lacking[query] and not self._relevant[query])

    @property
    def grades(self) -> PoolGrades:
        """The grades of the pairs so far."""
        relevance = np.array([0 if grade is None else grade for grade in self._grades], dtype=np.int64)
        graded = np.array([grade is not None for grade in self._grades], dtype=bool)
        outside_pool = outside(self.labeler, self.coverage)
        return PoolGrades(candidate(self.labeler, int(graded.sum()) + outside_pool), relevance, graded)


@dataclass(frozen=True)
class _NothingGraded(Labeler):
    """A judge of pool.yaml before there is a database."""

    by_program: bool = False

    @property
    def grader(self) -> Grader:
        return "program" if self.by_program else "llm"

    def graded(self, pairs: Sequence[Pair]) -> list[Graded]:
        return [Graded(pair.query_id, pair.doc_id, None, None) for pair in pairs]


def label_states(config: PoolConfig, store: Store | None, after: Collection[int] = ()) -> LabelStates:
    """Reads the pool, if it is built, once for all labelers. Without a ``store`` these are the label files, and the
    judges, which have graded nothing. ``after`` are the seqs to count newer labels for."""
    grading = None if store is None else Grading(config, store)
    labelers, problems = _without_store(config) if grading is None else grading.readable((), grading.names)
    tallies = [_Tally(labeler) for labeler in labelers]
    common, pooled, unreadable = _read_pool(config, grading, tallies)
    found = tuple(_state(config, grading, tally) for tally in tallies)
    completeness = None if pooled is None or unreadable is not None else _completeness(config, tallies)
    states = LabelStates(found, problems, common, pooled, unreadable, completeness=completeness)
    if grading is None:
        return states
    store = grading.store
    return replace(
        states,
        slots=slot_counts(store, config.name),
        people=sum(one.revoked_at is None for one in People(store, config.name).all()),
        newer={seq: extent(store, config.name, seq).newer for seq in {0, *after}},
    )


def _without_store(config: PoolConfig) -> tuple[list[Labeler], dict[str, str]]:
    labelers: list[Labeler] = []
    problems: dict[str, str] = {}
    for name in (*config.judges, *config.labels.files):
        settings = config.judges.get(name)
        try:
            if isinstance(settings, JudgeConfig):
                model = make_judge(config, settings).model
                labelers.append(_NothingGraded(name, "judge", None, by_program=model is None))
            elif settings is None:
                labelers.append(file_labeler(config, name))
        except (ConfigError, InputError) as error:
            problems[name] = str(error)
    return labelers, problems


def _read_pool(
    config: PoolConfig, grading: Grading | None, tallies: Sequence[_Tally]
) -> tuple[int, frozenset[str] | None, str | None]:
    """The number of pairs that two independent labelers graded, the queries with pairs (None without a pool), and why
    the pool or labels of it cannot be read."""
    path = Workspace(config.folder).pool
    if unfinished(path) is not None:
        return 0, None, None
    pooled: set[str] = set()
    common = 0
    try:
        for chunk in chunks(read_pool(path), {}) if grading is None else grading.pairs():
            pooled.update(pair.query_id for pair in chunk)
            graded = [(tally, tally.add(chunk)) for tally in tallies]
            columns = [column for tally, column in graded if not tally.labeler.derived_from]
            common += sum(sum(row) > 1 for row in zip(*columns, strict=True))
    except QuatiPoolError as error:
        return common, frozenset(pooled), str(error)
    return common, frozenset(pooled), None


def _completeness(config: PoolConfig, tallies: Sequence[_Tally]) -> LabeledCompleteness | None:
    grades = [tally.grades for tally in tallies]
    if not any(one.graded.any() for one in grades):
        return None
    try:
        pool = read_ledger(Workspace(config.folder).pool)
    except InputError as error:
        return LabeledCompleteness(undefined=str(error))
    if len(pool) != len(grades[0].graded):
        return LabeledCompleteness(undefined="the pool was built again while it was read")
    return labeled_completeness(config, pool, grades)


def _state(config: PoolConfig, grading: Grading | None, tally: _Tally) -> LabelerState:
    labeler = tally.labeler
    runs = isinstance(config.judges.get(labeler.name), JudgeConfig)
    state = LabelerState(
        labeler.name,
        labeler.grader,
        tally.coverage,
        labeler.version,
        labeler.derived_from,
        runs,
        outside=outside(labeler, tally.coverage),
        irrelevant=tally.irrelevant,
    )
    if grading is None or not labeler.stored:
        return state
    batches = grading.store.batches(config.name, labeler.name, open_only=True)
    return replace(
        state,
        earlier=sum(labels for _, _, labels in earlier_versions(grading, [labeler])),
        unread=unread_answers(grading, labeler),
        batches=len(batches),
        in_batches=sum(batch.requests for batch in batches),
    )
