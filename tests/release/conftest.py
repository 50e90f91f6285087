"""Hugging Face's libraries stay offline, and keep what they cache in the test's own folder."""

from __future__ import annotations

import os

# Read when these libraries are imported.
for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "HF_DATASETS_DISABLE_PROGRESS_BARS"):
    os.environ.setdefault(name, "1")
