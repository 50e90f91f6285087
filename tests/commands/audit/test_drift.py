"""Anchors are fixed once and asked about again; a judge that has changed raises an alarm, and no other does."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from quati_pool.audit.drift import Drift
from quati_pool.commands.audit.anchors import FixedAnchors, fix_anchors, stored_drift
from quati_pool.commands.audit.audit import audit
from quati_pool.commands.audit.drift import DriftReport, check_drift, plan_drift, refuse_if_moved
from quati_pool.commands.audit.settings import AuditSettings
from quati_pool.commands.audit.stored_audits import was_audited
from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import judge
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import sidecar
from quati_pool.files.pools import PoolPair
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.store.database import Store
from tests.commands.audit.planted import Planted, Rule, install, pairs, right_grade
from tests.commands.judged import repool, rows, workspace
from tests.llm.server import PROBE, ServerProcess
from tests.patience import PATIENCE

JUDGES = {"fake": {"model": "fake-1", "prompt": "quati-pt"}}
POOL, LARGE = pairs(10, 5), pairs(20, 5)
ROOT = Path(__file__).parents[3]
CHECKED = "phase = 'repeat' AND sample > 1000000"


def people(folder: Path, pool: list[PoolPair] = POOL, graded: int | None = None) -> dict[str, Any]:
    """A file of people's grades of the first pairs, and the settings that name it."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = (f"{pair['query_id']} 0 {pair['doc_id']} {place * 7 % 4}\n" for place, pair in enumerate(pool[:graded]))
    (folder / "gold.qrels").write_text("".join(lines), encoding="utf-8")
    return {"labels": {"files": {"gold": {"path": "gold.qrels", "person": True}}}}


def graded(
    folder: Path,
    judges: dict[str, Any] = JUDGES,
    pool: list[PoolPair] = POOL,
    by_people: int | None = None,
    **settings: Any,
) -> Path:
    """A workspace whose pool the judges graded, and people its first pairs."""
    config = workspace(folder, pool, judges, **people(folder, pool, by_people), **settings)
    for name in judges:
        report = judge(config, name, Listener(), JudgeOptions())
        assert (report.error, report.pending.left) == (None, 0)
    return config


def fix(config: Path, number: int = 100, name: str = "fake") -> FixedAnchors:
    (found,) = fix_anchors(config, [name], number, Listener())
    return found


def check(config: Path, hours: float = 24.0, name: str = "fake", **options: Any) -> DriftReport:
    (report,) = check_drift(config, [name], Listener(), JudgeOptions(**options), hours)
    return report


def stored(config: Path, name: str = "fake") -> Drift | str:
    loaded = load_config(config)
    with Store.open(loaded.labels.url, loaded.folder) as store:
        return stored_drift(Grading(loaded, store), name)


def asked(server: ServerProcess) -> Counter[str]:
    return Counter(entry["id"] for entry in server.log() if entry["id"] != PROBE)


def file_of(config: Path, name: str = "fake") -> Path:
    return config.parent / "audits" / name / "anchors.jsonl.gz"


# Whether it has moved


def test_a_judge_whose_weights_change_after_a_hundred_calls_raises_the_alarm(
    server: ServerProcess, tmp_path: Path
) -> None:
    server.script(moves_after=100)
    config = graded(tmp_path, pool=LARGE)
    # The pool's 100 pairs were its last calls before.
    assert len(asked(server)) == 100
    fixed = fix(config)
    assert (fixed.added, fixed.drift.verdict) == (100, "not checked")
    report = check(config)
    drift = report.drift
    assert (report.fault, report.run.asked, report.run.left) == (None, 100, 0)
    assert (drift.verdict, drift.alarms, len(drift.pairs), drift.down) == ("moved", True, 100, 0)
    # A third of those that can rise, three of four pairs.
    assert 12 <= drift.up <= 40
    assert drift.test.p < 1e-3
    assert drift.shift is not None
    assert drift.shift.low is not None
    assert drift.shift.low > 0
    assert drift.server_changed
    assert [one[:3] for one in drift.servers_then] == [("fake-1", "fp_test", 100)]
    assert [one[:3] for one in drift.servers_now] == [("fake-1", "fp_moved", 100)]
    # Its grades then are those of the store, now those that the server gave.
    before = dict(rows(tmp_path, "SELECT query_id || doc_id, relevance FROM labels WHERE phase = 'blind'"))
    after = dict(rows(tmp_path, f"SELECT query_id || doc_id, relevance FROM labels WHERE {CHECKED}"))
    assert {pair.query_id + pair.doc_id: (pair.then, pair.now) for pair in drift.pairs} == {
        key: (before[key], after[key]) for key in before
    }
    # Nothing is judged.
    server.clear()
    with pytest.raises(QuatiPoolError, match=r"^fake has moved since its anchors .* so nothing was judged"):
        refuse_if_moved(config, "fake", Listener(), JudgeOptions())
    assert asked(server) == {}


def test_a_judge_that_is_the_same_raises_none(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    fix(config)
    drift = check(config).drift
    assert (drift.verdict, drift.up, drift.down, drift.test.p) == ("not moved", 0, 0, 1)
    assert (drift.kappa, drift.people_then, drift.noise) == (1, drift.people_now, 0)
    assert not drift.server_changed
    assert refuse_if_moved(config, None, Listener(), JudgeOptions()).run.asked == 0


def test_a_program_moves_only_with_its_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, right_grade)
    # Programs are not given narratives.
    queries = "".join(f"{json.dumps({'query_id': one['query_id'], 'query': one['query'], 'narrative': 'n'})}\n"
                      for one in {pair["query_id"]: pair for pair in POOL}.values())  # fmt: skip
    tmp_path.joinpath("queries.jsonl").write_text(queries, encoding="utf-8")
    config = graded(tmp_path, {"planted": {"judge": "planted"}}, queries={"path": "queries.jsonl"})
    assert fix(config, name="planted").added == 50
    first = check(config, name="planted")
    assert (first.drift.verdict, first.run.calls, first.run.asked, first.gone) == ("not moved", None, 50, 0)
    monkeypatch.setattr(Planted, "rule", staticmethod(lambda pair: max(right_grade(pair), 1)))
    second = check(config, hours=0, name="planted")
    assert (second.drift.check, second.drift.verdict, second.drift.up) == (2, "moved", 30)
    assert not second.drift.server_changed


def test_several_samples_are_asked_and_aggregated_as_the_first_time(server: ServerProcess, tmp_path: Path) -> None:
    three = {**JUDGES["fake"], "samples": 3, "temperature": 1.0, "seed": 5, "aggregate": "mean"}
    config = graded(tmp_path, {"fake": three})
    fix(config, 30)
    server.clear()
    report = check(config)
    assert (sum(asked(server).values()), report.drift.up + report.drift.down, report.drift.kappa) == (90, 0, 1)
    numbers = {row[0] for row in rows(tmp_path, f"SELECT DISTINCT sample FROM labels WHERE {CHECKED}")}
    assert numbers == {1_000_000_001, 1_000_000_002, 1_000_000_003}
    second = check(config, hours=0)
    assert second.drift.check == 2
    numbers = {row[0] for row in rows(tmp_path, f"SELECT DISTINCT sample FROM labels WHERE {CHECKED}")}
    assert max(numbers) == 1_000_001_003


# Anchors stay


def test_anchors_stay_and_more_are_added(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path, by_people=40)
    first = fix(config, 20)
    before = file_of(config).read_bytes()
    assert fix(config, 20).added == fix(config, 10).added == 0
    assert file_of(config).read_bytes() == before
    more = fix(config, 50)
    assert (more.added, len(more.drift.anchors), more.wanted) == (20, 40, 50)
    assert list(more.drift.anchors)[:20] == list(first.drift.anchors)
    known = {(anchor.query_id, anchor.doc_id) for anchor in more.drift.anchors}
    assert known == {(pair["query_id"], pair["doc_id"]) for pair in POOL[:40]}
    # One of each of people's grades in turn.
    assert Counter(anchor.people for anchor in first.drift.anchors) == {0: 5, 1: 5, 2: 5, 3: 5}
    # People may grade more: those that there are stay.
    people(tmp_path)
    assert fix(config, 100).drift.anchors[:40] == more.drift.anchors
    with gzip.open(file_of(config), "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    assert len(records) == 50
    assert set(records[0]) == {
        "query_id", "doc_id", "content_sha", "people", "grade", "model", "fingerprint", "answered",
    }  # fmt: skip
    assert json.loads(sidecar(file_of(config)).read_text("utf-8"))["counts"] == {"anchors": 50}
    assert not was_audited(load_config(config), "fake")


def test_another_seed_draws_other_anchors_and_the_judges_grades_play_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drawn(folder: str, rule: Rule, seed: int) -> list[tuple[str, str]]:
        install(monkeypatch, rule)
        config = graded(tmp_path / folder, {"planted": {"judge": "planted"}}, seed=seed)
        return [(one.query_id, one.doc_id) for one in fix(config, 20, "planted").drift.anchors]

    first = drawn("first", right_grade, 0)
    assert drawn("other", lambda pair: 3 - right_grade(pair), 0) == first
    assert drawn("seed", right_grade, 1) != first


def test_a_passage_that_is_pooled_twice_is_one_anchor(server: ServerProcess, tmp_path: Path) -> None:
    twice: list[PoolPair] = [{**POOL[0], "doc_id": "copy"}, *POOL]
    settings = people(tmp_path, twice)
    config = workspace(tmp_path, sorted(twice, key=lambda pair: pair["query_id"]), JUDGES, **settings)
    judge(config, "fake", Listener(), JudgeOptions())
    assert len(fix(config, 200).drift.anchors) == 50
    assert check(config).run.asked == 50


def test_who_cannot_be_checked_is_refused_in_one_line(server: ServerProcess, tmp_path: Path) -> None:
    both = {**JUDGES, "other": {**JUDGES["fake"], "prompt": "quati-en"}}
    config = graded(tmp_path, both)
    # Of another collection.
    (tmp_path / "gold.qrels").write_text("q99 0 d99 1\n", encoding="utf-8")
    not_by_people = (
        "people graded no pair that it graded too; let people grade first: quati-pool annotate; "
        r"audit: \{people: gold\} in pool.yaml takes the grades of gold for people's$"
    )
    for name, message in (("fake", not_by_people), ("nobody", "there is no judge")):
        with pytest.raises(ConfigError, match=message):
            fix(config, name=name)
    people(tmp_path)
    with pytest.raises(ConfigError, match="fake has no anchors; fix some: quati-pool audit fake --anchors 200"):
        check(config)
    assert stored(config) == "fake has no anchors; fix some: quati-pool audit fake --anchors 200"
    fix(config)
    server.clear()
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    settings["judges"]["fake"]["temperature"] = 0.5
    settings["judges"]["both"] = {"consensus": ["fake", "other"]}
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"^fake is another judge since its anchors were fixed .*--anchors 200$"):
        check(config)
    with pytest.raises(
        ConfigError, match=r"^both is computed from the grades of other judges; check these: fake other$"
    ):
        check(config, name="both")
    assert "a consensus has no anchors of its own" in str(stored(config, "both"))
    assert server.log() == []
    # What it grades under the new settings can be anchored.
    judge(config, "fake", Listener(), JudgeOptions())
    assert fix(config).added == 50
    assert check(config).drift.verdict == "not moved"


def test_grades_of_passages_that_were_cut_otherwise_are_no_anchors(server: ServerProcess, tmp_path: Path) -> None:
    config = workspace(tmp_path, POOL, JUDGES, **people(tmp_path))
    judge(config, "fake", Listener(), JudgeOptions(max_passage_tokens=3))
    with pytest.raises(ConfigError, match=r"^fake graded other texts than pool\.yaml shows it"):
        fix(config)


def test_a_damaged_file_is_named_and_made_again(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    first = fix(config)
    file_of(config).write_bytes(b"{}")
    with pytest.raises(ConfigError, match=r"^the anchors of fake cannot be used \(anchors\.jsonl\.gz .*--anchors 200$"):
        check(config)
    again = fix(config)
    assert again.added == 50
    assert again.drift.anchors == first.drift.anchors


def test_passages_that_left_the_pool_or_changed_are_not_asked_about(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    fix(config)
    changed: list[PoolPair] = [{**pair, "text": f"{pair['text']} Mais."} for pair in POOL[:10]]
    repool(tmp_path, [*changed, *POOL[20:]])
    server.clear()
    report = check(config)
    assert (report.gone, sum(asked(server).values()), len(report.drift.pairs), report.run.left) == (20, 30, 30, 0)
    repool(tmp_path, changed)
    with pytest.raises(QuatiPoolError, match="no passage of the anchors of fake is in the pool as it was"):
        check(config)


# Asked once


def test_a_check_is_the_same_one_for_a_day_and_then_another(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    fix(config, 40)
    first = check(config)
    assert (first.drift.check, first.run.asked) == (1, 40)
    server.clear()
    again = check(config)
    assert (again.run.asked, server.log(), again.drift.pairs) == (0, [], first.drift.pairs)
    # More anchors within the day belong to the same check.
    fix(config, 50)
    assert (check(config).run.asked, check(config).drift.check) == (10, 1)
    connection = sqlite3.connect(tmp_path / "labels.db")
    with connection:
        connection.execute(f"UPDATE labels SET created_at = datetime(created_at, '-25 hours') WHERE {CHECKED}")
    connection.close()
    server.script(grades=((".", 3),))
    second = check(config)
    assert (second.drift.check, second.run.asked, second.drift.verdict) == (2, 50, "moved")
    assert all(pair.now == 3 for pair in second.drift.pairs)
    # The former check is as it was.
    counts = rows(tmp_path, f"SELECT sample, count(*) FROM labels WHERE {CHECKED} GROUP BY 1 ORDER BY 1")
    assert counts == [(1_000_000_001, 50), (1_000_001_001, 50)]
    drift = stored(config)
    assert isinstance(drift, Drift)
    assert (drift.check, drift.verdict) == (2, "moved")


def test_the_probe_that_repeats_and_checks_do_not_mix(server: ServerProcess, tmp_path: Path) -> None:
    settings = {"audit": {"pairs": 50, "people": "gold"}}
    config = graded(tmp_path, **settings)
    fix(config)
    # The probe first, and the check with other answers.
    (before,) = audit(config, ["fake"], Listener(), AuditSettings(probes=("repeat",)))
    assert before.drift is not None
    assert (before.asked, before.kappa, before.drift.verdict, before.drift.noise) == (100, 1, "not checked", 0)
    server.clear()
    server.script(grades=((".", 3),))
    report = check(config)
    assert (sum(asked(server).values()), report.drift.verdict) == (50, "moved")
    # Of what moved nothing is noise.
    assert report.drift.noise == 0
    (after,) = audit(config, ["fake"], Listener(), AuditSettings(probes=("repeat",)))
    assert (after.asked, after.kappa) == (0, 1)
    assert after.drift is not None
    assert (after.drift.verdict, after.drift.pairs) == ("moved", report.drift.pairs)


PRICED = {"fake": {**JUDGES["fake"], "prices": "prices.yaml", "max_tokens": 100, "output": "json_schema"}}


def priced(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "prices.yaml").write_text(
        "mine:\n  as_of: 2026-11-01\n  source: a test\n  models:\n    fake-1: {input: 10, output: 1000}\n", "utf-8"
    )
    return graded(folder, PRICED)


def test_a_budget_that_ends_half_way_is_finished_by_the_next_run(server: ServerProcess, tmp_path: Path) -> None:
    config = priced(tmp_path)
    fix(config)
    (plan,) = plan_drift(config, [], JudgeOptions())
    assert (plan.texts, plan.to_ask, plan.calls) == (50, 50, 50)
    assert plan.cost is not None
    server.clear()
    half = check(config, budget=plan.cost / 2)
    assert half.run.ended == "budget"
    assert 0 < half.run.asked < 50
    assert half.run.left == half.drift.unasked == 50 - half.run.asked
    assert isinstance(half.fault, QuatiPoolError)
    assert "still to be asked about; run the same command again with a larger --budget" in str(half.fault)
    with pytest.raises(QuatiPoolError, match=r"still to be asked about.* with a larger --anchors-budget"):
        refuse_if_moved(config, "fake", Listener(), JudgeOptions(budget=plan.cost / 5))
    (rest,) = plan_drift(config, ["fake"], JudgeOptions())
    assert rest.to_ask < half.run.left
    last = check(config, budget=10)
    assert (last.fault, last.drift.check, len(last.drift.pairs)) == (None, 1, 50)
    assert set(asked(server).values()) == {1}
    assert len(asked(server)) == 50
    (another,) = plan_drift(config, ["fake"], JudgeOptions(), 0)
    assert another.to_ask == 50


def test_a_judge_that_refuses_is_not_cleared_and_a_refusal_is_paid_for_once(
    server: ServerProcess, tmp_path: Path
) -> None:
    config = graded(tmp_path)
    fix(config)
    server.script(shares={"refusal": 0.3})
    first = check(config)
    assert 5 < first.drift.lost < 30
    assert (first.drift.ungraded, len(first.drift.pairs)) == (first.drift.lost, 50 - first.drift.lost)
    assert (first.drift.verdict, first.run.left, first.drift.unfinished) == ("not cleared", 0, None)
    server.script()
    server.clear()
    again = check(config)
    assert (again.run.asked, again.drift.check, again.drift.lost) == (0, 1, first.drift.lost)
    with pytest.raises(QuatiPoolError, match=r"of 50 anchors of fake have no grade now, .* so nothing was judged"):
        refuse_if_moved(config, "fake", Listener(), JudgeOptions())
    assert asked(server) == {}
    assert plan_drift(config, ["fake"], JudgeOptions())[0].to_ask == 0
    assert check(config, hours=0).drift.verdict == "not moved"
    server.script(default="refusal")
    all_of_them = check(config, hours=0, reask=0)
    assert (all_of_them.drift.verdict, all_of_them.drift.lost, all_of_them.drift.check) == ("not cleared", 50, 3)
    with pytest.raises(QuatiPoolError, match="50 of 50 anchors of fake have no grade now"):
        refuse_if_moved(config, "fake", Listener(), JudgeOptions(reask=0))


def test_a_check_that_starves_hides_no_alarm_and_is_finished_whatever_the_age(
    server: ServerProcess, tmp_path: Path
) -> None:
    config = priced(tmp_path)
    fix(config)
    (plan,) = plan_drift(config, [], JudgeOptions())
    assert plan.cost is not None
    server.script(grades=((".", 3),))
    assert check(config, budget=100).drift.verdict == "moved"
    server.script()
    starved = check(config, hours=0, budget=plan.cost / 2)
    assert 0 < starved.run.asked < 50
    drift = stored(config)
    assert isinstance(drift, Drift)
    for one in (starved.drift, drift):
        assert (one.check, one.verdict, len(one.pairs)) == (1, "moved", 50)
        assert one.unfinished is not None
        assert one.unfinished[1:] == (starved.run.asked, 50)
    # Of what moved nothing is noise, also while another check is not finished.
    assert drift.noise == 0
    # Asked again with another age, it is the same check, and nothing is paid for twice.
    server.clear()
    done = check(config, hours=0, budget=100)
    assert (done.run.asked, sum(asked(server).values())) == (50 - starved.run.asked,) * 2
    assert (done.drift.check, done.drift.verdict, done.drift.unfinished, done.drift.noise) == (2, "not moved", None, 0)


def test_anchors_that_left_the_pool_leave_no_check_unfinished(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    fix(config)
    assert check(config).drift.check == 1
    repool(tmp_path, POOL[20:])
    second = check(config, hours=0)
    assert (second.drift.check, second.drift.unfinished, len(second.drift.pairs)) == (2, None, 30)
    assert check(config, hours=0).drift.check == 3


CHECK = """
import sys
from pathlib import Path
from quati_pool.commands.audit.drift import check_drift
from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.project.events import Listener

check_drift(Path(sys.argv[1]), [], Listener(), JudgeOptions(concurrency=4))
"""


@pytest.mark.kill
def test_a_check_that_is_killed_is_finished_by_the_next_run(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    fix(config)
    server.clear()
    server.script(latency=0.1)
    command = [sys.executable, "-c", CHECK, str(config)]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + PATIENCE
    count = f"SELECT count(*) FROM labels WHERE {CHECKED}"
    while process.poll() is None and rows(tmp_path, count)[0][0] < 15 and time.monotonic() < end:
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    committed = rows(tmp_path, count)[0][0]
    assert 15 <= committed < 50
    last = check(config)
    assert (last.run.asked, last.drift.check, len(last.drift.pairs)) == (50 - committed, 1, 50)
    # Twice only what was in flight, and one commit of no more.
    served = sum(entry["done"] and entry["id"] != PROBE for entry in server.log())
    assert 50 <= served <= 58
