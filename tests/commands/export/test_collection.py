"""What a release takes from a workspace of several corpora, and from runs that are not all there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from quati_pool.commands.build import build
from quati_pool.commands.export.collection import ExportedCollection, export
from quati_pool.commands.judge.judge import judge
from quati_pool.errors import QuatiPoolError
from quati_pool.project.events import Listener
from tests.commands.small_collection import Heard

ONE = {"d1": "a ferry in the harbour", "d2": "rye bread"}
OTHER = {"d2": "rye bread", "d3": "the harbour by night"}


def collection(folder: Path, **corpora: dict[str, str]) -> Path:
    """A workspace with a system over each of ``corpora``, and one more corpus that nobody uses."""
    for name, texts in {**corpora, "unused": {"d9": "nobody's"}}.items():
        rows = [json.dumps({"doc_id": doc_id, "text": text}) + "\n" for doc_id, text in texts.items()]
        (folder / f"{name}.jsonl").write_text("".join(rows), encoding="utf-8")
    (folder / "queries.tsv").write_text("q1\tharbour\n", encoding="utf-8")
    settings = {
        "name": "two",
        "corpora": {name: {"path": f"{name}.jsonl"} for name in ("unused", *corpora)},
        "queries": {"path": "queries.tsv"},
        "systems": {f"s-{name}": {"retriever": "bm25s", "language": "en", "corpus": name} for name in corpora},
        "judges": {"lexical": {"judge": "lexical", "language": "en"}},
    }
    path = folder / "pool.yaml"
    path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    build(path, Listener())
    judge(path, "lexical", Listener())
    return path


def exported(config: Path, form: str = "beir") -> ExportedCollection:
    return export(config, form, Heard())


def passages(folder: Path) -> dict[str, str]:
    rows = map(json.loads, (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines())
    listed = [(row["_id"], row["text"]) for row in rows]
    assert len(dict(listed)) == len(listed)
    return dict(listed)


def test_a_passage_of_two_corpora_is_released_once_and_an_unused_corpus_not(tmp_path: Path) -> None:
    made = exported(collection(tmp_path, one=ONE, other=OTHER))
    assert made.made
    assert passages(made.path) == {**ONE, **OTHER}


def test_two_texts_under_one_id_are_refused(tmp_path: Path) -> None:
    # The pool is built: the document that differs is not in it.
    config = collection(tmp_path, one=ONE, other={**OTHER, "d2": "white bread"})
    with pytest.raises(QuatiPoolError) as caught:
        exported(config)
    assert str(caught.value) == (
        "doc_id 'd2' has another text in corpus other than in one before it; "
        "a release needs one text per doc_id: rename it in one of them"
    )
    assert not (tmp_path / "exports" / "beir").exists()


def test_the_export_says_what_it_reuses_and_counts_what_it_wrote(tmp_path: Path) -> None:
    config = collection(tmp_path, one=ONE)
    heard = Heard()
    made = export(config, "bundle", heard, parameters={"corpus": "pooled"})
    assert heard.lines == ["corpus one: reused"]
    assert (made.counts["passages"], made.counts["queries"], made.counts["runs"]) == (1, 1, 1)
    assert made.labelers["lexical"].pairs == 1
    assert made.outside == {"lexical": 0}
    again = export(config, "bundle", heard, parameters={"corpus": "pooled"})
    assert (again.made, again.counts) == (False, {})


def test_withheld_texts_are_in_no_export_that_is_published(tmp_path: Path) -> None:
    config = collection(tmp_path, one=ONE)
    config.write_text(config.read_text(encoding="utf-8") + "release: {texts: false}\n", encoding="utf-8")
    for form in ("beir", "hf", "bundle"):
        with pytest.raises(QuatiPoolError, match=r"texts: false withholds the passages.*corpus=none"):
            exported(config, form)
    assert not (tmp_path / "exports").exists()
    made = export(config, "bundle", Heard(), parameters={"corpus": "none"})
    written = b"".join(file.read_bytes() for file in made.path.rglob("*") if file.is_file())
    assert b"ferry" not in written
    # Those who grade the pairs read them.
    assert exported(config, "doccano").made
