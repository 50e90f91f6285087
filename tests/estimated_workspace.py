"""A workspace whose systems' scores under people's grades are estimated: a judge has graded every pair of its pool, and
people those of random queries. Every grade follows from the ids, so that tests can compute what is true."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import yaml

from quati_pool.annotation.sampling import random_query_order
from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.build import build
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.records import State
from quati_pool.store.database import Store
from quati_pool.store.records import Entry, Kind, Label, content_sha
from tests.commands.annotate.people_at_work import answer, text, token

Pair = tuple[str, str]
Grade = Callable[[Pair], int | None]

QUERIES, DRAWN, GRADED = 14, 11, 9
"""The queries of the collection, of its design, and those that people have finished."""
JUDGE, PERSON = "gpt-4o", "ana"
NOISE = {"dense": 1.0, "hybrid": 1.0, "bm25": 1.5, "words": 3.0}
"""How far each system's scores are off the relevance: the best first."""

_DOCS, _DEPTH = 30, 5


def relevance(pair: Pair) -> int:
    """The grade that every person gives."""
    return _random(*pair).choices(range(4), [6, 2, 2, 1])[0]


def judged(pair: Pair) -> int:
    """The grade that the judge gives: often one too high."""
    return min(3, relevance(pair) + _random(JUDGE, *pair).choices((0, 1), [3, 2])[0])


def _random(*words: str) -> random.Random:
    return random.Random(" ".join(words))


def judged_workspace(folder: Path, queries: int = QUERIES, **settings: Any) -> Path:
    """A built workspace with four runs and the judge's grades, which nobody else has graded; returns its pool.yaml."""
    folder.mkdir(parents=True)
    query_ids = [f"q{number:02}" for number in range(queries)]
    doc_ids = [f"d{number:02}" for number in range(_DOCS)]
    corpus = [json.dumps({"doc_id": doc_id, "text": text(number)}) for number, doc_id in enumerate(doc_ids)]
    _write(folder / "corpus.jsonl", corpus)
    _write(folder / "queries.tsv", [f"{query_id}\twhat is {query_id}?" for query_id in query_ids])
    pairs = [(query_id, doc_id) for query_id in query_ids for doc_id in doc_ids]
    for run_tag, noise in NOISE.items():
        scores = [relevance(pair) + _random(run_tag, *pair).gauss(0, noise) for pair in pairs]
        rows = zip(pairs, scores, strict=True)
        _write(folder / f"{run_tag}.run", [f"{q} Q0 {d} 1 {score} {run_tag}" for (q, d), score in rows])
    config = {
        "name": "estimated",
        "corpus": {"path": "corpus.jsonl"},
        "queries": {"path": "queries.tsv"},
        "systems": {run_tag: {"retriever": "run", "path": f"{run_tag}.run"} for run_tag in NOISE},
        "run_depth": 2 * _DEPTH,
        "pool": {"depth": _DEPTH},
        "judges": {JUDGE: {"model": "gpt-4o-2024-11-20", "prompt": "quati-en"}},
        "measures": [f"nDCG@{_DEPTH}", f"P(rel=2)@{_DEPTH}"],
        **settings,
    }
    path = folder / "pool.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    build(path, Listener())
    with Store.open(None, folder) as store:
        version = Grading(load_config(path), store).labeler(JUDGE).version
    assert version is not None
    label(path, JUDGE, judged, kind="judge", version=version)
    return path


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def draw(config: Path, drawn: int = DRAWN, **options: Any) -> list[str]:
    """Assigns the pairs of random queries to anybody; returns the queries in the design's order."""
    design_id = assign(config, AssignOptions(random_queries=drawn, **options)).design_id
    assert design_id is not None
    with AnnotationSession.open(config) as session:
        [seed] = [one.seed for one in session.designs.all() if one.design_id == design_id]
        strata = {one.query_id: one.stratum for one in session.designs.frame(design_id) or ()}
    return random_query_order(strata, seed)[:drawn]


def grade(config: Path, name: str = PERSON, queries: int = GRADED, relevance_of: Grade = relevance) -> None:
    """Lets a person grade in the app's order until they have finished this many queries; None for a pair that they
    cannot judge."""
    with AnnotationSession.open(config) as session:
        mine = token(session, name)
        begun: dict[str, None] = {}
        while (item := next_item(session, mine)) is not None:
            begun[item.query_id] = None
            if len(begun) > queries:
                return
            found = relevance_of((item.query_id, item.doc_id))
            unsure = {} if found is not None else {"status": "unsure", "reason": "broken_text"}
            # The nonce of a slot is its own: two people never send the same.
            submit(session, mine, item, answer(item.assignment_id or 0, found, **unsure))


def label(
    config: Path,
    name: str,
    relevance_of: Grade = relevance,
    queries: Collection[str] | None = None,
    kind: Kind = "assessor",
    version: str | None = None,
) -> None:
    """Writes somebody's grades of all pairs of some queries (all, if None), whatever was assigned; without a
    ``version``, that of people."""
    with AnnotationSession.open(config) as session:
        entries = []
        for chunk in session.grading.pairs():
            for one in chunk:
                if queries is not None and one.query_id not in queries:
                    continue
                found = relevance_of((one.query_id, one.doc_id))
                made = Label(
                    collection=session.config.name,
                    labeler_id=name,
                    kind=kind,
                    version=version or session.version,
                    query_id=one.query_id,
                    doc_id=one.doc_id,
                    content_sha=content_sha(one.query, one.text),
                    status=State.unsure if found is None else State.ok,
                    relevance=found,
                )
                entries.append(Entry(label=made))
        session.store.append(entries)


def estimated_workspace(folder: Path, **settings: Any) -> Path:
    """A workspace of QUERIES queries, of which DRAWN were drawn and one person has graded GRADED; returns its
    pool.yaml."""
    config = judged_workspace(folder, **settings)
    draw(config)
    grade(config)
    return config
