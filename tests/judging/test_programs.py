"""The judges that need no model: what they grade, and what counts as their identity."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.judging.base import Setting
from quati_pool.judging.lexical import Lexical, LexicalParameters
from quati_pool.judging.pair import Pair
from quati_pool.judging.replay import Replay, ReplayParameters
from quati_pool.records import GRADES, State


def lexical(grades: dict[int, str] = GRADES, **parameters: object) -> Lexical:
    return Lexical(LexicalParameters(**parameters), Setting(Path(), grades))  # type: ignore[arg-type]


def grade(judge: Lexical, query: str, text: str) -> int | None:
    (verdict,) = judge.grade([Pair("q", "d", query, text)])
    assert verdict.status is State.ok
    return verdict.relevance


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The query's terms: ferri, leav, harbour, noon. A share of k/4 times 4 grades is k, at most 3.
        ("", 0),
        ("Bread and salt.", 0),
        ("A harbour.", 1),
        ("Ferries leave.", 2),
        ("Ferries leave the harbour.", 3),
        ("At noon the ferry leaves the harbour.", 3),
    ],
)
def test_lexical_cuts_the_share_of_terms_into_equal_steps(text: str, expected: int) -> None:
    assert grade(lexical(), "the ferry leaves the harbour at noon", text) == expected


def test_lexical_gives_the_grades_of_the_collection() -> None:
    judge = lexical({0: "no", 1: "yes"})
    # 1 of 3 terms lies in the lower half, 2 of 3 in the upper.
    assert grade(judge, "ferry harbour noon", "a ferry") == 0
    assert grade(judge, "ferry harbour noon", "a ferry at noon") == 1


def test_a_query_of_stop_words_alone_shares_nothing() -> None:
    assert grade(lexical(), "the of and", "the of and") == 0


@given(st.text(max_size=200), st.text(max_size=200))
def test_lexical_grades_any_text_and_never_lower_for_more_of_it(query: str, text: str) -> None:
    judge = lexical(language="pt")
    found = grade(judge, query, text)
    assert found in GRADES
    assert grade(judge, query, f"{text} {query}") >= found  # type: ignore[operator]


def test_settings_and_scale_are_part_of_the_identity() -> None:
    identities = [lexical(), lexical(language="pt"), lexical(stemming=False), lexical({0: "no", 1: "yes"})]
    assert len({str(judge.identity()) for judge in identities}) == 4


def test_replay_repeats_a_file_and_fails_where_it_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "gold.qrels").write_text("q1 0 d1 3\nq1 0 d2 7\n", encoding="utf-8")
    judge = Replay(ReplayParameters(path="gold.qrels"), Setting(tmp_path, GRADES))
    verdicts = judge.grade([Pair("q1", name, "a", "b") for name in ("d1", "d2", "d3")])
    assert [(verdict.status, verdict.relevance) for verdict in verdicts] == [
        (State.ok, 3),
        (State.off_scale, None),
        (State.failed, None),
    ]
    assert verdicts[2].problem == "gold.qrels has no grade for this pair"
    before = judge.identity()
    (tmp_path / "gold.qrels").write_text("q1 0 d1 2\n", encoding="utf-8")
    assert Replay(judge.parameters, judge.setting).identity() != before
