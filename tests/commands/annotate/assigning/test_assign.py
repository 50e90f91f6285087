"""What is given out to people: designs, samples that grow, and whose slots they are."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quati_pool.annotation.sampling import hash_unit
from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.assigning.pair_sampling import query_list
from quati_pool.commands.annotate.assigning.training_file import add_training
from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.judge.judge import judge
from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import write_file
from quati_pool.files.runs import write_run
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.records import Ids, Run
from quati_pool.reporting.json_data.annotate import as_data
from quati_pool.reporting.tables.assign import tables
from quati_pool.store.listing import slots
from quati_pool.store.records import Slot
from tests.commands.annotate.people_at_work import answer, collection, pairs, token
from tests.commands.judged import repool


@pytest.fixture
def config(tmp_path: Path, made_url: str) -> Path:
    """40 pairs: 4 queries of 10 passages; on both engines."""
    return collection(tmp_path / "workspace", pairs(4, 10), labels={"url": made_url})


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """The same on SQLite alone, where the engine is no part of what is tested."""
    return collection(tmp_path / "alone", pairs(4, 10))


def there(config: Path) -> list[Slot]:
    with AnnotationSession.open(config) as session:
        return slots(session.store, session.config.name)


def people(config: Path, *names: str) -> None:
    with AnnotationSession.open(config) as session:
        for name in names:
            token(session, name)


def refusal(config: Path, **options: Any) -> str:
    with pytest.raises(QuatiPoolError) as refused:
        assign(config, AssignOptions(**options))
    assert "\n" not in str(refused.value)
    return str(refused.value)


# ---- designs


def test_the_same_command_twice_is_one_design_and_a_larger_sample_adds_only_what_it_has_more(config: Path) -> None:
    first = assign(config, AssignOptions(random="10", overlap=2))
    assert (first.design_id, first.known, first.added_pairs, first.added_slots) == (1, None, 10, 20)
    before = there(config)
    again = assign(config, AssignOptions(random="10", overlap=2))
    assert (again.design_id, again.known, again.added_slots, there(config)) == (None, 1, 0, before)
    larger = assign(config, AssignOptions(random="25", overlap=2))
    assert (larger.design_id, larger.added_pairs, larger.added_slots) == (2, 15, 30)
    assert there(config)[:20] == before
    with AnnotationSession.open(config) as session:
        small, large = session.designs.selections(1), session.designs.selections(2)
        pool = [(q, d) for q in session.pool_view.query_ids for d in session.pool_view.doc_ids(q)]
        designs = session.designs.all()
    # Permanent random numbers: the n smallest of the hashes.
    numbers = hash_unit(0, [q for q, _ in pool], [d for _, d in pool])
    smallest = {pool[row] for row in numbers.argsort()[:25]}
    assert {(one.query_id, one.doc_id) for one in large} == smallest
    assert {(one.query_id, one.doc_id) for one in small} < smallest
    assert {one.inclusion for one in small} == {0.25}
    assert {one.inclusion for one in large} == {0.625}
    assert {one.replicates for one in large} == {2}
    assert [(one.method, one.seed, one.frame_pairs) for one in designs] == [("random", 0, 40)] * 2
    assert designs[0].frame_sha == designs[1].frame_sha
    # Nobody is asked a pair more often than was asked for.
    assert set(Counter((slot.query_id, slot.doc_id) for slot in there(config)).values()) == {2}


def test_a_design_of_the_same_options_that_selected_other_pairs_is_another_one(alone: Path, tmp_path: Path) -> None:
    assign(alone, AssignOptions(random="10"))
    with AnnotationSession.open(alone) as session:
        [design], selections = session.designs.all(), session.designs.selections(1)
    other = collection(tmp_path / "other", pairs(4, 10))
    with AnnotationSession.open(other) as session:
        session.designs.create(design, selections[1:], [])
    assert assign(other, AssignOptions(random="10")).design_id == 2
    assert assign(other, AssignOptions(random="10")).known == 2


def test_two_commands_at_once_make_one_design(config: Path) -> None:
    made: list[tuple[int | None, int | None]] = []

    def run() -> None:
        report = assign(config, AssignOptions(everything=True, overlap=2))
        made.append((report.design_id, report.known))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made, key=str) == [(1, None), (None, 1), (None, 1)]
    assert len(there(config)) == 80


def test_a_dry_run_says_the_same_and_writes_nothing(alone: Path) -> None:
    people(alone, "ana", "bia")
    options: dict[str, Any] = {"stratified": 12, "overlap": 2, "to": ("bia", "ana"), "load": 12}
    dry = as_data(assign(alone, AssignOptions(**options, dry_run=True)))
    assert there(alone) == []
    wet = as_data(assign(alone, AssignOptions(**options)))
    differing = {key for key in wet if wet[key] != dry[key]}
    assert differing == {"design", "new", "dry_run"}
    assert wet["people"] == [{"name": "ana", "slots": 12}, {"name": "bia", "slots": 12}]


def test_neither_another_overlap_nor_another_way_of_choosing_gives_a_pair_to_more_people_than_asked(
    alone: Path,
) -> None:
    assign(alone, AssignOptions(random="10"))
    more = assign(alone, AssignOptions(everything=True, overlap=2))
    # 30 pairs twice, 10 once more.
    assert (more.added_pairs, more.added_slots) == (40, 70)
    fewer = assign(alone, AssignOptions(queries=("q0", "q1"), overlap=1))
    assert (fewer.design_id, fewer.known, fewer.added_slots) == (3, None, 0)  # kept for its probabilities
    replicates = Counter((slot.query_id, slot.doc_id) for slot in there(alone))
    assert set(replicates.values()) == {2}
    assert {slot.replicate for slot in there(alone)} == {1, 2}


def test_a_rate_takes_every_pair_with_its_probability(alone: Path) -> None:
    half = assign(alone, AssignOptions(random="0.5", dry_run=True))
    assert as_data(half)["strata"] == [{"stratum": "all", "N": 40, "n": len(half.sample), "inclusion": 0.5}]
    assert as_data(assign(alone, AssignOptions(random="50%", dry_run=True))) == as_data(half)
    # Of 40 pairs at one half the standard deviation is √10 = 3.2.
    assert 10 <= len(half.sample) <= 30


# ---- strata


def test_strata_by_a_judges_grade_hold_all_pairs_and_carry_their_probability(alone: Path, tmp_path: Path) -> None:
    rows = pairs(4, 10)
    gold = "".join(f"{row['query_id']} 0 {row['doc_id']} {int(row['doc_id'][1]) % 3}\n" for row in rows[:35])
    folder = alone.parent
    (folder / "gold.qrels").write_text(gold, encoding="utf-8")
    config = collection(folder, rows, judges={"gold": {"judge": "replay", "path": "gold.qrels"}})
    judge(config, "gold", Listener())
    report = assign(config, AssignOptions(stratified=20, judge="gold", by=("grade",)))
    found = {one.name: (one.pairs, one.selected, one.inclusion) for one in report.strata}
    # Of the digits 0 to 9 the remainders 0, 1, 2 have 4, 3 and 3, of 0 to 4 they have 2, 2 and 1.
    assert {name: values[0] for name, values in found.items()} == {
        "grade=0": 14, "grade=1": 11, "grade=2": 10, "grade=none": 5,
    }  # fmt: skip
    assert sum(values[1] for values in found.values()) == 20
    assert all(inclusion == selected / size for size, selected, inclusion in found.values())
    assert report.notes == ["5 pairs have no grade by gold: they are strata of their own (grade=none)"]
    with AnnotationSession.open(config) as session:
        chosen = session.designs.selections(1)
        (design,) = session.designs.all()
    # Weighted by 1 / inclusion, the sample stands for the whole pool.
    assert sum(1 / one.inclusion for one in chosen) == pytest.approx(40)
    assert design.parameters["judge"] == "gold"
    assert design.parameters["judge_version"]
    usual = assign(config, AssignOptions(stratified=40, judge="gold", dry_run=True))
    assert "query=q0|grade=0|systems=1" in [one.name for one in usual.strata]
    without = assign(config, AssignOptions(stratified=20, dry_run=True))
    assert [one.name for one in without.strata] == [f"query=q{n}|systems=1" for n in range(4)]


def test_more_strata_than_pairs_are_refused_or_drawn_without_a_minimum(alone: Path) -> None:
    assert refusal(alone, stratified=3, by=("query",)) == (
        "4 strata with at least 1 pair each need 4 pairs, not 3; "
        "ask for more pairs, stratify by less (--by), or do without a minimum (--minimum 0)"
    )
    report = assign(alone, AssignOptions(stratified=3, by=("query",), minimum=0, dry_run=True))
    assert {one.inclusion for one in report.strata} == {3 / 40}


# ---- who


def test_named_people_get_whole_queries_in_an_order_of_their_own_and_nobody_meets_a_pair_twice(config: Path) -> None:
    people(config, "ana", "bia", "caio")
    report = assign(config, AssignOptions(everything=True, overlap=2, to=("caio", "ana", "bia"), load=30))
    assert report.added_slots == 80
    assert max(report.people.values()) <= 30
    found = there(config)
    assert all(slot.leased_until is None for slot in found)
    takers = Counter((slot.query_id, slot.doc_id, slot.holder) for slot in found)
    assert set(takers.values()) == {1}
    assert {len({slot.holder for slot in found if (slot.query_id, slot.doc_id) == pair}) for pair in {
        (slot.query_id, slot.doc_id) for slot in found}} == {2}  # fmt: skip
    # The order of a query's passages is not the same for two people.
    with AnnotationSession.open(config) as session:
        orders = [list(_graded(session, f"token-of-{name}")) for name in ("ana", "bia", "caio")]
    assert sorted(map(len, orders)) == sorted(report.people.values())
    for order in orders:
        queries = [query_id for query_id, _ in order]
        assert len({*queries}) == sum(a != b for a, b in zip(queries, [None, *queries], strict=False))
    shared = {query_id for query_id, _ in orders[0]} & {query_id for query_id, _ in orders[1]}
    assert any([d for q, d in orders[0] if q == one] != [d for q, d in orders[1] if q == one] for one in shared)


def _graded(session: AnnotationSession, mine: str) -> Iterator[tuple[str, str]]:
    """Grades all that somebody has."""
    number = 0
    while (found := next_item(session, mine)) is not None:
        yield found.query_id, found.doc_id
        submit(session, mine, found, answer(number))
        number += 1


def test_slots_are_the_same_whatever_the_order_of_the_pool_and_of_the_names(tmp_path: Path) -> None:
    made = []
    rows = pairs(4, 10)
    for place, (some, names) in enumerate([(rows, ("ana", "bia")), (rows[20:] + rows[:20], ("bia", "ana"))]):
        config = collection(tmp_path / str(place), some)
        people(config, "ana", "bia")
        assign(config, AssignOptions(random="17", overlap=1, to=names, seed=5))
        made.append(sorted(slot[2:4] + slot[4:] for slot in there(config)))
    assert made[0] == made[1]


def test_a_pair_that_lacks_people_goes_to_those_who_did_not_have_it(alone: Path) -> None:
    people(alone, "ana", "bia", "caio")
    assign(alone, AssignOptions(everything=True, to=("ana",)))
    report = assign(alone, AssignOptions(everything=True, overlap=2, to=("ana", "bia", "caio")))
    assert dict(report.people) == {"bia": 20, "caio": 20}
    # Of the pairs that ana and bia have, a third person is wanted, and of caio's a third too, who is bia.
    assert refusal(alone, everything=True, overlap=3, to=("ana", "bia", "caio"), load=19).endswith(
        " lacks 1 person, and only 0 of those named may still get it; name more with --to, raise --load, or "
        "lower --overlap"
    )


def test_a_load_limits_what_a_person_takes_of_the_open_queue(alone: Path) -> None:
    people(alone, "ana")
    assign(alone, AssignOptions(everything=True, load=7))
    with AnnotationSession.open(alone) as session:
        assert len(list(_graded(session, "token-of-ana"))) == 7


# ---- a system's first passages


def _run(config: Path, rows: list[tuple[str, str, int]]) -> None:
    """A finished run of the system ``a``; ranks as given."""
    settings = load_config(config)
    queries, docs = Ids(sorted({row[0] for row in rows})), Ids(sorted({row[1] for row in rows}))
    columns = [queries.encode([row[0] for row in rows]), docs.encode([row[1] for row in rows])]
    scores = [float(100 - row[2]) for row in rows]
    run = Run.ranked("a", queries, docs, *columns, np.array(scores, dtype=np.float32))

    def fill(partial: Path) -> dict[str, int]:
        write_run(run, partial)
        return {"rows": len(rows)}

    path = Workspace(settings.folder).run("a")
    write_file(path, {"made": "by a test"}, {}, fill)


def test_the_first_passages_of_a_system_are_those_of_its_run(alone: Path) -> None:
    _run(alone, [(f"q{q}", f"d{9 - rank}", rank) for q in range(4) for rank in range(1, 10)])
    report = assign(alone, AssignOptions(queries=("q1", "q3"), system="a", depth=3))
    assert sorted({(slot.query_id, slot.doc_id) for slot in there(alone)}) == [
        ("q1", "d6"), ("q1", "d7"), ("q1", "d8"), ("q3", "d6"), ("q3", "d7"), ("q3", "d8"),
    ]  # fmt: skip
    assert [(one.name, one.pairs, one.inclusion) for one in report.strata] == [("query=q1", 3, 1.0), ("query=q3", 3, 1)]


def test_passages_of_a_run_that_are_not_pooled_are_named(alone: Path) -> None:
    _run(alone, [("q1", "d1", 1), ("q1", "x1", 2), ("q1", "x2", 3), ("q2", "x9", 1)])
    assert refusal(alone, queries=("q1",), system="a", depth=3) == (
        "2 of 3 pairs in the first 3 of a are not in the pool: q1 x1, q1 x2; pool a to that depth (pool_depth: 3) and "
        "run: quati-pool build"
    )
    assert there(alone) == []


def test_queries_come_from_a_list_or_a_file_of_ids_or_of_queries(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("# chosen\nq1\nq2\n", encoding="utf-8")
    (tmp_path / "queries.tsv").write_text("query_id\tquery\nq1\tonde fica\nq2\tquem foi\n", encoding="utf-8")
    (tmp_path / "headerless.tsv").write_text("q1\tonde fica\nq2\tquem foi\n", encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text('{"query_id": "q1", "query": "a"}\n{"query_id": "q2", "query": "b"}\n')
    for name in ("ids.txt", "queries.tsv", "headerless.tsv", "queries.jsonl"):
        assert query_list(str(tmp_path / name)) == ["q1", "q2"]
    assert query_list("q1, q2,") == ["q1", "q2"]
    with pytest.raises(QuatiPoolError, match="there is no such file"):
        query_list("nowhere.tsv")


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no way": (
        {},
        "choose the pairs in exactly one way: --all, --random, --stratified, --queries, --random-queries, "
        "--pairs-for, --queue, --training or --gold",
    ),
    "two ways": (
        {"everything": True, "random": "3"},
        "choose the pairs in exactly one way: --all, --random, --stratified, --queries, --random-queries, "
        "--pairs-for, --queue, --training or --gold",
    ),
    "a rate above 1": ({"random": "1.5"}, "--random 1.5 is neither a number of pairs nor a rate; give 300, 0.1 or 10%"),
    "a negative number": (
        {"random": "-3"},
        "--random -3 is neither a number of pairs nor a rate; give 300, 0.1 or 10%",
    ),
    "nothing": ({"random": "0"}, "a sample of 0 pairs is empty; ask for at least 1"),
    "too many": ({"random": "41"}, "the pool has 40 pairs to choose from, not 41; ask for at most 40"),
    "an unknown query": ({"queries": ("q1", "q7")}, "the pool has no query 'q7'; there are: q0, q1, q2, q3"),
    "an unknown system": ({"queries": ("q1",), "system": "b"}, "there is no system 'b'; there are: a"),
    "a system without queries": (
        {"everything": True, "system": "a"},
        "--system takes a run's first pairs of some queries; name these with --queries",
    ),
    "an unknown person": (
        {"everything": True, "to": ("ana", "bea")},
        "nobody called 'bea' has an access code; did you mean 'bia'?",
    ),
    "strata by nothing known": (
        {"stratified": 9, "by": ("system",)},
        "there are no strata by 'system'; did you mean 'systems'?",
    ),
    "a grade of nobody": (
        {"stratified": 9, "by": ("grade",)},
        "strata by grade need a judge, and only they use one; give both --judge and grade in --by",
    ),
    "a judge for nothing": (
        {"everything": True, "judge": "gold"},
        "--judge says whose grades to choose by; ask for --stratified N, --pairs-for MEASURE or --queue NAME",
    ),
    "strata for nothing": (
        {"everything": True, "by": ("query",)},
        "--by says how to stratify or to weigh pairs; ask for --stratified N or --pairs-for MEASURE",
    ),
    "an unknown judge": ({"stratified": 9, "judge": "gold"}, "there is no labeler 'gold' in test; "),
    "no query": ({"queries": ()}, "--queries names no query; give ids separated by commas, or a file"),
    "too few people": (
        {"everything": True, "overlap": 3, "to": ("ana", "bia")},
        "each pair needs 3 different people, but only 2 are named; name more, or lower the overlap",
    ),
    "an absurd overlap": (
        {"everything": True, "overlap": 1_000_000}, "an overlap of 1,000,000 is too large; ask for at most 100"
    ),
    "too small a load": (
        {"everything": True, "overlap": 2, "to": ("ana", "bia"), "load": 39},
        "40 pairs × 2 are 80, and 2 people with at most 39 each hold 78; raise the load, name more people, or choose "
        "fewer pairs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", REFUSED)
def test_what_cannot_be_given_out_is_refused_in_one_line_and_nothing_is_written(alone: Path, fault: str) -> None:
    people(alone, "ana", "bia")
    options, message = REFUSED[fault]
    assert message in refusal(alone, **options)
    assert there(alone) == []


def test_somebody_whose_code_was_revoked_gets_nothing_new(alone: Path) -> None:
    people(alone, "ana")
    with AnnotationSession.open(alone) as session:
        session.people.revoke("ana")
    assert refusal(alone, everything=True, to=("ana",)) == (
        "nobody called 'ana' has an access code; run: quati-pool assessors add ana"
    )


def test_a_pool_that_has_changed_gives_another_design_and_keeps_the_slots_there_are(alone: Path) -> None:
    assign(alone, AssignOptions(everything=True))
    repool(alone.parent, pairs(5, 10))
    report = assign(alone, AssignOptions(everything=True))
    assert (report.design_id, report.added_pairs, report.frame_pairs) == (2, 10, 50)


@pytest.mark.parametrize("to", [(), ("ana", "bia")])
def test_pairs_that_left_the_pool_and_came_back_are_given_out_again_by_the_same_command(
    alone: Path, to: tuple[str, ...]
) -> None:
    people(alone, "ana", "bia")
    choice = AssignOptions(everything=True, overlap=2, to=to)
    first = assign(alone, choice)
    repool(alone.parent, pairs(3, 10))
    with AnnotationSession.open(alone) as session:
        # Slots of pairs that left are withdrawn as they come up.
        for name in ("ana", "bia"):
            while (item := next_item(session, f"token-of-{name}")) is not None:
                submit(session, f"token-of-{name}", item, answer(1))
    withdrawn = [slot for slot in there(alone) if slot.state == "withdrawn"]
    assert {slot.query_id for slot in withdrawn} == {"q3"}
    repool(alone.parent, pairs(4, 10))
    back = assign(alone, choice)
    assert (first.frame_sha, back.frame_sha, back.known) == (first.frame_sha, first.frame_sha, None)
    assert (back.added_pairs, back.added_slots) == (10, len(withdrawn))
    live = Counter((slot.query_id, slot.doc_id) for slot in there(alone) if slot.state != "withdrawn")
    assert len(live) == 40
    assert set(live.values()) == {2}
    assert assign(alone, choice).known == first.design_id


def test_a_rate_that_draws_nothing_says_so(alone: Path) -> None:
    report = assign(alone, AssignOptions(random="0.000001"))
    assert (len(report.sample), report.design_id) == (0, None)
    assert tables(report)[0].note == (
        "No pair was chosen, so nothing was added: ask for a higher rate, or for a number of pairs."
    )


def test_more_people_asked_for_than_there_are_is_noted(alone: Path) -> None:
    people(alone, "ana", "bia")
    assert assign(alone, AssignOptions(everything=True, overlap=2, dry_run=True)).notes == []
    assert assign(alone, AssignOptions(everything=True, overlap=3, dry_run=True)).notes == [
        "each pair waits for 3 people, and 2 have a code; for more run: quati-pool assessors add"
    ]
    # 40 pairs twice are 80 slots, of which two people with 30 each take 60.
    assert assign(alone, AssignOptions(everything=True, overlap=2, load=30, dry_run=True)).notes == [
        "2 people with at most 30 pairs each leave 20 of 80 slots; for more people run: quati-pool assessors add"
    ]


def test_training_among_the_chosen_pairs_is_noted(alone: Path) -> None:
    with AnnotationSession.open(alone) as session:
        session.training.add("q0", "d0", 3, "said outright", "caio")
    note = "1 of the chosen pairs are training: people see the known grade before they grade"
    assert assign(alone, AssignOptions(queries=("q0",), dry_run=True)).notes == [note]
    assert assign(alone, AssignOptions(queries=("q1",), dry_run=True)).notes == []


# ---- training


def test_training_is_added_once_and_takes_a_changed_explanation(config: Path, tmp_path: Path) -> None:
    path = tmp_path / "training.tsv"
    header = "query_id\tdoc_id\trelevance\texplanation\n"
    path.write_text(header + "q0\td1\t3\tanswers in full\nq1\td2\tIrrelevant\toff topic\n", encoding="utf-8")
    assert (made := add_training(config, path)).added == made.total == 2
    assert add_training(config, path).added == 0
    path.write_text(header + "q0\td1\t2\tanswers, but unclear\nq1\td2\tIrrelevant\toff topic\n", encoding="utf-8")
    assert add_training(config, path).added == 1
    (tmp_path / "more.jsonl").write_text(
        '{"query_id": "q2", "doc_id": "d1", "relevance": 1, "explanation": "on topic,\\nno \\"answer\\""}\n'
    )
    assert add_training(config, tmp_path / "more.jsonl", dry_run=True).total == 3
    assert add_training(config, tmp_path / "more.jsonl").total == 3
    with AnnotationSession.open(config) as session:
        found = {(one.query_id, one.doc_id): (one.relevance, one.explanation) for one in session.training.all()}
    assert found == {
        ("q0", "d1"): (2, "answers, but unclear"),
        ("q1", "d2"): (0, "off topic"),
        ("q2", "d1"): (1, 'on topic,\nno "answer"'),
    }


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("q0\tx9\t3\tyes", "'q0' 'x9' is not in the pool; take a pair that is"),
        ("q0\td1\t4\tyes", "the grade 4 is not on the scale; give one of 0, 1, 2, 3"),
        ("q0\td1\t\tyes", "there is no grade; give one of 0, 1, 2, 3"),
        ("q0\td1\tgood\tyes", "relevance 'good' is not a grade; expected an integer or one of Irrelevant, Relevant, "),
        ("q0\td1\t3\t ", "the explanation is empty; say why the pair has its grade"),
        ("q9\td2\t3\tyes", "'q9' 'd2' is not in the pool; take a pair that is"),
        ("q0\td0\t3\tyes", "'q0' 'd0' occurs twice; keep one"),
    ],
)
def test_training_at_fault_is_named_by_its_line_and_nothing_is_added(
    alone: Path, tmp_path: Path, row: str, message: str
) -> None:
    path = tmp_path / "training.tsv"
    path.write_text(f"query_id\tdoc_id\trelevance\texplanation\nq0\td0\t1\tgood\n{row}\n", encoding="utf-8")
    with pytest.raises(QuatiPoolError) as refused:
        add_training(alone, path)
    assert str(refused.value).startswith(f"{path}:3: {message}")
    with AnnotationSession.open(alone) as session:
        assert session.training.all() == []


# ---- gold


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gold.tsv", "query_id\tdoc_id\trelevance\nq0\td1\t3\nq1\td2\tIrrelevant\n"),
        ("bare.tsv", "q0\td1\t3\nq1\td2\t0\n"),
        ("gold.csv", "explanation,query_id,doc_id,relevance\n,q0,d1,3\n,q1,d2,0\n"),
        ("gold.jsonl", '{"query_id": "q0", "doc_id": "d1", "relevance": 3}\n'
                       '{"query_id": "q1", "doc_id": "d2", "relevance": "Irrelevant", "explanation": ""}\n'),
    ],
)  # fmt: skip
def test_gold_pairs_need_no_explanation(alone: Path, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    made = add_training(alone, tmp_path / name, gold=True)
    assert (made.pairs, made.added, made.total, made.gold) == (2, 2, 2, True)
    assert add_training(alone, tmp_path / name, gold=True).added == 0
    with AnnotationSession.open(alone) as session:
        found = [(one.query_id, one.doc_id, one.relevance, one.explanation, one.gold) for one in session.training.all()]
    assert found == [("q0", "d1", 3, "", True), ("q1", "d2", 0, "", True)]


def test_a_pair_is_either_gold_or_to_practise_on(alone: Path, tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("query_id\tdoc_id\trelevance\texplanation\nq0\td1\t3\tsaid outright\n", encoding="utf-8")
    for gold in (False, True, False):
        made = add_training(alone, path, gold=gold)
        assert (made.added, made.total) == (1, 1)
        with AnnotationSession.open(alone) as session:
            assert [one.gold for one in session.training.all()] == [gold]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("q0\tx9\t3", "'q0' 'x9' is not in the pool; take a pair that is"),
        ("q0\td1\t4", "the grade 4 is not on the scale; give one of 0, 1, 2, 3"),
        ("q0\td0\t3", "'q0' 'd0' occurs twice; keep one"),
    ],
)
def test_gold_at_fault_is_named_by_its_line_and_nothing_is_added(
    alone: Path, tmp_path: Path, row: str, message: str
) -> None:
    path = tmp_path / "gold.tsv"
    path.write_text(f"query_id\tdoc_id\trelevance\nq0\td0\t1\n{row}\n", encoding="utf-8")
    with pytest.raises(QuatiPoolError) as refused:
        add_training(alone, path, gold=True)
    assert str(refused.value) == f"{path}:3: {message}"
    with AnnotationSession.open(alone) as session:
        assert session.training.all() == []


def test_gold_among_the_chosen_pairs_shows_nobody_its_grade(alone: Path) -> None:
    with AnnotationSession.open(alone) as session:
        session.training.add("q0", "d0", 3, "", "caio", gold=True)
    assert assign(alone, AssignOptions(queries=("q0",), dry_run=True)).notes == []
