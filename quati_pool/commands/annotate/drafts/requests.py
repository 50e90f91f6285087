"""What a model is asked for a draft: what it is written from, the texts that it consists of, and the request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quati_pool.llm.answer_prompts import WRITING, AnswerPrompt, AnswerRequest, RecordForm, load_answer_prompt

_PROMPTS = ("pt", "en", "es")
_OWN_NAMES = {"pt": "português", "en": "English", "es": "español"}


class DraftText(NamedTuple):
    """One text of a draft. ``role`` is what the prompt knows it by, such as question; ``language`` is None where that
    of the material is meant; texts of the same role and language have a ``number`` each."""

    role: str
    language: str | None
    number: int | None = None

    @property
    def name(self) -> str:
        """The text's name in the JSON object that the model writes, such as ``question_pt``."""
        return "_".join(str(part) for part in (self.role, self.number, self.language) if part is not None)

    @property
    def field(self) -> str:
        """The text's name where it is stored, such as ``question.pt``."""
        return ".".join(str(part) for part in (self.role, self.number, self.language) if part is not None)


class DraftSource(NamedTuple):
    """What one draft is written from. ``fields`` are what the prompt shows; ``texts`` those whose words a question must
    not copy, by language (None: in the language of the question); ``place`` is where the draft belongs."""

    source_id: str
    fields: Mapping[str, str]
    texts: Mapping[str | None, str]
    place: Any


class DraftRequests:
    """The requests for drafts of the same texts, one for each source; meets ``ModelQuestions``."""

    def __init__(
        self, label: str, kind: str, languages: Sequence[str | None], texts: Sequence[DraftText],
        sources: Sequence[DraftSource],
    ) -> None:  # fmt: skip
        """``kind`` is that of the prompt, which is in the first of the collection's ``languages`` or else in
        English."""
        self.label = label
        self.texts = texts
        self.sources = {source.source_id: source for source in sources}
        self._prompt = writing_prompt(kind, languages)
        self._form = RecordForm(tuple(text.name for text in texts))
        self._fields = listed_fields(self._prompt, texts)

    @property
    def ids(self) -> Sequence[str]:
        return list(self.sources)

    def request(self, source_id: str, /) -> AnswerRequest:
        return self._prompt.request({**self.sources[source_id].fields, "fields": self._fields}, self._form)


def prompt_language(languages: Sequence[str | None]) -> str:
    """The language of the prompts for a collection: its first one, or English where there is no prompt in that."""
    first = next(iter(languages), None)
    return first if first in _PROMPTS else "en"


def writing_prompt(kind: str, languages: Sequence[str | None]) -> AnswerPrompt:
    """The prompt of a kind, such as ``passage``, for a collection in these languages."""
    return load_answer_prompt(f"{kind}-{prompt_language(languages)}", WRITING.folder)


def listed_fields(prompt: AnswerPrompt, texts: Sequence[DraftText]) -> str:
    """The lines by which a prompt names the texts that it asks for."""
    lines = []
    for text in texts:
        language = "" if text.language is None else f" ({_OWN_NAMES.get(text.language, f'ISO 639-1: {text.language}')})"
        lines.append(f'- "{text.name}"{language}: {prompt.roles[text.role]}')
    return "\n".join(lines)
