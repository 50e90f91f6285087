"""What a model derives from finished questions: asked for once, held back where people would have to refuse it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.annotate.authoring.derive import Derived, derive
from quati_pool.commands.annotate.authoring.records import open_records
from quati_pool.commands.annotate.authoring.release import release
from quati_pool.commands.annotate.drafts.deriving import DerivedByModel, _take, _wanted
from quati_pool.store.authoring import Authoring
from tests.cli.conftest import Cli, cli
from tests.commands.annotate.authoring.five_questions import Five, five
from tests.commands.annotate.authoring.people_writing import accept_all
from tests.commands.annotate.authoring.rounds import opened, workspace
from tests.commands.annotate.drafts.drafting import calls, journal, with_judge
from tests.llm.server import ServerProcess, draft_of

__all__ = ["cli"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five finished questions in English, whose texts are in English too."""
    return with_judge(
        five(tmp_path_factory.mktemp("five") / "sea", ("ana", "rui"), Five(), split={"shares": [100, 0, 0]})
    )


@pytest.fixture
def sea(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished.parent, tmp_path / "sea")
    return tmp_path / "sea" / "pool.yaml"


def by_model(derived: Derived) -> DerivedByModel:
    assert derived.by_model is not None
    return derived.by_model


def shown(wording: str, question: str = "") -> str:
    """The message by which two paraphrases are asked for."""
    brief = f"The question that is answered:\n<brief>\n{question}\n</brief>\n\n" if question else ""
    fields = "\n".join(f'- "paraphrase_{number}_en" (English): a paraphrase, unlike the others' for number in (1, 2))
    return f"{brief}To be rewritten:\n<wording>\n{wording}\n</wording>\n\nFields of the JSON object:\n{fields}"


def test_two_paraphrases_of_every_question_and_answer_wait_for_people(server: ServerProcess, sea: Path) -> None:
    derived = derive(sea, model="fake")
    paraphrases = [f"{name}.{number}.en" for name in ("paraphrase", "answer_paraphrase") for number in (1, 2)]
    assert derived.added == dict.fromkeys(["choices", *paraphrases], 5)
    found = by_model(derived)
    assert (len(found.texts), found.held_back, found.failed, calls(server)) == (20, {}, {}, 10)
    with opened(sea) as session:
        assert isinstance(session.authoring, Authoring)
        items = session.authoring.items("derived")
        questions = {item.item_id: item.content for item in session.authoring.items("question")}
        definitions = {session.store.definition(str(item.drafted_by))["name"] for item in items}  # type: ignore[index]
    assert definitions == {"fake-1"}
    for item in items:
        question = questions[item.parent_id or 0]
        role, number, _ = item.content["field"].split(".")
        wanted = question["question.en"] if role == "paraphrase" else question["answer.en"]
        asked = shown(wanted, "" if role == "paraphrase" else question["question.en"])
        assert item.content == {
            "field": f"{role}.{number}.en",
            "language": "en",
            "original": wanted,
            "question": question["question.en"],
            "answer": question["answer.en"],
            "text": draft_of(asked, f"paraphrase_{number}_en"),
        }
    # Accepted by people, they are released with the name of the program.
    accept_all(sea)
    release(sea, "jsonl", sea.parent / "out")
    records = open_records(sea)
    assert {records.drafters[one["drafted_by"]] for one in records.of("derived")} == {"fake-1"}


def test_nothing_is_asked_for_twice(server: ServerProcess, sea: Path) -> None:
    derive(sea, model="fake")
    server.clear()
    again = derive(sea, model="fake")
    assert (again.added, again.there, server.log()) == ({}, 25, [])
    assert (by_model(again).calls, len(by_model(again).texts)) == (0, 20)


def test_a_kill_before_anything_was_added_costs_nothing(
    server: ServerProcess, sea: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(Authoring, "add", dies)
        with pytest.raises(MemoryError):
            derive(sea, model="fake")
    assert len(journal(sea)) == calls(server) == 10
    assert derive(sea, model="fake").added["paraphrase.1.en"] == 5
    assert calls(server) == 10


def test_texts_without_a_language_are_translated_and_others_are_not(server: ServerProcess, tmp_path: Path) -> None:
    path = with_judge(workspace(tmp_path / "sea"))
    with opened(path):
        pass
    derived = derive(path, model="fake")
    # Of the three texts one lacks Portuguese; no question is finished.
    assert derived.added == {"translation.text.pt": 1}
    (text,) = by_model(derived).texts
    message = (
        "Texto:\n<wording>\nPlatforms burn the gas of their wells.\n</wording>\n\nCampos do objeto JSON:\n"
        '- "translation_pt" (português): a tradução'
    )
    assert (text.parent["source_id"], text.field, text.text) == (
        "B1", "translation.text.pt", draft_of(message, "translation_pt"),
    )  # fmt: skip


def test_what_people_would_have_to_refuse_is_held_back(server: ServerProcess, tmp_path: Path) -> None:
    # What the server writes is steered by the text that is translated.
    def translated(text: str) -> dict[str, str]:
        return {"doc_id": f"D{len(text)}", "corpus": "1", "en": f"[[translation_pt<: {text[::-1]}]]", "pt": ""}

    texts = [translated(text) for text in (" ", "...", "x " * 10_001, "Bem.\nMais.", "\u202eoculto")]
    path = with_judge(workspace(tmp_path / "sea", texts), max_tokens=30_000)
    with opened(path):
        pass
    derived = derive(path, model="fake")
    assert by_model(derived).held_back == {"empty": 2, "long": 1, "control": 1}
    assert [one.text for one in by_model(derived).texts] == ["Bem.\nMais."]


def test_a_paraphrase_that_paraphrases_nothing_is_held_back(sea: Path) -> None:
    # By the rule of the page: the same words in other punctuation are no paraphrase.
    records = open_records(sea)
    design: Any = records.design
    wanted = next(iter(_wanted(records, design, {"paraphrase": "v", "translate": "v"})))
    parent, origin = next(iter(wanted.origins.values()))
    for texts, kept, reasons in (
        ((origin.upper(), "Another one?"), ["Another one?"], {"same_words": 1}),
        (("Another one?", "another ONE"), ["Another one?"], {"same_words": 1}),
        (("Two\nlines?", ""), ["Two lines?"], {"empty": 1}),
        (("Who\u202e?", "A word \u00ad?"), ["A word \u00ad?"], {"control": 1}),
    ):
        taken = DerivedByModel("fake", "fake-1")
        _take(taken, wanted, parent, origin, texts)
        assert ([one.text for one in taken.texts], dict(taken.held_back)) == (kept, reasons)


def test_a_budget_ends_it_and_a_larger_one_goes_on(server: ServerProcess, sea: Path, cli: Cli) -> None:
    with_judge(sea, concurrency=1, max_tokens=100)
    done = cli("questions", "derive", "-c", sea, "--model", "fake", "--budget", 0.3)
    assert done.status == 1
    assert "requests not asked; US$ 0." in " ".join(done.out.split())
    assert "of the budget of US$ 0.3 is spent" in done.err.splitlines()[-1]
    asked = calls(server)
    assert 0 < asked < 10
    done = cli("questions", "derive", "-c", sea, "--model", "fake")
    assert done.status == 0, done.err
    assert "fake-1 wrote 20 texts; US$ 0." in " ".join(done.out.split())
    assert calls(server) == 10
    done = cli("questions", "derive", "-c", sea, "--model", "fake")
    assert "fake-1 wrote 20 texts; nothing was asked." in " ".join(done.out.split())
    assert cli("questions", "derive", "-c", sea, "--budget", 1).status == 2


def test_failures_are_counted_by_state(server: ServerProcess, sea: Path) -> None:
    server.script(default="prose")
    found = by_model(derive(sea, model="fake"))
    assert (found.failed, found.texts) == ({"unparsed": 10}, [])
    assert calls(server) == 30
    assert by_model(derive(sea, model="fake")).failed == {"unparsed": 10}
    assert calls(server) == 30
