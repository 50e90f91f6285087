"""Trains readers that decide of each candidate whether it answers a question (RoMQA, arXiv 2210.14353).

In each epoch a question's batch holds at most ``SAMPLED`` of its candidates, drawn again from epoch to epoch by hashes
of seed, epoch, question and candidate. The held-out questions keep those of the first epoch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from quati_pool.models.readers.candidates import parts_of
from quati_pool.models.readers.loaded import arguments_of
from quati_pool.models.readers.single_text import Fitted, SingleTexts
from quati_pool.stats.hashing import hashes, places
from quati_pool.training.readers.supervised import Examples

SAMPLED = 30
"""Candidates of a question in one epoch, as in the released configuration."""

QuestionSample = Literal["clusters", "unrelated"]
"""Which questions are learned: ``clusters`` of related ones, or as many ``unrelated`` ones, one of each cluster."""


@dataclass(frozen=True)
class CandidatesQuestion:
    """A question of a cluster with its candidates, each with its evidence (empty where there is none) and whether it is
    an answer."""

    id: str
    cluster_id: str
    question: str
    names: tuple[str, ...]
    evidence: tuple[str, ...]
    right: tuple[bool, ...]


class EncodedCandidates(NamedTuple):
    """The inputs of some candidates of one question, and their labels, 1 for answers."""

    texts: Sequence[Fitted]
    labels: Sequence[int]


class CandidateDecisions:
    """Encodes questions with candidates for a sequence classifier."""

    def __init__(self, tokenizer: Any, max_tokens: int, seed: int) -> None:
        self._texts = SingleTexts(tokenizer, max_tokens)
        self._tokenizer = tokenizer
        self._seed = seed

    def examples(self, questions: Sequence[CandidatesQuestion]) -> Examples[EncodedCandidates]:
        """The examples to train with. Each question has candidates."""
        return Examples([one.id for one in questions], lambda epoch, position: self.encoded(epoch, questions[position]))

    def encoded(self, epoch: int, one: CandidatesQuestion) -> EncodedCandidates:
        """The candidates of a question that are drawn in an epoch."""
        return self._encoded(one, drawn_candidates(self._seed, epoch, one.id, len(one.names)))

    def whole(self, one: CandidatesQuestion) -> EncodedCandidates:
        """All candidates of a question."""
        return self._encoded(one, range(len(one.names)))

    def _encoded(self, one: CandidatesQuestion, drawn: Sequence[int]) -> EncodedCandidates:
        texts = [self._texts.fit(parts_of(one.question, one.names[at], one.evidence[at])) for at in drawn]
        return EncodedCandidates(texts, [int(one.right[at]) for at in drawn])

    def collate(self, some: Sequence[EncodedCandidates]) -> Mapping[str, Any]:
        """A batch of questions as the model's arguments; ``labels`` has the shape (candidates of all questions,)."""
        import torch

        batch = self._texts.batch([text for one in some for text in one.texts])
        labels = torch.tensor([label for one in some for label in one.labels], dtype=torch.long)
        return {**arguments_of(batch, self._tokenizer), "labels": labels}


def drawn_candidates(seed: int, epoch: int, question_id: str, count: int) -> list[int]:
    """The positions of at most ``SAMPLED`` of a question's ``count`` candidates, in their order; all are equally
    likely."""
    if count <= SAMPLED:
        return list(range(count))
    numbers = [str(number) for number in range(count)]
    order = places(hashes(f"candidates of epoch {epoch}", seed, [question_id] * count, numbers), numbers)
    found: list[int] = sorted(order[:SAMPLED].tolist())
    return found


def sampled_questions(
    questions: Sequence[CandidatesQuestion], sample: QuestionSample, seed: int
) -> list[CandidatesQuestion]:
    """As many questions as there are clusters: whole ``clusters``, the last one in part if need be; or ``unrelated``
    ones, one of each cluster. The order of the clusters, and the question of each, are drawn by hashes of seed and id.

    RoMQA's comparison of training on related and on unrelated questions, with the same number of both (arXiv
    2210.14353, section 5). The released code takes the first questions of the file for the former.
    """
    by_cluster: dict[str, list[CandidatesQuestion]] = {}
    for one in questions:
        by_cluster.setdefault(one.cluster_id, []).append(one)
    names = list(by_cluster)
    if sample == "unrelated":
        chosen = []
        for cluster in by_cluster.values():
            ids = [one.id for one in cluster]
            chosen.append(cluster[int(places(hashes("question of a cluster", seed, ids), ids)[0])])
        return chosen
    order = places(hashes("order of clusters", seed, names), names)
    return [one for at in np.asarray(order).tolist() for one in by_cluster[names[at]]][: len(names)]
