"""Each finding is there where it holds, with figures derived by hand, and not where it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest

from quati_pool.commands.evaluate import Settings
from quati_pool.commands.report import State
from quati_pool.records import Run
from quati_pool.reporting.answers import findings
from quati_pool.reporting.answers.report import FINDINGS, opening
from quati_pool.reporting.explorer import links
from quati_pool.reporting.formats.document import Details, Link, Listing, Paragraph, Words, plain
from tests.evaluation.small_qrels import Grades, run_of
from tests.reporting.answers.made_states import Made, state

FIRST = Settings(["P@1"], draws=20)
QUERIES = [f"q{n}" for n in range(10)]
DOCS = "abcdef"


def run(run_tag: str, first: Mapping[str, str]) -> Run:
    """A run that returns all documents for each query, with a chosen one at the top."""
    return run_of(run_tag, **{query: top + DOCS.replace(top, "") for query, top in first.items()})


def relevant(docs: str = "a", queries: list[str] = QUERIES) -> Grades:
    return {(query, doc): int(doc in docs) for query in queries for doc in DOCS}


def sound(**changes: object) -> State:
    """Ten queries: A finds the relevant a first in all, B in one; two people agree on all 60 pairs."""
    a, b = run("A", dict.fromkeys(QUERIES, "a")), run("B", dict.fromkeys(QUERIES, "b") | {"q0": "a"})
    labelers = {"ana": Made(relevant()), "panel": Made(relevant(), members=frozenset({"ana", "bia"}))}
    labelers["bia"] = Made(relevant())
    return state([a, b], {**labelers, **changes}, settings=FIRST)  # type: ignore[dict-item]


def said(check: Callable[[State], Iterator[Words]], made: State) -> list[str]:
    return [plain(one) for one in check(made)]


def hrefs(words: Words) -> list[str]:
    return [] if isinstance(words, str) else [one.href for one in words if isinstance(one, Link)]


def test_a_sound_collection_has_no_findings_and_the_opening_says_what_was_checked() -> None:
    made = sound()
    assert findings.findings(made) == []
    *_, distrust = opening(made, "systems", "agreement").parts
    (paragraph,) = distrust.blocks
    assert isinstance(paragraph, Paragraph)
    assert plain(paragraph.text).startswith("Nothing that was checked: who graded, the lead of the best system, ")


def test_grades_given_after_seeing_a_judges_are_counted_for_whoever_has_most() -> None:
    made = sound(ana=Made(relevant(), revealed=2), bia=Made(relevant(), revealed=59))
    (words,) = findings.revealed(made)
    assert plain(words) == (
        "59 of the 60 grades of bia were given after seeing a judge's grade, and may follow it."
    )  # fmt: skip
    assert hrefs(words) == [links.labeler("bia")]


def test_without_grades_or_with_one_labeler_or_without_people() -> None:
    runs = [run("A", dict.fromkeys(QUERIES, "a"))]
    assert said(findings.graders, state(runs, {})) == ["Nobody has graded anything, so no system can be measured."]
    rules = Made(relevant(), "program")
    assert said(findings.graders, state(runs, {"rules": rules})) == [
        "Only rules, a program, has graded, so nothing confirms its grades."
    ]
    two = {"rules": rules, "judge": Made(relevant(), "llm")}
    assert said(findings.graders, state(runs, two)) == [
        "No person has graded, so how far the grades of rules and judge can be trusted is not known."
    ]
    assert said(findings.graders, state(runs, {"ana": Made(relevant()), "bia": Made(relevant())})) == [
        "ana and bia could equally be the main labeler; the leaderboard uses the grades of ana."
    ]


def test_the_nearest_system_that_does_not_differ_significantly() -> None:
    # Differences 0, 0, 0, 1: mean 0.25, standard deviation 0.5, t = 0.25 / (0.5 / 2) = 1, of 3 degrees of freedom.
    four = QUERIES[:4]
    a, b = run("A", dict.fromkeys(four, "a")), run("B", dict.fromkeys(four, "a") | {"q0": "b"})
    made = state([a, b], {"ana": Made(relevant(queries=four))}, settings=FIRST)
    assert said(findings.lead, made) == ["A is not significantly better than B (0.250 ahead, Holm-adjusted p = 0.39)."]
    assert hrefs(next(findings.lead(made))) == ["explore/index.html#/system/A?against=B&by=ana"]
    same = state([a, run("B", dict.fromkeys(four, "a"))], {"ana": Made(relevant(queries=four))}, settings=FIRST)
    assert said(findings.lead, same) == ["All 2 systems have the same mean, so none of them is ahead."]


def test_another_best_system_under_another_labeler() -> None:
    # Under judge, b alone is relevant: B has it first in 9 of 10 queries, A in none.
    made = sound(judge=Made(relevant("b"), "llm"))
    (sentence,) = said(findings.orders, made)
    assert sentence.startswith(
        "Under judge, B is ahead of A by 0.900 (p < 0.0001); under panel it is 0.900 behind (p <"
    )
    (finding,) = findings.orders(made)
    assert hrefs(finding) == ["explore/index.html#/system/B?against=A&by=judge&measure=P%401"]


def test_a_low_kappa_and_one_of_few_pairs() -> None:
    # Grades 0 0 1 1 and 0 1 0 1: half agree, as by chance.
    one = {("q1", doc): grade for doc, grade in zip("abcd", (0, 0, 1, 1), strict=True)}
    other = {("q1", doc): grade for doc, grade in zip("abcd", (0, 1, 0, 1), strict=True)}
    runs = [run_of("A", q1="abcd")]
    made = state(runs, {"ana": Made(one), "judge": Made(other, "llm")}, settings=FIRST)
    assert said(findings.kappas, made) == ["ana and judge agree little: Cohen's κ 0.00 on 4 pairs of 1 query."]
    assert hrefs(next(findings.kappas(made))) == ["explore/index.html#/pairs?a=ana&b=judge"]
    made = state(runs, {"ana": Made(one), "judge": Made(one, "llm")}, settings=FIRST)
    assert said(findings.kappas, made) == [
        "How far ana and judge agree is hardly known: Cohen's κ 1.00 on 4 pairs of 1 query."
    ]


@pytest.mark.parametrize(("added", "expected"), [(1, ["higher"]), (-1, ["lower"]), (0, [])])
def test_a_judge_that_grades_higher_or_lower_than_people(added: int, expected: list[str]) -> None:
    ana = {pair: grade + 1 for pair, grade in relevant().items()}
    judge = {pair: grade + added for pair, grade in ana.items()}
    a = run("A", dict.fromkeys(QUERIES, "a"))
    made = state([a], {"ana": Made(ana), "judge": Made(judge, "llm")}, settings=FIRST)
    assert said(findings.lenient, made) == [
        f"judge grades {word} than ana: by 1.00 of a grade on average, on 60 pairs of 10 queries." for word in expected
    ]


def test_documents_at_the_top_without_a_grade() -> None:
    three = {pair: grade for pair, grade in relevant().items() if pair[1] in "abc"}
    made = state([run("A", dict.fromkeys(QUERIES, "a"))], {"ana": Made(three)}, settings=FIRST)
    assert said(findings.unjudged_at_top, made) == [
        "Up to 50.0 % of the first 10 documents are unjudged (A); they count as not relevant."
    ]
    assert hrefs(next(findings.unjudged_at_top(made))) == ["explore/index.html#/system/A?by=ana"]


def test_pairs_without_a_grade_and_failures() -> None:
    lacking = {"ana": Made(relevant(), lacking={"never asked": 3}), "judge": Made(relevant(), "llm", {"unparsed": 2})}
    made = state([run("A", dict.fromkeys(QUERIES, "a"))], lacking, settings=FIRST)
    assert said(findings.ungraded, made) == [
        "3 pairs have no grade by ana (3 never asked).",
        "2 answers of judge gave no grade (2 unparsed).",
    ]


def test_a_system_that_would_fall_without_its_own_pairs() -> None:
    # At depth 1 a comes from A alone, b from B and C: without a, A has nothing relevant and is the last of three.
    tops = {"A": "a", "B": "b", "C": "b"}
    runs = [run(tag, dict.fromkeys(QUERIES, top)) for tag, top in tops.items()]
    grades = {pair: grade for pair, grade in relevant("ab").items() if pair[1] in "ab" and pair != ("q0", "b")}
    made = state(runs, {"ana": Made(grades)}, depth=1, settings=FIRST)
    assert said(findings.reusable, made) == [
        "A system outside the pool may rank too low: without the 10 judged pairs that A alone brought, it falls from "
        "rank 1 to 3."
    ]
    assert hrefs(next(findings.reusable(made))) == ["explore/index.html#/pairs?alone=A"]
    assert said(findings.reusable, state(runs, {"ana": Made(grades)}, depth=2, settings=FIRST)) == []


def test_pairs_that_one_system_alone_brought() -> None:
    runs = [run("A", dict.fromkeys(QUERIES, "a")), run("B", dict.fromkeys(QUERIES, "b") | {"q0": "a"})]
    made = state(runs, {}, depth=1)
    # 9 of A and 9 of B; that of q0 comes from both.
    assert said(findings.alone, made) == ["94.7 % of the pairs come from one system only, 9 from A alone."]
    assert said(findings.alone, state(runs, {}, depth=2)) == []


def test_queries_without_relevant_documents_or_pairs_and_those_that_runs_lack() -> None:
    grades = relevant() | {("q1", "a"): 0, ("q2", "a"): 0}
    a, b = run("A", dict.fromkeys(QUERIES, "a")), run("B", dict.fromkeys(QUERIES[1:], "a"))
    made = state([a, b], {"ana": Made(grades)}, settings=FIRST, without_pairs=["x", "y"])
    assert said(findings.queries, made) == [
        "2 of 10 queries have no relevant document under ana (q1 and q2).",
        "Judged queries are missing from B.",
        "2 queries have no pair in the pool (x and y).",
    ]
    assert [hrefs(one)[0] for one in findings.queries(made)] == [
        "explore/index.html#/query/q1?by=ana",
        "explore/index.html#/system/B?by=ana",
        "explore/index.html#/query/x",
    ]


def test_systems_that_fed_nothing_or_have_no_run() -> None:
    runs = [run("A", dict.fromkeys(QUERIES, "a")), run("B", dict.fromkeys(QUERIES, "b"))]
    made = state(runs, {"ana": Made(relevant())}, depths={"B": 0, "C": 0}, absent={"C": "not built"}, settings=FIRST)
    assert said(findings.outside, made) == [
        "B did not feed the pool: what it alone returns is unjudged.",
        "C is not measured, for want of a finished run.",
    ]


def test_measures_deeper_than_the_pool_truncated_runs_and_pairs_without_text() -> None:
    grades = {pair: grade for pair, grade in relevant().items() if pair[1] in "ab"}
    runs = [run_of("A", **{query: "ab" + DOCS[2 + place % 3] for place, query in enumerate(QUERIES)})]
    deep = Settings(["P@1", "P@5"], draws=0)
    made = state(runs, {"ana": Made(grades)}, depth=2, settings=deep, without_text=1)
    assert said(findings.deep, made) == [
        "P@5 looks deeper than the pool (2 documents of a system): up to 33.3 % of the first 5 are unjudged (A)."
    ]
    assert said(findings.truncated, made) == ["A holds 3 documents per query, fewer than P@5 needs."]
    assert said(findings.texts, made) == ["1 pair has no text and cannot be judged."]


def test_only_six_findings_are_shown_at_once() -> None:
    grades = {pair: grade for pair, grade in relevant().items() if pair[1] in "ab"} | {("q1", "a"): 0}
    tops = {"A": "a", "B": "b", "C": "c"}
    runs = [run(tag, dict.fromkeys(QUERIES, top)) for tag, top in tops.items()]
    labelers = {"judge": Made(grades, "llm", {"failed": 4}), "rules": Made(relevant("b"), "program")}
    made = state(runs, labelers, depth=1, settings=Settings(["P@1", "P@5"], draws=0), without_text=2)
    *_, distrust = opening(made, "systems", "agreement").parts
    first, rest = distrust.blocks
    assert isinstance(first, Listing)
    assert isinstance(rest, Details)
    assert len(first.items) == FINDINGS
    (others,) = rest.blocks
    assert isinstance(others, Listing)
    assert [*first.items, *others.items] == findings.findings(made)
    assert rest.summary == f"{len(others.items)} further doubts"
