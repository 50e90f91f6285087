"""Programs of the machine that some tests drive: such a test is skipped where its program is absent, saying
so; with QUATI_POOL_REQUIRE_ALL set it fails."""

from __future__ import annotations

import os
import shutil

import pytest


def program(name: str, package: str) -> str:
    """The path of the program ``name``, which Debian's ``package`` brings."""
    path = shutil.which(name)
    if path is None:
        reason = f"the program {name} is not installed (on Debian: apt-get install {package})"
        if os.environ.get("QUATI_POOL_REQUIRE_ALL"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path
