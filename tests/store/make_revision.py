"""Makes the databases that ``revisions/`` keeps of each revision: run once, when a revision is new.

    python -m tests.store.make_revision

writes ``<revision>.db`` (SQLite), ``<revision>.sql`` (PostgreSQL) and ``<revision>.json`` (what a
reader gets from either), and refuses to write over those of an earlier day.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quati_pool.records import State
from quati_pool.store.assignments import Assignments
from quati_pool.store.authoring import Authoring
from quati_pool.store.authoring_records import NewEntry, NewItem
from quati_pool.store.database import Store
from quati_pool.store.designs import Designs
from quati_pool.store.people import People
from quati_pool.store.questions import Questions
from quati_pool.store.records import (
    AUDITING,
    Attempt,
    Batch,
    BatchRequest,
    Design,
    Entry,
    FramePair,
    NewSlot,
    QuestionEvent,
    Remark,
    Selection,
)
from quati_pool.store.remarks import Remarks
from quati_pool.store.reveals import Reveals
from quati_pool.store.schema import HEAD
from quati_pool.store.training import TrainingPairs
from tests.store.authoring import LEASE, Rounds, source, taken
from tests.store.cluster import PASSWORD, USER, Cluster, programs
from tests.store.samples import alone, entry, label

FOLDER = Path(__file__).parent / "revisions"
DEFINITION = {"model": "m-2024", "prompt": {"system": "Julgue a passagem…", "grades": [0, 1, 2, 3]}}


def fill(store: Store) -> None:
    """A few labels of every sort."""
    store.register("v1", "judge", DEFINITION)
    store.register("guide-1", "assessor", {"guidelines": "first"})
    unread = Attempt(
        number=1,
        status=State.unparsed,
        answer="NUL \x00, lone \ud800, ação",
        problem="no grade found",
        finish_reason="stop",
        output="text",
        model="m-2024",
        endpoint="http://localhost/v1",
        response_id="r1",
        fingerprint="f1",
        input_tokens=120,
        cached_tokens=64,
        output_tokens=31,
        reasoning_tokens=0,
        cost=0.0125,
        seconds=0.75,
        retries=1,
        extra={"logprobs": [-0.5, None]},
    )
    read = Attempt(number=2, status=State.ok, answer='{"Razão": "…", "Pontuação": 3}', thoughts="ação \x00")
    rich = label(
        relevance=3, rationale="Responde à pergunta", sample=2, extra={"expected_grade": 2.5}, reading="2-0123456789ab"
    )
    store.append([Entry(label=rich, attempts=(unread, read), sharers=(label(doc_id="007", relevance=3),))])
    [failed] = store.append([entry("q2", "7", State.failed)])
    store.append([alone("q2", "7", relevance=2, rereads=failed, reading="2-0123456789ab")])
    store.append([alone("q2", state, state) for state in State])
    store.append([alone("q2", "7", relevance=0), alone("q2", "7", State.truncated)])
    store.append([alone(labeler_id="ana", kind="assessor", version="guide-1", phase="final", assignment_id=4)])
    store.append([alone(labeler_id="ana", kind="assessor", version="guide-1", phase="training")])
    store.append([alone(phase="repeat", relevance=1), alone(phase="probe", relevance=0)])
    batch = Batch(key="k1", collection="pira", labeler_id="gpt", version="v1", endpoint="/v1/chat/completions")
    asked = [BatchRequest(custom_id=f"r{n}", query_id="q9", doc_id=f"d{n}", content_sha="x") for n in range(2)]
    store.prepare_batch(batch, asked)
    store.update_batch("k1", status="submitted", file_id="file-1", batch_id="batch-1", extra={"window": "24h"})
    store.append([entry("q9", "d0")], collected=[("k1", "r0")])
    fill_annotation(store)
    fill_authoring(store)


def fill_annotation(store: Store) -> None:
    """People, slots in every state, training and questions."""
    people, slots, questions = People(store, "pira"), Assignments(store, "pira"), Questions(store, "pira")
    designs, training = Designs(store, "pira"), TrainingPairs(store, "pira")
    people.add("ana", "assessor", "ABCD", "scrypt$1$1$1$salt$hash")
    people.add("bia", "lead", "EFGH", "scrypt$1$1$1$salt$other")
    people.add("caio", "assessor", "JKLM", "scrypt$1$1$1$salt$third")
    people.set("ana", "language", "pt")
    people.sign_in("ana", "5e55", 3600)
    people.sign_in("caio", "5e56", 3600)
    people.revoke("caio")
    people.failed(["ABCD", "127.0.0.1"])
    design = Design(
        method="stratified", seed=7, frame_sha="f00d", frame_pairs=40, strata={"grade=2": [40, 4]}, parameters={"n": 4}
    )
    chosen = [Selection("q1", f"d{n}", "grade=2", 0.1, 1) for n in range(4)]
    frame = [FramePair("q1", f"d{n}", "grade=2", 0.1) for n in range(40)]
    design_id = designs.create(design, chosen, [NewSlot("q1", f"d{n}", 1, 1) for n in range(4)], frame)
    first, second, third, _ = slots.free("ana", "q1")
    for slot in slots.claim("ana", [one.assignment_id for one in (first, second, third)], 1800, {design_id: 3})[:2]:
        status = State.ok if slot.doc_id == "d0" else State.skipped
        given = label(
            "q1", slot.doc_id, status, labeler_id="ana", kind="assessor", version="guide-1", nonce=slot.doc_id
        )
        slots.submit("ana", slot.assignment_id, given, 1800)
    slots.withdraw([third.assignment_id])
    training.drop(training.add("q1", "d9", 1, "only on topic", "bia"))
    training.add("q1", "d9", 2, "answers: NUL \x00, ação", "bia")
    training.add("q1", "d8", 0, "", "bia", gold=True)
    Reveals(store, "pira").add("bia", [("q1", "d0"), ("q1", "d9")])
    repeat = slots.add_repeat("ana", designs.of_repeats(7, 0.05), 1, first)
    assert repeat is not None
    again = label("q1", "d0", labeler_id="ana", kind="assessor", version="guide-1", nonce="again", phase="repeat")
    slots.submit("ana", repeat.assignment_id, again, 1800)
    remarks = Remarks(store, "pira")
    asked_about = {"query_id": "q1", "doc_id": "d1", "thread": "ana"}
    remarks.add(Remark(**asked_about, by="ana", action="asked", text="NUL \x00, ação?", nonce="remark"))
    remarks.add(Remark(**asked_about, by="bia", action="answered", text="Sim."))
    remarks.add(Remark(**asked_about, by="ana", action="read"))
    remarks.add(Remark(**asked_about, by="bia", action="closed"))
    proposed = QuestionEvent(
        by="ana", action="proposed", query="Por quê?", narrative="Causas.", theme="mar", scope="Brasil", type="causa",
        doc_id="d1", comment="primeira", nonce="n1",
    )  # fmt: skip
    asked = questions.add_event(proposed)
    questions.add_event(QuestionEvent(by="bia", action="accepted", question_id=asked, query_id="q10"))


def fill_authoring(store: Store) -> None:
    """Texts and questions in every state, and entries of every action."""
    authoring = Authoring(store, "pira", "tests/rounds", Rounds(assessors=1))
    authoring.add(
        [source(1, "Manguezais: \x1a ação 🦀"), source(2), NewItem("text", "t3", {"text": "Sal"}, 3, drafted_by="v1")]
    )
    task = taken(authoring, "ana")
    authoring.submit("ana", task.task_id, 0, NewEntry({"related": "yes"}, "a1", 2.5, 4.0))
    for number in (1, 2, 3):
        made = NewItem("question", f"s{number}", {"question": "Por quê? <b>"}, 4 - number)
        authoring.submit("ana", task.task_id, 1, NewEntry({"question": "Por quê? <b>"}, f"a{number + 1}"), makes=made)
    authoring.undo("ana", authoring.end("ana", task.task_id, "a5").seq, "a6", LEASE)
    authoring.undo("ana", authoring.end("ana", task.task_id, "a7").seq - 3, "a8", LEASE)
    first = taken(authoring, "bia")
    authoring.submit("bia", first.task_id, 0, NewEntry({"said": "\x1a"}, "b1"))
    authoring.submit("bia", first.task_id, 1, NewEntry({"said": "sense 5"}, "b2"))
    authoring.submit("lea", taken(authoring, "lea").task_id, 0, NewEntry({"said": "corrected"}, "l1"))
    second = taken(authoring, "bia")
    authoring.skip("bia", second.task_id, "b3")
    third = taken(authoring, "bia")
    authoring.refuse("bia", third.task_id, 0, "unclear", "Não se entende.", "b4")
    authoring.give_back(second.task_id, "lea", "l2")


def told_of_authoring(store: Store) -> dict[str, Any]:
    """What a reader gets of all that revision 0009 brought; leases and times aside."""
    authoring = Authoring(store, "pira", "tests/rounds", Rounds(assessors=1))
    items = [asdict(item) for item in authoring.items()]
    entries = [asdict(entry) for some in authoring.entries().values() for entry in some]
    for one in (*items, *entries):
        assert one.pop("created_at").tzinfo is not None
    tasks = [task._replace(leased_until=None if task.leased_until is None else 0.0) for task in authoring.tasks()]
    last = authoring.last("ana")
    return {
        "items": items, "tasks": tasks, "entries": entries, "progress": authoring.progress(), "last": last and last.seq
    }  # fmt: skip


def told_of_annotation(store: Store) -> dict[str, Any]:
    """What a reader gets of all that revision 0002 brought; leases and times aside."""
    people, slots, questions = People(store, "pira"), Assignments(store, "pira"), Questions(store, "pira")
    designs, training = Designs(store, "pira"), TrainingPairs(store, "pira")
    last = slots.last("ana")
    records = {
        "people": [asdict(one) for one in people.all()],
        "session": [asdict(one) for one in [people.signed_in("5e56")] if one],
        "designs": [asdict(one) for one in designs.all()],
        "training": [asdict(one) for one in training.all()],
        "events": [asdict(one) for one in questions.events(1)],
    }
    for event in records["events"]:
        assert event.pop("drafted_by") is None  # nobody could set it when these were kept
    for group in records.values():
        for one in group:
            assert one.pop("created_at").tzinfo is not None
            one["revoked"] = one.pop("revoked_at", None) is not None
    for one in records["training"]:
        if not one["gold"]:  # as are all of earlier revisions
            del one["gold"]
    return {
        **records,
        "selections": [one for design in designs.all() for one in designs.selections(design.design_id or 0)],
        "slots": [slot._replace(leased_until=None)[:-1] for n in range(1, 5) if (slot := slots.slot(n))],
        "last": last and [last[0].assignment_id, last[1].nonce],
        "progress": slots.progress(),
        "questions": [(one.question_id, one.author, one.last.action) for one in questions.current()],
    }


def told_of_repeats(store: Store) -> dict[str, Any]:
    """What a reader gets of all that revision 0006 brought, times aside."""
    remarks = [asdict(one) for one in Remarks(store, "pira").of("ana")]
    for one in remarks:
        assert one.pop("created_at").tzinfo is not None
    slots = Assignments(store, "pira")
    labels = store.table("pira", "ana", "guide-1", ("repeat",)).to_pylist()
    return {"remarks": remarks, "slots": slots.repeats("ana"), "labels": labels, "mine": slots.mine("ana")}


def told_of_frames(store: Store) -> list[Any]:
    """What a reader gets of all that revision 0007 brought."""
    designs = Designs(store, "pira")
    return [designs.frame(design.design_id or 0) for design in designs.all()]


def told(store: Store) -> dict[str, Any]:
    """What a reader gets, as JSON, times aside."""
    tables = {
        f"{name} {version} {phase}": store.table("pira", name, version, (phase,)).to_pylist()
        for name, version in (("gpt", "v1"), ("ana", "guide-1"))
        for phase in ("training", "blind", "revealed", "final")
    }
    history = [
        (asdict(one), [asdict(attempt) for attempt in attempts])
        for pair in (("q1", "d1"), ("q2", "7"))
        for one, attempts in store.history("pira", "gpt", *pair)
    ]
    batches = [asdict(batch) for batch in store.batches("pira")]
    for record in (*batches, *(one for one, _ in history)):
        assert record.pop("created_at").tzinfo is not None
    reserved = {phase: store.table("pira", "gpt", "v1", (phase,)).to_pylist() for phase in ("repeat", "probe")}
    rows = [row for table in (tables, reserved) for some in table.values() for row in some]
    for record in (*rows, *(one for one, _ in history), *(attempt for _, tries in history for attempt in tries)):
        for name in ("nonce", "reading", "rereads", "thoughts"):  # which earlier revisions did not know
            if record.get(name, "") is None:
                del record[name]
    whole = {
        "tables": tables,
        "history": history,
        "labelers": [asdict(one) for one in store.labelers("pira")],
        "definitions": {version: store.definition(version) for version in ("v1", "guide-1")},
        "batches": batches,
        "requests": [asdict(request) for request in store.batch_requests("k1")],
        "annotation": told_of_annotation(store),
        "reserved": reserved,
        "reveals": sorted(Reveals(store, "pira").of("bia")),
        "repeats": told_of_repeats(store),
        "frames": told_of_frames(store),
        "authoring": told_of_authoring(store),
        "audits": store.usage("pira", "gpt", "v1", AUDITING).attempts,
    }
    plain: dict[str, Any] = json.loads(json.dumps(whole))
    return plain


def dump(cluster: Cluster, database: str) -> str:
    """A database as SQL that any later server and driver can run: no psql commands, rows as INSERTs."""
    folder = programs()
    assert folder is not None
    command = [folder / "pg_dump", "--inserts", "--no-owner", "--no-privileges", f"--host={cluster.folder}"]
    environment = {**os.environ, "PGPASSWORD": PASSWORD}
    made = subprocess.run(
        [*command, f"--username={USER}", database], env=environment, check=True, capture_output=True, text=True
    )
    lines = [line for line in made.stdout.splitlines() if line and not line.startswith(("--", "\\"))]
    return "\n".join(lines) + "\n"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    database, script, reading = (FOLDER / f"{HEAD}.{kind}" for kind in ("db", "sql", "json"))
    if database.exists():
        sys.exit(f"{database} is there: a kept database stays as the tool of its day made it")
    with Store.open(f"sqlite:///{database}", FOLDER) as store:
        fill(store)
        reading.write_text(json.dumps(told(store), indent=1) + "\n")
    cluster = Cluster()
    try:
        name = cluster.create()
        with Store.open(cluster.url(name), FOLDER) as store:
            fill(store)
        script.write_text(dump(cluster, name))
    finally:
        cluster.stop()


if __name__ == "__main__":
    main()
