"""The tables of estimate: every row says for which queries, every table what its figures hold for."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from quati_pool.reporting.formats.tables import Table, latex_file
from quati_pool.reporting.tables.estimate import differences_csv, systems_csv, tables
from tests.reporting.estimate_reports import PAIRS, QUERIES, difference, estimate, four, report, system

CENSUS = replace(QUERIES, labelled=53, labels=10_828)
BOTH = report(four(), four("queries-like-these", measure="AP", looks=2, warnings=("λ is 0",)))


def column(table: Table, heading: str) -> list[object]:
    place = [one.heading for one in table.columns].index(heading)
    return [row[place] for row in table.rows]


def test_a_table_of_systems_and_of_differences_for_each_estimate_and_what_was_drawn() -> None:
    titles = [table.title for table in tables(BOTH)]
    assert titles == [
        "Estimates of nDCG@10 under the grades of nist, for these 53 queries",
        "Differences in nDCG@10 under the grades of nist, for these 53 queries",
        "Estimates of AP under the grades of nist, for queries like these 53",
        "Differences in AP under the grades of nist, for queries like these 53",
        "What was drawn: design 3 (random queries, seed 7)",
    ]


def test_every_row_names_its_target_and_every_table_the_statement() -> None:
    *found, _ = tables(BOTH)
    for table, target, made in zip(
        found, ["these queries"] * 2 + ["queries like these"] * 2, [0, 0, 1, 1], strict=True
    ):
        assert set(column(table, "For")) == {target}
        assert table.note.startswith(BOTH.statement(BOTH.estimates[made]))


def test_the_statement_is_in_latex() -> None:
    assert latex_file(tables(BOTH)).count("used as covariate, never as truth") == 4


def test_systems_have_the_figures_of_people_and_judge_alone() -> None:
    table = tables(BOTH)[2]
    assert column(table, "AP")[0] == 0.612
    assert column(table, "97.5 % interval")[0] == (0.612 - 0.04, 0.612 + 0.04)
    assert column(table, "People's interval")[0] == (0.612 - 0.09, 0.612 + 0.07)
    assert column(table, "People only")[0] == 0.612 - 0.01
    assert column(table, "Judge alone")[0] == 0.612 + 0.1
    assert column(table, "λ")[0] == 0.83
    assert "Judge alone: under the grades of llm, which is no estimate of people's." in table.note
    assert " λ is 0. " in table.note
    assert "Lowest" not in [one.heading for one in table.columns]


def test_drawn_pairs_have_no_weights_and_bounds_are_shown_where_there_are_any() -> None:
    systems = [system(name, 0.5, judge_weight=None, own_weight=None) for name in "ab"]
    systems[1] = replace(systems[1], bounds=(0.45, 0.55))
    found, differences, _ = tables(report(estimate(systems), drawn=PAIRS))
    assert "λ" not in [one.heading for one in found.columns]
    assert column(found, "Lowest") == [None, 0.45]
    assert column(found, "Highest") == [None, 0.55]
    assert "Further pairs" in [one.heading for one in differences.columns]


def test_differences_have_verdicts_and_what_would_decide() -> None:
    table = tables(BOTH)[1]
    assert column(table, "Verdict") == ["tie", "inconclusive", "better", "inconclusive", "better", "better"]
    assert column(table, "Further queries") == [None, 12, None, None, None, None]
    assert "(p by Holm over 6 differences, alpha 0.05), a tie within ±0.02, or inconclusive." in table.note
    assert "Further queries: how many more would find a difference of 0.02 with a power of 80 %" in table.note
    assert "Why" not in [one.heading for one in table.columns]


def test_a_dash_is_explained_as_far_as_there_are_any() -> None:
    a, b, c, d = (system(name, 0.5) for name in "abcd")
    few = difference(a, b, "inconclusive", reason="few differ")
    found, missed = difference(a, c, "inconclusive", 3), difference(a, d, "inconclusive")
    noted = "Further queries: how many more would find a difference of 0.02 with a power of 80 %"
    dash = "; a dash for an inconclusive one:"
    too_few = "too few queries differ for a test (Why)"
    for differences, expected in {
        (found,): f"{noted}.",
        (found, missed): f"{noted}{dash} not even all would.",
        (few, found): f"{noted}{dash} {too_few}.",
        (few, missed): f"{noted}{dash} not even all would, or {too_few}.",
    }.items():
        assert tables(report(estimate([a, b, c, d], differences=differences)))[1].note.endswith(expected)
    like_these = estimate([a, b, c, d], differences=(few, missed), target="queries-like-these")
    assert tables(report(like_these, drawn=CENSUS))[1].note.endswith(" Further queries: none is left.")


def test_what_is_known_without_error_is_not_tested() -> None:
    systems = [system(name, value, standard_error=0.0) for name, value in {"a": 0.6, "b": 0.5}.items()]
    note = tables(report(estimate(systems), drawn=CENSUS))[1].note
    assert note.endswith("people graded all pairs, so that the sign of a difference is known without error.")
    assert not any(word in note for word in ("Holm over", "±", "inconclusive"))


def test_latex_explains_no_column_that_it_leaves_out() -> None:
    made = tables(BOTH)
    latex = latex_file(made)
    assert "Own λ: that of the system alone." in made[0].note
    assert not any(said in latex for said in ("Own", "of the system alone", "Further queries", "a dash"))
    assert r"$\lambda$: how much" in latex


def test_notes_have_few_digits_and_no_tie_within_0() -> None:
    exact, rough = tables(report(four(delta=0.0)))[1].note, tables(report(four(delta=0.272614)))[1].note
    assert "alpha 0.05), or inconclusive." in exact
    assert "a tie within ±0.273," in rough
    assert "a difference of 0.273 with" in rough


def test_reasons_have_a_column() -> None:
    a, b, c = (system(name, 0.5) for name in "abc")
    found = [difference(a, b, "inconclusive", reason="few differ"), difference(a, c, "tie")]
    table = tables(report(estimate([a, b, c], differences=tuple(found))))[1]
    assert column(table, "Why") == ["few differ", ""]


def test_many_differences_are_cut_in_print_only() -> None:
    made = report(estimate([system(f"s{n}", 0.5) for n in range(10)]))
    printed, whole = tables(made)[1], tables(made, differences=None)[1]
    assert len(printed.rows) == 30
    assert printed.note.endswith("The first 30; the files hold all.")
    assert len(whole.rows) == 45
    assert "The first" not in whole.note


def test_one_system_has_no_table_of_differences() -> None:
    assert len(tables(report(estimate([system("a", 0.5)])))) == 2


def test_what_was_drawn_counts_what_is_left_out() -> None:
    drawn = replace(QUERIES, not_judged=7, left_out={"not graded in full": 3})
    table = tables(report(four(), drawn=drawn, judge_version="8c1f"))[-1]
    counts = {row[0]: row[1] for row in table.rows}
    assert counts["Pairs that people could not judge"] == 7
    assert "Pairs without a majority" not in counts
    assert counts["Left out: queries not graded in full"] == 3
    assert table.note == "Drawn at random: queries. People: nist. Judge: llm, version 8c1f."


def test_pairs_without_a_majority_are_counted_by_themselves() -> None:
    table = tables(report(four(), drawn=replace(QUERIES, not_judged=30, tied=22)))[-1]
    counts = {row[0]: row[1] for row in table.rows}
    assert (counts["Pairs that people could not judge"], counts["Pairs without a majority"]) == (8, 22)


def test_csv_has_a_row_for_each_measure_target_and_system_or_difference() -> None:
    systems = list(csv.DictReader(io.StringIO(systems_csv(BOTH))))
    assert [(row["measure"], row["target"], row["run_tag"]) for row in systems] == [
        (measure, target, run_tag)
        for measure, target in (("nDCG@10", "these-queries"), ("AP", "queries-like-these"))
        for run_tag in ("e5", "rrf", "lsa", "bm25")
    ]
    assert float(systems[0]["low"]) == 0.612 - 0.04
    assert systems[0]["lowest"] == ""
    differences = list(csv.DictReader(io.StringIO(differences_csv(BOTH))))
    assert len(differences) == 12
    assert differences[1]["queries_needed"] == "12"
    assert "pairs_needed" in differences_csv(report(four(), drawn=PAIRS)).splitlines()[0]
