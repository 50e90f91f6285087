"""What a shared task knows of its participants' runs: who submitted which, under which anonymous name.

It is in one file of the workspace, ``submissions/participants.json``, readable by its owner alone, which no export,
report or bundle contains.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.artifacts import put_file, write_private
from quati_pool.project.config import PoolConfig
from quati_pool.project.inputs import run_files

_FORMAT = 1


@dataclass(frozen=True)
class Participation:
    """A run of a group: its anonymous ``system`` and ``family``, and what the group calls it. ``sha256`` is that of the
    submitted file, ``priority`` counts from 1 within the group, ``ranking`` is a digest of the documents it ranks."""

    system: str
    family: str
    group: str
    run_tag: str
    file: str
    sha256: str
    priority: int
    ranking: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What a run is known by: its group, and the name of its file."""
        return self.group, self.file


def folder(config: PoolConfig) -> Path:
    """The workspace's folder of anonymised runs."""
    return config.folder / "submissions"


def participants_file(config: PoolConfig) -> Path:
    return folder(config) / "participants.json"


def read_participants(config: PoolConfig) -> list[Participation]:
    """All runs that were added, in the order in which they were; none where there is no shared task.

    Raises InputError for a damaged file.
    """
    path = participants_file(config)
    if not path.exists():
        return []
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return [Participation(**one) for one in data["runs"]]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            path, None, "is damaged; restore it from a backup, as nothing else names the groups"
        ) from error


def write_participants(config: PoolConfig, runs: Iterable[Participation]) -> None:
    """Writes all runs, with mode 0600 from the first byte on."""
    path = participants_file(config)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps({"format": _FORMAT, "runs": [asdict(one) for one in runs]}, ensure_ascii=False, indent=1)

    put_file(path, lambda partial: write_private(partial, data + "\n"))


def systems_of_groups(config: PoolConfig) -> list[str]:
    """The systems of ``pool.yaml`` whose runs are in the workspace's folder of anonymised runs."""
    files = run_files(config).items()
    return [run_tag for run_tag, given in files if (config.folder / given.path).parent == folder(config)]


def manifest_file(config: PoolConfig) -> Path:
    """The manifest of a shared task's release."""
    return config.folder / "exports" / "submissions" / "MANIFEST.json"


def read_manifest(config: PoolConfig) -> dict[str, Any] | None:
    """The manifest of the release; None where there is none yet.

    Raises InputError for a damaged file.
    """
    path = manifest_file(config)
    if not path.exists():
        return None
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        release_date(found)
        if not all(isinstance(one["sha256"], str) for part in ("qrels", "runs") for one in found[part]):
            raise TypeError
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(path, None, "is damaged; restore it from a backup, as it holds what was promised") from error
    return found


def release_date(manifest: Mapping[str, Any]) -> date:
    """The date from which the qrels of a manifest may be public."""
    return date.fromisoformat(manifest["qrels_after"])


def today() -> date:
    """The date in UTC, by which qrels are released."""
    return datetime.now(UTC).date()


def withheld(config: PoolConfig) -> str | None:
    """Why the qrels of a shared task may not be published yet; None where they may, or there is no shared task."""
    manifest = read_manifest(config)
    if manifest is None:
        if not participants_file(config).exists() and not systems_of_groups(config):
            return None
        until = "they are released"
    else:
        after = release_date(manifest)
        if after <= today():
            return None
        until = f"{after.isoformat()}, the date of their release"
    return f"the qrels of the shared task are withheld until {until}"


def refuse_withheld(config: PoolConfig) -> None:
    """Raises QuatiPoolError while the qrels of a shared task may not be published."""
    reason = withheld(config)
    if reason is not None:
        raise QuatiPoolError(f"{reason}; to set the date, run: quati-pool submissions release --after DATE")
