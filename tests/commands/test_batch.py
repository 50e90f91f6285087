"""Judging by the provider's Batch API: the same labels as live, and no batch lost or repeated in a crash."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from quati_pool.commands.batch import batch
from quati_pool.commands.export.qrels import export_qrels
from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import judge
from quati_pool.errors import ConfigError
from quati_pool.llm.faults import FatalError
from quati_pool.project.events import Listener
from quati_pool.records import State
from tests.commands.forked_commands import Forks
from tests.commands.judged import ID_PATTERN, many, pair, rows, workspace
from tests.llm.server import PROBE, ServerProcess, grade_of

JUDGES = {"fake": {"model": "gpt-4o-mini", "prompt": "quati-pt"}}


@pytest.fixture
def server(server: ServerProcess) -> ServerProcess:
    server.script(id_pattern=ID_PATTERN, polls=0)
    return server


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with Forks(tmp_path_factory.mktemp("forks")) as forks:
        yield forks


class Heard(Listener):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, line: str) -> None:
        self.said.append(line)


def collect(config: Path) -> batch.Collected:
    return batch.collect(config, None, Listener())


def submit(config: Path, **options: int) -> list[batch.Batch]:
    return batch.submit(config, None, Listener(), JudgeOptions(**options))


def asked(server: ServerProcess) -> Counter[str]:
    return Counter(entry["id"] for entry in server.log() if entry["id"] != PROBE)


def test_a_batch_gives_the_labels_that_live_judging_gives(server: ServerProcess, tmp_path: Path) -> None:
    twins = [pair("q9", f"d{i}", "the same [pair twin]") for i in (1, 2)]
    pairs = [*many(3, 4), pair("q5", "d1", "[[serve: refusal]] [pair no]"), *twins]
    batched = workspace(tmp_path / "batched", pairs, JUDGES)
    live = workspace(tmp_path / "live", pairs, JUDGES)
    (made,) = submit(batched)
    assert made.status == "submitted"
    collected = collect(batched)
    judge(live, None, Listener(), JudgeOptions(reask=0))
    columns = "query_id, doc_id, status, relevance, version, content_sha, shared_from IS NULL"
    wanted = f"SELECT {columns} FROM labels ORDER BY 1, 2"
    assert rows(tmp_path / "batched", wanted) == rows(tmp_path / "live", wanted)
    assert collected.states == {State.ok: 13, State.refused: 1}
    # The Batch API asks half the price.
    ((batch_cost,),) = rows(tmp_path / "batched", "SELECT sum(cost) FROM attempts")
    ((live_cost,),) = rows(tmp_path / "live", "SELECT sum(cost) FROM attempts")
    assert batch_cost == pytest.approx(live_cost / 2)
    assert collected.cost == pytest.approx(batch_cost)


def test_pairs_of_an_open_batch_are_asked_nowhere_else(server: ServerProcess, tmp_path: Path) -> None:
    config = workspace(tmp_path, many(2, 5), JUDGES)
    submit(config, limit=4)
    report = judge(config, None, Listener())
    assert (report.pending.asked, report.pending.in_batches) == (6, 4)
    assert submit(config) == []
    collect(config)
    assert export_qrels(config, "fake").coverage.states == {State.ok: 10}
    assert set(asked(server).values()) == {1}


def test_collecting_twice_finds_nothing_more(server: ServerProcess, tmp_path: Path) -> None:
    config = workspace(tmp_path, many(1, 6), JUDGES)
    submit(config)
    assert collect(config).states == {State.ok: 6}
    again = collect(config)
    assert (again.states, again.rows) == (Counter(), [])
    assert rows(tmp_path, "SELECT count(*) FROM labels") == [(6,)]


def test_a_strange_line_is_one_strange_answer_and_collecting_goes_on(server: ServerProcess, tmp_path: Path) -> None:
    ways = {
        "line_not_json": None,
        "line_list": None,
        "line_without_id": None,
        "line_of_another": None,
        "line_twice": State.ok,
        "line_with_error": State.failed,
        "line_odd_status": State.failed,
        "line_without_body": State.failed,
        "line_odd_response": State.failed,
        "odd_types": State.ok,
        "odd_counts": State.ok,
        "odd_choices": State.failed,
        "error_beside": State.failed,
        "long_names": State.ok,
        "thought_alone": State.unparsed,
    }
    pairs = [pair("q1", way, f"[[serve: {way}, well]] [pair {way}]") for way in ways]
    config = workspace(tmp_path, pairs, JUDGES)
    submit(config)
    listener = Heard()
    collected = batch.collect(config, None, listener)
    assert collected.states == Counter(state for state in ways.values() if state)
    found = dict(rows(tmp_path, "SELECT doc_id, status FROM labels"))
    assert found == {way: state.value for way, state in ways.items() if state}
    (strangers, unanswered) = listener.said
    assert strangers.endswith(": 5 lines answer none of its requests; not read")
    assert "4 of its requests have no answer" in unanswered
    assert rows(tmp_path, "SELECT status FROM batches") == [("collected",)]
    submit(config)
    assert collect(config).states == {State.ok: sum(state is not State.ok for state in ways.values())}
    graded = dict(rows(tmp_path, "SELECT doc_id, relevance FROM labels WHERE status = 'ok'"))
    assert graded == {way: grade_of(way) for way in ways}


def test_a_batch_under_way_is_left_alone(server: ServerProcess, tmp_path: Path) -> None:
    server.script(id_pattern=ID_PATTERN, polls=2)
    config = workspace(tmp_path, many(1, 3), JUDGES)
    submit(config)
    for _ in range(2):
        (row,) = collect(config).rows
        assert row.batch.status == "submitted"
    (row,) = collect(config).rows
    assert row.batch.status == "collected"
    (row,) = batch.status(config, None, Listener())
    assert (row.batch.status, row.batch.requests, row.provider) == ("collected", 3, None)


def test_what_a_batch_could_not_read_is_asked_again(server: ServerProcess, tmp_path: Path) -> None:
    config = workspace(tmp_path, [pair("q1", "d1", "[[serve: empty, well]] [pair twice]")], JUDGES)
    submit(config)
    assert collect(config).states == {State.unparsed: 1}
    submit(config)
    assert collect(config).states == {State.ok: 1}


def test_a_batch_of_an_earlier_prompt_is_read_by_that_prompt(server: ServerProcess, tmp_path: Path) -> None:
    config = workspace(tmp_path, many(1, 4), JUDGES)
    submit(config)
    old = rows(tmp_path, "SELECT version FROM batches")
    workspace(tmp_path, many(1, 4), {"fake": {"model": "gpt-4o-mini", "prompt": "quati-en"}})
    assert collect(config).states == {State.ok: 4}
    assert rows(tmp_path, "SELECT DISTINCT version FROM labels") == old
    assert judge(config, None, Listener()).pending.asked == 4


def test_a_passage_without_text_gets_no_grade_from_a_batch_of_before(
    server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such passages were asked about once."""
    config = workspace(tmp_path, [pair("q1", "d1"), pair("q1", "empty", " "), pair("q1", "twin", " ")], JUDGES)
    with monkeypatch.context() as before:
        before.setattr("quati_pool.commands.judge.content_hashes.has_text", lambda _: True)
        submit(config)
    shutil.rmtree(tmp_path / "cache")
    judge(config, None, Listener())
    assert collect(config).states == {State.ok: 1, State.no_text: 1}
    assert export_qrels(config, "fake").coverage.states == {State.ok: 1, State.no_text: 2}
    assert rows(tmp_path, "SELECT count(*) FROM attempts WHERE answer IS NOT NULL") == [(2,)]


def test_a_batch_costs_what_the_model_costs_that_was_asked(server: ServerProcess, tmp_path: Path) -> None:
    config = workspace(tmp_path, many(1, 2), {"fake": {"model": "gpt-4o", "prompt": "quati-pt"}})
    submit(config)
    workspace(tmp_path, many(1, 2), JUDGES)
    collect(config)
    ((entered, cached, left, cost),) = rows(
        tmp_path, "SELECT sum(input_tokens), sum(cached_tokens), sum(output_tokens), sum(cost) FROM attempts"
    )
    # gpt-4o: 2.50, cached 1.25 and 10 dollars a million tokens, half of it in a batch.
    assert cost == pytest.approx(((entered - cached) * 2.5 + cached * 1.25 + left * 10) / 2e6)


@pytest.mark.parametrize("way", ["usage_low", "usage_negative"])
def test_an_answer_of_a_batch_costs_no_less_than_its_text(server: ServerProcess, tmp_path: Path, way: str) -> None:
    config = workspace(tmp_path, [pair("q1", "d1", f"[[serve: {way}]] [pair p]")], JUDGES)
    submit(config)
    collect(config)
    ((cost,),) = rows(tmp_path, "SELECT cost FROM attempts")
    # gpt-4o-mini: 0.60 dollars a million tokens, half of it in a batch; the answer has some 50.
    assert cost is None if way == "usage_negative" else cost > 50 * 0.6 / 2e6


def test_attempts_name_the_form_that_the_batch_asked_for(server: ServerProcess, tmp_path: Path) -> None:
    server.script(id_pattern=ID_PATTERN, polls=0, refuses=["json_schema"])
    config = workspace(tmp_path, many(1, 2), JUDGES)
    submit(config)
    collect(config)
    assert rows(tmp_path, "SELECT DISTINCT output FROM attempts") == [("json_object",)]


def test_a_batch_that_the_provider_lost_frees_its_pairs(server: ServerProcess, tmp_path: Path) -> None:
    config = workspace(tmp_path, many(1, 3), JUDGES)
    submit(config, limit=1)
    connection = sqlite3.connect(tmp_path / "labels.db")
    connection.execute("UPDATE batches SET batch_id = 'batch_of_nobody'")
    connection.commit()
    connection.close()
    submit(config, limit=1)
    collected = collect(config)
    # The one that is lost does not stand in the way of the other.
    assert [row.batch.status for row in collected.rows] == ["abandoned", "collected"]
    assert judge(config, None, Listener()).pending.coverage.states == {State.ok: 3}


def test_a_provider_without_batches_leaves_the_pairs_to_live_judging(server: ServerProcess, tmp_path: Path) -> None:
    server.script(id_pattern=ID_PATTERN, queue=["400"])
    config = workspace(tmp_path, many(1, 3), JUDGES)
    with pytest.raises(FatalError, match="Batch API"):
        submit(config)
    assert rows(tmp_path, "SELECT status FROM batches") == [("abandoned",)]
    assert judge(config, None, Listener()).pending.coverage.states == {State.ok: 3}


def test_an_open_batch_may_be_given_up(server: ServerProcess, tmp_path: Path) -> None:
    config = workspace(tmp_path, many(1, 3), JUDGES)
    (made,) = submit(config)
    with pytest.raises(ConfigError, match=f"0 open batches of fake begin with 'zz'; there are: {made.key[:8]}"):
        batch.abandon(config, None, "zz", Listener())
    batch.abandon(config, None, made.key[:8], Listener())
    assert judge(config, None, Listener()).pending.asked == 3


def test_a_batch_at_another_address_waits_there(
    server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = workspace(tmp_path, many(1, 3), JUDGES)
    submit(config)
    with ServerProcess(id_pattern=ID_PATTERN) as other:
        monkeypatch.setenv("OPENAI_BASE_URL", other.url)
        (row,) = collect(config).rows
        assert (row.batch.status, row.provider, other.log()) == ("submitted", None, [])
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    assert collect(config).states == {State.ok: 3}


def test_collecting_needs_no_pool(server: ServerProcess, tmp_path: Path) -> None:
    config = workspace(tmp_path, many(1, 3), JUDGES)
    submit(config)
    (tmp_path / "pool.jsonl.gz").unlink()
    assert collect(config).states == {State.ok: 3}


@pytest.mark.kill
@pytest.mark.parametrize("place", ["prepare_batch", "upload", "update_batch", "create"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_while_handing_in_neither_loses_nor_repeats_a_batch(
    server: ServerProcess, forks: Forks, tmp_path: Path, place: str, when: str
) -> None:
    config = workspace(tmp_path, many(1, 5), JUDGES)
    crash(forks, config, place, when, "submit")
    submit(config)
    assert collect(config).states == {State.ok: 5}
    assert set(asked(server).values()) == {1}
    assert rows(tmp_path, "SELECT count(*) FROM batches WHERE status = 'collected'") == [(1,)]
    assert list((tmp_path / "cache" / "batches" / "fake").iterdir()) == []


@pytest.mark.kill
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_while_collecting_counts_no_answer_twice(
    server: ServerProcess, forks: Forks, tmp_path: Path, when: str
) -> None:
    config = workspace(tmp_path, many(1, 5), JUDGES)
    submit(config)
    crash(forks, config, "append", when, "collect")
    collect(config)
    assert rows(tmp_path, "SELECT count(*), count(DISTINCT doc_id) FROM labels") == [(5, 5)]
    assert rows(tmp_path, "SELECT count(*) FROM attempts") == [(5,)]
    assert set(asked(server).values()) == {1}


def crash(forks: Forks, config: Path, place: str, when: str, command: str) -> None:
    process = forks.start("batch", command, "-c", config, crash=(place, when))
    assert process.wait() == 9, process.said()


def test_a_judge_without_a_model_has_no_batches(tmp_path: Path) -> None:
    config = workspace(tmp_path, many(1, 2), {"lexical": {"judge": "lexical"}})
    with pytest.raises(ConfigError, match="lexical asks no model; run: quati-pool judge lexical"):
        submit(config)
