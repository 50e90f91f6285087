"""The answer of estimate: who is best, how surely, and what the rest needs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from quati_pool.estimation.results import Figure, Verdict
from quati_pool.reporting.answers.estimate import answer, board
from quati_pool.reporting.formats.answers import LINES, answer_text
from quati_pool.text.display_width import columns
from tests.reporting.estimate_reports import PAIRS, QUERIES, Report, estimate, four, report, system

OPEN: tuple[Verdict, None] = ("inconclusive", None)
CENSUS = replace(QUERIES, labelled=53, labels=10_828)


def two(verdict: Verdict, needed: int | None = None) -> Report:
    systems = [system("e5", 0.6), system("bm25", 0.5)]
    return report(estimate(systems, {("e5", "bm25"): (verdict, needed)}))


def sentences(made: Report) -> list[str]:
    return list(answer(made).sentences)


def test_the_best_system_comes_first_with_its_interval_and_verdicts() -> None:
    first, all_pairs, judge = sentences(report(four()))
    assert first == (
        "e5 has the highest nDCG@10 under the grades of nist for these 53 queries: 0.612 (95 % interval 0.572 to "
        "0.652); of the other 3 it is better than 1 and tied with 1; 1 is open: 12 more queries would find a "
        "difference of 0.02 with a power of 80 %."
    )
    assert all_pairs == (
        "Of all 6 differences between systems, 3 are decided, 1 is a tie and 2 are open: 12 more queries would find a "
        "difference of 0.02 with a power of 80 % for 1 of them; for the rest not even all 53 would (Holm, alpha 0.05; "
        "ties within ±0.02)."
    )
    assert judge == "Under the grades of llm alone, the systems would score 0.100 higher on average."


def test_queries_like_these_are_named() -> None:
    assert " for queries like these 53: " in sentences(report(four("queries-like-these")))[0]


@pytest.mark.parametrize(
    ("verdict", "needed", "expected"),
    [
        ("better", None, "e5 has the highest {}; it is better than the other."),
        ("tie", None, "No clear winner: e5 has the highest {}; it is tied with the other."),
        ("worse", None, "No clear winner: e5 has the highest {}; it is worse than the other."),
        (
            "inconclusive", 1,
            "No clear winner: e5 has the highest {}; whether it is better than the other is open: 1 more query would "
            "find a difference of 0.02 with a power of 80 %.",
        ),
        (
            "inconclusive", None,
            "No clear winner: e5 has the highest {}; whether it is better than the other is open: not even all 53 "
            "queries would find a difference of 0.02 with a power of 80 %.",
        ),
    ],
)  # fmt: skip
def test_two_systems(verdict: Verdict, needed: int | None, expected: str) -> None:
    value = "nDCG@10 under the grades of nist for these 53 queries: 0.600 (95 % interval 0.560 to 0.640)"
    first, *others = sentences(two(verdict, needed))
    assert first == expected.format(value)
    assert not any("differences" in one for one in others)


def test_one_system_alone() -> None:
    assert sentences(report(estimate([system("e5", 0.6, judge_only=0.6004)]))) == [
        "e5 has an estimated nDCG@10 under the grades of nist for these 53 queries of 0.600 (95 % interval 0.560 to "
        "0.640)."
    ]


def test_equal_systems_share_the_first_place_and_the_less_certain_verdict() -> None:
    systems = [system(name, value) for name, value in {"a": 0.6, "b": 0.6, "c": 0.5, "d": 0.4}.items()]
    verdicts: dict[tuple[str, str], tuple[Verdict, int | None]] = {("a", "b"): ("tie", None)}
    value = "nDCG@10 under the grades of nist for these 53 queries: 0.600 (95 % interval 0.560 to 0.640)"
    assert sentences(report(estimate(systems, verdicts)))[0] == (
        f"a and b have the highest {value}; they are better than all of the other 2."
    )
    verdicts["b", "c"] = ("inconclusive", 7)
    assert sentences(report(estimate(systems, verdicts)))[0] == (
        f"a and b have the highest {value}; of the other 2 they are better than 1; 1 is open: 7 more queries would "
        "find a difference of 0.02 with a power of 80 %."
    )
    alike = estimate(systems[:2], {("a", "b"): ("tie", None)})
    assert sentences(report(alike))[0] == f"a and b have the highest {value}."


def test_the_best_of_many_is_better_than_all_or_perhaps_than_none() -> None:
    systems = [system(f"s{n}", 0.6 - n / 100) for n in range(4)]
    assert sentences(report(estimate(systems)))[0].endswith("; it is better than all of the other 3.")
    unsure: dict[tuple[str, str], tuple[Verdict, int | None]] = {
        ("s0", f"s{n}"): ("inconclusive", 900 * n) for n in (1, 2, 3)
    }
    first = sentences(report(estimate(systems, unsure), drawn=PAIRS))[0]
    assert first.startswith("No clear winner: s0 has ")
    assert first.endswith(
        "; whether it is better than any of the other 3 is open: 2,700 more pairs would find a difference of 0.02 with "
        "a power of 80 %."
    )


def test_against_a_baseline_and_with_looks() -> None:
    systems = [system("e5", 0.6), system("bm25", 0.5), system("lsa", 0.49), system("tf", 0.3)]
    verdicts: dict[tuple[str, str], tuple[Verdict, int | None]] = {
        ("lsa", "bm25"): ("inconclusive", 20), ("tf", "bm25"): ("worse", None),
    }  # fmt: skip
    made = report(estimate(systems, verdicts, baseline="bm25", looks=2))
    first, against, _ = sentences(made)
    assert first.endswith("0.600 (97.5 % interval 0.560 to 0.640).")
    assert against == (
        "Compared with the baseline bm25, of 3 systems, 1 is better, 1 is worse and 1 is open: 20 more queries would "
        "find a difference of 0.02 with a power of 80 % (Holm, alpha 0.05 shared by 2 looks; ties within ±0.02)."
    )
    table = board(made, made.estimates[0])
    headings = [column.heading for column in table.columns]
    assert [row[headings.index("vs baseline")] for row in table.rows] == ["better", None, "inconclusive", "worse"]
    assert "97.5 % interval" in headings


def test_one_verdict_for_all_is_said_once() -> None:
    systems = [system(f"s{n}", 0.6 - n / 100) for n in range(4)]
    assert sentences(report(estimate(systems)))[1] == (
        "All 6 differences between systems are decided (Holm, alpha 0.05; ties within ±0.02)."
    )
    against = sentences(report(estimate(systems, baseline="s3")))[1]
    assert against.startswith("Compared with the baseline s3, all 3 systems are better (")
    against = sentences(report(estimate(systems[:2], baseline="s1")))[1]
    assert against.startswith("Compared with the baseline s1, s0 is better (")


def test_all_that_are_left_would_decide_for_these_queries_alone() -> None:
    assert sentences(two("inconclusive", 38))[0].endswith(" is open: all 38 remaining queries would decide.")
    systems = [system("e5", 0.6), system("bm25", 0.5)]
    like_these = estimate(systems, {("e5", "bm25"): ("inconclusive", 38)}, target="queries-like-these")
    assert "38 more queries would find a difference" in sentences(report(like_these))[0]
    one_left = report(two("inconclusive", 1).estimates[0], drawn=replace(QUERIES, labelled=52))
    assert sentences(one_left)[0].endswith(" is open: the remaining query would decide.")


def test_those_that_too_few_queries_show_and_no_number_would_find_are_named_apart() -> None:
    systems = [system(name, value) for name, value in {"a": 0.6, "b": 0.55, "c": 0.5, "d": 0.4}.items()]
    verdicts: dict[tuple[str, str], tuple[Verdict, int | None]] = {
        ("a", "b"): OPEN, ("a", "c"): OPEN, ("a", "d"): ("inconclusive", 38),
    }  # fmt: skip
    made = estimate(systems, verdicts)
    few, *rest = made.differences
    made = replace(made, differences=(replace(few, reason="few differ"), *rest))
    said = sentences(report(made))
    wanted = "would find a difference of 0.02 with a power of 80 %"
    counts = (
        f"1 differs in too few queries to be tested; 38 more queries {wanted} for 1 of the others; for the rest not"
    )
    assert f" is open: {counts} even all 53 would." in said[0]
    assert f" are open: {counts} even all 53 would (Holm" in said[1]
    without = replace(made, differences=(few, *rest[1:]))
    assert (
        f": 38 more queries {wanted} for 1 of them; for the rest not even all 53 would" in sentences(report(without))[0]
    )


def test_further_queries_do_not_decide_everything_where_pairs_of_them_were_drawn_or_not_judged() -> None:
    made = two("inconclusive", 38)
    half = replace(made, drawn=replace(PAIRS, labelled=15))
    for one in (half, replace(made, drawn=replace(QUERIES, not_judged=3))):
        assert "is open: 38 more queries would find a difference of 0.02" in sentences(one)[0]


def test_nothing_is_left_to_grade() -> None:
    like_these = replace(two("inconclusive").estimates[0], target="queries-like-these")
    assert sentences(report(like_these, drawn=CENSUS))[0].endswith(" is open: no query is left to grade.")


def test_what_is_known_without_error_is_not_tested() -> None:
    systems = [system(name, value, standard_error=0.0) for name, value in {"a": 0.6, "b": 0.6, "c": 0.5}.items()]
    made = estimate(systems, {("a", "b"): ("tie", None)})
    first, all_pairs, _ = sentences(report(made, drawn=CENSUS))
    assert first == (
        "a and b have the highest nDCG@10 under the grades of nist for these 53 queries: 0.600 (known without error); "
        "they are better than the other."
    )
    assert all_pairs == (
        "Of all 3 differences between systems, 2 are decided and 1 is a tie (known without error, as people graded all "
        "pairs)."
    )
    assert "(Holm, alpha 0.05; ties within ±0.02)" in sentences(report(made))[1]


def test_no_tie_is_promised_where_delta_is_0() -> None:
    unsure: dict[tuple[str, str], tuple[Verdict, int | None]] = {("a", "b"): ("inconclusive", None)}
    systems = [system(name, value) for name, value in {"a": 0.6, "b": 0.55, "c": 0.5}.items()]
    said = sentences(report(estimate(systems, unsure, delta=0.0)))[1]
    assert said == (
        "Of all 3 differences between systems, 2 are decided and 1 is open: not even all 53 queries would find every "
        "difference, however small, with a power of 80 % (Holm, alpha 0.05)."
    )


def test_systems_that_the_judge_widens_are_named() -> None:
    wide = [system("e5", 0.6, low=0.5, high=0.7), system("lsa", 0.5, low=0.3, high=0.7), system("bm25", 0.4)]
    made = report(estimate(wide))
    assert board(made, made.estimates[0]).note.endswith(
        "The intervals of e5 and lsa are wider than from people's grades only, because λ is pooled over systems."
    )
    pairs = report(estimate([replace(wide[0], judge_weight=None), wide[2]]), drawn=PAIRS)
    assert board(pairs, pairs.estimates[0]).note.endswith("The interval of e5 is wider than from people's grades only.")


def test_further_measures_and_targets_follow() -> None:
    further = [four("queries-like-these"), *(four(measure=name) for name in ("AP", "P@10", "RR", "R@100"))]
    assert sentences(report(four(), *further))[3:] == [
        "e5 has the highest nDCG@10 for queries like these 53: 0.612 (95 % interval 0.572 to 0.652).",
        "e5 has the highest AP for these 53 queries: 0.612 (95 % interval 0.572 to 0.652).",
        "e5 has the highest P@10 for these 53 queries: 0.612 (95 % interval 0.572 to 0.652).",
        "2 more estimates are in the tables.",
    ]
    alone = [estimate([system("e5", 0.6)], measure=name) for name in ("nDCG@10", "AP")]
    assert sentences(report(*alone))[-1] == (
        "e5 has an estimated AP for these 53 queries of 0.600 (95 % interval 0.560 to 0.640)."
    )


def test_no_sentence_is_cut_for_further_estimates() -> None:
    systems = [system(f"a-system-with-a-very-long-name-{n}", 0.6) for n in range(4)]
    few = estimate([*systems[:3], system("bm25", 0.5)], {("a-system-with-a-very-long-name-0", "bm25"): OPEN})
    drawn = replace(QUERIES, not_judged=7, tied=3, covered=10_800, left_out={"not graded in full": 3})
    said = answer_text(answer(report(few, *(replace(few, measure=name) for name in ("AP", "RR")), drawn=drawn)))
    sentences_alone, *_ = said.split("\n\n")
    assert "…" not in re.sub(r"\S…\S", "", sentences_alone)
    assert "2 more estimates are in the tables." in said
    assert "with the mean grade of the query." in " ".join(sentences_alone.split())


def test_what_was_drawn_and_does_not_count_is_said() -> None:
    drawn = replace(QUERIES, not_judged=7, covered=10_800, left_out={"not graded in full": 3, "withdrawn": 0})
    assert sentences(report(four(), drawn=drawn))[3:] == [
        "Drawn but not counted: 3 queries not graded in full.",
        "People could not judge 7 pairs.",
        "llm has not graded 28 pairs, which count with the mean grade of the query.",
    ]
    bounded = report(estimate([system("e5", 0.6, bounds=(0.5, 0.7))]), drawn=drawn)
    assert sentences(bounded)[-2] == (
        "People could not judge 7 pairs. Lowest and Highest: the estimate if these pairs had the worst or the best "
        "grades for the system."
    )
    table = board(bounded, bounded.estimates[0])
    headings = [column.heading for column in table.columns]
    assert [table.rows[0][headings.index(heading)] for heading in ("Lowest", "Highest")] == [0.5, 0.7]


def test_pairs_without_a_majority_are_counted_by_themselves() -> None:
    tied = "22 pairs have no majority, and count like pairs that could not be judged."
    both = sentences(report(four(), drawn=replace(QUERIES, not_judged=30, tied=22)))
    assert both[-1] == f"People could not judge 8 pairs. {tied}"
    assert sentences(report(four(), drawn=replace(QUERIES, not_judged=22, tied=22)))[-1] == tied


def test_the_statement_stands_whole_before_where_the_rest_is(tmp_path: Path) -> None:
    made = report(four())
    text = answer_text(answer(made, tmp_path))
    *_, rest = text.split("\n\n")
    assert " ".join(rest.split()).startswith(made.statement(made.estimates[0]))
    assert "estimate.md in" in rest


@pytest.mark.parametrize("width", [80, 120])
def test_many_systems_with_long_names_fit_a_screen(width: int) -> None:
    systems = [system(f"a-system-with-a-long-name-{n}", 0.9 - n / 100) for n in range(63)]
    drawn = replace(QUERIES, not_judged=7, covered=10_800, left_out={"not graded in full": 3})
    text = answer_text(answer(report(estimate(systems), four(measure="AP"), drawn=drawn)), width)
    lines = text.splitlines()
    assert len(lines) <= LINES
    assert max(map(columns, lines)) <= width
    assert "more rows" in text
    heading = next(line for line in lines if line.startswith("System"))
    assert all(name in heading for name in ("95 % interval", "vs first", "People only", "Judge alone"))
    assert ("People's interval" in heading) == ("λ" in heading) == (width == 120)


def test_people_only_is_said_to_be_too_high_for_ndcg_from_pairs() -> None:
    for made, said in ((report(four(), drawn=PAIRS), True), (report(four(measure="DCG@10"), drawn=PAIRS), False)):
        assert ("tends to be too high" in board(made, made.estimates[0]).note) == said
    assert "too high" not in board(report(four()), four()).note


def test_drawn_pairs_have_no_weight_and_undefined_intervals_are_left_out() -> None:
    one = system("e5", 0.6, judge_weight=None, own_weight=None, people_only=Figure(0.61, None, None))
    table = board(made := report(estimate([one]), drawn=PAIRS), made.estimates[0])
    headings = [column.heading for column in table.columns]
    assert "λ" not in headings
    assert "People's interval" not in headings
    assert table.rows[0][headings.index("People only")] == 0.61
