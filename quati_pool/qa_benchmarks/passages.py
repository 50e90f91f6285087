"""Cuts texts into passages of a fixed number of words."""

from __future__ import annotations


def cut(text: str, words: int) -> list[str]:
    """Cuts ``text`` into passages of ``words`` words, the last with the rest; white space becomes single spaces.

    Words are separated by white space. Passages may end within a sentence. An empty text has no passage.
    """
    found = text.split()
    return [" ".join(found[start : start + words]) for start in range(0, len(found), words)]
