"""Readers that decide of each candidate whether it answers a question: sequence classifiers over both, with evidence.

The readers of RoMQA's closed and gold settings (Zhong, Shi, Yih, Zettlemoyer, 2022, arXiv 2210.14353, section 4): each
candidate is a decision of its own, so that any number of them may be answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from quati_pool.models.pair_tokens import Batch
from quati_pool.models.readers.base import Reader, ReaderAnswer, ReaderQuestion
from quati_pool.models.readers.classifier import Classifier
from quati_pool.models.readers.loaded import encoded, require_finite
from quati_pool.models.readers.single_text import Fitted, Parts, SingleTexts

_QUESTIONS = 64
"""Questions whose inputs are held at a time, as each may have hundreds of candidates."""


def parts_of(question: str, candidate: str, evidence: str) -> Parts:
    """The text of one decision: ``candidate ; question ; evidence``, as in the released code of RoMQA."""
    return Parts(f"{candidate} ; {question}" + (" ; " if evidence else ""), evidence)


class CandidatesReader(Reader):
    """Chooses every option whose class yes is the more likely one; ``scores`` are the log odds. An option's context is
    its evidence, which is shortened at its end where an input is too long."""

    kind = "candidates"

    @cached_property
    def _classifier(self) -> Classifier:
        return Classifier(self._parameters, self._local)

    @cached_property
    def _texts(self) -> SingleTexts:
        return SingleTexts(self._classifier.tokenizer, self._classifier.max_tokens(self._card))

    def answers(self, questions: Sequence[ReaderQuestion]) -> Iterator[tuple[int, ReaderAnswer]]:
        for start in range(0, len(questions), _QUESTIONS):
            some = questions[start : start + _QUESTIONS]
            for place, answer in self._some(some):
                yield start + place, answer

    def _some(self, questions: Sequence[ReaderQuestion]) -> Iterator[tuple[int, ReaderAnswer]]:
        inputs, unread = encoded(questions, self._encoded)
        yield from unread.items()
        yield from ((place, ReaderAnswer(chosen=())) for place, fitted in inputs.items() if not fitted)
        texts = [text for fitted in inputs.values() for text in fitted]
        whose = [(place, option) for place, fitted in inputs.items() for option in range(len(fitted))]
        shortened = {place for place, fitted in inputs.items() if any(text.shortened for text in fitted)}
        scores = {place: [0.0] * len(fitted) for place, fitted in inputs.items()}
        left = {place: len(fitted) for place, fitted in inputs.items()}
        lengths = [self._texts.length(text) for text in texts]

        def batch(some: list[int]) -> Batch:
            return self._texts.batch([texts[number] for number in some])

        for number, score in self._classifier.scores(lengths, batch):
            place, option = whose[number]
            require_finite(score, self._parameters, questions[place].question)
            scores[place][option] = score
            left[place] -= 1
            if not left[place]:
                chosen = tuple(number for number, one in enumerate(scores[place]) if one > 0)
                yield place, ReaderAnswer(chosen=chosen, scores=tuple(scores[place]), shortened=place in shortened)

    def _encoded(self, question: ReaderQuestion) -> list[Fitted]:
        return [
            self._texts.fit(parts_of(question.question, name, question.context_of(option)))
            for option, name in enumerate(question.options)
        ]
