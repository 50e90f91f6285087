"""The cases of an audit: drawn and changed once, then kept in the workspace, so that answers are paid for once.

The draw depends on people's grades, of which there may be more later; the kept cases stay until the pool, the judge or
the probe changes, or until they are drawn again on request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from quati_pool.audit.base import AnswerKeys, Material, PairTexts, Probe, Setting
from quati_pool.audit.cases import Candidate, Case, make_cases
from quati_pool.audit.drawing import GradedPairs, draw
from quati_pool.audit.outcomes import Scale
from quati_pool.commands.audit.graded_pairs import people_of, read_graded, read_material, read_pairs
from quati_pool.commands.audit.queue import shown_pair
from quati_pool.commands.judge.chosen_judge import ChosenJudge
from quati_pool.errors import ConfigError
from quati_pool.files.artifacts import digest, file_digest, locked, read_counts, stale, write_file
from quati_pool.files.lines import output, read_lines
from quati_pool.judging.base import Judge
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import ConsensusConfig, HybridConfig, JudgeConfig, PeopleConfig, PoolConfig
from quati_pool.project.workspace import Workspace
from quati_pool.text.analysis import SNOWBALL, analyzer

# To be increased when the same settings draw other pairs.
_FORMAT = 1
# Not every drawn pair can be changed: the number of pairs that are read at first for each that is wanted.
_READ = 5


@dataclass(frozen=True)
class Member:
    """A judge that is asked: the audited one, or one whose grades a consensus is computed from."""

    name: str
    settings: JudgeConfig
    judge: Judge

    def definition(self, grading: Grading) -> Mapping[str, Any]:
        """Everything that determines its grades; that of its stored labels if its model is gone."""
        return grading.definition_of(self.name, self.settings, self.judge)[0]

    def chosen(self, grading: Grading) -> ChosenJudge:
        """The judge over an open store, under the version of its stored labels."""
        definition = self.definition(grading)
        return ChosenJudge(grading, self.name, self.settings, self.judge, definition, digest(definition)).as_stored()


def members(grading: Grading, name: str) -> list[Member]:
    """The judges behind the labeler ``name``. Raises ConfigError if they cannot be asked about changed texts."""
    config = grading.config
    settings = config.judges.get(name)
    if isinstance(settings, PeopleConfig):
        raise ConfigError(f"{name} are people, and probes are for judges; how people agree: quati-pool agree")
    if isinstance(settings, HybridConfig):
        raise ConfigError(f"{name} has people's grades too, and probes are for judges; audit {settings.judge}")
    names = settings.consensus if isinstance(settings, ConsensusConfig) else [name]
    found = []
    for each in names:
        if each in config.labels.files:
            raise ConfigError(f"{each} is a label file, which cannot be asked about changed passages; audit a judge")
        own, judge = grading.judge(each)
        if not judge.by_content:
            problem = "looks at ids, not at texts, so that changed passages tell nothing about it"
            raise ConfigError(f"{each} {problem}; audit the judge whose grades it has")
        found.append(Member(each, own, judge))
    return found


def language_of(found: Sequence[Member]) -> str:
    """The language of the first judge that has one: that of its prompt, or a parameter of its own."""
    for member in found:
        model = member.judge.model
        own = getattr(member.judge.parameters, "language", None) if model is None else model.prompt.language
        if own:
            return str(own).split("-")[0].lower()
    return "en"


def terms_of(language: str) -> Callable[[str], list[str]]:
    """Splits a text into its terms, without stop words; whole words in a language without a stemmer."""
    known = language in SNOWBALL
    return analyzer(language if known else "en", stemming=known, stop_words=known)


def scale_of(config: PoolConfig) -> Scale:
    """The lowest grade, and the lowest that answers a query: ``answers_from`` of ``audit:``, or the first of the upper
    half of the scale (2 of 0 to 3, 1 of 0 and 1)."""
    grades = sorted(config.grades)
    answers_from = config.audit.answers_from
    return Scale(grades[0], grades[len(grades) // 2] if answers_from is None else answers_from)


class DrawnCases:
    """The cases of one judge, or consensus of judges, by probe: of ``pairs`` pairs each, or, without a number, of as
    many as the settings say, or more if more were drawn before."""

    def __init__(self, grading: Grading, name: str, pairs: int | None, say: Callable[[str], None]) -> None:
        self.grading = grading
        self.name = name
        self.members = members(grading, name)
        self.scale = scale_of(grading.config)
        self._config = grading.config
        self._pairs = pairs
        self._workspace = Workspace(grading.config.folder)
        self._say = say

    def probe(self, name: str) -> Probe:
        """A probe with its parameters and this judge's setting."""
        config = self._config.audit.probe(name)
        kind: type[Probe] = config.component.cls
        kind.require()
        return kind(config.parameters, self._setting)

    def kept(self, name: str, probe: Probe) -> list[Case] | None:
        """The cases of a probe in the workspace; None if there are none for its current settings."""
        path = self._workspace.audit(self.name, name)
        return None if stale(path, self._key(name, probe)) is not None else read_cases(path)

    def cases(self, name: str, probe: Probe, *, redraw: bool = False, write: bool = True) -> list[Case]:
        """The cases of a probe: those in the workspace, with more behind them where these are of fewer pairs than
        wanted, or, with ``redraw``, at least as many other ones. New ones are kept with ``write``."""
        path = self._workspace.audit(self.name, name)
        wanted = self._pairs or self._config.audit.pairs
        # Even a lock is a file.
        with locked(self._workspace.lock(f"audit-{self.name}-{name}"), self._say) if write else nullcontext():
            kept = self.kept(name, probe)
            number = 0 if kept is None else read_counts(path)["pairs"]
            found = kept
            if found is None or redraw or number < wanted:
                number = max(number, wanted)
                found = self._drawn(name, probe, number, () if redraw or kept is None else kept)
                if write:
                    write_file(path, self._key(name, probe), {}, lambda partial: write_cases(partial, found, number))
        return found if self._pairs is None else _of_first(found, self._pairs)

    def _drawn(self, name: str, probe: Probe, pairs: int, kept: Sequence[Case]) -> list[Case]:
        drawn = draw(self.graded, probe.drawn, self.scale, max(self._config.grades), self._config.seed)
        candidates = self._candidates(drawn.places.tolist(), _READ * pairs)
        return make_cases(name, probe, candidates, self._material, self._config.seed, pairs, self._fits, kept)

    def _candidates(self, places: Sequence[int], first: int) -> Iterator[Candidate]:
        """The pairs at these places with their texts: of the ``first`` ones, then of more and more at a time, as long
        as any are taken."""
        graded, start, size = self.graded, 0, first
        while start < len(places):
            some = places[start : start + size]
            keys = [(graded.query_ids[place], graded.doc_ids[place]) for place in some]
            texts = read_pairs(self.grading, set(keys))
            for key, place in zip(keys, some, strict=True):
                yield Candidate(texts[key], int(graded.judge[place]), _whole(graded.people[place]))
            start, size = start + size, 4 * size

    def _fits(self, shown: PairTexts) -> bool:
        """Whether every member is shown all of a text."""
        for judge in (member.judge for member in self.members):
            pair, cut = shown_pair(judge, "", "", shown)
            if cut is not None or (judge.model is None and not judge.reads_whole(pair)):
                return False
        return True

    @cached_property
    def graded(self) -> GradedPairs:
        """The pairs that the judge graded."""
        return read_graded(self.grading, self.grading.labeler(self.name), people_of(self.grading))

    @cached_property
    def _material(self) -> Material:
        return read_material(self.grading, self.graded, self.scale, self._config.seed)

    @cached_property
    def _setting(self) -> Setting:
        models = [member.judge.model for member in self.members if member.judge.model is not None]
        keys = models[0].prompt.answer if models else None
        answer = None if keys is None else AnswerKeys(keys.reasoning, keys.grade)
        language = language_of(self.members)
        return Setting(self._config.folder, self._config.grades, language, terms_of(language), answer)

    def _key(self, name: str, probe: Probe) -> dict[str, Any]:
        return {
            **self.key,
            "answers_from": self.scale.answers_from,
            "probe": self._config.audit.probe(name).component.identity,
            "parameters": probe.parameters.model_dump(mode="json", exclude={"bound"}),
            "inputs": {path.name: file_digest(path) for path in probe.inputs},
        }

    @property
    def key(self) -> dict[str, Any]:
        """What drawn pairs depend on: the pool, the judge, and who counts as people."""
        config = self._config
        settings = config.judges[self.name]
        return {
            "format": _FORMAT,
            "pool": self._workspace.input_digest(self.grading.pool),
            "narratives": digest(dict(self.grading.narratives)),
            "judges": {member.name: digest(member.definition(self.grading)) for member in self.members},
            "readings": {
                member.name: member.judge.model.reading.version for member in self.members if member.judge.model
            },
            "samples": {member.name: [member.settings.samples, member.settings.aggregate] for member in self.members},
            "method": settings.method if isinstance(settings, ConsensusConfig) else None,
            "seed": config.seed,
            "people": config.audit.people,
        }


def _whole(grade: float) -> int | None:
    return None if np.isnan(grade) else int(grade)


def _of_first(cases: Sequence[Case], pairs: int) -> list[Case]:
    """The cases of the first ``pairs`` pairs."""
    kept = set(list(dict.fromkeys((case.query_id, case.doc_id) for case in cases))[:pairs])
    return [case for case in cases if (case.query_id, case.doc_id) in kept]


def write_cases(path: Path, cases: Sequence[Case], pairs: int) -> dict[str, int]:
    """Writes cases of so many pairs; returns both numbers."""
    with output(path) as stream:
        for case in cases:
            stream.write(json.dumps(case.as_json()).encode() + b"\n")
    return {"cases": len(cases), "pairs": pairs}


def read_cases(path: Path) -> list[Case]:
    return [Case.from_json(json.loads(text)) for _, text in read_lines(path)]
