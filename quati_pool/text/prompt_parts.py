"""Parts shared by all prompt files: types of text, checks of templates, and the request for another answer."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from pydantic import AfterValidator

from quati_pool.files.problems import surrogate_problem
from quati_pool.files.yaml_file import Place, YamlFile
from quati_pool.text.fencing import sendable
from quati_pool.text.templates import Template

Message = dict[str, str]

LONGEST_ECHO = 4000
"""The most characters of an unreadable answer that are sent back to the model, half from its beginning and half from
its end."""


def well_formed(text: str) -> str:
    """Returns ``text``; raises ValueError if it contains a lone surrogate."""
    problem = surrogate_problem(text)
    if problem:
        raise ValueError(problem)
    return text


def _not_blank(text: str) -> str:
    if not well_formed(text).strip():
        raise ValueError("is empty; write a text")
    return text


def _one_line(text: str) -> str:
    if not well_formed(text).strip() or not text.isprintable():
        raise ValueError("expected one line of text")
    return text


Text = Annotated[str, AfterValidator(_not_blank)]
Line = Annotated[str, AfterValidator(_one_line)]


def checked_template(
    reader: YamlFile,
    place: Place,
    text: str,
    known: Collection[str],
    needed: Collection[str] = (),
    once: bool = False,
) -> Template:
    """The template; raises InputError at ``place`` if it contains a variable that is not ``known``, lacks one that is
    ``needed``, or, with ``once``, contains one twice."""
    try:
        template = Template(text, known)
    except ValueError as error:
        raise reader.error(place, str(error)) from None
    for name in sorted(known):
        times = template.count(name)
        if name in needed and not times:
            raise reader.error(place, f"lacks {{{name}}}; put it where the {name} belongs")
        if times > 1 and once:
            raise reader.error(place, f"has {{{name}}} {times} times; keep one")
    return template


def asked_again(again: Template, answer: str, problem: str) -> list[Message]:
    """The messages to add when ``answer`` could not be read: the answer, without its middle if it is very long, and a
    user turn with ``again`` filled with the problem."""
    if len(answer) > LONGEST_ECHO:
        half = LONGEST_ECHO // 2
        answer = f"{answer[:half]} […] {answer[-half:]}"
    # Some servers refuse an empty turn, others two turns of the user in a row.
    echo = sendable(answer) if answer.strip() else "…"
    note = again.fill({"problem": sendable(problem)})
    return [{"role": "assistant", "content": echo}, {"role": "user", "content": note}]
