"""``estimate`` in a workspace: which of people's labels count, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import ir_measures
import numpy as np
import pytest

from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.assigning.withdraw import withdraw
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.build import build
from quati_pool.commands.estimates.estimate import EstimateReport, estimate
from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.commands.evaluate import Settings, evaluate
from quati_pool.errors import QuatiPoolError
from quati_pool.estimation.results import SystemEstimate
from quati_pool.files.pools import read_pool
from quati_pool.files.runs import read_run
from quati_pool.project.events import Listener
from quati_pool.reporting.answers.estimate import answer
from quati_pool.store.records import ADJUDICATED
from tests.cli.conftest import Cli, cli
from tests.commands.annotate.people_at_work import collection, pairs
from tests.estimated_workspace import (
    GRADED,
    JUDGE,
    NOISE,
    QUERIES,
    Pair,
    draw,
    grade,
    judged_workspace,
    label,
    relevance,
)

__all__ = ["cli"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that nobody but the judge has graded; not to be changed."""
    return judged_workspace(tmp_path_factory.mktemp("judged") / "workspace").parent


@pytest.fixture
def config(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(made, tmp_path / "workspace")) / "pool.yaml"


def by_tag(report: EstimateReport) -> dict[str, SystemEstimate]:
    return {one.run_tag: one for one in report.estimates[0].systems}


def people_means(report: EstimateReport) -> list[float]:
    return [one.people_only.estimate for one in by_tag(report).values()]


def order_of_queries(config: Path) -> list[str]:
    """The queries of design 1 in its random order."""
    with AnnotationSession.open(config) as session:
        return list(session.designs.query_order(1))


def test_estimates_of_the_completed_queries(finished_estimates: Path) -> None:
    config = finished_estimates / "pool.yaml"
    report = estimate(config, EstimateSettings())
    [found] = report.estimates
    drawn = report.drawn
    assert (found.measure, found.target, report.judge, report.people) == ("nDCG@5", "these-queries", JUDGE, "ana")
    assert (drawn.unit, drawn.queries, drawn.labelled, drawn.design) == (
        "queries", QUERIES, GRADED, "design 1 (random queries, seed 0)",
    )  # fmt: skip
    assert drawn.covered == drawn.pairs > drawn.labels
    assert report.aggregation is None
    assert "under the grades of ana, for these 14 queries" in report.statement(found)
    assert dict(drawn.left_out) == {"not graded in full": 2, "graded ahead of the random order": 0}
    # People's part is what evaluate computes from the same grades, and the judge's what it does from all of them.
    for name, values in (
        ("ana", {tag: one.people_only.estimate for tag, one in by_tag(report).items()}),
        (JUDGE, {tag: one.judge_only for tag, one in by_tag(report).items()}),
    ):
        [board] = evaluate(config, [name], settings=Settings(draws=0)).conditions
        assert {row.run_tag: row.measures["nDCG@5"].mean for row in board.board.rows} == pytest.approx(values)
    assert all(one.low < one.estimate < one.high for one in found.systems)
    assert len(found.differences) == 6


def test_the_census_is_what_people_grade_on_average_without_an_interval(config: Path) -> None:
    draw(config, QUERIES)
    grade(config, queries=QUERIES)
    report = estimate(config, EstimateSettings())
    assert report.drawn.labelled == QUERIES
    [board] = evaluate(config, ["ana"], settings=Settings(draws=0)).conditions
    means = {row.run_tag: row.measures["nDCG@5"].mean for row in board.board.rows}
    assert {tag: one.estimate for tag, one in by_tag(report).items()} == pytest.approx(means)
    for one in by_tag(report).values():
        assert (one.low, one.high) == pytest.approx((one.estimate, one.estimate))
    said = report.statement(report.estimates[0])
    assert f"{QUERIES} queries ({report.drawn.pairs} pairs), which are all: design 1" in said
    assert "; sampling leaves no error; disagreement among assessors, " in said
    assert "; 6 comparisons; 1 look; " in said


def test_a_census_with_a_pair_that_nobody_could_judge_decides_nothing_and_says_why(config: Path) -> None:
    draw(config, QUERIES)
    refused: list[Pair] = []

    def once(pair: Pair) -> int | None:
        refused.append(pair)
        return None if len(refused) == 1 else relevance(pair)

    grade(config, queries=QUERIES, relevance_of=once)
    report = estimate(config, EstimateSettings())
    assert {one.verdict for one in report.estimates[0].differences} == {"inconclusive"}
    assert "no query is left to grade, and people could not judge some pairs" in answer(report).sentences[0]


def test_queries_graded_ahead_of_the_random_order_are_left_out(config: Path) -> None:
    order = draw(config, 12)
    label(config, "ana", queries=order[:8])
    before = estimate(config, EstimateSettings())
    label(config, "ana", queries=order[9:11])
    report = estimate(config, EstimateSettings())
    assert dict(report.drawn.left_out) == {
        "not graded in full": 2, "graded ahead of the random order": 2,
    }  # fmt: skip
    assert by_tag(report) == by_tag(before)
    label(config, "ana", queries=order[8:9])
    assert estimate(config, EstimateSettings()).drawn.labelled == 11


def test_queries_that_were_not_drawn_do_not_count(config: Path) -> None:
    order = draw(config, 9)
    label(config, "ana", queries=order)
    before = estimate(config, EstimateSettings())
    label(config, "ana")
    after = estimate(config, EstimateSettings())
    assert after.drawn == before.drawn
    assert by_tag(after) == by_tag(before)


@pytest.mark.parametrize("count", [0, 7])
def test_fewer_than_8_completed_queries_are_refused(config: Path, count: int) -> None:
    order = draw(config, 9)
    label(config, "ana", queries=order[:count] or order[1:2])
    with pytest.raises(
        QuatiPoolError, match=rf"^design 1 .*: {count} queries.* an interval needs at least 8"
    ) as refused:
        estimate(config, EstimateSettings())
    assert "\n" not in str(refused.value)


def test_without_a_random_design_labels_say_nothing_about_the_others(config: Path, cli: Cli) -> None:
    label(config, "ana")
    with pytest.raises(QuatiPoolError, match="no design drew pairs at random"):
        estimate(config, EstimateSettings())
    assign(config, AssignOptions(queries=["q00", "q01"]))
    with pytest.raises(QuatiPoolError, match="no design drew pairs at random"):
        estimate(config, EstimateSettings())
    with pytest.raises(QuatiPoolError, match=r"design 1 \(queries\) was chosen, not drawn at random"):
        estimate(config, EstimateSettings(design=1))
    refused = cli("estimate", "-c", str(config))
    assert (refused.status, refused.out) == (1, "")
    assert refused.err.startswith("quati-pool: no design drew pairs at random")


def test_pairs_that_cannot_be_judged_complete_a_query_and_above_5_percent_show_bounds(config: Path) -> None:
    order = draw(config, 9)

    def unsure(every: int) -> tuple[EstimateReport, int]:
        """Of each ``every`` relevant pairs, one cannot be judged."""
        seen: list[Pair] = []

        def found(pair: Pair) -> int | None:
            seen.extend([pair] if relevance(pair) else [])
            return None if relevance(pair) and len(seen) % every == 0 else relevance(pair)

        label(config, "ana", found, order)
        return estimate(config, EstimateSettings()), len(seen) // every

    few, number = unsure(20)
    assert 0 < number == few.drawn.not_judged
    assert few.drawn.labelled == 9
    assert all(one.bounds is None for one in by_tag(few).values())
    many, number = unsure(5)
    assert many.drawn.not_judged == number > 0.05 * many.drawn.labels
    for one in by_tag(many).values():
        assert one.bounds is not None
        assert one.bounds[0] <= one.estimate <= one.bounds[1]
        assert one.bounds[0] < one.bounds[1]


def test_several_people_count_by_majority_or_mean_or_one_of_them_alone(config: Path) -> None:
    order = draw(config, 9)
    for name in ("ana", "bia"):
        label(config, name, queries=order)
    alone = estimate(config, EstimateSettings())
    # The third always disagrees.
    label(config, "caio", lambda pair: 3 - relevance(pair), order)
    majority = estimate(config, EstimateSettings())
    assert (majority.people, majority.aggregation) == ("3 people", "majority")
    assert people_means(majority) == people_means(alone)
    assert "under the grades of 3 people (majority" in majority.statement(majority.estimates[0])
    mean = estimate(config, EstimateSettings(aggregate="mean"))
    caio = estimate(config, EstimateSettings(people="caio"))
    assert caio.people == "caio"
    assert not np.allclose(people_means(mean), people_means(majority))
    assert not np.allclose(people_means(caio), people_means(majority))


def test_a_pair_that_a_second_person_is_still_to_grade_waits(config: Path) -> None:
    draw(config, 10, overlap=2)
    grade(config, "ana", queries=10)
    with pytest.raises(QuatiPoolError, match=r"^design 1 .*: 0 queries are graded in full"):
        estimate(config, EstimateSettings())
    alone = estimate(config, EstimateSettings(people="ana"))
    assert alone.drawn.labelled == 10
    grade(config, "bia", queries=9)
    both = estimate(config, EstimateSettings())
    assert (both.drawn.labelled, both.drawn.waiting, both.people) == (9, order_of_queries(config)[9], "2 people")
    withdraw(config, 1)
    assert estimate(config, EstimateSettings()).drawn.labelled == 10


def test_a_tie_waits_for_the_third_person_or_a_lead(config: Path) -> None:
    order = draw(config, 9, overlap=3)
    grade(config, "ana", queries=9)
    grade(config, "bia", queries=9, relevance_of=lambda pair: None if relevance(pair) == 3 else 3)
    with pytest.raises(QuatiPoolError, match="0 queries are graded in full"):
        estimate(config, EstimateSettings())
    label(config, ADJUDICATED, queries=order)
    decided = estimate(config, EstimateSettings())
    assert (decided.drawn.labelled, decided.drawn.not_judged, decided.people) == (9, 0, "2 people")


def test_pairs_without_a_majority_are_counted_and_said(config: Path) -> None:
    draw(config, 9, overlap=2)
    grade(config, "ana", queries=9)
    grade(config, "bia", queries=9, relevance_of=lambda pair: 2 if relevance(pair) == 3 else relevance(pair))
    report = estimate(config, EstimateSettings())
    assert 0 < report.drawn.tied == report.drawn.not_judged
    said = f"{report.drawn.tied} pairs have no majority, and count like pairs that could not be judged"
    assert report.drawn.without_majority == said
    assert f"{said}; decide them in the app's review, or ask for --aggregate mean" in report.warnings
    assert estimate(config, EstimateSettings(aggregate="mean")).drawn.without_majority is None


def test_only_people_with_a_label_in_the_sample_are_counted(config: Path) -> None:
    order = draw(config, 9)
    label(config, "ana", queries=order)
    label(config, "bia", queries=[f"q{number:02}" for number in range(QUERIES) if f"q{number:02}" not in order])
    assert estimate(config, EstimateSettings()).people == "ana"


def test_the_query_that_later_ones_wait_for_is_named(config: Path) -> None:
    order = draw(config, 12)
    label(config, "ana", queries=order[:8])
    assert estimate(config, EstimateSettings()).warnings == ()
    label(config, "ana", queries=order[9:11])
    said = f"query '{order[8]}' waits, and later ones are done, which count only after it"
    assert said in estimate(config, EstimateSettings()).warnings


def test_the_pool_must_be_the_one_that_was_drawn_from(config: Path) -> None:
    order = draw(config, 9)
    label(config, "ana", queries=order)
    shallow = config.read_text("utf-8").replace("depth: 5\n", "depth: 3\n", 1)
    config.write_text(shallow, "utf-8")
    build(config, Listener())
    with pytest.raises(QuatiPoolError, match=r"pairs that design 1 was drawn from are no longer in the pool"):
        estimate(config, EstimateSettings())


def test_another_judge_or_none(config: Path, tmp_path: Path) -> None:
    label(config, "ana", queries=draw(config, 9))
    with pytest.raises(QuatiPoolError, match="there is no labeler 'gpt-5' in estimated"):
        estimate(config, EstimateSettings(judge="gpt-5"))
    unjudged = collection(tmp_path / "unjudged", pairs(9, 2))
    draw(unjudged, 9)
    label(unjudged, "ana")
    with pytest.raises(QuatiPoolError, match="no judge has graded the pool"):
        estimate(unjudged, EstimateSettings())


def test_people_are_no_judge(config: Path) -> None:
    label(config, "ana", queries=draw(config, 9))
    label(config, "bia")
    for people, judge in ((None, "bia"), ("ana", "bia"), (JUDGE, JUDGE)):
        with pytest.raises(QuatiPoolError, match=rf"^--judge {judge}: people's grades are what is estimated"):
            estimate(config, EstimateSettings(people=people, judge=judge))


def test_a_judge_that_graded_what_was_drawn_and_little_else_is_refused(config: Path, cli: Cli) -> None:
    order = draw(config, 9)
    label(config, "ana", queries=order)
    blocks = {block[0].query_id: block for block in read_pool(config.parent / "pool.jsonl.gz")}
    qrels, others = config.with_name("some.qrels"), sorted(blocks.keys() - order)
    for graded, refused in ((2, True), (3, False)):
        rows = [(one.query_id, one.doc_id) for query_id in order + others[:graded] for one in blocks[query_id]]
        qrels.write_text("".join(f"{q} 0 {d} {relevance((q, d))}\n" for q, d in rows), encoding="utf-8")
        found = cli("estimate", "-c", str(config), "--judge", f"some={qrels}")
        assert (found.status == 1) == refused
        assert ("some graded the drawn queries, and no pair of 3 of the 5 others" in found.err) == refused


def test_the_remedy_where_nobody_graded_depends_on_what_was_drawn(config: Path) -> None:
    with pytest.raises(QuatiPoolError, match=r"^no person has graded anything; draw pairs with .* and have them grad"):
        estimate(config, EstimateSettings())
    draw(config, 9)
    with pytest.raises(QuatiPoolError, match=r"^no person has graded anything; have them graded with quati-pool annot"):
        estimate(config, EstimateSettings())


def test_the_command_prints_the_answer_and_writes_the_files(finished_estimates: Path, cli: Cli, tmp_path: Path) -> None:
    found = cli("estimate", "-c", str(finished_estimates / "pool.yaml"), "-o", str(tmp_path / "out"))
    assert (found.status, len(found.out.splitlines()) <= 40) == (0, True)
    assert "used as covariate, never as truth" in found.out.replace("\n", " ")
    assert (tmp_path / "out" / "estimate.json").exists()


def condensed_means(config: Path, without: set[Pair]) -> dict[str, float]:
    """nDCG@5 by ir_measures, as if these pairs had never been found."""
    pool = {(one.query_id, one.doc_id) for block in read_pool(config.parent / "pool.jsonl.gz") for one in block}
    qrels = [ir_measures.Qrel(*pair, relevance(pair)) for pair in pool - without]
    means = {}
    for run_tag in NOISE:
        run = read_run(config.parent / "runs" / f"{run_tag}.trec.gz", run_tag)
        ids = zip(run.queries.decode(run.query).to_pylist(), run.docs.decode(run.doc).to_pylist(), strict=True)
        rows = [
            ir_measures.ScoredDoc(*pair, float(score))
            for pair, score in zip(ids, run.score.tolist(), strict=True)
            if pair not in without
        ]
        measure = ir_measures.nDCG @ 5
        means[run_tag] = ir_measures.calc_aggregate([measure], qrels, rows)[measure]
    return means


def test_what_could_not_be_judged_leaves_the_rankings_and_bounds_hold_any_grades(config: Path) -> None:
    draw(config, QUERIES)
    missing: set[Pair] = set()
    generator = np.random.default_rng(2)

    def seldom_unsure(pair: Pair) -> int | None:
        if generator.random() < 0.1:
            missing.add(pair)
            return None
        return relevance(pair)

    label(config, "ana", seldom_unsure)
    found = by_tag(estimate(config, EstimateSettings()))
    assert {tag: one.estimate for tag, one in found.items()} == pytest.approx(condensed_means(config, missing))
    whole = condensed_means(config, set())
    for tag, one in found.items():
        assert one.bounds is not None
        assert one.bounds[0] <= whole[tag] <= one.bounds[1]
    assert {one.verdict for one in estimate(config, EstimateSettings()).estimates[0].differences} == {"inconclusive"}


def test_a_new_design_does_not_hide_the_one_that_people_answered(config: Path) -> None:
    draw(config, 10)
    grade(config, queries=10)
    before = estimate(config, EstimateSettings())
    assign(config, AssignOptions(random="60", seed=5))
    after = estimate(config, EstimateSettings())
    assert after.drawn.design == before.drawn.design == "design 1 (random queries, seed 0)"
    with pytest.raises(QuatiPoolError, match=r"^design 2 \(random pairs, seed 5\): \d+ quer.* graded in full"):
        estimate(config, EstimateSettings(design=2))


def test_of_an_unfinished_design_of_pairs_the_finished_queries_are_a_sample(config: Path) -> None:
    assign(config, AssignOptions(pairs_for="DCG@5", expect=150))
    grade(config, queries=10)
    report = estimate(config, EstimateSettings(measures=["DCG@5"]))
    [found] = report.estimates
    assert (report.drawn.unit, report.drawn.labelled, found.unit) == ("pairs", 10, "queries")
    assert "cover the sampling of queries and pairs only" in report.statement(found)
    assert all(one.needed is None or one.needed <= QUERIES - 10 for one in found.differences)


def test_what_the_intervals_of_pairs_cover(config: Path) -> None:
    assign(config, AssignOptions(pairs_for="DCG@5", expect=150))
    grade(config, queries=QUERIES)
    report = estimate(config, EstimateSettings(measures=["DCG@5"], targets=("these-queries", "queries-like-these")))
    these, like_these = (report.statement(one) for one in report.estimates)
    assert "cover the sampling of pairs only" in these
    assert "cover the sampling of queries and pairs only" in like_these


def test_grades_given_after_a_judges_are_said(config: Path) -> None:
    label(config, "ana", queries=draw(config, 9))
    report = estimate(config, EstimateSettings(revealed=True))
    assert "given after seeing a judge's" in report.statement(report.estimates[0])


def test_the_seed_is_the_designs_and_that_of_simulations_the_one_given(config: Path) -> None:
    assign(config, AssignOptions(random_queries=10, seed=5))
    grade(config, queries=10)
    found = estimate(config, EstimateSettings(seed=3))
    assert found.drawn.design == "design 1 (random queries, seed 5)"
    assert (found.seed, found.simulation_seed) == (5, 3)
