"""What a release takes from a workspace of several corpora, and from runs that are not all there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.grading import answer as grading_answer
from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.build import build
from quati_pool.commands.export.collection import ExportedCollection, export
from quati_pool.commands.export.labels import export_labels
from quati_pool.commands.judge.judge import judge
from quati_pool.errors import QuatiPoolError
from quati_pool.files.pools import read_pool
from quati_pool.project.events import Listener
from tests.commands.annotate.people_at_work import answer, item, token
from tests.commands.small_collection import Heard

ONE = {"d1": "a ferry in the harbour", "d2": "rye bread"}
OTHER = {"d2": "rye bread", "d3": "the harbour by night"}


def collection(folder: Path, **corpora: dict[str, str]) -> Path:
    """A workspace with a system over each of ``corpora``, and one more corpus that nobody uses."""
    folder.mkdir(exist_ok=True)
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


def test_the_card_counts_the_queries_that_programs_drafted(tmp_path: Path) -> None:
    config = collection(tmp_path, one=ONE)
    made = exported(config, "bundle")
    assert "drafted" not in (made.path / "README.md").read_text(encoding="utf-8")
    # Drafters are in no key of what is built: only exports are written again.
    (tmp_path / "queries.tsv").write_text("query_id\tquery\tdrafted_by\nq1\tharbour\tgpt-4o\n", encoding="utf-8")
    again = exported(config, "bundle")
    assert again.made
    said = "1 of 1 queries (100.0 %) was drafted by gpt-4o."
    assert said in (again.path / "README.md").read_text(encoding="utf-8")


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


SIX = {f"d{at}": f"the harbour and boat {at}" for at in range(1, 7)}


def graded_by_people(folder: Path, grades: dict[str, tuple[int, ...]]) -> tuple[Path, list[str]]:
    """A workspace whose people grade a random half of its six pairs, each all of it, and their panel ``final``; and the
    doc_ids of the sample, in the order of the grades."""
    config = collection(folder, one=SIX)
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    settings["judges"]["final"] = {"people": "majority"}
    config.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    with AnnotationSession.open(config) as session:
        tokens = {name: token(session, name) for name in grades}
        assign(config, AssignOptions(random="3", to=tuple(grades), overlap=len(grades)))
        sample = [one.doc_id for one in session.designs.selections(1)]
        for start, name in enumerate(grades):
            while (given := next_item(session, tokens[name])) is not None:
                at = sample.index(given.doc_id)
                if at < len(grades[name]):
                    submit(session, tokens[name], given, answer(10 * start + at, grades[name][at]))
                else:
                    submit(session, tokens[name], given, answer(10 * start + at, None, status="skipped"))
                    break
    return config, sample


def test_a_plain_bundle_has_the_sample_that_people_graded_and_says_how_it_was_drawn(tmp_path: Path) -> None:
    config, sample = graded_by_people(tmp_path, {"ana": (3, 0, 2), "bia": (3, 0, 2)})
    made = exported(config, "bundle")
    assert made.main is not None
    assert (made.main.name, [*made.labelers]) == ("final", ["final", "bia", "ana"])
    # Of six pairs three were given: none is missing.
    assert all(coverage.lacks == {"not given": 3} for coverage in made.labelers.values())
    out = made.path
    assert (out / "qrels" / "final.qrels").read_text("utf-8") == "".join(
        f"q1 0 {doc_id} {grade}\n" for doc_id, grade in sorted(zip(sample, (3, 0, 2), strict=True), key=_pooled(config))
    )
    _, *rows = (out / "design.tsv").read_text("utf-8").splitlines()
    assert rows == [f"1\trandom\t0\tq1\t{doc_id}\tall\t0.5\t2" for doc_id in sample]
    card = (out / "README.md").read_text("utf-8")
    assert "Not given: people graded a part of the pool" in card
    (labelled, *_) = json.loads((out / "MANIFEST.json").read_bytes())["labelers"]
    assert (labelled["labeler"], labelled["pairs"], labelled["left_out"]) == ("final", 3, {"not given": 3})
    labels = pq.read_table(out / "labels" / "ana.parquet").to_pylist()
    assert {(row["design"], row["stratum"], row["inclusion"]) for row in labels} == {("1-random", "all", 0.5)}
    assert not exported(config, "bundle").made
    # Another design changes the bundle, although nobody has graded anything of it.
    assign(config, AssignOptions(random="4", seed=1))
    with pytest.raises(QuatiPoolError, match=r"have no grade by final \(\d never asked\)"):
        exported(config, "bundle")
    again = export(config, "bundle", Heard(), allow_missing=True)
    assert again.made
    assert len((again.path / "design.tsv").read_text("utf-8").splitlines()) == 1 + 3 + 4


@pytest.mark.parametrize("cleaned", [True, False], ids=["now", "as former versions stored it"])
def test_half_a_surrogate_pair_in_a_note_stops_no_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cleaned: bool
) -> None:
    config = collection(tmp_path, one={"d1": "a ferry in the harbour"})
    if not cleaned:
        monkeypatch.setattr(grading_answer, "sendable", lambda note: note)
    with AnnotationSession.open(config) as session:
        ana = token(session, "ana")
        assign(config, AssignOptions(everything=True, to=("ana",)))
        submit(session, ana, item(session, ana), answer(1, 3, note="bom \ud83d"))
    for form in ("tsv", "jsonl", "doccano", "quati", "label-studio"):
        assert export_labels(config, "ana", form).labels == 1
    assert "bom \ufffd" in (tmp_path / "exports" / "ana.tsv").read_text("utf-8")
    made = exported(config, "bundle")
    assert pq.read_table(made.path / "labels" / "ana.parquet")["rationale"].to_pylist() == ["bom \ufffd"]


def _pooled(config: Path) -> Callable[[tuple[str, int]], int]:
    """The place of a document in the pool of one query."""
    places = {pair.doc_id: at for block in read_pool(config.parent / "pool.jsonl.gz") for at, pair in enumerate(block)}
    return lambda row: places[row[0]]


def test_a_plain_bundle_is_refused_while_people_are_tied_or_have_not_finished(tmp_path: Path) -> None:
    config, sample = graded_by_people(tmp_path / "tied", {"ana": (3, 0, 2), "bia": (3, 1, 2)})
    with pytest.raises(QuatiPoolError) as refused:
        exported(config, "bundle")
    assert str(refused.value) == (
        f"1 of the 3 pairs given to people have no grade by final (1 tied): q1 {sample[1]} (tied); decide tied pairs "
        "on the page Review of quati-pool annotate, or leave them out, unjudged, with --allow-missing"
    )
    made = export(config, "bundle", Heard(), allow_missing=True)
    assert made.labelers["final"].lacks == {"tied": 1, "not given": 3}
    card = (made.path / "README.md").read_text("utf-8")
    assert "Tied: people's grades have no majority, and no lead has decided." in card
    config, sample = graded_by_people(tmp_path / "unfinished", {"ana": (3, 0)})
    with pytest.raises(QuatiPoolError, match=r"^1 of the 3 pairs given to people have no grade by final"):
        exported(config, "bundle")
