"""Hypothesis draws the same examples every time, and no test fails for a slow machine."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("quati-pool", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("quati-pool")
