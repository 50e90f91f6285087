"""Asks a judge about whole queries with other wordings of its prompt. The answers are kept apart from its grades by
their phase, and from each other by the version of the wording."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property

import numpy as np

from quati_pool.audit.cases import Case
from quati_pool.commands.audit.drawn_cases import DrawnCases, read_cases, write_cases
from quati_pool.commands.audit.grade_inputs import WorkspaceGrades
from quati_pool.commands.audit.graded_pairs import people_of, read_pairs
from quati_pool.commands.audit.queue import AuditQueue
from quati_pool.commands.audit.wordings import Grades, Wordings, compare_wordings
from quati_pool.commands.judge.chosen_judge import ChosenJudge
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import digest, locked, read_counts, stale, write_file
from quati_pool.judging.paraphrases import Paraphrase, paraphrases
from quati_pool.labels.base import Labeler
from quati_pool.labels.labelers import Grading
from quati_pool.project.workspace import Workspace
from quati_pool.stats.hashing import hashes, places

NAME = "paraphrases"
NOT_WANTED = "audit: paraphrases: queries: is 0"
NOTHING_ASKED = "nothing was asked with another wording yet"


class Paraphrasing:
    """The pairs of whole queries that a judge is asked about with other wordings of its prompt."""

    def __init__(self, drawn: DrawnCases, say: Callable[[str], None]) -> None:
        self._drawn = drawn
        self._grading = drawn.grading
        self._settings = drawn.grading.config.audit.paraphrases
        self._path = Workspace(drawn.grading.config.folder).audit(drawn.name, NAME)
        self._say = say

    @cached_property
    def problem(self) -> str | None:
        """Why the judge cannot be asked so; None if it can. Raises ConfigError for a faulty prompt of the user."""
        if not self._settings.queries:
            return NOT_WANTED
        if len(self._drawn.members) > 1:
            return "a consensus has no prompt; audit its judges"
        if self._drawn.members[0].judge.model is None:
            return "it has no prompt"
        if not self.wordings:
            return "no other wording of its prompt is known; name some in pool.yaml: audit: {paraphrases: {prompts: …}}"
        return None

    @cached_property
    def wordings(self) -> list[Paraphrase]:
        """The other wordings, bundled, of the user, and with the examples in reversed order. Raises ConfigError for a
        prompt of the user that cannot be one."""
        model, config = self._drawn.members[0].judge.model, self._grading.config
        assert model is not None
        try:
            return paraphrases(model.prompt, config.folder, self._settings.prompts)
        except QuatiPoolError as error:
            raise ConfigError(f"{config.path}: audit.paraphrases.prompts: {error}") from None

    def reworded(self, chosen: ChosenJudge, wording: Paraphrase) -> ChosenJudge:
        """The judge with another wording of its prompt, under a version of its own."""
        judge = copy.copy(chosen.judge)
        assert judge.model is not None
        judge.model = judge.model.with_prompt(wording.prompt)
        definition = {**chosen.definition, NAME: wording.prompt.definition}
        return replace(chosen, judge=judge, definition=definition, version=digest(definition))

    def kept(self) -> list[Case] | None:
        """The pairs of the workspace, None if there are none for its pool and its judge."""
        return None if stale(self._path, self._drawn.key) is not None else read_cases(self._path)

    def cases(self, *, redraw: bool = False, write: bool = True) -> list[Case]:
        """All pairs of the drawn queries that the judge graded, as they are: those of the workspace, with further
        queries after them where more are wanted. New ones are kept with ``write``."""
        lock = Workspace(self._grading.config.folder).lock(f"audit-{self._drawn.name}-{NAME}")
        # Even a lock is a file.
        with locked(lock, self._say) if write else nullcontext():
            kept = self.kept()
            number = 0 if kept is None else read_counts(self._path)["pairs"]
            if kept is not None and not redraw and number >= self._settings.queries:
                return kept
            number = max(number, self._settings.queries)
            found = self._draw(number, [] if redraw or kept is None else kept)
            if write:
                write_file(self._path, self._drawn.key, {}, lambda partial: write_cases(partial, found, number))
            return found

    def _draw(self, number: int, kept: list[Case]) -> list[Case]:
        """The pairs of ``number`` queries in a random order, after those ``kept``; queries of which people graded all
        pairs come first."""
        graded = self._drawn.graded
        names, query = np.unique(graded.query_ids, return_inverse=True)
        query_ids = names.tolist()
        incomplete = np.bincount(query, weights=np.isnan(graded.people)) > 0
        order = places(hashes(NAME, self._grading.config.seed, query_ids), query_ids)
        order = order[np.argsort(incomplete[order], kind="stable")]
        wanted = list(dict.fromkeys([*(case.query_id for case in kept), *(query_ids[place] for place in order)]))
        new = set(wanted[:number]).difference(case.query_id for case in kept)
        rows = [row for row, query_id in enumerate(graded.query_ids) if query_id in new]
        keys = [(graded.query_ids[row], graded.doc_ids[row]) for row in rows]
        texts = read_pairs(self._grading, set(keys))
        rank = {query_id: place for place, query_id in enumerate(wanted)}
        found = []
        for key, row in sorted(zip(keys, rows, strict=True), key=lambda one: (rank[one[0][0]], one[0][1])):
            shown, people = texts[key].shown, graded.people[row]
            before = int(graded.judge[row])
            found.append(Case(*key, NAME, before, None if np.isnan(people) else int(people), shown, shown, None))
        return [*kept, *found]


def in_queue(cases: Sequence[Case]) -> list[tuple[str, Case]]:
    """Pairs as they are queued, with the name under which their answers are stored."""
    return [(NAME, case) for case in cases]


def compared(
    drawn: DrawnCases, cases: Sequence[Case], queues: Mapping[str, AuditQueue], inputs: WorkspaceGrades
) -> Wordings | str:
    """What the wordings of ``queues``, by name, do to a judge's grades of ``cases``, or why nothing can be said of
    that."""
    grading, model = drawn.grading, drawn.members[0].judge.model
    assert model is not None
    before: Grades = {(case.query_id, case.doc_id): case.before for case in cases}
    others: dict[str, Grades] = {}
    for wording, queue in queues.items():
        grades = ((case, queue.grade(case, case.changed, 0)) for case in cases)
        others[wording] = {(case.query_id, case.doc_id): grade for case, grade in grades if grade is not None}
    others = {name: grades for name, grades in others.items() if grades}
    if not others:
        return NOTHING_ASKED
    if not set(before).intersection(*others.values()):
        return "no pair has a grade under every wording yet"
    config = grading.config
    people = grading.labeler(inputs.settings.people) if inputs.settings.people else people_of(grading)
    by_people = {} if people is None or people.name == drawn.name else _graded(grading, people, before)
    return compare_wordings(
        before, others, by_people, config.grades, inputs.systems, inputs.measure, name=model.prompt.id, seed=config.seed
    )


def _graded(grading: Grading, people: Labeler, pairs: Grades) -> Grades:
    """The grades that people have given these pairs by now."""
    found = {}
    for chunk in grading.pairs():
        wanted = [pair for pair in chunk if (pair.query_id, pair.doc_id) in pairs]
        for one in people.graded(wanted) if wanted else ():
            if one.relevance is not None:
                found[one.query_id, one.doc_id] = one.relevance
    return found
