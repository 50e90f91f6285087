"""Builds and judges a collection's pool, and adds runs to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

from quati_pool.api.arguments import RunLike, path_or_none, several, source
from quati_pool.api.progress import listener
from quati_pool.api.results import Build, Judging, JudgingPlan, Plan
from quati_pool.api.workspace import Workspace
from quati_pool.errors import ConfigError

if TYPE_CHECKING:
    from quati_pool.processes.base import Engine


class Building(Workspace):
    """What changes a workspace."""

    @overload
    def build(
        self, *, qrels: str | Path | None = None, force: bool = False, engine: Literal["local", "ray"] | None = None,
        workers: int | None = None, address: str | None = None,
    ) -> Build: ...  # fmt: skip
    @overload
    def build(
        self, *, only: str | Iterable[str], qrels: str | Path | None = None, force: bool = False,
        engine: Literal["local", "ray"] | None = None, workers: int | None = None, address: str | None = None,
    ) -> Build | None: ...  # fmt: skip
    def build(
        self,
        *,
        only: str | Iterable[str] = (),
        qrels: str | Path | None = None,
        force: bool = False,
        engine: Literal["local", "ray"] | None = None,
        workers: int | None = None,
        address: str | None = None,
    ) -> Build | None:
        """Runs all systems, pools their results to the depth, and reports how diverse the pool is.

        Writes ``runs/``, ``pool.jsonl.gz`` and ``reports/``, as the command does. What is finished and unchanged is
        reused; after an interruption, call it again.

        Args:
            only: Build only these systems' runs, and those that they read.
            qrels: Grades (TREC qrels or a label file), which add the pool's diversity by relevance.
            force: Whether to build everything again, or what ``only`` names.
            engine: Encodes dense, splade and colbert by worker processes, or on a Ray cluster.
            workers: The engine's workers; by default one per core.
            address: The address of a running Ray cluster.

        Returns:
            The pool and its diversity; None where ``only`` left the pool as it was, as other runs are still to build.

        Raises:
            QuatiPoolError: For a faulty input file, and a system that cannot run, with the reason.

        Example:
            >>> c.build().pairs == len(c.pool())
            True
        """
        from quati_pool.commands.build import build

        with listener(self.progress) as shown:
            result = build(
                self.path, shown, qrels=path_or_none(qrels), force=force, only=several(only),
                workers=_opener(engine, workers, address),
            )  # fmt: skip
        return None if result is None else Build(result)

    def plan(self, *, only: str | Iterable[str] = ()) -> Plan:
        """Estimates what ``build`` would need: time, memory, disk, cost. Builds and writes nothing.

        Args:
            only: Plan only these systems.

        Raises:
            QuatiPoolError: For an invalid pool.yaml, or an unknown system.
        """
        from quati_pool.commands.plan.plan import plan

        return Plan(plan(self.path, only=several(only)))

    @overload
    def judge(
        self, name: str | None = None, *, dry_run: Literal[True], budget: float | None = None, limit: int | None = None,
        reask: int = 2, concurrency: int | None = None, rpm: int | None = None, tpm: int | None = None,
        reread: bool = False, max_passage_tokens: int | None = None, pool: str | Path | None = None,
    ) -> JudgingPlan: ...  # fmt: skip
    @overload
    def judge(
        self, name: str | None = None, *, dry_run: Literal[False] = False, budget: float | None = None,
        limit: int | None = None, reask: int = 2, concurrency: int | None = None, rpm: int | None = None,
        tpm: int | None = None, reread: bool = False, max_passage_tokens: int | None = None,
        pool: str | Path | None = None, adaptive: bool = False,
    ) -> Judging: ...  # fmt: skip
    def judge(
        self,
        name: str | None = None,
        *,
        dry_run: bool = False,
        budget: float | None = None,
        limit: int | None = None,
        reask: int = 2,
        concurrency: int | None = None,
        rpm: int | None = None,
        tpm: int | None = None,
        reread: bool = False,
        max_passage_tokens: int | None = None,
        pool: str | Path | None = None,
        adaptive: bool = False,
    ) -> Judging | JudgingPlan:
        """Grades the pool's pairs that a judge has not graded yet.

        Every verdict is stored as it arrives. After an interruption, or an error, call it again: it asks only about
        pairs without a grade. It may be called from a notebook, whose event loop it does not use.

        Args:
            name: A judge of pool.yaml; may be left out if there is only one.
            dry_run: Whether to ask nothing, and return what would be asked, its tokens, cost and time.
            budget: The most to spend in this run, in US dollars.
            limit: Ask about this many pairs and stop.
            reask: Times to ask again for an answer that cannot be read.
            concurrency: The most calls in flight.
            rpm: The most requests per minute.
            tpm: The most tokens per minute.
            reread: Whether only to read the stored answers by the current rules, and ask nothing.
            max_passage_tokens: Cut longer passages; each label records that its passage was cut.
            pool: Another pool than the workspace's.
            adaptive: Whether to grade the adaptive pool that the judge steers (``pool:`` in pool.yaml) while its grades
                choose the next pairs, and write it.

        Returns:
            The judge's coverage of the pool, and what this run did.

        Raises:
            QuatiPoolError: If there is no such judge or option, or the run could not be finished: an error, a budget
                that is spent, pairs that wait in a batch. Grades so far are kept.
            KeyboardInterrupt: After Ctrl-C, or when the kernel is interrupted, once the calls in flight are finished
                and stored; a second one drops them.

        Example:
            >>> c.judge("lexical").left
            0
        """
        from quati_pool.commands.judge.chosen_judge import JudgeOptions
        from quati_pool.commands.judge.judge import judge
        from quati_pool.commands.judge.plan import plan

        if adaptive and (dry_run or reread or pool is not None):
            raise ConfigError("adaptive chooses the pairs as it asks; leave dry_run, reread and pool out")
        options = JudgeOptions(
            limit, budget, reask, concurrency, rpm, tpm, max_passage_tokens, path_or_none(pool), reread
        )  # fmt: skip
        with listener(self.progress) as shown:
            if dry_run:
                return JudgingPlan(plan(self.path, name, shown, options))
            if adaptive:
                from quati_pool.commands.judge.adaptive import judge_adaptively

                report = judge_adaptively(self.path, name, shown, options)
            else:
                report = judge(self.path, name, shown, options)
        if report.fault is not None:
            raise report.fault
        return Judging(report)

    def add_run(
        self,
        name: str,
        run: RunLike,
        *,
        pool: bool = False,
        family: str | None = None,
        corpus: str | None = None,
        replace: bool = False,
    ) -> Path:
        """Adds a run made elsewhere as a system of the collection.

        The run is written to ``external/<name>.trec.gz``, pool.yaml gets a line for it under ``systems:`` and keeps all
        else byte for byte, and the system's run is built; from then on it is a system like others, for the command line
        too. If the process is killed, call it again. Adding the same run again changes nothing.

        Args:
            name: The system's run tag.
            run: A DataFrame with query_id, doc_id and score, a mapping {query_id: {doc_id: score}}, or the path of a
                TREC run.
            pool: Whether its first documents enter the pool, to be judged. By default it is only measured, and shown in
                the pool's ledger.
            family: The family of related systems that it belongs to.
            corpus: The corpus that was searched, if the collection has several.
            replace: Whether to replace a run of that name with other content.

        Returns:
            The path of the run's file.

        Raises:
            QuatiPoolError: For a run that does not have the form above, or has a doc_id that is not in the corpus; for
                a name that is taken, or a run with other content, unless ``replace``. Nothing is changed then.

        Example:
            >>> c.add_run("copy", c.runs("bm25s")).name
            'copy.trec.gz'
        """
        from quati_pool.commands.add_run import add_run

        with listener(self.progress) as shown:
            return add_run(
                self.path, name, source(run, f"run {name!r}"), shown, pool=pool, family=family, corpus=corpus,
                replace=replace,
            )  # fmt: skip


def _opener(
    engine: Literal["local", "ray"] | None, workers: int | None, address: str | None
) -> Callable[[], Engine] | None:
    """A function that opens the engine, called only if there is work for it; None for no engine."""
    if engine is None:
        return None
    from quati_pool.processes.opening import open_engine

    return partial(open_engine, engine, workers, address)
