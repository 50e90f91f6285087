"""The next command for a collection: faults, build, judges, people, agreement, evaluation, report, export, audit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from quati_pool.commands.annotate.authoring.release import possible_forms
from quati_pool.commands.annotate.authoring.splits import SPLITS_FILE
from quati_pool.commands.audit.stored_audits import was_audited
from quati_pool.commands.status.labelers import LabelerState
from quati_pool.commands.status.outputs import OutputState
from quati_pool.commands.status.state import WorkspaceState
from quati_pool.labels.main_labeler import Candidate, main_labeler
from quati_pool.project.config import JudgeConfig, PeopleConfig
from quati_pool.project.workspace import Workspace
from quati_pool.text.pluralize import counted, first_of

SAMPLE = 100
"""The number of pairs that people are first asked for."""


@dataclass(frozen=True)
class NextStep:
    """A command, without ``quati-pool`` and ``-c``, and why it is next."""

    command: tuple[str, ...]
    why: str


def next_step(state: WorkspaceState) -> NextStep | None:
    """The first step that there is work for; None where all is done."""
    return next(_steps(state), None)


def _steps(state: WorkspaceState) -> Iterator[NextStep]:
    if state.faults and (state.to_build or state.labels.problems or state.only_writing):
        faults = counted(len(state.faults), "thing", "things")
        yield NextStep(("validate", str(state.config.path)), f"{faults} that pool.yaml asks for cannot be done")
    if state.to_build == ["the pool"] and state.config.pool.component.cls.expects and _steering_judge(state):
        yield _steered(state, "the pool is chosen from its grades of all candidates")
    if state.to_build:
        yield NextStep(("build",), f"not built or out of date: {first_of(state.to_build)}")
    if state.database is not None:
        yield NextStep(("labels",) if state.former else ("doctor",), state.database)
    if state.only_writing:
        yield from _writing(state)
        return
    if state.without_texts is None:
        yield from _rounds(state)
        yield from _judges(state)
        yield from _people(state)
    yield from _results(state)
    yield from _exports(state)
    if state.without_texts is None:
        yield from _audits(state)
    yield from _writing(state)


def _writing(state: WorkspaceState) -> Iterator[NextStep]:
    """The rounds in which questions are written, then their release."""
    writing, settings = state.writing, state.config.authoring
    if writing is None or settings is None:
        return
    if not writing.states:
        yield NextStep(("annotate",), "nobody has begun to write questions")
    if writing.waiting:
        yield NextStep(("annotate",), f"tasks of writing wait: {writing.waiting}")
    if writing.to_derive:
        pairs = counted(writing.to_derive, "finished question", "finished questions")
        yield NextStep(("questions", "derive"), f"{pairs} can be put next to others for rating")
    finished = writing.states.get(writing.unit, {}).get("kept", 0)
    forms = possible_forms(settings.make_design(state.config.seed), texts=state.config.release.texts)
    folders = [Workspace(state.config.folder).export(form) for form in forms]
    if finished and folders and not any((folder / SPLITS_FILE).is_file() for folder in folders):
        command = ("questions", "release", "--as", forms[0], "-o", str(folders[0]))
        are = counted(finished, "question is", "questions are")
        yield NextStep(command, f"{are} finished, and exports/ holds no release of them")


def _steering_judge(state: WorkspaceState) -> bool:
    """Whether a judge that can be asked here steers the pool."""
    steered_by = state.config.pool.steered_by
    return isinstance(state.config.judges.get(str(steered_by)), JudgeConfig) and steered_by not in state.blocked


def _steered(state: WorkspaceState, why: str) -> NextStep:
    return NextStep(("judge", str(state.config.pool.steered_by), "--adaptive"), why)


def _rounds(state: WorkspaceState) -> Iterator[NextStep]:
    """The next rounds of an adaptive pool."""
    steered_by, further = state.config.pool.steered_by, state.pool.further
    if steered_by is None or not further:
        return
    pairs = counted(further, "further pair", "further pairs")
    if _steering_judge(state):
        yield _steered(state, f"its grades choose up to {pairs} of the pool")
        return
    if any(one.name == steered_by and one.coverage.complete for one in state.labels.labelers):
        yield NextStep(("build",), f"the grades of {steered_by} choose up to {pairs} of the pool")
    elif isinstance(state.config.judges.get(steered_by), PeopleConfig):
        waiting = f"{steered_by} steers the pool, and has not graded all of its pairs"
        yield NextStep(("annotate",) if state.labels.slots.get("open") else ("assign", "--all"), waiting)


def _judges(state: WorkspaceState) -> Iterator[NextStep]:
    judges = [one for one in state.labels.labelers if one.runs]
    for one in judges:
        if one.batches:
            yield NextStep(("batch", "collect", one.name), f"{one.in_batches:,} of its requests wait in a batch")
    waiting = [one for one in judges if one.coverage.unasked or one.unread]
    for one in waiting:
        if one.name not in state.blocked:
            asked = f"{counted(one.coverage.unasked, 'pair was', 'pairs were')} never asked about"
            yield NextStep(("judge", one.name), asked if one.coverage.unasked else "the rules of reading are newer")
    # A judge that cannot be asked holds nobody up where another labeler has graded everything.
    if waiting and not any(one.coverage.pairs and one.coverage.complete for one in state.labels.labelers):
        yield NextStep(("judge", waiting[0].name), state.blocked.get(waiting[0].name, ""))


def _people(state: WorkspaceState) -> Iterator[NextStep]:
    labels = state.labels
    if labels.slots.get("open"):
        codes = (
            "" if labels.people else "; nobody has an access code yet: quati-pool annotate --lead NAME gives the first"
        )
        yield NextStep(("annotate",), f"{labels.slots['open']:,} assignments are open{codes}")
    independent = [one for one in labels.with_grades if not one.members]
    if all(one.grader in ("llm", "program") for one in independent):
        if labels.slots.get("done"):
            yield NextStep(("annotate",), "the labels that people gave count no longer, and are asked for again")
        number = min(SAMPLE, state.pool.pairs or SAMPLE)
        yield NextStep(("assign", "--random", str(number)), "no person has graded a sample of the pairs")


def _results(state: WorkspaceState) -> Iterator[NextStep]:
    possible = {
        "agree": state.labels.common,
        "evaluate": len(state.labels.with_grades),
        "estimate": state.output("estimate") is not None,
        "report": True,
    }
    for command in possible:
        output = state.output(command)
        if possible[command] and (output is None or output.why is not None):
            yield NextStep(
                (command,), "its files are not there yet" if output is None else f"{output.path.name}: {output.why}"
            )


def _exports(state: WorkspaceState) -> Iterator[NextStep]:
    exports = [one for one in state.outputs if one.export]
    for one in exports:
        if one.why is not None:
            yield NextStep(_allowing(state, one), f"{one.path.name}: {one.why}")
    chosen = _exported(state)
    if chosen is not None and all(one.command[1] == "explorer" for one in exports):
        missing = ("--allow-missing",) if chosen.coverage.pending else ()
        yield NextStep(("export", "qrels", "--labeler", chosen.name, *missing), "nothing was exported yet")


def _audits(state: WorkspaceState) -> Iterator[NextStep]:
    """Judges that ask a language model, once people have graded too."""
    graded = state.labels.with_grades
    if any(one.grader == "people" for one in graded):
        for one in graded:
            judge = one.runs and one.grader == "llm" and one.name not in state.blocked
            if judge and not was_audited(state.config, one.name):
                yield NextStep(("audit", one.name), "no audit says yet what fools it")


def _allowing(state: WorkspaceState, output: OutputState) -> tuple[str, ...]:
    """The command of an export; but for the explorer, it leaves pairs out where its labelers lack grades."""
    if output.command[1] == "explorer":
        return output.command
    pending = any(one.coverage.pending for one in state.labels.labelers if one.name in output.command)
    return (*output.command, "--allow-missing") if pending else output.command


def _exported(state: WorkspaceState) -> LabelerState | None:
    """The labeler to export: the main one of those that graded all pairs or, where none did, of all."""
    graded = state.labels.with_grades
    complete = [one for one in graded if one.coverage.complete]
    candidates = [Candidate(one.name, one.grader, one.graded + one.outside, one.members) for one in complete or graded]
    main = main_labeler(candidates).name
    return next((one for one in complete or graded if main in (None, one.name)), None)
