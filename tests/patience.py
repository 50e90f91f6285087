"""How long a test waits for what takes seconds: so long that only what hangs is given up, however busy the machine."""

from __future__ import annotations

PATIENCE = 600.0

PAGE_PATIENCE = 120_000
"""The same for what a page does, in milliseconds."""
