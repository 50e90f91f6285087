"""What ir_datasets reads from its export, and a collection built from it again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from quati_pool.component_files import import_file
from quati_pool.release.about import ReleaseConfig
from quati_pool.release.ir_datasets import IrDatasets
from quati_pool.release.manifest import verify
from tests.release.small_release import HOSTILE, ir_datasets_export, release_of

GRADES = {("q1", "d1"): 3, ("q1", "d2"): 0, ("007", "d3"): 1}
TEXTS = {f"d{n}": text or "an empty one would be no_text" for n, text in enumerate(HOSTILE, 1)}


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    about = ReleaseConfig(title='A "set"', license="mit", citation="@misc{x, title={'}}", languages=["pt"])
    release = release_of(
        tmp_path, {"ana": GRADES, "gpt 4": {("q1", "d1"): 1}}, texts=TEXTS, narratives={"q1": "why\n"}, about=about
    )
    counts = IrDatasets(IrDatasets.Parameters()).write(release, folder)
    assert counts["datasets"][:2] == ["small", "small/ana"]
    return folder


def test_the_library_reads_it(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ir_datasets

    monkeypatch.setattr(ir_datasets.registry, "_registered", dict(ir_datasets.registry._registered))
    import_file(exported / "dataset.py")
    data = ir_datasets.load("small")
    assert {doc.doc_id: doc.text for doc in data.docs_iter()} == TEXTS
    queries = [(query.query_id, query.default_text(), query.narrative) for query in data.queries_iter()]
    assert queries == [("q1", "what is q1?", "why\n"), ("007", "what is 007?", None)]
    qrels = {(row.query_id, row.doc_id): row.relevance for row in data.qrels_iter()}
    assert qrels == GRADES
    others = [name for name in ir_datasets.registry if name.startswith("small/")]
    assert len(others) == 2
    (other,) = [name for name in others if name != "small/ana"]
    assert [(row.query_id, row.relevance) for row in ir_datasets.load(other).qrels_iter()] == [("q1", 1)]
    assert data.documentation()["license"] == "mit"
    assert data.docs_store().get("d2").text == TEXTS["d2"]
    assert verify(exported) == [], "reading writes nothing into the export"


READ = """
import sys
sys.path.insert(0, sys.argv[1])
import dataset, ir_datasets
documents = ir_datasets.load("small")
print(next(documents.docs_iter()).text, documents.docs_store().get("d1").text)
"""


def test_documents_exported_again_are_read_anew(tmp_path: Path) -> None:
    environment = {**os.environ, "IR_DATASETS_HOME": str(tmp_path / "home")}
    for text in ("before", "after", "before"):
        command = [sys.executable, "-c", READ, str(ir_datasets_export(tmp_path / "out", text))]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == f"{text} {text}\n"
    assert len(list((tmp_path / "home" / "quati-pool" / "small").iterdir())) == 2, "one docstore for each content"


def test_a_name_is_registered_by_one_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ir_datasets

    monkeypatch.setattr(ir_datasets.registry, "_registered", dict(ir_datasets.registry._registered))
    first, same = (ir_datasets_export(tmp_path / name, "x") for name in ("a", "b"))
    other = ir_datasets_export(tmp_path / "c", "y")
    import_file(first / "dataset.py")
    # As a module of another name, which runs it again.
    exec(compile((first / "dataset.py").read_bytes(), "dataset.py", "exec"), {"__file__": str(first / "dataset.py")})
    for folder in (same, other, ir_datasets_export(first, "z")):
        with pytest.raises(ValueError, match="another data set 'small' is registered already; start Python again if"):
            import_file(folder / "dataset.py")
    assert ir_datasets.load("small").docs_path() == first / "docs.jsonl"
