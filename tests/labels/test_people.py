"""One grade of a pair's people: a lead's decision first, else what those say who graded it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from quati_pool.commands.agree import agree
from quati_pool.commands.export.qrels import export_qrels
from quati_pool.commands.judge.judge import judge
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.labels.labelers import Grading, people_definition, people_version
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.records import State
from quati_pool.store.database import Store
from quati_pool.store.records import ADJUDICATED, Entry, content_sha
from tests.commands.judged import many, workspace
from tests.store.samples import label

PAIRS = many(1, 8)
# A character a pair: a grade, - never asked, ? cannot judge, s put off, u taken back.
LABELS = {
    "ana": "33-22??-",
    "bia": "3-1321s-",
    "caio": "-21-----",
    ADJUDICATED: "-----3--",
}
STATES = {"?": State.unsure, "s": State.skipped, "u": State.retracted}
# Pair by pair, by hand: 3 and 3; ana 3, caio 2 undecided; bia 1, caio 1; ana 2, bia 3 undecided; 2 and 2;
# the lead's 3 stands against bia's 1; ana could not judge it, which says more than bia's "later"; nobody.
MAJORITY = ["3", "unsure", "1", "unsure", "2", "3", "unsure", None]
# The mean, a half rounded up: 2.5 is 3 twice.
MEAN = ["3", "3", "1", "3", "2", "3", "unsure", None]


def collection(folder: Path, method: str = "majority", **settings: Any) -> Path:
    """A workspace whose people have said what LABELS says."""
    path = workspace(folder, PAIRS, {"final": {"people": method}, "lexical": {"judge": "lexical"}}, **settings)
    config = load_config(path)
    entries = [
        Entry(
            label=label(
                row["query_id"], row["doc_id"], STATES.get(said, State.ok), collection="test", labeler_id=name,
                kind="assessor", version=people_version(config), content_sha=content_sha(row["query"], row["text"]),
                phase="final" if name == ADJUDICATED else "blind", relevance=int(said) if said.isdigit() else None,
            )
        )
        for name, told in LABELS.items()
        for row, said in zip(PAIRS, told, strict=True)
        if said != "-"
    ]  # fmt: skip
    with Store.open(None, folder) as store:
        store.register(people_version(config), "assessor", people_definition(config))
        store.append(entries)
    return path


def said(path: Path, name: str = "final") -> list[str | None]:
    """A labeler's grade of each pair, or else its state."""
    config = load_config(path)
    with Store.open(None, path.parent) as store:
        grading = Grading(config, store)
        found = [one for chunk in grading.pairs() for one in grading.labeler(name).graded(chunk)]
    return [one.status and (one.status.value if one.relevance is None else str(one.relevance)) for one in found]


@pytest.mark.parametrize(("method", "expected"), [("majority", MAJORITY), ("mean", MEAN)])
def test_a_decision_comes_before_what_the_people_say(tmp_path: Path, method: str, expected: list[str | None]) -> None:
    assert said(collection(tmp_path, method)) == expected


def test_its_qrels_leave_out_what_the_people_could_not_settle(tmp_path: Path) -> None:
    path = collection(tmp_path)
    with pytest.raises(QuatiPoolError) as refused:
        export_qrels(path, "final")
    assert str(refused.value) == (
        "2 of the 7 pairs given to people have no grade by final (2 tied): q0000 d0001 (tied), q0000 d0003 (tied); "
        "decide tied pairs on the page Review of quati-pool annotate, or leave them out, unjudged, with --allow-missing"
    )
    made = export_qrels(path, "final", allow_missing=True)
    assert made.coverage.lacks == {"unsure": 1, "tied": 2, "not given": 1}
    rows = [line.split() for line in made.path.read_text(encoding="utf-8").splitlines()]
    assert [(doc_id, grade) for _, _, doc_id, grade in rows] == [
        ("d0000", "3"), ("d0002", "1"), ("d0004", "2"), ("d0005", "3"),
    ]  # fmt: skip


def test_people_never_run_as_a_judge_nor_show_their_grades_to_one_another(tmp_path: Path) -> None:
    path = collection(tmp_path)
    with pytest.raises(ConfigError, match="final is computed from people's labels whenever it is read; run: quati"):
        judge(path, "final", Listener())
    assert judge(path, None, Listener()).judge == "lexical", "the only judge that can run needs no name"
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump({**settings, "annotation": {"reveal": "final"}}), encoding="utf-8")
    with pytest.raises(InputError, match="'final' are other people's grades; name a judge"):
        load_config(path)


def test_labels_of_an_older_annotation_version_are_history_for_everybody_at_once(tmp_path: Path) -> None:
    path = collection(tmp_path)
    assert said(path, "ana") == ["3", "3", None, "2", "2", "unsure", "unsure", None]
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump({**settings, "annotation": {"version": 2}}), encoding="utf-8")
    assert said(path, "ana") == said(path) == [None] * 8
    with pytest.raises(QuatiPoolError, match="ana has graded no pair of the pool"):
        agree(path, ["ana", "bia"])
