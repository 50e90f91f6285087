"""The labelers of a collection, and their current grades of the pool's pairs.

The labels of a judge in ``pool.yaml`` are read under its identity there, those of people under the annotation's
identity, those of any other labeler in the store under its latest version; a consensus is computed from its members.
Older versions, and labels of texts that have changed since, are kept but do not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from quati_pool.agreement.matching import match
from quati_pool.component_files import place_of
from quati_pool.errors import ConfigError, InputError, QuatiPoolError, TranslatableText, message_of
from quati_pool.files.artifacts import digest, file_digest, unfinished
from quati_pool.files.pools import PooledPair, read_pool
from quati_pool.judging.base import Judge, Setting
from quati_pool.judging.origin import Origin
from quati_pool.judging.pair import Pair, as_fenced
from quati_pool.judging.prompts import reading_of
from quati_pool.judging.verdict import Reading
from quati_pool.labels.base import Graded, Grader, Labeler
from quati_pool.labels.consensus import Consensus, Panel, aggregate_samples
from quati_pool.labels.hybrid import Hybrid
from quati_pool.labels.label_files import kind_of, read_label_source
from quati_pool.models.errors import ModelError, ModelMissingError
from quati_pool.project.config import ConsensusConfig, HybridConfig, JudgeConfig, PeopleConfig, PoolConfig
from quati_pool.project.config.labelers import PEOPLE_METHODS
from quati_pool.project.inputs import load_queries, query_texts
from quati_pool.project.workspace import Workspace
from quati_pool.records import FAILURES, State
from quati_pool.registry import nearest
from quati_pool.store.database import Store
from quati_pool.store.listing import pairs_given
from quati_pool.store.people import People
from quati_pool.store.records import ADJUDICATED, COUNTING, CurrentLabel, Phase, content_sha
from quati_pool.store.records import Labeler as KnownLabeler

# Pairs whose labels are looked up together.
_CHUNK = 512
SHOWN_CHARACTERS = "shown_characters"
REVEALED = "revealed"
"""In a label's ``extra``: who gave it had seen names and grades of judges or systems."""


def chunks(blocks: Iterable[list[PooledPair]], narratives: Mapping[str, str | None]) -> Iterator[list[Pair]]:
    """Chunks of some hundred pairs; the pairs of a query stay together."""
    chunk: list[Pair] = []
    for block in blocks:
        narrative = narratives.get(block[0].query_id)
        chunk.extend(Pair(*pair, narrative) for pair in block)
        if len(chunk) >= _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class Grading:
    """A collection's pool and labelers, over an open store. With ``revealed`` a person's second label, given after
    seeing a judge's grade, counts if there is one."""

    def __init__(self, config: PoolConfig, store: Store, pool: Path | None = None, *, revealed: bool = False) -> None:
        self.config = config
        self.store = store
        self.revealed = revealed
        self._pool = pool

    @cached_property
    def pool(self) -> Path:
        """The pool to grade: the one passed to ``__init__``, or else the workspace's."""
        return self._pool or workspace_pool(self.config)

    @cached_property
    def narratives(self) -> Mapping[str, str | None]:
        """The narrative of each query_id, None if it has none; empty without a file of queries."""
        if self.config.query_file is None:
            return {}
        return {query.query_id: query.narrative or None for query in load_queries(self.config).queries}

    @property
    def names(self) -> list[str]:
        """All labelers that may have graded: the judges and label files of ``pool.yaml``, then those in the store."""
        stored = (found.labeler_id for found in self.stored())
        return list(dict.fromkeys([*self.config.judges, *self.config.labels.files, *stored]))

    def stored(self) -> list[KnownLabeler]:
        """The labelers in the store, one entry per version, the most recent writer first."""
        return self.store.labelers(self.config.name)

    def pairs(self) -> Iterator[list[Pair]]:
        return chunks(read_pool(self.pool), self.narratives)

    def current(self, name: str, kind: str, version: str, query_ids: Sequence[str]) -> list[CurrentLabel]:
        """A stored labeler's current labels for the pairs of some queries, in every phase that counts."""
        return self.store.current(self.config.name, name, version, query_ids, self.phases(kind))

    def phases(self, kind: str) -> tuple[Phase, ...]:
        return (*COUNTING, "revealed") if self.revealed and kind == "assessor" else COUNTING

    def judge(self, name: str) -> tuple[JudgeConfig, Judge]:
        """A judge of ``pool.yaml`` by name.

        Raises ConfigError if there is none of this name, or if it is a consensus.
        """
        judges = self.config.judges
        settings = judges.get(name)
        if settings is None:
            there = nearest(name, judges) if judges else "add one under judges:, such as  lexical: {judge: lexical}"
            raise ConfigError(f"{self.config.path}: there is no judge {name!r}; {there}")
        if isinstance(settings, ConsensusConfig):
            members = ", ".join(settings.consensus)
            raise ConfigError(f"{name} is computed from {members} whenever it is read; run these judges instead")
        if isinstance(settings, PeopleConfig):
            raise ConfigError(f"{name} is computed from people's labels whenever it is read; run: quati-pool annotate")
        if isinstance(settings, HybridConfig):
            raise ConfigError(
                f"{name} is computed from people's labels and {settings.judge}'s whenever it is read; "
                f"run: quati-pool annotate, or quati-pool judge {settings.judge}"
            )
        return settings, make_judge(self.config, settings)

    def labeler(self, name: str) -> Labeler:
        """A labeler by name, from ``pool.yaml`` or the store.

        Raises ConfigError if it is in neither.
        """
        if name in self.config.labels.files:
            return file_labeler(self.config, name)
        settings = self.config.judges.get(name)
        if isinstance(settings, ConsensusConfig):
            members = [self.labeler(member) for member in settings.consensus]
            return Consensus(name, "consensus", None, members, settings.method)
        if isinstance(settings, PeopleConfig):
            return self.panel(settings.people, name)
        if isinstance(settings, HybridConfig):
            return self._hybrid(name, settings)
        if isinstance(settings, JudgeConfig):
            return self._judge_labeler(name, settings)
        found = self._stored_labeler(name)
        if found is None and People(self.store, self.config.name).named(name) is not None:
            text = f"{name} has graded nothing yet; run: quati-pool annotate"
            raise ConfigError(TranslatableText(text, "nothing_graded", labeler=name))
        if found is None:
            raise ConfigError(f"there is no labeler {name!r} in {self.config.name}; {nearest(name, self.names)}")
        return found

    def panel(self, method: str, name: str = "people") -> Panel:
        """The labeler called ``name`` that aggregates the grades of all people by ``method``; leads' decisions take
        precedence."""
        decisions = self._stored_labeler(ADJUDICATED)
        return Panel(name, "consensus", None, self.people(), decisions, method, self.is_given)

    def _hybrid(self, name: str, settings: HybridConfig) -> Hybrid:
        by_method = settings.people in PEOPLE_METHODS
        people = self.panel(settings.people) if by_method else self.labeler(settings.people)
        judge = self.labeler(settings.judge)
        key = f"{self.config.path}: judges.{name}"
        if people.grader != "people":
            problem = f"does not say that a person gave the labels of {people.name}"
            raise ConfigError(f"{key}.people: pool.yaml {problem}; add person: true to that file, or name another")
        if judge.grader == "people":
            raise ConfigError(f"{key}.else: the labels of {judge.name} are a person's; name a judge")
        if settings.calibrated and judge.origins and judge.derived_from & (people.derived_from or {people.name}):
            problem = f"was distilled from {people.name}, whose grades therefore cannot calibrate it"
            raise ConfigError(f"{key}.else: {judge.name} {problem}; add calibrated: false, or name another judge")
        scale = tuple(sorted(self.config.grades))
        return Hybrid(name, "hybrid", None, people, judge, scale, self.pairs, settings.calibrated)

    def readable(self, names: Sequence[str], others: Sequence[str]) -> tuple[list[Labeler], dict[str, str]]:
        """The labelers ``names``; where none are named, those of ``others`` that can be read, and per name why one
        cannot. Raises what ``labeler`` does for a labeler that is named."""
        if names:
            return [self.labeler(name) for name in names], {}
        labelers: list[Labeler] = []
        problems: dict[str, str] = {}
        for name in others:
            try:
                labelers.append(self.labeler(name))
            except (ConfigError, InputError) as error:
                problems[name] = message_of(error)
        return labelers, problems

    def people(self) -> list[StoredLabeler]:
        """The people who labelled in the workspace, sorted by name; without the leads' decisions and label files."""
        declared = {*self.config.judges, *self.config.labels.files, ADJUDICATED}
        names = {known.labeler_id for known in self.stored() if known.kind == "assessor"} - declared
        people = (self._stored_labeler(name) for name in sorted(names))
        return [person for person in people if person is not None]

    @cached_property
    def _given(self) -> Mapping[str | None, Collection[tuple[str, str]]]:
        return pairs_given(self.store, self.config.name)

    def is_given(self, query_id: str, doc_id: str, name: str | None = None) -> bool:
        """Whether a pair was given to the person called ``name`` to grade; without a name, whether it was given to
        anybody or waits for somebody."""
        given = self._given.values() if name is None else [self._given.get(name, ())]
        return any((query_id, doc_id) in pairs for pairs in given)

    def _judge_labeler(self, name: str, settings: JudgeConfig) -> StoredLabeler:
        judge = make_judge(self.config, settings)
        model = judge.model
        definition, note = self.definition_of(name, settings, judge)
        return StoredLabeler(
            name,
            "judge",
            digest(definition),
            self,
            settings.samples,
            settings.aggregate,
            narrative=model is not None and model.prompt.uses_narrative,
            fenced=model is not None and model.prompt.fenced,
            reading=None if model is None else model.reading,
            by_program=model is None,
            note=note,
        )

    def definition_of(self, name: str, settings: JudgeConfig, judge: Judge) -> tuple[Mapping[str, Any], str | None]:
        """The definition under which a judge's labels are read, and a note where that is not certain, else None.

        Without the files of the judge's model it is the last stored one that agrees in everything else: labels stay
        readable after a large model was deleted.
        """
        try:
            return judge_definition(settings, judge), None
        except (ModelMissingError, ModelError) as error:
            problem = message_of(error)
        identity = settings.component.identity
        for known in self.stored():
            definition = self.store.definition(known.version) if known.labeler_id == name else None
            if definition is not None and definition.get("judge") == identity and judge.may_be(_without(definition)):
                return definition, f"the labels of {name}'s last version are read, since its model is gone: {problem}"
        # No label has this definition.
        return {"judge": identity, "model": None}, None

    def _stored_labeler(self, name: str) -> StoredLabeler | None:
        """A labeler that is only in the store; None if it is not there."""
        known = next((known for known in self.stored() if known.labeler_id == name), None)
        if known is None:
            return None
        if known.kind == "assessor":
            return StoredLabeler(name, known.kind, people_version(self.config), self)
        definition = self.store.definition(known.version)
        # The definition of a judge that asks a model names it.
        by_program = definition is not None and "model" not in definition
        labeler = StoredLabeler(name, known.kind, known.version, self, by_program=by_program)
        prompt = (definition or {}).get("prompt")
        if not isinstance(prompt, Mapping) or not prompt.keys() >= {"answer", "grades", "fenced"}:
            return labeler
        return replace(labeler, fenced=bool(prompt["fenced"]), reading=reading_of(prompt))


@dataclass(frozen=True)
class StoredLabeler(Labeler):
    """A judge or person whose labels are in the store.

    ``aggregate`` is the method that aggregates several samples of a pair, None if unknown; ``narrative`` is whether the
    labeler sees the narrative, None if unknown; ``fenced`` is whether chat-template tokens in texts are neutralised
    for it.
    """

    version: str
    grading: Grading
    samples: int = 1
    aggregate: str | None = None
    narrative: bool | None = None
    fenced: bool = False
    reading: Reading | None = None
    by_program: bool = False
    """Whether the grades come from a judge that asks no model."""
    note: str | None = None

    @property
    def grader(self) -> Grader:
        if self.kind == "assessor":
            return "people"
        if not self.by_program:
            return "llm"
        return "program" if self.origin is None else "distilled"

    @property
    def stored(self) -> bool:
        return True

    @property
    def derived_from(self) -> frozenset[str]:
        if self.origin is not None:
            return self.origin.labelers
        return frozenset(person.name for person in self.grading.people()) if self.name == ADJUDICATED else frozenset()

    @property
    def origins(self) -> tuple[Origin, ...]:
        return () if self.origin is None else (self.origin,)

    @cached_property
    def origin(self) -> Origin | None:
        """From whose grades it was distilled; None for a labeler that was not."""
        return Origin.of(self.grading.store.definition(self.version)) if self.by_program else None

    def graded(self, pairs: Sequence[Pair]) -> list[Graded]:
        return [self._graded(pair, rows) for pair, rows in self._rows(pairs)]

    def behind(self, pairs: Sequence[Pair]) -> list[dict[int, CurrentLabel]]:
        wanted = range(1, self.samples + 1)
        counting = [{row.sample: row for row in self.counting(pair, rows)} for pair, rows in self._rows(pairs)]
        return [{sample: labels[sample] for sample in wanted if sample in labels} for labels in counting]

    def _rows(self, pairs: Sequence[Pair]) -> Iterator[tuple[Pair, Sequence[CurrentLabel]]]:
        query_ids = list(dict.fromkeys(pair.query_id for pair in pairs))
        by_pair: dict[tuple[str, str], list[CurrentLabel]] = {}
        for row in self.grading.current(self.name, self.kind, self.version, query_ids):
            by_pair.setdefault((row.query_id, row.doc_id), []).append(row)
        return ((pair, by_pair.get((pair.query_id, pair.doc_id), ())) for pair in pairs)

    def _graded(self, pair: Pair, rows: Sequence[CurrentLabel]) -> Graded:
        current = {}
        cut = revealed = False
        for row in self.counting(pair, rows):
            if self.aggregate is None and row.sample > 1:
                raise ConfigError(
                    f"{self.name} has several samples a pair, and nothing says how they become one grade; "
                    "declare it under judges: in pool.yaml with samples: and aggregate:"
                )
            current[row.sample] = (row.status, row.relevance)
            cut = cut or SHOWN_CHARACTERS in row.extra
            revealed = row.phase == "revealed" or REVEALED in row.extra
        graded = aggregate_samples(pair.query_id, pair.doc_id, current, self.samples, self.aggregate or "mean")
        if self.kind == "assessor" and graded.status not in (State.ok, State.unsure):
            # What a person put off or took back waits for them only while they have a slot of it.
            return replace(graded, given=self.grading.is_given(pair.query_id, pair.doc_id, self.name))
        return replace(graded, cut=cut, revealed=revealed) if cut or revealed else graded

    def counting(self, pair: Pair, rows: Sequence[CurrentLabel]) -> list[CurrentLabel]:
        """A pair's labels for its current texts, in order of precedence: the last one of each sample counts."""
        # A second label counts only if it is a grade or unsure; a newer blind label replaces it.
        spoken = (row for row in rows if row.phase != "revealed" or row.status in (State.ok, State.unsure))
        return [row for row in sorted(spoken, key=_precedence) if self._is_current(row, pair)]

    def _is_current(self, row: CurrentLabel, pair: Pair) -> bool:
        """Whether a label was given for the pair's current texts, as its labeler was shown them."""
        pair = pair._replace(text=pair.text[: row.extra.get(SHOWN_CHARACTERS)])
        if self.fenced:
            pair = as_fenced(pair)
        shown = []
        if self.narrative is not True or pair.narrative is None:
            shown.append(content_sha(pair.query, pair.text))
        if self.narrative is not False and pair.narrative is not None:
            shown.append(content_sha(pair.query, pair.text, pair.narrative))
        return row.content_sha in shown


@dataclass(frozen=True)
class FileLabeler(Labeler):
    """The labels of a file that ``pool.yaml`` names; ``version`` is the file's SHA-256. What people were given is not
    known of a file, so that it lacks every pair of the pool that is not in it."""

    grades: Mapping[tuple[str, str], int]

    @property
    def grader(self) -> Grader:
        return "people" if self.kind == "assessor" else "file"

    @property
    def file_grades(self) -> Mapping[tuple[str, str], int]:
        return self.grades

    def graded(self, pairs: Sequence[Pair]) -> list[Graded]:
        found = [(pair, self.grades.get((pair.query_id, pair.doc_id))) for pair in pairs]
        return [Graded(pair.query_id, pair.doc_id, None if grade is None else State.ok, grade) for pair, grade in found]


def file_labeler(config: PoolConfig, name: str) -> FileLabeler:
    """A label file of ``pool.yaml`` as labeler. Raises InputError if it is unreadable or has a grade off the scale."""
    settings = config.labels.files[name]
    read = read_label_source(name, config.folder, settings, config.grades)
    qrels = match({name: read}, query_texts(config) or None).qrels[name]
    query_ids, doc_ids = qrels.queries.decode(qrels.query).to_pylist(), qrels.docs.decode(qrels.doc).to_pylist()
    grades = dict(zip(zip(query_ids, doc_ids, strict=True), qrels.relevance.tolist(), strict=True))
    return FileLabeler(name, kind_of(settings, read), file_digest(read.path), grades)


def _precedence(row: CurrentLabel) -> tuple[bool, int]:
    """A sort key: a failure never replaces an ok; otherwise the later label counts, even if its passage was cut
    differently."""
    return row.status not in FAILURES, row.answer


def make_judge(config: PoolConfig, settings: JudgeConfig) -> Judge:
    """Creates a judge from its settings. Raises QuatiPoolError if it cannot work with them."""
    component = settings.component.cls
    component.require()
    if not issubclass(component, Judge):
        raise ConfigError(
            f"the judge {settings.judge} does not inherit from quati_pool.judging.base.Judge; fix its package"
        )
    try:
        setting = Setting(config.folder, config.grades, Workspace(config.folder).input_digest)
        judge: Judge = component(settings.parameters, setting)
    except QuatiPoolError:
        raise
    except Exception as error:  # a plug-in's own
        raise broken_judge(settings.judge, error) from error
    if settings.samples > 1 and judge.always_alike:
        if judge.model is None:
            raise ConfigError(f"{settings.judge} always grades a pair alike; drop samples: {settings.samples} of it")
        raise ConfigError(
            f"samples: {settings.samples} of {judge.model.name} at temperature 0 would be alike; "
            "set a temperature: above 0, or leave samples: out"
        )
    return judge


def broken_judge(name: str, error: Exception) -> ConfigError:
    """The error to raise for a judge whose code fails."""
    where = place_of(error) or "its code"
    return ConfigError(f"the judge {name} failed ({type(error).__name__}: {error}); fix {where}")


def judge_definition(settings: JudgeConfig, judge: Judge) -> dict[str, Any]:
    """Everything that determines a judge's grades, as JSON."""
    try:
        return {"judge": settings.component.identity, **judge.identity()}
    except QuatiPoolError:
        raise
    except Exception as error:  # a plug-in's own
        raise broken_judge(settings.judge, error) from error


def _without(definition: Mapping[str, Any]) -> dict[str, Any]:
    """A judge's own part of its definition."""
    return {key: value for key, value in definition.items() if key != "judge"}


def judge_version(settings: JudgeConfig, judge: Judge) -> str:
    """The hash of ``judge_definition``, under which the judge's labels are stored."""
    return digest(judge_definition(settings, judge))


def people_definition(config: PoolConfig) -> dict[str, Any]:
    """Everything that determines people's grades, as JSON. Neither the text of the guidelines nor the prompt whose
    grade meanings people see is part of it (they are recorded with each label), since a corrected comma, or a
    judge added to ``pool.yaml``, must not invalidate all grades. ``annotation.version`` is increased for changes that
    do."""
    return {"annotation": 1, "version": config.annotation.version, "grades": sorted(config.grades)}


def people_version(config: PoolConfig) -> str:
    """The hash of ``people_definition``, under which people's labels are stored."""
    return digest(people_definition(config))


def nobody(config: PoolConfig) -> ConfigError:
    return ConfigError(f"{config.path}: nobody has graded anything yet; add judges: and run: quati-pool judge")


def workspace_pool(config: PoolConfig) -> Path:
    """The pool that ``build`` wrote. Raises InputError if it is missing or unfinished."""
    path = Workspace(config.folder).pool
    problem = unfinished(path)
    if problem:
        raise InputError(path, None, f"{problem}; run: quati-pool build -c {config.path}")
    return path
