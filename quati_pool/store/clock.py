"""The database's clock, so that how long a lease or a sign-in lasts does not depend on the clients' clocks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Double
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class database_now(FunctionElement[float]):  # noqa: N801 - used like a function
    """SQL for the seconds since 1970 at the start of the statement; to the millisecond on SQLite."""

    type = Double()
    inherit_cache = True


@compiles(database_now, "sqlite")
def _sqlite(element: Any, compiler: Any, **_: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(database_now, "postgresql")
def _postgresql(element: Any, compiler: Any, **_: Any) -> str:
    # Not now(), which is when the transaction began: it may have waited for another since.
    return "CAST(extract(epoch FROM statement_timestamp()) AS double precision)"


def as_time(seconds: float) -> datetime:
    """Seconds since 1970 as a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC)
