"""No key that calls carry is in anything that a workspace holds or a command prints, whatever servers say."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml

from quati_pool.files.artifacts import digest
from tests.cli.conftest import Cli
from tests.llm.server import PROBE, ServerProcess

KEYS = {
    "MY_KEY": "sk-distinctive-6b1f09d2c7",
    "QUERY_KEY": "qk/dis+tinctive=81c4a07e",
    "BODY_KEY": "bk-distinctive-5e90aa13",
}
ECHOES = {"echo_400": 0.15, "echo_500": 0.1, "echo_html": 0.1, "echo_answer": 0.2, "echo_refusal": 0.15}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerProcess]:
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    with ServerProcess(shares=ECHOES, keep_bodies=True, polls=0) as server:
        yield server


@pytest.fixture
def here(tmp_path: Path, server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace to build, with a judge that sends all three keys."""
    words = ["porto", "barco", "cometa", "pão", "forno", "noite", "ponte", "rio"]
    rows = [{"doc_id": f"d{n}", "text": f"O {words[n % 8]} fica perto do {words[n * 3 % 7]} {n}."} for n in range(30)]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "queries.tsv").write_text("q1\tOnde fica o porto?\nq2\tbarco no rio\nq3\tpão\n", encoding="utf-8")
    judge = {"model": "gpt-4o-mini", "prompt": "quati-pt", "api_key_env": "MY_KEY", "base_url": f"{server.url}?v=1"}
    body = {"headers": {"auth": "Bearer ${BODY_KEY}"}}
    keyed = {"base_url": f"{server.url}?v=1&key=${{QUERY_KEY}}", "extra_body": body}
    config = {
        "name": "secret",
        "corpus": {"path": "corpus.jsonl"},
        "queries": {"path": "queries.tsv"},
        "systems": {"bm25s": {"retriever": "bm25s"}, "lsa": {"retriever": "lsa", "dimensions": 4}},
        "judges": {"keyed": {**judge, **keyed}, "plain": judge, "lexical": {"judge": "lexical"}},
    }
    (tmp_path / "pool.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(text: bytes) -> list[str]:
    """Which keys are in some bytes, whole, as addresses write them, or by their first half."""
    return [name for name, key in KEYS.items() for form in (key, quote(key), key[:14]) if form.encode() in text]


@pytest.mark.slow
@pytest.mark.usefixtures("sketched")
def test_no_key_is_in_any_file_or_line_of_a_full_run(here: Path, cli: Cli, server: ServerProcess) -> None:
    printed = [cli("build"), cli("judge", "lexical")]
    assert [done.status for done in printed] == [0, 0], printed
    with closing(sqlite3.connect(here / "labels.db")) as reader:
        # A reader that stays keeps the log of what is written from now on.
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM labels").fetchall()
        printed.append(cli("judge", "keyed", "--dry-run"))
        printed.append(cli("judge", "keyed"))
        asked = [entry for entry in server.log() if entry["id"] != PROBE]
        assert {entry["way"] for entry in asked} >= set(ECHOES)
        for entry in server.log():
            # The keys did go out, with the rest of the query, on every call.
            assert entry["path"] == f"/v1/chat/completions?v=1&key={quote(KEYS['QUERY_KEY'])}"
            assert entry["body"]["headers"] == {"auth": f"Bearer {KEYS['BODY_KEY']}"}
        states = json.loads(cli("labels", "keyed", "--missing", "--format", "json").out)["labelers"][0]["states"]
        assert all(states[state] for state in ("ok", "failed", "refused"))
        server.script(key="sk-another", shares=ECHOES)
        printed.append(cli("judge", "keyed"))
        assert (printed[-1].status, "(key)" in printed[-1].err) == (1, True), printed[-1]
        server.script(polls=0)
        refused = cli("batch", "submit", "keyed")
        assert "extra_body holds ${BODY_KEY}" in refused.err
        printed.append(refused)
        for command in (
            ("batch", "submit", "plain", "--limit", "4"),
            ("batch", "collect", "plain"),
            ("labels", "keyed", "--missing"),
            ("labels", "keyed", "--missing", "--format", "json"),
            ("agree", "keyed", "lexical"),
            ("evaluate",),
            ("report",),
            ("validate", "pool.yaml"),
            ("export", "qrels", "--labeler", "keyed", "--allow-missing"),
            ("export", "labels", "--labeler", "keyed", "--as", "csv"),
            ("export", "bundle", "--labeler", "keyed", "--allow-missing"),
        ):
            printed.append(cli(*command))
            assert printed[-1].status == 0, (command, printed[-1])
        assert (here / "labels.db-wal").stat().st_size
        files = [path for path in here.rglob("*") if path.is_file()]
        assert {"labels.db", "labels.db-wal", "report.html"} <= {path.name for path in files}
        for path in files:
            data = path.read_bytes()
            assert found(gzip.decompress(data) if path.suffix == ".gz" else data) == [], path
    for done in printed:
        assert found((done.out + done.err).encode()) == [], done


def test_grades_from_when_keys_were_written_out_go_with_their_judge(
    here: Path, cli: Cli, server: ServerProcess
) -> None:
    """A version that held a key becomes the one with its variable, and nothing holds the key any more."""
    server.script(default="well")
    assert cli("build").status == 0
    assert cli("judge", "keyed").status == 0
    labels = json.loads(cli("labels", "keyed", "--format", "json").out)
    with closing(sqlite3.connect(here / "labels.db")) as connection:
        [[version, text]] = connection.execute(
            "SELECT version, definition FROM versions WHERE definition LIKE '%BODY_KEY%'"
        )
        definition = json.loads(text)
        definition["extra_body"] = {"headers": {"auth": f"Bearer {KEYS['BODY_KEY']}"}}
        former = digest(definition)
        connection.execute(
            "UPDATE versions SET version = ?, definition = ? WHERE version = ?",
            (former, json.dumps(definition), version),
        )
        connection.execute("UPDATE labels SET version = ? WHERE version = ?", (former, version))
        connection.commit()
    asked = len(server.log())
    assert json.loads(cli("judge", "keyed", "--dry-run", "--format", "json").out)["to_ask"] == 0
    done = cli("judge", "keyed", "--format", "json")
    assert done.status == 0
    assert len(server.log()) == asked
    assert json.loads(done.out)["version"] == version
    assert json.loads(cli("labels", "keyed", "--format", "json").out) == labels
    with closing(sqlite3.connect(here / "labels.db")) as connection:
        kept = connection.execute("SELECT version, definition FROM versions").fetchall()
    assert former not in dict(kept)
    assert found(json.dumps(kept).encode()) == []
