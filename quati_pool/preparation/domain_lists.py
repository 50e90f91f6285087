"""Reads lists of domains and top-level domains, from parameters and from files."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from quati_pool.errors import InputError
from quati_pool.preparation.hosts import canonical, is_address


def domain(entry: str) -> str:
    """A domain in the spelling in which hosts are compared: ``*.São-Paulo.br`` and ``.são-paulo.br`` are
    ``xn--so-paulo-rza.br``.

    Raises ValueError if ``entry`` is not a domain.
    """
    host = canonical(entry.strip().removeprefix("*").removeprefix("."))
    if host is None:
        raise ValueError(f"{entry!r} is not a domain; expected one such as example.pt, without https:// or a path")
    return host


def top_level_domain(entry: str) -> str:
    """A top-level domain in the spelling in which hosts are compared: ``.PT`` and ``pt`` are ``pt``. Raises ValueError
    if ``entry`` is not one."""
    name = domain(entry)
    if "." in name or is_address(name):
        raise ValueError(
            f"{entry!r} is not a top-level domain; expected the last part of hosts, such as pt (com.br is a domain)"
        )
    return name


def read_domains(path: Path) -> frozenset[str]:
    """The domains in a file, one per line; blank lines and text after a ``#`` are skipped. Raises InputError."""
    try:
        state = path.stat()
    except OSError:
        raise InputError(path, None, "there is no such file; check the path") from None
    return _read(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _read(path: Path, modified: int, size: int) -> frozenset[str]:
    found = set()
    number = 0
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").partition("#")[0].strip()
                if line:
                    found.add(domain(line))
    except UnicodeDecodeError:
        raise InputError(path, number, "is not UTF-8; save it as UTF-8") from None
    except ValueError as error:
        raise InputError(path, number, str(error)) from None
    except OSError as error:
        raise InputError(path, None, f"cannot be read ({error.strerror}); expected a file of domains") from None
    return frozenset(found)
