"""A data set of questions that people wrote, as Parquet files with a data card, and its card in other formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from quati_pool.release.about import ReleaseConfig
from quati_pool.release.card import Cell, citation, configuration, front_matter, introduction, line, table
from quati_pool.release.errors import ReleaseError
from quati_pool.release.names import file_stems
from quati_pool.release.output import Output
from quati_pool.release.parquet import write_table
from quati_pool.text.pluralize import counted

Record = Mapping[str, Any]

_TAGS = ("question-answering", "quati-pool")


class HumanScore(NamedTuple):
    """Token F1 and exact match, in percent, of people's answers in a language, over ``n`` questions; None where
    undefined."""

    language: str
    f1: float | None
    em: float | None
    n: int


class AspectAgreement(NamedTuple):
    """Krippendorff's alpha and Gwet's AC1 of one aspect over ``n`` questions; None where undefined."""

    aspect: str
    alpha: float | None
    ac1: float | None
    n: int


@dataclass(frozen=True, kw_only=True)
class QuestionFacts:
    """What the card says of a data set.

    ``units`` counts the units by split, ``split_by`` what was drawn, ``seed`` by which seed. ``rounds`` are the numbers
    of finished tasks; ``out`` counts what was left out, by kind and reason; ``open`` what was not
    finished by then, by kind. ``derived_by`` counts accepted texts by the program that wrote them.
    """

    unit: str
    units: Mapping[str, int]
    split_by: str
    seed: int
    people: int
    rounds: Mapping[str, int]
    out: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    open: Mapping[str, int] = field(default_factory=dict)
    human: Sequence[HumanScore] = ()
    agreement: Sequence[AspectAgreement] = ()
    derived_by: Mapping[str, int] = field(default_factory=dict)


def card(about: ReleaseConfig, name: str, facts: QuestionFacts) -> str:
    """The card in GitHub-flavored Markdown. People are in it by number only."""
    total = sum(facts.units.values())
    rows: list[list[Cell]] = [[split, count] for split, count in facts.units.items()]
    unit, over = f"{line(facts.unit)}s", "texts" if facts.split_by == "texts" else "question sets"
    sections = [
        *introduction(about, name),
        "## Contents",
        f"{total:,} {unit}; splits are over {over}, drawn at random with the seed {facts.seed}.",
        table(["Split", unit], rows),
        "## How it was written",
        f"{counted(facts.people, 'person', 'people')} took part; the files number them, and name nobody.",
        table(["Round", "Finished"], [[line(one), count] for one, count in facts.rounds.items() if count]),
    ]
    if facts.derived_by:
        by = ", ".join(f"{line(model)} {count:,}" for model, count in sorted(facts.derived_by.items()))
        sections.append(f"Texts that programs derived and people accepted: {by}.")
    if facts.human:
        sections += [
            "## How well people answer",
            "Token F1 and exact match, in percent, of a second person's answer against the author's.",
            table(["Language", "F1", "EM", "Questions"], [_score(one) for one in facts.human]),
        ]
    if facts.agreement:
        sections += [
            "## Agreement",
            "Krippendorff's α (ordinal for scales) and Gwet's AC1 over the questions that several people evaluated.",
            table(["Aspect", "α", "AC1", "Questions"], [_agreement(one) for one in facts.agreement]),
        ]
    left_out = [f"- {line(kind)}: {_reasons(reasons)}" for kind, reasons in facts.out.items()]
    if left_out:
        sections += ["## Left out", "\n".join(left_out)]
    if facts.open:
        waiting = ", ".join(
            f"{counted(count, 'item', 'items')} of kind {line(kind)}" for kind, count in facts.open.items()
        )
        sections.append(f"Not finished when this was released: {waiting}.")
    return "\n\n".join([*sections, *citation(about)]) + "\n"


def write_dataset(
    output: Output,
    about: ReleaseConfig,
    name: str,
    records: Mapping[str, Mapping[str, Sequence[Record]]],
    facts: QuestionFacts,
) -> dict[str, int]:
    """Writes ``records``, by kind and split, as one configuration a kind, and the card that ``datasets`` reads; returns
    the number of rows by configuration. A kind and split without records is left out, a field without any value too."""
    stems = file_stems(list(records))
    configs, rows = [], {}
    for kind, by_split in records.items():
        columns = record_schema([record for of_split in by_split.values() for record in of_split])
        files = {}
        for split, of_split in by_split.items():
            if of_split and len(columns):
                files[split] = f"{stems[kind]}/{split}.parquet"
                write_table(output, files[split], pa.Table.from_pylist(list(of_split), columns))
        if files:
            configs.append(configuration(output, stems[kind], files))
            rows[stems[kind]] = sum(output.rows[file] for file in files.values())
    size = sum(facts.units.values())
    header = front_matter(about, name, size, configs, ["question-answering"], _TAGS)
    output.text("README.md", header + card(about, name, facts))
    return rows


def record_schema(records: Sequence[Record]) -> pa.Schema:
    """The columns that hold these records, in the order of their keys; a field that is None or empty throughout is
    left out. Raises ReleaseError for a field with values of several types."""
    names = dict.fromkeys(name for record in records for name in record)
    fields = []
    for name in names:
        try:
            kept = _without_nothing(pa.array([record.get(name) for record in records]).type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            problem = f"the field {name} has values that no column of Parquet holds ({error})"
            raise ReleaseError(f"{problem}; release the records as jsonl") from None
        if kept is not None:
            fields.append(pa.field(name, kept))
    return pa.schema(fields)


def _without_nothing(found: pa.DataType) -> pa.DataType | None:
    """A type without the parts that have no value; None if nothing is left of it."""
    if pa.types.is_null(found):
        return None
    if pa.types.is_list(found):
        inner = _without_nothing(found.value_type)
        return None if inner is None else pa.list_(inner)
    if pa.types.is_struct(found):
        parts = [(one.name, _without_nothing(one.type)) for one in found]
        kept = [(name, part) for name, part in parts if part is not None]
        return pa.struct(kept) if kept else None
    return found


def _score(one: HumanScore) -> list[Cell]:
    return [line(one.language), _shown(one.f1, 1), _shown(one.em, 1), one.n]


def _agreement(one: AspectAgreement) -> list[Cell]:
    return [line(one.aspect), _shown(one.alpha, 3), _shown(one.ac1, 3), one.n]


def _shown(value: float | None, decimals: int) -> str:
    return "undefined" if value is None else f"{value:.{decimals}f}"


def _reasons(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {line(reason)}" for reason, count in sorted(reasons.items()))
