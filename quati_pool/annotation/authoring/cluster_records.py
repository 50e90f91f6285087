"""The lines of clusters.jsonl: what the app's rounds and the data set read of a cluster, without the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from quati_pool.annotation.authoring.answer_candidates import Candidates
from quati_pool.annotation.authoring.constraints import Cluster, ConstraintIndex, contained
from quati_pool.annotation.authoring.logical_queries import LogicalQuery
from quati_pool.files.triples import Mention
from quati_pool.records import Int

Drawn = Sequence[tuple[LogicalQuery, Candidates]]
"""The queries of a cluster that are not discarded, with their candidates."""


def evidence_triples(index: ConstraintIndex, cluster: Cluster, drawn: Drawn) -> Int:
    """The keys (``GraphIds.keys``) of the triples by which a cluster's candidates fulfil constraints of their queries,
    ascending, each once: those that ``read_mentions`` is asked for."""
    keys = [np.empty(0, dtype=np.int64)]
    for query, (entities, _) in drawn:
        for place, _ in query.constraints:
            constraint = cluster.constraints[place]
            keys.append(index.linking(constraint, entities[contained(entities, index.answers_of(constraint))]))
    return np.unique(np.concatenate(keys))


def cluster_record(
    index: ConstraintIndex,
    cluster: Cluster,
    drawn: Drawn,
    mentions: Mapping[int, Sequence[Mention]] | None = None,
) -> dict[str, Any]:
    """The JSON object of a cluster:

        {"cluster_id": "5f0c…",
         "constraints": [{"entity": "Q2", "property": "P19", "side": "subj", "answers": 812}, …],
         "queries": [{"query_id": "5f0c…-1",
                      "constraints": [{"constraint": 0, "negated": false}, …],
                      "answers": ["Q17", …],
                      "candidates": [{"entity": "Q17", "is_answer": true, "evidence": [
                          {"doc_id": "D3", "start": 5, "end": 41, "text": "…"}, …]}, …]}, …]}

    The first constraint is the cluster's seed. ``side`` is the place of the answer in the triple (``prop_dir`` in
    RoMQA's files), ``answers`` of a constraint the number of entities that fulfil it alone. ``constraint`` counts the
    cluster's constraints from 0; ``negated`` is the contrary of RoMQA's ``truthy``. The answers of a query are all
    that there are, ordered by id; candidates are in the order in which they are shown.

    ``mentions``, by the triples' keys, are the evidence: those of the triples by which a candidate fulfils a
    constraint of the query, negated ones too, each text once, ordered by document and place. Without ``mentions``
    candidates have no ``evidence``.
    """
    return {
        "cluster_id": cluster.cluster_id,
        "constraints": [
            {**constraint._asdict(), "answers": len(index.answers_of(number))}
            for number, constraint in zip(cluster.constraints, index.constraints(cluster.constraints), strict=True)
        ],
        "queries": [
            {
                "query_id": query.query_id,
                "constraints": [{"constraint": place, "negated": negated} for place, negated in query.constraints],
                "answers": index.ids.entities.decode(query.answers).to_pylist(),
                "candidates": _candidates(index, cluster, query, candidates, mentions),
            }
            for query, candidates in drawn
        ],
    }


def evidence_texts(query: Mapping[str, Any]) -> int | None:
    """The number of different texts that are evidence of a query's candidates, None for a query without evidence; the
    query as in ``cluster_record``."""
    of_candidates = [candidate["evidence"] for candidate in query["candidates"] if "evidence" in candidate]
    return len({mention["text"] for mention in chain.from_iterable(of_candidates)}) if of_candidates else None


def _candidates(
    index: ConstraintIndex,
    cluster: Cluster,
    query: LogicalQuery,
    candidates: Candidates,
    mentions: Mapping[int, Sequence[Mention]] | None,
) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [
        {"entity": entity, "is_answer": is_answer}
        for entity, is_answer in zip(
            index.ids.entities.decode(candidates.entities).to_pylist(), candidates.is_answer.tolist(), strict=True
        )
    ]
    if mentions is not None:
        keys = np.array(
            [index.linking(cluster.constraints[place], candidates.entities) for place, _ in query.constraints]
        )
        for record, of_candidate in zip(records, keys.T.tolist(), strict=True):
            record["evidence"] = _evidence(mentions, of_candidate)
    return records


def _evidence(mentions: Mapping[int, Sequence[Mention]], keys: Sequence[int]) -> list[dict[str, Any]]:
    first: dict[str, Mention] = {}
    for mention in sorted(chain.from_iterable(mentions.get(key, ()) for key in keys)):
        first.setdefault(mention.text, mention)
    return [mention._asdict() for mention in first.values()]
