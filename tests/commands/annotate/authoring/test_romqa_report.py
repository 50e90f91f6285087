"""The report on questions about constraints: shares, agreement and sizes against counts of what people said."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import mean, median
from typing import Any

import krippendorff
import numpy as np
import pytest

from quati_pool.annotation.authoring.base import with_origin
from quati_pool.annotation.authoring.romqa import BLOCK, QUERY
from quati_pool.commands.annotate.authoring.blocks import AddedBlocks
from quati_pool.commands.annotate.authoring.estimate import Agreement, Estimate
from quati_pool.commands.annotate.authoring.naturalness import BlockRating, naturalness
from quati_pool.commands.annotate.authoring.records import Records, open_records
from quati_pool.commands.annotate.authoring.report import (
    AuthoringReport,
    RoundsReport,
    report,
    report_on,
    rounds_report,
)
from quati_pool.commands.annotate.authoring.romqa_report import ClusterFates, RomqaReport, Verification
from quati_pool.commands.annotate.authoring.splits import make_splits
from quati_pool.commands.annotate.authoring.step import WritingStep
from quati_pool.reporting.answers import authoring as answers
from quati_pool.reporting.json_data.authoring import as_data
from quati_pool.stats.shares import clustered_share
from tests.commands.annotate.authoring.people_writing import Refused
from tests.commands.annotate.authoring.romqa_people import (
    RomqaPeople,
    everybody,
    made_cluster,
    people_done,
    romqa_workspace,
)
from tests.commands.annotate.authoring.rounds import opened

CLUSTERS = 6


class Judges(RomqaPeople):
    """Verifiers who refuse one of five questions, each others, and two of the first cluster together; ``said`` has what
    they say, and ``rated`` the ratings, 1 to 5 by the place of the pair and the person."""

    def __init__(self) -> None:
        super().__init__()
        self.said: dict[str, dict[str, str | None]] = {}
        self.rated: dict[tuple[str, str], tuple[int, int]] = {}

    def __call__(self, name: str, shown: WritingStep) -> Mapping[str, Any] | Refused:
        if shown.step.name == "verify":
            (question,) = shown.shown["question"].values()
            place = len(self.said.setdefault(question, {}))
            number = list(self.said).index(question)
            together = "Brazil" in question and "not" in question
            reason = "says_more" if together else "other_meaning" if number % 5 == 2 * place + 1 else None
            self.said[question][name] = reason
            return {} if reason is None else Refused(reason)
        if shown.step.name == "rate":
            questions = shown.shown["questions"]
            ours = "a" if questions["a"].startswith("Who has") else "b"
            other = "b" if ours == "a" else "a"
            pair = (1 + len(self.rated) % 5, 1 + len(self.rated) // 2 % 5)
            self.rated[questions[ours], questions[other]] = pair
            return {f"natural.{ours}": pair[0], f"natural.{other}": pair[1]}
        return super().__call__(name, shown)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Judges]:
    """Six clusters of four questions that people wrote, verified and, a few, rated."""
    folder = tmp_path_factory.mktemp("judged") / "logic"
    clusters = [made_cluster(number, queries=4) for number in range(CLUSTERS)]
    path = romqa_workspace(folder, clusters, split={"shares": [50, 0, 50]})
    people = Judges()
    people_done(folder, people)
    return path, people


def figures(found: AuthoringReport) -> RomqaReport:
    assert found.romqa is not None
    return found.romqa


def test_verification_is_what_a_count_of_the_judgements_gives(judged: tuple[Path, Judges]) -> None:
    path, people = judged
    found = figures(report(path)).verification
    records = open_records(path)
    said = [{one["by"]: one["reason"] for one in record["verifications"]} for record in _with_out(records)]
    assert len(said) == 4 * CLUSTERS == found.judged
    assert all(len(one) == 2 for one in said)
    exact = [not any(one.values()) for one in said]
    assert 0 < sum(exact) < len(exact)
    assert found.exact == sum(exact)
    assert found.share.value == pytest.approx(sum(exact) / len(exact))
    clusters = np.array([record["cluster_id"] for record in _with_out(records)])
    wilson = clustered_share(np.array(exact), np.unique(clusters, return_inverse=True)[1])
    assert (found.share.low, found.share.high) == pytest.approx((wilson.low, wilson.high))
    refusals = Counter(reason for one in said for reason in one.values() if reason)
    assert found.refusals == refusals
    assert {"says_more", "other_meaning"} == set(refusals)
    assert {name for one in said for name in one} == {name for one in people.said.values() for name in one}
    raters = sorted({name for one in said for name in one})
    matrix = [[float(one[name] is None) if name in one else np.nan for one in said] for name in raters]
    alpha = krippendorff.alpha(matrix, value_domain=[0, 1], level_of_measurement="nominal")
    assert found.agreement.alpha.value == pytest.approx(alpha)
    # Gwet's AC1 by hand for two judgements each: pa is the share of equal pairs, pe = 2 q (1 - q) of the share of yes.
    pairs = [tuple(reason is None for reason in one.values()) for one in said]
    pa = mean(one == other for one, other in pairs)
    q = mean(value for pair in pairs for value in pair)
    assert found.agreement.ac1.value == pytest.approx((pa - 2 * q * (1 - q)) / (1 - 2 * q * (1 - q)))
    assert found.agreement.n == len(said)


def _with_out(records: Records) -> list[dict[str, Any]]:
    """The records of all questions, those that are out too."""
    found = []
    for item in records.items.values():
        if item.kind == QUERY:
            record = records.design.record(item, None, with_origin(item, records.entries))
            assert record is not None
            found.append(record)
    return found


def test_clusters_stay_with_three_questions_and_go_with_fewer(judged: tuple[Path, Judges]) -> None:
    path, _ = judged
    found, records = report(path), open_records(path)
    kept = Counter(
        one["cluster_id"] for one in _with_out(records) if all(each["exact"] for each in one["verifications"])
    )
    stay = sum(count >= 3 for count in kept.values())
    fates = figures(found).clusters
    assert (fates.least, fates.stay, fates.undecided, fates.go) == (3, stay, 0, CLUSTERS - stay)
    assert 0 < stay < CLUSTERS
    small = sum(count for count in kept.values() if count < 3)
    assert small
    assert found.progress.out[QUERY]["small_cluster"] == small
    staying = sum(count for count in kept.values() if count >= 3)
    assert found.progress.states[QUERY] == {"kept": staying, "out": 4 * CLUSTERS - staying}
    assert len(records.units) == len(records.of(QUERY)) == staying
    listed = Counter(one.reason for one in rounds_report(path).units)
    assert (listed["small_cluster"], listed[None]) == (small, staying)
    # What is out is still listed with what was written.
    assert all(one.text.startswith("Who has") for one in rounds_report(path).units)


def test_sizes_are_means_and_medians_of_the_questions_that_stay(judged: tuple[Path, Judges]) -> None:
    path, _ = judged
    records = open_records(path)
    staying = {one["query_id"] for one in records.units}
    queries = {
        query["query_id"]: (cluster, query)
        for cluster in (made_cluster(number, queries=4) for number in range(CLUSTERS))
        for query in cluster["queries"]
    }
    splits = make_splits(records)
    found = figures(report(path)).sizes
    assert [one.split for one in found] == [None, "train", "test"]
    for sizes in found:
        chosen = [
            queries[name]
            for name in staying
            if sizes.split is None or splits.units[queries[name][0]["cluster_id"]] == sizes.split
        ]
        assert (sizes.questions, sizes.clusters) == (len(chosen), len({one["cluster_id"] for one, _ in chosen}))
        constraints = [len(query["constraints"]) for _, query in chosen]
        given = [len(query["answers"]) for _, query in chosen]
        evidence = [len({e["text"] for c in query["candidates"] for e in c["evidence"]}) for _, query in chosen]
        for spread, values in ((sizes.constraints, constraints), (sizes.answers, given), (sizes.evidence, evidence)):
            assert (spread.mean, spread.median) == (pytest.approx(mean(values)), median(values))
        negated = [one["negated"] for _, query in chosen for one in query["constraints"]]
        assert sizes.negated == pytest.approx(mean(negated))
    assert found[0].questions == sum(one.questions for one in found[1:])


def test_naturalness_is_that_of_the_ratings_that_people_gave(judged: tuple[Path, Judges]) -> None:
    path, people = judged
    records = open_records(path)
    comparison = figures(report(path)).comparison
    assert comparison is not None
    assert comparison.other == "WebQs"
    by_question = {ours: pair for (ours, _), pair in people.rated.items()}
    ratings = []
    for block in records.of(BLOCK):
        unit = next(one for one in records.units if one["item_id"] == block["parent_id"])
        (rated,) = block["ratings"]
        ratings.append(
            BlockRating(str(block["item_id"]), unit["cluster_id"], rated["by"], *by_question[unit["question"]])
        )
    assert comparison.naturalness == naturalness(ratings)
    assert comparison.naturalness.blocks == len(people.rated) == 3
    # A pair that shows the question as it no longer is does not count.
    block = next(item for item in records.items.values() if item.kind == BLOCK)
    questions = dict(block.content["questions"])
    questions[block.content["ours"]] = "Who had it?"
    changed = replace(block, content={**block.content, "questions": questions})
    comparison = figures(report_on(replace(records, items={**records.items, block.item_id: changed}))).comparison
    assert comparison is not None
    assert comparison.naturalness.blocks == 2


def test_what_is_not_there_yet_is_undefined_with_the_reason(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path / "one", [made_cluster(0, evidence=False)], verifiers=1)
    with opened(path):
        pass
    data = json.loads(json.dumps(as_data(report(path)), allow_nan=False))
    assert data["verification"]["share"] is None
    assert data["verification"]["undefined"]["share"] == "there are none yet"
    assert data["verification"]["undefined"]["alpha"] == "one person verifies each question"
    nothing = {"mean": None, "median": None, "undefined": dict.fromkeys(("mean", "median"), "there are no questions")}
    assert data["sizes"] == [
        {"split": None, "questions": 0, "clusters": 0, "constraints": nothing, "negated": None, "answers": nothing}
        | {"evidence": nothing, "undefined": {"negated": "there are no questions"}}
    ]
    assert data["naturalness"]["ours"] is None
    assert data["naturalness"]["undefined"]["p_randomisation"] == "nothing is rated yet"
    assert data["clusters"] == {"least": 3, "stay": 0, "undecided": 1, "go": 0}
    assert "No question is verified yet." in answers.report(report(path)).sentences
    people_done(tmp_path / "one")
    data = as_data(report(path))
    assert data["verification"]["share"] == 1
    assert data["verification"]["undefined"]["low"] == "the questions are of one cluster"
    assert data["naturalness"]["undefined"]["p_randomisation"] == "the questions are of one cluster"
    assert data["sizes"][0]["evidence"] == {
        "mean": None, "median": None, "undefined": dict.fromkeys(("mean", "median"), "the clusters have no evidence")
    }  # fmt: skip
    said = " ".join(map(str, answers.report(report(path)).sentences))
    assert "The verifier says that 3 of 3 questions ask exactly what they should: 100.0 %." in said
    assert "Between clusters: p undefined, as the questions are of one cluster." in said


def test_agreement_without_a_difference_is_undefined_and_nothing_is_compared_without_another_set(
    tmp_path: Path,
) -> None:
    path = romqa_workspace(tmp_path / "two", raters=None, compare=None)
    people_done(tmp_path / "two")
    found = figures(report(path))
    assert found.comparison is None
    assert as_data(report(path))["naturalness"] is None
    assert found.verification.agreement.alpha.why == "all judgements are the same"
    assert "α is undefined, as all judgements are the same." in answers.report(report(path)).sentences[2]


def test_clusters_of_refused_queries_go_before_anything_is_verified(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path / "open", [made_cluster(0, queries=4), made_cluster(1)], compare=None, raters=None)
    people = RomqaPeople(unclear=["award"])
    with opened(path) as session:
        everybody(session, lambda name, shown: people(name, shown) if shown.step.name == "write" else None)
    # Only the second query of each is without the award, so fewer than three can be kept.
    fates = figures(report(path)).clusters
    assert (fates.stay, fates.undecided, fates.go) == (0, 0, 2)
    assert figures(report(path)).verification.judged == 0


def test_pairs_that_have_to_wait_or_find_no_question_are_said() -> None:
    said = answers.derived(AddedBlocks("WebQs", 2, 1, 0, 5, waiting=3, unpaired=1, unused=0))
    assert said.sentences == [
        "1 pair with questions of WebQs added for rating by 2 people each, of 5 finished questions; 0 were there "
        "already.",
        "3 questions are of clusters in which tasks wait: derive again once these are done.",
        "1 question got none: WebQs has no unused question left; add some to its file.",
    ]
    nothing = answers.derived(AddedBlocks("WebQs", 2, 0, 0, 0, waiting=0, unpaired=0, unused=3))
    assert nothing.sentences == ["No question is finished yet, so there is nothing to rate."]


def test_the_words_of_one_verifier_two_and_three_differ() -> None:
    share, none = Estimate(0.75, 0.3, 0.95), Estimate(None, None, None, "all judgements are the same")
    for verifiers, words in (
        (1, "The verifier says that 3 of 4 questions ask exactly what they should: 75.0 % (30.0 to 95.0)."),
        (2, "Both verifiers agree that 3 of 4 questions ask exactly what they should: 75.0 % (30.0 to 95.0); α is"),
        (3, "All 3 verifiers agree that 3 of 4 questions ask exactly what they should"),
    ):
        verified = Verification(verifiers, 4, 3, share, {}, Agreement(none, none, 4))
        rounds = RoundsReport("authoring/romqa", QUERY, [], {QUERY: {"kept": 3}}, {}, verifiers)
        romqa = RomqaReport(verified, ClusterFates(3, 1, 0, 0), [], None)
        assert str(answers.report(AuthoringReport(rounds, romqa=romqa)).sentences[2]).startswith(words)
