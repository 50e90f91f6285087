"""What an audit of grades reads: of a workspace, or of label and run files alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from quati_pool.commands.audit.drawn_cases import language_of, members, terms_of
from quati_pool.commands.audit.grades import COVERED, GradeAudit, Relations, TextFeatures, audit_grades
from quati_pool.commands.audit.wordings import Wordings, compare_wordings
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.evaluation.measures import parse_measures
from quati_pool.files.lines import read_lines
from quati_pool.labels.gathered import Gathered, LabelFiles, LabelSource
from quati_pool.labels.labelers import Grading
from quati_pool.labels.qrels import as_qrels, grades_by_pair, without_queries
from quati_pool.labels.sources import gather
from quati_pool.project.config import JudgeConfig
from quati_pool.project.inputs import query_drafters, query_texts
from quati_pool.project.runs import RunSet, run_sets, workspace_runs
from quati_pool.records import Qrels
from quati_pool.registry import nearest
from quati_pool.text.pluralize import counted, listed

DEFAULT_MEASURE = "nDCG@10"


@dataclass(frozen=True)
class GradeSettings:
    """The first measure compares systems; ``families`` is a file of run_tag and family, ``judge_families`` has those of
    judges by name; ``people`` names whose grades are the truth, by default those of all people; ``wordings`` name the
    label files of a judge under other wordings of its prompt."""

    measure: str | None = None
    people: str | None = None
    families: Path | None = None
    judge_families: Mapping[str, str] | None = None
    alpha: float = 0.05
    seed: int | None = None
    wordings: tuple[str, ...] = ()


def file_grades(
    files: LabelFiles, runs: Sequence[str], settings: GradeSettings, warn: Callable[[str], None] = lambda line: None
) -> tuple[dict[str, GradeAudit | str], Wordings | None]:
    """The grades of every judge among label files, against those of people among them, or why they cannot be compared;
    and what other wordings of a prompt do to them, None without files of such. Oddities of the files are reported to
    ``warn``.

    Raises QuatiPoolError if no file holds people's grades or none a judge's, or if there are wordings of several judges
    or of other pairs than the judge's, and InputError for an unreadable file.
    """
    everything = gather(None, (), files, any_grade=files.scale is None)
    reworded = [source for source in everything.sources if source.name in settings.wordings]
    rest = [source for source in everything.sources if source.name not in settings.wordings]
    gathered = replace(everything, sources=rest)
    people = _people(gathered, settings.people)
    judges = [source for source in gathered.sources if source.grader != "people" and source.name != people.name]
    if not judges:
        raise ConfigError("no label file holds a judge's grades; add one: --labels NAME=FILE")
    if reworded and len(judges) > 1:
        names = ", ".join(judge.name for judge in judges)
        raise ConfigError(f"--wording: of which judge, {names}? Name its file alone with --labels")
    run_set = check_inputs([judge.name for judge in judges], settings, runs)
    for warning in (*gathered.warnings, *(run_set.warnings if run_set is not None else ()), *_unmatched(gathered)):
        warn(warning)
    families = _families(settings.families, run_set)
    known = settings.judge_families or {}
    measure = parse_measures([settings.measure or DEFAULT_MEASURE])[0]
    found: dict[str, GradeAudit | str] = {}
    for judge in judges:
        relations = Relations(families, {}, [judge.name], known.get(judge.name))
        try:
            found[judge.name] = audit_grades(
                gathered, judge, people, _comparable(run_set, judge, people), relations, measure=measure,
                alpha=settings.alpha, seed=settings.seed or 0,
            )  # fmt: skip
        except QuatiPoolError as error:
            found[judge.name] = str(error)
    if not reworded:
        return found, None
    (judge,) = judges
    own, of_people, *others = [grades_by_pair(source.qrels) for source in (judge, people, *reworded)]
    named = dict(zip([source.name for source in reworded], others, strict=True))
    for name, grades in named.items():
        if not own.keys() & grades.keys():
            raise ConfigError(f"--wording: {name} and {judge.name} graded no pair in common; name files of one pool")
    wordings = compare_wordings(
        own, named, of_people, everything.scale, run_set, measure, name=judge.name, seed=settings.seed or 0
    )
    return found, wordings


def check_inputs(judges: Sequence[str], settings: GradeSettings, runs: Sequence[str]) -> RunSet | None:
    """Reads what options name, so that a faulty one is refused before anything is asked, and whether or not there is
    anything to compare; returns the runs of the files ``runs``, None without any.

    Raises QuatiPoolError for an unknown measure or judge, and for an unreadable file.
    """
    if settings.measure is not None:
        parse_measures([settings.measure])
    for name in settings.judge_families or ():
        if name not in judges:
            raise ConfigError(f"--judge-family: there is no judge {name!r}; {nearest(name, judges)}")
    found = run_sets(runs)
    if len(found) > 1:
        raise ConfigError(f"--run names {len(found)} sets of runs, and one is read at a time; name one")
    run_set = found[0] if found else None
    _families(settings.families, run_set)
    return run_set


def _unmatched(gathered: Gathered) -> Iterator[str]:
    for name, rows in Counter(row.labeler for row in gathered.unmatched).items():
        yield f"{name}: {counted(rows, 'row is', 'rows are')} left out, as the texts match no pair, or several"


def _people(gathered: Gathered, name: str | None) -> LabelSource:
    """Whose grades are the truth: the labeler ``name``, or the people's that has most grades, panels first."""
    by_name = {source.name: source for source in gathered.sources}
    if name is not None:
        if name not in by_name:
            raise ConfigError(f"there is no labeler {name!r}; {nearest(name, by_name)}")
        if by_name[name].grader == "hybrid":
            raise ConfigError(f"{name} is a hybrid, which has a judge's grades in it; name people's grades")
        return by_name[name]
    persons = [source for source in gathered.sources if source.grader == "people"]
    if not persons:
        raise ConfigError("no labeler is a person; name whose grades are the truth with --people NAME")
    return max(persons, key=lambda source: (bool(source.members), len(source.qrels)))


def _families(path: Path | None, run_set: RunSet | None) -> dict[str, str]:
    """The families of systems by run_tag: those of the file, lines of run_tag and family separated by a tab."""
    if path is None:
        return {}
    found: dict[str, str] = {}
    for line, text in read_lines(path):
        if not text.strip() or text.startswith("#"):
            continue
        run_tag, tab, family = text.partition("\t")
        if not (tab and run_tag.strip() and family.strip()):
            raise InputError(path, line, "expected a run_tag, a tab and its family")
        if found.setdefault(run_tag.strip(), family.strip()) != family.strip():
            raise InputError(path, line, f"{run_tag.strip()} has two families; keep one")
    known = {run.run_tag for run in run_set.runs} if run_set is not None else set()
    if known and not known.intersection(found):
        raise InputError(path, None, f"names no run that is read; {nearest(next(iter(found), ''), known)}")
    return found


def _comparable(run_set: RunSet | None, judge: LabelSource, people: LabelSource) -> RunSet | None:
    """The runs, or None if people graded only a sample of what the judge did, under which measures differ for that
    reason alone."""
    if run_set is None:
        return None
    return run_set if _covered(judge.qrels, people.qrels) >= COVERED else None


def _covered(judge: Qrels, people: Qrels) -> float:
    """The share of the judge's pairs that people graded too, of the queries that both judge."""
    query = people.queries.encode(judge.queries.decode(judge.query))
    doc = people.docs.encode(judge.docs.decode(judge.doc))
    common = np.isin(query, people.query)
    size = max(len(people.docs), 1)
    graded = np.isin(query * size + doc, people.query * size + people.doc) & (doc >= 0)
    return float(graded[common].mean()) if common.any() else 0.0


class WorkspaceGrades:
    """Compares the grades of a workspace's judges with people's. The grades, the systems and the texts are each read
    once for all judges, when they are first needed. ``given`` are runs to compare in place of the workspace's."""

    def __init__(self, grading: Grading, settings: GradeSettings | None = None, given: RunSet | None = None) -> None:
        self.grading = grading
        self.settings = settings or GradeSettings()
        self._given = given
        self._features: dict[str, TextFeatures] = {}

    @property
    def measure(self) -> str:
        """What compares systems."""
        return parse_measures([self.settings.measure or self.grading.config.measures[0]])[0]

    @cached_property
    def systems(self) -> RunSet | None:
        """The systems, None if the workspace has none yet."""
        if self._given is not None:
            return self._given
        with suppress(QuatiPoolError):
            return workspace_runs(self.grading.config)
        return None

    def of(self, name: str) -> GradeAudit | str:
        """The grades of a judge against those of people, or why they cannot be compared."""
        config, settings = self.grading.config, self.settings
        judge = next((source for source in self._stored.sources if source.name == name), None)
        if judge is None:
            return self._stored.problems.get(name, f"{name} has graded nothing")
        try:
            people = _people(self._gathered, self._named_people)
        except ConfigError:
            if self._named_people is not None:
                raise
            others = [source.name for source in self._gathered.sources if source.grader == "file"]
            named_by = f"; --people {others[0]} takes those of {others[0]} for people's" if others else ""
            return f"no person has graded anything yet{named_by}"
        if people.name == name:
            return "it is the one whose grades count as people's"
        gathered, seen = self._gathered, self._seen(judge)
        if seen:
            judge = replace(judge, qrels=without_queries(judge.qrels, seen))
            if not len(judge.qrels):
                teachers = listed(sorted(_all(origin.labelers for origin in judge.origins)))
                return f"it was distilled from {teachers}, and saw grades of all queries that it graded here"
            gathered = replace(gathered, sources=[judge if one.name == name else one for one in gathered.sources])
        run_set = _comparable(self.systems, judge, people)
        own = config.judges[name]
        model = getattr(getattr(own, "parameters", None), "model", None)
        relations = Relations(
            families={**{tag: config.family(tag) for tag in config.systems}, **_families(settings.families, run_set)},
            uses={tag: system.uses for tag, system in config.systems.items()},
            judge_names=[name, *([model] if model else [])],
            judge_family=self._family(name),
            teacher_names=_all(origin.labelers | origin.models for origin in judge.origins),
            teacher_families=_all(origin.families for origin in judge.origins),
            drafters=self._drafters,
            drafter_families=self._drafter_families,
        )
        try:
            found = audit_grades(
                gathered,
                judge,
                people,
                run_set,
                relations,
                measure=self.measure,
                alpha=settings.alpha,
                seed=config.seed if settings.seed is None else settings.seed,
                features=self._features_for(name),
            )
        except QuatiPoolError as error:
            return str(error)
        taught = sorted(_all(origin.labelers for origin in judge.origins))
        return replace(found, teachers=tuple(taught), seen_queries=len(seen))

    def _seen(self, judge: LabelSource) -> set[str]:
        """The queries that a judge graded of which it had seen grades when it was trained."""
        if not judge.origins:
            return set()
        texts = query_texts(self.grading.config)
        graded = judge.qrels.queries.decode(np.unique(judge.qrels.query)).to_pylist()
        return {one for one in graded if any(origin.saw(texts.get(one, "")) for origin in judge.origins)}

    @cached_property
    def _drafters(self) -> dict[str, str]:
        return query_drafters(self.grading.config)

    @property
    def _drafter_families(self) -> dict[str, str]:
        """The families that are declared for the models of judges."""
        found = {}
        for name, judge in self.grading.config.judges.items():
            model = getattr(getattr(judge, "parameters", None), "model", None)
            if model and (family := self._family(name)):
                found[model] = family
        return found

    def _family(self, name: str) -> str | None:
        """The family that is declared for a judge."""
        own = self.grading.config.judges[name]
        declared = (self.settings.judge_families or {}).get(name)
        return declared or (own.family if isinstance(own, JudgeConfig) else None)

    @property
    def _named_people(self) -> str | None:
        return self.settings.people or self.grading.config.audit.people

    @cached_property
    def _stored(self) -> Gathered:
        return gather(self.grading.config, (), LabelFiles(), store=self.grading.store)

    @cached_property
    def _gathered(self) -> Gathered:
        """All labelers, with the majority of several people unless it is said who the people are."""
        if self._named_people is not None or len(self.grading.people()) < 2:
            return self._stored
        return replace(self._stored, sources=[*self._stored.sources, _majority(self.grading)])

    def _features_for(self, name: str) -> TextFeatures | None:
        """Lengths and overlaps of the pool's passages, by the terms of the judge's language; None for a judge that does
        not read texts."""
        try:
            language = language_of(members(self.grading, name))
        except ConfigError:
            return None
        if language not in self._features:
            self._features[language] = _features(self.grading, language)
        return self._features[language]


def _all(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)


def _majority(grading: Grading) -> LabelSource:
    """The grades of all people by majority, as those that choose the pairs of probes."""
    panel = grading.panel("majority")
    graded = [one for chunk in grading.pairs() for one in panel.graded(chunk) if one.relevance is not None]
    return LabelSource(panel.name, panel.kind, as_qrels(graded), None, members=panel.derived_from, grader="people")


def _features(grading: Grading, language: str) -> TextFeatures:
    terms = terms_of(language)
    lengths: dict[tuple[str, str], int] = {}
    overlaps: dict[tuple[str, str], float] = {}
    asked: dict[str, frozenset[str]] = {}
    for chunk in grading.pairs():
        for pair in chunk:
            if pair.query not in asked:
                asked[pair.query] = frozenset(terms(pair.query))
            wanted, key = asked[pair.query], (pair.query_id, pair.doc_id)
            lengths[key] = len(pair.text)
            overlaps[key] = len(wanted.intersection(terms(pair.text))) / len(wanted) if wanted else 0.0
    return TextFeatures(lengths, overlaps)
