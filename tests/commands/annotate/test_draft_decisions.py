"""What people made of drafts: counts by model, shares against statsmodels, and where the drafter's name goes."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from quati_pool.commands.annotate.authoring.data_set import _numbered, _translated
from quati_pool.commands.annotate.authoring.derive import derive
from quati_pool.commands.annotate.authoring.release import release
from quati_pool.commands.annotate.authoring.report import report
from quati_pool.commands.annotate.draft_decisions import QUESTION, Decided, Fate, by_model
from quati_pool.commands.annotate.questions import writing as questions
from quati_pool.commands.annotate.questions.export import export_questions
from quati_pool.commands.annotate.questions.rules import Draft
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.qa_benchmarks.pira.benchmark import Pira
from quati_pool.reporting.answers.annotation import written_questions
from quati_pool.reporting.json_data.annotate import as_data
from quati_pool.reporting.tables.questions import report as questions_report
from quati_pool.store.authoring_records import DRAFT
from tests.commands.annotate import drafted, writers
from tests.commands.annotate.authoring import rounds
from tests.commands.annotate.authoring.people_writing import accept_all, signed_in, work_off
from tests.commands.annotate.authoring.romqa_people import RomqaPeople, romqa_workspace
from tests.commands.annotate.drafted import MODEL


def decided(fates: str, source: int | None = None, model: str = MODEL) -> list[Decided]:
    """A draft for each letter: accepted, edited, refused, waiting; each of a source of its own by default."""
    names: dict[str, Fate] = {"a": "accepted", "e": "edited", "r": "refused", "w": "waiting"}
    return [
        Decided(model, QUESTION, place if source is None else source, names[one], "other" if one == "r" else None)
        for place, one in enumerate(fates)
    ]


def test_the_share_accepted_has_wilson_s_interval_with_t_over_sources() -> None:
    (one,) = by_model(decided("aaaaaeeerrww"))
    assert (one.proposed, one.waiting, one.accepted, one.edited, one.refused) == (12, 2, 5, 3, {"other": 2})
    assert one.share.value == pytest.approx(0.8)
    # A source each: the variance between clusters is p(1 - p) / (n - 1), so that n - 1 = 9 units count, of which t with
    # 9 degrees of freedom leaves 9 (z / t)².
    effective = 9 * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 9)) ** 2
    low, high = proportion_confint(0.8 * effective, effective, method="wilson")
    assert (one.share.low, one.share.high) == pytest.approx((low, high))


def test_drafts_of_one_source_are_alike_and_waiting_ones_do_not_count() -> None:
    (one,) = by_model([*decided("aaae", 1), *decided("rrrr", 2), *decided("aaee", 3), *decided("wwww", 4)])
    assert one.share.value == pytest.approx(8 / 12)
    # By hand: sums of hit - 2/3 by source are 4/3, -8/3, 4/3, so the variance is 3/2 (16 + 64 + 16) / 9 / 144 = 1/9,
    # and p (1 - p) over it is (2/9) / (1/9) = 2 units, of which t with 2 degrees of freedom leaves 2 (z / t)².
    effective = 2 * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 2)) ** 2
    low, high = proportion_confint(2 / 3 * effective, effective, method="wilson")
    assert (one.share.low, one.share.high) == pytest.approx((low, high))


def test_nothing_decided_or_a_single_source_leaves_the_share_or_its_interval_undefined() -> None:
    (waiting,) = by_model(decided("ww"))
    assert (waiting.share.value, waiting.share.why) == (None, "there are none yet")
    (alone,) = by_model(decided("ar", 7))
    assert (alone.share.value, alone.share.low, alone.share.why) == (0.5, None, "the drafts are of one source")
    assert [one.model for one in by_model([*decided("a", model="b"), *decided("r", model="a")])] == ["a", "b"]


# Questions without rounds


def event(session: AnnotationSession, question_id: int) -> dict[str, Any]:
    return {"question_id": question_id, "seen": writers.seen(session, question_id), "nonce": writers.nonce()}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Six drafts on five passages: accepted, accepted with a theme and another text, accepted with a theme alone,
    withdrawn, revised, untouched; and a question of a person."""
    path = writers.workspace(tmp_path / "small", read=False)
    with AnnotationSession.open(path) as session:
        ana, bia = writers.sign_in(session, "ana"), writers.sign_in(session, "bia")
        texts = ["Quem pesca?", "Onde dorme o boto?", "Quanto pesa a garça?", "Que é sal?", "Há vento?", "Há mar?"]
        ids = [drafted.propose(session, text, doc_id=f"p{min(n, 4)}") for n, text in enumerate(texts)]
        writers.accepted(session, ana, ids[0])
        for question_id, text in ((ids[1], "Onde dorme o boto à noite?"), (ids[2], texts[2]), (ids[4], "Há brisa?")):
            revision = Draft(text, "geography", "local", "fact")
            questions.revise(session, ana, draft=revision, **event(session, question_id))
        for question_id in ids[1:3]:
            writers.accepted(session, bia, question_id)
        questions.withdraw(session, ana, comment="Não é pergunta.", **event(session, ids[3]))
        writers.accepted(session, bia, writers.proposed(session, ana, "Quem cuida do farol?", narrative="De hoje."))
    return path


def test_questions_list_says_what_became_of_drafts(corpus: Path) -> None:
    found = questions_report(corpus)
    (one,) = found.drafts
    assert (one.model, one.what, one.proposed, one.waiting) == (MODEL, "question", 6, 2)
    # A theme alone does not make another question.
    assert (one.accepted, one.edited, one.refused) == (2, 1, {"withdrawn": 1})
    assert one.share.value == pytest.approx(3 / 4)
    data = as_data(found)
    assert data["drafts"][0] | {"low": 0, "high": 0} == {
        "model": MODEL, "what": "question", "proposed": 6, "waiting": 2, "accepted": 2, "edited": 1,
        "refused": {"withdrawn": 1}, "share": 0.75, "low": 0, "high": 0,
    }  # fmt: skip
    assert {(row["author"], row["drafted_by"]) for row in data["questions"]} == {(None, MODEL), ("ana", None)}
    said = written_questions(found)
    assert said.sentences[1].startswith(
        f"Questions drafted by {MODEL}: 2 of 6 wait; 2 accepted as they were, 1 edited, 1 refused: 75.0 % ("
    )
    assert said.sentences[1].endswith(") of those decided are accepted.")


def test_the_drafter_s_name_is_in_jsonl_and_in_a_table_with_the_column_alone(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "queries.jsonl"
    assert export_questions(corpus, out).drafters == 0
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row.get("drafted_by", "no key") for row in rows] == [MODEL, MODEL, MODEL, "no key"]
    plain = tmp_path / "queries.tsv"
    made = export_questions(corpus, plain)
    assert (made.queries, made.drafters, made.narratives) == (4, 3, 1)
    assert MODEL not in plain.read_text(encoding="utf-8")
    named = tmp_path / "named.tsv"
    named.write_text("query_id\tquery\tdrafted_by\tnarrative\nx\tPor quê?\t\t\n", encoding="utf-8")
    made = export_questions(corpus, named, merge=True)
    assert (made.queries, made.drafters, made.narratives) == (5, 0, 0)
    lines = named.read_text(encoding="utf-8").splitlines()
    assert lines[2] == f"q0001\tQuem pesca?\t{MODEL}\t"
    assert lines[5] == "q0004\tQuem cuida do farol?\t\tDe hoje."


# Rounds


def test_translators_are_released_by_name_and_people_by_number() -> None:
    records: Any = SimpleNamespace(people={"ana": 1}, drafters={"v1": "gpt-4o"})
    version = {"text": "Why?", "by": "ana", "machine": {"translator": "v1", "edited": False}}
    assert _numbered([version, {"by": ""}], records) == [
        {"text": "Why?", "person": 1, "machine": {"translator": "gpt-4o", "edited": False}},
        {"person": None},
    ]
    machine = {"question.en": {"by": "v1", "edited": True, "request": "0f"}}
    assert _translated(machine, records) == {"question.en": {"translator": "gpt-4o", "edited": True}}


def test_drafts_of_pira_are_counted_and_released_by_name(tmp_path: Path) -> None:
    path = rounds.workspace(tmp_path / "sea", sources={"path": "texts.csv", "text": {"pt": "pt", "en": "en"}})
    drafted.pira_drafts(path, [4, 3, 2])
    people = drafted.Deciding(7)
    with rounds.opened(path) as session:
        work_off(session, signed_in(session, "ana", "rui"), people)
    (one,) = report(path).drafts
    assert people.fates == {"accepted": 3, "edited": 2, "refused": 2}
    assert (one.model, one.what, one.waiting) == (MODEL, "question", 2)
    assert (one.accepted, one.edited, one.refused) == (3, 2, {"unnatural": 2})
    assert one.share.value == pytest.approx(5 / 7)

    # Nobody has accepted the two that wait: no release has them as questions.
    released = release(path, "jsonl", tmp_path / "jsonl", allow_missing=True)
    assert sum(released.units.values()) == 5
    assert released.open["draft"] == 2
    still_open = report(path).progress.states["question"]["open"]
    assert released.open.get("question", 0) == still_open - 2
    rows = [json.loads(line) for line in (tmp_path / "jsonl/question.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["drafted_by"], row["person"]) for row in rows] == [(MODEL, None)] * 5
    card = (tmp_path / "jsonl/README.md").read_text(encoding="utf-8")
    assert "5 of 5 questions (100.0 %) were drafted by gpt-4o-2024-11-20; people accepted them." in card
    release(path, "pira", tmp_path / "pira", allow_missing=True)
    task = Pira.tasks["ir"]
    cases = [case for case in task.cases(tmp_path / "pira") if case.language == "en"]
    topics = [topic for case in cases for topic in task.collection(tmp_path / "pira", case).queries]
    assert [topic.drafted_by for topic in topics] == [MODEL] * 5
    # Sets of multiple choice are built without a model, from questions and answers that are drafts.
    derive(path)
    assert accept_all(path) > 0
    release(path, "jsonl", tmp_path / "jsonl", allow_missing=True)
    rows = [json.loads(line) for line in (tmp_path / "jsonl/choices.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["drafted_by"] for row in rows} == {MODEL}


def test_drafts_of_romqa_are_counted_and_only_those_accepted_are_released_as_drafts(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path / "logic", compare=None, raters=None, least_questions=1)
    writing = RomqaPeople()
    people = drafted.Deciding(3)
    with rounds.opened(path) as session:
        authoring = rounds.rounds(session)
        queries = authoring.items("query")
        version = drafted.register(session.store)
        texts = {item.item_id: {"question.en": f"Who is the {item.source_id} person?"} for item in queries[:3]}
        assert authoring.draft(texts, version) == set(texts)
        assert DRAFT in authoring.items("query")[0].content

        def answer(name: str, shown: Any) -> Any:
            return people(name, shown) if shown.step.name == "draft_query" else writing(name, shown)

        work_off(session, signed_in(session, "ana", "bia", "caio"), answer)
    found = report(path)
    (one,) = found.drafts
    assert (one.proposed, one.waiting, one.accepted, one.edited, one.refused) == (3, 0, 1, 1, {"unnatural": 1})
    assert found.progress.states["query"] == {"kept": 6}
    release(path, "jsonl", tmp_path / "jsonl")
    rows = [json.loads(line) for line in (tmp_path / "jsonl/query.jsonl").read_text(encoding="utf-8").splitlines()]
    # The query whose draft was refused has a person's question.
    assert sorted(str(row["drafted_by"]) for row in rows) == ["None"] * 4 + [MODEL] * 2
    card = (tmp_path / "jsonl/README.md").read_text(encoding="utf-8")
    assert "2 of 6 questions (33.3 %) were drafted by gpt-4o-2024-11-20; people accepted them." in card
