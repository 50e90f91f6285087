"""``quati-pool prompts``, with ``show`` and ``import``."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import ConfigOption, Format, FormatOption, FullOption
from quati_pool.files.yaml_entry import with_entry


def register(app: typer.Typer) -> None:
    group = typer.Typer(invoke_without_command=True, add_completion=False, rich_markup_mode=None)
    group.callback(epilog="Example: quati-pool prompts --format json")(prompts)
    group.command(
        "show", epilog='Example: quati-pool prompts show quati-pt --query "onde fica o Jalapão" --passage "O Jalapão …"'
    )(show_messages)
    group.command(
        "import",
        epilog="Example: quati-pool prompts import quati/ -o prompts/quati-2024.yaml; quati-pool prompts import "
        "qrel_zeroshot_bing.txt -o prompts/umbrela.yaml --with-settings --judge umbrela",
    )(import_files)
    app.add_typer(group, name="prompts")


def prompts(
    context: typer.Context,
    config: ConfigOption = Path("pool.yaml"),
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """List the judge prompts: those of quati-pool, and those in the workspace's prompts/."""
    if context.invoked_subcommand is not None:
        for name in ("config", "output_format"):
            source = context.get_parameter_source(name)
            if source is not None and source.name != "DEFAULT":
                raise typer.BadParameter(f"put options after {context.invoked_subcommand}", context)
        return
    from quati_pool.commands.prompts import list_prompts
    from quati_pool.reporting.answers.listings import prompt_list
    from quati_pool.reporting.json_data.prompts import as_data
    from quati_pool.reporting.tables.prompts import table

    show(list_prompts(config.parent), prompt_list, lambda found: [table(found)], as_data, output_format, full)


def show_messages(
    name: Annotated[str, typer.Argument(metavar="ID", help="A prompt's id, or its YAML file.")],
    query: Annotated[str, typer.Option(help="The query, as text.")],
    passage: Annotated[str, typer.Option(help="The passage, as text.")],
    narrative: Annotated[str | None, typer.Option(help="What the query is after, for a prompt that uses it.")] = None,
    config: ConfigOption = Path("pool.yaml"),
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Show the messages that a prompt sends for a query and a passage (--full: exactly); checks the prompt's file."""
    from quati_pool.commands.prompts import show_prompt
    from quati_pool.reporting.answers.listings import prompt_messages
    from quati_pool.reporting.tables.prompts import message_table

    prompt, messages = show_prompt(name, config.parent, query, passage, narrative)
    if narrative is not None and not prompt.uses_narrative:
        print(f"note: {prompt.id} does not use the narrative", file=sys.stderr)
    if output_format is Format.table and full:
        typer.echo("\n\n".join(f"── {message['role']} ──\n{message['content']}" for message in messages))
        return
    data = {
        "id": prompt.id,
        "version": prompt.version,
        "sha": prompt.sha,
        "messages": messages,
        "schema": prompt.schema(),
    }
    answer = partial(prompt_messages, prompt.id)
    show(messages, answer, lambda sent: [message_table(prompt.id, sent)], lambda _: data, output_format)


def import_files(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="PATH…", help="The Quati authors' files, or one of umbrela's; or the folder of either."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The YAML file to write.")],
    examples: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What replaces {examples} in a prompt of umbrela: a table (.tsv, .csv, .jsonl) of query, passage and "
            "relevance, or a text (.txt) as it is.",
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(help="The prompt's language, ISO 639-1.", show_default="pt for Quati's, en for umbrela's"),
    ] = None,
    with_settings: Annotated[
        bool,
        typer.Option(
            "--with-settings",
            help="Print a judge that makes the authors' whole request (output, temperature, max_tokens, …); with "
            "--judge, add it to pool.yaml.",
        ),
    ] = False,
    judge: Annotated[str | None, typer.Option(metavar="NAME", help="The name of that judge.")] = None,
    model: Annotated[str | None, typer.Option(help="The model of that judge; else the authors' own.")] = None,
    config: ConfigOption = Path("pool.yaml"),
) -> None:
    """Turn prompt files that others released into a prompt that sends the very same messages: those of the Quati
    authors (initial_prompt_*.json, examples_*.json, config.json), or one of castorini/umbrela (qrel_*.txt, *.yaml).
    """
    from quati_pool.commands.prompts import NewJudge, authors_judge, import_prompt, read_released

    if not with_settings and (judge is not None or model is not None):
        raise typer.BadParameter("--judge and --model go with --with-settings")
    released = read_released(files, language, examples)
    entry = authors_judge(released, out, config.parent, model)
    prompt = import_prompt(released, out, NewJudge(config, judge, entry) if judge is not None else None)
    typer.echo(f"wrote {out}: read it with: quati-pool prompts show {out} --query … --passage …")
    notes = [f"as in the original, query and passage are not fenced ({prompt.id}: fenced: false)", *released.notes]
    if with_settings:
        notes += released.settings(entry["model"]).notes
        if judge is not None:
            typer.echo(
                f"added the judge {judge} to {config}: see what it asks with: quati-pool judge {judge} --dry-run"
            )
        else:
            typer.echo(f"for {config} (--judge NAME adds it there):\n")
            typer.echo(with_entry("", "judges", prompt.id, entry), nl=False)
    for note in notes:
        typer.echo(f"note: {note.replace('judge NAME', f'judge {judge or prompt.id}')}", err=True)
