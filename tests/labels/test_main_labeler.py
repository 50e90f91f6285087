"""Whose grades exports and leaderboards put first: every combination in one table."""

from __future__ import annotations

import pytest

from quati_pool.errors import QuatiPoolError
from quati_pool.labels.main_labeler import Candidate, Grader, main_labeler, peers


def one(name: str, who: Grader, members: str = "", graded: int = 467) -> Candidate:
    return Candidate(name, who, graded, frozenset(members.split()))


ANA, BIA = one("ana", "people"), one("bia", "people")
DECISIONS, ALL_DECIDED = one("adjudicated", "people", "ana bia", 30), one("adjudicated", "people", "ana bia")
PANEL, OTHER_PANEL = one("panel", "people", "ana bia adjudicated"), one("median", "people", "ana bia adjudicated")
NIST, QRELS = one("nist", "people"), one("qrels", "file")
GPT, CLAUDE, BOTH = one("gpt", "llm"), one("claude", "llm"), one("both", "llm", "gpt claude")
THREE, OUTER = one("llama", "llm"), one("outer", "llm", "gpt claude llama")
LEXICAL, REPLAY, FLOOR = one("lexical", "program"), one("replay", "program"), one("floor", "program", "lexical replay")
MIXED, IDLE = one("mixed", "program", "gpt lexical"), one("idle", "people", graded=0)

TABLE: list[tuple[list[Candidate], str]] = [
    # one kind
    ([LEXICAL], "lexical"),
    ([GPT], "gpt"),
    ([QRELS], "qrels"),
    ([ANA], "ana"),
    # people before models and label files before programs, wherever they stand
    ([LEXICAL, GPT], "gpt"),
    ([LEXICAL, QRELS], "qrels"),
    ([LEXICAL, GPT, ANA], "ana"),
    ([LEXICAL, REPLAY, FLOOR, GPT, CLAUDE, BOTH, ANA], "ana"),
    ([LEXICAL, GPT, one("ana", "people", graded=120)], "ana"),
    ([IDLE, GPT, LEXICAL], "gpt"),
    # a panel before its members, decisions too
    ([ANA, BIA, PANEL], "panel"),
    ([PANEL, DECISIONS, ANA, BIA, GPT], "panel"),
    ([GPT, CLAUDE, BOTH], "both"),
    ([GPT, CLAUDE, THREE, BOTH, OUTER], "outer"),
    ([LEXICAL, REPLAY, FLOOR], "floor"),
    ([GPT, LEXICAL, MIXED], "gpt"),
    # a judge after those from which it was distilled, never before them as a panel is
    ([one("small", "distilled", "lexical")], "small"),
    ([one("small", "distilled", "lexical"), LEXICAL], "lexical"),
    ([one("small", "distilled", "gpt"), GPT], "gpt"),
    ([one("small", "distilled", "lexical replay"), LEXICAL, REPLAY, FLOOR], "floor"),
    ([one("small", "distilled", "gpt"), LEXICAL], "lexical or small"),
    ([one("small", "distilled", "gpt"), one("smaller", "distilled", "gpt")], "small or smaller"),
    # leads' decisions where they are of all that people graded
    ([ANA, BIA, ALL_DECIDED], "adjudicated"),
    ([ANA, BIA, DECISIONS], "adjudicated, ana or bia"),
    # two that could be meant
    ([ANA, BIA], "ana or bia"),
    ([ANA, BIA, GPT, LEXICAL], "ana or bia"),
    ([ANA, BIA, PANEL, OTHER_PANEL], "median or panel"),
    ([PANEL, ANA, BIA, NIST], "nist or panel"),
    ([GPT, CLAUDE], "claude or gpt"),
    ([GPT, QRELS, LEXICAL], "gpt or qrels"),
    ([GPT, CLAUDE, THREE, BOTH], "both or llama"),
    ([LEXICAL, REPLAY], "lexical or replay"),
    ([], ""),
    ([IDLE], ""),
]


@pytest.mark.parametrize(("there", "expected"), TABLE, ids=["+".join(c.name for c in row) or "-" for row, _ in TABLE])
def test_every_combination(there: list[Candidate], expected: str) -> None:
    found = main_labeler(there)
    # Who wrote last, or stands first in pool.yaml, decides nothing.
    assert main_labeler(there[::-1]) == found
    if expected and " or " not in expected:
        assert found.name == found.required() == expected
        assert found.said.startswith(f"main labeler: {expected} (")
        return
    assert found.name is None
    with pytest.raises(QuatiPoolError) as caught:
        found.required()
    said = str(caught.value)
    assert "\n" not in said
    if expected:
        assert said.startswith(f"{expected} could equally be the main labeler; name one with --labeler")
    else:
        assert said == "nobody has graded anything"


def test_people_without_a_panel_learn_how_to_declare_one() -> None:
    assert main_labeler([ANA, BIA]).said.endswith(
        "; name one with --labeler, or declare a panel under judges:, such as  panel: {people: majority}"
    )
    assert main_labeler([GPT, CLAUDE]).said.endswith("; name one with --labeler")


def test_neither_panels_nor_programs_are_published_next_to_people() -> None:
    there = [LEXICAL, FLOOR, REPLAY, GPT, CLAUDE, BOTH, QRELS, ANA, BIA, DECISIONS, PANEL, IDLE]
    # Decisions are labels, and no panel that could be computed again.
    assert peers(there, "panel") == ["panel", "gpt", "claude", "qrels", "ana", "bia", "adjudicated"]
    assert peers([LEXICAL, GPT, BOTH], "gpt") == ["gpt", "lexical", "both"]
