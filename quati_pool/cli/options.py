"""The options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class Format(StrEnum):
    table = "table"
    json = "json"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"


FormatOption = Annotated[
    Format, typer.Option("--format", help="How to print the tables; json is one object on stdout.")
]
FullOption = Annotated[
    bool, typer.Option("--full", help="Print all tables, as the formats for files do, not only the answer.")
]
ConfigOption = Annotated[Path, typer.Option("--config", "-c", help="The collection's pool.yaml.")]
PoolOption = Annotated[
    Path | None, typer.Option("--pool", help="Another pool than the workspace's: JSON lines, plain or .gz.")
]
NameArgument = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="A judge of pool.yaml; may be left out if there is only one.")
]
DatabaseOption = Annotated[
    str | None,
    typer.Option("--database", metavar="URL", help="The label database; pool.yaml's, or labels.db, by default."),
]


class EngineName(StrEnum):
    local = "local"
    ray = "ray"


AddressOption = Annotated[
    str | None,
    typer.Option("--address", help="A Ray cluster that runs already; else one is started on this machine."),
]


def check_address(engine: EngineName | None, address: str | None) -> None:
    if address is not None and engine is not EngineName.ray:
        raise typer.BadParameter("is that of a Ray cluster; add --engine ray", param_hint="--address")


RunsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--run",
        metavar="[SET=]FILE[#TAG]",
        help="A file of TREC runs (#TAG: one of them), a folder, or a pattern in quotes (repeatable); the workspace's "
        "runs by default.",
    ),
]
MeasuresOption = Annotated[
    list[str] | None,
    typer.Option("--measures", help='ir_measures names, such as "nDCG@10 R(rel=2)@100"; the first ranks the systems.'),
]


class Averaged(StrEnum):
    judged = "judged"
    common = "common"
    returned = "returned"


class PairsBy(StrEnum):
    """What pairs for a measure are drawn by."""

    discount = "discount"
    uncertainty = "uncertainty"
    disagreement = "disagreement"


class PairedTest(StrEnum):
    t = "t"
    wilcoxon = "wilcoxon"
    randomisation = "randomisation"


BaselineOption = Annotated[
    str | None, typer.Option("--baseline", metavar="SYSTEM", help="Test all others against this run.")
]
TestOption = Annotated[PairedTest, typer.Option("--test", help="The paired test over queries.")]
MainLabelerOption = Annotated[
    str | None,
    typer.Option(
        "--labeler",
        metavar="NAME",
        help="The main labeler: its leaderboard comes first. By default people before language models before programs.",
    ),
]
AveragedOption = Annotated[
    Averaged,
    typer.Option(
        "--queries", help="Queries to average over: all judged ones, those that all runs return, or each run's own."
    ),
]
AlphaOption = Annotated[float, typer.Option("--alpha", help="The level of significance.")]
NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]…", help="Labelers of the workspace; all of them if no --labels is given."),
]
LabelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--labels",
        metavar="[NAME=]FILE",
        help="A file of labels (repeatable): TREC qrels, TSV, CSV, JSONL, Quati annotations, Doccano, Label Studio; "
        "FILE#ANNOTATOR where it holds several people's. NAME is by default the file's, without suffix, or ANNOTATOR.",
    ),
]
PeopleOption = Annotated[
    list[str] | None,
    typer.Option("--person", metavar="NAME", help="A labeler that is a person, not a program (repeatable)."),
]
QueriesOption = Annotated[
    Path | None,
    typer.Option("--queries", metavar="FILE", help="query_id <tab> query: ids for label files that hold only texts."),
]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="[NAME.]FIELD=COLUMN",
        help="The column of a table that holds query_id, doc_id, query, text or relevance (repeatable).",
    ),
]
GradeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--grade",
        metavar="TEXT=GRADE",
        help="The grade that a label's text means (repeatable); TEXT=none, such as 8=none: counted as without a grade.",
    ),
]
ScaleOption = Annotated[
    str | None, typer.Option("--scale", metavar="0,1,2,3", help="All grades there are; by default pool.yaml's, or 0–3.")
]
DrawsOption = Annotated[
    int, typer.Option("--draws", min=0, help="Bootstrap resamples of the queries; 0: no intervals.")
]
SeedOption = Annotated[int | None, typer.Option("--seed", min=0, help="Seed of the resamples; pool.yaml's, or 0.")]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="DIR", help="Where to write tables and figures; the workspace's reports/ by default."
    ),
]


def parameters_of(settings: list[str] | tuple[str, ...]) -> dict[str, Any]:
    """The parameters of ``--set KEY=VALUE`` options; values are YAML."""
    import yaml

    found: dict[str, Any] = {}
    for setting in settings:
        key, sign, value = setting.partition("=")
        if not sign:
            raise typer.BadParameter(f"{setting!r} holds no '='", param_hint="--set")
        if key in found:
            raise typer.BadParameter(f"{key} is set twice; set it once", param_hint="--set")
        try:
            found[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            found[key] = value
    return found
