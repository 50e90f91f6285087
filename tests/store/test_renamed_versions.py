"""What revision 0003 does with versions of judges that are none of ours, or of which nothing is known."""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from quati_pool.files.artifacts import digest
from quati_pool.store.database import Store
from quati_pool.store.designs import Designs
from quati_pool.store.errors import StoreError
from quati_pool.store.schema import HEAD
from tests.plugin_package import write_dist_info
from tests.store.cluster import Cluster
from tests.store.make_revision import FOLDER

LEXICAL = "quati_pool.judging.lexical:Lexical"
ENTRY_POINTS = "[quati_pool.judges]\nstern = stern.judges:Stern\n"


@pytest.fixture
def former(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """The database kept of revision 0002, open for writing."""
    shutil.copy(FOLDER / "0002.db", tmp_path / "labels.db")
    with closing(sqlite3.connect(tmp_path / "labels.db")) as connection:
        yield connection


def judged(former: sqlite3.Connection, definition: dict[Any, Any], version: str | None = None) -> str:
    """Writes a label of a judge of this definition; its version."""
    version = version or digest(definition)
    former.execute(
        "INSERT INTO versions VALUES (?, 'judge', ?, '2026-01-01 00:00:00')", (version, json.dumps(definition))
    )
    former.execute(
        "INSERT INTO labels (collection, labeler_id, kind, version, query_id, doc_id, content_sha, phase, sample,"
        " relevance, status, created_at, extra) VALUES"
        " ('pira', ?, 'judge', ?, 'q1', 'd1', 'x', 'blind', 1, 2, 'ok', '2026-01-01 00:00:00', '{}')",
        (f"judge-{version[:6]}", version),
    )
    former.commit()
    return version


def versions(folder: Path, was: str) -> tuple[str, Any]:
    """The version that the label is under now, and what that stands for."""
    with Store.open(None, folder) as store:
        [one] = [one for one in store.labelers("pira") if one.labeler_id == f"judge-{was[:6]}"]
        assert one.rows == 1
        return one.version, store.definition(one.version)


def test_a_version_is_the_hash_of_the_renamed_definition(former: sqlite3.Connection, tmp_path: Path) -> None:
    was = judged(former, {"judge": LEXICAL, "language": "pt", "grades": [0, 1]})
    renamed = {"judge": "judge/lexical@1", "language": "pt", "grades": [0, 1]}
    assert versions(tmp_path, was) == (digest(renamed), renamed)
    with Store.open(None, tmp_path) as store:
        assert store.definition(was) is None


def test_postgresql_renames_versions_too(cluster: Cluster) -> None:
    name = cluster.create()
    definition = {"judge": "quati_pool.judging.llm:LlmJudge", "model": "m", "temperature": 0.0}
    was = digest(definition)
    with cluster.connect(name) as connection:
        connection.execute((FOLDER / "0002.sql").read_bytes())
        connection.execute("SET search_path = public")
        connection.execute("INSERT INTO versions VALUES (%s, 'judge', %s, now())", (was, json.dumps(definition)))
        connection.execute("UPDATE labels SET version = %s WHERE version = 'v1'", (was,))
        connection.execute("UPDATE designs SET parameters = %s", (json.dumps({"judge_version": was}),))
    with Store.open(cluster.url(name), Path()) as store:
        now = digest({**definition, "judge": "judge/llm@1"})
        assert {one.version for one in store.labelers("pira") if one.kind == "judge"} == {now}
        assert store.definition(was) is None
        [design] = Designs(store, "pira").all()
        assert design.parameters == {"judge_version": now}
    cluster.drop(name)


def test_grades_that_were_hashed_as_numbers(former: sqlite3.Connection, tmp_path: Path) -> None:
    """JSON writes them as text, which sorts otherwise: "-1", "-2" and "0" for -2, -1 and 0."""
    definition: dict[Any, Any] = {"judge": LEXICAL, "prompt": {"scale": {-2: "c", -1: "b", 0: "a"}}}
    was = judged(former, definition)
    assert versions(tmp_path, was)[0] == digest({**definition, "judge": "judge/lexical@1"})


def test_a_plug_ins_judge_is_called_by_its_entry_point(
    former: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_dist_info(tmp_path / "site", "stern", "2.0", ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path / "site")
    was = judged(former, {"judge": "stern.judges:Stern (stern 1.5)", "x": 1})
    # The version of the package is the one that graded.
    renamed = {"judge": "judge/stern@1 (stern 1.5)", "x": 1}
    assert versions(tmp_path, was) == (digest(renamed), renamed)


@pytest.mark.parametrize(
    ("declared", "called"), [("", "judge/stern"), ("id = 'judge/strict'", "judge/strict")], ids=["unnamed", "named"]
)
def test_a_plug_ins_judge_may_be_shown_where_its_code_is_not(
    former: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: str, called: str
) -> None:
    """The former name was that of module and class, the entry point's is that of the package."""
    package = tmp_path / "site" / "shows_stern"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from shows_stern.code import Stern\n")
    (package / "code.py").write_text(f"class Stern:\n    pass\n    {declared}\n")
    points = "[quati_pool.judges]\nbroken = shows_stern:Gone\nstern = shows_stern:Stern\n"
    write_dist_info(tmp_path / "site", "stern", "1.5", points)
    monkeypatch.syspath_prepend(tmp_path / "site")
    for name in ("shows_stern", "shows_stern.code"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    was = judged(former, {"judge": "shows_stern.code:Stern (stern 1.5)", "x": 1})
    renamed = {"judge": f"{called}@1 (stern 1.5)", "x": 1}
    assert versions(tmp_path, was) == (digest(renamed), renamed)


@pytest.mark.parametrize(
    ("definition", "version", "why"),
    [
        ({"judge": "gone.judges:Gone (gone 1.0)"}, None, "no installed package has that judge"),
        ({"judge": LEXICAL}, "by-hand", "it is not the hash of its definition"),
        ({"judge": LEXICAL, "extra_body": {"1": 2, "a": 3}}, "by-hand", "it is not the hash of its definition"),
    ],
)
def test_what_cannot_be_renamed_keeps_its_name_and_says_so(
    former: sqlite3.Connection,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    definition: dict[str, Any],
    version: str | None,
    why: str,
) -> None:
    was = judged(former, definition, version)
    with caplog.at_level(logging.WARNING):
        assert versions(tmp_path, was) == (was, definition)
    code = definition["judge"]
    assert caplog.messages[1:] == [
        f"{tmp_path / 'labels.db'}: the labels of version {was[:12]} (the judge {code}) keep it, as {why}; "
        "they stay readable under it"
    ]


def test_a_definition_of_another_shape_is_left_alone(
    former: sqlite3.Connection, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    was = judged(former, {"model": "m", "judge": 3})
    assert versions(tmp_path, was)[0] == was
    assert caplog.messages == [f"{tmp_path / 'labels.db'}: upgrading from revision 0002 to {HEAD}"]


def test_a_row_that_points_nowhere_stops_the_migration(former: sqlite3.Connection, tmp_path: Path) -> None:
    former.execute("PRAGMA foreign_keys = OFF")
    former.execute("UPDATE attempts SET label_seq = 4711")
    former.commit()
    with pytest.raises(StoreError, match="a row of attempts points to one of labels that is not there"):
        Store.open(None, tmp_path)
    with closing(sqlite3.connect(tmp_path / "labels.db")) as connection:
        assert connection.execute("SELECT version_num FROM quati_pool_revision").fetchone() == ("0002",)
        assert connection.execute("SELECT count(*) FROM labels").fetchone()[0] > 0


def test_numbers_given_out_once_are_not_given_again(former: sqlite3.Connection, tmp_path: Path) -> None:
    former.execute("UPDATE sqlite_sequence SET seq = 5000 WHERE name = 'labels'")
    former.commit()
    with Store.open(None, tmp_path), closing(sqlite3.connect(tmp_path / "labels.db")) as connection:
        found = dict(connection.execute("SELECT name, seq FROM sqlite_sequence"))
    assert found["labels"] == 5000
    assert not [name for name in found if name.endswith("_0002")]
