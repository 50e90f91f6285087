"""``quati-pool judge --adaptive``: the pool follows from the runs and the grades, whatever breaks in between."""

from __future__ import annotations

import random
import re
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from quati_pool.commands.annotate.assigning.assign import assign_pairs
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.batch import batch
from quati_pool.commands.judge.adaptive import judge_adaptively
from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import judge
from quati_pool.commands.status.status import status
from quati_pool.errors import ConfigError
from quati_pool.project.events import Listener
from quati_pool.reporting.answers.build import answer as build_answer
from quati_pool.reporting.answers.judge import answer as judge_answer
from quati_pool.reporting.json_data.judge import as_data as judge_data
from quati_pool.reporting.reporter import Reporter
from quati_pool.reporting.tables.build import tables as build_tables
from tests.commands.annotate.people_at_work import answer, token
from tests.commands.forked_commands import Forks
from tests.commands.judged import rows
from tests.commands.small_collection import (
    SYSTEMS,
    built,
    config,
    make_collection,
    passages,
    read_pool,
    write_corpus,
    write_settings,
)
from tests.llm.server import PROBE, ServerProcess

pytestmark = pytest.mark.slow

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


def test_it_stops_when_told_to_although_it_waits_for_answers(server: ServerProcess, tmp_path: Path) -> None:
    path = steered(tmp_path, "fake", method="mm-ns", per_query=6)
    server.script(latency=0.3)
    stop = threading.Event()
    timer = threading.Timer(1.5, stop.set)
    timer.start()
    report = judge_adaptively(path, None, Reporter(), JudgeOptions(), stop)
    timer.join()
    assert report.ended == "interrupted"
    assert isinstance(report.fault, KeyboardInterrupt)
    assert 0 < report.pending.asked < 36
    # What was answered is in the pool, with what is to be asked next.
    assert graded(tmp_path, "fake").keys() <= pool_of(tmp_path).keys()
    assert report.pending.coverage.pairs <= len(pool_of(tmp_path))


def test_who_steers(tmp_path: Path) -> None:
    path = steered(tmp_path, method="mm-ns", per_query=2)
    with pytest.raises(ConfigError, match="is steered by lexical, not by fake"):
        adaptively(path, "fake")
    path = collection(
        tmp_path / "panel", LEXICAL | {"panel": {"people": "majority"}}, steered_by="panel", method="mm-ns", per_query=2
    )
    with pytest.raises(ConfigError, match="is steered by panel, whom no command asks; run: quati-pool build"):
        adaptively(path)
    path = collection(tmp_path / "depth", LEXICAL)
    with pytest.raises(ConfigError, match="is no adaptive pool; add a method and who steers it"):
        adaptively(path)


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with Forks(tmp_path_factory.mktemp("forks")) as forks:
        yield forks


# ---- What is in the way


def test_pairs_in_an_open_batch_are_neither_asked_nor_taken_for_ungraded(server: ServerProcess, tmp_path: Path) -> None:
    path = steered(tmp_path, "fake", method="mm-ns", per_query=5)
    built(path)
    in_batch = pool_of(tmp_path)
    assert batch.submit(path, "fake", Listener(), JudgeOptions())
    report = adaptively(path)
    # The next pairs of a query follow from those in the batch, so that none can be asked about.
    assert (report.pending.asked, report.pending.in_batches) == (0, len(in_batch))
    assert report.pending.coverage.lacks == {"never asked": len(in_batch)}
    assert "batch collect fake" in str(report.fault)
    assert pool_of(tmp_path) == in_batch
    while batch.collect(path, "fake", Listener()).rows[0].batch.status != "collected":
        pass
    assert adaptively(path).pending.left == 0
    unbroken = steered(tmp_path / "unbroken", "fake", method="mm-ns", per_query=5)
    adaptively(unbroken)
    assert pool_of(tmp_path) == pool_of(unbroken.parent)
    assert graded(tmp_path, "fake") == graded(unbroken.parent, "fake")


def test_a_limit_leaves_the_rest_never_asked(tmp_path: Path) -> None:
    path = steered(tmp_path, method="judge-order", budget=20)
    report = adaptively(path, limit=3)
    candidates = report.pending.total
    assert report.pending.coverage.pairs == candidates > 40
    assert report.pending.coverage.lacks == {"never asked": candidates - 3}
    assert report.pending.left == candidates - 3
    assert report.pool is None


def test_samples_narratives_duplicates_and_passages_without_text(server: ServerProcess, tmp_path: Path) -> None:
    judge_settings = {"fake": {"model": "fake-1", "prompt": "quati-en", "samples": 3, "temperature": 0.5}}
    path = collection(tmp_path, judge_settings, steered_by="fake", method="mm-ns", per_query=6)
    texts = passages()
    # p00, p06, p12, … are of one topic: three of them read alike, and one has no text.
    texts |= {"p06": texts["p00"], "p12": texts["p00"], "p18": "  "}
    write_corpus(tmp_path / "corpus.jsonl", texts)
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    del settings["pool"]["extra"]
    runs = [
        {"q1": ["p18", "p00", "p06", "p12", "p24", "p30", "p36"]},
        {"q1": ["p24", "p18", "p12", "p06", "p42", "p00"]},
    ]
    settings["systems"] = {}
    for number, run in enumerate(runs):
        lines = [f"{q} Q0 {d} {rank} {9 - rank} s{number}" for q, docs in run.items() for rank, d in enumerate(docs, 1)]
        (tmp_path / f"s{number}.run").write_text("\n".join(lines) + "\n", encoding="utf-8")
        settings["systems"][f"s{number}"] = {"retriever": "run", "path": f"s{number}.run"}
    write_settings(tmp_path, settings)
    report = adaptively(path)
    assert report.fault is None
    chosen = pool_of(tmp_path)
    assert len(chosen) == 6
    assert report.pending.coverage.states["no_text"] == 1
    # Of the six, two share the grades of a third, and one is not asked about.
    assert report.pending.shared == 2
    assert len([entry for entry in server.log() if entry["id"] != PROBE]) == 3 * (6 - 2 - 1)
    assert adaptively(path).pending.asked == 0
    built(path)
    assert pool_of(tmp_path) == chosen


def test_two_at_once_and_a_build_in_between(forks: Forks, tmp_path: Path) -> None:
    path = steered(tmp_path, method="mm-ns", budget=40)
    built(path)
    processes = [
        forks.start("judge", "--adaptive", "-c", path),
        forks.start("build", "-c", path),
        forks.start("judge", "--adaptive", "-c", path),
    ]
    assert [process.wait() for process in processes] == [0, 0, 0]
    built(path)
    assert pool_of(tmp_path).keys() == graded(tmp_path, "lexical").keys()
    assert len(pool_of(tmp_path)) == 40


def test_on_both_engines(made_url: str, tmp_path: Path) -> None:
    path = steered(tmp_path, method="mm-ns", budget=30)
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    write_settings(tmp_path, settings | {"labels": {"url": made_url}})
    adaptively(path)
    before = pool_of(tmp_path)
    assert len(before) == 30
    # They are labelled, and stay under another method.
    settings["pool"] |= {"method": "move-to-front", "budget": 31}
    write_settings(tmp_path, settings | {"labels": {"url": made_url}})
    adaptively(path)
    assert pool_of(tmp_path).keys() > before.keys()
    assert len(pool_of(tmp_path)) == 31


# ---- What is said


def test_the_answer_counts_what_was_chosen_what_stays_and_what_may_follow(tmp_path: Path) -> None:
    path = steered(tmp_path, method="mm-ns", per_query=4)
    report = adaptively(path)
    said = judge_answer(report).sentences
    number = len(pool_of(tmp_path)) - 2
    assert re.fullmatch(
        rf"mm-ns chose {number} of \d+ candidate pairs by the grades of lexical in \d rounds\.", said[1]
    ), "but for the extra pairs"
    assert said[2] == "It is complete."
    data = judge_data(report)["pool"]
    assert data["pairs"] == len(pool_of(tmp_path)) == sum(data["reasons"].values())
    assert (data["further"], data["candidates"]) == (0, len(report.pool.chosen.frame))
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    # Hardly any of what was chosen is a candidate still.
    settings["pool"] |= {"depth": 1}
    write_settings(tmp_path, settings)
    result, _ = built(path)
    assert result is not None
    reasons = Counter(reason for _, reason, _ in pool_of(tmp_path).values())
    said = " ".join(build_answer(result).sentences)
    assert said.startswith(f"mm-ns chose {reasons['mm-ns']} of {len(result.chosen.frame)} candidate pairs")  # type: ignore[union-attr]
    assert f"{reasons['kept']} pairs stay in the pool from before, as they were labelled." in said
    assert reasons["mm-ns"] <= len(result.chosen.frame)  # type: ignore[union-attr]
    table = next(table for table in build_tables(result) if table.title == "Why pairs are in the pool")
    assert {row[0]: row[1] for row in table.rows} == reasons


def test_a_depth_pool_in_its_place_says_what_leaves(tmp_path: Path) -> None:
    path = steered(tmp_path, method="mm-ns", per_query=4)
    adaptively(path)
    before = pool_of(tmp_path)
    settings = config(systems=FEEDING, judges=LEXICAL)
    write_settings(tmp_path, settings | {"pool": {"depth": 1}})
    _, heard = built(path)
    gone = len(before.keys() - pool_of(tmp_path).keys())
    assert gone > 0
    assert any(f"pool: {gone} labelled pairs are in it no longer" in line for line in heard.lines)
    assert len(graded(tmp_path, "lexical")) == len(before)
    _, heard = built(path)
    assert not any("no longer" in line for line in heard.lines)


def test_a_depth_pool_with_a_random_share_knows_the_probabilities_of_that_alone(tmp_path: Path) -> None:
    path = collection(tmp_path, LEXICAL, budget=24, random_share=0.5)
    built(path)
    by_reason: dict[str, set[float | None]] = {}
    for _, reason, inclusion in pool_of(tmp_path).values():
        by_reason.setdefault(reason, set()).add(inclusion)
    # How far the depth goes follows from what was drawn.
    assert by_reason["depth"] == {None}
    assert None not in by_reason["random"]
    path = collection(tmp_path, LEXICAL, budget=24)
    built(path)
    assert {inclusion for _, _, inclusion in pool_of(tmp_path).values()} == {1.0}


def test_status_says_who_is_next(tmp_path: Path) -> None:
    def step() -> tuple[str, ...]:
        found = status(path).next
        assert found is not None
        return found.command

    path = collection(
        tmp_path,
        LEXICAL | {"panel": {"people": "majority"}},
        steered_by="panel",
        method="mm-ns",
        per_query=4,
        per_round=2,
    )
    assert step() == ("build",)
    built(path)
    assert step() == ("assign", "--all")
    with AnnotationSession.open(path) as session:
        mine = token(session, "ana")
        assign_pairs(session, AssignOptions(everything=True, to=("ana",)))
        assert step() == ("annotate",)
        number = 0
        while (item := next_item(session, mine)) is not None:
            submit(session, mine, item, answer(number, number % 4))
            number += 1
    before = pool_of(tmp_path)
    assert number == len(before)
    if status(path).state.pool.further:
        assert step() == ("build",)
    built(path)
    assert pool_of(tmp_path).keys() >= before.keys()


# ---- Methods of one's own


OWN = """\
from quati_pool.pooling.methods.base import PoolMethod, Proposal


class Last(PoolMethod):
    summary = "the last candidates first"

    def propose(self):
        left = [candidate for candidate in range(self.rankings.size) if not self.chosen[candidate]]
        return Proposal(left[-1], 0.0) if left else None
"""


def test_a_method_in_a_file(tmp_path: Path) -> None:
    path = steered(tmp_path, method="mine.py:Last", per_query=3)
    (tmp_path / "mine.py").write_text(OWN, encoding="utf-8")
    adaptively(path)
    chosen = pool_of(tmp_path)
    own = {pair for pair, (_, reason, _) in chosen.items() if reason == "mine.py:Last"}
    assert len(own) >= 16
    built(collection(tmp_path, LEXICAL))
    everything = {(row["query_id"], row["doc_id"]) for row in read_pool(tmp_path) if row["reason"] == "depth"}
    for query_id in {query_id for query_id, _ in own}:
        last = sorted(pair for pair in everything if pair[0] == query_id)[-3:]
        assert {pair for pair in own if pair[0] == query_id} <= set(last)


@pytest.mark.parametrize("proposal", ["Proposal(0, 0.0)", "Proposal(10**6, 0.0)", "Proposal(-1, 0.0)", "3"])
def test_a_method_that_proposes_what_it_cannot_have_is_refused(tmp_path: Path, proposal: str) -> None:
    path = steered(tmp_path, method="mine.py:Last", per_query=3)
    (tmp_path / "mine.py").write_text(OWN.replace("Proposal(left[-1], 0.0)", proposal), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"pool method Last proposes .* one that is not chosen yet"):
        adaptively(path)


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
