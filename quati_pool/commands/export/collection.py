"""``quati-pool export FORMAT``: the whole collection in a format of ``release/``, with hashes and a manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from quati_pool import __version__
from quati_pool.commands.export.audits import released_audits
from quati_pool.commands.export.estimates import released_estimates
from quati_pool.commands.export.labelers import ChosenLabelers, choose_labelers
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.artifacts import (
    check_folder,
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
from quati_pool.labels.labelers import Grading
from quati_pool.labels.main_labeler import MainLabeler
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.cache_keys import refuse_outdated, used_corpora
from quati_pool.project.config import load_config
from quati_pool.project.data_sets import about_data_sets
from quati_pool.project.events import Listener
from quati_pool.project.inputs import Corpus, Queries, load_queries, open_corpus, open_texts, query_drafters
from quati_pool.project.pool_reader import read_ledger
from quati_pool.project.submissions import refuse_withheld
from quati_pool.project.workspace import Workspace
from quati_pool.registry import EXPORTS
from quati_pool.release.base import Format
from quati_pool.release.manifest import MANIFEST, TRANSFER_FILES, verify
from quati_pool.release.state import Release, ReleasedDesign
from quati_pool.store.database import Store
from quati_pool.store.designs import Designs

# Passages between two reports of progress.
_REPORTED = 4096


@dataclass(frozen=True)
class ExportedCollection:
    """A folder with a collection in an export format.

    ``labelers`` maps each labeler to its coverage of the pool, ``outside`` to the number of its grades for pairs
    outside the pool; ``counts`` are what the format counted. ``made`` is False if the folder already held the same
    export. ``main`` is the main labeler where no labeler was named; ``peers_left_out`` are labelers with grades that
    are not in the export.
    """

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
) -> ExportedCollection:
    """Writes the collection into a folder, ``exports/<format>`` if ``path`` is None.

    It contains the grades of ``labelers``, of which the first is the main one; if none are named, those of the main
    labeler and its ``peers``. All grades of a label file are exported, including those of pairs outside the pool.
    Estimates under people's grades are part of it unless only other labelers are named.

    Raises QuatiPoolError, and writes nothing, where several labelers could be the main one; where an exported labeler
    failed on a pair of the pool or was never asked about it, unless ``allow_missing``; and for a folder that holds
    something else.
    """
    config = load_config(config_path)
    refuse_outdated(config)
    written_as, checked = _open_format(format_name, parameters or {})
    if written_as.publishes_texts and not config.release.texts:
        raise ConfigError(
            f"{config.path}: release: texts: false withholds the passages, which {format_name} would publish; "
            "use: export bundle --set corpus=none"
        )
    if written_as.publishes_texts and not config.corpora and config.texts is None:
        raise ConfigError(
            f"{config.path}: {format_name} publishes the passages, and this collection has none: name corpus: or "
            "texts:, or use: export bundle --set corpus=none"
        )
    if written_as.needs_grades:
        refuse_withheld(config)
    workspace = Workspace(config.folder)
    target = path or workspace.export(format_name)
    _refuse_others(target)
    queries = load_queries(config)
    builder = ArtifactBuilder(workspace, {"collection": config.name, "config": file_digest(config.path)}, listener)
    corpora = [open_corpus(config, name, builder, force=False) for name in used_corpora(config)]
    with Store.open(config.labels.url, config.folder) as store, store.snapshot():
        grading = Grading(config, store)
        chosen = choose_labelers(grading, labelers, needed=written_as.needs_grades, allow_missing=allow_missing)
        designs = _designs(Designs(store, config.name))
        people = not labelers or any(each.labelled.kind == "assessor" for each in chosen.labelers)
        estimates = released_estimates(config, store, listener.say) if people else None
        audits = released_audits(grading, [each.labelled.labeler for each in chosen.labelers], listener.say)
    if config.texts is not None:
        texts = open_texts(config, read_ledger(grading.pool), corpora, builder, force=False)
        corpora += [] if texts is None else [texts]
    runs = {tag: workspace.run(tag) for tag in config.systems if unfinished(workspace.run(tag)) is None}
    label = f"export {format_name}"
    drafters = query_drafters(config)
    release = Release(
        name=config.name,
        about=config.release,
        grades=config.grades,
        queries=queries.queries,
        passages=lambda: _counted(_passages(corpora), sum(len(corpus.store) for corpus in corpora), label, listener),
        labelers=[each.labelled for each in chosen.labelers],
        pool=grading.pool,
        runs=runs,
        drafted_by=Counter(drafters[one.query_id] for one in queries.queries if one.query_id in drafters),
        sources=about_data_sets(config),
        designs=designs,
        estimates=estimates,
        audits=audits,
        provenance={"seed": config.seed, "config": file_digest(config.path)},
        config=config.path,
    )
    key = _key(format_name, checked, release, queries, corpora, chosen)
    counts = None
    with locked_output(target, listener.say):
        clear_partials(target)
        if stale(target, key) is not None:
            _refuse_changed(target)
            with listener.stage(label):
                counts = write_folder(
                    target, key, builder.provenance, lambda folder: _write(format_name, written_as, release, folder)
                )
    made = counts is not None
    return ExportedCollection(
        target, chosen.coverages, chosen.outside, counts or {}, made, chosen.main, chosen.left_out
    )


def _open_format(name: str, parameters: Mapping[str, Any]) -> tuple[Format, BaseModel]:
    """The format and its checked parameters; raises QuatiPoolError where it cannot be used."""
    component = EXPORTS.get(name)
    component.require()
    checked = checked_parameters(component.Parameters, parameters, f"export {name} --set")
    try:
        opened: Format = component(checked)
    except Exception as error:
        raise _broken(name, error) from error
    return opened, checked


def _key(
    format_name: str,
    parameters: BaseModel,
    release: Release,
    queries: Queries,
    corpora: Sequence[Corpus],
    chosen: ChosenLabelers,
) -> dict[str, Any]:
    """The key of an export: everything that affects its content."""
    return {
        "tool": __version__,
        "format": EXPORTS.identity(format_name),
        "parameters": parameters.model_dump(),
        "config": release.provenance["config"],
        "queries": queries.fingerprint,
        "corpora": [corpus.fingerprint for corpus in corpora],
        "pool": file_digest(release.pool),
        "runs": {tag: file_digest(run) for tag, run in release.runs.items()},
        "labelers": [each.identity() for each in chosen.labelers],
        "designs": [
            [one.design.design_id, one.design.method, one.design.seed, one.design.frame_sha, digest(one.selections)]
            for one in release.designs
        ],
        **({} if release.estimates is None else {"estimates": digest(release.estimates)}),
        **({"drafted_by": dict(release.drafted_by)} if release.drafted_by else {}),
        **({"audits": digest(release.audits)} if release.audits else {}),
    }


def _designs(designs: Designs) -> list[ReleasedDesign]:
    """All designs with the pairs that they selected; those of method ``repeats`` select none and are left out."""
    found = []
    for design in designs.all():
        assert design.design_id is not None, "the store numbers designs"
        if selections := designs.selections(design.design_id):
            found.append(ReleasedDesign(design, selections))
    return found


def _refuse_others(target: Path) -> None:
    """Raises QuatiPoolError unless the folder is empty or an earlier export, as writing replaces its content.

    An export is recognised by its manifest, which it has from the start, whereas its sidecar is written last.
    """
    check_folder(target)
    if target.is_dir() and any(target.iterdir()) and not (target / MANIFEST).is_file():
        raise QuatiPoolError(f"{target} is not empty and was not written by export; name another folder with -o")


def _refuse_changed(target: Path) -> None:
    """Raises QuatiPoolError where files of an earlier export were changed or added; missing files do not count."""
    if not target.is_dir() or not any(target.iterdir()):
        return
    try:
        problems = [problem for problem in verify(target) if not problem.endswith(": is missing")]
    except InputError:
        raise QuatiPoolError(f"{target} was not written by export; name another folder with -o") from None
    problems += [f"{name}: is not of the export" for name in sorted(TRANSFER_FILES) if (target / name).exists()]
    if problems:
        raise QuatiPoolError(
            f"{target} would be replaced, and was changed since ({problems[0]}); move it away, or name another "
            "folder with -o"
        )


def _write(name: str, written_as: Format, release: Release, folder: Path) -> Mapping[str, Any]:
    try:
        return written_as.write(release, folder)
    except (QuatiPoolError, OSError, MemoryError):
        raise
    except Exception as error:
        raise _broken(name, error) from error


def _broken(name: str, error: Exception) -> QuatiPoolError:
    return QuatiPoolError(
        f"the format {name} failed ({type(error).__name__}: {error}); fix or uninstall the package that provides it"
    )


def _counted(
    passages: Iterator[tuple[str, str]], total: int, label: str, listener: Listener
) -> Iterator[tuple[str, str]]:
    for done, passage in enumerate(passages):
        if done % _REPORTED == 0:
            listener.progress(f"{label}: writing", done, total, unit="passages")
        yield passage
    listener.progress(f"{label}: writing", total, total, unit="passages")


def _passages(corpora: Sequence[Corpus]) -> Iterator[tuple[str, str]]:
    """Every passage of all corpora, (doc_id, text); a passage that several corpora hold is yielded once.

    Raises QuatiPoolError where two corpora have different texts under one id.
    """
    for position, corpus in enumerate(corpora):
        for batch in corpus.store.batches():
            doc_ids, texts = batch["doc_id"].to_pylist(), batch["text"].to_pylist()
            held: dict[str, str] = {}
            for earlier in corpora[:position]:
                ordinals = earlier.store.ids.encode(batch["doc_id"])
                known = np.flatnonzero(ordinals >= 0)
                held.update(zip((doc_ids[row] for row in known), earlier.store.texts(ordinals[known]), strict=True))
            for doc_id, text in zip(doc_ids, texts, strict=True):
                if doc_id not in held:
                    yield doc_id, text
                elif held[doc_id] != text:
                    problem = f"doc_id {doc_id!r} has another text in corpus {corpus.name} than in one before it"
                    raise QuatiPoolError(f"{problem}; a release needs one text per doc_id: rename it in one of them")
