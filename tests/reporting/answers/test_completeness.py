"""What the pool lacks, in a sentence and in tables: each estimate with its interval, and what is not known."""

from __future__ import annotations

from dataclasses import replace

from quati_pool.commands.completeness import LabeledCompleteness
from quati_pool.pooling.completeness import Completeness, LastRound, PoolCompleteness, Round, Unseen
from quati_pool.reporting.answers.completeness import sentences
from quati_pool.reporting.json_data.completeness import as_data
from quati_pool.reporting.tables.completeness import tables

BOUND, SHARE = Unseen(12.4, 4, 31), Unseen(1234.5, 900, 1700)
WHOLE = Completeness(None, 900, 890, 480, 60, 40, BOUND, 120, 2400, SHARE, None)
SURE = Completeness("q1", 30, 30, 20, 2, 9, Unseen(0.2, 0, 4), 4, 80, Unseen(0, 0, 9), LastRound(3, 10, 0, 0.0))
NEEDY = Completeness("q2", 30, 29, 5, 4, 1, None, 4, 80, Unseen(9.5, 2, 31), LastRound(2, 8, 6, 0.35))
ROUNDS = (Round(1, 600, 600, 400, 400), Round(2, 300, 290, 80, 480))
FOUND = PoolCompleteness(1, ("lexical", "dense"), WHOLE, (SURE, NEEDY), (), ROUNDS)


def said(found: PoolCompleteness | None, why: str | None = None, *, known: bool = False) -> list[str]:
    return sentences(LabeledCompleteness("ana", found, why), known=known)


def test_both_estimates_are_in_one_sentence() -> None:
    assert said(FOUND) == [
        "Of 2 queries the pool holds 480 relevant documents (grade 1 or higher by ana); an estimated 1,234 more (95 % "
        "interval 900 to 1,700) are among the systems' other candidates, by 120 pairs drawn at random; at least an "
        "estimated 12 more (95 % interval 4 to 31) are outside it, by capture–recapture over 2 families of systems; "
        "1 query needs more: q2."
    ]


def test_nothing_missing_and_queries_without_grades() -> None:
    none = replace(WHOLE, capture=Unseen(0.3, 0, 2), random=None)
    assert said(replace(FOUND, whole=none, queries=(SURE,), not_graded=("q7", "q8"))) == [
        "Of 1 query the pool holds 480 relevant documents (grade 1 or higher by ana); no more (95 % interval 0 to 2) "
        "are estimated outside it, by capture–recapture over 2 families of systems; by this lower bound no query "
        "clearly needs more.",
        "2 queries are not graded enough for an estimate: q7 and q8.",
    ]


def test_what_is_not_known_is_said_only_in_the_report() -> None:
    neither = replace(FOUND, whole=replace(WHOLE, capture=None, random=None, undefined={"capture": "too little"}))
    held = "Of 2 queries the pool holds 480 relevant documents (grade 1 or higher by ana)"
    assert said(neither) == [f"{held}; how many it lacks is not known: too little."]
    assert said(None, "nobody") == ["How many relevant documents the pool lacks is not known: nobody."]
    assert said(neither, known=True) == said(None, "nobody", known=True) == sentences(None) == []


def test_the_tables_have_the_queries_that_need_more_first_and_every_round() -> None:
    queries, rounds = tables(LabeledCompleteness("ana", FOUND))
    assert [row[0] for row in queries.rows] == ["q2", "q1", "All"]
    assert queries.rows[0] == [
        "q2", 30, 5, 4, 1, None, None, 4, 9.5, (2, 31), 0.75, "random share, last round",
    ]  # fmt: skip
    assert queries.rows[2][5:10] == [12.4, (4, 31), 120, 1234.5, (900, 1700)]
    assert "more than 10 % of the relevant ones are outside, or of its last round were relevant" in queries.note
    assert rounds.rows == [[1, 600, 600, 400, 400], [2, 300, 290, 80, 480]]
    once = replace(FOUND, whole=replace(WHOLE, drawn=0, frame=0, random=None), rounds=ROUNDS[:1])
    (alone,) = tables(LabeledCompleteness("ana", once))
    assert len(alone.columns) == 8
    assert tables(None) == tables(LabeledCompleteness(undefined="nobody")) == []


def test_the_json_keeps_what_is_undefined_with_its_reason() -> None:
    needy = replace(NEEDY, undefined={"capture": "nothing was found twice"})
    found = as_data(LabeledCompleteness("ana", replace(FOUND, queries=(needy,))))
    (query,) = found["queries"]
    assert query["capture_recapture"] is None
    assert query["undefined"] == {"capture_recapture": "nothing was found twice"}
    assert query["random_share"] == {"estimate": 9.5, "low": 2, "high": 31}
    assert query["last_round"] == {"round": 2, "graded": 8, "relevant": 6, "low": 0.35}
    assert found["outside"]["frame"] == 2400
    assert found["need_more"] == ["q2"]
    assert as_data(None) is None
