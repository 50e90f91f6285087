"""The tables of ``doctor``."""

from __future__ import annotations

from collections.abc import Iterator

from quati_pool.commands.doctor.doctor import Checkup
from quati_pool.commands.doctor.machine import Machine
from quati_pool.commands.doctor.packages import Extra, Package
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.retrieval.planning import human_bytes
from quati_pool.text.pluralize import first_of


def tables(checkup: Checkup) -> list[Table]:
    """The overview; every package with its version; and what cannot run, if anything."""
    found = [overview(checkup), _packages(checkup)]
    if checkup.problems:
        rows: list[list[Cell]] = [[", ".join(one.affects), one.what] for one in checkup.problems]
        found.append(Table("What cannot run", [Column("Who"), Column("Why, and what to do")], rows))
    return found


def overview(checkup: Checkup) -> Table:
    """One row for each part of the machine, and for each key, server, model and extra."""
    rows = [*_workspace(checkup), *_machine(checkup.machine)]
    rows += [[f"[{extra.name}]", extra_in_words(extra)] for extra in checkup.extras if extra.name or extra.remedy]
    return Table("This machine", [Column("What"), Column("State")], rows)


def extra_in_words(extra: Extra) -> str:
    """The versions of an extra's packages, or the command that installs what is missing or unfit."""
    if extra.remedy is None:
        return ", ".join(f"{package.name} {package.installed}" for package in extra.packages)
    unfit = [f"{package.name} {package.installed} is not {package.wanted}" for package in extra.unfit]
    lacking = ["not installed"] if extra.missing else []
    return f"{'; '.join([*unfit, *lacking])}: {extra.remedy}"


def _workspace(checkup: Checkup) -> Iterator[list[Cell]]:
    for key in checkup.keys:
        used = f" ({first_of(key.used_by)})" if key.used_by else ""
        yield [key.variable, f"{'set' if key.present else 'not set'}{used}"]
    for address, names in checkup.servers.items():
        yield [address, f"asked by {first_of(names)}"]
    for model in checkup.models:
        yield [model.model, f"{model.state} ({first_of(model.systems)})"]
    if checkup.database is not None:
        yield ["labels", checkup.database]
    if checkup.left is not None:
        needs = f"{human_bytes(checkup.left.disk)} of disk, {human_bytes(checkup.left.memory)} of memory"
        yield ["build needs", f"{needs}{', at least' if checkup.left.unknown else ''}"]


def _machine(machine: Machine) -> list[list[Cell]]:
    java = machine.java
    version = "none" if java.version is None else f"Java {java.version} ({java.source})"
    anserini = f"Anserini {java.anserini}" if java.anserini else None
    file_system = f", {machine.file_system}" if machine.file_system else ""
    gpus = [gpu.name + (f", {human_bytes(gpu.memory)}" if gpu.memory else "") for gpu in machine.gpus]
    return [
        ["disk", f"{human_bytes(machine.disk_free)} free in {machine.folder.resolve()}{file_system}"],
        ["memory", f"{human_bytes(machine.memory_free)} of {human_bytes(machine.memory)} free"],
        ["cores", str(machine.cores)],
        ["GPU", "; ".join(filter(None, [first_of(gpus) or "none", machine.torch]))],
        ["Java", "; ".join(filter(None, [version, anserini, java.unused]))],
        ["models", "; ".join([str(machine.model_cache), *(f"{name} is set" for name in machine.offline)])],
        ["quati-pool", machine.quati_pool],
        ["Python", f"{machine.python}, SQLite {machine.sqlite}"],
        ["system", machine.system],
        ["encodings", machine.encoding],
    ]


def _packages(checkup: Checkup) -> Table:
    rows: list[list[Cell]] = [
        [extra.name or "core", package.name, package.installed or "not installed", package.wanted, _fit(package)]
        for extra in checkup.extras
        for package in extra.packages
    ]
    headings = ("Extra", "Package", "Installed", "Wanted", "Fits")
    return Table("Packages", [Column(heading) for heading in headings], rows)


def _fit(package: Package) -> str:
    return "yes" if package.fits else "no"
