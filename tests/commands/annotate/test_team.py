"""What leads do on the team page: the same as on the command line, for leads alone, and never without a lead."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quati_pool.annotation.sampling import Stratum
from quati_pool.commands.annotate import team
from quati_pool.commands.annotate.access import sign_in
from quati_pool.commands.annotate.assessors import ensure_lead, listed
from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError, SignedOutError, WrongCodeError
from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.annotate.team import PastedRowsError, ShownStratum
from quati_pool.errors import QuatiPoolError
from quati_pool.reporting.json_data.annotate import as_data
from quati_pool.store.errors import ConflictError
from tests.commands.annotate.people_at_work import answer, assigned, collection, item, pairs, token


class Here(NamedTuple):
    config: Path
    session: AnnotationSession
    lia: str
    ana: str


@pytest.fixture
def here(tmp_path: Path, made_url: str) -> Iterator[Here]:
    """Four queries of ten passages, the lead lia and the assessor ana; on both engines."""
    config = collection(tmp_path / "workspace", pairs(4, 10), labels={"url": made_url})
    with AnnotationSession.open(config) as session:
        yield Here(config, session, token(session, "lia", "lead"), token(session, "ana"))


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Here]:
    """The same on SQLite alone, where the engine is no part of what is tested."""
    config = collection(tmp_path / "alone", pairs(4, 10))
    with AnnotationSession.open(config) as session:
        yield Here(config, session, token(session, "lia", "lead"), token(session, "ana"))


ALL = AssignOptions(everything=True)
COMMANDS: dict[str, Callable[[AnnotationSession, str | None], Any]] = {
    "people": team.people,
    "add_person": lambda *asked: team.add_person(*asked, "caio", "lead"),
    "new_code": lambda *asked: team.new_code(*asked, "lia", "H-lia"),
    "revoke": lambda *asked: team.revoke(*asked, "lia"),
    "release": lambda *asked: team.release(*asked, "ana"),
    "designs": team.designs,
    "withdraw_design": lambda *asked: team.withdraw_design(*asked, 1),
    "design_choices": team.design_choices,
    "preview_design": lambda *asked: team.preview_design(*asked, ALL),
    "create_design": lambda *asked: team.create_design(*asked, ALL),
    "known_pairs": team.known_pairs,
    "add_known_pairs": lambda *asked: team.add_known_pairs(*asked, "q0\td0\t3", gold=True),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_an_assessor_and_a_stranger_may_nothing_of_it(alone: Here, command: str) -> None:
    before = listed(alone.config)
    with pytest.raises(ForbiddenError):
        COMMANDS[command](alone.session, alone.ana)
    for stranger in (None, "", "token-of-eva"):
        with pytest.raises(SignedOutError):
            COMMANDS[command](alone.session, stranger)
    assert [(one.name, one.handle, one.revoked) for one in listed(alone.config)] == [
        (one.name, one.handle, one.revoked) for one in before
    ]
    assert alone.session.designs.all() == []
    assert alone.session.training.all() == []


def test_every_command_of_the_page_is_among_those_that_are_tried() -> None:
    public = {
        name
        for name, value in vars(team).items()
        if callable(value)
        and getattr(value, "__module__", "") == team.__name__
        and name[0].islower()
        and name[0] != "_"
    }
    assert public - {"shown_strata"} == set(COMMANDS)


# ---- people


def test_a_code_from_the_page_signs_in_like_one_of_the_command_line(here: Here) -> None:
    code = team.add_person(here.session, here.lia, "caio", "assessor")
    assert sign_in(here.session, code, "here")[1].name == "caio"
    assert team.people(here.session, here.lia) == listed(here.config)
    (caio,) = [one for one in team.people(here.session, here.lia) if one.name == "caio"]
    assert (caio.role, caio.has_code, caio.handle) == ("assessor", True, code[:4])


@pytest.mark.parametrize(
    "name", ["ana bia", "a\tb", "a" * 65, "../x", "Adjudicated", "-x", "a\u202eb", "a,b", "<b>x y</b>", "Lia", ""]
)
def test_names_are_checked_as_on_the_command_line(alone: Here, name: str) -> None:
    with pytest.raises(QuatiPoolError) as refused:
        team.add_person(alone.session, alone.lia, name, "assessor")
    assert "\n" not in str(refused.value)
    assert [one.name for one in listed(alone.config)] == ["ana", "lia"]


def test_who_has_a_code_gets_no_second_one_by_being_added(alone: Here) -> None:
    with pytest.raises(AnswerError) as refused:
        team.add_person(alone.session, alone.lia, "ana", "lead")
    assert refused.value.reason == "name_taken"
    with pytest.raises(AnswerError, match="there is no role"):
        team.add_person(alone.session, alone.lia, "caio", "owner")  # type: ignore[arg-type]
    assert [(one.name, one.role) for one in listed(alone.config)] == [("ana", "assessor"), ("lia", "lead")]


@pytest.mark.parametrize("graded", [0, 1])
def test_somebody_who_was_here_before_gets_a_code_only_if_it_is_said_that_they_return(alone: Here, graded: int) -> None:
    assigned(alone.session, ("ana",))
    for number in range(graded):
        submit(alone.session, alone.ana, item(alone.session, alone.ana), answer(number))
    team.revoke(alone.session, alone.lia, "ana")
    with pytest.raises(AnswerError, match=rf"ana was here before and has {graded} labels?; is it") as refused:
        team.add_person(alone.session, alone.lia, "ana", "lead")
    assert (refused.value.reason, refused.value.values) == ("name_known", {"name": "ana", "count": graded})
    assert [one.has_code for one in listed(alone.config)] == [False, True]
    code = team.add_person(alone.session, alone.lia, "ana", "assessor", returning=True)
    assert sign_in(alone.session, code, "here")[1].name == "ana"


def test_similar_names_that_are_added_at_once_make_one_person(here: Here) -> None:
    names = ["zoe", "zoe", "ZOE", "Zoe"]
    start = threading.Barrier(len(names))
    refused: list[str | None] = []

    def run(name: str) -> None:
        start.wait()
        try:
            team.add_person(here.session, here.lia, name, "assessor")
        except AnswerError as error:
            refused.append(error.reason)

    threads = [threading.Thread(target=run, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 3
    assert set(refused) <= {"name_taken", "name_alike"}
    assert [one.name.casefold() for one in listed(here.config)].count("zoe") == 1


def test_what_a_revoked_person_still_holds_can_be_opened_later(here: Here) -> None:
    assigned(here.session, ("ana",))
    with pytest.raises(ConflictError):
        team.release(here.session, here.lia, "ana")
    team.revoke(here.session, here.lia, "ana")
    assert team.release(here.session, here.lia, "ana") == 40
    assert team.release(here.session, here.lia, "ana") == 0
    assert item(here.session, here.lia) is not None
    assert not [one for one in listed(here.config) if one.name == "ana" and (one.open or one.has_code)]


def test_a_new_code_replaces_the_old_one_once_and_what_a_person_holds_stays_theirs(here: Here) -> None:
    assigned(here.session)
    assigned(here.session, ("ana",))
    held = item(here.session, here.ana).assignment_id
    first = team.add_person(here.session, here.lia, "caio", "assessor")
    second = team.new_code(here.session, here.lia, "caio", first[:4])
    with pytest.raises(ConflictError):
        team.new_code(here.session, here.lia, "caio", first[:4])
    with pytest.raises(WrongCodeError):
        sign_in(here.session, first, "one")
    assert sign_in(here.session, second, "two")[1].name == "caio"
    code = team.new_code(here.session, here.lia, "ana", "H-ana")
    with pytest.raises(SignedOutError):
        here.session.person(here.ana)
    again, person = sign_in(here.session, code, "three")
    assert (person.name, person.role) == ("ana", "assessor")
    assert item(here.session, again).assignment_id == held


def test_a_new_code_for_who_was_revoked_restores_them(here: Here) -> None:
    team.revoke(here.session, here.lia, "ana")
    (ana,) = [one for one in team.people(here.session, here.lia) if one.name == "ana"]
    assert not ana.has_code
    code = team.new_code(here.session, here.lia, "ana", ana.handle)
    assert sign_in(here.session, code, "here")[1].name == "ana"


def test_a_lead_gives_themselves_no_new_code(alone: Here) -> None:
    with pytest.raises(AnswerError) as refused:
        team.new_code(alone.session, alone.lia, "lia", "H-lia")
    assert refused.value.reason == "own_code"
    assert alone.session.person(alone.lia).name == "lia"


@pytest.mark.parametrize("release", [False, True])
def test_what_a_revoked_person_held_goes_back(here: Here, release: bool) -> None:
    # By hand: 40 slots are ana's for good, 40 anybody's, of which she holds the ten of a query on a lease.
    assigned(here.session, ("ana", None))
    item(here.session, here.ana)
    opened = team.revoke(here.session, here.lia, "ana", release=release)
    assert opened == (40 if release else 0)
    (ana,) = [one for one in team.people(here.session, here.lia) if one.name == "ana"]
    assert ana.open == (0 if release else 40)
    with pytest.raises(SignedOutError):
        here.session.person(here.ana)
    with pytest.raises(QuatiPoolError, match="nobody called 'ana' has a code"):
        team.revoke(here.session, here.lia, "ana")


def test_the_last_lead_stays(here: Here) -> None:
    with pytest.raises(AnswerError) as refused:
        team.revoke(here.session, here.lia, "lia")
    assert refused.value.reason == "last_lead"
    assert here.session.person(here.lia, "lead").name == "lia"
    token(here.session, "leo", "lead")
    team.revoke(here.session, here.lia, "lia")
    with pytest.raises(SignedOutError):
        team.people(here.session, here.lia)


def test_leads_who_revoke_each_other_at_once_leave_one(here: Here) -> None:
    tokens = {"lia": here.lia, "leo": token(here.session, "leo", "lead")}
    start = threading.Barrier(2)
    failed: list[Exception] = []

    def run(lead: str, other: str) -> None:
        start.wait()
        try:
            team.revoke(here.session, tokens[lead], other)
        except QuatiPoolError as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=names) for names in (("lia", "leo"), ("leo", "lia"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(error) for error in failed] == [SignedOutError]
    assert sum(one.has_code and one.role == "lead" for one in listed(here.config)) == 1


def test_the_first_lead_is_made_once_and_an_assessor_is_none(tmp_path: Path, made_url: str) -> None:
    config = collection(tmp_path / "workspace", labels={"url": made_url})
    code = ensure_lead(config, "lia")
    assert code is not None
    with AnnotationSession.open(config) as session:
        assert sign_in(session, code, "here")[1].role == "lead"
        token(session, "ana")
    assert ensure_lead(config, "lia") is None
    with pytest.raises(QuatiPoolError, match="ana has a code as an assessor; name somebody else, or revoke it first"):
        ensure_lead(config, "ana")
    with pytest.raises(QuatiPoolError, match="reads like a path"):
        ensure_lead(config, "../x")


# ---- designs


@pytest.mark.parametrize(
    "options",
    [
        ALL,
        AssignOptions(random="7", overlap=2, to=("ana", "lia"), seed=3),
        AssignOptions(stratified=8, by=("query",)),
        AssignOptions(queries=("q1", "q3"), load=5),
        AssignOptions(random_queries=3, overlap=2),
    ],
)
def test_a_design_of_the_page_is_that_of_the_command_line(alone: Here, tmp_path: Path, options: AssignOptions) -> None:
    """The oracle: ``quati-pool assign`` on an equal workspace."""
    other = collection(tmp_path / "other", pairs(4, 10))
    with AnnotationSession.open(other) as session:
        token(session, "lia", "lead")
        token(session, "ana")
    expected = as_data(assign(other, options))
    previewed = as_data(team.preview_design(alone.session, alone.lia, options))
    assert alone.session.designs.all() == []
    created = team.create_design(alone.session, alone.lia, options)
    assert as_data(created) == expected
    assert previewed == {**expected, "design": None, "new": False, "dry_run": True}
    again = team.create_design(alone.session, alone.lia, options)
    assert (again.design_id, again.known) == (None, created.design_id)
    with AnnotationSession.open(other) as session:
        assert alone.session.designs.selections(1) == session.designs.selections(1)


def test_designs_are_listed_with_what_is_open_and_done(here: Here) -> None:
    assert team.designs(here.session, here.lia) == []
    team.create_design(here.session, here.lia, AssignOptions(queries=("q0",), to=("ana",)))
    team.create_design(here.session, here.lia, AssignOptions(random="20", overlap=2, load=9, seed=5))
    here.session.designs.of_repeats(0, 0.05)  # no design of a lead
    submit(here.session, here.ana, item(here.session, here.ana), answer())
    second, first = team.designs(here.session, here.lia)
    assert (first.method, first.pairs, first.open, first.done, first.to) == ("queries", 10, 9, 1, ("ana",))
    assert (second.method, second.seed, second.overlap, second.load, second.to) == ("random", 5, 2, 9, ())
    assert second.pairs == 20


@pytest.mark.parametrize(
    ("options", "reason", "most"),
    [
        (AssignOptions(everything=True, overlap=3), "overlap_people", 2),
        (AssignOptions(everything=True, overlap=1_000_000), "overlap_people", 2),
        (AssignOptions(everything=True, overlap=2, to=("ana",)), "overlap_named", 1),
    ],
)
@pytest.mark.parametrize("command", [team.preview_design, team.create_design])
def test_no_pair_is_for_more_people_than_there_are(
    alone: Here, command: Callable[..., Any], options: AssignOptions, reason: str, most: int
) -> None:
    with pytest.raises(AnswerError) as refused:
        command(alone.session, alone.lia, options)
    assert (refused.value.reason, refused.value.values) == (reason, {"count": most})
    assert alone.session.designs.all() == []


def test_a_lead_makes_a_design_before_anybody_else_has_a_code(alone: Here) -> None:
    team.revoke(alone.session, alone.lia, "ana")
    assert team.preview_design(alone.session, alone.lia, AssignOptions(everything=True, overlap=10)).overlap == 10
    with pytest.raises(AnswerError) as refused:
        team.preview_design(alone.session, alone.lia, AssignOptions(everything=True, overlap=11))
    assert (refused.value.reason, refused.value.values) == ("overlap_first", {"count": 10})


def test_a_design_is_withdrawn_but_for_what_is_done(here: Here) -> None:
    team.create_design(here.session, here.lia, AssignOptions(queries=("q0",), to=("ana",)))
    team.create_design(here.session, here.lia, AssignOptions(queries=("q1", "q2")))
    submit(here.session, here.ana, item(here.session, here.ana), answer(1))
    on_the_page = item(here.session, here.ana)
    leased = item(here.session, here.lia)
    assert team.withdraw_design(here.session, here.lia, 1) == 9
    assert team.withdraw_design(here.session, here.lia, 1) == 0
    with pytest.raises(ConflictError) as refused:
        submit(here.session, here.ana, on_the_page, answer(2))
    assert refused.value.reason == "withdrawn"
    assert here.session.people.named("ana") is not None
    assert item(here.session, here.ana).query_id != "q0"
    # What somebody took from the queue goes too.
    assert team.withdraw_design(here.session, here.lia, 2) == 20
    with pytest.raises(ConflictError):
        submit(here.session, here.lia, leased, answer(3))
    assert next_item(here.session, here.lia) is None
    assert [(one.open, one.done) for one in team.designs(here.session, here.lia)] == [(0, 0), (0, 1)]
    assert [one.labels for one in listed(here.config)] == [1, 0]
    # The same choice again gives out what was withdrawn, and only that.
    again = team.create_design(here.session, here.lia, AssignOptions(queries=("q0",), to=("ana",)))
    assert (again.known, again.added_slots) == (None, 9)


def test_only_a_design_that_assigns_pairs_can_be_withdrawn(alone: Here) -> None:
    with pytest.raises(AnswerError, match="there is no design 1; there is none yet"):
        team.withdraw_design(alone.session, alone.lia, 1)
    team.create_design(alone.session, alone.lia, ALL)
    repeats = alone.session.designs.of_repeats(0, 0.05)
    with pytest.raises(AnswerError, match="there are: 1"):
        team.withdraw_design(alone.session, alone.lia, 2)
    assert repeats == 2


def test_the_number_of_strata_is_what_a_stratified_sample_has(alone: Here) -> None:
    found = team.design_choices(alone.session, alone.lia)
    made = team.preview_design(alone.session, alone.lia, AssignOptions(stratified=found.pairs))
    assert found.strata == len(made.strata)


def test_a_design_can_be_made_from_what_there_is(alone: Here) -> None:
    team.add_person(alone.session, alone.lia, "caio", "assessor")
    team.revoke(alone.session, alone.lia, "ana")
    found = team.design_choices(alone.session, alone.lia)
    assert (found.pairs, found.judges, found.people, found.seed) == (40, [], ["caio", "lia"], 0)
    assert [query_id for query_id, _ in found.queries] == ["q0", "q1", "q2", "q3"]
    # Without a file of queries; of the usual measures recall cannot be estimated from pairs.
    assert (found.columns, found.measures) == ([], ["nDCG@10", "nDCG@20"])
    seen = alone.session.pool_view.pair("q2", "d0")
    assert seen is not None
    assert dict(found.queries)["q2"] == seen.query


def test_columns_of_queries_and_measures_of_pairs_are_offered(tmp_path: Path) -> None:
    config = collection(tmp_path, pairs(2, 2), measures=["AP", "P@5", "nDCG@10", "RR@10"])
    (tmp_path / "queries.tsv").write_text("query_id\tquery\tnarrative\ttheme\tyear\nq0\ta\t\tsea\t2020\n")
    with AnnotationSession.open(config) as session:
        found = team.design_choices(session, token(session, "lia", "lead"))
    assert (found.columns, found.measures) == (["theme", "year"], ["P@5", "nDCG@10"])


def test_a_list_of_designs_says_what_they_were_drawn_for(workspace: Path) -> None:
    assign(workspace / "pool.yaml", AssignOptions(pairs_for="DCG@3", expect=12))
    assign(workspace / "pool.yaml", AssignOptions(random_queries=3))
    with AnnotationSession.open(workspace / "pool.yaml") as session:
        queries, active = team.designs(session, token(session, "lia", "lead"))
    assert (active.method, active.measure, active.judges, active.strata) == ("active", "DCG@3", (), None)
    assert (queries.method, queries.measure, queries.strata) == ("random-queries", None, None)


def test_a_path_is_no_list_of_queries(alone: Here, tmp_path: Path) -> None:
    """On the command line ``--queries`` may name a file; what a browser sends names none."""
    path = tmp_path / "ids.txt"
    path.write_text("q0\n", encoding="utf-8")
    with pytest.raises(QuatiPoolError, match="the pool has no query"):
        team.preview_design(alone.session, alone.lia, AssignOptions(queries=(str(path),)))


def test_strata_by_a_judges_grade_show_no_single_pair() -> None:
    strata = [
        Stratum("query=q0|grade=2|systems=1", 1, 1, 1.0),
        Stratum("query=q0|grade=3|systems=1", 4, 1, 0.25),
        Stratum("query=q1|grade=2|systems=3-4", 6, 3, 0.5),
    ]
    assert team.shown_strata(strata) == [
        ShownStratum("grade=2", 7, 4, 0.5, 1.0),
        ShownStratum("grade=3", 4, 1, 0.25, 0.25),
    ]
    by_query = [Stratum("query=q1", 3, 1, 1 / 3), Stratum("query=grade%3D2", 3, 1, 1 / 3)]
    assert [one.name for one in team.shown_strata(by_query)] == ["query=grade%3D2", "query=q1"]


# ---- pairs with a known grade


def test_a_stratum_of_pairs_with_their_own_probabilities_shows_their_range() -> None:
    shown = team.shown_strata([Stratum("all", 3, 2, 0.5)], np.array([0.25, 1.0, 0.25]))
    assert shown == [ShownStratum("all", 3, 2, 0.25, 1.0)]


def test_pasted_rows_are_added_once_under_the_leads_name(here: Here) -> None:
    rows = "q0\td0\t3\tsaid outright\nq1\td1\t0\tof something else\n"
    report = team.add_known_pairs(here.session, here.lia, rows, gold=False)
    assert (report.pairs, report.added, report.total, report.assigned) == (2, 2, 2, 0)
    assert team.add_known_pairs(here.session, here.lia, rows, gold=False).added == 0
    with_header = "query_id\tdoc_id\trelevance\r\nq2\td2\t1\r\n"
    assert team.add_known_pairs(here.session, here.lia, with_header, gold=True).added == 1
    assert team.known_pairs(here.session, here.lia) == (2, 1)
    assert {(one.query_id, one.by, one.gold) for one in here.session.training.all()} == {
        ("q0", "lia", False), ("q1", "lia", False), ("q2", "lia", True),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "line", "problem"),
    [
        ("q0\td0\t3\tyes\nq0\td1\t9\tyes", 2, "the grade 9 is not on the scale; give one of 0, 1, 2, 3"),
        ("q0\td0\t3\tyes\n\nq0\td0\t3\tyes", 3, "'q0' 'd0' occurs twice; keep one"),
        ("q0\td99\t3\tyes", 1, "'q0' 'd99' is not in the pool; take a pair that is"),
        ("q0\td0\t3\t ", 1, "the explanation is empty; say why the pair has its grade"),
        (
            "q0\td0\t3\tyes\nq0 d1 3 yes",
            2,
            "1 column; expected 4: query_id <tab> doc_id <tab> relevance <tab> explanation",
        ),
        ("q0\td\u202e0\t3\tyes", 1, "'q0' 'd\\u202e0' is not in the pool; take a pair that is"),
    ],
)
def test_a_faulty_row_is_named_and_nothing_is_added(alone: Here, rows: str, line: int, problem: str) -> None:
    with pytest.raises(PastedRowsError) as refused:
        team.add_known_pairs(alone.session, alone.lia, rows, gold=False)
    assert (refused.value.line, refused.value.problem) == (line, problem)
    assert alone.session.training.all() == []


@pytest.mark.parametrize(
    ("rows", "reason"), [(" \n", "rows_empty"), ("x" * 200_001, "rows_long"), ("q0 d0 3", "rows_no_tab")]
)
def test_no_rows_and_too_many_are_refused(alone: Here, rows: str, reason: str) -> None:
    with pytest.raises(AnswerError) as refused:
        team.add_known_pairs(alone.session, alone.lia, rows, gold=True)
    assert refused.value.reason == reason


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(), max_size=60) | st.text(st.sampled_from('q0d1\t\n\r3"{\ud800\x00\u202e'), max_size=30))
def test_whatever_is_pasted_is_added_or_refused_in_one_line_without_a_path(alone: Here, rows: str) -> None:
    try:
        team.add_known_pairs(alone.session, alone.lia, rows, gold=True)
    except (PastedRowsError, AnswerError) as refused:
        assert "\n" not in str(refused)  # noqa: PT017
        assert "rows.tsv" not in str(refused)  # noqa: PT017
