"""The hashes of what was read: by file, and of a folder with many files by folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

from quati_pool.commands.bench.provenance import MOST, Inputs


def named(data: Path) -> dict[str, str]:
    inputs = Inputs(data)
    inputs.add(sorted(path for path in data.rglob("*") if path.is_file()))
    return inputs.named()


def test_each_file_is_named_by_its_path_and_hashed(tmp_path: Path) -> None:
    for name in ("b.csv", "Data/a.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    expected = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("Data/a.csv", "b.csv")}
    assert list(named(tmp_path).items()) == list(expected.items())
    twice = Inputs(tmp_path)
    twice.add([tmp_path / "b.csv"])
    twice.add([tmp_path / "b.csv"])
    assert list(twice.named()) == ["b.csv"]


def test_many_files_of_a_folder_have_one_hash_that_any_change_changes(tmp_path: Path) -> None:
    folder = tmp_path / "dev" / "high"
    folder.mkdir(parents=True)
    for number in range(MOST + 1):
        (folder / f"{number}.txt").write_text("same")
    first = named(tmp_path)
    assert list(first) == ["dev/high/"]
    assert named(tmp_path) == first
    (folder / "0.txt").write_text("other")
    changed = named(tmp_path)
    (folder / "0.txt").write_text("same")
    (folder / "0.txt").rename(folder / "zero.txt")
    assert len({*first.values(), *changed.values(), *named(tmp_path).values()}) == 3
    (folder / "zero.txt").unlink()
    assert len(named(tmp_path)) == MOST
