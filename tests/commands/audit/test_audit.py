"""Auditing a judge with a real server over HTTP: what is asked, kept, shared and refused."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quati_pool.audit.cases import Case
from quati_pool.audit.outcomes import Scale
from quati_pool.commands.audit.audit import AuditedProbe, AuditReport, audit, stored_audit
from quati_pool.commands.audit.grade_inputs import GradeSettings, WorkspaceGrades
from quati_pool.commands.audit.plan import plan
from quati_pool.commands.audit.settings import AuditSettings
from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import judge
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.labels.labelers import Grading, people_definition, people_version
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.records import State
from quati_pool.registry import PROBES
from quati_pool.store.database import Store
from quati_pool.store.records import Entry, Label, content_sha
from tests.commands.audit.planted import pairs, passage
from tests.commands.judged import repool, rows, workspace
from tests.llm.server import PROBE, ServerProcess, completion, grade_of
from tests.patience import PATIENCE
from tests.plugin_package import write_dist_info

JUDGES = {"fake": {"model": "fake-1", "prompt": "quati-pt"}}
SMALL = {"pairs": 6, "probes": {"length": {"words": 60}}, "paraphrases": {"queries": 0}}
POOL = pairs(8, 6)
ROOT = Path(__file__).parents[3]
CONCURRENCY = 4
IN_AUDITS = "phase IN ('probe', 'repeat')"


def graded(folder: Path, judges: dict[str, Any] = JUDGES, *names: str, **settings: Any) -> Path:
    """A workspace whose pool the judges ``names`` (by default all) have graded."""
    config = workspace(folder, POOL, judges, **{"audit": SMALL, **settings})
    for name in names or judges:
        report = judge(config, name, Listener(), JudgeOptions())
        assert (report.error, report.pending.left) == (None, 0)
    return config


def run(config: Path, name: str = "fake", **settings: Any) -> AuditReport:
    (report,) = audit(config, [name], Listener(), AuditSettings(**settings))
    return report


def asked(server: ServerProcess) -> Counter[str]:
    """How often each text was asked about since the log was cleared."""
    return Counter(entry["id"] for entry in server.log() if entry["id"] != PROBE)


def wanted(report: AuditReport) -> Counter[Any]:
    """How often each text is to be asked about: changed ones once, those of the pool once for each repetition."""
    keys = {(shown, repetition) for one in report.probes for case in one.cases for shown, repetition in case.asked}
    return Counter(shown for shown, _ in keys)


def of(report: AuditReport, name: str) -> AuditedProbe:
    return next(one for one in report.probes if one.name == name)


def result(report: AuditReport) -> Any:
    """All that an audit finds, as it can be compared."""
    return [(one.name, one.problem, one.cases, one.findings) for one in report.probes], report.kappa


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """All files but those that only remember hashes of inputs, once these are some seconds old."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in sorted(folder.rglob("*"))
        if not path.name.endswith(("-wal", "-shm", "hashes.json", "hashes.lock", "cache", "locks"))
    }


def database(folder: Path) -> list[str]:
    connection = sqlite3.connect(f"file:{folder / 'labels.db'}?mode=ro", uri=True)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


# Asked once


def test_every_text_is_asked_about_once_and_by_a_second_run_never(
    server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = graded(tmp_path)
    server.clear()
    first = run(config)
    assert first.fault is None
    expected = wanted(first)
    found = asked(server)
    assert sum(found.values()) == first.asked == sum(expected.values()) > 60
    assert Counter(found.values()) == Counter(expected.values())
    problems = {one.name: one.problem for one in first.probes if one.problem}
    assert set(problems) == {"language"}
    server.clear()
    monkeypatch.delenv("OPENAI_API_KEY")
    again = run(config)
    assert (again.asked, again.left, server.log()) == (0, 0, [])
    assert result(again) == result(first)


def test_grades_are_those_that_the_server_gave(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    server.clear()
    report = run(config)
    given = {re.sub(r"\s+", " ", entry["id"]): entry["grade"] for entry in server.log() if entry["id"] != PROBE}
    checked = 0
    for one in report.probes:
        for place, case in enumerate(one.cases):
            assert one.outcomes is not None
            shown = re.sub(
                r"\s+", " ", f"<query> {case.changed.query} </query> .* <passage> {case.changed.text} </passage>"
            )
            messages = [
                grade for message, grade in given.items() if re.search(re.escape(shown).replace(r"\.\*", ".*"), message)
            ]
            checked += len(messages)
            assert messages in ([], [one.outcomes.after[place]])
            assert one.outcomes.before[place] == case.before
    assert checked > 40
    repeated = of(report, "repeat")
    assert repeated.outcomes is not None
    # The server's grade is a hash of the texts, and so the same again.
    assert repeated.outcomes.after.tolist() == repeated.outcomes.before.tolist()
    assert repeated.findings is not None
    assert (repeated.findings.fooled.hits, report.kappa) == (0, 1.0)


def test_probes_are_asked_in_turn(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    server.clear()
    report = run(config, concurrency=1)
    # In the first turn 2 texts of stuffing, 1 question, 2 of instruction, 1 missing, 2 of length and 2 of fluency; the
    # first of repeat is the control of length, and so it has its own one at the end of the second turn.
    kinds = [row[0] for row in rows(tmp_path, f"SELECT extra FROM labels WHERE {IN_AUDITS} ORDER BY seq LIMIT 21")]
    used = {one.name for one in report.probes if one.cases}
    assert {json.loads(kind)["probe"] for kind in kinds} == used


def test_only_the_named_probes_are_run(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    report = run(config, probes=("question", "repeat", "question"), pairs=3)
    assert [one.name for one in report.probes] == ["question", "repeat"]
    assert [len(one.cases) for one in report.probes] == [3, 6]
    assert report.asked == 9
    with pytest.raises(ConfigError, match="there is no probe 'questoin'"):
        run(config, probes=("questoin",))


# Killed, and next to another


AUDIT = """
import sys
from pathlib import Path
from quati_pool.commands.audit.audit import audit
from quati_pool.commands.audit.settings import AuditSettings
from quati_pool.project.events import Listener

class Says(Listener):
    def say(self, line):
        print(line, file=sys.stderr, flush=True)

(report,) = audit(Path(sys.argv[1]), [], Says(), AuditSettings(concurrency=int(sys.argv[2])))
sys.exit(report.left)
"""


def started(config: Path, concurrency: int) -> subprocess.Popen[str]:
    """An audit in a process of its own, which ends with the number of texts that are left."""
    command = [sys.executable, "-c", AUDIT, str(config), str(concurrency)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def answers(folder: Path) -> int:
    return int(rows(folder, f"SELECT count(*) FROM labels WHERE {IN_AUDITS}")[0][0])


@pytest.mark.kill
def test_an_audit_that_is_killed_ends_as_an_unbroken_one_when_it_is_repeated(
    server: ServerProcess, tmp_path: Path
) -> None:
    whole = run(graded(tmp_path / "whole"))
    config = graded(tmp_path / "broken")
    server.clear()
    # Two seconds in all.
    server.script(latency=0.1)
    committed = 0
    for _ in range(2):
        process = started(config, CONCURRENCY)
        end = time.monotonic() + PATIENCE
        while process.poll() is None and answers(config.parent) < committed + 15 and time.monotonic() < end:
            time.sleep(0.01)
        assert process.poll() is None, process.communicate()
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        committed = answers(config.parent)
    assert 30 <= committed < whole.asked
    last = run(config)
    assert (last.asked, last.left) == (whole.asked - committed, 0)
    assert result(last) == result(whole)
    # An answer was served twice only where a kill lost the first: what was in flight, and one commit of no more.
    served = sum(entry["done"] and entry["id"] != PROBE for entry in server.log())
    assert whole.asked <= served <= whole.asked + 2 * 2 * CONCURRENCY
    columns = "query_id, doc_id, content_sha, phase, sample, relevance"
    sql = f"SELECT {columns} FROM labels WHERE {IN_AUDITS} ORDER BY {columns}"
    # Which of several pairs with the same changed text is named with it depends on nothing but the order of asking.
    assert rows(config.parent, sql) == rows(tmp_path / "whole", sql)


@pytest.mark.kill
def test_two_processes_ask_about_each_text_once(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    server.clear()
    server.script(latency=0.05)
    both = [started(config, 4) for _ in range(2)]
    said = [process.communicate(timeout=PATIENCE)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert any("waiting" in err for err in said)
    found = asked(server)
    report = run(config)
    assert report.asked == 0
    assert sum(found.values()) == sum(wanted(report).values()) == answers(tmp_path)
    assert Counter(found.values()) == Counter(wanted(report).values())


# Money


PRICED = {"fake": {**JUDGES["fake"], "prices": "prices.yaml", "max_tokens": 100, "output": "json_schema"}}


def priced(folder: Path, judges: dict[str, Any] | None = None, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "prices.yaml").write_text(
        "mine:\n  as_of: 2026-11-01\n  source: a test\n  models:\n    fake-1: {input: 10, output: 1000}\n", "utf-8"
    )
    return graded(folder, judges or PRICED, *names)


def charged(server: ServerProcess) -> float:
    """What the server's calls cost by its own count, in US dollars."""
    used = [completion(entry["body"], entry["id"], "well")["usage"] for entry in server.log()]
    return float(sum(one["prompt_tokens"] * 10 + one["completion_tokens"] * 1000 for one in used)) / 1e6


def test_a_budget_is_never_exceeded_and_what_was_asked_is_reported(server: ServerProcess, tmp_path: Path) -> None:
    config = priced(tmp_path)
    server.script(keep_bodies=True)
    server.clear()
    budget = 2.0
    report = run(config, budget=budget)
    assert report.runs[0].ended == "budget"
    spent = charged(server)
    assert budget / 2 < spent <= budget
    assert report.cost <= budget
    assert report.asked == sum(asked(server).values()) > 0
    assert report.left == sum(wanted(report).values()) - report.asked > 0
    message = rf"of the budget of US\$ 2 is spent.*: {report.left} texts are still to be asked about; run the same"
    with pytest.raises(QuatiPoolError, match=message):
        raise report.fault or AssertionError
    # Each probe says what it found so far.
    found = [one.findings for one in report.probes if one.findings is not None]
    assert all(one.fooled.n > 0 for one in found)
    assert sum(one.ungraded for one in found) > 0
    server.clear()
    rest = run(config)
    assert (rest.asked, rest.left, sum(asked(server).values())) == (report.left, 0, report.left)
    assert rest.fault is None


def test_a_budget_is_that_of_all_judges_together(server: ServerProcess, tmp_path: Path) -> None:
    judges = {name: {**PRICED["fake"], "temperature": heat} for name, heat in (("a", 0.1), ("b", 0.2), ("c", 0.3))}
    config = priced(tmp_path, judges)
    server.script(keep_bodies=True)
    server.clear()
    settings = AuditSettings(probes=("question", "repeat"), budget=2.2)
    reports = audit(config, ["a", "b", "c", "a"], Listener(), settings)
    assert 1.1 < charged(server) <= 2.2
    # One is asked about 18 texts of some 0.06: the budget ends within the second, and the third is not begun.
    assert [report.judge for report in reports] == ["a", "b"]
    assert (reports[0].left, reports[0].fault) == (0, None)
    assert reports[1].runs[0].ended == "budget"
    assert reports[1].fault is not None


def test_a_budget_without_a_price_is_refused(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    server.clear()
    with pytest.raises(ConfigError, match="--budget needs the price of fake-1"):
        run(config, budget=1.0)
    assert server.log() == []


# Dry runs


def test_a_dry_run_forecasts_what_the_run_then_takes_and_writes_nothing(server: ServerProcess, tmp_path: Path) -> None:
    config = priced(tmp_path)
    server.script(keep_bodies=True)
    server.clear()
    before, stored = tree(tmp_path), database(tmp_path)
    (made,) = plan(config, [], Listener())
    assert (tree(tmp_path), database(tmp_path)) == (before, stored)
    assert server.log() == []
    report = run(config)
    calls = [entry for entry in server.log() if entry["id"] != PROBE]
    assert (made.audited, made.judge, made.texts, made.to_ask) == ("fake", "fake", report.asked, report.asked)
    assert made.calls == len(calls)
    used = [completion(entry["body"], entry["id"], "well")["usage"] for entry in calls]
    # The server counts four characters a token; we forecast 3.5 bytes a token and 4 tokens for each message.
    messages = [message["content"] for entry in calls for message in entry["body"]["messages"]]
    assert made.input_tokens == pytest.approx(sum(len(one.encode()) / 3.5 + 4 for one in messages), rel=0.01)
    assert made.output_tokens == pytest.approx(sum(one["completion_tokens"] for one in used), rel=0.2)
    assert made.cost == pytest.approx(charged(server), rel=0.2)
    assert [(one.name, one.problem, one.cases) for one in made.probes] == [
        (one.name, one.problem, one.cases) for one in report.probes
    ]
    # After it, nothing is left to be asked.
    before, stored = tree(tmp_path), database(tmp_path)
    (after,) = plan(config, ["fake"], Listener())
    assert (after.texts, after.to_ask, after.calls, after.cost) == (made.texts, 0, 0, 0.0)
    assert (tree(tmp_path), database(tmp_path)) == (before, stored)


def test_a_dry_run_of_a_consensus_forecasts_each_member_and_of_a_new_draw_keeps_none(
    server: ServerProcess, tmp_path: Path
) -> None:
    config = graded(tmp_path, CONSENSUS, "one", "two")
    run(config, "one", probes=("repeat",))
    settings = AuditSettings(probes=("repeat", "question"))
    plans = plan(config, ["both"], Listener(), settings)
    report = run(config, "both", probes=settings.probes)
    assert [(made.audited, made.judge, made.to_ask) for made in plans] == [
        ("both", one.judge, one.asked) for one in report.runs
    ]
    assert 0 < plans[0].to_ask < plans[1].to_ask == plans[0].texts
    people_say(config, "ana", [0] * len(POOL))
    before, stored = tree(tmp_path), database(tmp_path)
    (made, _) = plan(config, ["both"], Listener(), replace(settings, redraw=True))
    assert made.to_ask > 0
    assert (tree(tmp_path), database(tmp_path)) == (before, stored)
    assert run(config, "both", probes=settings.probes).asked == 0


# Failures


def test_what_has_no_grade_counts_for_nothing_and_is_asked_again(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    server.clear()
    server.script(shares={"empty": 0.2, "refusal": 0.2, "off_scale": 0.1})
    report = run(config, reask=0)
    failed = Counter(entry["id"] for entry in server.log() if entry["way"] in ("empty", "refusal", "off_scale"))
    assert 20 < sum(failed.values()) < report.asked
    assert report.left == sum(failed.values())
    # No fault: what has no grade after all attempts is a finding.
    assert report.fault is None
    for one in report.probes:
        if one.findings is not None and one.outcomes is not None:
            assert one.findings.fooled.n + one.findings.ungraded == len(one.cases)
            assert one.findings.ungraded == np.isnan(one.outcomes.after).sum()
    assert sum(one.findings.ungraded for one in report.probes if one.findings is not None) > 10
    server.clear()
    server.script()
    again = run(config, reask=0)
    assert asked(server) == failed
    assert (again.asked, again.left) == (sum(failed.values()), 0)
    assert all(one.findings is None or one.findings.ungraded == 0 for one in again.probes)


def test_a_run_that_cannot_go_on_ends_with_its_cause_and_asks_no_further_judge(
    server: ServerProcess, tmp_path: Path
) -> None:
    judges = {name: {**JUDGES["fake"], "temperature": heat} for name, heat in (("a", 0.1), ("b", 0.2))}
    config = graded(tmp_path, judges)
    server.clear()
    server.script(key="another")
    reports = audit(config, ["a", "b"], Listener(), AuditSettings())
    assert [report.judge for report in reports] == ["a"]
    with pytest.raises(QuatiPoolError, match="refuses the key in OPENAI_API_KEY"):
        raise reports[0].fault or AssertionError
    assert len(server.log()) == 1
    assert rows(tmp_path, f"SELECT count(*) FROM labels WHERE {IN_AUDITS}") == [(0,)]


def test_a_run_that_is_stopped_keeps_its_answers(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    server.clear()
    server.script(latency=0.02)
    stop = threading.Event()

    class Stops(Listener):
        def progress(self, label: str, done: int, total: int, detail: str = "", unit: str = "") -> None:
            if done > 20:
                stop.set()

    (report,) = audit(config, [], Stops(), AuditSettings(concurrency=2), stop)
    assert report.runs[0].ended == "interrupted"
    fault = report.fault
    assert isinstance(fault, KeyboardInterrupt)
    assert f"{report.left} texts are still to be asked about" in str(fault)
    answers = sum(asked(server).values())
    assert 20 < answers == report.asked < report.asked + report.left == sum(wanted(report).values())
    rest = run(config)
    assert (rest.asked, rest.left) == (report.left, 0)
    assert Counter(asked(server).values()) == Counter(wanted(rest).values())


# Samples and consensus


def test_samples_of_repetitions_are_numbered_apart_and_asked_with_the_first_seeds(
    server: ServerProcess, tmp_path: Path
) -> None:
    three = {**JUDGES["fake"], "samples": 3, "temperature": 1.0, "seed": 5, "aggregate": "mean"}
    config = graded(tmp_path, {"three": three})
    first = {(row[0], row[1], row[2]): row[3] for row in rows(tmp_path, SAMPLES.format("blind"))}
    server.clear()
    server.script(keep_bodies=True)
    report = run(config, "three", probes=("repeat", "question"))
    repeat, question = of(report, "repeat"), of(report, "question")
    assert len(repeat.cases) == 12
    assert question.cases
    seeds: dict[str, Counter[int]] = {}
    for entry in server.log():
        if entry["id"] != PROBE:
            seeds.setdefault(entry["id"], Counter())[entry["body"]["seed"]] += 1
    # Changed texts are asked about with the three seeds once, the pool's for each of two repetitions.
    assert Counter(map(str, seeds.values())) == Counter(
        {str(Counter({5: 2, 6: 2, 7: 2})): 6, str(Counter({5: 1, 6: 1, 7: 1})): len(question.cases)}
    )
    stored = {(row[0], row[1], row[2]): row[3] for row in rows(tmp_path, SAMPLES.format("repeat"))}
    drawn = {(case.query_id, case.doc_id) for case in repeat.cases}
    assert set(stored) == {(*pair, sample) for pair in drawn for sample in (1, 2, 3, 1001, 1002, 1003)}
    # The server grades by the seed, so that each sample of a repetition is that of the first time.
    assert all(grade == first[query, doc, sample % 1000] for (query, doc, sample), grade in stored.items())
    assert repeat.outcomes is not None
    assert repeat.outcomes.after.tolist() == repeat.outcomes.before.tolist()
    # The mean of three grades, halves rounded up.
    assert question.outcomes is not None
    for case, after in zip(question.cases, question.outcomes.after.tolist(), strict=True):
        (message,) = [one for one in seeds if one.rstrip().endswith(f"\n{case.changed.text}\n</passage>")]
        assert after == int(sum(grade_of(message, seed) for seed in (5, 6, 7)) / 3 + 0.5)
    server.clear()
    again = run(config, "three", probes=("repeat", "question"))
    assert (again.asked, server.log(), result(again)) == (0, [], result(report))


SAMPLES = "SELECT query_id, doc_id, sample, relevance FROM labels WHERE phase = '{}'"


def test_more_samples_ask_for_those_alone_that_are_new(server: ServerProcess, tmp_path: Path) -> None:
    """The version of a judge does not say how many samples it takes."""
    one = {**JUDGES["fake"], "temperature": 1.0, "seed": 5}
    config = graded(tmp_path, {"fake": one})
    first = run(config, probes=("repeat",))
    assert first.asked == 12
    config = graded(tmp_path, {"fake": {**one, "samples": 3, "aggregate": "mean"}})
    server.clear()
    server.script(keep_bodies=True)
    report = run(config, probes=("repeat",))
    repeat = of(report, "repeat")
    # Of each of the two repetitions of six pairs the first sample is there, and the other two are asked for.
    assert Counter(entry["body"]["seed"] for entry in server.log() if entry["id"] != PROBE) == {6: 12, 7: 12}
    assert repeat.outcomes is not None
    assert (report.left, report.kappa) == (0, 1.0)


def test_a_failed_sample_leaves_its_text_without_a_grade_and_is_asked_again_alone(
    server: ServerProcess, tmp_path: Path
) -> None:
    two = {**JUDGES["fake"], "samples": 2, "temperature": 1.0, "seed": 5}
    config = graded(tmp_path, {"two": two})
    server.clear()
    server.script(queue=["well", "refusal"])
    report = run(config, "two", probes=("length",), concurrency=1)
    assert (report.asked, report.left) == (12, 1)
    length = of(report, "length").outcomes
    assert length is not None
    assert np.isnan(length.after).sum() + np.isnan(length.control).sum() == 1
    server.clear()
    assert run(config, "two", probes=("length",)).left == 0
    assert sum(asked(server).values()) == 1


CONSENSUS = {
    "one": {**JUDGES["fake"]},
    "two": {"model": "fake-1", "prompt": "quati-en"},
    "both": {"consensus": ["one", "two"], "method": "mean"},
}


def test_a_consensus_is_aggregated_by_its_method_and_shares_its_members_answers(
    server: ServerProcess, tmp_path: Path
) -> None:
    config = graded(tmp_path, CONSENSUS, "one", "two")
    # Any pair that was graded is asked again, so that the same ones are drawn for all three.
    alone = run(config, "one", probes=("repeat",))
    server.clear()
    report = run(config, "both", probes=("repeat", "question"))
    repeat, question = of(report, "repeat"), of(report, "question")
    assert [(case.query_id, case.doc_id) for case in repeat.cases] == [
        (case.query_id, case.doc_id) for case in of(alone, "repeat").cases
    ]
    assert [(one.judge, one.asked, one.left) for one in report.runs] == [
        ("one", len(question.cases), 0),
        ("two", len(question.cases) + 12, 0),
    ]
    assert sum(asked(server).values()) == 2 * len(question.cases) + 12
    grades: dict[Any, dict[str, int]] = {}
    sql = f"SELECT labeler_id, content_sha, phase, sample, relevance FROM labels WHERE {IN_AUDITS}"
    for name, sha, phase, sample, relevance in rows(tmp_path, sql):
        grades.setdefault((sha, phase, sample), {})[name] = relevance
    for probe in (repeat, question):
        assert probe.outcomes is not None
        expected = []
        for case in probe.cases:
            sha = content_sha(case.changed.query, case.changed.text)
            found = grades[sha, "repeat" if case.repetition else "probe", 1001 if case.repetition == 2 else 1]
            expected.append((found["one"] + found["two"] + 1) // 2)
        assert probe.outcomes.after.tolist() == expected
    assert any(len(set(found.values())) == 2 for found in grades.values())
    # And a member's own audit has the answers that it gave for the consensus.
    server.clear()
    assert run(config, "two", probes=("repeat",)).asked == 0
    assert server.log() == []


def test_where_members_agree_on_nothing_a_consensus_has_no_grade(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path, {**CONSENSUS, "both": {"consensus": ["one", "two"], "method": "majority"}}, "one", "two")
    report = run(config, "both", probes=("question",))
    question = of(report, "question")
    assert question.findings is not None
    assert question.outcomes is not None
    assert (report.left, report.fault) == (0, None)
    # What is drawn is what both graded 0; by two hashes, a quarter of the questions gets one grade by both.
    assert question.findings.ungraded == np.isnan(question.outcomes.after).sum() > 0
    assert {case.before for case in question.cases} == {0}


def test_a_consensus_whose_budget_ends_says_what_is_left_of_all_its_members(
    server: ServerProcess, tmp_path: Path
) -> None:
    judges = {name: {**PRICED["fake"], "temperature": heat} for name, heat in (("one", 0.1), ("two", 0.2))}
    config = priced(tmp_path, {**judges, "both": CONSENSUS["both"]}, "one", "two")
    report = run(config, "both", probes=("question", "repeat"), budget=0.5)
    assert [(one.judge, one.ended, one.asked > 0) for one in report.runs] == [
        ("one", "budget", True), ("two", None, False),
    ]  # fmt: skip
    assert report.left + report.asked == 2 * sum(wanted(report).values())
    message = f"of the budget of US$ 0.5 is spent, nothing is reserved, .*: {report.left} texts are still to be asked"
    with pytest.raises(QuatiPoolError, match=message.replace("$", r"\$")):
        raise report.fault or AssertionError


# Refusals


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("panel", "panel are people, and probes are for judges; how people agree: quati-pool agree"),
        ("gold", "gold is a label file, which cannot be asked about changed passages; audit a judge"),
        ("mixed", "gold is a label file, which cannot be asked about changed passages; audit a judge"),
        ("replayed", "replayed looks at ids, not at texts, so that changed passages tell nothing about it; audit the"),
        ("lexical", "lexical has graded no pair of the pool; judge first: quati-pool judge lexical"),
        ("lexcial", "there is no judge 'lexcial'; did you mean 'lexical'?"),
    ],
)
def test_who_cannot_be_audited_is_refused_in_one_line(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "gold.qrels").write_text("q00 0 d0000 1\n", encoding="utf-8")
    judges = {
        "lexical": {"judge": "lexical"},
        "panel": {"people": "majority"},
        "replayed": {"judge": "replay", "path": "gold.qrels"},
        "mixed": {"consensus": ["lexical", "gold"], "method": "median"},
    }
    config = workspace(tmp_path, POOL, judges, labels={"files": {"gold": {"path": "gold.qrels"}}})
    for step in (audit, plan):
        with pytest.raises(ConfigError) as caught:
            step(config, [name], Listener())
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "audits").exists()
    assert rows(tmp_path, "SELECT count(*) FROM labels") == [(0,)]


def test_a_budget_of_nothing_is_refused(server: ServerProcess, tmp_path: Path) -> None:
    config = priced(tmp_path)
    server.clear()
    for budget in (0.0, -1.0):
        with pytest.raises(ConfigError, match="--budget must be more than 0 US dollars"):
            run(config, budget=budget)
    assert server.log() == []


# Kept cases


def people_say(config: Path, name: str, grades: Sequence[int]) -> None:
    """A person's grades of the first pairs of the pool."""
    loaded = load_config(config)
    version = people_version(loaded)
    labels = [
        Label(
            collection="test", labeler_id=name, kind="assessor", version=version, query_id=row["query_id"],
            doc_id=row["doc_id"], content_sha=content_sha(row["query"], row["text"]), status=State.ok, relevance=grade,
        )
        for row, grade in zip(POOL, grades, strict=False)
    ]  # fmt: skip
    with Store.open(None, loaded.folder) as store:
        store.register(version, "assessor", people_definition(loaded))
        store.append([Entry(label=label) for label in labels])


def cases(report: AuditReport) -> list[Sequence[Case]]:
    return [one.cases for one in report.probes]


def test_kept_pairs_stay_when_people_grade_more_and_change_on_request(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    first = run(config)
    assert [one.by_people for one in first.probes] == [0] * len(first.probes)
    people_say(config, "ana", [0] * len(POOL))
    server.clear()
    again = run(config)
    assert (cases(again), again.asked, server.log()) == (cases(first), 0, [])
    redrawn = run(config, redraw=True)
    stuffing = of(redrawn, "stuffing")
    assert stuffing.cases != of(first, "stuffing").cases
    # People say that nothing is relevant: all that the judge did not give its highest grade can be changed.
    assert stuffing.by_people == len(stuffing.cases) == 6
    assert {case.people for case in stuffing.cases} == {0}
    assert any(case.before > 0 for case in stuffing.cases)
    assert (of(redrawn, "missing").cases, of(redrawn, "missing").problem) == (
        [], "no pair of the pool can be changed so",
    )  # fmt: skip
    assert cases(run(config)) == cases(redrawn)


def test_grades_are_compared_with_those_of_all_people_by_majority(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    alone = run(config)
    assert (alone.grades, alone.no_grades) == (None, "no person has graded anything yet")
    grades = [index % 2 for index in range(len(POOL))]
    people_say(config, "ana", grades)
    people_say(config, "bia", grades)
    people_say(config, "caio", [0] * len(POOL))
    report = run(config)
    assert report.grades is not None
    assert report.grades.people == "people"
    assert {one.grade: one.n for one in report.grades.overrating.by_grade} == Counter(grades)
    kept = stored(config)
    assert kept is not None
    assert kept.grade_lines == report.grade_lines
    caio = run(config, grades=GradeSettings(people="caio")).grades
    assert caio is not None
    assert [one.grade for one in caio.overrating.by_grade] == [0]
    some = run(config, probes=("length",))
    assert (some.grades, some.no_grades, some.grade_lines) == (None, None, [])


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"audit": {**SMALL, "answers_from": 1}},
        {"audit": {**SMALL, "probes": {"length": {"words": 61}}}},
        {"audit": {**SMALL, "people": "ana"}},
    ],
)
def test_other_settings_draw_other_pairs(server: ServerProcess, tmp_path: Path, change: dict[str, Any]) -> None:
    config = graded(tmp_path)
    people_say(config, "ana", [0] * 3)
    assert stored(config) is None
    run(config, probes=("length",))
    assert stored(config) is not None
    workspace(tmp_path, POOL, JUDGES, **{"audit": SMALL, **change})
    assert stored(config) is None


def test_more_pairs_are_added_to_the_kept_ones_and_fewer_are_the_first_of_them(
    server: ServerProcess, tmp_path: Path
) -> None:
    config = graded(tmp_path)
    names = ("question", "length", "repeat")
    first = run(config, probes=names, pairs=4)
    # Whatever would be drawn now, what was asked about stays.
    people_say(config, "ana", [0] * len(POOL))
    server.clear()
    more = run(config, probes=names, pairs=6)
    for one, other in zip(cases(first), cases(more), strict=True):
        assert 0 < len(one) < len(other)
        assert one == other[: len(one)]
    assert more.asked == sum(wanted(more).values()) - sum(wanted(first).values()) == sum(asked(server).values())
    server.clear()
    again, fewer = run(config, probes=names), run(config, probes=names, pairs=4)
    # Without a number all that are kept count, whatever the settings say.
    workspace(tmp_path, POOL, JUDGES, audit={**SMALL, "pairs": 5})
    assert cases(run(config, probes=names)) == cases(again) == cases(more)
    assert result(fewer) == result(first)
    assert server.log() == []


def test_a_bound_judges_the_same_answers_otherwise(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    first = of(run(config, probes=("repeat",)), "repeat")
    workspace(tmp_path, POOL, JUDGES, audit={**SMALL, "probes": {"repeat": {"bound": 0.9}}})
    server.clear()
    second = of(run(config, probes=("repeat",)), "repeat")
    assert server.log() == []
    assert first.findings is not None
    assert second.findings is not None
    assert (first.findings.verdict, second.findings.verdict) == ("undecided", "cleared")
    assert second.findings == replace(first.findings, bound=0.9, verdict="cleared")


def test_another_pool_has_other_pairs_and_equal_texts_are_not_asked_about_again(
    server: ServerProcess, tmp_path: Path
) -> None:
    config = graded(tmp_path)
    first = run(config, probes=("question", "repeat"))
    changed = [{**row, "text": passage(90, place, False)} if place < 24 else row for place, row in enumerate(POOL)]
    repool(tmp_path, changed)  # type: ignore[arg-type]
    assert stored(config) is None
    assert judge(config, "fake", Listener(), JudgeOptions()).pending.asked == 24
    server.clear()
    second = run(config, probes=("question", "repeat"))
    new = {key for one in second.probes for case in one.cases for key in case.asked}
    old = {key for one in first.probes for case in one.cases for key in case.asked}
    assert second.asked == len(new - old) == sum(asked(server).values())
    assert 0 < len(new - old) < len(new)
    texts = {(row["query_id"], row["doc_id"]): row["text"] for row in changed}
    assert all(case.original.text == texts[case.query_id, case.doc_id] for one in cases(second) for case in one)


def test_texts_that_would_be_cut_are_not_asked_about(server: ServerProcess, tmp_path: Path) -> None:
    # 150 tokens of 3.5 bytes hold 525 bytes: a passage of some 300, and not one with 60 words more of some 6.
    short = {"fake": {**JUDGES["fake"], "max_passage_tokens": 150}}
    config = graded(tmp_path, short)
    assert rows(tmp_path, "SELECT count(*) FROM labels WHERE extra LIKE '%shown_characters%'") == [(0,)]
    report = run(config)
    shown = [text for one in report.probes for case in one.cases for text, _ in case.asked]
    assert len(shown) > 60
    assert max(len(one.text.encode()) for one in shown) <= 525
    assert {case.variant for case in of(report, "length").cases} == {"answer last"}
    assert rows(tmp_path, "SELECT count(*) FROM labels WHERE extra LIKE '%shown_characters%'") == [(0,)]
    # Without the limit they are.
    long = run(graded(tmp_path / "long"))
    assert {case.variant for case in of(long, "length").cases} > {"answer last"}


# Without asking


def stored(config: Path, name: str = "fake") -> AuditReport | None:
    loaded = load_config(config)
    with Store.open(None, loaded.folder) as store:
        return stored_audit(WorkspaceGrades(Grading(loaded, store)), name, lambda line: None)


def test_a_stored_audit_is_read_without_asking_or_writing(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    server.clear()
    before, rows_before = tree(tmp_path), database(tmp_path)
    assert stored(config) is None
    assert (tree(tmp_path), database(tmp_path), server.log()) == (before, rows_before, [])
    made = run(config)
    before, rows_before = tree(tmp_path), database(tmp_path)
    server.clear()
    found = stored(config)
    assert (tree(tmp_path), database(tmp_path), server.log()) == (before, rows_before, [])
    assert found is not None
    assert (found.kappa, found.runs) == (made.kappa, ())
    kept = [(one.name, one.cases, one.findings) for one in found.probes if one.cases]
    assert kept == [(one.name, one.cases, one.findings) for one in made.probes if one.cases]


def test_a_stored_audit_of_a_consensus_is_that_of_its_members_answers(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path, CONSENSUS, "one", "two")
    made = run(config, "both", probes=("question",))
    found = stored(config, "both")
    assert found is not None
    assert of(found, "question").findings == of(made, "question").findings
    assert stored(config, "one") is None


def test_a_cases_file_that_was_damaged_is_made_again(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    first = run(config, probes=("question",))
    path = Workspace(tmp_path).audit("fake", "question")
    path.write_bytes(path.read_bytes()[:-5])
    assert stored(config) is None
    server.clear()
    again = run(config, probes=("question",))
    assert (again.asked, result(again), server.log()) == (0, result(first), [])


def lexical(folder: Path, **settings: Any) -> Path:
    return graded(folder, {"lexical": {"judge": "lexical"}}, **settings)


def test_the_lowest_answering_grade_may_be_zero(tmp_path: Path) -> None:
    grades = {-1: "off", 0: "some", 1: "more", 2: "all"}
    assert run(lexical(tmp_path / "a", grades=grades), "lexical", probes=("question",)).scale == Scale(-1, 1)
    config = lexical(tmp_path / "b", grades=grades, audit={**SMALL, "answers_from": 0})
    assert run(config, "lexical", probes=("question",)).scale == Scale(-1, 0)


def test_pairs_that_can_be_changed_are_found_however_late_they_are_drawn(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    # A translation of the relevant passage that is drawn last, while one pair is wanted, and five are read at first.
    drawn = of(run(config, probes=("missing",), pairs=48), "missing").cases
    assert len(drawn) > 5
    line = json.dumps({"doc_id": drawn[-1].doc_id, "text": f"Translated: {drawn[-1].original.text}"})
    (tmp_path / "translated.jsonl").write_text(line + "\n")
    probes = {"language": {"translations": "translated.jsonl"}}
    workspace(tmp_path, POOL, JUDGES, audit={"pairs": 1, "probes": probes})
    assert [case.doc_id for case in of(run(config, probes=("language",)), "language").cases] == [drawn[-1].doc_id]


def test_redrawing_keeps_as_many_pairs_as_there_were(tmp_path: Path) -> None:
    config = lexical(tmp_path)
    assert of(run(config, "lexical", probes=("repeat",), pairs=20), "repeat").pairs == 20
    assert of(run(config, "lexical", probes=("repeat",), pairs=5, redraw=True), "repeat").pairs == 5
    assert of(run(config, "lexical", probes=("repeat",)), "repeat").pairs == 20


def test_a_broken_probe_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = "[quati_pool.probes]\nabsent = no_such_module:Probe\nraising = raising_probe:Raising\n"
    write_dist_info(tmp_path / "site", "odd-probes", "3.1", points)
    (tmp_path / "site" / "raising_probe.py").write_text(
        "from quati_pool.audit.base import Probe\n"
        "class Raising(Probe):\n"
        "    danger, seen, advice, drawn, expected = 'odd', 'were odd', 'be odd', 'any', 'stay'\n"
        "    variants = ('one',)\n"
        "    def change(self, pair, variant, material, random):\n"
        "        return 1 / 0\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    vars(PROBES).pop("_plugins", None)
    try:
        config = lexical(tmp_path / "collection")
        said: list[str] = []
        listener = Listener()
        monkeypatch.setattr(listener, "say", said.append)
        (report,) = audit(config, ["lexical"], listener, AuditSettings())
        assert of(report, "raising").problem == "its code failed (ZeroDivisionError: division by zero)"
        assert [one.name for one in report.probes if one.problem is None and one.cases][:2] == ["stuffing", "question"]
        assert [line for line in said if "absent" in line] == [
            "the probe absent is left out: the probe 'absent' of odd-probes 3.1 cannot be loaded (ModuleNotFoundError: "
            "No module named 'no_such_module'); fix or uninstall that package"
        ]
        stored = stored_audit_of(config)
        assert stored is not None
        assert of(stored, "stuffing").cases == of(report, "stuffing").cases
        with pytest.raises(ConfigError, match="the probe 'absent' of odd-probes"):
            run(config, "lexical", probes=("absent",))
    finally:
        del vars(PROBES)["_plugins"]


def stored_audit_of(config: Path) -> AuditReport | None:
    loaded = load_config(config)
    with Store.open(None, loaded.folder) as store:
        return stored_audit(WorkspaceGrades(Grading(loaded, store)), "lexical", lambda line: None)


def test_a_passage_that_is_pooled_twice_is_repeated_once(tmp_path: Path) -> None:
    twice = [*POOL[:4], {**POOL[0], "doc_id": "copy"}]
    config = workspace(tmp_path, twice, {"lexical": {"judge": "lexical"}}, audit={"pairs": 20})
    assert judge(config, "lexical", Listener(), JudgeOptions()).error is None
    assert of(run(config, "lexical", probes=("repeat",)), "repeat").pairs == 4
