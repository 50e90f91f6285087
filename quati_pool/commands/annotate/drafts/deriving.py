"""What a model derives from finished questions: paraphrases of them and of their answers, and translations of texts."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from quati_pool.annotation.authoring import text_checks
from quati_pool.annotation.authoring.pira import QUESTION, TEXT, Pira
from quati_pool.commands.annotate.authoring.records import Record, Records
from quati_pool.commands.annotate.drafts.drafters import registered_drafter
from quati_pool.commands.annotate.drafts.report import Asked
from quati_pool.commands.annotate.drafts.requests import DraftRequests, DraftSource, DraftText, writing_prompt
from quati_pool.commands.llm_runs import check_budget
from quati_pool.commands.model_answers.asking import ask, chosen_answerer
from quati_pool.llm.answer_prompts import AnswerRequest
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.store.database import Store
from quati_pool.text.typed import UnprintableError, has_words, typed_line, typed_lines

PARAPHRASES = (1, 2)
"""The numbers of the paraphrases of each question and answer, as Pirá 2.0 has two."""

LONGEST = 20_000
"""The most characters of a derived text."""


class DerivedText(NamedTuple):
    """A text that a model derived from the record ``parent``, under the name of its field, with the version of the
    drafter."""

    parent: Record
    field: str
    text: str
    drafted_by: str


@dataclass(eq=False)
class DerivedByModel(Asked):
    """What a model was asked to derive, in so many ``requests``: the ``texts`` that it wrote, how many were
    ``held_back``, by reason, how many requests ``failed``, by state, and how many were ``not_asked``."""

    texts: list[DerivedText] = field(default_factory=list)
    held_back: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    not_asked: int = 0
    requests: int = 0


class _Wanted(NamedTuple):
    """Requests of one kind for the texts of ``fields``, from ``origins``: by source_id the record and the text that the
    answer derives from."""

    requests: DraftRequests
    fields: Sequence[str]
    origins: Mapping[str, tuple[Record, str]]
    drafted_by: str


class _AllRequests:
    """Requests of several kinds, asked for in one run."""

    label = "derive"

    def __init__(self, wanted: Sequence[_Wanted]) -> None:
        self._requests = {source_id: one.requests for one in wanted for source_id in one.requests.ids}

    @property
    def ids(self) -> Sequence[str]:
        return list(self._requests)

    def request(self, source_id: str, /) -> AnswerRequest:
        return self._requests[source_id].request(source_id)


def derive_by_model(
    records: Records,
    design: Pira,
    store: Store,
    model: str,
    listener: Listener,
    budget: float | None = None,
    stop: threading.Event | None = None,
) -> DerivedByModel:
    """Asks a model (a judge of pool.yaml) for two paraphrases of each finished question and of its answers, in every
    language, and for translations of the texts that lack a language.

    Each is asked for once, and is in the journal of ``cache/drafts`` before this returns. Raises QuatiPoolError where
    nothing can be asked; what ends a run that has begun is in the result.
    """
    check_budget(budget)
    config = records.config
    answerer = chosen_answerer(config, model)
    versions = {
        kind: registered_drafter(store, answerer, writing_prompt(kind, design.languages))
        for kind in ("paraphrase", "translate")
    }
    wanted = list(_wanted(records, design, versions))
    found = DerivedByModel(model, answerer.parameters.model)
    questions = _AllRequests(wanted)
    found.requests = len(questions.ids)
    if not questions.ids:
        return found
    journal = Workspace(config.folder).drafting(f"{model}.jsonl")
    answers = ask(questions, answerer, journal, listener, budget, stop)
    found.count(answers, found.requests, budget, "text", "everything")
    for one in wanted:
        for source_id, (parent, origin) in one.origins.items():
            if source_id in answers.failed:
                found.failed[answers.failed[source_id].partition(":")[0]] += 1
            elif source_id not in answers.values:
                found.not_asked += 1
            else:
                _take(found, one, parent, origin, answers.values[source_id])
    return found


def _wanted(records: Records, design: Pira, versions: Mapping[str, str]) -> Iterator[_Wanted]:
    questions = records.of(QUESTION, kept=True)
    for language in design.languages:
        texts = [DraftText("paraphrase", language, number) for number in PARAPHRASES]
        for name, role in (("paraphrase", "question"), ("answer_paraphrase", "answer")):
            origins, sources = {}, []
            for one in questions:
                if (text := one[role].get(language)) is None:
                    continue
                source_id = f"{one['item_id']}:{name}.{language}"
                origins[source_id] = one, text
                brief = one["question"].get(language, "") if role == "answer" else ""
                sources.append(DraftSource(source_id, {"wording": text, "brief": brief}, {}, None))
            requests = DraftRequests("derive", "paraphrase", design.languages, texts, sources)
            fields = [f"{name}.{number}.{language}" for number in PARAPHRASES]
            yield _Wanted(requests, fields, origins, versions["paraphrase"])
        lacking = [one for one in records.of(TEXT) if language not in one["text"]]
        origins = {
            f"{one['item_id']}:translation.text.{language}": (one, next(iter(one["text"].values()))) for one in lacking
        }
        sources = [DraftSource(source_id, {"wording": text}, {}, None) for source_id, (_, text) in origins.items()]
        requests = DraftRequests("derive", "translate", design.languages, [DraftText("translation", language)], sources)
        yield _Wanted(requests, [f"translation.text.{language}"], origins, versions["translate"])


def _take(found: DerivedByModel, wanted: _Wanted, parent: Record, origin: str, texts: Sequence[str]) -> None:
    """Takes what was written for one request, without what is held back: people would have to refuse it."""
    kept: list[str] = []
    for name, text in zip(wanted.fields, texts, strict=True):
        question = name.startswith("paraphrase")
        try:
            text = typed_line(" ".join(text.split())) if question else typed_lines(text)
        except UnprintableError:
            found.held_back["control"] += 1
            continue
        if not has_words(text):
            found.held_back["empty"] += 1
        elif len(text) > LONGEST:
            found.held_back["long"] += 1
        elif "paraphrase" in name and any(text_checks.same_words(text, other) for other in (origin, *kept)):
            found.held_back["same_words"] += 1
        else:
            kept.append(text)
            found.texts.append(DerivedText(parent, name, text, wanted.drafted_by))
