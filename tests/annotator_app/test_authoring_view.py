"""What the page where people write draws of a step: of ours, and of a design that has no messages of its own."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from annotator_app import words
from annotator_app.authoring_view import AuthoringView, prefilled, texts_of
from annotator_app.words import Voice
from quati_pool.annotation.authoring.forms import Doubt, Field, Step, WritingError
from quati_pool.commands.annotate.authoring.step import OwnItem, WritingStep
from quati_pool.commands.annotate.session import AnnotationSession
from tests.annotation.authoring import tiny_design
from tests.annotator_app import authored


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnnotationSession]:
    with AnnotationSession.open(authored.workspace(tmp_path_factory.mktemp("view") / "written")) as opened:
        yield opened


@pytest.fixture
def view(session: AnnotationSession) -> AuthoringView:
    return AuthoringView(session, Voice("en"))


def step(shown: Mapping[str, Any], *fields: Field, name: str = "look_twice", **values: Any) -> WritingStep:
    """A step that shows this and asks these fields."""
    usual: dict[str, Any] = {
        "item": "w0",
        "round": "first_look",
        "number": 0,
        "steps": 1,
        "step": Step(name, tuple(shown), fields),
        "shown": shown,
        "sha": "0" * 64,
        "several": False,
        "refusals": (),
        "own": (),
        "undoable": None,
    }
    return WritingStep(**{**usual, **values})


def text_of(markup: str) -> str:
    """Its words, without elements."""
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", markup)).split())


def values(markup: str, field: str) -> list[str]:
    """The values of which one is chosen in a field."""
    (found,) = re.findall(rf'<div class="field row" data-field="{field}".*?</div><p', markup)
    return re.findall('data-do="choose" data-value="(.*?)"', found)


EVERY_KIND = (
    Field("title", "line", "A short_title", "fr", most=40),
    Field("summary", "prose", "Summary", required=False),
    Field("true", "yes_no", "Is it <true>?"),
    Field("sure", "scale", "How sure", values=("0", "3")),
    Field("colour", "choice", "Colour", values=("dark_blue", "red")),
    Field("where", "spans", "Where", required=False),
)


def test_a_form_is_drawn_from_its_fields_and_what_has_no_message_is_its_own_words(view: AuthoringView) -> None:
    drawn = str(view.step(step({"text": "Um texto. Outro."}, *EVERY_KIND)))
    text = text_of(drawn)
    for words_of_it in ("look twice", "A short title fr", "Summary (if there is any)", "Is it <true>?", "dark blue"):
        assert words_of_it in text
    assert "<true>" not in drawn
    assert values(drawn, "true") == ["true", "false"]
    assert values(drawn, "sure") == ["0", "1", "2", "3"]
    assert values(drawn, "colour") == ["dark_blue", "red"]
    assert drawn.count("<textarea") == 2
    assert 'maxlength="40"' in drawn
    assert re.search(r'<textarea id="field0"[^>]* lang="fr"', drawn)
    assert 'data-do="evidence"' in view.bar(step({"text": "x"}, *EVERY_KIND), undoable=False)
    assert "first look" in text_of(str(view.progress(step({}), 3, None)))


def test_every_field_is_named_for_a_screen_reader_and_by_one_element_each(view: AuthoringView) -> None:
    drawn = str(view.step(step({"text": "Um texto."}, *EVERY_KIND)))
    named = re.findall(r'(?<!-)\bid="(.*?)"', drawn)
    assert len(named) == len(set(named))
    wanted = re.findall(r' (?:for|aria-labelledby|aria-describedby)="(.*?)"', drawn)
    assert len(wanted) >= 2 * len(EVERY_KIND) - 1
    assert set(wanted) <= set(named)


def test_the_text_is_next_to_the_form_in_one_language_at_a_time(view: AuthoringView) -> None:
    one = step({"text": {"pt": "Olá", "fr": "Salut"}})
    drawn = str(view.step(one))
    assert texts_of(one) == {"pt": "Olá", "fr": "Salut"}
    assert re.findall(r'class="source" data-language="(\w+)" lang="\w+"( hidden)?', drawn) == [
        ("pt", ""),
        ("fr", " hidden"),
    ]
    assert re.findall(r'data-do="language" data-value="(\w+)" aria-pressed="(\w+)">(.*?)<', drawn) == [
        ("pt", "true", "Português"),
        ("fr", "false", "fr"),
    ]
    assert 'data-do="language"' not in str(view.step(step({"text": {"pt": "Olá"}})))
    assert texts_of(step({"text": "Olá"})) == {"": "Olá"}


def test_a_text_that_is_edited_is_in_its_field_and_not_shown_twice(view: AuthoringView) -> None:
    fields = (
        Field("text", "prose", "derived", prefilled="text"),
        Field("question.pt", "line", "question", "pt", prefilled="question.pt"),
    )
    one = step({"text": "the derived", "question": {"pt": "Onde?", "en": "Where?"}, "answer": {"pt": "Ali."}}, *fields)
    assert texts_of(one) == {}
    assert prefilled(one) == {"text": "the derived", "question.pt": "Onde?"}
    assert "the derived" not in str(view.step(one))
    # A language of the question is in no field, so it is shown.
    assert "Where?" in str(view.step(one))
    both = step(
        {"question": {"pt": "Onde?"}, "answer": {"pt": "Ali."}},
        Field("question.pt", "line", "question", "pt", prefilled="question.pt"),
    )
    assert "Onde?" not in str(view.step(both))
    assert "Ali." in str(view.step(both))


def test_shown_evidence_is_marked_in_the_text_unless_its_words_are_not_there(view: AuthoringView) -> None:
    spans = [
        {"language": "pt", "start": 0, "end": 3, "text": "Olá"},
        {"language": "pt", "start": 4, "end": 6, "text": "xx"},
    ]
    drawn = str(view.step(step({"text": {"pt": "Olá mar", "en": "Olá"}, "evidence": spans})))
    assert re.findall("<mark>(.*?)</mark>", drawn) == ["Olá"]


def test_the_right_choice_is_marked_and_nothing_is_asked(view: AuthoringView) -> None:
    shown = {"question": {"en": "Where?"}, "choices": {"en": ["Here", "There", "Nowhere"]}, "correct": 1}
    one = step(shown, name="choices", refusals=("wrong", "odd_reason"))
    text = text_of(str(view.step(one)))
    assert "There right answer" in text
    assert "Here right" not in text
    assert "Nowhere right" not in text
    bar = text_of(str(view.bar(one, undoable=True)))
    assert "Wrong 1" in bar
    assert "odd reason 2" in bar
    assert "Accept" in bar


@pytest.mark.parametrize("language", list(words.LANGUAGES))
def test_what_is_odd_is_said_in_words(session: AnnotationSession, language: str) -> None:
    view = AuthoringView(session, Voice(language))
    flags = [
        {"reason": "swapped", "field": "question.pt", "values": {"one": "pt", "other": "en"}},
        {"reason": "line_break", "field": "answer.en", "values": {}},
        {"reason": "spaces", "field": "paraphrase.1.pt", "values": {}},
        {"reason": "id", "field": "answer.pt", "values": {"id": "10.1000/182"}},
        {"reason": "same_text", "field": "paraphrase.1.en", "values": {"as": "question.en"}},
        {"reason": "strange", "field": "answer.pt", "values": {}},
    ]
    drawn = str(view.step(step({"flags": flags})))
    said = [text_of(one) for one in re.findall("<li>(.*?)</li>", drawn)]
    say = words.messages(language)
    named = {name: say[f"authoring.shown.{name}"] for name in ("question", "answer", "paraphrase")}
    assert said == [
        say["authoring.flag.swapped"].format(where=f"{named['question']} pt", one="pt", other="en"),
        say["authoring.flag.line_break"].format(where=f"{named['answer']} en"),
        say["authoring.flag.spaces"].format(where=f"{named['paraphrase']} 1 pt"),
        say["authoring.flag.id"].format(where=f"{named['answer']} pt", id="10.1000/182"),
        say["authoring.flag.same_text"].format(
            where=f"{named['paraphrase']} 1 en", **{"as": f"{named['question']} en"}
        ),
        "answer.pt: strange",
    ]


def test_reasons_of_another_design_are_said_in_its_own_words(view: AuthoringView) -> None:
    assert view.refusal(WritingError("a haiku has 17 syllables", "syllables", "title")) == "a haiku has 17 syllables"
    # A reason that ours has too, with other values.
    assert view.refusal(WritingError("far too long", "long", "title", by=4)) == "far too long"
    assert view.doubt(Doubt("hidden ‮reason", "title", {})) == "hidden ⟨U+202E⟩reason"
    assert "“the paper‮”" not in view.doubt(Doubt("decontextualised", "title", {"words": "the paper‮"}))


def test_a_design_of_somebody_else_has_no_messages_on_its_steps(tmp_path: Path) -> None:
    """Its rounds may be called as RoMQA's, and be about something else."""
    sources = {"path": "texts.csv", "text": "abstract"}
    path = authored.workspace(tmp_path / "tiny", design="mine.py:Tiny", languages=["en"], sources=sources)
    code = Path(tiny_design.__file__).read_text(encoding="utf-8")
    (path.parent / "mine.py").write_text(code, encoding="utf-8")
    with AnnotationSession.open(path) as opened:
        other = AuthoringView(opened, Voice("pt"))
        for name in ("rate", "verify", "write"):
            one = step({}, name=name, round=name, refusals=("odd",))
            assert text_of(str(other.step(one))) == name
            assert text_of(str(other.progress(one, 0, None))).startswith(f"{name} ")
            assert text_of(other.bar(one, undoable=False)).count("Aceitar") == 1


def test_items_that_were_made_are_listed_with_a_way_back(view: AuthoringView) -> None:
    drawn = str(view.step(step({}, several=True, own=(OwnItem(7, "<b>Onde?</b>"), OwnItem(9, "Quando?")))))
    assert re.findall('data-do="take_back" data-value="(\\d+)"', drawn) == ["7", "9"]
    assert "&lt;b&gt;Onde?" in drawn
    assert 'data-do="end"' in view.bar(step({}, several=True), undoable=False)
    assert 'data-do="end"' not in view.bar(step({}), undoable=False)


def test_two_peoples_texts_are_numbered_and_one_persons_are_not(view: AuthoringView) -> None:
    first = Field("validation.1.pt", "prose", "validation", "pt", prefilled="validation.1.pt")
    second = Field("validation.2.pt", "prose", "validation", "pt", prefilled="validation.2.pt")
    assert "Assessor's answer pt" in text_of(str(view.step(step({}, first, name="curate"))))
    both = text_of(str(view.step(step({}, first, second, name="curate"))))
    assert "Assessor's answer 1 pt" in both
    assert "Assessor's answer 2 pt" in both


def test_every_language_of_the_page_draws_every_step_of_pira(session: AnnotationSession) -> None:
    """Each message that a step of ours asks for is there; a name of Pirá is never shown as it is."""
    assert session.design is not None
    raw = re.compile(r"\b(?:in_text|sense_|not_in_text|not_distinct|decontextualised)\b")
    for language in words.LANGUAGES:
        say = words.messages(language)
        view = AuthoringView(session, Voice(language))
        for one in session.design.rounds.values():
            assert f"authoring.round.{one.name}" in say
            assert not [reason for reason in one.refusals if f"authoring.refusal.{reason}" not in say]
            for number, form in enumerate(one.steps):
                assert f"authoring.step.{form.name}.title" in say
                assert not [field.label for field in form.fields if f"authoring.field.{field.label}" not in say]
                shown = {name: {"pt": "Olá", "en": "Hello"} for name in form.shows if name not in ("flags", "similar")}
                drawn = step(shown, *form.fields, name=form.name, refusals=one.refusals, number=number)
                assert not raw.search(text_of(str(view.step(drawn)) + str(view.bar(drawn, undoable=True))))
