"""The JSON of ``train reader``."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.train.reader import ReaderResult
from quati_pool.reporting.json_data.bench import VIEWS
from quati_pool.reporting.json_data.serializer import pick, serialize


def as_data(result: ReaderResult) -> Any:
    """The JSON object of ``train reader``; an undefined measure is null, with the reason under ``undefined``."""
    names = "task=options.task kind reader=output model=options.model seed=options.seed reused stages rows notes"
    return serialize(pick(result, names), VIEWS)
