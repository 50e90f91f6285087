"""The report on rounds: human answers by hand, evaluations and agreement against other libraries, work by person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy import stats

from quati_pool.commands.annotate.authoring import work
from quati_pool.commands.annotate.authoring.derive import derive
from quati_pool.commands.annotate.authoring.release import release
from quati_pool.commands.annotate.authoring.report import AuthoringReport, Evaluated, report, rounds_report
from quati_pool.commands.annotate.authoring.step import WritingStep
from quati_pool.qa_benchmarks.base import Case
from quati_pool.qa_benchmarks.pira.answering import MachineReading
from quati_pool.reporting.json_data.authoring import as_data
from tests.commands.annotate.authoring.five_questions import F1, QUESTIONS, TEXTS, Five, five
from tests.commands.annotate.authoring.people_writing import (
    LEAD,
    Refused,
    accept_all,
    pira_rows,
    signed_in,
    work_off,
    written_by_pira,
)
from tests.commands.annotate.authoring.rounds import nonce, opened, sent, workspace


def of(found: AuthoringReport, name: str) -> Evaluated:
    return next(one for one in found.evaluations if one.field == name)


def test_f1_and_exact_match_of_people_are_those_of_a_computation_by_hand(tmp_path: Path) -> None:
    (human,) = report(five(tmp_path, ("ana", "rui"), Five())).human
    assert (human.language, human.n) == ("en", 5)
    assert human.f1.value == pytest.approx(56.190476, abs=1e-6)
    assert human.em.value == pytest.approx(20)
    # One question of each text: the t interval of a mean.
    interval = stats.ttest_1samp(F1, 0).confidence_interval(0.95)
    assert (human.f1.low, human.f1.high) == pytest.approx((interval.low, interval.high))


def test_evaluations_have_their_distributions_and_intervals(tmp_path: Path) -> None:
    sense = [5, 4, 3, 1, 5]
    grades = [{"sense": value, "generic": place < 2} for place, value in enumerate(sense)]
    found = report(five(tmp_path, ("ana", "rui"), Five({"rui": grades})))
    one = of(found, "sense")
    assert one.values == {"1": 1, "2": 0, "3": 1, "4": 1, "5": 2}
    assert one.n == 5
    assert one.estimate is not None
    assert one.estimate.value == pytest.approx(3.6)
    interval = stats.ttest_1samp(sense, 0).confidence_interval(0.95)
    assert (one.estimate.low, one.estimate.high) == pytest.approx((interval.low, interval.high))
    generic = of(found, "generic")
    assert generic.values == {"yes": 2, "no": 3}
    assert generic.estimate is not None
    assert generic.estimate.value == pytest.approx(0.4)
    assert of(found, "type").values == {"who": 0, "what": 5, "where": 0, "when": 0, "why": 0, "how": 0, "none": 0}
    assert of(found, "type").estimate is None
    # 4 and 5 can be answered, 1 and 2 cannot, 3 is dropped.
    assert found.labels == {"yes": 3, "no": 1, "dropped": 1, "none": 0}
    assert of(found, "sense").agreement.alpha.why == "one person assessed each question"
    data = as_data(found)["evaluations"][2]
    assert data["alpha"] is None
    assert data["undefined"]["alpha"] == "one person assessed each question"


def test_agreement_of_two_assessors_is_that_of_other_computations(tmp_path: Path) -> None:
    rui, eva = [5, 4, 3, 1, 5], [4, 4, 3, 2, 5]
    rui_generic, eva_generic = [True, True, False, False, True], [True, False, False, False, True]
    grades = {
        name: [{"sense": sense, "generic": generic} for sense, generic in zip(*both, strict=True)]
        for name, both in {"rui": (rui, rui_generic), "eva": (eva, eva_generic)}.items()
    }
    found = report(five(tmp_path, ("ana", "rui", "eva"), Five(grades), assessors=2))
    sense, generic = of(found, "sense"), of(found, "generic")
    assert (sense.n, sense.agreement.n) == (10, 5)
    alpha = krippendorff.alpha([rui, eva], value_domain=[1, 2, 3, 4, 5], level_of_measurement="ordinal")
    assert sense.agreement.alpha.value == pytest.approx(alpha)
    both = np.array([rui_generic, eva_generic], dtype=int)
    alpha = krippendorff.alpha(both, value_domain=[0, 1], level_of_measurement="nominal")
    assert generic.agreement.alpha.value == pytest.approx(alpha)
    # Gwet's AC1 by hand: both say the same of 4 of 5, so pa = 0.8; yes is half of all: pe = 2 · 0.5 · 0.5 = 0.5.
    assert generic.agreement.ac1.value == pytest.approx((0.8 - 0.5) / (1 - 0.5))
    assert generic.agreement.alpha.low is not None
    # Everybody said that the text answers the question: agreement beyond chance is undefined, not 1.
    in_text = as_data(found)["evaluations"][1]
    assert in_text["alpha"] is None
    assert "every pair got the grade 1 from all" in in_text["undefined"]["alpha"]
    # Ten evaluations are of five questions, so no more than five units count, with t of 4 degrees of freedom, 2.776;
    # of n hits in n, Wilson's lower end is n / (n + t²) = 5 / (5 + 7.709).
    share = of(found, "in_text").estimate
    assert share is not None
    assert (share.value, share.high) == (1, pytest.approx(1))
    assert share.low == pytest.approx(5 / (5 + stats.t.ppf(0.975, 4) ** 2))
    # The first assessor's answers count, each question once.
    assert [one.n for one in found.human] == [5]


def test_with_a_single_text_intervals_are_undefined_and_values_are_not(tmp_path: Path) -> None:
    rows = pira_rows(20, 2)[:2]
    assert rows[0]["abstract"] == rows[1]["abstract"]
    found = report(written_by_pira(tmp_path, rows))
    english = found.human[0]
    assert english.f1.value is not None
    assert english.f1.low is None
    assert as_data(found)["human"][0]["undefined"]["low"] == "the questions are of one text"


def test_without_a_finished_question_nothing_is_defined(tmp_path: Path) -> None:
    path = workspace(tmp_path, TEXTS, languages=["en"], sources={"path": "texts.csv", "text": "en", "keep": ["corpus"]})
    with opened(path):
        pass
    data = json.loads(json.dumps(as_data(report(path)), allow_nan=False))
    assert data["human"] == [
        {"language": "en", "F1": None, "low": None, "high": None, "EM": None, "EM_low": None, "EM_high": None, "n": 0}
        | {"undefined": dict.fromkeys(("F1", "low", "high", "EM", "EM_low", "EM_high"), "there are none yet")}
    ]
    assert [one["open"] for one in data["rounds"] if one["round"] == "create"] == [5]


def test_work_is_counted_by_person_and_round(tmp_path: Path) -> None:
    sources = {"path": "texts.csv", "text": {"en": "en"}, "keep": ["corpus"]}
    path = workspace(tmp_path, TEXTS, languages=["en"], sources=sources)

    def answer(name: str, shown: WritingStep) -> Any:
        if shown.step.name == "edit" and shown.shown["question"]["en"] == QUESTIONS[3]:
            return Refused("repeated")
        return people(name, shown)

    people = Five()
    with opened(path) as session:
        tokens = signed_in(session, "ana", "rui")
        first = work.next_step(session, tokens["ana"])
        assert first is not None
        form = people("ana", first)
        assert isinstance(form, dict)
        assert work.submit(session, tokens["ana"], sent(first, form, active_seconds=7.0)).seq
        assert work.undo(session, tokens["ana"], nonce())
        people.written.clear()
        work_off(session, tokens, answer)
    found = report(path)
    assert found.progress.out["question"] == {"repeated": 1, "withdrawn_by_author": 1}
    assert found.progress.states["question"] == {"kept": 4, "out": 2}
    rows = {(one.person, one.round): one for one in found.people}
    assert rows["ana", "create"].undone == 1
    assert sum(rows[name, "create"].given for name in ("ana", "rui", LEAD) if (name, "create") in rows) == 5
    assert (rows[LEAD, "edit"].given, rows[LEAD, "edit"].refused) == (4, 1)
    # work_off says 10 to 14 active seconds of every form; what was undone does not count.
    given = rows["rui", "assess"].given
    assert 10 * given <= rows["rui", "assess"].seconds <= 14 * given
    median = rows["rui", "assess"].median_seconds
    assert median is not None
    assert 10 <= median <= 14
    assert rows["ana", "create"].seconds >= 10 * rows["ana", "create"].given


def test_acceptance_of_derived_texts_is_reported_by_program(tmp_path: Path) -> None:
    path = five(tmp_path, ("ana", "rui"), Five())
    ids = [one.question_id for one in rounds_report(path).units]
    lines = [
        {"question_id": ids[place], "field": f"paraphrase.{number}.en", "text": text, "drafted_by": model}
        for place, number, text, model in (
            (0, 1, "At which times does the water turn?", "pegasus"),
            (1, 1, "In which places do corals grow?", "pegasus"),
            (2, 1, "Which bodies pull the sea?", "pegasus"),
            (3, 1, "xxxx", "pegasus"),
            (4, 1, "What do whales swallow?", "ptt5"),
        )
    ]
    file = tmp_path / "derived.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    derive(path, [file])

    def answer(name: str, shown: WritingStep) -> Any:
        if shown.step.name == "choices":
            return {}
        text = shown.shown["text"]
        if text == "xxxx":
            return Refused("unnatural")
        return {"text": f"{text[:-1]} now?" if "bodies" in text else text}

    accept_all(path, answer)
    pegasus, ptt5 = report(path).drafts
    assert (pegasus.model, pegasus.accepted, pegasus.edited, pegasus.refused, pegasus.waiting) == (
        "pegasus", 2, 1, {"unnatural": 1}, 0,
    )  # fmt: skip
    assert pegasus.share.value == pytest.approx(0.75)
    assert (ptt5.model, ptt5.accepted, ptt5.share.value) == ("ptt5", 1, 1.0)
    assert ptt5.share.low is None


def test_leads_find_what_rules_point_out(tmp_path: Path) -> None:
    rows = pira_rows(2, 1)
    odd = [{**rows[0], "answer_en_origin": "Two  spaces and 2-s2.0-85006339618."}, rows[1]]
    found = report(written_by_pira(tmp_path, odd))
    assert found.oddities["spaces"] == 1
    assert found.oddities["id"] == 1


def test_the_row_human_of_bench_is_the_same_number(tmp_path: Path) -> None:
    rows = pira_rows(6, 2)
    path = written_by_pira(tmp_path / "pira", rows, split={"shares": [100, 0, 0]})
    release(path, "pira", tmp_path / "out")
    for human in report(path).human:
        run = MachineReading().task_run(tmp_path / "out", Case("train", human.language), 0)
        (row,) = run.rows("human", run.programs()["human"])
        assert (row.measures["F1"], row.measures["EM"]) == pytest.approx((human.f1.value, human.em.value))
        assert row.n == human.n == len(rows)


def test_rows_of_pira_are_those_of_its_people(tmp_path: Path) -> None:
    """PiraPeople says what the released rows say, so their figures are the file's."""
    rows = pira_rows(4, 1)
    found = report(written_by_pira(tmp_path, rows))
    senses = [int(float(row["question_meaningful"])) for row in rows]
    assert of(found, "sense").values == {str(value): senses.count(value) for value in range(1, 6)}
