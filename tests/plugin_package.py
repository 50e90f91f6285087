"""What an installer writes beside a package, so that its entry points are found."""

from __future__ import annotations

from pathlib import Path


def write_dist_info(folder: Path, name: str, version: str, entry_points: str) -> None:
    """Makes the folder one in which the package ``name`` is installed; its modules are the caller's to write."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(entry_points)
