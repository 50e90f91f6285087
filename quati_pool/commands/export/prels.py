"""``quati-pool export prels``: a labeler's grades of a sampled design, each with its pair's inclusion probability."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import clear_partials, file_digest, locked_output, write_file
from quati_pool.files.label_files.sampled import prels_row
from quati_pool.files.lines import output
from quati_pool.labels.base import Graded
from quati_pool.labels.labelers import Grading
from quati_pool.labels.qrels import nothing_graded
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.project.submissions import withheld
from quati_pool.project.workspace import Workspace
from quati_pool.store.database import Store
from quati_pool.store.designs import Designs
from quati_pool.store.records import NO_SAMPLE, Design


@dataclass(frozen=True)
class ExportedPrels:
    """A file of prels of one design: how many of its ``selected`` pairs are ``graded``, how many grades of the labeler
    are of ``other`` pairs and left out, and why the file may not be published, if so."""

    path: Path
    design: int
    method: str
    selected: int
    graded: int
    other: int
    withheld: str | None = None


def export_prels(
    config_path: Path,
    labeler: str,
    path: Path | None = None,
    *,
    design: int | None = None,
    database: str | None = None,
    listener: Listener | None = None,
) -> ExportedPrels:
    """Writes the grades of the pairs that a design selected, in the pool's order, with their inclusion probabilities;
    if ``path`` is None, to ``qrels/<labeler>.prels``. ``design`` is needed if there are several designs.

    Selected pairs without a grade are left out: they are non-response. Raises QuatiPoolError, and writes nothing, where
    there is no such design, or the labeler graded none of its pairs.
    """
    config = load_config(config_path)
    with Store.open(database or config.labels.url, config.folder) as store:
        designs = Designs(store, config.name)
        chosen = _chosen(designs.all(), design)
        assert chosen.design_id is not None
        inclusion = {(one.query_id, one.doc_id): one.inclusion for one in designs.selections(chosen.design_id)}
        grading = Grading(config, store)
        reader = grading.labeler(labeler)
        graded = [one for chunk in grading.pairs() for one in reader.graded(chunk) if one.relevance is not None]
        pool = grading.pool
    drawn = [one for one in graded if _ids(one) in inclusion]
    if not drawn:
        raise nothing_graded(labeler, reader.kind)

    def fill(partial: Path) -> dict[str, int]:
        with output(partial) as stream:
            for one in drawn:
                assert one.relevance is not None
                row = prels_row(one.query_id, one.doc_id, one.relevance, inclusion[_ids(one)])
                stream.write(row.encode() + b"\n")
        return {"pairs": len(drawn), "selected": len(inclusion)}

    path = path or Workspace(config.folder).qrels(labeler).with_suffix(".prels")
    if not path.name or path.is_dir():
        raise QuatiPoolError(f"{path} is a folder; name a file with -o")
    key = {"labeler": labeler, "version": reader.version, "design": chosen.design_id, "pool": file_digest(pool)}
    with locked_output(path, (listener or Listener()).say):
        clear_partials(path)
        write_file(path, key, {"collection": config.name, "config": file_digest(config.path)}, fill)
    other = len(graded) - len(drawn)
    held = withheld(config)
    return ExportedPrels(path, chosen.design_id, chosen.method, len(inclusion), len(drawn), other, held)


def _ids(graded: Graded) -> tuple[str, str]:
    return graded.query_id, graded.doc_id


def _chosen(designs: list[Design], design: int | None) -> Design:
    """The design of a number, or the only one that is a sample; raises ConfigError where there is none."""
    samples = {one.design_id: one for one in designs if one.method not in NO_SAMPLE}
    known = ", ".join(f"{number} ({one.method})" for number, one in samples.items())
    if design is not None:
        if design not in samples:
            there = f"there are: {known}" if samples else "there is none; run: quati-pool assign"
            raise ConfigError(f"--design {design}: there is no such design of a sample; {there}")
        return samples[design]
    if not samples:
        raise ConfigError("no design says how pairs were drawn; run: quati-pool assign, or: quati-pool export qrels")
    if len(samples) > 1:
        raise ConfigError(f"there are several designs: {known}; name one with --design")
    return next(iter(samples.values()))
