"""``quati-pool assign``: which pairs people grade, how many people each, and whose they are.

A design says how pairs were chosen and with what probability; slots say who grades them. A pair that was
assigned before keeps its slots, which count for the overlap of a later design: so a larger sample of the same
seed adds only what it has more.

The probabilities are each design's own. An estimate takes all that one design selected, with people's labels of
these pairs, whichever design gave them out; what several designs selected together has no recorded probability.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from quati_pool.annotation.allocation import allocate
from quati_pool.annotation.errors import DesignError
from quati_pool.annotation.presentation_order import query_places, shuffled
from quati_pool.annotation.sampling import (
    Sample,
    Stratum,
    frame_sha,
    sample_all,
    sample_queries,
    sample_random,
    sample_stratified,
    stratum_names,
    systems_band,
)
from quati_pool.commands.annotate.session import Desk
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.artifacts import unfinished
from quati_pool.files.formats import data_suffix
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import quoted
from quati_pool.files.queries import read_queries
from quati_pool.files.runs import read_run
from quati_pool.labels.qrels import nothing_graded
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.records import Int
from quati_pool.registry import nearest
from quati_pool.store.listing import slots as all_slots
from quati_pool.store.records import Design, NewSlot, Selection, Slot

By = Literal["query", "grade", "systems"]
STRATA: tuple[By, ...] = get_args(By)
_RATE = re.compile(r"(0?\.[0-9]+|1\.0*|[0-9]+(?:\.[0-9]+)?%)\Z")
# Pairs that a refusal names.
_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class AssignOptions:
    """Exactly one of ``everything``, ``random`` (a number of pairs, or a rate such as 0.1 or 10%),
    ``stratified`` (a number of pairs) and ``queries`` (a file, or ids parted by commas) chooses pairs.

    Strata are by ``by``, where None by query, number of systems and, with a ``judge``, its grade; each gives
    ``minimum`` pairs at least. Of ``queries``, with a ``system``, only the pairs in the first ``depth`` ranks
    of its run. Each pair goes to ``overlap`` people, each of whom gets ``load`` pairs of the design at most:
    those of ``to``, or whoever comes. ``seed`` is pool.yaml's where None.
    """

    everything: bool = False
    random: str | None = None
    stratified: int | None = None
    queries: str | None = None
    by: Sequence[str] | None = None
    judge: str | None = None
    minimum: int = 1
    system: str | None = None
    depth: int = 10
    overlap: int = 1
    load: int | None = None
    to: Sequence[str] = ()
    seed: int | None = None
    dry_run: bool = False


@dataclass(frozen=True, eq=False)
class AssignReport:
    """What was chosen, and what of it is new. ``design_id`` is None where nothing was written; ``known`` is
    the design that was there already. ``people`` are the new slots of each person, None the open ones."""

    method: str
    seed: int
    frame_sha: str
    frame_pairs: int
    sample: Sample
    overlap: int
    load: int | None
    design_id: int | None = None
    known: int | None = None
    added_pairs: int = 0
    people: Mapping[str | None, int] = field(default_factory=dict)
    dry_run: bool = False
    notes: Sequence[str] = ()

    @property
    def added_slots(self) -> int:
        return sum(self.people.values())

    @property
    def strata(self) -> Sequence[Stratum]:
        return self.sample.strata


def assign(
    config_path: Path, options: AssignOptions, database: str | None = None, listener: Listener | None = None
) -> AssignReport:
    """Chooses pairs of the pool and makes slots of them, all or nothing; a design that is there adds nothing.

    Raises QuatiPoolError where the choice cannot be made as asked.
    """
    say = (listener or Listener()).say
    with Desk.open(config_path, database, say) as desk:
        made = _Assigning(desk, options)
        # Two at once would both find the same pairs without a slot.
        with desk.store.lock(f"{desk.config.name} assign", say):
            return made.report()


class _Assigning:
    """One choice, over an open desk."""

    def __init__(self, desk: Desk, options: AssignOptions) -> None:
        self._desk = desk
        self._options = options
        self._seed = desk.config.seed if options.seed is None else options.seed
        self._query_ids: list[str] = desk.frame.table["query_id"].to_pylist()
        self._doc_ids: list[str] = desk.frame.table["doc_id"].to_pylist()
        self._notes: list[str] = []
        self._check()
        self._asked: dict[str, Any] = {"overlap": options.overlap, "load": options.load, "to": sorted(options.to)}

    def report(self) -> AssignReport:
        method, sample = self._chosen()
        design = Design(
            method=method,  # type: ignore[arg-type]
            seed=self._seed,
            frame_sha=frame_sha(self._query_ids, self._doc_ids),
            frame_pairs=len(self._query_ids),
            strata={one.name: [one.pairs, one.selected, one.inclusion] for one in sample.strata},
            parameters=self._asked,
        )
        told: dict[str, Any] = {
            "method": method,
            "seed": self._seed,
            "frame_sha": design.frame_sha,
            "frame_pairs": design.frame_pairs,
            "sample": sample,
            "overlap": self._options.overlap,
            "load": self._options.load,
            "dry_run": self._options.dry_run,
        }
        known = next((one.design_id for one in self._desk.assignments.designs() if _same(one, design)), None)
        slots = self._new_slots(sample)
        if known is not None and not slots:
            return AssignReport(**told, known=known, notes=self._notes)
        # Slots that a known design lacks were withdrawn, while their pairs were not in the pool.
        self._warn(sample, slots)
        people = Counter(slot.holder for slot in slots)
        added = len({(slot.query_id, slot.doc_id) for slot in slots})
        told |= {"people": dict(sorted(people.items(), key=lambda one: one[0] or "")), "added_pairs": added}
        if self._options.dry_run or not len(sample):
            return AssignReport(**told, notes=self._notes)
        picked = zip(sample.rows.tolist(), sample.names(), sample.inclusion.tolist(), strict=True)
        selections = [
            Selection(self._query_ids[row], self._doc_ids[row], stratum, inclusion, self._options.overlap)
            for row, stratum, inclusion in picked
        ]
        design_id = self._desk.assignments.create(design, selections, slots)
        return AssignReport(**told, design_id=design_id, notes=self._notes)

    def _warn(self, sample: Sample, slots: Sequence[NewSlot]) -> None:
        """Notes what would surprise whoever reads the labels, or waits for them."""
        chosen = {(self._query_ids[row], self._doc_ids[row]) for row in sample.rows.tolist()}
        told = len(chosen & {(one.query_id, one.doc_id) for one in self._desk.assignments.training()})
        if told:
            self._notes.append(
                f"{told:,} of the chosen pairs are training: people are told their grade before they give their own"
            )
        here, load = len(self._present), self._options.load
        free = [slot for slot in slots if slot.holder is None]
        if not free or not here:
            return
        if self._options.overlap > here:
            self._notes.append(
                f"each pair waits for {self._options.overlap:,} people, and {here:,} have a code; "
                "for more run: quati-pool assessors add"
            )
        elif load is not None and load * here < len(free):
            self._notes.append(
                f"{here:,} people with at most {load:,} pairs each leave {len(free) - load * here:,} of "
                f"{len(free):,} slots; for more people run: quati-pool assessors add"
            )

    # What is chosen

    @cached_property
    def _present(self) -> set[str]:
        """Who has an access code."""
        return {one.name for one in self._desk.people.all() if one.revoked_at is None}

    def _check(self) -> None:
        options = self._options
        ways = [options.everything, options.random is not None, options.stratified is not None,
                options.queries is not None]  # fmt: skip
        if sum(ways) != 1:
            raise QuatiPoolError(
                "choose the pairs in exactly one way: --all, --random, --stratified, --queries or --training"
            )
        if options.stratified is None and (options.by or options.judge):
            raise QuatiPoolError("--by and --judge say how to stratify; ask for --stratified N")
        if options.system is not None and options.queries is None:
            raise QuatiPoolError("--system takes a run's first pairs of some queries; name these with --queries")
        for name in options.to:
            if name not in self._present:
                there = nearest(name, self._present) if self._present else f"run: quati-pool assessors add {name}"
                raise QuatiPoolError(f"nobody called {quoted(name)} has an access code; {there}")

    def _chosen(self) -> tuple[str, Sample]:
        options = self._options
        if options.everything:
            return "all", sample_all(len(self._query_ids))
        if options.random is not None:
            return "random", self._random(options.random)
        if options.stratified is not None:
            return "stratified", self._stratified(options.stratified)
        assert options.queries is not None
        return "queries", self._listed(options.queries)

    def _random(self, asked: str) -> Sample:
        if _RATE.match(asked):
            rate = float(asked[:-1]) / 100 if asked.endswith("%") else float(asked)
            self._asked["rate"] = rate
            return sample_random(self._query_ids, self._doc_ids, self._seed, rate=rate)
        if not asked.isascii() or not asked.isdigit():
            raise QuatiPoolError(f"--random {asked} is neither a number of pairs nor a rate; give 300, 0.1 or 10%")
        self._asked["n"] = int(asked)
        return sample_random(self._query_ids, self._doc_ids, self._seed, n=int(asked))

    def _stratified(self, n: int) -> Sample:
        options = self._options
        by = [name for name in STRATA if name != "grade" or options.judge] if options.by is None else options.by
        for name in by:
            if name not in STRATA:
                raise QuatiPoolError(f"there are no strata by {quoted(name)}; {nearest(name, STRATA)}")
        if len(set(by)) < len(by) or not by:
            raise QuatiPoolError("--by names nothing, or something twice; give some of query,grade,systems")
        if ("grade" in by) != (options.judge is not None):
            raise QuatiPoolError(
                "strata by grade need a judge, and a judge is for these; give --judge with grade in --by"
            )
        columns: dict[str, Sequence[object]] = {}
        for name in sorted(by, key=lambda one: [*STRATA].index(one)):  # type: ignore[arg-type]
            if name == "query":
                columns[name] = self._query_ids
            elif name == "systems":
                columns[name] = [systems_band(count) for count in self._desk.frame.counts().tolist()]
            else:
                columns[name] = self._grades(str(options.judge))
        self._asked |= {"n": n, "by": list(columns), "minimum": options.minimum}
        return sample_stratified(
            self._query_ids, self._doc_ids, self._seed, stratum_names(columns), n, minimum=options.minimum
        )

    def _grades(self, judge: str) -> list[int | None]:
        """A judge's grade of each pair of the frame."""
        reader = self._desk.grading.labeler(judge)
        found = {
            (one.query_id, one.doc_id): one.relevance
            for chunk in self._desk.grading.pairs()
            for one in reader.graded(chunk)
        }
        grades = [found.get(pair) for pair in zip(self._query_ids, self._doc_ids, strict=True)]
        lacking = grades.count(None)
        if lacking == len(grades):
            raise nothing_graded(judge, reader.kind)
        if lacking:
            self._notes.append(f"{lacking:,} pairs have no grade by {judge}: they are strata of their own (grade=none)")
        self._asked |= {"judge": judge, "judge_version": reader.version}
        return grades

    def _listed(self, asked: str) -> Sample:
        listed = query_list(asked)
        if not listed:
            raise QuatiPoolError(f"--queries {quoted(asked)} names no query; give ids parted by commas, or a file")
        known = set(self._desk.frame.query_ids)
        for query_id in listed:
            if query_id not in known:
                there = nearest(query_id, known) if len(known) <= 50 else "check the ids"
                raise QuatiPoolError(f"the pool has no query {quoted(query_id)}; {there}")
        self._asked["queries"] = sorted(listed)
        ranks = None
        if self._options.system is not None:
            self._asked |= {"system": self._options.system, "depth": self._options.depth}
            ranks = self._ranks(self._options.system, set(listed), self._options.depth)
        return sample_queries(self._query_ids, listed, ranks, self._options.depth if ranks is not None else None)

    def _ranks(self, system: str, queries: Collection[str], depth: int) -> Int:
        """The rank in a system's run of each pair of the frame, 0 where it is not among the first ``depth``.

        Raises QuatiPoolError where the pool lacks one of those pairs.
        """
        config = self._desk.config
        if system not in config.systems:
            raise ConfigError(f"{config.path}: there is no system {system!r}; {nearest(system, config.systems)}")
        path = Workspace(config.folder).run(system)
        problem = unfinished(path)
        if problem:
            raise InputError(path, None, f"{problem}; run: quati-pool build -c {config.path}")
        run = read_run(path, depth=depth)
        query_ids, doc_ids = run.queries.decode(run.query).to_pylist(), run.docs.decode(run.doc).to_pylist()
        rows = zip(zip(query_ids, doc_ids, strict=True), run.rank.tolist(), strict=True)
        found = {pair: rank for pair, rank in rows if pair[0] in queries}
        pooled = set(zip(self._query_ids, self._doc_ids, strict=True))
        missing = [pair for pair in found if pair not in pooled]
        if missing:
            shown = ", ".join(f"{query_id} {doc_id}" for query_id, doc_id in missing[:_NAMED])
            more = f" and {len(missing) - _NAMED:,} more" if len(missing) > _NAMED else ""
            raise QuatiPoolError(
                f"{len(missing):,} of {len(found):,} pairs in the first {depth} of {system} are not in the pool: "
                f"{shown}{more}; pool {system} to that depth (pool_depth: {depth}) and run: quati-pool build"
            )
        ranks = [found.get(pair, 0) for pair in zip(self._query_ids, self._doc_ids, strict=True)]
        return np.array(ranks, dtype=np.int64)

    # Whose it is

    def _new_slots(self, sample: Sample) -> list[NewSlot]:
        """The slots that the chosen pairs lack, by query_order."""
        options = self._options
        if options.overlap < 1:
            raise DesignError(f"an overlap of {options.overlap} gives pairs to nobody; ask for at least 1")
        if options.load is not None and options.load < 1:
            raise DesignError(f"a load of {options.load} gives nobody anything; ask for at least 1")
        rows = sample.rows.tolist()
        pairs = [(self._query_ids[row], self._doc_ids[row]) for row in rows]
        order = query_places(self._seed, [query_id for query_id, _ in pairs])
        # By the queries' order; the pairs of a query by doc_id, so that the pool's order leaves no trace.
        pairs.sort(key=lambda pair: (order[pair[0]], pair[1]))
        takers = self._takers(pairs) if options.to else {pair: [None] * self._lacking(pair) for pair in pairs}
        turns = self._turns(takers)
        return [
            NewSlot(*pair, replicate, order[pair[0]], name, None, turns.get((name, *pair)) if name else None)
            for pair in pairs
            for replicate, name in enumerate(takers[pair], start=self._highest(pair) + 1)
        ]

    @cached_property
    def _there(self) -> Mapping[tuple[str, str], list[Slot]]:
        """All slots that pairs have already, withdrawn ones too."""
        found: dict[tuple[str, str], list[Slot]] = defaultdict(list)
        for slot in all_slots(self._desk.store, self._desk.config.name):
            found[slot.query_id, slot.doc_id].append(slot)
        return found

    def _lacking(self, pair: tuple[str, str]) -> int:
        live = sum(slot.state != "withdrawn" for slot in self._there.get(pair, ()))
        return max(self._options.overlap - live, 0)

    def _highest(self, pair: tuple[str, str]) -> int:
        return max((slot.replicate for slot in self._there.get(pair, ())), default=0)

    def _takers(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[str | None]]:
        """Who of ``to`` gets each pair: whole queries of new pairs by ``allocate``; of pairs that have some of
        their slots already, the rest to those with least who had no slot of it."""
        options = self._options
        fresh = [pair for pair in pairs if pair not in self._there]
        takers: dict[tuple[str, str], list[str | None]] = {pair: [] for pair in pairs}
        dealt: Counter[str] = Counter()
        shared = allocate(
            [query_id for query_id, _ in fresh], [doc_id for _, doc_id in fresh], list(options.to), options.overlap,
            options.load, self._seed,
        )  # fmt: skip
        for row, _, name in shared:
            takers[fresh[row]].append(name)
            dealt[name] += 1
        for pair in pairs:
            lacking = self._lacking(pair) if pair in self._there else 0
            had = {slot.holder for slot in self._there.get(pair, ())}
            able = [name for name in sorted(options.to) if name not in had and dealt[name] < (options.load or np.inf)]
            if lacking > len(able):
                raise DesignError(
                    f"{pair[0]} {pair[1]} lacks {lacking} people, and of those named {len(able)} may still get it; "
                    "name more with --to, raise --load, or lower --overlap"
                )
            for name in sorted(able, key=lambda one: (dealt[one], one))[:lacking]:
                takers[pair].append(name)
                dealt[name] += 1
        return takers

    def _turns(self, takers: Mapping[tuple[str, str], Sequence[str | None]]) -> dict[tuple[str | None, str, str], int]:
        """Each person's own order of the passages of a query."""
        theirs: dict[tuple[str, str], list[str]] = defaultdict(list)
        for (query_id, doc_id), names in takers.items():
            for name in names:
                if name is not None:
                    theirs[name, query_id].append(doc_id)
        return {
            (name, query_id, doc_id): turn
            for (name, query_id), doc_ids in theirs.items()
            for turn, doc_id in enumerate(shuffled(self._seed, name, query_id, doc_ids), start=1)
        }


def query_list(asked: str) -> list[str]:
    """The query_ids in a file (of queries, or one id a line, ``#`` lines left out), or parted by commas."""
    path = Path(asked)
    if not path.is_file():
        if data_suffix(path) in (".tsv", ".csv", ".jsonl", ".txt") or "/" in asked:
            raise InputError(path, None, "there is no such file; check the path")
        return [part.strip() for part in asked.split(",") if part.strip()]
    lines = [text for _, text in read_lines(path) if text.strip() and not text.startswith("#")]
    if lines and all(len(text.split()) == 1 and text[0] not in "{<" for text in lines) and "," not in lines[0]:
        return [text.strip() for text in lines]
    return [query.query_id for query in read_queries(path)]


def _same(one: Design, other: Design) -> bool:
    def told(design: Design) -> tuple[Any, ...]:
        strata = {name: [*values] for name, values in design.strata.items()}
        return (design.method, design.seed, design.frame_sha, design.frame_pairs, strata, dict(design.parameters))

    return told(one) == told(other)
