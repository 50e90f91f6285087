"""The judge ``llm``: asks a language model with a prompt, and reads its verdicts strictly.

Grades come from what the model wrote as its verdict and from nothing else: an unreadable answer is
asked for again with its cause, and what stays unreadable is a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, cast

from pydantic import Field

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.judging import base
from quati_pool.judging.budget import Budget
from quati_pool.judging.expected import expected_grade
from quati_pool.judging.prompts import Prompt, load_prompt
from quati_pool.judging.verdict import Reading, Verdict, judge_choice
from quati_pool.llm.answers import Choice, Completion, Usage
from quati_pool.llm.client import Client, Event
from quati_pool.llm.endpoint import Endpoint
from quati_pool.llm.faults import CallError, ServerDown, Stopped
from quati_pool.llm.limits import Limits
from quati_pool.llm.options import Options, Request
from quati_pool.llm.prices import Price, price_of
from quati_pool.llm.tokens import estimate, truncate
from quati_pool.records import State

# They change how answers are got, not what they are.
_OPERATIONAL = {"api_key_env", "timeout", "concurrency", "rpm", "tpm", "max_passage_tokens", "prices"}
# They are told by what comes of them.
_RESOLVED = {"base_url", "reasoning", "max_tokens", "reasoning_tokens", "temperature", "top_p", "prompt"}


class LlmParameters(Endpoint, Options, Limits):
    prompt: Annotated[str, Field(description="a prompt's id (quati-pool prompts), or its YAML file")]
    seed: Annotated[int | None, Field(description="sent with each call, one higher for each further sample")] = None
    together: Annotated[bool, Field(description="ask for all samples of a pair in one call (the API's n)")] = False
    max_passage_tokens: Annotated[int | None, Field(ge=1, description="cut longer passages to so many tokens")] = None
    prices: Annotated[str | None, Field(description="a YAML of your own prices, relative to pool.yaml")] = None


# Faults that speak of the server, not of what was asked.
_LOST = {"transport", "server", "timeout", "protocol"}


@dataclass(frozen=True, slots=True)
class Task:
    """A pair to ask about, as it is shown, and the samples that are wanted of it."""

    pair: base.Pair
    samples: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Try:
    """One call's answer to one sample, or the call that gave none."""

    verdict: Verdict
    choice: Choice | None
    completion: Completion | None
    fault: CallError | None
    usage: Usage | None
    cost: float | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A sample's verdict, that of its last try, and all its tries."""

    sample: int
    verdict: Verdict
    tries: tuple[Try, ...]
    expected: float | None = None


class LlmJudge(base.Judge):
    """Asks any OpenAI-compatible server; the same pair may get another answer each time it is asked."""

    summary = "a language model behind any OpenAI-compatible API, with a prompt of quati-pool prompts"
    Parameters = LlmParameters
    parameters: LlmParameters

    def __init__(self, parameters: LlmParameters, setting: base.Setting) -> None:
        super().__init__(parameters, setting)
        self.prompt: Prompt = load_prompt(parameters.prompt, setting.folder)
        strangers = sorted(set(self.prompt.scale) - set(setting.grades))
        if strangers:
            raise ConfigError(
                f"the prompt {self.prompt.id} gives the grade {strangers[0]}, which grades: in pool.yaml does not "
                f"have ({', '.join(map(str, sorted(setting.grades)))}); add it, or take another prompt"
            )
        self.endpoint = _part(Endpoint, parameters)
        self.options = _part(Options, parameters)

    def identity(self) -> dict[str, Any]:
        parameters = self.parameters
        told = parameters.model_dump(exclude={*_OPERATIONAL, *_RESOLVED})
        thinks = self.options.thinks(parameters.model)
        return {
            **told,
            "base_url": parameters.base_url.rstrip("/") if parameters.base_url else None,
            "thinks": thinks,
            "most_tokens": self.options.most_tokens(parameters.model),
            # They are not sent to a model that thinks.
            "temperature": None if thinks else parameters.temperature,
            "top_p": None if thinks else parameters.top_p,
            "prompt": self.prompt.definition,
        }

    @property
    def always_alike(self) -> bool:
        """Whether the likeliest answer is asked for, each time."""
        return self.parameters.temperature == 0 and not self.options.thinks(self.parameters.model)

    def shown(self, pair: base.Pair) -> base.Pair:
        """The pair as the model sees it: its passage cut to ``max_passage_tokens``, and without its
        narrative where the prompt does not show it."""
        limit = self.parameters.max_passage_tokens
        # Sizes are estimated here even where tiktoken could count: the cut is the same on every machine.
        if limit is not None:
            pair = pair._replace(text=truncate(pair.text, limit))
        if pair.narrative is not None and not self.prompt.uses_narrative:
            pair = pair._replace(narrative=None)
        return pair

    def price(self, model: str | None = None) -> Price | None:
        """What a token of the model (the judge's own where None) costs, by the user's file or our list;
        None where neither knows."""
        own = self.parameters.prices
        return price_of(model or self.parameters.model, self.setting.folder / own if own else None)

    def client(self, on_event: Callable[[Event], None] | None = None) -> Client:
        return Client(self.endpoint, self.options, _part(Limits, self.parameters), on_event=on_event)

    def bounds(self, request: Request) -> tuple[int, int]:
        """The tokens that a request holds, estimated, and the most that its answers may take."""
        model = self.parameters.model
        return estimate(request.messages, model).tokens, request.n * self.options.most_tokens(model)

    def request(self, pair: base.Pair, sample: int, *, n: int = 1, note: list[dict[str, str]] | None = None) -> Request:
        """The call that asks about a pair; ``note`` continues the conversation after a bad answer."""
        messages = self.prompt.messages(pair.query, pair.text, pair.narrative)
        seed = self.parameters.seed
        return Request(
            messages=[*messages, *note] if note else messages,
            schema=self.prompt.schema(),
            schema_name="verdict",
            n=n,
            seed=None if seed is None else seed + sample - 1,
        )


class Asking:
    """What all calls of one run share: the judge, the client, prices, the budget, how often to ask again."""

    def __init__(
        self,
        judge: LlmJudge,
        client: Client,
        price: Price | None,
        budget: Budget,
        reask: int,
    ) -> None:
        self.judge = judge
        self.client = client
        self.price = price
        self.budget = budget
        self.reask = reask
        self.error: QuatiPoolError | None = None
        """Why no call can succeed any more; whoever runs the asking ends it then."""
        self._lost = 0

    async def ask(self, task: Task) -> list[Answer]:
        """One answer for every sample of the task; fewer where the run was stopped, its budget is spent or
        ``error`` came between."""
        first: dict[int, Try] = {}
        if self.judge.parameters.together and len(task.samples) > 1:
            first = await self._together(task)
        answers = []
        for sample in task.samples:
            answer = await self._sample(task.pair, sample, first.get(sample))
            if answer is not None:
                answers.append(answer)
        return answers

    async def _together(self, task: Task) -> dict[int, Try]:
        request = self.judge.request(task.pair, task.samples[0], n=len(task.samples))
        tries = await self._call(request)
        # A server that takes no n gives one choice; the other samples are asked one by one.
        return dict(zip(task.samples, tries, strict=False))

    async def _sample(self, pair: base.Pair, sample: int, first: Try | None) -> Answer | None:
        tries = [first] if first else []
        note = None
        while not tries or (_readable_again(tries[-1]) and len(tries) <= self.reask):
            if tries:
                last = tries[-1]
                said = last.choice.text if last.choice else None
                note = self.judge.prompt.reask(said or "", last.verdict.problem or "")
            found = await self._call(self.judge.request(pair, sample, note=note))
            if not found:
                break
            tries.append(found[0])
        if not tries:
            return None
        last = tries[-1]
        return Answer(sample, last.verdict, tuple(tries), expected_of(last, sorted(self.judge.prompt.scale)))

    async def _call(self, request: Request) -> list[Try]:
        """One try a choice; none where the run was stopped, the budget is spent or no call can succeed."""
        most = 0.0
        if self.budget.limit is not None or self.judge.parameters.tpm is not None:
            entered, left = self.judge.bounds(request)
            request = replace(request, estimated_tokens=entered + left)
            most = (self.price and self.price.cost(Usage(entered, 0, left, 0))) or 0.0
        if not await self.budget.reserve(most):
            return []
        cost = 0.0
        try:
            completion = await self.client.complete(request)
            # A server that tells no usage leaves the cost unknown; the budget takes it at its highest.
            known = self.price.cost(completion.usage) if self.price and completion.usage else None
            cost = most if known is None else known
            self._lost = 0
        except Stopped:
            return []
        except QuatiPoolError as error:
            self.error = self.error or error
            return []
        except CallError as fault:
            self._watch(fault)
            return [failed(fault)]
        finally:
            self.budget.settle(most, cost)
        return tries_of(completion, known, self.judge.prompt.reading)

    def _watch(self, fault: CallError) -> None:
        """Gives up once so many calls in a row were lost, each with all its retries, that the rest of the
        pool would be lost too."""
        self._lost = self._lost + 1 if fault.kind in _LOST else 0
        if self._lost > 2 * self.judge.parameters.concurrency and self.error is None:
            self.error = ServerDown(
                f"{self._lost} calls in a row got no answer from {self.client.endpoint_name} ({fault.words}); "
                "see to the server and run the same command again: what is finished is kept"
            )


def expected_of(made: Try, scale: Sequence[int]) -> float | None:
    """The mean grade under the model's own probabilities, where the server told them."""
    choice = made.choice
    if choice is None or not choice.logprobs or made.verdict.span is None:
        return None
    return expected_grade(choice.logprobs, choice.text or "", made.verdict.span, scale)


def tries_of(completion: Completion, cost: float | None, reading: Reading) -> list[Try]:
    """One try a choice. Usage and cost are told for the whole call, and booked to its first choice."""
    tries = []
    for place, choice in enumerate(completion.choices):
        verdict = judge_choice(choice.text, choice.refusal, choice.finish_reason, reading)
        first = place == 0
        tries.append(
            Try(verdict, choice, completion, None, completion.usage if first else None, cost if first else 0.0)
        )
    return tries


def failed(fault: CallError) -> Try:
    """A call that gave no answer. One that the server would not take costs nothing; what a provider asks
    for one that broke off, or for a filtered prompt, is not known."""
    status = State.refused if fault.kind == "content_filter" else State.failed
    cost = 0.0 if fault.kind == "rejected" else None
    return Try(Verdict(status, problem=fault.words), None, None, fault, None, cost)


def _readable_again(last: Try) -> bool:
    """Whether another answer may be readable: a refusal or a failed call is not asked again."""
    return last.verdict.status in (State.unparsed, State.off_scale, State.truncated)


def _part(model: type[Any], parameters: LlmParameters) -> Any:
    """The parameters that belong to one of the models they inherit from."""
    fields: Mapping[str, Any] = {name: getattr(parameters, name) for name in model.model_fields}
    return cast("Any", model(**fields))
