"""Whose rankings a command measures: the workspace's runs, or run files in one or several sets."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quati_pool.config import PoolConfig
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.artefacts import unfinished
from quati_pool.files.runs import read_run
from quati_pool.records import Run
from quati_pool.workspace import Workspace

_SET = re.compile(r"[A-Za-z0-9._+-]+\Z")


@dataclass(frozen=True, eq=False)
class RunSet:
    """Runs over one corpus. ``name`` is empty where there is one set; ``pool_depths`` says how many
    documents a query each run fed into the pool, and is None where that is not known; ``absent`` are
    systems of pool.yaml without a finished run, with why."""

    name: str
    runs: list[Run]
    pool_depths: Mapping[str, int] | None = None
    families: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)


def workspace_runs(config: PoolConfig) -> RunSet:
    """The runs that ``build`` made, to run_depth.

    Raises InputError where there is none.
    """
    workspace = Workspace(config.folder)
    absent = {}
    runs = []
    for run_tag in config.systems:
        path = workspace.run(run_tag)
        problem = unfinished(path)
        if problem:
            absent[run_tag] = problem
        else:
            runs.append(read_run(path, run_tag))
    if not runs:
        first = next(iter(absent))
        raise InputError(workspace.run(first), None, f"{absent[first]}; run: quati-pool build -c {config.path}")
    depths = {run.run_tag: config.pool_depth(run.run_tag) for run in runs}
    return RunSet("", runs, depths, {run.run_tag: config.family(run.run_tag) for run in runs}, absent)


def run_sets(options: Sequence[str], pool_depth: int | None = None) -> list[RunSet]:
    """Reads ``[SET=]FILE`` options, where FILE may be a folder or a pattern too; sets in the order in which
    they are first named.

    Raises QuatiPoolError where a file is not there, or where two runs of a set have one run tag.
    """
    by_set: dict[str, dict[str, tuple[Path, Run]]] = {}
    for option in options:
        name, paths = _expand(option)
        runs = by_set.setdefault(name, {})
        for path in paths:
            run = read_run(path)
            if run.run_tag in runs:
                there = f"{runs[run.run_tag][0]} and {path}"
                raise QuatiPoolError(
                    f"{there} hold runs of one run_tag, {run.run_tag!r}; rename one, or part them in sets"
                )
            runs[run.run_tag] = (path, run)
    return [
        RunSet(
            name,
            [run for _, run in runs.values()],
            None if pool_depth is None else dict.fromkeys(runs, pool_depth),
            {run_tag: run_tag for run_tag in runs},
        )
        for name, runs in by_set.items()
    ]


def _expand(option: str) -> tuple[str, list[Path]]:
    name, sign, rest = option.partition("=")
    named = bool(sign) and bool(_SET.match(name)) and not Path(option).exists()
    text = rest if named else option
    path = Path(text)
    if path.is_dir():
        found = sorted(p for p in path.iterdir() if p.is_file() and p.name[0] != "." and not p.name.endswith(".json"))
    elif path.exists() or not glob.has_magic(text):
        found = [path]
    else:
        found = sorted(Path(match) for match in glob.glob(text))
    if not found:
        raise InputError(path, None, "there is no run here; name a file, a folder, or a pattern in quotes")
    return (name if named else ""), found
