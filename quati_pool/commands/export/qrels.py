"""``quati-pool export qrels``: one labeler's grades as TREC qrels, or an error that names what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quati_pool.commands.export.carried_grades import CarriedGrade, carried_grades, check_similarity
from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import clear_partials, file_digest, locked_output, write_file
from quati_pool.files.problems import quoted
from quati_pool.files.qrels import write_qrels
from quati_pool.files.tsv import put_tsv
from quati_pool.labels.base import Graded
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.labels.hybrid import Hybrid, HybridParts
from quati_pool.labels.labelers import Grading, nobody
from quati_pool.labels.main_labeler import MainLabeler, candidate, main_labeler
from quati_pool.labels.qrels import as_qrels, grades_outside_pool, nothing_graded, refuse_missing
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.project.inputs import load_queries
from quati_pool.project.submissions import withheld
from quati_pool.project.workspace import Workspace
from quati_pool.records import Qrels, State, id_problem
from quati_pool.release.checks import BY_ID
from quati_pool.store.database import Store
from quati_pool.store.listing import slot_counts


@dataclass(frozen=True)
class ExportedQrels:
    """A file of qrels, how much of the pool it covers, and how many grades are for pairs ``outside`` the pool."""

    path: Path
    coverage: LabelCoverage
    outside: int = 0
    main: MainLabeler | None = None
    """The main labeler, where no labeler was named."""
    withheld: str | None = None
    """Why they may not be published yet, in a shared task."""
    open: int = 0
    """As of ``LabelerQrels``."""
    carried: int = 0
    """How many grades were carried from near-duplicates."""
    carried_list: Path | None = None
    """The list of them; None without ``carry``."""
    hybrid: HybridParts | None = None
    """As of ``LabelerQrels``."""


@dataclass(frozen=True, eq=False)
class LabelerQrels:
    """A labeler's grades as qrels: of the pool's pairs, in the pool's order, then of pairs ``outside`` the pool.
    ``pool`` is the file of the pool. ``open`` is, for grades of several people together, how many of their assignments
    are not done, so that a grade may still change. ``carried`` are grades from near-duplicates, among ``qrels`` and
    counted as graded in ``coverage``."""

    labeler: str
    version: str | None
    qrels: Qrels
    coverage: LabelCoverage
    outside: int
    pool: Path
    main: MainLabeler | None
    open: int
    carried: Sequence[CarriedGrade] = ()
    hybrid: HybridParts | None = None
    """Where the grades of a hybrid come from; its qrels have the likeliest grade of each pair."""


def labeler_qrels(
    config: PoolConfig,
    labeler: str | None = None,
    *,
    allow_missing: bool = False,
    pool: Path | None = None,
    carry: float | None = None,
) -> LabelerQrels:
    """A labeler's grades of the pool's pairs, followed by a label file's grades of other pairs
    (``grades_outside_pool``); those of the main labeler if ``labeler`` is None. With ``carry``, a similarity, pairs of
    the pool also get grades of near-duplicates (``carried_grades``).

    Raises QuatiPoolError where several labelers could be the main one; while a pair of the pool has no grade yet
    (failed, put off, taken back, never asked about or tied), unless ``allow_missing`` leaves such pairs out; and where
    a pair outside the pool has an unknown query or an invalid doc_id. Pairs that a person could not judge, on which a
    consensus has no majority, or that people were not given, are always left out, but that ``carry`` may fill the last.
    Raises ConfigError for a similarity at which nothing may be carried.
    """
    if carry is not None:
        check_similarity(carry)
    with Store.open(config.labels.url, config.folder) as store:
        grading = Grading(config, store, pool)
        main = None
        if labeler is None:
            main = _main(grading)
            labeler = main.required()
        reader = grading.labeler(labeler)
        coverage = LabelCoverage()
        kept: list[Graded] = []
        carried: list[CarriedGrade] = []
        for chunk in grading.pairs():
            of_chunk = reader.graded(chunk)
            if carry is not None:
                found = carried_grades(chunk, of_chunk, carry)
                of_chunk = _filled(of_chunk, found)
                carried += found
            for graded in of_chunk:
                coverage.add(graded)
                if graded.relevance is not None:
                    kept.append(graded)
        source = grading.pool
        waits = reader.kind == "hybrid" or (reader.kind == "consensus" and reader.grader == "people")
        still_open = slot_counts(store, config.name).get("open", 0) if waits else 0
    if not allow_missing:
        refuse_missing(reader, coverage)
    outside = grades_outside_pool(reader, kept)
    if not kept and not outside:
        raise nothing_graded(labeler, reader.kind)
    if outside:
        _refuse_unknown(config, labeler, outside)
    qrels = as_qrels([*kept, *outside])
    hybrid = reader.parts if isinstance(reader, Hybrid) else None
    return LabelerQrels(
        labeler, reader.version, qrels, coverage, len(outside), source, main, still_open, carried, hybrid
    )


def _filled(graded: Sequence[Graded], carried: Sequence[CarriedGrade]) -> list[Graded]:
    """``graded`` with the carried grades in place of those that there are not."""
    by_pair = {(one.query_id, one.doc_id): Graded(one.query_id, one.doc_id, State.ok, one.grade) for one in carried}
    return [by_pair.get((one.query_id, one.doc_id), one) for one in graded]


def export_qrels(
    config_path: Path,
    labeler: str | None = None,
    path: Path | None = None,
    *,
    allow_missing: bool = False,
    pool: Path | None = None,
    carry: float | None = None,
    listener: Listener | None = None,
) -> ExportedQrels:
    """Writes the qrels of ``labeler_qrels``; if ``path`` is None, to ``qrels/<labeler>.qrels``. Raises the same errors
    and then writes nothing. With ``carry`` the carried grades are listed in ``<file>.carried.tsv``."""
    config = load_config(config_path)
    found = labeler_qrels(config, labeler, allow_missing=allow_missing, pool=pool, carry=carry)

    def fill(partial: Path) -> dict[str, int]:
        write_qrels(found.qrels, partial)
        left_out = found.coverage.pairs - (len(found.qrels) - found.outside)
        counts = {"pairs": len(found.qrels), "outside_pool": found.outside, "left_out": left_out}
        return counts if carry is None else {**counts, "carried": len(found.carried)}

    key: dict[str, Any] = {"labeler": found.labeler, "version": found.version, "pool": file_digest(found.pool)}
    if carry is not None:
        key["carry"] = carry
    if found.hybrid is not None:
        key["hybrid"] = found.hybrid.as_json()
    path = path or Workspace(config.folder).qrels(found.labeler)
    if not path.name or path.is_dir():
        raise QuatiPoolError(f"{path} is a folder; name a file with -o")
    carried = path.with_name(f"{path.name}.carried.tsv")
    with locked_output(path, (listener or Listener()).say):
        clear_partials(path)
        clear_partials(carried)
        # First, so that qrels with carried grades are never without the list of them.
        if carry is not None:
            put_tsv(carried, CarriedGrade._fields, found.carried)
        write_file(path, key, {"collection": config.name, "config": file_digest(config.path)}, fill)
        if carry is None:
            carried.unlink(missing_ok=True)
    return ExportedQrels(
        path, found.coverage, found.outside, found.main, withheld(config), found.open, len(found.carried),
        None if carry is None else carried, found.hybrid,
    )  # fmt: skip


def _main(grading: Grading) -> MainLabeler:
    """The main labeler among those with grades; raises ConfigError where there are none."""
    labelers = [grading.labeler(name) for name in grading.names]
    counts: Counter[str] = Counter()
    for chunk in grading.pairs():
        for labeler in labelers:
            counts[labeler.name] += sum(graded.relevance is not None for graded in labeler.graded(chunk))
    for labeler in labelers:
        if labeler.file_grades:
            counts[labeler.name] = len(labeler.file_grades)
    if not counts.total():
        raise nobody(grading.config)
    return main_labeler([candidate(labeler, counts[labeler.name]) for labeler in labelers])


def _refuse_unknown(config: PoolConfig, labeler: str, graded: Sequence[Graded]) -> None:
    """Raises QuatiPoolError for a pair outside the pool with an unknown query (if the file of queries exists), or with
    an invalid doc_id, such as a text."""
    known = None if config.query_file is None else {query.query_id for query in load_queries(config).queries}
    for one in graded:
        if known is not None and one.query_id not in known:
            raise QuatiPoolError(
                f"{labeler} grades query_id {quoted(one.query_id)}, which is not among the queries; add it to the "
                "queries' file, or drop its grades"
            )
        problem = id_problem(one.doc_id)
        if problem:
            raise QuatiPoolError(f"{labeler} grades doc_id {quoted(one.doc_id)}, which {problem}; {BY_ID}")
