"""The app as a person who is signed in has it: Streamlit's script run by AppTest, and the grading page over its API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from httpx2 import Response
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

import annotator_app
from annotator_app import authoring_api, context, grading_api, own_labels_api
from quati_pool.commands.annotate.annotation_pair import label_sha
from quati_pool.commands.annotate.session import AnnotationSession
from tests.patience import PATIENCE

SCRIPT = Path(annotator_app.__file__).with_name("script") / "run.py"

# What the script puts on the page of a response; the words and the frame stay for as long as the page is open.
_PIECES = ("frame", "where", "answers", "notice", "feedback", "pair")


@contextmanager
def as_person(session: AnnotationSession, token: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    """The app as whoever holds ``token`` sees it, before its first run."""
    context.use(session)
    monkeypatch.setattr(context, "token", lambda: token)
    try:
        yield AppTest.from_file(str(SCRIPT), default_timeout=PATIENCE)
    finally:
        context.use(None)


def shown(app: AppTest) -> str:
    """All HTML that is on the page."""
    return "\n".join(element.proto.body for element in app.get("html"))


class Ids(NamedTuple):
    """A pair."""

    query_id: str
    doc_id: str


class Button(NamedTuple):
    """A button of the grading page; ``stages`` are those in which it is visible."""

    name: str
    does: str
    value: str
    key: str
    stages: frozenset[str]


class GradingPage:
    """The grading page without a browser: sends what ``assets/grading.js`` sends, and keeps what it would show."""

    def __init__(self, session: AnnotationSession, token: str | None, language: str = "en") -> None:
        self.client = client(session, token, language)
        self.view: dict[str, Any] = {}
        self.status = 0
        self._session = session

    def send(self, step: str, **fields: Any) -> dict[str, Any]:
        """Sends a request; what its response holds is shown, and the rest of the page stays."""
        response = post(self.client, step, fields)
        self.status = response.status_code
        found = response.json()
        assert isinstance(found, dict)
        self.view |= found
        return found

    def open(self) -> GradingPage:
        self.send("open")
        return self

    def answer(self, **fields: Any) -> dict[str, Any]:
        """Sends an answer to what is asked; ``fields`` replace or add to what the script would send."""
        step = "second" if self.view["stage"] == "reveal" else "answer"
        return self.send(step, **{**self.asked, "active": 4.25, "elapsed": 9.5, "evidence": [], **fields})

    @property
    def asked(self) -> dict[str, Any]:
        """What the page refers to its pair by, and the nonce of an answer to it."""
        return {name: self.view[name] for name in ("item", "sha", "nonce")}

    def grade(self, relevance: int, **fields: Any) -> dict[str, Any]:
        return self.answer(status="ok", relevance=relevance, **fields)

    def later(self) -> dict[str, Any]:
        return self.answer(status="skipped")

    def cannot(self, reason: str, note: str | None = None) -> dict[str, Any]:
        return self.answer(status="unsure", reason=reason, note=note)

    def go_on(self) -> dict[str, Any]:
        return self.send("next")

    def undo(self) -> dict[str, Any]:
        return self.send("undo", nonce=self.view["nonce"])

    def highlight(self, on: bool) -> str:
        """The pair as it is drawn then."""
        drawn = self.send("highlight", on=on, item=self.view["item"], sha=self.view["sha"])["drawn"]
        assert isinstance(drawn, str)
        self.view["pair"] = drawn
        return drawn

    @property
    def html(self) -> str:
        """All that is on the page, in sight or not."""
        return "\n".join(self.view.get(piece, "") for piece in _PIECES)

    @property
    def text(self) -> str:
        """The texts of ``html``, each on a line."""
        return "\n".join(_Reader(self.html).texts)

    @property
    def ids(self) -> Ids:
        """The pair that is asked about, which the page itself does not know; found by its texts."""
        pool = self._session.pool_view
        for ids in (Ids(query_id, doc_id) for query_id in pool.query_ids for doc_id in pool.doc_ids(query_id)):
            found = self._session.pair(*ids)
            if found is not None and label_sha(found) == self.view["sha"]:
                return ids
        raise AssertionError("what is asked about is no pair of the pool")

    @property
    def passage(self) -> str:
        """The text of the passage, hidden characters as they are shown."""
        return "".join(_Reader(self.view["pair"]).passage)

    @property
    def buttons(self) -> list[Button]:
        """Those that are visible at this stage."""
        return [one for one in _Reader(self.view["frame"]).buttons if self.view["stage"] in one.stages]


def client(session: AnnotationSession, token: str | None, language: str = "en") -> TestClient:
    """A browser over the APIs of the pages' scripts alone; ``token`` is that of its cookie."""
    cookies = {} if token is None else {context.COOKIE: token}
    apis = (grading_api, authoring_api, own_labels_api)
    app = Starlette(routes=[route for api in apis for route in api.routes(session)])
    return TestClient(app, cookies=cookies, headers={"Accept-Language": language})


def post(client: TestClient, step: str, fields: object, folder: str = "grading") -> Response:
    """Sends JSON as a browser does: half a surrogate pair as an escape."""
    return client.post(f"/{folder}/{step}", content=json.dumps(fields), headers={"Content-Type": "application/json"})


class _Reader(HTMLParser):
    """Reads the texts and buttons of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.passage: list[str] = []
        self.buttons: list[Button] = []
        self._open: list[tuple[str, dict[str, str]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag not in ("input", "br", "hr"):
            self._open.append((tag, found))
        if tag == "button":
            around = [here["data-stages"] for _, here in self._open if "data-stages" in here]
            stages = frozenset.intersection(*(frozenset(one.split()) for one in around)) if around else frozenset("*")
            self.buttons.append(
                Button("", found["data-do"], found["data-value"], found.get("data-key", ""), stages),
            )

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        tags = [tag for tag, _ in self._open]
        if any("passage" in here.get("class", "").split() for _, here in self._open):
            self.passage.append(data)
        if "button" in tags and "kbd" not in tags:
            self.buttons[-1] = self.buttons[-1]._replace(name=self.buttons[-1].name + data)
