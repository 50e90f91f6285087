"""``quati-pool export`` of a whole collection: in a format of ``release/``, with hashes and a manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from quati_pool import __version__
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.artifacts import (
    clear_partials,
    digest,
    file_digest,
    locked_output,
    stale,
    unfinished,
    write_folder,
)
from quati_pool.files.yaml_file import checked_parameters
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.labels.labelers import Graded, Grading, Labeler, StoredLabeler, nobody
from quati_pool.labels.main_labeler import MainLabeler, candidate, main_labeler, peers
from quati_pool.labels.qrels import as_qrels, grades_outside_pool, nothing_graded, refuse_missing
from quati_pool.labels.sources import NEVER_ASKED
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.cache_keys import refuse_outdated, used_corpora
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.project.inputs import Corpus, load_queries, open_corpus
from quati_pool.project.workspace import Workspace
from quati_pool.registry import EXPORTS
from quati_pool.release.base import Format
from quati_pool.release.manifest import MANIFEST, TRANSFER_FILES, verify
from quati_pool.release.state import Labelled, Release
from quati_pool.store.database import Store


@dataclass(frozen=True)
class Exported:
    """Where a release was written, its labelers with how many pairs they lack, and what the format counted;
    ``outside`` counts the grades of each that are of pairs outside the pool; ``made`` is False where the
    same release was there already. ``main`` is the main labeler where nobody was named, and ``peers_left_out``
    are those who graded something and are not in the release."""

    path: Path
    labelers: Mapping[str, LabelCoverage]
    outside: Mapping[str, int]
    counts: Mapping[str, Any]
    made: bool
    main: MainLabeler | None = None
    peers_left_out: tuple[str, ...] = ()


def export(
    config_path: Path,
    format_name: str,
    listener: Listener,
    *,
    labelers: Sequence[str] = (),
    parameters: Mapping[str, Any] | None = None,
    path: Path | None = None,
    allow_missing: bool = False,
) -> Exported:
    """Writes the collection into a folder of its own, ``exports/<format>`` where no path is given; with the
    grades of ``labelers``, the first as the main one, or of the main labeler and its ``peers``; of a label file,
    all that it holds, of the pool's pairs and of others.

    Raises QuatiPoolError, and writes nothing, where several could be the main labeler; while a pair of the pool by
    one of them has failed or was never asked, unless ``allow_missing``; and for a folder that holds something else.
    """
    config = load_config(config_path)
    refuse_outdated(config)
    component = EXPORTS.get(format_name)
    component.require()
    checked = checked_parameters(component.Parameters, parameters or {}, f"export {format_name} --set")
    try:
        made: Format = component(checked)
    except Exception as error:
        raise _broken(format_name, error) from error
    workspace = Workspace(config.folder)
    target = path or workspace.export(format_name)
    _refuse_others(target)
    queries = load_queries(config)
    builder = ArtifactBuilder(workspace, {"collection": config.name, "config": file_digest(config.path)}, listener)
    corpora = [open_corpus(config, name, builder, force=False) for name in used_corpora(config)]
    with Store.open(config.labels.url, config.folder) as store, store.snapshot():
        grading = Grading(config, store)
        chosen = _labelled(grading, labelers, needed=made.needs_grades, allow_missing=allow_missing)
    found = chosen.parts
    runs = {tag: workspace.run(tag) for tag in config.systems if unfinished(workspace.run(tag)) is None}
    release = Release(
        name=config.name,
        about=config.release,
        grades=config.grades,
        queries=queries.queries,
        passages=lambda: _passages(corpora),
        labelers=[labelled for labelled, _ in found],
        pool=grading.pool,
        runs=runs,
        provenance={"seed": config.seed, "config": file_digest(config.path)},
        config=config.path,
    )
    key = {
        "tool": __version__,
        "format": EXPORTS.identity(format_name),
        "parameters": checked.model_dump(),
        "config": file_digest(config.path),
        "queries": queries.fingerprint,
        "corpora": [corpus.fingerprint for corpus in corpora],
        "pool": file_digest(grading.pool),
        "runs": {tag: file_digest(run) for tag, run in runs.items()},
        "labelers": [_identity(labelled) for labelled, _ in found],
    }
    told = (
        {labelled.labeler: coverage for labelled, coverage in found},
        {labelled.labeler: labelled.outside for labelled, _ in found},
    )
    with locked_output(target, listener.say):
        clear_partials(target)
        if stale(target, key) is None:
            return Exported(target, *told, {}, False, chosen.main, chosen.left_out)
        _refuse_changed(target)
        counts = write_folder(
            target, key, builder.provenance, lambda folder: _write(format_name, made, release, folder)
        )
    return Exported(target, *told, counts, True, chosen.main, chosen.left_out)


def _refuse_others(target: Path) -> None:
    """Writing a folder replaces what it holds: only what an export made before may go.

    Its manifest tells, which is in the folder from the first, where its sidecar is written last.
    """
    if target.exists() and not target.is_dir():
        raise QuatiPoolError(f"{target} is a file; name a folder with -o")
    if not target.name or target.name == "..":
        raise QuatiPoolError(f"{target} cannot be replaced; name a folder of its own with -o")
    if target.is_dir() and any(target.iterdir()) and not (target / MANIFEST).is_file():
        raise QuatiPoolError(f"{target} is not empty and no export of ours; name another folder with -o")


def _refuse_changed(target: Path) -> None:
    """What somebody added to an export or changed in it is theirs; what they took out is made anew."""
    if not target.is_dir() or not any(target.iterdir()):
        return
    try:
        problems = [problem for problem in verify(target) if not problem.endswith(": is missing")]
    except InputError:
        raise QuatiPoolError(f"{target} is no export of ours; name another folder with -o") from None
    problems += [f"{name}: is not of the export" for name in sorted(TRANSFER_FILES) if (target / name).exists()]
    if problems:
        raise QuatiPoolError(
            f"{target} would be replaced, and was changed since ({problems[0]}); move it away, or name another "
            "folder with -o"
        )


def _write(name: str, made: Format, release: Release, folder: Path) -> Mapping[str, Any]:
    try:
        return made.write(release, folder)
    except (QuatiPoolError, OSError, MemoryError):
        raise
    except Exception as error:
        raise _broken(name, error) from error


def _broken(name: str, error: Exception) -> QuatiPoolError:
    """What a user reads of a format whose code fails."""
    return QuatiPoolError(
        f"the format {name} failed ({type(error).__name__}: {error}); mend or uninstall the package it is of"
    )


class _Chosen(NamedTuple):
    """The labelers of a release, the main one first, and who is not among them."""

    parts: list[tuple[Labelled, LabelCoverage]]
    main: MainLabeler | None
    left_out: tuple[str, ...]


def _labelled(grading: Grading, names: Sequence[str], *, needed: bool, allow_missing: bool) -> _Chosen:
    """Each labeler's part, read over the pool at once."""
    config = grading.config
    labelers: list[Labeler] = [grading.labeler(name) for name in names or grading.names]
    coverages = {labeler.name: LabelCoverage() for labeler in labelers}
    columns: dict[str, list[Graded]] = {labeler.name: [] for labeler in labelers}
    for chunk in grading.pairs():
        for labeler in labelers:
            for graded in labeler.graded(chunk):
                coverages[labeler.name].add(graded)
                columns[labeler.name].append(graded)
    more = {labeler.name: grades_outside_pool(labeler, columns[labeler.name]) for labeler in labelers}
    there = [one for one in labelers if coverages[one.name].grades or more[one.name]]
    idle = next((one for one in labelers if names and one not in there), None)
    if idle is not None:
        raise nothing_graded(idle.name, idle.kind)
    if needed and not there:
        raise nobody(config)
    main: MainLabeler | None = None
    left_out: tuple[str, ...] = ()
    if needed and not names:
        counts = {one.name: sum(coverages[one.name].grades.values()) + len(more[one.name]) for one in there}
        candidates = [candidate(one, counts[one.name]) for one in there]
        main = main_labeler(candidates)
        order = peers(candidates, main.required())
        left_out = tuple(one.name for one in there if one.name not in order)
        there = sorted((one for one in there if one.name in order), key=lambda one: order.index(one.name))
    found = []
    for labeler in there:
        name, coverage = labeler.name, coverages[labeler.name]
        if not allow_missing:
            refuse_missing(name, labeler.kind, coverage)
        found.append((_part(grading, labeler, coverage, columns[name], more[name]), coverage))
    return _Chosen(found, main, left_out)


def _part(
    grading: Grading, labeler: Labeler, coverage: LabelCoverage, graded: Sequence[Graded], more: Sequence[Graded]
) -> Labelled:
    lacking = {state.value: count for state, count in coverage.states.items() if count and state != "ok"}
    stored = isinstance(labeler, StoredLabeler)
    left = {**lacking, NEVER_ASKED: coverage.unasked}
    return Labelled(
        labeler=labeler.name,
        kind=labeler.kind,  # type: ignore[arg-type]
        qrels=as_qrels([*graded, *more]),
        outside=len(more),
        version=labeler.version,
        left_out={name: count for name, count in left.items() if count},
        definition=grading.store.definition(labeler.version) if stored and labeler.version else None,
        labels=_labels(grading, labeler) if isinstance(labeler, StoredLabeler) else None,
    )


def _labels(grading: Grading, labeler: StoredLabeler) -> pa.Table:
    """All labels that count of a labeler's version, of the pool or not, with their reasons."""
    store, collection = grading.store, grading.config.name
    table = store.table(collection, labeler.name, labeler.version)
    reasons = store.rationales(collection, labeler.name, labeler.version)
    column = pa.array([reasons.get(seq) for seq in table["seq"].to_pylist()], pa.string())
    return table.append_column("rationale", column)


def _identity(labelled: Labelled) -> dict[str, Any]:
    qrels = labelled.qrels
    rows = [qrels.queries.decode(qrels.query), qrels.docs.decode(qrels.doc), pa.array(qrels.relevance)]
    labels = labelled.labels.to_pydict() if labelled.labels is not None else None
    return {
        "labeler": labelled.labeler,
        "kind": labelled.kind,
        "version": labelled.version,
        "outside": labelled.outside,
        "rows": digest([column.to_pylist() for column in rows]),
        "labels": digest(labels),
        "left_out": dict(labelled.left_out),
    }


def _passages(corpora: Sequence[Corpus]) -> Iterator[tuple[str, str]]:
    """Every passage of all corpora; one that several hold comes once.

    Raises QuatiPoolError where two corpora have different texts under one id.
    """
    for place, corpus in enumerate(corpora):
        for batch in corpus.store.batches():
            doc_ids, texts = batch["doc_id"].to_pylist(), batch["text"].to_pylist()
            held: dict[str, str] = {}
            for earlier in corpora[:place]:
                there = earlier.store.ids.encode(batch["doc_id"])
                theirs = earlier.store.texts(there[there >= 0])
                held.update(zip((doc_ids[row] for row in np.flatnonzero(there >= 0)), theirs, strict=True))
            for doc_id, text in zip(doc_ids, texts, strict=True):
                if doc_id not in held:
                    yield doc_id, text
                elif held[doc_id] != text:
                    problem = f"doc_id {doc_id!r} has another text in corpus {corpus.name} than in one before it"
                    raise QuatiPoolError(f"{problem}; a release needs one text an id: rename it in one of them")
