"""``quati-pool report``."""

from __future__ import annotations

from pathlib import Path

import typer

from quati_pool.cli.options import (
    AlphaOption,
    Averaged,
    AveragedOption,
    BaselineOption,
    ConfigOption,
    DrawsOption,
    MainLabelerOption,
    MeasuresOption,
    OutputOption,
    PairedTest,
    PeopleOption,
    SeedOption,
    TestOption,
)
from quati_pool.cli.progress import ConsoleListener


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: quati-pool report && xdg-open reports/report.html")(report)


def report(
    config: ConfigOption = Path("pool.yaml"),
    person: PeopleOption = None,
    measures: MeasuresOption = None,
    baseline: BaselineOption = None,
    test: TestOption = PairedTest.t,
    alpha: AlphaOption = 0.05,
    labeler: MainLabelerOption = None,
    queries: AveragedOption = Averaged.judged,
    draws: DrawsOption = 2000,
    seed: SeedOption = None,
    output: OutputOption = None,
) -> None:
    """Write one self-contained HTML page and one Markdown file with all results: pool, labels, agreement,
    systems, trust, methods.

    Both show one state of the label database, and neither loads anything from the network.
    """
    from quati_pool.commands.evaluate import Settings
    from quati_pool.reporting.page import report as step

    with ConsoleListener() as listener:
        settings = Settings(measures, baseline, test.value, alpha, draws, seed, labeler=labeler, queries=queries.value)
        path = step(config, listener, settings, person or (), output)
    typer.echo(path)
