"""``quati-pool prompts``: lists prompts, shows what they send, and imports prompts released by others."""

from __future__ import annotations

import codecs
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quati_pool.bundled import bundled
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.artifacts import put_file
from quati_pool.files.yaml_entry import with_entry
from quati_pool.files.yaml_file import YamlFile
from quati_pool.judging.imported_prompts import Released
from quati_pool.judging.prompts import Prompt, load_prompt, prompt_files, read_prompt
from quati_pool.judging.quati_files import CONFIG, EXAMPLES, INITIAL_PROMPT, find_quati_files, read_quati_files
from quati_pool.judging.umbrela_files import UMBRELA_FILES, find_umbrela_file, read_umbrela_file
from quati_pool.project.config import load_config
from quati_pool.text.prompt_parts import Message


@dataclass(frozen=True)
class PromptListing:
    """A prompt file; ``bundled`` if it comes with quati-pool. A faulty file has a ``problem`` and no ``prompt``."""

    id: str
    path: Path
    bundled: bool
    prompt: Prompt | None
    problem: str | None


def list_prompts(folder: Path) -> list[PromptListing]:
    """The prompts that come with quati-pool and those of the workspace ``folder``, faulty ones too."""
    return [_listing(name, path) for name, path in prompt_files(folder).items()]


def _listing(name: str, path: Path) -> PromptListing:
    is_bundled = path.parent == bundled("prompts")
    try:
        return PromptListing(name, path, is_bundled, read_prompt(path), None)
    except QuatiPoolError as error:
        return PromptListing(name, path, is_bundled, None, str(error))


def show_prompt(
    name: str, folder: Path, query: str, passage: str, narrative: str | None = None
) -> tuple[Prompt, list[Message]]:
    """A prompt and the exact messages that it sends about one pair.

    Raises ConfigError if there is no such prompt, InputError if its file is invalid.
    """
    prompt = load_prompt(name, folder)
    return prompt, prompt.messages(query, passage, narrative)


def read_released(paths: Sequence[Path], language: str | None = None, examples: Path | None = None) -> Released:
    """The prompt and request in released files: those of the Quati authors (.json), or a prompt file of umbrela
    (.txt, .yaml); ``paths`` are such files of one kind, or their folder. ``examples`` fills umbrela's ``{examples}``.

    Raises QuatiPoolError for other files, and for files that are missing or faulty.
    """
    kinds = {kind for path in paths for kind in _kinds(path)}
    if len(kinds) != 1:
        what = "holds both" if kinds else "holds neither"
        raise QuatiPoolError(
            f"{', '.join(map(str, paths))}: {what} the Quati files (initial_prompt_*.json, config.json) "
            f"{'and' if kinds else 'nor'} prompts of umbrela (qrel_*.txt, qrel_*.yaml); name the files of one"
        )
    if kinds == {"umbrela"}:
        return read_umbrela_file(find_umbrela_file(paths), examples, language or "en")
    if examples is not None:
        raise QuatiPoolError("the Quati files bring their own examples; drop --examples")
    return read_quati_files(find_quati_files(paths), language or "pt")


def _kinds(path: Path) -> set[str]:
    """The kinds of files that ``path`` is or contains: "quati", "umbrela", both or neither."""
    if not path.is_dir():
        return {"quati" if path.suffix == ".json" else "umbrela"}
    patterns = {INITIAL_PROMPT: "quati", EXAMPLES: "quati", CONFIG: "quati", **dict.fromkeys(UMBRELA_FILES, "umbrela")}
    return {kind for pattern, kind in patterns.items() if any(path.glob(pattern))}


@dataclass(frozen=True)
class NewJudge:
    """A judge to be added to a ``pool.yaml``."""

    config: Path
    name: str
    entry: Mapping[str, Any]


def authors_judge(released: Released, prompt: Path, folder: Path, model: str | None = None) -> dict[str, Any]:
    """The entry of a judge in ``folder``/pool.yaml that sends the authors' request with ``prompt``; with ``model`` None
    to their model."""
    in_workspace = prompt.suffix == ".yaml" and prompt.resolve().parent == (folder / "prompts").resolve()
    name = prompt.stem if in_workspace else Path(os.path.relpath(prompt, folder)).as_posix()
    model = model or released.model
    return {"model": model, "prompt": name, **released.settings(model).parameters}


def import_prompt(released: Released, out: Path, judge: NewJudge | None = None) -> Prompt:
    """Writes a released prompt to ``out``, a YAML file whose name becomes the prompt's id, and adds ``judge`` to its
    ``pool.yaml``.

    Raises QuatiPoolError, with nothing written, if ``out`` or the judge already exists, or the files do not give a
    valid prompt.
    """
    if out.suffix not in (".yaml", ".yml"):
        raise QuatiPoolError(f"{out}: is not a name for a prompt; end it in .yaml")
    if out.exists():
        raise QuatiPoolError(f"{out} is there already; move it away, or choose another name")
    config = judge and _with_judge(judge)
    out.parent.mkdir(parents=True, exist_ok=True)
    # Read back before it is renamed, so that no unusable file is left behind.
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=out.parent) as folder:
        partial = Path(folder, out.name)
        partial.write_text(released.yaml(out.stem), encoding="utf-8", newline="")
        try:
            read_prompt(partial)
        except InputError as error:
            raise QuatiPoolError(f"{released.source}: cannot be made a prompt ({error.message})") from None
        os.replace(partial, out)
    if judge and config:
        _replace(judge.config.resolve(), config)
    return read_prompt(out)


def _with_judge(judge: NewJudge) -> bytes:
    """The content of ``pool.yaml`` with the judge added, checked, and otherwise byte for byte as it was.

    Raises QuatiPoolError if it cannot be read, has a judge of this name, or its ``judges:`` cannot be extended.
    """
    path = judge.config
    if judge.name in load_config(path).judges:
        raise YamlFile(path).error(("judges", judge.name), "is there already; choose another name with --judge")
    mark = "\ufeff" if path.read_bytes().startswith(codecs.BOM_UTF8) else ""
    text = path.read_bytes().decode("utf-8-sig")
    try:
        extended = (mark + with_entry(text, "judges", judge.name, judge.entry)).encode()
    except ValueError as error:
        raise QuatiPoolError(f"{path}: {error}; import without --judge, and paste the entry that it prints") from None
    with tempfile.TemporaryDirectory() as folder:
        partial = Path(folder, path.name)
        partial.write_bytes(extended)
        try:
            load_config(partial)
        except InputError as error:
            raise QuatiPoolError(f"{path}: the judge cannot be added ({error.message})") from None
    return extended


def _replace(path: Path, content: bytes) -> None:
    def fill(partial: Path) -> None:
        partial.write_bytes(content)
        shutil.copymode(path, partial)

    put_file(path, fill)
