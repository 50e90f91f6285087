"""Reads labels as grades: by the caller's names, as a number, or as a grade name of the scale."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from quati_pool.errors import TranslatableText
from quati_pool.files.columns import checked_grade, grade_of, integer, required_grade
from quati_pool.files.problems import RowError, quoted

# "3 - Perfect", "3: perfect" or "3_perfect"; neither "2,0" nor "0-1", where a digit follows.
_LEADING = re.compile(r"([+-]?[0-9]+)[\W_]+(?=[^\W\d_]|\Z)")
KINDS = ("choices", "rating", "number")


class Grader:
    """Reads a label as a grade: first by the caller's names, then as an integer, then as a grade name of the scale
    (ignoring case), and last by a leading integer. Does not check that the grade is on the scale.

    A name that the caller maps to None is not a grade; ``set_aside`` counts such labels.
    """

    def __init__(self, scale: Mapping[int, str], names: Mapping[str, int | None] | None = None) -> None:
        self._scale = dict(scale)
        self._names = {name.strip(): grade for name, grade in (names or {}).items()}
        folded = [name.strip().casefold() for name in scale.values()]
        self._of_scale = {
            name: grade for name, grade in zip(folded, scale, strict=True) if name and folded.count(name) == 1
        }
        self._known: dict[str, int | None] = {}
        self.set_aside = 0

    def grade(self, label: object) -> int | None:
        """The grade of a text or a JSON number; None for an empty text or null, and for a label that is set aside.

        Raises RowError for a label that is not a grade, and for a grade beyond ±``MAX_GRADE``.
        """
        if label is None:
            return None
        if isinstance(label, bool) or not isinstance(label, (str, int, float)):
            raise RowError(f"relevance is {_kind(label)}; expected an integer or the name of a grade")
        if isinstance(label, float) and label.is_integer():
            label = int(label)
        text = str(label)
        if text not in self._known:
            self._known[text] = self._read(text.strip())
        grade = self._known[text]
        if grade is None and text and not text.isspace():
            self.set_aside += 1
        return grade

    def grade_in_qrels(self, text: str) -> int | None:
        """As ``grade``, for a text that must be an integer or one of the caller's names."""
        if text not in self._known and text not in self._names:
            required_grade(text)
        return self.grade(text)

    def _read(self, text: str) -> int | None:
        if not text:
            return None
        if text in self._names:
            return self._names[text]
        number = grade_of(text)
        if number is not None:
            return self._names.get(str(number), number)
        folded = text.casefold()
        if folded in self._of_scale:
            return self._of_scale[folded]
        leading = _LEADING.match(text)
        if leading is not None:
            number = checked_grade(integer(leading[1]), text)
            return self._names.get(str(number), number)
        option = shlex.quote(f"{text}=GRADE") if text.isprintable() and len(text) <= 60 else "TEXT=GRADE"
        names = ", ".join(name for name in self._scale.values() if integer(name) is None)
        expected = f"an integer or one of {names}" if names else "an integer"
        message = f"relevance {quoted(text)} is not a grade; expected {expected}; map it with --grade {option}"
        raise RowError(TranslatableText(message, "not_a_grade", text=quoted(text)))


def one_label(value: object) -> object:
    """The label in a value exported by an annotation tool: the value itself, the item of a (nested) list, or the value
    in an object under the kind of its control (``KINDS``); None if there is no label.

    Raises RowError for several different labels.
    """
    labels = list(dict.fromkeys(_labels(value)))
    if len(labels) > 1:
        shown = ", ".join(quoted(str(label)) for label in labels)
        raise RowError(f"has {len(labels)} labels ({shown}); expected one: correct it where it was annotated")
    return labels[0] if labels else None


def _labels(value: object) -> list[str | int | float]:
    if value is None or value == "":
        return []
    if isinstance(value, list):
        return [label for item in value for label in _labels(item)]
    if isinstance(value, dict):
        kind = next((kind for kind in KINDS if kind in value), None)
        if kind is not None:
            return _labels(value[kind])
    elif not isinstance(value, bool) and isinstance(value, (str, int, float)):
        return [value]
    raise RowError(f"the label is {_kind(value)}; expected the name of a grade or an integer")


def _kind(value: object) -> str:
    return {bool: "true or false", list: "a list"}.get(type(value), "an object")
