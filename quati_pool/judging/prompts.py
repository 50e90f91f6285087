"""Judge prompts: reading and checking their YAML files, and building the exact messages for a query and a passage.

Reasoning and aspects come before the grade in the answers of examples and in the schema, so that the grade is based on
them. All texts are templates: literal braces are written ``{{`` and ``}}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from quati_pool.bundled import bundled
from quati_pool.errors import ConfigError, InputError
from quati_pool.files.artifacts import digest
from quati_pool.files.yaml_file import Model, Place, YamlFile
from quati_pool.judging.verdict import Reading, read_verdict
from quati_pool.llm.thoughts import ANY, Marks
from quati_pool.records import State
from quati_pool.registry import nearest
from quati_pool.text.fencing import fenced, neutralised, sendable
from quati_pool.text.json_objects import folded
from quati_pool.text.prompt_parts import Line, Message, Text, asked_again, checked_template, well_formed
from quati_pool.text.templates import Template

USER_VARIABLES = {"query", "passage", "narrative"}


def _key(text: str) -> str:
    if not well_formed(text).replace(" ", "").replace("_", "").replace("-", "").isalnum() or text != text.strip():
        raise ValueError("expected a word or a few, of letters, digits, spaces, '_' and '-'")
    return text


def _two_grades(scale: dict[int, str]) -> dict[int, str]:
    if len(scale) < 2:
        raise ValueError("needs at least two grades, each with its meaning")
    return scale


def _range(ends: list[int]) -> list[int]:
    if len(ends) != 2 or not ends[0] < ends[1] <= ends[0] + _MOST_GRADES:
        raise ValueError(f"expected [lowest, highest], whole numbers at most {_MOST_GRADES} apart, such as [0, 3]")
    return ends


_MOST_GRADES = 100
Key = Annotated[str, AfterValidator(_key)]
Grade = Annotated[int, Field(ge=0)]


class AnswerKeys(Model):
    """The keys of the JSON answer. ``aliases`` are further names under which a grade is accepted but never requested;
    ``aspects`` are further numbers to ask for, each with the lowest and highest value of its scale."""

    reasoning: Key | None = None
    grade: Key
    aspects: dict[Key, Annotated[list[Grade], AfterValidator(_range)]] = Field(default_factory=dict)
    aliases: list[Key] = Field(default_factory=list)

    @property
    def scales(self) -> dict[str, range]:
        """The values of each aspect's scale, by name. Sorted by name, since the order in which a model is asked must
        follow from the prompt's definition alone."""
        return {name: range(low, high + 1) for name, (low, high) in sorted(self.aspects.items())}


class Example(Model):
    """A graded pair, sent as a user turn, built from the prompt's template, and an assistant turn with the JSON."""

    query: Text
    passage: Text
    narrative: Text | None = None
    reasoning: Text | None = None
    aspects: dict[Key, Grade] = Field(default_factory=dict)
    grade: Grade


class Turns(Model):
    """An example whose two turns are sent verbatim, as imported prompts require."""

    user: Text
    assistant: Text


class Prompt(Model):
    """One prompt file, read and checked by ``read_prompt``.

    ``scale`` maps each grade to its meaning, which ``{scale}`` in ``system`` lists. ``user`` has ``{query}``,
    ``{passage}`` and optionally ``{narrative}``, whose paragraph is left out for a query without one; ``reask`` has
    ``{problem}``. ``names`` of the grades, in the prompt's language, and ``illustrations``, further examples, are for
    people who grade on the same scale; they are never sent and change neither definition nor hash.
    """

    id: Line
    version: Annotated[int, Field(ge=1)]
    language: Line
    summary: Line
    scale: Annotated[dict[Grade, Text], AfterValidator(_two_grades)]
    names: dict[Grade, Line] = Field(default_factory=dict)
    system: Text
    examples: list[Example | Turns] = Field(default_factory=list)
    illustrations: list[Example] = Field(default_factory=list)
    user: Text
    answer: AnswerKeys
    again: Annotated[Text, Field(alias="reask")]
    fenced: bool = True
    path: Path

    def read_with(self, thoughts: Sequence[Marks] = ANY) -> Reading:
        """How answers to this prompt are read if a model marks its thoughts with ``thoughts``."""
        answer = self.answer
        return Reading(answer.reasoning, answer.grade, answer.aliases, self.scale, answer.scales, thoughts)

    @property
    def definition(self) -> dict[str, Any]:
        """Everything that changes the request, and nothing else."""
        aspects = {name: list(scale) for name, scale in self.answer.scales.items()}
        return {
            "head": self._head,
            "user": self.user,
            "reask": self.again,
            "answer": [self.answer.reasoning, self.answer.grade],
            "grades": sorted(self.scale),
            "fenced": self.fenced,
            **({"aspects": aspects} if aspects else {}),
        }

    @cached_property
    def sha(self) -> str:
        """The SHA-256 of the definition."""
        return digest(self.definition)

    def meaning_of(self, grade: int, name: str) -> str:
        """What a grade means, for people who see its ``name`` next to it: the scale's text, without that name, or the
        prompt's own, if the text begins with it as in "Relevant. The passage …"."""
        text = self.scale[grade].strip()
        names = "|".join(map(re.escape, (self.names.get(grade, name), name)))
        return re.sub(rf"\A(?:{names})\s*[.:–—]\s+(?=\S)", "", text, flags=re.IGNORECASE)

    def example_of(self, grade: int) -> Example | None:
        """An example that shows people what a grade means, from the examples or else from the illustrations."""
        shown = [*(example for example in self.examples if isinstance(example, Example)), *self.illustrations]
        return next((example for example in shown if example.grade == grade), None)

    @property
    def uses_narrative(self) -> bool:
        return "narrative" in self._user[0].variables

    def messages(self, query: str, passage: str, narrative: str | None = None) -> list[Message]:
        """The chat messages about one pair: the system message, two for each example, and the user message."""
        content = self._shown(query, passage, narrative)
        return [*map(dict, self._head), {"role": "user", "content": content}]

    def reask(self, answer: str, problem: str) -> list[Message]:
        """The messages to append when ``answer`` could not be read: the answer, shortened in the middle if it is very
        long, and a user message with the problem."""
        return asked_again(self._again, answer, problem)

    def schema(self) -> dict[str, Any]:  # type: ignore[override]  # pydantic's own is deprecated
        """The strict JSON schema of an answer."""
        scales = {**self.answer.scales, self.answer.grade: sorted(self.scale)}
        numbers = {name: {"type": "integer", "enum": list(scale)} for name, scale in scales.items()}
        properties = self._members({"type": "string"}, numbers)
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def _members(self, reasoning: Any, numbers: Mapping[str, Any]) -> dict[str, Any]:
        """The members of an answer in order: reasoning if the prompt asks for it, aspects, grade."""
        answer = self.answer
        said = {answer.reasoning: reasoning} if answer.reasoning else {}
        return {**said, **{name: numbers[name] for name in (*answer.scales, answer.grade)}}

    def _shown(self, query: str, passage: str, narrative: str | None) -> str:
        with_narrative, without = self._user
        values = {"query": self._field("query", query), "passage": self._field("passage", passage)}
        if narrative is None or not narrative.strip():
            return without.fill(values)
        return with_narrative.fill({**values, "narrative": self._field("narrative", narrative)})

    def _field(self, name: str, text: str) -> str:
        return fenced(name, sendable(text)) if self.fenced else sendable(text)

    @cached_property
    def _user(self) -> tuple[Template, Template]:
        template = Template(self.user, USER_VARIABLES)
        return template, template.without("narrative")

    @cached_property
    def _again(self) -> Template:
        return Template(self.again, {"problem"})

    @cached_property
    def _head(self) -> list[Message]:
        """All messages except the last; they are the same for every pair."""
        scale = "\n".join(f"{grade}: {self.scale[grade].strip()}" for grade in sorted(self.scale))
        system = Template(self.system, {"scale"}).fill({"scale": scale})
        messages = [{"role": "system", "content": sendable(system)}]
        for example in self.examples:
            if isinstance(example, Turns):
                user, assistant = example.user, example.assistant
            else:
                user = self._shown(example.query, example.passage, example.narrative)
                numbers = {**example.aspects, self.answer.grade: example.grade}
                assistant = json.dumps(self._members(example.reasoning, numbers), ensure_ascii=False)
            messages += [{"role": "user", "content": user}, {"role": "assistant", "content": assistant}]
        return messages


def reading_of(definition: Mapping[str, Any], aliases: Iterable[str] = (), thoughts: Sequence[Marks] = ANY) -> Reading:
    """How answers to a prompt with this ``definition`` are read; aliases are not part of a definition."""
    reasoning, grade = definition["answer"]
    return Reading(reasoning, grade, aliases, definition["grades"], definition.get("aspects"), thoughts)


def read_prompt(path: Path, missing: str = "check the path") -> Prompt:
    """Reads and checks a prompt file.

    Raises InputError, with the line at fault, if the file does not exist, is not YAML, or does not hold a consistent
    prompt; ``missing`` is the advice to give if there is no file.
    """
    reader = YamlFile(path, missing)
    if not isinstance(reader.data, dict):
        raise InputError(path, 1, "holds no prompt; expected keys such as id, scale, system, user, answer")
    data = dict(reader.data)
    reader.refuse_unknown((), data, {field.alias or name for name, field in Prompt.model_fields.items()} - {"path"})
    if "answer" in data:
        data["answer"] = reader.model(("answer",), AnswerKeys, data["answer"])
    examples = data.get("examples", [])
    if not isinstance(examples, list):
        raise reader.error(("examples",), "expected a list of examples, each with query, passage, reasoning and grade")
    data["examples"] = [
        reader.model(("examples", place), Turns if _verbatim(example) else Example, example)
        for place, example in enumerate(examples)
    ]
    illustrations = data.get("illustrations", [])
    if not isinstance(illustrations, list):
        message = "expected a list of illustrations, each with query, passage, reasoning and grade"
        raise reader.error(("illustrations",), message)
    data["illustrations"] = [
        reader.model(("illustrations", place), Example, example) for place, example in enumerate(illustrations)
    ]
    prompt = reader.model((), Prompt, {**data, "path": path})
    _check(prompt, reader)
    return prompt


def _verbatim(example: Any) -> bool:
    return isinstance(example, dict) and ("user" in example or "assistant" in example)


def _check(prompt: Prompt, reader: YamlFile) -> None:
    """Checks across fields that the parts of a prompt are consistent."""
    if prompt.id != prompt.path.stem:
        raise reader.error(("id",), f"{prompt.id!r} is not the file's name; rename one of the two")
    answer = prompt.answer
    keys = [*filter(None, [answer.reasoning]), answer.grade, *answer.scales, *answer.aliases]
    twice = next((key for place, key in enumerate(keys) if folded(key) in map(folded, keys[:place])), None)
    if twice:
        raise reader.error(("answer",), f"{twice!r} is named twice (case does not count); name it once")
    if prompt.names and prompt.names.keys() != prompt.scale.keys():
        named, graded = (", ".join(map(str, sorted(grades))) for grades in (prompt.names, prompt.scale))
        raise reader.error(("names",), f"has the grades {named}, and scale: has {graded}; name each grade of the scale")
    checked_template(reader, ("system",), prompt.system, {"scale"})
    checked_template(reader, ("reask",), prompt.again, {"problem"}, {"problem"})
    user = checked_template(reader, ("user",), prompt.user, USER_VARIABLES, {"query", "passage"}, once=prompt.fenced)
    if prompt.fenced and neutralised(prompt.user) != prompt.user:
        raise reader.error(("user",), "writes a fence mark itself; drop it, since {query} and {passage} bring theirs")
    if {"query", "passage"} - user.without("narrative").variables:
        message = "{narrative} is in the paragraph of {query} or {passage}, and is left out with its paragraph"
        raise reader.error(("user",), f"{message} where a query has none; put empty lines around it")
    reading = prompt.read_with()
    for place, example in enumerate(prompt.examples):
        if isinstance(example, Example):
            _check_example(prompt, reader, "example", place, example)
            continue
        verdict = read_verdict(example.assistant, reading)
        if verdict.status is not State.ok:
            message = f"{verdict.problem}; correct the example or the scale"
            raise reader.error(("examples", place, "assistant"), message)
    for place, illustration in enumerate(prompt.illustrations):
        _check_example(prompt, reader, "illustration", place, illustration)


def _check_example(prompt: Prompt, reader: YamlFile, kind: str, number: int, example: Example) -> None:
    """Checks that an example, or an illustration, gives what the prompt asks for and nothing else."""
    place, asked = (f"{kind}s", number), prompt.answer
    if asked.reasoning and example.reasoning is None:
        raise reader.error(place, "the key 'reasoning' is missing; add it")
    # An illustration may give people reasons even if no model is asked for any.
    if kind == "example" and example.reasoning is not None and not asked.reasoning:
        raise reader.error((*place, "reasoning"), "would not be shown, as answer: names no reasoning; drop this key")
    unknown = example.aspects.keys() - asked.scales.keys()
    if unknown:
        name = min(unknown)
        advice = nearest(name, asked.scales) if asked.scales else "the prompt asks for none"
        raise reader.error((*place, "aspects", name), f"there is no such aspect; {advice}")
    missing = asked.scales.keys() - example.aspects.keys()
    if missing and kind == "example":
        raise reader.error(place, f"lacks the aspect {min(missing)}; add it under aspects:")
    given: list[tuple[Place, int, Collection[int]]] = [(("grade",), example.grade, prompt.scale)]
    given += [(("aspects", name), example.aspects[name], asked.scales[name]) for name in sorted(example.aspects)]
    for key, grade, scale in given:
        if grade not in scale:
            shown = ", ".join(map(str, sorted(scale)))
            raise reader.error((*place, *key), f"{grade} is not on the scale {shown}; correct the {kind} or the scale")


def load_prompt(name: str, folder: Path | None = None) -> Prompt:
    """The prompt ``name``: a ``.yaml`` file relative to ``folder`` (the workspace; the current folder if
    None), else the id of one in ``folder``'s ``prompts/`` or, failing that, of one that comes with quati-pool.

    Raises InputError if its file is invalid, ConfigError if there is none.
    """
    folder = Path() if folder is None else folder
    if name.endswith((".yaml", ".yml")):
        return read_prompt(folder / name, "name another, or one of: quati-pool prompts")
    files = prompt_files(folder)
    if name not in files:
        raise ConfigError(f"there is no prompt {name!r}; {nearest(name, files)}")
    return read_prompt(files[name])


def prompt_on_scale(name: str, folder: Path, grades: Collection[int]) -> Prompt:
    """The prompt ``name`` as ``load_prompt`` finds it, for a collection with these ``grades``. Raises ConfigError if it
    gives others, too."""
    prompt = load_prompt(name, folder)
    unknown = sorted(set(prompt.scale) - set(grades))
    if unknown:
        raise ConfigError(
            f"the prompt {prompt.id} gives the grade {unknown[0]}, which grades: in pool.yaml does not "
            f"have ({', '.join(map(str, sorted(grades)))}); add it, or take another prompt"
        )
    return prompt


def prompt_files(folder: Path) -> dict[str, Path]:
    """The prompts of ``folder/prompts`` and those that come with quati-pool, by id; a prompt of the workspace overrides
    a bundled one with the same id."""
    places = [bundled("prompts")]
    # In a checkout of quati-pool itself the two folders are the same.
    if (folder / "prompts").resolve() != places[0].resolve():
        places.append(folder / "prompts")
    return {path.stem: path for place in places for path in sorted(place.glob("*.yaml"))}


@cache
def standard_prompt(language: str) -> Prompt | None:
    """The prompt that comes with quati-pool for the default scale in a language (a tag such as ``pt-BR``); None if
    there is none in that language."""
    path = bundled("prompts") / f"quati-{language.split('-')[0].lower()}.yaml"
    return read_prompt(path) if path.exists() else None


def bundled_prompts() -> list[Prompt]:
    """The prompts that come with quati-pool, by id."""
    return [read_prompt(path) for path in sorted(bundled("prompts").glob("*.yaml"))]
