"""What every format has in common, our own and other people's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quati_pool.registry import Registry
from quati_pool.release import base
from quati_pool.release.errors import ReleaseError
from quati_pool.release.manifest import verify
from quati_pool.release.output import Output
from quati_pool.release.state import Release
from tests.release.small_release import contents, release_of

EXPORTS = Registry(
    "exports",
    {name: f"quati_pool.release.{name}:{name.capitalize()}" for name in ("beir", "hf", "doccano", "bundle")},
)


class Ids(base.Format):
    """A third party's."""

    name = "ids"
    summary = "query_ids alone"
    Parameters = base.Parameters

    def fill(self, release: Release, output: Output) -> dict[str, Any]:
        return {"queries": output.lines("a/ids.txt.gz", (query.query_id for query in release.queries))}


def test_a_third_partys_format_gets_checks_and_a_manifest(tmp_path: Path) -> None:
    release = release_of(tmp_path, {"gpt": {("q1", "d1"): 3, ("q2", "d1"): 0}})
    counts = Ids(Ids.Parameters()).write(release, tmp_path)
    manifest = json.loads((tmp_path / "MANIFEST.json").read_bytes())
    assert manifest["files"]["a/ids.txt.gz"]["rows"] == counts["queries"] == 2
    assert manifest["format"] == "ids"
    with pytest.raises(ReleaseError):
        Ids(Ids.Parameters()).write(release_of(tmp_path / "none", {}), tmp_path / "none")


@pytest.mark.parametrize("name", EXPORTS.names())
def test_each_format_is_a_component_whose_parameters_have_defaults_and_descriptions(tmp_path: Path, name: str) -> None:
    component = EXPORTS.get(name)
    assert component.name == name
    assert component.summary
    assert all(field.description for field in component.Parameters.model_fields.values())
    out = tmp_path / "out"
    out.mkdir()
    counts = component(component.Parameters()).write(release_of(tmp_path, {"gpt": {("q1", "d1"): 3}}), out)
    files = contents(out)
    manifest = json.loads(files.pop("MANIFEST.json"))
    assert (counts["files"], counts["bytes"]) == (len(files), sum(map(len, files.values())))
    assert set(manifest["files"]) == set(files)
    assert {"files": counts["files"], "bytes": counts["bytes"], **manifest["counts"]} == counts
    assert verify(out) == []
    json.dumps(counts)


@pytest.mark.parametrize("name", EXPORTS.names())
def test_every_file_that_is_changed_or_lost_is_found(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    component = EXPORTS.get(name)
    component(component.Parameters()).write(release_of(tmp_path, {"gpt": {("q1", "d1"): 3}}), out)
    for file, data in contents(out).items():
        if file != "MANIFEST.json":
            path = out / file
            path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
            assert verify(out) == [f"{file}: was changed: its SHA-256 is another"]
            path.unlink()
            assert verify(out) == [f"{file}: is missing"]
            path.write_bytes(data)
    assert verify(out) == []
