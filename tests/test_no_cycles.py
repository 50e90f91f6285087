"""No module imports itself through others, within functions and for types only included."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).parents[1]


def modules(root: Path, *packages: str) -> dict[str, Path]:
    """The files of all modules of some packages, by dotted name."""
    files = [file for package in packages for file in (root / package).rglob("*.py")]
    return {".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file for file in files}


def imported(name: str, files: dict[str, Path]) -> set[str]:
    """The modules among ``files`` that another one imports; ``from a import b`` imports a.b if that is a module."""
    found: set[str] = set()
    package = name.split(".") if files[name].name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(files[name].read_bytes())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            origin = ".".join([*above, *filter(None, [node.module])])
            inner = [f"{origin}.{alias.name}" for alias in node.names]
            found.update(one if one in files else origin for one in inner)
    return found & files.keys() - {name}


def cycles(files: dict[str, Path]) -> set[frozenset[str]]:
    """Modules that import each other: the strongly connected components of more than one."""
    number = {name: place for place, name in enumerate(files)}
    edges = [(number[name], number[other]) for name in files for other in imported(name, files)]
    rows, columns = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(rows)), (rows, columns)), shape=(len(files), len(files)))
    members = defaultdict(set)
    for name, component in zip(files, connected_components(graph, connection="strong")[1].tolist(), strict=True):
        members[component].add(name)
    return {frozenset(found) for found in members.values() if len(found) > 1}


def test_no_modules_import_each_other() -> None:
    assert cycles(modules(ROOT, "quati_pool", "annotator_app")) == set()


@pytest.mark.parametrize(
    "first",
    [
        "import house.second",
        "from house import second",
        "from house.second import thing",
        "from . import second",
        "from .second import thing",
        "def late():\n    from house.second import thing",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house.second import thing",
    ],
)
def test_a_cycle_is_found_however_it_is_written(tmp_path: Path, first: str) -> None:
    package = tmp_path / "house"
    package.mkdir()
    for name, text in {
        "__init__": "",
        "first": first,
        "second": "import house.third",
        "third": "import json, house.first",
        "fourth": "from house import first, third",
    }.items():
        (package / f"{name}.py").write_text(text)
    assert cycles(modules(tmp_path, "house")) == {frozenset({"house.first", "house.second", "house.third"})}
