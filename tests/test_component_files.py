"""Python files imported under names that hold their path and their hash."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import sys
from pathlib import Path

import pytest

from quati_pool.component_files import import_file, place_of
from quati_pool.errors import ConfigError
from quati_pool.processes.local import LocalEngine

# Postponed annotations and dataclasses look their module up by its name.
SOURCE = """\
from __future__ import annotations
from dataclasses import dataclass
from pydantic import BaseModel

@dataclass
class Point:
    x: int

class Line(BaseModel):
    points: list[Point]

def length(line):
    return len(line.points)

def fails(line):
    return 1 / 0
"""


def written(folder: Path, source: str = SOURCE, name: str = "mine.py") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(source, encoding="utf-8")
    return path


def test_one_content_of_one_file_is_one_module(tmp_path: Path) -> None:
    path = written(tmp_path)
    module, sha = import_file(path)
    assert sha == hashlib.sha256(SOURCE.encode()).hexdigest()
    os.utime(path, (1, 1))
    assert import_file(path)[0] is module
    assert module.Line(points=[module.Point(3)]).points[0].x == 3
    assert module.__file__ == str(path)
    assert [each.name for each in tmp_path.iterdir()] == ["mine.py"]  # no __pycache__


def test_a_changed_file_is_another_module_even_within_the_same_second(tmp_path: Path) -> None:
    path = written(tmp_path, "A = 1\n")
    first = import_file(path)[0]
    stamp = path.stat()
    written(tmp_path, "A = 2\n")  # as many bytes
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert import_file(path)[0].A == 2
    assert first.A == 1


def test_files_of_one_name_in_two_folders_do_not_collide(tmp_path: Path) -> None:
    one, other = (import_file(written(tmp_path / name, f"A = {name!r}\n"))[0] for name in ("a.b", "cé %"))
    assert (one.A, other.A) == ("a.b", "cé %")
    # Equal contents too: a module may read files next to it.
    shutil.copy(tmp_path / "a.b" / "mine.py", tmp_path / "mine.py")
    assert import_file(tmp_path / "mine.py")[0].__file__ == str(tmp_path / "mine.py")


def test_a_relative_path_is_that_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert import_file(Path("mine.py"))[0].__file__ == str(tmp_path / "mine.py")


def test_the_folder_is_not_on_the_path(tmp_path: Path) -> None:
    written(tmp_path, "A = 1\n", "neighbour.py")
    with pytest.raises(ModuleNotFoundError, match="neighbour"):
        import_file(written(tmp_path, "import neighbour\n"))


def test_a_file_that_fails_is_run_again(tmp_path: Path) -> None:
    path = written(tmp_path, "\n1 / 0\n")
    before = set(sys.modules)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError) as caught:
            import_file(path)
        assert place_of(caught.value) == "mine.py:2"
    assert set(sys.modules) == before


def test_workers_import_the_file_by_the_name_of_its_module(tmp_path: Path) -> None:
    module = import_file(written(tmp_path))[0]
    line = module.Line(points=[module.Point(1), module.Point(2)])
    with LocalEngine(1) as engine:
        assert list(engine.run(module.length, [line], str)) == [(0, 2)]
        with pytest.raises(ZeroDivisionError):
            list(engine.run(module.fails, [line], str))


def test_another_process_refuses_a_file_that_was_changed_in_the_meantime(tmp_path: Path) -> None:
    path = written(tmp_path)
    module = import_file(path)[0]
    packed = pickle.dumps(module.Point(1))
    path.write_text(SOURCE + "# changed\n", encoding="utf-8")
    del sys.modules[module.__name__]  # as in another process
    with pytest.raises(ConfigError, match=r"mine\.py was changed by another program; run the same command again"):
        pickle.loads(packed)


def test_the_place_of_an_error_is_the_innermost_line_of_such_a_file(tmp_path: Path) -> None:
    module = import_file(written(tmp_path, "def call(f):\n    return f()\n\n\ndef middle(f):\n    call(f)\n"))[0]
    with pytest.raises(TypeError) as caught:
        module.middle(None)
    assert place_of(caught.value) == "mine.py:2"
    with pytest.raises(ValueError, match="invalid literal") as elsewhere:
        int("x")
    assert place_of(elsewhere.value) is None
