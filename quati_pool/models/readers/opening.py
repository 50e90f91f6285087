"""Opens a reader by its card or, without one, by the model's own configuration."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import NamedTuple

from quati_pool.models.errors import ModelError
from quati_pool.models.location import Environment, LocalModel, locate_or_download
from quati_pool.models.modules import read_config
from quati_pool.models.parameters import ModelParameters
from quati_pool.models.readers.base import Reader
from quati_pool.models.readers.card import CARD, ReaderCard, read_card


class Kind(NamedTuple):
    """A kind of reader: its class as module and name, and the end of the architectures that it reads without a card
    (none where only a card says how to use such a model)."""

    module: str
    name: str
    architecture: str = ""


# The class of a kind has the constructor (parameters: ModelParameters, local: LocalModel, card: ReaderCard | None).
KINDS = {
    "multiple-choice": Kind("multiple_choice", "MultipleChoiceReader", "ForMultipleChoice"),
    "generative": Kind("generative", "GenerativeReader", "ForConditionalGeneration"),
    "extractive": Kind("extractive", "ExtractiveReader", "ForQuestionAnswering"),
    "classifier": Kind("classifier", "ClassifierReader", "ForSequenceClassification"),
    "candidates": Kind("candidates", "CandidatesReader"),
}


def open_reader(parameters: ModelParameters, environment: Environment, note: Callable[[str], None]) -> Reader:
    """The reader in the folder, or of the name on the hub, ``parameters.model``.

    ``note`` is given a line where a model is downloaded. Raises the errors of ``locate_or_download``, and ModelError
    for a model that is no reader.
    """
    local = locate_or_download(environment, parameters.model, parameters.revision, note)
    card = read_card(local.folder)
    kind = KINDS[_kind(parameters, local, card)]
    module = importlib.import_module(f"quati_pool.models.readers.{kind.module}")
    try:
        reader: Reader = getattr(module, kind.name)(parameters, local, card)
    except (KeyError, TypeError, ValueError) as error:
        if card is None:
            raise
        raise ModelError(
            f"{local.folder / CARD} is not that of a reader of the kind {card.kind!r} ({error!r}); train it again"
        ) from error
    return reader


def _kind(parameters: ModelParameters, local: LocalModel, card: ReaderCard | None) -> str:
    if card is not None:
        if card.kind not in KINDS:
            raise ModelError(f"{local.folder} holds a reader of the kind {card.kind!r}; there is: {', '.join(KINDS)}")
        return card.kind
    config = read_config(local.folder / "config.json")
    architectures = [str(name) for name in config.get("architectures") or []]
    for name, kind in KINDS.items():
        if kind.architecture and any(architecture.endswith(kind.architecture) for architecture in architectures):
            return name
    ends = ", ".join(f"…{kind.architecture}" for kind in KINDS.values() if kind.architecture)
    raise ModelError(
        f"model {parameters.model!r} is no reader ({', '.join(architectures) or 'config.json names no architecture'}); "
        f"expected {ends}, or a folder written by  quati-pool train reader"
    )
