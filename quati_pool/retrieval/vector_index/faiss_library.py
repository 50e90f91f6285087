"""Imports the library faiss, without its warnings, and configures its exact search for full speed."""

from __future__ import annotations

import warnings
from typing import Any

from quati_pool.errors import MissingExtraError


def load_faiss() -> Any:
    """The module faiss. Raises MissingExtraError if it is not installed."""
    try:
        with warnings.catch_warnings():
            # These warnings concern classes that SWIG generates, which a user cannot fix.
            warnings.simplefilter("ignore", DeprecationWarning)
            import faiss
    except ModuleNotFoundError as error:
        raise MissingExtraError("the search over vectors", "neural", "faiss-cpu") from error
    # The number of queries from which faiss uses matrix products; with its default, searching for a few hundred is ten
    # times slower.
    faiss.cvar.distance_compute_blas_threshold = 20
    return faiss


def faiss_version() -> str:
    """The installed version of faiss, found without importing it; if there is none, ``absent``, which matches no
    cache."""
    from importlib.metadata import PackageNotFoundError, version

    for package in ("faiss-cpu", "faiss-gpu", "faiss"):
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    return "absent"
