"""``quati-pool export``: one labeler's qrels or labels, or the whole collection in a format of ``release/``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from quati_pool.cli.options import ConfigOption, DatabaseOption, PoolOption, parameters_of
from quati_pool.cli.progress import ConsoleListener
from quati_pool.errors import ConfigError
from quati_pool.registry import EXPORTS
from quati_pool.text.pluralize import counted, listed

if TYPE_CHECKING:
    from quati_pool.labels.coverage import LabelCoverage

MissingOption = Annotated[bool, typer.Option("--allow-missing", help="Leave pairs without a grade out, as unjudged.")]


class ExportGroup(TyperGroup):
    """A group with a command for each registered format, plug-ins' too; they are looked up only when it is used."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *EXPORTS.names()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, cmd_name) or (
            _format_command(cmd_name) if cmd_name in EXPORTS.names() else None
        )


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        cls=ExportGroup, help="Write qrels, labels and collections in other tools' formats.", no_args_is_help=True,
        rich_markup_mode=None,
    )  # fmt: skip
    group.command("qrels", epilog="Example: quati-pool export qrels --labeler gpt-4o -o gpt-4o.qrels")(export_qrels)
    group.command("prels", epilog="Example: quati-pool export prels --labeler ana -o ana.prels")(export_prels)
    group.command("labels", epilog="Example: quati-pool export labels --labeler ana -o ana.jsonl.gz")(export_labels)
    group.command("explorer", epilog="Example: quati-pool export explorer -o docs/explore")(export_explorer)
    app.add_typer(group, name="export")


def _format_command(name: str) -> Any:
    one = typer.Typer(add_completion=False, rich_markup_mode=None)
    try:
        component = EXPORTS.get(name)
    except ConfigError as error:  # shown in the help of this plug-in alone, and raised again when it is used
        text = f"Cannot be used: {error}."
    else:
        settings = "".join(
            f"\n\n--set {key}={'…' if field.is_required() else field.get_default(call_default_factory=True)}"
            + (f": {field.description}" if field.description else "")
            for key, field in component.Parameters.model_fields.items()
        )
        what = f"Write the collection as {component.summary}."
        text = f"{what}\n\nRefused while a pair of a labeler has failed or was never asked.{settings}"
    one.command(name, help=text, epilog=f"Example: quati-pool export {name} --labeler gpt-4o -o {name}")(export_format)
    return typer.main.get_command(one)


def export_qrels(
    labeler: Annotated[
        str | None,
        typer.Option(
            "--labeler",
            help="A judge, a person, a consensus or a hybrid; by default the main labeler: people before language "
            "models before programs.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The file; qrels/LABELER.qrels by default.")
    ] = None,
    config: ConfigOption = Path("pool.yaml"),
    allow_missing: MissingOption = False,
    pool: PoolOption = None,
    carry: Annotated[
        float | None,
        typer.Option(
            "--carry",
            min=0.8,
            max=1,
            metavar="SIMILARITY",
            help="Give pairs without a grade that of a near-duplicate passage of the same query, from 0.8 to 1 (the "
            "share of common word triples); FILE.carried.tsv lists them. Off by default.",
        ),
    ] = None,
) -> None:
    """Write one labeler's grades as TREC qrels.

    Refused while a pair has failed, was never asked or is a tie that no lead has decided: a missing grade would read
    as not relevant. Pairs that people were not given are no part of people's qrels.
    """
    from quati_pool.commands.export.qrels import export_qrels as step

    with ConsoleListener() as listener:
        made = step(config, labeler, output, allow_missing=allow_missing, pool=pool, carry=carry, listener=listener)
    if made.main is not None:
        typer.echo(made.main.said, err=True)
    coverage = made.coverage
    inside = sum(coverage.grades.values())
    written = inside + made.outside
    left = f"; {_left_out(coverage)}" if coverage.pairs > inside else ""
    outside = f"; {_outside(written, made.outside)}" if made.outside else ""
    cut = f"; {coverage.cut:,} passages were cut before they were graded" if coverage.cut else ""
    typer.echo(f"wrote {made.path}: {written:,} pairs{outside}{left}{cut}", err=True)
    if made.hybrid is not None:
        typer.echo(f"the likeliest grades of a hybrid: {made.hybrid}", err=True)
    if made.carried_list is not None:
        were = counted(made.carried, "grade was", "grades were")
        typer.echo(f"{were} carried from near-duplicates, not given: {made.carried_list}", err=True)
    if made.open:
        typer.echo(f"{counted(made.open, 'assignment is', 'assignments are')} still open: grades may change", err=True)
    _warn(made.withheld)


def _left_out(coverage: LabelCoverage) -> str:
    from quati_pool.labels.qrels import without_grade

    left = coverage.pairs - sum(coverage.grades.values())
    return f"{left:,} of {coverage.pairs:,} pairs without a grade are left out ({without_grade(coverage)})"


def _warn(withheld: str | None) -> None:
    """Says why grades may not be published, if so."""
    if withheld is not None:
        typer.echo(f"do not publish them: {withheld}", err=True)


def export_prels(
    labeler: Annotated[str, typer.Option("--labeler", help="A person, a judge or a consensus.")],
    design: Annotated[
        int | None,
        typer.Option("--design", metavar="N", help="The design that drew the pairs, as assign numbers it."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The file; qrels/LABELER.prels by default.")
    ] = None,
    config: ConfigOption = Path("pool.yaml"),
    database: DatabaseOption = None,
) -> None:
    """Write one labeler's grades of a sample as prels: query_id doc_id relevance method probability.

    The probability is that with which the design included the pair. Pairs of the design without a grade are left out
    and counted, grades of other pairs too.
    """
    from quati_pool.commands.export.prels import export_prels as step

    with ConsoleListener() as listener:
        made = step(config, labeler, output, design=design, database=database, listener=listener)
    left = made.selected - made.graded
    without = f"; {counted(left, 'selected pair has', 'selected pairs have')} no grade" if left else ""
    other = f"; {counted(made.other, 'grade is', 'grades are')} of pairs that it did not select" if made.other else ""
    what = f"{counted(made.graded, 'pair', 'pairs')} of design {made.design} ({made.method})"
    typer.echo(f"wrote {made.path}: {what}{without}{other}", err=True)
    _warn(made.withheld)


class LabelFormat(StrEnum):
    tsv = "tsv"
    csv = "csv"
    jsonl = "jsonl"
    quati = "quati"
    doccano = "doccano"
    label_studio = "label-studio"


def export_labels(
    labeler: Annotated[str, typer.Option("--labeler", help="A person, a judge or a consensus.")],
    label_format: Annotated[
        LabelFormat | None,
        typer.Option("--as", help="The format; by default what FILE's suffix says (.json: label-studio), else tsv."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The file, .gz too; exports/LABELER.tsv by default."),
    ] = None,
    config: ConfigOption = Path("pool.yaml"),
    database: DatabaseOption = None,
    pool: PoolOption = None,
) -> None:
    """Write one labeler's labels of the pool's pairs in the format of an annotation tool.

    Pairs that the labeler could not judge are included, without a grade; pairs without a label are not. quati
    is the layout of the Quati annotations; doccano and label-studio are those of the tools' own exports.
    """
    from quati_pool.commands.export.labels import export_labels as step

    with ConsoleListener() as listener:
        form = label_format and label_format.value
        made = step(config, labeler, form, output, database=database, pool=pool, listener=listener)
    unsure = made.labels - made.graded
    tied = f" ({made.tied:,} tied)" if made.tied else ""
    without = f", {unsure:,} of them without a grade{tied}" if unsure else ""
    waiting = made.left_out - made.not_given
    left = f"; {counted(waiting, 'pair has', 'pairs have')} no label by {labeler} yet" if waiting else ""
    left += f"; {counted(made.not_given, 'pair was', 'pairs were')} not given" if made.not_given else ""
    typer.echo(f"wrote {made.path}: {made.labels:,} labels{without}{left}", err=True)
    _warn(made.withheld)


def export_explorer(
    labeler: Annotated[
        list[str] | None,
        typer.Option(
            "--labeler", metavar="NAME", help="Whose grades (repeatable), the main one first; by default everybody's."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="The folder; exports/explorer by default.")
    ] = None,
    config: ConfigOption = Path("pool.yaml"),
) -> None:
    """Write static pages to explore the collection: every query with its rankings, passages, grades and reasons.

    They open from the disk and from any web server and load nothing from elsewhere; report writes the same pages next
    to its own. With release: {texts: false} in pool.yaml, passages, reasons and notes are left out.
    """
    from quati_pool.reporting.explorer.writing import export_explorer as step

    with ConsoleListener() as listener:
        path = step(config, listener, labeler or (), output)
    typer.echo(path)


def export_format(
    context: typer.Context,
    labeler: Annotated[
        list[str] | None,
        typer.Option(
            "--labeler",
            metavar="NAME",
            help="Whose grades (repeatable), the main one first. By default people's first, then language models'; "
            "where people graded, programs and panels are left out.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="The folder; exports/FORMAT by default.")
    ] = None,
    config: ConfigOption = Path("pool.yaml"),
    allow_missing: MissingOption = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the format (repeatable).")
    ] = None,
) -> None:
    from quati_pool.commands.export.collection import export

    name = str(context.info_name)
    with ConsoleListener() as listener:
        made = export(
            config,
            name,
            listener,
            labelers=labeler or (),
            parameters=parameters_of(settings or ()),
            path=output,
            allow_missing=allow_missing,
        )
    if made.main is not None:
        typer.echo(made.main.said, err=True)
    if made.peers_left_out:
        left_out = listed(made.peers_left_out)
        typer.echo(f"left out because people graded too: {left_out}; name all that you want with --labeler", err=True)
    for who, coverage in made.labelers.items():
        inside = sum(coverage.grades.values())
        if coverage.pairs > inside:
            typer.echo(f"{who}: {_left_out(coverage)}", err=True)
        if made.outside[who]:
            typer.echo(f"{who}: {_outside(inside + made.outside[who], made.outside[who])}", err=True)
    if made.made:
        typer.echo(f"wrote {made.path}: {_counts(made.counts)}", err=True)
    else:
        typer.echo(f"{made.path} is up to date", err=True)


def _outside(grades: int, outside: int) -> str:
    return f"of {grades:,} grades {outside:,} are of pairs outside the pool"


def _counts(counts: Any) -> str:
    return ", ".join(f"{value:,} {name}" for name, value in counts.items() if isinstance(value, int))
