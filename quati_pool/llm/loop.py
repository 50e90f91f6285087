"""An event loop of one's own, from its start to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


def loop_error(main: Callable[[], Coroutine[Any, Any, None]]) -> BaseException | None:
    """Runs ``main`` in a new event loop of this thread; what went wrong, None where nothing did or where it was
    cancelled. Raises nothing, as the thread of a run has nobody to raise it to."""
    try:
        asyncio.run(main())
    except asyncio.CancelledError:
        return None
    except BaseException as error:
        return error
    return None
