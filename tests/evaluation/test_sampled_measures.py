"""xinfAP, infNDCG and statAP: against a computation document by document, against trec_eval's infAP, and against AP and
nDCG where nothing was left out."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quati_pool.errors import ConfigError
from quati_pool.evaluation.judged_runs import JudgedRuns
from quati_pool.evaluation.scores import score
from quati_pool.records import Ids, Qrels, Run, Sample

NAMES = ("xinfAP", "xinfAP(rel=2)", "infNDCG", "statAP", "statAP(rel=2)")


class Listed(NamedTuple):
    """A pair of a sample's frame: its document, stratum, and relevance, −1 if it was not drawn."""

    doc_id: str
    stratum: int
    relevance: int


Frame = dict[str, list[Listed]]


def qrels(frame: Frame, inclusion: list[float] | None = None) -> Qrels:
    rows = [(query_id, *one) for query_id, listed in frame.items() for one in listed]
    queries, docs = Ids(list(frame)), Ids(sorted({row[1] for row in rows}))
    query, doc = queries.encode([row[0] for row in rows]), docs.encode([row[1] for row in rows])
    relevance = np.array([row[3] for row in rows], dtype=np.int64)
    everything = Qrels(queries, docs, query, doc, relevance)
    drawn = relevance >= 0
    sample = Sample(everything, stratum=np.array([row[2] for row in rows], dtype=np.int64))
    if inclusion is not None:
        sample = Sample(everything, inclusion=np.array(inclusion))
    return Qrels(queries, docs, query[drawn], doc[drawn], relevance[drawn], sample)


def run(ranking: dict[str, list[str]], run_tag: str = "r") -> Run:
    rows = [(query_id, doc_id, -rank) for query_id, docs in ranking.items() for rank, doc_id in enumerate(docs)]
    return Run.from_frame(run_tag, pd.DataFrame(rows, columns=["query_id", "doc_id", "score"]))


def values(frame: Frame, ranking: dict[str, list[str]], names: tuple[str, ...] = NAMES) -> dict[str, list[float]]:
    scores = score(JudgedRuns([run(ranking)], qrels(frame)), names)
    return {name: scores.of(name)[0].tolist() for name in names}


def by_hand(listed: list[Listed], docs: list[str], rel: int) -> tuple[float, float, float]:
    """xinfAP, infNDCG and statAP of one ranking, a document at a time."""
    strata = sorted({one.stratum for one in listed})
    known = {one.doc_id: one for one in listed}
    size = {s: sum(one.stratum == s for one in listed) for s in strata}
    drawn = {s: sum(one.stratum == s and one.relevance >= 0 for one in listed) for s in strata}
    each = {s: size[s] / drawn[s] if drawn[s] else 0.0 for s in strata}
    relevant = sum(each[one.stratum] for one in listed if one.relevance >= rel)

    above = {s: [0, 0, 0] for s in strata}  # documents, drawn, relevant
    precisions = weighted = stat = 0.0
    gains = dict.fromkeys(strata, 0.0)
    for rank, doc_id in enumerate(docs, 1):
        one = known.get(doc_id)
        if one is None:
            continue
        counts = above[one.stratum]
        if one.relevance >= rel:
            expected = sum(n * (r + 1e-5) / (d + 3e-5) for n, d, r in above.values())
            precisions += each[one.stratum] * (1 + expected) / rank
            weighted += each[one.stratum]
            stat += each[one.stratum] * weighted / rank
            counts[2] += 1
        counts[0] += 1
        counts[1] += one.relevance >= 0
        gains[one.stratum] += max(one.relevance, 0) / math.log2(rank + 1)
    dcg = sum(gains[s] * above[s][0] / above[s][1] for s in strata if above[s][1])

    ideal, at = 0.0, 0.0
    for grade in sorted({one.relevance for one in listed if one.relevance > 0}, reverse=True):
        number = sum(each[one.stratum] for one in listed if one.relevance == grade)
        for place in range(1, math.floor(number + 1e-9) + 1):
            ideal += grade / math.log2(at + place + 1)
        at += number
    return (
        precisions / relevant if relevant else 0.0,
        dcg / ideal if ideal else 0.0,
        stat / relevant if relevant else 0.0,
    )


def test_a_ranking_worked_out_by_hand() -> None:
    # Stratum 1 has 2 documents, both drawn; stratum 2 has 4, of which 2 were drawn: each stands for 2.
    frame = {
        "q": [
            Listed("a", 1, 2),
            Listed("b", 1, 0),
            Listed("c", 2, 1),
            Listed("d", 2, -1),
            Listed("e", 2, 0),
            Listed("f", 2, -1),
        ]
    }
    found = values(frame, {"q": ["a", "d", "x", "c", "e"]}, ("xinfAP", "infNDCG", "statAP"))
    # Relevant: a for 1 and c for 2, so 3. At a: 1. At c, rank 4: above it, stratum 1 has 1 document with share 1, and
    # stratum 2 has 1 that was not drawn, with share 1/3 by smoothing alone: (1 + 1 + 1/3)/4 = 7/12. In all
    # (1·1 + 2·7/12)/3 = 13/18.
    assert found["xinfAP"][0] == pytest.approx(13 / 18, abs=1e-5)
    # DCG: stratum 1: 2/log2(2) = 2; stratum 2: 1/log2(5), for 3 documents of which 2 were drawn: times 1.5. Ideal: one
    # of grade 2, then two of grade 1: 2 + 1/log2(3) + 1/log2(4).
    dcg, ideal = 2 + 1.5 / math.log2(5), 2 + 1 / math.log2(3) + 1 / 2
    assert found["infNDCG"][0] == pytest.approx(dcg / ideal)
    # At a: 1; at c: (1 + 2)/4; (1·1 + 2·3/4)/3 = 5/6.
    assert found["statAP"][0] == pytest.approx(5 / 6)


frames = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.lists(st.builds(Listed, st.sampled_from("abcdefghij"), st.integers(0, 2), st.integers(-1, 3)), min_size=1)
    .map(lambda listed: list({one.doc_id: one for one in listed}.values()))
    .filter(lambda listed: any(one.relevance >= 0 for one in listed)),
    min_size=1,
)


@settings(deadline=None)
@given(frames, st.permutations("abcdefghijxyz"), st.integers(1, 13))
def test_any_ranking_as_by_hand(frame: Frame, docs: list[str], length: int) -> None:
    ranking = dict.fromkeys(frame, docs[:length])
    found = values(frame, ranking)
    for place, listed in enumerate(frame.values()):
        for rel, suffix in ((1, ""), (2, "(rel=2)")):
            xinfap, infndcg, statap = by_hand(listed, docs[:length], rel)
            assert found[f"xinfAP{suffix}"][place] == pytest.approx(xinfap, abs=1e-12)
            assert found[f"statAP{suffix}"][place] == pytest.approx(statap, abs=1e-12)
            assert found["infNDCG"][place] == pytest.approx(infndcg, abs=1e-12)


@settings(deadline=None)
@given(frames, st.permutations("abcdefghijxyz"))
def test_one_stratum_is_trec_evals_infap(frame: Frame, docs: list[str]) -> None:
    # Both smooth, by 1e-5 of 3e-5 and of 2e-5; they agree where something drawn is above, or nothing is.
    frame = {query_id: [one._replace(stratum=0) for one in listed] for query_id, listed in frame.items()}
    drawn_first = {
        query_id: sorted(docs, key=lambda doc_id, listed=listed: -_is_drawn(listed, doc_id))  # type: ignore[misc]
        for query_id, listed in frame.items()
    }
    found = values(frame, drawn_first, ("xinfAP", "infAP"))
    assert found["xinfAP"] == pytest.approx(found["infAP"], abs=1e-4)


def _is_drawn(listed: list[Listed], doc_id: str) -> bool:
    return any(one.doc_id == doc_id and one.relevance >= 0 for one in listed)


@settings(deadline=None)
@given(frames, st.permutations("abcdefghijxyz"))
def test_a_census_gives_ap_and_ndcg(frame: Frame, docs: list[str]) -> None:
    frame = {
        query_id: [one._replace(relevance=max(one.relevance, 0)) for one in listed]
        for query_id, listed in frame.items()
    }
    complete = replace(qrels(frame), sample=None)
    for judged in (qrels(frame), complete):
        scores = score(JudgedRuns([run(dict.fromkeys(frame, docs))], judged), (*NAMES, "AP", "nDCG"))
        assert scores.of("infNDCG") == pytest.approx(scores.of("nDCG"), abs=1e-12)
        assert scores.of("statAP") == pytest.approx(scores.of("AP"), abs=1e-12)
        assert scores.of("xinfAP") == pytest.approx(scores.of("AP"), abs=1e-3)


def test_the_mean_over_all_samples() -> None:
    """The counts of relevant documents behind the ideal, and DCG where a stratum is returned whole, are unbiased."""
    grades = {"a": 3, "b": 0, "c": 1, "d": 2, "e": 0}
    dcgs = []
    for drawn in itertools.combinations(grades, 2):
        frame = {"q": [Listed(doc_id, 0, grade if doc_id in drawn else -1) for doc_id, grade in grades.items()]}
        (value,) = values(frame, {"q": list(grades)}, ("infNDCG",))["infNDCG"]
        _, _, ideal = _ideal(frame["q"])
        dcgs.append(value * ideal)
    true = sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades.values(), 1))
    assert np.mean(dcgs) == pytest.approx(true)


def _ideal(listed: list[Listed]) -> tuple[float, float, float]:
    """Of a ranking that has only the best document: its infNDCG is its DCG by the ideal's."""
    best = max(listed, key=lambda one: one.relevance)
    infndcg = by_hand(listed, [best.doc_id], 1)[1]
    return 0.0, infndcg, best.relevance / infndcg if infndcg else 0.0


def test_probabilities_of_prels() -> None:
    frame = {"q": [Listed("a", 0, 1), Listed("b", 0, 1), Listed("c", 0, 0), Listed("d", 0, 1)]}
    judged = qrels(frame, inclusion=[1.0, 0.25, 0.5, 0.0])
    scores = score(JudgedRuns([run({"q": ["b", "x", "a", "d"]})], judged), ["statAP"])
    # d was judged but not drawn. Relevant: 1 + 4. At b: 4/1; at a, rank 3: (4 + 1)/3; (4·4 + 1·5/3)/5.
    assert scores.of("statAP")[0, 0] == pytest.approx((16 + 5 / 3) / 5)
    for name in ("xinfAP", "infNDCG"):
        with pytest.raises(ConfigError, match=f"{name} needs the pairs that were not drawn, which prels do not list"):
            score(JudgedRuns([run({"q": ["a"]})], judged), [name])


def test_queries_without_a_drawn_pair_or_a_run() -> None:
    frame = {
        "q1": [Listed("a", 0, 1), Listed("b", 0, 0)],
        "none": [Listed("a", 0, -1)],
        "q2": [Listed("a", 0, 1)],
        "q3": [Listed("a", 0, 0)],
    }
    scores = score(JudgedRuns([run({"q1": ["a"], "none": ["a"], "q3": ["a"]})], qrels(frame)), ["nDCG@10", *NAMES])
    assert scores.query_ids == ("q1", "q2", "q3")
    assert scores.missing.tolist() == [[False, True, False]]
    assert scores.of("infNDCG").tolist() == [[1.0, 0.0, 0.0]]
    assert scores.of("xinfAP").tolist() == [[1.0, 0.0, 0.0]]


def test_results_end_at_rank_1000() -> None:
    docs = [f"d{n:04}" for n in range(1200)]
    frame = {"q": [Listed(doc_id, 0, 1) for doc_id in docs]}
    found = values(frame, {"q": docs}, ("xinfAP", "infNDCG"))
    # All of 1,200 are relevant and 1,000 count: precision 1 at each, the ideal of 1,000, and 1200/1000 as adjustment.
    assert found["infNDCG"] == [pytest.approx(1.0)]
    assert found["xinfAP"] == [pytest.approx(1.0, abs=1e-4)]
