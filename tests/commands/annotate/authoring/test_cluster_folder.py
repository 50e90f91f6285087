"""A folder of clusters is read as it was written, or refused with what to do."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.annotate.authoring.cluster_folder import CLUSTERS, ENTITIES, read_clusters, read_names
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.artifacts import sidecar, write_folder
from quati_pool.files.triples import EntityText

RECORDS = [{"cluster_id": "c1", "constraints": [], "queries": []}, {"cluster_id": "c2 é", "constraints": []}]
TEXTS = [{"id": "Q1", "label": "Ana"}, {"id": "P19", "label": "place of birth", "description": "d", "aliases": ["a"]}]


def written(path: Path, texts: list[dict[str, Any]] | None = None) -> Path:
    def fill(partial: Path) -> dict[str, int]:
        for name, rows in ((CLUSTERS, RECORDS), (ENTITIES, TEXTS if texts is None else texts)):
            if rows:
                with gzip.open(partial / name, "wt", encoding="utf-8") as stream:
                    stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return {}

    write_folder(path, {"form": "clusters@1"}, {}, fill)
    return path


def test_clusters_and_names_are_those_written(tmp_path: Path) -> None:
    folder = written(tmp_path / "clusters")
    assert list(read_clusters(folder)) == RECORDS
    assert read_names(folder, {"P19", "Q9"}) == {"P19": EntityText("place of birth", "d", ("a",))}
    assert read_names(written(tmp_path / "bare", []), {"P19"}) == {}


def test_a_folder_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "clusters"
    with pytest.raises(QuatiPoolError, match="there is no such folder; write it with quati-pool questions constraints"):
        read_clusters(folder)
    folder.mkdir()
    with pytest.raises(QuatiPoolError, match=r"holds no clusters\.jsonl\.gz; name a folder that quati-pool"):
        read_clusters(folder)
    written(folder)
    sidecar(folder).unlink()
    with pytest.raises(QuatiPoolError, match=r"was not finished, or was moved without clusters\.meta\.json; put that"):
        read_names(folder, {"Q1"})
    written(folder)
    (folder / ENTITIES).write_bytes(b"")
    with pytest.raises(QuatiPoolError, match="was changed since it was written; put it back as it was, or move"):
        read_clusters(folder)


def test_damage_of_the_same_size_is_found_in_reading(tmp_path: Path) -> None:
    folder = written(tmp_path / "clusters")
    path = folder / CLUSTERS
    path.write_bytes(path.read_bytes()[:20] + bytes(path.stat().st_size - 20))
    with pytest.raises(InputError, match="is cut off or not gzip"):
        list(read_clusters(folder))
