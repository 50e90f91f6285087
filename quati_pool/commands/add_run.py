"""Adds a run made elsewhere to a workspace: its file, its entry under ``systems:`` of pool.yaml, and its built run."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

from quati_pool.commands.build import build
from quati_pool.errors import ConfigError, FrameError, QuatiPoolError
from quati_pool.files.artifacts import clear_partials, locked_output, put_file
from quati_pool.files.frames import Given, read_run_frame
from quati_pool.files.lines import read_bytes
from quati_pool.files.runs import RunRows, ranked_run, read_run_rows, write_run
from quati_pool.files.yaml_entry import with_entry
from quati_pool.files.yaml_file import YamlFile
from quati_pool.project.config import PoolConfig, RetrieverSystem, load_config
from quati_pool.project.events import Listener
from quati_pool.project.inputs import load_queries
from quati_pool.records import Run
from quati_pool.registry import nearest
from quati_pool.retrieval.run_file import RunFileParameters


def add_run(
    config_path: Path,
    name: str,
    source: Path | Given,
    listener: Listener,
    *,
    pool: bool = False,
    family: str | None = None,
    corpus: str | None = None,
    replace: bool = False,
) -> Path:
    """Writes the run to ``external/<name>.trec.gz``, adds the system ``name`` to pool.yaml, whose other text stays byte
    for byte, and builds the system's run; returns the path of the file.

    ``pool``: whether the run feeds the pool. ``corpus``: the corpus that was searched, needed if there are several.
    A run that is there already with the same content is left as it is; one with other content is replaced only with
    ``replace``. A process killed at any point leaves a valid workspace, and calling again finishes the work.

    Raises QuatiPoolError, and changes nothing, where the run is faulty or has no query of the collection, or where the
    name is taken.
    """
    config = load_config(config_path)
    YamlFile(config.path).text_key(("systems", name), name)
    rows = read_run_frame(source, name) if isinstance(source, Given) else read_run_rows(source)
    _refuse_strangers(config, source, rows)
    _check_corpus(config, corpus)
    path = config.folder / "external" / f"{name}.trec.gz"
    entry: dict[str, Any] = {"retriever": "run", "path": path.relative_to(config.folder).as_posix()}
    entry |= {key: value for key, value in (("corpus", corpus), ("family", family)) if value is not None}
    entry |= {} if pool else {"pool": False}
    with locked_output(config.path, listener.say):
        clear_partials(path)
        _write(load_config(config_path), name, entry, ranked_run(rows, name), path, replace)
    build(config_path, listener, only=[name])
    return path


def _check_corpus(config: PoolConfig, corpus: str | None) -> None:
    """Raises ConfigError where several corpora are there and none is named, or one that is not there."""
    if corpus is None and len(config.corpora) > 1:
        raise ConfigError(f"{config.path}: holds several corpora; name the run's with corpus=, one of "
                          f"{', '.join(config.corpora)}")  # fmt: skip
    if corpus is not None and corpus not in config.corpora:
        raise ConfigError(f"{config.path}: there is no corpus {corpus!r}; {nearest(corpus, config.corpora)}")


def _refuse_strangers(config: PoolConfig, source: Path | Given, rows: RunRows) -> None:
    """Raises FrameError for a run without any query of the collection."""
    name = source.name if isinstance(source, Given) else source
    if not (load_queries(config).ids.encode(rows.queries.values) >= 0).any():
        raise FrameError(f"{name}: none of its queries is in {config.queries.source}; check its query_ids")


def _write(config: PoolConfig, name: str, entry: dict[str, Any], run: Run, path: Path, replace: bool) -> None:
    """Writes the run's file and then its entry in pool.yaml, as far as they are not there."""
    system = config.systems.get(name)
    if system is not None:
        if not isinstance(system, RetrieverSystem) or system.parameters != RunFileParameters(path=entry["path"]):
            raise ConfigError(f"{config.path}: systems: holds another {name!r} already; choose another name")
        settings = {"pool": system.pool, "family": system.family, "corpus": system.corpus}
        given = {
            "pool": entry.get("pool", True),
            "family": entry.get("family"),
            "corpus": entry.get("corpus", system.corpus),
        }
        if settings != given:
            changed = ", ".join(f"{key} {settings[key]!r}" for key in given if settings[key] != given[key])
            raise ConfigError(f"{config.path}: systems: holds {name!r} with {changed}; change that in the file")
    for run_tag, other in config.systems.items():
        reads = isinstance(other, RetrieverSystem) and other.parameters == RunFileParameters(path=entry["path"])
        if run_tag != name and reads:
            raise ConfigError(f"{config.path}: systems: {run_tag} reads {entry['path']} already; choose another name")
    content = io.BytesIO()
    write_run(run, content)
    # Queries may come in another order.
    if not (path.exists() and sorted(read_bytes(path).splitlines()) == sorted(content.getvalue().splitlines())):
        if path.exists() and not replace:
            raise QuatiPoolError(
                f"{name} is in the workspace with other content; replace it with replace=True, or choose another name"
            )
        path.parent.mkdir(exist_ok=True)
        put_file(path, lambda partial: write_run(run, partial))
    if system is None:
        _append(config.path, name, entry)


def _append(path: Path, name: str, entry: dict[str, Any]) -> None:
    """Adds the system to pool.yaml. Raises QuatiPoolError, with what to add by hand, where its layout does not allow
    that."""
    # A link stays a link.
    path = path.resolve()
    text = path.read_bytes().decode("utf-8")
    try:
        changed = with_entry(text, "systems", name, entry)
    except ValueError:
        shown = ", ".join(f"{key}: {str(value).lower() if value is False else value}" for key, value in entry.items())
        raise QuatiPoolError(
            f"{path}: systems: cannot be extended as it is written; the run is in {entry['path']}: add by hand "
            f"under systems:  {name}: {{{shown}}}"
        ) from None

    def fill(partial: Path) -> None:
        partial.write_bytes(changed.encode("utf-8"))
        load_config(partial)
        shutil.copymode(path, partial)

    put_file(path, fill)
