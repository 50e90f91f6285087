"""What a lead downloads is what the command line exports; nobody else gets a byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError, SignedOutError
from quati_pool.commands.annotate.review.downloads import KINDS, exported
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.export.labels import export_labels
from quati_pool.commands.export.qrels import export_qrels
from quati_pool.errors import ConfigError, QuatiPoolError
from tests.commands.annotate.disputes import Tokens, add_label, disputed

Here = tuple[AnnotationSession, Tokens]


@pytest.fixture
def here(tmp_path: Path, made_url: str) -> Iterator[Here]:
    with disputed(tmp_path, made_url) as opened:
        yield opened


def test_qrels_hold_grades_alone_in_the_pools_order(here: Here) -> None:
    session, tokens = here
    found = exported(session, tokens.lia, "qrels", "ana")
    assert found.content == b"q0 0 d0 0\nq0 0 d1 1\nq0 0 d2 2\nq1 0 d0 0\n"
    # q1 d1 cannot be judged, q1 d2 was never asked about.
    assert (found.filename, found.left_out) == ("ana.qrels", 2)


@pytest.mark.parametrize("labeler", ["ana", "bia", "gpt", "adjudicated"])
def test_downloads_are_the_bytes_of_the_commands(tmp_path: Path, labeler: str) -> None:
    with disputed(tmp_path) as (session, tokens):
        add_label(session, "adjudicated", "q1", "d0", 2, "final", rationale="so")
        found = {kind: exported(session, tokens.lia, kind, labeler).content for kind in KINDS}
    config = tmp_path / "pool.yaml"
    export_qrels(config, labeler, tmp_path / "out.qrels", allow_missing=True)
    assert found.pop("qrels") == (tmp_path / "out.qrels").read_bytes()
    for kind, content in found.items():
        path = tmp_path / f"out.{kind}"
        export_labels(config, labeler, kind, path)
        assert content == path.read_bytes(), kind


def test_labels_carry_what_a_person_noted(here: Here) -> None:
    session, tokens = here
    rows = [json.loads(line) for line in exported(session, tokens.lia, "jsonl", "ana").content.splitlines()]
    assert [(row["query_id"], row["doc_id"], row["relevance"], row["status"], row["note"]) for row in rows][-1] == (
        "q1", "d1", None, "unsure", "ana of d1",
    )  # fmt: skip


def test_only_a_lead_who_is_signed_in_exports(here: Here) -> None:
    session, tokens = here
    for kind in KINDS:
        with pytest.raises(ForbiddenError):
            exported(session, tokens.ana, kind, "ana")
        with pytest.raises(SignedOutError):
            exported(session, None, kind, "ana")
    session.people.revoke("lia")
    with pytest.raises(SignedOutError):
        exported(session, tokens.lia, "qrels", "ana")


def test_an_assessor_learns_nothing_of_who_there_is(here: Here) -> None:
    """The role is checked before the names: a labeler that is there is refused as one that is not."""
    session, tokens = here
    for kind, labeler in (("qrels", "nobody"), ("zip", "ana")):
        with pytest.raises(ForbiddenError):
            exported(session, tokens.ana, kind, labeler)


def test_unknown_kinds_labelers_and_empty_exports_are_refused(here: Here) -> None:
    session, tokens = here
    with pytest.raises(AnswerError, match="there is no export 'zip'"):
        exported(session, tokens.lia, "zip", "ana")
    with pytest.raises(ConfigError, match="there is no labeler 'nobody'"):
        exported(session, tokens.lia, "qrels", "nobody")
    add_label(session, "caio", "q0", "d0", None)
    with pytest.raises(QuatiPoolError, match="caio has graded no pair"):
        exported(session, tokens.lia, "qrels", "caio")
