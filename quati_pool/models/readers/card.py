"""The card of a trained reader: what its inputs look like, and how it was trained."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quati_pool.models.errors import ModelError

CARD = "quati_pool_reader.json"
FORMAT = 1


@dataclass(frozen=True)
class ReaderCard:
    """``kind``: the kind of reader, by which it is opened. ``task``: what it was trained for. ``max_tokens``: the
    longest input in tokens. ``inputs``: further settings that inference depends on. ``training``: base model, stages,
    settings, data, held-out measures and library versions, for people to read."""

    kind: str
    task: str
    max_tokens: int
    inputs: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> str:
        """The content of the card's file."""
        fields = {
            "format": FORMAT,
            "kind": self.kind,
            "task": self.task,
            "max_tokens": self.max_tokens,
            "inputs": dict(self.inputs),
            "training": dict(self.training),
        }
        return json.dumps(fields, ensure_ascii=False, indent=1) + "\n"


def read_card(folder: Path) -> ReaderCard | None:
    """The card in a model's folder; None without one. Raises ModelError for one that cannot be read."""
    path = folder / CARD
    if not path.is_file():
        return None
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        if fields["format"] > FORMAT:
            raise ModelError(f"{path} is of a later version of quati-pool; update it to use this reader")
        inputs, training = dict(fields["inputs"]), dict(fields["training"])
        return ReaderCard(str(fields["kind"]), str(fields["task"]), int(fields["max_tokens"]), inputs, training)
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} is not the card of a reader ({error!r}); train it again") from error
