"""Whose grades are estimated, by which judge's, and what of the pool people graded."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.errors import ConfigError, QuatiPoolError, TranslatableText
from quati_pool.estimation.pair_frame import NO_GRADE
from quati_pool.labels.base import PRECEDENCE
from quati_pool.labels.frame_of_design import frame_of_design
from quati_pool.labels.frame_of_files import frame_of_files
from quati_pool.labels.gathered import Gathered, LabelFiles, LabelSource
from quati_pool.labels.graded_frame import GradedFrame
from quati_pool.labels.peoples_grades import PeoplesGrades, read_people
from quati_pool.labels.sources import gather
from quati_pool.project.config import PoolConfig
from quati_pool.project.inputs import query_texts
from quati_pool.registry import nearest

if TYPE_CHECKING:
    from quati_pool.labels.base import Labeler
    from quati_pool.labels.labelers import Grading
    from quati_pool.store.database import Store
    from quati_pool.store.designs import Designs
    from quati_pool.store.records import Design


@dataclass(frozen=True, eq=False)
class Sources:
    """Whose grades are estimated, in words, the judge, and the scale of both."""

    gathered: Gathered
    people: str
    aggregation: str | None
    """How the grades of several people of a pair become one; None for a single labeler."""
    judge: LabelSource
    seed: int | None
    """The seed of the workspace's design that drew the pairs; None for label files."""

    @property
    def scale(self) -> list[int]:
        return grades_of(self.gathered)

    @property
    def warnings(self) -> tuple[str, ...]:
        return warnings_of(self.gathered)


@dataclass(frozen=True, eq=False)
class LabelInputs:
    """Where labels are read from: the workspace, its ``pool`` and open ``store``, and label ``files``. ``of_files``:
    people's labels are not the workspace's."""

    config: PoolConfig | None
    files: LabelFiles
    pool: Path | None
    store: Store | None
    of_files: bool

    def grading(self, settings: EstimateSettings) -> Grading:
        """The labelers of the workspace, which there must be."""
        from quati_pool.labels.labelers import Grading

        assert self.config is not None
        assert self.store is not None
        return Grading(self.config, self.store, self.pool, revealed=settings.revealed)


def graded(inputs: LabelInputs, settings: EstimateSettings) -> tuple[GradedFrame, Sources]:
    if inputs.of_files:
        _refuse_options_of_designs(settings)
    elif settings.sampled is not None:
        raise ConfigError("--sampled says how a file's labels were chosen, and the workspace's designs are known")
    gathered, judge = judged(inputs, settings)
    if inputs.of_files:
        source = named_source(gathered, str(settings.people))
        frame = frame_of_files(source, judge.qrels, settings.sampled)
        _refuse_judge_of_the_same_grades(inputs.config, frame, judge, source.members or {source.name})
        return frame, Sources(gathered, source.name, None, judge, None)
    from quati_pool.commands.estimates.designs import answered_designs
    from quati_pool.store.designs import Designs

    grading = inputs.grading(settings)
    designs = Designs(grading.store, grading.config.name)
    if settings.people is None and not grading.people():
        begun = any(one.is_random for one in designs.all())
        draw = "" if begun else "draw pairs with quati-pool assign --random-queries N, and "
        text = f"no person has graded anything; {draw}have them graded with quati-pool annotate"
        raise QuatiPoolError(TranslatableText(text, "nobody_graded"))
    labeler = chosen_people(grading, settings)
    people = read_people(grading, labeler)
    design = _design(designs, settings, answered_designs(grading.store, grading.config.name), people)
    frame = frame_of_design(people, judge.qrels, design, designs)
    _refuse_judge_of_the_same_grades(inputs.config, frame, judge, labeler.derived_from or {labeler.name})
    words = settings.people or people_in_words(frame.people_names)
    aggregation = settings.aggregate if settings.people is None and len(frame.people_names) > 1 else None
    return frame, Sources(gathered, words, aggregation, judge, design.seed)


def judged(inputs: LabelInputs, settings: EstimateSettings) -> tuple[Gathered, LabelSource]:
    """The labelers that are read, and the judge among them."""
    config, files, pool, store = inputs.config, inputs.files, inputs.pool, inputs.store
    judge_in_file = settings.judge in files.files
    names = [settings.judge] if settings.judge is not None and not judge_in_file else []
    if inputs.of_files:
        home = None if judge_in_file else config
        gathered = gather(home, names, files, pool=pool, store=store, any_grade=True, negative=False)
    else:
        gathered = gather(config, names, files, pool=pool, store=store)
    return gathered, chosen_judge(gathered, settings)


def refuse_judge_of_the_sample(frame: GradedFrame, name: str) -> None:
    """Raises QuatiPoolError if the judge graded the drawn queries, and nothing of most others: what it graded must not
    depend on what was drawn."""
    if frame.queries is None:
        return
    graded = np.bincount(frame.query[frame.judge != NO_GRADE], minlength=len(frame.query_ids)) > 0
    drawn, others = graded[frame.queries.drawn], np.delete(graded, frame.queries.drawn)
    if drawn.all() and others.sum() < 0.5 * len(others):
        text = (
            f"{name} graded the drawn queries, and no pair of {int((~others).sum()):,} of the {len(others):,} others, "
            "for which an estimate needs its grades; have it grade the whole pool, or name another judge"
        )
        raise QuatiPoolError(TranslatableText(text, "judge_of_sample", judge=name))


def _refuse_judge_of_the_same_grades(
    config: PoolConfig | None, frame: GradedFrame, judge: LabelSource, people: Collection[str]
) -> None:
    """Raises QuatiPoolError if a judge was distilled from the grades that are to correct it, on queries of the frame.

    An estimate adds to the judge's mean over the frame what people's grades show it to be off by. On queries that it
    learned from it is off by less than on the others: counted among the sample, they make the correction too small;
    left out of it, they get a correction that is too large. A judge that learned from others' grades, or from other
    queries, has errors that do not depend on the sample."""
    taught = [origin for origin in judge.origins if not origin.labelers.isdisjoint(people)]
    if config is None or not taught:
        return
    texts = query_texts(config)
    seen = sum(
        any(origin.saw(texts.get(query_id, "")) for origin in taught) for query_id in frame.query_ids.values.to_pylist()
    )
    if seen:
        text = (
            f"{judge.name} was distilled from people's grades of {seen:,} of these {len(frame.query_ids):,} queries, "
            "and grades that it learned from cannot show how it errs on others; name a judge that learned from others' "
            "grades, or from other queries"
        )
        raise QuatiPoolError(TranslatableText(text, "judge_of_the_same_grades", judge=judge.name))


def _refuse_options_of_designs(settings: EstimateSettings) -> None:
    given = {
        "--design": settings.design is not None,
        "--revealed": settings.revealed,
        "--aggregate": settings.aggregate != EstimateSettings.aggregate,
    }
    for option, wanted in given.items():
        if wanted:
            raise ConfigError(f"{option} is about a workspace's labels, and --people names a file; leave it out")


def chosen_judge(gathered: Gathered, settings: EstimateSettings) -> LabelSource:
    """The judge that was named, or the one with most grades, language models first; else a label file."""
    if settings.judge is not None:
        named = named_source(gathered, settings.judge)
        if named.grader == "hybrid":
            raise ConfigError(
                f"--judge {named.name}: a hybrid has people's grades in it, which are what is estimated; name its judge"
            )
        if named.grader == "people" or named.name == settings.people:
            raise ConfigError(
                f"--judge {named.name}: people's grades are what is estimated; name a judge that graded the whole pool"
            )
        return named
    others = [one for one in gathered.sources if one.grader not in ("people", "hybrid") and one.name != settings.people]
    if not others:
        text = (
            "no judge has graded the pool, and estimates build on its grades; run: quati-pool judge, or name a file "
            "with --judge"
        )
        raise QuatiPoolError(TranslatableText(text, "no_judge"))
    # Labelers that pool.yaml declares as judges come before label files, of which it is not known what they are.
    return min(others, key=lambda one: (one.kind == "file", PRECEDENCE[one.grader], -len(one.qrels)))


def named_source(gathered: Gathered, name: str) -> LabelSource:
    found = next((one for one in gathered.sources if one.name == name), None)
    if found is None and name in gathered.problems:
        raise QuatiPoolError(f"{name} cannot be read: {gathered.problems[name]}")
    if found is None:
        raise ConfigError(f"there is no labeler {name!r} here; {nearest(name, [one.name for one in gathered.sources])}")
    return found


def warnings_of(gathered: Gathered) -> tuple[str, ...]:
    """Without those on how measures read sampled qrels, which are read here as the samples that they are."""
    return tuple(one for one in gathered.warnings if one not in gathered.on_samples)


def grades_of(gathered: Gathered) -> list[int]:
    """All grades of the scale and of the labelers, ascending."""
    return sorted({*gathered.scale, *(grade for one in gathered.sources for grade in one.qrels.relevance.tolist())})


def chosen_people(grading: Grading, settings: EstimateSettings) -> Labeler:
    """The labeler whose grades are estimated."""
    if settings.people is not None:
        labeler = grading.labeler(settings.people)
        if labeler.grader == "hybrid":
            raise ConfigError(
                f"--people {labeler.name}: a hybrid has a judge's grades in it; name people, or leave it out"
            )
        return labeler
    return grading.panel(settings.aggregate)


def people_in_words(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} people"


def _design(
    designs: Designs, settings: EstimateSettings, answered: Container[int | None], people: PeoplesGrades
) -> Design:
    """The design that was named, or the latest random one that was begun."""
    there = {one.design_id: one for one in designs.all()}
    if settings.design is not None:
        if settings.design not in there:
            known = ", ".join(f"{number} ({one.method})" for number, one in there.items())
            raise ConfigError(f"--design {settings.design}: there is no such design; there are: {known or 'none'}")
        return there[settings.design]
    # All pairs are no sample until all are graded, so that any other design comes before them.
    latest = sorted(there.values(), key=lambda one: (one.method != "all", one.design_id or 0), reverse=True)
    random = [one for one in latest if one.is_random]
    if not random:
        raise QuatiPoolError(
            "no design drew pairs at random, so that people's grades say nothing about the others; "
            "run: quati-pool assign --random-queries N, or --pairs-for nDCG@10 --expect N"
        )
    from quati_pool.commands.estimates.designs import begun_design

    return begun_design(random, designs, answered, people.grades)
