"""The measures of the step ``quality`` in plain Python, one text at a time; datatrove's way where asked.

``theirs`` names the definitions to take from datatrove's Gopher filters instead: the differences that the
docstrings of ``quality_rules`` list.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence

DIFFERENCES = ("punctuation", "blank lines", "bullets", "stop words", "by character", "most frequent", "left to right")
PAPER_BULLETS = ("•", "-")

Span = tuple[int, int]


def spans(text: str) -> list[Span]:
    return [match.span() for match in re.finditer(r"\S+", text)]


def stretches(text: str) -> tuple[list[Span], list[Span]]:
    """The lines and the paragraphs: from their first character that is no white space to their last."""
    lines: list[Span] = []
    paragraphs: list[Span] = []
    at, apart = 0, True
    for line in text.splitlines(keepends=True):
        if line.strip():
            first = at + len(line) - len(line.lstrip())
            last = at + len(line.rstrip())
            lines.append((first, last))
            if apart:
                paragraphs.append((first, last))
            else:
                paragraphs[-1] = (paragraphs[-1][0], last)
        apart = not line.strip()
        at += len(line)
    return lines, paragraphs


def later(items: Sequence[object]) -> list[int]:
    """The places of items that equal an earlier one."""
    seen: set[object] = set()
    found = []
    for place, item in enumerate(items):
        if item in seen:
            found.append(place)
        seen.add(item)
    return found


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def spelt(text: str) -> list[str]:
    """Stretches of letters, combining marks and numbers in lower case."""
    marked = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in text)
    return ["".join(c.lower()[0] for c in word).replace("ς", "σ") for word in marked.split()]


def wording(
    text: str,
    stop_words: Collection[str],
    bullets: str,
    theirs: Collection[str] = (),
    is_symbol: Callable[[str], bool] = lambda character: False,
) -> dict[str, float | None]:
    words = text.split()
    counted = [w for w in words if not all(map(is_symbol, w))] if "punctuation" in theirs else words
    lines = [line.strip() for line in text.splitlines() if "blank lines" in theirs or line.strip()]
    marks = PAPER_BULLETS if "bullets" in theirs else tuple(bullets)
    stop = set(words) if "stop words" in theirs else set(spelt(text))
    length = share(sum(map(len, counted)), len(counted))
    letters = sum(1 for c in text if c.isalpha() or _mark(c))
    return {
        "min_words": len(counted),
        "max_words": len(counted),
        "min_word_length": length,
        "max_word_length": length,
        "max_hash_signs": share(text.count("#"), len(words)),
        "max_ellipses": share(text.count("...") + text.count("…"), len(words)),
        "max_bullet_lines": share(sum(line.startswith(marks) for line in lines), len(lines)),
        "max_ellipsis_lines": share(sum(line.endswith(("...", "…")) for line in lines), len(lines)),
        "min_alphabetic_words": share(sum(any(c.isalpha() for c in w) for w in words), len(words)),
        "min_stop_words": len(stop & set(stop_words)),
        "min_line_words": share(len(words), len(stretches(text)[0])),
        "min_letters": share(letters, sum(map(len, words))),
    }


def repetition(text: str, theirs: Collection[str] = ()) -> dict[str, float | None]:
    words, tokens = spans(text), text.split()
    found: dict[str, float | None] = {}
    for key, parts, pattern, whole in zip(
        ("line", "paragraph"), stretches(text), ("\n+", "\n{2,}"), (text, text.strip()), strict=True
    ):
        if "by character" in theirs:
            items: list[object] = list(re.split(pattern, whole))
            lengths = [len(str(item)) for item in items]
        else:
            items = [tuple(text[a:b].split()) for a, b in parts]
            lengths = [b - a for a, b in parts]
        again = later(items)
        found[f"max_duplicate_{key}s"] = share(len(again), len(items))
        found[f"max_duplicate_{key}_characters"] = share(sum(lengths[i] for i in again), len(text) if words else 0)
    for n in range(2, 11):
        grams = [tuple(tokens[i : i + n]) for i in range(len(words) - n + 1)]
        if n < 5:
            held = _top_their_way(grams) if "most frequent" in theirs else _top(words, grams, n)
            found[f"max_top_{n}gram"] = share(held, len(text) if words else 0)
        else:
            held = _left_to_right(tokens, n) if "left to right" in theirs else _covered(words, later(grams), n)
            found[f"max_duplicate_{n}grams"] = share(held, len(text) if words else 0)
    return found


def _mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _covered(words: list[Span], places: Collection[int], n: int) -> int:
    return len({at for place in places for at in range(words[place][0], words[place + n - 1][1])})


def _top(words: list[Span], grams: Sequence[tuple[str, ...]], n: int) -> int:
    places = defaultdict(list)
    for place, gram in enumerate(grams):
        places[gram].append(place)
    most = max(map(len, places.values()), default=0)
    return max((_covered(words, found, n) for found in places.values() if len(found) == most > 1), default=0)


def _top_their_way(grams: Sequence[tuple[str, ...]]) -> int:
    counts = Counter(" ".join(gram) for gram in grams)
    most = max(counts.values(), default=0)
    return next((len(gram) * count for gram, count in counts.items() if count == most), 0)


def _left_to_right(words: list[str], n: int) -> int:
    seen: set[str] = set()
    held = place = 0
    while place + n <= len(words):
        gram = "".join(words[place : place + n])
        if gram in seen:
            held += len(gram)
            place += n
        else:
            seen.add(gram)
            place += 1
    return held
