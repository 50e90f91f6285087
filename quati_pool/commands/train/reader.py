"""``quati-pool train reader``: trains a reader on released files, and measures it on what is held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from quati_pool.commands.bench.readers import HomeEnvironment, NamedReader, read_answers
from quati_pool.commands.train.recipes import PreparedStage, ReaderOptions, Recipe, Trainee, recipe
from quati_pool.errors import ConfigError
from quati_pool.files.artifacts import digest, put_file
from quati_pool.models.errors import ModelError
from quati_pool.models.loading import library_versions, quiet
from quati_pool.models.location import locate_or_download
from quati_pool.models.parameters import ModelParameters
from quati_pool.models.readers.card import CARD, ReaderCard, read_card
from quati_pool.models.readers.opening import open_reader
from quati_pool.project.events import Listener
from quati_pool.qa_benchmarks.base import Case, Row
from quati_pool.training.fit import Fitted, require_training
from quati_pool.training.model_folder import CHECKPOINTS, require_name, train_into


@dataclass(frozen=True)
class TrainedStage:
    """One stage that is over: its numbers of examples, the method where its task has some, the steps done of those
    planned, the held-out loss by step, and the step whose weights were kept."""

    name: str
    examples: int
    held_out: int
    method: str | None
    epochs: int
    steps: int
    planned: int
    losses: Sequence[tuple[int, float]]
    step: int


@dataclass(eq=False)
class ReaderResult:
    """A reader in the folder ``output``. ``rows`` are its measures on the held-out questions of the last stage, empty
    without any. ``reused``: whether it was there already."""

    options: ReaderOptions
    kind: str
    stages: Sequence[TrainedStage]
    rows: Sequence[Row] = ()
    notes: Sequence[str] = ()
    reused: bool = False

    @property
    def output(self) -> Path:
        return self.options.output


def train_reader(options: ReaderOptions, listener: Listener) -> ReaderResult:
    """Trains a reader stage by stage, going on where a killed training was, and measures it.

    A finished reader with the same settings and data is left as it is. Raises ConfigError for options that do not fit
    the task or the reader in the folder, MissingExtraError without the extra, and the errors of reading the files and
    of locating the model.
    """
    require_training("train reader")
    require_name(options.output)
    local = locate_or_download(HomeEnvironment(), options.model, None, listener.say)
    chosen = recipe(options, local, listener)
    stages = chosen.prepare()
    if options.output.resolve() == local.folder.resolve():
        raise ConfigError(f"-o {options.output} is the folder of the model itself; name another")
    key = _key(options, chosen, stages, local.identity)
    inputs = {f"{stage.name}/{path}": found for stage in stages for path, found in stage.inputs.items()}

    def train(folder: Path) -> dict[str, Any]:
        trainee = chosen.load(local, stages)
        return _train(folder, key, chosen, trainee, trainee.stages or stages, listener)

    trained = train_into(
        options.output,
        key,
        {"inputs": inputs, "models": [options.model]},
        lambda folder: _is_trained(folder, key),
        train,
        listener.say,
    )
    card = read_card(options.output)
    assert card is not None
    return ReaderResult(
        options,
        chosen.kind,
        [_stage_of(fields) for fields in card.training["stages"]],
        [_row_of(fields) for fields in card.training["held_out"]],
        card.training["notes"],
        not trained,
    )


def _key(
    options: ReaderOptions, chosen: Recipe, stages: Sequence[PreparedStage], identity: Mapping[str, Any]
) -> dict[str, Any]:
    """What decides the weights of a reader, as JSON."""
    return {
        "task": options.task,
        "kind": chosen.kind,
        "model": dict(identity),
        "max_tokens": options.max_tokens,
        "stages": [
            {
                "name": stage.name,
                "settings": stage.settings.identity,
                "about": dict(stage.about),
                "examples": digest([asdict(example) for example in stage.examples]),
                "held_out": digest([asdict(example) for example in stage.held_out]),
            }
            for stage in stages
        ],
    }


def _is_trained(folder: Path, key: Mapping[str, Any]) -> bool:
    """Whether the folder holds a reader that was trained with this key and measured."""
    try:
        card = read_card(folder)
    except ModelError:
        return False
    return card is not None and card.training.get("key") == digest(key) and "held_out" in card.training


def _train(
    folder: Path,
    key: Mapping[str, Any],
    chosen: Recipe,
    trainee: Trainee,
    stages: Sequence[PreparedStage],
    listener: Listener,
) -> dict[str, Any]:
    """Trains into ``folder``; there are no counts for its sidecar, as the card has them."""
    checkpoints = folder / CHECKPOINTS
    trained = []
    for number, stage in enumerate(stages, 1):
        label = f"stage {number}: {stage.name}" if len(stages) > 1 else f"training on {stage.name}"

        def progress(done: int, total: int, words: str, label: str = label) -> None:
            listener.progress(label, done, total, words, unit="steps")

        fitted = chosen.fit(trainee, stage, checkpoints / f"stage-{number}", progress)
        trained.append(_trained(stage, fitted))
    with quiet():
        trainee.model.save_pretrained(folder)
        trainee.tokenizer.save_pretrained(folder)
    about = {
        "key": digest(key),
        "model": key["model"],
        "stages": [{**asdict(one), **_provenance(stage)} for one, stage in zip(trained, stages, strict=True)],
        "libraries": library_versions(),
    }
    card = ReaderCard(chosen.kind, chosen.options.task, trainee.max_tokens, trainee.inputs, about)
    _write_card(folder, card)
    held_out = _measured(chosen, folder, checkpoints / "answers", listener)
    notes = [*(note for stage in stages for note in stage.notes), *held_out.pop("notes")]
    _write_card(folder, replace(card, training={**about, "held_out": held_out["rows"], "notes": notes}))
    return {}


def _write_card(folder: Path, card: ReaderCard) -> None:
    put_file(folder / CARD, lambda partial: partial.write_text(card.as_json(), encoding="utf-8"))


def _trained(stage: PreparedStage, fitted: Fitted) -> TrainedStage:
    return TrainedStage(
        stage.name,
        len(stage.examples),
        len(stage.held_out),
        stage.about.get("method"),
        stage.settings.epochs,
        fitted.steps,
        fitted.planned,
        fitted.losses,
        fitted.step,
    )


def _provenance(stage: PreparedStage) -> dict[str, Any]:
    """What the card says of a stage besides its numbers."""
    return {"settings": stage.settings.identity, "about": dict(stage.about), "inputs": dict(stage.inputs)}


def _stage_of(fields: Mapping[str, Any]) -> TrainedStage:
    named = {name: fields[name] for name in TrainedStage.__dataclass_fields__ if name != "losses"}
    return TrainedStage(**named, losses=[(int(step), float(loss)) for step, loss in fields["losses"]])


def _measured(chosen: Recipe, folder: Path, answers: Path, listener: Listener) -> dict[str, Any]:
    """The measures of the reader in ``folder`` on the held-out questions, as JSON, with notes; its answers are kept in
    the folder ``answers``."""
    runs = chosen.held_out_runs()
    if not runs:
        return {"rows": [], "notes": []}
    parameters = ModelParameters(model=str(folder.resolve()), device=chosen.options.given.get("device"))
    named = NamedReader(folder.name, open_reader(parameters, HomeEnvironment(), listener.say))
    rows: list[Row] = []
    notes: list[str] = []
    for task_run in runs:
        found = read_answers(task_run, named, answers, listener)
        rows += task_run.rows(named.name, found.values)
        notes += found.notes
    return {"rows": [_fields(row) for row in rows], "notes": notes}


def _fields(row: Row) -> dict[str, Any]:
    return {
        "system": row.system,
        "case": list(row.case),
        "n": row.n,
        "measures": dict(row.measures),
        "undefined": dict(row.undefined),
        "unanswered": row.unanswered,
        "bounds": {name: list(ends) for name, ends in row.bounds.items()},
    }


def _row_of(fields: Mapping[str, Any]) -> Row:
    return Row(
        fields["system"],
        Case(*fields["case"]),
        fields["n"],
        fields["measures"],
        fields["undefined"],
        fields["unanswered"],
        {name: (low, high) for name, (low, high) in fields["bounds"].items()},
    )
