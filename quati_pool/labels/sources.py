"""Reads the grades for a command: of labelers of the workspace, label files, or both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quati_pool.agreement.matching import match
from quati_pool.agreement.pool_join import UnmatchedRow, lacks_ids
from quati_pool.errors import ConfigError, InputError
from quati_pool.files.artifacts import file_digest
from quati_pool.files.label_files import LabelFile
from quati_pool.files.label_files.shared_ids import SharedIds
from quati_pool.files.queries import read_queries
from quati_pool.labels.drawn_pairs import sampled_file, with_designs
from quati_pool.labels.gathered import Gathered, LabelFiles, LabelSource
from quati_pool.labels.hybrid import Hybrid
from quati_pool.labels.label_files import join_files, kind_of, need_pool, off_scale, read_label_source
from quati_pool.project.config import LabelFileConfig, PoolConfig, load_config
from quati_pool.project.inputs import query_texts
from quati_pool.records import GRADES, Ids, Qrels, Sample, code_ids
from quati_pool.registry import nearest
from quati_pool.text.pluralize import counted

# The store is imported only where it is read: label files do not need it, and it takes half a second and 30 MB.
if TYPE_CHECKING:
    from quati_pool.labels.base import Graded
    from quati_pool.labels.labelers import Grading
    from quati_pool.store.database import Store

NO_LABEL, SET_ASIDE, NOT_DRAWN = "no label", "set to none", "not drawn"


def workspace_for(config_path: Path, names: Sequence[str], given: LabelFiles) -> PoolConfig | None:
    """The workspace whose labelers to read; None if label files are given and no labeler is named."""
    return load_config(config_path) if names or not given.files else None


def gather(
    config: PoolConfig | None,
    names: Sequence[str],
    given: LabelFiles,
    people: Sequence[str] = (),
    *,
    pool: Path | None = None,
    store: Store | None = None,
    any_grade: bool = False,
    negative: bool = True,
    revealed: bool = False,
    home: PoolConfig | None = None,
    nearby: Path | None = None,
) -> Gathered:
    """Reads the label files of ``given`` and, with a ``config``, the workspace's labelers: those of ``names``, or all.

    ``people`` are further labelers that are persons. With ``any_grade`` the files set the scale if neither options nor
    a workspace do, without ``negative`` by grades from 0. ``store`` is the workspace's, if it is open already. With
    ``revealed`` a person's second label in the store, given after seeing a judge's grade, counts.

    Files without ids are joined to the pairs of ``pool``, or of the workspace's pool; the workspace is ``config``, else
    ``home``, else that of the pool.yaml ``nearby`` if the files need a pool.

    Raises ConfigError for an unknown name, InputError for a file that cannot be read or has a grade off the scale.
    """
    names = list(dict.fromkeys(names))
    scale = _declared_scale(config, given, any_grade)
    declared = _declared_files(config, names, given.files) if config is not None else {}
    files = {**declared, **{name: (Path(), settings) for name, settings in given.files.items()}}
    stored: list[LabelSource] = []
    problems: dict[str, str] = {}
    state: dict[str, Any] = {}
    if config is not None:
        stored, problems, state = _stored_sources(config, store, names, declared, pool, revealed)
        stored = [_apart(source, given.files) for source in stored]
    read, queries, unmatched = _read_files(files, given.queries, scale, config, home, nearby, pool, negative=negative)
    matched = match(read, queries or None)
    filed = [
        _file_source(name, settings, read[name], _drawn(read[name], matched.qrels[name]), matched.ungraded[name])
        for name, (_, settings) in files.items()
    ]
    on_samples = list(_sampled(read.values()))
    notes = [source.note for source in stored if source.note is not None]
    return Gathered(
        config,
        scale if scale is not None else _scale_of(matched.qrels.values()),
        scale is not None,
        _by_people(_ordered([*filed, *stored], names), people),
        matched.duplicates,
        queries or matched.query_names,
        f"{matched.matched_by} and {matched.passages_by}",
        problems,
        revealed,
        tuple(names),
        pool,
        [*on_samples, *notes, *(_warnings(read.values()) if scale is None else [])],
        on_samples,
        unmatched,
        state,
    )


def _declared_scale(config: PoolConfig | None, given: LabelFiles, any_grade: bool) -> Mapping[int, str] | None:
    """The scale of the options, else of the workspace, else the default; None if the files set it."""
    if given.scale:
        return given.scale
    if config is not None:
        return config.grades
    return None if any_grade else GRADES


def _declared_files(
    config: PoolConfig, names: Sequence[str], given: Collection[str]
) -> dict[str, tuple[Path, LabelFileConfig]]:
    """The workspace's label files among ``names``, or all if there are none, each with the folder its path is relative
    to."""
    for name in names:
        if name in given:
            raise ConfigError(f"{name} is given with --labels and named too; name it once")
    declared = config.labels.files.items()
    return {name: (config.folder, settings) for name, settings in declared if name in names or not names}


def _stored_sources(
    config: PoolConfig,
    store: Store | None,
    names: Sequence[str],
    declared: Collection[str],
    pool: Path | None,
    revealed: bool,
) -> tuple[list[LabelSource], dict[str, str], dict[str, Any]]:
    """The workspace's labelers other than files: those of ``names``, or all; the reasons why some were left out; and
    what was read, as in ``Gathered.state``."""
    wanted = [name for name in names if name not in declared]
    if names and not wanted:
        return [], {}, {}
    from quati_pool.labels.labelers import Grading

    with _one_state(config, store) as (opened, seq):
        grading = Grading(config, opened, pool, revealed=revealed)
        sources, problems = from_store(grading, wanted)
        sources = with_designs(sources, opened, config.name)
        return sources, problems, {"state": seq, "pool": _pool_digest(grading)}


def _pool_digest(grading: Grading) -> str | None:
    """The SHA-256 of the pool; None where it is not built."""
    try:
        return file_digest(grading.pool)
    except InputError:
        return None


def _read_files(
    files: Mapping[str, tuple[Path, LabelFileConfig | LabelFile]],
    queries_file: Path | None,
    scale: Mapping[int, str] | None,
    config: PoolConfig | None,
    home: PoolConfig | None,
    nearby: Path | None,
    pool: Path | None,
    *,
    negative: bool,
) -> tuple[dict[str, LabelFile], dict[str, str], list[UnmatchedRow]]:
    """The label files by labeler, joined to the pool where they lack ids; the known query texts; and the rows that were
    not joined."""
    queries = _query_texts(config if files else None, queries_file)
    ids = SharedIds()
    read = {
        name: ids.hold(read_label_source(name, folder, settings, scale, negative=negative))
        for name, (folder, settings) in files.items()
    }
    home = config or home or _nearby_home(nearby, pool, read, queries)
    if home is not config and not queries and any(map(lacks_ids, read.values())):
        queries = _query_texts(home, None)
    joined, unmatched = join_files(read, queries, home, pool)
    return joined, queries, unmatched


def _query_texts(config: PoolConfig | None, path: Path | None) -> dict[str, str]:
    """Query texts by id, from the file at ``path`` or else the workspace; empty if there is neither."""
    if path is not None:
        return {query.query_id: query.query for query in read_queries(path)}
    return {} if config is None else query_texts(config)


def _nearby_home(
    nearby: Path | None, pool: Path | None, read: Mapping[str, LabelFile], queries: Mapping[str, str]
) -> PoolConfig | None:
    """The workspace of the pool.yaml ``nearby`` if the files need a pool and no other was given; else None."""
    if nearby is None or pool is not None or not nearby.exists() or not need_pool(read.values(), queries):
        return None
    return load_config(nearby)


def _file_source(
    name: str, settings: LabelFileConfig | LabelFile, read: LabelFile, qrels: Qrels, ungraded: int
) -> LabelSource:
    lacking = _lacking(read, ungraded)
    designs = () if qrels.sample is None else (sampled_file(name, qrels.sample),)
    if isinstance(settings, LabelFile):
        return LabelSource(name, "file", qrels, None, settings.path, lacking, designs=designs)
    kind = kind_of(settings, read)
    return LabelSource(
        name,
        kind,
        qrels,
        file_digest(read.path),
        Path(settings.path),
        lacking,
        grader="people" if kind == "assessor" else "file",
        designs=designs,
    )


def _ordered(sources: list[LabelSource], names: Sequence[str]) -> list[LabelSource]:
    """The named sources in their order, then the others; the first is the reference of comparisons."""
    return sorted(sources, key=lambda one: names.index(one.name) if one.name in names else len(names))


def _by_people(sources: Sequence[LabelSource], people: Sequence[str]) -> list[LabelSource]:
    """The same sources with those of ``people`` marked as persons. Raises ConfigError for an unknown name."""
    known = [source.name for source in sources]
    for person in people:
        if person not in known:
            raise ConfigError(f"--person {person}: no such labeler here; {nearest(person, known)}")
        if any(source.grader == "hybrid" for source in sources if source.name == person):
            raise ConfigError(f"--person {person}: a hybrid has a judge's grades in it; name a person")
    return [replace(one, kind="assessor", grader="people") if one.name in people else one for one in sources]


def _lacking(read: LabelFile, ungraded: int) -> dict[str, int]:
    """The number of pairs of a file without a grade, by reason. If some rows have no label and others were set to none,
    the two are counted together, since it is unknown which applies to a pair."""
    if not ungraded:
        return {}
    if read.stratum is not None:
        return {NOT_DRAWN: ungraded}
    rows = sum(relevance is None for relevance in read.relevance) if read.set_aside else 0
    reason = NO_LABEL if not read.set_aside else SET_ASIDE if rows == read.set_aside else f"{NO_LABEL} or {SET_ASIDE}"
    return {reason: ungraded}


def _drawn(read: LabelFile, qrels: Qrels) -> Qrels:
    """The qrels of a file; those of sampled qrels with the sample."""
    if read.stratum is None and read.inclusion is None:
        return qrels
    assert read.query_id is not None, "sampled qrels have ids"
    assert read.doc_id is not None, "sampled qrels have ids"
    queries, (query,) = code_ids([Ids(read.query_id).values])
    docs, (doc,) = code_ids([Ids(read.doc_id).values])
    relevance = np.array([-1 if grade is None else grade for grade in read.relevance], dtype=np.int64)
    stratum = None if read.stratum is None else np.unique(read.stratum, return_inverse=True)[1]
    inclusion = None if read.inclusion is None else np.array(read.inclusion, dtype=np.float64)
    return replace(qrels, sample=Sample(Qrels(queries, docs, query, doc, relevance), stratum, inclusion))


def _sampled(files: Iterable[LabelFile]) -> Iterator[str]:
    """A warning for each file of sampled qrels, as other measures than those for samples read them as complete."""
    for read in files:
        if read.stratum is not None:
            missing = read.relevance.count(None)
            yield (
                f"{read.path}: {missing:,} of {len(read):,} pairs were not drawn: infAP, xinfAP, infNDCG and statAP "
                f"estimate what they hold, other measures count them as unjudged{_without_drawn(read)}"
            )
        elif read.inclusion is not None:
            yield (
                f"{read.path}: a sample of {len(read):,} pairs: statAP estimates from their probabilities, other "
                "measures count what was not drawn as unjudged"
            )


def _without_drawn(read: LabelFile) -> str:
    assert read.query_id is not None, "sampled qrels have ids"
    drawn = {query_id for query_id, grade in zip(read.query_id, read.relevance, strict=True) if grade is not None}
    without = len(set(read.query_id) - drawn)
    return f"; {counted(without, 'query has', 'queries have')} none drawn and no part in means" if without else ""


def _warnings(files: Iterable[LabelFile]) -> list[str]:
    """A warning for each file with grades off the default scale, for use if no scale was declared."""
    found = [(read.path, off) for read in files if (off := off_scale(read, GRADES)) is not None]
    return [f"{path}:{off.line}: {off.problem}, and counts as it is; {off.remedy}" for path, off in found]


def _apart(source: LabelSource, files: Collection[str]) -> LabelSource:
    """The source with members renamed that share a name with a file of the command line, an independent labeler."""
    return replace(
        source, members=frozenset(f"pool.yaml's {name}" if name in files else name for name in source.members)
    )


@contextmanager
def _one_state(config: PoolConfig, store: Store | None) -> Iterator[tuple[Store, int | None]]:
    """A store that is read in one state: the given one, as its opener sees it, or one opened here, with the seq of its
    last label."""
    from quati_pool.store.database import Store

    if store is not None:
        yield store, None
    else:
        with Store.open(config.labels.url, config.folder) as opened, opened.snapshot() as seq:
            yield opened, seq


def _scale_of(qrels: Iterable[Qrels]) -> dict[int, str]:
    """All grades that occur, and 0."""
    grades = np.unique(np.concatenate([[0], *(one.relevance for one in qrels)]))
    return {int(grade): GRADES.get(int(grade), str(grade)) for grade in grades}


def from_store(
    grading: Grading, names: Sequence[str] = (), without: Collection[str] = ()
) -> tuple[list[LabelSource], dict[str, str]]:
    """The grades of the pool's pairs by judges, assessors and panels, and the reasons why labelers were left out. Reads
    the labelers of ``names``, which must exist, or else all that graded anything except ``without``."""
    from quati_pool.labels.qrels import as_qrels, nothing_graded

    left_out = {*grading.config.labels.files, *without}
    labelers, problems = grading.readable(names, [name for name in grading.names if name not in left_out])
    columns = {labeler.name: _Column() for labeler in labelers}
    if labelers:
        for chunk in grading.pairs():
            for labeler in labelers:
                columns[labeler.name].add(labeler.graded(chunk))
    found = []
    for labeler in labelers:
        column = columns[labeler.name]
        if not column.graded and names:
            raise nothing_graded(labeler.name, labeler.kind)
        if column.graded:
            qrels = as_qrels(column.graded)
            found.append(
                LabelSource(
                    labeler.name,
                    labeler.kind,
                    qrels,
                    labeler.version,
                    lacking=column.lacking,
                    revealed=column.revealed,
                    members=labeler.derived_from,
                    grader=labeler.grader,
                    hybrid=labeler.parts if isinstance(labeler, Hybrid) else None,
                    expected=labeler.expected(column.graded) if isinstance(labeler, Hybrid) else None,
                    origins=labeler.origins,
                    note=labeler.note,
                )
            )
    return found, problems


class _Column:
    """Collects one labeler's grades of the pool."""

    def __init__(self) -> None:
        self.graded: list[Graded] = []
        self.lacking: Counter[str] = Counter()
        self.revealed = 0

    def add(self, some: Sequence[Graded]) -> None:
        for one in some:
            if one.relevance is None:
                self.lacking[one.state_name] += 1
            else:
                self.graded.append(one)
                self.revealed += one.revealed
