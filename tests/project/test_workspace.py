"""Hashes of input files are remembered only while that is safe."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from quati_pool.project import workspace as module
from quati_pool.project.workspace import Workspace

OLD = 1_700_000_000


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were hashed, in order."""
    names: list[str] = []

    def counting(path: Path) -> str:
        names.append(path.name)
        return hashlib.sha256(path.read_bytes()).hexdigest()

    monkeypatch.setattr(module, "file_digest", counting)
    return names


def written(path: Path, text: str, when: float) -> Path:
    path.write_text(text)
    os.utime(path, (when, when))
    return path


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_an_old_file_is_hashed_once(tmp_path: Path, hashed: list[str]) -> None:
    path = written(tmp_path / "corpus.jsonl", "one", OLD)
    for _ in range(3):
        assert Workspace(tmp_path).input_digest(path) == sha256("one")
    assert hashed == ["corpus.jsonl"]


@pytest.mark.parametrize(("text", "when"), [("two", OLD + 1), ("three", OLD)])
def test_another_time_or_size_is_noticed(tmp_path: Path, hashed: list[str], text: str, when: int) -> None:
    path = written(tmp_path / "corpus.jsonl", "one", OLD)
    Workspace(tmp_path).input_digest(path)
    written(path, text, when)
    assert Workspace(tmp_path).input_digest(path) == sha256(text)
    assert len(hashed) == 2


def test_a_fresh_file_is_not_remembered(tmp_path: Path, hashed: list[str]) -> None:
    """It could change again without its time changing."""
    now = time.time()
    path = written(tmp_path / "corpus.jsonl", "one", now)
    assert Workspace(tmp_path).input_digest(path) == sha256("one")
    written(path, "two", now)
    assert Workspace(tmp_path).input_digest(path) == sha256("two")
    assert hashed == ["corpus.jsonl"] * 2


def test_each_file_has_its_own_entry(tmp_path: Path, hashed: list[str]) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    paths = [written(tmp_path / "a", "xxx", OLD), written(folder / "a", "yyy", OLD)]
    for _ in range(2):
        assert [Workspace(folder).input_digest(path) for path in paths] == [sha256("xxx"), sha256("yyy")]
    assert len(hashed) == 2


@pytest.mark.parametrize("memory", ["[]", "7", "", "{", '{"corpus.jsonl": "x"}', '{"corpus.jsonl": [3]}'])
def test_a_broken_memory_is_not_believed(tmp_path: Path, hashed: list[str], memory: str) -> None:
    path = written(tmp_path / "corpus.jsonl", "one", OLD)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "hashes.json").write_text(memory)
    assert Workspace(tmp_path).input_digest(path) == sha256("one")
    assert Workspace(tmp_path).input_digest(path) == sha256("one")
    assert len(hashed) == 1
    assert json.loads((tmp_path / "cache" / "hashes.json").read_text()).keys() == {"corpus.jsonl"}


def test_files_are_computed_once_for_each_stamp(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a", "b", "c")]
    computed: list[str] = []

    def compute(path: Path) -> list[str]:
        computed.append(path.name)
        return [path.name]

    for stamp in ([1, "x"], [1, "x"], [2, "x"], [], None, None):
        found = Workspace(tmp_path).cached("kind", dict.fromkeys(paths, stamp), compute)
        assert list(found) == [["a"], ["b"], ["c"]]
    assert sorted(computed) == sorted(["a", "b", "c"] * 5)
    stamps: dict[Path, Any] = {path: [] for path in paths} | {paths[1]: ["y"]}
    assert list(Workspace(tmp_path).cached("kind", stamps, compute)) == [["a"], ["b"], ["c"]]
    assert computed[15:] == ["b"]


def test_what_was_computed_before_a_fault_is_kept(tmp_path: Path) -> None:
    stamps: dict[Path, Any] = {tmp_path / name: [name] for name in ("a", "b", "bad", "c")}

    def compute(path: Path) -> str:
        if path.name == "bad":
            raise ValueError(path.name)
        return path.name

    with pytest.raises(ValueError, match="bad"):
        list(Workspace(tmp_path).cached("kind", stamps, compute))
    known = json.loads((tmp_path / "cache" / "kind.json").read_text())
    assert known == {"a": ["a", "a"], "b": ["b", "b"]}


@pytest.mark.parametrize("reason", [errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC])
def test_where_nothing_may_be_written_nothing_is_cached(
    tmp_path: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    path = written(tmp_path / "corpus.jsonl", "one", OLD)

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(reason, "refused")

    monkeypatch.setattr(Path, "write_text", refuse)
    if reason == errno.ENOSPC:
        with pytest.raises(OSError, match="refused"):
            Workspace(tmp_path).input_digest(path)
    else:
        for _ in range(2):
            assert Workspace(tmp_path).input_digest(path) == sha256("one")
        assert hashed == ["corpus.jsonl"] * 2
