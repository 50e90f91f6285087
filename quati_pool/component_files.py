"""Imports the Python files that ``pool.yaml`` names, each as a module whose name holds its path and its SHA-256.

A changed file is therefore another module, files of the same name in two folders are two modules, and a class can be
unpickled in another process, which imports the file by the name of its module.
"""

from __future__ import annotations

import hashlib
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from urllib.parse import quote, unquote_to_bytes

from quati_pool.errors import ConfigError

__path__: list[str] = []  # Makes this module a package, so that the files can be its submodules.


def import_file(path: Path) -> tuple[ModuleType, str]:
    """The module of a Python file, and the file's SHA-256 in hexadecimal; code runs once per content.

    Raises OSError if the file cannot be read, and whatever its code raises. Its folder is not on ``sys.path``.
    """
    path = Path(os.path.abspath(path))
    sha = hashlib.sha256(path.read_bytes()).hexdigest()
    # A dot would separate packages.
    place = quote(os.fsencode(path)).replace(".", "%2E")
    return import_module(f"{__name__}.{place}@{sha}"), sha


def place_of(error: BaseException) -> str | None:
    """Where in a component's file an error was raised (``mine.py:3``, in the innermost frame of such a file); None if
    it did not pass through one."""
    frames = list(traceback.walk_tb(error.__traceback__))
    for frame, line in reversed(frames):
        if frame.f_globals.get("__name__", "").startswith(f"{__name__}."):
            return f"{Path(frame.f_code.co_filename).name}:{line}"
    return None


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{__name__}."):
            return None
        place, _, sha = fullname.removeprefix(f"{__name__}.").rpartition("@")
        return spec_from_file_location(fullname, os.fsdecode(unquote_to_bytes(place)), loader=_Loader(sha))


class _Loader(Loader):
    """Runs a file without a bytecode cache, whose one-second timestamps would miss a quick change."""

    def __init__(self, sha: str) -> None:
        self._sha = sha

    def exec_module(self, module: ModuleType) -> None:
        source = Path(str(module.__file__)).read_bytes()
        if hashlib.sha256(source).hexdigest() != self._sha:
            raise ConfigError(f"{module.__file__} was changed by another program; run the same command again")
        # What the file prints must not end up in a command's output.
        with redirect_stdout(sys.stderr):
            exec(compile(source, str(module.__file__), "exec"), module.__dict__)


sys.meta_path.append(_Finder())
