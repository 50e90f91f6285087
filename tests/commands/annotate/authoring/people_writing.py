"""People who do whatever task they get until none is left, and Pirá's own questions for them to write."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quati_pool.annotation.authoring.forms import at_path
from quati_pool.commands.annotate.authoring import work
from quati_pool.commands.annotate.authoring.step import WritingStep
from quati_pool.commands.annotate.session import AnnotationSession
from tests.commands.annotate.authoring.rounds import nonce, opened, sent, workspace
from tests.commands.annotate.writers import sign_in
from tests.shared_data import shared


class Refused(NamedTuple):
    """A refusal in place of a form."""

    reason: str
    comment: str | None = None


class Finished(NamedTuple):
    """No more of this text."""


Answer = Callable[[str, WritingStep], Mapping[str, Any] | Refused | Finished | None]

LEAD, WRITERS = "lia", ("ana", "bia", "caio", "davi")
_ALL = frozenset({"similar", "decontextualised"})


def work_off(session: AnnotationSession, tokens: Mapping[str, str], answer: Answer) -> int:
    """Everybody in turn does what they are shown, as ``answer`` says by name and step, until nobody gets anything; a
    person for whom it is None leaves. Returns the number of forms that were stored."""
    done, present = 0, list(tokens)
    while present:
        for name in list(present):
            shown = work.next_step(session, tokens[name])
            given = None if shown is None else answer(name, shown)
            if shown is None or given is None:
                present.remove(name)
                continue
            present = list(tokens) if present != list(tokens) else present
            if isinstance(given, Finished):
                work.end(session, tokens[name], shown.item, shown.sha, nonce())
            elif isinstance(given, Refused):
                work.refuse(
                    session, tokens[name], shown.item, shown.number, shown.sha, given.reason, given.comment, nonce()
                )
            else:
                seconds = {"active_seconds": float(10 + done % 5), "elapsed_seconds": float(20 + done % 5)}
                outcome = work.submit(session, tokens[name], sent(shown, given, confirmed=_ALL, **seconds))
                assert outcome.seq is not None, outcome.doubts
            done += 1
    return done


def prefilled(shown: WritingStep) -> dict[str, Any]:
    """The form as it is, with the texts that its fields begin with."""
    fields = [field for field in shown.step.fields if field.kind != "spans"]
    return {field.name: at_path(shown.shown, str(field.prefilled)) for field in fields}


def pira_rows(texts: int, most: int) -> list[dict[str, str]]:
    """Complete rows of Pirá's validation file on its first ``texts`` texts that have some, ``most`` of a text."""
    with shared("pira/validation.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if all(row[name] for name in row if name not in _MAY_BE_EMPTY)]
    by_text: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        if len(by_text) < texts or row["abstract"] in by_text:
            by_text[row["abstract"]].append(row)
    # Texts with two questions first, as most have one.
    chosen = sorted(by_text.values(), key=lambda found: -len(found))
    return [row for found in chosen for row in found[:most]]


_MAY_BE_EMPTY = {"", "eid_article_scopus", "at_labels"}


def pira_workspace(folder: Path, rows: Sequence[Mapping[str, str]], **changes: Any) -> Path:
    """A workspace whose sources are the texts of these rows."""
    texts = {
        row["abstract"]: {
            "doc_id": f"T{row['id_qa']}",
            "corpus": row["corpus"],
            "eid_article_scopus": row["eid_article_scopus"],
            "en": row["abstract"],
            "pt": row["abstract_translated_pt"],
        }
        for row in rows
    }
    sources = {"path": "texts.csv", "text": {"pt": "pt", "en": "en"}, "keep": ["corpus", "eid_article_scopus"]}
    return workspace(folder, list(texts.values()), **{"sources": sources, **changes})


class PiraPeople:
    """Answers every step as Pirá's people did; each question is written once."""

    def __init__(self, rows: Sequence[Mapping[str, str]]) -> None:
        self._of_text: dict[str, list[Mapping[str, str]]] = defaultdict(list)
        for row in rows:
            self._of_text[row["abstract"]].append(row)
        self._of_question = {row["question_en_origin"].strip(): row for row in rows}

    def __call__(self, name: str, shown: WritingStep) -> Mapping[str, Any] | Refused | Finished | None:
        step = shown.step.name
        if step == "subject":
            return {"related": True}
        if step == "set":
            left = self._of_text[shown.shown["text"]["en"]]
            return self._set(left.pop(0)) if left else Finished()
        if step in ("accept", "choices"):
            return {"text": shown.shown["text"]} if step == "accept" else {}
        row = self._of_question[shown.shown["question"]["en"]]
        if step == "edit":
            return self._set(row)
        if step == "validation":
            return {f"validation.{language}": row[f"answer_{language}_validate"] for language in ("pt", "en")}
        if step == "evaluation":
            return self._evaluation(row)
        if step == "paraphrase":
            return {f"paraphrase.{language}": row[f"question_{language}_paraphase"] for language in ("pt", "en")}
        assert step == "curate"
        return prefilled(shown)

    def _set(self, row: Mapping[str, str]) -> dict[str, Any]:
        return {
            f"{what}.{language}": row[f"{what}_{language}_origin"]
            for what in ("question", "answer")
            for language in ("pt", "en")
        }

    def _evaluation(self, row: Mapping[str, str]) -> dict[str, Any]:
        return {
            "generic": row["question_generic"] == "1.0",
            "in_text": row["answer_in_text"] == "1.0",
            "sense": int(float(row["question_meaningful"])),
            "hard": int(float(row["answer_difficulty"])),
            "equivalent": int(float(row["answer_equivalent"])),
            "type": row["question_type"].lower() if row["question_type"] != "None of the above" else "none",
        }


def signed_in(session: AnnotationSession, *names: str) -> dict[str, str]:
    """A lead and people of these names, with the tokens of their sign-ins."""
    leads = {LEAD: sign_in(session, LEAD, "lead")}
    return leads | {name: sign_in(session, name) for name in names or WRITERS}


def written_by_pira(folder: Path, rows: Sequence[Mapping[str, str]], **changes: Any) -> Path:
    """A workspace in which these rows went through all rounds."""
    path = pira_workspace(folder, rows, **changes)
    with opened(path) as session:
        work_off(session, signed_in(session), PiraPeople(rows))
    return path


def accept_all(path: Path, answer: Answer | None = None) -> int:
    """What was derived goes to a new person, who accepts everything by default; returns the number of their forms."""
    with opened(path) as session:
        name = f"eva{len(session.people.all())}"
        return work_off(session, {name: sign_in(session, name)}, answer or PiraPeople(()))
