"""``quati-pool export qrels``: one labeler's grades as TREC qrels, or an error that names what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import clear_partials, file_digest, locked_output, write_file
from quati_pool.files.problems import quoted
from quati_pool.files.qrels import write_qrels
from quati_pool.labels.base import Graded
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.labels.labelers import Grading, nobody
from quati_pool.labels.main_labeler import MainLabeler, candidate, main_labeler
from quati_pool.labels.qrels import as_qrels, grades_outside_pool, nothing_graded, refuse_missing
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.project.inputs import load_queries
from quati_pool.project.submissions import withheld
from quati_pool.project.workspace import Workspace
from quati_pool.records import Qrels, id_problem
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


@dataclass(frozen=True, eq=False)
class LabelerQrels:
    """A labeler's grades as qrels: of the pool's pairs, in the pool's order, then of pairs ``outside`` the pool.
    ``pool`` is the file of the pool. ``open`` is, for grades of several people together, how many of their assignments
    are not done, so that a grade may still change."""

    labeler: str
    version: str | None
    qrels: Qrels
    coverage: LabelCoverage
    outside: int
    pool: Path
    main: MainLabeler | None
    open: int


def labeler_qrels(
    config: PoolConfig, labeler: str | None = None, *, allow_missing: bool = False, pool: Path | None = None
) -> LabelerQrels:
    """A labeler's grades of the pool's pairs, followed by a label file's grades of other pairs
    (``grades_outside_pool``); those of the main labeler if ``labeler`` is None.

    Raises QuatiPoolError where several labelers could be the main one; while a pair of the pool has no grade yet
    (failed, put off, taken back, never asked about or tied), unless ``allow_missing`` leaves such pairs out; and where
    a pair outside the pool has an unknown query or an invalid doc_id. Pairs that a person could not judge, on which a
    consensus has no majority, or that people were not given, are always left out.
    """
    with Store.open(config.labels.url, config.folder) as store:
        grading = Grading(config, store, pool)
        main = None
        if labeler is None:
            main = _main(grading)
            labeler = main.required()
        reader = grading.labeler(labeler)
        coverage = LabelCoverage()
        kept: list[Graded] = []
        for chunk in grading.pairs():
            for graded in reader.graded(chunk):
                coverage.add(graded)
                if graded.relevance is not None:
                    kept.append(graded)
        source = grading.pool
        waits = reader.kind == "consensus" and reader.grader == "people"
        still_open = slot_counts(store, config.name).get("open", 0) if waits else 0
    if not allow_missing:
        refuse_missing(reader, coverage)
    outside = grades_outside_pool(reader, kept)
    if not kept and not outside:
        raise nothing_graded(labeler, reader.kind)
    if outside:
        _refuse_unknown(config, labeler, outside)
    qrels = as_qrels([*kept, *outside])
    return LabelerQrels(labeler, reader.version, qrels, coverage, len(outside), source, main, still_open)


def export_qrels(
    config_path: Path,
    labeler: str | None = None,
    path: Path | None = None,
    *,
    allow_missing: bool = False,
    pool: Path | None = None,
    listener: Listener | None = None,
) -> ExportedQrels:
    """Writes the qrels of ``labeler_qrels``; if ``path`` is None, to ``qrels/<labeler>.qrels``. Raises the same errors
    and then writes nothing."""
    config = load_config(config_path)
    found = labeler_qrels(config, labeler, allow_missing=allow_missing, pool=pool)

    def fill(partial: Path) -> dict[str, int]:
        write_qrels(found.qrels, partial)
        left_out = found.coverage.pairs - (len(found.qrels) - found.outside)
        return {"pairs": len(found.qrels), "outside_pool": found.outside, "left_out": left_out}

    key = {"labeler": found.labeler, "version": found.version, "pool": file_digest(found.pool)}
    path = path or Workspace(config.folder).qrels(found.labeler)
    if not path.name or path.is_dir():
        raise QuatiPoolError(f"{path} is a folder; name a file with -o")
    with locked_output(path, (listener or Listener()).say):
        clear_partials(path)
        write_file(path, key, {"collection": config.name, "config": file_digest(config.path)}, fill)
    return ExportedQrels(path, found.coverage, found.outside, found.main, withheld(config), found.open)


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
