"""The errors that concern a model."""

from __future__ import annotations

from quati_pool.errors import QuatiPoolError


class ModelMissingError(QuatiPoolError):
    """A model that is not on this machine."""


class ModelError(QuatiPoolError):
    """A model that is on this machine but cannot be used: incomplete, damaged, or of another kind."""
