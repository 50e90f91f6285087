"""``quati-pool prompts``: what prompts there are, what they send, and the import of the Quati authors' own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quati_pool.bundled import bundled
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.judging.prompts import Prompt, load_prompt, prompt_files, read_prompt
from quati_pool.judging.quati_files import find_quati_files, prompt_yaml
from quati_pool.text.prompt_parts import Message


@dataclass(frozen=True)
class PromptListing:
    """A prompt file, ``bundled`` where it comes with quati-pool; ``prompt`` is None where ``problem`` says
    what is wrong with it."""

    id: str
    path: Path
    bundled: bool
    prompt: Prompt | None
    problem: str | None


def list_prompts(folder: Path) -> list[PromptListing]:
    """The prompts that come with quati-pool and those of the workspace ``folder``; a faulty one hides no other."""
    return [_listing(name, path) for name, path in prompt_files(folder).items()]


def _listing(name: str, path: Path) -> PromptListing:
    ours = path.parent == bundled("prompts")
    try:
        return PromptListing(name, path, ours, read_prompt(path), None)
    except QuatiPoolError as error:
        return PromptListing(name, path, ours, None, str(error))


def show_prompt(
    name: str, folder: Path, query: str, passage: str, narrative: str | None = None
) -> tuple[Prompt, list[Message]]:
    """A prompt and the exact messages that it makes of one pair.

    Raises ConfigError where there is no such prompt, InputError where its file is at fault.
    """
    prompt = load_prompt(name, folder)
    return prompt, prompt.messages(query, passage, narrative)


def import_prompt(paths: Sequence[Path], out: Path, language: str = "pt") -> Prompt:
    """Writes the prompt of the Quati authors' files to ``out``, a YAML file named as the prompt shall be.

    Raises QuatiPoolError where ``out`` is there already, where a file is missing or not what it should
    be, or where what comes of them is no prompt.
    """
    if out.suffix not in (".yaml", ".yml"):
        raise QuatiPoolError(f"{out}: is no name for a prompt; end it in .yaml")
    if out.exists():
        raise QuatiPoolError(f"{out} is there already; move it away, or choose another name")
    text = prompt_yaml(find_quati_files(paths), out.stem, language)
    out.parent.mkdir(parents=True, exist_ok=True)
    # Read back before it gets its place: what cannot be used is not left behind.
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=out.parent) as folder:
        partial = Path(folder, out.name)
        partial.write_text(text, encoding="utf-8")
        try:
            read_prompt(partial)
        except InputError as error:
            names = ", ".join(map(str, paths))
            raise QuatiPoolError(f"{names}: make no prompt ({error.message})") from None
        os.replace(partial, out)
    return read_prompt(out)
