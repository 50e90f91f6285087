"""What an audit of grades reads: of a workspace, or of label and run files alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
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
from quati_pool.labels.qrels import as_qrels, grades_by_pair
from quati_pool.labels.sources import gather
from quati_pool.project.config import JudgeConfig, PoolConfig
from quati_pool.project.runs import RunSet, run_sets, workspace_runs
from quati_pool.records import Qrels
from quati_pool.registry import nearest
from quati_pool.text.pluralize import counted

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
    run_set = _given_runs(runs)
    for warning in (*gathered.warnings, *(run_set.warnings if run_set is not None else ()), *_unmatched(gathered)):
        warn(warning)
    families = _families(settings.families, run_set)
    known = settings.judge_families or {}
    check_inputs([judge.name for judge in judges], settings, ())
    measure = parse_measures([settings.measure or DEFAULT_MEASURE])[0]
    found: dict[str, GradeAudit | str] = {}
    for judge in judges:
        comparable, relations = (
            _comparable(run_set, judge, people),
            Relations(families, {}, [judge.name], known.get(judge.name)),
        )
        try:
            found[judge.name] = audit_grades(
                gathered, judge, people, comparable, relations, measure=measure, alpha=settings.alpha,
                seed=settings.seed or 0,
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


def check_inputs(judges: Sequence[str], settings: GradeSettings, runs: Sequence[str]) -> None:
    """Reads what options name, so that a faulty one is refused before anything is asked, and whether or not there is
    anything to compare. Raises QuatiPoolError for an unknown measure or judge, and for an unreadable file."""
    if settings.measure is not None:
        parse_measures([settings.measure])
    for name in settings.judge_families or ():
        if name not in judges:
            raise ConfigError(f"--judge-family: there is no judge {name!r}; {nearest(name, judges)}")
    run_set = _given_runs(runs)
    if settings.families is not None:
        _families(settings.families, run_set)


def _unmatched(gathered: Gathered) -> Iterator[str]:
    for name, rows in Counter(row.labeler for row in gathered.unmatched).items():
        yield f"{name}: {counted(rows, 'row is', 'rows are')} left out, as the texts match no pair, or several"


def _given_runs(runs: Sequence[str]) -> RunSet | None:
    """The runs of run files; None without any."""
    found = run_sets(runs)
    if len(found) > 1:
        raise ConfigError(f"--run names {len(found)} sets of runs, and one is read at a time; name one")
    return found[0] if found else None


def _people(gathered: Gathered, name: str | None) -> LabelSource:
    """Whose grades are the truth: the labeler ``name``, or the people's that has most grades, panels first."""
    by_name = {source.name: source for source in gathered.sources}
    if name is not None:
        if name not in by_name:
            raise ConfigError(f"there is no labeler {name!r}; {nearest(name, by_name)}")
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
    query, doc = (
        people.queries.encode(judge.queries.decode(judge.query)),
        people.docs.encode(judge.docs.decode(judge.doc)),
    )
    common = np.isin(query, people.query)
    size = max(len(people.docs), 1)
    graded = np.isin(query * size + doc, people.query * size + people.doc) & (doc >= 0)
    return float(graded[common].mean()) if common.any() else 0.0


def workspace_grades(
    grading: Grading, name: str, settings: GradeSettings, runs: Sequence[str] = ()
) -> GradeAudit | str:
    """The grades of a workspace's judge against those of its people, or why they cannot be compared; by the files
    ``runs``, or else the workspace's runs."""
    config = grading.config
    gathered = gather(config, (), LabelFiles(), store=grading.store)
    judge = next((source for source in gathered.sources if source.name == name), None)
    if judge is None:
        return gathered.problems.get(name, f"{name} has graded nothing")
    named = settings.people or config.audit.people
    if named is None and len(grading.people()) > 1:
        gathered = replace(gathered, sources=[*gathered.sources, _majority(grading)])
    try:
        people = _people(gathered, named)
    except ConfigError:
        if named is not None:
            raise
        others = [source.name for source in gathered.sources if source.grader == "file"]
        named_by = f"; --people {others[0]} takes those of {others[0]} for people's" if others else ""
        return f"no person has graded anything yet{named_by}"
    if people.name == name:
        return "it is the one whose grades count as people's"
    run_set = _comparable(systems(config, runs), judge, people)
    own = config.judges[name]
    model = getattr(getattr(own, "parameters", None), "model", None)
    relations = Relations(
        families={**{tag: config.family(tag) for tag in config.systems}, **_families(settings.families, run_set)},
        uses={tag: system.uses for tag, system in config.systems.items()},
        judge_names=[name, *([model] if model else [])],
        judge_family=(settings.judge_families or {}).get(name)
        or (own.family if isinstance(own, JudgeConfig) else None),
    )
    try:
        return audit_grades(
            gathered,
            judge,
            people,
            run_set,
            relations,
            measure=parse_measures([settings.measure or config.measures[0]])[0],
            alpha=settings.alpha,
            seed=config.seed if settings.seed is None else settings.seed,
            features=_features(grading, name),
        )
    except QuatiPoolError as error:
        return str(error)


def systems(config: PoolConfig, runs: Sequence[str] = ()) -> RunSet | None:
    """The systems of the files ``runs``, or of the workspace; None if it has none yet."""
    if runs:
        return _given_runs(runs)
    with suppress(QuatiPoolError):
        return workspace_runs(config)
    return None


def _majority(grading: Grading) -> LabelSource:
    """The grades of all people by majority, as those that choose the pairs of probes."""
    panel = grading.panel("majority")
    graded = [one for chunk in grading.pairs() for one in panel.graded(chunk) if one.relevance is not None]
    return LabelSource(panel.name, panel.kind, as_qrels(graded), None, members=panel.derived_from, grader="people")


def _features(grading: Grading, name: str) -> TextFeatures | None:
    """Lengths and overlaps of the pool's passages, by the terms of the judge's language; None for a judge that does not
    read texts."""
    try:
        terms = terms_of(language_of(members(grading, name)))
    except ConfigError:
        return None
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
