"""An explorer is written again when anything that it shows differs, and not otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.commands.evaluate import Settings
from quati_pool.project.events import Listener
from quati_pool.reporting.explorer.writing import export_explorer
from tests.annotator_app.explored import explored
from tests.commands.small_collection import SYSTEMS, built, passages
from tests.reporting.explorer.parts import collection, query


@pytest.fixture
def config(finished: Path, tmp_path: Path) -> Path:
    path = explored(finished, tmp_path / "w")
    rows = ["q1 0 p00 1", "q1 0 p06 0"]
    (path.parent / "file.qrels").write_text("\n".join(rows) + "\n", encoding="utf-8")
    with path.open("a", encoding="utf-8") as file:
        file.write("labels: {files: {filed: file.qrels}}\n")
    return path


def export(config: Path, *names: str, labeler: str | None = None, alpha: float = 0.05) -> Path:
    """The explorer's folder."""
    settings = Settings(draws=0, labeler=labeler, alpha=alpha)
    return export_explorer(config, Listener(), names, settings=settings).parent


def main_of(explorer: Path) -> str:
    found = collection(explorer)
    return str(found["labelers"][found["main"]]["name"])


def test_for_another_labeler_as_the_main_one(config: Path) -> None:
    assert main_of(export(config, labeler="ana")) == "ana"
    assert main_of(export(config, labeler="gpt")) == "gpt"
    assert main_of(export(config, "ana", "gpt")) == "ana"
    assert main_of(export(config, "gpt", "ana")) == "gpt"


def test_for_another_level_of_significance(config: Path) -> None:
    boards = [collection(export(config, "gpt", alpha=alpha))["boards"] for alpha in (0.999, 0.001)]
    assert boards[0] != boards[1]


def test_for_another_run_though_nobody_graded_and_the_pool_is_the_same(workspace: Path) -> None:
    """Without grades there is no evaluation, but there are rankings."""
    config, runs = workspace / "pool.yaml", workspace / "theirs.run"
    explorer = export(config)
    found, written = collection(explorer), query(explorer, 0)
    before = written["rankings"][[*SYSTEMS].index("theirs")]
    unpooled = [written["docs"][doc] for doc in before if doc >= found["first"][1]]
    one, other = (f"{found['queries'][0]['id']} Q0 {doc_id} " for doc_id in unpooled[:2])
    text = runs.read_text(encoding="utf-8")
    runs.write_text(text.replace(one, "…").replace(other, one).replace("…", other), encoding="utf-8")
    pool = (workspace / "pool.jsonl.gz").read_bytes()
    built(config)
    assert (workspace / "pool.jsonl.gz").read_bytes() == pool
    written = query(export(config), 0)
    after = [written["docs"][doc] for doc in written["rankings"][[*SYSTEMS].index("theirs")]]
    assert [doc_id for doc_id in after if doc_id in unpooled] == [*unpooled[1::-1], *unpooled[2:]]


def test_for_another_pool_though_all_labels_are_in_files(config: Path) -> None:
    explorer = export(config, "filed")
    [first, *_] = [one["id"] for one in collection(explorer)["queries"]]
    before = collection(explorer)["first"][1]
    new = next(doc_id for doc_id in passages() if doc_id not in query(explorer, 0)["docs"][:before])
    with (config.parent / "extra.tsv").open("a", encoding="utf-8") as file:
        file.write(f"{first}\t{new}\n")
    built(config)
    assert collection(export(config, "filed"))["first"][1] == before + 1
