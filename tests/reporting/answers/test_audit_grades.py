"""The second part of the card: what a judge's grades can be used for, next to people's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from quati_pool.audit.grade_bounds import GradeBounds
from quati_pool.audit.overrating import Overrating
from quati_pool.commands.audit.audit import AuditReport
from quati_pool.commands.audit.grades import DraftedQueries, GradeAudit
from quati_pool.commands.audit.paraphrases import NOT_WANTED
from quati_pool.registry import PROBES
from quati_pool.reporting.answers.audit import answer
from quati_pool.reporting.answers.audit_grades import grade_sentences, headline
from quati_pool.reporting.formats.answers import LINES, PIPE, answer_text
from quati_pool.reporting.json_data.audit_grades import grades_data
from quati_pool.text.display_width import columns
from tests.reporting.answers.test_drift import drift
from tests.reporting.answers.test_near_duplicates import duplicates
from tests.reporting.audit_reports import STUFFED, probed, report, way
from tests.reporting.grade_audits import alike, all_beyond, grades, kinship, mean, ranking, wordings


def of_files(found: GradeAudit | None = None, **changes: Any) -> AuditReport:
    return replace(report(), grader="file", scale=None, grades=found or grades(), **changes)


def sentences(made: AuditReport) -> list[str]:
    return list(answer([made]).sentences)


def test_a_judge_within_all_bounds_is_usable() -> None:
    assert sentences(of_files()) == [
        "gpt: usable for ordering systems (τ 0.94); its nDCG@10 is within 0.02 of people's.",
        "As a system that orders by its own grades it would be 1st of 5 under itself and 3rd under people.",
    ]
    assert answer([of_files()]).rest.splitlines() == [
        "Its grades were compared with those of nist, by nDCG@10 over 20 queries; no system is known as its kin "
        "(openai); --judge-family and --families declare it.",
        "Nothing was asked: label files were read.",
        "No probe was run: a file cannot be asked about changed passages.",
        "--full prints all figures.",
    ]


def test_queries_that_its_family_drafted_are_pointed_out_without_a_verdict() -> None:
    made = of_files(grades(drafted=DraftedQueries("openai", 40, 50)))
    said = "40 of 50 judged queries were drafted by its own model or family (openai): figures on them may favour it."
    assert sentences(made) == [*sentences(of_files()), said]
    assert answer([made]).table == answer([of_files()]).table
    assert grades_data(made)["drafted"] == {"family": "openai", "queries": 40, "of": 50}
    assert "drafted" not in grades_data(of_files())


def test_a_judge_beyond_all_bounds_is_not_and_each_danger_has_its_advice() -> None:
    made = of_files(all_beyond())
    found = [headline(made), *grade_sentences(made, 2)]
    assert found == [
        "gpt: not usable for ordering systems (τ 0.40, -0.30 to 0.50); its nDCG@10 is 0.12 too low (0.09 to 0.15): use "
        "quati-pool estimate; do not rank systems that rerank by it; do not rank a and b by it among the others.",
        "Beyond their bounds too: significance (40 % of the differences that it finds significant are not so under "
        "people): do not take a significant difference under its grades for one under people's; overrating (its mean "
        "grade is 0.53 too high (0.39 to 0.66)): do not mix its grades with people's in one qrels file; longer "
        "passages (+0.30 grades for twice the length): do not compare systems whose passages differ in length; words "
        "of the query (+3.70 grades for all words of the query instead of none): do not compare systems that match "
        "words with systems that do not; judges alike (κ higher by +0.15 than with people): do not count mistral as a "
        "second opinion.",
        "As a system that orders by its own grades it would be 1st of 5 under itself and 3rd under people.",
        "Kin to it, by a guess from names: a (by its name); b (uses gpt); confirm it with --judge-family and "
        "--families.",
    ]
    assert sentences(made)[1].startswith("Beyond their bounds too: significance: do not take a significant difference")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rankings": ranking(0.9, (0.84, 0.93))}, "gpt: not shown to be usable for ordering systems (τ 0.90, 0.84 to"),
        ({"gap": mean(0.0204, -0.01, 0.05)}, "; its nDCG@10 may be off (-0.01 to 0.05)."),
        ({"gap": mean(0.1, 0.06, 0.14)}, "; its nDCG@10 is 0.10 too high (0.06 to 0.14): use quati-pool estimate."),
    ],
)
def test_what_is_undecided_or_too_high(changes: dict[str, Any], said: str) -> None:
    assert said in sentences(of_files(grades(**changes)))[0]


def test_without_runs_the_mean_grade_decides() -> None:
    bare: dict[str, Any] = dict.fromkeys(("gap", "rankings", "decisions", "kinship", "oracle"))
    assert sentences(of_files(grades(**bare))) == ["gpt: its mean grade is within 0.2 of people's."]
    off = Overrating(mean(0.5, 0.4, 0.6), ())
    assert sentences(of_files(grades(**bare, overrating=off))) == [
        "gpt: its mean grade is 0.50 too high (0.40 to 0.60)."
    ]
    open_still = Overrating(mean(0.3, 0.1, 0.6), ())
    assert sentences(of_files(grades(**bare, overrating=open_still))) == [
        "gpt: its mean grade may be off (0.10 to 0.60)."
    ]
    assert "Systems were not compared: that needs two runs, and" in answer([of_files(grades(**bare))]).rest


def test_kin_have_their_reason_and_guesses_are_to_be_confirmed() -> None:
    declared = grades(kinship=kinship({"a": "uses gpt"}, mean(0.0, -0.01, 0.01)))
    assert "Kin to it: a (uses gpt)." in sentences(of_files(declared))
    guessed = grades(kinship=kinship({"a": "by its name"}, mean(0.0, -0.01, 0.01)))
    assert (
        "Kin to it, by a guess from names: a (by its name); confirm it in pool.yaml by family: of the judge or uses: "
        "of the system."
    ) in sentences(report(probed("length"), grades=guessed))


def test_both_parts_are_one_verdict_and_one_table() -> None:
    made = report(STUFFED, probed("length"), grades=grades(alike=[alike(value=0.1, ends=(0.05, 0.15))]))
    said = sentences(made)
    assert said[0] == (
        "gpt: usable for ordering systems (τ 0.94), unless they do what fools it; its nDCG@10 is within 0.02 of "
        "people's."
    )
    assert said[1].startswith("gpt is fooled by keyword stuffing (34 % of 100 irrelevant pairs")
    assert said[-1] == "Undecided of its grades: judges alike."
    table = answer([made]).table
    assert table is not None
    assert table.shown() == [
        ["keyword stuffing", "fooled", "31 %", "22 to 40 %", "10 %", "100 pairs"],
        ["length and position", "cleared", "0 %", "0 to 4 %", "10 %", "100 pairs"],
        ["order of systems", "within", "0.94", "0.90 to 0.98", "≥ 0.87", "20 queries"],
        ["level of the measure", "within", "+0.01", "-0.01 to 0.01", "±0.02", "20 queries"],
        ["significance", "within", "0 %", "–", "≤ 10 %", "6 pairs"],
        ["overrating", "within", "+0.05", "-0.05 to 0.15", "±0.2", "400 pairs"],
        ["judge as ranker", "within", "+0.01", "0.01 to 0.01", "≤ 0.02", "20 queries"],
        ["judges alike", "undecided", "+0.10", "0.05 to 0.15", "≤ 0.1", "500 pairs"],
    ]


def test_a_judge_that_is_cleared_is_not_sent_to_agree() -> None:
    assert "quati-pool agree" not in " ".join(sentences(report(probed("length"), grades=grades())))


def test_the_card_says_why_grades_were_not_compared() -> None:
    made = report(STUFFED, no_grades="no person has graded anything yet")
    assert (
        "Its grades were not compared with people's: no person has graded anything yet."
        in answer([made]).rest.splitlines()
    )
    assert "not compared" not in answer([report(STUFFED)]).rest


def test_the_fullest_card_fits_and_keeps_every_danger() -> None:
    variant = way("shuffled words", 26, 26, (0.87, 1.0))
    probes = [
        probed(name, "fooled", 60, control=20, excess=(0.3, 0.5), fooled_by=[variant], controls_move=True, ungraded=1)
        for name in PROBES.names()
    ]
    for verdicts in (probes, [probed(name, "undecided", 12, ends=(0.05, 0.2)) for name in PROBES.names()]):
        made = report(*verdicts, grades=all_beyond(), judge="gpt-4o-mini-2024-07-18-batch")
        text = answer_text(answer([made]))
        lines = text.splitlines()
        assert len(lines) <= LINES
        assert max(map(columns, lines)) <= PIPE
        assert "Not shown here" not in text
        assert "…" not in text


@pytest.mark.parametrize("name", ["gpt", "gpt-4o-mini-2024-07-18-batch" * 2])
@pytest.mark.parametrize("no_wordings", [None, NOT_WANTED, "it has no prompt " + "at all " * 20])
@pytest.mark.parametrize("verdict", ["fooled", "undecided"])
@pytest.mark.parametrize("not_started", [(), ["other-" * 6, "b" * 40, "c" * 40, "d"]])
@pytest.mark.parametrize("up", [0, 20])
def test_no_row_of_the_fullest_card_is_left_out(
    name: str, no_wordings: str | None, verdict: Any, not_started: list[str], up: int
) -> None:
    moved = way("shuffled words", 26, 26, (0.87, 1.0))
    probes = [
        probed(one, verdict, 60, control=20, excess=(0.05, 0.5), fooled_by=[moved], controls_move=True, ungraded=1)
        for one in PROBES.names()
    ]
    kin = kinship({"a" * 30: "by its name", "b" * 30: "uses gpt", "c" * 30: "family openai"}, mean(0.06, 0.03, 0.09))
    made = report(
        *probes,
        judge=name,
        grades=replace(all_beyond(), people="people-" * 6, kinship=kin),
        near_duplicates=duplicates(),
        wordings=None if no_wordings else wordings(),
        no_wordings=no_wordings,
        drift=drift(up),
    )
    text = answer_text(answer([made], not_started))
    lines = text.splitlines()
    assert len(lines) <= LINES
    assert max(map(columns, lines)) <= PIPE
    assert "Not shown here" not in text
    assert not any(line.endswith(" …") for line in lines)
    dangers = [one.probe.danger for one in probes] + [line.danger for line in made.grade_lines]
    assert len(dangers) == (18 if no_wordings else 19)
    assert all(any(line.startswith(f"{danger}  ") for line in lines) for danger in dangers)
    assert ("has moved since" in text) == (up > 0)
    assert ("The run ended before it came to" in text) == bool(not_started)


def test_wordings_that_were_not_wanted_are_not_mentioned() -> None:
    assert "Other wordings" not in answer([report(STUFFED, no_wordings=NOT_WANTED)]).rest
    assert "Other wordings of its prompt were not compared: why." in answer([report(STUFFED, no_wordings="why")]).rest


def test_a_figure_is_seen_on_its_side_of_the_bound() -> None:
    near = of_files(grades(gap=mean(0.0204, 0.0202, 0.0203)))
    table = answer([near]).table
    assert table is not None
    assert table.shown()[1][1:5] == ["beyond", "+0.0204", "0.0202 to 0.0203", "±0.02"]


def test_bounds_of_the_workspace_decide() -> None:
    strict = of_files(bounds=GradeBounds(order=0.99, level=0.001))
    assert sentences(strict)[0].startswith("gpt: not usable for ordering systems (τ 0.94, 0.90 to 0.98); ")


def test_several_judges_have_a_sentence_each_and_share_a_table() -> None:
    others = [of_files(), replace(of_files(all_beyond("mistral")), judge="mistral")]
    lost = replace(of_files(), judge="lost", grades=None, no_grades="lost and nist graded no pair in common")
    found = answer([*others, lost])
    assert found.sentences == [
        "gpt: usable for ordering systems (τ 0.94); its nDCG@10 is within 0.02 of people's.",
        "mistral: not usable for ordering systems (τ 0.40, -0.30 to 0.50); its nDCG@10 is 0.12 too low (0.09 to 0.15): "
        "use quati-pool estimate; do not rank systems that rerank by it; do not rank a and b by it among the others; "
        "also beyond their bounds: significance, overrating, longer passages, words of the query, judges alike.",
        "lost: nothing is known of its grades.",
    ]
    assert found.table is not None
    assert found.table.shown()[0] == ["order of systems", "within (0.94)", "beyond (0.40)", "–"]
    assert "lost was not compared: lost and nist graded no pair in common." in found.rest
