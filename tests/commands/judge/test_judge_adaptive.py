"""``quati-pool judge --adaptive``: the pool follows from the runs and the grades, whatever breaks in between."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.judge.adaptive import judge_adaptively
from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import judge
from quati_pool.errors import ConfigError
from quati_pool.reporting.reporter import Reporter
from tests.commands.forked_commands import Forks
from tests.commands.judged import rows
from tests.commands.small_collection import SYSTEMS, built, config, make_collection, read_pool, write_settings
from tests.llm.server import PROBE, ServerProcess

KILLS = 5
FEEDING = {tag: {k: v for k, v in SYSTEMS[tag].items() if k != "pool_depth"} for tag in ("bm25s", "words", "lsa")}
FAKE = {"fake": {"model": "fake-1", "prompt": "quati-en"}}
LEXICAL = {"lexical": {"judge": "lexical", "language": "en"}}

METHODS = [
    {"method": "mm-ns", "per_query": 4},
    {"method": "mm-ns", "budget": 16, "random_share": 0.2},
    {"method": "move-to-front", "budget": 14, "per_round": 2},
    {"method": "max-mean", "per_query": 5, "per_round": 2},
    {"method": "active-sampling", "per_query": 4},
]


def collection(folder: Path, judges: dict[str, Any], **pool: Any) -> Path:
    return make_collection(folder, systems=FEEDING, judges=judges, pool={"depth": 8, "extra": "extra.tsv", **pool})


def steered(folder: Path, steered_by: str = "lexical", **pool: Any) -> Path:
    return collection(folder, FAKE | LEXICAL, steered_by=steered_by, **pool)


def graded(folder: Path, labeler: str) -> dict[tuple[str, str], int]:
    found = rows(
        folder, f"SELECT query_id, doc_id, relevance FROM labels WHERE labeler_id = '{labeler}' AND status = 'ok'"
    )
    assert len(found) == len({row[:2] for row in found})
    return {(query_id, doc_id): grade for query_id, doc_id, grade in found}


def pool_of(folder: Path) -> dict[tuple[str, str], tuple[int, str, float | None]]:
    return {
        (row["query_id"], row["doc_id"]): (row["round"], row["reason"], row["inclusion"]) for row in read_pool(folder)
    }


def adaptively(path: Path, name: str | None = None, **options: Any) -> Any:
    return judge_adaptively(path, name, Reporter(), JudgeOptions(**options))


@pytest.mark.parametrize("pool", METHODS, ids=lambda pool: "-".join(map(str, pool.values())))
def test_one_go_is_the_same_as_build_and_judge_in_turn(tmp_path: Path, pool: dict[str, Any]) -> None:
    in_one_go, in_turn = steered(tmp_path / "one", **pool), steered(tmp_path / "turn", **pool)
    report = adaptively(in_one_go)
    assert report.pending.left == 0
    sizes = []
    for _ in range(200):
        built(in_turn)
        sizes.append(len(read_pool(in_turn.parent)))
        if judge(in_turn, "lexical", Reporter()).pending.asked == 0:
            break
    else:
        pytest.fail("it never ends")
    assert len(set(sizes)) > 2, "there were no rounds"
    chosen = pool_of(in_one_go.parent)
    assert chosen == pool_of(in_turn.parent)
    assert graded(in_one_go.parent, "lexical").keys() == chosen.keys()
    assert report.pending.coverage.pairs == len(chosen) == report.pending.asked + report.pending.shared
    by_query = Counter(query_id for query_id, _ in chosen)
    assert len(chosen) <= pool.get("budget", len(chosen))
    # The extra pairs are in it whatever the limit; two of them are of one query each.
    assert max(by_query.values()) <= pool.get("per_query", max(by_query.values()))
    # A second run has nothing to ask, and another build changes nothing.
    again = adaptively(in_one_go)
    assert (again.pending.asked, again.pending.coverage.pairs) == (0, len(chosen))
    before = (in_one_go.parent / "pool.jsonl.gz").read_bytes()
    built(in_one_go)
    assert (in_one_go.parent / "pool.jsonl.gz").read_bytes() == before


def test_the_pool_says_why_each_pair_is_in_it(tmp_path: Path) -> None:
    path = steered(tmp_path, method="mm-ns", budget=40, random_share=0.25)
    adaptively(path)
    chosen = pool_of(tmp_path)
    assert len(chosen) == 40
    reasons = Counter(reason for _, reason, _ in chosen.values())
    # 0.25 of the 40 are drawn at random; the two extra pairs count too.
    assert reasons["random"] == 10
    assert reasons["extra"] + reasons["mm-ns"] == 30
    assert all(inclusion == 1 for _, reason, inclusion in chosen.values() if reason == "extra")
    assert all(inclusion is None for _, reason, inclusion in chosen.values() if reason == "mm-ns")
    assert all(round_ == 1 and 0 < inclusion < 1 for round_, reason, inclusion in chosen.values() if reason == "random")
    rounds = {round_ for round_, _, _ in chosen.values()}
    assert rounds == set(range(1, max(rounds) + 1))


def test_a_labelled_pair_stays_when_the_settings_change(tmp_path: Path) -> None:
    path = steered(tmp_path, method="mm-ns", per_query=4)
    adaptively(path)
    before = graded(tmp_path, "lexical")
    settings = config(systems=FEEDING, judges=LEXICAL)
    pool = {"depth": 8, "method": "move-to-front", "steered_by": "lexical", "budget": 40}
    write_settings(tmp_path, settings | {"pool": pool})
    adaptively(path)
    chosen = pool_of(tmp_path)
    assert before.keys() <= chosen.keys()
    assert len(chosen) == 40
    kept = {pair for pair, (_, reason, _) in chosen.items() if reason == "kept"}
    assert kept <= before.keys()
    # Less budget than there are labels: nothing new, and nothing lost.
    write_settings(tmp_path, settings | {"pool": pool | {"budget": 10}})
    adaptively(path)
    assert pool_of(tmp_path).keys() == chosen.keys()


def test_the_judges_order_needs_its_grades_of_all_candidates(tmp_path: Path) -> None:
    path = steered(tmp_path, method="judge-order", budget=20)
    result, heard = built(path)
    assert result is None
    assert any("waits for lexical's grades of" in line and "judge lexical --adaptive" in line for line in heard.lines)
    report = adaptively(path, limit=5)
    assert report.ended == "limit"
    assert not (tmp_path / "pool.jsonl.gz").exists()
    report = adaptively(path)
    scouted = graded(tmp_path, "lexical")
    assert report.pending.coverage.pairs == len(scouted)
    chosen = pool_of(tmp_path)
    assert len(chosen) == 20
    best = {pair: scouted[pair] for pair, (_, reason, _) in chosen.items() if reason == "judge-order"}
    # In each query, nothing that was left out has a higher grade than what was chosen.
    for query_id in {query_id for query_id, _ in best}:
        taken = [grade for pair, grade in best.items() if pair[0] == query_id]
        rest = [grade for pair, grade in scouted.items() if pair[0] == query_id and pair not in chosen]
        assert min(taken) >= max(rest, default=0)


def test_failures_hold_nothing_up_and_teach_nothing(server: ServerProcess, tmp_path: Path) -> None:
    path = steered(tmp_path, "fake", method="mm-ns", per_query=5)
    server.script(shares={"refusal": 0.3, "empty": 0.2}, seed=3)
    report = adaptively(path, reask=0)
    assert report.error is None
    assert report.pending.coverage.states.keys() > {"ok"}
    assert len(pool_of(tmp_path)) == report.pending.coverage.pairs
    # The same command asks nothing again: what failed is judge's to ask, and then part of the same pool.
    assert adaptively(path).pending.asked == 0
    before = pool_of(tmp_path)
    server.script()
    assert judge(path, "fake", Reporter()).pending.coverage.states.keys() == {"ok"}
    built(path)
    assert pool_of(tmp_path).keys() == before.keys()


def test_a_limit_and_a_budget_of_dollars_end_it_early(server: ServerProcess, tmp_path: Path) -> None:
    path = steered(tmp_path, "fake", method="mm-ns", per_query=6)
    report = adaptively(path, limit=7)
    assert (report.ended, report.pending.asked) == ("limit", 7)
    assert report.pending.left > 0
    assert len(graded(tmp_path, "fake")) == 7
    report = adaptively(path)
    assert (report.ended, report.pending.left) == (None, 0)
    whole = steered(tmp_path / "whole", "fake", method="mm-ns", per_query=6)
    adaptively(whole)
    assert pool_of(tmp_path) == pool_of(whole.parent)


def test_who_steers(tmp_path: Path) -> None:
    path = steered(tmp_path, method="mm-ns", per_query=2)
    with pytest.raises(ConfigError, match="is steered by lexical, not by fake"):
        adaptively(path, "fake")
    path = collection(tmp_path / "depth", LEXICAL)
    with pytest.raises(ConfigError, match="is no adaptive pool; add a method and who steers it"):
        adaptively(path)


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with Forks(tmp_path_factory.mktemp("forks")) as forks:
        yield forks


@pytest.mark.kill
@pytest.mark.parametrize("pool", [{"method": "mm-ns", "per_query": 12}, {"method": "mm-ns", "budget": 72}], ids=str)
def test_five_kills_change_nothing(server: ServerProcess, forks: Forks, tmp_path: Path, pool: dict[str, Any]) -> None:
    unbroken = steered(tmp_path / "unbroken", "fake", **pool)
    broken = steered(tmp_path / "broken", "fake", **pool)
    built(unbroken)
    shutil.copytree(tmp_path / "unbroken", tmp_path / "broken", dirs_exist_ok=True)
    server.script(latency=0.03)
    arguments = ("judge", "--adaptive", "--concurrency", 4, "-c")
    assert forks.start(*arguments, unbroken).wait() == 0
    draw = random.Random(7)
    killed = 0
    for _ in range(KILLS):
        process = forks.start(*arguments, broken)
        at = len(known(broken.parent)) + draw.randint(1, 12)
        while process.poll() is None and len(known(broken.parent)) < at:
            pass
        if process.poll() is None:
            process.kill()
            process.wait()
            killed += 1
            assert len(known(broken.parent)) <= pool.get("budget", 12 * 6)
    assert killed >= 4
    process = forks.start(*arguments, broken)
    assert process.wait() == 0, process.said()
    assert pool_of(broken.parent) == pool_of(unbroken.parent)
    assert graded(broken.parent, "fake") == graded(unbroken.parent, "fake")
    assert (broken.parent / "pool.jsonl.gz").read_bytes() == (unbroken.parent / "pool.jsonl.gz").read_bytes()
    # At most what was in flight at each kill was asked twice.
    asked = [entry for entry in server.log() if entry["id"] != PROBE]
    assert len(asked) <= 2 * len(pool_of(unbroken.parent)) + KILLS * 4


def known(folder: Path) -> dict[tuple[str, str], int]:
    try:
        return graded(folder, "fake")
    except Exception:  # the schema may be still in the making
        return {}
