"""The times of artifacts: their own, without those of others that were built for them."""

from __future__ import annotations

import json
from pathlib import Path

from quati_pool.files.artifacts import Counts, sidecar
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.workspace import Workspace
from tests.commands.small_collection import Heard


def test_each_artifact_takes_its_own_time_only(tmp_path: Path) -> None:
    heard, now = Heard(), [0.0]
    builder = ArtifactBuilder(Workspace(tmp_path), {}, heard, clock=lambda: now[0])

    def work(path: Path, seconds: float) -> Counts:
        now[0] += seconds
        path.write_text("x")
        return {"documents": 3, "without_text": 0}

    def index(path: Path) -> Counts:
        now[0] += 100
        builder.ensure("encoding", tmp_path / "encoding", {}, lambda to: work(to, 4000))
        return work(path, 100)

    def run(path: Path) -> Counts:
        now[0] += 1
        builder.ensure("index", tmp_path / "index", {}, index)
        # The second time it is reused, which is no time of anything.
        builder.ensure("index", tmp_path / "index", {}, index)
        return work(path, 2.5)

    builder.ensure("run", tmp_path / "run", {}, run)
    assert heard.lines == [
        "encoding: built in 1 h 7 min: 3 documents, 0 without text",
        "index: built in 3 min 20 s: 3 documents, 0 without text",
        "run: built in 3.5 s: 3 documents, 0 without text",
    ]
    stored = {
        name: json.loads(sidecar(tmp_path / name).read_text())["seconds"] for name in ("encoding", "index", "run")
    }
    assert stored == {"encoding": 4000, "index": 200, "run": 3.5}


def test_only_what_was_there_before_has_a_reason(tmp_path: Path) -> None:
    heard = Heard()
    for key in ({"k1": 0.9}, {"k1": 1.2}):
        builder = ArtifactBuilder(Workspace(tmp_path), {}, heard, clock=lambda: 0.0)
        builder.ensure("run", tmp_path / "run", key, lambda to: {"documents": to.write_text("x")})
    assert heard.lines[0] == "run: built in under 0.1 s: 1 documents"
    assert heard.lines[1].startswith("run: built in under 0.1 s (k1 ")
