"""Cuts texts into passages of a number of words, at the word or at the ends of sentences."""

from __future__ import annotations

from quati_pool.text.sentences import sentences


def cut(text: str, words: int) -> list[str]:
    """Cuts ``text`` into passages of ``words`` words, the last with the rest; white space becomes single spaces.

    Words are separated by white space. Passages may end within a sentence. An empty text has no passage.
    """
    found = text.split()
    return [" ".join(found[start : start + words]) for start in range(0, len(found), words)]


def cut_at_sentences(text: str, words: int) -> list[str]:
    """Cuts ``text`` into passages of whole sentences: as many as fit into ``words`` words.

    A sentence of more words is cut at every ``words``-th of its own, and its rest counts as a sentence. White space
    becomes single spaces, words are separated by it, and an empty text has no passage.
    """
    passages: list[list[str]] = []
    for sentence in sentences(text):
        for part in cut(text[sentence.start : sentence.end], words):
            fresh = part.split()
            if passages and len(passages[-1]) + len(fresh) <= words:
                passages[-1] += fresh
            else:
                passages.append(fresh)
    return [" ".join(passage) for passage in passages]
