"""Prompt templates, in which ``{passage}`` is a placeholder, and ``{{`` and ``}}`` are literal braces."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from string import Formatter

from quati_pool.registry import nearest

_PARAGRAPH = re.compile(r"(\n[ \t]*(?:\n[ \t]*)*\n)")


class Template:
    """A text with placeholders, parsed once, so that filling it is a single join; values are never parsed."""

    def __init__(self, text: str, known: Collection[str]) -> None:
        """Raises ValueError, saying what is wrong with ``text``, if it contains a variable that is not in ``known``, or
        a single brace."""
        self.text = text
        self._parts: list[tuple[str, str | None]] = []
        try:
            parts = list(Formatter().parse(text))
        except ValueError:
            raise ValueError("has a brace that opens or closes nothing; write braces as {{ and }}") from None
        for literal, name, form, conversion in parts:
            if name is not None and (name not in known or form or conversion):
                shown = f"{{{name}{'!' + conversion if conversion else ''}{':' + form if form else ''}}}"
                raise ValueError(f"has no variable {shown}; {nearest(name, known)} (write braces as {{{{ and }}}})")
            self._parts.append((literal, name))
        self.variables = frozenset(name for _, name in self._parts if name is not None)

    def fill(self, values: Mapping[str, str]) -> str:
        """The text with every placeholder filled; ``values`` must have a value for every variable."""
        return "".join([literal if name is None else literal + values[name] for literal, name in self._parts])

    def filled(self, name: str, value: str) -> str:
        """The text of a template in which the placeholders of ``name`` are replaced by ``value``."""
        fields = {None: "", name: braces_doubled(value)}
        return "".join(braces_doubled(text) + fields.get(field, f"{{{field}}}") for text, field in self._parts)

    def count(self, name: str) -> int:
        """The number of placeholders of ``name``."""
        return sum(1 for _, variable in self._parts if variable == name)

    def without(self, name: str) -> Template:
        """The template without the paragraphs (separated by empty lines) that contain the placeholder ``name``."""
        if name not in self.variables:
            return self
        pieces = _PARAGRAPH.split(self.text)
        kept = [
            position
            for position in range(0, len(pieces), 2)
            if name not in Template(pieces[position], self.variables).variables
        ]
        # Each kept paragraph except the first keeps the empty lines before it.
        text = "".join(("" if position == kept[0] else pieces[position - 1]) + pieces[position] for position in kept)
        return Template(text, self.variables)


def braces_doubled(text: str) -> str:
    """``text`` with its braces doubled, so that it is literal text in a template."""
    return text.replace("{", "{{").replace("}", "}}")
