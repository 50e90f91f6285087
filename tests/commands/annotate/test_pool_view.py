"""The pool as people are shown it: found by id, read once, and read again when the pool changes."""

from __future__ import annotations

import gc
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quati_pool.commands.annotate import pool_view as frames
from quati_pool.commands.annotate.pool_view import CurrentPoolView, PoolView, open_pool_view
from quati_pool.errors import InputError
from quati_pool.files.pools import read_pool
from quati_pool.project.config import load_config
from quati_pool.project.workspace import Workspace
from tests.commands.annotate.people_at_work import collection, pairs
from tests.commands.judged import pair, repool
from tests.commands.small_collection import read_pool as read_raw


def opened(folder: Path) -> PoolView:
    return open_pool_view(load_config(folder / "pool.yaml"))


def test_every_pair_of_a_built_pool_is_found_with_its_texts_and_number_of_systems(workspace: Path) -> None:
    frame = opened(workspace)
    rows = read_raw(workspace)
    assert len(frame) == len(rows)
    for row in rows:
        shown = frame.pair(row["query_id"], row["doc_id"])
        assert shown == (row["query_id"], row["doc_id"], row["query"], row["text"], len(row["runs"]))
        assert (row["query_id"], row["doc_id"]) in frame
    assert frame.query_ids == list(dict.fromkeys(row["query_id"] for row in rows))
    assert frame.counts().tolist() == [len(row["runs"]) for row in rows]
    for query_id in frame.query_ids:
        mine = [(row["doc_id"], row["text"]) for row in rows if row["query_id"] == query_id]
        assert list(frame.passages(query_id)) == mine
        assert frame.doc_ids(query_id) == [doc_id for doc_id, _ in mine]
        assert [(row["doc_id"], row["text"]) for row in rows[frame.query(query_id)]] == mine


def test_what_the_pool_does_not_have_is_not_found(workspace: Path) -> None:
    frame = opened(workspace)
    known = frame.query_ids[0]
    for query_id, doc_id in ((known, "nope"), ("nope", frame.doc_ids(known)[0]), ("", "")):
        assert frame.pair(query_id, doc_id) is None
        assert (query_id, doc_id) not in frame
    assert frame.query("nope") == slice(0, 0)
    assert (frame.doc_ids("nope"), list(frame.passages("nope"))) == ([], [])


def test_a_pool_of_many_blocks_loses_nothing_at_their_edges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_BLOCK", 7)
    collection(tmp_path, pairs(5, 6))
    frame = opened(tmp_path)
    for some in read_pool(Workspace(tmp_path).pool):
        for row in some:
            shown = frame.pair(row.query_id, row.doc_id)
            assert shown is not None
            assert shown[:4] == row
    assert frame.table["text"].num_chunks == 5  # 30 pairs, 7 at a time


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(exclude_categories=("Cs",))), min_size=1, max_size=6))
def test_any_text_is_shown_as_it_is(tmp_path: Path, texts: list[str]) -> None:
    collection(tmp_path, [pair("q", f"d{n}", text) for n, text in enumerate(texts)])
    frame = opened(tmp_path)
    assert [text for _, text in frame.passages("q")] == texts


def test_a_frame_is_made_once_and_those_of_earlier_pools_are_removed(tmp_path: Path) -> None:
    collection(tmp_path)
    first = opened(tmp_path)
    [path] = (tmp_path / "cache" / "frames").glob("*.arrow")
    made = path.stat().st_mtime_ns
    opened(tmp_path)
    assert path.stat().st_mtime_ns == made
    repool(tmp_path, pairs(1, 1))
    second = opened(tmp_path)
    [other] = (tmp_path / "cache" / "frames").glob("*.arrow")
    assert other != path
    # Whoever still reads the older one keeps it.
    gc.collect()
    assert first.pair("q1", "d2") is not None
    assert (len(first), len(second)) == (6, 1)


def test_a_damaged_frame_is_made_again(tmp_path: Path) -> None:
    collection(tmp_path)
    opened(tmp_path)
    [path] = (tmp_path / "cache" / "frames").glob("*.arrow")
    path.write_bytes(path.read_bytes()[:100])
    assert len(opened(tmp_path)) == 6


def test_a_pool_that_something_else_wrote_may_say_nothing_of_runs(tmp_path: Path) -> None:
    rows = pairs(1, 2)
    del rows[0]["runs"]  # type: ignore[misc]
    collection(tmp_path, rows)
    assert opened(tmp_path).counts().tolist() == [0, 1]


def test_the_frame_follows_the_pool(tmp_path: Path) -> None:
    collection(tmp_path)
    current = CurrentPoolView(load_config(tmp_path / "pool.yaml"))
    first = current.get()
    assert current.get() is first
    repool(tmp_path, pairs(1, 2))
    assert len(current.get()) == 2
    assert current.get().sha != first.sha


def test_while_a_pool_is_being_replaced_the_one_before_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection(tmp_path)
    current = CurrentPoolView(load_config(tmp_path / "pool.yaml"))
    before = current.get()
    pool = Workspace(tmp_path).pool
    pool.write_bytes(b"half")  # its sidecar, written last, still speaks of the old one
    assert current.get() is before
    pool.unlink()
    with pytest.raises(InputError, match="quati-pool build"):
        current.get()
    monkeypatch.setattr(frames, "_PATIENCE", 0)  # for no longer than a second
    repool(tmp_path, pairs(1, 1))
    assert len(current.get()) == 1


def test_without_a_pool_one_is_told_to_build_it(tmp_path: Path) -> None:
    collection(tmp_path)
    Workspace(tmp_path).pool.unlink()
    with pytest.raises(InputError, match="not there yet; run: quati-pool build"):
        CurrentPoolView(load_config(tmp_path / "pool.yaml")).get()


def test_a_pool_at_fault_names_its_line(tmp_path: Path) -> None:
    collection(tmp_path, [*pairs(2, 1), pair("q0", "d7")])
    with pytest.raises(InputError, match=r"pool.jsonl.gz:3: .*sort the lines by query_id"):
        opened(tmp_path)
    assert not list((tmp_path / "cache" / "frames").iterdir())


def test_many_threads_make_one_frame_and_read_it(tmp_path: Path) -> None:
    rows = pairs(4, 50)
    collection(tmp_path, rows)
    current = CurrentPoolView(load_config(tmp_path / "pool.yaml"))
    start = threading.Barrier(8)

    def read(number: int) -> int:
        start.wait()
        found = [current.get().pair(row["query_id"], row["doc_id"]) for row in rows[number::8]]
        return sum(
            shown is not None and shown.text == row["text"] for shown, row in zip(found, rows[number::8], strict=True)
        )

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(read, range(8))) == 200
    [meta] = (tmp_path / "cache" / "frames").glob("*.meta.json")
    assert json.loads(meta.read_text())["counts"] == {"pairs": 200}
