"""What revision 0004 does with judges' versions: how answers are read is no longer part of them."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from quati_pool.files.artifacts import digest
from quati_pool.store.database import Store
from quati_pool.store.designs import Designs
from tests.patience import PATIENCE
from tests.store.cluster import Cluster
from tests.store.make_revision import FOLDER
from tests.store.processes import ROOT, line, start

ANSWERS = ROOT / "tests" / "former" / "labels-0003.db"


def definition(aliases: list[str], reading: int = 1, fencing: int | None = 1, **others: Any) -> dict[str, Any]:
    prompt = {"head": [], "user": "{query} {passage}", "reask": "{problem}", "grades": [0, 1]}
    answer = {"answer": ["Reason", "Score", aliases], "fencing": fencing, "reading": reading}
    return {"judge": "judge/llm@1", "model": "m", **others, "prompt": {**prompt, **answer}}


def asked(fenced: bool = True, **others: Any) -> dict[str, Any]:
    prompt = {"head": [], "user": "{query} {passage}", "reask": "{problem}", "grades": [0, 1]}
    return {
        "judge": "judge/llm@1",
        "model": "m",
        **others,
        "prompt": {**prompt, "answer": ["Reason", "Score"], "fenced": fenced},
    }


@pytest.fixture
def former(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """The database kept of revision 0003, open for writing."""
    shutil.copy(FOLDER / "0003.db", tmp_path / "labels.db")
    with closing(sqlite3.connect(tmp_path / "labels.db")) as connection:
        yield connection


def judged(former: sqlite3.Connection, defined: dict[str, Any], labeler: str, doc_id: str = "d1") -> str:
    """Writes a label of a judge of this definition; its version."""
    version = digest(defined)
    former.execute(
        "INSERT OR IGNORE INTO versions VALUES (?, 'judge', ?, '2026-01-01 00:00:00')", (version, json.dumps(defined))
    )
    former.execute(
        "INSERT INTO labels (collection, labeler_id, kind, version, query_id, doc_id, content_sha, phase, sample,"
        " relevance, status, created_at, extra) VALUES"
        " ('new', ?, 'judge', ?, 'q1', ?, 'x', 'blind', 1, 1, 'ok', '2026-01-01 00:00:00', '{}')",
        (labeler, version, doc_id),
    )
    former.commit()
    return version


def test_the_version_is_the_hash_of_what_is_asked(former: sqlite3.Connection, tmp_path: Path) -> None:
    old = {
        "plain": judged(former, definition([]), "plain"),
        "unfenced": judged(former, definition([], fencing=None), "unfenced"),
        "warm": judged(former, definition(["Nota"], temperature=1.0), "warm"),
    }
    new = {"plain": asked(), "unfenced": asked(fenced=False), "warm": asked(temperature=1.0)}
    with Store.open(None, tmp_path) as store:
        found = {one.labeler_id: one for one in store.labelers("new")}
        assert {name: one.version for name, one in found.items()} == {name: digest(d) for name, d in new.items()}
        for name, one in found.items():
            assert store.definition(one.version) == new[name]
            assert store.definition(old[name]) is None
            [label] = store.current("new", name, one.version, ["q1"])
            # Nobody knows by which rules it was read.
            assert (label.relevance, label.reading, label.rereads) == (1, None, None)


def test_judges_that_differed_in_how_they_were_read_are_one(former: sqlite3.Connection, tmp_path: Path) -> None:
    for place, aliases in enumerate([[], ["Nota"], ["Grade", "Nota"]]):
        judged(former, definition(aliases), "gpt", f"d{place}")
    with Store.open(None, tmp_path) as store:
        [one] = store.labelers("new")
        assert (one.version, one.rows) == (digest(asked()), 3)
        assert [row.doc_id for row in store.current("new", "gpt", one.version, ["q1"])] == ["d0", "d1", "d2"]


def test_batches_and_designs_follow_and_batches_keep_their_names(former: sqlite3.Connection, tmp_path: Path) -> None:
    version = judged(former, definition(["Nota"]), "gpt")
    former.execute("UPDATE batches SET version = ?", (version,))
    former.execute("UPDATE designs SET parameters = ?", (json.dumps({"judge_version": version, "n": 4}),))
    former.commit()
    with Store.open(None, tmp_path) as store:
        [batch] = store.batches("pira")
        assert (batch.version, batch.extra["aliases"], batch.extra["window"]) == (digest(asked()), ["Nota"], "24h")
        [design] = Designs(store, "pira").all()
        assert design.parameters == {"judge_version": digest(asked()), "n": 4}


@pytest.mark.parametrize(
    "other",
    [
        {"judge": "judge/lexical@1", "grades": [0, 1]},
        {"judge": "judge/theirs@1", "prompt": "a text"},
        {"judge": "judge/theirs@1", "prompt": {"answer": ["a", "b"], "fencing": 1, "reading": 1}},
    ],
)
def test_judges_without_a_prompt_of_ours_keep_their_version(
    former: sqlite3.Connection, tmp_path: Path, other: dict[str, Any]
) -> None:
    version = judged(former, other, "other")
    with Store.open(None, tmp_path) as store:
        assert [one.version for one in store.labelers("new")] == [version]
        assert store.definition(version) == other


def test_a_version_that_is_not_the_hash_of_its_definition_is_left_alone(
    former: sqlite3.Connection, tmp_path: Path
) -> None:
    version = judged(former, definition([]), "gpt")
    former.execute("UPDATE versions SET definition = ? WHERE version = ?", (json.dumps(definition(["Nota"])), version))
    former.commit()
    with Store.open(None, tmp_path) as store:
        assert [one.version for one in store.labelers("new")] == [version]


def test_postgresql_follows_too(cluster: Cluster) -> None:
    name = cluster.create()
    defined = definition(["Nota"])
    was = digest(defined)
    with cluster.connect(name) as connection:
        connection.execute((FOLDER / "0003.sql").read_bytes())
        connection.execute("SET search_path = public")
        connection.execute("INSERT INTO versions VALUES (%s, 'judge', %s, now())", (was, json.dumps(defined)))
        connection.execute("UPDATE labels SET version = %s WHERE version = 'v1'", (was,))
        connection.execute("UPDATE batches SET version = %s", (was,))
    with Store.open(cluster.url(name), Path()) as store:
        assert {one.version for one in store.labelers("pira") if one.kind == "judge"} == {digest(asked())}
        assert store.definition(was) is None
        [batch] = store.batches("pira")
        assert (batch.version, batch.extra["aliases"]) == (digest(asked()), ["Nota"])
    cluster.drop(name)


@pytest.mark.slow
def test_a_judge_that_is_at_work_by_the_commit_before_is_awaited(tmp_path: Path, capfd: Any) -> None:
    """It would go on under a version that is no more: its grades would be lost, those that are there asked again."""
    shutil.copy(ANSWERS, tmp_path / "labels.db")
    script = "with Store.open(sys.argv[1], Path()): tell('open')"
    at_work = FileLock(tmp_path / ".labels.db.one.gpt.lock")
    at_work.acquire()
    with start(script, f"sqlite:///{tmp_path}/labels.db") as other:
        try:
            said, end = "", time.monotonic() + PATIENCE
            while "one.gpt: waiting for" not in said:
                assert time.monotonic() < end, said
                time.sleep(0.05)
                said += capfd.readouterr().err
            with pytest.raises(subprocess.TimeoutExpired):
                other.wait(0.5)
            with closing(sqlite3.connect(tmp_path / "labels.db")) as connection:
                assert connection.execute("SELECT version_num FROM quati_pool_revision").fetchall() == [("0003",)]
        finally:
            at_work.release()
        assert line(other) == "open"
    assert other.returncode == 0
