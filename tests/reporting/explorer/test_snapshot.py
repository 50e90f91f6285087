"""The explorer in the app: what each lead is sent of it, and that a few are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.project.workspace import Workspace
from quati_pool.reporting.explorer.scripts import arguments_of
from quati_pool.reporting.explorer.snapshot import KEPT, Snapshot
from quati_pool.reporting.explorer.snapshot_process import compute
from tests.annotator_app.explored import GRADES, explored, first_query
from tests.commands.annotate.disputes import add_label
from tests.reporting.explorer.parts import collection, grades, part


@pytest.fixture(scope="module")
def config(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return explored(finished, tmp_path_factory.mktemp("snapshot") / "w")


@pytest.fixture(scope="module")
def snapshot(config: Path) -> Snapshot:
    return compute(config)


@pytest.fixture(scope="module")
def first(config: Path) -> tuple[str, list[str]]:
    with AnnotationSession.open(config) as session:
        return first_query(session)


def sent(snapshot: Snapshot, hidden: set[tuple[str, str]]) -> dict[str, Any]:
    [found] = arguments_of(snapshot.collection(hidden))
    return dict(found)


def test_a_lead_from_whom_nothing_is_hidden_is_sent_the_files(snapshot: Snapshot, first: tuple[str, list[str]]) -> None:
    query_id, docs = first
    assert sent(snapshot, set()) == {**collection(snapshot.folder), "hidden": []}
    number = snapshot.query_ids.index(query_id)
    script, visible = snapshot.query(number, {("another", docs[0])})
    assert (arguments_of(script), visible) == (part(snapshot.folder, f"query-{number}"), docs)


def test_judges_grades_and_systems_of_hidden_pairs_are_not_sent(
    snapshot: Snapshot, first: tuple[str, list[str]]
) -> None:
    query_id, docs = first
    before, after = collection(snapshot.folder), sent(snapshot, {(query_id, docs[0]), ("no such", "pair")})
    pair = before["first"][snapshot.query_ids.index(query_id)]
    assert after["hidden"] == [pair]
    assert grades(after, "gpt")[pair] == "?"
    assert (grades(after, "ana")[pair], grades(after, "bia")[pair]) == (GRADES["ana"][0], GRADES["bia"][0])
    assert after["alone"][pair] == -1
    for found in (before, after):
        for marks in found["labels"]:
            assert len(marks) == before["first"][-1]
        del found["alone"][pair]
        found["labels"] = [marks[:pair] + marks[pair + 1 :] for marks in found["labels"]]
    assert after == {**before, "hidden": [pair]}


def test_a_query_with_a_hidden_pair_has_no_rankings_and_nothing_that_judges_said_of_it(
    snapshot: Snapshot, first: tuple[str, list[str]]
) -> None:
    query_id, docs = first
    number = snapshot.query_ids.index(query_id)
    script, visible = snapshot.query(number, {(query_id, docs[0])})
    _, before = part(snapshot.folder, f"query-{number}")
    same, after = arguments_of(script)
    assert (same, visible) == (number, docs[1:])
    assert f"gpt of {docs[0]} ".encode() not in script
    assert f"gpt of {docs[1]} ".encode() in script
    assert f"ana of {docs[0]} ".encode() in script
    assert any(before["rankings"])
    assert after["rankings"] == [[] for _ in before["rankings"]]
    assert (after["docs"], after["texts"]) == (docs, before["texts"])


def test_texts_are_there_whatever_is_published(finished: Path, tmp_path: Path) -> None:
    config = explored(finished, tmp_path / "w")
    config.write_text(config.read_text(encoding="utf-8") + "release: {texts: false}\n", encoding="utf-8")
    _, found = part(compute(config).folder, "query-0")
    assert all(found["texts"])


def test_an_explorer_of_the_same_state_is_the_same_and_only_a_few_are_kept(finished: Path, tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'another.db'}"
    config = explored(finished, tmp_path / "w", database)
    made = [compute(config, database)]
    assert compute(config, database).folder == made[0].folder
    with AnnotationSession.open(config, database) as session:
        query_id, docs = first_query(session)
        for grade in range(KEPT):
            add_label(session, "ana", query_id, docs[5], grade)
            made.append(compute(config, database))
    folder = Workspace(config.parent).explorers
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {one.folder.name for one in made[1:]}
    with pytest.raises(FileNotFoundError):
        made[0].query(0, set())
    assert grades(collection(made[-1].folder), "ana")[made[-1].pairs[query_id, docs[5]]] == KEPT - 1


def test_the_files_for_all_are_those_without_pairs(snapshot: Snapshot) -> None:
    assert {"index.html", "explorer.css", "libraries/htm-preact.js", "pages/query.js"} <= snapshot.files
    assert not any(name.startswith(("data/collection", "data/query")) for name in snapshot.files)
    assert any(name.startswith("data/scores-") for name in snapshot.files)
