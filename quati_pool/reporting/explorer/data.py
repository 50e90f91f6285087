"""The explorer's data: one description of the collection, scores by labeler and measure, and one part per query.

Pairs, systems and labelers are numbered, and names are never keys: an id such as ``__proto__`` is an id like any
other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from quati_pool.agreement.pairwise import PairAgreement
from quati_pool.commands.evaluate import Condition
from quati_pool.commands.explorer import Detail, QueryPairs
from quati_pool.commands.report import State
from quati_pool.labels.gathered import LabelSource
from quati_pool.pooling.pool import Pool
from quati_pool.project.inputs import load_queries
from quati_pool.records import Int, Qrels, Query, Run
from quati_pool.reporting.explorer.audits import audits
from quati_pool.reporting.explorer.scripts import NO_GRADE, NO_LABEL
from quati_pool.reporting.tables.estimate import interval
from quati_pool.store.records import ADJUDICATED

DEPTH = 100
"""The deepest rank of the rankings."""
_HOLES_AT = 10
_DECIMALS = 6
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, eq=False)
class ExplorerData:
    """The data of one state. ``texts``: whether to include the passages' texts, and the reasons and notes of labelers,
    which may quote them. ``report``: whether the explorer is next to a report, to which its pages lead back."""

    state: State
    texts: bool
    report: bool

    @cached_property
    def query_ids(self) -> list[str]:
        """The queries of the pool in its order, then those without pairs."""
        pool = self.state.pool.pool
        places = np.unique(pool.query, return_index=True)[1]
        pooled: list[str] = pool.queries.decode(pool.query[np.sort(places)]).to_pylist()
        known = {*pooled}
        return [*pooled, *(query_id for query_id in self._queries if query_id not in known)]

    @cached_property
    def queries(self) -> list[Query]:
        known = self.state.gathered.queries
        return [self._queries.get(query_id) or Query(query_id, known.get(query_id, "")) for query_id in self.query_ids]

    @cached_property
    def measures(self) -> tuple[str, ...]:
        return self.state.evaluation.measures if self.state.evaluation else ()

    @property
    def sources(self) -> Sequence[LabelSource]:
        return self.state.gathered.sources

    @property
    def labelers(self) -> list[dict[str, Any]]:
        """Name and kind of each labeler, and the numbers of those from whose grades its own are computed."""
        return [
            {"name": source.name, "kind": _kind(source), "members": self._members(source)} for source in self.sources
        ]

    @cached_property
    def conditions(self) -> list[Condition | None]:
        """What each labeler's grades say of the systems; None where they say nothing."""
        found = self.state.evaluation.conditions if self.state.evaluation else []
        by_name = {condition.source.name: condition for condition in found}
        return [by_name.get(source.name) for source in self.sources]

    def collection(self, ungraded: Sequence[Iterable[int]]) -> dict[str, Any]:
        """All but scores, rankings and texts. ``ungraded`` has, for each labeler, the numbers of the pairs that have
        its label but no grade."""
        config, pool = self.state.config, self.state.pool.pool
        fed = pool.fed
        alone = np.where(fed.sum(axis=1) == 1, fed.argmax(axis=1), -1)
        systems = [*config.systems]
        column = np.array([systems.index(run_tag) for run_tag in pool.run_tags], dtype=np.int64)
        return {
            "version": 1,
            "name": config.name,
            "title": config.release.title or config.name,
            "texts": self.texts,
            "report": self.report,
            "grades": [[grade, name] for grade, name in sorted(self.state.gathered.scale.items())],
            "systems": [
                {"name": run_tag, "family": config.family(run_tag), "depth": config.pool_depth(run_tag)}
                for run_tag in systems
            ],
            "labelers": self.labelers,
            "main": self._main(),
            "measures": self.measures,
            "depth": min(DEPTH, config.run_depth),
            "queries": [
                {"id": query.query_id, "text": query.query, "narrative": query.narrative} for query in self.queries
            ],
            "first": self._first.tolist(),
            "alone": np.where(alone < 0, -1, column[alone] if len(column) else -1).tolist(),
            "labels": [self._labels(source, pairs) for source, pairs in zip(self.sources, ungraded, strict=True)],
            "boards": [condition and self._board(condition) for condition in self.conditions],
            "estimates": self._estimates(),
            "agreement": [*self._agreement()],
            **({"audits": audits(self.state, self.texts)} if self.state.audits else {}),
        }

    def scores(self, labeler: int, measure: int) -> list[list[float | None]] | None:
        """For each system, its value on each query, None where nothing is known; None if the labeler's grades say
        nothing of the systems."""
        condition = self.conditions[labeler]
        if condition is None:
            return None
        scores, systems = condition.scores, [*self.state.config.systems]
        place = {query_id: number for number, query_id in enumerate(self.query_ids)}
        found: list[list[float | None]] = [[None] * len(place) for _ in systems]
        for run_tag, values in zip(scores.run_tags, scores.of(self.measures[measure]).tolist(), strict=True):
            row = found[systems.index(run_tag)]
            for query_id, value in zip(scores.query_ids, values, strict=True):
                if query_id in place:
                    row[place[query_id]] = _number(value)
        return found

    def query(self, query_id: str, found: QueryPairs | None) -> dict[str, Any]:
        """Rankings, texts and details of one query; ``found`` is None for a query without pairs."""
        pairs = found.pairs if found else []
        docs: dict[str, int] = {pair.doc_id: place for place, pair in enumerate(pairs)}
        rankings = [
            [docs.setdefault(doc_id, len(docs)) for doc_id in ranking.top(query_id)] if ranking else []
            for ranking in self._rankings
        ]
        details = [
            [place, labeler, self._detail(detail)]
            for labeler, of_pairs in enumerate(found.details if found else [])
            for place, detail in enumerate(of_pairs)
            if detail is not None
        ]
        data = {"docs": [*docs], "rankings": rankings, "details": [one for one in details if one[2]]}
        return {**data, "texts": [pair.text or None for pair in pairs]} if self.texts else data

    @cached_property
    def _queries(self) -> dict[str, Query]:
        config = self.state.config
        if config.query_file is None:
            return {}
        return {query.query_id: query for query in load_queries(config).queries}

    @cached_property
    def _first(self) -> Int:
        """The number of the first pair of each query, and that of all pairs."""
        pool = self.state.pool.pool
        starts = np.sort(np.unique(pool.query, return_index=True)[1])
        ends = np.full(len(self.query_ids) - len(starts) + 1, len(pool), dtype=np.int64)
        return np.concatenate([starts, ends])

    @cached_property
    def _rankings(self) -> list[_Ranking | None]:
        runs = {run.run_tag: run for run in self.state.runs.runs} if self.state.runs else {}
        return [
            _Ranking(runs[run_tag].head(DEPTH), self.query_ids) if run_tag in runs else None
            for run_tag in self.state.config.systems
        ]

    def _members(self, source: LabelSource) -> list[int]:
        return [number for number, one in enumerate(self.sources) if one.name in source.members]

    def _main(self) -> int | None:
        """The labeler whose leaderboard comes first."""
        name = self.state.evaluation.conditions[0].source.name if self.state.evaluation else None
        return next((number for number, source in enumerate(self.sources) if source.name == name), None)

    def _labels(self, source: LabelSource, ungraded: Iterable[int]) -> str:
        """A character for each pair of the pool."""
        digits = dict(zip(sorted(self.state.gathered.scale), _DIGITS, strict=False))
        shown = [NO_LABEL if grade is None else digits[grade] for grade in _grades(self.state.pool.pool, source.qrels)]
        for pair in ungraded:
            shown[pair] = NO_GRADE
        return "".join(shown)

    def _board(self, condition: Condition) -> dict[str, Any]:
        systems = [*self.state.config.systems]
        holes = {one.run_tag: one.cutoffs[_HOLES_AT].share for one in condition.holes}
        rows = [
            {
                "system": systems.index(row.run_tag),
                "rank": row.rank,
                "letters": condition.letters[row.run_tag],
                "unjudged": _number(holes[row.run_tag]),
                "means": [
                    [_number(value) for value in (mean.mean, mean.interval.low, mean.interval.high)]
                    for mean in (row.measures[name] for name in self.measures)
                ],
            }
            for row in condition.board.rows
        ]
        return {"rows": rows, "queries": condition.board.queries, "alone": self.state.alone(condition.source)}

    def _estimates(self) -> dict[str, Any] | None:
        """Each system's estimate under people's grades with the ends of its interval, and what they hold for."""
        report = self.state.estimates
        if report is None:
            return None
        [found] = report.estimates
        known = {one.run_tag: [_number(value) for value in (one.estimate, one.low, one.high)] for one in found.systems}
        return {
            "measure": found.measure,
            "interval": interval(found),
            "statement": report.statement(found),
            "systems": [known.get(run_tag) for run_tag in self.state.config.systems],
        }

    def _agreement(self) -> Iterator[dict[str, Any]]:
        numbers = {source.name: number for number, source in enumerate(self.sources)}
        for pair in self.state.agreement.compared if self.state.agreement else ():
            yield {"a": numbers[pair.a], "b": numbers[pair.b], **_coefficients(pair)}

    def _detail(self, detail: Detail) -> dict[str, Any]:
        wording = {"reason": "\n\n".join(detail.reasons) or None, "note": detail.note} if self.texts else {}
        shown = {
            "state": detail.state and str(detail.state),
            "samples": detail.samples,
            "why": detail.why,
            "cut": detail.cut,
            "revealed": detail.revealed,
            **wording,
        }
        return {name: value for name, value in shown.items() if value}


class _Ranking:
    """The first documents of each query in a run."""

    def __init__(self, run: Run, query_ids: Sequence[str]) -> None:
        self._run = run
        codes = run.queries.encode(query_ids)
        starts, ends = np.searchsorted(run.query, codes), np.searchsorted(run.query, codes, side="right")
        known = zip(query_ids, starts.tolist(), ends.tolist(), codes.tolist(), strict=True)
        self._rows = {query_id: slice(start, end) for query_id, start, end, code in known if code >= 0}

    def top(self, query_id: str) -> list[str]:
        rows = self._rows.get(query_id)
        return [] if rows is None else self._run.docs.decode(self._run.doc[rows]).to_pylist()


def _grades(pool: Pool, qrels: Qrels) -> list[int | None]:
    """The grade of each pair of the pool, None where ``qrels`` have none."""
    query, doc = qrels.queries.encode(pool.queries.values)[pool.query], qrels.docs.encode(pool.docs.values)[pool.doc]
    width = len(qrels.docs) + 1
    # An unknown document is in no pair, nor are those of an unknown query, whose codes are negative.
    wanted = query * width + np.where(doc < 0, len(qrels.docs), doc)
    found = dict(zip((qrels.query * width + qrels.doc).tolist(), qrels.relevance.tolist(), strict=True))
    return [found.get(pair) for pair in wanted.tolist()]


def _kind(source: LabelSource) -> str:
    if source.name == ADJUDICATED:
        return "decisions"
    if source.kind in ("consensus", "hybrid"):
        return source.kind
    return "person" if source.grader == "people" else source.grader


def _coefficients(pair: PairAgreement) -> dict[str, Any]:
    ends = pair.intervals.get("kappa")
    shown = {
        "kappa": pair.values["kappa"],
        "low": ends and ends.low,
        "high": ends and ends.high,
        "quadratic": pair.values["kappa_quadratic"],
        "same": pair.values["agreement"],
        "difference": pair.values["difference"],
    }
    weighted = pair.weighting is not None
    return {"n": pair.n, "weighted": weighted, **{name: _number(value) for name, value in shown.items()}}


def _number(value: float | None) -> float | None:
    return None if value is None or value != value else round(value, _DECIMALS)
