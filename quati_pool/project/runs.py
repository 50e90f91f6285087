"""The runs that a command measures: those of the workspace, or run files in one or several sets."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from quati_pool.errors import ConfigError, FaultsError, InputError, QuatiPoolError
from quati_pool.evaluation.judged_runs import emptied_if_unjudged
from quati_pool.evaluation.run_facts import RunFacts, run_facts
from quati_pool.files.artifacts import file_digest, read_counts, unfinished
from quati_pool.files.frames import Given, read_run_frame
from quati_pool.files.problems import Problems
from quati_pool.files.runs import (
    RankContradictions,
    RunRows,
    chosen_run,
    rank_contradictions,
    ranked_run,
    read_run,
    read_runs,
)
from quati_pool.pooling.pool import Pool, depth_pool
from quati_pool.processes.threads import in_threads
from quati_pool.project.config import PoolConfig
from quati_pool.project.inputs import read_extra, run_files
from quati_pool.project.workspace import Workspace
from quati_pool.records import Qrels, Run
from quati_pool.retrieval.run_file import RunFileParameters, RunFileReader

_NONE = RankContradictions(0, 0)
_SET_NAME = re.compile(r"[^\s=/#*?\[\]]+\Z")


@dataclass(frozen=True, eq=False)
class RunSet:
    """Runs over one corpus, with facts about them by run_tag.

    ``name`` is empty where there is only one set. ``pool_depths``: how many documents per query each run contributed
    to the pool, None where unknown. ``extra``: pairs that were added to the pool by other means. ``absent``: why a
    system of pool.yaml has no finished run. ``digests``: the SHA-256 of each run's file. ``contradictions``: where the
    ranks in a run's file do not follow the order of its scores. ``of_workspace``: whether the runs are those of a
    workspace, for its queries. ``warnings``: oddities in the run files.
    """

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
        """Sizes and ties of each run, by run_tag."""
        return {run.run_tag: run_facts(run) for run in self.runs}

    @cached_property
    def pool(self) -> Pool | str:
        """The pool that the runs contributed to, without ranks below their pool depths; or why it is unknown."""
        if self.pool_depths is None:
            return "how deep the runs were pooled is not known; give it with --pool-depth"
        lacking = [run_tag for run_tag in self.absent if self.pool_depths[run_tag]]
        if lacking:
            reason = "contributed to the pool but is missing, so that what it shares would count as unique to others"
            return f"{', '.join(lacking)} {reason}"
        depths = {run.run_tag: self.pool_depths[run.run_tag] for run in self.runs}
        if not any(depths.values()):
            return "none of the runs fed the pool"
        return depth_pool([run.head(depths[run.run_tag]) for run in self.runs], depths)

    def answering(self, qrels: Qrels) -> list[Run]:
        """The runs to measure under ``qrels``.

        A run without any judged query would be refused. A workspace's run is instead emptied if another run has judged
        queries: it merely found nothing for the few queries of a sample.
        """
        if not self.of_workspace:
            return self.runs
        judged = [emptied_if_unjudged(run, qrels) for run in self.runs]
        return judged if any(map(len, judged)) else self.runs


def workspace_runs(config: PoolConfig) -> RunSet:
    """The runs that ``build`` wrote, down to ``run_depth``.

    Raises InputError where there are none. ``refuse_outdated`` checks whether they still fit pool.yaml.
    """
    workspace = Workspace(config.folder)
    problems = {run_tag: unfinished(workspace.run(run_tag)) for run_tag in config.systems}
    absent = {run_tag: problem for run_tag, problem in problems.items() if problem}
    runs = list(
        in_threads(
            lambda run_tag: read_run(workspace.run(run_tag), run_tag), [tag for tag in problems if tag not in absent]
        )
    )
    given, reader = run_files(config), RunFileReader()
    contradictions = {
        run.run_tag: _contradictions_of(config, workspace.run(run.run_tag), given.get(run.run_tag), reader)
        for run in runs
    }
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


def _contradictions_of(
    config: PoolConfig, run: Path, given: RunFileParameters | None, reader: RunFileReader
) -> RankContradictions:
    """Where the ranks in the user's file, from which ``run`` was built, do not follow the order of its scores."""
    if given is None:
        return _NONE
    recorded = read_counts(run).get("rank_contradictions")
    if recorded is not None:
        return RankContradictions(**recorded)
    # A run that was built before they were recorded, whose file may be gone.
    source = config.folder / given.path
    return rank_contradictions(chosen_run(source, reader.read(source), given.run_tag)) if source.exists() else _NONE


def run_sets(options: Sequence[str], pool_depth: int | None = None) -> list[RunSet]:
    """The runs that ``[SET=]FILE[#RUN_TAG]`` options name: all of a file, or one; FILE may be a folder or a pattern.
    Sets keep the order in which they are first named.

    Raises QuatiPoolError where a file is missing or faulty, or where two runs of a set have one run tag; FaultsError
    where there are several such faults.
    """
    faults: list[QuatiPoolError] = []
    warnings: dict[str, list[str]] = {}
    by_set: dict[str, dict[str, _ReadRun]] = {}
    for option in options:
        name, paths, chosen = _expand(option)
        runs = by_set.setdefault(name, {})
        for path in paths:
            try:
                read = _read(path, warnings.setdefault(name, []))
                if chosen is not None:
                    read = {chosen: chosen_run(path, read, chosen)}
            except InputError as fault:
                faults.append(fault)
                continue
            twice: dict[Path, list[str]] = {}
            for run_tag, rows in read.items():
                if run_tag not in runs:
                    runs[run_tag] = _ReadRun(ranked_run(rows), rank_contradictions(rows), path)
                    continue
                first = runs[run_tag].path
                assert first is not None
                if first.samefile(path):
                    raise QuatiPoolError(f"--run names {path} twice; name it once")
                twice.setdefault(first, []).append(run_tag)
            faults += [_same_run_tags(first, path, run_tags) for first, run_tags in twice.items()]
    if faults:
        raise FaultsError(faults) if len(faults) > 1 else faults[0]
    return [_run_set(name, runs, pool_depth, warnings[name]) for name, runs in by_set.items()]


def _same_run_tags(first: Path, second: Path, run_tags: Sequence[str]) -> QuatiPoolError:
    if len(run_tags) == 1:
        return QuatiPoolError(
            f"{first} and {second} hold runs of one run_tag, {run_tags[0]!r}; rename one, or put them into sets "
            "([SET=]FILE)"
        )
    return QuatiPoolError(
        f"{first} and {second} both hold runs of {len(run_tags):,} run_tags, such as {run_tags[0]!r}; name one of the "
        "files, or put them into sets ([SET=]FILE)"
    )


def named_runs(runs: Mapping[str, Path | Given], pool_depth: int | None = None) -> RunSet:
    """Runs under the names given here: run files, whose own run tags are ignored, or one of the runs of a file
    (``FILE#RUN_TAG``), and runs that a Python program holds.

    Raises QuatiPoolError where one is missing or faulty.
    """
    warnings: list[str] = []
    read = {}
    for name, source in runs.items():
        path = None
        if isinstance(source, Given):
            rows = read_run_frame(source, name)
        else:
            path, chosen = _split_tag(source)
            rows = chosen_run(path, _read(path, warnings), chosen, "name one of them: FILE#RUN_TAG")
        read[name] = _ReadRun(ranked_run(rows, name), rank_contradictions(rows), path)
    return _run_set("", read, pool_depth, warnings)


class _ReadRun(NamedTuple):
    """A run that was read, from the file ``path`` if it is not None."""

    run: Run
    contradictions: RankContradictions
    path: Path | None


def _run_set(name: str, runs: Mapping[str, _ReadRun], pool_depth: int | None, warnings: Sequence[str]) -> RunSet:
    digests = {path: file_digest(path) for path in {read.path for read in runs.values()} if path is not None}
    return RunSet(
        name,
        [read.run for read in runs.values()],
        None if pool_depth is None else dict.fromkeys(runs, pool_depth),
        {run_tag: run_tag for run_tag in runs},
        digests={run_tag: digests[read.path] for run_tag, read in runs.items() if read.path is not None},
        contradictions={run_tag: read.contradictions for run_tag, read in runs.items()},
        warnings=warnings,
    )


class _Warnings(Problems):
    """Collects warnings; the first fault ends the reading."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, path: Path, message: str) -> None:
        self.warnings.append(message)


def _read(path: Path, warnings: list[str]) -> dict[str, RunRows]:
    """The runs of a file. Its warnings are appended to ``warnings``, and to the message of an InputError."""
    problems = _Warnings()
    try:
        runs = read_runs(path, problems)
    except InputError as fault:
        raise InputError(path, fault.line, "; ".join([fault.message, *problems.warnings])) from None
    warnings += [f"{path} {warning}" for warning in problems.warnings]
    return runs


def _split_tag(path: Path) -> tuple[Path, str | None]:
    """The file and the run tag of FILE#RUN_TAG; no tag for the name of a file that exists, or one without ``#``."""
    file, mark, run_tag = str(path).rpartition("#")
    return (Path(file), run_tag) if mark and file and run_tag and not path.exists() else (path, None)


def _expand(option: str) -> tuple[str, list[Path], str | None]:
    """The set of a ``--run`` option, its files, and the run to take from them, all runs if None.

    Raises ConfigError for an option without a file, InputError where nothing matches.
    """
    name, sign, rest = option.partition("=")
    named = bool(sign) and bool(_SET_NAME.match(name)) and not Path(option).exists()
    pattern = rest if named else option
    if not pattern:
        raise ConfigError(f"--run {option}: names no file; expected [SET=]FILE")
    path, run_tag = _split_tag(Path(pattern))
    pattern = str(path)
    if path.is_dir():
        files = _runs(path.iterdir())
    elif path.exists() or not glob.has_magic(pattern):
        files = [path]
    else:
        files = _runs(map(Path, glob.glob(pattern)))
    if not files:
        raise InputError(path, None, "there is no run here; name a file, a folder, or a pattern in quotes")
    return (name if named else ""), files, run_tag


def _runs(paths: Iterable[Path]) -> list[Path]:
    """The files that may be runs: neither sidecars nor hidden or partial files."""
    return sorted(p for p in paths if p.is_file() and p.name[0] != "." and not p.name.endswith(".json"))
