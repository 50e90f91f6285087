"""``quati-pool validate``: files of the user's, and the ``pool.yaml`` that names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quati_pool.config import load_config
from quati_pool.errors import ConfigError, InputError
from quati_pool.files.validation import ValidationReport, validate_file


def validate(path: Path, kind: str | None, **options: Any) -> ValidationReport:
    """Checks a file as ``kind`` or as what it looks like; ``options`` are those of ``validate_file``.

    A YAML file is a ``pool.yaml``: its first fault is told, as what follows from a fault is not known.
    """
    if kind != "config" and (kind or path.suffix not in (".yaml", ".yml")):
        chosen: Any = kind
        return validate_file(path, chosen, **options)
    try:
        config = load_config(path)
    except InputError as error:
        return ValidationReport(path, "config", [error], 0, [], {})
    except ConfigError as error:  # a plug-in that cannot be loaded
        return ValidationReport(path, "config", [InputError(path, None, str(error))], 0, [], {})
    counts = {"systems": len(config.systems), "corpora": len(config.corpora), "judges": len(config.judges)}
    return ValidationReport(path, "config", [], 0, [], counts)
