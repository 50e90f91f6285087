"""The card of a judge that was trained from labels: what it learned from, and how its outputs are read as grades.

``train judge`` writes it into the model's folder, the judge ``distilled`` and whoever reads its labels read it there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationError

from quati_pool.files.yaml_file import Model
from quati_pool.models.errors import ModelError
from quati_pool.models.modules import read_config

CARD = "quati_pool_judge.json"

Target = Literal["ordinal", "expected", "binary"]
Values = npt.NDArray[np.float64]


class Teacher(Model):
    """A labeler whose grades a judge learned from. ``sources`` are the independent labelers behind it, itself if it
    graded independently, ``models`` and ``families`` theirs, where known; ``grades`` counts its grades among the
    training pairs."""

    name: str
    kind: str
    version: str | None
    sources: list[str]
    models: list[str] = Field(default_factory=list)
    families: list[str] = Field(default_factory=list)
    grades: dict[int, int] = Field(default_factory=dict)


class BaseModelCard(Model):
    """The model from which training began, as named, and what identifies its weights."""

    model: str
    identity: dict[str, Any]


class Readings(NamedTuple):
    """What a judge's outputs say of pairs, shape (pairs,) each: the grade; the expected grade, None from a model that
    only says whether a passage is relevant; the probability of each grade, shape (pairs, grades), None from a model
    that has none; and the score by which pairs are ordered."""

    grades: npt.NDArray[np.int64]
    expected: Values | None
    distribution: Values | None
    score: Values


class JudgeCard(Model):
    """See the module. ``relevant_from`` is the lowest relevant grade. ``shifts``, in log-odds, one per output, are
    subtracted from the outputs: by so much class balance and changed pairs raised them in training. Queries are by
    query_id, with the ``query_sha`` of their text."""

    task: Literal["judge"] = "judge"
    target: Target
    scale: list[int]
    relevant_from: int
    shifts: list[float]
    max_tokens: int
    base: BaseModelCard
    collection: str
    teachers: list[Teacher]
    augmentation: dict[str, Any]
    negatives: dict[str, Any]
    settings: dict[str, Any]
    libraries: dict[str, str]
    training_queries: dict[str, str]
    held_out_queries: dict[str, str]
    content_shas: list[str]
    steps: dict[str, Any]
    held_out: dict[str, Any]

    @property
    def outputs(self) -> int:
        return outputs_of(self.target, self.scale)

    def read(self, outputs: Values) -> Readings:
        """The grades that a model's outputs, shape (pairs, outputs), stand for.

        ``ordinal``: output k is the log-odds of a grade above the k-th of the scale. The probabilities are put into
        falling order (Chernozhukov, Fernández-Val and Galichon 2010, Econometrica 78(3): sorting a curve that ought to
        be monotone only brings it nearer), and their differences are the distribution; the grade is the number of
        thresholds that more likely than not are passed. ``expected``: the output is the expected grade, from 0 for the
        lowest of the scale to 1 for the highest; the grade is the nearest, the lower one where two are. ``binary``:
        the output is the log-odds of relevance; the grade is the lowest relevant or the lowest of all.
        """
        scale = np.array(self.scale, dtype=np.int64)
        if self.target == "expected":
            expected = scale[0] + np.clip(outputs[:, 0], 0.0, 1.0) * (scale[-1] - scale[0])
            nearest = np.abs(expected[:, None] - scale).argmin(axis=1)
            return Readings(scale[nearest], expected, None, expected)
        from scipy.special import expit

        passed = expit(outputs - np.array(self.shifts))
        if self.target == "binary":
            relevant = passed[:, 0]
            grades = np.where(relevant > 0.5, self.relevant_from, scale[0])
            if len(scale) > 2:
                return Readings(grades, None, None, relevant)
            expected = scale[0] + relevant * (scale[1] - scale[0])
            return Readings(grades, expected, np.column_stack([1 - relevant, relevant]), relevant)
        passed = -np.sort(-passed, axis=1)
        edges = np.concatenate([np.ones((len(passed), 1)), passed, np.zeros((len(passed), 1))], axis=1)
        expected = scale[0] + passed @ np.diff(scale)
        return Readings(scale[(passed > 0.5).sum(axis=1)], expected, edges[:, :-1] - edges[:, 1:], expected)

    def learned(self) -> dict[str, Any]:
        """What readers of its labels must know of their origin, as JSON; part of the judge's identity."""
        names = sorted({name for teacher in self.teachers for name in (teacher.name, *teacher.sources)})
        models = sorted({model for teacher in self.teachers for model in teacher.models} | {self.base.model})
        families = sorted({family for teacher in self.teachers for family in teacher.families})
        queries = sorted({*self.training_queries.values(), *self.held_out_queries.values()})
        return {"labelers": names, "models": models, "families": families, "queries": queries}


def outputs_of(target: Target, scale: list[int]) -> int:
    """The number of outputs of a model for a target."""
    return len(scale) - 1 if target == "ordinal" else 1


def read_card(folder: Path, model: str) -> JudgeCard:
    """The card in a model's folder. Raises ModelError if there is none, or it is damaged."""
    file = folder / CARD
    if not file.is_file():
        raise ModelError(
            f"model {model!r} has no {CARD}: it is no judge that quati-pool trained; train one: quati-pool train judge"
        )
    try:
        return JudgeCard.model_validate(read_config(file), strict=False)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise ModelError(f"{file} is damaged at {place}; train the judge again, or restore the file") from None
