"""A snapshot shows one state of the database, whoever writes meanwhile."""

from __future__ import annotations

from pathlib import Path

from quati_pool.store.database import Store
from tests.store.samples import entry


def test_what_another_writes_within_a_snapshot_is_seen_only_after_it(url: str, tmp_path: Path) -> None:
    with Store.open(url, tmp_path) as store, Store.open(url, tmp_path) as other:
        [seq] = store.append([entry(doc_id="d1")])
        with store.snapshot() as last:
            assert last == seq
            other.append([entry(doc_id="d2")])
            assert [row.doc_id for row in store.current("pira", "gpt", "v1", ["q1"])] == ["d1"]
            assert store.table("pira", "gpt", "v1").num_rows == 1
            assert store.labelers("pira")[0].rows == 1
        assert [row.doc_id for row in store.current("pira", "gpt", "v1", ["q1"])] == ["d1", "d2"]


def test_the_state_of_an_empty_database_is_0_and_snapshots_can_follow_each_other(url: str, tmp_path: Path) -> None:
    with Store.open(url, tmp_path) as store:
        for _ in range(2):
            with store.snapshot() as last:
                assert last == 0
                assert store.labelers("pira") == []
        store.append([entry()])
        with store.snapshot() as last:
            assert last > 0
