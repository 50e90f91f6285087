"""The answer of ``train reader``: how the reader does on what was held out."""

from __future__ import annotations

import shlex

from quati_pool.commands.train.reader import ReaderResult
from quati_pool.qa_benchmarks.base import Row
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.tables.train_reader import interval, measures, stages
from quati_pool.text.pluralize import counted


def answer(result: ReaderResult) -> Answer:
    learned = sum(stage.examples for stage in result.stages)
    steps = sum(stage.steps for stage in result.stages)
    said = [_held_out(row) for row in result.rows if row.measures]
    if not said:
        said = ["Nothing was held out, so nothing is known of how well the reader answers."]
    done = "was trained before" if result.reused else "was trained"
    said.append(f"It {done} on {counted(learned, 'example', 'examples')} in {counted(steps, 'step', 'steps')}.")
    said += [f"Note: {note}." for note in result.notes[:2]]
    stopped = [stage.name for stage in result.stages if stage.steps < stage.planned]
    if stopped:
        said.append(f"Training on {wording.names(stopped)} was stopped early: the held-out loss fell no further.")
    folder = shlex.quote(str(result.output))
    rest = f"The reader is in {result.output}; measure it:\n  quati-pool bench NAME TASK --data DIR --reader {folder}"
    return Answer(said, measures(result) or stages(result), rest)


def _held_out(row: Row) -> str:
    name, value = next(iter(row.measures.items()))
    where = " ".join(filter(None, row.case))
    if value is None:
        return f"On {row.n:,} held-out questions ({where}) its {name} is undefined: {row.undefined.get(name)}."
    ends = interval(name, value, row.n)
    between = f" (95 % interval {ends[0]:.1f} to {ends[1]:.1f})" if ends else ""
    chance = row.measures.get("chance")
    guess = f", where chance has {chance:.1f}" if chance is not None else ""
    return f"The reader has {name} {value:.1f}{between} on {row.n:,} held-out questions ({where}){guess}."
