"""Which of two audited judges to take: TREC DL 2021 by separate computations, the rule, and what judges cost."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from quati_pool.agreement.kappa_contrast import KappaContrast
from quati_pool.audit.base import PairTexts
from quati_pool.audit.cases import Case
from quati_pool.audit.outcomes import Outcomes, Scale, findings
from quati_pool.commands.audit.asking import Asked
from quati_pool.commands.audit.audit import AuditedProbe, AuditReport, audit, audit_files
from quati_pool.commands.audit.comparison import (
    AuditComparison,
    Expense,
    check_two,
    compare_audits,
    compare_in_workspace,
)
from quati_pool.commands.audit.grade_inputs import GradeSettings
from quati_pool.commands.audit.settings import AuditSettings
from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import judge
from quati_pool.errors import ConfigError
from quati_pool.labels.gathered import LabelFiles
from quati_pool.project.config import LabelFileConfig
from quati_pool.project.events import Listener
from quati_pool.stats.bootstrap import Contrast, Interval
from quati_pool.stats.shares import clustered_share, paired_difference, share_difference
from tests.commands.audit.planted import pairs
from tests.commands.audit.test_grades import JUDGES, OFF_SCALE, RUNS, Oracle
from tests.commands.judged import rows, workspace
from tests.llm.server import ServerProcess
from tests.reporting.audit_reports import probe, probed, report, unasked
from tests.reporting.grade_audits import all_beyond, grades, mean
from tests.shared_data import shared

# TREC DL 2021


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle(shared("trec-dl-2021"))


@pytest.fixture(scope="module")
def dl21(oracle: Oracle) -> dict[str, AuditReport]:
    folder = shared("trec-dl-2021")
    files = {
        name: LabelFileConfig(
            path=str(folder / f"{name}.qrels.gz"), person=name == "nist", grades=OFF_SCALE if name in JUDGES[1:] else {}
        )
        for name in ("nist", *JUDGES)
    }
    return {one.judge: one for one in audit_files(LabelFiles(files), [str(folder / RUNS)], GradeSettings())}


@pytest.mark.slow
@pytest.mark.parametrize("other", ["mistral-7b", "llama-3.2-3b"])
def test_gpt_4o_against_small_judges(dl21: dict[str, AuditReport], oracle: Oracle, other: str) -> None:
    names = ("gpt-4o", other)
    found = compare_audits([dl21[name] for name in names])
    assert (found.take, found.basis, found.people, found.measure) == (0, "order", "nist", "nDCG@10")
    rng = np.random.default_rng(1)
    draws = rng.integers(0, len(oracle.queries), (500, len(oracle.queries)))

    # κ: by scikit-learn over the pairs that all three graded, and a plain loop over resampled queries.
    theirs = [oracle.grades[name] for name in (*names, "nist")]
    by_query = [
        [[one[q][d] for one in theirs] for d in theirs[2][q] if all(d in one.get(q, {}) for one in theirs)]
        for q in oracle.queries
    ]
    triples = np.array([row for rows_of in by_query for row in rows_of])
    kappas = [cohen_kappa_score(triples[:, place], triples[:, 2]) for place in (0, 1)]
    assert found.kappa is not None
    assert found.kappa.n == len(triples)
    assert found.kappa.kappa[:3] == pytest.approx((*kappas, kappas[0] - kappas[1]))
    assert found.between == pytest.approx(cohen_kappa_score(triples[:, 0], triples[:, 1]))
    drawn = []
    for some in draws[:150]:
        chosen = np.array([row for place in some for row in by_query[place]])
        drawn.append(np.subtract(*(cohen_kappa_score(chosen[:, place], chosen[:, 2]) for place in (0, 1))))
    assert found.kappa.kappa.interval[:2] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.015)

    # τ and level: nDCG@10 by pytrec_eval, τ by scipy.
    values = [oracle.values[name] for name in ("nist", *names)]

    def figures(queries: Any) -> tuple[float, float]:
        people, *judges = (one[:, queries].mean(axis=1) for one in values)
        tau = np.subtract(*(stats.kendalltau(people, one).statistic for one in judges))
        return float(tau), float(np.subtract(*(abs(one.mean() - people.mean()) for one in judges)))

    assert found.systems is not None
    assert (found.systems.systems, found.systems.queries) == (63, 53)
    tau, level = figures(slice(None))
    assert found.systems.tau.difference == pytest.approx(tau)
    assert found.systems.level.difference == pytest.approx(level, abs=1e-9)
    taus, levels = np.array([figures(some) for some in draws]).T
    centred = np.quantile(taus, [0.025, 0.975]) - taus.mean() + tau
    assert found.systems.tau.interval[:2] == pytest.approx(centred, abs=0.025)
    assert found.systems.level.interval[:2] == pytest.approx(np.quantile(levels, [0.025, 0.975]), abs=0.008)


@pytest.mark.slow
def test_turned_around_the_same_judge_is_taken(dl21: dict[str, AuditReport]) -> None:
    one, other = (compare_audits([dl21[a], dl21[b]]) for a, b in (JUDGES[:2], JUDGES[1::-1]))
    assert (one.take, other.take) == (0, 1)
    assert one.systems is not None
    assert other.systems is not None
    assert other.systems.tau.difference == pytest.approx(-(one.systems.tau.difference or 0))
    assert other.systems.tau.interval.high == pytest.approx(-(one.systems.tau.interval.low or 0))


# The rule

FOOLED = probed("stuffing", "fooled", 34, ends=(0.25, 0.44))
UNDECIDED = probed("stuffing", "undecided", 12, ends=(0.06, 0.2))
CLEARED = probed("stuffing")


def compared(one: AuditReport, other: AuditReport, *expenses: Expense) -> AuditComparison:
    return compare_audits([one, replace(other, judge="other")], expenses)


@pytest.mark.parametrize(
    ("one", "other", "against", "take"),
    [
        (FOOLED, CLEARED, 0, 1),
        (CLEARED, FOOLED, 1, 0),
        # Undecided, but surely less: 34 of 100 against 12 of 100.
        (FOOLED, UNDECIDED, 0, 1),
        (probed("stuffing", "fooled", 19, ends=(0.11, 0.3)), UNDECIDED, None, None),
        (FOOLED, FOOLED, None, None),
        (UNDECIDED, CLEARED, None, None),
        (FOOLED, unasked("stuffing", "no texts"), None, None),
    ],
)
def test_a_danger_counts_if_it_is_shown_of_one_alone(
    one: AuditedProbe, other: AuditedProbe, against: int | None, take: int | None
) -> None:
    # The cases of different texts, so that shares are compared as independent.
    other = replace(other, cases=[replace(case, query_id=f"x{case.query_id}") for case in other.cases])
    found = compared(report(one), report(other))
    assert [danger.against for danger in found.dangers] == [against]
    assert (found.take, found.basis) == (take, None if take is None else "dangers")


def test_each_with_a_danger_of_its_own_is_no_recommendation() -> None:
    beyond = grades("other", gap=mean(0.12, 0.08, 0.16))
    found = compared(replace(report(FOOLED), grades=grades()), replace(report(CLEARED), grades=beyond))
    assert (found.take, found.basis, found.split) == (None, None, True)
    assert [[one.danger for one in side] for side in found.against] == [["keyword stuffing"], ["level of the measure"]]


def test_a_danger_of_the_judge_that_agrees_better_is_no_recommendation() -> None:
    found = compared(report(FOOLED), report(CLEARED))
    assert (found.take, found.split) == (1, False)
    for low, split in ((0.01, True), (-0.01, False)):
        contrast = Contrast(0.5, 0.4, 0.1, Interval(low, 0.2))
        assert replace(found, kappa=KappaContrast(100, 20, contrast)).split is split
    lower = Contrast(0.4, 0.5, -0.1, Interval(-0.2, -0.01))
    assert not replace(found, kappa=KappaContrast(100, 20, lower)).split


def test_of_two_that_order_systems_otherwise_than_people_neither_is_taken() -> None:
    found = compared(replace(report(CLEARED), grades=all_beyond()), replace(report(FOOLED), grades=all_beyond("other")))
    assert (found.take, found.basis, found.unusable) == (None, None, True)
    found = compared(replace(report(CLEARED), grades=all_beyond()), replace(report(FOOLED), grades=grades("other")))
    assert not found.unusable


def test_judges_alike_and_significance_do_not_count() -> None:
    kept = ("order of systems", "significance", "judges alike")
    found = compared(replace(report(), grades=all_beyond()), replace(report(), grades=grades("other")))
    shown = {one.danger for one in found.dangers if one.against == 0}
    assert shown
    assert shown.isdisjoint(kept)
    assert set(kept) - {"judges alike"} <= {one.danger for one in found.dangers}


@pytest.mark.parametrize(
    ("expenses", "take", "basis"),
    [
        ((Expense(1.2, 3.0), Expense(0.5, 9.0)), 1, "cost"),
        ((Expense(0.5), Expense(0.5)), None, None),
        ((Expense(0.5, 2.0), Expense(0.5, 3.0)), 0, "time"),
        ((Expense(None, 4.0), Expense(0.5, 3.0)), 1, "time"),
        ((Expense(None, None), Expense(0.5, 3.0)), None, None),
        ((), None, None),
        # A tenth of the higher is 0.1, of 30 minutes 3; but 0.009 is less than a cent, 0.09 than a tenth of a minute.
        ((Expense(1.0), Expense(0.905)), None, None),
        ((Expense(1.0), Expense(0.895)), 1, "cost"),
        ((Expense(None, 30.0), Expense(None, 27.1)), None, None),
        ((Expense(None, 30.0), Expense(None, 26.9)), 1, "time"),
        ((Expense(0.0, 0.01), Expense(0.009, 0.09)), None, None),
        ((Expense(1.0, 5.0), Expense(0.95, 2.0)), 1, "time"),
    ],
)
def test_where_nothing_is_shown_costs_decide(
    expenses: tuple[Expense, ...], take: int | None, basis: str | None
) -> None:
    found = compared(report(CLEARED), report(CLEARED), *expenses)
    assert (found.take, found.basis) == (take, basis)


def test_a_run_that_ended_early_decides_nothing() -> None:
    ended = [Asked("other", 14, 1139, ended="budget")]
    found = compared(report(FOOLED), report(CLEARED, runs=ended), Expense(1.0), Expense(0.1))
    assert (found.take, found.basis, found.unfinished) == (None, None, 1139)
    # Texts that got no grade although all were asked about.
    found = compared(report(FOOLED), report(CLEARED, runs=[Asked("other", 1153, 2)]))
    assert (found.take, found.basis, found.unfinished) == (1, "dangers", 0)


@pytest.mark.parametrize("names", [[], ["a"], ["a", "a"], ["a", "b", "c"]])
def test_it_takes_two(names: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"--compare takes two judges, and (none is|1 is|3 are) named"):
        check_two(names)


# The same changed texts


def asked(hits: list[bool], docs: range, name: str = "stuffing") -> AuditedProbe:
    """Cases of one passage each, four of a query, of which some rise from 0 to 3."""
    made = probe(name)
    cases = [
        Case(f"q{doc // 4}", f"d{doc}", "w", 0, None, PairTexts("q", f"{doc}"), PairTexts("q", f"{doc} q"), None)
        for doc in docs
    ]
    after = np.where(hits, 3.0, 0.0)
    nothing = np.full(len(docs), math.nan)
    query = np.array([doc // 4 for doc in docs])
    outcomes = Outcomes(query, np.arange(len(docs)), np.zeros(len(docs), dtype=np.int64), after * 0, after, nothing)
    return AuditedProbe(name, made, cases, outcomes, findings(outcomes, ["w"], "not_rise", Scale(0, 2), 0.1))


def test_shares_are_paired_over_the_texts_that_both_were_asked_about() -> None:
    rng = np.random.default_rng(8)
    mine, theirs = rng.random(80) < 0.4, rng.random(80) < 0.2
    one, other = asked(mine.tolist(), range(80)), asked(theirs.tolist(), range(20, 100))
    (found,) = compared(report(one), report(other)).dangers
    query = np.arange(20, 80) // 4
    assert (found.same, found.n) == (True, (60, 60))
    assert found.difference == paired_difference(mine[20:], theirs[:60], query)
    assert found.seen == (mine[20:].mean(), theirs[:60].mean())
    # Fewer than half in common: the shares of all that each was asked.
    far = asked(theirs.tolist(), range(60, 140))
    (apart,) = compared(report(one), report(far)).dangers
    shares = [clustered_share(mine, np.arange(80) // 4), clustered_share(theirs, np.arange(60, 140) // 4)]
    assert (apart.same, apart.n) == (False, (80, 80))
    assert apart.difference == share_difference(*shares)


# In a workspace


@pytest.mark.slow
def test_two_judges_of_a_workspace_with_what_they_cost(server: ServerProcess, tmp_path: Path) -> None:
    server.script(grades=[("", 0)])
    models = "    dear: {input: 10, output: 1000}\n    cheap: {input: 1, output: 100}\n"
    prices = f"mine:\n  as_of: 2026-11-01\n  source: a test\n  models:\n{models}"
    (tmp_path / "prices.yaml").write_text(prices, encoding="utf-8")
    prompted = {"prompt": "quati-pt", "concurrency": 4, "prices": "prices.yaml"}
    judges = {name: {"model": name, **prompted} for name in ("dear", "cheap")}
    config = workspace(tmp_path, pairs(6, 4), judges, audit={"pairs": 6})
    for name in judges:
        assert judge(config, name, Listener(), JudgeOptions()).error is None
    settings = AuditSettings(probes=("repeat",))
    reports = audit(config, ["dear", "cheap"], Listener(), settings)
    found = compare_in_workspace(config, reports)
    assert (found.take, found.basis, found.problem) == (1, "cost", None)
    spent = dict(
        rows(
            tmp_path,
            "SELECT labeler_id, sum(cost) FROM attempts JOIN labels ON labels.seq = label_seq WHERE phase = 'blind' "
            "GROUP BY labeler_id",
        )
    )
    assert spent["dear"] == pytest.approx(10 * spent["cheap"])
    # 24 pairs each; what the audit itself cost is not among it.
    costs = [one.cost for one in found.expenses]
    assert costs == pytest.approx([1000 * spent[name] / 24 for name in ("dear", "cheap")])
    assert all(one.minutes is not None and one.minutes > 0 for one in found.expenses)
    (danger,) = found.dangers
    assert (danger.same, danger.n, danger.against) == (True, (12, 12), None)
