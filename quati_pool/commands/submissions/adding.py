"""``quati-pool submissions add``: accepted runs become anonymous systems of the collection."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quati_pool.commands.submissions.intake import DEPTH, Intake, Submission, check
from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import clear_partials, locked_output, put_file
from quati_pool.files.runs import copy_run
from quati_pool.files.yaml_entry import with_entries
from quati_pool.processes.threads import in_threads
from quati_pool.project import submissions
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.project.submissions import Participation, read_participants, write_participants
from quati_pool.text.pluralize import counted

# How many systems a note names.
_NAMED = 3
_NUMBERED = re.compile(r"g([0-9]+)(-r[0-9]+)?\Z")


@dataclass(frozen=True)
class Added:
    """What became of the runs of a folder: those ``new`` to the collection, ``replaced`` by a corrected file, and
    ``unchanged``. The others have faults: they are ``waiting`` for a corrected file or, where the run was added before,
    ``kept`` as they were then."""

    intake: Intake
    participants: list[Participation]
    new: list[Submission] = field(default_factory=list)
    replaced: list[Submission] = field(default_factory=list)
    unchanged: list[Submission] = field(default_factory=list)

    @property
    def waiting(self) -> list[Submission]:
        return [one for one in self.intake.submissions if not one.ok and one.key not in self._participating]

    @property
    def kept(self) -> list[Submission]:
        return [one for one in self.intake.submissions if not one.ok and one.key in self._participating]

    @property
    def absent(self) -> list[Participation]:
        """The runs that were added before and are not in the folder any more."""
        there = {one.key for one in self.intake.submissions}
        return [one for one in self.participants if one.key not in there]

    @property
    def _participating(self) -> set[tuple[str, str]]:
        return {one.key for one in self.participants}


def add(config_path: Path, folder: Path, listener: Listener, *, depth: int = DEPTH, replacing: bool = False) -> Added:
    """Adds every run without a fault as a system of ``pool.yaml``, under an anonymous name and family.

    A run is known by its group and the name of its file. One whose content has changed is replaced only with
    ``replacing``. A process killed at any point leaves a valid workspace, and calling again finishes the work.

    Raises QuatiPoolError, and changes nothing, where a run has changed without ``replacing``, where ``pool.yaml`` has
    runs that ``participants.json`` does not know, or cannot be extended.
    """
    intake = check(config_path, folder, listener, depth=depth)
    with locked_output(config_path, listener.say):
        config = load_config(config_path, without_systems=True)
        known = {one.key: one for one in read_participants(config)}
        _refuse_unknown(config, known.values())
        added = Added(intake, [])
        for one in intake.accepted:
            before = known.get(one.key)
            same = before is not None and before.sha256 == one.sha256
            (added.new if before is None else added.unchanged if same else added.replaced).append(one)
        if added.replaced and not replacing:
            named = ", ".join("/".join(one.key) for one in added.replaced[:_NAMED])
            changed = counted(len(added.replaced), "run has", "runs have")
            raise QuatiPoolError(f"{changed} another content than when it was added ({named}); replace with --replace")
        named_runs = _named(config, known, intake.accepted)
        for one in [*added.new, *added.replaced]:
            # First, so that no killed process leaves another run under the new file's hash.
            _run_file(config, named_runs[one.key]).unlink(missing_ok=True)
        everybody = [*{**known, **named_runs}.values()]
        write_participants(config, everybody)
        written = in_threads(lambda one: _write_run(config, one, named_runs[one.key]), intake.accepted)
        for done, _ in enumerate(written):
            listener.progress("submissions: adding", done, len(intake.accepted), unit="runs")
        _extend(config, [*named_runs.values()])
        _note_priorities(config, everybody, named_runs.values(), listener)
    added.participants.extend(read_participants(config))
    return added


def _refuse_unknown(config: PoolConfig, known: Iterable[Participation]) -> None:
    unknown = sorted(set(submissions.systems_of_groups(config)) - {one.system for one in known})
    if unknown:
        path = submissions.participants_file(config)
        which = counted(len(unknown), "system", "systems")
        raise QuatiPoolError(
            f"{path} does not say who is behind {which} of pool.yaml ({', '.join(unknown[:_NAMED])}); restore it from "
            "a backup"
        )


def _named(
    config: PoolConfig, known: Mapping[tuple[str, str], Participation], accepted: Sequence[Submission]
) -> dict[tuple[str, str], Participation]:
    """The participation of each accepted run, with the name that it has or a new one.

    The numbers of groups are drawn from the system's source of randomness, so that no seed gives them away.
    """
    families = {one.group: one.family for one in known.values()}
    new = sorted({one.group for one in accepted} - families.keys())
    # Systems of the organisers may have such names too.
    used = {*families.values(), *config.systems, *map(config.family, config.systems)}
    first = 1 + max((int(number[1]) for name in used if (number := _NUMBERED.match(name))), default=0)
    numbers = list(range(first, first + len(new)))
    secrets.SystemRandom().shuffle(numbers)
    width = max(2, len(str(first + len(new))))
    families |= {group: f"g{number:0{width}}" for group, number in zip(new, numbers, strict=True)}
    taken = {one.system for one in known.values()} | set(config.systems)
    found: dict[tuple[str, str], Participation] = {}
    for one in accepted:
        family = families[one.group]
        system = known[one.key].system if one.key in known else next(
            name for number in range(1, len(taken) + 2) if (name := f"{family}-r{number}") not in taken
        )  # fmt: skip
        taken.add(system)
        found[one.key] = Participation(
            system, family, one.group, str(one.run_tag), one.path.name, one.sha256, one.priority, one.ranking
        )
    return found


def _run_file(config: PoolConfig, named: Participation) -> Path:
    return submissions.folder(config) / f"{named.system}.trec.gz"


def _write_run(config: PoolConfig, one: Submission, named: Participation) -> None:
    """Writes the run under its anonymous tag, unless it is there."""
    path = _run_file(config, named)
    if path.exists():
        return
    clear_partials(path)
    put_file(path, lambda partial: copy_run(one.path, partial, named.run_tag, named.system))


def _note_priorities(
    config: PoolConfig, known: Iterable[Participation], accepted: Iterable[Participation], listener: Listener
) -> None:
    """Reports the systems whose priority in ``pool.yaml``, which people may edit, is not that of their group, and the
    groups of which several runs have one priority, as those of a later folder may."""
    given = {tag: system.priority for tag, system in config.systems.items()}
    moved = [
        f"{one.system}: {given[one.system]}, now {one.priority}"
        for one in accepted
        if given.get(one.system, one.priority) != one.priority
    ]
    if moved:
        which = counted(len(moved), "run has", "runs have")
        listener.say(
            f"{config.path}: {which} another priority than the group gives now ({_some(moved)}); change it there if "
            "the group's order should count"
        )
    by_priority: dict[tuple[str, int | None], list[str]] = {}
    for one in known:
        by_priority.setdefault((one.family, given.get(one.system, one.priority)), []).append(one.system)
    shared = [f"{' and '.join(tags)}: {priority}" for (_, priority), tags in by_priority.items() if len(tags) > 1]
    if shared:
        listener.say(
            f"{config.path}: runs of one group have one priority ({_some(shared)}); give each its own there if only "
            "the first should feed the pool"
        )


def _some(said: Sequence[str]) -> str:
    return "; ".join([*said[:_NAMED], *(["…"] if len(said) > _NAMED else [])])


def _extend(config: PoolConfig, named: Sequence[Participation]) -> None:
    """Adds the systems that ``pool.yaml`` does not have."""
    entries: dict[str, dict[str, Any]] = {
        one.system: {
            "retriever": "run",
            "path": f"{submissions.folder(config).name}/{one.system}.trec.gz",
            "family": one.family,
            "priority": one.priority,
        }
        # In an order that does not show that of the groups' names.
        for one in sorted(named, key=lambda one: (one.family, len(one.system), one.system))
        if one.system not in config.systems
    }
    if not entries:
        return
    path = config.path.resolve()
    try:
        changed = with_entries(path.read_bytes().decode("utf-8"), "systems", entries)
    except ValueError:
        raise QuatiPoolError(
            f"{path}: systems: cannot be extended as it is written; write its entries on lines of their own"
        ) from None

    def fill(partial: Path) -> None:
        partial.write_bytes(changed.encode("utf-8"))
        load_config(partial)
        shutil.copymode(path, partial)

    put_file(path, fill)
