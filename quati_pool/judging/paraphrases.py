"""Other wordings of a judge's prompt, to see how much the wording alone changes its grades.

Those that come with quati-pool lie in ``prompts/paraphrases``, as ``<id of the prompt>-<number>.yaml``: the same task,
scale, keys of the answer and examples in other words and another structure, so that a person who follows any of them
comes to the same grades.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from quati_pool.bundled import bundled
from quati_pool.errors import ConfigError
from quati_pool.judging.prompts import Prompt, load_prompt, read_prompt

REVERSED = "examples reversed"


@dataclass(frozen=True)
class Paraphrase:
    """Another wording of a prompt. ``name`` is the id of a bundled wording, the id or file by which the user named
    another, or "examples reversed"."""

    name: str
    prompt: Prompt


def paraphrases(prompt: Prompt, folder: Path, own: Sequence[str] = ()) -> list[Paraphrase]:
    """The other wordings of ``prompt``: those that come with quati-pool, then the user's ``own``, then the prompt with
    its examples in reversed order, if it has at least two.

    ``own`` are ids or files of prompts, found from ``folder`` (the workspace) as a judge's prompt is; one with the name
    of a bundled wording takes its place. A prompt of the workspace has bundled wordings only if it asks exactly what
    the bundled prompt with its id asks. Of wordings that ask the same only the first is returned, and none that asks
    what ``prompt`` itself asks.

    Raises ConfigError for an own prompt that does not exist, or has other grades or aspects than ``prompt``; InputError
    if its file is invalid.
    """
    named = [Paraphrase(name, _own(name, folder, prompt)) for name in own]
    taken = {wording.name for wording in named}
    wordings = [wording for wording in _bundled(prompt) if wording.name not in taken]
    if len(prompt.examples) > 1:
        named.append(Paraphrase(REVERSED, _reversed(prompt)))
    seen, found = {prompt.sha}, []
    for wording in (*wordings, *named):
        if wording.prompt.sha not in seen:
            seen.add(wording.prompt.sha)
            found.append(wording)
    return found


def _bundled(prompt: Prompt) -> Iterator[Paraphrase]:
    folder = bundled("prompts")
    original = folder / f"{prompt.id}.yaml"
    if original.exists() and read_prompt(original).definition == prompt.definition:
        for path in sorted((folder / "paraphrases").glob(f"{prompt.id}-[0-9].yaml")):
            yield Paraphrase(path.stem, read_prompt(path))


def _own(name: str, folder: Path, prompt: Prompt) -> Prompt:
    own = load_prompt(name, folder)
    if own.scale.keys() != prompt.scale.keys():
        theirs, ours = (", ".join(map(str, sorted(one.scale))) for one in (own, prompt))
        raise ConfigError(
            f"the prompt {name!r} has the grades {theirs}, and {prompt.id!r} has {ours}; "
            "name a wording with the same grades"
        )
    if own.answer.scales != prompt.answer.scales:
        theirs, ours = (_aspects(one) for one in (own, prompt))
        raise ConfigError(
            f"the prompt {name!r} asks for {theirs}, and {prompt.id!r} for {ours}; name a wording with the same aspects"
        )
    return own


def _aspects(prompt: Prompt) -> str:
    shown = [f"{name} ({scale[0]} to {scale[-1]})" for name, scale in prompt.answer.scales.items()]
    return f"the aspects {', '.join(shown)}" if shown else "no aspects"


def _reversed(prompt: Prompt) -> Prompt:
    # No copy, which would keep the messages that the prompt has already put together.
    fields = {name: getattr(prompt, name) for name in Prompt.model_fields}
    return Prompt(**{**fields, "examples": prompt.examples[::-1]})
