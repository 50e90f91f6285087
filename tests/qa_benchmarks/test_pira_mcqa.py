from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.errors import InputError
from quati_pool.qa_benchmarks.base import Case, MissingDataError
from quati_pool.qa_benchmarks.multiple_choice import MultipleChoice, MultipleChoiceTaskRun
from quati_pool.qa_benchmarks.pira.multiple import LABELS, MultipleChoiceTask, PiraExpectations, read_sets, written
from tests.qa_benchmarks.pira_rows import row, write_split
from tests.shared_data import shared

RELEASED = Case("validation", "en", "released")
BUILT = Case("validation", "en", "built")
TEXTLESS = "-without-text"


def choice(question_id: str = "A1", **cells: str) -> dict[str, str]:
    """A row as in the released test file, line ends at the end of every cell included."""
    values = {
        "": "0",
        "id": question_id,
        "text": "Tides rise and fall.\n ",
        "question": f"What of {question_id}?\n ",
        **{label: f"option {label}\n " for label in LABELS},
        "correct": "option B",
        "answer_alternative": "B",
    }
    return {**values, **cells}


def write_sets(
    folder: Path, rows: Sequence[dict[str, str]], without: str | None = None, split: str = "validation"
) -> Path:
    path = folder / f"MCQA-{split}.csv"
    names = [name for name in rows[0] if name != without]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_the_released_validation_file_is_read_as_it_stands() -> None:
    sets = read_sets(shared("pira/MCQA-validation.csv"))
    assert sets.notes == []
    assert len(sets.questions) == 225
    # Counted in the file with another tool.
    assert Counter(question.gold for question in sets.questions) == {"A": 51, "E": 48, "B": 46, "C": 45, "D": 35}
    (first,) = [question for question in sets.questions if question.id == "B2582"]
    assert first.labels == LABELS
    assert first.gold == "A"
    assert first.options[0] == "It can lead to variations in the distribution of both oxygen and nutrients."
    assert first.options[3] == "Arctic Ocean, Atlantic Ocean, Indian Ocean and Pacific Ocean."
    assert first.question == "How can stratification affect the composition of seawater?"
    assert first.contexts[0].startswith("The starting point is the four main ocean basins")


def test_the_test_file_s_form_is_read_without_its_line_ends(tmp_path: Path) -> None:
    sets = read_sets(write_sets(tmp_path, [choice(correct="Option  b.")]))
    expected = MultipleChoice(
        "A1", "What of A1?", tuple(f"option {label}" for label in LABELS), LABELS, "B", ("Tides rise and fall.",)
    )
    assert sets.questions == [expected]
    assert sets.notes == []


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            {"answer_alternative": "F"},
            r"its label \(alternative or answer_alternative\) is 'F'; expected one of A, B, C",
        ),
        ({"answer_alternative": "b"}, r"its label .* is 'b'; expected one of A, B, C, D, E"),
        ({"answer_alternative": ""}, r"its label .* is ''; expected one of A, B, C, D, E"),
        ({"answer_alternative": "C"}, r"its label is C, but its right answer \(correct\) is option B; correct one"),
        ({"B": " \n"}, "its right option, B, is empty; fill it"),
        ({"question": " "}, "its question is empty; fill it"),
        (dict.fromkeys("ACDE", ""), "has 1 option; expected two or more"),
    ],
    ids=["F", "small", "none", "another", "right option", "question", "one option"],
)
def test_a_question_that_cannot_be_asked_is_refused_by_line(
    tmp_path: Path, cells: dict[str, str], message: str
) -> None:
    # The first row has seven line ends in its cells, and ends with one: the second begins on line 2 + 8.
    write_sets(tmp_path, [choice("A1"), choice("A2", **cells)])
    with pytest.raises(InputError, match=rf"MCQA-validation\.csv:10: id 'A2': {message}"):
        MultipleChoiceTask().task_run(tmp_path, RELEASED, 0)


def test_an_id_that_occurs_twice_or_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"csv:10: id 'A1' is on line 2 already; expected each once"):
        read_sets(write_sets(tmp_path, [choice("A1"), choice("A1")]))
    with pytest.raises(InputError, match=r"csv:2: id is empty; expected an id"):
        read_sets(write_sets(tmp_path, [choice("")]))


@pytest.mark.parametrize("column", ["id", "text", "question", "C", "correct"])
def test_a_missing_column_is_named_with_where_the_file_is_released(tmp_path: Path, column: str) -> None:
    path = write_sets(tmp_path, [choice()], without=column)
    with pytest.raises(InputError, match=rf"MCQA-validation\.csv:1: no column '{column}'; .*C4AI/Pira"):
        read_sets(path)


def test_a_file_without_labels_rows_or_whole_quotes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"csv:1: no column 'alternative'; .*C4AI/Pira"):
        read_sets(write_sets(tmp_path, [choice()], without="answer_alternative"))
    path = write_sets(tmp_path, [choice()])
    header = path.read_text(encoding="utf-8").split("\n")[0] + "\n"
    path.write_text(header, encoding="utf-8")
    with pytest.raises(InputError, match=r"holds no questions; copy it again from .*C4AI/Pira"):
        read_sets(path)
    path.write_text(header + '0,A1,"Tides', encoding="utf-8")
    with pytest.raises(InputError, match=r"csv:2: is not CSV"):
        read_sets(path)
    path.write_bytes(header.encode() + b"0,A1,\xff,,,,,,,,\n")
    with pytest.raises(InputError, match=r"csv:2: byte 6 \(0xFF\) is not UTF-8"):
        read_sets(path)


def test_what_is_odd_but_can_be_asked_is_told_with_its_ids(tmp_path: Path) -> None:
    rows = [
        choice("A1", D="", E=""),
        choice("A2", C="Option B!"),
        choice("A3", correct="something else"),
        choice("A4", text=""),
        *[choice(f"B{n}", correct="") for n in range(6)],
    ]
    sets = read_sets(write_sets(tmp_path, rows))
    assert [question.labels for question in sets.questions[:2]] == [("A", "B", "C"), LABELS]
    assert sets.questions[0].options == ("option A", "option B", "option C")
    assert sets.questions[3].contexts == ()
    assert all(question.gold == "B" for question in sets.questions)
    assert sets.notes == [
        "MCQA-validation.csv: 1 question (A1): an empty option is left out",
        "MCQA-validation.csv: 1 question (A2): two options are the same, and only the one of the label counts as right",
        "MCQA-validation.csv: 7 questions (A3, B0, B1, B2, B3, …): no option is the right answer (correct), and the"
        " label is trusted",
        "MCQA-validation.csv: 1 question (A4): the supporting text is empty",
    ]


def test_cases_are_released_and_built_sets_with_and_without_the_text(tmp_path: Path) -> None:
    task = MultipleChoiceTask()
    with pytest.raises(MissingDataError, match=r"holds no MCQA-train\.csv, .*, validation\.csv or test\.csv; .*C4AI"):
        task.cases(tmp_path)
    (tmp_path / "MCQA").mkdir()
    write_sets(tmp_path / "MCQA", [choice()], split="test")
    assert task.cases(tmp_path) == [Case("test", "en", "released"), Case("test", "en", "released" + TEXTLESS)]
    write_split(tmp_path, "validation", [row("A1")])
    assert [case for case in task.cases(tmp_path) if case.split == "validation"] == [
        Case("validation", language, "built" + end) for language in ("en", "pt") for end in ("", TEXTLESS)
    ]


def test_a_split_without_the_columns_is_refused_where_there_is_nothing_else(tmp_path: Path) -> None:
    write_split(tmp_path, "validation", [row("A1")], without=["answer_en_origin", "answer_pt_origin"])
    with pytest.raises(InputError, match=r"validation\.csv:1: no column 'answer_en_origin'; .*C4AI/Pira"):
        MultipleChoiceTask().cases(tmp_path)


def written_split(folder: Path, *answers: str, text: str = "tide") -> None:
    write_split(folder, "validation", [row(f"A{n}", text, answer_en_origin=one) for n, one in enumerate(answers)])


def built(folder: Path, case: Case = BUILT, seed: int = 0) -> MultipleChoiceTaskRun:
    task_run = MultipleChoiceTask().task_run(folder, case, seed)
    assert isinstance(task_run, MultipleChoiceTaskRun)
    return task_run


def test_without_the_text_the_same_options_are_asked_and_no_text_is_shown(tmp_path: Path) -> None:
    written_split(tmp_path, "tide", "rock", "rig", "oil", "gas", text="the sea")
    write_sets(tmp_path, [choice()])
    for setting in ("built", "released"):
        question_id = "A1"
        shown = built(tmp_path, Case("validation", "en", setting))
        hidden = built(tmp_path, Case("validation", "en", setting + TEXTLESS))
        assert hidden.by_id[question_id].options == shown.by_id[question_id].options
        assert shown.by_id[question_id].contexts
        assert not hidden.by_id[question_id].contexts
        (mark,) = shown.by_id[question_id].contexts
        assert mark in shown.request(question_id).messages[-1]["content"]
        assert mark not in hidden.request(question_id).messages[-1]["content"]


def test_rank_statistics_and_overlap_are_those_derived_by_hand(tmp_path: Path) -> None:
    # All on one text, so all five right answers make its set. Near "tide": the shorter, the nearer.
    chain = ["tide", "tide w1w1", "tide w1w1 w2w2", "tide w1w1 w2w2 w3w3", "tide w1w1 w2w2 w3w3 w4w4"]
    rows = [row(f"A{n}", "tide", answer_en_origin=one) for n, one in enumerate(chain)]
    # A text far from its own answer "gas": that is last of 7; "tide" comes first, of equals the first by characters.
    rows += [row("A5", "rig", answer_en_origin="rig"), row("A6", "rig", answer_en_origin="gas")]
    write_split(tmp_path, "validation", rows)
    (found,) = built(tmp_path).extra_rows()
    # Of "rig": rig 1, then all without a shared word by characters: gas, tide, tide w1w1, …
    ranks = [1, 2, 3, 4, 5, 1, 2]
    assert (found.system, found.case, found.n) == ("candidate ranking", BUILT, 7)
    assert found.measures == pytest.approx(
        {"mean rank": sum(ranks) / 7, "median rank": 2, "share within 5": 1, "share at rank 1": 2 / 7, "overlap": None}
    )
    assert found.undefined == {"overlap": "the folder holds no MCQA-validation.csv"}
    # A5's set is rig, gas and the distractors tide, tide w1w1, tide w1w1 w2w2: two of these are released. Of A0 the
    # five options are right for the text, so there is no distractor.
    theirs = dict(zip(LABELS, ["rig", "tide", "tide w1w1", "gas", "other"], strict=True))
    write_sets(tmp_path, [choice("A5", **theirs, correct="rig", answer_alternative="A"), choice("A0"), choice("Z9")])
    (found,) = built(tmp_path).extra_rows()
    assert found.measures["overlap"] == pytest.approx(2 / 3)
    assert built(tmp_path, Case("validation", "en", "built" + TEXTLESS)).extra_rows() == []
    write_sets(tmp_path, [choice("Z9")])
    (found,) = built(tmp_path).extra_rows()
    assert found.undefined == {"overlap": "no question with a distractor is in both files"}


@pytest.mark.parametrize("language", ["en", "pt"])
def test_built_sets_of_the_validation_file_are_kept_in_the_released_form_and_read_back_the_same(
    language: str, tmp_path: Path
) -> None:
    data = shared("pira/validation.csv").parent
    shared("pira/MCQA-validation.csv")
    task_run = built(data, Case("validation", language, "built"))
    ((name, content),) = task_run.files().items()
    assert name == f"MCQA-validation-{language}.csv"
    (tmp_path / name).write_bytes(content)
    again = read_sets(tmp_path / name)
    assert again.questions == task_run.questions
    assert again.notes == []
    assert len(task_run.questions) == 225
    assert {len(question.options) for question in task_run.questions} == {5}
    assert built(data, Case("validation", language, "built" + TEXTLESS)).files() == task_run.files()
    (found,) = task_run.extra_rows()
    if language == "en":
        # As measured on the file apart from this code, to the third digit; 422 of 802 distractors are released too.
        assert found.measures["mean rank"] == pytest.approx(10.71, abs=0.005)
        assert found.measures["share within 5"] == pytest.approx(0.756, abs=0.0005)
        assert found.measures["share at rank 1"] == pytest.approx(0.556, abs=0.0005)
        assert found.measures["median rank"] == 1
        assert found.measures["overlap"] == pytest.approx(422 / 802)
    else:
        assert found.measures["overlap"] is None
        assert found.undefined == {"overlap": "the released sets are English"}


def test_the_seed_shuffles_options_and_changes_nothing_else(tmp_path: Path) -> None:
    written_split(tmp_path, *[f"tide w{n}{n}" for n in range(12)])
    first, second = built(tmp_path, seed=0), built(tmp_path, seed=1)
    assert first.files() == built(tmp_path, seed=0).files()
    assert first.files() != second.files()
    for one, other in zip(first.questions, second.questions, strict=True):
        assert set(one.options) == set(other.options)
        assert one.options[LABELS.index(one.gold or "")] == other.options[LABELS.index(other.gold or "")]


TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).map(str.strip).filter(
    # The reader ends lines at \n with or without \r before it.
    lambda text: text != "" and "\r\n" not in text
)  # fmt: skip


@given(TEXTS, TEXTS, st.lists(TEXTS, min_size=2, max_size=5, unique=True), st.data())
def test_whatever_the_texts_hold_a_written_set_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, text: str, question: str, options: list[str], data: st.DataObject
) -> None:
    labels = LABELS[: len(options)]
    one = MultipleChoice("A1", question, tuple(options), labels, data.draw(st.sampled_from(labels)), (text,))
    path = tmp_path_factory.mktemp("sets") / "MCQA-test-pt.csv"
    path.write_bytes(written([one]))
    assert read_sets(path).questions == [one]


def test_questions_with_an_empty_answer_are_left_out_and_told(tmp_path: Path) -> None:
    written_split(tmp_path, "tide", "", "rock")
    task_run = built(tmp_path)
    assert list(task_run.ids) == ["A0", "A2"]
    assert task_run.notes == [
        "validation en: 1 of 3 questions are left out, as their question, answer or text is empty in validation.csv",
        "validation en: sets have 2 options, as validation.csv has no more distinct answers",
    ]
    assert task_run.rows("random", task_run.programs()["random"])[0].measures["chance"] == 50


def test_one_answer_alone_makes_no_options(tmp_path: Path) -> None:
    written_split(tmp_path, "tide", "Tide.")
    with pytest.raises(InputError, match=r"validation\.csv: holds 1 distinct en answers; expected two or more"):
        built(tmp_path)


def test_expectations_are_tested_on_the_released_sets_where_options_share_their_text(tmp_path: Path) -> None:
    task = PiraExpectations()
    write_split(tmp_path, "validation", [row("A1")])
    with pytest.raises(MissingDataError, match=r"holds no MCQA-train\.csv, .*C4AI/Pira"):
        task.cases(tmp_path)
    write_sets(tmp_path, [choice("A1"), choice("A2", correct="else")])
    (case,) = task.cases(tmp_path)
    assert case == Case("validation", "en")
    task_run = task.task_run(tmp_path, case, 0)
    settings = [found.case.setting for found in task_run.rows("tf-idf", task_run.programs()["tf-idf"])]
    assert settings == ["original", "perturbed-incorrect-option", "no-question", "no-context"]
    assert any("no option is the right answer" in note for note in task_run.notes)
    assert any(note.startswith("validation: no-option does not apply to any question") for note in task_run.notes)


def test_tf_idf_answers_alike_in_mcqa_and_in_the_expectations() -> None:
    """With the text and without, on every question of the released file: one program, one figure."""
    data = shared("pira/MCQA-validation.csv").parent
    task_runs = [
        MultipleChoiceTask().task_run(data, RELEASED._replace(setting=f"released{end}"), 0) for end in ("", TEXTLESS)
    ]
    of_expectations = PiraExpectations().task_run(data, Case("validation", "en"), 0)
    picks = of_expectations.programs()["tf-idf"]
    rows = {row.case.setting: row.measures["accuracy"] for row in of_expectations.rows("tf-idf", picks)}
    for task_run, setting, end in zip(task_runs, ("original", "no-context"), ("", "#no-context"), strict=True):
        alone = task_run.programs()["tf-idf"]
        assert {f"{id_}{end}": label for id_, label in alone.items()}.items() <= picks.items()
        (row,) = task_run.rows("tf-idf", alone)
        assert row.measures["accuracy"] == rows[setting]
    # 132 and 79 of 225.
    assert (round(rows["original"], 2), round(rows["no-context"], 2)) == (58.67, 35.11)


def test_options_built_without_their_text_have_the_term_weights_of_those_with_it() -> None:
    data = shared("pira/validation.csv").parent
    full, bare = (
        MultipleChoiceTask().task_run(data, BUILT._replace(setting=f"built{end}"), 0) for end in ("", TEXTLESS)
    )
    assert isinstance(full, MultipleChoiceTaskRun)
    assert isinstance(bare, MultipleChoiceTaskRun)
    weighed = MultipleChoiceTaskRun(BUILT, bare.questions, 0, fitted_on=full.questions)
    assert bare.programs()["tf-idf"] == weighed.programs()["tf-idf"]
    # Which are other weights than those of the questions without it.
    assert weighed.programs()["tf-idf"] != MultipleChoiceTaskRun(BUILT, bare.questions, 0).programs()["tf-idf"]
