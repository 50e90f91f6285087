"""Measures of sets of answers, as in RoMQA.

There are two gold sets: the right answers among a question's candidates, compared with all answers given; and the
complete answers, compared with the first k answers given. Zhong, Shi, Yih, Zettlemoyer, "RoMQA: A Benchmark for Robust,
Multi-evidence, Multi-answer Question Answering", Findings of EMNLP 2023, arXiv 2210.14353, and the evaluation script
released with it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.files.problems import quoted
from quati_pool.qa_benchmarks.base import Case, Row
from quati_pool.stats.clusters import cluster_minima, cluster_sizes

Values = npt.NDArray[np.float64]

CUTOFFS: tuple[int | None, ...] = (1, 10, 100, None)
"""How many of the first answers are compared with the complete answers; None: all."""

_PARTS = ("F1", "precision", "recall", "accuracy")
_MEANS_WITHOUT_EMPTY = ("F1", "precision", "recall")

NONE_ANSWERED = "no question was answered"
NO_RIGHT_CANDIDATE = "no question that was answered has a right candidate"
NO_COMPLETE_ANSWER = "no question that was answered has a complete answer with a name"


def _names() -> tuple[str, ...]:
    complete = [
        f"P@{k}" if k and part == "precision" else f"complete {part}" + (f"@{k}" if k else "")
        for k in CUTOFFS
        for part in _PARTS
    ]
    return (*_PARTS, *complete)


MEASURES = _names()
"""All measures without their cluster minima, ``cluster_min <measure>``."""


class Key(NamedTuple):
    """A question's cluster and its right answers: those among its candidates, and the complete answers."""

    cluster_id: str
    candidates: frozenset[str]
    complete: frozenset[str]


class SetMeasures(NamedTuple):
    """Measures of the agreement of two sets, each from 0 to 1."""

    f1: float
    precision: float
    recall: float
    accuracy: float


def compared(answers: Iterable[str], gold: frozenset[str]) -> SetMeasures:
    """Precision |P∩G| / max(1, |P|), recall |P∩G| / max(1, |G|), their harmonic mean (0 where both are 0), and
    accuracy: 1 where the sets are equal. For two empty sets accuracy is 1, and the other measures are 0."""
    given = frozenset(answers)
    common = len(given & gold)
    precision, recall = common / max(1, len(given)), common / max(1, len(gold))
    f1 = 2 * precision * recall / (precision + recall) if common else 0.0
    return SetMeasures(f1, precision, recall, float(given == gold))


def distinct(value: Any) -> tuple[str, ...]:
    """The distinct texts of a list, in its order. Raises ValueError for anything but a list of texts."""
    if not isinstance(value, (list, tuple)):
        written = quoted(json.dumps(value, ensure_ascii=False))
        raise ValueError(f"the answer is {written}, not a list; expected a list of texts, best first")
    for place, text in enumerate(value, 1):
        if not isinstance(text, str):
            raise ValueError(f"answer {place} of the list is {quoted(str(text))}, not text; expected a list of texts")
    return tuple(dict.fromkeys(value))


def _columns(answers: Sequence[str], key: Key) -> list[float]:
    """The measures of one question in the order of MEASURES, from 0 to 1."""
    found = [*compared(answers, key.candidates)]
    for k in CUTOFFS:
        found += compared(answers[:k], key.complete)
    return found


def _best(key: Key) -> list[float]:
    """The measures of the best possible answers: the complete answers, cut at k if there are more."""
    found = [*compared(key.candidates, key.candidates)]
    for k in CUTOFFS:
        found += compared(sorted(key.complete)[:k], key.complete)
    return found


@dataclass(frozen=True, eq=False)
class Measured:
    """Means over questions and over the minima of their clusters, in percent."""

    measures: Mapping[str, float | None]
    undefined: Mapping[str, str]
    clusters: int
    single: int
    """The number of clusters with one question."""


def measured(answers: Sequence[Sequence[str]], keys: Sequence[Key]) -> Measured:
    """All MEASURES and their cluster minima (the worst question of each cluster, averaged over clusters), in
    percent; the released script gives shares from 0 to 1.

    As in that script, the means of F1, precision and recall leave out the questions whose gold set is empty or holds
    only the empty text; the mean accuracy and all minima keep them. Against an empty gold set F1, precision and recall
    are 0.
    """
    return _over([_columns(given, key) for given, key in zip(answers, keys, strict=True)], keys)


def _over(columns: Sequence[Sequence[float]], keys: Sequence[Key]) -> Measured:
    if not keys:
        names = [name for measure in MEASURES for name in (measure, f"cluster_min {measure}")]
        return Measured(dict.fromkeys(names), dict.fromkeys(names, NONE_ANSWERED), 0, 0)
    values: Values = 100 * np.array(columns, dtype=np.float64).T
    codes: dict[str, int] = {}
    clusters = np.array([codes.setdefault(key.cluster_id, len(codes)) for key in keys], dtype=np.int64)
    minima, sizes = cluster_minima(values, clusters), cluster_sizes(clusters)
    held = {
        True: np.array([not _empty(key.candidates) for key in keys]),
        False: np.array([not _empty(key.complete) for key in keys]),
    }
    measures: dict[str, float | None] = {}
    undefined: dict[str, str] = {}
    for place, name in enumerate(MEASURES):
        of_candidates = place < len(_PARTS)
        kept = held[of_candidates] if _PARTS[place % len(_PARTS)] in _MEANS_WITHOUT_EMPTY else np.ones(len(keys), bool)
        measures[name] = _mean(values[place, kept]) if kept.any() else None
        measures[f"cluster_min {name}"] = _mean(minima[place])
        if not kept.any():
            undefined[name] = NO_RIGHT_CANDIDATE if of_candidates else NO_COMPLETE_ANSWER
    return Measured(measures, undefined, len(sizes), int((sizes == 1).sum()))


def _mean(values: Values) -> float:
    """The mean, equal to the last bit for any order of the questions."""
    return math.fsum(values) / len(values)


def _empty(gold: frozenset[str]) -> bool:
    return not gold or gold == {""}


def set_row(
    system: str, case: Case, keys: Mapping[str, Key], answers: Mapping[str, Sequence[str]], first: Sequence[str]
) -> Row:
    """The row of one system over the questions it answered, in percent. ``first`` names the measures that come first;
    the others follow in the order of MEASURES, each before its cluster minimum.

    ``bounds`` gives each measure over all questions, with every measure of the unanswered ones as 0, and with the best
    possible answers to them.
    """
    answered = [question_id for question_id in keys if question_id in answers]
    absent = [key for question_id, key in keys.items() if question_id not in answers]
    known = [keys[question_id] for question_id in answered]
    columns = [_columns(answers[question_id], keys[question_id]) for question_id in answered]
    found = _over(columns, known)
    names = dict.fromkeys([*first, *found.measures])
    bounds = {}
    if absent:
        low = _over([*columns, *([0.0] * len(MEASURES) for _ in absent)], [*known, *absent]).measures
        high = _over([*columns, *map(_best, absent)], [*known, *absent]).measures
        for name in names:
            ends = low[name], high[name]
            if ends[0] is not None and ends[1] is not None:
                bounds[name] = (ends[0], ends[1])
    return Row(
        system,
        case,
        len(answered),
        {name: found.measures[name] for name in names},
        found.undefined,
        len(absent),
        bounds,
        extra={"clusters": found.clusters, "single_query_clusters": found.single},
    )
