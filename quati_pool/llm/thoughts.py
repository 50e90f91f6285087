"""Separates a model's thoughts from its answer.

Reasoning models mark thoughts in their text, each family in its own way. A thought is not part of the answer: no grade
is read from it, and it is never sent back to a model.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator

_LONGEST = 100


def _compared(mark: str) -> str:
    return "".join(unicodedata.normalize("NFC", mark).casefold().split())


@dataclass(frozen=True, slots=True)
class Marks:
    """The opening and closing marks around a model's thoughts, compared without case and white space. Raises ValueError
    for texts that cannot serve as marks."""

    open: str
    close: str

    @property
    def both(self) -> tuple[str, str]:
        return self.open, self.close

    def __post_init__(self) -> None:
        for mark in self.both:
            if not mark.strip() or not mark.isprintable() or len(mark) > _LONGEST:
                raise ValueError(f"a mark of thoughts is one line of at most {_LONGEST} characters, such as <think>")
        if _compared(self.open) == _compared(self.close):
            raise ValueError("the mark that closes thoughts must differ from the one that opens them")


_TAGS = ("think", "thinking", "reasoning", "thought", "thoughts", "seed:think")

ANY: tuple[Marks, ...] = (
    *(Marks(f"<{tag}>", f"</{tag}>") for tag in _TAGS),
    Marks("[THINK]", "[/THINK]"),
    Marks("◁think▷", "◁/think▷"),
    Marks("<|begin_of_thought|>", "<|end_of_thought|>"),
    Marks("<|START_THINKING|>", "<|END_THINKING|>"),
    Marks("<|channel>thought", "<channel|>"),
)
"""The known marks. Where they are used, the channels of ``<|channel|>analysis<|message|>…`` are recognised too."""


def _setting(value: Any) -> Any:
    if value is None or value == "none" or isinstance(value, Marks):
        return value
    named = isinstance(value, Mapping) and value.keys() == {"open", "close"}
    if named and all(isinstance(mark, str) for mark in value.values()):
        return Marks(**value)
    raise ValueError("expected the marks of its thoughts, {open: TEXT, close: TEXT}, or none")


ThoughtMarks = Annotated[Marks | Literal["none"] | None, BeforeValidator(_setting)]
"""The type of a judge's parameter in its pydantic model: further marks, "none", or None for the known ones."""


def marks_of(setting: Marks | Literal["none"] | None) -> tuple[Marks, ...]:
    """The marks for a judge's parameter; marks given there are added to the known ones."""
    if setting == "none":
        return ()
    return ANY if setting is None else (setting, *ANY)


class Spoken(NamedTuple):
    """A text without its thoughts. ``text`` has line feeds in place of thoughts and marks, so that its length and all
    positions are those of the original; ``said`` is the same without these line feeds, to show or to send. ``closed``
    is False if a thought has no end, so the answer may be missing."""

    text: str
    thoughts: list[str]
    closed: bool
    said: str


def split(text: str, marks: Sequence[Marks] = ANY) -> Spoken:
    """Splits a model's text into answer and thoughts. Without ``marks`` the whole text is the answer.

    Within a block only marks of its kind count, and they nest. A closing mark outside any block makes all text before
    it a thought, since the chat template may have opened it. Of channels only the bodies of ``final`` belong to the
    answer; their tokens, and the role between ``<|start|>`` and ``<|channel|>``, belong to neither. Takes linear time.
    """
    own = () if marks is ANY else marks
    marked = any(sign in text for sign in _SIGNS) or any(_may_hold(text, mark) for kind in own for mark in kind.both)
    if not marks or not marked:
        return Spoken(text, [], True, text.strip())
    scan = _Scan(text, tuple(marks))
    scan.run()
    pieces, done = [], 0
    for start, end in scan.said:
        pieces += ["\n" * (start - done), text[start:end]]
        done = end
    pieces.append("\n" * (len(text) - done))
    said = (text[start:end].strip() for start, end in scan.said)
    thoughts = (text[start:end].strip() for start, end in scan.thoughts)
    return Spoken("".join(pieces), [*filter(None, thoughts)], scan.closed, "\n".join(filter(None, said)))


def apart(answer: str | None, thoughts: str | None, marks: Sequence[Marks] = ANY) -> tuple[str | None, str | None]:
    """The answer without thoughts, and all thoughts, to be shown to people; each is None if there is nothing.

    ``thoughts`` are those that the server sent separately; they come first. An answer without thoughts is unchanged.
    """
    spoken = split(answer or "", marks)
    said = answer if spoken.text == answer else spoken.said
    return said if answer is not None else None, "\n\n".join(filter(None, [thoughts, *spoken.thoughts])) or None


_SIGNS = frozenset(mark[0] for kind in ANY for mark in kind.both)
"""The first characters of the known marks and of channel tokens."""


def _may_hold(text: str, mark: str) -> bool:
    """A fast check whether a mark may occur in the text, by its first character; a letter may differ in case."""
    first = mark.lstrip()[0]
    return first in text or first.isalpha()


class _Scan:
    """One pass over a text that collects the spans of the answer and of the thoughts, in order."""

    def __init__(self, text: str, marks: tuple[Marks, ...]) -> None:
        self.text = text
        self.any_mark, self.kinds = _patterns(marks)
        self.said: list[tuple[int, int]] = []
        self.thoughts: list[tuple[int, int]] = []
        self.closed = True

    def run(self) -> None:
        at = 0
        while (mark := self.any_mark.search(self.text, at)) is not None:
            self.said.append((at, mark.start()))
            role = mark.lastgroup or ""
            if role == "token":
                at = self._after_token(mark)
            elif role.startswith("close"):
                self.thoughts, self.said = [(0, mark.start())], []
                at = mark.end()
            else:
                at = self._after_thought(mark.end(), _end_of_block(self.kinds[role], self.text, mark.end()))
        self.said.append((at, len(self.text)))

    def _after_token(self, token: re.Match[str]) -> int:
        name = _name(token)
        if name == "start":
            mark = self.any_mark.search(self.text, token.end())
            role = mark and mark.lastgroup == "token" and _name(mark) == "channel"
            return mark.start() if mark and role else token.end()
        if name != "channel":
            return token.end()
        start = token.end()
        end = _TOKEN.search(self.text, start)
        if end and _name(end) == "message":
            channel = _WORD.search(self.text, start, end.start())
            start = end.end()
            if channel and channel[0].casefold() == "final":
                return start
            end = _BODY_END.search(self.text, start)
        # The token that ends a body may begin the next one.
        return self._after_thought(start, (end.start(), end.start()) if end else None)

    def _after_thought(self, start: int, end: tuple[int, int] | None) -> int:
        """Records the thought from ``start``; returns where it ends. ``end``: the span of its closing mark, or None."""
        if end is None:
            self.closed = False
            end = (len(self.text), len(self.text))
        self.thoughts.append((start, end[0]))
        return end[1]


def _end_of_block(kind: re.Pattern[str], text: str, start: int) -> tuple[int, int] | None:
    depth = 1
    for mark in kind.finditer(text, start):
        depth += 1 if mark.lastgroup == "open" else -1
        if not depth:
            return mark.span()
    return None


def _name(token: re.Match[str]) -> str:
    found = _WORD.search(token[0])
    assert found
    return found[0].casefold()


def _token(*names: str) -> str:
    return rf"<\s*+\|\s*+(?:{'|'.join(names)})\s*+\|\s*+>"


_BODY_ENDS = ("start", "channel", "end", "return", "call")
_TOKEN = re.compile(_token("message", *_BODY_ENDS), re.IGNORECASE)
_BODY_END = re.compile(_token(*_BODY_ENDS), re.IGNORECASE)
_WORD = re.compile(r"\w+")


@lru_cache(maxsize=64)
def _patterns(marks: tuple[Marks, ...]) -> tuple[re.Pattern[str], dict[str, re.Pattern[str]]]:
    """A pattern of all marks and tokens; and a pattern of each kind's marks, by the group name of its opening mark."""
    named = {f"{role}{place}": getattr(kind, role) for place, kind in enumerate(marks) for role in ("open", "close")}
    # The lookahead is only for speed: most characters begin no mark.
    firsts = "".join(re.escape(mark.strip()[0]) for mark in named.values())
    any_mark = rf"(?=[<{firsts}])(?:{_one_of(named)}|(?P<token>{_TOKEN.pattern}))"
    kinds = {f"open{place}": _one_of({"open": kind.open, "close": kind.close}) for place, kind in enumerate(marks)}
    return re.compile(any_mark, re.IGNORECASE), {
        name: re.compile(pattern, re.IGNORECASE) for name, pattern in kinds.items()
    }


def _one_of(marks: Mapping[str, str]) -> str:
    """A named group for each mark, allowing white space between its words and signs. The longer of two marks with the
    same beginning is tried first."""
    longest = sorted(marks.items(), key=lambda named: -len(named[1]))
    return "|".join(f"(?P<{name}>{_pattern(mark)})" for name, mark in longest)


def _pattern(mark: str) -> str:
    return r"\s*+".join(map(re.escape, re.findall(r"\w+|[^\w\s]", mark)))
