"""The workspace and the runs that estimates, plans and replays of estimates read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from quati_pool.errors import ConfigError
from quati_pool.labels.gathered import LabelFiles
from quati_pool.project.cache_keys import refuse_outdated
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.runs import RunSet, run_sets, workspace_runs
from quati_pool.text.pluralize import listed

if TYPE_CHECKING:
    from quati_pool.store.database import Store


def workspace(
    config_path: Path,
    people: str | None,
    judge: str | None,
    files: LabelFiles,
    runs: Sequence[str],
    *,
    people_required: bool = True,
) -> PoolConfig:
    """The workspace, needed because runs, or people or the judge, are not given as files.

    Raises ConfigError where there is none, naming what could be given instead.
    """
    if config_path.exists():
        return load_config(config_path)
    for option, name in (("--people", people), ("--judge", judge)):
        if name is not None and name not in files.files:
            raise ConfigError(
                f"{option} {name}: there is no such file, and no {config_path} with a labeler of this name; "
                f"name a file: {option} FILE"
            )
    given = {"--run": bool(runs), "--people": people is not None or not people_required, "--judge": judge is not None}
    missing = listed([option for option, there in given.items() if not there])
    raise ConfigError(
        f"there is no {config_path}, and outside a workspace --run, --people and --judge name files; add {missing}"
    )


def chosen_runs(config: PoolConfig | None, options: Sequence[str]) -> RunSet:
    """The runs of the options, or without any those of the workspace."""
    if not options:
        assert config is not None
        refuse_outdated(config)
        return workspace_runs(config)
    found = run_sets(options)
    if len(found) > 1:
        names = ", ".join(one.name for one in found)
        raise ConfigError(f"--run names several sets of runs ({names}), and one is read at a time; name one")
    return found[0]


@contextmanager
def one_state(
    config: PoolConfig | None, database: str | None, store: Store | None = None
) -> Iterator[tuple[Store | None, int | None]]:
    """The workspace's store in one state: the given one as its opener sees it, or one that is opened here, with the seq
    of its last label; None without a workspace."""
    if store is not None or config is None:
        yield store, None
        return
    from quati_pool.store.database import Store

    with Store.open(database or config.labels.url, config.folder) as opened, opened.snapshot() as seq:
        yield opened, seq
