"""What a judge is still to be asked about in an audit, and its answers so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from quati_pool.audit.base import PairTexts
from quati_pool.audit.cases import Case
from quati_pool.commands.judge.chosen_judge import ChosenJudge
from quati_pool.commands.judge.stored_answers import attempts_of
from quati_pool.judging.base import Judge
from quati_pool.judging.pair import Pair
from quati_pool.judging.prompted_model import Answer, PromptedModel, Task
from quati_pool.labels.base import Graded
from quati_pool.labels.consensus import aggregate_samples
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.records import State
from quati_pool.store.records import AUDITING, Entry, Label, Phase, content_sha

_CHUNK = 64
# By so much the numbers of a repetition's samples are above those of the one before, whatever the judge's samples: are;
# more than that are refused.
_REPETITION = 1_000


@dataclass(frozen=True)
class Ask:
    """Texts to ask a judge about, as it is shown them. ``repetition`` is 0 for texts that a probe changed, or counts
    from 1 how often the pair as it is is asked again."""

    pair: Pair
    content: str
    repetition: int
    probe: str

    @property
    def phase(self) -> Phase:
        return "repeat" if self.repetition else "probe"

    @property
    def key(self) -> tuple[str, int]:
        """The same for all pairs whose answers are the same: a judge that is audited does not look at ids."""
        return self.content, self.repetition

    def stored(self, sample: int) -> int:
        """The number under which a sample, counted from 1, is stored."""
        return max(self.repetition - 1, 0) * _REPETITION + sample


@dataclass(frozen=True, slots=True)
class ProbeTask(Task):
    """A task of an audit; ``samples`` count from 1, so that a repetition is the same request."""

    ask: Ask


def shown_pair(judge: Judge, query_id: str, doc_id: str, shown: PairTexts) -> tuple[Pair, int | None]:
    """The pair as the judge sees it, and the length in characters its passage was cut to, or None."""
    pair = Pair(query_id, doc_id, *shown)
    return judge.model.shown(pair) if judge.model else (pair, None)


def repetition_of(stored: int) -> tuple[int, int]:
    """The repetition of a pair and the number of its sample, both from 1, of a stored sample in phase ``repeat``."""
    return (stored - 1) // _REPETITION + 1, (stored - 1) % _REPETITION + 1


class AuditQueue:
    """The asks of one judge over all probes. ``tasks`` runs in one thread and ``landed`` in another."""

    def __init__(self, chosen: ChosenJudge, cases: Iterable[tuple[str, Case]]) -> None:
        """``cases`` come with the names of their probes, in the order in which they are asked."""
        self.grading = chosen.grading
        self.name = chosen.name
        self.samples = chosen.settings.samples
        self.coverage = LabelCoverage(0)
        self.asked = 0
        self._chosen = chosen
        self._asks: dict[tuple[str, int], Ask] = {}
        for probe, case in cases:
            for shown, repetition in case.asked:
                ask = self._ask(case.query_id, case.doc_id, shown, repetition, probe)
                self._asks.setdefault(ask.key, ask)
        self._known: dict[tuple[str, int], dict[int, tuple[State, int | None]]] = {}
        self._read()
        for ask in self._asks.values():
            if not self._missing(ask):
                self._count(ask)

    @property
    def model(self) -> PromptedModel | None:
        """The language model that is asked; None for a program."""
        return self._chosen.judge.model

    @property
    def total(self) -> int:
        return len(self._asks)

    @property
    def left(self) -> int:
        """How many are still to be asked about."""
        return sum(bool(self._missing(ask)) for ask in self._asks.values())

    def grade(self, case: Case, shown: PairTexts, repetition: int) -> int | None:
        """The judge's grade of texts of a case, aggregated over its samples; None without one."""
        ask = self._ask(case.query_id, case.doc_id, shown, repetition, "")
        return self._graded(ask).relevance

    def tasks(self) -> Iterator[list[Task]]:
        asks = [ask for ask in self._asks.values() if self._missing(ask)]
        for start in range(0, len(asks), _CHUNK):
            yield [ProbeTask(ask.pair, self._missing(ask), ask) for ask in asks[start : start + _CHUNK]]

    def entries(self, task: Task, answers: Sequence[Answer], endpoint: str | None = None) -> list[Entry]:
        assert isinstance(task, ProbeTask)
        ask, model = task.ask, self._chosen.judge.model
        return [
            Entry(
                label=Label(
                    collection=self.grading.config.name,
                    labeler_id=self.name,
                    kind="judge",
                    version=self._chosen.version,
                    query_id=ask.pair.query_id,
                    doc_id=ask.pair.doc_id,
                    content_sha=ask.content,
                    phase=ask.phase,
                    sample=ask.stored(answer.sample),
                    status=answer.verdict.status,
                    relevance=answer.verdict.relevance,
                    rationale=answer.verdict.rationale or answer.verdict.problem,
                    extra={**answer.details, "probe": ask.probe},
                    reading=None if model is None else model.reading.version,
                ),
                attempts=attempts_of(answer, endpoint),
            )
            for answer in answers
        ]

    def halt(self) -> None:
        """Nothing waits for answers here."""

    def landed(self, task: Task, answers: Sequence[Answer]) -> None:
        assert isinstance(task, ProbeTask)
        self.asked += 1
        known = self._known.setdefault(task.ask.key, {})
        for answer in answers:
            known[answer.sample] = (answer.verdict.status, answer.verdict.relevance)
        self._count(task.ask)

    def _ask(self, query_id: str, doc_id: str, shown: PairTexts, repetition: int, probe: str) -> Ask:
        pair, _ = shown_pair(self._chosen.judge, query_id, doc_id, shown)
        return Ask(pair, content_sha(pair.query, pair.text, pair.narrative), repetition, probe)

    def _read(self) -> None:
        """Reads the judge's answers that are stored."""
        chosen, collection = self._chosen, self.grading.config.name
        query_ids = list(dict.fromkeys(ask.pair.query_id for ask in self._asks.values()))
        for label in self.grading.store.current(collection, self.name, chosen.version, query_ids, AUDITING):
            repetition, sample = 0, label.sample
            if label.phase == "repeat":
                repetition, sample = repetition_of(label.sample)
            if (label.content_sha, repetition) in self._asks:
                known = self._known.setdefault((label.content_sha, repetition), {})
                if known.get(sample, (None, None))[0] is not State.ok:
                    known[sample] = (label.status, label.relevance)

    def _missing(self, ask: Ask) -> tuple[int, ...]:
        known = self._known.get(ask.key, {})
        wanted = range(1, self.samples + 1)
        return tuple(sample for sample in wanted if sample not in known or known[sample][0] is not State.ok)

    def _graded(self, ask: Ask) -> Graded:
        samples = self._known.get(ask.key, {})
        aggregate = self._chosen.settings.aggregate
        return aggregate_samples(ask.pair.query_id, ask.pair.doc_id, samples, self.samples, aggregate)

    def _count(self, ask: Ask) -> None:
        self.coverage.add(self._graded(ask))
