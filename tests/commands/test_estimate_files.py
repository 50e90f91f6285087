"""``quati-pool estimate`` from files alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import ir_measures
import numpy as np
import pytest

from quati_pool.commands.estimates.estimate import EstimateReport, estimate
from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.labels.gathered import LabelFiles
from quati_pool.project.config import LabelFileConfig

QUERIES, DOCS, SYSTEMS = 20, 25, 4


@dataclass
class Files:
    """Runs, people's grades of all pairs, and a judge's, which is generous; ``write`` writes some of people's."""

    folder: Path
    people: dict[tuple[str, str], int]
    runs: Path
    judge: Path

    def write(self, queries: Iterable[str], without: Iterable[tuple[str, str]] = ()) -> Path:
        wanted, left_out = set(queries), set(without)
        path = self.folder / "people.qrels"
        rows = [
            f"{query_id} 0 {doc_id} {grade}\n"
            for (query_id, doc_id), grade in self.people.items()
            if query_id in wanted and (query_id, doc_id) not in left_out
        ]
        path.write_text("".join(rows))
        return path

    def estimate(self, people: Path, **settings: object) -> EstimateReport:
        names, scale = settings.pop("names", {}), settings.pop("scale", None)
        given = {
            name: LabelFileConfig(path=str(path), grades=names)  # type: ignore[arg-type]
            for name, path in (("people", people), ("llm", self.judge))
        }
        wanted = replace(EstimateSettings(people="people", judge="llm", sampled="queries"), **settings)  # type: ignore[arg-type]
        return estimate(self.folder / "pool.yaml", wanted, LabelFiles(given, scale=scale), [str(self.runs)])  # type: ignore[arg-type]

    def true_means(self, measure: str) -> dict[str, float]:
        """The means under all of people's grades, by ir_measures."""
        qrels = [ir_measures.Qrel(*pair, grade) for pair, grade in self.people.items()]
        found = {}
        for number in range(SYSTEMS):
            rows = [line.split() for line in self.runs.read_text().splitlines() if line.endswith(f"s{number}")]
            run = [ir_measures.ScoredDoc(row[0], row[2], float(row[4])) for row in rows]
            wanted = ir_measures.parse_measure(measure)
            found[f"s{number}"] = ir_measures.calc_aggregate([wanted], qrels, run)[wanted]
        return found


@pytest.fixture
def files(tmp_path: Path) -> Files:
    generator = np.random.default_rng(4)
    people: dict[tuple[str, str], int] = {}
    judge, runs = [], []
    for query in range(QUERIES):
        grades = generator.choice(4, size=DOCS, p=[0.5, 0.2, 0.2, 0.1])
        generous = np.minimum(grades + (generator.random(DOCS) < 0.4), 3)
        for doc in range(DOCS):
            people[f"q{query:02}", f"d{doc}"] = int(grades[doc])
            judge.append(f"q{query:02} 0 d{doc} {generous[doc]}\n")
        for system in range(SYSTEMS):
            order = np.argsort(-(grades + generator.normal(0, 0.5 + system, DOCS)))
            runs += [f"q{query:02} Q0 d{doc} {at} {DOCS - at} s{system}\n" for at, doc in enumerate(order.tolist(), 1)]
    (tmp_path / "runs.txt").write_text("".join(runs))
    (tmp_path / "judge.qrels").write_text("".join(judge))
    return Files(tmp_path, people, tmp_path / "runs.txt", tmp_path / "judge.qrels")


def prels_of(files: Files, pairs: Iterable[tuple[str, str]], share: float) -> Path:
    path = files.folder / "people.prels"
    path.write_text("".join(f"{' '.join(pair)} {files.people[pair]} 1 {share}\n" for pair in pairs))
    return path


def queries(n: int) -> list[str]:
    return [f"q{query:02}" for query in range(n)]


@pytest.mark.parametrize("measure", ["nDCG@10", "AP(rel=2)", "P(rel=2)@5"])
def test_a_census_gives_peoples_means_without_an_interval(files: Files, measure: str) -> None:
    report = files.estimate(files.write(queries(QUERIES)), measures=[measure])
    (found,) = report.estimates
    true = files.true_means(measure)
    for system in found.systems:
        assert system.estimate == pytest.approx(true[system.run_tag], abs=1e-12)
        assert system.high - system.low == pytest.approx(0, abs=1e-9)
    assert [one.run_tag for one in found.systems] == sorted(true, key=lambda tag: -true[tag])


def test_whole_queries(files: Files) -> None:
    report = files.estimate(files.write(queries(10)), targets=("these-queries", "queries-like-these"))
    these, like_these = report.estimates
    assert (report.drawn.unit, report.drawn.queries, report.drawn.labelled) == ("queries", QUERIES, 10)
    assert (report.drawn.pairs, report.drawn.labels, report.drawn.covered) == (QUERIES * DOCS, 10 * DOCS, 500)
    true = files.true_means("nDCG@10")
    for one, other in zip(these.systems, like_these.systems, strict=True):
        assert one.low < true[one.run_tag] < one.high
        assert one.judge_only != pytest.approx(true[one.run_tag])
        assert other.high - other.low > one.high - one.low
    # The judge narrows the intervals taken together; one λ need not suit each system.
    widths = [(one.high - one.low) / (one.people_only.high - one.people_only.low) for one in these.systems]  # type: ignore[operator]
    assert np.mean(widths[1:]) < 1
    said = report.statement(these)
    assert "for these 20 queries" in said
    assert "10 queries (250 pairs) drawn at random" in said
    assert "6 comparisons, Holm" in said
    assert "judge llm used as covariate, never as truth" in said


def test_the_order_of_rows_changes_nothing(files: Files) -> None:
    path = files.write(queries(10))
    first = files.estimate(path).estimates
    for file in (path, files.judge, files.runs):
        file.write_text("".join(sorted(file.read_text().splitlines(keepends=True), key=lambda row: row[::-1])))
    assert files.estimate(path).estimates == first


def test_systems_with_one_ranking_tie(files: Files) -> None:
    rows = files.runs.read_text().splitlines(keepends=True)
    files.runs.write_text("".join([*rows, *(row.replace("s0\n", "twin\n") for row in rows if row.endswith("s0\n"))]))
    (found,) = files.estimate(files.write(queries(10))).estimates
    (twins,) = [one for one in found.differences if {one.a, one.b} == {"s0", "twin"}]
    assert (twins.estimate, twins.low, twins.high, twins.verdict) == (0, 0, 0, "tie")
    assert twins.reason == "both rank the pool's documents alike"


def test_several_looks_widen_intervals(files: Files) -> None:
    path = files.write(queries(10))
    (one,), (two,) = files.estimate(path).estimates, files.estimate(path, looks=5).estimates
    assert two.systems[0].high - two.systems[0].low > one.systems[0].high - one.systems[0].low


def test_a_file_does_not_say_how_it_was_drawn(files: Files) -> None:
    with pytest.raises(QuatiPoolError, match=r"people does not say how its queries or pairs were chosen.*--sampled"):
        files.estimate(files.write(queries(10)), sampled=None)


def test_fewer_than_eight_queries(files: Files) -> None:
    with pytest.raises(QuatiPoolError, match="7 queries are graded in full, and an interval needs at least 8"):
        files.estimate(files.write(queries(7)))


def test_a_query_that_is_not_graded_in_full(files: Files) -> None:
    path = files.write(queries(10), without=[("q03", "d5"), ("q03", "d6"), ("q07", "d1")])
    with pytest.raises(QuatiPoolError, match="query 'q03' has no grade by people for 2 of its 25 pairs, and 1 other"):
        files.estimate(path)


def test_pairs_that_the_judge_lacks_take_the_mean_of_their_query(files: Files) -> None:
    rows = files.judge.read_text().splitlines(keepends=True)
    files.judge.write_text("".join(row for row in rows if not row.startswith("q01 0 d3 ")))
    report = files.estimate(files.write(queries(10)))
    assert report.drawn.covered == QUERIES * DOCS - 1
    assert len(report.estimates[0].systems) == SYSTEMS


@pytest.mark.parametrize("alpha", [0, 1, 1.5, float("nan")])
def test_an_alpha_that_is_no_level(files: Files, alpha: float) -> None:
    with pytest.raises(ConfigError, match="give a number between 0 and 1"):
        files.estimate(files.write(queries(10)), alpha=alpha)


def test_queries_that_only_the_runs_have_are_counted(files: Files) -> None:
    rows = files.judge.read_text().splitlines(keepends=True)
    files.judge.write_text("".join(row for row in rows if not row.startswith("q19 ")))
    report = files.estimate(files.write(queries(10)))
    assert report.drawn.queries == QUERIES - 1
    assert any("the runs answer 1 query of which nobody graded a pair" in one for one in report.warnings)


def test_queries_without_results_are_counted_by_run(files: Files) -> None:
    rows = files.runs.read_text().splitlines(keepends=True)
    gone = {("q00", "s1"), ("q01", "s1"), ("q05", "s3")}
    files.runs.write_text("".join(row for row in rows if (row.split()[0], row.split()[-1]) not in gone))
    report = files.estimate(files.write(queries(10)))
    assert (
        "of the 20 queries, s1 has no results for 2 and s3 has no results for 1; without results a system scores 0"
    ) in report.warnings


@pytest.mark.parametrize("grade", [-1, -2])
@pytest.mark.parametrize("whose", ["people", "llm"])
def test_grades_below_0_are_refused_until_they_are_said_to_be_none(files: Files, whose: str, grade: int) -> None:
    path = files.write(queries(20)) if whose == "people" else files.judge
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*rows[:3], f"q00 0 d3 {grade}\n", *rows[4:]]))
    people = files.write(queries(20)) if whose == "llm" else path
    with pytest.raises(
        InputError, match=rf"^.*{path.name}:4: {whose}: the grade {grade} is below 0; .* give --grade {grade}=none"
    ) as refused:
        files.estimate(people)
    assert "\n" not in str(refused.value)
    if whose == "llm":
        assert files.estimate(people, names={f"{grade}": None}).drawn.covered == QUERIES * DOCS - 1


def test_grades_above_a_named_scale_are_refused(files: Files) -> None:
    path = files.write(queries(20))
    path.write_text(path.read_text() + "q00 0 more 7\n")
    with pytest.raises(InputError, match=r"people\.qrels:501: people: the grade 7 is not on the scale 0, 1, 2, 3 .*"):
        files.estimate(path, scale=dict.fromkeys(range(4), ""))
    # Without a scale the files set it.
    rows = files.judge.read_text()
    files.judge.write_text(rows + "q00 0 more 7\n")
    report = files.estimate(path)
    assert any("the grade 7 is not on the scale 0, 1, 2, 3" in one for one in report.warnings)


def test_an_unknown_baseline(files: Files) -> None:
    with pytest.raises(ConfigError, match="--baseline s9: no such run; there are: s0"):
        files.estimate(files.write(queries(10)), baseline="s9")


class TestPairs:
    def drawn(self, files: Files, share: float) -> Path:
        generator = np.random.default_rng(1)
        path = files.folder / "people.prels"
        rows = [
            f"{query_id} {doc_id} {grade} 1 {share}\n"
            for (query_id, doc_id), grade in files.people.items()
            if generator.random() < share
        ]
        path.write_text("".join(rows))
        return path

    def test_of_prels(self, files: Files) -> None:
        report = files.estimate(self.drawn(files, 0.6), sampled=None, measures=["nDCG@10", "DCG@10", "P(rel=2)@5"])
        assert report.drawn.unit == "pairs"
        assert [one.measure for one in report.estimates] == ["nDCG@10", "DCG@10", "P(rel=2)@5"]
        true = files.true_means("nDCG@10")
        for system in report.estimates[0].systems:
            # Four standard errors: these are single draws.
            assert abs(system.estimate - true[system.run_tag]) < 4 * system.standard_error
            assert system.judge_weight is None
        # The judge's grades rise with people's, and the highest possible DCG@10 is 3 · 4.54.
        assert report.estimates[1].delta == pytest.approx(0.02 * 3 * sum(1 / np.log2(np.arange(2, 12))))
        assert "pairs of 20 queries drawn at random" in report.statement(report.estimates[0])

    def test_all_pairs_are_a_census(self, files: Files) -> None:
        report = files.estimate(files.write(queries(QUERIES)), sampled="pairs")
        true = files.true_means("nDCG@10")
        for system in report.estimates[0].systems:
            assert system.estimate == pytest.approx(true[system.run_tag], abs=1e-12)
            assert system.high == pytest.approx(system.low, abs=1e-9)

    def test_measures_that_need_whole_queries(self, files: Files) -> None:
        with pytest.raises(ConfigError, match=r"'AP\(rel=2\)' cannot be estimated from a sample.*--random-queries"):
            files.estimate(self.drawn(files, 0.5), sampled=None, measures=["AP(rel=2)"])

    def test_too_few_pairs_for_the_ideal_ranking(self, files: Files) -> None:
        path = self.drawn(files, 0.12)
        with pytest.raises(QuatiPoolError, match=r"pairs are too few for nDCG@10.*ask for --measures DCG@10"):
            files.estimate(path, sampled=None)
        assert files.estimate(path, sampled=None, measures=["DCG@10"]).estimates

    def test_a_handful_of_pairs(self, files: Files) -> None:
        with pytest.raises(QuatiPoolError, match=r"^the pairs of people: \d+ pairs are too few for an interval"):
            files.estimate(self.drawn(files, 0.03), sampled=None, measures=["DCG@10"])

    def test_whole_queries_are_no_sample_of_pairs(self, files: Files) -> None:
        with pytest.raises(QuatiPoolError, match=r"all pairs of 10 queries and none of the others.*--sampled queries"):
            files.estimate(files.write(queries(10)), sampled="pairs")

    def test_a_drawn_pair_without_a_grade_is_one_that_could_not_be_judged(self, files: Files) -> None:
        path = self.drawn(files, 0.6)
        rows = path.read_text().splitlines(keepends=True)
        query_id, doc_id, *_ = rows[3].split()
        path.write_text("".join([*rows[:3], f"{query_id} {doc_id} -1 1 0.6\n", *rows[4:]]))
        with pytest.raises(InputError, match=r"people\.prels:4: people: the grade -1 is below 0"):
            files.estimate(path, sampled=None)
        report = files.estimate(path, sampled=None, names={"-1": None})
        assert (report.drawn.labels, report.drawn.not_judged) == (len(rows) - 1, 1)

    def test_no_pair_was_drawn(self, files: Files) -> None:
        path = files.folder / "people.prels"
        path.write_text("".join(f"q00 d{doc} 1 1 0\n" for doc in range(5)))
        with pytest.raises(QuatiPoolError, match="no pair was drawn"):
            files.estimate(path, sampled=None)

    def test_most_listed_pairs_without_a_grade_were_not_drawn(self, files: Files) -> None:
        drawn = set(list(files.people)[::3])
        path = files.folder / "people.prels"
        rows = (f"{' '.join(pair)} {files.people[pair] if pair in drawn else -1} 1 0.34\n" for pair in files.people)
        path.write_text("".join(rows))
        with pytest.raises(QuatiPoolError, match=r"no grade for 333 of the 500 pairs.*leave out the rows of pairs"):
            files.estimate(path, sampled=None, names={"-1": None})

    def test_prels_are_no_whole_queries(self, files: Files) -> None:
        with pytest.raises(QuatiPoolError, match=r"people is a sample of pairs.*leave out --sampled"):
            files.estimate(self.drawn(files, 0.5))

    def test_a_rate_may_differ_from_the_share_of_queries_by_chance(self, files: Files) -> None:
        generator = np.random.default_rng(2)
        for share in (0.3, 0.6, 0.95):
            for _ in range(10):
                drawn = [pair for pair in files.people if generator.random() < share]
                path = files.write(queries(QUERIES), without=files.people.keys() - set(drawn))
                assert files.estimate(path, sampled="pairs", measures=["DCG@10"]).drawn.labels == len(drawn)
                prels = prels_of(files, drawn, share)
                assert files.estimate(prels, sampled=None, measures=["DCG@10"]).drawn.labels == len(drawn)

    @pytest.mark.parametrize("share", [0.5, 1])
    def test_whole_queries_in_prels_are_no_sample_of_pairs(self, files: Files, share: float) -> None:
        path = prels_of(files, [pair for pair in files.people if pair[0] in queries(10)], share)
        with pytest.raises(QuatiPoolError, match=r"all pairs of 10 queries and none of the others.*--sampled queries"):
            files.estimate(path, sampled=None)

    @pytest.mark.parametrize("share", [0.5, 1])
    def test_nearly_whole_queries_are_no_sample_of_pairs(self, files: Files, share: float) -> None:
        gone = ("q03", "d5")
        whole = files.write(queries(10), without=[gone])
        with pytest.raises(QuatiPoolError, match=r"have them graded, or leave the query out$"):
            files.estimate(whole)
        with pytest.raises(QuatiPoolError, match=r"from 0 to 100 % of a query's pairs.*give --sampled queries and all"):
            files.estimate(whole, sampled="pairs")
        path = prels_of(files, [pair for pair in files.people if pair[0] in queries(10) and pair != gone], share)
        with pytest.raises(QuatiPoolError, match="--sampled queries" if share < 1 else "stand for 249 "):
            files.estimate(path, sampled=None)

    def test_some_pairs_are_asked_for_as_pairs(self, files: Files) -> None:
        path = files.write(queries(QUERIES), without=list(files.people)[::2])
        with pytest.raises(QuatiPoolError, match=r"leave the query out, or give --sampled pairs$"):
            files.estimate(path)

    @pytest.mark.parametrize(("first", "share", "sum_of"), [(None, 1, 300), (60, 0.6, 100)])
    def test_probabilities_that_do_not_go_with_the_frame(
        self, files: Files, first: int | None, share: float, sum_of: int
    ) -> None:
        drawn = [pair for at, pair in enumerate(files.people) if at % 5 < 3][:first]
        path = prels_of(files, drawn, share)
        with pytest.raises(
            QuatiPoolError,
            match=rf"^the {len(drawn)} drawn pairs of people stand for {sum_of} .*, and the judge or people graded 500 "
            "pairs; list all drawn pairs with the probabilities",
        ):
            files.estimate(path, sampled=None)

    def test_pairs_of_a_certain_draw_are_known(self, files: Files) -> None:
        # Half of the pairs have a probability of 1, so that those drawn of the others stand for the other half alone.
        certain, others = list(files.people)[::2], list(files.people)[1::8]
        path = prels_of(files, certain, 1)
        with pytest.raises(QuatiPoolError, match="stand for 250 "):
            files.estimate(path, sampled=None)
        rows = path.read_text() + "".join(f"{' '.join(pair)} {files.people[pair]} 1 0.25\n" for pair in others)
        path.write_text(rows)
        assert files.estimate(path, sampled=None, measures=["DCG@10"]).drawn.labels == len(certain) + len(others)
        path.write_text(rows.replace("0.25", "0.7"))
        with pytest.raises(QuatiPoolError, match="stand for 340 "):
            files.estimate(path, sampled=None)


class TestWholeQueriesOfPrels:
    def test_are_those_of_qrels(self, files: Files) -> None:
        pairs = [pair for pair in files.people if pair[0] in queries(10)]
        found = files.estimate(prels_of(files, pairs, 0.5))
        expected = files.estimate(files.write(queries(10)))
        assert found.drawn == expected.drawn
        assert found.estimates == expected.estimates

    def test_without_pairs_that_were_not_drawn(self, files: Files) -> None:
        path = prels_of(files, [pair for pair in files.people if pair[0] in queries(10)], 0.5)
        expected = files.estimate(path)
        judged = [pair for pair in files.people if pair[0] == "q15"]
        path.write_text(path.read_text() + "".join(f"{' '.join(pair)} 3 1 0\n" for pair in judged))
        found = files.estimate(path)
        assert (found.drawn, found.estimates) == (expected.drawn, expected.estimates)

    def test_with_a_pair_that_could_not_be_judged(self, files: Files) -> None:
        path = prels_of(files, [pair for pair in files.people if pair[0] in queries(10)], 0.5)
        first, *rows = path.read_text().splitlines(keepends=True)
        query_id, doc_id, *_ = first.split()
        path.write_text("".join([f"{query_id} {doc_id} -1 1 0.5\n", *rows]))
        report = files.estimate(path, names={"-1": None})
        assert (report.drawn.labelled, report.drawn.labels, report.drawn.not_judged) == (10, 10 * DOCS - 1, 1)

    def test_of_a_probability_that_does_not_go_with_the_frame(self, files: Files) -> None:
        path = prels_of(files, [pair for pair in files.people if pair[0] in queries(10)], 1)
        with pytest.raises(QuatiPoolError, match=r"people has 10 of the 20 queries .* the probability 1 of each"):
            files.estimate(path)

    def test_of_several_probabilities(self, files: Files) -> None:
        path = prels_of(files, [pair for pair in files.people if pair[0] in queries(10)], 0.5)
        path.write_text(path.read_text().replace("0.5", "0.25", 3 * DOCS))
        with pytest.raises(QuatiPoolError, match=r"the probabilities of people differ \(from 0.25 to 0.5\)"):
            files.estimate(path)

    def test_of_strata(self, files: Files) -> None:
        path = files.folder / "people.xinfap"
        rows = ((*pair, grade if pair[0] in queries(10) else -1) for pair, grade in files.people.items())
        path.write_text("".join(f"{query_id} 0 {doc_id} 1 {grade}\n" for query_id, doc_id, grade in rows))
        with pytest.raises(QuatiPoolError, match=r"all pairs of 10 queries and none of the others.*--sampled queries"):
            files.estimate(path, sampled=None)
        found = files.estimate(path)
        assert found.estimates == files.estimate(files.write(queries(10))).estimates
