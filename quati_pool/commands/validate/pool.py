"""Finds what would make ``build`` or ``judge`` fail: missing files, fields, ids, models and packages that a
``pool.yaml`` names. Builds, downloads and writes nothing.

Only the first passage of each corpus file is read; queries, runs, prompts and files of pairs, which are small, are read
in full.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from quati_pool.annotation.authoring.romqa import RomqaParameters
from quati_pool.commands.annotate.authoring.blocks import other_questions
from quati_pool.commands.annotate.authoring.sources import read_sources
from quati_pool.commands.plan.corpora import PlanWorkspace
from quati_pool.errors import ConfigError, InputError, MissingExtraError, QuatiPoolError
from quati_pool.files.artifacts import digest
from quati_pool.files.corpus import expand_paths, read_file
from quati_pool.files.label_files.reading import looks_like
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import Collected
from quati_pool.files.queries import read_queries
from quati_pool.files.runs import RunRows, chosen_run, read_runs
from quati_pool.files.validation import ValidationReport
from quati_pool.files.yaml_file import Place, YamlFile
from quati_pool.judging.prompts import load_prompt
from quati_pool.labels.labelers import make_judge
from quati_pool.models.parameters import ModelParameters, devices_of
from quati_pool.project.cache_keys import CacheKeys, component_environment, used_corpora
from quati_pool.project.config import CorpusConfig, FusionSystem, JudgeConfig, LabelFileConfig, PoolConfig, load_config
from quati_pool.project.inputs import (
    Queries,
    all_queries,
    corpus_key,
    judged_queries,
    load_queries,
    read_extra,
    sample_too_large,
)
from quati_pool.project.run_builder import run_is_current
from quati_pool.records import Ids, Query
from quati_pool.registry import nearest
from quati_pool.retrieval.base import Component
from quati_pool.retrieval.run_file import RunFileParameters
from quati_pool.store.database_url import parse_database_url


def validate_pool(path: Path, limit: int = 20, systems: Collection[str] | None = None) -> ValidationReport:
    """A report that lists the first ``limit`` faults and counts the others; its summary counts what was checked.
    ``systems`` are those to check, all by default.

    Raises QuatiPoolError where pool.yaml itself cannot be loaded, as its further faults are then unknown.
    """
    checks = _Checks(load_config(path, writing=True), limit)
    # Without systems, the questions are still being written, and there is nothing to search for yet.
    if checks.config.systems:
        checks.queries()
        checks.corpora()
        checks.systems(checks.config.systems if systems is None else systems)
        checks.pairs()
    checks.authoring()
    checks.labels()
    checks.judges()
    checks.annotation()
    checks.database()
    config = checks.config
    summary = {
        "systems": len(config.systems),
        "corpora": len(config.corpora),
        "judges": len(config.judges),
        **checks.checked,
    }
    more = checks.problems.count - len(checks.problems.errors)
    return ValidationReport(path, "config", checks.problems.errors, more, checks.warnings, summary)


T = TypeVar("T")


class _Checks:
    """Checks the parts of one collection, and collects their faults, warnings and counts."""

    def __init__(self, config: PoolConfig, limit: int) -> None:
        self.config = config
        self.problems = Collected(limit)
        self.warnings: list[str] = []
        self.checked: Counter[str] = Counter()
        self._limit = limit
        self._file = YamlFile(config.path)
        self._workspace = PlanWorkspace(config.folder)
        self._queries: list[Query] | None = None
        self._run_files: dict[Path, dict[str, RunRows]] = {}

    def queries(self) -> None:
        """Checks the file of queries, and the ids and the sample of ``queries:``."""
        settings = self.config.queries
        faults = Collected(self._limit)

        def read() -> list[Query]:
            if settings.data_set is not None:
                settings.data_set.open(self.config.folder)
            if settings.path is None or settings.data_set is not None:
                return all_queries(self.config)
            fields = (settings.query_id, settings.query, settings.narrative, settings.cluster_id)
            return read_queries(self.config.folder / settings.path, *fields, faults)

        queries = self._tried(("queries", "path"), read)
        for error in faults.errors:
            self._add(("queries", "path"), error)
        if queries is None or faults.count:
            return
        if settings.only is not None:
            judged = self._tried(("queries", "only"), lambda: judged_queries(self.config.folder / str(settings.only)))
            queries = [query for query in queries if query.query_id in set(judged or ())]
        self._queries = queries
        self.checked["queries"] = len(queries)
        ids = {query.query_id for query in queries}
        name = Path(settings.source).name
        for position, query_id in enumerate(settings.ids or ()):
            if query_id not in ids:
                hint = nearest(query_id, ids)
                self._say(("queries", "ids", position), f"{name} has no query {query_id!r}; {hint}")
        wanted = len(ids.intersection(settings.ids or ids))
        if settings.sample is not None and settings.sample > wanted:
            self._say(("queries", "sample"), sample_too_large(settings.sample, wanted))

    def corpora(self) -> None:
        """Checks that each file of the corpora that systems search exists and has the configured fields."""
        named = YamlFile(self.config.path).data
        plural = isinstance(named, dict) and "corpora" in named
        for name in used_corpora(self.config):
            place: Place = ("corpora", name) if plural else ("corpus",)
            self._corpus(place, self.config.corpora[name])
        if self.config.texts is not None:
            self._corpus(("texts",), self.config.texts)

    def _corpus(self, place: Place, settings: CorpusConfig) -> None:
        if settings.data_set is not None:
            self._tried(place, partial(settings.data_set.open, self.config.folder))
            return
        place = (*place, "path")
        paths: dict[Path, None] = {}
        for pattern in [settings.path] if isinstance(settings.path, str) else settings.path or ():
            paths |= dict.fromkeys(self._tried(place, partial(self._files, pattern)) or ())
        there = {path: self._tried(place, partial(self._has_passages, path, settings)) for path in paths}
        empty = [path for path, has in there.items() if has is False]
        if paths and len(empty) == len(paths):
            self._add(place, InputError(min(paths), None, "holds no passages; expected at least one"))
        else:
            self.warnings += [f"{'.'.join(place)}: {path.name} holds no passages" for path in empty]

    def _files(self, pattern: str) -> list[Path]:
        return expand_paths(self.config.folder, pattern, self._workspace.is_output)

    def _has_passages(self, path: Path, settings: CorpusConfig) -> bool:
        if path.is_dir():
            raise InputError(path, None, "is a folder; expected a file, or a glob such as folder/*.jsonl")
        has = bool(list(islice(read_file(path, settings.doc_id, settings.text), 1)))
        self.checked["corpus files"] += has
        return has

    def systems(self, run_tags: Iterable[str]) -> None:
        """Checks packages, files and models of those systems whose run is not finished."""
        for run_tag in run_tags:
            for place, error in self._faults_of(run_tag):
                self._add(place, error)

    def _faults_of(self, run_tag: str) -> list[tuple[Place, QuatiPoolError]]:
        system = self.config.systems[run_tag]
        place: Place = ("systems", run_tag)
        try:
            system.component.cls.require()
        except MissingExtraError as error:
            return [(place, error)]
        if isinstance(system, FusionSystem):
            return []
        faults: list[tuple[Place, QuatiPoolError]] = []
        notes: list[str] = []
        component: Component = system.component.cls(
            system.parameters, component_environment(self.config, self._workspace)
        )
        for file in component.inputs():
            try:
                if isinstance(system.parameters, RunFileParameters):
                    self._run_file(self.config.folder / file, system.parameters.run_tag, notes)
                else:
                    self._readable(self.config.folder / file)
            except QuatiPoolError as error:
                faults.append(((*place, "path"), error))
        try:
            component.inspect(notes.append)
            self.checked["models"] += isinstance(system.parameters, ModelParameters) and not notes
        except QuatiPoolError as error:
            # An error of one of two models names it.
            named = list(system.parameters.each_model()) if isinstance(system.parameters, ModelParameters) else []
            faults.append(((*place, *named) if len(named) == 1 else place, error))
        if isinstance(system.parameters, ModelParameters) and system.parameters.device:
            try:
                devices_of(system.parameters)
            except QuatiPoolError as error:
                faults.append(((*place, "device"), error))
        try:
            self._keys().corpus(run_tag)
        except ConfigError as error:
            faults.append((place, error))
        if faults and self._is_current(run_tag):
            return []
        self.warnings += [f"systems.{run_tag}: {note}" for note in notes]
        return faults

    def _readable(self, path: Path) -> None:
        """Checks that a file exists and that its first line is text."""
        if not list(islice(read_lines(path), 1)):
            raise InputError(path, None, "is empty; expected rows")
        self.checked["files"] += 1

    def _run_file(self, path: Path, run_tag: str | None, notes: list[str]) -> None:
        if path not in self._run_files:
            problems = Collected(1)
            runs = read_runs(path, problems)
            if problems.count:
                raise problems.errors[0]
            notes += [f"{path.name} {warning}" for warning in problems.warnings]
            self.checked["files"] += 1
            self._run_files[path] = runs
        chosen_run(path, self._run_files[path], run_tag)

    def _keys(self, queries: Queries | None = None) -> CacheKeys:
        return CacheKeys(self.config, self._workspace, queries or Queries([], Ids([]), ""), {})

    def _is_current(self, run_tag: str) -> bool:
        """Whether a system's run is finished and current, so that its inputs are not needed."""
        try:
            corpora = {
                name: digest(corpus_key(self.config, name, self._workspace)) for name in used_corpora(self.config)
            }
            keys = CacheKeys(self.config, self._workspace, load_queries(self.config), corpora)
            return run_is_current(keys, self._workspace, run_tag)
        except (QuatiPoolError, ImportError):
            return False

    def pairs(self) -> None:
        """Checks the pairs of ``pool.extra`` and their queries."""
        pairs = self._tried(("pool", "extra"), partial(read_extra, self.config)) or {}
        if self.config.pool.extra is None:
            return
        self.checked["extra pairs"] = len(pairs)
        if self._queries is None:
            return
        chosen = self.config.queries.ids
        known = {query.query_id for query in self._queries if chosen is None or query.query_id in chosen}
        path = self.config.folder / self.config.pool.extra
        for (query_id, _), line in pairs.items():
            if query_id not in known:
                error = InputError(path, line, f"there is no query {query_id!r} in the collection; drop the pair")
                self.problems.add(error)

    def labels(self) -> None:
        """Checks that label files exist and have a known format."""
        for name, settings in self.config.labels.files.items():
            self._tried(("labels", "files", name), partial(self._label_file, settings))

    def _label_file(self, settings: LabelFileConfig) -> None:
        path = self.config.folder / settings.path
        if settings.data_set is not None:
            settings.data_set.open(self.config.folder)
            return
        self._readable(path)
        if settings.format is None and not settings.columns and looks_like(path, settings.columns) is None:
            raise InputError(path, None, "its format is unclear; name it with format:")

    def judges(self) -> None:
        """Checks packages, prompts and files of the judges; a missing key is a warning, as only ``judge`` needs it."""
        for name, settings in self.config.judges.items():
            if isinstance(settings, JudgeConfig):
                self._tried(("judges", name), partial(self._judge, name, settings))

    def _judge(self, name: str, settings: JudgeConfig) -> None:
        judge = make_judge(self.config, settings)
        if judge.model is not None:
            judge.model.price()
            try:
                judge.model.client()
            except QuatiPoolError as error:
                self.warnings.append(f"judges.{name}: {error}")
        self.checked["judges ready"] += 1

    def annotation(self) -> None:
        """Checks the prompt and the guidelines for annotators."""
        prompt, guidelines = self.config.annotation.prompt, self.config.annotation.guidelines
        if prompt is not None:
            self._tried(("annotation", "prompt"), partial(load_prompt, prompt, self.config.folder))
        if guidelines is not None:
            self._tried(("annotation", "guidelines"), partial(self._readable, self.config.folder / guidelines))

    def authoring(self) -> None:
        """Checks the texts or clusters that questions are written from, and the questions that they are compared
        with."""
        settings = self.config.authoring
        if settings is not None:
            found = self._tried(("authoring", "sources"), lambda: sum(1 for _ in read_sources(self.config)))
            self.checked[settings.component.cls.sources] += found or 0
            if isinstance(settings.parameters, RomqaParameters) and settings.parameters.compare is not None:
                compared = self._tried(("authoring", "compare"), partial(other_questions, self.config))
                self.checked["questions to compare with"] += len(compared or ())

    def database(self) -> None:
        """Checks the URL of the label database without connecting to it."""
        self._tried(("labels", "url"), partial(parse_database_url, self.config.labels.url, self.config.folder))

    def _tried(self, place: Place, check: Callable[[], T]) -> T | None:
        """The result of a check; None where it failed, in which case the fault is recorded."""
        try:
            return check()
        except QuatiPoolError as error:
            self._add(place, error)
        except (OSError, EOFError) as error:
            self._say(place, f"cannot be read ({' '.join(str(error).split())}); check the path and its permissions")
        return None

    def _add(self, place: Place, error: QuatiPoolError) -> None:
        """Records a fault, with the place in pool.yaml that leads to it unless the fault itself names a line."""
        if isinstance(error, InputError) and (error.line is not None or error.path == str(self.config.path)):
            self.problems.add(error)
        else:
            message = " ".join(str(error).split()).removeprefix(f"{self.config.path}: ")
            name = ".".join(map(str, place))
            message = message.removeprefix("labels: url: ")
            self._say(place, message.removeprefix(f"{name}: ").removeprefix(f"{place[-1]}: "))

    def _say(self, place: Place, message: str) -> None:
        self.problems.add(self._file.error(place, message))
