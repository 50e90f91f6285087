"""The fewest queries for an estimate, on which drawing and estimating agree."""

from __future__ import annotations

FEWEST_QUERIES = 8
"""The fewest drawn queries from which a mean is estimated, and the fewest that must show a difference for its test."""

FEWEST_OF_STRATUM = 3
"""The fewest queries that are drawn from a stratum, or all of a smaller one."""
