from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.qa_benchmarks.pira.candidates import AnsweredQuestion, candidate_sets, plain
from quati_pool.qa_benchmarks.pira.files import read_questions
from tests.qa_benchmarks.plain_tf_idf import cosine, inverse_frequencies, vector
from tests.shared_data import shared

SEA = "the sea is red in the tide"


def asked(*answers: str, text: str = SEA) -> list[AnsweredQuestion]:
    return [AnsweredQuestion(f"q{number}", text, answer) for number, answer in enumerate(answers)]


def brute_force(questions: Sequence[AnsweredQuestion]) -> dict[str, list[str]]:
    """For each text all distinct answers, nearest first."""
    texts, answers = {one.text for one in questions}, {one.answer for one in questions}
    weights = inverse_frequencies([*texts, *answers])
    vectors = {answer: vector(answer, weights) for answer in answers}
    ranked = {}
    for text in texts:
        of_text = vector(text, weights)
        similar = {answer: round(cosine(found, of_text), 12) for answer, found in vectors.items()}
        ranked[text] = sorted(answers, key=lambda answer, s=similar: (-s[answer], answer))  # type: ignore[misc]
    return ranked


@pytest.mark.parametrize(
    # Mean rank, within 5, at rank 1: measured with the issue's own script, apart from this code.
    ("language", "figures"),
    [("en", (10.71, 0.756, 0.556)), ("pt", None)],
    ids=["en", "pt"],
)
def test_ranks_and_sets_of_the_validation_file_are_those_of_a_brute_force_ranking(
    language: str, figures: tuple[float, float, float] | None
) -> None:
    read = read_questions(shared("pira/validation.csv"))
    questions = [AnsweredQuestion(one.query_id, one.text[language], one.answer[language]) for one in read]
    sets, ranked = candidate_sets(questions), brute_force(questions)
    right: dict[str, set[str]] = {}
    for one in questions:
        right.setdefault(one.text, set()).add(one.answer)
    for one in questions:
        others = [answer for answer in ranked[one.text] if answer not in right[one.text]]
        assert sets[one.question_id].rank == ranked[one.text].index(one.answer) + 1
        assert set(sets[one.question_id].options) == right[one.text] | set(others[: 5 - len(right[one.text])])
    if figures:
        ranks = [made.rank for made in sets.values()]
        of_all = (sum(ranks) / 225, sum(rank <= 5 for rank in ranks) / 225, ranks.count(1) / 225)
        assert of_all == pytest.approx(figures, abs=0.005)


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(["sea", "tide", "red", "oil", "rig"]), min_size=1, max_size=4).map(" ".join),
            st.lists(st.sampled_from(["sea", "tide", "red", "oil", "gas"]), min_size=1, max_size=3).map(" ".join),
        ),
        min_size=2,
        max_size=14,
    ).filter(lambda pairs: len({answer for _, answer in pairs}) > 1),
    st.integers(2, 6),
)
def test_every_set_holds_the_right_answer_first_ranked_others_and_no_more_than_k(
    pairs: list[tuple[str, str]], k: int
) -> None:
    questions = [AnsweredQuestion(f"q{number}", text, answer) for number, (text, answer) in enumerate(pairs)]
    sets, ranked = candidate_sets(questions, k), brute_force(questions)
    for one in questions:
        made = sets[one.question_id]
        order = ranked[one.text]
        assert made.rank == order.index(one.answer) + 1
        assert len(set(made.options)) == len(made.options) == min(k, len(order))
        right = {other.answer for other in questions if other.text == one.text}
        assert one.answer in made.options
        if len(right) <= k:
            others = [answer for answer in order if answer not in right]
            assert set(made.options) == right | set(others[: k - len(right)])
        else:  # in groups of k, best first
            in_order = [answer for answer in order if answer in right]
            start = in_order.index(one.answer) // k * k
            group = in_order[start : start + k]
            others = [answer for answer in order if answer not in group]
            assert set(made.options) == {*group, *others[: k - len(group)]}


def test_seven_right_answers_on_one_text_make_two_sets_of_five() -> None:
    # With the text "tide" the answers of more words are farther: tide, then w1 tide, w1 w2 tide, …
    chain = [" ".join([*(f"w{n}" for n in range(1, length)), "tide"]) for length in range(1, 8)]
    sets = candidate_sets(asked(*chain, text="tide"))
    assert [sets[f"q{n}"].rank for n in range(7)] == [1, 2, 3, 4, 5, 6, 7]
    for n in range(5):
        assert set(sets[f"q{n}"].options) == set(chain[:5])
    for n in (5, 6):
        assert set(sets[f"q{n}"].options) == {*chain[5:], *chain[:3]}


def test_answers_that_differ_in_capitals_or_punctuation_alone_are_one_option_in_the_question_s_spelling() -> None:
    questions = [
        *asked("Red tide.", "red  tide"),
        *[AnsweredQuestion(f"o{n}", "oil rig", f"rig {n}{n}") for n in range(3)],
    ]
    sets = candidate_sets(questions, 3)
    for question_id, own in (("q0", "Red tide."), ("q1", "red  tide")):
        options = sets[question_id].options
        assert own in options
        assert len({plain(option) for option in options}) == len(options) == 3
    assert set(candidate_sets(questions, 9)["o0"].options) == {"rig 00", "rig 11", "rig 22", "Red tide."}
    assert (plain("  In  1994. "), plain("?!")) == ("in 1994", "?!")


def test_neither_the_order_of_questions_nor_other_questions_change_how_a_set_is_shuffled() -> None:
    questions = [AnsweredQuestion(f"q{n}", f"text {n % 3} sea", f"answer {n % 7}{n % 7} sea") for n in range(30)]
    mixed = questions[:]
    random.Random(1).shuffle(mixed)
    assert candidate_sets(mixed) == candidate_sets(questions)
    assert list(candidate_sets(mixed)) == [one.question_id for one in mixed]
    # The same options in another order: by seed, and by question.
    first, second = candidate_sets(questions, seed=0), candidate_sets(questions, seed=1)
    assert first != second
    for one in questions:
        assert set(first[one.question_id].options) == set(second[one.question_id].options)
    one_set = candidate_sets(asked("tide", "sea", "rig", "oil", "red"))
    assert len({frozenset(made.options) for made in one_set.values()}) == 1
    assert len({made.options for made in one_set.values()}) > 1


def test_the_right_answer_stands_in_every_place_about_equally_often() -> None:
    questions = [AnsweredQuestion(f"q{n}", f"text {n % 50}", f"answer {n % 40}0") for n in range(1000)]
    sets = candidate_sets(questions)
    places = Counter(sets[one.question_id].options.index(one.answer) for one in questions)
    # 200 are expected in each; six standard deviations of a binomial are 76.
    assert sorted(places) == [0, 1, 2, 3, 4]
    assert all(abs(count - 200) < 76 for count in places.values())


def test_equal_similarities_are_ranked_by_characters_even_without_a_word() -> None:
    # "b" and "a" are no words to TF-IDF: all cosines are zero.
    sets = candidate_sets(asked("c", "a", "b", text="?"), 2)
    assert [sets[f"q{n}"].rank for n in range(3)] == [3, 1, 2]
    assert set(sets["q0"].options) == {"c", "a"}
    assert set(sets["q1"].options) == set(sets["q2"].options) == {"a", "b"}


def test_too_few_answers_and_repeated_ids_are_refused() -> None:
    with pytest.raises(ValueError, match="expected two or more"):
        candidate_sets(asked("tide", "Tide!"))
    with pytest.raises(ValueError, match="expected two or more"):
        candidate_sets(asked("tide", "rig"), k=1)
    with pytest.raises(ValueError, match="two questions have the id q0"):
        candidate_sets([*asked("tide", "rig"), *asked("oil")])
