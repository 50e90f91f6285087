"""Twenty people in all rounds of writing at once, whose server is killed under them: everything that their
pages called stored is there, once, as they wrote it, and nobody assessed what they wrote."""

from __future__ import annotations

import json
import random
import re
import signal
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Mapping
from http.client import HTTPException
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import pytest

from quati_pool.annotation.authoring.pira import QUESTION, TEXT, TYPES
from quati_pool.commands.annotate.authoring.sources import rounds_of
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.authoring_records import counting
from tests.annotator_app.authored import workspace
from tests.browser.served import Served, code_for, served
from tests.patience import PATIENCE

pytestmark = pytest.mark.kill

LEADS = ["lea", "leo"]
WRITERS = [f"person{number:02}" for number in range(18)]
HOSTILE = "<script>alert(1)</script> {{7*7}} '; DROP TABLE authoring_entries; --"
TEXTS = {
    f"T{number:02}": (f"O mar número {number}. {HOSTILE}", f"The sea number {number}. {HOSTILE}\u202e")
    for number in range(12)
}
SETS = 2
"""The question sets that a person writes from a text."""


class Author(threading.Thread):
    """A person with a page: fills in what it asks for, and sends what got no response again until it does."""

    def __init__(self, app: Served, name: str, code: str, finished: threading.Event) -> None:
        super().__init__(name=name, daemon=True)
        self.sent: dict[str, Mapping[str, Any]] = {}
        """Every form that was ever sent, by its nonce."""
        self.stored: list[str] = []
        """The nonces of those that the page said are stored."""
        self.undos: set[str] = set()
        self.fault: BaseException | None = None
        self.repeated = 0
        self._app = app
        self._finished = finished
        self._chance = random.Random(name)
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self._opener.open(f"{app.address}/sign-in", urllib.parse.urlencode({"code": code}).encode()).close()

    def run(self) -> None:
        try:
            view = self._ask("open", {})
            # Whoever takes the very last step back, does it again.
            while view["stage"] != "end" or not self._finished.is_set():
                if view["stage"] == "end":
                    time.sleep(0.1)
                    view = self._ask("next", {})
                else:
                    view = self._act(view)
        except BaseException as error:  # said by the test, in its own thread
            self.fault = error

    def _act(self, view: dict[str, Any]) -> dict[str, Any]:
        task = {name: view[name] for name in ("item", "number", "sha", "nonce")}
        if view["pair"].count('data-do="take_back"') >= SETS and 'data-do="end"' in view["bar"]:
            return self._ask("end", task)
        if self._chance.random() < 0.05:
            return self._ask("later", task)
        if 'data-do="because"' in view["bar"] and self._chance.random() < 0.05:
            return self._ask("refuse", {**task, "reason": "other", "comment": f"no {HOSTILE}"})
        form = {**task, "content": self._content(view), "confirmed": [], "active": 1.5, "elapsed": 2.0}
        self.sent[view["nonce"]] = form["content"]
        found = self._ask("send", form)
        if "doubts" in found:
            form["confirmed"] = [one["reason"] for one in found["doubts"]]
            found = self._ask("send", form)
        if self._chance.random() < 0.1:
            found = self._ask("send", form)
            self.repeated += 1
        assert "refused" not in found, found
        if found["stored"] == "given":
            self.stored.append(view["nonce"])
            if found["undoable"] is not None and self._chance.random() < 0.1:
                self.undos.add(found["nonce"])
                return self._ask("undo", {"nonce": found["nonce"], "seq": found["undoable"]})
        return found

    def _content(self, view: Mapping[str, Any]) -> dict[str, Any]:
        """A value for every field of a form, and words of its own for every text."""
        content = dict(view["prefilled"])
        for name, kind in re.findall(r'data-field="([^"]+)" data-kind="([^"]+)"', view["pair"]):
            if kind in ("line", "prose"):
                words = " ".join(f"{self._chance.getrandbits(40):x}" for _ in range(5))
                content[name] = f"{content.get(name, '')} {words} {HOSTILE}".strip()
            elif kind == "yes_no":
                content[name] = self._chance.random() < 0.9
            elif kind == "scale":
                content[name] = self._chance.randint(1, 5)
            elif kind == "choice":
                content[name] = self._chance.choice(TYPES)
            elif name not in content:
                content[name] = [{"language": "en", "start": 4, "end": 7}]
        return content

    def _ask(self, step: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        body = json.dumps(fields).encode()
        headers = {"Content-Type": "application/json", "Origin": self._app.address}
        request = urllib.request.Request(f"{self._app.address}/authoring/{step}", body, headers)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                with self._opener.open(request, timeout=PATIENCE) as response:
                    found = json.load(response)
                    assert isinstance(found, dict)
                    assert found.get("stage") not in ("fault", "signed-out"), found
                    return found
            except urllib.error.HTTPError as error:
                if error.code != 503 or time.monotonic() > end:
                    raise
            except (OSError, HTTPException, json.JSONDecodeError):
                if time.monotonic() > end:
                    raise
            time.sleep(0.05)


def test_twenty_people_in_all_rounds_lose_nothing_when_the_server_is_killed(tmp_path: Path, made_url: str) -> None:
    config = workspace(tmp_path / "sea", TEXTS, subject="the sea", assessors=2, edited=0.5)
    finished = threading.Event()
    roles = {**dict.fromkeys(LEADS, "lead"), **dict.fromkeys(WRITERS, "assessor")}
    with served(config, made_url) as app, AnnotationSession.open(config, made_url) as session:
        _, authoring = rounds_of(session)
        crowd = [
            Author(app, name, code_for(config, name, role, made_url), finished)  # type: ignore[arg-type]
            for name, role in roles.items()
        ]
        for one in crowd:
            one.start()

        def wait(done: Any) -> None:
            end = time.monotonic() + 4 * PATIENCE
            while not done():
                assert time.monotonic() < end, authoring.progress()
                assert not (faults := [one.fault for one in crowd if one.fault is not None]), faults
                time.sleep(0.05)

        for count in (60, 160):
            wait(lambda count=count: sum(len(one.stored) for one in crowd) >= count)
            app.stop(signal.SIGKILL)
            app.start()
        wait(lambda: not any(one.open or one.held for one in authoring.progress()))
        finished.set()
        for one in crowd:
            one.join(PATIENCE)
            assert one.fault is None
        assert "Traceback" not in app.said()
        _check(session, crowd)


def _check(session: AnnotationSession, crowd: list[Author]) -> None:
    _, authoring = rounds_of(session)
    items = {item.item_id: item for item in authoring.items()}
    entries = authoring.entries()
    everything = [entry for of_item in entries.values() for entry in of_item]
    by_seq = {entry.seq: entry for entry in everything}

    # Each form that was confirmed is stored once, as it was written; nothing is stored that nobody sent.
    given: dict[str, list[Any]] = {}
    for entry in everything:
        if entry.action == "given":
            assert entry.nonce is not None
            given.setdefault(entry.nonce.rpartition(":")[2], []).append(entry)
    for one in crowd:
        for nonce in one.stored:
            [entry] = given[nonce]
            assert (entry.by, entry.content) == (one.name, _cleaned(one.sent[nonce]))
    sent = {nonce: one.name for one in crowd for nonce in one.sent}
    assert {nonce: of_nonce[0].by for nonce, of_nonce in given.items()} == {nonce: sent[nonce] for nonce in given}
    undone = [entry for entry in everything if entry.action == "undone"]
    assert {entry.nonce.rpartition(":")[2] for entry in undone if entry.nonce} <= {
        nonce for one in crowd for nonce in one.undos
    }
    assert max(Counter(entry.undoes for entry in undone).values(), default=0) <= 1
    assert len(undone) > 0
    assert sum(one.repeated for one in crowd) > 0

    # Every item is decided, every question has a writer and two other assessors, and no step was stored twice.
    assert {item.state for item in items.values()} <= {"kept", "out"}
    kept = [item for item in items.values() if item.kind == QUESTION and item.state == "kept"]
    related = [item for item in items.values() if item.kind == TEXT and item.state == "kept"]
    assert len(kept) > SETS
    assert len([item for item in items.values() if item.kind == QUESTION and item.reason != "withdrawn_by_author"]) == (
        SETS * len(related)
    )
    for item in kept:
        own = counting(entries[item.item_id])
        assessed = Counter((entry.by, entry.step) for entry in own if entry.round == "assess")
        assert item.made_by is not None
        author = by_seq[item.made_by].by
        assessors = {by for by, _ in assessed}
        assert len(assessors) == 2
        assert author not in assessors
        assert not assessors & set(LEADS)
        assert assessed == Counter({(by, step): 1 for by in assessors for step in range(3)})
        assert {entry.by for entry in own if entry.round in ("edit", "curate")} <= set(LEADS)


def _cleaned(content: Mapping[str, Any]) -> dict[str, Any]:
    """A form as it is stored: with the words of its evidence, which are the same in each text."""
    return {
        name: [{**span, "text": "sea"} for span in value] if name == "evidence" else value
        for name, value in content.items()
    }
