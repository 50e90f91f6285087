"""Selects the pairs of a design from the pool: all, a random sample of pairs (with equal probabilities, stratified, or
for a measure), those of random queries, those of queries chosen by hand, or those of a queue for finding errors."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from quati_pool.annotation.errors import DesignError
from quati_pool.annotation.presentation_order import query_places
from quati_pool.annotation.sampling import (
    Sample,
    Stratum,
    query_counts,
    random_query_order,
    sample_all,
    sample_poisson,
    sample_queries,
    sample_random,
    sample_random_queries,
    sample_stratified,
    stratum_names,
    systems_band,
)
from quati_pool.commands.annotate.assigning.error_queue import ErrorQueue
from quati_pool.commands.annotate.assigning.gain_spreads import GainSpreads
from quati_pool.commands.annotate.assigning.measure_sampling import RankedPool
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.assigning.pool_grades import JudgedPool, PoolGrades, too_few_judges
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import ConfigError, InputError, QuatiPoolError, TranslatableText
from quati_pool.estimation.pair_measures import parse_pair_measure
from quati_pool.estimation.pair_probabilities import UNIFORM
from quati_pool.files.artifacts import unfinished
from quati_pool.files.formats import data_suffix
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import quoted
from quati_pool.files.queries import read_queries
from quati_pool.files.runs import read_run
from quati_pool.project.inputs import query_strata
from quati_pool.project.workspace import Workspace
from quati_pool.records import Int
from quati_pool.registry import nearest
from quati_pool.stats.sample_sizes import FEWEST_QUERIES
from quati_pool.store.records import Method
from quati_pool.text.pluralize import counted

StratifiedBy = Literal["query", "grade", "systems"]
STRATIFIED_BY: tuple[StratifiedBy, ...] = get_args(StratifiedBy)
_RATE = re.compile(r"(0?\.[0-9]+|1\.0*|[0-9]+(?:\.[0-9]+)?%)\Z")
QUEUED: Method = "imported"
"""The method of a queue's design: one whose pairs were not drawn, so that their probabilities are not known."""
# Pairs named in an error message.
_NAMED = 3
_OWN_STRATA = TranslatableText("they are strata of their own (grade=none)", "own_strata")
_AS_AVERAGE = TranslatableText("they count as average ones of their query", "as_average")


class PairSampling:
    """Draws the sample that the options describe from a session's pool. ``query_ids`` and ``doc_ids`` are the pool's,
    in its order.

    ``sample`` fills ``parameters``, which the design records, and ``notes`` for the design's author; for random queries
    also ``queries``, by stratum the number of queries in the pool and of those drawn; for designs that serve estimates
    ``order``, the place of each query in the order in which everybody gets them, from 1.
    """

    def __init__(self, session: AnnotationSession, options: AssignOptions, seed: int) -> None:
        self._session = session
        self._options = options
        self._seed = seed
        self.query_ids: list[str] = session.pool_view.table["query_id"].to_pylist()
        self.doc_ids: list[str] = session.pool_view.table["doc_id"].to_pylist()
        self._grades = PoolGrades(session, self.query_ids, self.doc_ids)
        self.parameters: dict[str, Any] = {}
        self.notes: list[str] = []
        self.queries: Mapping[str, tuple[int, int]] = {}
        self.order: Mapping[str, int] | None = None

    def sample(self) -> tuple[Method, Sample]:
        """The method and the sample. Raises QuatiPoolError if it cannot be drawn as requested."""
        options = self._options
        if options.everything:
            return "all", sample_all(len(self.query_ids))
        if options.random is not None:
            return "random", self._random(options.random)
        if options.stratified is not None:
            return "stratified", self._stratified(options.stratified)
        if options.random_queries is not None:
            return "random-queries", self._random_queries(options.random_queries)
        if options.pairs_for is not None:
            return "active", self._for_measure(options.pairs_for)
        if options.queue is not None:
            return QUEUED, self._queued()
        assert options.queries is not None
        return "queries", self._of_queries(options.queries)

    def _random(self, size: str) -> Sample:
        rate = _share(size)
        if rate is not None:
            self.parameters["rate"] = rate
            return sample_random(self.query_ids, self.doc_ids, self._seed, rate=rate)
        if not size.isascii() or not size.isdigit():
            raise QuatiPoolError(f"--random {size} is neither a number of pairs nor a rate; give 300, 0.1 or 10%")
        self.parameters["n"] = int(size)
        return sample_random(self.query_ids, self.doc_ids, self._seed, n=int(size))

    def _stratified(self, n: int) -> Sample:
        options = self._options
        columns: dict[str, Sequence[object]] = {}
        for name in _stratified_by(options):
            if name == "query":
                columns[name] = self.query_ids
            elif name == "systems":
                columns[name] = [systems_band(count) for count in self._session.pool_view.counts().tolist()]
            else:
                columns[name] = self._judged(str(options.judge), _OWN_STRATA).grades
        self.parameters |= {"n": n, "by": list(columns), "minimum": options.minimum}
        return sample_stratified(
            self.query_ids, self.doc_ids, self._seed, stratum_names(columns), n, minimum=options.minimum
        )

    def _random_queries(self, n: int) -> Sample:
        column = self._options.strata
        strata = None if column is None else self._query_strata(column)
        sample = sample_random_queries(self.query_ids, self._seed, n, strata)
        stratum_of = dict(zip(self.query_ids, sample.frame_names(), strict=True))
        self.order = {query_id: place for place, query_id in enumerate(random_query_order(stratum_of, self._seed), 1)}
        self.queries = query_counts(self.query_ids, sample)
        counts = {name: [*both] for name, both in self.queries.items()}
        self.parameters |= {"n": n, "strata": column, "query_counts": counts}
        if n < min(FEWEST_QUERIES, len(stratum_of)):
            text = (
                f"estimates need {FEWEST_QUERIES} queries that people have graded: ask for more later, with the same "
                "seed"
            )
            self.notes.append(TranslatableText(text, "more_queries_later", least=FEWEST_QUERIES))
        return sample

    def _query_strata(self, column: str) -> list[str]:
        """The stratum of each pair's query, by a column of the queries' file."""
        values = query_strata(self._session.config, column)
        query_ids = self._session.pool_view.query_ids
        if len(query_ids) > 1 and len({values.get(query_id) for query_id in query_ids}) == len(query_ids):
            text = f"--strata {column}: no two queries share a value; name a column with fewer values"
            raise DesignError(text, "no_shared_value", column=column)
        missing = sum(not values.get(query_id) for query_id in query_ids)
        names = stratum_names({column: [values.get(query_id) or None for query_id in self.query_ids]})
        if missing:
            some = counted(missing, f"query has no {column} and forms", f"queries have no {column} and form")
            text = f"{some} a separate stratum"
            self.notes.append(TranslatableText(text, "separate_stratum", count=missing, column=column))
        return names

    def _for_measure(self, name: str) -> Sample:
        options = self._options
        measure = parse_pair_measure(name)
        by, uncertain = options.weighting, options.weighting == "uncertainty"
        judges: list[JudgedPool] = []
        if by == "disagreement":
            judges = self._grades.several(options.judge, options.further_judges)
            if len(judges) < 2:
                raise too_few_judges("--by disagreement", judges)
        judge = judges[0].labeler.name if judges else options.judge or self._grades.usual_judge()
        if uncertain and judge is None:
            raise QuatiPoolError(
                "--by uncertainty is about a judge's grades, and none has graded; run: quati-pool judge"
            )
        if judge is not None and options.judge is None:
            text = f"the grades of {judge} say which pairs matter for the ideal ranking; --judge names another"
            self.notes.append(TranslatableText(text, "usual_judge", judge=judge))
        judged = None if judge is None else self._judged(judge, _AS_AVERAGE)
        grades = None if judged is None else judged.grades
        ranked = RankedPool(self._session, self.query_ids, self.doc_ids, grades)
        expected, uniform = self._expected(), UNIFORM if options.uniform is None else options.uniform
        spreads = GainSpreads(self._session, measure, ranked.frame, self._grades, self._seed)
        spread = None
        if judges:
            spread = spreads.disagreement(judges)
        elif uncertain and judged is not None:
            spread = spreads.uncertainty(judged)
        inclusion = ranked.probabilities(measure, expected, uniform, options.important, spread)
        self.parameters |= {
            "measure": name, "expected": expected, "uniform": uniform, "for": sorted(set(options.important)) or None,
            **spreads.parameters,
        }  # fmt: skip
        self.notes += spreads.notes
        self.order = query_places(self._seed, self.query_ids)
        certain = int((inclusion == 1).sum())
        self.notes += ranked.notes(measure)
        text = (
            f"inclusion probabilities go from {inclusion.min():.4f} to {inclusion.max():.4f}; "
            f"{counted(certain, 'pair is', 'pairs are')} certain"
        )
        self.notes.append(TranslatableText(text, "certain", count=certain))
        return sample_poisson(self.query_ids, self.doc_ids, self._seed, inclusion)

    def _expected(self) -> float:
        """How many pairs for a measure are drawn on average."""
        options = self._options
        if options.expect is not None:
            return float(options.expect)
        share = _share(str(options.rate))
        if share is None or not 0 < share <= 1:
            raise QuatiPoolError(f"--rate {options.rate} is no share of the pool; give one such as 0.1 or 10%")
        return share * len(self.query_ids)

    def _queued(self) -> Sample:
        """The first pairs of a queue for finding errors, in one stratum named by it."""
        options, queue = self._options, str(self._options.queue)
        found = ErrorQueue(self._session, self._grades, self._seed).rows(
            queue, options.judge, options.further_judges, int(options.expect or 0)
        )
        self.notes += found.notes
        self.parameters |= {"queue": queue, "expected": options.expect, "order": "stored", **found.parameters}
        rows = np.array(found.rows, dtype=np.int64)
        # Queries come in the order of their first pairs.
        self.order = {query: place for place, query in enumerate(dict.fromkeys(self.query_ids[row] for row in rows), 1)}
        stratum = np.full(len(self.query_ids), -1, dtype=np.int64)
        stratum[rows] = 0
        return Sample(np.sort(rows), stratum, (Stratum(queue, len(rows), len(rows), 1.0),))

    def _judged(self, judge: str, consequence: TranslatableText) -> JudgedPool:
        """A judge's grades of the pool, with the ``consequence`` for pairs without one as a note."""
        judged = self._grades.of(judge)
        ungraded = judged.grades.count(None)
        if ungraded:
            text = f"{ungraded:,} pairs have no grade by {judge}: {consequence}"
            self.notes.append(TranslatableText(text, "ungraded", count=ungraded, judge=judge, consequence=consequence))
        self.parameters |= {"judge": judge, "judge_version": judged.version}
        return judged

    def _of_queries(self, listed: Sequence[str]) -> Sample:
        if not listed:
            raise QuatiPoolError("--queries names no query; give ids separated by commas, or a file")
        known = set(self._session.pool_view.query_ids)
        for query_id in listed:
            if query_id not in known:
                hint = nearest(query_id, known) if len(known) <= 50 else "check the ids"
                raise QuatiPoolError(f"the pool has no query {quoted(query_id)}; {hint}")
        self.parameters["queries"] = sorted(listed)
        system, depth = self._options.system, self._options.depth
        if system is None:
            return sample_queries(self.query_ids, listed, None, None)
        self.parameters |= {"system": system, "depth": depth}
        return sample_queries(self.query_ids, listed, self._ranks(system, set(listed), depth), depth)

    def _ranks(self, system: str, queries: Collection[str], depth: int) -> Int:
        """The rank of each pair of the pool in a system's run, shape (pairs,); 0 if it is not among the first
        ``depth`` of a query in ``queries``.

        Raises QuatiPoolError if one of the first ``depth`` pairs is not in the pool.
        """
        config = self._session.config
        if system not in config.systems:
            raise ConfigError(f"{config.path}: there is no system {system!r}; {nearest(system, config.systems)}")
        path = Workspace(config.folder).run(system)
        problem = unfinished(path)
        if problem:
            raise InputError(path, None, f"{problem}; run: quati-pool build -c {config.path}")
        run = read_run(path, depth=depth)
        query_ids, doc_ids = run.queries.decode(run.query).to_pylist(), run.docs.decode(run.doc).to_pylist()
        rows = zip(zip(query_ids, doc_ids, strict=True), run.rank.tolist(), strict=True)
        ranks = {pair: rank for pair, rank in rows if pair[0] in queries}
        pooled = set(zip(self.query_ids, self.doc_ids, strict=True))
        missing = [pair for pair in ranks if pair not in pooled]
        if missing:
            named = ", ".join(f"{query_id} {doc_id}" for query_id, doc_id in missing[:_NAMED])
            more = f" and {len(missing) - _NAMED:,} more" if len(missing) > _NAMED else ""
            raise QuatiPoolError(
                f"{len(missing):,} of {len(ranks):,} pairs in the first {depth} of {system} are not in the pool: "
                f"{named}{more}; pool {system} to that depth (pool_depth: {depth}) and run: quati-pool build"
            )
        pairs = zip(self.query_ids, self.doc_ids, strict=True)
        return np.array([ranks.get(pair, 0) for pair in pairs], dtype=np.int64)


def _share(text: str) -> float | None:
    """The number of a rate such as 0.1 or 10%; None for any other text."""
    if not _RATE.match(text):
        return None
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


def _stratified_by(options: AssignOptions) -> list[str]:
    """The properties that form the strata, in the order of STRATIFIED_BY."""
    usual = [name for name in STRATIFIED_BY if name != "grade" or options.judge]
    by = usual if options.by is None else options.by
    for name in by:
        if name not in STRATIFIED_BY:
            raise QuatiPoolError(f"there are no strata by {quoted(name)}; {nearest(name, STRATIFIED_BY)}")
    if len(set(by)) < len(by) or not by:
        raise QuatiPoolError("--by names nothing, or something twice; give some of query,grade,systems")
    if ("grade" in by) != (options.judge is not None):
        raise QuatiPoolError("strata by grade need a judge, and only they use one; give both --judge and grade in --by")
    return [name for name in STRATIFIED_BY if name in by]


def query_list(queries: str) -> list[str]:
    """The query_ids in a file (of queries, or one id per line, without ``#`` lines), or separated by commas."""
    path = Path(queries)
    if not path.is_file():
        if data_suffix(path) in (".tsv", ".csv", ".jsonl", ".txt") or "/" in queries:
            raise InputError(path, None, "there is no such file; check the path")
        return [part.strip() for part in queries.split(",") if part.strip()]
    lines = [text for _, text in read_lines(path) if text.strip() and not text.startswith("#")]
    if lines and all(len(text.split()) == 1 and text[0] not in "{<" for text in lines) and "," not in lines[0]:
        return [text.strip() for text in lines]
    return [query.query_id for query in read_queries(path)]
