"""``init``: workspaces with a ``pool.yaml``, a ``prepare.yaml`` or, for the paper, both."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.bundled import bundled
from quati_pool.commands.init import init, init_pages
from quati_pool.commands.validate.validate import validate
from quati_pool.errors import QuatiPoolError
from quati_pool.preparation.config import load_prepare_config


def test_the_paper_comes_with_the_preparation_of_the_corpora_that_it_builds_on(tmp_path: Path) -> None:
    prepare, pool = init(tmp_path, paper=True)
    assert (prepare, pool) == (tmp_path / "prepare.yaml", tmp_path / "pool.yaml")
    assert validate(prepare, None).ok
    # What is missing of the pool are files and models, not settings.
    told = [str(error).partition(": ")[2] for error in validate(pool, None, limit=100).errors]
    assert told[0].startswith("queries.path: ")
    assert all(error.startswith(("queries.path: ", "corpora.", "systems.")) for error in told)
    assert prepare.read_bytes() == (bundled("data/quati-paper") / "prepare.yaml").read_bytes()


def test_pages_come_with_a_preparation_of_them(tmp_path: Path) -> None:
    pages, prepare = init_pages(tmp_path / "pile")
    assert [path.relative_to(tmp_path).as_posix() for path in (pages, prepare)] == [
        "pile/pages/sample.jsonl",
        "pile/prepare.yaml",
    ]
    source = load_prepare_config(prepare).built_steps()[0]
    assert [part.path for shard in source.shards() for part in shard.parts] == ["pages/sample.jsonl"]


@pytest.mark.parametrize("name", ["pages/sample.jsonl", "prepare.yaml"])
def test_nothing_is_written_where_one_of_the_files_is_there(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(QuatiPoolError, match=f"{name} is there already; edit it, or choose another folder"):
        init_pages(tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / name]
    assert (tmp_path / name).read_text() == "mine"
