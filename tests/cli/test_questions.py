"""``quati-pool questions``: list and export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quati_pool.commands.annotate.session import AnnotationSession
from tests.cli.conftest import Cli
from tests.commands.annotate import drafted
from tests.commands.annotate.writers import accepted, proposed, sign_in, workspace


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = workspace(tmp_path / "small", read=False)
    with AnnotationSession.open(path) as session:
        ana, bia = sign_in(session, "ana"), sign_in(session, "bia")
        accepted(session, bia, proposed(session, ana, "Quem cuida do farol?", narrative="De hoje."))
        proposed(session, ana, "Ainda está?", theme="health")
    return path


def test_list_shows_every_question_and_the_empty_combinations(cli: Cli, written: Path) -> None:
    done = cli("questions", "list", "--full", "-c", written)
    assert done.status == 0, done.err
    assert "accepted  q0001     ana" in done.out
    assert "accepted + proposed; 196 of 198 combinations are empty" in done.out  # 11 × 3 × 6, two of them filled
    found = json.loads(cli("questions", "list", "--full", "-c", written, "--format", "json").out)
    assert [(one["query_id"], one["state"]) for one in found["questions"]] == [
        ("q0001", "accepted"),
        (None, "proposed"),
    ]
    assert len(found["coverage"]) == 198


def test_export_writes_a_file_that_validate_accepts(cli: Cli, written: Path, tmp_path: Path) -> None:
    done = cli("questions", "export", "-c", written, "-o", tmp_path / "queries.tsv")
    assert (done.status, done.out) == (0, "")
    assert done.err.endswith("queries.tsv: 1 queries, 1 of them new; 1 narratives are left out: .jsonl holds them\n")
    assert cli("validate", tmp_path / "queries.tsv").status == 0
    assert cli("questions", "export", "-c", written, "-o", tmp_path / "q.jsonl").status == 0
    checked = cli("validate", tmp_path / "q.jsonl", "--format", "json")
    assert checked.status == 0
    assert '"narratives": 1' in checked.out


def test_export_says_that_a_table_lacks_who_drafted(cli: Cli, written: Path, tmp_path: Path) -> None:
    with AnnotationSession.open(written) as session:
        accepted(session, sign_in(session, "caio"), drafted.propose(session, "Quem pinta o farol?"))
    done = cli("questions", "export", "-c", written, "-o", tmp_path / "queries.tsv")
    assert done.err.endswith("; which program drafted 1 of them is left out: .jsonl holds it\n")
    listed = cli("questions", "list", "-c", written)
    assert "Questions drafted by gpt-4o-2024-11-20: none of 1 waits; 1 accepted as they were: 100.0 %" in " ".join(
        listed.out.split()
    )


def test_export_refuses_in_one_line_and_merges_when_told(cli: Cli, written: Path) -> None:
    file = written.with_name("queries.tsv")
    done = cli("questions", "export", "-c", written, "-o", file)
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert done.err.endswith("keep them with --merge, or name another file\n")
    assert cli("questions", "export", "-c", written, "-o", file, "--merge").status == 0
    assert file.read_text(encoding="utf-8").endswith("q0001\tQuem cuida do farol?\n")
