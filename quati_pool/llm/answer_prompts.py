"""Prompts for the questions of a task, requests built from these prompts, and the reading of answers.

Prompts are YAML files in ``prompts/answering``. All text from a benchmark's files is fenced in the messages
(``quati_pool.text.fencing``), so that it cannot be mistaken for the prompt.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from quati_pool.bundled import bundled
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.yaml_file import Model, YamlFile
from quati_pool.registry import nearest
from quati_pool.text.fencing import ANSWERING_FIELDS, fenced, neutralised, sendable, shortened
from quati_pool.text.json_objects import Member, folded, json_objects
from quati_pool.text.prompt_parts import Line, Message, Text, asked_again, checked_template
from quati_pool.text.templates import Template

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
        value = {"type": "array", "items": one} if self.key == "answers" else one
        return {
            "type": "object",
            "properties": {self.key: value},
            "required": [self.key],
            "additionalProperties": False,
        }

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
        if not answer_text.strip():
            raise Unreadable("the answer is empty")
        try:
            objects, _, broken = json_objects(answer_text)
        except RecursionError:
            raise Unreadable("the JSON in the answer nests too deeply") from None
        for each in reversed(objects):
            found = [member for member in each.members if folded(member.key) == self.key]
            if found:
                return self._one_of([self._value(member, answer_text) for member in found])
        if self.kind == "choice" and not broken:
            label = _composed(answer_text.strip(_BARE).removesuffix(".").strip(_BARE))
            if label in self._by_label:
                return self._by_label[label]
        raise Unreadable(f"the answer holds {'broken JSON' if broken else f'no JSON object with {self._quoted_key}'}")

    @property
    def _quoted_key(self) -> str:
        return f'"{self.key}"'

    @property
    def _by_label(self) -> dict[str, str]:
        return {_composed(label): label for label in self.labels}

    def _one_of(self, values: list[str | tuple[str, ...]]) -> str | tuple[str, ...]:
        if any(value != values[0] for value in values):
            raise Unreadable(f"{self._quoted_key} has two values")
        return values[0]

    def _value(self, member: Member, text: str) -> str | tuple[str, ...]:
        value = member.value
        if self.key == "answer":
            if not isinstance(value, str):
                raise Unreadable(
                    f"{self._quoted_key} is {shortened(text[member.start : member.end], 40)}, which is no text"
                )
            return self._label(value)
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


@dataclass(frozen=True, eq=False)
class AnswerRequest:
    """The request for one answer: its messages, the form of the answer, and the turn that asks again for an unreadable
    one."""

    messages: Sequence[Mapping[str, str]]
    form: AnswerForm
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


class AnswerPrompt(Model):
    """The prompt in one file of ``prompts/answering``. ``user`` contains ``{question}`` and optionally ``{text}``,
    ``{options}`` and ``{candidates}``, each in its own paragraph; ``labels`` are the answers that the prompt itself
    names (for a yes-no question: yes, then no); ``reask`` contains ``{problem}``."""

    id: Line
    version: Annotated[int, Field(ge=1)]
    language: Line
    summary: Line
    labels: Annotated[tuple[Line, ...], BeforeValidator(_as_tuple)] = ()
    system: Text
    user: Text
    again: Annotated[Text, Field(alias="reask")]
    path: Path

    def request(
        self,
        fields: Mapping[str, str],
        form: AnswerForm,
        examples: Sequence[tuple[Mapping[str, str], str | Sequence[str]]] = (),
    ) -> AnswerRequest:
        """The request with these fields, each fenced; the paragraph of a missing or empty field is left out.
        ``examples`` (fields, right answer) come first, as turns of user and assistant.

        Raises ValueError for a field that is not in the prompt, and QuatiPoolError where all fields are empty.
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
            template = Template(self.user, ANSWERING_FIELDS)
            unknown = sorted(there - template.variables)
            if unknown:
                raise ValueError(
                    f"the prompt {self.id} shows no {unknown[0]}; {nearest(unknown[0], template.variables)}"
                )
            if not there:
                raise QuatiPoolError(f"there is nothing to show in the prompt {self.id}; correct the question's file")
            for name in template.variables - there:
                template = template.without(name)
            self._user[there] = template
        return self._user[there].fill({name: fenced(name, sendable(fields[name])) for name in there})


def labelled_lines(texts: Sequence[str], labels: Sequence[str] | None = None) -> str:
    """A line ``A) text`` for each text, with ``labels`` or, where None, numbers from 1. White space in a text becomes
    one space, so that no text can look like a further line; an empty text leaves only its label."""
    labels = [str(number) for number in range(1, len(texts) + 1)] if labels is None else labels
    pairs = zip(labels, texts, strict=True)
    return "\n".join(f"{label}) {' '.join(text.split())}".rstrip() for label, text in pairs)


def read_answer_prompt(path: Path, missing: str = "check the path") -> AnswerPrompt:
    """Reads and checks a prompt file.

    Raises InputError, with the line at fault, for a file that is missing, is not YAML, or does not hold a prompt whose
    parts agree.
    """
    reader = YamlFile(path, missing)
    if not isinstance(reader.data, dict):
        raise InputError(path, 1, "holds no prompt; expected keys such as id, system, user, reask")
    names = {field.alias or name for name, field in AnswerPrompt.model_fields.items()} - {"path"}
    reader.refuse_unknown((), reader.data, names)
    prompt = reader.model((), AnswerPrompt, {**reader.data, "path": path})
    if prompt.id != path.stem:
        raise reader.error(("id",), f"{prompt.id!r} is not the file's name; rename one of the two")
    checked_template(reader, ("system",), prompt.system, ())
    checked_template(reader, ("reask",), prompt.again, {"problem"}, {"problem"})
    user = checked_template(reader, ("user",), prompt.user, ANSWERING_FIELDS, {"question"}, once=True)
    if neutralised(prompt.user, ANSWERING_FIELDS) != prompt.user:
        raise reader.error(("user",), "writes a fence mark itself; drop it, since {question} brings its own")
    for name in sorted(user.variables):
        if len(user.variables) > 1 and user.without(name).variables != user.variables - {name}:
            raise reader.error(("user",), f"{{{name}}} shares its paragraph; put empty lines around it")
    return prompt


@cache
def load_answer_prompt(prompt_id: str) -> AnswerPrompt:
    """The prompt of ``prompts/answering`` that has this id; raises ConfigError where there is none."""
    files = {path.stem: path for path in sorted((bundled("prompts") / "answering").glob("*.yaml"))}
    if prompt_id not in files:
        raise ConfigError(f"there is no prompt {prompt_id!r} for answering; {nearest(prompt_id, files)}")
    return read_answer_prompt(files[prompt_id])


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)
