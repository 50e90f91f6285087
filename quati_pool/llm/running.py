"""One run of asking: an event loop in a thread of its own, so that the command line, a notebook and the
app can all start it; a reader that stays a chunk ahead; a writer that makes every answer durable.

A worker takes the next task only once its last answer is committed, so a process that is killed loses
what was in flight and the one commit under way, however many tasks there are.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from queue import SimpleQueue
from typing import Generic, Protocol, TypeVar

from quati_pool.errors import QuatiPoolError
from quati_pool.llm.budget import Budget
from quati_pool.llm.loop import loop_error

# Workers for each call that may be in flight: those beyond wait for a retry, or for a commit.
_WORKERS = 4

T = TypeVar("T")
A = TypeVar("A")
T_contra = TypeVar("T_contra", contravariant=True)
A_co = TypeVar("A_co", covariant=True)


class Stoppable(Protocol):
    """A client: ``stop`` lets what is in flight finish and begins nothing new; any thread may call it."""

    def stop(self) -> None: ...


class Asker(Protocol[T_contra, A_co]):
    """What all calls of one run share. ``error`` says why no call can succeed any more."""

    @property
    def client(self) -> Stoppable: ...

    @property
    def budget(self) -> Budget: ...

    @property
    def error(self) -> QuatiPoolError | None: ...

    async def ask(self, task: T_contra) -> Sequence[A_co]:
        """The answers to a task; none where the run was stopped, its budget is spent or ``error`` came between."""


class Run(Generic[T, A]):
    """Asks about all tasks of ``source`` once ``start`` is called.

    ``source`` gives chunks of tasks and is read in a thread of its own; ``write`` makes answers durable
    and is called in another, with all that have arrived since its last call; ``connect`` opens the
    client, and is not called where there is no task.
    """

    def __init__(
        self,
        source: Iterator[list[T]],
        connect: Callable[[], AbstractAsyncContextManager[Asker[T, A]]],
        write: Callable[[Sequence[tuple[T, Sequence[A]]]], None],
        concurrency: int,
        limit: int | None = None,
    ) -> None:
        self._source = source
        self._connect = connect
        self._write = write
        self._workers = _WORKERS * concurrency
        self._left = limit
        self.asking: Asker[T, A] | None = None
        self.error: BaseException | None = None
        self.stopped = False
        self.interrupted = False
        self._connecting = False
        self._done = threading.Event()
        self._tasks: deque[T] = deque()
        self._answers: SimpleQueue[tuple[tuple[T, Sequence[A]], asyncio.Future[None]] | None] = SimpleQueue()
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="task-reader")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._in_thread, name="asking", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Whether the run is over, after so many seconds at most."""
        return self._done.wait(seconds)

    def stop(self) -> None:
        """Begins nothing new and lets what is in flight finish; may be called from any thread."""
        self.interrupted = True
        self._stop()

    def _stop(self) -> None:
        self.stopped = True
        self._call(self._stop_client)

    @property
    def limited(self) -> bool:
        """Whether the limit of tasks was reached."""
        return self._left == 0

    def cancel(self) -> None:
        """Drops what is in flight too."""
        self.stopped = True
        self._call(lambda: self._main.cancel() if self._main else None)

    def _call(self, action: Callable[[], object]) -> None:
        loop = self._loop
        if loop is not None and not self._done.is_set():
            loop.call_soon_threadsafe(action)

    def _stop_client(self) -> None:
        if self.asking is not None:
            self.asking.client.stop()
        elif self._main is not None and self._connecting:
            # Nothing is in flight but the question that finds out how to ask.
            self._main.cancel()

    def _in_thread(self) -> None:
        error = loop_error(self._all)
        self.error = self.error or error
        self._reader.shutdown()
        self._done.set()

    async def _all(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        self._more = asyncio.Lock()
        self._ahead = self._read()
        try:
            await self._fill()
            if self._tasks and not self.stopped:
                await self._ask_all()
        finally:
            # The reader must not outlive the loop that waits for it.
            await asyncio.wait([self._ahead])
            if not self._ahead.cancelled():
                self._ahead.exception()  # known of, though nobody asks for that chunk any more

    async def _ask_all(self) -> None:
        assert self._loop is not None
        self._connecting = True
        async with self._connect() as self.asking:
            if self.stopped:
                return
            writer = threading.Thread(target=self._writing, name="answer-writer", daemon=True)
            writer.start()
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(self._workers):
                        group.create_task(self._work(self.asking))
            except* asyncio.CancelledError:
                pass
            finally:
                self._answers.put(None)
                await self._loop.run_in_executor(None, writer.join)

    async def _work(self, asking: Asker[T, A]) -> None:
        """One worker: the next task, its answers, their commit, until there is nothing more to do."""
        assert self._loop is not None
        while True:
            try:
                task = await self._take()
                if task is None:
                    return
                answers = await asking.ask(task)
            except Exception as error:
                # What the others have in flight is paid for, and finishes.
                self.error = self.error or error
                self._stop()
                return
            if answers:
                committed = self._loop.create_future()
                self._answers.put(((task, answers), committed))
                await committed
            self.error = self.error or asking.error
            if self.error is not None or asking.budget.exhausted:
                self._stop()

    async def _take(self) -> T | None:
        if not self._tasks:
            async with self._more:
                if not self._tasks:
                    await self._fill()
        if self.stopped or not self._tasks or self._left == 0:
            return None
        if self._left is not None:
            self._left -= 1
        return self._tasks.popleft()

    def _read(self) -> asyncio.Future[list[T] | None]:
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._reader, next, self._source, None)

    async def _fill(self) -> None:
        """The next chunk that holds a task, if there is one; the one after it is read meanwhile."""
        while not self._tasks and not self.stopped:
            chunk = await self._ahead
            if chunk is None:
                return
            self._tasks.extend(chunk)
            self._ahead = self._read()

    def _writing(self) -> None:
        """Commits what has arrived as soon as the previous commit is back."""
        assert self._loop is not None
        open_ = True
        while open_:
            arrived = [self._answers.get()]
            while not self._answers.empty():
                arrived.append(self._answers.get())
            open_ = None not in arrived
            landed = [item for item in arrived if item is not None]
            if not landed:
                continue
            try:
                self._write([item for item, _ in landed])
            except BaseException as error:
                self.error = self.error or error
                self._stop()
            futures = [future for _, future in landed]
            self._loop.call_soon_threadsafe(_resolve, futures)


def _resolve(futures: Sequence[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
