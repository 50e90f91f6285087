"""Appendix B of Shah, Gupta and Roth (arXiv 2011.10647): how often which part of an option becomes what."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from scipy.stats import binomtest

from quati_pool.training.readers.augmentation import (
    Augmentation,
    ChoiceExample,
    OptionExample,
    Part,
    as_released,
)

OWN = [
    ChoiceExample(
        f"q{number}",
        f"question {number}",
        tuple(f"option {number}{letter}" for letter in "ABCD"),
        number % 4,
        tuple(f"context {number}{letter}" for letter in "ABCD"),
    )
    for number in range(50)
]
SHARED = [replace(one, contexts=(f"context of {one.id}",)) for one in OWN]
BARE = [replace(one, contexts=()) for one in OWN]
EPOCHS = 500  # of 50 questions of 4 options: 25,000 right options and 75,000 wrong ones
CERTAIN = 1e-6
"""The most improbable deviation that is accepted, in each of about 30 comparisons."""


def drawn(examples: list[ChoiceExample], epochs: int = EPOCHS, seed: int = 0) -> dict[bool, list[OptionExample]]:
    """The options of all epochs as they are learned, by whether they are right in the data."""
    augmentation = Augmentation(examples, seed)
    found: dict[bool, list[OptionExample]] = {True: [], False: []}
    for epoch in range(epochs):
        for position, example in enumerate(examples):
            for option in range(len(example.options)):
                found[option == example.answer].append(augmentation.option(epoch, position, option))
    return found


def is_about(hits: int, n: int, share: float) -> bool:
    return bool(binomtest(hits, n, share).pvalue > CERTAIN)


def branches(options: list[OptionExample]) -> Counter[tuple[Part | None, bool]]:
    return Counter((one.changed, one.emptied) for one in options)


@pytest.mark.parametrize("examples", [OWN, SHARED], ids=["own contexts", "one context"])
def test_the_branches_of_100_000_draws(examples: list[ChoiceExample]) -> None:
    found = drawn(examples)
    right, wrong = branches(found[True]), branches(found[False])
    assert (len(found[True]), len(found[False])) == (25_000, 75_000)
    # Right: unchanged 4/5; each of three parts 1/15, of which a half is emptied.
    assert is_about(right[None, False], 25_000, 0.8)
    for part in Part:
        for emptied in (True, False):
            assert is_about(right[part, emptied], 25_000, 0.2 / 3 / 2)
    # Wrong: unchanged 1/5; each of two parts 2/5, of which a half is emptied.
    assert is_about(wrong[None, False], 75_000, 0.2)
    for part in (Part.context, Part.option):
        for emptied in (True, False):
            assert is_about(wrong[part, emptied], 75_000, 0.8 / 4)
    assert not any(part is Part.question for part, _ in wrong)


def test_a_changed_option_is_wrong_and_another_is_as_in_the_data() -> None:
    found = drawn(OWN, epochs=20)
    for one in found[True]:
        assert one.right == (one.changed is None)
    assert not any(one.right for one in found[False])
    unchanged = [one for options in found.values() for one in options if one.changed is None]
    assert set(unchanged) <= {as_released(example, option) for example in OWN for option in range(4)}


def test_only_the_changed_part_changes() -> None:
    augmentation = Augmentation(SHARED, 3)
    for epoch in range(20):
        for position, example in enumerate(SHARED):
            for option in range(4):
                plain, learned = as_released(example, option), augmentation.option(epoch, position, option)
                for part in Part:
                    same = getattr(learned, part.value) == getattr(plain, part.value)
                    assert same == (part is not learned.changed)
                if learned.changed is not None:
                    assert learned.emptied == (not getattr(learned, learned.changed.value))


def test_an_incorrect_context_or_text_is_of_another_wrong_option_of_the_question() -> None:
    augmentation = Augmentation(OWN, 0)
    replaced = Counter()
    for epoch in range(EPOCHS):
        for option in range(4):
            learned = augmentation.option(epoch, 5, option)  # its right option is B
            if learned.changed in (Part.context, Part.option) and not learned.emptied:
                text = getattr(learned, learned.changed.value)
                replaced[option, text.removeprefix(f"{learned.changed.value} 5")] += 1
    assert {option: {text for of, text in replaced if of == option} for option in range(4)} == {
        0: {"C", "D"}, 1: {"A", "C", "D"}, 2: {"A", "D"}, 3: {"A", "C"},
    }  # fmt: skip
    for option, texts in ((0, "CD"), (1, "ACD"), (2, "AD"), (3, "AC")):
        counts = [replaced[option, text] for text in texts]
        assert all(is_about(count, sum(counts), 1 / len(texts)) for count in counts)


def test_an_incorrect_context_of_a_shared_one_is_that_of_another_question() -> None:
    for options in drawn(SHARED, epochs=40).values():
        for one in options:
            if one.changed is Part.context and not one.emptied:
                assert one.context.startswith("context of q")
                assert one.context != f"context of q{one.question.removeprefix('question ')}"
    drawn_contexts = {one.context for one in drawn(SHARED)[False] if one.changed is Part.context}
    assert drawn_contexts == {*(one.contexts[0] for one in SHARED), ""}


def test_an_incorrect_question_is_that_of_the_example_before() -> None:
    repeated = [*OWN[:3], replace(OWN[3], id="again", question=OWN[2].question), *OWN[4:]]
    augmentation = Augmentation(repeated, 0)
    before = {}
    for epoch in range(EPOCHS):
        for position in (0, 1, 3):
            learned = augmentation.option(epoch, position, repeated[position].answer)
            if learned.changed is Part.question and not learned.emptied:
                before[position] = learned.question
    # The last comes before the first, and a question that is the same is passed over.
    assert before == {0: "question 49", 1: "question 0", 3: "question 1"}


def test_where_there_is_no_context_the_other_parts_share_the_probability() -> None:
    found = drawn(BARE, epochs=200)
    right, wrong = branches(found[True]), branches(found[False])
    for part in (Part.option, Part.question):
        assert is_about(right[part, True] + right[part, False], 10_000, 0.1)
    assert is_about(wrong[Part.option, True], 30_000, 0.4)
    assert is_about(wrong[Part.option, False], 30_000, 0.4)
    assert not right[Part.context, True] + right[Part.context, False] + wrong[Part.context, True]


def test_of_two_options_the_wrong_one_gets_the_text_of_another_question() -> None:
    two = [replace(one, options=one.options[:2], answer=0, contexts=one.contexts[:2]) for one in OWN]
    replaced = [
        one for one in drawn(two, epochs=40)[False] if one.changed in (Part.option, Part.context) and not one.emptied
    ]
    assert len(replaced) > 200
    assert all(getattr(one, str(one.changed)).split()[1][:-1] != one.question.split()[1] for one in replaced)


def test_a_wrong_option_never_gets_the_text_or_the_context_of_the_right_one() -> None:
    """Of yes or no, all other texts of the set are the right one."""
    answers = [ChoiceExample(f"q{n}", f"question {n}", ("yes", "no"), n % 2, ("a yes", "a no")) for n in range(20)]
    for one in drawn(answers, epochs=40)[False]:
        right = answers[int(one.question.split()[1])].answer
        assert (one.option, one.context) != (("yes", "no")[right], ("a yes", "a no")[right])
        assert one.changed is not Part.option or one.option != ("yes", "no")[right]
        assert one.changed is not Part.context or one.context != ("a yes", "a no")[right]


def test_a_part_without_text_is_never_the_changed_one() -> None:
    """A right option would otherwise become a wrong one with the very same text."""
    bare = [ChoiceExample(f"q{n}", "", ("", f"option {n}", "dog"), 0, ("", f"context {n}", "")) for n in range(20)]
    found = drawn(bare, epochs=40)
    assert branches(found[True]) == {(None, False): 800}
    changed = [one for one in found[False] if one.changed is not None]
    assert is_about(len(changed), 1600, 0.8)
    assert {one.option.split()[0] for one in changed if one.changed is Part.context} == {"option"}


def test_alone_an_example_is_emptied_where_it_has_nothing_else() -> None:
    alone = Augmentation(SHARED[:1], 0)
    for epoch in range(300):
        learned = alone.option(epoch, 0, 0)
        assert learned.emptied or learned.changed in (None, Part.option)


def test_draws_depend_on_seed_epoch_id_and_option_alone() -> None:
    one, other = Augmentation(OWN, 0), Augmentation(OWN, 1)
    assert [one.option(3, position, 2) for position in range(50)] == [
        Augmentation(OWN, 0).option(3, position, 2) for position in reversed(range(50))
    ][::-1]
    for changed in (other.option(3, 7, 2), one.option(4, 7, 2), one.option(3, 8, 2), one.option(3, 7, 3)):
        assert isinstance(changed, OptionExample)
    assert branches([one.option(3, p, 2) for p in range(50)]) != branches([other.option(3, p, 2) for p in range(50)])
    # The share of options that are changed in both of two epochs is that of independent draws: 0.64.
    both = sum(
        one.option(epoch, position, option).changed is not None
        and one.option(epoch + 1, position, option).changed is not None
        for epoch in range(0, 60, 2)
        for position in range(50)
        for option in range(4)
        if option != OWN[position].answer
    )
    assert is_about(both, 30 * 150, 0.64)
