"""Runs many calls, for chat and for embeddings: an event loop in a separate thread, so that the command line, a
notebook and the app can all start it; a reader that stays one chunk of tasks ahead; a writer that makes every
answer durable.

A worker takes the next task only once its last answer is committed, so a killed process loses only the calls in flight
and the commit in progress, regardless of the number of tasks.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from queue import SimpleQueue
from typing import Generic, Protocol, TypeVar

from quati_pool.errors import QuatiPoolError
from quati_pool.llm.chat_client import ChatClient

# Seconds between two checks of a run's progress.
_POLL = 0.2

T = TypeVar("T")
A = TypeVar("A")
T_contra = TypeVar("T_contra", contravariant=True)
A_co = TypeVar("A_co", covariant=True)


class Asker(Protocol[T_contra, A_co]):
    """Answers the tasks of one run."""

    @property
    def client(self) -> ChatClient: ...

    @property
    def error(self) -> QuatiPoolError | None:
        """Why no further call can succeed."""

    @property
    def exhausted(self) -> bool:
        """Whether no further call can be paid for."""

    async def ask(self, task: T_contra) -> Sequence[A_co]:
        """The answers to a task; empty if the client was stopped, or ``exhausted`` or ``error`` was set meanwhile."""


class Runner(Generic[T, A]):
    """Asks about all tasks of ``source``, as many at once as the client's limits allow.

    ``source`` yields chunks of tasks and is read in one thread. ``write`` makes answers durable and is called in
    another, with all answers that have arrived since its last call if ``together``, else with those of one task.
    ``connect`` opens the client, and is not called if there is no task. At most ``limit`` tasks are taken. There are
    ``workers`` workers for each call that may be in flight, since some wait for a retry or a commit. ``halt`` is
    called, perhaps more than once, when no further task will be taken: a ``source`` that waits for answers must end
    then.
    """

    def __init__(
        self,
        source: Iterator[list[T]],
        connect: Callable[[], AbstractAsyncContextManager[Asker[T, A]]],
        write: Callable[[Sequence[tuple[T, Sequence[A]]]], None],
        limit: int | None = None,
        workers: int = 4,
        together: bool = True,
        halt: Callable[[], None] = lambda: None,
    ) -> None:
        self.error: BaseException | None = None
        """The first error."""
        self.interrupted = False
        self._source = source
        self._connect = connect
        self._write = write
        self._left = limit
        self._workers = workers
        self._together = together
        self._halt = halt
        self._asker: Asker[T, A] | None = None
        self._connecting = False
        self._stopped = False
        self._done = threading.Event()
        self._tasks: deque[T] = deque()
        self._answers: SimpleQueue[tuple[tuple[T, Sequence[A]], asyncio.Future[None]] | None] = SimpleQueue()
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="task-reader")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None

    def run(
        self,
        progress: Callable[[], None] = lambda: None,
        interrupted: Callable[[], None] = lambda: None,
        stop: threading.Event | None = None,
        grace: float | None = None,
    ) -> None:
        """Runs to the end, calling ``progress`` regularly. An error is not raised but stored in ``error``.

        After Ctrl-C, or once ``stop`` is set, no call is started and those in flight finish; after Ctrl-C they have
        ``grace`` seconds, if given. A second Ctrl-C drops them. ``interrupted`` is called at the first Ctrl-C.
        """
        threading.Thread(target=self._in_thread, name="llm-calls", daemon=True).start()
        done = False
        while not done:
            try:
                done = self._done.wait(_POLL)
                progress()
            except KeyboardInterrupt:
                if self.interrupted:
                    self._call(self._cancel)
                    continue
                interrupted()
                self._interrupt()
                if grace is not None:
                    self._call(partial(self._cancel_after, grace))
            if stop is not None and stop.is_set() and not done:
                self._interrupt()

    @property
    def limited(self) -> bool:
        """Whether the limit of tasks was reached."""
        return self._left == 0

    def _interrupt(self) -> None:
        self.interrupted = True
        self._stop()

    def _stop(self) -> None:
        self._stopped = True
        self._halt()
        self._call(self._stop_client)

    def _call(self, action: Callable[[], object]) -> None:
        """Calls ``action`` in the event loop; a closed loop has nothing left to stop."""
        if self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(action)

    def _stop_client(self) -> None:
        if self._asker is not None:
            self._asker.client.stop()
        elif self._connecting:
            # Only the request of ``Client.prepare`` is in flight.
            self._cancel()

    def _cancel(self) -> None:
        if self._main is not None:
            self._main.cancel()

    def _cancel_after(self, seconds: float) -> None:
        assert self._loop is not None
        self._loop.call_later(seconds, self._cancel)

    def _in_thread(self) -> None:
        try:
            asyncio.run(self._all())
        except asyncio.CancelledError:
            pass
        except BaseException as error:
            # An exception raised here would be lost with the thread.
            self.error = self.error or error
        self._reader.shutdown()
        self._done.set()

    def _fail(self, error: BaseException) -> None:
        """Ends the run with its first error; calls in flight are paid for, so they finish."""
        self.error = self.error or error
        self._stop()

    async def _all(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        self._more = asyncio.Lock()
        self._ahead = self._read()
        try:
            await self._fill()
            if self._tasks and not self._stopped:
                await self._ask_all()
        finally:
            self._halt()
            # The reader must not outlive the loop that waits for it.
            await asyncio.wait([self._ahead])
            if not self._ahead.cancelled():
                self._ahead.exception()  # marks the exception as retrieved: the chunk is no longer needed

    async def _ask_all(self) -> None:
        assert self._loop is not None
        self._connecting = True
        async with self._connect() as self._asker:
            if self._stopped:
                return
            writer = threading.Thread(target=self._writing, name="answer-writer", daemon=True)
            writer.start()
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(self._workers * self._asker.client.limits.concurrency):
                        group.create_task(self._work(self._asker))
            except* asyncio.CancelledError:
                pass
            finally:
                self._answers.put(None)
                await self._loop.run_in_executor(None, writer.join)

    async def _work(self, asker: Asker[T, A]) -> None:
        """One worker: takes a task, gets its answers and waits for their commit, until there is nothing left to do."""
        assert self._loop is not None
        while True:
            try:
                task = await self._take()
                if task is None:
                    return
                answers = await asker.ask(task)
            except Exception as error:
                self._fail(error)
                return
            if answers:
                committed = self._loop.create_future()
                self._answers.put(((task, answers), committed))
                await committed
            self.error = self.error or asker.error
            if self.error is not None or asker.exhausted:
                self._stop()

    async def _take(self) -> T | None:
        if not self._tasks:
            async with self._more:
                if not self._tasks:
                    await self._fill()
        if self._stopped or not self._tasks or self._left == 0:
            return None
        if self._left is not None:
            self._left -= 1
        return self._tasks.popleft()

    def _read(self) -> asyncio.Future[list[T] | None]:
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._reader, next, self._source, None)

    async def _fill(self) -> None:
        """Adds the next chunk that holds a task, if there is one, and starts reading the one after it."""
        while not self._tasks and not self._stopped:
            chunk = await self._ahead
            if chunk is None:
                return
            self._tasks.extend(chunk)
            self._ahead = self._read()

    def _writing(self) -> None:
        """Commits the answers that have arrived as soon as the previous commit is done."""
        assert self._loop is not None
        open_ = True
        while open_:
            arrived = [self._answers.get()]
            while self._together and not self._answers.empty():
                arrived.append(self._answers.get())
            open_ = None not in arrived
            landed = [item for item in arrived if item is not None]
            if not landed:
                continue
            try:
                self._write([item for item, _ in landed])
            except BaseException as error:
                self._fail(error)
            futures = [future for _, future in landed]
            self._loop.call_soon_threadsafe(_resolve, futures)


def _resolve(futures: Sequence[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
