"""The routes of the explorer: for leads alone, and without what awaits a decision, until they ask to see it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from annotator_app.context import COOKIE
from annotator_app.explorer import address, explorer, routes, separate_explorers
from quati_pool.commands.annotate.review.decisions import decide
from quati_pool.commands.annotate.review.disagreements import disagreements
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.reporting.explorer.scripts import arguments_of
from quati_pool.reporting.explorer.snapshot import Snapshot
from tests.annotator_app.explored import explored, first_query
from tests.commands.annotate.people_at_work import labels, token
from tests.patience import PATIENCE
from tests.reporting.explorer.parts import grades

pytestmark = pytest.mark.slow

ELSEWHERE = {"Origin": "http://elsewhere.example"}


class Here:
    """The session, a client, and tokens of the assessor ana and the lead lia."""

    def __init__(self, session: AnnotationSession) -> None:
        self.session = session
        self.ana, self.lia = token(session, "ana"), token(session, "lia", "lead")
        self.client = TestClient(Starlette(routes=routes(session)), follow_redirects=False)
        self.query_id, self.docs = first_query(session)

    def written(self) -> Snapshot:
        found = explorer(self.session, self.lia, PATIENCE)
        assert found.value is not None, found.problem
        return found.value

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(f"/explore/{self.written().folder.name}/{path}", headers=headers)

    def reveal(self, doc_id: str, **headers: str) -> Any:
        asked = {"query": self.query_id, "doc": doc_id}
        return self.client.post(f"/explore/{self.written().folder.name}/reveal", params=asked, headers=headers)

    def hidden(self) -> list[int]:
        [found] = arguments_of(self.get("data/collection.js").content)
        return list(found["hidden"])

    def query(self) -> Any:
        return self.get(f"data/query-{self.written().query_ids.index(self.query_id)}.js")

    def decided(self) -> bool:
        """Decides the disputed pair; whether the decision is marked."""
        pair = disagreements(self.session, self.lia).pair
        assert pair is not None
        ids = pair.ids
        decide(self.session, self.lia, *ids, pair.content_sha, 2, None, f"nonce of {pair.last_seq}", pair.last_seq)
        return bool(labels(self.session, "adjudicated", *ids)[-1].extra.get("revealed"))


@contextmanager
def opened(finished: Path, folder: Path) -> Iterator[Here]:
    config = explored(finished, folder)
    with AnnotationSession.open(config) as session, separate_explorers(session, config):
        yield Here(session)


@pytest.fixture(scope="module")
def shared(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    with opened(finished, tmp_path_factory.mktemp("explorer") / "w") as made:
        yield made


@pytest.fixture
def here(shared: Here) -> Here:
    """For tests that change nothing."""
    shared.client.cookies.set(COOKIE, shared.lia)
    return shared


@pytest.fixture
def own(finished: Path, tmp_path: Path) -> Iterator[Here]:
    """For a test that changes what is there."""
    with opened(finished, tmp_path / "w") as made:
        made.client.cookies.set(COOKIE, made.lia)
        yield made


def test_the_address_leads_to_the_newest_explorer(own: Here) -> None:
    before = own.client.get(address(None).partition("#")[0])
    assert before.status_code == 303
    name = own.written().folder.name
    answer = own.client.get(address("a/b?c").partition("#")[0])
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/explore/{name}/index.html")
    assert address("a/b?c") == "/explore/#/query/a%2Fb%3Fc"


def test_what_awaits_a_decision_is_hidden_until_it_is_shown_or_decided(own: Here) -> None:
    pair = own.written().pairs[own.query_id, own.docs[0]]
    assert own.hidden() == [pair]
    assert f"gpt of {own.docs[0]} " not in own.query().text
    assert not own.decided()
    assert own.hidden() == []
    assert f"gpt of {own.docs[0]} " in own.query().text


def test_what_a_lead_asks_to_see_is_shown_to_them_and_marks_their_decision(own: Here) -> None:
    assert own.reveal(own.docs[0]).status_code == 204
    assert own.hidden() == []
    [found] = arguments_of(own.get("data/collection.js").content)
    assert "?" not in grades(found, "gpt")
    eva = token(own.session, "eva", "lead")
    own.client.cookies.set(COOKIE, eva)
    assert len(own.hidden()) == 1
    assert own.decided()


def test_what_a_lead_looked_at_before_it_was_disputed_marks_their_decision(own: Here) -> None:
    own.query()
    assert own.session.reveals.of("lia") == {(own.query_id, doc_id) for doc_id in own.docs[1:]}
    assert not own.decided()
    own.query()
    assert (own.query_id, own.docs[0]) in own.session.reveals.of("lia")


def test_nobody_but_a_lead_gets_a_byte_of_it(here: Here) -> None:
    paths = ["index.html", "explorer.css", "data/collection.js", "data/query-0.js", "data/scores-0-0.js"]
    here.written()
    for held, status, said in (("", 401, "sign in"), (here.ana, 403, "this is for leads")):
        here.client.cookies.set(COOKIE, held)
        answers = [*map(here.get, paths), here.reveal(here.docs[0]), here.client.get("/explore/")]
        assert {(answer.status_code, answer.text) for answer in answers} == {(status, said)}
    assert here.session.reveals.of("ana") == here.session.reveals.of("lia") == frozenset()


def test_other_pages_neither_read_data_nor_show_anything(here: Here) -> None:
    answers = [here.get("data/collection.js", **ELSEWHERE), here.get("data/query-0.js", **ELSEWHERE)]
    answers.append(here.reveal(here.docs[0], **ELSEWHERE))
    assert {answer.status_code for answer in answers} == {403}
    assert here.session.reveals.of("lia") == frozenset()


@pytest.mark.parametrize(
    "path",
    [
        "none.html", "data/query-999999999.js", "data/query-x.js", "..%2F..%2F..%2Fpool.yaml", "%2Fetc%2Fpasswd",
        "data/..%2Fdata%2Fcollection.js", "data%2Fcollection.js%00",
    ],
)  # fmt: skip
def test_no_other_file_is_served(here: Here, path: str) -> None:
    assert here.get(path).status_code == 404


def test_an_explorer_that_is_no_longer_kept_says_so(here: Here) -> None:
    here.written()
    answer = here.client.get("/explore/0123456789abcdef/data/collection.js")
    assert (answer.status_code, "open it again" in answer.text) == (404, True)


def test_a_pair_that_is_not_in_the_pool_is_not_shown(here: Here) -> None:
    assert here.reveal("no such document").status_code == 409
    assert here.reveal("").status_code == 409


def test_the_page_may_send_to_its_server_alone(here: Here) -> None:
    page = here.get("index.html")
    assert "default-src 'none'; connect-src 'self'; script-src 'self'" in page.text
    assert page.headers["Content-Type"].startswith("text/html")
    assert "reveal?" in here.get("main.js").text


def test_a_failure_is_said_in_a_line_and_its_file_in_the_log(own: Here, caplog: pytest.LogCaptureFixture) -> None:
    (own.session.config.folder / "pool.jsonl.gz").unlink()
    found = explorer(own.session, own.lia, PATIENCE)
    assert found.value is None
    assert "server's log" in str(found.problem)
    assert "quati-pool build" in caplog.text
