"""Learning to rank: ``relevance qid:… 1:… 2:…`` with the scores of the runs as features, split by query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.files.lines import read_bytes
from quati_pool.files.runs import read_run
from quati_pool.records import Ids
from quati_pool.release import base
from quati_pool.release.checks import graded
from quati_pool.release.errors import ReleaseError
from quati_pool.release.output import Output
from quati_pool.release.pool_records import passage_texts
from quati_pool.release.query_splits import SplitParameters, split_queries
from quati_pool.release.state import Release


class Ltr(base.Format):
    """Writes the first labeler's grades in the format of SVMrank and LETOR, one file for each split, which LightGBM,
    XGBoost and scikit-learn's ``load_svmlight_file`` read. ``qid`` is the number of the query, since these take whole
    numbers. A feature is the score of a run; where the run did not return the document, the lowest score that it has
    for the query, 0 if it has none."""

    id = "export/ltr"
    revision = 2
    name = "ltr"
    summary = "learning to rank: relevance qid:… 1:score 2:score of the runs"
    Parameters = SplitParameters
    parameters: SplitParameters

    @property
    def publishes_texts(self) -> bool:
        return False

    def fill(self, release: Release, output: Output) -> dict[str, Any]:
        if not release.runs:
            raise ReleaseError(f"{release.name}: there are no runs to take scores from; run: quati-pool build")
        grades = graded(release.labelers[0].qrels)
        texts: dict[str, str] = {}
        if self.parameters.together == "passages":
            relevant = {doc_id for (_, doc_id), grade in grades.items() if grade >= self.parameters.positive}
            texts = passage_texts(release, relevant)
        split = split_queries(release.queries, grades, texts, self.parameters, release.name)
        numbers = {query_id: number for number, query_id in enumerate(split, 1)}
        pairs = sorted((pair for pair in grades if pair[0] in split), key=lambda pair: (numbers[pair[0]], pair[1]))
        features = np.column_stack([_scores(path, pairs) for path in release.runs.values()])
        counts: dict[str, int] = {"queries": len(split), "features": len(release.runs)}
        for name in self.parameters.splits:
            rows = [row for row, (query_id, _) in enumerate(pairs) if split[query_id] == name]
            counts[f"{name}_pairs"] = output.lines(f"{name}.txt", _lines(rows, pairs, grades, numbers, features))
        names = [("feature", "run_tag"), *((str(n), run_tag) for n, run_tag in enumerate(release.runs, 1))]
        output.lines("features.tsv", ("\t".join(row) for row in names))
        rows_of = [("qid", "query_id", "split"), *((str(numbers[one]), one, split[one]) for one in split)]
        output.lines("queries.tsv", ("\t".join(row) for row in rows_of))
        return counts


def _scores(path: Path, pairs: list[tuple[str, str]]) -> npt.NDArray[np.float32]:
    """A run's score of each pair, shape (pairs,)."""
    if not read_bytes(path):  # a system that returned nothing
        return np.zeros(len(pairs), dtype=np.float32)
    run = read_run(path)
    query = run.queries.encode([query_id for query_id, _ in pairs])
    doc = run.docs.encode(Ids([doc_id for _, doc_id in pairs]).values)
    lowest = np.full(len(run.queries), np.inf, dtype=np.float32)
    np.minimum.at(lowest, run.query, run.score)
    scores = np.where(query >= 0, lowest[np.maximum(query, 0)], np.float32(0)).astype(np.float32)
    order = np.argsort(run.pair)
    wanted = np.where((query >= 0) & (doc >= 0), query * len(run.docs) + doc, -1)
    at = np.minimum(np.searchsorted(run.pair[order], wanted), len(run) - 1)
    found = run.pair[order][at] == wanted
    scores[found] = run.score[order][at[found]]
    return scores


def _lines(
    rows: list[int],
    pairs: list[tuple[str, str]],
    grades: Mapping[tuple[str, str], int],
    numbers: Mapping[str, int],
    features: npt.NDArray[np.float32],
) -> Iterator[str]:
    for row in rows:
        query_id, doc_id = pairs[row]
        values = " ".join(f"{n}:{value!s}" for n, value in enumerate(features[row], 1))
        yield f"{grades[pairs[row]]} qid:{numbers[query_id]} {values} # {query_id} {doc_id}"
