"""Selects the pairs of a design from the pool: all, a random or stratified sample, or those of some queries."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from quati_pool.annotation.sampling import (
    Sample,
    sample_all,
    sample_queries,
    sample_random,
    sample_stratified,
    stratum_names,
    systems_band,
)
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.artifacts import unfinished
from quati_pool.files.formats import data_suffix
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import quoted
from quati_pool.files.queries import read_queries
from quati_pool.files.runs import read_run
from quati_pool.labels.qrels import nothing_graded
from quati_pool.project.workspace import Workspace
from quati_pool.records import Int
from quati_pool.registry import nearest

StratifiedBy = Literal["query", "grade", "systems"]
STRATIFIED_BY: tuple[StratifiedBy, ...] = get_args(StratifiedBy)
_RATE = re.compile(r"(0?\.[0-9]+|1\.0*|[0-9]+(?:\.[0-9]+)?%)\Z")
# Pairs named in an error message.
_NAMED = 3


class PairSampling:
    """Draws the sample that the options describe from a session's pool. ``query_ids`` and ``doc_ids`` are the pool's,
    in its order. ``sample`` fills ``parameters``, which the design records, and ``notes`` for the design's author."""

    def __init__(self, session: AnnotationSession, options: AssignOptions, seed: int) -> None:
        self._session = session
        self._options = options
        self._seed = seed
        self.query_ids: list[str] = session.pool_view.table["query_id"].to_pylist()
        self.doc_ids: list[str] = session.pool_view.table["doc_id"].to_pylist()
        self.parameters: dict[str, Any] = {}
        self.notes: list[str] = []

    def check(self) -> None:
        """Raises QuatiPoolError for options that contradict each other."""
        options = self._options
        ways = [options.everything, options.random is not None, options.stratified is not None,
                options.queries is not None]  # fmt: skip
        if sum(ways) != 1:
            raise QuatiPoolError(
                "choose the pairs in exactly one way: --all, --random, --stratified, --queries, --training or --gold"
            )
        if options.stratified is None and (options.by or options.judge):
            raise QuatiPoolError("--by and --judge say how to stratify; ask for --stratified N")
        if options.system is not None and options.queries is None:
            raise QuatiPoolError("--system takes a run's first pairs of some queries; name these with --queries")

    def sample(self) -> tuple[str, Sample]:
        """The method's name and the sample. Raises QuatiPoolError if it cannot be drawn as requested."""
        options = self._options
        if options.everything:
            return "all", sample_all(len(self.query_ids))
        if options.random is not None:
            return "random", self._random(options.random)
        if options.stratified is not None:
            return "stratified", self._stratified(options.stratified)
        assert options.queries is not None
        return "queries", self._of_queries(options.queries)

    def _random(self, size: str) -> Sample:
        if _RATE.match(size):
            rate = float(size[:-1]) / 100 if size.endswith("%") else float(size)
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
                columns[name] = self._grades(str(options.judge))
        self.parameters |= {"n": n, "by": list(columns), "minimum": options.minimum}
        return sample_stratified(
            self.query_ids, self.doc_ids, self._seed, stratum_names(columns), n, minimum=options.minimum
        )

    def _grades(self, judge: str) -> list[int | None]:
        """A judge's grade of each pair of the pool, None for pairs without one."""
        grading = self._session.grading
        labeler = grading.labeler(judge)
        by_pair = {
            (one.query_id, one.doc_id): one.relevance for chunk in grading.pairs() for one in labeler.graded(chunk)
        }
        grades = [by_pair.get(pair) for pair in zip(self.query_ids, self.doc_ids, strict=True)]
        ungraded = grades.count(None)
        if ungraded == len(grades):
            raise nothing_graded(judge, labeler.kind)
        if ungraded:
            self.notes.append(f"{ungraded:,} pairs have no grade by {judge}: they are strata of their own (grade=none)")
        self.parameters |= {"judge": judge, "judge_version": labeler.version}
        return grades

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
