"""The route of downloads: files for a lead, a bare refusal for anybody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from annotator_app.context import COOKIE
from annotator_app.downloads import address, routes
from quati_pool.commands.annotate.review import downloads
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.errors import StoreError
from tests.commands.annotate.disputes import Tokens, add_label, disputed

Here = tuple[AnnotationSession, Tokens, TestClient]


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Here]:
    with disputed(tmp_path) as (session, tokens):
        yield session, tokens, TestClient(Starlette(routes=routes(session)))


def test_a_lead_gets_a_file_with_its_name(here: Here) -> None:
    _, tokens, client = here
    client.cookies.set(COOKIE, tokens.lia)
    answer = client.get(address("qrels", "ana"))
    assert (answer.status_code, answer.text) == (200, "q0 0 d0 0\nq0 0 d1 1\nq0 0 d2 2\nq1 0 d0 0\n")
    assert answer.headers["Content-Disposition"] == "attachment; filename*=UTF-8''ana.qrels"
    assert answer.headers["X-Left-Out"] == "2"


def test_a_name_that_would_break_a_header_is_written_out(here: Here) -> None:
    session, tokens, client = here
    name = 'zoë";filename="x.html'
    add_label(session, name, "q0", "d0", 1)
    client.cookies.set(COOKIE, tokens.lia)
    answer = client.get(address("qrels", name))
    assert answer.headers["Content-Disposition"] == (
        "attachment; filename*=UTF-8''zo%C3%AB%22%3Bfilename%3D%22x.html.qrels"
    )
    assert answer.headers["Content-Type"].startswith("text/plain")


def test_nobody_else_gets_a_byte_of_it(here: Here) -> None:
    session, tokens, client = here
    addresses = [address(kind, "bia") for kind in downloads.KINDS]
    assert {client.get(one).status_code for one in addresses} == {401}
    client.cookies.set(COOKIE, tokens.ana)
    assert {(answer.status_code, answer.text) for answer in map(client.get, addresses)} == {(403, "this is for leads")}
    client.cookies.set(COOKIE, tokens.lia)
    assert {client.get(one).status_code for one in addresses} == {200}
    session.people.revoke("lia")
    assert {(answer.status_code, answer.text) for answer in map(client.get, addresses)} == {(401, "sign in")}


def test_what_is_not_there_and_a_database_that_is_gone_are_said(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    _, tokens, client = here
    client.cookies.set(COOKIE, tokens.lia)
    answer = client.get(address("qrels", "nobody"))
    assert answer.status_code == 400
    assert "there is no labeler 'nobody'" in answer.text
    assert client.get(address("zip", "ana")).status_code == 400
    assert client.post(address("qrels", "ana")).status_code == 405

    def gone(*_: object) -> None:
        raise StoreError("the database is gone")

    monkeypatch.setattr(downloads, "exported", gone)
    assert client.get(address("qrels", "ana")).status_code == 503
