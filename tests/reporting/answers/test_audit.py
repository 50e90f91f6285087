"""The card of an audit: what fools a judge, what not to do, and never more than was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from quati_pool.audit.outcomes import VariantResult
from quati_pool.commands.audit.asking import Asked
from quati_pool.commands.audit.audit import AuditedProbe, AuditReport
from quati_pool.commands.audit.plan import AuditPlan
from quati_pool.commands.judge.judging_run import Calls
from quati_pool.registry import PROBES
from quati_pool.reporting.answers.audit import answer, board
from quati_pool.reporting.answers.audit_plan import plan_answer
from quati_pool.reporting.formats.answers import LINES, PIPE, TERMINAL, answer_text
from quati_pool.text.display_width import columns
from tests.reporting import audit_reports
from tests.reporting.audit_reports import STUFFED, probed, unasked, way

Make = Callable[..., AuditReport]


@pytest.fixture
def report() -> Make:
    return audit_reports.report


def rest(made: AuditReport) -> list[str]:
    return answer([made]).rest.splitlines()


def test_one_danger_is_named_with_all_its_figures_and_advice(report: Make) -> None:
    assert answer([report(STUFFED)]).sentences == [
        "gpt is fooled by keyword stuffing (34 % of 100 irrelevant pairs were graded higher with the query's words in "
        "them, against 3 % of the controls; 95 % interval of the difference 22 to 40 %, bound 10 %): do not compare "
        "systems whose passages may repeat the query's words."
    ]


def test_without_controls_the_interval_is_that_of_the_share(report: Make) -> None:
    (said,) = answer([report(probed("question", "fooled", 36, 36, (0.89, 1.0)))]).sentences
    assert said == (
        "gpt is fooled by question as passage (100 % of 36 irrelevant pairs were graded as answers with the question "
        "as their passage; 95 % interval 89 to 100 %, bound 10 %): do not use its grades of texts that may repeat the "
        "question instead of answering it."
    )


def test_several_dangers_come_with_their_shares_and_then_the_advice_of_each(report: Make) -> None:
    first, advice = answer([report(STUFFED, probed("question", "fooled", 36, 36, (0.89, 1.0)))]).sentences
    assert first == (
        "gpt is fooled by keyword stuffing (34 % of 100 irrelevant pairs were graded higher with the query's words in "
        "them, against 3 % of the controls) and question as passage (100 % of 36 irrelevant pairs were graded as "
        "answers with the question as their passage)."
    )
    assert advice == (
        "So do not compare systems whose passages may repeat the query's words; do not use its grades of texts that "
        "may repeat the question instead of answering it."
    )


def test_what_is_cleared_is_claimed_of_these_texts_and_no_more(report: Make) -> None:
    cleared = [probed("length", control=0, excess=(-0.04, 0.04)), probed("repeat", n=200, pairs=100)]
    assert answer([report(STUFFED, *cleared)]).sentences[1:] == [
        "Cleared: length and position, inconsistent grades; with these texts at most 10 % of the pairs of each, beyond "
        "the controls, fooled it (95 % confidence)."
    ]
    assert answer([report(*cleared)]).sentences == [
        "gpt is cleared of both dangers it was tested for: with these texts at most 10 % of the pairs of each, "
        "beyond the controls, fooled it (95 % confidence).",
        "Whether its grades are right is another question: quati-pool agree compares them with people's.",
    ]
    assert answer([report(cleared[1])]).sentences[0] == (
        "gpt is cleared of inconsistent grades, the one danger it was tested for: with these texts at most 10 % of the "
        "pairs fooled it (95 % confidence)."
    )
    bounds = [probed("length"), probed("repeat", bound=0.05)]
    assert "with these texts at most the bound of the pairs" not in answer([report(*bounds)]).sentences[0]
    assert (
        "with these texts no more of the pairs of each than its bound fooled it"
        in answer([report(*bounds)]).sentences[0]
    )


def test_what_is_undecided_says_what_would_decide(report: Make) -> None:
    open_one = probed("fluency", "undecided", 20, control=0, excess=(0.0904, 0.36))
    assert answer([report(open_one)]).sentences == [
        "Nothing is shown to fool gpt yet, but the one danger it was tested for is undecided.",
        "Undecided: fluent text on topic (20 % of 100 irrelevant pairs were graded as answers when made of passages "
        "that do not answer, against 0 % of the controls; 95 % interval of the difference 9 to 36 %, bound 10 %). More "
        "pairs (--pairs) or more queries narrow the interval. Until then, do not rely on its grades there.",
    ]
    said = answer([report(open_one, probed("length"))]).sentences
    assert said[0] == "Nothing is shown to fool gpt yet, but 1 of the 2 dangers it was tested for is undecided."
    assert said[2].startswith("Cleared: length and position; ")
    both = answer([report(open_one, probed("question", "undecided", 4, 20, (0.08, 0.4)))]).sentences
    assert both[0] == "Nothing is shown to fool gpt yet, but both dangers it was tested for are undecided."
    assert both[1].count("--pairs") == both[1].count("narrow the intervals.") == 1


def test_many_undecided_dangers_have_their_intervals(report: Make) -> None:
    some = [
        probed("question", "undecided", 10, ends=(0.05, 0.2)),
        probed("fluency", "undecided", 20, control=0, excess=(0.09, 0.36)),
        probed("length", "undecided", 14, control=2, excess=(-0.01, 0.2)),
    ]
    (_, said) = answer([report(*some)]).sentences
    assert said == (
        "Undecided, by the 95 % intervals of the excess: question as passage (5 to 20 %), fluent text on topic (9 to "
        "36 %), length and position (-1 to 20 %). More pairs (--pairs) or more queries narrow the intervals. Until "
        "then, do not rely on its grades there."
    )


def test_a_variant_that_keeps_a_danger_from_being_cleared_is_named(report: Make) -> None:
    shuffled = way("shuffled words", 6, 20, (0.14, 0.52))
    doubtful = probed("missing", "undecided", 6, ends=(0.03, 0.09), suspects=[shuffled])
    (_, said) = answer([report(doubtful)]).sentences
    assert "; 95 % interval 3 to 9 %, bound 10 %, but shuffled words: 6 of 20). More pairs" in said


SHUFFLED = way("shuffled words", 26, 26, (0.87, 1.0))


def test_a_variant_that_alone_fools_the_judge_is_named(report: Make) -> None:
    only = probed("missing", "fooled", 9, ends=(0.05, 0.16), fooled_by=[SHUFFLED])
    (said,) = answer([report(only)]).sentences
    assert said == (
        "gpt is fooled by missing evidence (shuffled words: 26 of 26 relevant pairs were graded as answers without the "
        "question, the passage or the answer; 95 % interval 87 to 100 %, bound 10 %): do not take its high grades for "
        "answers before people have checked some."
    )
    others = [way("query last", 9, 25, (0.2, 0.5), 1), way("query first", 8, 25, (0.15, 0.5), 0)]
    stuffed = probed("stuffing", "fooled", 17, control=1, excess=(0.05, 0.2), fooled_by=others)
    (said,) = answer([report(stuffed)]).sentences
    assert (
        "(query last: 9 of 25 irrelevant pairs were graded higher with the query's words in them, against 1 of 25 "
        "controls; 95 % interval of the difference 20 to 50 %, bound 10 %; also query first: 8 of 25 against 0 of 25): "
    ) in said
    first = answer([report(only, stuffed)]).sentences[0]
    assert first.startswith("gpt is fooled by missing evidence (shuffled words: 26 of 26 relevant pairs were ")


def test_the_worst_variant_is_named_where_it_is_worse_than_the_mean(report: Make) -> None:
    whole = probed("missing", "fooled", 30, ends=(0.2, 0.4), fooled_by=[SHUFFLED])
    (said,) = answer([report(whole)]).sentences
    assert "(30 % of 100 relevant pairs were graded as answers " in said
    assert "; most of all shuffled words: 26 of 26; 95 % interval 20 to 40 %, bound 10 %)" in said
    alike = probed("missing", "fooled", 95, ends=(0.8, 0.99), fooled_by=[SHUFFLED])
    assert "most of all" not in answer([report(alike)]).sentences[0]


def test_a_repetition_that_alone_fools_the_judge(report: Make) -> None:
    again = probed("repeat", "fooled", 30, 200, (0.09, 0.2), pairs=100, fooled_by=[way("2", 22, 100, (0.15, 0.3))])
    assert "(repetition 2: 22 of 100 pairs were graded differently" in answer([report(again)]).sentences[0]


def test_one_pair_is_not_many(report: Make) -> None:
    (_, said) = answer([report(probed("missing", "undecided", 0, 1, (0.0, 1.0)))]).sentences
    assert "(0 % of 1 relevant pair was graded as answers " in said


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ((0.104, 0.3), "10.4 to 30 %"),
        ((0.1, 0.3), "10 to 30 %"),
        ((0.2, 0.3), "20 to 30 %"),
        ((0.10004, 0.3), "10.004 to 30 %"),
        ((0.996, 1.0), "99.6 to 100 %"),
        ((0.221, 0.224), "22.1 to 22.4 %"),
    ],
)
def test_an_interval_is_never_shown_as_its_bound_when_it_is_not(
    report: Make, ends: tuple[float, float], shown: str
) -> None:
    (said,) = answer([report(probed("question", "fooled", 25, ends=ends))]).sentences
    assert f"95 % interval {shown}, bound 10 %" in said


@pytest.mark.parametrize(
    ("verdict", "ends", "shown"),
    [
        ("undecided", (0.04, 0.104), "8 (4 to 10.4)"), ("cleared", (0.0, 0.0996), "8 (0 to 10)"),
        ("cleared", (0.0, 0.003), "8 (0 to 0.3)"), ("fooled", (0.104, 0.3), "8 (10.4 to 30)"),
        ("cleared", (-0.002, 0.003), "8 (-0.2 to 0.3)"),
    ],
)  # fmt: skip
def test_the_row_has_the_interval_of_the_verdict(
    report: Make, verdict: Any, ends: tuple[float, float], shown: str
) -> None:
    row = board(report(probed("stuffing", verdict, 8, ends=(0.02, 0.2), control=0, excess=ends))).rows[0]
    assert row == ["keyword stuffing", verdict, 100, "8", "0", shown, "10"]


@pytest.mark.parametrize(("hits", "shown"), [(0, "0 %"), (1, "< 1 %"), (999, "> 99 %"), (1000, "100 %")])
def test_a_share_is_shown_as_none_or_all_only_if_it_is(report: Make, hits: int, shown: str) -> None:
    assert board(report(probed("question", "cleared", hits, 1000))).rows[0][3] == shown.removesuffix(" %")


def test_what_was_not_asked_says_why(report: Make) -> None:
    made = report(
        STUFFED, unasked("language", "no translations: name a file"), probed("repeat", "not asked", n=0, ungraded=5)
    )
    assert answer([made]).sentences[-1] == (
        "Not asked: change of language (no translations); inconsistent grades (no text of it has a grade yet)."
    )
    assert [row[1] for row in board(made).rows] == ["fooled", "not asked", "not asked"]
    nothing = report(unasked("language", "no translations"))
    assert answer([nothing]).sentences[0] == "Nothing is known of gpt yet: no changed pair has a grade."


def test_whose_grades_chose_the_pairs(report: Make) -> None:
    def said(people: int) -> str:
        return rest(report(probed("stuffing", people=people), probed("missing"), probed("repeat")))[0]

    later = "once people have graded more, --redraw draws by their grades."
    assert said(0) == (
        f"gpt's own grades chose the irrelevant and relevant pairs, as people graded none of them; {later}"
    )
    assert said(80) == (
        f"People's grades chose 80 of the 200 irrelevant and relevant pairs, gpt's own the others; {later}"
    )
    assert rest(report(probed("stuffing", people=100)))[0] == "People's grades chose the irrelevant pairs."
    assert not any("chose" in line for line in rest(report(probed("repeat"))))


def test_self_agreement(report: Make) -> None:
    again = probed("repeat", "cleared", 6, 200, pairs=100)
    said = (
        "Asked again about 100 pairs, it gave another grade in 3 % of 200 answers; its κ with itself (first "
        "repetition) is {}."
    )
    assert said.format("0.87") in rest(report(again))
    assert said.format("undefined") in rest(report(again, kappa=None))


def test_what_was_asked_and_what_has_no_grade(report: Make) -> None:
    calls = Calls()
    calls.attempts, calls.cost = 12, 0.25
    missing = probed("stuffing", control=0, n=10, ungraded=3)
    asked = Asked("gpt", 12, 3, calls)
    made = report(missing, runs=[asked])
    assert "This run asked about 12 texts, for US$ 0.2500." in rest(made)
    assert (
        "Without a grade, and not counted, are 3 changed pairs and 3 controls; the same command asks about them again."
        in rest(made)
    )
    calls.unknown = 2
    assert "This run asked about 12 texts, for US$ 0.2500 at least." in rest(made)
    calls.cost = 0
    assert "This run asked about 12 texts, for an unknown cost." in rest(made)
    assert "This run asked about 1 text, at no cost." in rest(report(missing, runs=[Asked("gpt", 1, 0)]))
    assert "This run asked nothing: all answers were there." in rest(report(missing))
    assert "This run asked nothing." in rest(report(missing, runs=[Asked("gpt", 0, 3, ended="budget")]))


def test_probes_that_were_left_out_are_named(report: Make) -> None:
    others = [name for name in PROBES.names() if name not in ("stuffing", "repeat")]
    assert f"Probes left out: {', '.join(others)}; without --probe all are run, and its grades compared." in rest(
        report(STUFFED, probed("repeat"))
    )
    assert not any("left out" in line for line in rest(report(*map(probed, PROBES.names()))))


def everything(verdict: Any, **others: Any) -> list[AuditedProbe]:
    """All probes, with all that can be said of them."""
    return [
        probed(name, verdict, 34, ends=(0.0904, 0.5), control=3, excess=(0.08, 0.4), people=7, ungraded=3, **others)
        for name in PROBES.names()
    ]


@pytest.mark.parametrize("width", [PIPE, TERMINAL])
@pytest.mark.parametrize("judge", ["gpt", "a-" + 60 * "very-" + "long-name"])
@pytest.mark.parametrize("verdict", ["fooled", "undecided", "cleared", "not asked"])
@pytest.mark.parametrize("fooled_by", [(), 3 * (way("query among random words", 20, 25, (0.5, 0.9), 1),)])
def test_the_card_fits_a_screen(
    report: Make, verdict: str, judge: str, width: int, fooled_by: tuple[VariantResult, ...]
) -> None:
    made = report(*everything(verdict, fooled_by=fooled_by, controls_move=bool(fooled_by)))
    text = answer_text(answer([replace(made, judge=judge)], ["b", "c", "d", "e"]), width)
    assert "Not shown here" not in text
    lines = text.splitlines()
    assert len(lines) <= LINES
    assert max(map(columns, lines)) <= width
    assert all(f"\n{one.probe.danger}" in text for one in made.probes)
    assert not any(line.endswith(" …") for line in lines)


def test_all_dangers_at_once_keep_their_advice(report: Make) -> None:
    made = report(*everything("fooled"))
    said = " ".join(answer([made]).sentences)
    assert all(one.probe.danger in said and one.probe.advice in said for one in made.probes)


def test_several_judges_have_a_sentence_each_and_share_a_table(report: Make) -> None:
    one = report(STUFFED, probed("repeat", "undecided", 12, ends=(0.07, 0.2)))
    other = report(probed("stuffing", control=0), unasked("language", "no translations"), judge="lexical")
    found = answer([one, other])
    assert found.sentences == [
        "gpt is fooled by keyword stuffing (34 %); undecided: inconsistent grades.",
        "lexical is cleared of keyword stuffing, the one danger it was tested for: with these texts at most 10 % of "
        "the pairs, beyond the controls, fooled it (95 % confidence).",
        "Where keyword stuffing fools a judge, do not compare systems whose passages may repeat the query's words.",
    ]
    assert found.table is not None
    assert [column.heading for column in found.table.columns] == ["Danger", "gpt", "lexical"]
    assert found.table.rows == [
        ["keyword stuffing", "fooled (34 %)", "cleared (0 %)"],
        ["inconsistent grades", "undecided (12 %)", None],
        ["change of language", None, "not asked"],
    ]
    many = [report(*everything("fooled"), judge=f"judge-{number}") for number in range(5)]
    lines = answer_text(answer(many)).splitlines()
    assert len(lines) <= LINES
    assert max(map(columns, lines)) <= PIPE
    assert "What not to do with the grades of each is there too." in lines


def plan(**changes: Any) -> AuditPlan:
    usual: dict[str, Any] = {
        "audited": "gpt", "judge": "gpt", "probes": [STUFFED, unasked("language", "no translations")], "texts": 300,
        "to_ask": 200, "calls": 200, "input_tokens": 90_000, "output_tokens": 9_000, "cost": 0.5, "seconds": 120.0,
        "notes": ("a note",),
    }  # fmt: skip
    return AuditPlan(**{**usual, **changes})


def test_a_plan_says_what_would_be_asked_and_what_not() -> None:
    found = answer_text(plan_answer([plan()]))
    assert found.startswith(
        "gpt would be asked about 200 of 300 texts in 200 calls, for about $0.50 in about\n"
        "2.0 min; nothing was asked.\nNot to be asked: change of language (no translations).\n"
    )
    assert "a note\n--full shows how many pairs each probe changes, and why a probe cannot be used.\n" in found
    assert plan_answer([plan(to_ask=0)]).sentences[0] == "gpt has nothing left to ask."
    assert "in 200 calls, at an unknown price; nothing" in plan_answer([plan(cost=None, seconds=None)]).sentences[0]
    free = plan(calls=0, cost=0.0, seconds=None, notes=())
    assert (
        plan_answer([free]).sentences[0] == "gpt would be asked about 200 of 300 texts, at no cost; nothing was asked."
    )


def test_the_plan_of_a_consensus_has_a_sentence_for_each_member() -> None:
    found = plan_answer([plan(audited="both"), plan(audited="both", judge="other")])
    assert [one.split(" would")[0] for one in found.sentences[:2]] == [
        "gpt, for the audit of both,",
        "other, for the audit of both,",
    ]
    assert found.table is not None
    assert [row[0] for row in found.table.rows] == ["gpt", "other", "All"]
    assert found.sentences[-1] == "In total: 400 of 600 texts in 400 calls, for about $1.00."
    unknown = plan_answer([plan(), plan(judge="other", cost=None)])
    assert unknown.sentences[-1] == (
        "In total: 400 of 600 texts in 400 calls, for about $0.50 and what those of an unknown price cost."
    )
    free = plan_answer([plan(calls=0, cost=0.0), plan(judge="other", calls=0, cost=0.0)])
    assert free.sentences[-1] == "In total: 400 of 600 texts, at no cost."


def test_controls_that_move_the_grade_too_leave_nothing_to_say(report: Make) -> None:
    moved = probed("instruction", "undecided", 80, control=77, excess=(-0.19, 0.25), controls_move=True)
    said = answer([report(moved)]).sentences
    assert said[-1] == (
        "Other changes move its grades too: of the controls, which lack what the danger is about, 77 % (planted "
        "instructions). So nothing can be said of planted instructions."
    )
    assert "--pairs" not in " ".join(said)
    within = probed("instruction", "undecided", 80, control=77, excess=(-0.19, 0.08), controls_move=True)
    assert "bound 10 %, but controls move)" in answer([report(within)]).sentences[1]
    fooled = probed("stuffing", "fooled", 99, control=50, excess=(0.3, 0.6), controls_move=True)
    assert answer([report(fooled)]).sentences[-1].endswith(" 50 % (keyword stuffing).")


def test_judges_that_a_run_did_not_come_to_are_named(report: Make) -> None:
    one, other = report(STUFFED), report(STUFFED, judge="lexical")
    assert "The run ended before it came to b and c." in answer([one], ["b", "c"]).rest.splitlines()
    assert "The run ended before it came to c." in answer([one, other], ["c"]).rest.splitlines()
    assert "ended before" not in answer([one]).rest
