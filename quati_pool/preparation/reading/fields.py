"""The fields of a page in JSONL and Parquet, and checks that a file has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from quati_pool.errors import InputError
from quati_pool.files.yaml_file import Model
from quati_pool.preparation.reading.page import NOT_TEXT, Page, RefusedError, checked, excerpt
from quati_pool.registry import nearest

HEAD = 1000
"""The number of lines at the start of a file by which it is checked against the configuration."""

_LISTED = 20


class Fields(Model):
    """The field names of a page's parts in JSONL and Parquet."""

    doc_id: Annotated[
        str | None, Field(description="the page's id; null makes ids of file and line, such as pages-17")
    ] = "doc_id"
    url: Annotated[str, Field(description="its address")] = "url"
    language: Annotated[str, Field(description="its language, where the source tells")] = "language"
    text: Annotated[
        str | Annotated[list[str], Field(min_length=1)],
        Field(description="its text; of several fields those that are not empty are joined by a line end"),
    ] = "text"

    @property
    def texts(self) -> list[str]:
        return [self.text] if isinstance(self.text, str) else self.text


CLUEWEB22 = Fields(doc_id="ClueWeb22-ID", url="URL", language="Language", text="Clean-Text")
"""The fields of ClueWeb22's text files (Overwijk et al. 2022, "ClueWeb22: 10 billion web documents with rich
information", SIGIR)."""


def page_of(values: Mapping[str, Any], fields: Fields, line: int, name: str) -> Page:
    """The page in a row; pages without ids get ``<name>-<line>``. Raises RefusedError."""
    texts = [found for field in fields.texts if (found := _text(values, field))]
    doc_id = f"{name}-{line}" if fields.doc_id is None else _text(values, fields.doc_id)
    url, language = _text(values, fields.url), _text(values, fields.language)
    return checked(line, doc_id, url, language, texts[0] if len(texts) == 1 else "\n".join(texts))


def _text(values: Mapping[str, Any], field: str) -> str:
    found = values.get(field)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise RefusedError(NOT_TEXT, excerpt(f"{field}: {_kind(found)}"))
    return found


def _kind(value: object) -> str:
    if isinstance(value, (bool, int, float)):
        return repr(value)
    return "a list" if isinstance(value, list) else "an object"


def check_rows(path: Path, rows: Iterable[Mapping[str, Any]], fields: Fields) -> None:
    """Raises InputError if the first rows of a file lack the text or the id field, or none of their ids is a string."""
    names: dict[str, None] = {}
    kinds: set[type] = set()
    for row in rows:
        names |= dict.fromkeys(row)
        if fields.doc_id is not None and row.get(fields.doc_id) is not None:
            kinds.add(type(row[fields.doc_id]))
    check_names(path, names, fields)
    if kinds and str not in kinds:
        raise InputError(path, None, not_ids(str(fields.doc_id)))


def check_names(path: Path, names: Iterable[str], fields: Fields) -> None:
    """Raises InputError if ``names``, the fields or columns of a file, lack the text or the id."""
    known = [name for name in names if isinstance(name, str)]
    if not any(text in known for text in fields.texts):
        raise InputError(path, None, _missing("text", " or ".join(map(repr, fields.texts)), known))
    if fields.doc_id is not None and fields.doc_id not in known:
        raise InputError(path, None, _missing("doc_id", repr(fields.doc_id), known))


class Named:
    """Checks whether rows have the optional fields (url, language) that the user named."""

    def __init__(self, fields: Fields) -> None:
        self._unseen = {part for part in ("url", "language") if part in fields.model_fields_set}
        self._fields = fields
        self._names: dict[str, None] = {}

    def see(self, names: Iterable[str]) -> None:
        """Registers the field names of a row or a file."""
        if self._unseen:
            self._names |= dict.fromkeys(names)
            self._unseen -= {part for part in self._unseen if getattr(self._fields, part) in self._names}

    def tell(self, note: Callable[[str], None], where: str = "") -> None:
        """Reports the fields that no row has had so far, and ends the check."""
        for part in sorted(self._unseen) if self._names else ():
            missing = _missing(part, repr(getattr(self._fields, part)), list(self._names))
            note(f"{where}{missing}; without it pages have no {part}")
        self._unseen = set()


def not_ids(field: str) -> str:
    return f"{field!r} does not hold text, and ids are text: write them as strings, or say  fields: {{doc_id: null}}"


def _missing(part: str, wanted: str, known: list[str]) -> str:
    if CLUEWEB22.doc_id in known and CLUEWEB22.texts[0] in known:
        return f"has no field {wanted}, but ClueWeb22's: say  format: clueweb22"
    listed = ", ".join(map(repr, known[:_LISTED])) + (" …" if len(known) > _LISTED else "")
    guess = nearest(wanted.strip("'"), known)
    hint = f" {guess}" if guess.startswith("did") else ""
    remedy = f"name it by  fields: {{{part}: …}}"
    return f"has no field {wanted} but {listed or 'none at all'};{hint} {remedy}"
