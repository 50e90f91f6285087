"""Small collections for the explorer's site, with its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from quati_pool.reporting.explorer.writing import copy_site

Collection = dict[str, Any]
QueryData = dict[str, Any]
Scores = dict[tuple[int, int], list[list[float | None]]]


def site(folder: Path, collection: Collection, queries: list[QueryData], scores: Scores) -> Path:
    """The explorer of these data; returns its page."""
    copy_site(folder)
    data = folder / "data"
    data.mkdir()
    (data / "collection.js").write_text(f"explorerData.collection({json.dumps(collection)});\n")
    for number, query in enumerate(queries):
        (data / f"query-{number}.js").write_text(f"explorerData.query({number}, {json.dumps(query)});\n")
    for (labeler, measure), values in scores.items():
        call = f"explorerData.scores({labeler}, {measure}, {json.dumps(values)});\n"
        (data / f"scores-{labeler}-{measure}.js").write_text(call)
    return folder / "index.html"


def small() -> tuple[Collection, list[QueryData], Scores]:
    """Three queries of 4, 3 and 1 pairs, three systems and labelers; ``eva``'s grade of d1 is hidden. The grades:

          d1 d2 d3 d4  e1 e2 e3  f1
    ana    3  1  0  –   0  1  !   3
    gpt    3  0  1  3   0  0  –   0
    """
    collection: Collection = {
        "version": 1,
        "name": "small",
        "title": "A small collection",
        "texts": True,
        "grades": [[0, "Irrelevant"], [1, "On topic"], [3, "Relevant"]],
        "systems": [
            {"name": "bm25", "family": "lexical", "depth": 6},
            {"name": "rrf", "family": "fusion", "depth": 6},
            {"name": "dense", "family": "neural", "depth": 0},
        ],
        "labelers": [
            {"name": "ana", "kind": "person", "members": []},
            {"name": "gpt", "kind": "llm", "members": []},
            {"name": "eva", "kind": "person", "members": []},
        ],
        "main": 0,
        "measures": ["nDCG@10", "P@10"],
        "depth": 6,
        "queries": [
            {"id": "q1", "text": "Quantos corações tem um polvo?", "narrative": None},
            {"id": "q2", "text": "Quais são os efeitos da seca?", "narrative": "No campo e na cidade."},
            {"id": "q3", "text": "Como se rega um jardim?", "narrative": "Interessa a irrigação por gotejamento."},
        ],
        "first": [0, 4, 7, 8],
        "alone": [-1, -1, 0, 2, 1, -1, -1, -1],
        "labels": ["210-01!2", "201200-0", "?-------"],
        "boards": [
            {
                "queries": 3,
                "rows": [
                    {
                        "system": 1,
                        "rank": 1,
                        "letters": ["a"],
                        "unjudged": 0.0,
                        "means": [[0.5833, 0.4, 0.7], [0.2, None, None]],
                    },
                    {
                        "system": 0,
                        "rank": 2,
                        "letters": ["a"],
                        "unjudged": 0.4,
                        "means": [[0.5, 0.3, 0.6], [0.2, None, None]],
                    },
                    {
                        "system": 2,
                        "rank": 3,
                        "letters": ["b"],
                        "unjudged": None,
                        "means": [[0.25, None, None], [0.2, None, None]],
                    },
                ],
            },
            None,
            None,
        ],
        "agreement": [
            {
                "a": 1,
                "b": 0,
                "n": 6,
                "kappa": 0.125,
                "low": -0.1,
                "high": 0.5,
                "quadratic": 0.2,
                "same": 1 / 3,
                "difference": -2 / 3,
            }
        ],
    }
    outside = ["x1", "x2", "x3", "x4"]
    queries: list[QueryData] = [
        {
            "docs": ["d1", "d2", "d3", "d4", *outside],
            "texts": [f"The text of d{number}." for number in (1, 2, 3, 4)],
            "rankings": [[2, 0, 4, 5, 6, 7], [0, 1], [3, 1, 0]],
            "details": [
                [1, 1, {"reason": "It names octopuses only.", "samples": [0, 0, 1]}],
                [1, 0, {"note": "See d1."}],
            ],
        },
        {
            "docs": ["e1", "e2", "e3"],
            "texts": ["The text of e1.", None, "The text of e3."],
            "rankings": [[1, 2], [0, 1], [2]],
            "details": [[2, 0, {"state": "unsure"}]],
        },
        {"docs": ["f1"], "texts": ["The text of f1."], "rankings": [[0], [0], [0]], "details": []},
    ]
    scores: Scores = {
        (0, 0): [[0.5, 0.25, 0.75], [1.0, 0.25, 0.5], [0.0, None, 0.5]],
        (0, 1): [[0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [0.1, 0.2, 0.3]],
    }
    return collection, queries, scores


def filled(count: int, names: list[str] | None = None) -> tuple[Collection, list[QueryData], Scores]:
    """``count`` queries of two pairs each, which two systems return; the second pair of every query is disputed, by 2
    in the last query and by 1 in the others. ``names`` are used for everything that has a name or a text."""

    def named(kind: str, number: int) -> str:
        return names[number % len(names)] + str(number // len(names) or "") if names else f"{kind}{number}"

    detail = {"state": named("state", 0), "reason": named("reason", 1), "note": named("note", 2)}
    systems = [0, 1] if names is None else list(range(len(names)))
    means = [[0.5, 0.4, 0.6]]
    rows = [
        {"system": one, "rank": one + 1, "letters": [named("a", 3)], "unjudged": 0.5, "means": means} for one in systems
    ]
    labels = ["01" * count, "00" * (count - 1) + "0" + "3"]
    labelers = [0, 1] if names is None else list(range(len(names)))
    collection: Collection = {
        "version": 1,
        "name": named("name", 0),
        "title": named("title", 1),
        "texts": True,
        "grades": [[grade, named("grade", grade)] for grade in range(4)],
        "systems": [{"name": named("system", one), "family": named("family", one), "depth": 5} for one in systems],
        "labelers": [{"name": named("labeler", one), "kind": "person", "members": []} for one in labelers],
        "main": 0,
        "measures": [named("measure", 0)],
        "depth": 5,
        "queries": [
            {"id": named("q", one), "text": named("text", one + 1), "narrative": named("narrative", one + 2)}
            for one in range(count)
        ],
        "first": [2 * one for one in range(count + 1)],
        "alone": [0, -1] * count,
        "labels": [labels[one] if one < 2 else "-" * (2 * count) for one in labelers],
        "boards": [{"queries": count, "rows": rows}, *(None for _ in labelers[1:])],
        "agreement": [],
    }
    queries = [
        {
            "docs": [named(f"d{one}-", number) for number in range(3)],
            "texts": [named("passage", one), named("passage", one + 1)],
            "rankings": [[1, 0, 2] for _ in systems],
            "details": [[0, 0, detail]],
        }
        for one in range(count)
    ]
    scores: Scores = {(0, 0): [[(one + query) % 10 / 10 for query in range(count)] for one in systems]}
    return collection, queries, scores
