"""``quati-pool validate``: checks runs, qrels, labels, queries, corpora, ``pool.yaml`` and ``prepare.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quati_pool.commands.validate.pool import validate_pool
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.validation import ValidationReport, validate_file
from quati_pool.files.yaml_file import YamlFile
from quati_pool.preparation.base import Sink
from quati_pool.preparation.config import load_prepare_config


def validate(path: Path, kind: str | None, **options: Any) -> ValidationReport:
    """Checks a file as the given ``kind``, or if that is None as what it looks like; ``options`` are those of
    ``validate_file``.

    A YAML file is a ``prepare.yaml`` if it lists steps, else a ``pool.yaml``. If the file itself is invalid, only its
    first fault is reported, as that may cause others; for a valid ``pool.yaml``, everything that would make ``build``
    or ``judge`` fail is reported.
    """
    if kind != "config" and (kind or path.suffix not in (".yaml", ".yml")):
        chosen: Any = kind
        return validate_file(path, chosen, **options)
    try:
        if not _lists_steps(path):
            return validate_pool(path, options.get("limit", 20))
        counts = _preparation(path)
    except InputError as error:
        return ValidationReport(path, "config", [error], 0, [], {})
    except QuatiPoolError as error:  # a plug-in that cannot be loaded, a step that cannot be carried out
        return ValidationReport(path, "config", [InputError(path, None, str(error))], 0, [], {})
    return ValidationReport(path, "config", [], 0, [], counts)


def _lists_steps(path: Path) -> bool:
    data = YamlFile(path).data
    return isinstance(data, dict) and "steps" in data


def _preparation(path: Path) -> dict[str, int]:
    config = load_prepare_config(path)
    written = sum(isinstance(step, Sink) for step in config.built_steps())
    return {"steps": len(config.steps), "corpora": written}
