"""Judging a pool with a real server over HTTP: what is asked, kept, shared and refused."""

from __future__ import annotations

import json
import os
import threading
import types
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quati_pool.commands.export.qrels import export_qrels
from quati_pool.commands.judge.chosen_judge import DEFAULT, JudgeOptions
from quati_pool.commands.judge.judge import JudgeReport, judge
from quati_pool.commands.judge.plan import plan
from quati_pool.commands.labels import labels
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.judging.base import Judge, Parameters
from quati_pool.judging.pair import Pair
from quati_pool.judging.served_model import ServedModel
from quati_pool.judging.verdict import Verdict
from quati_pool.labels.labelers import judge_version, make_judge
from quati_pool.llm.client import Client
from quati_pool.llm.limits import Limits
from quati_pool.llm.retries import Retry
from quati_pool.project.config import JudgeConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.records import State
from quati_pool.registry import JUDGES as JUDGE_REGISTRY
from quati_pool.reporting.formats.tables import to_text
from quati_pool.reporting.json_data.judge import as_data
from quati_pool.reporting.json_data.labels import as_data as labels_data
from quati_pool.reporting.tables.judge import tables
from quati_pool.reporting.tables.labels import tables as labels_tables
from quati_pool.store.database import Store
from tests.commands.judged import ID_PATTERN, many, pair, repool, rows, workspace
from tests.llm.server import PATCHES, PROBE, STATES, TEXTS, ServerProcess, grade_of, state_of

KEY = "sk-test-0123456789abcdef"


@pytest.fixture
def server(running_server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> ServerProcess:
    monkeypatch.setenv("OPENAI_BASE_URL", running_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    running_server.script(id_pattern=ID_PATTERN)
    running_server.clear()
    return running_server


JUDGES = {"fake": {"model": "fake-1", "prompt": "quati-pt"}}


def run(config: Path, name: str | None = None, **options: Any) -> JudgeReport:
    report = judge(config, name, Listener(), JudgeOptions(**options))
    if report.error is not None:
        raise report.error
    return report


def asked(server: ServerProcess) -> Counter[str]:
    return Counter(entry["id"] for entry in server.log() if entry["id"] != PROBE)


def test_every_pair_gets_the_grade_that_the_server_gave(server: ServerProcess, tmp_path: Path) -> None:
    config = workspace(tmp_path, many(5, 20), JUDGES)
    report = run(config)
    assert report.pending.coverage.states == {State.ok: 100}
    assert as_data(report)["states"] == {"ok": 100}
    written = export_qrels(config, "fake")
    lines = []
    for row in many(5, 20):
        name = f"{row['query_id']}/{row['doc_id']}"
        lines.append(f"{row['query_id']} 0 {row['doc_id']} {grade_of(name)}")
    assert written.path.read_text().splitlines() == lines
    assert set(asked(server).values()) == {1}


def test_a_second_run_asks_nothing_and_needs_no_server(
    server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = workspace(tmp_path, many(2, 5), JUDGES)
    run(config)
    monkeypatch.delenv("OPENAI_API_KEY")
    again = run(config)
    assert (again.pending.asked, again.pending.coverage.states) == (0, {State.ok: 10})
    assert sum(asked(server).values()) == 10


def test_a_judge_of_another_model_prompt_or_parameter_shares_nothing(server: ServerProcess, tmp_path: Path) -> None:
    others = {
        "model": {"model": "fake-2", "prompt": "quati-pt"},
        "prompt": {"model": "fake-1", "prompt": "quati-en"},
        "parameter": {"model": "fake-1", "prompt": "quati-pt", "temperature": 0.5},
        "server": {"model": "fake-1", "prompt": "quati-pt", "base_url": server.url},
    }
    config = workspace(tmp_path, many(1, 6), {**JUDGES, **others})
    run(config, "fake")
    for place, name in enumerate(others, 2):
        report = run(config, name)
        assert (report.pending.asked, report.pending.shared) == (6, 0)
        assert sum(asked(server).values()) == 6 * place
    assert len({row[0] for row in rows(tmp_path, "SELECT DISTINCT version FROM labels")}) == 5


def test_a_judge_under_another_name_shares_all(server: ServerProcess, tmp_path: Path) -> None:
    twin = {"twin": {**JUDGES["fake"], "concurrency": 3, "rpm": 100_000, "timeout": 30.0}}
    config = workspace(tmp_path, many(1, 6), {**JUDGES, **twin})
    run(config, "fake")
    report = run(config, "twin")
    assert (report.pending.asked, report.pending.shared) == (0, 6)
    assert report.pending.coverage.states == {State.ok: 6}


def test_a_changed_text_is_asked_again_and_its_old_grade_is_history(server: ServerProcess, tmp_path: Path) -> None:
    config = workspace(tmp_path, [pair("q1", "d1"), pair("q1", "d2")], JUDGES)
    run(config)
    repool(tmp_path, [pair("q1", "d1"), pair("q1", "d2", "another text [pair other]")])
    with pytest.raises(QuatiPoolError, match=r"^1 of 2 pairs have no grade by fake \(1 never asked\): q1 d2"):
        export_qrels(config, "fake")
    assert run(config).pending.asked == 1
    assert asked(server) == {"q1/d1": 1, "q1/d2": 1, "other": 1}


def test_collections_of_one_database_share_the_grades_of_equal_texts(server: ServerProcess, tmp_path: Path) -> None:
    url = {"labels": {"url": f"sqlite:///{tmp_path}/shared.db"}}
    first = workspace(tmp_path / "one", many(2, 4), JUDGES, "one", **url)
    second = workspace(tmp_path / "two", [*many(2, 4), pair("q0009", "d0001")], JUDGES, "two", **url)
    run(first)
    report = run(second)
    assert (report.pending.asked, report.pending.shared) == (1, 8)
    with Store.open(url["labels"]["url"], tmp_path) as store:
        (told,) = [label for label, _ in store.history("two", "fake", "q0000", "d0000")]
        (origin,) = [label for label, _ in store.history("one", "fake", "q0000", "d0000")]
    assert told.shared_from == origin.seq
    assert told.relevance == origin.relevance


def test_the_same_passage_twice_under_a_query_is_asked_once(server: ServerProcess, tmp_path: Path) -> None:
    text = "the same words [pair twin]"
    config = workspace(tmp_path, [pair("q1", "d1", text), pair("q1", "d2", text), pair("q2", "d1", text)], JUDGES)
    report = run(config)
    # Under q2 the passage answers another query: asked again.
    assert asked(server) == {"twin": 2}
    assert (report.pending.asked, report.pending.shared) == (2, 1)
    assert report.pending.coverage.states == {State.ok: 3}
    marked = rows(tmp_path, "SELECT doc_id, shared_from IS NOT NULL FROM labels WHERE query_id = 'q1' ORDER BY seq")
    assert marked == [("d1", 0), ("d2", 1)]


def test_every_way_of_answering_has_its_state_and_only_ok_a_grade(server: ServerProcess, tmp_path: Path) -> None:
    states = {way: State(state_of(way)) for way in (*TEXTS, "filtered_prompt", "too_long", "400") if way != "end"}
    pairs = [pair("q1", way, f"[[serve: {way}]] [pair {way}]") for way in states]
    config = workspace(tmp_path, pairs, JUDGES)
    report = run(config)
    found = dict(rows(tmp_path, "SELECT doc_id, status FROM labels"))
    assert found == {way: state.value for way, state in states.items()}
    graded = dict(rows(tmp_path, "SELECT doc_id, relevance FROM labels WHERE relevance IS NOT NULL"))
    assert graded == {way: grade_of(way) for way, state in states.items() if state is State.ok}
    assert report.pending.coverage.states == Counter(states.values())
    # An unreadable answer is asked for twice more; a refusal or a refused request is not.
    again = {State.unparsed, State.off_scale, State.truncated}
    assert asked(server) == {way: 3 if state in again else 1 for way, state in states.items()}
    attempts = rows(
        tmp_path, "SELECT doc_id, count(*) FROM labels JOIN attempts ON label_seq = labels.seq GROUP BY doc_id"
    )
    assert dict(attempts) == asked(server)


STRANGE = {way: State(state) for way, state in STATES.items() if way.split(" ")[0] in (*PATCHES, "end", "redirect")}


def test_a_strange_answer_is_one_attempt_and_never_a_wrong_grade(server: ServerProcess, tmp_path: Path) -> None:
    server.script(id_pattern=r"\[pair (.+?)\]")
    pairs = [pair("q1", way.replace(" ", "_"), f"[[serve: {way}]] [pair {way}]") for way in STRANGE]
    config = workspace(tmp_path, pairs, {"fake": {**JUDGES["fake"], "logprobs": True}})
    report = run(config, reask=0)
    assert asked(server) == dict.fromkeys(STRANGE, 1)
    found = dict(rows(tmp_path, "SELECT doc_id, status FROM labels"))
    assert found == {way.replace(" ", "_"): state.value for way, state in STRANGE.items()}
    graded = dict(rows(tmp_path, "SELECT doc_id, relevance FROM labels WHERE relevance IS NOT NULL"))
    assert graded == {way.replace(" ", "_"): grade_of(way) for way, state in STRANGE.items() if state is State.ok}
    problems = dict(rows(tmp_path, "SELECT doc_id, problem FROM labels JOIN attempts ON label_seq = labels.seq"))
    assert problems["end_abort"] == "the answer ended with abort, an unexpected finish_reason"
    assert problems["redirect_302"] == f"the server redirects to http://127.0.0.1:{server.port}/elsewhere/v1"
    assert all(problem is None or (problem.isprintable() and len(problem) <= 300) for problem in problems.values())
    kept = rows(tmp_path, "SELECT length(model) FROM attempts ORDER BY length(model) DESC")
    assert kept[0][0] > 10_000
    for made in (as_data(report), labels_data(labels(config))["labelers"][0]):
        models = made["calls"]["models"]
        assert models["fake-1"] > 10
        (long,) = models.keys() - {"fake-1"}
        assert (long[:11], long[-1], len(long)) == ("\\x1b[31mm m", "…", 80)
    shown = "\n".join(map(to_text, [*tables(report), *labels_tables(labels(config))]))
    assert max(map(len, shown.splitlines())) < 300
    assert "\x1b" not in shown
    # What is committed is not asked again; what has no grade is.
    server.clear()
    again = run(config, reask=0)
    assert asked(server) == {way: 1 for way, state in STRANGE.items() if state is not State.ok}
    assert again.pending.coverage.states == report.pending.coverage.states


def test_an_answer_in_doubt_as_a_whole_is_a_failed_call(server: ServerProcess, tmp_path: Path) -> None:
    ways = ["error_beside", "error_in_choices", "odd_content", "odd_message", "odd_choices", "deep"]
    pairs = [pair("q1", way, f"[[serve: {way}, well]] [pair {way}]") for way in ways]
    config = workspace(tmp_path, pairs, JUDGES)
    assert run(config).pending.coverage.states == {State.ok: len(ways)}
    assert asked(server) == dict.fromkeys(ways, 2)
    graded = dict(rows(tmp_path, "SELECT doc_id, relevance FROM labels"))
    assert graded == {way: grade_of(way) for way in ways}
    assert rows(tmp_path, "SELECT count(*), sum(retries) FROM attempts") == [(len(ways), len(ways))]


def test_an_error_in_one_choice_fails_its_sample_alone(server: ServerProcess, tmp_path: Path) -> None:
    judges = {"three": {**JUDGES["fake"], "samples": 3, "temperature": 1.0, "together": True}}
    config = workspace(tmp_path, [pair("q1", "d1", "[[serve: error_in_first, well]] [pair one]")], judges)
    run(config)
    found = rows(tmp_path, "SELECT sample, status, relevance FROM labels ORDER BY sample")
    assert found == [(1, "failed", None), (2, "ok", grade_of("one", None, 1)), (3, "ok", grade_of("one", None, 2))]
    assert asked(server) == {"one": 1}
    ((problem,),) = rows(tmp_path, "SELECT problem FROM attempts WHERE status = 'failed'")
    assert problem == "the answer ended in an error: Provider returned error"


def test_a_server_that_redirects_ends_the_run_with_its_address(server: ServerProcess, tmp_path: Path) -> None:
    server.script(probe="redirect 302", default="redirect 302")
    config = workspace(tmp_path, many(1, 3), JUDGES)
    with pytest.raises(QuatiPoolError, match=r"redirects to http://127\.0\.0\.1:\d+/elsewhere/v1; set base_url to it$"):
        run(config)
    assert [entry["way"] for entry in server.log()] == ["redirect 302"]
    assert rows(tmp_path, "SELECT count(*) FROM labels") == [(0,)]


def test_a_bad_answer_is_asked_again_with_its_cause(server: ServerProcess, tmp_path: Path) -> None:
    server.script(id_pattern=ID_PATTERN, keep_bodies=True)
    config = workspace(tmp_path, [pair("q1", "d1", "[[serve: off_scale, well]] [pair once]")], JUDGES)
    run(config)
    first, second = [entry["body"]["messages"] for entry in server.log() if entry["id"] == "once"]
    assert second[: len(first)] == first
    answer, note = second[len(first) :]
    assert answer["role"] == "assistant"
    assert json.loads(answer["content"])["Pontuação"] == 7
    assert "7" in note["content"]
    assert rows(tmp_path, "SELECT status, relevance FROM labels") == [("ok", grade_of("once"))]
    told = rows(tmp_path, "SELECT number, status, problem IS NULL FROM attempts ORDER BY seq")
    assert told == [(1, "off_scale", 0), (2, "ok", 1)]


def test_what_failed_is_asked_again_by_the_next_run(server: ServerProcess, tmp_path: Path) -> None:
    config = workspace(tmp_path, [pair("q1", "d1", "[[serve: empty, empty, well]] [pair late]")], JUDGES)
    assert run(config, reask=0).pending.coverage.states == {State.unparsed: 1}
    assert run(config, reask=0).pending.coverage.states == {State.unparsed: 1}
    assert run(config, reask=0).pending.coverage.states == {State.ok: 1}
    assert run(config, reask=0).pending.asked == 0


def test_what_can_pass_is_tried_again_and_costs_no_grade(server: ServerProcess, tmp_path: Path) -> None:
    ways = ["429 0.1", "500", "half_body", "cut_chunks", "drop", "not_json", "no_choices"]
    pairs = [pair("q1", way.split()[0], f"[[serve: {way}, well]] [pair {way.split()[0]}]") for way in ways]
    config = workspace(tmp_path, pairs, JUDGES)
    report = run(config)
    assert report.pending.coverage.states == {State.ok: len(ways)}
    assert set(asked(server).values()) == {2}
    assert report.calls is not None
    assert report.calls.retries == len(ways)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"key": "another"}, "refuses the key in OPENAI_API_KEY"),
        ({"model": "another"}, "does not serve the model 'fake-1'"),
        ({"probe": "insufficient_quota"}, "no money or quota left"),
    ],
)
def test_a_run_that_cannot_succeed_ends_with_one_line_and_no_label(
    server: ServerProcess, tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    server.script(**settings)
    config = workspace(tmp_path, many(30, 100), JUDGES)
    with pytest.raises(QuatiPoolError, match=message) as caught:
        run(config)
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(server.log()) == 1
    assert rows(tmp_path, "SELECT count(*) FROM labels") == [(0,)]


def test_money_that_runs_out_keeps_what_was_graded(server: ServerProcess, tmp_path: Path) -> None:
    pairs = many(1, 40)
    pairs.insert(20, pair("q0000", "d9999", "[[serve: insufficient_quota]] [pair broke]"))
    config = workspace(tmp_path, pairs, JUDGES)
    report = judge(config, None, Listener(), JudgeOptions(concurrency=4))
    assert "no money or quota left" in str(report.error)
    kept = rows(tmp_path, "SELECT count(*) FROM labels WHERE status = 'ok'")[0][0]
    assert kept == report.pending.asked > 0
    assert rows(tmp_path, "SELECT count(*) FROM labels") == [(kept,)]
    assert report.pending.coverage.unasked == 41 - kept


def test_answers_that_came_before_the_end_are_kept(server: ServerProcess, tmp_path: Path) -> None:
    judges = {"two": {"model": "fake-1", "prompt": "quati-pt", "samples": 2, "temperature": 1.0}}
    pairs = [
        pair("q1", "d1", "[[serve: well, insufficient_quota]] [pair paid]"),
        pair("q1", "d2", "[[serve: empty, insufficient_quota]] [pair asked]"),
    ]
    config = workspace(tmp_path, pairs, judges)
    report = judge(config, None, Listener(), JudgeOptions(concurrency=1))
    assert "no money or quota left" in str(report.error)
    kept = rows(
        tmp_path,
        "SELECT doc_id, sample, labels.status, attempts.status FROM labels JOIN attempts ON label_seq = labels.seq "
        "ORDER BY doc_id",
    )
    assert kept == [("d1", 1, "ok", "ok"), ("d2", 1, "unparsed", "unparsed")]
    assert report.pending.coverage.pairs == 2


def test_a_server_that_dies_on_the_way_ends_the_run_after_a_while(
    server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def impatient(self: ServedModel, on_event: object = None) -> Client:
        retry = Retry(attempts=2, first=0.01, longest=0.02)
        return Client(self.endpoint, self.options, Limits(concurrency=4), retry)

    monkeypatch.setattr(ServedModel, "client", impatient)
    server.script(id_pattern=ID_PATTERN, default="500")
    config = workspace(tmp_path, many(1, 200), JUDGES)
    report = judge(config, None, Listener(), JudgeOptions(concurrency=4))
    assert "calls in a row got no answer" in str(report.error)
    states = dict(rows(tmp_path, "SELECT status, count(*) FROM labels GROUP BY status"))
    assert set(states) == {"failed"}
    assert 9 <= states["failed"] < 100


@pytest.mark.slow
def test_a_server_that_is_down_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    config = workspace(tmp_path, many(1, 3), JUDGES)
    with pytest.raises(QuatiPoolError, match=r"127\.0\.0\.1:9"):
        run(config)


def test_without_a_key_nothing_is_sent(server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    config = workspace(tmp_path, many(1, 3), JUDGES)
    with pytest.raises(QuatiPoolError, match="set OPENAI_API_KEY"):
        run(config)
    assert server.log() == []


def test_samples_are_kept_one_by_one_and_joined_as_declared(server: ServerProcess, tmp_path: Path) -> None:
    base = {"model": "fake-1", "prompt": "quati-pt", "samples": 3, "temperature": 1.0, "seed": 5}
    judges = {method: {**base, "aggregate": method} for method in ("mean", "median", "mode")}
    config = workspace(tmp_path, many(2, 3), judges)
    run(config, "mean")
    kept = rows(tmp_path, "SELECT query_id, doc_id, sample, relevance FROM labels ORDER BY query_id, doc_id, sample")
    # The server grades by the seed, which is one higher for each further sample.
    assert kept == [
        (row["query_id"], row["doc_id"], sample, grade_of(f"{row['query_id']}/{row['doc_id']}", 4 + sample))
        for row in many(2, 3)
        for sample in (1, 2, 3)
    ]
    by_pair: dict[tuple[str, str], list[int]] = {}
    for query_id, doc_id, _, relevance in kept:
        by_pair.setdefault((query_id, doc_id), []).append(relevance)
    expected = {
        "mean": lambda grades: int(sum(grades) / 3 + 0.5),
        "median": lambda grades: sorted(grades)[1],
        "mode": lambda grades: min(set(grades), key=lambda g: (-grades.count(g), g)),
    }
    for method, join in expected.items():
        # The judges differ in how they join alone, so they share all samples.
        assert run(config, method).pending.asked == 0
        path = export_qrels(config, method).path
        found = {tuple(line.split()[::2]): int(line.split()[3]) for line in path.read_text().splitlines()}
        assert found == {names: join(grades) for names, grades in by_pair.items()}
    spread = [max(grades) - min(grades) for grades in by_pair.values()]
    coverage = labels(config, ["mean"]).coverages["mean"]
    assert coverage.mean_range == pytest.approx(sum(spread) / len(spread))
    assert coverage.unanimous == pytest.approx(spread.count(0) / len(spread))


def test_samples_may_come_from_one_call(server: ServerProcess, tmp_path: Path) -> None:
    judges = {"three": {"model": "fake-1", "prompt": "quati-pt", "samples": 3, "temperature": 1.0, "together": True}}
    config = workspace(tmp_path, many(1, 4), judges)
    report = run(config)
    assert set(asked(server).values()) == {1}
    kept = rows(tmp_path, "SELECT doc_id, sample, relevance FROM labels ORDER BY doc_id, sample")
    assert kept == [(f"d{d:04d}", i + 1, grade_of(f"q0000/d{d:04d}", None, i)) for d in range(4) for i in range(3)]
    assert report.calls is not None
    # Four calls and the question that began the run: what a call used is booked once.
    tokens = rows(tmp_path, "SELECT count(input_tokens), count(*) FROM attempts")
    assert tokens == [(4, 12)]


def test_a_pair_with_a_failed_sample_has_no_grade(server: ServerProcess, tmp_path: Path) -> None:
    judges = {"two": {"model": "fake-1", "prompt": "quati-pt", "samples": 2, "temperature": 1.0}}
    config = workspace(tmp_path, [pair("q1", "d1", "[[serve: well, refusal]] [pair half]"), pair("q1", "d2")], judges)
    assert run(config).pending.coverage.states == {State.refused: 1, State.ok: 1}
    with pytest.raises(QuatiPoolError, match=r"1 of 2 pairs .*1 refused"):
        export_qrels(config, "two")
    # Only the sample that failed is asked again.
    before = asked(server)
    run(config)
    assert asked(server) - before == {"half": 1}


def test_a_consensus_is_computed_from_its_members_when_it_is_read(server: ServerProcess, tmp_path: Path) -> None:
    for name, grades in {"a": (0, 1, 3), "b": (0, 2, 1), "c": (3, 2, 2)}.items():
        lines = [f"q1 0 d{i} {grade}\n" for i, grade in enumerate(grades, 1)]
        (tmp_path / f"{name}.qrels").write_text("".join(lines), encoding="utf-8")
    judges: dict[str, Any] = {name: {"judge": "replay", "path": f"{name}.qrels"} for name in "abc"}
    judges |= {method: {"consensus": ["a", "b", "c"], "method": method} for method in ("majority", "median", "mean")}
    config = workspace(tmp_path, [pair("q1", f"d{i}") for i in (1, 2, 3)], judges)
    for name in "abc":
        with pytest.raises(QuatiPoolError, match=r"3 of 3 pairs have no grade by majority \(3 never asked\)"):
            export_qrels(config, "majority")
        run(config, name)
    found = {
        method: [int(line.split()[3]) for line in export_qrels(config, method).path.read_text().splitlines()]
        for method in ("majority", "median", "mean")
    }
    # Grades of the three on d1: 0 0 3, d2: 1 2 2, d3: 3 1 2, on which no two agree.
    assert found == {"majority": [0, 2], "median": [0, 2, 2], "mean": [1, 2, 2]}
    assert labels(config, ["majority"]).coverages["majority"].states == {State.ok: 2, State.unsure: 1}
    with pytest.raises(ConfigError, match="run these judges instead"):
        run(config, "majority")


def test_expected_grades_come_from_token_probabilities(server: ServerProcess, tmp_path: Path) -> None:
    judges = {"fake": {**JUDGES["fake"], "logprobs": True}}
    config = workspace(tmp_path, [pair("q1", "d1")], judges)
    run(config)
    ((relevance, extra),) = rows(tmp_path, "SELECT relevance, extra FROM labels")
    # The server gives the grade -0.4 and the next one (3 goes round to 0) -1.1; e^-0.4 : e^-1.1 = 0.668 : 0.332.
    expected = 0.668188 * relevance + 0.331812 * ((relevance + 1) % 4)
    assert json.loads(extra)["expected_grade"] == pytest.approx(expected, abs=1e-5)


def test_a_long_passage_is_cut_and_its_label_says_so(server: ServerProcess, tmp_path: Path) -> None:
    server.script(id_pattern=ID_PATTERN, keep_bodies=True)
    long = "[pair long] " + "palavra " * 500
    config = workspace(tmp_path, [pair("q1", "d1", long), pair("q1", "d2")], JUDGES)
    report = run(config, max_passage_tokens=50)
    assert report.pending.truncated == 1
    (body,) = [entry["body"] for entry in server.log() if entry["id"] == "long"]
    # 50 tokens at 3.5 bytes.
    assert body["messages"][-1]["content"].count("palavra") == (175 - 12) // 8
    extras = dict(rows(tmp_path, "SELECT doc_id, extra FROM labels"))
    assert json.loads(extras["d1"]) == {"shown_characters": 175}
    # Such a label counts, and says so; it is asked for again only where the passage would be cut elsewhere.
    exported = export_qrels(config, "fake").coverage
    assert (exported.states, exported.cut) == ({State.ok: 2}, 1)
    assert run(config, max_passage_tokens=50).pending.asked == 0
    assert run(config).pending.asked == 1


@pytest.mark.parametrize("judges", [JUDGES, {"lexical": {"judge": "lexical"}}], ids=["llm", "lexical"])
def test_a_passage_without_text_is_not_asked_about(server: ServerProcess, tmp_path: Path, judges: Any) -> None:
    pairs = [pair("q1", "d1", ""), pair("q1", "d2", " \u200b\n"), pair("q1", "d3"), pair("q2", "d1", "")]
    config = workspace(tmp_path, pairs, judges)
    planned = plan(config, None, Listener())
    assert (planned.no_text, planned.to_ask) == (3, 1)
    for _ in range(2):
        report = run(config)
        assert report.pending.coverage.states == {State.no_text: 3, State.ok: 1}
        assert (report.pending.left, report.pending.coverage.pending, report.ended) == (0, 0, None)
    assert rows(tmp_path, "SELECT doc_id, status, relevance FROM labels WHERE status <> 'ok'") == [
        ("d1", "no_text", None), ("d2", "no_text", None), ("d1", "no_text", None),
    ]  # fmt: skip
    assert sum(asked(server).values()) == (judges is JUDGES)
    # Once there is a text, it is asked about.
    repool(tmp_path, [pair("q1", "d1"), *pairs[1:]])
    assert run(config).pending.coverage.states == {State.no_text: 2, State.ok: 2}


def test_a_label_file_grades_passages_without_text_too(tmp_path: Path) -> None:
    (tmp_path / "grades.qrels").write_text("q1 0 d1 2\n")
    judges = {"people": {"judge": "replay", "path": "grades.qrels"}}
    config = workspace(tmp_path, [pair("q1", "d1", "")], judges)
    assert run(config).pending.coverage.states == {State.ok: 1}


def test_a_limit_ends_the_run_and_the_next_goes_on(server: ServerProcess, tmp_path: Path) -> None:
    config = workspace(tmp_path, many(3, 300), JUDGES)
    report = run(config, limit=7)
    assert report.pending.left == 893
    assert (report.ended, report.pending.asked, report.pending.coverage.unasked) == ("limit", 7, 893)
    assert report.pending.coverage.pairs == 900
    assert sum(asked(server).values()) == 7
    assert run(config, limit=5).pending.coverage.states == {State.ok: 12}
    assert run(config, limit=888).ended is None


def test_a_server_that_asks_for_a_long_wait_is_waited_for_in_public(server: ServerProcess, tmp_path: Path) -> None:
    stop = threading.Event()
    said: list[str] = []

    class Hears(Listener):
        def say(self, line: str) -> None:
            said.append(line)
            if "waiting" in line:
                stop.set()

    server.script(id_pattern=ID_PATTERN, default="429 60")
    report = judge(workspace(tmp_path, many(1, 30), JUDGES), None, Hears(), DEFAULT, stop)
    assert (report.ended, report.pending.asked) == ("interrupted", 0)
    (line,) = [line for line in said if "waiting" in line]
    host = server.url.removeprefix("http://").removesuffix("/v1")
    asks = f"before asking {host} again, which asks for 60 s (Rate limit reached.)"
    assert line == f"fake: waiting 60 s {asks}"


def test_a_server_that_asks_for_more_than_max_wait_fails_that_call_alone(server: ServerProcess, tmp_path: Path) -> None:
    server.script(id_pattern=ID_PATTERN, queue=["429 3600"])
    report = run(workspace(tmp_path, many(1, 30), {"fake": {**JUDGES["fake"], "max_wait": 0.1}}))
    assert report.pending.coverage.states == {State.ok: 29, State.failed: 1}
    assert report.example is not None
    assert report.example.problem == "Rate limit reached. (asks to wait 3600 s, beyond max_wait: 0.1)"


def test_a_budget_is_never_broken(server: ServerProcess, tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text(
        "mine:\n  as_of: 2026-11-01\n  source: a test\n  models:\n    fake-1: {input: 10, output: 1000}\n", "utf-8"
    )
    judges = {"fake": {**JUDGES["fake"], "prices": "prices.yaml", "max_tokens": 100, "output": "json_schema"}}
    config = workspace(tmp_path, many(1, 100), judges)
    whole = plan(config, None, Listener())
    assert whole.cost is not None
    report = run(config, budget=1.0)
    assert report.ended == "budget"
    assert report.calls is not None
    assert 0 < report.calls.cost <= 1.0
    (booked,) = rows(tmp_path, "SELECT sum(cost) FROM attempts")[0]
    assert booked <= report.calls.cost
    # What one more call could have cost at most, its 100 tokens of output, did not fit any more.
    assert report.calls.cost > 1.0 - 2 * (100 * 1000 + 3000 * 10) / 1e6
    assert as_data(report)["cost"] == report.calls.cost


@pytest.mark.parametrize("way", ["usage_negative", "usage_low", "usage_cached", "usage_absurd", "usage_none"])
def test_no_usage_of_a_server_breaks_a_budget(server: ServerProcess, tmp_path: Path, way: str) -> None:
    (tmp_path / "prices.yaml").write_text(
        "mine:\n  as_of: 2026-11-01\n  source: a test\n  models:\n    fake-1: {input: 10, output: 1000}\n", "utf-8"
    )
    server.script(id_pattern=ID_PATTERN, default=way)
    judges = {"fake": {**JUDGES["fake"], "prices": "prices.yaml", "max_tokens": 100, "output": "json_schema"}}
    config = workspace(tmp_path, many(1, 100), judges)
    report = run(config, budget=1.0)
    assert report.money is not None
    assert report.ended == "budget"
    # An answer of some 50 tokens costs 0.05 by our count, and its question about 0.01.
    assert 0 < report.pending.asked <= 20
    assert 0.8 < report.money.spent <= 1.0 < report.money.spent + report.money.needed
    costs = [cost for (cost,) in rows(tmp_path, "SELECT cost FROM attempts")]
    assert all(cost is None or 0.04 < cost < 0.1 for cost in costs)
    assert (None in costs) == (way in ("usage_negative", "usage_absurd", "usage_none"))


def test_a_budget_without_a_price_is_refused(server: ServerProcess, tmp_path: Path) -> None:
    config = workspace(tmp_path, many(1, 2), JUDGES)
    with pytest.raises(ConfigError, match="--budget needs the price of fake-1"):
        run(config, budget=5.0)
    assert server.log() == []


def test_an_unknown_price_is_unknown_and_never_zero(server: ServerProcess, tmp_path: Path) -> None:
    config = workspace(tmp_path, many(1, 2), JUDGES)
    assert plan(config, None, Listener()).cost is None
    data = as_data(run(config))
    assert data["cost"] is None
    assert data["undefined"] == {"cost": "the cost of 3 attempts is unknown"}
    assert rows(tmp_path, "SELECT DISTINCT cost FROM attempts") == [(None,)]


def test_a_plan_asks_nothing_and_writes_nothing(tmp_path: Path) -> None:
    judges = {"gpt": {"model": "gpt-4o-2024-11-20", "prompt": "quati-pt", "rpm": 60}}
    config = workspace(tmp_path, [*many(2, 5), pair("q9", "d1", "x"), pair("q9", "d2", "x")], judges)
    made = plan(config, None, Listener())
    assert (made.pairs, made.to_ask, made.calls, made.shared) == (12, 11, 11, 1)
    # 11 calls at 60 a minute; 2.5 and 10 dollars a million tokens, 200 of output an answer.
    assert made.seconds == pytest.approx(11)
    assert made.cost == pytest.approx((made.input_tokens * 2.5 + 11 * 200 * 10) / 1e6)
    assert rows(tmp_path, "SELECT count(*) FROM labels") == [(0,)]


def test_each_grade_leads_to_prompt_model_and_raw_answer(server: ServerProcess, tmp_path: Path) -> None:
    config = workspace(tmp_path, [pair("q1", "d1")], JUDGES)
    report = run(config)
    with Store.open(None, tmp_path) as store:
        ((label, (attempt,)),) = store.history("test", "fake", "q1", "d1")
        definition = store.definition(label.version)
    assert label.version == report.version
    assert definition is not None
    assert definition["model"] == "fake-1"
    assert definition["prompt"]["head"][0]["role"] == "system"
    assert json.loads(attempt.answer or "")["Pontuação"] == label.relevance
    assert attempt.model == "fake-1"
    assert attempt.output == "json_schema"
    assert attempt.endpoint == server.url.split("/")[2]
    assert attempt.input_tokens is not None
    assert attempt.seconds is not None


def test_the_narrative_is_part_of_what_was_shown(server: ServerProcess, tmp_path: Path) -> None:
    prompt = (Path(__file__).parents[3] / "prompts" / "quati-pt.yaml").read_text(encoding="utf-8")
    shown = prompt.replace("Passagem:\n", "O que conta:\n  {narrative}\n\n  Passagem:\n", 1)
    own = shown.replace("id: quati-pt", "id: own", 1)
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "own.yaml").write_text(own, encoding="utf-8")
    config = workspace(tmp_path, [pair("q1", "d1")], {"own": {"model": "fake-1", "prompt": "own"}})
    queries = tmp_path / "queries.jsonl"
    text = config.read_text(encoding="utf-8").replace("queries.tsv", "queries.jsonl")
    config.write_text(text, encoding="utf-8")
    for narrative, calls in (("only prices count", 1), ("only prices count", 1), ("anything counts", 2)):
        query = {"query_id": "q1", "query": "pergunta q1", "narrative": narrative}
        queries.write_text(json.dumps(query) + "\n", encoding="utf-8")
        run(config)
        assert sum(asked(server).values()) == calls
        assert export_qrels(config, "own").coverage.states == {State.ok: 1}


def test_a_pool_that_is_not_there_or_not_whole_is_refused(tmp_path: Path) -> None:
    config = workspace(tmp_path, [pair("q1", "d1")], {"lexical": {"judge": "lexical"}})
    pool = tmp_path / "pool.jsonl.gz"
    pool.write_bytes(pool.read_bytes()[:-3])
    with pytest.raises(InputError, match="was changed since it was written; run: quati-pool build"):
        run(config)
    pool.unlink()
    with pytest.raises(InputError, match="not there yet; run: quati-pool build"):
        run(config)


def test_another_pool_may_be_judged(tmp_path: Path) -> None:
    config = workspace(tmp_path, [pair("q1", "d1")], {"lexical": {"judge": "lexical"}})
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps(pair("q7", f"d{i}")) + "\n" for i in range(3)), encoding="utf-8")
    assert run(config, pool=other).pending.coverage.states == {State.ok: 3}
    assert export_qrels(config, "lexical", tmp_path / "o.qrels", pool=other).coverage.pairs == 3
    with pytest.raises(QuatiPoolError, match="1 never asked"):
        export_qrels(config, "lexical")


def test_a_failure_never_replaces_a_grade_of_an_earlier_cut(server: ServerProcess, tmp_path: Path) -> None:
    """The same pair, shown whole and then cut: the failure of the second look leaves the first one's grade."""
    text = "[[serve: well, refusal]] [pair twice] " + "palavra " * 100
    config = workspace(tmp_path, [pair("q1", "d1", text)], JUDGES)
    run(config)
    assert run(config, max_passage_tokens=60).pending.coverage.states == {State.refused: 1}
    exported = export_qrels(config, "fake")
    assert exported.coverage.grades == {grade_of("twice"): 1}


def test_replay_grades_by_id_and_shares_nothing(tmp_path: Path) -> None:
    (tmp_path / "gold.qrels").write_text("q1 0 dA 3\nq1 0 dB 1\n", encoding="utf-8")
    pairs = [pair("q1", name, "the same words") for name in ("dA", "dB", "dC")]
    config = workspace(tmp_path, pairs, {"gold": {"judge": "replay", "path": "gold.qrels"}})
    assert run(config).pending.coverage.states == {State.ok: 2, State.failed: 1}
    path = export_qrels(config, "gold", allow_missing=True).path
    assert path.read_text(encoding="utf-8") == "q1 0 dA 3\nq1 0 dB 1\n"
    assert run(config).pending.asked == 1


def test_a_judge_that_left_pool_yaml_is_read_only_where_its_samples_are_plain(
    server: ServerProcess, tmp_path: Path
) -> None:
    three = {"model": "fake-1", "prompt": "quati-pt", "samples": 3, "temperature": 1.0}
    config = workspace(tmp_path, many(1, 4), {"three": three, **JUDGES})
    run(config, "three")
    run(config, "fake")
    config = workspace(tmp_path, many(1, 4), {"lexical": {"judge": "lexical"}})
    assert export_qrels(config, "fake").coverage.states == {State.ok: 4}
    with pytest.raises(ConfigError, match="three has several samples a pair, and nothing says how they become one"):
        export_qrels(config, "three")


def test_a_narrative_that_came_later_makes_earlier_grades_history(server: ServerProcess, tmp_path: Path) -> None:
    prompt = (Path(__file__).parents[3] / "prompts" / "quati-pt.yaml").read_text(encoding="utf-8")
    shown = prompt.replace("Passagem:\n", "O que conta:\n  {narrative}\n\n  Passagem:\n", 1)
    (tmp_path / "own.yaml").write_text(shown.replace("id: quati-pt", "id: own", 1), encoding="utf-8")
    judges = {"own": {"model": "fake-1", "prompt": "own.yaml"}, **JUDGES}
    config = workspace(tmp_path, [pair("q1", "d1")], judges, queries={"path": "queries.jsonl"})
    queries = tmp_path / "queries.jsonl"
    queries.write_text(json.dumps({"query_id": "q1", "query": "pergunta q1"}) + "\n", encoding="utf-8")
    run(config, "own")
    run(config, "fake")
    more = {"query_id": "q1", "query": "pergunta q1", "narrative": "only prices"}
    queries.write_text(json.dumps(more) + "\n", encoding="utf-8")
    with pytest.raises(QuatiPoolError, match="1 never asked"):
        export_qrels(config, "own")
    assert plan(config, "own", Listener()).to_ask == 1
    # The other judge does not see narratives: its grade stands.
    assert export_qrels(config, "fake").coverage.states == {State.ok: 1}
    assert plan(config, "fake", Listener()).to_ask == 0


@pytest.mark.parametrize(
    "change",
    [
        {"base_url": "http://localhost:1/v1/"},
        {"reasoning": False},
        {"reasoning_tokens": 77},
        {"api_key_env": None, "timeout": 9.0, "concurrency": 2, "rpm": 1, "tpm": 2, "max_passage_tokens": 5},
        {"max_wait": 1.0},
    ],
)
def test_what_changes_no_answer_is_not_part_of_an_identity(tmp_path: Path, change: dict[str, Any]) -> None:
    plain = {"model": "fake-1", "prompt": "quati-pt", "base_url": "http://localhost:1/v1"}
    assert version_of(tmp_path, {**plain, **change}) == version_of(tmp_path, plain)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "fake-2"}, {"prompt": "quati-en"}, {"temperature": 0.1}, {"max_tokens": 99}, {"reasoning": True},
        {"top_p": 0.5}, {"seed": 3}, {"output": "text"}, {"extra_body": {"top_k": 1}}, {"together": True},
        {"base_url": "http://localhost:2/v1"}, {"reasoning_effort": "low"},
    ],
)  # fmt: skip
def test_what_may_change_an_answer_is_part_of_an_identity(tmp_path: Path, change: dict[str, Any]) -> None:
    plain = {"model": "fake-1", "prompt": "quati-pt"}
    assert version_of(tmp_path, {**plain, **change}) != version_of(tmp_path, plain)


def version_of(folder: Path, settings: dict[str, Any]) -> str:
    config = load_config(workspace(folder, [pair("q1", "d1")], {"fake": settings}))
    judging = config.judges["fake"]
    assert isinstance(judging, JudgeConfig)
    return judge_version(judging, make_judge(config, judging))


class Plugin(Judge):
    """A judge of somebody else's, which does what ``says`` tells."""

    summary = "for a test"
    Parameters = Parameters
    says: Any = None

    def identity(self) -> dict[str, Any]:
        return {}

    def grade(self, pairs: Sequence[Pair]) -> list[Verdict]:
        made: list[Verdict] = Plugin.says(pairs)
        return made


def fails(pairs: Sequence[Pair]) -> list[Verdict]:
    raise ZeroDivisionError("division by zero")


@pytest.mark.parametrize(
    ("says", "message"),
    [
        (fails, r"the judge mine failed \(ZeroDivisionError: division by zero\); fix its code"),
        (lambda pairs: None, r"the judge mine failed \(TypeError: "),
        (lambda pairs: [3 for _ in pairs], r"the judge mine failed \(AttributeError: "),
        (lambda pairs: [], r"the judge mine failed \(ValueError: 0 verdicts for 1 pairs\)"),
    ],
)
def test_a_plug_in_that_fails_is_one_line_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: Any, message: str
) -> None:
    config = plugged(tmp_path, monkeypatch, says)
    with pytest.raises(ConfigError, match=message):
        run(config)


@pytest.mark.parametrize(
    ("grade", "state"),
    [
        (17, State.off_scale),
        (-1, State.off_scale),
        (1.5, State.unparsed),
        (True, State.unparsed),
        (None, State.unparsed),
    ],
)
def test_a_plug_ins_grade_is_checked_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grade: Any, state: State
) -> None:
    config = plugged(tmp_path, monkeypatch, lambda pairs: [Verdict(State.ok, grade) for _ in pairs])
    assert run(config).pending.coverage.states == {state: 1}
    assert rows(tmp_path, "SELECT relevance FROM labels") == [(None,)]


def test_a_plug_ins_grade_may_be_a_number_of_numpys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = plugged(tmp_path, monkeypatch, lambda pairs: [Verdict(State.ok, np.int64(2)) for _ in pairs])
    assert run(config).pending.coverage.states == {State.ok: 1}
    assert rows(tmp_path, "SELECT relevance FROM labels") == [(2,)]


def plugged(folder: Path, monkeypatch: pytest.MonkeyPatch, says: Any) -> Path:
    monkeypatch.setattr(Plugin, "says", staticmethod(says))
    # As an entry point would give it.
    monkeypatch.setitem(JUDGE_REGISTRY._plugins, "mine", types.SimpleNamespace(load=lambda: Plugin, dist=None))  # type: ignore[arg-type]
    return workspace(folder, [pair("q1", "d1")], {"mine": {"judge": "mine"}})


def test_a_program_takes_no_samples(tmp_path: Path) -> None:
    config = workspace(tmp_path, [pair("q1", "d1")], {"lexical": {"judge": "lexical", "samples": 3}})
    with pytest.raises(ConfigError, match="lexical always grades a pair alike; drop samples: 3 of it"):
        run(config)


def test_samples_at_temperature_0_are_refused(tmp_path: Path) -> None:
    config = workspace(tmp_path, [pair("q1", "d1")], {"fake": {**JUDGES["fake"], "samples": 3}})
    with pytest.raises(ConfigError, match="samples: 3 of fake-1 at temperature 0 would be alike; set a temperature"):
        run(config)


def test_a_judge_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    judges = {"lexical": {"judge": "lexical"}, "gone": {"model": "m", "prompt": "gone.yaml"}}
    config = workspace(tmp_path, [pair("q1", "d1")], judges)
    run(config, "lexical")
    report = labels(config)
    assert report.coverages["lexical"].states == {State.ok: 1}
    assert "gone.yaml: there is no such file" in report.problems["gone"]
    with pytest.raises(InputError, match=r"gone\.yaml"):
        labels(config, ["gone"])


@pytest.mark.parametrize(
    ("judges", "message"),
    [
        ({}, "judges: holds 0 judges; add one"),
        ({"a": {"judge": "lexical"}, "b": {"judge": "lexical"}}, "holds 2 judges; name one of a, b"),
    ],
)
def test_a_name_may_be_left_out_only_where_there_is_one_judge(
    tmp_path: Path, judges: dict[str, Any], message: str
) -> None:
    config = workspace(tmp_path, [pair("q1", "d1")], judges)
    with pytest.raises(ConfigError, match=message):
        run(config)


def test_a_prompt_off_the_collections_scale_is_refused(tmp_path: Path) -> None:
    grades = {"grades": {0: "no", 1: "yes"}}
    config = workspace(tmp_path, [pair("q1", "d1")], JUDGES, **grades)
    with pytest.raises(ConfigError, match=r"the prompt quati-pt gives the grade 2, which grades: .* does not have"):
        run(config)
    binary = {"fake": {"model": "fake-1", "prompt": "binary-pt"}}
    config = workspace(tmp_path, [pair("q1", "d1")], binary, **grades)
    assert plan(config, None, Listener()).to_ask == 1


def test_judging_works_from_a_thread_that_has_a_running_loop(server: ServerProcess, tmp_path: Path) -> None:
    """As in a notebook."""
    import asyncio

    config = workspace(tmp_path, many(1, 3), JUDGES)

    async def cell() -> JudgeReport:
        return run(config)

    assert asyncio.run(cell()).pending.coverage.states == {State.ok: 3}
    assert os.environ["OPENAI_API_KEY"] == KEY
