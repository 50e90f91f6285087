"""A workspace whose questions are written in Pirá's rounds, from texts in two languages, and people who write them."""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from starlette.testclient import TestClient

from quati_pool.annotation.codes import token_sha
from quati_pool.commands.annotate.authoring.sources import open_rounds
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.records import Role
from tests.annotator_app.opened import client, post

TEXTS = {
    "A1": (
        "O manguezal do estuário guarda carbono no solo lodoso. Cada hectare retém mil toneladas. "
        "As raízes do mangue seguram a lama quando a maré baixa.",
        "The mangrove of the estuary stores carbon in its muddy soil. Each hectare holds a thousand tonnes. "
        "The roots hold the mud at low tide.",
    ),
    "A2": (
        "As baleias jubarte chegam a Abrolhos em julho. Elas ficam até novembro para ter filhotes.",
        "Humpback whales arrive at Abrolhos in July. They stay until November to give birth.",
    ),
    "A3": (
        "O petróleo do pré-sal fica abaixo de dois quilômetros de sal. Foi descoberto em 2006.",
        "Pre-salt oil lies beneath two kilometres of salt. It was discovered in 2006.",
    ),
}
"""Texts in Portuguese and English, by id."""


def workspace(
    folder: Path,
    texts: Mapping[str, tuple[str, str]] = TEXTS,
    annotation: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Path:
    """Writes a workspace without systems; ``settings`` are those of ``authoring:``. Returns its pool.yaml."""
    folder.mkdir(parents=True)
    with (folder / "texts.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["doc_id", "abstract_pt", "abstract", "corpus"])
        writer.writerows([doc_id, *text, "1"] for doc_id, text in texts.items())
    authoring = {
        "design": "pira",
        "languages": ["pt", "en"],
        "sources": {
            "path": "texts.csv",
            "text": {"pt": "abstract_pt", "en": "abstract"},
            "keep": ["corpus"],
        },
        **settings,
    }
    config = {"name": "written", "authoring": authoring, "annotation": dict(annotation or {})}
    path = folder / "pool.yaml"
    path.write_text(yaml.safe_dump(config, allow_unicode=True), encoding="utf-8")
    return path


def opened(path: Path) -> AnnotationSession:
    """The workspace with its texts in the rounds."""
    session = AnnotationSession.open(path)
    open_rounds(session)
    return session


def token(session: AnnotationSession, name: str, role: Role = "assessor") -> str:
    """Makes a person who is signed in, and gives their token."""
    session.people.add(name, role, f"H-{name}", "none")
    made = f"token-of-{name}"
    session.people.sign_in(name, token_sha(made), 3600)
    return made


def question_set(number: int = 1) -> dict[str, Any]:
    """A filled form of creation; numbers of up to 20 make questions that are not alike."""
    what = _WORDS[number - 1]
    return {
        "question.pt": f"Onde fica {what[0]} quando a maré sobe?",
        "answer.pt": f"Fica perto de {what[0]}.",
        "question.en": f"Where is {what[1]} when the tide rises?",
        "answer.en": f"It is near {what[1]}.",
        "evidence": [{"language": "pt", "start": 0, "end": 11}],
    }


EVALUATION = {"generic": False, "in_text": True, "sense": 5, "hard": 2, "equivalent": 4, "type": "where"}
PARAPHRASE = {"paraphrase.pt": "Em que lugar isso se encontra?", "paraphrase.en": "At which place can one find it?"}
VALIDATION = {"validation.pt": "Perto da lama.", "validation.en": "Close to the mud."}

_WORDS: Sequence[tuple[str, str]] = (
    ("o barco azul do pescador", "the blue boat of the fisherman"),
    ("uma colônia de corais vermelhos", "a colony of red corals"),
    ("esse farol abandonado", "that abandoned lighthouse"),
    ("cada ninho das tartarugas", "every nest of turtles"),
)


class WritingPage:
    """The page where people write without a browser: sends what ``assets/authoring.js`` sends, and keeps what it would
    show."""

    def __init__(self, session: AnnotationSession, token: str | None, language: str = "en") -> None:
        self.client: TestClient = client(session, token, language)
        self.view: dict[str, Any] = {}
        self.status = 0

    def send(self, step: str, **fields: Any) -> dict[str, Any]:
        """Sends a request; what its response holds is shown, and the rest of the page stays."""
        response = post(self.client, step, fields, "authoring")
        self.status = response.status_code
        found = response.json()
        assert isinstance(found, dict)
        self.view |= found
        return found

    def open(self) -> WritingPage:
        self.send("open")
        return self

    @property
    def task(self) -> dict[str, Any]:
        """What the page refers to its step by, and the nonce of a form for it."""
        return {name: self.view[name] for name in ("item", "number", "sha", "nonce")}

    def form(self, content: Any, **fields: Any) -> dict[str, Any]:
        """What the script sends for a form."""
        return {**self.task, "content": content, "confirmed": [], "active": 4.25, "elapsed": 9.5, **fields}

    def give(self, content: Any, **fields: Any) -> dict[str, Any]:
        return self.send("send", **self.form(content, **fields))

    def confirm(self, content: Any, **fields: Any) -> dict[str, Any]:
        """Sends a form, and once more if there are doubts, with all of them confirmed."""
        found = self.give(content, **fields)
        reasons = [one["reason"] for one in found.get("doubts", ())]
        return self.give(content, confirmed=reasons, **fields) if reasons else found

    @property
    def title(self) -> str:
        """What is to be done."""
        found = re.search(r'<h1(?: class="step-title")?>(.*?)</h1>', self.view["pair"])
        assert found is not None
        return html.unescape(found[1])

    @property
    def html(self) -> str:
        """All that is on the page but the frame."""
        return "\n".join(str(self.view.get(piece, "")) for piece in ("where", "notice", "pair", "bar"))

    @property
    def text(self) -> str:
        """The words of ``html``."""
        return " ".join(html.unescape(re.sub("<[^>]*>", " ", self.html)).split())

    def until(self, title: str) -> WritingPage:
        """Puts off what comes before the step of this title."""
        for _ in range(12):
            if self.title == title:
                return self
            self.send("later", **self.task)
        raise AssertionError(f"{title} does not come; there is: {self.title}")
