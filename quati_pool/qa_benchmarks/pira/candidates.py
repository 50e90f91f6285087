"""Candidate sets for multiple choice: the right answers, and the answers of a split that are most similar to a text."""

from __future__ import annotations

import hashlib
import json
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

K = 5

Int = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]

# How many texts are ranked at a time: each takes two rows with one number per distinct answer.
_BLOCK = 512
# Cosines are compared after rounding to this many digits, as the order of summation changes the last ones.
_DIGITS = 12
_PUNCTUATION = str.maketrans("", "", string.punctuation)


class AnsweredQuestion(NamedTuple):
    """A question, the text that it is about, and its right answer."""

    question_id: str
    text: str
    answer: str


@dataclass(frozen=True)
class CandidateSet:
    """A question's options in the order shown; ``rank`` is the rank of its right answer, from 1, among all distinct
    answers, before right answers were added."""

    options: tuple[str, ...]
    rank: int


def plain(text: str) -> str:
    """``text`` in lower case, without punctuation and with single spaces, as the release matched labels to answers:
    answers with equal plain texts count as one answer. A text of punctuation alone is returned unchanged."""
    return " ".join(text.lower().translate(_PUNCTUATION).split()) or text


def candidate_sets(questions: Sequence[AnsweredQuestion], k: int = K, seed: int = 0) -> dict[str, CandidateSet]:
    """The candidate set of each question, by id (Pirozelli et al., Benchmarks for Pirá 2.0, Data Intelligence 6, 2024:
    multiple choice).

    For each text the distinct answers of all questions are ranked by TF-IDF cosine with the text (scikit-learn's
    defaults, fitted on the distinct texts and answers); ties are broken by the answers' characters. The questions on a
    text share one set: their right answers, then the best of the other answers until there are ``k``; no two options of
    a set count as one answer (``plain``). Where a text has more than ``k`` right answers, each group of ``k``, best
    first, has its own set, so that no set is larger than ``k``. A set is smaller only where there are fewer than ``k``
    answers in all. Each question's options are shuffled by ``seed`` and its id, so that the order of ``questions``
    never matters.

    Raises ValueError where ``k`` or the number of answers is less than two, and where an id occurs twice.
    """
    answers = sorted({question.answer for question in questions})
    if k < 2 or len(set(map(plain, answers))) < 2:
        raise ValueError(f"k is {k}, and the distinct answers are {len(answers)}; expected two or more of both")
    by_text: dict[str, list[AnsweredQuestion]] = {}
    for question in questions:
        by_text.setdefault(question.text, []).append(question)
    places = {answer: place for place, answer in enumerate(answers)}
    sets: dict[str, CandidateSet] = {}
    texts = sorted(by_text)
    for text, order in zip(texts, _orders(texts, answers), strict=True):
        ranks = np.empty_like(order)
        ranks[order] = np.arange(1, len(order) + 1)
        rank_of = {question.answer: int(ranks[places[question.answer]]) for question in by_text[text]}
        shared = _shared(sorted(rank_of, key=rank_of.__getitem__), (answers[place] for place in order), k)
        for question_id, _, answer in by_text[text]:
            if question_id in sets:
                raise ValueError(f"two questions have the id {question_id}; expected an id for each")
            own = plain(answer)
            options = [answer if plain(option) == own else option for option in shared[own]]
            sets[question_id] = CandidateSet(_shuffled(seed, question_id, options), rank_of[answer])
    return {question.question_id: sets[question.question_id] for question in questions}


def _shared(right: Sequence[str], ranked: Iterable[str], k: int) -> dict[str, list[str]]:
    """The set of each right answer of one text, by its plain form; ``ranked`` are all answers, best first."""
    distinct: dict[str, str] = {}
    for answer in right:
        distinct.setdefault(plain(answer), answer)
    best: dict[str, str] = {}
    for answer in ranked:
        # k answers suffice for every group: a group of n right answers contains at most n of them already.
        if len(best) == k:
            break
        best.setdefault(plain(answer), answer)
    sets = {}
    forms = list(distinct)
    for start in range(0, len(forms), k):
        group = {form: distinct[form] for form in forms[start : start + k]}
        options = list((group | {form: best[form] for form in best if form not in group}).values())[:k]
        sets.update(dict.fromkeys(group, options))
    return sets


def _orders(texts: Sequence[str], answers: Sequence[str]) -> Iterator[Int]:
    """For each text the positions of all answers, the most similar answer first."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer()
    try:
        vectorizer.fit([*texts, *answers])
    except ValueError:  # not one word in all of them
        for _ in texts:
            yield np.arange(len(answers))
        return
    of_answers = vectorizer.transform(answers).T.tocsr()
    for start in range(0, len(texts), _BLOCK):
        cosines: Values = (vectorizer.transform(texts[start : start + _BLOCK]) @ of_answers).toarray()
        # Answers are sorted by their characters, and a stable sort keeps that order among ties.
        yield from np.argsort(-np.round(cosines, _DIGITS), axis=1, kind="stable")


def _shuffled(seed: int, question_id: str, options: Sequence[str]) -> tuple[str, ...]:
    def drawn(option: str) -> bytes:
        return hashlib.blake2b(json.dumps([seed, question_id, option]).encode(), digest_size=16).digest()

    return tuple(sorted(options, key=drawn))
