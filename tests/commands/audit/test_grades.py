"""A judge's grades against people's: three judges on TREC DL 2021, from files alone, and by separate computations."""

from __future__ import annotations

import gzip
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from quati_pool.commands.audit.grade_inputs import GradeSettings, file_grades
from quati_pool.commands.audit.grades import GradeAudit
from quati_pool.labels.gathered import LabelFiles
from quati_pool.project.config import LabelFileConfig
from tests.shared_data import shared

JUDGES = ("gpt-4o", "mistral-7b", "llama-3.2-3b")
# What no scale has: the small models gave such grades.
OFF_SCALE = {str(grade): None for grade in (4, 5, 6, 8, 9)}
RUNS = "dl21-runs-top20-judged53.txt.gz"
Grades = dict[str, dict[str, int]]


def family(run_tag: str) -> str:
    """A made-up family: the name before the first separator."""
    return run_tag.replace("-", "_").split("_")[0]


def read_grades(path: Path) -> Grades:
    found: Grades = defaultdict(dict)
    with gzip.open(path, "rt") as lines:
        for line in lines:
            query_id, _, doc_id, grade = line.split()
            if int(grade) <= 3:
                found[query_id][doc_id] = int(grade)
    return dict(found)


def read_runs(path: Path) -> dict[str, dict[str, dict[str, float]]]:
    found: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    with gzip.open(path, "rt") as lines:
        for line in lines:
            query_id, _, doc_id, _, score, run_tag = line.split()
            found[run_tag][query_id][doc_id] = float(score)
    return {tag: dict(queries) for tag, queries in found.items()}


class Oracle:
    """nDCG@10 of every run and query by pytrec_eval under each labeler, shape (runs, queries)."""

    def __init__(self, folder: Path) -> None:
        self.grades = {name: read_grades(folder / f"{name}.qrels.gz") for name in ("nist", *JUDGES)}
        self.runs = runs = read_runs(folder / RUNS)
        self.tags = sorted(runs)
        self.queries = sorted(self.grades["nist"])
        self.values = {}
        for name, grades in self.grades.items():
            evaluator = pytrec_eval.RelevanceEvaluator(grades, {"ndcg_cut.10"})
            scored = {tag: evaluator.evaluate(runs[tag]) for tag in self.tags}
            self.values[name] = np.array(
                [[scored[tag].get(q, {}).get("ndcg_cut_10", 0.0) for q in self.queries] for tag in self.tags]
            )

    def decided(self, name: str) -> dict[tuple[int, int], int]:
        """The sign of each significant difference between two systems: paired t, Holm at 0.05."""
        values = self.values[name]
        pairs = list(combinations(range(len(values)), 2))
        p = np.array([stats.ttest_rel(values[a], values[b]).pvalue for a, b in pairs])
        order = np.argsort(p)
        adjusted = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
        significant = {pairs[place] for place, value in zip(order, adjusted, strict=True) if value <= 0.05}
        return {(a, b): int(np.sign((values[a] - values[b]).mean())) if (a, b) in significant else 0 for a, b in pairs}


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle(shared("trec-dl-2021"))


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory, oracle: Oracle) -> dict[str, GradeAudit]:
    folder = shared("trec-dl-2021")
    families = tmp_path_factory.mktemp("families") / "families.tsv"
    families.write_text("# run\tfamily\n" + "".join(f"{tag}\t{family(tag)}\n" for tag in oracle.tags))
    files = LabelFiles(
        {
            name: LabelFileConfig(
                path=str(folder / f"{name}.qrels.gz"),
                person=name == "nist",
                grades=OFF_SCALE if name in JUDGES[1:] else {},
            )
            for name in ("nist", *JUDGES)
        }
    )
    settings = GradeSettings(
        families=families, judge_families={"gpt-4o": "NLE", "mistral-7b": "uogTr", "llama-3.2-3b": "nobody"}
    )
    found, _ = file_grades(files, [str(folder / RUNS)], settings)
    return {name: one for name, one in found.items() if isinstance(one, GradeAudit)}


@pytest.mark.slow
@pytest.mark.parametrize("judge", JUDGES)
def test_grades_off_the_scale_are_no_grades_and_the_shift_is_that_of_common_pairs(
    audits: dict[str, GradeAudit], oracle: Oracle, judge: str
) -> None:
    theirs, nist = oracle.grades[judge], oracle.grades["nist"]
    common = [(theirs[q][d], nist[q][d]) for q in nist for d in nist[q] if d in theirs.get(q, {})]
    found = audits[judge].overrating
    assert found.shift.n == len(common)
    assert found.shift.value == pytest.approx(np.mean([a - b for a, b in common]))
    for row in found.by_grade:
        assert row.judge == pytest.approx(np.mean([a for a, b in common if b == row.grade]))


@pytest.mark.slow
@pytest.mark.parametrize("judge", JUDGES)
def test_systems_under_the_judge_and_under_people(audits: dict[str, GradeAudit], oracle: Oracle, judge: str) -> None:
    found = audits[judge]
    gap = oracle.values[judge] - oracle.values["nist"]
    assert found.gap is not None
    assert found.gap.value == pytest.approx(gap.mean(), abs=1e-9)
    by_query = gap.mean(axis=0)
    low, high = stats.t.interval(0.95, 52, loc=by_query.mean(), scale=stats.sem(by_query))
    assert (found.gap.low, found.gap.high) == pytest.approx((low, high))
    means = [oracle.values[name].mean(axis=1) for name in (judge, "nist")]
    assert found.rankings is not None
    assert found.rankings.tau.value == pytest.approx(stats.kendalltau(*means).statistic)


@pytest.mark.slow
@pytest.mark.parametrize("judge", JUDGES)
def test_who_decides_which_pairs_of_systems(audits: dict[str, GradeAudit], oracle: Oracle, judge: str) -> None:
    one, other = oracle.decided(judge), oracle.decided("nist")
    found = audits[judge].decisions
    assert found is not None
    assert found.pairs == 63 * 62 // 2
    assert found.both == sum(one[pair] == other[pair] != 0 for pair in one)
    assert found.opposed == sum(one[pair] * other[pair] < 0 for pair in one)
    assert found.only_a == sum(one[pair] != 0 == other[pair] for pair in one)
    assert found.only_b == sum(one[pair] == 0 != other[pair] for pair in one)


@pytest.mark.slow
def test_kin_by_a_file_of_families(audits: dict[str, GradeAudit], oracle: Oracle) -> None:
    gap = oracle.values["gpt-4o"] - oracle.values["nist"]
    mine = np.array([family(tag) == "NLE" for tag in oracle.tags])
    found = audits["gpt-4o"].kinship
    assert found is not None
    assert (found.family, found.guessed) == ("NLE", False)
    assert dict(found.kin) == {tag: "family NLE" for tag in oracle.tags if family(tag) == "NLE"}
    by_query = gap[mine].mean(axis=0) - gap[~mine].mean(axis=0)
    assert found.excess is not None
    assert found.excess.value == pytest.approx(by_query.mean())
    assert found.shifts[0].family == "NLE"
    rest = [oracle.values[name][~mine].mean(axis=1) for name in ("gpt-4o", "nist")]
    assert found.without_kin is not None
    assert found.without_kin.tau.value == pytest.approx(stats.kendalltau(*rest).statistic)
    nobody = audits["llama-3.2-3b"].kinship
    assert nobody is not None
    assert (nobody.kin, nobody.excess, nobody.without_kin) == ({}, None, None)


@pytest.mark.slow
@pytest.mark.parametrize(("judge", "other"), [(a, b) for a in JUDGES for b in JUDGES if a != b])
def test_judges_alike(audits: dict[str, GradeAudit], oracle: Oracle, judge: str, other: str) -> None:
    grades = [oracle.grades[name] for name in (judge, other, "nist")]
    rows = [
        [one[q][d] for one in grades]
        for q in oracle.queries
        for d in grades[2][q]
        if all(d in one.get(q, {}) for one in grades)
    ]
    mine, theirs, nist = np.array(rows).T
    (found,) = [one for one in audits[judge].alike if one.other == other]
    assert found.n == len(rows)
    assert found.with_other == pytest.approx(cohen_kappa_score(mine, theirs))
    assert found.with_people == pytest.approx(cohen_kappa_score(mine, nist))


@pytest.mark.slow
def test_the_judge_as_a_system_is_first_under_itself(audits: dict[str, GradeAudit]) -> None:
    for found in audits.values():
        assert found.oracle is not None
        assert (found.oracle.systems, found.oracle.rank_judge, found.oracle.mean_judge) == (64, 1, 1.0)
        assert found.oracle.mean_people < 0.8
        assert found.oracle.excess.low is not None
        assert found.oracle.excess.low > 0.02
