"""Questions that people write: who may do what, what is refused, and what becomes of the accepted ones."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError, SignedOutError
from quati_pool.commands.annotate.questions import writing as questions
from quati_pool.commands.annotate.questions.passages import NoPassagesError
from quati_pool.commands.annotate.questions.rules import QUERY_CHARACTERS, QuestionError, one_line
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import QuatiPoolError
from tests.commands.annotate.writers import DRAFT, accepted, nonce, proposed, seen, sign_in, workspace
from tests.store.conftest import cluster, engine, made_postgresql, made_sqlite, made_url  # noqa: F401


@pytest.fixture
def session(tmp_path: Path, made_url: str) -> Iterator[AnnotationSession]:  # noqa: F811
    """On SQLite and on PostgreSQL."""
    with AnnotationSession.open(workspace(tmp_path / "small"), made_url) as opened:
        yield opened


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[AnnotationSession]:
    """On SQLite alone, for what the engine has no part in."""
    with AnnotationSession.open(workspace(tmp_path / "small")) as opened:
        yield opened


def states(session: AnnotationSession, token: str) -> dict[int, str]:
    return {one.question.question_id: one.state for one in questions.listed(session, token)}


def test_a_question_goes_from_its_author_by_a_second_person_into_the_collection(session: AnnotationSession) -> None:
    ana, bia = sign_in(session, "ana"), sign_in(session, "bia")
    question = proposed(session, ana, narrative="Nomes, também de antes.\nCom datas.")
    questions.send_back(session, bia, question, seen(session, question), nonce(), "Qual ilha?")
    better = replace(DRAFT, query="Quem cuida do farol da Ilha do Mel?", narrative=None)
    questions.revise(session, ana, question, seen(session, question), better, nonce(), comment="Dito agora.")
    assert accepted(session, bia, question) == "q0001"
    told = [(event.by, event.action, event.query, event.comment) for event in questions.events(session, bia, question)]
    assert told == [
        ("ana", "proposed", DRAFT.query, None),
        ("bia", "sent_back", DRAFT.query, "Qual ilha?"),
        ("ana", "revised", better.query, "Dito agora."),
        ("bia", "accepted", better.query, None),
    ]
    last = questions.listed(session, ana)[0].question.last
    assert (last.query_id, last.narrative, last.theme, last.scope, last.type) == (
        "q0001", None, "geography", "local", "fact",
    )  # fmt: skip


def test_nobody_decides_on_their_own_question_not_even_a_lead(alone: AnnotationSession) -> None:
    caio = sign_in(alone, "caio", "lead")
    question = proposed(alone, caio)
    with pytest.raises(ForbiddenError, match="nobody decides on their own"):
        accepted(alone, caio, question)
    with pytest.raises(ForbiddenError, match="nobody decides on their own"):
        questions.send_back(alone, caio, question, seen(alone, question), nonce(), "não")
    assert states(alone, caio) == {question: "proposed"}


def test_only_the_author_revises_and_withdraws(alone: AnnotationSession) -> None:
    ana, bia = sign_in(alone, "ana"), sign_in(alone, "bia")
    question = proposed(alone, ana)
    with pytest.raises(ForbiddenError, match="only its author"):
        questions.revise(alone, bia, question, seen(alone, question), DRAFT, nonce())
    with pytest.raises(ForbiddenError, match="cannot be withdrawn by you"):
        questions.withdraw(alone, bia, question, seen(alone, question), nonce())
    questions.withdraw(alone, ana, question, seen(alone, question), nonce())
    assert states(alone, ana) == {question: "withdrawn"}
    with pytest.raises(ForbiddenError, match="withdrawn cannot be accepted"):
        accepted(alone, bia, question)
    questions.revise(alone, ana, question, seen(alone, question), DRAFT, nonce())
    assert states(alone, ana) == {question: "proposed"}


def test_an_accepted_question_is_taken_out_by_a_lead_alone_and_its_query_id_is_not_given_again(
    alone: AnnotationSession,
) -> None:
    ana, bia, caio = sign_in(alone, "ana"), sign_in(alone, "bia"), sign_in(alone, "caio", "lead")
    question = proposed(alone, ana)
    assert accepted(alone, bia, question) == "q0001"
    with pytest.raises(ForbiddenError):
        questions.withdraw(alone, ana, question, seen(alone, question), nonce())
    with pytest.raises(ForbiddenError):
        questions.revise(alone, ana, question, seen(alone, question), DRAFT, nonce())
    questions.withdraw(alone, caio, question, seen(alone, question), nonce(), "repetida")
    assert questions.questions_file(alone, caio, "tsv") == ("queries.tsv", b"")
    with pytest.raises(ForbiddenError):  # another text under q0001 would be graded as the first
        questions.revise(alone, ana, question, seen(alone, question), DRAFT, nonce())
    assert accepted(alone, bia, proposed(alone, ana)) == "q0002"


def test_a_decision_holds_only_for_the_text_that_was_seen(alone: AnnotationSession) -> None:
    ana, bia = sign_in(alone, "ana"), sign_in(alone, "bia")
    question = proposed(alone, ana)
    before = seen(alone, question)
    questions.revise(alone, ana, question, before, replace(DRAFT, query="Outra pergunta?"), nonce())
    with pytest.raises(QuestionError, match="changed meanwhile") as refused:
        questions.accept(alone, bia, question, before, nonce())
    assert refused.value.reason == "changed"


def test_what_is_sent_twice_is_stored_once(session: AnnotationSession) -> None:
    ana, bia = sign_in(session, "ana"), sign_in(session, "bia")
    once = nonce()
    assert questions.propose(session, ana, DRAFT, once) == questions.propose(session, ana, DRAFT, once)
    question = questions.listed(session, ana)[0].question.question_id
    before, once = seen(session, question), nonce()
    given = [questions.accept(session, bia, question, before, once) for _ in range(2)]
    assert given == ["q0001", "q0001"]
    assert len(questions.events(session, ana, question)) == 2


def test_a_nonce_of_another_event_accepts_nothing(alone: AnnotationSession) -> None:
    ana, bia = sign_in(alone, "ana"), sign_in(alone, "bia")
    theirs = nonce()
    question = questions.propose(alone, ana, DRAFT, theirs)
    with pytest.raises(QuatiPoolError, match="nonce"):
        questions.accept(alone, bia, question, seen(alone, question), theirs)
    assert states(alone, ana) == {question: "proposed"}


def test_two_acceptances_at_once_never_share_a_query_id_and_avoid_those_of_the_file(
    session: AnnotationSession, tmp_path: Path
) -> None:
    ana, bia = sign_in(session, "ana"), sign_in(session, "bia")
    with (tmp_path / "small" / "queries.tsv").open("a", encoding="utf-8") as file:
        file.write("q0002\tsomething else\nq0005\tand more\n")
    made = [
        proposed(session, ana, f"pergunta {word}?") for word in ["alfa", "bravo", "charlie", "delta", "eco", "foxtrote"]
    ]
    with ThreadPoolExecutor(6) as threads:
        given = list(threads.map(lambda question: accepted(session, bia, question), made))
    # Six ids from q0001 on without q0002 and q0005.
    assert sorted(given) == ["q0001", "q0003", "q0004", "q0006", "q0007", "q0008"]


def test_two_people_accepting_one_question_at_once_give_it_one_query_id(session: AnnotationSession) -> None:
    ana, others = sign_in(session, "ana"), [sign_in(session, "bia"), sign_in(session, "caio")]
    question = proposed(session, ana)
    before = seen(session, question)

    def decide(token: str) -> str:
        try:
            return questions.accept(session, token, question, before, nonce())
        except QuestionError as error:
            return error.reason

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(decide, others)) == ["changed", "q0001"]


def test_nothing_is_shown_or_written_without_a_session(alone: AnnotationSession) -> None:
    question = proposed(alone, sign_in(alone, "ana"))
    calls = [
        lambda token: questions.listed(alone, token),
        lambda token: questions.events(alone, token, question),
        lambda token: questions.propose(alone, token, DRAFT, nonce()),
        lambda token: questions.revise(alone, token, question, question, DRAFT, nonce()),
        lambda token: questions.accept(alone, token, question, question, nonce()),
        lambda token: questions.send_back(alone, token, question, question, nonce(), "não"),
        lambda token: questions.withdraw(alone, token, question, question, nonce()),
        lambda token: questions.similar(alone, token, "?"),
        lambda token: questions.coverage(alone, token),
        lambda token: questions.sampled_passage(alone, token),
        lambda token: questions.questions_file(alone, token, "tsv"),
    ]
    for call in calls:
        for token in (None, "", "x" * 32):
            with pytest.raises(SignedOutError):
                call(token)
    assert len(alone.questions.events(question)) == 1


def test_the_file_is_for_leads(alone: AnnotationSession) -> None:
    with pytest.raises(ForbiddenError):
        questions.questions_file(alone, sign_in(alone, "ana"), "tsv")
    with pytest.raises(AnswerError, match="ask for one of tsv, jsonl"):
        questions.questions_file(alone, sign_in(alone, "caio", "lead"), "../x")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("", "empty"), ("  ", "empty"), ("?!", "empty"), ("\u200b", "empty"),
        ("one\ntwo", "control"), ("one\rtwo", "control"), ("one\ttwo", "control"), ("one\u2028two", "control"),
        ("nul\x00", "control"), ("esc\x1b[31m", "control"), ("\u202eabc", "control"), ("half \ud800", "control"),
        ("a" * (QUERY_CHARACTERS + 1), "long"),
    ],
)  # fmt: skip
def test_a_question_that_is_not_one_sound_line_is_refused(alone: AnnotationSession, query: str, reason: str) -> None:
    with pytest.raises(QuestionError) as refused:
        proposed(alone, sign_in(alone, "ana"), query)
    assert refused.value.reason == reason
    assert "\n" not in str(refused.value)
    assert not alone.questions.current()


def test_blanks_and_accents_are_stored_in_one_way() -> None:
    # "e" with a combining acute accent becomes the one character; a no-break space is a blank.
    assert one_line("  Quem  e\u0301\u00a0ela? ") == "Quem \u00e9 ela?"
    assert one_line("a" * QUERY_CHARACTERS) == "a" * QUERY_CHARACTERS


@pytest.mark.parametrize("axis", ["theme", "scope", "type"])
def test_a_value_outside_the_taxonomy_is_refused(alone: AnnotationSession, axis: str) -> None:
    with pytest.raises(QuestionError, match=f"not a {axis} of this collection") as refused:
        proposed(alone, sign_in(alone, "ana"), **{axis: "<b>"})
    assert refused.value.reason == axis


def test_narratives_and_comments_keep_their_lines_and_are_no_longer_than_allowed(alone: AnnotationSession) -> None:
    ana, bia = sign_in(alone, "ana"), sign_in(alone, "bia")
    question = proposed(alone, ana, narrative=" one\r\ntwo\tthree ")
    assert alone.questions.current()[0].last.narrative == "one\ntwo\tthree"
    for narrative, reason in (("x" * 10_001, "narrative_long"), ("bell\x07", "narrative_control")):
        with pytest.raises(QuestionError) as refused:
            proposed(alone, ana, "Another?", narrative=narrative)
        assert refused.value.reason == reason
    for comment, reason in (("x" * 2_001, "comment_long"), ("\x1b", "comment_control"), (" \n ", "no_comment")):
        with pytest.raises(QuestionError) as refused:
            questions.send_back(alone, bia, question, seen(alone, question), nonce(), comment)
        assert refused.value.reason == reason


def test_near_duplicates_of_anybody_and_of_the_file_are_pointed_out_and_not_refused(alone: AnnotationSession) -> None:
    ana, bia = sign_in(alone, "ana"), sign_in(alone, "bia")
    first = proposed(alone, ana, "Where do sailors find the old lighthouse?")
    # The file has "sailors near the lighthouse".
    found = questions.similar(alone, bia, "Where does a sailor find the old lighthouse")
    assert [(one.question_id, one.author, one.exact) for one in found[:1]] == [(first, "ana", False)]
    found = questions.similar(alone, bia, "Sailors near a lighthouse")
    assert [(one.query, one.author, one.query_id) for one in found] == [("sailors near the lighthouse", None, "q1")]
    assert found[0].similarity >= 0.6
    assert proposed(alone, bia, "Where does a sailor find the old lighthouse") > first
    assert questions.similar(alone, ana, "Where do sailors find the old lighthouse?", besides=first)[0].author == "bia"


def test_an_equal_question_needs_a_confirmation(alone: AnnotationSession) -> None:
    ana, bia = sign_in(alone, "ana"), sign_in(alone, "bia")
    proposed(alone, ana)
    again = replace(DRAFT, query="quem cuida do farol da ilha")
    with pytest.raises(QuestionError) as refused:
        questions.propose(alone, bia, again, nonce())
    assert refused.value.reason == "repeated"
    assert [(one.query, one.author) for one in refused.value.similar] == [(DRAFT.query, "ana")]
    with pytest.raises(QuestionError, match="there already"):
        proposed(alone, bia, "SAILORS near the lighthouse!")
    assert questions.propose(alone, bia, again, nonce(), confirmed=True)
    assert len(alone.questions.current()) == 2


def test_a_revision_into_an_equal_question_needs_a_confirmation_and_its_own_old_text_none(
    alone: AnnotationSession,
) -> None:
    ana = sign_in(alone, "ana")
    proposed(alone, ana)
    other = proposed(alone, ana, "Outra?")
    with pytest.raises(QuestionError, match="there already"):
        questions.revise(alone, ana, other, seen(alone, other), DRAFT, nonce())
    same = replace(DRAFT, query="Outra?", scope="global")
    questions.revise(alone, ana, other, seen(alone, other), same, nonce())
    questions.revise(alone, ana, other, seen(alone, other), DRAFT, nonce(), confirmed=True)
    assert [one.last.query for one in alone.questions.current()] == [DRAFT.query] * 2


def test_a_withdrawn_question_is_no_duplicate(alone: AnnotationSession) -> None:
    ana = sign_in(alone, "ana")
    question = proposed(alone, ana)
    questions.withdraw(alone, ana, question, seen(alone, question), nonce())
    assert not questions.similar(alone, ana, DRAFT.query)


def test_the_coverage_table_has_every_combination_and_counts_proposed_and_accepted(tmp_path: Path) -> None:
    own = {"theme": ["mar", "céu"], "scope": ["perto"], "type": ["fato", "opinião"]}
    path = workspace(tmp_path / "small", annotation={"taxonomy": own})
    with AnnotationSession.open(path) as session:
        ana, bia = sign_in(session, "ana"), sign_in(session, "bia")
        place = {"theme": "mar", "scope": "perto", "type": "fato"}
        made = [proposed(session, ana, f"pergunta {word}?", **place) for word in ["alfa", "bravo", "charlie"]]
        accepted(session, bia, made[0])
        questions.send_back(session, bia, made[1], seen(session, made[1]), nonce(), "não")
        proposed(session, ana, "delta?", **{**place, "theme": "céu"})
        # 2 × 1 × 2 combinations; what was sent back counts as neither.
        assert [tuple(cell) for cell in questions.coverage(session, ana).cells] == [
            ("mar", "perto", "fato", 1, 1), ("mar", "perto", "opinião", 0, 0),
            ("céu", "perto", "fato", 1, 0), ("céu", "perto", "opinião", 0, 0),
        ]  # fmt: skip
    changed = {**own, "theme": ["céu"]}
    with AnnotationSession.open(workspace(tmp_path / "small", annotation={"taxonomy": changed})) as session:
        assert questions.taxonomy_coverage(session.config, session.questions.current()).outside == 2


def test_passages_come_in_a_sequence_of_each_persons_own_without_a_pool(alone: AnnotationSession) -> None:
    ana, bia = sign_in(alone, "ana"), sign_in(alone, "bia")
    assert not (alone.config.folder / "pool.jsonl.gz").exists()
    first = questions.sampled_passage(alone, ana)
    assert questions.sampled_passage(alone, ana) == first
    rest = [questions.sampled_passage(alone, ana, another=True) for _ in range(59)]
    # 60 passages: each once before the first comes again.
    assert len({found.doc_id for found in [first, *rest]}) == 60
    assert questions.sampled_passage(alone, ana) == rest[-1]
    assert questions.sampled_passage(alone, ana, another=True) == first
    theirs = [questions.sampled_passage(alone, bia, another=True) for _ in range(5)]
    assert theirs != rest[:5]


def test_a_question_keeps_the_passage_it_was_written_from(alone: AnnotationSession) -> None:
    ana = sign_in(alone, "ana")
    found = questions.sampled_passage(alone, ana)
    question = proposed(alone, ana, doc_id=found.doc_id)
    assert alone.questions.current()[0].last.doc_id == found.doc_id
    questions.revise(alone, ana, question, question, replace(DRAFT, query="Outra?"), nonce())
    assert alone.questions.current()[0].last.doc_id == found.doc_id
    with pytest.raises(QuestionError) as refused:
        proposed(alone, ana, "Terceira?", doc_id="nowhere")
    assert refused.value.reason == "passage"


def test_without_a_corpus_store_it_says_what_to_run_and_free_questions_go_on(tmp_path: Path) -> None:
    with AnnotationSession.open(workspace(tmp_path / "small", read=False)) as session:
        ana = sign_in(session, "ana")
        with pytest.raises(NoPassagesError, match="run: quati-pool build"):
            questions.sampled_passage(session, ana)
        assert proposed(session, ana)


def test_without_a_file_of_queries_questions_are_written_and_accepted(tmp_path: Path) -> None:
    path = workspace(tmp_path / "small")
    (tmp_path / "small" / "queries.tsv").unlink()
    with AnnotationSession.open(path) as session:
        assert accepted(session, sign_in(session, "bia"), proposed(session, sign_in(session, "ana"))) == "q0001"


def test_a_file_of_queries_that_cannot_be_read_is_named_before_an_id_is_given(tmp_path: Path) -> None:
    path = workspace(tmp_path / "small")
    with AnnotationSession.open(path) as session:
        ana, bia = sign_in(session, "ana"), sign_in(session, "bia")
        question = proposed(session, ana)
        (tmp_path / "small" / "queries.tsv").write_text("a\tb\tc\n", encoding="utf-8")
        with pytest.raises(QuatiPoolError, match=r"queries\.tsv:1"):
            accepted(session, bia, question)
        assert states(session, ana) == {question: "proposed"}
