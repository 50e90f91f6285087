"""The team page without a browser: what it says where something is refused, missing or not to be known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from annotator_app import context
from quati_pool.commands.annotate import team
from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.judge.judge import judge
from quati_pool.project.events import Listener
from quati_pool.store.errors import StoreError
from quati_pool.store.records import Design
from tests.annotator_app.opened import as_person, shown
from tests.commands.annotate.disputes import Tokens, disputed
from tests.commands.annotate.people_at_work import answer, assigned, collection, item, pairs, token
from tests.patience import PATIENCE

Here = tuple[AnnotationSession, Tokens]
SCRIPT = """
from annotator_app import context, error_notices
from annotator_app.pages import team
with error_notices.guarded():
    context.enter()
    team.page()
"""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Here]:
    """Six pairs; the lead lia."""
    with disputed(tmp_path) as opened:
        context.use(opened[0])
        yield opened
        context.use(None)


def page(token: str, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setattr(context, "token", lambda: token)
    return AppTest.from_string(SCRIPT, default_timeout=PATIENCE).run()


def pressed(app: AppTest, label: str) -> AppTest:
    (found,) = [button for button in app.button if button.label == label]
    return found.click().run()


def test_an_assessor_is_shown_nothing(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    app = page(here[1].ana, monkeypatch)
    assert not app.exception
    assert shown(app).count("This page is not for your role.") == 3
    assert "lia" not in shown(app)
    assert not app.button
    assert not app.selectbox


def test_a_press_after_the_role_was_lost_does_nothing(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    app = page(tokens.lia, monkeypatch)
    pressed(app, "Preview")
    session.people.revoke("lia")
    pressed(app, "Create")
    assert not app.exception
    assert "Your session has ended" in shown(app)
    assert session.designs.all() == []


def test_a_database_that_does_not_answer_is_no_place_for_a_machines_path(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise StoreError("/secret/labels.db cannot be written; free some space")

    app = page(here[1].lia, monkeypatch)
    pressed(app, "Preview")
    monkeypatch.setattr(team, "create_design", refused)
    pressed(app, "Create")
    assert "Nothing was stored; try again." in shown(app)
    assert "secret" not in shown(app)
    monkeypatch.undo()
    monkeypatch.setattr(context, "token", lambda: here[1].lia)
    # What was refused is not yet done, and may be tried again.
    assert "Design 1 is created, with 6 pairs. 6 new assignments." in shown(pressed(app, "Create"))


def test_a_preview_is_of_what_the_fields_hold_when_it_is_pressed(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    app = page(here[1].lia, monkeypatch)
    # Not drawn between the field and the press, as by a press straight after typing.
    app.number_input(key="team.overlap").set_value(2)
    assert "6 of 6 pairs, each for 2 people. 12 new assignments." in shown(pressed(app, "Preview"))


@pytest.mark.parametrize("drawn", [True, False])
def test_a_design_is_what_was_previewed_or_is_not_made(
    here: Here, monkeypatch: pytest.MonkeyPatch, *, drawn: bool
) -> None:
    session, tokens = here
    app = page(tokens.lia, monkeypatch)
    assert "6 of 6 pairs, each for 1 person. 6 new assignments." in shown(pressed(app, "Preview"))
    app.number_input(key="team.overlap").set_value(2)
    if drawn:
        assert "The fields were changed since this preview." in shown(app.run())
    text = shown(pressed(app, "Create"))
    assert "nothing was created. Here is the preview of what they say now." in text
    assert "6 of 6 pairs, each for 2 people. 12 new assignments." in text
    assert "The fields were changed since this preview." not in text
    assert session.designs.all() == []
    assert "Design 1 is created, with 6 pairs. 12 new assignments." in shown(pressed(app, "Create"))
    assert [one.parameters["overlap"] for one in session.designs.all()] == [2]


def test_a_box_that_is_changed_just_before_a_press_counts(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    assigned(session, ("ana",))
    app = page(tokens.lia, monkeypatch)
    app.selectbox(key="team.person").set_value("ana").run()
    app.checkbox(key="team.release-H-ana").uncheck()
    text = shown(pressed(app, "Revoke the code"))
    assert "The code of ana no longer works. 6 pairs stay theirs and wait" in text
    assert "6 pairs are now open to everyone." in shown(pressed(app, "Open them to everyone"))
    assert "Open them to everyone" not in [button.label for button in app.button]
    app.text_area(key="team.rows0").set_value("q0\td0\t3")
    app.radio(key="team.kind").set_value("gold")
    assert "1 of 1 pair is new or changed" in shown(pressed(app, "Add the pairs"))


def test_somebody_who_was_here_before_is_asked_about(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    session.people.revoke("ana")
    app = page(tokens.lia, monkeypatch)
    app.text_input(key="team.name0").set_value("ana")
    text = shown(pressed(app, "Give a code"))
    assert re.search(r"ana was here before and has \d+ labels?\. Is it the same person\?", text)
    assert context.NEW_CODE not in app.session_state
    text = shown(pressed(app, "It is the same person: give ana a code"))
    assert "The access code of ana:" in text
    assert "It is the same person: give ana a code" not in [button.label for button in app.button]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Ana Silva", "A name is one word. Write, for example, Ana-Silva."),
        ("x" * 70, "A name has at most 64 characters."),
        ("", "Write a name first."),
        ("l\u0456a", "Write the name in one script"),
        ("LIA", "This name is too similar to lia"),
        ("adjudicated", "what decisions are kept under"),
        ("a,b", "A name must not begin with"),
    ],
)
def test_a_refused_name_is_answered_without_the_words_of_the_command_line(
    here: Here, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    app = page(here[1].lia, monkeypatch)
    app.text_input(key="team.name0").set_value(name)
    assert said in shown(pressed(app, "Give a code"))


def test_a_refused_design_is_answered_without_the_words_of_the_command_line(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = page(here[1].lia, monkeypatch)
    app.number_input(key="team.overlap").set_value(20)
    assert "people have an access code. Ask for no more people per pair" in shown(pressed(app, "Preview"))
    app.number_input(key="team.overlap").set_value(1)
    app.radio(key="team.method").set_value("stratified").run()
    app.number_input(key="team.size-stratified").set_value(1)
    text = shown(pressed(app, "Preview"))
    assert "There are 2 strata, and their minimum takes 2 pairs, not 1." in text
    app.radio(key="team.method").set_value("all").run()
    app.multiselect(key="team.to").set_value(["ana"])
    app.number_input(key="team.load").set_value(5)
    assert "This takes 6 assignments, and the people you named get 5 at most." in shown(pressed(app, "Preview"))


def test_what_is_wrong_with_pasted_rows_and_notes_of_a_preview_are_in_the_leads_language(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "language", lambda: "pt")
    app = page(here[1].lia, monkeypatch)
    for rows, said in (
        ("q0\td0\t9\tporque", "Linha 1: a nota 9 não está na escala (0, 1, 2, 3)"),
        ("q0\td0\tboa\tporque", "Linha 1: &#39;boa&#39; não é uma nota"),
        ("q0\td0\t1", "Linha 1: 3 colunas em vez de 4"),
        ('"q0"\td0\t1\tporque', "Linha 1: query_id &#39;&#34;q0&#34;&#39; está entre aspas"),
        ("q0\t\t1\tporque", "Linha 1: doc_id está vazio"),
        ("q0\td 0\t1\tporque", "Linha 1: doc_id &#39;d 0&#39; contém espaços"),
        ("query_id\tdoc_id\trelevance\texplanation", "Isto não é possível: não há nenhum par nestas linhas."),
    ):
        app.text_area(key="team.rows0").set_value(rows)
        assert said in shown(pressed(app, "Adicionar os pares"))
    app.text_area(key="team.rows0").set_value("q0\td0\t1\tporque")
    pressed(app, "Adicionar os pares")
    text = shown(pressed(app, "Prévia"))
    assert "1 dos pares escolhidos é de prática: as pessoas veem a nota conhecida antes de avaliar" in text


def test_a_design_is_taken_back_but_for_what_is_done(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    app = page(tokens.lia, monkeypatch)
    pressed(app, "Preview")
    pressed(app, "Create")
    submit(session, tokens.ana, item(session, tokens.ana), answer(99))
    app.selectbox(key="team.withdraw").set_value(1).run()
    assert "5 open assignments of design 1 are taken back, even those" in shown(app)
    assert "5 open assignments of design 1 are taken back.<" in shown(pressed(app, "Take them back"))
    ((design),) = team.designs(session, tokens.lia)
    assert (design.open, design.done) == (0, 1)
    assert "Take them back" not in [button.label for button in app.button]


def test_strata_by_a_judges_grade_are_counts_over_all_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: the judge gives d0 0, d1 1 and d2 2 in both queries, so that there are two pairs of each grade, and each
    stratum by query and grade has one pair: its grade could be read off."""
    grades = "".join(f"q{q} 0 d{d} {d}\n" for q in range(2) for d in range(3))
    (tmp_path / "gold.qrels").write_text(grades, encoding="utf-8")
    config = collection(tmp_path, judges={"gold": {"judge": "replay", "path": "gold.qrels"}})
    judge(config, "gold", Listener())
    with AnnotationSession.open(config) as session:
        context.use(session)
        app = page(token(session, "lia", "lead"), monkeypatch)
        app.radio(key="team.method").set_value("stratified").run()
        app.selectbox(key="team.judge").set_value("gold").run()
        app.multiselect(key="team.by-True").set_value(["query"]).run()
        text = shown(pressed(app, "Preview"))
        context.use(None)
    assert "6 of 6 pairs" in text
    rows = [re.findall(r"<td.*?>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", text)]
    strata = [[re.sub("<.*?>", "", cell) for cell in row] for row in rows if row and "grade=" in row[0]]
    assert strata == [[f"grade={grade}", "2", "2", "1.0000"] for grade in range(3)]
    assert "query=" not in text


_PASSAGE = "the same long passage about the river, its islands, and the people who live there, number"


def test_queues_and_weightings_are_named_in_the_list_of_designs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A query of four nearly equal passages, which the judge grades 0 to 3.
    rows = [{**row, "text": f"{_PASSAGE} {row['doc_id']}"} for row in pairs(1, 4)]
    config = collection(tmp_path, rows, judges={"gold": {"judge": "replay", "path": "gold.qrels"}})
    (tmp_path / "gold.qrels").write_text("".join(f"q0 0 d{d} {d}\n" for d in range(4)), encoding="utf-8")
    judge(config, "gold", Listener())
    assign(config, AssignOptions(queue="near-duplicates", expect=4))
    with AnnotationSession.open(config) as session:
        parameters = {"measure": "DCG@3", "by": "uncertainty", "judge": "gold"}
        session.designs.create(
            Design(method="active", seed=0, frame_sha="0", frame_pairs=4, parameters=parameters), (), ()
        )
        context.use(session)
        text = " ".join(re.sub("<.*?>", " ", shown(page(token(session, "lia", "lead"), monkeypatch))).split())
        context.use(None)
    assert "To find errors: near-duplicates gold anyone 4 " in text
    assert "Pairs for a measure DCG@3 · by the judge&#39;s uncertainty · gold anyone " in text


def test_random_queries_are_previewed_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three questions about the sea and two about law."""
    config = collection(tmp_path, pairs(5, 2))
    rows = "".join(f"q{n}\tpergunta q{n}\t{'sea' if n < 3 else 'law'}\n" for n in range(5))
    (tmp_path / "queries.tsv").write_text("query_id\tquery\ttheme\n" + rows, encoding="utf-8")
    with AnnotationSession.open(config) as session:
        context.use(session)
        app = page(token(session, "lia", "lead"), monkeypatch)
        app.radio(key="team.method").set_value("random-queries").run()
        app.number_input(key="team.size-queries").set_value(2)
        assert "2 of 5 questions. 4 of 10 pairs, each for 1 person." in shown(pressed(app, "Preview"))
        app.selectbox(key="team.strata").set_value("theme")
        text = shown(pressed(app, "Preview"))
        assert "There are 2 strata, and at least 3 questions of each take 5 questions, not 2." in text
        app.number_input(key="team.size-queries").set_value(5)
        text = shown(pressed(app, "Preview"))
        assert "5 of 5 questions. 10 of 10 pairs" in text
        assert "theme=law" in text
        assert "Design 1 is created, with 10 pairs. 10 new assignments." in shown(pressed(app, "Create"))
        text = shown(app.run())
        context.use(None)
        assert "Random questions theme" in re.sub("<.*?>", "", text)
        assert [(one.method, one.parameters["strata"]) for one in session.designs.all()] == [
            ("random-queries", "theme")
        ]


def test_pairs_for_a_measure_are_previewed_and_drawn(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = workspace / "pool.yaml"
    settings = config.read_text("utf-8").replace("judges:", "former_judges:")
    assert "former_judges" not in settings
    config.write_text(settings + "judges: {lexical: {judge: lexical}}\nmeasures: [AP, DCG@3, nDCG@3]\n", "utf-8")
    judge(config, "lexical", Listener())
    with AnnotationSession.open(config) as session:
        context.use(session)
        app = page(token(session, "lia", "lead"), monkeypatch)
        app.radio(key="team.method").set_value("active").run()
        assert app.selectbox(key="team.measure").options == ["DCG@3", "nDCG@3"]
        app.selectbox(key="team.measure").set_value("nDCG@3")
        app.number_input(key="team.expect").set_value(20)
        app.selectbox(key="team.weigh").set_value("lexical")
        text = shown(pressed(app, "Preview"))
        assert "certain to be chosen" not in text
        assert re.search(r"<td.*?>0\.\d{4} – \d\.\d{4}</td>", text)
        assert "Design 1 is created, with " in shown(pressed(app, "Create"))
        text = shown(app.run())
        context.use(None)
        [design] = session.designs.all()
    assert (design.method, design.parameters["measure"], design.parameters["judge"]) == ("active", "nDCG@3", "lexical")
    assert design.parameters["expected"] == 20
    assert "Pairs for a measure nDCG@3 · lexical" in re.sub("<.*?>", "", text)


def test_a_code_is_not_kept_while_another_page_is_open(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = here
    with as_person(session, tokens.lia, monkeypatch) as app:
        app.session_state[context.NEW_CODE] = ("ana", "0000-0000-0000-0000")
        app.run()  # the page for grading
        assert not app.exception
        assert context.NEW_CODE not in app.session_state


def test_people_are_added_without_a_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = collection(tmp_path)
    (tmp_path / "pool.jsonl.gz").unlink()
    with AnnotationSession.open(config) as session:
        context.use(session)
        app = page(token(session, "lia", "lead"), monkeypatch)
        app.text_input(key="team.name0").set_value("ana")
        text = shown(pressed(app, "Give a code"))
        context.use(None)
        assert "The access code of ana:" in text
        assert "run: quati-pool build" in text
        assert [one.name for one in session.people.all()] == ["ana", "lia"]


def test_the_second_click_of_two_needs_no_field_of_the_form(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit may have dropped them, because the first click put a new form in place of this one."""
    monkeypatch.setattr(context, "token", lambda: here[1].lia)
    clicks = """
from annotator_app import context
from annotator_app.team import people
context.enter()
people._give(0, "gil", "assessor", False)
people._add(0)
people.people()
"""
    app = AppTest.from_string(clicks, default_timeout=PATIENCE).run()
    assert not app.exception
    assert "The access code of gil:" in shown(app)
