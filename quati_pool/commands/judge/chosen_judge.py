"""The judge that a command runs: from a workspace, with the command's options applied and its store open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quati_pool.commands.judge.judging_queue import JudgingQueue
from quati_pool.errors import ConfigError
from quati_pool.files.artifacts import digest
from quati_pool.judging.base import Judge
from quati_pool.labels import failures
from quati_pool.labels.base import Graded
from quati_pool.labels.labelers import Grading, judge_definition
from quati_pool.labels.rereading import Rereading, read_again
from quati_pool.llm.faults import FatalError
from quati_pool.llm.secrets import filled, variables
from quati_pool.project.config import JudgeConfig, PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.project.pool_reader import require_texts
from quati_pool.store.database import Store
from quati_pool.store.failed_answers import FailedAnswer, failed_answers
from quati_pool.store.rereading import Owner
from quati_pool.store.upgrade import judges_lock_name


@dataclass(frozen=True)
class JudgeOptions:
    """The settings of a judge that a run may change: only how it asks, never its grades."""

    limit: int | None = None
    budget: float | None = None
    reask: int = 2
    concurrency: int | None = None
    rpm: int | None = None
    tpm: int | None = None
    max_passage_tokens: int | None = None
    pool: Path | None = None
    reread: bool = False
    """Only read the stored answers by the current rules, without any call."""


DEFAULT = JudgeOptions()


def pick_judge(config: PoolConfig, name: str | None) -> str:
    """The name of the judge to run: ``name``, or the only judge. Raises ConfigError if there is none or several."""
    if name is not None:
        return name
    names = [name for name, settings in config.judges.items() if isinstance(settings, JudgeConfig)]
    if len(names) != 1:
        there = f"name one of {', '.join(names)}" if names else "add one, such as  lexical: {judge: lexical}"
        raise ConfigError(f"{config.path}: judges: holds {len(names)} judges; {there}")
    return names[0]


def pick_judges(config: PoolConfig, names: Sequence[str]) -> list[str]:
    """The judges ``names``, each once; the only judge where none is named, as for ``pick_judge``."""
    return list(dict.fromkeys(names)) or [pick_judge(config, None)]


@dataclass(frozen=True)
class ChosenJudge:
    """A judge of a workspace with its open store; ``definition`` is everything that determines its grades."""

    grading: Grading
    name: str
    settings: JudgeConfig
    judge: Judge
    definition: Mapping[str, Any]
    version: str

    @contextmanager
    def alone(self, say: Callable[[str], None]) -> Iterator[None]:
        """Holds the judge's lock, as only one process at a time works for a judge; ``say`` reports a wait for
        another process."""
        store = self.grading.store
        with store.lock(judges_lock_name(self.grading.config.name, self.name), say):
            store.register(self.version, "judge", self.definition)
            former = self._with_keys_written_out()
            if former is not None:
                store.rename_version(former, self.version)
            yield

    def as_stored(self) -> ChosenJudge:
        """The judge under the version that its stored labels have until its next run."""
        former = self._with_keys_written_out()
        known = former is not None and self.grading.store.definition(former) is not None
        return replace(self, version=former) if former is not None and known else self

    def _with_keys_written_out(self) -> str | None:
        """The version that the judge had when ``extra_body`` could hold literal keys; None if it holds no variables or
        they are not set."""
        body = self.definition.get("extra_body")
        if not variables(body):
            return None
        try:
            return digest({**self.definition, "extra_body": filled(body, "extra_body")})
        except FatalError:
            return None

    def read_again(self, listener: Listener, *, write: bool = True) -> Rereading | None:
        """Reads the stored answers that were not read by the judge's current rules, and reports the result; None if
        there were none, or the judge asks no model."""
        if self.judge.model is None:
            return None
        owner = Owner(self.grading.config.name, self.name)
        reread = read_again(self.grading.store, owner, self.version, self.judge.model.reading, listener, write=write)
        if not reread.total:
            return None
        if reread.doubtful:
            pooled = self.pending(listener.say, dry=True).pooled(reread.doubtful)
            reread.doubtful = {key: cost for key, cost in reread.doubtful.items() if key in pooled}
        listener.say(reread.words(self.name))
        return reread

    def pending(
        self, say: Callable[[str], None], *, dry: bool = False, reread: Rereading | None = None
    ) -> JudgingQueue:
        """The queue of what the judge has still to grade. With ``dry`` nothing is written, and the labels changed in
        ``reread`` count as changed."""
        return JudgingQueue(
            self.grading,
            self.name,
            self.judge,
            self.version,
            self.settings.samples,
            self.settings.aggregate,
            say,
            dry=dry,
            read_otherwise=reread.changed if dry and reread else None,
        )

    def failed_answer(self, failed: Graded | None) -> FailedAnswer | None:
        """The judge's last answer about a pair without a grade; None if there is none."""
        if failed is None:
            return None
        found = failed_answers(self.grading.store, self.grading.config.name, self.name, self.version, [failed.query_id])
        answer = found.get((failed.query_id, failed.doc_id))
        if answer is None or self.judge.model is None:
            return answer
        return failures.without_thoughts(answer, self.judge.model.reading.thoughts)


@contextmanager
def chosen_judge(
    config: Path | PoolConfig, name: str | None, options: JudgeOptions, fetch: Callable[[str], None] | None = None
) -> Iterator[ChosenJudge]:
    """The judge ``name``, or the only one, with ``options`` applied; its store is open in the context.

    A run passes ``fetch``, which takes a line on what is downloaded for it; without, nothing is, and the judge's stored
    labels are found even if its model is gone. Raises QuatiPoolError if there is no such judge, or it cannot work.
    """
    config = load_config(config) if isinstance(config, Path) else config
    name = pick_judge(config, name)
    with Store.open(config.labels.url, config.folder) as store:
        grading = Grading(config, store, options.pool)
        settings, judge = grading.judge(name)
        if judge.by_content and options.pool is None:
            require_texts(config)
        judge = _adjusted(name, judge, options)
        if fetch is None:
            definition, _ = grading.definition_of(name, settings, judge)
        else:
            judge.fetch(fetch)
            definition = judge_definition(settings, judge)
        yield ChosenJudge(grading, name, settings, judge, definition, digest(definition))


def _adjusted(name: str, judge: Judge, options: JudgeOptions) -> Judge:
    """The judge with the parameters that the command line overrides. Raises ConfigError for one that it does not
    have."""
    names = ("concurrency", "rpm", "tpm", "max_passage_tokens")
    changes = {name: value for name in names if (value := getattr(options, name)) is not None}
    if not changes or judge.model is None:
        return judge
    unknown = next((option for option in changes if option not in type(judge.parameters).model_fields), None)
    if unknown is not None:
        option = f"--{unknown.replace('_', '-')}"
        raise ConfigError(f"{name} runs on this machine, and {option} is for judges behind a server; leave it out")
    return type(judge)(judge.parameters.model_copy(update=changes), judge.setting)
