"""Grades under other wordings: by hand, and on TREC DL 2021 by separate computations, with three models in the place of
three wordings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from quati_pool.commands.audit.grade_inputs import GradeSettings, file_grades
from quati_pool.commands.audit.wordings import compare_wordings
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.labels.gathered import LabelFiles
from quati_pool.project.config import LabelFileConfig
from tests.commands.audit.test_grades import JUDGES, OFF_SCALE, RUNS, Oracle
from tests.shared_data import shared

OTHERS = JUDGES[1:]


def test_only_pairs_with_every_grade_count_and_the_farthest_shift_has_an_interval_for_all() -> None:
    own = {("q1", "a"): 0, ("q1", "b"): 2, ("q2", "a"): 1, ("q2", "b"): 1, ("q3", "a"): 3}
    up = {("q1", "a"): 1, ("q1", "b"): 2, ("q2", "a"): 2, ("q2", "b"): 1, ("q9", "z"): 0}
    down = {("q1", "a"): 0, ("q1", "b"): 0, ("q2", "a"): 1, ("q2", "b"): 0, ("q3", "a"): 0}
    found = compare_wordings(own, {"up": up, "down": down}, {("q1", "b"): 2}, range(4), None, "nDCG@10", name="own")
    assert (found.pairs, found.queries, found.by_people) == (4, 2, 1)
    # (0, 2, 1, 1) against (1, 2, 2, 1) and (0, 0, 1, 0).
    assert [one.mean for one in found.all] == [1.0, 1.5, 0.25]
    # By query: +1/2 and +1/2 up; -2/2 and -1/2 down. The mean of the latter is -0.75, its standard error by clusters
    # sqrt(2/1 * (2 * 0.5²)) / 4 = 0.25, and t with one degree of freedom at 1 - 0.05/4 is 25.452.
    assert found.farthest.value == -0.75
    assert found.farthest.low == pytest.approx(-0.75 - 25.452 * 0.25, abs=1e-3)
    assert [one.tau for one in found.all] == [None] * 3


def test_nothing_in_common_is_refused() -> None:
    with pytest.raises(QuatiPoolError, match="no pair has a grade under every wording"):
        compare_wordings({("q", "a"): 0}, {"up": {("q", "b"): 1}}, {}, range(4), None, "nDCG@10", name="own")
    with pytest.raises(QuatiPoolError, match="no pair has a grade under every wording"):
        compare_wordings({("q", "a"): 0}, {}, {}, range(4), None, "nDCG@10", name="own")


def files(folder: Path, *judges: str) -> LabelFiles:
    return LabelFiles(
        {
            name: LabelFileConfig(path=str(folder / f"{name}.qrels.gz"), person=name == "nist", grades=OFF_SCALE)
            for name in ("nist", *judges)
        }
    )


@pytest.mark.slow
def test_figures_of_dl_2021_equal_a_separate_computation() -> None:
    folder = shared("trec-dl-2021")
    settings = GradeSettings(wordings=OTHERS)
    audits, found = file_grades(files(folder, *JUDGES), [str(folder / RUNS)], settings)
    assert list(audits) == [JUDGES[0]]
    assert found is not None
    oracle = Oracle(folder)
    grades = {
        name: {(query, doc): grade for query, docs in of_one.items() for doc, grade in docs.items()}
        for name, of_one in oracle.grades.items()
    }
    common = sorted(set.intersection(*(set(grades[name]) for name in JUDGES)))
    by_people = [pair for pair in common if pair in grades["nist"]]
    assert (found.pairs, found.by_people) == (len(common), len(by_people))
    means = {}
    for name in (*JUDGES, "nist"):
        restricted: dict[str, dict[str, int]] = {}
        for query, doc in by_people if name == "nist" else common:
            restricted.setdefault(query, {})[doc] = grades[name][query, doc]
        evaluator = pytrec_eval.RelevanceEvaluator(restricted, {"ndcg_cut.10"})
        means[name] = [
            np.mean([of_run.get(query, {}).get("ndcg_cut_10", 0.0) for query in restricted])
            for of_run in (evaluator.evaluate(oracle.runs[tag]) for tag in oracle.tags)
        ]
    own = JUDGES[0]
    for name, one in zip(JUDGES, found.all, strict=True):
        assert one.kappa_people is not None
        assert one.tau_people is not None
        of_people = [[grades[each][pair] for pair in by_people] for each in (name, "nist")]
        assert one.kappa_people.value == pytest.approx(cohen_kappa_score(*of_people), abs=1e-12)
        assert one.tau_people.value == pytest.approx(stats.kendalltau(means[name], means["nist"])[0], abs=1e-9)
        values, first = (np.array([grades[each][pair] for pair in common]) for each in (name, own))
        assert one.mean == pytest.approx(values.mean(), abs=1e-12)
        if name == own:
            continue
        assert one.kappa is not None
        assert one.tau is not None
        assert one.shift is not None
        assert one.kappa.value == pytest.approx(cohen_kappa_score(first, values), abs=1e-12)
        assert one.tau.value == pytest.approx(stats.kendalltau(means[name], means[own])[0], abs=1e-9)
        assert one.shift.value == pytest.approx((values - first).mean(), abs=1e-12)


def test_wordings_belong_to_one_judge(tmp_path: Path) -> None:
    for name in ("nist", *JUDGES):
        (tmp_path / f"{name}.qrels").write_text("q 0 a 1\nq 0 b 0\n")
    of_files = LabelFiles(
        {
            name: LabelFileConfig(path=str(tmp_path / f"{name}.qrels"), person=name == "nist")
            for name in ("nist", *JUDGES)
        }
    )
    with pytest.raises(ConfigError, match=r"--wording: of which judge, gpt-4o, llama-3.2-3b\?"):
        file_grades(of_files, [], GradeSettings(wordings=("mistral-7b",)))
    (tmp_path / "mistral-7b.qrels").write_text("q 0 c 1\n")
    with pytest.raises(ConfigError, match="--wording: mistral-7b and gpt-4o graded no pair in common"):
        file_grades(of_files, [], GradeSettings(wordings=OTHERS))
