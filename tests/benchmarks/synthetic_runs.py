"""Twenty systems' runs that overlap as real ones do, over string ids; seeded."""

from __future__ import annotations

import numpy as np
import pandas as pd

CORPUS = 1_000_000


def frames(systems: int = 20, queries: int = 200, documents: int = 1000, seed: int = 0) -> list[pd.DataFrame]:
    """One frame a system, of query_id, doc_id, rank and score, sorted by query and rank."""
    random = np.random.default_rng(seed)
    made = []
    candidates = [random.choice(CORPUS, 3 * documents, replace=False) for _ in range(queries)]
    merit = [random.normal(size=3 * documents) for _ in range(queries)]
    for _ in range(systems):
        docs, scores = [], []
        for query in range(queries):
            score = merit[query] + random.normal(size=3 * documents)
            top = np.argsort(-score)[:documents]
            docs.append(candidates[query][top])
            scores.append(score[top])
        frame = pd.DataFrame(
            {
                "query_id": np.repeat([f"q{query}" for query in range(queries)], documents),
                "doc_id": [f"clueweb22-pt{n % 97:04d}-{n:08d}" for n in np.concatenate(docs)],
                "rank": np.tile(np.arange(1, documents + 1), queries),
                "score": np.concatenate(scores),
            }
        )
        made.append(frame)
    return made
