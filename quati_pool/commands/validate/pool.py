"""What ``build``, and ``judge`` of its settings, would stop at: files, fields, ids, models and packages that a
``pool.yaml`` names and that are not here. Builds, downloads and writes nothing.

Corpora are read as far as their first passage; queries, runs, prompts and files of pairs, which are small, whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from quati_pool.commands.plan.corpora import PlanWorkspace
from quati_pool.errors import ConfigError, InputError, MissingExtraError, QuatiPoolError
from quati_pool.files.artifacts import digest
from quati_pool.files.corpus import expand_paths, read_file
from quati_pool.files.label_files.reading import looks_like
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import Collected
from quati_pool.files.queries import read_queries
from quati_pool.files.runs import read_run_rows
from quati_pool.files.validation import ValidationReport
from quati_pool.files.yaml_file import Place, YamlFile
from quati_pool.judging.base import Setting
from quati_pool.judging.llm import LlmJudge
from quati_pool.judging.prompts import load_prompt
from quati_pool.project.cache_keys import Keys, component_name, site_of, used_corpora
from quati_pool.project.config import CorpusConfig, FusionSystem, JudgeConfig, LabelFileConfig, PoolConfig, load_config
from quati_pool.project.inputs import Queries, corpus_key, load_queries, read_extra
from quati_pool.project.run_builder import current
from quati_pool.records import Ids, Query
from quati_pool.registry import JUDGES, nearest
from quati_pool.retrieval.base import Component
from quati_pool.retrieval.models.parameters import ModelParameters, devices_of
from quati_pool.retrieval.run_file import RunFileParameters
from quati_pool.store.database_url import parse_database_url


def validate_pool(path: Path, limit: int = 20) -> ValidationReport:
    """All that is wrong, a line each, at most ``limit`` of one file of queries; a fault of ``pool.yaml`` itself is the
    only one reported, as what follows from it is not known. The summary counts what was checked.

    Raises QuatiPoolError where pool.yaml cannot be loaded.
    """
    found = _Checks(load_config(path), limit)
    found.queries()
    found.corpora()
    found.systems()
    found.pairs()
    found.labels()
    found.judges()
    found.annotation()
    found.database()
    config = found.config
    summary = {
        "systems": len(config.systems),
        "corpora": len(config.corpora),
        "judges": len(config.judges),
        **found.checked,
    }
    more = found.problems.count - len(found.problems.errors)
    return ValidationReport(path, "config", found.problems.errors, more, found.warnings, summary)


T = TypeVar("T")


class _Checks:
    """What was checked of one collection, and what was found wrong."""

    def __init__(self, config: PoolConfig, limit: int) -> None:
        self.config = config
        self.problems = Collected(limit)
        self.warnings: list[str] = []
        self.checked: Counter[str] = Counter()
        self._limit = limit
        self._file = YamlFile(config.path)
        self._workspace = PlanWorkspace(config.folder)
        self._known: list[Query] | None = None

    def queries(self) -> None:
        """The file of queries whole; the ids and the sample that are asked for."""
        settings = self.config.queries
        faults = Collected(self._limit)

        def read() -> list[Query]:
            fields = (settings.query_id, settings.query, settings.narrative, settings.cluster_id)
            return read_queries(self.config.folder / settings.path, *fields, faults)

        found = self._tried(("queries", "path"), read)
        for error in faults.errors:
            self._add(("queries", "path"), error)
        if found is None or faults.count:
            return
        self._known = found
        self.checked["queries"] = len(found)
        ids = {query.query_id for query in found}
        name = Path(settings.path).name
        for position, query_id in enumerate(settings.ids or ()):
            if query_id not in ids:
                hint = nearest(query_id, ids)
                self._say(("queries", "ids", position), f"{name} has no query {query_id!r}; {hint}")
        wanted = len(ids.intersection(settings.ids or ids))
        if settings.sample is not None and settings.sample > wanted:
            self._say(("queries", "sample"), f"{settings.sample} of {wanted} queries; ask for fewer")

    def corpora(self) -> None:
        """Of each file of the corpora that systems search, whether it is there and has the fields."""
        named = YamlFile(self.config.path).data
        plural = isinstance(named, dict) and "corpora" in named
        for name in used_corpora(self.config):
            place: Place = ("corpora", name) if plural else ("corpus",)
            self._corpus(place, self.config.corpora[name])

    def _corpus(self, place: Place, settings: CorpusConfig) -> None:
        place = (*place, "path")
        paths: dict[Path, None] = {}
        for pattern in [settings.path] if isinstance(settings.path, str) else settings.path:
            paths |= dict.fromkeys(self._tried(place, partial(self._files, pattern)) or ())
        there = {path: self._tried(place, partial(self._has_passages, path, settings)) for path in paths}
        empty = [path for path, has in there.items() if has is False]
        if paths and len(empty) == len(paths):
            self._add(place, InputError(min(paths), None, "holds no passages; expected at least one"))
        else:
            self.warnings += [f"{'.'.join(place)}: {path.name} holds no passages" for path in empty]

    def _files(self, pattern: str) -> list[Path]:
        return expand_paths(self.config.folder, pattern, self._workspace.made)

    def _has_passages(self, path: Path, settings: CorpusConfig) -> bool:
        if path.is_dir():
            raise InputError(path, None, "is a folder; expected a file, or a glob such as folder/*.jsonl")
        has = bool(list(islice(read_file(path, settings.doc_id, settings.text), 1)))
        self.checked["corpus files"] += has
        return has

    def systems(self) -> None:
        """Packages, files and models of every system whose run is not there already."""
        for run_tag in self.config.systems:
            for place, error in self._faults_of(run_tag):
                self._add(place, error)

    def _faults_of(self, run_tag: str) -> list[tuple[Place, QuatiPoolError]]:
        system = self.config.systems[run_tag]
        registry, name = component_name(system)
        place: Place = ("systems", run_tag)
        try:
            registry.get(name).require()
        except MissingExtraError as error:
            return [(place, error)]
        if isinstance(system, FusionSystem):
            return []
        faults: list[tuple[Place, QuatiPoolError]] = []
        notes: list[str] = []
        component: Component = registry.get(name)(system.parameters, site_of(self.config, self._workspace))
        for file in component.inputs():
            try:
                if isinstance(system.parameters, RunFileParameters):
                    self._run_file(self.config.folder / file, notes)
                else:
                    self._readable(self.config.folder / file)
            except QuatiPoolError as error:
                faults.append(((*place, "path"), error))
        try:
            component.inspect(notes.append)
            self.checked["models"] += isinstance(system.parameters, ModelParameters) and not notes
        except QuatiPoolError as error:
            faults.append(((*place, "model") if isinstance(system.parameters, ModelParameters) else place, error))
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
        """The first line of a file, which is thereby shown to be there and to be text."""
        if not list(islice(read_lines(path), 1)):
            raise InputError(path, None, "is empty; expected rows")
        self.checked["files"] += 1

    def _run_file(self, path: Path, notes: list[str]) -> None:
        problems = Collected(1)
        read_run_rows(path, problems)
        if problems.count:
            raise problems.errors[0]
        notes += [f"{path.name} {warning}" for warning in problems.warnings]
        self.checked["files"] += 1

    def _keys(self, queries: Queries | None = None) -> Keys:
        return Keys(self.config, self._workspace, queries or Queries([], Ids([]), ""), {})

    def _is_current(self, run_tag: str) -> bool:
        """Whether a system's run is there, so that nothing it was made from is needed."""
        try:
            corpora = {
                name: digest(corpus_key(self.config, name, self._workspace)) for name in used_corpora(self.config)
            }
            keys = Keys(self.config, self._workspace, load_queries(self.config), corpora)
            return current(keys, self._workspace, run_tag)
        except (QuatiPoolError, ImportError):
            return False

    def pairs(self) -> None:
        """The further pairs of the pool, and their queries."""
        pairs = self._tried(("pool", "extra"), partial(read_extra, self.config)) or {}
        if self.config.pool.extra is None:
            return
        self.checked["extra pairs"] = len(pairs)
        if self._known is None:
            return
        chosen = self.config.queries.ids
        known = {query.query_id for query in self._known if chosen is None or query.query_id in chosen}
        path = self.config.folder / self.config.pool.extra
        for (query_id, _), line in pairs.items():
            if query_id not in known:
                error = InputError(path, line, f"there is no query {query_id!r} in the collection; drop the pair")
                self.problems.add(error)

    def labels(self) -> None:
        """That label files are there, and of a known format."""
        for name, settings in self.config.labels.files.items():
            self._tried(("labels", "files", name), partial(self._label_file, settings))

    def _label_file(self, settings: LabelFileConfig) -> None:
        path = self.config.folder / settings.path
        self._readable(path)
        if settings.format is None and not settings.columns and looks_like(path, settings.columns) is None:
            raise InputError(path, None, "its format is unclear; name it with format:")

    def judges(self) -> None:
        """Packages, prompts and files of the judges; a key that is not here is only needed to judge."""
        setting = Setting(self.config.folder, self.config.grades)
        for name, settings in self.config.judges.items():
            if isinstance(settings, JudgeConfig):
                self._tried(("judges", name), partial(self._judge, name, settings, setting))

    def _judge(self, name: str, settings: JudgeConfig, setting: Setting) -> None:
        judge = JUDGES.get(settings.judge)
        judge.require()
        made = judge(settings.parameters, setting)
        if isinstance(made, LlmJudge):
            made.price()
            try:
                made.client()
            except QuatiPoolError as error:
                self.warnings.append(f"judges.{name}: {error}")
        self.checked["judges ready"] += 1

    def annotation(self) -> None:
        """Prompt and guidelines of people who annotate."""
        prompt, guidelines = self.config.annotation.prompt, self.config.annotation.guidelines
        if prompt is not None:
            self._tried(("annotation", "prompt"), partial(load_prompt, prompt, self.config.folder))
        if guidelines is not None:
            self._tried(("annotation", "guidelines"), partial(self._readable, self.config.folder / guidelines))

    def database(self) -> None:
        """The address of the database of labels; nothing connects to it."""
        self._tried(("labels", "url"), partial(parse_database_url, self.config.labels.url, self.config.folder))

    def _tried(self, place: Place, check: Callable[[], T]) -> T | None:
        """What a check gives; None where it found a fault, which is kept."""
        try:
            return check()
        except QuatiPoolError as error:
            self._add(place, error)
        except (OSError, EOFError) as error:
            self._say(place, f"cannot be read ({' '.join(str(error).split())}); check the path and its permissions")
        return None

    def _add(self, place: Place, error: QuatiPoolError) -> None:
        """A fault, named by the place in pool.yaml that leads to it, unless it names a line of a file itself."""
        if isinstance(error, InputError) and (error.line is not None or error.path == str(self.config.path)):
            self.problems.add(error)
        else:
            message = " ".join(str(error).split()).removeprefix(f"{self.config.path}: ")
            name = ".".join(map(str, place))
            message = message.removeprefix("labels: url: ")
            self._say(place, message.removeprefix(f"{name}: ").removeprefix(f"{place[-1]}: "))

    def _say(self, place: Place, message: str) -> None:
        self.problems.add(self._file.error(place, message))
