"""A model that translates in people's forms, asked over a real server: once a text, and confirmed by a person."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from quati_pool.annotation.authoring.forms import MACHINE, WritingError
from quati_pool.commands.annotate.authoring import work
from quati_pool.commands.annotate.authoring.data_set import translators
from quati_pool.commands.annotate.authoring.records import open_records
from quati_pool.commands.annotate.authoring.translator import Translation
from quati_pool.commands.annotate.preflight import check
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import ConfigError
from quati_pool.store.errors import ConflictError
from tests.commands.annotate.authoring import rounds
from tests.commands.annotate.authoring.rounds import filled, give, opened, sent, step
from tests.commands.annotate.drafts.drafting import calls, with_judge
from tests.commands.annotate.writers import sign_in
from tests.llm.server import ServerProcess

CONFIRMED = frozenset({"similar", "decontextualised"})
IN_ENGLISH = ("question.en", "answer.en")


def workspace(folder: Path, judge: Mapping[str, Any] | None = None, **authoring: Any) -> Path:
    return with_judge(rounds.workspace(folder, translator="fake", **authoring), **judge or {})


@pytest.fixture
def session(server: ServerProcess, tmp_path: Path) -> Iterator[AnnotationSession]:
    with opened(workspace(tmp_path / "sea")) as found:
        yield found


@pytest.fixture
def ana(session: AnnotationSession) -> str:
    return sign_in(session, "ana")


def half(shown: Any, number: int = 0) -> dict[str, Any]:
    """A form without the fields in English."""
    return {name: value for name, value in filled(shown, number).items() if name not in IN_ENGLISH}


def translate(
    session: AnnotationSession, token: str, content: Mapping[str, Any], language: str = "en"
) -> dict[str, Translation]:
    shown = step(session, token)
    return work.translate(session, token, shown.item, shown.number, shown.sha, language, content)


def claims(found: Mapping[str, Translation], **more: Any) -> dict[str, Any]:
    return {name: {"request": one.request, **more} for name, one in found.items()}


def texts(found: Mapping[str, Translation]) -> dict[str, str]:
    return {name: one.text for name, one in found.items() if one.text is not None}


def test_each_text_is_translated_once_and_its_version_stays_with_it(
    server: ServerProcess, session: AnnotationSession, ana: str
) -> None:
    shown = step(session, ana)
    assert shown.translatable == {"question.pt", "answer.pt", *IN_ENGLISH}
    form = half(shown)
    found = translate(session, ana, form)
    assert found.keys() == {*IN_ENGLISH}
    assert calls(server) == 2
    assert translate(session, ana, form) == found
    assert calls(server) == 2
    content = {**form, **texts(found)}
    with pytest.raises(WritingError) as refused:
        work.submit(session, ana, sent(shown, content, machine=claims(found), confirmed=CONFIRMED))
    assert (refused.value.reason, refused.value.field) == ("unconfirmed", "question.en")
    assert not [one for of in rounds.rounds(session).entries().values() for one in of if one.action == "given"]
    ticked = sent(shown, {**content, "answer.en": "By hand."}, machine=claims(found, checked=True), confirmed=CONFIRMED)
    outcome = work.submit(session, ana, ticked)
    assert work.submit(session, ana, ticked) == outcome._replace(again=True)
    entry = rounds.rounds(session).entry(seq=outcome.seq)
    assert entry is not None
    machine = entry.content[MACHINE]
    assert {name: one["edited"] for name, one in machine.items()} == {"question.en": False, "answer.en": True}
    (version,) = {one["by"] for one in machine.values()}
    definition = session.store.definition(version)
    assert definition is not None
    assert (definition["name"], definition["prompt"]["id"]) == ("fake-1", "translate-pt")
    # The item is the form alone: who reads contents meets no other names than before.
    (item,) = rounds.rounds(session).items("question")
    assert item.content.keys() == {"question.pt", "answer.pt", *IN_ENGLISH, "evidence"}
    session.close()
    records = open_records(session.config.path)
    (record,) = records.of("question")
    assert record["versions"]["question.en"][0]["machine"] == {"translator": version, "edited": False}
    assert "machine" not in record["versions"]["question.pt"][0]
    assert list(translators(records)) == ["fake-1", "fake-1"]


def test_what_was_taken_back_says_again_what_a_model_wrote_and_not_which(session: AnnotationSession, ana: str) -> None:
    shown = step(session, ana)
    form = half(shown)
    found = translate(session, ana, form)
    content = {**form, **texts(found), "answer.en": "By hand."}
    work.submit(session, ana, sent(shown, content, machine=claims(found, checked=True), confirmed=CONFIRMED))
    undone = work.undo(session, ana, rounds.nonce())
    assert undone is not None
    assert MACHINE not in undone.content
    assert undone.machine == {
        name: {"request": found[name].request, "edited": name == "answer.en"} for name in IN_ENGLISH
    }
    again = sent(step(session, ana), undone.content, machine=claims(found, checked=True), confirmed=CONFIRMED)
    outcome = work.submit(session, ana, again._replace(content=content))
    entry = rounds.rounds(session).entry(seq=outcome.seq)
    assert entry is not None
    assert entry.content[MACHINE].keys() == {*IN_ENGLISH}


def test_a_form_that_claims_what_no_model_wrote_is_the_persons(session: AnnotationSession, ana: str) -> None:
    shown = step(session, ana)
    for claim in ({"request": "0" * 64}, {"request": "../../pool"}, {"request": 1}, {"checked": False}, 3, None):
        form = sent(shown, {}, machine={"question.en": claim, "nowhere": claim})
        assert (
            work._task_of(session, session.person(ana), form.item, form.sha).machine(
                shown.step, filled(shown), form.machine
            )
            == {}
        )
    # Evidence is no text that a model could have written.
    request = translate(session, ana, half(shown))["question.en"].request
    task = work._task_of(session, session.person(ana), shown.item, shown.sha)
    assert task.machine(shown.step, filled(shown), {"evidence": {"request": request, "checked": True}}) == {}
    outcome = work.submit(session, ana, sent(shown, filled(shown), machine=[1], confirmed=CONFIRMED))
    entry = rounds.rounds(session).entry(seq=outcome.seq)
    assert entry is not None
    assert MACHINE not in entry.content


def test_only_empty_fields_with_a_text_in_another_language_are_asked_for(
    server: ServerProcess, session: AnnotationSession, ana: str
) -> None:
    form = filled(step(session, ana))
    assert translate(session, ana, {**form, "answer.en": "  "}).keys() == {"answer.en"}
    assert translate(session, ana, {"question.en": "Where?"}, "pt").keys() == {"question.pt"}
    asked = calls(server)
    for content, language in ((form, "en"), ({}, "en"), (half(step(session, ana)), "fr"), ("x", "en"), (form, None)):
        with pytest.raises(WritingError) as refused:
            translate(session, ana, content, language)  # type: ignore[arg-type]
        assert refused.value.reason == "nothing_to_translate"
    with pytest.raises(WritingError) as refused:
        translate(session, ana, {"question.pt": "a\x00b"})
    assert (refused.value.reason, refused.value.field) == ("control", "question.pt")
    assert calls(server) == asked


def test_a_task_of_somebody_else_is_not_translated(session: AnnotationSession, ana: str) -> None:
    bia = sign_in(session, "bia")
    shown = step(session, ana)
    with pytest.raises(ConflictError):
        work.translate(session, bia, shown.item, shown.number, shown.sha, "en", half(shown))


def test_an_assessors_answers_are_not_translated(session: AnnotationSession, ana: str) -> None:
    lea, bia = sign_in(session, "lea", "lead"), sign_in(session, "bia")
    give(session, ana)
    rounds.end(session, ana)
    edit = step(session, lea)
    assert (edit.step.name, edit.translatable) == ("edit", {"question.pt", "answer.pt", *IN_ENGLISH})
    give(session, lea)
    answers = step(session, bia)
    assert (answers.step.name, answers.translatable) == ("validation", frozenset())
    with pytest.raises(WritingError, match="nothing to translate"):
        translate(session, bia, {"validation.pt": "Na praia."})


@pytest.mark.parametrize(
    ("way", "state"), [("null", "unparsed"), ("length", "truncated"), ("refusal", "refused"), ("400", "failed")]
)
def test_failures_are_typed_and_nothing_is_lost(
    server: ServerProcess, session: AnnotationSession, ana: str, way: str, state: str
) -> None:
    form = half(step(session, ana))
    server.script(default=way)
    found = translate(session, ana, form)
    assert {one.state for one in found.values()} == {state}
    assert not texts(found)
    asked = calls(server)
    server.script()
    again = translate(session, ana, form)
    # A failed call is made again; what the model answered is its answer.
    assert bool(texts(again)) is (state == "failed")
    assert (calls(server) > asked) is (state == "failed")
    assert give(session, ana).seq is not None


def test_a_server_that_is_down_is_a_failure_like_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setattr("quati_pool.commands.annotate.authoring.translator.LONGEST_SECONDS", 1.0)
    with opened(workspace(tmp_path / "sea")) as session:
        ana = sign_in(session, "ana")
        found = translate(session, ana, half(step(session, ana)))
        assert {(one.text, one.state) for one in found.values()} == {(None, "failed")}
        assert give(session, ana).seq is not None


def test_the_budget_is_for_all_forms_and_outlives_the_server(server: ServerProcess, tmp_path: Path) -> None:
    """An answer costs at most 40 tokens of 0.001 US dollars; the client's first question, which nothing is reserved
    for, is the only cost by which the budget may be exceeded, and has an answer of that kind too."""
    path = workspace(tmp_path / "sea", {"max_tokens": 40}, translator_budget=0.1)
    ledger = path.parent / "cache" / "drafts" / "translations" / "spent.jsonl"
    states: list[str | None] = []
    paid: dict[str, str] = {}
    for _ in range(2):  # the second server goes on with what is left
        with opened(path) as session:
            ana = sign_in(session, f"ana{len(states)}")
            shown = step(session, ana)
            for number in range(3):
                form = half(shown, number + len(states))
                found = translate(session, ana, form)
                states += [one.state for one in found.values()]
                paid |= {name.replace(".en", ".pt"): form[name.replace(".en", ".pt")] for name in texts(found)}
    spent = sum(json.loads(line)["spent"] for line in ledger.read_text("utf-8").splitlines())
    assert 0.1 - 0.04 < spent <= 0.1 + 0.04
    assert None in states[:2]
    assert states[-1] == "budget"
    # What was paid for is still there.
    with opened(path) as session:
        rui = sign_in(session, "rui")
        asked = calls(server)
        assert len(texts(translate(session, rui, paid))) == len(paid) > 0
        assert calls(server) == asked


def test_a_budget_needs_a_price(tmp_path: Path) -> None:
    path = workspace(tmp_path / "sea", {"model": "unknown-9"}, translator_budget=1)
    with pytest.raises(ConfigError, match=r"authoring\.translator_budget: needs the price of unknown-9"):
        AnnotationSession.open(path)


def test_people_who_serve_the_app_learn_that_the_models_key_is_missing(tmp_path: Path) -> None:
    path = workspace(tmp_path / "sea", {"api_key_env": "QUATI_POOL_NO_SUCH_KEY"})
    (note,) = (one for one in check(path, "localhost") if "translated" in one)
    assert note.startswith("nothing can be translated in people's forms: there is no key for ")
    assert "set QUATI_POOL_NO_SUCH_KEY" in note


def test_many_people_translate_at_once_and_each_text_is_paid_once(
    server: ServerProcess, session: AnnotationSession
) -> None:
    server.script(latency=0.3)
    people = [sign_in(session, f"p{number}") for number in range(3)]
    shown = [step(session, token) for token in people]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda token: translate(session, token, half(shown[0])), people * 2))
    assert all(one == found[0] for one in found)
    assert calls(server) == 2


def test_a_closed_session_makes_no_further_call(server: ServerProcess, session: AnnotationSession, ana: str) -> None:
    form = half(step(session, ana))
    assert session.translator is not None
    session.translator.close()
    found = translate(session, ana, form)
    assert {one.state for one in found.values()} == {"failed"}
    assert calls(server) == 0
