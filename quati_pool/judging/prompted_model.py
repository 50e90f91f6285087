"""A language model that grades pairs with a prompt: its requests, and the reading of its answers.

After an unreadable answer the model is asked again with the problem; if it stays unreadable, the sample has failed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from quati_pool.judging.distribution import grade_distribution
from quati_pool.judging.pair import Pair, as_fenced
from quati_pool.judging.prompts import Prompt
from quati_pool.judging.verdict import Reading, Verdict, judge_choice
from quati_pool.llm.answers import Choice, Completion, Usage
from quati_pool.llm.budget import Budget
from quati_pool.llm.budgeted_calls import Caller, cost_of, most_of, state_of
from quati_pool.llm.chat_client import ChatClient
from quati_pool.llm.connection import Event
from quati_pool.llm.faults import CallError
from quati_pool.llm.limits import Limits
from quati_pool.llm.options import Options, Request
from quati_pool.llm.prices import Price
from quati_pool.llm.thoughts import ThoughtMarks, marks_of, split
from quati_pool.llm.tokens import truncate
from quati_pool.records import State


@dataclass(frozen=True, slots=True)
class Task:
    """A pair to ask about, as shown to the model, and the numbers of the samples to ask for."""

    pair: Pair
    samples: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Try:
    """One call's answer for one sample, or the failed call; ``notes`` are lines on oddities in the answer."""

    verdict: Verdict
    choice: Choice | None
    completion: Completion | None
    fault: CallError | None
    usage: Usage | None
    cost: float | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A sample's verdict, which is that of its last try, and all its tries; ``details`` are recorded with the grade in
    its label (see ``details_of``)."""

    sample: int
    verdict: Verdict
    tries: tuple[Try, ...]
    details: Mapping[str, Any] = field(default_factory=dict)


class PromptedParameters(Protocol):
    """The parameters that every judge with a prompt has."""

    @property
    def model(self) -> str: ...
    @property
    def thoughts(self) -> ThoughtMarks: ...
    @property
    def max_passage_tokens(self) -> int | None: ...


class PromptedModel(ABC):
    """A language model with the prompt that asks it about pairs, and the reading of its answers."""

    options: Options
    limits: Limits
    """How many calls it answers at once, and how many per minute."""
    together = False
    """Whether all samples of a pair are asked for in one call."""
    seed: int | None = None

    def __init__(self, parameters: PromptedParameters, prompt: Prompt) -> None:
        self.name = parameters.model
        self.prompt = prompt
        self.reading: Reading = prompt.read_with(marks_of(parameters.thoughts))
        self.max_passage_tokens = parameters.max_passage_tokens

    @abstractmethod
    def with_prompt(self, prompt: Prompt) -> PromptedModel:
        """The same model with another prompt."""

    @abstractmethod
    def price(self, model: str | None = None) -> Price | None:
        """The price of ``model`` (by default this one); None if unknown."""

    @abstractmethod
    def client(self, on_event: Callable[[Event], None] | None = None) -> ChatClient:
        """The client for one run. Raises QuatiPoolError where it is clear already that no call can succeed."""

    def shown(self, pair: Pair) -> tuple[Pair, int | None]:
        """The pair as the model sees it, and the number of characters its passage was cut to, or None if it is whole.

        The passage is cut to ``max_passage_tokens``; the narrative is dropped if the prompt does not use it, and
        chat-template tokens are neutralised if the prompt fences texts.
        """
        limit, length = self.max_passage_tokens, len(pair.text)
        # Sizes are estimated even if tiktoken could count, so that the cut is the same on every machine.
        if limit is not None:
            pair = pair._replace(text=truncate(pair.text, limit))
        cut = len(pair.text) if len(pair.text) < length else None
        if pair.narrative is not None and not self.prompt.uses_narrative:
            pair = pair._replace(narrative=None)
        return as_fenced(pair) if self.prompt.fenced else pair, cut

    def request(self, pair: Pair, sample: int, *, n: int = 1, note: list[dict[str, str]] | None = None) -> Request:
        """The call that asks about a pair; ``note`` has the messages that follow an unreadable answer."""
        messages = self.prompt.messages(pair.query, pair.text, pair.narrative)
        return Request(
            messages=[*messages, *note] if note else messages,
            schema=self.prompt.schema(),
            schema_name="verdict",
            n=n,
            seed=None if self.seed is None else self.seed + sample - 1,
        )

    def most_of(self, task: Task) -> list[Usage]:
        """The most tokens that each call about a pair may take, not counting calls that ask again."""
        calls = 1 if self.together else len(task.samples)
        request = self.request(task.pair, task.samples[0], n=len(task.samples) if self.together else 1)
        return [most_of(request, self.options, self.name)] * calls


class Asking(Caller):
    """The state that all calls of one judging run share, including the model and how often to ask again."""

    def __init__(
        self, model: PromptedModel, client: ChatClient, price: Price | None, budget: Budget, reask: int
    ) -> None:
        super().__init__(client, price, budget)
        self.model = model
        self.reask = reask

    async def ask(self, task: Task) -> list[Answer]:
        """One answer for every sample of the task; fewer if the run was stopped, its budget is spent or ``error`` was
        set."""
        first: dict[int, Try] = {}
        if self.model.together and len(task.samples) > 1:
            first = await self._together(task)
        answers = []
        for sample in task.samples:
            answer = await self._sample(task.pair, sample, first.get(sample))
            if answer is not None:
                answers.append(answer)
        return answers

    async def _together(self, task: Task) -> dict[int, Try]:
        request = self.model.request(task.pair, task.samples[0], n=len(task.samples))
        tries = await self._call(request)
        # A server that ignores n returns one choice; the other samples are then asked for one by one.
        return dict(zip(task.samples, tries, strict=False))

    async def _sample(self, pair: Pair, sample: int, first: Try | None) -> Answer | None:
        tries = [first] if first else []
        note = None
        while not tries or (_readable_again(tries[-1]) and len(tries) <= self.reask):
            if tries:
                last = tries[-1]
                said = split((last.choice and last.choice.text) or "", self.model.reading.thoughts).said
                note = self.model.prompt.reask(said, last.verdict.problem or "")
            found = await self._call(self.model.request(pair, sample, note=note))
            if not found:
                break
            tries.append(found[0])
        if not tries:
            return None
        last = tries[-1]
        return Answer(sample, last.verdict, tuple(tries), details_of(last, self.model.reading))

    async def _call(self, request: Request) -> list[Try]:
        """One try per choice; empty if the run was stopped, the budget is spent or no call can succeed."""
        called = await self.call(request)
        if called is None:
            return []
        if called.fault is not None:
            return [failed_try(called.fault)]
        assert called.completion is not None
        return tries_of(called.completion, called.cost, self.model.reading, called.notes)


def details_of(made: Try, reading: Reading) -> dict[str, Any]:
    """What a label records of an answer besides its grade, as JSON.

    If the server gave token probabilities: ``expected_grade``, the mean grade under them; ``distribution``, the
    probability of each grade; ``off_scale``, the probability of anything else. ``aspects``: the further numbers that
    the prompt asks for.
    """
    verdict, choice = made.verdict, made.choice
    details: dict[str, Any] = {}
    if choice is not None and choice.logprobs and verdict.span is not None:
        found = grade_distribution(choice.logprobs, choice.text or "", verdict.span, sorted(reading.scale))
        if found is not None:
            details["expected_grade"] = found.expected
            details["distribution"] = {str(grade): share for grade, share in found.shares.items()}
            details["off_scale"] = found.off_scale
    if verdict.aspects:
        details["aspects"] = dict(verdict.aspects)
    return details


def tries_of(completion: Completion, cost: float | None, reading: Reading, notes: tuple[str, ...] = ()) -> list[Try]:
    """One try per choice. Usage, cost and ``notes`` of the whole call are recorded with its first choice."""
    tries = []
    for place, choice in enumerate(completion.choices):
        verdict = judge_choice(choice.text, choice.refusal, choice.finish_reason, reading, choice.error)
        whole = (completion.usage, cost, (*notes, *completion.notes)) if place == 0 else (None, 0.0, ())
        tries.append(Try(verdict, choice, completion, None, *whole[:2], (*whole[2], *choice.notes)))
    return tries


def failed_try(fault: CallError) -> Try:
    """The try for a call without an answer."""
    return Try(Verdict(state_of(fault), problem=fault.words), None, None, fault, None, cost_of(fault))


def _readable_again(last: Try) -> bool:
    """Whether to ask again because another answer may be readable; not after a refusal or a failed call."""
    return last.verdict.status in (State.unparsed, State.off_scale, State.truncated)
