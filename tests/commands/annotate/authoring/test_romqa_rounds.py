"""Questions from clusters in the store: who writes, verifies and rates what, and what is derived from it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from quati_pool.annotation.authoring.romqa import BLOCK, CLUSTER, NOT_VERIFIED, QUERY
from quati_pool.commands.annotate.authoring import overview, work
from quati_pool.commands.annotate.authoring.blocks import AddedBlocks
from quati_pool.commands.annotate.authoring.derive import derive
from quati_pool.commands.annotate.authoring.records import open_records
from quati_pool.commands.annotate.authoring.sources import Opened, open_rounds
from quati_pool.commands.annotate.preflight import check
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.validate.pool import validate_pool
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.store.authoring_records import Added, Item
from quati_pool.store.errors import ConflictError
from tests.commands.annotate.authoring.people_writing import LEAD, Refused, work_off
from tests.commands.annotate.authoring.romqa_people import (
    OTHER,
    RomqaPeople,
    everybody,
    made_cluster,
    people_done,
    question_of,
    romqa_workspace,
    write_clusters,
)
from tests.commands.annotate.authoring.rounds import nonce, opened, rounds, sent, step
from tests.commands.annotate.writers import sign_in

ONE = [made_cluster(0, 1)]


def queries(session: AnnotationSession, kind: str = QUERY) -> list[Item]:
    return rounds(session).items(kind)


def states(path: Path, kind: str = QUERY) -> Counter[tuple[str, str | None]]:
    with AnnotationSession.open(path) as session:
        return Counter((one.state, one.reason) for one in queries(session, kind))


def write(session: AnnotationSession, token: str) -> None:
    shown = step(session, token)
    content = {"question.en": question_of(shown.shown["constraints"])}
    outcome = work.submit(session, token, sent(shown, content, confirmed=frozenset({"similar"})))
    assert outcome.seq is not None


def verify(session: AnnotationSession, token: str, reason: str | None = None) -> None:
    shown = step(session, token)
    assert shown.step.name == "verify"
    if reason is None:
        assert work.submit(session, token, sent(shown, {})).seq is not None
    else:
        work.refuse(session, token, shown.item, shown.number, shown.sha, reason, None, nonce())


def step_name(session: AnnotationSession, token: str) -> str | None:
    found = work.next_step(session, token)
    return None if found is None else found.step.name


# Clusters in the rounds


def test_clusters_are_added_once_with_their_queries(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path)
    with AnnotationSession.open(path) as session:
        assert open_rounds(session) == Opened(Added(2, 0, 0), Added(6, 0, 0))
        assert open_rounds(session) == Opened(Added(0, 2, 0), Added(0, 6, 0))
        clusters = {one.item_id: one.source_id for one in queries(session, CLUSTER)}
        assert [(clusters[one.parent_id or 0], one.source_id) for one in queries(session)] == [
            (f"c{number}", f"c{number}-{place}") for number in (0, 1) for place in (1, 2, 3)
        ]
        # The questions of a cluster are worked on together.
        assert len({one.place for one in queries(session) if one.content["cluster_id"] == "c0"}) == 1
        assert {task.round for task in rounds(session).tasks()} == {"write"}


def test_a_second_folder_adds_and_a_changed_one_changes_nothing(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path, [made_cluster(0)])
    people_done(tmp_path)
    with AnnotationSession.open(path) as session:
        before = queries(session)
    write_clusters(tmp_path / "more", [made_cluster(1)])
    path = romqa_workspace(tmp_path, [], sources={"path": ["clusters", "more"]})
    with AnnotationSession.open(path) as session:
        assert open_rounds(session) == Opened(Added(1, 1, 0), Added(3, 3, 0))
        assert queries(session)[:3] == before
    write_clusters(tmp_path / "more", [made_cluster(1)], [{"id": "P106", "label": "job"}])
    # Each query shows something that has another name now, or none.
    notes = check(path, "localhost")
    assert notes == [
        "3 queries of clusters differ from what is in the rounds, in constraints, names or answers; what is there "
        "stays as it was, and cannot be released from other clusters: put the folder back that it came from"
    ]


def test_constraints_that_two_draws_share_are_pointed_out(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path, [made_cluster(0)], sources={"path": ["clusters", "more"]})
    write_clusters(tmp_path / "more", [made_cluster(1), made_cluster(2)])
    # All clusters by hand have Q1 and Q3 in common.
    assert check(path, "localhost")[1:] == [
        "3 clusters with 9 questions to write added to the rounds of writing",
        "2 constraints are in clusters of several folders, so that questions on the same may be in two splits",
    ]


def test_a_start_that_was_cut_off_between_clusters_and_queries_goes_on(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path)
    with AnnotationSession.open(path) as session:
        add, calls = rounds(session).add, []

        def cut(items: Any) -> Added:
            calls.append(len(items))
            if len(calls) == 2:
                raise KeyboardInterrupt
            return add(items)

        rounds(session).add = cut  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            open_rounds(session)
    with AnnotationSession.open(path) as session:
        assert (len(queries(session, CLUSTER)), len(queries(session))) == (2, 0)
        assert open_rounds(session) == Opened(Added(0, 2, 0), Added(6, 0, 0))


def test_what_is_said_when_the_app_starts_and_by_validate(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path)
    nobody = "nobody has an access code yet; run: quati-pool annotate --lead NAME"
    assert validate_pool(path).errors == []
    assert {k: v for k, v in validate_pool(path).summary.items() if k in ("clusters", "questions to compare with")} == {
        "clusters": 2,
        "questions to compare with": 3,
    }
    assert check(path, "localhost") == [nobody, "2 clusters with 6 questions to write added to the rounds of writing"]
    assert check(path, "localhost") == [nobody]


def test_faulty_sources_are_named_and_nothing_is_added(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path, sources={"path": ["clusters", "clusters"]})
    with AnnotationSession.open(path) as session:
        with pytest.raises(QuatiPoolError, match=r"clusters: the cluster c0 is in .*clusters too; name each draw once"):
            open_rounds(session)
        assert rounds(session).items() == []
    path = romqa_workspace(tmp_path, sources={"path": "none"}, compare={"path": "none.tsv", "name": "WebQs"})
    found = [str(one).replace(f"{tmp_path}/", "") for one in validate_pool(path).errors]
    assert len(found) == 2
    assert "none: there is no such folder; write it with quati-pool questions constraints TRIPLES -o" in found[0]
    assert "none.tsv: there is no such file" in found[1]


# Who does what


def test_four_people_write_and_verify_everything_and_nobody_verifies_their_own(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path, [made_cluster(number, 4) for number in range(3)])
    with opened(path) as session:
        leads = {LEAD: sign_in(session, LEAD, "lead")}
        assert everybody(session, RomqaPeople()) == 12 * 3
        assert work_off(session, leads, RomqaPeople()) == 0
    records = open_records(path)
    assert states(path) == {("kept", None): 12}
    for one in records.units:
        verifiers = [verification["by"] for verification in one["verifications"]]
        assert len({one["by"], *verifiers}) == 3
        assert all(verification["exact"] for verification in one["verifications"])


def test_a_refusal_leaves_the_other_verifiers_task_and_both_are_asked(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path, ONE)
    with opened(path) as session:
        ana, bia, caio, lia = (
            sign_in(session, name, role)
            for name, role in (("ana", "assessor"), ("bia", "assessor"), ("caio", "assessor"), (LEAD, "lead"))
        )
        write(session, ana)
        assert step_name(session, ana) is None
        assert step_name(session, lia) is None
        verify(session, bia, "says_more")
        assert queries(session)[0].state == "open"
        assert step_name(session, bia) is None
        # What the first said is not shown to the second.
        shown = step(session, caio)
        assert shown.shown.keys() == {"constraints", "answers", "count", "question"}
        assert "bia" not in str(shown)
        verify(session, caio)
        assert (queries(session)[0].state, queries(session)[0].reason) == ("out", NOT_VERIFIED)
        assert work.undo(session, caio, nonce()) is not None
        assert queries(session)[0].state == "open"
        verify(session, caio, "other_meaning")
    records = open_records(path)
    assert records.out == {QUERY: {NOT_VERIFIED: 1}}


@pytest.mark.parametrize("refusing", ["bia", "caio", "both"])
def test_a_restored_question_is_asked_of_others_again(tmp_path: Path, refusing: str) -> None:
    path = romqa_workspace(tmp_path, ONE)
    with opened(path) as session:
        tokens = {name: sign_in(session, name) for name in ("ana", "bia", "caio")}
        lia = sign_in(session, LEAD, "lead")
        write(session, tokens["ana"])
        for name in ("bia", "caio"):
            verify(session, tokens[name], "says_less" if refusing in (name, "both") else None)
        [out] = overview.rounds_overview(session, lia).out
        assert out.text.startswith("Who has occupation pianist and place of birth Brazil")
        assert (out.reason, out.restorable) == (NOT_VERIFIED, True)
        overview.restore(session, lia, out.item_id, nonce())
        assert queries(session)[0].state == "open"
        asked_again = 2 if refusing == "both" else 1
        # Nobody of those three may verify it: one wrote it, and two have said what they think.
        assert [step_name(session, token) for token in tokens.values()] == [None, None, None]
        assert rounds(session).unassignable({**dict.fromkeys(tokens, False), LEAD: True}) == {"verify": asked_again}
        for name in ("davi", "eva")[:asked_again]:
            verify(session, sign_in(session, name))
        # A refusal that was restored counts no more.
        assert queries(session)[0].state == "kept"


def test_a_query_that_makes_no_question_may_be_restored_to_another_writer(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path, ONE)
    with opened(path) as session:
        ana, lia = sign_in(session, "ana"), sign_in(session, LEAD, "lead")
        shown = step(session, ana)
        work.refuse(session, ana, shown.item, 0, shown.sha, "unnatural", None, nonce())
        [out] = overview.rounds_overview(session, lia).out
        assert out.text == "occupation → pianist; place of birth → Brazil; award received → Nelson Freire"
        overview.restore(session, lia, out.item_id, nonce())
        write(session, sign_in(session, "bia"))
    assert states(path) == {("open", None): 1}


def test_leads_see_the_questions_of_a_small_cluster_as_out(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path)
    with opened(path) as session:
        lia = sign_in(session, LEAD, "lead")
        everybody(session, RomqaPeople(inexact=["Q201 and award"]))
        found = overview.rounds_overview(session, lia)
        counts = {one.kind: (one.open, one.kept, one.out) for one in found.items}
        assert counts == {CLUSTER: (0, 2, 0), QUERY: (0, 3, 3)}
        reasons = Counter((one.reason, one.restorable) for one in found.out)
        assert reasons == {(NOT_VERIFIED, True): 1, ("small_cluster", False): 2}
        refused = next(one for one in found.out if one.reason == NOT_VERIFIED)
        overview.restore(session, lia, refused.item_id, nonce())
        assert overview.rounds_overview(session, lia).out == ()


def test_the_writer_takes_a_question_back_until_somebody_opened_it(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path, ONE)
    with opened(path) as session:
        ana, bia = sign_in(session, "ana"), sign_in(session, "bia")
        write(session, ana)
        assert work.undo(session, ana, nonce()) is not None
        assert step_name(session, ana) == "write"
        write(session, ana)
        assert step_name(session, bia) == "verify"
        with pytest.raises(ConflictError, match="somebody has worked on what came of it"):
            work.undo(session, ana, nonce())


def test_a_question_like_another_one_is_doubted(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path)
    with opened(path) as session:
        ana = sign_in(session, "ana")
        for expected in ([], ["similar"]):
            shown = step(session, ana)
            form = sent(shown, {"question.en": "Which pianists were born in Brazil?"})
            outcome = work.submit(session, ana, form)
            assert [doubt.reason for doubt in outcome.doubts] == expected
        assert outcome.seq is None
        assert outcome.doubts[0].values["question"] == "Which pianists were born in Brazil?"


def test_what_nobody_may_take_is_said(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path, ONE)
    with opened(path) as session:
        for name, role in (("ana", "assessor"), ("bia", "assessor"), (LEAD, "lead")):
            sign_in(session, name, role)
        everybody(session, RomqaPeople(), ("ana", "bia"))
    # Each of the two people is its writer or has verified it.
    assert check(path, "localhost") == ["nobody here may take 1 task of the round verify"]


# Blocks


def test_finished_questions_of_settled_clusters_are_put_next_to_others(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path, [made_cluster(0), made_cluster(1)], least_questions=2)
    with opened(path) as session:
        # c1-1 is refused by its writer, so that c1 keeps two; c0-3 is not verified by anybody yet.
        def answer(name: str, shown: Any) -> Any:
            found = RomqaPeople(unclear=["Q201 and award"])(name, shown)
            late = shown.step.name == "verify" and "Who has place of birth Brazil and not award" in str(shown.shown)
            return None if late else found

        everybody(session, answer)
        assert Counter(one.state for one in queries(session)) == {"kept": 4, "open": 1, "out": 1}
    first = derive(path)
    # Three other questions, two settled ones of ours, and two of a cluster in which one is still open.
    assert first == AddedBlocks("WebQs", 1, added=2, there=0, questions=4, waiting=2, unpaired=0, unused=1)
    with opened(path) as session:
        everybody(session, RomqaPeople())
    second = derive(path)
    assert second == AddedBlocks("WebQs", 1, added=1, there=2, questions=5, waiting=0, unpaired=2, unused=0)
    assert derive(path) == AddedBlocks("WebQs", 1, added=0, there=3, questions=5, waiting=0, unpaired=2, unused=0)
    records = open_records(path)
    asked = {one["item_id"]: one["question"] for one in records.of(QUERY, kept=True)}
    blocks = records.of(BLOCK)
    assert {one["other_id"] for one in blocks} == {other_id for other_id, _ in OTHER}
    for one in blocks:
        theirs = "b" if one["ours"] == "a" else "a"
        assert one["questions"] == {one["ours"]: asked[one["parent_id"]], theirs: dict(OTHER)[one["other_id"]]}


def test_the_sides_are_drawn(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path, [made_cluster(number, 4) for number in range(10)])
    lines = ["query_id\tquery", *(f"o{n}\tother question number {n}" for n in range(60))]
    (tmp_path / "other.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with opened(path) as session:
        everybody(session, RomqaPeople())
    found = derive(path)
    assert isinstance(found, AddedBlocks)
    assert (found.added, found.unused) == (40, 20)
    sides = Counter(one["ours"] for one in open_records(path).of(BLOCK))
    # 40 fair draws: at most 6 on one side has a probability of 8.4e-6.
    assert min(sides.values()) > 6


def test_whoever_wrote_or_verified_a_question_does_not_rate_it(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path, [made_cluster(0)], raters=2)
    people_done(tmp_path)
    names = ("ana", "bia", "caio", "davi")
    records = open_records(path)
    done = {one["item_id"]: {one["by"], *(each["by"] for each in one["verifications"])} for one in records.units}
    blocks = records.of(BLOCK)
    assert len(blocks) == 3
    for one in blocks:
        [rating] = one["ratings"]
        assert {rating["by"]} == {*names} - done[one["parent_id"]]
        assert rating[one["ours"]] == 2
        assert rating["b" if one["ours"] == "a" else "a"] == 4
    # A second rater is nobody of these four.
    assert check(path, "localhost") == ["nobody here may take 3 tasks of the round rate"]
    with opened(path) as session:
        assert everybody(session, RomqaPeople(), ["eva"]) == 3
    assert states(path, BLOCK) == {("kept", None): 3}


def test_deriving_says_what_is_missing_or_has_no_effect(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path, compare=None, raters=None)
    with pytest.raises(ConfigError, match="there is no set to compare the questions with; add  compare:"):
        derive(path)
    path = romqa_workspace(tmp_path)
    for options in ({"files": [tmp_path / "x.jsonl"]}, {"languages": ["en"]}, {"release": tmp_path}):
        with pytest.raises(QuatiPoolError, match=r"--(file|choices|release): questions of romqa are only put next to"):
            derive(path, **options)  # type: ignore[arg-type]
    nothing = derive(path)
    assert nothing == AddedBlocks("WebQs", 1, added=0, there=0, questions=0, waiting=0, unpaired=0, unused=3)
    for text, problem in (("w1\t?!\n", "'w1' has no words; remove it"), ("w1\tWho\u202e?\n", "control characters")):
        (tmp_path / "other.tsv").write_text(f"query_id\tquery\n{text}", encoding="utf-8")
        with pytest.raises(InputError, match=problem):
            derive(path)


@pytest.mark.parametrize("change", [("w1\t", "w9\t"), ("w1\twho are", "w1\twhat are")])
def test_questions_are_put_next_to_those_of_one_set(tmp_path: Path, change: tuple[str, str]) -> None:
    path = romqa_workspace(tmp_path)
    people_done(tmp_path)
    other = tmp_path / "other.tsv"
    before = other.read_text(encoding="utf-8")
    other.write_text(before.replace(*change), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"'w1' .* is not in that file, or has other words there; put back the file"):
        derive(path)
    # More questions of the same set may come.
    other.write_text(f"{before}w4\twho plays the organ\n", encoding="utf-8")
    found = derive(path)
    assert isinstance(found, AddedBlocks)
    assert (found.added, found.there) == (1, 3)


def test_refusals_have_the_reasons_of_their_round(tmp_path: Path) -> None:
    path = romqa_workspace(tmp_path, ONE)
    with opened(path) as session:
        ana = sign_in(session, "ana")
        shown = step(session, ana)
        assert shown.refusals == ("unnatural", "unclear", "other")
        answer = Refused("says_more")
        with pytest.raises(Exception, match="'says_more' is no reason to refuse this"):
            work.refuse(session, ana, shown.item, 0, shown.sha, answer.reason, None, nonce())
