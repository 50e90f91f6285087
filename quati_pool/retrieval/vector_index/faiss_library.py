"""The library faiss, imported in one place: quiet, and with its exact search at full speed."""

from __future__ import annotations

import warnings
from typing import Any

from quati_pool.errors import MissingExtraError


def load_faiss() -> Any:
    """The module. Raises MissingExtraError where it is not installed."""
    try:
        with warnings.catch_warnings():
            # Of the classes that SWIG makes; nothing a user could mend.
            warnings.simplefilter("ignore", DeprecationWarning)
            import faiss
    except ModuleNotFoundError as error:
        raise MissingExtraError("the search over vectors", "neural", "faiss-cpu") from error
    # From how many queries on it multiplies matrices; by default it is ten times slower on some hundreds.
    faiss.cvar.distance_compute_blas_threshold = 20
    return faiss


def faiss_version() -> str:
    """Of what is installed, without importing it; ``absent`` where it is not, which no cache then matches."""
    from importlib.metadata import PackageNotFoundError, version

    for package in ("faiss-cpu", "faiss-gpu", "faiss"):
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    return "absent"
