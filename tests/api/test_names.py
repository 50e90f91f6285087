"""The names of the package: the same at run time and for type checkers; and the examples in their docstrings."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import quati_pool as qp
import quati_pool.api

PACKAGE = Path(quati_pool.api.__file__).parents[1]
MODULES = [f"quati_pool.api.{module.name}" for module in pkgutil.iter_modules(quati_pool.api.__path__)]


def test_the_stub_and_the_package_have_the_names_of_the_api() -> None:
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    imported = [node.names[0].asname for node in stub.body if isinstance(node, ast.ImportFrom)]
    assert imported == qp.__all__ == quati_pool.api.__all__
    assert set(qp.__all__) <= set(dir(qp))
    for name in qp.__all__:
        assert getattr(qp, name) is getattr(quati_pool.api, name)
    with pytest.raises(AttributeError, match="no attribute 'opened'"):
        qp.opened  # noqa: B018


def test_every_public_callable_says_what_it_takes_and_raises() -> None:
    functions = [getattr(qp, name) for name in ("open", "evaluate", "agree", "pool")]
    methods = [method for name, method in inspect.getmembers(qp.Collection, inspect.isfunction) if name[0] != "_"]
    assert len(methods) > 10
    for function in [*functions, *methods]:
        said = inspect.getdoc(function) or ""
        parameters = [name for name in inspect.signature(function).parameters if name != "self"]
        assert all(f"    {name}: " in said or f"    *{name}: " in said for name in parameters), function.__qualname__
        assert "Raises:" in said, function.__qualname__


@pytest.mark.slow
def test_the_examples_of_all_docstrings_hold(changeable: qp.Collection) -> None:
    finder = doctest.DocTestFinder()
    names = {"qp": qp, "c": changeable, "folder": changeable.folder}
    examples = [test for module in MODULES for test in finder.find(importlib.import_module(module), globs=names)]
    runner = doctest.DocTestRunner()
    for example in examples:
        runner.run(example)
    assert runner.summarize(verbose=False) == (0, sum(len(example.examples) for example in examples))
    assert sum(bool(example.examples) for example in examples) > 10
