"""Chat completions by a model in this process, through the same interface as those of a server.

Requests wait until the model is free; one thread then takes all that wait, and answers them in batches of similar
length. Each answer is final as soon as its batch is computed.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from quati_pool.errors import QuatiPoolError
from quati_pool.llm import answers
from quati_pool.llm.answers import Completion, TokenLogprob, Usage
from quati_pool.llm.connection import Counters, Event
from quati_pool.llm.faults import CallError, Stopped
from quati_pool.llm.limits import Limits
from quati_pool.llm.local.chat_prompts import ChatPrompts
from quati_pool.llm.local.engine import Choice, Engine, Generated, Tokens
from quati_pool.llm.options import Options, Request

Mode = Literal["choice", "answer"]

# Requests arrive one by one; a batch begins once none has arrived for this many seconds.
_SETTLED = 0.005


class Grades(NamedTuple):
    """The answers to choose among: the JSON objects whose only ``key`` has one of the ``numbers``, in ascending
    order."""

    key: str
    numbers: Sequence[int]

    @property
    def begun(self) -> str:
        """How each of these answers begins."""
        return f"{{{json.dumps(self.key, ensure_ascii=False)}: "

    @property
    def endings(self) -> list[str]:
        """How they go on: with the number, and with what closes it where the number could go on."""
        texts = [str(number) for number in self.numbers]
        open_ = any(one != other and other.startswith(one) for one in texts for other in texts)
        return [f"{text}}}" for text in texts] if open_ else texts


@dataclass(eq=False)
class _Waiting:
    request: Request
    answer: asyncio.Future[Completion] = field(repr=False)


class LocalClient:
    """A chat client for one model on this machine; see ``ChatClient``.

    With ``grades`` no text is generated: the answer is the likeliest of them, with the probabilities of all; without,
    it is the likeliest text, token by token. ``load`` returns the engine, and a name for the exact weights; it is
    called when the client is prepared, in the thread that runs the model.
    """

    def __init__(
        self,
        model: str,
        options: Options,
        load: Callable[[Callable[[str], None]], tuple[Engine, str]],
        grades: Grades | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self.model = model
        self.options = options
        self.limits = Limits()
        self.counters = Counters()
        self.probes: list[Completion] = []
        self.endpoint_name = "this machine"
        self._load = load
        self._grades = grades
        self._mode: Mode = "answer" if grades is None else "choice"
        self._on_event = on_event or (lambda _: None)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._engine: Engine | None = None
        self._queue: list[_Waiting] = []
        self._arrived = threading.Condition()
        self._stopped = False
        self._closed = False

    @property
    def described(self) -> str:
        assert self._engine is not None
        return f"running {self.model} on {self._engine.device}, mode: {self._mode}"

    @property
    def count(self) -> Callable[[Any], int]:
        """Nothing to compare: the tokens of an answer are those that the model read and wrote."""
        return lambda _: 0

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._loaded: asyncio.Future[None] = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="local-model", daemon=True)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._loop is not None
        self._closed = True
        self.stop()
        if self._thread.ident is not None:
            await self._loop.run_in_executor(None, self._thread.join)

    async def prepare(self, schema: Mapping[str, Any] | None = None) -> None:
        """Loads the model. Raises QuatiPoolError if it cannot be used."""
        self._thread.start()
        await self._loaded

    async def complete(self, request: Request) -> Completion:
        """One answer. Raises CallError if the prompt cannot be asked, Stopped after ``stop``, QuatiPoolError if the
        model fails."""
        assert self._loop is not None
        waiting = _Waiting(request, self._loop.create_future())
        with self._arrived:
            if self._stopped:
                raise Stopped
            self._queue.append(waiting)
            self._arrived.notify()
        self.counters.attempts += 1
        return await waiting.answer

    def stop(self) -> None:
        with self._arrived:
            self._stopped = True
            self._arrived.notify()

    def _say(self, words: str) -> None:
        self._in_loop(self._on_event, Event("note", words))

    def _in_loop(self, action: Callable[..., object], *arguments: Any) -> None:
        assert self._loop is not None
        # The loop waits for this thread before it closes.
        self._loop.call_soon_threadsafe(action, *arguments)

    def _run(self) -> None:
        """The thread of the model: loads it, then answers what waits until the client is stopped."""
        try:
            self._engine, self._weights = self._load(self._say)
            self._prompts = ChatPrompts(self._engine.tokenizer, self.model, thinks=self._mode == "answer")
        except BaseException as error:
            self._in_loop(_fail, self._loaded, error)
            return
        self._in_loop(_resolve, self._loaded, None)
        while waiting := self._take():
            try:
                self._answer(waiting)
            except BaseException as error:
                known = error if isinstance(error, (QuatiPoolError, Stopped)) else _broken(self.model, error)
                for one in waiting:
                    self._in_loop(_fail, one.answer, known)

    def _take(self) -> list[_Waiting]:
        """All requests that wait, once there are any; none once the client was stopped."""
        with self._arrived:
            while not self._queue and not self._stopped:
                self._arrived.wait()
            known = 0
            while not self._stopped and known < len(self._queue):
                known = len(self._queue)
                self._arrived.wait(_SETTLED)
            taken, self._queue = self._queue, []
        if self._stopped:
            for one in taken:
                self._in_loop(_fail, one.answer, Stopped())
            return []
        return taken

    def _answer(self, waiting: Sequence[_Waiting]) -> None:
        assert self._engine is not None
        asked: list[_Waiting] = []
        prompts: list[Any] = []
        for one in waiting:
            try:
                prompts.append(self._prompt(one.request))
                asked.append(one)
            except CallError as error:
                self.counters.ends[error.kind] += 1
                self._in_loop(_fail, one.answer, error)
        if not asked:
            return
        began = time.monotonic()
        for part, completions in self._completions(prompts, began):
            for place, completion in zip(part, completions, strict=True):
                self.counters.ends["200"] += 1
                self._in_loop(_resolve, asked[place].answer, completion)
            if self._stopped:
                raise Stopped

    def _prompt(self, request: Request) -> Choice | Tokens:
        """Raises CallError for a prompt that does not fit into the model's context."""
        assert self._engine is not None
        if self._grades is None:
            prompt = self._prompts.tokens(request.messages)
            self._require_room(len(prompt), self.options.max_tokens, "lower max_tokens, or set max_passage_tokens")
            return prompt
        choice = self._prompts.choice(request.messages, self._grades.begun, self._grades.endings)
        self._require_room(len(choice.prompt), max(map(len, choice.endings)), "set max_passage_tokens")
        return choice

    def _require_room(self, prompt: int, answer: int, remedy: str) -> None:
        assert self._engine is not None
        most = self._engine.context
        if most is not None and prompt + answer > most:
            raise CallError(
                f"the prompt has {prompt:,} tokens, and with {answer:,} for the answer they are more than the "
                f"{most:,} that {self.model} takes; {remedy}",
                "rejected",
            )

    def _completions(self, prompts: Sequence[Any], began: float) -> Iterator[tuple[list[int], list[Completion]]]:
        """The positions of some prompts with their answers, whose seconds are an equal share of the time since the
        answers before them."""
        assert self._engine is not None
        if self._grades is not None:
            scored = self._engine.score(prompts)
            found: Iterator[tuple[list[int], Sequence[Any]]] = ((part, list(likely)) for part, likely in scored)
        else:
            found = self._engine.generate(prompts, self.options.max_tokens, lambda: self._closed)
        for part, results in found:
            if self._closed:
                raise Stopped
            now = time.monotonic()
            seconds, began = (now - began) / len(part), now
            make = self._generated if self._grades is None else self._chosen
            yield part, [make(prompts[place], one, seconds) for place, one in zip(part, results, strict=True)]

    def _chosen(self, choice: Choice, likely: npt.NDArray[np.float64], seconds: float) -> Completion:
        """The likeliest grade, of equally likely ones the lowest."""
        assert self._grades is not None
        best = int(np.argmax(likely))
        # A sum of rounded probabilities may exceed 1 by little.
        logs = [min(float(one), 0.0) for one in likely]
        texts = [str(number) for number in self._grades.numbers]
        # The two others are given, not predicted.
        tokens = [
            TokenLogprob(self._grades.begun, 0.0, []),
            TokenLogprob(texts[best], logs[best], list(zip(texts, logs, strict=True))),
            TokenLogprob("}", 0.0, []),
        ]
        text = f"{self._grades.begun}{texts[best]}}}"
        read, written = len(choice.prompt), len(choice.endings[best])
        return self._completion(answers.Choice(text, None, "stop", tokens), read, written, seconds)

    def _generated(self, prompt: Tokens, generated: Generated, seconds: float) -> Completion:
        assert self._engine is not None
        text = self._engine.tokenizer.decode(
            generated.tokens, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        end = "stop" if generated.ended else "length"
        written = len(generated.tokens) + generated.ended
        return self._completion(answers.Choice(text, None, end, None), len(prompt), written, seconds)

    def _completion(self, choice: answers.Choice, read: int, written: int, seconds: float) -> Completion:
        assert self._engine is not None
        usage = Usage(read, self._engine.shared, written, None)
        return Completion((choice,), self.model, None, self._weights, usage, seconds, 0, self._mode)


def _broken(model: str, error: BaseException) -> QuatiPoolError:
    said = " ".join(str(error).split())[:200]
    return QuatiPoolError(f"model {model!r} failed ({type(error).__name__}: {said}); use another model, or device: cpu")


def _resolve(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
