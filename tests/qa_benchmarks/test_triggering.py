from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from quati_pool.errors import InputError
from quati_pool.qa_benchmarks.base import Case, MissingDataError, Row
from quati_pool.qa_benchmarks.pira.triggering import AnswerTriggering, LabelledQuestion, TriggeringTaskRun
from tests.qa_benchmarks.pira_rows import row, write_split
from tests.qa_benchmarks.plain_tf_idf import inverse_frequencies, vector, words
from tests.shared_data import shared

EN, PT = Case("validation", "en"), Case("validation", "pt")
HUMAN = Case("validation", "en", "human-paraphrases")
AUTOMATIC = Case("validation", "en", "automatic-paraphrases")


def some(label: str, *questions: str, paraphrases: Sequence[str] = ()) -> list[LabelledQuestion]:
    return [
        LabelledQuestion(f"{label}{n}", one, "a text", label, tuple(paraphrases)) for n, one in enumerate(questions)
    ]


def many(yes: int, no: int) -> list[LabelledQuestion]:
    return some("yes", *["What of it?"] * yes) + some("no", *["Why not?"] * no)


def only(rows: list[Row]) -> Row:
    (one,) = rows
    return one


@pytest.mark.parametrize("language", ["en", "pt"])
def test_the_majority_class_has_the_paper_s_figures_on_the_validation_file(language: str) -> None:
    data = shared("pira/validation.csv").parent
    case = Case("validation", language)
    task_run = AnswerTriggering().task_run(data, case, 0)
    programs = task_run.programs()
    assert list(programs) == ["majority", "naive-bayes"]
    found = only(task_run.rows("majority", programs["majority"]))
    # 173 of 192 are answerable. Of "yes" precision is 173/192 and recall 1, so F1 is 346/365; of "no" it is 0.
    assert found.measures == pytest.approx({"F1": 100 * 173 / 192 * 346 / 365, "accuracy": 100 * 173 / 192})
    assert {name: round(value or 0, 2) for name, value in found.measures.items()} == {"F1": 85.41, "accuracy": 90.10}
    assert (found.n, found.unanswered, len(task_run.ids)) == (192, 0, 192)
    learnt = only(task_run.rows("naive-bayes", programs["naive-bayes"]))
    assert learnt.n == 192
    assert task_run.notes == [
        "validation: 33 of 225 questions have no label",
        "validation: without a train.csv, the majority class is that of these questions themselves",
        "validation: naive-bayes is cross-validated on these questions (10 stratified folds, shuffled by seed 0)",
    ]


def test_the_majority_class_has_the_figures_of_the_authors_script_on_the_labels_of_the_test_file() -> None:
    # 179 of its 198 labelled questions are answerable; the released script prints 85.8479… and 90.4040….
    questions = many(179, 19)
    task_run = TriggeringTaskRun(Case("test", "en"), questions, questions, 0)
    found = only(task_run.rows("majority", task_run.programs()["majority"]))
    assert found.measures == pytest.approx({"F1": 85.8479, "accuracy": 90.4040}, abs=5e-5)


def test_f1_is_weighted_by_class_and_an_empty_answer_is_wrong_and_of_neither_class() -> None:
    task_run = TriggeringTaskRun(EN, many(3, 2), None, 0)
    answers = {"yes0": "yes", "yes1": "no", "yes2": "yes", "no0": "no", "no1": ""}
    found = only(task_run.rows("mine", answers))
    # yes: precision 2/2, recall 2/3: 4/5. no: precision 1/2, recall 1/2: 1/2. (3 · 4/5 + 2 · 1/2) / 5 = 0.68.
    assert found.measures == pytest.approx({"F1": 68, "accuracy": 60})
    assert (found.n, found.unanswered, found.bounds) == (5, 0, {})


def test_unanswered_questions_are_left_out_and_bounded_by_all_wrong_and_all_right() -> None:
    task_run = TriggeringTaskRun(EN, many(3, 2), None, 0)
    found = only(task_run.rows("mine", {"yes0": "yes", "yes1": "yes", "no0": "no"}))
    assert (found.n, found.unanswered) == (3, 2)
    assert found.measures == {"F1": 100, "accuracy": 100}
    # Wrong: yes yes no | no no yes… yes has 2 right, 1 missed, 1 taken (2/3); no 1, 1, 1 (1/2): (3·2/3 + 2·1/2)/5.
    assert found.bounds["F1"] == pytest.approx((60, 100))
    assert found.bounds["accuracy"] == pytest.approx((60, 100))
    nothing = only(task_run.rows("mine", {}))
    assert nothing.measures == {"F1": None, "accuracy": None}
    assert set(nothing.undefined) == {"F1", "accuracy"}
    assert (nothing.n, nothing.unanswered, nothing.bounds["accuracy"]) == (0, 5, (0, 100))


def test_labels_are_the_file_s_and_rows_without_one_are_left_out_and_told(tmp_path: Path) -> None:
    cells = [("1.0", "5.0"), ("1.0", "4.0"), ("0.0", "2.0"), ("0", "1"), ("", "3.0"), ("", ""), ("1.0", "")]
    rows = [row(f"A{n}", at_labels=label, question_meaningful=grade) for n, (label, grade) in enumerate(cells)]
    write_split(tmp_path, "validation", [*rows, row("A7", text="")])
    task_run = AnswerTriggering().task_run(tmp_path, EN, 0)
    right = {"A0": "yes", "A1": "yes", "A2": "no", "A3": "no", "A6": "yes"}
    assert list(task_run.ids) == list(right)
    assert only(task_run.rows("right", right)).measures == {"F1": 100, "accuracy": 100}
    assert list(task_run.notes[:2]) == [
        "validation: 2 of 8 questions have no label",
        "validation en: left out of the labelled questions, for want of a question or a text: 1",
    ]


def test_labels_come_from_the_assessment_where_the_file_has_none(tmp_path: Path) -> None:
    rows = [row(f"A{grade}", question_meaningful=f"{grade}.0") for grade in range(1, 6)]
    write_split(tmp_path, "validation", [*rows, row("A6", question_meaningful="")], without=["at_labels"])
    task_run = AnswerTriggering().task_run(tmp_path, EN, 0)
    right = {"A1": "no", "A2": "no", "A4": "yes", "A5": "yes"}
    assert list(task_run.ids) == list(right)
    assert only(task_run.rows("right", right)).measures == {"F1": 100, "accuracy": 100}


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"at_labels": "1.0", "question_meaningful": "2.0"}, "at_labels is 1.0, but question_meaningful is 2.0; exp"),
        ({"at_labels": "0.0", "question_meaningful": "5.0"}, "at_labels is 0.0, but question_meaningful is 5.0; exp"),
        ({"at_labels": "1.0", "question_meaningful": "3.0"}, "at_labels is 1.0, but question_meaningful is 3.0; exp"),
        ({"at_labels": "yes"}, "at_labels is 'yes'; expected 1.0, 0.0 or nothing"),
        ({"question_meaningful": "6.0"}, "question_meaningful is '6.0'; expected 1 to 5, or nothing"),
        ({"at_labels": "", "question_meaningful": "4.5"}, "question_meaningful is '4.5'; expected 1 to 5, or nothing"),
    ],
    ids=["yes for 2", "no for 5", "yes for 3", "word", "six", "between"],
)
def test_a_label_that_is_none_or_contradicts_the_assessment_is_refused_by_line(
    tmp_path: Path, cells: dict[str, str], message: str
) -> None:
    write_split(tmp_path, "validation", [row("A1"), row("A2", **cells)])
    with pytest.raises(InputError, match=rf"validation\.csv:3: {message}"):
        AnswerTriggering().task_run(tmp_path, EN, 0)


def test_files_without_labels_are_refused_with_where_they_are_released(tmp_path: Path) -> None:
    task = AnswerTriggering()
    with pytest.raises(MissingDataError, match=r"train\.csv, validation\.csv or test\.csv; .*C4AI/Pira"):
        task.cases(tmp_path)
    write_split(tmp_path, "validation", [row("A1", at_labels="", question_meaningful="3.0")])
    with pytest.raises(InputError, match=r"validation\.csv: no question has a label, .*C4AI/Pira"):
        task.task_run(tmp_path, EN, 0)
    write_split(tmp_path, "validation", [row("A1")], without=["at_labels", "question_meaningful"])
    with pytest.raises(InputError, match=r"validation\.csv:1: no column 'at_labels'; .*C4AI/Pira"):
        task.cases(tmp_path)
    write_split(tmp_path, "validation", [row("A1")], without=["abstract", "question_pt_origin"])
    with pytest.raises(InputError, match=r"validation\.csv:1: no column 'abstract'; .*C4AI/Pira"):
        task.cases(tmp_path)


def test_the_settings_are_those_whose_paraphrases_the_file_trained_on_has(tmp_path: Path) -> None:
    write_split(tmp_path, "validation", [row("A1")], without=["question_pt_paraphase"])
    assert AnswerTriggering().cases(tmp_path) == [EN, HUMAN, PT]
    automatic = {f"question_AUT_EN_{n}": "What then?" for n in (1, 2)}
    write_split(tmp_path, "train", [row("B1", **automatic)])
    train = [Case("train", *case[1:]) for case in (EN, HUMAN, AUTOMATIC, PT, Case("", "pt", HUMAN.setting))]
    validation = [EN, HUMAN, AUTOMATIC, PT, Case("validation", "pt", HUMAN.setting)]
    assert AnswerTriggering().cases(tmp_path) == [*train, *validation]


@pytest.mark.parametrize(
    # What flips "wave" from the more frequent yes to no: nothing, a person's paraphrase, a program's on top.
    ("case", "answers", "paraphrases"),
    [
        (EN, {"V1": "yes", "V2": "yes"}, None),
        (HUMAN, {"V1": "no", "V2": "yes"}, 2),
        (AUTOMATIC, {"V1": "no", "V2": "no"}, 5),
    ],
    ids=["original", "human", "automatic"],
)
def test_naive_bayes_is_trained_on_the_train_file_and_its_paraphrases(
    tmp_path: Path, case: Case, answers: dict[str, str], paraphrases: int | None
) -> None:
    no = {"at_labels": "0.0", "question_meaningful": "1.0"}
    columns = {"question_AUT_EN_1": "", "question_AUT_EN_2": ""}
    train = [row(f"T{n}", question_en_origin=f"tide rise {n}{n}", **columns) for n in (0, 1, 2, 7)]
    train += [
        row(
            "T3", question_en_origin="rock fall", question_en_paraphase="wave wave wave", question_AUT_EN_1="foam", **no
        ),
        row("T4", question_en_origin="rock slide", question_en_paraphase="wave", question_AUT_EN_2="foam", **no),
        row("T5", question_en_origin="tide fall", question_AUT_EN_1="tide"),
        row(
            "T6",
            question_en_origin="unused foam",
            question_en_paraphase="foam",
            at_labels="",
            question_meaningful="3.0",
        ),
    ]
    write_split(tmp_path, "train", train)
    held_out = [row("V1", question_en_origin="wave"), row("V2", question_en_origin="foam"), row("V3"), row("V4", **no)]
    write_split(tmp_path, "validation", held_out)
    task_run = AnswerTriggering().task_run(tmp_path, case, 0)
    found = task_run.programs()
    assert {name: found["naive-bayes"][name] for name in answers} == answers
    assert set(found["majority"].values()) == {"yes"}
    added = f", with {paraphrases} paraphrases of them" if paraphrases else ""
    assert task_run.notes == [f"validation: programs are trained on the 7 labelled questions of train.csv{added}"]


def test_the_majority_is_that_of_the_train_file_not_of_the_questions(tmp_path: Path) -> None:
    no = {"at_labels": "0.0", "question_meaningful": "1.0"}
    write_split(tmp_path, "train", [row("T1", **no), row("T2", **no), row("T3")])
    write_split(tmp_path, "validation", [row("V1"), row("V2"), row("V3", **no)])
    task_run = AnswerTriggering().task_run(tmp_path, EN, 0)
    found = only(task_run.rows("majority", task_run.programs()["majority"]))
    assert found.measures["accuracy"] == pytest.approx(100 / 3)
    # The train file itself is never learnt from and tested on at once.
    train = AnswerTriggering().task_run(tmp_path, Case("train", "en"), 0)
    assert train.notes == ["train: no row naive-bayes, as a class has too few questions to be cross-validated"]
    assert list(train.programs()) == ["majority"]


def naive_bayes(train: Sequence[LabelledQuestion], question: str) -> str:
    """Multinomial Naive Bayes by the book: log prior + Σ weight · log of the word's smoothed share in the class."""
    weights = inverse_frequencies([one.question for one in train])
    of_question = vector(question, weights)
    found: dict[str, float] = {}
    for label, count in Counter(one.label for one in train).items():
        sums = dict.fromkeys(weights, 1.0)
        for one in train:
            if one.label == label:
                for word, weight in vector(one.question, weights).items():
                    sums[word] += weight
        total = math.fsum(sums.values())
        likely = (weight * math.log(sums[word] / total) for word, weight in of_question.items())
        found[label] = math.log(count / len(train)) + math.fsum(likely)
    return max(sorted(found), key=found.__getitem__)


def test_a_row_says_what_its_f1_is_and_where_every_answer_is_the_same(tmp_path: Path) -> None:
    write_split(tmp_path, "test", [row("A1"), row("A2", question_meaningful="1.0", at_labels="0.0")])
    task_run = AnswerTriggering().task_run(tmp_path, Case("test", "en"), 0)
    (same,) = task_run.rows("majority", {"A1": "yes", "A2": "yes"})
    # Of the class yes 2/3, of the class no 0; one question of each.
    assert same.measures == pytest.approx({"F1": 100 / 3, "accuracy": 50})
    assert [note.partition(",")[0] for note in same.notes] == [
        "F1 is the mean of both classes' F1",
        "every answer is yes",
    ]
    (differing,) = task_run.rows("model", {"A1": "yes", "A2": "no"})
    assert len(differing.notes) == 1
    (none,) = task_run.rows("silent", {"A1": "", "A2": ""})
    assert none.notes[-1] == "every answer is empty"


def test_naive_bayes_answers_as_one_written_by_the_book() -> None:
    chance = random.Random(5)
    pools = {"yes": "tide sea wave rise fall coast oil", "no": "rock sea oil rig well gas coast"}

    def drawn(label: str, count: int, start: int) -> list[LabelledQuestion]:
        texts = [" ".join(chance.choices(pools[label].split(), k=chance.randint(1, 6))) for _ in range(count)]
        return [LabelledQuestion(f"{label}{start + n}", text, "", label, ()) for n, text in enumerate(texts)]

    train = drawn("yes", 30, 0) + drawn("no", 20, 0)
    asked = drawn("yes", 40, 100) + drawn("no", 40, 100)
    found = TriggeringTaskRun(EN, asked, train, 0).programs()["naive-bayes"]
    expected = {one.query_id: naive_bayes(train, one.question) for one in asked}
    assert found == expected
    assert 20 < Counter(expected.values())["no"] < 60
    assert any(expected[one.query_id] != one.label for one in asked)
    assert len(words(asked[0].question)) > 0


def test_a_held_out_question_s_paraphrases_are_not_learnt_from() -> None:
    # Every "no" has words that nobody else has: known only from its own paraphrases.
    no = [LabelledQuestion(f"no{n}", f"word{n} other{n}", "", "no", (f"word{n} other{n}",) * 3) for n in range(4)]
    questions = [*some("yes", *[f"tide number{n}" for n in range(12)]), *no]
    case = Case("train", "en", "human-paraphrases")
    found = TriggeringTaskRun(case, questions, None, 0).programs()["naive-bayes"]
    # Without known words the more frequent class wins: the 9 yes of the other folds against 3 · 4 no. So "no" wins
    # with paraphrases, and "yes" without; that "yes" questions know "tide" keeps them.
    assert {found[one.query_id] for one in no} == {"no"}
    fewer = [LabelledQuestion(one.query_id, one.question, "", "no", one.paraphrases[:1]) for one in no]
    questions = [*questions[:12], *fewer]
    held_out = TriggeringTaskRun(case, questions, None, 0).programs()["naive-bayes"]
    assert {held_out[one.query_id] for one in fewer} == {"yes"}
    leaked = TriggeringTaskRun(case, questions, questions, 0).programs()["naive-bayes"]
    assert {leaked[one.query_id] for one in fewer} == {"no"}


def test_folds_are_as_many_as_the_smallest_class_allows_and_drawn_by_seed_not_by_order() -> None:
    chance = random.Random(2)
    topics = ["tide", "sea", "wave", "rise", "fall", "coast", "oil", "rock", "rig", "well"]
    questions = [
        LabelledQuestion(f"q{n}", " ".join(chance.choices(topics, k=3)), "", "no" if n % 8 == 0 else "yes", ())
        for n in range(24)
    ]
    task_run = TriggeringTaskRun(EN, questions, None, 0)
    assert "(3 stratified folds, shuffled by seed 0)" in task_run.notes[-1]
    even = [
        LabelledQuestion(one.query_id, one.question, "", "yes" if n % 2 else "no", ())
        for n, one in enumerate(questions)
    ]
    mixed = even[:]
    chance.shuffle(mixed)
    assert TriggeringTaskRun(EN, mixed, None, 0).programs() == TriggeringTaskRun(EN, even, None, 0).programs()
    by_seed = [TriggeringTaskRun(EN, even, None, seed).programs()["naive-bayes"] for seed in (-1, 0, 1, 2)]
    assert any(found != by_seed[0] for found in by_seed)


def test_where_both_classes_are_as_frequent_the_majority_is_yes_as_in_the_paper() -> None:
    assert set(TriggeringTaskRun(EN, many(2, 2), None, 0).programs()["majority"].values()) == {"yes"}


def test_a_class_of_one_leaves_naive_bayes_out_and_says_so() -> None:
    task_run = TriggeringTaskRun(EN, many(5, 1), None, 0)
    assert list(task_run.programs()) == ["majority"]
    assert (
        task_run.notes[-1] == "validation: no row naive-bayes, as a class has too few questions to be cross-validated"
    )


def test_one_class_alone_and_questions_without_a_word_are_answered() -> None:
    assert set(TriggeringTaskRun(EN, many(4, 0), None, 0).programs()["naive-bayes"].values()) == {"yes"}
    silent = [LabelledQuestion(f"q{n}", "?", "", "no" if n < 6 else "yes", ()) for n in range(9)]
    assert set(TriggeringTaskRun(EN, silent, silent, 0).programs()["naive-bayes"].values()) == {"no"}


@pytest.mark.parametrize(("case", "says"), [(EN, ("yes", "no")), (PT, ("sim", "não"))], ids=["en", "pt"])
def test_a_model_is_asked_about_question_and_text_and_its_words_are_measured(case: Case, says: tuple[str, str]) -> None:
    one = LabelledQuestion("yes0", "What rises?", "Tides rise.\nThey fall.", "yes", ())
    task_run = TriggeringTaskRun(case, [one, *some("no", "Why?", "How?")], None, 0)
    asked = task_run.request("yes0")
    shown = asked.messages[-1]["content"]
    assert "What rises?" in shown
    assert "Tides rise.\nThey fall." in shown
    assert asked.form.labels == says
    answers = {"yes0": says[0], "no0": says[1], "no1": says[0]}
    assert only(task_run.rows("model", answers)).measures["accuracy"] == pytest.approx(200 / 3)


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("yes", "yes"),
        ("no", "no"),
        (1, "yes"),
        (0, "no"),
        (1.0, "yes"),
        (0.0, "no"),
        (True, "yes"),
        (False, "no"),
        ("", ""),
    ],
    ids=repr,
)
def test_predictions_may_be_words_or_the_released_numbers(value: Any, answer: str) -> None:
    assert TriggeringTaskRun(EN, many(1, 1), None, 0).prediction("yes0", value) == answer


@pytest.mark.parametrize("value", [None, 2, 0.5, "maybe", "Yes", ["yes"], {"answer": "yes"}], ids=repr)
def test_other_predictions_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r'^is .*; expected "yes" or "no", or 1 or 0$'):
        TriggeringTaskRun(EN, many(1, 1), None, 0).prediction("yes0", value)
