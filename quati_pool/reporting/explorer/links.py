"""The addresses of the explorer's pages, relative to a report next to it.

Every page is ``index.html`` with a route after ``#``, whose names and values are percent-encoded, so that the same
address works from the disk and from a web server.
"""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote, urlencode

FOLDER = "explore"
_PAGE = f"{FOLDER}/index.html"

Show = Literal["all", "judged", "disputed", "unjudged", "alone"]
"""Which passages of a query are listed: ``disputed``: graded differently by two labelers; ``unjudged``: without a grade
by the labeler ``by``; ``alone``: brought into the pool by one system alone."""

START = f"{_PAGE}#/"


def query(
    query_id: str,
    *,
    by: str | None = None,
    systems: tuple[str, ...] = (),
    show: Show | None = None,
    doc_id: str | None = None,
) -> str:
    """A query's rankings and passages, seen with the grades of the labeler ``by``; ``systems`` come first, and
    ``doc_id`` is the passage to scroll to."""
    return _page("query", query_id, by=by, system=systems, show=show, doc=doc_id)


def system(run_tag: str, *, against: str | None = None, by: str | None = None, measure: str | None = None) -> str:
    """A system's scores by query, compared with those of the system ``against`` under the labeler ``by``."""
    return _page("system", run_tag, against=against, by=by, measure=measure)


def labeler(name: str, *, against: str | None = None) -> str:
    """A labeler's grades, compared with those of the labeler ``against``."""
    return _page("labeler", name, against=against)


def pairs(
    a: str,
    b: str | None = None,
    *,
    grade_a: int | None = None,
    grade_b: int | None = None,
    query_id: str | None = None,
) -> str:
    """The pairs that ``a`` graded (as ``grade_a``); with ``b``, those that both graded, the widest difference first."""
    return _page("pairs", None, a=a, b=b, grade_a=grade_a, grade_b=grade_b, query=query_id)


def alone(run_tag: str, *, by: str | None = None, relevant: bool = False) -> str:
    """The pooled pairs that no other system brought into the pool; with ``relevant`` those that ``by`` graded above
    0."""
    return _page("pairs", None, alone=run_tag, by=by, relevant="1" if relevant else None)


def _page(kind: str, name: str | None, **parameters: object) -> str:
    path = f"{_PAGE}#/{kind}" if name is None else f"{_PAGE}#/{kind}/{quote(name, safe='')}"
    given = {key: value for key, value in parameters.items() if value is not None and value != ()}
    return f"{path}?{urlencode(given, doseq=True, quote_via=quote)}" if given else path
