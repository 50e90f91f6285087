"""``quati-pool submissions check``: all faults of all runs in a folder of groups, found at once."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from quati_pool import __version__
from quati_pool.errors import InputError
from quati_pool.files.artifacts import digest, file_digest
from quati_pool.files.problems import CollectedByKind, quoted, surrogate_problem
from quati_pool.files.runs import RunRows, rank_contradictions, ranked_run, read_runs
from quati_pool.files.yaml_file import Model, YamlFile
from quati_pool.processes.threads import in_threads
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.project.inputs import Corpus, Queries, load_queries, open_corpus
from quati_pool.project.submissions import Participation, read_participants
from quati_pool.project.workspace import Workspace
from quati_pool.records import ID, Ids, Int, Run
from quati_pool.text.pluralize import counted

DEPTH = 1000
"""How many documents a run may have for a query, by TREC's convention."""

# Kinds of faults in the rows of one file, and ids that a message names.
_KINDS, _NAMED = 20, 3
_NOTES = "group.yaml"


class GroupNotes(Model):
    """``group.yaml`` in a group's folder: whom to write to, and its runs by priority, the most important first."""

    name: str | None = None
    contact: str | None = None
    priorities: Annotated[list[str], Field(default_factory=list)]


@dataclass(frozen=True)
class Submission:
    """A submitted file. ``faults`` keep it out, ``warnings`` do not; ``ranking`` is a digest of the documents that it
    ranks, empty where it cannot be read. ``priority`` counts from 1 within the group."""

    group: str
    path: Path
    priority: int
    sha256: str
    run_tag: str | None = None
    rows: int = 0
    queries: int = 0
    ranking: str = ""
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.faults

    @property
    def key(self) -> tuple[str, str]:
        """What a run is known by: its group, and the name of its file."""
        return self.group, self.path.name


@dataclass(frozen=True)
class Intake:
    """The runs of all groups, by group, then priority. ``depth`` is the largest number of documents per query,
    ``topics`` the number of queries of the task. ``unread`` has the paths below ``folder`` where no run is expected,
    and those whose names are not UTF-8."""

    config: PoolConfig
    folder: Path
    depth: int
    topics: int
    notes: dict[str, GroupNotes]
    submissions: list[Submission]
    unread: list[str]

    @property
    def accepted(self) -> list[Submission]:
        return [one for one in self.submissions if one.ok]

    def of(self, group: str) -> list[Submission]:
        return [one for one in self.submissions if one.group == group]


def check(config_path: Path, folder: Path, listener: Listener, *, depth: int = DEPTH, limit: int = _KINDS) -> Intake:
    """Checks every run below ``folder``, which has a folder for each group, also against the runs that were added
    before. A file that was checked before, under the same queries, corpora and depth, is not read again.

    Raises InputError where ``pool.yaml`` does not say which queries the task has, and where there is no group or no
    run.
    """
    config = load_config(config_path, without_systems=True)
    if config.queries.path is None and config.queries.only is None:
        raise InputError(config.path, None, "names no queries of the task; add  queries: {path: topics.tsv}")
    queries = load_queries(config)
    workspace = Workspace(config.folder)
    builder = ArtifactBuilder(workspace, {"collection": config.name}, listener)
    corpora = [open_corpus(config, name, builder, force=False) for name in config.corpora]
    if not folder.is_dir():
        raise InputError(folder, None, "is not a folder; expected one with a folder for each group")
    groups = sorted(path for path in folder.iterdir() if path.is_dir() and _is_visible(path))
    if not groups:
        raise InputError(folder, None, "has no folder of a group; expected GROUP/RUN below it")
    names = {group: _run_names(group) for group in groups}
    notes = {group.name: _notes(group, names[group]) for group in groups}
    # Those that a group lists by priority, then the others by name.
    ordered = {group: dict.fromkeys([*notes[group.name][0].priorities, *names[group]]) for group in groups}
    files = [
        (group.name, priority, group / name) for group in groups for priority, name in enumerate(ordered[group], 1)
    ]
    if not files:
        raise InputError(folder, None, "has no run; expected GROUP/RUN below it")
    query_ids, fingerprints = queries.ids.values.to_pylist(), [corpus.fingerprint for corpus in corpora]
    task = digest([__version__, depth, limit, query_ids, fingerprints])
    paths = [path for *_, path in files]
    stamps = {path: [sha256, task] for path, sha256 in zip(paths, in_threads(file_digest, paths), strict=True)}
    checked = workspace.cached("submissions", stamps, lambda path: _checked(path, queries, corpora, depth, limit))
    found: list[Submission] = []
    for (group, priority, path), fields in zip(files, checked, strict=True):
        listener.progress("submissions: checking", len(found), len(files), unit="runs")
        found.append(Submission(group, path, priority, stamps[path][0], **deepcopy(fields)))
        found[-1].faults.extend(notes[group][1])
    _compare(found, read_participants(config))
    by_group = {group: said for group, (said, _) in notes.items()}
    return Intake(config, folder, depth, len(queries.queries), by_group, found, _unread(folder, names))


def _is_visible(path: Path) -> bool:
    return path.name[0] != "." and surrogate_problem(path.name) is None


def _run_names(group: Path) -> list[str]:
    """The names of the files in a group's folder that are taken as runs."""
    return sorted(path.name for path in group.iterdir() if path.is_file() and _is_visible(path) and path.name != _NOTES)


def _notes(group: Path, run_names: Sequence[str]) -> tuple[GroupNotes, list[str]]:
    """What ``group.yaml`` says and its faults, with which it says nothing."""
    nothing = GroupNotes(priorities=[])
    if not (group / _NOTES).exists():
        return nothing, []
    try:
        file = YamlFile(group / _NOTES)
        notes = file.model((), GroupNotes, file.data or {})
        unknown = next((name for name in notes.priorities if name not in run_names), None)
        if unknown is not None:
            raise file.error(("priorities",), f"there is no run {unknown!r} in this folder; name its file")
    except InputError as error:
        return nothing, [f"{_NOTES}, {_words(error)}"]
    return notes, []


def _unread(folder: Path, run_names: Mapping[Path, Sequence[str]]) -> list[str]:
    """The paths below ``folder``, relative to it, that are neither hidden nor a group's folder, run or notes;
    ``run_names`` has the runs of each group's folder."""
    there = [path for path in folder.iterdir() if path not in run_names]
    for group, names in run_names.items():
        expected = {_NOTES, *names}
        there += [path for path in group.iterdir() if path.name not in expected]
    return sorted(str(path.relative_to(folder)) for path in there if path.name[0] != ".")


def _checked(path: Path, queries: Queries, corpora: Sequence[Corpus], depth: int, limit: int) -> dict[str, Any]:
    """The fields of a submission that its file decides, as data for JSON."""
    problems = CollectedByKind(limit)
    runs: dict[str, RunRows] = {}
    try:
        runs = read_runs(path, problems)
    except InputError as error:  # the file as a whole: cut off, not gzip, not UTF-8
        problems.add(error)
    faults = [_words(error) for error in problems.errors]
    more = problems.count - problems.covered
    faults += [f"{more:,} more faults"] if more else []
    warnings = list(problems.warnings)
    found: dict[str, Any] = {"faults": faults, "warnings": warnings}
    if len(runs) > 1:
        more_runs = ", …" if len(runs) > _NAMED else ""
        named = ", ".join(list(runs)[:_NAMED]) + more_runs
        faults.append(f"holds {len(runs):,} runs ({named}); expected one run in a file")
    rows = next(iter(runs.values()), None)
    if rows is None:
        return found
    run = ranked_run(rows)
    answered = int((run.rank == 1).sum())
    faults += _strangers(rows, queries, corpora) + _too_deep(rows, depth)
    for fault, said in _oddities(rows, run, answered, queries):
        (faults if fault else warnings).append(said)
    return {**found, "run_tag": run.run_tag, "rows": len(run), "queries": answered, "ranking": _ranking(run)}


def _words(error: InputError) -> str:
    """The fault without the path of the file, which is the organisers'."""
    said = error.message.replace(f"{error.path}:", "line ")
    return said if error.line is None else f"line {error.line:,}: {said}"


def _strangers(rows: RunRows, queries: Queries, corpora: Sequence[Corpus]) -> list[str]:
    """Faults for queries that are not of the task, and documents that are not of the corpus."""
    faults = []
    strange = np.flatnonzero(queries.ids.encode(rows.queries.values) < 0)
    if len(strange):
        faults.append(f"{_some(rows.queries, strange, 'query_id', 'query_ids')} not of the task; drop their rows")
    if corpora:
        known = np.zeros(len(rows.docs), dtype=bool)
        for corpus in corpora:
            known |= corpus.store.ids.encode(rows.docs.values) >= 0
        strange = np.flatnonzero(~known)
        if len(strange):
            faults.append(f"{_some(rows.docs, strange, 'doc_id', 'doc_ids')} not in the corpus; check their form")
    return faults


def _some(ids: Ids, codes: Int, one: str, many: str) -> str:
    named = ", ".join(map(quoted, ids.decode(codes[:_NAMED]).to_pylist()))
    more = ", …" if len(codes) > _NAMED else ""
    return f"{counted(len(codes), one, many)} ({named}{more}) {'is' if len(codes) == 1 else 'are'}"


def _too_deep(rows: RunRows, depth: int) -> list[str]:
    lengths = np.bincount(rows.query, minlength=len(rows.queries))
    deep = np.flatnonzero(lengths > depth)
    if not len(deep):
        return []
    named = quoted(rows.queries.decode(deep[:1])[0].as_py())
    queries = counted(len(deep), "query has", "queries have")
    return [f"{queries} more than {depth:,} documents ({named} has {lengths[deep[0]]:,}); cut them there"]


def _oddities(rows: RunRows, run: Run, answered: int, queries: Queries) -> Iterator[tuple[bool, str]]:
    """Whether each oddity is a fault, and what it is: ranks that contradict scores, ties, missing queries."""
    contradicted = rank_contradictions(rows)
    if contradicted.queries:
        where = f"{contradicted.queries:,} of {counted(answered, 'query', 'queries')}"
        reversed_order = 2 * contradicted.queries > answered and 2 * contradicted.rows > len(rows.query) - answered
        yield (
            reversed_order,
            (
                f"the scores rise with the ranks in {where}; higher scores count as better: turn their signs"
                if reversed_order
                else f"the ranks do not follow the scores in {where}; the scores count, as in trec_eval"
            ),
        )
    if tied := int(run.tied.sum()):
        yield False, f"{tied:,} of {counted(len(run), 'row', 'rows')} are tied; ties are ordered by doc_id, descending"
    known = queries.ids.encode(rows.queries.values)
    missing = np.setdiff1d(np.arange(len(queries.ids)), known)
    if len(missing):
        yield False, f"{_some(queries.ids, missing, 'query', 'queries')} without a document, and will count 0"


def _ranking(run: Run) -> str:
    """A digest of the documents that a run ranks for each query, whatever its scores, tag and order of queries."""
    place = run.queries.lexicographic_rank(np.arange(len(run.queries)))
    order = np.argsort(place[run.query], kind="stable")
    queries, docs = run.queries.decode(run.query[order]), run.docs.decode(run.doc[order])
    # No id holds a blank or a line end. The array's data buffer is the concatenation of its values.
    ranking = pc.binary_join_element_wise(queries, docs, pa.scalar("\n", ID), pa.scalar(" ", ID))
    return hashlib.sha256(memoryview(ranking.buffers()[2])).hexdigest()


def _compare(found: Sequence[Submission], before: Sequence[Participation]) -> None:
    """Adds what only the comparison of runs shows, also with those that were added ``before``: equal tags, and equal
    rankings."""
    known: dict[tuple[str, str], tuple[str | None, str]] = {one.key: (one.run_tag, one.ranking) for one in before}
    known |= {one.key: (one.run_tag, one.ranking) for one in found}
    by_tag: dict[str | None, list[tuple[str, str]]] = defaultdict(list)
    by_ranking: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for key, (run_tag, ranking) in known.items():
        by_tag[run_tag].append(key)
        by_ranking[ranking].append(key)
    for one in found:
        own, others = _apart(one, by_tag[one.run_tag] if one.run_tag is not None else ())
        if own:
            one.faults.append(f"its run_tag {quoted(str(one.run_tag))} is also that of {own[0]}; rename one")
        elif others:
            one.warnings.append(f"another group has a run with the run_tag {quoted(str(one.run_tag))}")
        own, others = _apart(one, by_ranking[one.ranking] if one.ranking else ())
        if own:
            one.faults.append(f"ranks the same documents as {own[0]}; send one of them")
        elif others:
            one.faults.append("has exactly the ranking of a run of another group; tell us whose it is")


def _apart(one: Submission, keys: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """The files with these keys, without the submission itself: those of its group, and those of others."""
    own = [file for group, file in keys if group == one.group and file != one.path.name]
    return own, [file for group, file in keys if group != one.group]
