"""Changed training examples for readers of multiple choice (Shah, Gupta and Roth 2020, arXiv 2011.10647, appendix B).

Every option of a question is a training example of its own. In each epoch a share of them is changed in place, so that
an epoch keeps its size: a right option loses what makes it right and becomes a wrong one, and a wrong option stays one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from enum import StrEnum

from quati_pool.stats.hashing import hashes

RIGHT_SHARE = 0.2
"""The share of the right options that are changed."""
WRONG_SHARE = 0.8
"""The share of the wrong options that are changed."""


class Part(StrEnum):
    """What of an option's input is changed."""

    context = "context"
    option = "option"
    question = "question"


@dataclass(frozen=True)
class ChoiceExample:
    """A question of a training set: ``contexts`` is empty, one text or one per option, ``answer`` the position of the
    right option."""

    id: str
    question: str
    options: tuple[str, ...]
    answer: int
    contexts: tuple[str, ...] = ()

    def context_of(self, option: int) -> str:
        """The context of an option; empty where there is none."""
        if not self.contexts:
            return ""
        return self.contexts[option] if len(self.contexts) > 1 else self.contexts[0]


@dataclass(frozen=True)
class OptionExample:
    """One option as it is learned: its texts, where an empty one is ``<s>``, and whether it is right. ``changed``: the
    part that was changed, None if it is as in the data; ``emptied``: whether that part became ``<s>``, and not another
    text."""

    context: str
    question: str
    option: str
    right: bool
    changed: Part | None = None
    emptied: bool = False


def as_released(example: ChoiceExample, option: int) -> OptionExample:
    """An option as it is in the data."""
    return OptionExample(
        example.context_of(option), example.question, example.options[option], option == example.answer
    )


class Augmentation:
    """Draws the changes of an epoch's options.

    - A right option is changed with probability 0.2 and becomes a wrong one: its context, its text or its question,
      each with probability 1/3, becomes ``<s>`` or an incorrect one, a half each.
    - A wrong option is changed with probability 0.8 and stays wrong: its context or its text, a half each, becomes
      ``<s>`` or an incorrect one, a half each.

    An incorrect text, or context, is that of a wrong option of the same question (for a wrong option, of another one);
    an incorrect question is that of the example before. Our choices, where the paper's would change nothing: where all
    options share a context, an incorrect context is that of another question, and so is a text where the question has
    no other wrong option, though never one that equals the right option's; the parts that have text, such as those
    without contexts, share the probability. Draws are hashes of seed, epoch, example and option, and so depend on
    nothing that was done before.
    """

    def __init__(self, examples: Sequence[ChoiceExample], seed: int) -> None:
        self._examples = examples
        self._seed = seed

    def option(self, epoch: int, position: int, option: int) -> OptionExample:
        """The option of the example at ``position`` as it is learned in an epoch, counted from 0."""
        example = self._examples[position]
        plain = as_released(example, option)
        change, part_drawn, emptied_drawn, which = self._drawn(epoch, example.id, option)
        if change >= (RIGHT_SHARE if plain.right else WRONG_SHARE):
            return plain
        changeable = list(Part) if plain.right else [Part.context, Part.option]
        parts = [part for part in changeable if getattr(plain, part.value).strip()]
        if not parts:
            return plain
        part = parts[int(part_drawn * len(parts))]
        incorrect = "" if emptied_drawn < 0.5 else self._incorrect(part, position, option, which)
        return OptionExample(
            incorrect if part is Part.context else plain.context,
            incorrect if part is Part.question else plain.question,
            incorrect if part is Part.option else plain.option,
            False,
            part,
            not incorrect,
        )

    def _drawn(self, epoch: int, example_id: str, option: int) -> list[float]:
        """Four numbers in [0, 1): whether the option is changed, which part, whether that is emptied, and which other
        text replaces it."""
        of = ("change", "part", "emptied", "which")
        rows = len(of)
        found = hashes("augmentation", self._seed, [str(epoch)] * rows, [example_id] * rows, [str(option)] * rows, of)
        return [(int(value) >> 11) * 2.0**-53 for value in found]

    def _incorrect(self, part: Part, position: int, option: int, drawn: float) -> str:
        """A text that does not belong to the option; empty where there is none in the whole set."""
        example = self._examples[position]
        if part is Part.question:
            return self._elsewhere(position, lambda other: (other.question,), {example.question}, drawn, before=True)
        if part is Part.context:
            texts = example.contexts
            unfit = {example.context_of(option), example.context_of(example.answer)}
        else:
            texts = example.options
            unfit = {example.options[option], example.options[example.answer]}
        wrong = [text for text in texts if text.strip() and text not in unfit]
        if wrong:
            return wrong[int(drawn * len(wrong))]
        return self._elsewhere(
            position, lambda other: other.contexts if part is Part.context else other.options, unfit, drawn
        )

    def _elsewhere(
        self,
        position: int,
        texts: Callable[[ChoiceExample], Sequence[str]],
        unfit: Container[str],
        drawn: float,
        *,
        before: bool = False,
    ) -> str:
        """A text of another example that is not ``unfit``: of the nearest one before, the last of all coming before the
        first, or of a drawn one and, if that has none, the next that has."""
        others = len(self._examples) - 1
        start, rest = divmod(drawn * others, 1.0)
        for step in range(others):
            away = -1 - step if before else 1 + (int(start) + step) % others
            other = self._examples[(position + away) % len(self._examples)]
            found = [text for text in texts(other) if text.strip() and text not in unfit]
            if found:
                return found[int(rest * len(found))]
        return ""
