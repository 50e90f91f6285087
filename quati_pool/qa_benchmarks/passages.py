"""Texts cut into passages of so many words."""

from __future__ import annotations


def cut(text: str, words: int) -> list[str]:
    """``text`` in passages of ``words`` words, the last of what is left; its white space becomes single spaces.

    A word is what white space separates. The cut is at the word count exactly, sentence ends or not. An
    empty text has no passage.
    """
    found = text.split()
    return [" ".join(found[start : start + words]) for start in range(0, len(found), words)]
