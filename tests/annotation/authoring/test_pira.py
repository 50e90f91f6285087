"""Pirá's design: what an item wants from what was said of it, what each step shows, and what is released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from quati_pool.annotation.authoring.base import Source, with_origin
from quati_pool.annotation.authoring.forms import MACHINE, Field, Step, WritingError
from quati_pool.annotation.authoring.pira import (
    CHOICES,
    DERIVED,
    QUESTION,
    TEXT,
    DerivedField,
    Pira,
    PiraParameters,
    at_label,
    derived_field,
    versions,
)
from quati_pool.store.authoring_records import Entry, EntryAction, Item, counting

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LANGUAGES = ("pt", "en")
EVALUATION = {"generic": False, "in_text": True, "sense": 5, "hard": 2, "equivalent": 4, "type": "how"}


def design(languages: Sequence[str] = LANGUAGES, seed: int = 0, **parameters: Any) -> Pira:
    return Pira(PiraParameters(**parameters), languages, seed)


def item(kind: str = QUESTION, item_id: int = 2, **changes: Any) -> Item:
    contents: dict[str, Mapping[str, Any]] = {
        TEXT: {"text": {"pt": "A maré.", "en": "The tide."}, "kept": {"corpus": "1"}},
        QUESTION: {
            "question.pt": "Q-pt?", "answer.pt": "A-pt", "question.en": "Q-en?", "answer.en": "A-en",
            "evidence": [{"language": "en", "start": 4, "end": 8, "text": "tide"}],
        },
        DERIVED: {
            "field": "paraphrase.1.en", "language": "en", "original": "Q-en?", "text": "Which one is Q?",
            "question": "Q-en?", "answer": "A-en",
        },
        CHOICES: {
            "languages": ["en"], "question": {"en": "Q-en?"}, "answer": {"en": "A-en"},
            "choices": {"en": ["A-en", "B-en"]}, "correct": 0, "digest": "d",
        },
    }  # fmt: skip
    values: dict[str, Any] = {
        "item_id": item_id, "kind": kind, "source_id": f"s{item_id}", "parent_id": None if kind == TEXT else 1,
        "content": contents[kind], "place": 0, "state": "open", "reason": None,
        "made_by": 1 if kind == QUESTION else None, "drafted_by": None, "created_at": NOW,
    }  # fmt: skip
    return Item(**{**values, **changes})


ORIGIN = Entry(
    seq=1, item_id=1, task_id=90, round="create", step=0, by="ana", action="given", content={}, reason=None,
    undoes=None, active_seconds=None, elapsed_seconds=None, nonce=None, created_at=NOW,
)  # fmt: skip


class History:
    """Entries of one item, numbered as they are made, from 10."""

    def __init__(self, item_id: int = 2) -> None:
        self.entries: list[Entry] = []
        self._item_id = item_id

    def add(
        self, round_name: str, content: Mapping[str, Any] | None = None, *, by: str = "lea", task: int | None = None,
        step: int = 0, action: EntryAction = "given", reason: str | None = None,
    ) -> History:  # fmt: skip
        tasks = {"subject": 80, "create": 81, "edit": 82, "curate": 84, "accept": 85, "choices": 86, "draft": 88}
        entry = Entry(
            seq=10 + len(self.entries), item_id=self._item_id, task_id=task or tasks[round_name], round=round_name,
            step=step, by=by, action=action, content=content or {}, reason=reason, undoes=None, active_seconds=1.0,
            elapsed_seconds=1.0, nonce=None, created_at=NOW,
        )  # fmt: skip
        self.entries.append(entry)
        return self

    def edit(self, question: str = "Q-pt?", **content: Any) -> History:
        usual = {"question.pt": question, "answer.pt": "A-pt", "question.en": "Q-en?", "answer.en": "A-en"}
        return self.add("edit", {**usual, **content})

    def assess(self, by: str, task: int, steps: Sequence[int] = (0, 1, 2), **evaluation: Any) -> History:
        contents = [
            {"validation.pt": f"V-pt {by}", "validation.en": f"V-en {by}"},
            {**EVALUATION, **evaluation},
            {"paraphrase.pt": f"P-pt {by}?", "paraphrase.en": f"P-en {by}?"},
        ]
        for step in steps:
            self.add("assess", contents[step], by=by, task=task, step=step)
        return self

    def curate(self, words: str, numbers: Sequence[int] = (1,), task: int = 84) -> History:
        content = {
            f"{name}.{number}.{language}": f"{words} {name[0].upper()}-{language} {number}"
            for number in numbers
            for name in ("validation", "paraphrase")
            for language in LANGUAGES
        }
        return self.add("curate", content, task=task)

    def refuse(self, round_name: str, reason: str) -> History:
        return self.add(round_name, action="refused", reason=reason)


def wanted(pira: Pira, one: Item, entries: Sequence[Entry]) -> tuple[str, str]:
    """What an item wants as a text, such as ``edit1 assess1``, and its state, with the reason."""
    found = pira.wanted(one, entries)
    tasks = sorted(found.tasks, key=lambda task: (list(pira.rounds).index(task[0]), task[1]))
    return " ".join(f"{name}{replicate}" for name, replicate in tasks), found.state + (
        f" {found.reason}" if found.reason else ""
    )


# What is wanted


def test_a_text_is_written_from_until_its_writers_are_done() -> None:
    text, one = item(TEXT, 1), design()
    assert wanted(one, text, []) == ("create1", "open")
    written = History(1).add("create", {"question.pt": "?"})
    assert wanted(one, text, written.entries) == ("create1", "open")
    assert wanted(one, text, written.add("create", action="ended").entries) == ("create1", "kept")
    assert wanted(design(writers=2), text, written.entries) == ("create1 create2", "open")
    written.add("create", action="ended", task=87)
    assert wanted(design(writers=2), text, written.entries) == ("create1 create2", "kept")


def test_the_subject_is_asked_first_and_only_of_some_texts() -> None:
    one, text = design(subject="the ocean", subject_when={"corpus": "1"}), item(TEXT, 1)
    report = item(TEXT, 1, content={"text": {"en": "x"}, "kept": {"corpus": "2"}})
    assert wanted(one, report, []) == ("create1", "open")
    assert wanted(one, text, []) == ("subject1", "open")
    assert wanted(one, text, History(1).add("subject", {"related": False}).entries) == ("subject1", "out unrelated")
    assert wanted(one, text, History(1).add("subject", {"related": True}).entries) == ("subject1 create1", "open")
    assert wanted(design(subject="the ocean"), report, []) == ("subject1", "open")


def test_a_set_is_edited_assessed_and_curated() -> None:
    one, question, history = design(), item(), History()
    assert wanted(one, question, []) == ("edit1", "open")
    assert wanted(one, question, history.edit().entries) == ("edit1 assess1", "open")
    for step, tasks in enumerate(["edit1 assess1", "edit1 assess1", "edit1 assess1 curate1"]):
        assert wanted(one, question, history.assess("rui", 83, [step]).entries) == (tasks, "open")
    assert wanted(one, question, history.curate("lea's").entries) == ("edit1 assess1 curate1", "kept")


def test_a_refused_set_is_out_with_the_tasks_that_it_had() -> None:
    one, question = design(), item()
    entries = History().refuse("edit", "repeated").entries
    assert wanted(one, question, entries) == ("edit1", "out repeated")
    entries = History().edit().assess("rui", 83).refuse("curate", "other").entries
    assert wanted(one, question, entries) == ("edit1 assess1 curate1", "out other")
    assert one.record(item(state="out"), None, entries) is None


def test_a_share_is_edited_and_the_same_sets_with_any_larger_share() -> None:
    questions = [item(item_id=number) for number in range(2_000)]
    edited = {
        share: {one.item_id for one in questions if wanted(design(edited=share), one, [])[0] == "edit1"}
        for share in (0.0, 0.25, 0.5, 1.0)
    }
    assert (len(edited[0.0]), len(edited[1.0])) == (0, 2_000)
    assert edited[0.25] < edited[0.5]
    # A binomial count: 500 ± 4 standard deviations of 19.4.
    assert abs(len(edited[0.25]) - 500) < 78
    assert wanted(design(edited=0.0), questions[0], []) == ("assess1", "open")


def test_changed_parameters_ask_for_what_is_missing_and_for_no_more() -> None:
    question, history = item(), History().edit().assess("rui", 83).curate("lea's")
    assert wanted(design(assessors=2), question, history.entries) == ("edit1 assess1 assess2 curate1", "open")
    history.assess("eva", 95)
    # One lead may curate a set once: nobody does an item twice in a round.
    assert wanted(design(assessors=2), question, history.entries) == ("edit1 assess1 assess2 curate1", "kept")
    record = design(assessors=2).record(question, item(TEXT, 1), history.entries)
    assert record is not None
    assert [one["curated"] for one in record["assessments"]] == [True, False]
    # What is assessed is edited no more, whatever share is to be edited.
    assessed = History().assess("rui", 83, [0]).entries
    assert wanted(design(), question, assessed) == ("assess1", "open")
    # The subject is asked of texts that were written from before.
    written = History(1).add("create", {"question.pt": "?"}).entries
    assert wanted(design(subject="the ocean"), item(TEXT, 1), written) == ("subject1", "open")


@pytest.mark.parametrize(("kind", "name"), [(DERIVED, "accept"), (CHOICES, "choices")])
def test_what_is_derived_is_accepted_or_refused(kind: str, name: str) -> None:
    one = item(kind)
    assert wanted(design(), one, []) == (f"{name}1", "open")
    assert wanted(design(), one, History().add(name, {"text": "x"}).entries) == (f"{name}1", "kept")
    assert wanted(design(), one, History().refuse(name, "unnatural").entries) == (f"{name}1", "out unnatural")


# What a model drafted

FORM = {"question.pt": "Q-pt?", "answer.pt": "A-pt", "question.en": "Q-en?", "answer.en": "A-en"}
MOVES = st.lists(
    st.sampled_from(["edit", "not edit", "rui 1", "rui 2", "rui 3", "eva 3", "curate", "not curate"]), max_size=6
)


def draft(**changes: Any) -> Item:
    """A question that a model wrote."""
    return item(content=FORM, made_by=None, drafted_by="v1", **changes)


def moved(moves: Sequence[str], history: History | None = None) -> list[Entry]:
    """Any history of a question in the rounds from editing on."""
    found = history or History()
    for move in moves:
        name, _, steps = move.partition(" ")
        if name == "not":
            found.refuse(steps, "repeated")
        elif name in ("rui", "eva"):
            found.assess(name, 83 if name == "rui" else 95, range(int(steps)))
        elif name == "edit":
            found.edit()
        else:
            found.curate("lea's")
    return found.entries


def test_a_draft_is_decided_on_before_anything_else() -> None:
    assert wanted(design(), draft(), []) == ("draft1", "open")
    assert wanted(design(), draft(), History().add("draft", FORM, by="ana").entries) == ("draft1 edit1", "open")
    assert wanted(design(edited=0), draft(), History().add("draft", FORM, by="ana").entries) == (
        "draft1 assess1", "open"
    )  # fmt: skip
    assert wanted(design(), draft(), History().refuse("draft", "copied").entries) == ("draft1", "out copied")
    rules = design().rules["draft"]
    assert (rules.for_leads, rules.apart, rules.several) == (False, "", False)
    # Nobody assesses what they decided on: the store keeps all who have an entry on an item out of such a round.
    assert design().rules["assess"].apart == "item"


@given(MOVES, st.sampled_from([0.0, 1.0]), st.sampled_from([1, 2]))
def test_an_accepted_draft_goes_the_way_of_a_question_that_a_person_wrote(
    moves: Sequence[str], edited: float, assessors: int
) -> None:
    one = design(edited=edited, assessors=assessors)
    written = one.wanted(item(), moved(moves))
    assert not any(name == "draft" for name, _ in written.tasks)
    accepted = one.wanted(draft(), moved(moves, History().add("draft", FORM, by="ana")))
    assert accepted == written._replace(tasks=written.tasks | {("draft", 1)})


def test_the_first_version_of_a_draft_is_nobodys() -> None:
    history = History().add("draft", {**FORM, "question.en": "Q2-en?"}, by="ana").edit(**{"question.en": "Q2-en?"})
    record = design().record(draft(), item(TEXT, 1), history.entries)
    assert record is not None
    assert (record["by"], record["drafted_by"], record["edited"]) == (None, "v1", True)
    assert record["question"] == {"pt": "Q-pt?", "en": "Q2-en?"}
    assert record["versions"]["question.en"] == [
        {"text": "Q-en?", "by": "", "round": "draft", "seq": 0},
        {"text": "Q2-en?", "by": "ana", "round": "draft", "seq": 10},
    ]
    assert record["versions"]["question.pt"] == [{"text": "Q-pt?", "by": "", "round": "draft", "seq": 0}]
    shown = design().shown(step_of(design(), "draft"), draft(), item(TEXT, 1), [])
    assert shown == {
        "text": {"pt": "A maré.", "en": "The tide."}, "question": {"pt": "Q-pt?", "en": "Q-en?"},
        "answer": {"pt": "A-pt", "en": "A-en"}, "evidence": [],
    }  # fmt: skip


def test_versions_say_what_a_model_translated_and_nothing_else_reads_it() -> None:
    machine = {"question.en": {"by": "v9", "edited": False, "request": "0" * 64}}
    by_hand = {"question.pt": {"by": "v9", "edited": True, "request": "1" * 64}}
    origin = replace(ORIGIN, content={**item().content, MACHINE: machine})
    plain = History().edit("Q2-pt?").assess("rui", 83).curate("lea's")
    marked = History().edit("Q2-pt?", **{MACHINE: by_hand}).assess("rui", 83).curate("lea's")
    records = [
        design().record(item(state="kept"), item(TEXT, 1), [*first, *history.entries])
        for first, history in (([ORIGIN], plain), ([origin], marked))
    ]
    usual, translated = (one for one in records if one is not None)
    now = translated.pop("versions")
    before = usual.pop("versions")
    assert translated == usual
    assert now["question.en"][0] == before["question.en"][0] | {"machine": {"translator": "v9", "edited": False}}
    assert [one.get("machine") for one in now["question.pt"]] == [None, {"translator": "v9", "edited": True}]
    assert now.keys() == before.keys()
    for step in (step for each in design().rounds.values() for step in each.steps):
        if KINDS[next(name for name, each in design().rounds.items() if step in each.steps)] == QUESTION:
            one, other = (design().shown(step, item(), item(TEXT, 1), of.entries) for of in (plain, marked))
            assert one == other


# What is shown


def _states() -> list[tuple[Item, Sequence[Entry]]]:
    whole = History().edit().assess("rui", 83).curate("lea's").entries
    questions = [(item(), whole[:length]) for length in range(len(whole) + 1)]
    derived = [(item(kind), History().add(name, {"text": "x"}).entries) for kind, name in
               ((DERIVED, "accept"), (CHOICES, "choices"))]  # fmt: skip
    return [(item(TEXT, 1), []), *questions, *derived, (item(DERIVED), []), (item(CHOICES), [])]


KINDS = {"subject": TEXT, "create": TEXT, "draft": QUESTION, "edit": QUESTION, "assess": QUESTION, "curate": QUESTION,
         "accept": DERIVED, "choices": CHOICES}  # fmt: skip


@pytest.mark.parametrize("assessors", [1, 2])
def test_every_step_shows_exactly_what_it_says(assessors: int) -> None:
    one, tried = design(subject="the ocean", assessors=assessors), 0
    for each in one.rounds.values():
        for step in each.steps:
            for of, entries in _states():
                if of.kind == KINDS[each.name]:
                    shown = one.shown(step, of, None if of.kind == TEXT else item(TEXT, 1), entries)
                    assert list(shown) == [name for name in step.shows if name != "similar"]
                    tried += 1
    assert tried == 2 * 1 + 6 * 6 + 2 * 2


def step_of(one: Pira, name: str) -> Step:
    return next(step for each in one.rounds.values() for step in each.steps if step.name == name)


def test_an_assessor_sees_the_author_only_after_answering() -> None:
    one = design()
    entries = History().edit("Q2-pt?").entries
    shown = one.shown(step_of(one, "validation"), item(), item(TEXT, 1), entries)
    assert shown == {"text": {"pt": "A maré.", "en": "The tide."}, "question": {"pt": "Q2-pt?", "en": "Q-en?"}}
    entries = History().edit().assess("rui", 83, [0]).entries
    evaluation = one.shown(step_of(one, "evaluation"), item(), item(TEXT, 1), entries)
    assert evaluation["answer"] == {"pt": "A-pt", "en": "A-en"}
    assert evaluation["validation"] == {"pt": "V-pt rui", "en": "V-en rui"}
    assert one.rules["assess"].reveals == frozenset({0})
    assert one.rules["assess"].apart == "item"


def test_curation_shows_everything_by_assessment() -> None:
    one = design(assessors=2)
    entries = History().edit("Q2-pt?").assess("rui", 83).assess("eva", 95, sense=2).entries
    shown = one.shown(step_of(one, "curate"), item(), item(TEXT, 1), entries)
    assert shown["validation"] == {
        "1": {"pt": "V-pt rui", "en": "V-en rui"},
        "2": {"pt": "V-pt eva", "en": "V-en eva"},
    }
    assert shown["evaluations"]["2"] == {**EVALUATION, "sense": 2}
    assert shown["versions"] == {"question.pt": ["Q-pt?", "Q2-pt?"]}
    assert shown["evidence"] == []  # the lead's form had none
    fields = {field.name: field.prefilled for field in step_of(one, "curate").fields}
    assert fields["paraphrase.2.en"] == "paraphrase.2.en"
    # The originals are no fields: evaluations belong to them.
    assert not [name for name in fields if name.startswith(("question", "answer"))]


# What is refused, what is doubted


def check(one: Pira, name: str, content: Mapping[str, Any], **shown: Any) -> Any:
    step = step_of(one, name)
    found = {"text": {"pt": "A maré.", "en": "The tide."}, "question": {"pt": "Q-pt?", "en": "Q-en?"}, **shown}
    return one.checked(step, item(), found, content)


def fault(*args: Any, **shown: Any) -> tuple[str | None, str | None]:
    with pytest.raises(WritingError) as caught:
        check(*args, **shown)
    return caught.value.reason, caught.value.field


SET = {"question.pt": "Como é?", "answer.pt": "12", "question.en": "How is it?", "answer.en": "12"}


def test_a_set_is_in_two_languages() -> None:
    one = design()
    # An answer may well be the same in both: 12 of the 225 in Pirá's validation file are.
    assert check(one, "set", SET).content == SET
    same = {**SET, "question.en": "como é"}
    assert fault(one, "set", same) == fault(one, "edit", same) == ("languages_equal", "question.en")
    assert fault(one, "set", {**SET, "answer.en": " "}) == ("empty", "answer.en")
    assert fault(one, "set", {**SET, "question.pt": "x" * 501}) == ("long", "question.pt")
    assert fault(one, "set", {**SET, "sense": 3}) == ("unknown", None)
    alone = design(["pt"])
    assert check(alone, "set", {"question.pt": "Como é?", "answer.pt": "12"}).doubts == ()


def test_a_question_about_the_text_itself_is_doubted() -> None:
    [doubt] = check(design(), "set", {**SET, "question.en": "What is the paper about?"}).doubts
    assert (doubt.reason, doubt.field, doubt.values) == ("decontextualised", "question.en", {"words": "the paper"})


def test_a_paraphrase_has_other_words() -> None:
    one = design()
    content = {"paraphrase.pt": "Outra?", "paraphrase.en": "Another?"}
    assert check(one, "paraphrase", content).content == content
    assert fault(one, "paraphrase", {**content, "paraphrase.en": "q-EN"}) == ("same_words", "paraphrase.en")
    assert fault(one, "paraphrase", {**content, "paraphrase.en": "outra!"}) == ("languages_equal", "paraphrase.en")
    curated = {
        f"{name}.1.{language}": f"{name} {language}" for name in ("validation", "paraphrase") for language in LANGUAGES
    }
    assert check(one, "curate", curated).content == curated
    assert fault(one, "curate", {**curated, "paraphrase.1.pt": "Q-pt"}) == ("same_words", "paraphrase.1.pt")


def test_a_derived_text_differs_from_its_original() -> None:
    shown = {"field": "paraphrase.1.en", "language": "en", "original": "Q-en?", "text": "Which Q?"}
    assert check(design(), "accept", {"text": "Which one?"}, **shown).content == {"text": "Which one?"}
    assert fault(design(), "accept", {"text": "q en"}, **shown) == ("same_words", "text")
    assert fault(design(), "accept", {"text": "Which\none?"}, **shown) == ("control", "text")
    # The translation of a name is the name; texts and answers have lines.
    translation = {**shown, "field": "translation.question.pt-en"}
    assert check(design(), "accept", {"text": "Q-en?"}, **translation).content == {"text": "Q-en?"}
    answer = {**shown, "field": "answer_paraphrase.1.en"}
    assert check(design(), "accept", {"text": "a\nb"}, **answer).content == {"text": "a\nb"}


def test_the_names_of_derived_texts() -> None:
    assert derived_field("paraphrase.1.en", LANGUAGES) == DerivedField("paraphrase", 1, "en", "en")
    assert derived_field("answer_paraphrase.12.pt", LANGUAGES) == DerivedField("answer_paraphrase", 12, "pt", "pt")
    assert derived_field("translation.text.pt", LANGUAGES) == DerivedField("translation.text", None, "pt", None)
    assert derived_field("translation.question.pt-en", LANGUAGES) == DerivedField(
        "translation.question", None, "en", "pt"
    )
    for name in (
        *("paraphrase.0.en", "paraphrase.1.es", "paraphrase.en", "translation.question.pt-pt", "paraphrase.1.en\n"),
        *("translation.question.es-en", "translation.text.es", "", "question.pt"),
    ):
        assert derived_field(name, LANGUAGES) is None


# What is released


def test_the_record_of_a_set() -> None:
    one, text = design(), item(TEXT, 1, source_id="A12")
    history = History().edit("Q2-pt?", evidence=[]).assess("rui", 83).curate("lea's")
    entries = with_origin(item(), {1: [ORIGIN], 2: history.entries})
    record = one.record(item(state="kept"), text, entries)
    assert record is not None
    written = record.pop("versions")
    assert record == {
        "kind": "question", "item_id": 2, "text_id": 1, "source_id": "A12", "languages": ["pt", "en"],
        "text": {"pt": "A maré.", "en": "The tide."}, "kept": {"corpus": "1"},
        "question": {"pt": "Q2-pt?", "en": "Q-en?"}, "answer": {"pt": "A-pt", "en": "A-en"}, "evidence": [],
        "by": "ana", "edited": True, "curated": True, "at_label": 1, "drafted_by": None,
        "assessments": [{
            "by": "rui", "task_id": 83, "validation": {"pt": "lea's V-pt 1", "en": "lea's V-en 1"}, **EVALUATION,
            "paraphrase": {"pt": "lea's P-pt 1", "en": "lea's P-en 1"}, "curated": True,
        }],
    }  # fmt: skip
    assert written["question.pt"] == [
        {"text": "Q-pt?", "by": "ana", "round": "create", "seq": 1},
        {"text": "Q2-pt?", "by": "lea", "round": "edit", "seq": 10},
    ]
    assert written["question.en"] == [{"text": "Q-en?", "by": "ana", "round": "create", "seq": 1}]
    assert [(one["by"], one["round"]) for one in written["validation.1.pt"]] == [("rui", "assess"), ("lea", "curate")]


def test_the_record_of_a_set_under_way() -> None:
    one = design()
    record = one.record(item(), item(TEXT, 1), [])
    assert record is not None
    assert (record["by"], record["assessments"], record["at_label"]) == (None, [], None)
    assert (record["edited"], record["curated"]) == (False, False)
    assert record["evidence"] == [{"language": "en", "start": 4, "end": 8, "text": "tide"}]
    record = one.record(item(), item(TEXT, 1), History().assess("rui", 83, [0]).entries)
    assert record is not None
    [assessment] = record["assessments"]
    assert assessment["validation"] == {"pt": "V-pt rui", "en": "V-en rui"}
    assert (assessment["sense"], assessment["paraphrase"]) == (None, None)


def test_answerable_by_how_much_sense_it_makes() -> None:
    assert [at_label(sense) for sense in (1, 2, 3, 4, 5, None)] == [0, 0, None, 1, 1, None]


def test_assessments_keep_their_number_when_more_are_stored() -> None:
    """Curated while only the second task was done (one assessor was asked for by then); then the first is done too."""
    history = History().edit().assess("eva", 95).curate("lea's").assess("rui", 83)
    found = versions(item(), history.entries)
    assert [one.text for one in found["validation.1.pt"]] == ["V-pt rui"]
    assert [one.text for one in found["validation.2.pt"]] == ["V-pt eva", "lea's V-pt 1"]
    record = design(assessors=2).record(item(), item(TEXT, 1), history.entries)
    assert record is not None
    assert [(one["by"], one["curated"]) for one in record["assessments"]] == [("rui", False), ("eva", True)]


def test_the_records_of_texts_and_of_what_is_derived() -> None:
    one = design(subject="the ocean")
    text = one.record(item(TEXT, 1), None, History(1).add("subject", {"related": True}).entries)
    assert text == {
        "kind": "text", "item_id": 1, "source_id": "s1", "text": {"pt": "A maré.", "en": "The tide."},
        "kept": {"corpus": "1"}, "related": True, "drafted_by": None,
    }  # fmt: skip
    assert one.record(item(DERIVED), item(), []) is None
    entries = History().add("accept", {"text": "Which Q is it?"}, by="rui").entries
    assert one.record(item(DERIVED, state="kept", drafted_by="pegasus"), item(), entries) == {
        "kind": "derived", "item_id": 2, "parent_id": 1, "field": "paraphrase.1.en", "language": "en",
        "original": "Q-en?", "what": "paraphrase", "number": 1, "text": "Which Q is it?", "changed": True,
        "by": "rui", "drafted_by": "pegasus",
    }  # fmt: skip
    # Accepted as it is: a form joins the accent to its letter, and leaves off the line break at the end.
    drafted = {**item(DERIVED).content, "text": "Que mare\u0301?\r\n"}
    for said, changed in (("Que maré?", False), ("Qual maré?", True)):
        entries = History().add("accept", {"text": said}, by="rui").entries
        accepted = one.record(item(DERIVED, state="kept", content=drafted), item(), entries)
        assert accepted is not None
        assert accepted["changed"] is changed
    entries = History().add("choices", by="rui").entries
    chosen = one.record(item(CHOICES, state="kept"), item(), entries)
    assert chosen == {
        "kind": "choices", "item_id": 2, "parent_id": 1, **item(CHOICES).content, "by": "rui", "drafted_by": None,
    }  # fmt: skip


def test_sources_and_sets_become_items() -> None:
    one = design()
    made = one.first(Source("A1", {"en": "Text"}, {"corpus": "1"}))
    assert made == (TEXT, "A1", {"text": {"en": "Text"}, "kept": {"corpus": "1"}})
    step = step_of(one, "set")
    first, second = (one.made(step, item(TEXT, 1), SET, nonce) for nonce in ("n1", "n2"))
    assert (first.kind, first.content) == (QUESTION, SET)
    assert first.source_id != second.source_id
    assert one.place("A1") == design().place("A1") != design(seed=1).place("A1")


def test_entries_that_were_undone_or_given_back_are_not_released() -> None:
    made = History().edit("Q2-pt?")
    undone = Entry(
        seq=50, item_id=2, task_id=82, round="edit", step=0, by="lea", action="undone", content={}, reason=None,
        undoes=10, active_seconds=None, elapsed_seconds=None, nonce=None, created_at=NOW,
    )  # fmt: skip
    assert counting([*made.entries, undone]) == []
    assert [one.seq for one in with_origin(item(), {1: [ORIGIN], 2: [*made.entries, undone]})] == [1]
    assert with_origin(item(TEXT, 1), {}) == []


def test_parameters_that_make_no_sense_are_refused() -> None:
    for bad in (
        {"subject_when": {"corpus": "1"}},
        {"subject": " "},
        {"edited": 1.5},
        {"assessors": 0},
        {"writers": "2"},
    ):
        with pytest.raises(ValidationError):
            PiraParameters(**bad)
    assert Pira.columns(PiraParameters(subject="x", subject_when={"corpus": "1"})) == {"corpus": "subject_when"}


def test_the_rounds_and_their_fields() -> None:
    one = design(per_text=3)
    assert list(one.rounds) == ["subject", "create", "draft", "edit", "assess", "curate", "accept", "choices"]
    fields: list[Field] = [field for each in one.rounds.values() for step in each.steps for field in step.fields]
    assert [field.name for field in step_of(one, "set").fields] == [
        "question.pt", "answer.pt", "question.en", "answer.en", "evidence",
    ]  # fmt: skip
    assert {field.name for field in fields if field.unlike_others} == {"question.pt", "question.en"}
    assert (one.rounds["create"].several, one.rounds["create"].most) == (True, 3)
    assert [name for name, rules in one.rules.items() if rules.for_leads] == ["edit", "curate"]
    names = [step.name for each in one.rounds.values() for step in each.steps]
    assert len(names) == len(set(names))
