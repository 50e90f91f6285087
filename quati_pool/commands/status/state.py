"""Everything that ``quati-pool status`` finds in a workspace, before it is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from quati_pool.commands.annotate.authoring.report import RoundsReport, rounds_of
from quati_pool.commands.status.labelers import LabelStates, label_states
from quati_pool.commands.status.outputs import OutputState, computed, computed_states, export_states, seqs
from quati_pool.commands.status.systems import BuiltParts, PoolState, SystemState
from quati_pool.commands.validate.pool import validate_pool
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.labels.labelers import make_judge
from quati_pool.project.config import JudgeConfig, PoolConfig
from quati_pool.project.pool_reader import require_texts
from quati_pool.store.database import Store
from quati_pool.store.errors import FormerRevisionError
from quati_pool.store.read_only import read_only


@dataclass(frozen=True, eq=False)
class WorkspaceState:
    """The parts of a workspace as they are.

    ``faults`` are what ``validate`` finds in pool.yaml and its files. Without a pool, ``queries_without_pairs`` is
    empty. ``database`` says why the label database cannot be read, and ``former`` that it has to be upgraded first;
    then ``labels`` holds only label files, and ``outputs``, which are reports, qrels and exports, is empty.
    ``without_texts`` says why nobody can grade by reading, judges nor people; if it is None, ``blocked``
    says by name why a judge cannot be asked here. ``writing`` is how far the rounds are in which questions are written,
    None without ``authoring:``.
    """

    config: PoolConfig
    faults: tuple[str, ...]
    systems: tuple[SystemState, ...]
    pool: PoolState
    queries_without_pairs: tuple[str, ...]
    labels: LabelStates
    database: str | None
    former: bool
    without_texts: str | None
    blocked: dict[str, str]
    outputs: tuple[OutputState, ...]
    writing: RoundsReport | None = None

    @property
    def only_writing(self) -> bool:
        """Whether the questions are still being written, and nothing searches for their answers yet."""
        return self.writing is not None and not self.config.systems

    @property
    def to_build(self) -> list[str]:
        """What ``build`` has to build: systems, and the pool."""
        if self.only_writing:
            return []
        parts = [(one.run_tag, one.state) for one in self.systems] + [("the pool", self.pool.state)]
        return [name for name, state in parts if state in ("not built", "out of date")]

    def output(self, command: str) -> OutputState | None:
        """The report that a command wrote, if any."""
        return next((one for one in self.outputs if one.command == (command,)), None)


def workspace_state(config: PoolConfig) -> WorkspaceState:
    """Reads a workspace without writing anything or waiting for a lock."""
    built = BuiltParts(config)
    systems, pool = built.systems(), built.pool()
    incomplete = [one.run_tag for one in systems if one.state in ("not built", "out of date")]
    report = validate_pool(config.path, systems=incomplete)
    faults = [*map(str, report.errors), *([f"{report.more_errors:,} more"] if report.more_errors else [])]
    found, problem, former = _stored(config)
    labels, outputs, writing = found
    lacking = _lacking_texts(config)
    queries = [query.query_id for query in built.queries.queries] if built.queries else []
    pooled = labels.pooled
    return WorkspaceState(
        config,
        tuple(faults),
        tuple(systems),
        pool,
        () if pooled is None else tuple(query for query in queries if query not in pooled),
        labels,
        problem,
        former,
        lacking,
        {} if lacking else _blocked(config),
        tuple(outputs),
        writing,
    )


_Stored = tuple[LabelStates, Sequence[OutputState], RoundsReport | None]


def _stored(config: PoolConfig) -> tuple[_Stored, str | None, bool]:
    """The labelers, the outputs and the rounds of writing; why the database cannot be read, and whether it has to be
    upgraded first."""
    problem, former = None, False
    try:
        found = read_only(config.labels.url, config.folder, partial(_read, config))
    except FormerRevisionError as error:
        found, problem, former = None, str(error), True
    except QuatiPoolError as error:
        found, problem = None, str(error)
    if problem is not None:
        # What judges and people graded is unknown, which is not nothing; files are read as ever.
        labels = label_states(config, None)
        files = tuple(one for one in labels.labelers if one.name in config.labels.files)
        return (replace(labels, labelers=files), (), None), problem, former
    return found or _read(config, None), None, False


def _read(config: PoolConfig, store: Store | None) -> _Stored:
    found = computed(config)
    labels = label_states(config, store, seqs(found))
    writing = None if config.authoring is None else rounds_of(config, store)
    return labels, [*computed_states(config, found, labels), *export_states(config, store)], writing


def _lacking_texts(config: PoolConfig) -> str | None:
    try:
        require_texts(config)
    except ConfigError as error:
        return str(error)
    return None


def _blocked(config: PoolConfig) -> dict[str, str]:
    found = {}
    for name, settings in config.judges.items():
        if isinstance(settings, JudgeConfig):
            try:
                model = make_judge(config, settings).model
                if model is not None:
                    model.client()
            except QuatiPoolError as error:
                found[name] = str(error)
    return found
