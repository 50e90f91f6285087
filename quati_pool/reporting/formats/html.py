"""Renders a document as one self-contained HTML page: no external resources, two scripts of its own, everything
escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from quati_pool.reporting.formats import html_parts
from quati_pool.reporting.formats.document import Block, Document
from quati_pool.reporting.formats.html_parts import Part
from quati_pool.text.characters import possible

if TYPE_CHECKING:
    import jinja2

_STYLES = ("page.css", "opening.css", "tables.css", "figures.css", "narrow.css", "print.css")
"""In this order, after ``base.css``: the later ones change what the earlier ones say."""


def page(document: Document) -> str:
    """The HTML of the page, to be written as UTF-8. The same document always gives the same text.

    Its content security policy (CSP level 3) forbids everything except its own style sheet and two scripts, each by
    hash, and embedded images: whatever names and texts contain, a browser runs nothing of theirs and fetches nothing.
    The scripts (tablesort, and ``page.js``) sort, filter and fold tables and mark the place in the contents list; the
    page is complete without them.
    """
    style = "\n".join([_shared("base.css"), *map(_source, _STYLES)])
    scripts = [_shared("libraries/tablesort.js"), _source("page.js")]
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            document=document,
            sections=html_parts.sections(document),
            style=style,
            style_hash=_hash(style),
            scripts=scripts,
            script_hashes=list(map(_hash, scripts)),
        )
    )


def fragment(blocks: Sequence[Block]) -> str:
    """The HTML of some blocks without a page around them, everything escaped, for a page that has its own style."""
    show: Callable[[Sequence[Part]], str] = getattr(_environment().get_template("blocks.html.j2").module, "show")  # noqa: B009
    return str(show(html_parts.parts(blocks)))


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("quati_pool.reporting.formats"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: possible(value) if type(value) is str else value,
    )
    environment.filters |= {
        "headings": html_parts.headings,
        "cells": html_parts.cells,
        "downloads": html_parts.downloads,
        "rows": html_parts.matrix_rows,
        "regions": html_parts.regions,
        "size": html_parts.size,
        "uri": html_parts.uri,
        "local": html_parts.local,
        "drawn": html_parts.drawn,
        "parts": html_parts.parts,
    }
    return environment


def _source(name: str) -> str:
    environment = _environment()
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _shared(path: str) -> str:
    """A file that the explorer has, too."""
    return (resources.files("quati_pool.reporting") / path).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
