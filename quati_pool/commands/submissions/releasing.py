"""``quati-pool submissions release``: the manifest of a shared task, and its qrels once their date has come."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from quati_pool import __version__
from quati_pool.commands.export.qrels import labeler_qrels
from quati_pool.commands.submissions.group_results import required_participants
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import file_digest, locked_output, put_file, read_counts
from quati_pool.files.lines import read_bytes
from quati_pool.files.qrels import write_qrels
from quati_pool.files.readable_json import readable_json
from quati_pool.project.cache_keys import refuse_outdated
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.project.submissions import Participation, manifest_file, read_manifest, release_date, today
from quati_pool.project.workspace import Workspace
from quati_pool.release.names import file_stems

_FORMAT = 2


@dataclass(frozen=True)
class Released:
    """The manifest, and whether the qrels lie next to it; ``after`` is the date from which they may."""

    path: Path
    after: date
    released: bool
    manifest: dict[str, Any]


def release(
    config_path: Path,
    listener: Listener,
    *,
    after: date | None = None,
    labelers: Sequence[str] = (),
    replacing: bool = False,
) -> Released:
    """Writes ``exports/submissions/MANIFEST.json``, which lists the anonymous runs (the SHA-256 of the unpacked files)
    and the qrels. The qrels lie next to it from the date ``after`` on (UTC), by default the date of the manifest that
    is there.

    The hashes of qrels that are still withheld let participants verify later that nothing was changed. ``labelers`` are
    those of the former manifest, or else the main labeler.

    Raises QuatiPoolError, and writes nothing, where no date is known, a pair of a labeler has no grade yet, a run is
    not built, or, without ``replacing``, grades or runs that the manifest promises have changed or are left out.
    """
    config = load_config(config_path)
    refuse_outdated(config)
    participants = required_participants(config)
    path = manifest_file(config)
    with locked_output(path, listener.say):
        before = read_manifest(config)
        if after is None:
            if before is None:
                raise ConfigError("name the date from which the qrels may be public: --after 2026-12-31")
            after = release_date(before)
        named: Sequence[str | None] = labelers or ([one["labeler"] for one in before["qrels"]] if before else [None])
        runs = _runs(config, participants)
        with tempfile.TemporaryDirectory(prefix="quati-pool-") as name:
            qrels = _qrels(config, named, Path(name))
            if before is not None and not replacing:
                _refuse_changes("the grades of {} have", "labeler", before["qrels"], qrels)
                # Manifests of format 1 have the hashes of packed runs.
                if before.get("manifest") == _FORMAT:
                    _refuse_changes("the run {} has", "run_tag", before["runs"], runs)
            released = today() >= after
            for one in qrels if released else ():
                _put(Path(name) / one["file"], path.parent / one["file"])
        public = {one["file"] for one in qrels} if released else set()
        for one in before["qrels"] if before else ():
            if one["file"] not in public:
                (path.parent / Path(one["file"]).name).unlink(missing_ok=True)
        manifest = {
            "manifest": _FORMAT,
            "tool": f"quati-pool {__version__}",
            "collection": config.name,
            "qrels_after": after.isoformat(),
            "released": released,
            "qrels": qrels,
            "runs": runs,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        put_file(path, lambda partial: partial.write_text(readable_json(manifest), encoding="utf-8"))
    return Released(path, after, released, manifest)


def _qrels(config: PoolConfig, labelers: Sequence[str | None], folder: Path) -> list[dict[str, Any]]:
    """Writes the qrels of each labeler into ``folder``; returns what the manifest says of them."""
    written = []
    for labeler in labelers:
        found = labeler_qrels(config, labeler)
        name = f"{file_stems([found.labeler])[found.labeler]}.qrels"
        write_qrels(found.qrels, folder / name)
        written.append(
            {
                "labeler": found.labeler,
                "file": name,
                "sha256": file_digest(folder / name),
                "bytes": (folder / name).stat().st_size,
                "pairs": len(found.qrels),
            }
        )
    return written


def _runs(config: PoolConfig, participants: Sequence[Participation]) -> list[dict[str, Any]]:
    """What the manifest says of the groups' runs that are still systems of ``pool.yaml``."""
    workspace, found = Workspace(config.folder), []
    for one in sorted(participants, key=lambda one: one.system):
        if one.system in config.systems:
            path = workspace.run(one.system)
            counts = read_counts(path)
            found.append(
                {
                    "run_tag": one.system,
                    "family": one.family,
                    "sha256": hashlib.sha256(read_bytes(path)).hexdigest(),
                    **{unit: counts[unit] for unit in ("documents", "queries")},
                }
            )
    return found


def _refuse_changes(
    what: str, name: str, before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]
) -> None:
    found = {one[name]: one["sha256"] for one in now}
    for one in before:
        if found.get(one[name]) != one["sha256"]:
            changed = "changed" if one[name] in found else "been left out"
            raise QuatiPoolError(
                f"{what.format(one[name])} {changed} since the manifest promised the SHA-256; to promise what is there "
                "now, add --replace"
            )


def _put(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    put_file(target, lambda partial: partial.write_bytes(source.read_bytes()))
