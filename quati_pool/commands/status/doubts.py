"""What is in doubt about a collection: what failed, what is out of date, and what cannot be known from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from quati_pool.commands.status.labelers import LabelerState
from quati_pool.commands.status.state import WorkspaceState
from quati_pool.records import FAILURES
from quati_pool.text.pluralize import counted, first_of


@dataclass(frozen=True)
class Doubt:
    """A doubt in words, and the command that removes or shows it (without ``quati-pool``), empty where none does."""

    words: str
    command: tuple[str, ...] = ()


def doubts(state: WorkspaceState) -> list[Doubt]:
    """All doubts, those about the foundations first."""
    return [*_faults(state), *_built(state), *_pool(state), *_labels(state), *_outputs(state)]


def _faults(state: WorkspaceState) -> Iterator[Doubt]:
    for fault in state.faults:
        yield Doubt(fault, ("validate", str(state.config.path)))
    if state.database is not None:
        yield Doubt(state.database, ("labels",) if state.former else ("doctor",))


def _built(state: WorkspaceState) -> Iterator[Doubt]:
    for kind in ("out of date", "not checked"):
        systems = [one for one in state.systems if one.state == kind]
        if systems:
            words = f"{first_of([one.run_tag for one in systems])}: {kind} ({systems[0].why})"
            yield Doubt(words, ("build",) if kind == "out of date" else ())
    if state.pool.there and state.pool.state == "out of date":
        yield Doubt(f"the pool: out of date ({state.pool.why})", ("build",))


def _pool(state: WorkspaceState) -> Iterator[Doubt]:
    if state.labels.unreadable is not None:
        yield Doubt(state.labels.unreadable)
    if without := state.queries_without_pairs:
        yield Doubt(f"{counted(len(without), 'query has', 'queries have')} no pairs in the pool: {first_of(without)}")
    if state.pool.without_text:
        yield Doubt(
            f"{counted(state.pool.without_text, 'pooled pair has', 'pooled pairs have')} a passage without text: no "
            "judge is asked about them (texts: in pool.yaml names a file of them)"
        )


def _labels(state: WorkspaceState) -> Iterator[Doubt]:
    labels = state.labels
    for name, problem in labels.problems.items():
        yield Doubt(f"{name} cannot be read: {problem}")
    for one in labels.labelers:
        yield from _labeler(one, state.blocked.get(one.name))
    main = next((one for one in labels.labelers if one.name == labels.main.name), None)
    if main is not None and main.irrelevant:
        irrelevant = counted(len(main.irrelevant), "query has", "queries have")
        yield Doubt(f"{irrelevant} no relevant passage under {main.name}: {first_of(main.irrelevant)}")
    if waiting := labels.slots.get("open"):
        yield Doubt(f"{counted(waiting, 'assignment is', 'assignments are')} still open", ("annotate",))
    independent = [one for one in labels.with_grades if not one.members]
    judges = [one.name for one in independent if one.grader == "llm"]
    if judges and all(one.grader in ("llm", "program") for one in independent):
        yield Doubt(f"no person has graded, so how far {first_of(judges)} can be trusted is not known")
    if state.pool.there and len(independent) > 1 and not labels.common:
        yield Doubt("no two labelers graded a common pair, so their agreement is not known")


def _labeler(one: LabelerState, blocked: str | None) -> Iterator[Doubt]:
    again = ("judge", one.name) if one.runs else ()
    if blocked is not None and (one.coverage.unasked or one.failures):
        yield Doubt(f"{one.name} cannot be asked here: {blocked}")
    if one.failures:
        states = ", ".join(f"{one.coverage.states[s]:,} {s.value}" for s in FAILURES if one.coverage.states[s])
        yield Doubt(f"{one.name} has no grade of {counted(one.failures, 'pair', 'pairs')} ({states})", again)
    if one.coverage.tied:
        ties = counted(one.coverage.tied, "pair is", "pairs are")
        yield Doubt(f"{one.name}: {ties} tied, and no lead has decided", ("annotate",))
    if one.earlier:
        what = "annotation.version" if one.grader == "people" else "model, prompt or parameters"
        yield Doubt(f"{one.name}: {counted(one.earlier, 'label counts', 'labels count')} no longer, of another {what}")
    if one.unread:
        yield Doubt(f"{one.name}: {counted(one.unread, 'answer was', 'answers were')} read by older rules", again)
    if one.batches:
        waiting = counted(one.in_batches, "request waits", "requests wait")
        yield Doubt(
            f"{one.name}: {waiting} in {counted(one.batches, 'batch', 'batches')}", ("batch", "collect", one.name)
        )


def _outputs(state: WorkspaceState) -> Iterator[Doubt]:
    for one in state.outputs:
        if one.why is not None:
            yield Doubt(f"{one.path.relative_to(state.config.folder)}: {one.why}", one.command)
