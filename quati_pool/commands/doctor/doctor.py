"""``quati-pool doctor``: what this machine lacks, and what of a pool.yaml cannot run on it. Asks no server but a label
database that pool.yaml names, and writes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from quati_pool.commands.doctor.machine import Machine, machine
from quati_pool.commands.doctor.packages import Extra, extras
from quati_pool.commands.plan.parts import Total
from quati_pool.commands.plan.plan import plan
from quati_pool.commands.validate.pool import validate_pool
from quati_pool.errors import MissingExtraError, QuatiPoolError
from quati_pool.labels.labelers import make_judge
from quati_pool.llm.endpoint import OPENAI
from quati_pool.llm.secrets import variables
from quati_pool.models.location import locate_or_announce
from quati_pool.models.parameters import ModelParameters
from quati_pool.project.cache_keys import component_environment
from quati_pool.project.config import FusionSystem, JudgeConfig, PoolConfig, load_config
from quati_pool.project.workspace import Workspace
from quati_pool.retrieval.planning import human_bytes
from quati_pool.store.database_url import parse_database_url
from quati_pool.store.errors import FormerRevisionError
from quati_pool.store.read_only import read_only

_KEYS = ("OPENAI_API_KEY", "HF_TOKEN")


@dataclass(frozen=True)
class Problem:
    """Why something that pool.yaml asks for cannot run, with what to do; and the systems and judges it concerns, none
    where it concerns all of the collection."""

    what: str
    affects: tuple[str, ...] = ()


@dataclass(frozen=True)
class KeyState:
    """Whether an environment variable that holds a key is set, never what it holds; and who uses it."""

    variable: str
    present: bool
    used_by: tuple[str, ...]


@dataclass(frozen=True)
class ModelState:
    """A model of pool.yaml, the systems that use it, and whether it is here, to be downloaded, or cannot be found."""

    model: str
    systems: tuple[str, ...]
    state: str


@dataclass(frozen=True, eq=False)
class Checkup:
    """What was found. The rest is empty without a ``config``: ``servers`` maps the addresses of servers to the systems
    and judges that ask them, ``database`` describes the label database, ``left`` is what a build still needs, None
    where unknown."""

    config: PoolConfig | None
    machine: Machine
    extras: tuple[Extra, ...]
    keys: tuple[KeyState, ...]
    servers: dict[str, tuple[str, ...]]
    models: tuple[ModelState, ...]
    database: str | None
    left: Total | None
    problems: tuple[Problem, ...]


def doctor(config_path: Path | None) -> Checkup:
    """Checks the machine and, with a pool.yaml, what it asks for; raises InputError for an invalid pool.yaml."""
    config = None if config_path is None else load_config(config_path, writing=True)
    here = machine(Path() if config is None else config.folder)
    packages = tuple(extras())
    if config is None:
        return Checkup(None, here, packages, tuple(_keys(None)), {}, (), None, None, ())
    missing = _missing_extras(config)
    database, unreachable = _database(config, here)
    left = _left(config)
    problems = [
        *(Problem(what, names) for what, names in missing.items()),
        *_faults(config, {name for names in missing.values() for name in names}),
        *_blocked_judges(config),
        *([Problem(unreachable)] if unreachable else []),
        *_space(left, here),
    ]
    return Checkup(
        config,
        here,
        packages,
        tuple(_keys(config)),
        _servers(config),
        tuple(_models(config)),
        database,
        left,
        tuple(problems),
    )


def _missing_extras(config: PoolConfig) -> dict[str, tuple[str, ...]]:
    """The systems and judges whose packages are not installed, by the message that says so."""
    found: dict[str, tuple[str, ...]] = {}
    for name, part in {**config.systems, **_judges(config)}.items():
        try:
            part.component.cls.require()
        except MissingExtraError as error:
            found[str(error)] = (*found.get(str(error), ()), name)
    return found


def _judges(config: PoolConfig) -> dict[str, JudgeConfig]:
    return {name: judge for name, judge in config.judges.items() if isinstance(judge, JudgeConfig)}


def _faults(config: PoolConfig, without: set[str]) -> Iterator[Problem]:
    """What ``validate`` finds, but for systems and judges that were named already."""
    report = validate_pool(config.path, systems=[tag for tag in config.systems if tag not in without])
    judges = tuple(f"judges.{name}: " for name in without)
    for error in report.errors:
        if not judges or not error.message.startswith(judges):
            yield Problem(str(error))
    if report.more_errors:
        yield Problem(f"{report.more_errors:,} more; run: quati-pool validate {config.path}")


def _blocked_judges(config: PoolConfig) -> Iterator[Problem]:
    """Judges without a usable key or address; ``validate`` only warns of these."""
    for name, settings in _judges(config).items():
        try:
            model = make_judge(config, settings).model
        except QuatiPoolError:
            continue  # among the faults
        try:
            if model is not None:
                model.client()
        except QuatiPoolError as error:
            yield Problem(str(error), (name,))


def _database(config: PoolConfig, here: Machine) -> tuple[str | None, str | None]:
    """A description of the label database, and why it cannot be used."""
    try:
        parsed = parse_database_url(config.labels.url, config.folder)
    except QuatiPoolError:
        return None, None  # among the faults
    try:
        there = read_only(config.labels.url, config.folder, lambda store: True)
    except FormerRevisionError:
        return f"{parsed.name}: of an earlier version, upgraded when it is next opened", None
    except QuatiPoolError as error:
        return f"{parsed.name}: cannot be used", str(error)
    words = f"{parsed.name}: {'reachable' if there else 'empty' if parsed.path is None else 'not there yet'}"
    if parsed.path is not None and not os.access(parsed.path if there else parsed.path.parent, os.W_OK):
        return words, f"{parsed.name}: it may not be written; check the permissions of the file and its folder"
    if parsed.path is not None and here.network:
        words += f", on {here.file_system}: use it from one machine at a time, or PostgreSQL (labels: url:)"
    return words, None


def _left(config: PoolConfig) -> Total | None:
    try:
        return plan(config.path).left
    except (QuatiPoolError, ImportError):
        return None


def _space(left: Total | None, here: Machine) -> Iterator[Problem]:
    if left is not None and left.disk > here.disk_free:
        needed = f"a build still needs about {human_bytes(left.disk)} of disk"
        yield Problem(f"{needed}, and {human_bytes(here.disk_free)} are free; free some space")


def _asking(config: PoolConfig) -> Iterator[tuple[str, Any]]:
    """The systems and judges that ask a server, with their parameters."""
    parts = [(tag, system.parameters) for tag, system in config.systems.items()]
    parts += [(name, judge.parameters) for name, judge in _judges(config).items()]
    return ((name, parameters) for name, parameters in parts if hasattr(parameters, "base_url"))


def _keys(config: PoolConfig | None) -> Iterator[KeyState]:
    used: dict[str, list[str]] = {variable: [] for variable in _KEYS}
    for name, parameters in _asking(config) if config else ():
        named = [parameters.api_key_env] if parameters.api_key_env else []
        named += variables([parameters.base_url, getattr(parameters, "extra_body", None)])
        for variable in dict.fromkeys(named):
            used.setdefault(variable, []).append(name)
    for variable, names in used.items():
        yield KeyState(variable, bool(os.environ.get(variable, "").strip()), tuple(names))


def _servers(config: PoolConfig) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, parameters in _asking(config):
        address = _address(parameters.base_url or os.environ.get("OPENAI_BASE_URL", "").strip() or OPENAI)
        found[address] = (*found.get(address, ()), name)
    return found


def _address(url: str) -> str:
    """Scheme, host and port: user, path and query may hold a key."""
    try:
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"
    except ValueError:
        return "no valid address"


def _models(config: PoolConfig) -> Iterator[ModelState]:
    environment = component_environment(config, Workspace(config.folder))
    systems: dict[tuple[str, str | None], list[tuple[str, ModelParameters]]] = {}
    for run_tag, system in config.systems.items():
        parameters = system.parameters
        if not isinstance(system, FusionSystem) and isinstance(parameters, ModelParameters):
            for one in parameters.each_model().values():
                systems.setdefault((one.model, one.revision), []).append((run_tag, one))
    for (model, _), users in systems.items():
        try:
            here = locate_or_announce(environment, users[0][1], lambda line: None)
            state = "to be downloaded" if here is None else "here"
        except QuatiPoolError:
            state = "not here"
        except ImportError:
            state = "not checked"
        yield ModelState(model, tuple(dict.fromkeys(tag for tag, _ in users)), state)
