"""A prompt released by other authors, converted to our format, and the settings of their request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from quati_pool.errors import InputError
from quati_pool.llm.options import is_reasoning


@dataclass(frozen=True)
class Settings:
    """The judge parameters that reproduce the authors' request; ``notes`` are on what no parameter can reproduce."""

    parameters: Mapping[str, Any]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Released:
    """The result of reading released files: their names (``source``), the keys of a prompt's YAML, the model that the
    authors asked, and their settings for ordinary and for reasoning models. ``notes`` are about the prompt."""

    source: str
    prompt: Mapping[str, Any]
    model: str
    ordinary: Settings
    reasoning: Settings
    notes: tuple[str, ...] = ()

    def yaml(self, prompt_id: str) -> str:
        """The content of the prompt's YAML file."""
        summary = f"imported from {self.source}; sends the same messages"
        data = {"id": prompt_id, "version": 1, "summary": summary, **self.prompt}
        return yaml.dump(data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=1_000_000)

    def settings(self, model: str) -> Settings:
        return self.reasoning if is_reasoning(model) else self.ordinary


def read_text(path: Path) -> str:
    """A released file's text, without a byte-order mark.

    Raises InputError if it cannot be read.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(path, None, "is not UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise InputError(path, None, f"cannot be read ({error.strerror}); check the path") from None


class _Dumper(yaml.SafeDumper):
    """Writes multi-line texts as blocks, which people can read and edit."""

    def analyze_scalar(self, scalar: str) -> Any:
        analysis = super().analyze_scalar(scalar)
        # PyYAML would quote a text with trailing spaces, although a block keeps them too.
        analysis.allow_block = analysis.allow_block or _fits_block(scalar)
        return analysis


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # Only escapes preserve rare characters, including other line separators.
    style = "|" if _fits_block(text) else None if text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _fits_block(text: str) -> bool:
    """Whether a text has several lines, all of which a block can represent."""
    lines = text.split("\n")
    return (
        len(lines) > 1 and text[0] != " " and all(not line or (line.isprintable() and line.strip()) for line in lines)
    )


_Dumper.add_representer(str, _text)
