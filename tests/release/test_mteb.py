"""MTEB's own loader reads the exported task, and so does a collection."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from quati_pool.data_sets.folders import DataSetFolder
from quati_pool.release.about import ReleaseConfig
from quati_pool.release.errors import ReleaseError
from quati_pool.release.mteb import Mteb, MtebParameters
from tests.release.small_release import HOSTILE, release_of

GRADES = {("q1", "d1"): 3, ("q1", "d2"): 0, ("007", "d3"): 1, ("q3", "d4"): 2}
TEXTS = {f"d{n}": text for n, text in enumerate(HOSTILE, 1)}
ABOUT = ReleaseConfig(
    title='A "set"',
    license="mit",
    citation="@misc{x, title={'}}",
    languages=["pt", "arb-Arab"],
    url="https://example.org/a",
)


def exported(tmp_path: Path, about: ReleaseConfig = ABOUT, **parameters: Any) -> Path:
    folder = tmp_path / "out"
    folder.mkdir(parents=True)
    release = release_of(tmp_path, {"ana": GRADES, "ignored": {("q1", "d1"): 0}}, texts=TEXTS, about=about)
    Mteb(MtebParameters(**parameters)).write(release, folder)
    return folder


@pytest.mark.neural
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("split", ["test", "dev"])
def test_mteb_loads_the_task(tmp_path: Path, split: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from quati_pool.component_files import import_file

    # The variable HF_DATASETS_CACHE is read when datasets is imported.
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    module, _ = import_file(exported(tmp_path, split=split, task="Amostra") / "task.py")
    task = module.Amostra()
    assert (task.metadata.name, task.metadata.eval_langs) == ("Amostra", ["por-Latn", "arb-Arab"])
    assert (task.metadata.license, task.metadata.reference) == ("mit", "https://example.org/a")
    task.load_data()
    data = task.dataset["default"][split]
    assert {row["id"]: row["text"] for row in data["corpus"]} == TEXTS
    assert {row["id"]: row["text"] for row in data["queries"]} == {
        query_id: f"what is {query_id}?" for query_id in ("q1", "007", "q3")
    }
    found = {
        (query_id, doc_id): score for query_id, docs in data["relevant_docs"].items() for doc_id, score in docs.items()
    }
    assert found == GRADES


@pytest.mark.neural
@pytest.mark.filterwarnings("ignore")
def test_mteb_sees_another_export_to_the_same_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from quati_pool.component_files import import_file

    # The variable HF_DATASETS_CACHE is read when datasets is imported.
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    revisions = set()
    for grade in (3, 1):
        folder = tmp_path / "out"
        folder.mkdir()
        release = release_of(tmp_path, {"ana": {("q1", "d1"): grade}}, about=ABOUT)
        Mteb(MtebParameters(task="Amostra")).write(release, folder)
        module, _ = import_file(folder / "task.py")
        task = module.Amostra()
        task.load_data()
        assert task.dataset["default"]["test"]["relevant_docs"] == {"q1": {"d1": grade}}
        # MTEB keeps results by the revision.
        revisions.add(task.metadata.revision)
        shutil.rmtree(folder)
    assert len(revisions) == 2


def test_a_collection_reads_it(tmp_path: Path) -> None:
    exported(tmp_path)
    data_set = DataSetFolder("out", tmp_path)
    assert dict(data_set.passages()) == TEXTS
    assert [query.query_id for query in data_set.queries()] == ["q1", "007", "q3"]
    assert {(query_id, doc_id): grade for query_id, doc_id, grade in data_set.judgements()} == GRADES
    assert (data_set.about().title, data_set.about().license) == ('A "set"', "mit")


def test_languages_must_be_known(tmp_path: Path) -> None:
    for languages, problem in (
        ([], "MTEB asks for a task's languages"),
        (["klingon"], "the language 'klingon' is not"),
    ):
        with pytest.raises(ReleaseError, match=problem):
            exported(tmp_path / str(len(languages)), ReleaseConfig(languages=languages))
    folder = exported(tmp_path / "named", ReleaseConfig(license="my own"), languages=["por-Latn"])
    assert "license='not specified'" in (folder / "task.py").read_text(encoding="utf-8")
