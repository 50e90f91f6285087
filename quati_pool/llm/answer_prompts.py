"""Prompts that ask for an answer or for a draft, requests built from these prompts, and the reading of what comes back.

Prompts are YAML files in ``prompts/answering`` and ``prompts/writing``. All text from a benchmark's or a collection's
files is fenced in the messages (``quati_pool.text.fencing``), so that it cannot be mistaken for the prompt.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import BeforeValidator, Field

from quati_pool.bundled import bundled
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.yaml_file import Model, YamlFile
from quati_pool.registry import nearest
from quati_pool.text.fencing import (
    ANSWERING_FIELDS,
    WRITING_FIELDS,
    fenced,
    neutralised,
    sendable,
    shortened,
)
from quati_pool.text.json_objects import Member, folded, json_objects
from quati_pool.text.prompt_parts import Line, Message, Text, asked_again, checked_template
from quati_pool.text.templates import Template

T = TypeVar("T")

# Characters that may surround a label that is the complete answer: white space, quotes, Markdown.
_BARE = " \t\r\n\"'`*_“”„‘’«»"


class Unreadable(ValueError):  # noqa: N818 - it names a state
    """Raised for an answer from which no single value of the expected form can be read; the message says why, in one
    line."""


@dataclass(frozen=True)
class AnswerForm:
    """The expected form of an answer: ``{"answer": …}``, or ``{"answers": […]}`` for several; each must be one of the
    ``labels`` if there are any."""

    kind: Literal["text", "choice", "texts", "choices"]
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.kind in ("choice", "choices")) != bool(self.labels):
            raise ValueError(f"the form {self.kind!r} has {len(self.labels)} labels; expected labels for choices alone")

    @property
    def key(self) -> str:
        return "answers" if self.kind in ("texts", "choices") else "answer"

    def schema(self) -> dict[str, Any]:
        """The strict JSON schema of an answer."""
        one: dict[str, Any] = {"type": "string"}
        if self.labels:
            one["enum"] = list(self.labels)
        return _strict_schema({self.key: {"type": "array", "items": one} if self.key == "answers" else one})

    def written(self, answer: str | Sequence[str]) -> str:
        """An answer as JSON, as a model would write it."""
        value = answer if isinstance(answer, str) else list(answer)
        return json.dumps({self.key: value}, ensure_ascii=False)

    def read(self, answer_text: str) -> str | tuple[str, ...]:
        """The answer in ``answer_text``: one text, or for several answers a tuple of them in their order.

        The last JSON object with the key counts, wherever it is in the text; nested objects are ignored, and all
        objects are if one is broken. Where the form has labels, an answer must equal one of them, and a single choice
        may also be the complete text. Texts are stripped; of several, empty ones and repeated choices are dropped.
        Raises Unreadable where no unambiguous answer is found.
        """
        found, broken = _last_object(answer_text, (self.key,))
        if found:
            return _one_of(self.key, [self._value(member, answer_text) for member in found[self.key]])
        if self.kind == "choice" and not broken:
            label = _composed(answer_text.strip(_BARE).removesuffix(".").strip(_BARE))
            if label in self._by_label:
                return self._by_label[label]
        raise _missing((self.key,), broken)

    @property
    def _quoted_key(self) -> str:
        return f'"{self.key}"'

    @property
    def _by_label(self) -> dict[str, str]:
        return {_composed(label): label for label in self.labels}

    def _value(self, member: Member, text: str) -> str | tuple[str, ...]:
        value = member.value
        if self.key == "answer":
            return self._label(_text_of(member, text, self.key))
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise Unreadable(
                f"{self._quoted_key} is {shortened(text[member.start : member.end], 40)}, which is no list of texts"
            )
        answers = [self._label(one) for one in value if one.strip()]
        return tuple(dict.fromkeys(answers) if self.labels else answers)

    def _label(self, value: str) -> str:
        # JSON can contain half a surrogate pair, which is not valid text.
        answer = sendable(value).strip()
        if not self.labels:
            return answer
        label = self._by_label.get(_composed(answer))
        if label is None:
            known = ", ".join(self.labels[:10]) + (", …" if len(self.labels) > 10 else "")
            raise Unreadable(
                f"{self._quoted_key} gives {shortened(answer, 40) or 'nothing'}, which is not one of {known}"
            )
        return label


@dataclass(frozen=True)
class RecordForm:
    """The expected form of a draft: a JSON object with a text under each of the ``names``, which are in lower case."""

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.names or len(set(self.names)) < len(self.names) or any(name != folded(name) for name in self.names):
            raise ValueError(f"the form has the names {self.names}; expected different ones in lower case")

    def schema(self) -> dict[str, Any]:
        """The strict JSON schema of a draft."""
        return _strict_schema({name: {"type": "string"} for name in self.names})

    def written(self, texts: str | Sequence[str]) -> str:
        """A draft as JSON, as a model would write it; ``texts`` in the order of the names."""
        return json.dumps(dict(zip(self.names, texts, strict=True)), ensure_ascii=False)

    def read(self, answer_text: str) -> tuple[str, ...]:
        """The texts in ``answer_text``, stripped, in the order of the names.

        The last JSON object that has all names counts, as for ``AnswerForm.read``. Raises Unreadable where no
        unambiguous one is found.
        """
        found, broken = _last_object(answer_text, self.names)
        if not found:
            raise _missing(self.names, broken)
        return tuple(
            _one_of(name, [sendable(_text_of(member, answer_text, name)).strip() for member in found[name]])
            for name in self.names
        )


Form = AnswerForm | RecordForm


@dataclass(frozen=True, eq=False)
class AnswerRequest:
    """The request for one answer: its messages, the form of the answer, and the turn that asks again for an unreadable
    one."""

    messages: Sequence[Mapping[str, str]]
    form: Form
    again: str = "Your answer could not be read. The cause: {problem}. Answer again with the JSON object alone."
    """A template with ``{problem}``."""

    @property
    def definition(self) -> dict[str, Any]:
        """Everything that is sent, and the form of the expected answer."""
        return {
            "messages": [dict(message) for message in self.messages],
            "form": asdict(self.form),
            "again": self.again,
            # Kept, as it is part of the requests in all journals: when the rules change, answers are read again.
            "reading": 1,
        }

    def reask(self, answer: str, problem: str) -> list[Message]:
        """The messages to add when ``answer`` could not be read."""
        return asked_again(Template(self.again, {"problem"}), answer, problem)


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


class PromptFamily(NamedTuple):
    """The prompts of one folder in ``prompts``. ``fields`` are fenced; ``plain`` ones hold words of our own and are
    not. A prompt has all ``needed`` fields, and at least one that is fenced."""

    folder: str
    fields: tuple[str, ...]
    needed: frozenset[str]
    plain: tuple[str, ...] = ()


ANSWERING = PromptFamily("answering", ANSWERING_FIELDS, frozenset({"question"}))
WRITING = PromptFamily("writing", WRITING_FIELDS, frozenset({"fields"}), ("fields",))
_FOLDERS = {family.folder: family for family in (ANSWERING, WRITING)}


class AnswerPrompt(Model):
    """The prompt in one file. ``user`` contains fields of its family, each in its own paragraph: for answering
    ``{question}`` and optionally ``{text}``, ``{options}`` and ``{candidates}``; for writing ``{fields}``, and of
    ``{source}``, ``{brief}`` and ``{wording}`` at least one.

    ``labels`` are the answers that the prompt itself names (for a yes-no question: yes, then no), ``roles`` (in the
    file: ``fields``) what each text of a draft is to be, by its role; ``reask`` contains ``{problem}``.
    """

    id: Line
    version: Annotated[int, Field(ge=1)]
    language: Line
    summary: Line
    labels: Annotated[tuple[Line, ...], BeforeValidator(_as_tuple)] = ()
    roles: dict[Line, Line] = Field(default_factory=dict, alias="fields")
    system: Text
    user: Text
    again: Annotated[Text, Field(alias="reask")]
    path: Path
    family: PromptFamily

    def request(
        self,
        fields: Mapping[str, str],
        form: Form,
        examples: Sequence[tuple[Mapping[str, str], str | Sequence[str]]] = (),
    ) -> AnswerRequest:
        """The request with these fields, fenced but for the plain ones of the family; the paragraph of a missing or
        empty field is left out.
        ``examples`` (fields, right answer) come first, as turns of user and assistant.

        Raises ValueError for a field that is not in the prompt, and QuatiPoolError where all fenced fields are empty.
        """
        messages: list[Message] = [{"role": "system", "content": self._system}]
        for example, answer in examples:
            messages.append({"role": "user", "content": self._filled(example)})
            messages.append({"role": "assistant", "content": sendable(form.written(answer))})
        messages.append({"role": "user", "content": self._filled(fields)})
        return AnswerRequest(messages, form, self.again)

    @cached_property
    def _system(self) -> str:
        return sendable(Template(self.system, ()).fill({}))

    @cached_property
    def _user(self) -> dict[frozenset[str], Template]:
        return {}

    def _filled(self, fields: Mapping[str, str]) -> str:
        there = frozenset(name for name, text in fields.items() if text.strip())
        if there not in self._user:
            template = Template(self.user, (*self.family.fields, *self.family.plain))
            unknown = sorted(there - template.variables)
            if unknown:
                raise ValueError(
                    f"the prompt {self.id} shows no {unknown[0]}; {nearest(unknown[0], template.variables)}"
                )
            if not there.intersection(self.family.fields):
                raise QuatiPoolError(f"there is nothing to show in the prompt {self.id}; correct the question's file")
            for name in template.variables - there:
                template = template.without(name)
            self._user[there] = template
        texts = {name: sendable(fields[name]) for name in there}
        return self._user[there].fill(
            {name: text if name in self.family.plain else fenced(name, text) for name, text in texts.items()}
        )


def labelled_lines(texts: Sequence[str], labels: Sequence[str] | None = None) -> str:
    """A line ``A) text`` for each text, with ``labels`` or, where None, numbers from 1. White space in a text becomes
    one space, so that no text can look like a further line; an empty text leaves only its label."""
    labels = [str(number) for number in range(1, len(texts) + 1)] if labels is None else labels
    pairs = zip(labels, texts, strict=True)
    return "\n".join(f"{label}) {' '.join(text.split())}".rstrip() for label, text in pairs)


def read_answer_prompt(path: Path, missing: str = "check the path", family: PromptFamily = ANSWERING) -> AnswerPrompt:
    """Reads and checks a prompt file of a family.

    Raises InputError, with the line at fault, for a file that is missing, is not YAML, or does not hold a prompt whose
    parts agree.
    """
    reader = YamlFile(path, missing)
    if not isinstance(reader.data, dict):
        raise InputError(path, 1, "holds no prompt; expected keys such as id, system, user, reask")
    names = {field.alias or name for name, field in AnswerPrompt.model_fields.items()} - {"path", "family"}
    reader.refuse_unknown((), reader.data, names - ({"fields"} if family == ANSWERING else {"labels"}))
    prompt = reader.model((), AnswerPrompt, {**reader.data, "path": path, "family": family})
    if prompt.id != path.stem:
        raise reader.error(("id",), f"{prompt.id!r} is not the file's name; rename one of the two")
    checked_template(reader, ("system",), prompt.system, ())
    checked_template(reader, ("reask",), prompt.again, {"problem"}, {"problem"})
    known = (*family.fields, *family.plain)
    user = checked_template(reader, ("user",), prompt.user, known, family.needed, once=True)
    if not user.variables.intersection(family.fields):
        raise reader.error(("user",), f"shows nothing; put one of {{{'}, {'.join(family.fields)}}} in")
    if neutralised(prompt.user, family.fields) != prompt.user:
        shown = min(user.variables.intersection(family.fields))
        raise reader.error(("user",), f"writes a fence mark itself; drop it, since {{{shown}}} brings its own")
    for name in sorted(user.variables):
        if len(user.variables) > 1 and user.without(name).variables != user.variables - {name}:
            raise reader.error(("user",), f"{{{name}}} shares its paragraph; put empty lines around it")
    return prompt


@cache
def load_answer_prompt(prompt_id: str, folder: str = ANSWERING.folder) -> AnswerPrompt:
    """The prompt of ``prompts/answering``, or of another folder of a family, that has this id; raises ConfigError where
    there is none."""
    files = {path.stem: path for path in sorted((bundled("prompts") / folder).glob("*.yaml"))}
    if prompt_id not in files:
        raise ConfigError(f"there is no prompt {prompt_id!r} for {folder}; {nearest(prompt_id, files)}")
    return read_answer_prompt(files[prompt_id], family=_FOLDERS[folder])


def _strict_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _last_object(text: str, keys: Sequence[str]) -> tuple[dict[str, list[Member]], bool]:
    """The members of the last JSON object in an answer that has all keys, by key; empty where there is none. The second
    value is whether an object is broken. Raises Unreadable for an empty answer and for deep nesting."""
    if not text.strip():
        raise Unreadable("the answer is empty")
    try:
        objects, _, broken = json_objects(text)
    except RecursionError:
        raise Unreadable("the JSON in the answer nests too deeply") from None
    for each in reversed(objects):
        found: dict[str, list[Member]] = {}
        for member in each.members:
            found.setdefault(folded(member.key), []).append(member)
        if all(key in found for key in keys):
            return {key: found[key] for key in keys}, broken
    return {}, broken


def _missing(keys: Sequence[str], broken: bool) -> Unreadable:
    named = ", ".join(f'"{key}"' for key in keys)
    return Unreadable(f"the answer holds {'broken JSON' if broken else f'no JSON object with {named}'}")


def _text_of(member: Member, text: str, key: str) -> str:
    if not isinstance(member.value, str):
        raise Unreadable(f'"{key}" is {shortened(text[member.start : member.end], 40)}, which is no text')
    return member.value


def _one_of(key: str, values: Sequence[T]) -> T:
    if any(value != values[0] for value in values):
        raise Unreadable(f'"{key}" has two values')
    return values[0]


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)
