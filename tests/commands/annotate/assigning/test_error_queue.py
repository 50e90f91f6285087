"""Queues of pairs in which people look for errors: which pairs, in which order, and that nothing is estimated from
them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from quati_pool.annotation.near_duplicate_passages import near_duplicates
from quati_pool.commands.agree import agree
from quati_pool.commands.annotate import team
from quati_pool.commands.annotate.assigning.assign import AssignReport, assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.estimates.estimate import estimate
from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.commands.export.labels import export_labels
from quati_pool.commands.export.prels import export_prels
from quati_pool.errors import QuatiPoolError
from quati_pool.files.pools import read_pool
from quati_pool.reporting.answers.annotation import assigned
from quati_pool.reporting.json_data.annotate import as_data
from quati_pool.reporting.tables.assign import tables
from tests.commands.annotate.people_at_work import answer, token
from tests.estimated_workspace import JUDGE, Pair, grade, judged, judged_workspace, label, relevance

OTHER = "mistral"
SETTINGS: dict[str, Any] = {
    "judges": {
        JUDGE: {"model": "gpt-4o-2024-11-20", "prompt": "quati-en"},
        OTHER: {"model": "mistral-7b", "prompt": "quati-en"},
    }
}
_SAME = "the same long passage about farms and rivers in the north of the country, number"


def others(pair: Pair) -> int:
    """The second judge's grade: 3 less the first one's in every fourth query, else the same."""
    return 3 - judged(pair) if int(pair[0][1:]) % 4 == 0 else judged(pair)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = judged_workspace(tmp_path_factory.mktemp("queued") / "workspace", **SETTINGS)
    with AnnotationSession.open(config) as session:
        version = session.grading.labeler(OTHER).version
    label(config, OTHER, others, kind="judge", version=version)
    return config.parent


@pytest.fixture
def config(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "workspace")) / "pool.yaml"


def queued(config: Path, queue: str, expect: int = 12, **options: Any) -> AssignReport:
    return assign(config, AssignOptions(queue=queue, expect=expect, **options))


def chosen(report: AssignReport, config: Path) -> set[Pair]:
    rows = pool(config)
    return {rows[row] for row in report.sample.rows.tolist()}


def pool(config: Path) -> list[Pair]:
    return [(one.query_id, one.doc_id) for block in read_pool(config.parent / "pool.jsonl.gz") for one in block]


def ranks(config: Path) -> dict[Pair, list[int]]:
    """The ranks of each pair, of the systems that returned it."""
    found: dict[Pair, list[int]] = {}
    for run in sorted((config.parent / "runs").glob("*.trec.gz")):
        from quati_pool.files.runs import read_run

        rows = read_run(run)
        pairs = zip(rows.queries.decode(rows.query).to_pylist(), rows.docs.decode(rows.doc).to_pylist(), strict=True)
        for pair, rank in zip(pairs, rows.rank.tolist(), strict=True):
            found.setdefault(pair, []).append(rank)
    return found


def served(config: Path, name: str = "ana") -> list[Pair]:
    """The pairs that somebody gets, as they grade all of them."""
    found = []
    with AnnotationSession.open(config) as session:
        mine = token(session, name)
        while (item := next_item(session, mine)) is not None:
            found.append((item.query_id, item.doc_id))
            submit(session, mine, item, answer(item.assignment_id or 0, relevance(found[-1])))
    return found


def test_what_the_judge_is_sure_of_with_most_support_comes_first(config: Path) -> None:
    report = queued(config, "sure-relevant")
    rank = ranks(config)

    def key(pair: Pair) -> tuple[int, int, int]:
        return (-judged(pair), -sum(one <= 10 for one in rank[pair]), min(rank[pair]))

    order = sorted((pair for pair in pool(config) if judged(pair) >= 2), key=key)
    mine = chosen(report, config)
    assert len(mine) == 12
    # Equal keys come in a random order: none that is left out has a better key than one that is in.
    assert max(map(key, mine)) <= min(key(pair) for pair in order if pair not in mine)
    assert report.notes == ["by the grades of gpt-4o: 12 of grade 3"]
    with AnnotationSession.open(config) as session:
        [design] = session.designs.all()
        selections = session.designs.selections(1)
        assert session.designs.frame(1) is None
    assert (design.method, design.is_random, design.parameters["queue"]) == ("imported", False, "sure-relevant")
    assert design.parameters["judge"] == JUDGE
    assert {one.stratum for one in selections} == {"sure-relevant"}
    first = served(config)
    assert set(first) == mine
    # Queries come in the order of their best pairs.
    assert judged(first[0]) == 3
    assert len(list(dict.fromkeys(query for query, _ in first))) == len({query for query, _ in mine})


def test_a_queue_goes_on_where_people_have_graded(config: Path) -> None:
    first = queued(config, "sure-relevant")
    assert queued(config, "sure-relevant").known == first.design_id
    larger = queued(config, "sure-relevant", 20)
    assert chosen(larger, config) > chosen(first, config)
    assert larger.added_pairs == 8
    done = set(served(config))
    then = queued(config, "sure-relevant")
    assert not chosen(then, config) & done
    every = queued(config, "sure-relevant", 500)
    assert chosen(every, config) == {pair for pair in pool(config) if judged(pair) >= 2} - done
    assert every.notes[1].endswith("at present, fewer than 500")


def test_judges_that_contradict_each_other_most_come_first(config: Path) -> None:
    report = queued(config, "contradictions", 9)
    gaps = {pair: abs(judged(pair) - others(pair)) for pair in pool(config)}
    mine = chosen(report, config)
    assert len(mine) == 9
    assert min(gaps[pair] for pair in mine) >= max(gaps[pair] for pair in gaps if pair not in mine)
    assert report.notes[0].startswith(f"the grades of {JUDGE} and {OTHER} differ: ")
    with AnnotationSession.open(config) as session:
        assert list(session.designs.all()[0].parameters["judges"]) == [JUDGE, OTHER]
    everything = chosen(queued(config, "contradictions", 500), config)
    assert everything == {pair for pair, gap in gaps.items() if gap}


def test_people_contradict_a_judge_until_two_have_graded(tmp_path: Path) -> None:
    alone = judged_workspace(tmp_path / "alone", queries=9)
    with pytest.raises(QuatiPoolError, match="--queue contradictions compares two judges or more"):
        queued(alone, "contradictions")
    assign(alone, AssignOptions(random="30", seed=4))
    grade(alone, queries=9)
    with AnnotationSession.open(alone) as session:
        graded = [(one.query_id, one.doc_id) for one in session.designs.selections(1)]
    apart = {pair for pair in graded if judged(pair) != relevance(pair)}
    report = queued(alone, "contradictions", 100)
    assert chosen(report, alone) == apart
    # Who graded a pair is not asked again, and one person is enough unless two are to grade it.
    assert report.added_slots == 0
    assert f"{len(apart)} pairs have a person's grade already; --overlap 2 asks another person" in report.notes
    second = queued(alone, "contradictions", 100, overlap=2)
    assert second.added_slots == len(apart)
    assert set(served(alone, "bia")) == apart
    assert chosen(queued(alone, "contradictions", 100, overlap=2), alone) == set()


def test_passages_that_are_nearly_the_same_come_together(tmp_path: Path) -> None:
    config = judged_workspace(tmp_path / "twins", queries=9)
    corpus = config.parent / "corpus.jsonl"
    lines = [json.loads(line) for line in corpus.read_text("utf-8").splitlines()]
    for number, line in enumerate(lines):
        line["text"] = f"{_SAME} {number % 10}" if number < 20 else line["text"]
    corpus.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    from quati_pool.commands.build import build
    from quati_pool.project.events import Listener

    build(config, Listener())
    label(config, JUDGE, judged, kind="judge", version=_version(config, JUDGE))
    report = queued(config, "near-duplicates", 500)
    wanted: set[Pair] = set()
    for block in read_pool(config.parent / "pool.jsonl.gz"):
        texts = [one.text for one in block]
        for place, alike in enumerate(near_duplicates(texts)):
            for other, _ in alike:
                two = [(block[at].query_id, block[at].doc_id) for at in (place, other)]
                if judged(two[0]) != judged(two[1]):
                    wanted |= set(two)
    assert len(wanted) > 10
    assert chosen(report, config) == wanted
    few = chosen(queued(config, "near-duplicates", 5), config)
    # Passages come two at a time, the widest gap first.
    assert 2 <= len(few) <= 5
    assert max(judged(a) - judged(b) for a in few for b in few if a[0] == b[0]) == max(
        judged(a) - judged(b) for a in wanted for b in wanted if a[0] == b[0]
    )


def _version(config: Path, name: str) -> str | None:
    with AnnotationSession.open(config) as session:
        return session.grading.labeler(name).version


def test_nothing_is_estimated_from_a_queue(config: Path, tmp_path: Path) -> None:
    queued(config, "sure-relevant", 40)
    served(config)
    with pytest.raises(QuatiPoolError, match="no design drew pairs at random"):
        estimate(config, EstimateSettings())
    with pytest.raises(QuatiPoolError, match="design 1 is the queue of sure-relevant: its pairs were chosen"):
        estimate(config, EstimateSettings(design=1))
    with pytest.raises(QuatiPoolError, match="no design says how pairs were drawn"):
        export_prels(config, "ana", tmp_path / "ana.prels")
    with pytest.raises(QuatiPoolError, match="--design 1: there is no such design of a sample"):
        export_prels(config, "ana", tmp_path / "ana.prels", design=1)
    export_labels(config, "ana", None, tmp_path / "ana.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "ana.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 40
    assert {(row["stratum"], row.get("inclusion")) for row in rows} == {("sure-relevant", None)}


def test_a_queue_changes_neither_what_a_sample_estimates_nor_how_agreement_is_weighted(config: Path) -> None:
    assign(config, AssignOptions(stratified=70, by=("grade",), judge=JUDGE, minimum=12))
    grade(config, queries=14)
    before = estimate(config, EstimateSettings())
    (agreement,) = agree(config, ("ana", JUDGE), draws=20).pairs
    assert agreement.weighting is not None
    added = queued(config, "sure-relevant", 20)
    served(config, "bia")
    assert added.added_slots == 20
    again = estimate(config, EstimateSettings(people="ana"))
    by_tag = {one.run_tag: one.estimate for one in before.estimates[0].systems}
    assert {one.run_tag: one.estimate for one in again.estimates[0].systems} == pytest.approx(by_tag)
    # Nobody graded a pair of the queue by a design with known probabilities.
    (sample, queue) = agree(config, ("ana", "bia", JUDGE), draws=20).pairs[1:]
    assert sample.weighting is not None
    assert (sample.weighting.designs, sample.n) == (agreement.weighting.designs, agreement.n)
    assert sample.values == pytest.approx(agreement.values, nan_ok=True)
    assert (queue.a, queue.b, queue.n, queue.weighting) == ("bia", JUDGE, 20, None)


def test_what_is_printed_says_that_it_is_no_sample(config: Path) -> None:
    report = queued(config, "sure-relevant", dry_run=True)
    assert "(queue of sure-relevant, no sample), for 1 person each." in assigned(report).sentences[0]
    assert "seed" not in assigned(report).sentences[0]
    assert [table.title for table in tables(report)] == ["Assignment", "Who grades them"]
    found = as_data(report)
    assert (found["method"], found["queue"]) == ("imported", "sure-relevant")
    assert "strata" not in found


def test_leads_see_which_queue_a_design_is(config: Path) -> None:
    queued(config, "contradictions", 5)
    assign(config, AssignOptions(pairs_for="nDCG@5", expect=30, by=("disagreement",)))
    with AnnotationSession.open(config) as session:
        weighted, queue = team.designs(session, token(session, "lea", "lead"))
    assert (queue.method, queue.queue, queue.by, queue.judges) == ("imported", "contradictions", None, (JUDGE, OTHER))
    assert (weighted.queue, weighted.by, weighted.judges) == (None, "disagreement", (JUDGE, OTHER))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown queue": ({"queue": "sure"}, "--queue sure: there is no such queue; "),
    "no number": ({"expect": None}, "--queue needs the number of pairs: --expect 50"),
    "two ways": ({"random": "5"}, "choose the pairs in exactly one way: "),
    "a rate": ({"rate": "10%"}, "--rate, --expect, --for and --uniform say which pairs to draw for a measure"),
    "several judges": (
        {"judge": JUDGE, "further_judges": (OTHER,)},
        "several judges are compared by --by disagreement and --queue contradictions only; name one --judge",
    ),
    "a judge that is not there": ({"judge": "gpt-5"}, "there is no labeler 'gpt-5'"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_what_cannot_be_queued_is_refused_in_one_line(config: Path, fault: str) -> None:
    options, message = REFUSED[fault]
    with pytest.raises(QuatiPoolError) as refused:
        assign(config, AssignOptions(**{"queue": "sure-relevant", "expect": 9, **options}))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_empty_queue_is_an_answer(tmp_path: Path) -> None:
    config = judged_workspace(tmp_path / "distinct", queries=9)
    report = queued(config, "near-duplicates")
    assert (len(report.sample), report.design_id) == (0, None)
    assert assigned(report).sentences[1] == "There are no near-duplicates to look at, so nothing was added."
