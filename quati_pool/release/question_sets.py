"""A data set of questions that people wrote, as Parquet files with a data card, and its card in other formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from quati_pool.release.about import ReleaseConfig
from quati_pool.release.card import Cell, citation, configuration, drafted, front_matter, introduction, line, table
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


Ends = tuple[float | None, float | None, float | None]
"""A number with the ends of its 95 % interval; None where undefined."""


class Verified(NamedTuple):
    """The share from 0 to 1 of ``n`` questions on which all ``verifiers`` agree that they ask exactly what they should,
    and their agreement; None where undefined."""

    share: float | None
    low: float | None
    high: float | None
    n: int
    verifiers: int
    alpha: float | None
    ac1: float | None


class QuestionSizes(NamedTuple):
    """The questions of a split on constraints: mean and median of constraints, answers and different evidence texts a
    question, and the share of the constraints that are negated; None where undefined."""

    split: str
    clusters: int
    questions: int
    constraints: tuple[float, float] | None
    negated: float | None
    answers: tuple[float, float] | None
    evidence: tuple[float, float] | None


class Naturalness(NamedTuple):
    """How likely a person would ask the questions, from 1 to 5, next to those of the set ``other``, in ``pairs`` of a
    question of each; ``raters`` people rated them, not all of them each pair. ``p`` is that of a randomisation test of
    ``between_clusters``, the mean difference of clusters."""

    other: str
    pairs: int
    raters: int
    ours: Ends
    theirs: Ends
    difference: Ends
    between_clusters: float | None
    p: float | None


@dataclass(frozen=True, kw_only=True)
class QuestionFacts:
    """What the card says of a data set.

    ``units`` counts the units by split, ``split_by`` what was drawn, ``seed`` by which seed. ``rounds`` are the numbers
    of finished tasks; ``out`` counts what was left out, by kind and reason; ``open`` what was not finished by then, by
    kind. ``drafted_by`` counts the units that a program drafted, by its name, ``translated_by`` the texts of units that
    began as its translation, ``derived_by`` the accepted texts that one derived. ``verified``, ``sizes`` and
    ``naturalness`` are of questions on constraints, of which ``shared_constraints`` are in several splits.
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
    drafted_by: Mapping[str, int] = field(default_factory=dict)
    translated_by: Mapping[str, int] = field(default_factory=dict)
    derived_by: Mapping[str, int] = field(default_factory=dict)
    verified: Verified | None = None
    sizes: Sequence[QuestionSizes] = ()
    naturalness: Naturalness | None = None
    shared_constraints: int = 0


def card(about: ReleaseConfig, name: str, facts: QuestionFacts) -> str:
    """The card in GitHub-flavored Markdown. People are in it by number only."""
    total = sum(facts.units.values())
    rows: list[list[Cell]] = [[split, count] for split, count in facts.units.items()]
    unit, over = f"{line(facts.unit)}s", "question sets" if facts.split_by == "sets" else line(facts.split_by)
    sections = [
        *introduction(about, name),
        "## Contents",
        f"{total:,} {unit}; splits are over {over}, drawn at random with the seed {facts.seed}.",
        table(["Split", unit], rows) if not facts.sizes else _sizes(facts.sizes),
        *(_sampling(facts.shared_constraints) if facts.sizes else ()),
        "## How it was written",
        f"{counted(facts.people, 'person', 'people')} took part; the files number them, and name nobody.",
        table(["Round", "Finished"], [[line(one), count] for one, count in facts.rounds.items() if count]),
    ]
    if facts.drafted_by:
        sections.append(f"{drafted(facts.drafted_by, total, unit)}; people accepted them.")
    for said, counts in (
        ("Texts that began as a program's translation and that people checked or corrected", facts.translated_by),
        ("Texts that programs derived and people accepted", facts.derived_by),
    ):
        if counts:
            by = ", ".join(f"{line(model)} {count:,}" for model, count in sorted(counts.items()))
            sections.append(f"{said}: {by}.")
    if facts.human:
        sections += [
            "## How well people answer",
            "Token F1 and exact match, in percent, of a second person's answer against the author's."
            + (" The author of a drafted question's answer is the program." if facts.drafted_by else ""),
            table(["Language", "F1", "EM", "Questions"], [_score(one) for one in facts.human]),
        ]
    if facts.agreement:
        sections += [
            "## Agreement",
            "Krippendorff's α (ordinal for scales) and Gwet's AC1 over the questions that several people evaluated.",
            table(["Aspect", "α", "AC1", "Questions"], [_agreement(one) for one in facts.agreement]),
        ]
    sections += [] if facts.verified is None else _verified(facts.verified)
    sections += [] if facts.naturalness is None else _naturalness(facts.naturalness)
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


def _sampling(shared: int) -> list[str]:
    constraints = "No constraint is in two splits"
    if shared:
        are = "1 constraint is" if shared == 1 else f"{shared:,} constraints are"
        constraints = f"{are} in several splits, as the clusters are of several draws"
    return [
        f"{constraints}; entities may be, as answers, as candidates or in constraints.",
        "Clusters of constraints and their logical queries were drawn by `quati-pool questions constraints`, after "
        "RoMQA (Zhong et al., Findings of EMNLP 2023, section 2.1). quati-pool defines what the paper leaves open "
        "(docs/constraints.md): how a cluster grows, which of the redundant constraints goes, which wrong candidates "
        "are drawn.",
    ]


def _sizes(sizes: Sequence[QuestionSizes]) -> str:
    headings = ["Split", "Questions", "Clusters", "Constraints", "Negated", "Answers", "Evidence texts"]
    rows: list[list[Cell]] = [
        [
            line(one.split),
            one.questions,
            one.clusters,
            _mean_and_median(one.constraints),
            "undefined" if one.negated is None else f"{100 * one.negated:.1f} %",
            _mean_and_median(one.answers),
            "none" if one.evidence is None else _mean_and_median(one.evidence),
        ]
        for one in sizes
    ]
    note = "A question's constraints, answers and different evidence texts: mean (median)."
    return "\n\n".join([table(headings, rows), note])


def _mean_and_median(found: tuple[float, float] | None) -> str:
    return "undefined" if found is None else f"{found[0]:,.1f} ({found[1]:,.1f})"


def _verified(found: Verified) -> list[str]:
    if found.share is None:
        return []
    agree = "both verifiers agree" if found.verifiers == 2 else f"all {found.verifiers} verifiers agree"
    who = "the verifier says" if found.verifiers == 1 else agree
    share = f"{100 * found.share:.1f} %"
    if found.low is not None and found.high is not None:
        share += f" (95 % interval over clusters {100 * found.low:.1f} to {100 * found.high:.1f} %)"
    sections = [
        "## Verification",
        f"Of {counted(found.n, 'question', 'questions')} that people wrote, {who} that {share} ask exactly what their "
        "constraints say; no other question is in the data set.",
    ]
    if found.verifiers > 1:
        alpha, ac1 = _shown(found.alpha, 3), _shown(found.ac1, 3)
        sections.append(f"Agreement of verifiers: Krippendorff's α {alpha}, Gwet's AC1 {ac1}.")
    return sections


def _naturalness(found: Naturalness) -> list[str]:
    other = line(found.other)
    p = "undefined" if found.p is None else f"{found.p:.2g}"
    people, pairs = counted(found.raters, "person", "people"), counted(found.pairs, "pair", "pairs")
    return [
        "## Naturalness",
        f"{people} in all, who did not know which is which, rated {pairs} of a question from here and one of "
        f"{other} from 1 to 5, by how likely a person would ask each; intervals (95 %) are over clusters.",
        table(
            ["Questions", "Mean", "95 % interval"],
            [["these", *_ends(found.ours)], [other, *_ends(found.theirs)], ["difference", *_ends(found.difference)]],
        ),
        f"Mean difference of clusters: {_shown(found.between_clusters, 2)}; randomisation test: p {p}.",
    ]


def _ends(found: Ends) -> list[Cell]:
    value, low, high = found
    interval = "undefined" if low is None or high is None else f"{low:.2f} to {high:.2f}"
    return [_shown(value, 2), interval]


def _score(one: HumanScore) -> list[Cell]:
    return [line(one.language), _shown(one.f1, 1), _shown(one.em, 1), one.n]


def _agreement(one: AspectAgreement) -> list[Cell]:
    return [line(one.aspect), _shown(one.alpha, 3), _shown(one.ac1, 3), one.n]


def _shown(value: float | None, decimals: int) -> str:
    return "undefined" if value is None else f"{value:.{decimals}f}"


def _reasons(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {line(reason)}" for reason, count in sorted(reasons.items()))
