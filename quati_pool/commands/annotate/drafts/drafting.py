"""``quati-pool questions draft``: a model drafts questions, which people accept, edit or refuse."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quati_pool.commands.annotate.drafts.checking import Checks, HeldBack
from quati_pool.commands.annotate.drafts.drafters import drafter, registered_drafter
from quati_pool.commands.annotate.drafts.homes import HeldBackError, Home, NewDraft, home_of
from quati_pool.commands.annotate.drafts.report import DraftReport, Outcome, write_outcomes
from quati_pool.commands.annotate.drafts.requests import DraftRequests, DraftSource, prompt_language, writing_prompt
from quati_pool.commands.annotate.drafts.taxonomy import MOST_PLANNED, TaxonomyPlan, combinations
from quati_pool.commands.annotate.questions.writing import writing_questions
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.llm_runs import check_budget
from quati_pool.commands.model_answers.asking import Answerer, Answers, ask, chosen_answerer
from quati_pool.errors import ConfigError
from quati_pool.files.artifacts import digest, file_digest, locked_output
from quati_pool.llm.answer_prompts import AnswerPrompt
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace

ORIGINS = ("passages", "taxonomy", "clusters")
"""What drafts may be written from; which of them, depends on the pool.yaml."""

_KINDS = {"passages": "passage", "taxonomy": "taxonomy", "clusters": "logical"}


@dataclass(frozen=True)
class DraftOptions:
    """What to draft from, by which model (a judge of pool.yaml), and from how many sources, the first ones of an order
    that does not depend on earlier runs. ``budget``: US dollars, None for no limit."""

    origin: str
    model: str
    count: int
    budget: float | None = None


class Drafting:
    """A session that a model drafts questions for."""

    def __init__(self, session: AnnotationSession, options: DraftOptions) -> None:
        self.session = session
        self.options = options
        config = session.config
        self.answerer: Answerer = chosen_answerer(config, options.model)
        self.home: Home = home_of(session, options.origin)
        self.kind = _KINDS[options.origin]
        workspace = Workspace(config.folder)
        name = f"{options.model}-{options.origin}"
        self.path = workspace.drafts(name)
        self.journal = workspace.drafting(f"{options.model}.jsonl")
        self.plan_path = workspace.drafting(f"{name}.plan.jsonl")

    def requests(self, sources: Sequence[DraftSource]) -> DraftRequests:
        return DraftRequests(self.options.origin, self.kind, self.home.languages, self.home.texts, sources)

    def extend(self, plan: TaxonomyPlan, added: Collection[str], held_back: Mapping[str, str]) -> None:
        """Plans some more drafts for the taxonomy; ``added`` and ``held_back`` as in ``TaxonomyPlan.extend``."""
        room = self.options.count - len(plan.planned)
        plan.extend(self.session.config, self.session.questions.current(), added, held_back, room)

    def planned(self, plan: TaxonomyPlan) -> list[DraftSource]:
        """The sources of the run that are planned by now."""
        language = prompt_language(self.home.languages)
        return [one.source(language) for one in plan.planned[: self.options.count]]

    def ids(self, requests: DraftRequests) -> dict[str, str]:
        """The id in the collection of the draft from each source, which follows from the key of its request."""
        keys = {one: self.answerer.key(requests.request(one)) for one in requests.ids}
        return {one: digest({"collection": self.session.config.name, "draft": key}) for one, key in keys.items()}

    def known(self, sources: Sequence[DraftSource]) -> dict[str, bool | HeldBack]:
        """As of ``Home.known``, for the drafts that this model writes from these sources."""
        version, _ = drafter(self.answerer, self.prompt)
        return self.home.known(self.ids(self.requests(sources)), version)

    def closed(self, sources: Sequence[DraftSource]) -> dict[str, HeldBack]:
        """The sources that take no draft now, and so are not asked about, each with the reason."""
        known = self.known(sources)
        closed = {source: why for source, why in known.items() if isinstance(why, HeldBack)}
        if self.options.origin == "taxonomy":
            there = set(combinations(self.session.config))
            gone = HeldBack("gone", "brief", words="the taxonomy has no such combination any more")
            closed |= {one.source_id: gone for one in sources if one.place not in there and one.source_id not in known}
        return closed

    @property
    def prompt(self) -> AnswerPrompt:
        return writing_prompt(self.kind, self.home.languages)

    def register(self) -> str:
        """Registers the model as a drafter, and returns its version."""
        return registered_drafter(self.session.store, self.answerer, self.prompt)


@contextmanager
def open_drafting(
    config_path: Path, options: DraftOptions, database: str | None, listener: Listener
) -> Iterator[Drafting]:
    """Opens a workspace for drafts. Raises QuatiPoolError where options or the workspace do not fit."""
    check_budget(options.budget)
    if options.count < 1:
        raise ConfigError(f"--n {options.count}: expected at least 1")
    if options.origin not in ORIGINS:
        raise ConfigError(f"--from {options.origin}: expected one of {', '.join(ORIGINS)}")
    if options.origin == "taxonomy" and options.count > MOST_PLANNED:
        raise ConfigError(f"--n {options.count}: expected at most {MOST_PLANNED:,} for a taxonomy")
    with AnnotationSession.open(config_path, database, listener.say) as session:
        yield Drafting(session, options)


def draft(
    config_path: Path,
    options: DraftOptions,
    listener: Listener,
    stop: threading.Event | None = None,
    database: str | None = None,
) -> DraftReport:
    """Asks the model for the drafts that it has not written yet, and adds those that are not held back for people to
    decide on.

    Every draft is in the journal of ``cache/drafts`` before it is added, under an id that follows from what was asked:
    a run that is killed or repeated adds and pays for nothing twice. Which drafts are held back is decided again in
    every run. ``stop``, set from another thread, ends the run as Ctrl-C does.

    Raises QuatiPoolError where nothing can be asked. What ends a run that has begun is in the report.
    """
    with (
        open_drafting(config_path, options, database, listener) as drafting,
        locked_output(_made(drafting.path), listener.say),
    ):
        run = _Run(drafting, listener, stop or threading.Event())
        if options.origin == "taxonomy":
            run.by_taxonomy()
        else:
            run.settle(drafting.home.sources(options.count))
        config = drafting.session.config
        provenance = {"collection": config.name, "config": file_digest(config.path)}
        write_outcomes(drafting.path, run.report, provenance)
        run.report.path = drafting.path
        return run.report


def _late(outcome: Outcome, late: Mapping[str, HeldBack]) -> Outcome:
    """What became of a draft that could not be added after all."""
    return replace(outcome, status="held_back", waits=False, held=late[outcome.source_id])


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


class _Run:
    def __init__(self, drafting: Drafting, listener: Listener, stop: threading.Event) -> None:
        options, answerer = drafting.options, drafting.answerer
        self.drafting = drafting
        self.listener = listener
        self.stop = stop
        self.report = DraftReport(options.model, answerer.parameters.model, options.origin, options.count)
        self._drafter = drafting.register()
        self._seen: dict[str, str] = {}
        """The source of each draft_id: the same request is one draft, of the first source that leads to it."""

    def by_taxonomy(self) -> None:
        """Asks in waves: each combination gets at most one draft in a wave, which the next request for it shows."""
        plan = TaxonomyPlan(self.drafting.plan_path)
        settled = 0
        while True:
            sources = self.drafting.planned(plan)
            if len(sources) > settled:
                if not self.settle(sources[settled:]):
                    return
                settled = len(sources)
            if settled >= self.drafting.options.count:
                return
            outcomes, field = self.report.outcomes, self.drafting.home.texts[0].field
            added = {one.source_id for one in outcomes if one.status in ("added", "there")}
            held = {one.source_id: one.draft[field] for one in outcomes if one.held and one.draft}
            self.drafting.extend(plan, added, held)
            plan.save()

    def settle(self, sources: Sequence[DraftSource]) -> bool:
        """Asks for the drafts of these sources, and adds what is not held back; whether all were asked for."""
        if not sources:
            return True
        drafting = self.drafting
        closed = drafting.closed(sources)
        requests = drafting.requests([source for source in sources if source.source_id not in closed])
        budget = drafting.options.budget
        left = None if budget is None else budget - self.report.spent
        answers = ask(requests, drafting.answerer, drafting.journal, self.listener, left, self.stop)
        self.report.count(answers, len(requests.ids), budget, "draft", "all drafts")
        with writing_questions(drafting.session):
            new, outcomes = self._outcomes(requests, answers)
            late = drafting.home.add(new, self._drafter)
        became = {one.source_id: one if one.source_id not in late else _late(one, late) for one in outcomes}
        became |= {one: Outcome(one, "held_back", held=why) for one, why in closed.items()}
        self.report.outcomes += [became[source_id] for source_id in dict.fromkeys(one.source_id for one in sources)]
        return self.report.error is None

    def _outcomes(self, requests: DraftRequests, answers: Answers) -> tuple[list[NewDraft], list[Outcome]]:
        """The drafts to add, and what becomes of each."""
        home = self.drafting.home
        ids = self.drafting.ids(requests)
        known, checks = home.known(ids, self._drafter), Checks(home.there())
        new: list[NewDraft] = []
        outcomes = []
        for source_id, source in requests.sources.items():
            if source_id in answers.failed:
                state, _, problem = answers.failed[source_id].partition(": ")
                outcomes.append(Outcome(source_id, "failed", state=state, problem=problem))
                continue
            if source_id not in answers.values:
                outcomes.append(Outcome(source_id, "not_asked"))
                continue
            draft_id = ids[source_id]
            texts = {
                text.field: " ".join(written.split()) if text.role == "question" else written
                for text, written in zip(requests.texts, answers.values[source_id], strict=True)
            }
            held = self._repeated(source_id, draft_id, texts)
            if held is None:
                waits = known.get(source_id)
                if isinstance(waits, bool):
                    outcomes.append(Outcome(source_id, "there", draft_id, waits, texts))
                    continue
                held = waits
            content: Mapping[str, Any] = {}
            if held is None:
                try:
                    content = home.content(source, texts)
                    held = checks.held_back(home.questions(content), source.texts)
                except HeldBackError as error:
                    held = error.held
            if held is not None:
                outcomes.append(Outcome(source_id, "held_back", draft_id, draft=texts, held=held))
                continue
            checks.keep(home.questions(content))
            new.append(NewDraft(draft_id, source, content))
            outcomes.append(Outcome(source_id, "added", draft_id, True, texts))
        return new, outcomes

    def _repeated(self, source_id: str, draft_id: str, texts: Mapping[str, str]) -> HeldBack | None:
        """Whether another source of this run has led to the very same request, and so to the same draft."""
        if self._seen.setdefault(draft_id, source_id) == source_id:
            return None
        field = next(iter(texts))
        return HeldBack("repeats", field, 1.0, texts[field])
