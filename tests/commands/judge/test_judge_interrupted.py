"""A run that is killed, stopped or disturbed ends, when it is repeated, as an undisturbed one would."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.commands.forked_commands import Forked, Forks
from tests.commands.judged import ID_PATTERN, many, pair, rows, workspace
from tests.llm.server import PATCHES, PROBE, STATES, ServerProcess, state_of
from tests.patience import PATIENCE

pytestmark = pytest.mark.kill

ROOT = Path(__file__).parents[3]
CONCURRENCY = 32
KILLS = 5

# What may go wrong with a call, each on some of the calls, and every way of answering one.
SHARES = {
    "late 0.1": 0.03,
    "429 0.1": 0.02,
    "500": 0.05,
    "503": 0.02,
    "half_body": 0.03,
    "cut_chunks": 0.02,
    "drop": 0.02,
    **dict.fromkeys({**STATES, **dict.fromkeys(PATCHES)}, 0.7 / len({*STATES, *PATCHES})),
}
# What fails for as long as it is asked, so that failures remain.
STUBBORN = {"refusal": 6, "empty": 5, "off_scale": 4, "length": 3}


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with Forks(tmp_path_factory.mktemp("forks")) as forks:
        yield forks


def finished(process: Forked) -> tuple[int, str, str]:
    return process.wait(), *process.said()


def committed(folder: Path) -> int:
    return int(rows(folder, "SELECT count(*) FROM labels")[0][0]) if (folder / "labels.db").exists() else 0


def wait_for(folder: Path, labels: int, process: Forked) -> None:
    """Returns once so many labels are committed, or the process has ended."""
    while process.poll() is None:
        try:
            if committed(folder) >= labels:
                return
        except Exception:  # the schema may be still in the making
            pass
        time.sleep(0.01)


def test_two_thousand_pairs_through_every_failure_and_five_kills(
    server: ServerProcess, forks: Forks, tmp_path: Path
) -> None:
    pairs = many(40, 50)
    stubborn = [way for way, count in STUBBORN.items() for _ in range(count)]
    for place, way in enumerate(stubborn):
        row = pairs[place * 100]
        row["text"] = f"[[serve: {way}]] {row['text']}"
    config = workspace(tmp_path, pairs, {"fake": {"model": "fake-1", "prompt": "quati-pt"}})
    server.script(id_pattern=ID_PATTERN, shares=SHARES, latency=0.02, seed=11)
    draw = random.Random(20261121)
    arguments = ("judge", "fake", "--concurrency", CONCURRENCY, "--format", "json", "-c", config)
    killed = []
    for _ in range(KILLS):
        process = forks.start(*arguments)
        wait_for(tmp_path, committed(tmp_path) + draw.randint(20, 300), process)
        time.sleep(draw.uniform(0, 0.05))
        assert process.poll() is None, process.said()
        process.kill()
        assert process.wait() == -signal.SIGKILL
        killed.append(process)
    code, out, err = finished(forks.start(*arguments))
    assert code == 0, err
    assert not any("Traceback" in said for said in (err, *(process.said()[1] for process in killed)))
    report = json.loads(out)

    log = [entry for entry in server.log() if entry["id"] != PROBE]
    by_pair: dict[str, list[dict[str, Any]]] = {}
    for entry in log:
        by_pair.setdefault(entry["id"], []).append(entry)
    names = {f"{row['query_id']}/{row['doc_id']}" for row in pairs}
    assert set(by_pair) == names

    # Each pair stands as the last thing that the server said of it, and ok with the grade that it said.
    last = {name: state_of(entries[-1]["way"]) for name, entries in by_pair.items()}
    expected = Counter(last.values())
    assert report["states"] == dict(expected)
    assert sum(report["states"].values()) == len(pairs)
    assert report["unasked"] == 0
    found = rows(tmp_path, "SELECT query_id || '/' || doc_id, relevance, created_at FROM labels WHERE status = 'ok'")
    assert len(found) == len({name for name, _, _ in found}) == expected["ok"]
    assert {name: grade for name, grade, _ in found} == {
        name: by_pair[name][-1]["grade"] for name, state in last.items() if state == "ok"
    }

    # Nothing was asked again once its grade was committed.
    for name, _, created_at in found:
        written = datetime.fromisoformat(f"{created_at}+00:00").timestamp()
        assert all(entry["time"] <= written for entry in by_pair[name])
    # An answer that would have been a grade was served twice only where a kill lost the first: at most what
    # was in flight, and one commit, which holds no more than can arrive within its few milliseconds; that is
    # taken here as no more than may be in flight.
    good = Counter(entry["id"] for entry in log if entry["done"] and state_of(entry["way"]) == "ok")
    lost = sum(count - 1 for count in good.values())
    assert lost <= KILLS * 2 * CONCURRENCY

    # Qrels are refused while failures remain, with some of them by name, and left out when told.
    export = ("export", "qrels", "--labeler", "fake", "-o", tmp_path / "fake.qrels", "-c", config)
    code, out, err = finished(forks.start(*export))
    failing = len(pairs) - expected["ok"]
    assert failing >= len(stubborn)
    assert code == 1
    assert f"{failing} of 2,000 pairs have no grade by fake (" in err
    for state in ("refused", "unparsed", "off_scale", "truncated"):
        assert f"{expected[state]} {state}" in err
    assert "--allow-missing" in err
    assert "q0000 d0000 (refused)" in err
    assert not (tmp_path / "fake.qrels").exists()
    code, out, err = finished(forks.start(*export, "--allow-missing"))
    assert code == 0, err
    written = [line.split() for line in (tmp_path / "fake.qrels").read_text(encoding="utf-8").splitlines()]
    assert {(f"{row[0]}/{row[2]}", int(row[3])) for row in written} == {(name, grade) for name, grade, _ in found}


def test_control_c_finishes_what_is_in_flight(server: ServerProcess, forks: Forks, tmp_path: Path) -> None:
    config = workspace(tmp_path, many(10, 50), {"fake": {"model": "fake-1", "prompt": "quati-pt"}})
    # Nine seconds in all, so that a busy machine sees the first 40 long before the last.
    server.script(id_pattern=ID_PATTERN, latency=0.15)
    process = forks.start("judge", "--concurrency", 8, "-c", config)
    wait_for(tmp_path, 40, process)
    process.send_signal(signal.SIGINT)
    code, _, err = finished(process)
    assert code == 130
    asked = [entry["id"] for entry in server.log() if entry["id"] != PROBE]
    assert 40 <= committed(tmp_path) == len(asked) < 500
    assert (
        f"kept: all grades so far ({500 - len(asked)} pairs are still to be asked); run the same command again" in err
    )
    server.script(id_pattern=ID_PATTERN)
    assert finished(forks.start("judge", "--concurrency", CONCURRENCY, "-c", config))[0] == 0
    assert Counter(entry["id"] for entry in server.log() if entry["id"] != PROBE).most_common(1)[0][1] == 1


def test_two_processes_of_one_judge_share_the_work(server: ServerProcess, forks: Forks, tmp_path: Path) -> None:
    config = workspace(tmp_path, many(4, 50), {"fake": {"model": "fake-1", "prompt": "quati-pt"}})
    server.script(id_pattern=ID_PATTERN, latency=0.02)
    both = [forks.start("judge", "-c", config) for _ in range(2)]
    codes = [process.wait() for process in both]
    told = [process.said()[1] for process in both]
    assert codes == [0, 0], told
    assert max(Counter(entry["id"] for entry in server.log() if entry["id"] != PROBE).values()) == 1
    assert any("waiting" in err for err in told)
    assert rows(tmp_path, "SELECT count(*) FROM labels WHERE status = 'ok'") == [(200,)]


def test_two_judges_write_at_once(server: ServerProcess, forks: Forks, tmp_path: Path) -> None:
    judges = {name: {"model": name, "prompt": "quati-pt"} for name in ("one", "two")}
    config = workspace(tmp_path, many(4, 50), judges)
    server.script(id_pattern=ID_PATTERN, latency=0.02)
    both = [forks.start("judge", name, "-c", config) for name in judges]
    assert [process.wait() for process in both] == [0, 0], [process.said() for process in both]
    found = rows(tmp_path, "SELECT labeler_id, count(*) FROM labels WHERE status = 'ok' GROUP BY labeler_id")
    assert found == [("one", 200), ("two", 200)]


def test_a_disk_that_is_full_is_one_line_and_loses_nothing(server: ServerProcess, forks: Forks, tmp_path: Path) -> None:
    judges = {"fake": {"model": "fake-1", "prompt": "quati-pt"}}
    config = workspace(tmp_path, [pair("q1", f"d{i}") for i in range(300)], judges)
    server.script(id_pattern=ID_PATTERN)
    # No file may grow beyond this, which the empty database and some labels fit into.
    limited = (
        "import resource, signal; resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000)); "
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); from quati_pool.cli.main import main; main()"
    )
    full = subprocess.run(
        [sys.executable, "-c", limited, "judge", "-c", str(config)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert full.returncode == 1
    line = full.stderr.strip().splitlines()[-1]
    assert line.startswith("quati-pool: ")
    assert "Traceback" not in full.stderr
    assert "run the same command again" in line
    kept = committed(tmp_path)
    assert finished(forks.start("judge", "-c", config))[0] == 0
    assert rows(tmp_path, "SELECT count(*) FROM labels WHERE status = 'ok'") == [(300,)]
    assert 0 < kept < 300
