"""What a forked process does to be a command of its own."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import NoReturn


def run_and_leave(arguments: Sequence[str], ready: Callable[[], None], main: Callable[[], None]) -> NoReturn:
    """``quati-pool`` with these arguments after ``ready``, which sets up the process; ends it with the command's
    exit status, 70 where something else went wrong."""
    status = 70
    try:
        # Not the driver's pipes: whoever reads these would wait for the child too.
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        ready()
        sys.argv = ["quati-pool", *arguments]
        main()
        status = 0
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else 0 if ending.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
