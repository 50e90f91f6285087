"""Whose rankings a command measures: the workspace's runs, or run files in one or several sets."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from quati_pool.errors import ConfigError, FaultsError, InputError, QuatiPoolError
from quati_pool.evaluation.run_facts import RunFacts, run_facts
from quati_pool.files.artifacts import file_digest, unfinished
from quati_pool.files.problems import Problems
from quati_pool.files.runs import RankContradictions, RunRows, rank_contradictions, ranked_run, read_run, read_run_rows
from quati_pool.project.config import PoolConfig, RetrieverSystem
from quati_pool.project.inputs import read_extra
from quati_pool.project.workspace import Workspace
from quati_pool.records import Run
from quati_pool.retrieval.run_file import RunFileParameters

_NONE = RankContradictions(0, 0)
_SET = re.compile(r"[^\s=/#*?\[\]]+\Z")


@dataclass(frozen=True, eq=False)
class RunSet:
    """Runs over one corpus. ``name`` is empty where there is one set; ``pool_depths`` says how many
    documents a query each run fed into the pool, and is None where that is not known; ``extra`` are pairs
    that came into the pool by other means; ``absent`` are systems of pool.yaml without a finished run,
    with why; ``digests`` the SHA-256 of each run's file; ``contradictions`` where the ranks in a run's file are not
    in the order of its scores; ``of_workspace`` tells runs for one collection's queries from files of anybody's.
    ``warnings`` say what looks odd in the files of its runs."""

    name: str
    runs: list[Run]
    pool_depths: Mapping[str, int] | None = None
    families: Mapping[str, str] = field(default_factory=dict)
    extra: Sequence[tuple[str, str]] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    contradictions: Mapping[str, RankContradictions] = field(default_factory=dict)
    of_workspace: bool = False
    warnings: Sequence[str] = ()

    @cached_property
    def facts(self) -> dict[str, RunFacts]:
        """What each run is like, by run_tag."""
        return {run.run_tag: run_facts(run) for run in self.runs}


def workspace_runs(config: PoolConfig) -> RunSet:
    """The runs that ``build`` made, to run_depth.

    Raises InputError where there is none. Whether pool.yaml still asks for them is for ``refuse_outdated``.
    """
    workspace = Workspace(config.folder)
    absent = {}
    runs = []
    contradictions = {}
    for run_tag, system in config.systems.items():
        path = workspace.run(run_tag)
        problem = unfinished(path)
        if problem:
            absent[run_tag] = problem
        else:
            runs.append(read_run(path, run_tag))
            source = _source_file(config, system)
            contradictions[run_tag] = rank_contradictions(read_run_rows(source)) if source else _NONE
    if not runs:
        first = next(iter(absent))
        raise InputError(workspace.run(first), None, f"{absent[first]}; run: quati-pool build -c {config.path}")
    return RunSet(
        "",
        runs,
        {run_tag: config.pool_depth(run_tag) for run_tag in config.systems},
        {run_tag: config.family(run_tag) for run_tag in config.systems},
        list(read_extra(config)),
        absent,
        {run.run_tag: file_digest(workspace.run(run.run_tag)) for run in runs},
        contradictions,
        of_workspace=True,
    )


def _source_file(config: PoolConfig, system: object) -> Path | None:
    """The file that a run of ``retriever: run`` was taken from: the workspace's own copy has the ranks of ``build``."""
    if not isinstance(system, RetrieverSystem) or not isinstance(system.parameters, RunFileParameters):
        return None
    path = config.folder / system.parameters.path
    return path if path.exists() else None


def run_sets(options: Sequence[str], pool_depth: int | None = None) -> list[RunSet]:
    """Reads ``[SET=]FILE`` options, where FILE may be a folder or a pattern too; sets in the order in which
    they are first named.

    Raises QuatiPoolError where files are not there or not sound, or where two runs of a set have one run tag;
    where several are, FaultsError for all of them.
    """
    faults: list[QuatiPoolError] = []
    warnings: dict[str, list[str]] = {}
    by_set: dict[str, dict[str, tuple[Path, Run, RankContradictions]]] = {}
    for option in options:
        name, paths = _expand(option)
        runs = by_set.setdefault(name, {})
        for path in paths:
            try:
                rows = _read(path, warnings.setdefault(name, []))
            except InputError as fault:
                faults.append(fault)
                continue
            run = ranked_run(rows)
            if run.run_tag in runs:
                first = runs[run.run_tag][0]
                if first.samefile(path):
                    raise QuatiPoolError(f"--run names {path} twice; name it once")
                both = f"{first} and {path} hold runs of one run_tag, {run.run_tag!r}"
                faults.append(QuatiPoolError(f"{both}; rename one, or part them in sets"))
                continue
            runs[run.run_tag] = (path, run, rank_contradictions(rows))
    if faults:
        raise FaultsError(faults) if len(faults) > 1 else faults[0]
    return [
        RunSet(
            name,
            [run for _, run, _ in runs.values()],
            None if pool_depth is None else dict.fromkeys(runs, pool_depth),
            {run_tag: run_tag for run_tag in runs},
            digests={run_tag: file_digest(path) for run_tag, (path, _, _) in runs.items()},
            contradictions={run_tag: found for run_tag, (_, _, found) in runs.items()},
            warnings=warnings[name],
        )
        for name, runs in by_set.items()
    ]


class _Heard(Problems):
    """Keeps what looks odd; the first fault ends the reading."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, path: Path, message: str) -> None:
        self.warnings.append(message)


def _read(path: Path, warnings: list[str]) -> RunRows:
    """A run's rows, with what looks odd in its file added to ``warnings``; raises InputError with all that is known."""
    problems = _Heard()
    try:
        rows = read_run_rows(path, problems)
    except InputError as fault:
        raise InputError(path, fault.line, "; ".join([fault.message, *problems.warnings])) from None
    warnings += [f"{path} {warning}" for warning in problems.warnings]
    return rows


def _expand(option: str) -> tuple[str, list[Path]]:
    name, sign, rest = option.partition("=")
    named = bool(sign) and bool(_SET.match(name)) and not Path(option).exists()
    text = rest if named else option
    if not text:
        raise ConfigError(f"--run {option}: names no file; expected [SET=]FILE")
    path = Path(text)
    if path.is_dir():
        found = _runs(path.iterdir())
    elif path.exists() or not glob.has_magic(text):
        found = [path]
    else:
        found = _runs(map(Path, glob.glob(text)))
    if not found:
        raise InputError(path, None, "there is no run here; name a file, a folder, or a pattern in quotes")
    return (name if named else ""), found


def _runs(paths: Iterable[Path]) -> list[Path]:
    """Files without those beside runs: sidecars, and what is hidden or half-made."""
    return sorted(p for p in paths if p.is_file() and p.name[0] != "." and not p.name.endswith(".json"))
