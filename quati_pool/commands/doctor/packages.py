"""Which of quati-pool's extras are installed, and whether packages are of versions that it works with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement

_EXTRAS = ("lucene", "neural", "app", "postgres", "ray", "prepare", "ir-datasets")


@dataclass(frozen=True)
class Package:
    """A package that quati-pool requires: its installed version, None if it is not, and the versions that are wanted.
    ``fits`` says whether the installed version is one of these."""

    name: str
    installed: str | None
    wanted: str
    fits: bool


@dataclass(frozen=True)
class Extra:
    """An extra with its packages."""

    name: str
    packages: tuple[Package, ...]

    @property
    def missing(self) -> list[str]:
        """The packages that are not installed."""
        return [package.name for package in self.packages if package.installed is None]

    @property
    def unfit(self) -> list[Package]:
        """The packages that are installed in a version that is not wanted."""
        return [package for package in self.packages if package.installed is not None and not package.fits]

    @property
    def remedy(self) -> str | None:
        """The command that installs what is missing or unfit; None if nothing is."""
        named = "quati-pool" if not self.name else f"'quati-pool[{self.name}]'"
        return f"pip install --upgrade {named}" if self.missing or self.unfit else None


def extras() -> list[Extra]:
    """The packages that every installation needs, under an empty name, then those of each extra; empty where
    quati-pool was not installed by a package manager."""
    try:
        wanted = [Requirement(line) for line in requires("quati-pool") or ()]
    except PackageNotFoundError:
        return []
    return [Extra(name, tuple(_packages(wanted, name))) for name in ("", *_EXTRAS)]


def _packages(wanted: list[Requirement], extra: str) -> Iterator[Package]:
    for each in wanted:
        # A package of the core is required without any extra too.
        core = each.marker is None or each.marker.evaluate({"extra": ""})
        if core == (not extra) and (each.marker is None or each.marker.evaluate({"extra": extra})):
            yield _package(each)


def _package(wanted: Requirement) -> Package:
    try:
        installed: str | None = version(wanted.name)
    except PackageNotFoundError:
        installed = None
    fits = installed is not None and wanted.specifier.contains(installed, prereleases=True)
    return Package(wanted.name, installed, str(wanted.specifier), fits)
