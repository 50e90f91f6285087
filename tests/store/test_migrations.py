"""Revisions lead from every database ever made to the tables of ``schema.py``, and come with the package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect, text

from quati_pool.store.assignments import Assignments
from quati_pool.store.authoring import Authoring
from quati_pool.store.authoring_records import NewEntry
from quati_pool.store.database import Store
from quati_pool.store.database_url import parse_database_url
from quati_pool.store.designs import Designs
from quati_pool.store.engine import reading
from quati_pool.store.records import Design, FramePair, Selection
from quati_pool.store.schema import HEAD, REVISION_TABLE, metadata
from quati_pool.store.upgrade import MIGRATIONS
from tests.store.authoring import Rounds, source, taken
from tests.store.cluster import Cluster
from tests.store.make_revision import FOLDER, fill, told
from tests.store.processes import ROOT
from tests.store.samples import entry


def scripts() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    return ScriptDirectory.from_config(config)


REVISIONS = sorted(script.revision for script in scripts().walk_revisions())


def test_the_newest_revision_is_the_one_that_opening_looks_for() -> None:
    assert scripts().get_heads() == [HEAD]


def plain(index: Any) -> dict[str, Any]:
    """An index whose options can be compared: a condition is a clause that equals nothing but itself."""
    options = index.get("dialect_options", {})
    return {**index, "dialect_options": {name: str(value) for name, value in options.items()}}


def shape(connection: Connection) -> dict[str, Any]:
    """All that a database says of its tables, constraints, collations and indexes."""
    looking = inspect(connection)
    tables = {}
    for name in set(looking.get_table_names()) - {REVISION_TABLE}:
        columns = [{**column, "type": repr(column["type"])} for column in looking.get_columns(name)]
        tables[name] = {
            "columns": columns,
            "primary key": looking.get_pk_constraint(name),
            "foreign keys": looking.get_foreign_keys(name),
            "checks": sorted(looking.get_check_constraints(name), key=str),
            "indexes": sorted(map(plain, looking.get_indexes(name)), key=str),
        }
    if connection.dialect.name == "sqlite":
        made = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE name <> 'sqlite_sequence'"))
        words = {name: sorted(re.findall(r"[^\s,()]+|[()]", sql or "")) for name, sql in made if name in tables}
        return {"tables": tables, "words": words}
    collations = text(
        "SELECT table_name, column_name, collation_name FROM information_schema.columns "
        "WHERE table_schema = 'public' AND table_name <> :own ORDER BY 1, 2"
    )
    return {"tables": tables, "collations": connection.execute(collations, {"own": REVISION_TABLE}).all()}


def opened(url: str) -> Engine:
    return reading(parse_database_url(url, Path()))


def test_the_revisions_make_the_tables_of_the_schema(made_url: str, url: str, engine: str, tmp_path: Path) -> None:
    migrated = opened(made_url)
    with migrated.connect() as connection:
        ours = {"compare_type": True, "compare_server_default": True, "version_table": REVISION_TABLE}
        assert compare_metadata(MigrationContext.configure(connection, opts=ours), metadata) == []
        found = shape(connection)
    migrated.dispose()
    created = opened(f"sqlite:///{tmp_path / 'created.db'}" if engine == "sqlite" else url)
    metadata.create_all(created)
    with created.connect() as connection:
        expected = shape(connection)
    created.dispose()
    assert found == expected
    assert found["tables"].keys() == {
        "labels", "attempts", "versions", "batches", "batch_requests", "assessors", "sessions", "sign_in_failures",
        "designs", "selections", "frame_pairs", "assignments", "queues", "training", "reveals", "question_events",
        "remarks", "authoring_items", "authoring_tasks", "authoring_entries",
    }  # fmt: skip


def test_ids_are_compared_by_bytes_on_postgresql(cluster: Cluster) -> None:
    name = cluster.create()
    Store.open(cluster.url(name), Path()).close()
    with cluster.connect(name) as connection:
        found = connection.execute(
            "SELECT DISTINCT column_name FROM information_schema.columns "
            "WHERE table_schema = 'public' AND collation_name = 'C'"
        ).fetchall()
    assert {column for (column,) in found} == {
        "collection", "labeler_id", "version", "query_id", "doc_id", "content_sha", "key", "batch_key", "custom_id",
        "nonce", "name", "handle", "token_sha", "subject", "frame_sha", "stratum", "holder", "by", "thread",
        "design", "kind", "source_id", "drafted_by", "round",
    }  # fmt: skip
    cluster.drop(name)


@pytest.fixture(params=REVISIONS)
def kept(request: pytest.FixtureRequest, url: str, engine: str) -> tuple[str, dict[str, Any]]:
    """A copy of the database kept of a revision, and what its readers got then."""
    copy(request.param, url, request)
    return url, json.loads((FOLDER / f"{request.param}.json").read_text())


def copy(revision: str, url: str, request: pytest.FixtureRequest) -> None:
    """Makes ``url`` a copy of the database kept of a revision."""
    if url.startswith("sqlite"):
        shutil.copy(FOLDER / f"{revision}.db", url.removeprefix("sqlite:///"))
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    name = url.partition("@/")[2].partition("?")[0]
    with cluster.connect(name) as connection:
        connection.execute((FOLDER / f"{revision}.sql").read_bytes())


def test_a_database_of_any_revision_is_read_as_it_was_written(kept: tuple[str, dict[str, Any]]) -> None:
    url, expected = kept
    if "audits" not in expected:
        # Until revision 0008 a judge's answers in audits were counted among its labels.
        in_audits = sum(map(len, expected.get("reserved", {}).values()))
        (judge,) = [one for one in expected["labelers"] if one["kind"] == "judge"]
        judge["rows"] -= in_audits
    for _ in range(2):  # as it is migrated, and as it is found then
        with Store.open(url, Path()) as store:
            # What a later revision brought is not there yet.
            found = told(store)
            assert {name: found[name] for name in expected} == expected
            assert "annotation" in expected or not any(found["annotation"].values())


def test_a_database_of_any_revision_can_be_written_on(kept: tuple[str, dict[str, Any]]) -> None:
    with Store.open(kept[0], Path()) as store:
        before = store.labelers("pira")[0].last_seq
        store.update_batch("k1", status="abandoned")
        assert store.append([entry("q8")]) == [before + 1]


def test_the_kept_databases_hold_what_is_written_today(store: Store) -> None:
    """So the newest of them covers every column there is."""
    fill(store)
    assert told(store) == json.loads((FOLDER / f"{HEAD}.json").read_text())


def rows(url: str) -> dict[str, list[dict[str, Any]]]:
    """All that is in a database, as its driver reads it, by table."""
    engine = opened(url)
    found = {}
    with engine.connect() as connection:
        for name in set(inspect(connection).get_table_names()) - {REVISION_TABLE}:
            some = connection.execute(text(f'SELECT * FROM "{name}"')).mappings()
            found[name] = sorted(({**row} for row in some), key=repr)
    engine.dispose()
    return found


NEW = ("authoring_items", "authoring_tasks", "authoring_entries")  # in revision 0009


def migrated(url: str) -> dict[str, list[dict[str, Any]]]:
    """All that is in a database of an earlier revision once it is at the newest, without what 0009 brought."""
    Store.open(url, Path()).close()
    after = rows(url)
    assert [after.pop(name) for name in NEW] == [[], [], []]
    assert {row.pop("drafted_by") for row in after["question_events"]} == {None}
    return after


def test_revision_0009_keeps_every_row(url: str, request: pytest.FixtureRequest) -> None:
    """0008.db has two events of a question, with every column filled in one of them."""
    copy("0008", url, request)
    before = rows(url)
    assert len(before["question_events"]) == 2
    assert all(any(row[name] is not None for row in before["question_events"]) for name in before["question_events"][0])
    assert migrated(url) == before


def test_people_write_in_a_database_of_revision_0008(url: str, request: pytest.FixtureRequest) -> None:
    copy("0008", url, request)
    with Store.open(url, Path()) as store:
        before = store.table("pira", "gpt", "v1")
        authoring = Authoring(store, "pira", "tests/rounds", Rounds())
        assert authoring.add([source(1)]) == (1, 0, 0)
        task = taken(authoring, "ana")
        seq = authoring.submit("ana", task.task_id, 0, NewEntry({"related": "no"}, "first")).seq
        assert [item.reason for item in authoring.items()] == ["unrelated"]
        assert authoring.last("ana") == authoring.entry(seq=seq)
        assert store.table("pira", "gpt", "v1") == before


def test_revision_0008_keeps_every_row(url: str, request: pytest.FixtureRequest) -> None:
    """0007.db has a judge's answers in audits too."""
    copy("0007", url, request)
    before = rows(url)
    assert {"probe", "repeat"} < {row["phase"] for row in before["labels"]}
    assert migrated(url) == before


def test_revision_0007_keeps_every_row_and_knows_no_earlier_frame(url: str, request: pytest.FixtureRequest) -> None:
    """0006.db has labels, slots of both phases, a stratified design with its selections, and remarks."""
    copy("0006", url, request)
    before = rows(url)
    assert [len(before[name]) for name in ("assignments", "designs", "selections", "remarks")] == [5, 2, 4, 4]
    with Store.open(url, Path()) as store:
        designs = Designs(store, "pira")
        assert [designs.frame(one.design_id or 0) for one in designs.all()] == [None, None]
    after = migrated(url)
    assert after.pop("frame_pairs") == []
    assert after == before


def test_a_new_design_in_a_database_of_revision_0006_has_its_frame(url: str, request: pytest.FixtureRequest) -> None:
    copy("0006", url, request)
    with Store.open(url, Path()) as store:
        designs = Designs(store, "pira")
        frame = [FramePair("q1", "d1", "all", 0.25), FramePair("q1", "d2", "all", 0.75)]
        drawn = Design(method="active", seed=1, frame_sha="f00d", frame_pairs=2, strata={"all": [2, 1, 0.5]})
        made = designs.create(drawn, [Selection("q1", "d2", "all", 0.75, 1)], [], frame)
        assert (made, designs.frame(made), designs.frame(1)) == (3, frame, None)


def test_revision_0006_keeps_every_row_and_gives_slots_a_phase(url: str, request: pytest.FixtureRequest) -> None:
    """0005.db has slots that are done, put off, withdrawn and free, a selection, designs and training pairs."""
    copy("0005", url, request)
    before = rows(url)
    assert [len(before[name]) for name in ("assignments", "designs", "selections", "training")] == [4, 1, 4, 2]
    after = migrated(url)
    assert after.pop("remarks") == after.pop("frame_pairs") == []
    assert {row.pop("phase") for row in after["assignments"]} == {"blind"}
    assert not any(row.pop("gold") for row in after["training"])
    assert after.keys() == before.keys()
    for name, some in before.items():
        assert sorted(after[name], key=repr) == some, name


def test_people_go_on_in_a_database_of_revision_0005(url: str, request: pytest.FixtureRequest) -> None:
    copy("0005", url, request)
    with Store.open(url, Path()) as store:
        slots, designs = Assignments(store, "pira"), Designs(store, "pira")
        put_off = slots.held("ana")
        assert put_off is not None
        assert (put_off.doc_id, put_off.skips) == ("d1", 1)
        expired, free = slots.free("bia", "q1")
        assert (expired, free.doc_id) == (put_off, "d3")
        assert [one.doc_id for one in slots.claim("bia", [free.assignment_id], 1800)] == ["d3"]
        # A second slot of a pair, which the former constraint would not have allowed.
        graded = slots.slot(1)
        assert graded is not None
        repeat = slots.add_repeat("ana", designs.of_repeats(0, 0.5), 1, graded)
        assert repeat is not None
        assert slots.held("ana") == repeat
        assert repeat.assignment_id == 5


@pytest.mark.slow
def test_an_installed_package_brings_its_migrations(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", tmp_path, ROOT]
    subprocess.run(build, check=True, capture_output=True, text=True)
    wheel = next(tmp_path.glob("*.whl"))
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    script = """
from pathlib import Path
import quati_pool.store.upgrade as opening
from quati_pool.store.assignments import Assignments
from quati_pool.store.database import Store
Store.open(None, Path()).close()
print(opening.MIGRATIONS)
"""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    )
    assert Path(done.stdout.strip()).is_relative_to(site)
    assert (tmp_path / "labels.db").stat().st_size > 0
