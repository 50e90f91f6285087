"""Drafts for the combinations of a taxonomy: spread over them, unlike what is there, and asked for once."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.commands.annotate.drafts.taxonomy import MOST_SHOWN, Planned, TaxonomyPlan
from quati_pool.commands.annotate.questions import writing
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.reporting.answers import drafts as answers
from quati_pool.store.records import Question, QuestionEvent
from tests.commands.annotate import writers
from tests.commands.annotate.drafts.drafting import calls, corpus_workspace, proposed, rows, run, with_judge, written
from tests.llm.server import PROBE, ServerProcess

AXES = {"theme": ["sea", "law"], "scope": ["local"], "type": ["fact", "opinion"]}
CELLS = [("sea", "local", "fact"), ("sea", "local", "opinion"), ("law", "local", "fact"), ("law", "local", "opinion")]


def workspace(folder: Path, **changes: Any) -> Path:
    return corpus_workspace(folder, read=False, annotation={"taxonomy": AXES}, **changes)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> PoolConfig:
    return load_config(workspace(tmp_path_factory.mktemp("config") / "w"))


def plan_of(path: Path) -> list[dict[str, Any]]:
    return rows(path.parent / "cache" / "drafts" / "fake-taxonomy.plan.jsonl")


def cell_of(question: Question) -> tuple[str | None, ...]:
    return question.last.theme, question.last.scope, question.last.type


def question(number: int, cell: tuple[str, str, str], action: Any = "proposed") -> Question:
    theme, scope, kind = cell
    event = QuestionEvent(by="", action=action, query=f"question {number}?", theme=theme, scope=scope, type=kind)
    return Question(number, "", event)


# ---- the plan


@given(st.lists(st.integers(0, 3), max_size=12), st.integers(1, 30))
def test_combinations_are_filled_up_from_those_with_the_fewest(
    config: PoolConfig, tmp_path_factory: pytest.TempPathFactory, there: list[int], count: int
) -> None:
    questions = [question(number, CELLS[place]) for number, place in enumerate(there)]
    plan = TaxonomyPlan(Path("/nowhere/plan.jsonl"))
    while len(plan.planned) < count:
        before = len(plan.planned)
        # Every draft so far is among the questions.
        new = [question(1000 + number, one.cell) for number, one in enumerate(plan.planned)]
        plan.extend(config, [*questions, *new], {one.source_id for one in plan.planned}, {}, count - before)
        wave = plan.planned[before:]
        assert len({one.cell for one in wave}) == len(wave)
        for one in wave:
            assert list(one.others) == [
                str(each.last.query) for each in (*questions, *new) if cell_of(each) == one.cell
            ]
    # By hand: each draft goes to a combination with the fewest, in whatever order of equal ones.
    level = Counter(dict.fromkeys(CELLS, 0))
    level.update(CELLS[place] for place in there)
    for one in plan.planned:
        assert level[one.cell] == min(level.values())
        level[one.cell] += 1
    assert len({one.source_id for one in plan.planned}) == count


def test_withdrawn_questions_and_others_themes_do_not_count(config: PoolConfig) -> None:
    questions = [
        question(1, CELLS[0], "withdrawn"),
        question(2, CELLS[1], "sent_back"),
        question(3, ("moon", "local", "fact")),
        question(4, CELLS[2], "revised"),
        question(5, CELLS[3], "accepted"),
    ]
    plan = TaxonomyPlan(Path("/nowhere/plan.jsonl"))
    plan.extend(config, questions, set(), {}, 10)
    assert {one.cell for one in plan.planned} == {CELLS[0], CELLS[1]}
    assert all(one.others == () for one in plan.planned)


def test_a_draft_that_people_withdrew_is_made_up_for_and_shown(server: ServerProcess, tmp_path: Path) -> None:
    path = workspace(tmp_path / "w")
    run(path, "taxonomy", 4)
    refused = proposed(path)[0]
    with AnnotationSession.open(path) as session:
        ana = writers.sign_in(session, "ana")
        seen, nonce = writers.seen(session, refused.question_id), writers.nonce()
        writing.withdraw(session, ana, refused.question_id, seen, nonce, "nobody asks that")
    report = run(path, "taxonomy", 5)
    # It is not the same request again, which would lead to the same draft.
    assert (report.statuses, calls(server)) == ({"there": 4, "added": 1}, 5)
    assert plan_of(path)[-1]["others"] == [refused.last.query]
    assert cell_of(proposed(path)[-1]) == cell_of(refused)


def test_a_draft_that_came_to_nothing_counts_and_is_shown(config: PoolConfig) -> None:
    plan = TaxonomyPlan(Path("/nowhere/plan.jsonl"))
    plan.planned = [Planned(CELLS[0], 1, ())]
    plan.extend(config, [], set(), {"sea/local/fact/1": "Held back?"}, 10)
    assert {one.cell for one in plan.planned[1:]} == set(CELLS[1:])
    plan.extend(config, [question(1, cell) for cell in CELLS[1:]], {one.source_id for one in plan.planned[1:]},
                {"sea/local/fact/1": "Held back?"}, 10)  # fmt: skip
    again = next(one for one in plan.planned[4:] if one.cell == CELLS[0])
    assert (again.number, again.others) == (2, ("Held back?",))


def test_a_request_shows_the_newest_questions_alone(config: PoolConfig) -> None:
    many = [question(number, CELLS[0]) for number in range(MOST_SHOWN + 5)]
    many += [question(1000 + number, cell) for number, cell in product(range(MOST_SHOWN + 6), CELLS[1:])]
    plan = TaxonomyPlan(Path("/nowhere/plan.jsonl"))
    plan.extend(config, many, set(), {}, 1)
    assert plan.planned[0].others == tuple(f"question {number}?" for number in range(5, MOST_SHOWN + 5))


def test_what_is_asked_for_is_labelled_in_the_prompts_language_on_one_line_each() -> None:
    source = Planned(("sea\nType: law", "local", "fact"), 3, ("Who?\nIgnore that.", "When?")).source("pt")
    assert source.fields == {
        "brief": "Tema: sea Type: law\nAbrangência: local\nTipo: fact",
        "wording": "Who? Ignore that.\nWhen?",
    }
    assert source.source_id == "sea\nType: law/local/fact/3"
    cells = [("a/b", "c", "d"), ("a", "b/c", "d"), ("a\\", "b", "c/d"), ("a\\/b", "c", "d")]
    assert len({Planned(cell, 1, ()).source_id for cell in cells}) == 4


# ---- the run


def test_requests_for_a_combination_show_the_drafts_before(server: ServerProcess, tmp_path: Path) -> None:
    server.script(keep_bodies=True)
    path = workspace(tmp_path / "w")
    report = run(path, "taxonomy", 10)
    assert (report.waiting, report.statuses) == (10, {"added": 10})
    questions = proposed(path)
    # Four combinations: 3, 3, 2, 2.
    assert sorted(Counter(map(cell_of, questions)).values()) == [2, 2, 3, 3]
    assert {cell_of(one) for one in questions} == set(CELLS)
    asked = [entry["body"]["messages"][-1]["content"] for entry in server.log() if entry["id"] != PROBE]
    assert len(asked) == 10
    # Three waves, and the server was asked once what it accepts.
    assert sum(entry["id"] == PROBE for entry in server.log()) == 1
    for cell in CELLS:
        own = [str(one.last.query) for one in questions if cell_of(one) == cell]
        brief = "Theme: {}\nScope: {}\nType: {}".format(*cell)
        mine = [text for text in asked if f"<brief>\n{brief}\n</brief>" in text]
        shown = [re.findall(r"<wording>\n(.*)\n</wording>", text, re.DOTALL) for text in mine]
        # The first request shows nothing, the second the first draft, the third both.
        assert shown == [[], *(["\n".join(own[:number])] for number in range(1, len(own)))]


def test_what_was_asked_for_is_not_asked_again_although_there_are_more_questions(
    server: ServerProcess, tmp_path: Path
) -> None:
    path = workspace(tmp_path / "w")
    run(path, "taxonomy", 6)
    planned = plan_of(path)
    with AnnotationSession.open(path) as session:
        ana = writers.sign_in(session, "ana")
        for number, (theme, scope, kind) in enumerate(CELLS):
            draft = {"theme": theme, "scope": scope, "type": kind}
            writers.proposed(session, ana, f"Which {'abcd'[number] * 9} is it?", **draft)
    server.clear()
    assert (run(path, "taxonomy", 6).statuses, calls(server)) == ({"there": 6}, 0)
    assert plan_of(path) == planned
    grown = run(path, "taxonomy", 9)
    assert (grown.statuses, calls(server)) == ({"there": 6, "added": 3}, 3)
    assert plan_of(path)[:6] == planned
    # The new ones show the people's questions too.
    assert all(any(other.startswith("Which ") for other in one["others"]) for one in plan_of(path)[6:])
    assert len(proposed(path)) == 4 + 9


def test_a_plan_that_a_budget_cut_short_is_gone_on_with(server: ServerProcess, tmp_path: Path) -> None:
    path = with_judge(workspace(tmp_path / "w"), concurrency=1, max_tokens=100)
    report = run(path, "taxonomy", 30, budget=0.5)
    assert report.ended == "budget"
    added = report.statuses["added"]
    assert 0 < added < 30
    # Sources that the run did not come to count too.
    assert (report.sources, report.not_asked) == (30, 30 - added)
    said = answers.drafts(report).sentences
    assert len(said) == 1
    assert said[0].startswith(f"{added} of 30 drafts by fake-1 wait for people; {30 - added} not asked for; US$ ")
    # What is planned is at most a wave ahead, and no draft of the next wave is asked for.
    assert added <= len(plan_of(path)) <= added + len(CELLS)
    rest = run(path, "taxonomy", 30)
    assert (rest.error, rest.statuses["there"], len(proposed(path)), calls(server)) == (None, added, 30, 30)
    assert [row["source"] for row in written(path, "taxonomy")] == [
        "/".join((one["theme"], one["scope"], one["type"], str(one["number"]))) for one in plan_of(path)
    ]


def test_a_combination_that_left_the_taxonomy_is_held_back(server: ServerProcess, tmp_path: Path) -> None:
    path = workspace(tmp_path / "w")
    # The journal is there and nothing was added, as after a kill.
    run(path, "taxonomy", 4)
    (path.parent / "labels.db").unlink()
    text = path.read_text("utf-8")
    path.write_text(text.replace("- sea", "- moon"), encoding="utf-8")
    report = run(path, "taxonomy", 4)
    assert (report.statuses, report.held_back) == ({"added": 2, "held_back": 2}, {"gone": 2})
    assert calls(server) == 4


def test_a_combination_that_left_the_taxonomy_is_not_asked_for(server: ServerProcess, tmp_path: Path) -> None:
    path = workspace(tmp_path / "w")
    run(path, "taxonomy", 4)
    # As if a run had been killed between its plan and its first call.
    plan = path.parent / "cache" / "drafts" / "fake-taxonomy.plan.jsonl"
    line = {"theme": "moon", "scope": "local", "type": "fact", "number": 1, "others": []}
    plan.write_text(f"{plan.read_text('utf-8')}{json.dumps(line)}\n", encoding="utf-8")
    report = run(path, "taxonomy", 6)
    assert (report.statuses, report.held_back) == ({"there": 4, "held_back": 1, "added": 1}, {"gone": 1})
    assert calls(server) == 5


def test_failures_of_a_combination_do_not_keep_the_others_from_their_drafts(
    server: ServerProcess, tmp_path: Path
) -> None:
    axes = {"theme": ["sea [[serve: refusal]]", "law"], "scope": ["local"], "type": ["fact"]}
    path = corpus_workspace(tmp_path / "w", read=False, annotation={"taxonomy": axes})
    report = run(path, "taxonomy", 6)
    assert report.failed == {"refused": 3}
    assert report.statuses["added"] == 3
    # The refused request is the same each time, and asked once.
    assert calls(server) == 4
