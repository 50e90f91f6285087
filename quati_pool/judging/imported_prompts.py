"""A prompt that others released, as a prompt of ours that sends the same messages, and the rest of their request."""

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
    """A judge's parameters for its authors' request, and what of it no parameter can say."""

    parameters: Mapping[str, Any]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Released:
    """What came of released files: their names, the keys of a prompt's YAML, the model that the authors asked, and
    their settings for ordinary models and for those that reason. ``notes`` are about the prompt."""

    source: str
    prompt: Mapping[str, Any]
    model: str
    ordinary: Settings
    reasoning: Settings
    notes: tuple[str, ...] = ()

    def yaml(self, prompt_id: str) -> str:
        """The prompt's file."""
        summary = f"imported from {self.source}; sends the same messages"
        data = {"id": prompt_id, "version": 1, "summary": summary, **self.prompt}
        return yaml.dump(data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=1_000_000)

    def settings(self, model: str) -> Settings:
        return self.reasoning if is_reasoning(model) else self.ordinary


def read_text(path: Path) -> str:
    """A released file's text, without a byte-order mark.

    Raises InputError where it cannot be read.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(path, None, "is not UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise InputError(path, None, f"cannot be read ({error.strerror}); check the path") from None


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, which people can read and mend."""

    def analyze_scalar(self, scalar: str) -> Any:
        analysis = super().analyze_scalar(scalar)
        # PyYAML quotes a text for a space at a line's end, which a block keeps as well.
        analysis.allow_block = analysis.allow_block or _fits_block(scalar)
        return analysis


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # Rare characters, among them further line ends, are kept by escapes alone.
    style = "|" if _fits_block(text) else None if text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _fits_block(text: str) -> bool:
    """Whether a text is of several lines, each of which a block can hold."""
    lines = text.split("\n")
    return (
        len(lines) > 1 and text[0] != " " and all(not line or (line.isprintable() and line.strip()) for line in lines)
    )


_Dumper.add_representer(str, _text)
