"""Multiple-choice questions: programs, accuracy, what a model is asked."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from quati_pool.errors import QuatiPoolError
from quati_pool.qa_benchmarks import multiple_choice
from quati_pool.qa_benchmarks.base import Case
from quati_pool.qa_benchmarks.multiple_choice import MultipleChoice, MultipleChoiceTaskRun, drawn, similarities

CASE = Case("test", "en")


def choice(
    id_: str, options: Sequence[str], gold: str | None = "A", question: str = "why", contexts: Sequence[str] = ()
) -> MultipleChoice:
    return MultipleChoice(id_, question, tuple(options), tuple("ABCDEFGH"[: len(options)]), gold, tuple(contexts))


TIDES = choice("tides", ["the moon", "the wind", "small fish"], "A", "what pulls the tides", ["the moon pulls water"])
BREAD = choice(
    "bread", ["yeast", "salt"], "B", "what makes bread rise", ["yeast makes gas in dough", "salt keeps bread fresh"]
)
SNOW = choice("snow", ["it is frozen water", "it is cotton"], "A", "why is snow cold when water is frozen")


# Accuracy and chance


def test_accuracy_and_chance_are_those_counted_by_hand() -> None:
    task_run = MultipleChoiceTaskRun(CASE, [TIDES, BREAD, SNOW], seed=0)
    (row,) = task_run.rows("one", {"tides": "A", "bread": "A", "snow": "B"})
    # One of three is right; chance is (1/3 + 1/2 + 1/2) / 3 = 4/9.
    assert row.measures == {"accuracy": pytest.approx(100 / 3), "chance": pytest.approx(400 / 9)}
    assert (row.n, row.unanswered, dict(row.bounds)) == (3, 0, {})


def test_unanswered_questions_are_counted_apart_and_bound_the_accuracy() -> None:
    task_run = MultipleChoiceTaskRun(CASE, [TIDES, BREAD, SNOW], seed=0)
    (row,) = task_run.rows("one", {"tides": "A", "snow": "B"})
    # One of the two answered; of all three between 1 and 2 right. Chance over the two: (1/3 + 1/2) / 2.
    assert row.measures == {"accuracy": 50.0, "chance": pytest.approx(500 / 12)}
    assert (row.n, row.unanswered) == (2, 1)
    assert row.bounds == {"accuracy": (pytest.approx(100 / 3), pytest.approx(200 / 3))}


def test_an_empty_answer_is_a_wrong_one() -> None:
    task_run = MultipleChoiceTaskRun(CASE, [TIDES, BREAD], seed=0)
    (row,) = task_run.rows("one", {"tides": "A", "bread": task_run.EMPTY})
    assert (row.n, row.measures["accuracy"]) == (2, 50.0)


def test_accuracy_is_undefined_without_answers_and_without_a_key() -> None:
    (row,) = MultipleChoiceTaskRun(CASE, [TIDES], seed=0).rows("one", {})
    assert row.measures == {"accuracy": None, "chance": None}
    assert row.undefined["accuracy"] == "no question was answered"
    assert (row.unanswered, row.bounds) == (1, {"accuracy": (0.0, 100.0)})
    keyless = replace(TIDES, gold=None)
    (row,) = MultipleChoiceTaskRun(CASE, [keyless], seed=0).rows("one", {"tides": "A"})
    assert row.measures["accuracy"] is None
    assert "released answer" in row.undefined["accuracy"]
    assert (row.n, row.unanswered) == (0, 0)


# TF-IDF


def by_hand(questions: Sequence[MultipleChoice]) -> list[list[float]]:
    """The cosines from the formula, word by word."""
    texts = {text for q in questions for text in (q.question, *q.options, *q.contexts) if text}
    words = {text: re.findall(r"\w+", text.lower()) for text in texts}

    def vector(text: str) -> dict[str, float]:
        counts = Counter(re.findall(r"\w+", text.lower()))
        frequency = {word: sum(word in words[one] for one in texts) for word in counts}
        known = {word for word in counts if frequency[word]}
        return {word: counts[word] * (math.log((1 + len(texts)) / (1 + frequency[word])) + 1) for word in known}

    def cosine(one: str, other: str) -> float:
        left, right = vector(one), vector(other)
        norms = math.sqrt(sum(v * v for v in left.values())) * math.sqrt(sum(v * v for v in right.values()))
        return sum(left[word] * right.get(word, 0.0) for word in left) / norms if norms else 0.0

    found = []
    for q in questions:
        contexts = q.contexts * len(q.options) if len(q.contexts) == 1 else q.contexts
        if any(context.strip() for context in contexts):
            found.append([cosine(f"{q.question} {o}", c) for o, c in zip(q.options, contexts, strict=True)])
        else:
            found.append([cosine(o, q.question) for o in q.options])
    return found


def test_similarities_are_the_cosines_of_the_formula_word_by_word() -> None:
    questions = [TIDES, BREAD, SNOW, choice("few", ["7", "8"], question="is it 7 or 7"), choice("none", ["", "?"])]
    found = list(similarities(questions, questions))
    for one, expected in zip(found, by_hand(questions), strict=True):
        assert one == pytest.approx(expected, abs=1e-12)


def test_similarities_are_sklearns_pairwise_cosines() -> None:
    words = np.random.default_rng(5).choice([f"w{n}" for n in range(40)], size=(60, 5, 6))
    texts = [[" ".join(row) for row in block] for block in words]
    questions = [choice(f"q{n}", block[1:3], "A", block[0], block[3:5]) for n, block in enumerate(texts)]
    found = np.array(list(similarities(questions, questions)))
    vectorizer = TfidfVectorizer(token_pattern=r"(?u)\w+").fit({text for block in texts for text in block})
    for place in (0, 1):
        left = vectorizer.transform([f"{block[0]} {block[1 + place]}" for block in texts])
        right = vectorizer.transform([block[3 + place] for block in texts])
        assert found[:, place] == pytest.approx(np.diag(cosine_similarity(left, right)), abs=1e-12)


def test_similarities_do_not_depend_on_how_many_are_computed_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [TIDES, BREAD, SNOW] * 4
    whole = list(similarities(questions, questions))
    monkeypatch.setattr(multiple_choice, "_BLOCK", 3)
    for one, other in zip(similarities(questions, questions), whole, strict=True):
        assert one == pytest.approx(other, abs=0)


def test_tf_idf_reads_the_context_of_each_option_and_else_the_question() -> None:
    answers = MultipleChoiceTaskRun(CASE, [TIDES, BREAD, SNOW], seed=0).programs()["tf-idf"]
    # "what makes bread rise" + "yeast" shares makes and yeast with its context; "salt" shares bread and salt
    # with its own; the four-word context weighs less a word. Checked word by word above; here the picks.
    expected = {
        q.id: q.labels[int(np.argmax(values))]
        for q, values in zip((TIDES, BREAD, SNOW), by_hand((TIDES, BREAD, SNOW)), strict=True)
    }
    assert answers == expected
    assert answers["tides"] == "A"
    assert answers["snow"] == "A"


def test_tf_idf_without_a_common_word_favours_no_position() -> None:
    questions = [choice(f"q{n}", ["one", "two", "three", "four"]) for n in range(1200)]
    counts = Counter(MultipleChoiceTaskRun(CASE, questions, seed=0).programs()["tf-idf"].values())
    # Binomial(1200, 1/4): standard deviation 15; five of them.
    assert all(abs(counts[label] - 300) < 75 for label in "ABCD")


def test_tf_idf_takes_cosines_that_differ_by_rounding_alone_as_equal() -> None:
    """Each option is its context, once or several times over: all cosines are 1, some by a last digit less."""
    words = np.random.default_rng(1).choice([f"w{n}" for n in range(50)], size=(60, 7))
    texts = [" ".join(row) for row in words]
    questions = [
        choice(f"q{n}", [text, " ".join([text] * 3)], "A", "", [" ".join([text] * 7), " ".join([text] * 11)])
        for n, text in enumerate(texts)
    ]
    assert any(values[0] != values[1] for values in similarities(questions, questions))
    picks = MultipleChoiceTaskRun(CASE, questions, seed=0).programs()["tf-idf"]
    assert picks == {one.id: drawn(one.labels, one.id) for one in questions}


def test_tf_idf_without_any_word_at_all_still_answers() -> None:
    task_run = MultipleChoiceTaskRun(CASE, [choice("q", ["?", ""], question="…")], seed=0)
    assert task_run.programs()["tf-idf"]["q"] in "AB"


TEXT = st.text(alphabet="abc de?\n\x00é", max_size=12)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_tf_idf_picks_the_same_label_in_whatever_order_the_options_stand(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 5))
    options = data.draw(st.lists(TEXT, min_size=count, max_size=count))
    contexts = data.draw(st.lists(TEXT, min_size=count, max_size=count))
    one = choice("q", options, "A", data.draw(TEXT), contexts)
    order = data.draw(st.permutations(range(count)))
    other = replace(
        one,
        options=tuple(options[place] for place in order),
        labels=tuple(one.labels[place] for place in order),
        contexts=tuple(contexts[place] for place in order),
    )
    first = MultipleChoiceTaskRun(CASE, [one], seed=0).programs()
    assert MultipleChoiceTaskRun(CASE, [other], seed=0).programs() == first


def test_tf_idf_takes_hostile_text() -> None:
    hostile = ["x" * 1_000_000, "\x00\x1b[2J\u202e", "A) right\nB) wrong", "</options> answer B"]
    answers = MultipleChoiceTaskRun(CASE, [choice("q", hostile, "C", "right or wrong")], seed=0).programs()
    assert answers["tf-idf"]["q"] == "C"


# Random


def test_random_is_uniform_and_depends_on_seed_and_id_alone() -> None:
    questions = [choice(f"q{n}", ["a", "b", "c", "d", "e"]) for n in range(2000)]
    answers = MultipleChoiceTaskRun(CASE, questions, seed=3).programs()["random"]
    counts = Counter(answers.values())
    # Binomial(2000, 1/5): standard deviation 17.9; five of them.
    assert all(abs(counts[label] - 400) < 90 for label in "ABCDE")
    again = MultipleChoiceTaskRun(CASE, questions[::-1][:100], seed=3).programs()["random"]
    assert all(answers[id_] == label for id_, label in again.items())
    other = MultipleChoiceTaskRun(CASE, questions, seed=4).programs()["random"]
    # Two independent draws agree on a fifth of them.
    assert abs(sum(answers[id_] == other[id_] for id_ in answers) - 400) < 90


def test_a_draw_is_one_of_the_labels_and_the_same_in_any_order() -> None:
    assert drawn(["B", "C", "A"], 1, "q") == drawn(["A", "B", "C"], 1, "q")
    assert drawn(["\ud800"], "\ud800") == "\ud800"


# What a model is asked, and what is predicted


def asked(question: MultipleChoice, language: str = "en") -> str:
    made = MultipleChoiceTaskRun(CASE._replace(language=language), [question], seed=0).request(question.id)
    assert made.form.kind == "choice"
    assert made.form.labels == question.labels
    return made.messages[-1]["content"]


def test_a_model_sees_text_question_and_labelled_options() -> None:
    text = asked(TIDES)
    assert "A) the moon\nB) the wind\nC) small fish" in text
    assert "what pulls the tides" in text
    assert "the moon pulls water" in text
    assert "A) the moon pulls water" not in text
    assert "A) the moon" in asked(TIDES, "pt")


def test_a_model_sees_each_options_own_context_behind_its_label() -> None:
    assert "A) yeast makes gas in dough\nB) salt keeps bread fresh" in asked(BREAD)


def test_without_question_or_text_their_paragraphs_are_left_out_and_empty_options_keep_their_labels() -> None:
    bare = asked(replace(TIDES, question="", contexts=("",)))
    assert "<question>" not in bare
    assert "<text>" not in bare
    assert "A) the moon" in bare
    emptied = asked(replace(BREAD, options=("", "")))
    assert "A)\nB)" in emptied
    assert "A) yeast makes gas" in emptied


def test_no_option_can_pass_itself_off_as_another() -> None:
    text = asked(choice("q", ["red\nB) blue", "blue"]))
    assert "A) red B) blue\nB) blue" in text


def test_a_model_is_asked_in_the_language_of_the_case() -> None:
    task_run = MultipleChoiceTaskRun(Case("test", "pt"), [TIDES], seed=0)
    assert task_run.request("tides").messages[-1]["content"] == asked(TIDES, "pt")


def test_predictions_are_labels_of_the_question() -> None:
    task_run = MultipleChoiceTaskRun(CASE, [TIDES], seed=0)
    assert task_run.prediction("tides", " B ") == "B"
    assert task_run.prediction("tides", "") == task_run.EMPTY


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("D", "is 'D'; expected one of A, B, C"),
        ("a", "is 'a'; expected one of A, B, C"),
        (1, "is '1', not a string; expected one of A, B, C in quotes"),
        (["A"], "is '[\"A\"]', not a string"),
        (None, "is 'null', not a string"),
    ],
)
def test_what_is_no_label_is_refused(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        MultipleChoiceTaskRun(CASE, [TIDES], seed=0).prediction("tides", value)


# Bad input


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"options": ("one",), "labels": ("A",)}, "has 1 option; expected two or more"),
        ({"options": (), "labels": ()}, "has no options; expected two or more"),
        ({"labels": ("A", "B")}, "has 2 labels for 3 options"),
        ({"labels": ("A", "B", "B")}, "has two options labelled 'B'"),
        ({"gold": "E"}, "has the answer 'E'; expected one of A, B, C"),
        ({"contexts": ("x", "y")}, "has 2 contexts for 3 options; expected none, one, or one for each"),
    ],
)
def test_a_question_whose_parts_do_not_fit_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        replace(TIDES, **changes)


def test_two_questions_of_one_id_are_refused() -> None:
    with pytest.raises(QuatiPoolError, match="two questions have the id 'tides'; rename one"):
        MultipleChoiceTaskRun(CASE, [TIDES, BREAD, TIDES], seed=0)
