"""``quati-pool train judge``: a small judge of one's own, distilled from the grades of other labelers."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from quati_pool.commands.train.held_out import measured
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import digest, put_file
from quati_pool.files.digests import query_sha
from quati_pool.files.pools import has_text
from quati_pool.judging.base import Setting
from quati_pool.judging.pair import Pair
from quati_pool.labels.base import Graded, Labeler
from quati_pool.labels.labelers import Grading
from quati_pool.models.cross_encoder import PairScorer
from quati_pool.models.judge_card import CARD, BaseModelCard, JudgeCard, Teacher, read_card
from quati_pool.models.loading import library_versions
from quati_pool.models.location import LocalModel, locate_or_download
from quati_pool.models.parameters import ModelParameters
from quati_pool.project.config import JudgeConfig, PoolConfig, load_config
from quati_pool.project.events import Listener, kept_if_stopped
from quati_pool.project.workspace import Workspace
from quati_pool.records import State
from quati_pool.stats.hashing import hashes, places
from quati_pool.store.database import Store
from quati_pool.store.records import CurrentLabel, content_sha
from quati_pool.training.augmentation import SHARES
from quati_pool.training.fit import require_training
from quati_pool.training.judge_data import Examples, TaughtPair, calibrated, pair_id, split_by_query
from quati_pool.training.judge_model import JudgeTraining, TrainedJudge, train_judge_model
from quati_pool.training.model_folder import CHECKPOINTS, require_name, train_into

_TRAINING = "training/judge@2"


@dataclass(frozen=True)
class TrainJudgeSettings:
    """From whose grades a judge learns, from which model, and where it goes. ``relevant_from`` is the lowest relevant
    grade, by default the first of the upper half of the scale. ``held_out`` is the share of queries that are not
    trained on. ``negatives``: so many pairs of each query that nobody graded, drawn at random, count as irrelevant."""

    labelers: tuple[str, ...]
    model: str
    output: Path
    training: JudgeTraining = field(default_factory=JudgeTraining)
    relevant_from: int | None = None
    held_out: float = 0.2
    negatives: int = 0


@dataclass(frozen=True, eq=False)
class TrainedJudgeReport:
    """A trained judge: its ``folder``, its card, and whether this run trained it, in so many ``seconds``."""

    folder: Path
    card: JudgeCard
    trained: bool
    seconds: float
    config: PoolConfig

    @property
    def path_in_workspace(self) -> str:
        """The folder as ``pool.yaml`` names it."""
        here, workspace = self.folder.resolve(), self.config.folder.resolve()
        return os.path.relpath(here, workspace) if here.is_relative_to(workspace) else str(here)


def train_judge(config: Path, settings: TrainJudgeSettings, listener: Listener) -> TrainedJudgeReport:
    """Trains a judge into ``settings.output``, or goes on where a training with the same settings was broken off; a
    finished one is left as it is.

    Raises QuatiPoolError for labelers without grades, for what cannot be trained from or with, and for a folder with
    anything else in it.
    """
    require_training("train judge")
    require_name(settings.output)
    loaded = load_config(config)
    began = time.monotonic()
    if not 0 <= settings.held_out < 1:
        raise ConfigError(f"--held-out {settings.held_out:g} is not a share of the queries: at least 0, below 1")
    with Store.open(loaded.labels.url, loaded.folder) as store:
        grading = Grading(loaded, store)
        labelers = _labelers(grading, settings.labelers)
        with listener.stage("reading the grades"):
            grades = _Grades(grading, labelers, settings)
        teachers = [_teacher(grading, labeler) for labeler in labelers]
    scale = sorted(loaded.grades)
    relevant_from = scale[len(scale) // 2] if settings.relevant_from is None else settings.relevant_from
    examples = Examples.of(grades.pairs, scale, relevant_from)
    training, held_out = split_by_query(examples, settings.held_out, settings.training.fit.seed)
    local = _base_model(loaded, settings.model, listener)
    run = _Training(loaded, settings, local, training, held_out, teachers, grades.by_labeler, listener)
    trained = train_into(settings.output, run.key, run.provenance, _is_trained, run, listener.say)
    card = read_card(settings.output, str(settings.output))
    return TrainedJudgeReport(settings.output, card, trained, time.monotonic() - began, loaded)


@dataclass(frozen=True, eq=False)
class _Training:
    """One training; called with the model's folder, which it fills."""

    config: PoolConfig
    settings: TrainJudgeSettings
    local: LocalModel
    training: Examples
    held_out: Examples
    teachers: Sequence[Teacher]
    by_labeler: Mapping[str, Mapping[str, int]]
    listener: Listener

    @property
    def key(self) -> dict[str, Any]:
        """Everything that changes the model."""
        chosen = self.settings.training
        return {
            "training": _TRAINING,
            "collection": self.config.name,
            "base": self.local.identity,
            "target": chosen.target,
            "relevant_from": self.training.relevant_from,
            "grades": list(self.training.scale),
            "augment": chosen.augment,
            "max_tokens": chosen.max_tokens,
            "held_out": self.settings.held_out,
            "negatives": self.settings.negatives,
            "labelers": {teacher.name: teacher.version for teacher in self.teachers},
            **chosen.fit.identity,
            "training_pairs": _digest_of(self.training),
            "held_out_pairs": _digest_of(self.held_out),
        }

    @property
    def provenance(self) -> dict[str, Any]:
        return {"model": self.settings.model, "libraries": _libraries(), "seed": self.settings.training.fit.seed}

    def __call__(self, folder: Path) -> dict[str, Any]:
        chosen, say = self.settings.training, self.listener.progress
        done = 0

        def progress(steps: int, total: int, words: str) -> None:
            nonlocal done
            done = steps
            say("training the judge", steps, total, words, unit="steps")

        every = chosen.fit.checkpoint_steps
        with kept_if_stopped(lambda: f"the training up to step {done - done % every:,}" if done >= every else ""):
            made = train_judge_model(
                self.local, self.settings.model, self.training, self.held_out, chosen, folder, folder / CHECKPOINTS,
                progress,
            )  # fmt: skip
        card = self._measured(self._card(made), folder)
        text = card.model_dump_json(indent=1) + "\n"
        put_file(folder / CARD, lambda partial: partial.write_text(text, encoding="utf-8"))
        return {
            "training_pairs": len(self.training),
            "held_out_pairs": len(self.held_out),
            "steps": made.fitted.steps,
        }

    def _card(self, made: TrainedJudge) -> JudgeCard:
        """The card as far as it is known before the judge has graded."""
        chosen, fitted = self.settings.training, made.fitted
        return JudgeCard(
            target=chosen.target,
            scale=list(self.training.scale),
            relevant_from=self.training.relevant_from,
            shifts=made.balance.shifts.tolist(),
            max_tokens=made.max_tokens,
            base=BaseModelCard(model=self.settings.model, identity=self.local.identity),
            collection=self.config.name,
            teachers=[teacher.model_copy(update={"grades": self._grades(teacher.name)}) for teacher in self.teachers],
            augmentation={"mode": chosen.augment, "shares": SHARES[chosen.augment]},
            negatives={
                "per_query": self.settings.negatives,
                "training": int(self.training.negative.sum()),
                "held_out": int(self.held_out.negative.sum()),
            },
            settings={
                **chosen.fit.identity,
                "held_out": self.settings.held_out,
                "positive_weights": made.balance.positive_weights.tolist(),
            },
            libraries=_libraries(),
            training_queries=_queries(self.training),
            held_out_queries=_queries(self.held_out),
            content_shas=sorted(set(map(content_sha, self.training.queries, self.training.texts))),
            steps={
                "done": fitted.steps,
                "planned": fitted.planned,
                "kept": fitted.step,
                "held_out_losses": {str(step): loss for step, loss in fitted.losses},
                "training_pairs": len(self.training),
            },
            held_out={},
        )

    def _measured(self, card: JudgeCard, folder: Path) -> JudgeCard:
        """The card with the shifts and measures of the model in ``folder`` on the held-out queries."""
        self.listener.progress("grading the held-out pairs", 0, 0)
        fit = self.settings.training.fit
        parameters = ModelParameters(model=str(folder), device=fit.device)
        scorer = PairScorer(LocalModel(folder, {}), parameters, card.max_tokens)
        outputs = scorer.score(self.held_out.queries, self.held_out.texts, self.listener.say)
        if card.target != "expected":
            targets = self.held_out.targets(card.target)
            card = card.model_copy(update={"shifts": calibrated(outputs, targets, np.array(card.shifts)).tolist()})
        return card.model_copy(update={"held_out": measured(card, outputs, self.held_out, fit.seed)})

    def _grades(self, labeler: str) -> dict[int, int]:
        """How often a labeler gave each grade to a training pair."""
        found = self.by_labeler[labeler]
        counts = Counter(found[pair] for pair in self.training.ids if pair in found)
        return {grade: counts[grade] for grade in sorted(counts)}


def _is_trained(folder: Path) -> bool:
    return (folder / CARD).is_file()  # written last


def _labelers(grading: Grading, names: Sequence[str]) -> list[Labeler]:
    names = list(dict.fromkeys(names))
    if not names:
        raise ConfigError("whose grades is the judge to learn? Name them: --from NAME")
    return [grading.labeler(name) for name in names]


class _Grades:
    """What the labelers gave to the pairs of the pool: ``pairs`` for training, and by labeler the grade of each pair,
    under the pair's id among the examples."""

    def __init__(self, grading: Grading, labelers: Sequence[Labeler], settings: TrainJudgeSettings) -> None:
        """Raises QuatiPoolError if a labeler graded no pair of the pool."""
        self.pairs: list[TaughtPair] = []
        self.by_labeler: dict[str, dict[str, int]] = {labeler.name: {} for labeler in labelers}
        self._lowest = min(grading.config.grades)
        for chunk in grading.pairs():
            rows = list(zip(*(_column(labeler, chunk) for labeler in labelers), strict=True))
            # The pairs of a query are together, and all in one chunk.
            for _, some in groupby(zip(chunk, rows, strict=True), lambda each: each[0].query_id):
                ungraded = self._add([(pair, row) for pair, row in some if has_text(pair.text)])
                drawn = _drawn(ungraded, settings.negatives, settings.training.fit.seed)
                self.pairs += map(self._negative, drawn)
        lacking = next((name for name, grades in self.by_labeler.items() if not grades), None)
        if lacking is not None:
            raise QuatiPoolError(
                f"{lacking} has graded no pair of the pool, so that a judge learns nothing from it; run: "
                f"quati-pool judge {lacking}, or name another labeler with --from"
            )

    def _add(self, rows: Sequence[tuple[Pair, Sequence[tuple[Graded, float]]]]) -> list[Pair]:
        """Adds the graded pairs of a query; returns its other pairs, none if it has no graded one."""
        ungraded = []
        before = len(self.pairs)
        for pair, row in rows:
            given = [(one.relevance, expected) for one, expected in row if one.relevance is not None]
            if not given:
                ungraded.append(pair)
                continue
            for name, (one, _) in zip(self.by_labeler, row, strict=True):
                if one.relevance is not None:
                    self.by_labeler[name][pair_id(pair.query_id, pair.doc_id)] = one.relevance
            grades, expected = zip(*given, strict=True)
            self.pairs.append(TaughtPair(pair.query_id, pair.doc_id, pair.query, pair.text, grades, expected))
        return ungraded if len(self.pairs) > before else []

    def _negative(self, pair: Pair) -> TaughtPair:
        grade = (self._lowest,)
        return TaughtPair(pair.query_id, pair.doc_id, pair.query, pair.text, grade, tuple(map(float, grade)), True)


def _column(labeler: Labeler, pairs: Sequence[Pair]) -> list[tuple[Graded, float]]:
    """A labeler's grade of each pair, with its expected grade where its labels have one."""
    behind = labeler.behind(pairs)
    return [(one, _expected(one, labels)) for one, labels in zip(labeler.graded(pairs), behind, strict=True)]


def _expected(graded: Graded, labels: Mapping[int, CurrentLabel]) -> float:
    if graded.relevance is None:
        return np.nan
    known = [
        float(label.extra["expected_grade"])
        for label in labels.values()
        if label.status is State.ok and isinstance(label.extra.get("expected_grade"), int | float)
    ]
    return float(np.mean(known)) if known else float(graded.relevance)


def _drawn(pairs: Sequence[Pair], number: int, seed: int) -> list[Pair]:
    """``number`` of the pairs, or all if they are fewer; a larger number includes what a smaller one draws."""
    if not number:
        return []
    columns = [pair.query_id for pair in pairs], [pair.doc_id for pair in pairs]
    order = places(hashes("ungraded pairs that count as irrelevant", seed, *columns), *columns)
    return [pairs[place] for place in order[:number].tolist()]


def _teacher(grading: Grading, labeler: Labeler) -> Teacher:
    sources = sorted(labeler.derived_from or {labeler.name})
    models, families = set(), set()
    for name in (labeler.name, *sources):
        settings = grading.config.judges.get(name)
        if isinstance(settings, JudgeConfig):
            model = getattr(settings.parameters, "model", None)
            models |= {str(model)} if model else set()
            families |= {settings.family} if settings.family else set()
    return Teacher(
        name=labeler.name,
        kind=labeler.grader,
        version=labeler.version,
        sources=sources,
        models=sorted(models),
        families=sorted(families),
    )


def _base_model(config: PoolConfig, model: str, listener: Listener) -> LocalModel:
    """The model from which training begins: a folder, relative to the current one or to the workspace, or a name on the
    hub."""
    setting = Setting(config.folder, config.grades, Workspace(config.folder).input_digest)
    here = Path(model).expanduser()
    named = str(here.resolve()) if here.is_dir() else model
    return locate_or_download(setting, named, None, listener.say)


def _queries(examples: Examples) -> dict[str, str]:
    """The hash of each query's text, by query_id."""
    return dict(zip(examples.query_ids, map(query_sha, examples.queries), strict=True))


def _digest_of(examples: Examples) -> str:
    return digest(
        [
            [list(column) for column in (examples.ids, examples.queries, examples.texts)],
            examples.above.tolist(),
            examples.expected.tolist(),
        ]
    )


def _libraries() -> dict[str, str]:
    from importlib.metadata import version

    return {**library_versions(), "torch": version("torch"), "accelerate": version("accelerate")}
