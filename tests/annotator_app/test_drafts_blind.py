"""Drafts of a model and its translations in the app: people decide on them, and nothing says which model it was."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import annotator_app.pages
from annotator_app import context, words
from quati_pool.commands.annotate.drafts.drafting import DraftOptions, draft
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.project.events import Listener
from tests.annotator_app import authored
from tests.annotator_app.authored import EVALUATION, PARAPHRASE, VALIDATION, WritingPage, question_set
from tests.annotator_app.opened import client, shown
from tests.annotator_app.test_lead_pages import page as page_of
from tests.commands.annotate.drafts.drafting import with_judge
from tests.llm.server import ServerProcess

pytestmark = pytest.mark.slow

MODEL, JUDGE = "fake-canary-7b", "canaryjudge"
DRAFTS = "A draft by a model"
PAGES = sorted(one.stem for one in Path(annotator_app.pages.__path__[0]).glob("[a-z]*.py"))


def with_model(path: Path, **settings: Any) -> Path:
    """Names the model and the judge so that they are found wherever they are shown."""
    with_judge(path, model=MODEL, prices=None, **settings)
    text = path.read_text(encoding="utf-8").replace("fake:", f"{JUDGE}:").replace("  prices: null\n", "")
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def path(server: ServerProcess, tmp_path: Path) -> Path:
    return with_model(authored.workspace(tmp_path / "written", translator=JUDGE, edited=0.0))


@pytest.fixture
def session(path: Path) -> Iterator[AnnotationSession]:
    """Three drafts, one of each text."""
    found = draft(path, DraftOptions("passages", JUDGE, 3), Listener())
    assert found.waiting == 3
    with authored.opened(path) as opened:
        for name in ("ana", "bia"):
            authored.token(opened, name)
        authored.token(opened, "lea", "lead")
        yield opened


def canaries(session: AnnotationSession) -> set[str]:
    """What must be on no page: the model's and the judge's name, and the versions of what was registered."""
    assert session.authoring is not None
    versions = {one.drafted_by for one in session.authoring.items() if one.drafted_by is not None}
    assert versions
    return {MODEL, "canary", JUDGE, "drafted_by", *versions}


def everything_on(name: str, token: str, session: AnnotationSession, monkeypatch: pytest.MonkeyPatch) -> str:
    """All that a page sends to a browser."""
    context.use(session)
    try:
        app = page_of(name, token, monkeypatch)
    finally:
        context.use(None)
    return "\n".join([shown(app), *(str(getattr(block, "proto", block)) for block in app.main)])


class Watching:
    """A page of which everything that it is sent is kept."""

    def __init__(self, session: AnnotationSession, token: str) -> None:
        self.page = WritingPage(session, token)
        self.sent: list[str] = []
        self.send("open")

    def send(self, step: str, **fields: Any) -> dict[str, Any]:
        found = self.page.send(step, **fields)
        self.sent.append(json.dumps(found, ensure_ascii=False))
        return found

    def give(self, content: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
        """Sends a form, and again with every doubt confirmed."""
        form = self.page.form(content, **fields)
        found = self.send("send", **form)
        reasons = [one["reason"] for one in found.get("doubts", ())]
        return self.send("send", **{**form, "confirmed": reasons}) if reasons else found

    def until(self, title: str) -> None:
        for _ in range(12):
            if self.page.title == title:
                return
            self.send("later", **self.page.task)
        raise AssertionError(f"{title} does not come; there is: {self.page.title}")


def test_drafts_are_accepted_edited_and_refused_blind_to_the_model(
    session: AnnotationSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana = Watching(session, "token-of-ana")
    assert ana.page.title == DRAFTS  # what is begun is finished first
    assert "Accept" in ana.page.text
    form = ana.page.view["prefilled"]
    assert form.keys() == {"question.pt", "answer.pt", "question.en", "answer.en", "evidence"}
    ana.give(form)
    form = ana.page.view["prefilled"]
    ana.give({**form, "question.en": "Where do whales give birth?"})
    undone = ana.send("undo", seq=ana.page.view["undoable"], nonce=ana.page.view["nonce"])
    assert undone["filled"]["question.en"] == "Where do whales give birth?"
    ana.give(undone["filled"])
    assert ana.page.title == DRAFTS
    refused = {"reason": "other", "comment": None}
    assert ana.send("refuse", **ana.page.task, **refused)["refused"]["field"] == "comment"
    ana.send("refuse", **ana.page.task, **{**refused, "comment": "It is about nothing."})
    lea = Watching(session, "token-of-lea")
    assert lea.page.title != DRAFTS
    (out,) = [one for one in session.authoring.items("question") if one.state == "out"]  # type: ignore[union-attr]
    assert out.reason == "other"
    # Whoever decided on a draft does not assess it: bia does.
    bia = Watching(session, "token-of-bia")
    assert bia.page.title == "Answer from the text alone"
    for content in (VALIDATION, EVALUATION, PARAPHRASE):
        bia.give(content)
    assert "Answer from" not in ana.page.html
    found = "\n".join(ana.sent + bia.sent + lea.sent)
    for name in ("token-of-ana", "token-of-lea"):
        for page in PAGES:
            found += everything_on(page, name, session, monkeypatch)
    visitor = client(session, "token-of-lea")
    for kind in ("questions?format=jsonl", "questions?format=tsv", "labels", "grades"):
        found += visitor.get(f"/download/{kind}").text
    assert not [one for one in canaries(session) if one in found]
    assert "A draft by a model" in found


def test_a_refused_draft_can_be_restored(session: AnnotationSession) -> None:
    from quati_pool.commands.annotate.authoring import overview

    ana = Watching(session, "token-of-ana")
    ana.send("refuse", **ana.page.task, reason="copied", comment=None)
    found = overview.rounds_overview(session, "token-of-lea")
    (out,) = found.out
    assert (out.reason, out.by, out.restorable) == ("copied", "ana", True)
    overview.restore(session, "token-of-lea", out.item_id, "n1")
    assert not overview.rounds_overview(session, "token-of-lea").out
    (one,) = [one for one in session.authoring.items("question") if one.item_id == out.item_id]  # type: ignore[union-attr]
    assert one.state == "open"


def test_a_translation_is_offered_marked_and_confirmed(
    server: ServerProcess, session: AnnotationSession, path: Path
) -> None:
    ana = Watching(session, "token-of-ana")
    ana.until("A question and its answer")
    assert ana.page.view["pair"].count('data-do="translate"') == 2
    assert "I have checked it" in ana.page.text
    half = {name: text for name, text in question_set().items() if not name.endswith(".en")}
    found = ana.send("translate", **ana.page.task, language="en", content=half)
    assert found.keys() == {"translated", "failed"}
    assert (found["translated"].keys(), found["failed"]) == ({"question.en", "answer.en"}, [])
    machine = {name: {"request": one["request"]} for name, one in found["translated"].items()}
    content = {**half, **{name: one["text"] for name, one in found["translated"].items()}}
    refused = ana.give(content, machine=machine)["refused"]
    assert refused["field"] == "question.en"
    assert refused["text"] == words.messages("en")["authoring.refused.unconfirmed"]
    assert ana.give(content, machine={name: {**one, "checked": True} for name, one in machine.items()})["stored"]
    undone = ana.send("undo", seq=ana.page.view["undoable"], nonce=ana.page.view["nonce"])
    assert {name: one["edited"] for name, one in undone["machine"].items()} == {
        "question.en": False,
        "answer.en": False,
    }
    # A server that says its model's name in an error is quoted in the log alone.
    server.script(default="400")
    broken = ana.send("translate", **ana.page.task, language="en", content={"question.pt": "Onde fica o farol?"})
    assert broken == {"translated": {}, "failed": [words.messages("en")["authoring.not_translated.failed"]]}
    nothing = ana.send("translate", **ana.page.task, language="en", content={})
    assert nothing["refused"]["text"] == words.messages("en")["authoring.refused.nothing_to_translate"]
    sent = "\n".join(ana.sent)
    assert not [one for one in canaries(session) if one in sent]


def test_a_slow_translation_keeps_nobody_waiting(server: ServerProcess, session: AnnotationSession) -> None:
    """While as many people as have threads wait for a model, another one's forms are stored."""
    import threading

    ana = WritingPage(session, "token-of-ana").open()
    ana.until("A question and its answer")
    bia = WritingPage(session, "token-of-bia").open()
    server.script(default="late 2")
    half = {"question.pt": "Onde fica o farol da ilha?"}
    done: list[dict[str, Any]] = []

    def ask() -> None:
        done.append(ana.send("translate", **ana.task, language="en", content=half))

    waiting = threading.Thread(target=ask)
    waiting.start()
    bia.give(bia.view["prefilled"])
    assert bia.status == 200
    assert not done
    waiting.join()
    assert done[0]["translated"].keys() == {"question.en"}


def test_without_a_translator_nothing_is_offered(server: ServerProcess, tmp_path: Path) -> None:
    with authored.opened(authored.workspace(tmp_path / "plain")) as session:
        authored.token(session, "ana")
        ana = WritingPage(session, "token-of-ana").open()
        assert "translate" not in json.dumps(ana.view)
        half = {"question.pt": "Onde?"}
        assert "refused" in ana.send("translate", **ana.task, language="en", content=half)
