"""``quati-pool submissions release``: the manifest of a shared task, and its qrels once their date has come."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from quati_pool import __version__
from quati_pool.commands.export.qrels import labeler_qrels
from quati_pool.commands.submissions.group_results import required_participants
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import file_digest, locked_output, put_file, read_counts
from quati_pool.files.qrels import write_qrels
from quati_pool.files.readable_json import readable_json
from quati_pool.project.cache_keys import refuse_outdated
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.project.submissions import manifest_file, read_manifest, today
from quati_pool.project.workspace import Workspace
from quati_pool.release.names import file_stems

_FORMAT = 1


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
    """Writes ``exports/submissions/MANIFEST.json``, which lists the anonymous runs and the qrels with their SHA-256.
    The qrels lie next to it from the date ``after`` on (UTC), by default the date of the manifest that is there.

    The hashes of qrels that are still withheld let participants verify later that nothing was changed. ``labelers`` are
    those of the former manifest, or else the main labeler.

    Raises QuatiPoolError, and writes nothing, where no date is known, a pair of a labeler has no grade yet, or grades
    have changed since the manifest without ``replacing``.
    """
    config = load_config(config_path)
    refuse_outdated(config)
    participants = required_participants(config)
    path = manifest_file(config)
    with locked_output(path, listener.say):
        before = read_manifest(config)
        if after is None and before is None:
            raise ConfigError("name the date from which the qrels may be public: --after 2026-12-31")
        after = after or date.fromisoformat(str(before and before["qrels_after"]))
        named: Sequence[str | None] = labelers or ([one["labeler"] for one in before["qrels"]] if before else [None])
        with tempfile.TemporaryDirectory(prefix="quati-pool-") as name:
            qrels = _qrels(config, named, Path(name))
            _refuse_changes(before, qrels, replacing)
            released = today() >= after
            for one in qrels if released else ():
                _put(Path(name) / one["file"], path.parent / one["file"])
        if not released:
            for one in qrels:
                (path.parent / one["file"]).unlink(missing_ok=True)
        workspace = Workspace(config.folder)
        manifest = {
            "manifest": _FORMAT,
            "tool": f"quati-pool {__version__}",
            "collection": config.name,
            "qrels_after": after.isoformat(),
            "released": released,
            "qrels": qrels,
            "runs": [
                {
                    "run_tag": one.system,
                    "family": one.family,
                    "sha256": file_digest(workspace.run(one.system)),
                    **{unit: counts[unit] for unit in ("documents", "queries")},
                }
                for one in sorted(participants, key=lambda one: one.system)
                for counts in [read_counts(workspace.run(one.system))]
            ],
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


def _refuse_changes(before: dict[str, Any] | None, qrels: Sequence[dict[str, Any]], replacing: bool) -> None:
    promised = {one["labeler"]: one["sha256"] for one in (before or {}).get("qrels", ())}
    for one in qrels:
        if not replacing and promised.get(one["labeler"], one["sha256"]) != one["sha256"]:
            raise QuatiPoolError(
                f"the grades of {one['labeler']} have changed since the manifest promised their SHA-256; to promise "
                "the new ones, add --replace"
            )


def _put(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    put_file(target, lambda partial: partial.write_bytes(source.read_bytes()))
