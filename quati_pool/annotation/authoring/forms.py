"""The forms that people fill in: their fields, the rules that every field of a kind keeps, and what breaks one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from quati_pool.annotation.evidence import merged, stored_evidence
from quati_pool.errors import TranslatableError
from quati_pool.text.sentences import Span
from quati_pool.text.typed import UnprintableError, has_words, typed_line, typed_lines

FieldKind = Literal["line", "prose", "yes_no", "scale", "choice", "spans"]

MOST_SPANS = 200
"""The most pieces of evidence in one form."""

MACHINE = "machine"
"""The name in an entry's content under which it says, by field, what began as a translation by a model: ``by`` which
version of the translator, whether a person ``edited`` it, and the ``request`` under which it was made. No field has
this name."""


class Field(NamedTuple):
    """One input of a form. ``name`` is its key in an entry's content, such as ``question.pt``; ``label`` the page's
    message for it, or for a plug-in the words themselves.

    ``values`` are those of a choice, or the ends of a scale as numbers (``("1", "5")``); ``most`` is in characters;
    ``prefilled`` is the path into what is shown of the text that the field begins with (``question.pt``). With
    ``unlike_others`` the writer is warned if a question like it exists. ``spans`` mark evidence in the shown text
    ``text``: a page sends a list of ``{"language", "start", "end"}`` in code points, without a language where the text
    has none.
    """

    name: str
    kind: FieldKind
    label: str
    language: str | None = None
    values: tuple[str, ...] = ()
    required: bool = True
    most: int = 2_000
    prefilled: str | None = None
    unlike_others: bool = False


class Step(NamedTuple):
    """One form: its name, unique in the design, the names of what it ``shows``, and its fields. After a step that
    ``reveals``, what was hidden is shown, and the steps up to it cannot be undone."""

    name: str
    shows: tuple[str, ...]
    fields: tuple[Field, ...]
    reveals: bool = False


class Doubt(NamedTuple):
    """Something that a writer is asked to confirm; ``reason`` and ``values`` as in TranslatableError."""

    reason: str
    field: str
    values: Mapping[str, Any]


class Checked(NamedTuple):
    """A form's content, cleaned, with what is doubtful in it."""

    content: Mapping[str, Any]
    doubts: tuple[Doubt, ...] = ()


class WritingError(TranslatableError):
    """A form was refused and nothing was written; ``field`` is the input at fault, None for the form as a whole.
    Without a ``reason``, what was sent is nothing that a page sends."""

    def __init__(self, message: str, reason: str | None, field: str | None = None, **values: object) -> None:
        self.field = field
        super().__init__(message, reason, **values)


def cleaned(step: Step, shown: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """A form's content as it is stored, by the rules of its fields' kinds; optional fields without a value are left
    out.

    A line is one line of composed characters with single spaces; prose may have several lines; both have words and no
    control characters. A yes or no is a bool, a scale an int within its ends, a choice one of its values. Spans are
    merged, by language, and have the words that they mark as ``text``. Raises WritingError, with the reason ``empty``,
    ``long``, ``control``, ``value`` or ``unknown``.
    """
    names = {field.name for field in step.fields}
    for name in content:
        if name not in names:
            raise WritingError(f"the form has no field {str(name)[:40]!r}; reload the page", "unknown")
    found = {}
    for field in step.fields:
        value = _cleaned(field, shown, content.get(field.name))
        if value is not None:
            found[field.name] = value
        elif field.required:
            raise WritingError(f"{field.name} is empty; fill it in", "empty", field.name)
    return found


def at_path(shown: Mapping[str, Any], path: str) -> Any:
    """What is shown at a path of names with dots between them, such as ``question.pt``; None if there is nothing."""
    found: Any = shown
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _cleaned(field: Field, shown: Mapping[str, Any], value: Any) -> Any:
    """The value of a field as it is stored; None if it is empty."""
    if value is None:
        return None
    if field.kind in ("line", "prose"):
        return _text(field, value)
    if field.kind == "spans":
        return _spans(field, shown.get("text"), value)
    if field.kind == "yes_no":
        valid = isinstance(value, bool)
    elif field.kind == "scale":
        valid = type(value) is int and int(field.values[0]) <= value <= int(field.values[-1])
    else:
        valid = value in field.values
    if not valid:
        raise _not_a_value(field)
    return value


def _text(field: Field, value: Any) -> str | None:
    if not isinstance(value, str):
        raise _not_a_value(field)
    line = field.kind == "line"
    try:
        text = typed_line(value) if line else typed_lines(value)
    except UnprintableError:
        expected = "one line without control characters" if line else "text without control characters"
        message = f"{field.name}: expected {expected}; type it again, or paste it as plain text"
        raise WritingError(message, "control", field.name) from None
    if not has_words(text):
        if text:
            raise WritingError(f"{field.name} has no words; write some", "empty", field.name)
        return None
    if len(text) > field.most:
        message = f"{field.name} has at most {field.most:,} characters, not {len(text):,}; shorten it"
        raise WritingError(message, "long", field.name, most=field.most, count=len(text))
    return text


def _spans(field: Field, text: Any, value: Any) -> list[dict[str, Any]] | None:
    if not isinstance(value, list) or len(value) > MOST_SPANS:
        raise _not_a_value(field)
    texts: Mapping[str | None, str] = {None: text} if isinstance(text, str) else text or {}
    by_language: dict[str | None, list[Span]] = {language: [] for language in texts}
    for one in value:
        language, start, end = (
            (one.get("language"), one.get("start"), one.get("end")) if isinstance(one, dict) else (None, None, None)
        )
        known = language in by_language if isinstance(language, str | None) else False
        if not (known and type(start) is type(end) is int and 0 <= start < end <= len(texts[language])):
            raise _not_a_value(field)
        by_language[language].append(Span(start, end))
    return [
        ({} if language is None else {"language": language}) | stored
        for language, spans in by_language.items()
        for stored in stored_evidence(texts[language], merged(spans))
    ] or None


def _not_a_value(field: Field) -> WritingError:
    expected = {
        "yes_no": "yes or no",
        "scale": f"a number from {' to '.join(field.values)}",
        "choice": f"one of {', '.join(field.values)}",
    }.get(field.kind)
    among = "" if expected is None else f"; expected {expected}"
    return WritingError(f"{field.name} has no such value{among}", "value", field.name)
