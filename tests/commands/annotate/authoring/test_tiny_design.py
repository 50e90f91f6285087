"""A third design, one file, goes through the same commands: as a class of a user's file, and as a plug-in's."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quati_pool.annotation.authoring.forms import WritingError
from quati_pool.commands.annotate.authoring import overview, work
from quati_pool.commands.components import components
from quati_pool.registry import AUTHORING
from tests.annotation.authoring import tiny_design
from tests.commands.annotate.authoring.rounds import TEXTS, nonce, opened, rounds, sent, step, workspace
from tests.commands.annotate.writers import sign_in
from tests.plugin_package import write_dist_info


def test_a_design_in_a_file_goes_through_its_rounds(tmp_path: Path) -> None:
    path = workspace(tmp_path, TEXTS[:1], design="mine.py:Tiny", languages=["en"], words="A title",
                     sources={"path": "texts.csv", "text": "en"})  # fmt: skip
    (tmp_path / "mine.py").write_text(Path(tiny_design.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    with opened(path) as session:
        lea, ana, rui = sign_in(session, "lea", "lead"), sign_in(session, "ana"), sign_in(session, "rui")
        head = step(session, ana)
        assert (head.shown, head.refusals) == ({"text": TEXTS[0]["en"]}, ("empty",))
        assert [field.label for field in head.step.fields] == ["A title", "The words behind it"]
        with pytest.raises(WritingError) as caught:
            work.submit(session, ana, sent(head, {"heading": "x" * 41}))
        assert (caught.value.reason, caught.value.field) == ("long", "heading")
        content = {"heading": "Tides", "words": [{"start": 4, "end": 8}]}
        assert work.submit(session, ana, sent(head, content)).seq is not None
        assert work.next_step(session, ana) is work.next_step(session, lea) is None
        rate = step(session, rui)
        assert rate.shown == {"text": TEXTS[0]["en"], "heading": "Tides"}
        assert work.submit(session, rui, sent(rate, {"rating": 5})).seq is not None
        [item] = rounds(session).items()
        assert item.state == "kept"
        assert [one.round for one in overview.rounds_overview(session, lea).people] == ["head", "rate"]
        assert session.design is not None
        assert session.design.record(item, None, rounds(session).entries()[item.item_id]) == {
            "kind": "text", "item_id": 1, "source_id": "A1", "text": TEXTS[0]["en"], "heading": "Tides", "rating": 5,
            "words": [{"start": 4, "end": 8, "text": "tide"}],
        }  # fmt: skip


def test_another_design_has_items_of_its_own(tmp_path: Path) -> None:
    with opened(workspace(tmp_path, TEXTS[:1])) as session:
        assert len(rounds(session).items()) == 1
    path = workspace(tmp_path, TEXTS[:2], design="mine.py:Tiny", languages=["en"],
                     sources={"path": "texts.csv", "text": "en"})  # fmt: skip
    (tmp_path / "mine.py").write_text(Path(tiny_design.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    with opened(path) as session:
        ana = sign_in(session, "ana")
        assert [one.source_id for one in rounds(session).items()] == ["A1", "A2"]
        shown = step(session, ana)
        work.refuse(session, ana, shown.item, 0, shown.sha, "empty", None, nonce())
        assert {one.state for one in rounds(session).items()} == {"open", "out"}


def test_a_design_may_call_its_items_as_it_likes(tmp_path: Path) -> None:
    """Also as RoMQA calls its queries, without constraints."""
    path = workspace(tmp_path, TEXTS[:2], design="mine.py:Tiny", languages=["en"],
                     sources={"path": "texts.csv", "text": "en"})  # fmt: skip
    code = Path(tiny_design.__file__).read_text(encoding="utf-8").replace('Made("text"', 'Made("query"')
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    with opened(path) as session:
        ana, lea = sign_in(session, "ana"), sign_in(session, "lea", "lead")
        shown = step(session, ana)
        work.refuse(session, ana, shown.item, 0, shown.sha, "empty", None, nonce())
        step(session, ana)
        found = overview.rounds_overview(session, lea)
        assert {found.out[0].text, found.held[0].text} == {TEXTS[0]["en"], TEXTS[1]["en"]}


def test_headings_alike_are_doubted(tmp_path: Path) -> None:
    path = workspace(tmp_path, TEXTS[:2], design="mine.py:Tiny", languages=["en"],
                     sources={"path": "texts.csv", "text": "en"})  # fmt: skip
    (tmp_path / "mine.py").write_text(Path(tiny_design.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    with opened(path) as session:
        ana = sign_in(session, "ana")
        assert work.submit(session, ana, sent(step(session, ana), {"heading": "The tides"})).doubts == ()
        [doubt] = work.submit(session, ana, sent(step(session, ana), {"heading": "Tides, the"})).doubts
        assert (doubt.reason, doubt.field, doubt.values["question"]) == ("similar", "heading", "The tides")


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    write_dist_info(
        tmp_path, "elsewhere", "3.1", "[quati_pool.authoring]\ntiny = tiny_plugin:Tiny\nodd = not_there:X\n"
    )
    code = Path(tiny_design.__file__).read_text(encoding="utf-8")
    (tmp_path / "tiny_plugin.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    vars(AUTHORING).pop("_plugins", None)
    yield
    vars(AUTHORING).pop("_plugins", None)
    sys.modules.pop("tiny_plugin", None)


@pytest.mark.usefixtures("plugin")
def test_a_design_of_a_plug_in_is_listed_and_served(tmp_path: Path) -> None:
    listed = {one.name: one for one in components() if one.kind == "authoring design"}
    assert list(listed) == ["pira", "romqa", "tiny", "odd"]
    assert (listed["tiny"].summary, listed["tiny"].problem) == (
        "a heading for each text, rated by another person",
        None,
    )
    assert [one.name for one in listed["tiny"].parameters] == ["words"]
    assert "cannot be loaded" in str(listed["odd"].problem)
    assert listed["pira"].example == ("authoring:\n  {design: pira, languages: [pt, en], sources: {path: texts.csv}}")
    path = workspace(tmp_path / "w", TEXTS[:1], design="tiny", languages=["en"],
                     sources={"path": "texts.csv", "text": "en"})  # fmt: skip
    with opened(path) as session:
        assert step(session, sign_in(session, "ana")).round == "head"
