"""Perturbed questions, and the verdicts on what an answerer does with them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import bootstrap

from quati_pool.qa_benchmarks.base import Case, Row
from quati_pool.qa_benchmarks.expectations import (
    NO_CONTEXT,
    NO_OPTION,
    NO_QUESTION,
    NOT_ABOVE,
    NOT_BELOW,
    ORIGINAL,
    PERTURBED,
    Compared,
    ExpectationTaskRun,
    compare,
    drawn_wrong,
    perturbed,
)
from quati_pool.qa_benchmarks.multiple_choice import MultipleChoice, similarities

CASE = Case("test", "en")
LABELS = ("A", "B", "C", "D")


def own(id_: str, gold: str | None = "A") -> MultipleChoice:
    """Four options, each with a context of its own."""
    return MultipleChoice(
        id_, f"asks {id_}", tuple(f"option {x}" for x in LABELS), LABELS, gold, tuple(f"context {x}" for x in LABELS)
    )


def shared(id_: str) -> MultipleChoice:
    return replace(own(id_), contexts=("one text",))


def bare(id_: str) -> MultipleChoice:
    return replace(own(id_), contexts=())


def settings(rows: Sequence[Row]) -> list[str]:
    return [row.case.setting for row in rows]


def answers(task_run: ExpectationTaskRun, right: Mapping[str, float]) -> dict[str, str]:
    """Answers that are right for this share of the questions of each setting, the first ones."""
    found = {}
    for setting, share in right.items():
        ids = [id_ for id_ in task_run.ids if id_.endswith(f"#{setting}") or (setting == ORIGINAL and "#" not in id_)]
        for place, id_ in enumerate(ids):
            found[id_] = "A" if place < share * len(ids) else "B"
    return found


# Perturbations


def test_the_perturbed_option_is_the_question_and_its_context_ten_copies_of_it() -> None:
    one = own("q")
    made = perturbed(one, PERTURBED, seed=0)
    assert made is not None
    place = one.labels.index(drawn_wrong(one, 0))
    assert place != 0
    assert made.options[place] == "asks q"
    assert made.contexts[place] == " ".join(["asks q"] * 10)
    kept = [n for n in range(4) if n != place]
    assert [made.options[n] for n in kept] == [one.options[n] for n in kept]
    assert [made.contexts[n] for n in kept] == [one.contexts[n] for n in kept]
    assert (made.id, made.question, made.labels, made.gold) == (f"q#{PERTURBED}", "asks q", LABELS, "A")


def test_with_a_shared_context_the_option_alone_is_replaced() -> None:
    made = perturbed(shared("q"), PERTURBED, seed=0)
    assert made is not None
    assert made.contexts == ("one text",)
    assert made.options.count("asks q") == 1


def test_what_the_other_settings_take_away() -> None:
    assert perturbed(own("q"), NO_OPTION, 0) == replace(own("q"), id="q#no-option", options=("",) * 4)
    assert perturbed(own("q"), NO_QUESTION, 0) == replace(own("q"), id="q#no-question", question="")
    assert perturbed(own("q"), NO_CONTEXT, 0) == replace(own("q"), id="q#no-context", contexts=("",) * 4)
    assert perturbed(shared("q"), NO_CONTEXT, 0) == replace(shared("q"), id="q#no-context", contexts=("",))
    assert perturbed(own("q"), ORIGINAL, 0) == own("q")


def test_settings_that_do_not_apply_are_none() -> None:
    assert perturbed(shared("q"), NO_OPTION, 0) is None
    assert perturbed(bare("q"), NO_OPTION, 0) is None
    assert perturbed(bare("q"), NO_CONTEXT, 0) is None
    assert perturbed(replace(own("q"), contexts=(" ",) * 4), NO_CONTEXT, 0) is None
    assert perturbed(replace(own("q"), question=" "), NO_QUESTION, 0) is None
    assert perturbed(replace(own("q"), question=""), PERTURBED, 0) is None
    assert perturbed(own("q", gold=None), PERTURBED, 0) is None


def test_the_wrong_option_is_drawn_evenly_by_seed_and_never_the_right_one() -> None:
    counts = Counter(drawn_wrong(own(f"q{n}"), 1) for n in range(3000))
    # Binomial(3000, 1/3): standard deviation 25.8; five of them.
    assert set(counts) == {"B", "C", "D"}
    assert all(abs(count - 1000) < 130 for count in counts.values())
    assert [drawn_wrong(own(f"q{n}"), 1) for n in range(50)] != [drawn_wrong(own(f"q{n}"), 2) for n in range(50)]


# What a task run holds


def test_an_exam_asks_every_setting_that_applies() -> None:
    task_run = ExpectationTaskRun(CASE, [own("x"), bare("y")], seed=0)
    assert list(task_run.ids) == [
        "x", "y", f"x#{PERTURBED}", f"y#{PERTURBED}", "x#no-option", "x#no-question", "y#no-question", "x#no-context",
    ]  # fmt: skip
    assert "test: no-option does not apply to 1 of 2 questions (it needs a context of its own for each option)" in (
        task_run.notes
    )
    assert "test: no-context does not apply to 1 of 2 questions (there is no context)" in task_run.notes


def test_questions_that_share_a_context_have_no_no_option_and_it_is_said() -> None:
    task_run = ExpectationTaskRun(Case("test", "en", "high"), [shared("x"), shared("y")], seed=0)
    rows = task_run.rows("random", task_run.programs()["random"])
    assert settings(rows) == ["high/original", f"high/{PERTURBED}", "high/no-question", "high/no-context"]
    notes = " ".join(task_run.notes)
    assert "no-option does not apply to any question" in notes
    assert "here they share one" in notes
    assert f"{PERTURBED} replaces the option alone" in notes


def test_questions_without_a_key_are_left_out_and_counted() -> None:
    task_run = ExpectationTaskRun(CASE, [own("x"), own("y", gold=None)], seed=0)
    assert {id_.partition("#")[0] for id_ in task_run.ids} == {"x"}
    assert task_run.notes[0] == "test: 1 question without a released answer left out"


def test_every_answerer_sees_the_perturbed_input() -> None:
    task_run = ExpectationTaskRun(CASE, [own("q")], seed=0)
    assert "<question>" not in task_run.request("q#no-question").messages[-1]["content"]
    assert "<text>" not in task_run.request("q#no-context").messages[-1]["content"]
    assert "A)\nB)\nC)\nD)" in task_run.request("q#no-option").messages[-1]["content"]
    assert task_run.request(f"q#{PERTURBED}").messages[-1]["content"].count("asks q") == 12  # question, option, context
    for program in task_run.programs().values():
        assert list(program) == list(task_run.ids)


def test_the_files_say_how_to_make_the_same_inputs() -> None:
    task_run = ExpectationTaskRun(Case("test", "en", "easy"), [own("x"), bare("y")], seed=7)
    ((name, content),) = task_run.files().items()
    assert name == "expectations-test-en-easy.jsonl"
    lines = [json.loads(line) for line in content.splitlines()]
    assert [line["perturbed_option"] for line in lines] == [drawn_wrong(own(id_), 7) for id_ in "xy"]
    named = {f"{line['id']}#{setting}".removesuffix("#original") for line in lines for setting in line["settings"]}
    assert named == set(task_run.ids)


# Verdicts


def test_the_rows_are_those_derived_by_hand() -> None:
    task_run = ExpectationTaskRun(CASE, [own(f"q{n}") for n in range(40)], seed=0)
    given = answers(task_run, {ORIGINAL: 0.75, PERTURBED: 0.25, NO_OPTION: 0.25, NO_QUESTION: 1.0, NO_CONTEXT: 0.0})
    rows = {row.case.setting: row for row in task_run.rows("one", given)}
    assert [row.measures["accuracy"] for row in rows.values()] == [75, 25, 25, 100, 0]
    assert all(row.measures["chance"] == 25 for row in rows.values())
    assert all(row.n == 40 for row in rows.values())
    assert {name: row.extra["difference"] for name, row in rows.items()} == {
        ORIGINAL: None, PERTURBED: -50, NO_OPTION: 0, NO_QUESTION: 75, NO_CONTEXT: -25,
    }  # fmt: skip
    # All differences are alike where all are right (1 - 1/4) or wrong (0 - 1/4): the interval is a point.
    assert rows[NO_QUESTION].extra["interval"] == [75, 75]
    assert rows[NO_CONTEXT].extra["interval"] == [-25, -25]
    assert {name: row.extra["verdict"] for name, row in rows.items()} == {
        ORIGINAL: None, PERTURBED: "fails", NO_OPTION: "undecided", NO_QUESTION: "fails", NO_CONTEXT: "holds",
    }  # fmt: skip
    assert rows[PERTURBED].extra["expected"] == "not below original"
    assert rows[NO_OPTION].extra["expected"] == "not above chance"
    assert rows[ORIGINAL].extra["expectations"] == {"monotonicity": "fails", "sanity": "fails", "reading": "holds"}
    assert not any(row.notes for row in rows.values())


def test_the_interval_is_numpys_over_the_same_draws_of_question_pairs() -> None:
    task_run = ExpectationTaskRun(CASE, [own(f"q{n}") for n in range(50)], seed=9)
    rng = np.random.default_rng(2)
    given = {id_: "ABCD"[place] for id_, place in zip(task_run.ids, rng.integers(0, 3, len(task_run.ids)), strict=True)}
    del given["q3"], given[f"q5#{PERTURBED}"]
    row = task_run.rows("one", given)[1]
    pairs = sorted((n for n in range(50) if n not in (3, 5)), key=lambda n: f"q{n}#")  # the order of the draws
    values = np.array([(given[f"q{n}#{PERTURBED}"] == "A") - int(given[f"q{n}"] == "A") for n in pairs])
    drawn = np.random.default_rng(9).integers(0, 48, (2000, 48))
    low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
    assert row.extra["difference"] == pytest.approx(100 * values.mean())
    assert row.extra["interval"] == pytest.approx([100 * low, 100 * high], abs=1e-6)
    assert (row.n, row.unanswered) == (49, 1)


def test_neither_the_order_of_the_file_nor_that_of_the_answers_changes_a_row() -> None:
    counts = (2, 3, 4, 4, 3)
    questions = [
        replace(own(f"q{n}"), options=tuple("wxyz"[:count]), labels=LABELS[:count], contexts=tuple("abcd"[:count]))
        for n, count in enumerate(counts * 12)
    ]
    there = ExpectationTaskRun(CASE, questions, seed=1)
    back = ExpectationTaskRun(CASE, questions[::-1], seed=1)
    for system, picks in there.programs().items():
        other = back.programs()[system]
        assert other == picks
        assert back.rows(system, dict(reversed(other.items()))) == there.rows(system, picks)


def test_the_interval_is_near_scipys() -> None:
    differences = np.random.default_rng(4).choice([-0.25, 0.75], p=[0.7, 0.3], size=300)
    found = compare(differences, seed=0)
    theirs = bootstrap((differences,), np.mean, method="percentile", n_resamples=4000, rng=1).confidence_interval
    assert found.difference == pytest.approx(100 * differences.mean())
    # In percentage points; the standard error of the mean is 2.6, that of an end of the interval about 0.1.
    assert (found.low, found.high) == (
        pytest.approx(100 * theirs.low, abs=0.7),
        pytest.approx(100 * theirs.high, abs=0.7),
    )


def test_chance_is_that_of_each_question() -> None:
    two = replace(own("two"), options=("a", "b"), labels=("A", "B"), contexts=("x", "y"))
    task_run = ExpectationTaskRun(CASE, [own("four"), two], seed=0)
    rows = task_run.rows("one", {"four#no-question": "A", "two#no-question": "B", "four": "A", "two": "A"})
    found = next(row for row in rows if row.case.setting == NO_QUESTION)
    # (1 - 1/4 + 0 - 1/2) / 2
    assert found.extra["difference"] == pytest.approx(12.5)
    assert found.measures["chance"] == pytest.approx(37.5)


@pytest.mark.parametrize(
    ("low", "high", "below", "above"),
    [
        (-3.0, -1.0, "fails", "holds"),
        (-3.0, 0.0, "undecided", "holds"),
        (-3.0, 1.0, "undecided", "undecided"),
        (0.0, 0.0, "holds", "holds"),
        (0.0, 2.0, "holds", "undecided"),
        (1.0, 2.0, "holds", "fails"),
        (None, None, "undefined", "undefined"),
    ],
)
def test_a_verdict_needs_the_whole_interval(low: float | None, high: float | None, below: str, above: str) -> None:
    found = Compared(0.0, low, high)
    assert (found.verdict(NOT_BELOW), found.verdict(NOT_ABOVE)) == (below, above)


def test_guessing_right_exactly_as_often_as_chance_is_no_rounding_error_above_it() -> None:
    # 1/3 has no binary form: 1 - 1/3, -1/3, -1/3 sum to about 1e-17.
    assert compare(np.array([1 - 1 / 3, -1 / 3, -1 / 3] * 5), seed=0).difference == 0
    assert compare(np.zeros(5), seed=0) == Compared(0.0, 0.0, 0.0)


def test_settings_without_answers_are_undefined_with_the_reason() -> None:
    task_run = ExpectationTaskRun(CASE, [own("x"), own("y")], seed=0)
    rows = {row.case.setting: row for row in task_run.rows("one", {"x": "A", "y#perturbed-incorrect-option": "A"})}
    assert rows[PERTURBED].extra["difference"] is None
    assert rows[PERTURBED].extra["interval"] is None
    assert rows[PERTURBED].undefined["difference"] == "no question was answered both here and in the original"
    assert rows[PERTURBED].measures["accuracy"] == 100
    assert rows[NO_QUESTION].undefined["difference"] == "no question was answered"
    assert rows[NO_QUESTION].undefined["accuracy"] == "no question was answered"
    assert rows[ORIGINAL].extra["expectations"] == dict.fromkeys(("monotonicity", "sanity", "reading"), "undefined")


def test_empty_answers_throughout_are_no_proof_of_sanity() -> None:
    """Predictions for the original questions alone: what they lack counts as empty."""
    task_run = ExpectationTaskRun(CASE, [own(f"q{n}") for n in range(40)], seed=0)
    given = {id_: "" if "#" in id_ else "A" for id_ in task_run.ids}
    rows = task_run.rows("one", given)
    assert {row.extra["verdict"] for row in rows[1:]} == {"undefined"}
    assert rows[2].undefined["difference"] == "every answer is empty"
    # An answerer that declines on what it cannot know, but not always, is measured.
    given["q0#no-question"] = "A"
    assert {row.case.setting: row.extra["verdict"] for row in task_run.rows("one", given)}[NO_QUESTION] == "holds"


def test_one_question_alone_gives_no_verdict() -> None:
    task_run = ExpectationTaskRun(CASE, [own("q")], seed=0)
    rows = task_run.rows("one", dict.fromkeys(task_run.ids, "A"))
    assert rows[3].extra["difference"] == 75
    assert rows[3].extra["interval"] is None
    assert rows[3].undefined["interval"] == "one question alone shows no spread"
    assert rows[3].extra["verdict"] == "undefined"


def test_few_questions_are_said_to_be_few() -> None:
    for count, told in ((29, True), (30, False)):
        task_run = ExpectationTaskRun(CASE, [own(f"q{n}") for n in range(count)], seed=0)
        rows = task_run.rows("one", dict.fromkeys(task_run.ids, "A"))
        assert bool(rows[1].notes) is told


def test_an_expectation_fails_with_one_setting_and_is_undecided_with_one() -> None:
    task_run = ExpectationTaskRun(CASE, [own(f"q{n}") for n in range(40)], seed=0)
    for no_option, no_question, expected in (
        (1.0, 0.0, "fails"),
        (0.25, 0.0, "undecided"),
        (0.0, 0.0, "holds"),
        (None, 0.0, "undecided"),
        (None, 1.0, "fails"),
    ):
        shares = {NO_QUESTION: no_question} | ({} if no_option is None else {NO_OPTION: no_option})
        given = answers(task_run, {ORIGINAL: 1, **shares})
        assert task_run.rows("one", given)[0].extra["expectations"]["sanity"] == expected
    bare_exam = ExpectationTaskRun(CASE, [bare(f"q{n}") for n in range(40)], seed=0)
    first = bare_exam.rows("random", bare_exam.programs()["random"])[0]
    assert first.extra["expectations"]["reading"] == "does not apply"


# Real answerers


def test_a_guesser_draws_again_in_every_setting_and_is_found_wanting_in_none() -> None:
    task_run = ExpectationTaskRun(CASE, [own(f"q{n}") for n in range(600)], seed=0)
    picks = task_run.programs()["random"]
    rows = task_run.rows("random", picks)
    assert "fails" not in rows[0].extra["expectations"].values()
    same = sum(picks[f"q{n}"] == picks[f"q{n}#no-question"] for n in range(600))
    # Two independent draws of four labels: Binomial(600, 1/4), standard deviation 10.6; five of them.
    assert abs(same - 150) < 53


def test_tf_idf_falls_for_an_option_that_repeats_the_question() -> None:
    """Question and option equal the context's words in their proportions: its cosine is 1, the highest."""
    task_run = ExpectationTaskRun(CASE, [own(f"q{n}") for n in range(40)], seed=0)
    picks = task_run.programs()["tf-idf"]
    assert all(picks[f"q{n}#{PERTURBED}"] == drawn_wrong(own(f"q{n}"), 0) for n in range(40))
    assert task_run.rows("tf-idf", picks)[1].measures["accuracy"] == 0


def test_the_term_weights_are_those_of_the_original_questions() -> None:
    words = np.random.default_rng(0).choice([f"w{n}" for n in range(30)], size=(40, 9, 4))
    texts = [[" ".join(row) for row in block] for block in words]
    questions = [
        replace(own(f"q{n}"), question=block[0], options=tuple(block[1:5]), contexts=tuple(block[5:]))
        for n, block in enumerate(texts)
    ]
    task_run = ExpectationTaskRun(CASE, questions, seed=0)
    picks = task_run.programs()["tf-idf"]
    original = [LABELS[values.argmax()] for values in similarities(task_run.questions, questions)]
    perturbed_too = [LABELS[values.argmax()] for values in similarities(task_run.questions, task_run.questions)]
    clear = [values.max() > np.sort(values)[-2] + 1e-9 for values in similarities(task_run.questions, questions)]
    assert all(
        picks[one.id] == label for one, label, sure in zip(task_run.questions, original, clear, strict=True) if sure
    )
    # With the weights of all settings some picks would be others.
    assert any(one != other for one, other, sure in zip(original, perturbed_too, clear, strict=True) if sure)


def test_equal_cosines_are_decided_as_in_the_original() -> None:
    """Options without a word have cosine 0 in every setting, and a question is then given one pick in all."""
    questions = [replace(own(f"q{n}"), question="?", options=tuple("!;:."), contexts=("-",) * 4) for n in range(30)]
    task_run = ExpectationTaskRun(CASE, [*questions, own("words")], seed=0)
    picks = task_run.programs()["tf-idf"]
    for question in questions:
        assert picks[f"{question.id}#{NO_QUESTION}"] == picks[f"{question.id}#{NO_CONTEXT}"] == picks[question.id]
    assert len({picks[question.id] for question in questions}) > 1
