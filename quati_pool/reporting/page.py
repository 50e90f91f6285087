"""``quati-pool report``: everything known about a collection, as one HTML page and one Markdown file."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from quati_pool import __version__
from quati_pool.commands.evaluate import Settings
from quati_pool.commands.report import State, read
from quati_pool.files.artifacts import file_digest
from quati_pool.project.config import (
    ConsensusConfig,
    FusionSystem,
    JudgeConfig,
    PeopleConfig,
    PoolConfig,
    RerankSystem,
    RetrieverSystem,
)
from quati_pool.project.events import Listener
from quati_pool.reporting.answers.report import opening
from quati_pool.reporting.figures import agree as agree_figures
from quati_pool.reporting.figures import evaluate as evaluate_figures
from quati_pool.reporting.figures import plots
from quati_pool.reporting.figures.build import overlap_picture
from quati_pool.reporting.figures.pictures import Picture
from quati_pool.reporting.formats.document import Block, Details, Document, Figure, Paragraph, Section
from quati_pool.reporting.formats.html import page
from quati_pool.reporting.formats.markdown import markdown
from quati_pool.reporting.formats.tables import Column, Table
from quati_pool.reporting.saved_files import report_folder, save
from quati_pool.reporting.tables import agree as agree_tables
from quati_pool.reporting.tables import build as build_tables
from quati_pool.reporting.tables import evaluate as evaluate_tables
from quati_pool.reporting.tables import labels as labels_tables
from quati_pool.reporting.tables import run_facts as run_facts_tables
from quati_pool.text.secrets import masked

# The report has its own folder, because build, agree and evaluate write figures next to it at other times.
_FIGURES = "figures"
_AVERAGED = {
    "judged": "all judged queries, a query that a run lacks counting 0",
    "common": "the judged queries that all runs return",
    "returned": "the judged queries that each run returns itself, in tests of two systems those that both return",
}
_SOFTWARE = ("numpy", "scipy", "pandas", "pyarrow", "ir_measures", "pytrec_eval-terrier", "scikit-learn", "bm25s")


def report(
    config_path: Path,
    listener: Listener,
    settings: Settings | None = None,
    people: Sequence[str] = (),
    output: Path | None = None,
) -> Path:
    """Writes ``report.html``, ``report.md`` and their figures into ``output`` or, without it, into the workspace's
    reports; returns the path of the HTML page.

    Raises QuatiPoolError if the pool was not built.
    """
    state = read(config_path, settings or Settings(), people, listener)
    listener.progress("report: drawing", 0, 0)
    document = _document(state)
    folder = report_folder(state.config, output)
    assert folder is not None
    content: dict[str, str | bytes] = {
        "report.html": page(document),
        "report.md": markdown(document),
        **{figure.file: figure.content for section in document.sections for figure in _figures(section.blocks)},
    }
    settings_used = {
        "draws": state.settings.draws,
        "seed": state.seed,
        **({} if state.settings.queries == "judged" else {"queries": state.settings.queries}),
        "labelers": state.gathered.versions,
        **state.gathered.state,
        "state": state.seq,
        "runs": {one.name: dict(one.run_set.digests) for one in state.evaluation.conditions}
        if state.evaluation
        else {},
    }
    save(state.config, folder, content, settings_used, listener, "report")
    return folder / "report.html"


def _figures(blocks: Sequence[Block]) -> Iterator[Figure]:
    for block in blocks:
        if isinstance(block, Figure):
            yield block
        elif isinstance(block, Details):
            yield from _figures(block.blocks)


def _document(state: State) -> Document:
    config = state.config
    about = config.release
    title = about.title or config.name
    said = f"The test collection {config.name}: {len(state.pool.pool):,} pooled pairs of "
    said += f"{state.pool.diversity.queries:,} queries, {len(state.gathered.sources):,} labelers."
    sections = [
        Section("pool", "The pool", _pool(state)),
        Section("labels", "Labels", _labels(state)),
        Section("agreement", "Agreement", _agreement(state)),
        Section("systems", "Systems", _systems(state)),
        Section("quality", "Trust in the pool and in the qrels", _quality(state)),
        Section("methods", "Methods", _methods(state)),
    ]
    return Document(title, said, sections, opening=opening(state, "systems", "agreement"))


def _pool_pictures(state: State) -> list[Picture]:
    pictures = []
    found = state.pool.diversity
    if found.systems:
        caption = "Overlap: share of the row's pairs that the column returned too."
        names = ", ".join(share.name for share in found.systems)
        pictures.append(Picture("overlap", overlap_picture(state.pool), caption, f"{caption} Of {names}."))
    sizes = state.pool.pool_growth
    if len(sizes):
        depths = list(range(1, len(sizes) + 1))
        title = "How the pool would grow with its depth"
        drawing = plots.lines({"pairs": (depths, sizes.tolist())}, "depth", "pairs", title)
        caption = f"{title}: {int(sizes[0]):,} pairs at depth 1, {int(sizes[-1]):,} at depth {len(sizes):,}."
        pictures.append(Picture("growth", drawing, caption, caption))
    return pictures


def _pool(state: State) -> list[Block]:
    shown, *rest = build_tables.tables(state.pool)
    pictures = [picture.figure(_FIGURES) for picture in _pool_pictures(state)]
    return [shown, *pictures, Details("Growth, overlap and rank-biased overlap", rest)]


def _labels(state: State) -> list[Block]:
    if state.ledger is None:
        return [Paragraph(state.missing["labels"])]
    problems = [Paragraph(f"{name} is left out: {problem}") for name, problem in state.ledger.problems.items()]
    return [*labels_tables.tables(state.ledger), *problems]


def _agreement(state: State) -> list[Block]:
    if state.agreement is None:
        return [Paragraph(state.missing["agreement"])]
    pictures: list[Block] = [picture.figure(_FIGURES) for picture in agree_figures.pictures(state.agreement)]
    not_drawn = agree_figures.not_drawn(state.agreement)
    if not_drawn:
        pictures.append(Paragraph(f"{not_drawn}."))
    details = agree_tables.detail_tables(state.agreement, queries=None)
    return [*agree_tables.main_tables(state.agreement), *pictures, Details("Where labelers disagree", details)]


def _systems(state: State) -> list[Block]:
    if state.evaluation is None:
        return [Paragraph(state.missing["evaluation"])]
    main = state.evaluation.main
    blocks: list[Block] = [] if main is None else [Paragraph(f"{main.said[0].upper()}{main.said[1:]}.")]
    for condition in state.evaluation.conditions:
        blocks += evaluate_tables.board_tables(state.evaluation, condition)
        compared = evaluate_tables.comparison_tables(state.evaluation, condition, None)
        blocks.append(Details(f"The runs under {condition.name}", [run_facts_tables.table(condition)]))
        if compared:
            blocks.append(Details(f"Systems compared under {condition.name}", compared))
    return [*blocks, *(picture.figure(_FIGURES) for picture in evaluate_figures.pictures(state.evaluation))]


def _quality(state: State) -> list[Block]:
    if state.evaluation is None:
        return [Paragraph(state.missing["evaluation"])]
    blocks: list[Block] = [*evaluate_tables.ranking_tables(state.evaluation)]
    for condition in state.evaluation.conditions:
        blocks += evaluate_tables.quality_tables(state.evaluation, condition)
    return blocks or [Paragraph("There is one labeler, and the runs that fed the pool are not all there.")]


def _methods(state: State) -> list[Block]:
    config, settings = state.config, state.settings
    depth = config.pool.depth
    words = [
        f"The pool holds, of each query, the first {depth:,} documents of every system (or as many as the table of "
        f"systems says), {len(state.pool.pool):,} pairs in all; runs were kept to {config.run_depth:,} documents. "
        "Documents of equal score are ordered by doc_id, descending, and scores are compared as float32, as trec_eval "
        "does.",
        "A pair without a grade is unjudged, never 0: failures and pairs never asked are in no qrels and are counted "
        "above. Only labels given under the model, prompt and parameters below, for the texts as they are now, "
        "were read.",
        "Agreement of two labelers is over the pairs that both graded; that of all together is over the pairs that its "
        "table names.",
        f"Intervals are 95 % percentile bootstrap intervals over queries ({settings.draws:,} resamples, seed "
        f"{state.seed}). Systems were compared by the two-sided {evaluate_tables.TESTS[settings.test]} test over "
        f"queries with Holm's correction at {settings.alpha:g}. Standard deviations are population ones.",
    ]
    if state.evaluation is not None:
        words.append(
            f"Measures ({', '.join(state.evaluation.measures)}) were computed by ir_measures over "
            f"{_AVERAGED[settings.queries]}; nDCG takes linear gains and log2(rank + 1)."
        )
    software = ", ".join(f"{name} {version(name)}" for name in _SOFTWARE)
    words.append(f"Created by quati-pool {__version__} with Python {platform.python_version()}, {software}.")
    facts = [
        ["Collection", config.name],
        ["pool.yaml", f"SHA-256 {file_digest(config.path)}"],
        ["Seed", str(config.seed)],
        ["Queries", f"{config.queries.path}: {state.pool.diversity.queries:,} with pooled pairs"],
        *(
            [f"Corpus {name}" if len(config.corpora) > 1 else "Corpus", str(corpus.path)]
            for name, corpus in config.corpora.items()
        ),
        ["Last label", f"number {state.seq:,} in the database" if state.seq else "none in the database"],
    ]
    settings_table = Table("The collection", [Column("What"), Column("Which")], facts)
    return [*map(Paragraph, words), settings_table, _system_table(config), *_judge_tables(state)]


def _system_table(config: PoolConfig) -> Table:
    rows: list[list[Any]] = []
    for run_tag, system in config.systems.items():
        rows.append(
            [run_tag, _made_by(system), _compact(system.parameters), config.family(run_tag), config.pool_depth(run_tag)]
        )
    columns = [Column("System"), Column("Made by"), Column("Parameters"), Column("Family"), Column("Pool depth")]
    return Table("Systems and their settings", columns, rows, "A pool depth of 0: in the ledger, not in the pool.")


def _made_by(system: RetrieverSystem | RerankSystem | FusionSystem) -> str:
    if isinstance(system, RetrieverSystem):
        return str(system.component)
    if isinstance(system, RerankSystem):
        return f"first {system.depth:,} of {system.first}, reranked by {system.component}"
    return f"{system.component} of {', '.join(system.fuse)}"


def _compact(parameters: Any) -> str:
    """Parameters as one line of YAML, without those that are not set."""
    given = {} if parameters is None else masked(parameters.model_dump(exclude_none=True, mode="json"))
    return yaml.safe_dump(given, default_flow_style=True, allow_unicode=True, sort_keys=False, width=10**6).strip()[
        1:-1
    ]


def _judge_tables(state: State) -> list[Table]:
    rows: list[list[Any]] = []
    versions = {source.name: source.version for source in state.gathered.sources}
    for name, judge in state.config.judges.items():
        if isinstance(judge, ConsensusConfig):
            rows.append([name, f"{judge.method} of {', '.join(judge.consensus)}", "", ""])
        elif isinstance(judge, PeopleConfig):
            rows.append([name, f"a lead's decision, else the {judge.people} of the people", "", ""])
        else:
            rows.append([name, *_judge(judge), (versions.get(name) or "no grades yet")[:12]])
    for name, file in state.config.labels.files.items():
        rows.append([name, "person" if file.person else "label file", file.path, (versions.get(name) or "")[:12]])
    known = {*state.config.judges, *state.config.labels.files}
    for source in state.gathered.sources:
        if source.name not in known:
            rows.append(
                [source.name, "person" if source.kind == "assessor" else source.kind, "", (source.version or "")[:12]]
            )
    columns = [Column("Labeler"), Column("What"), Column("Settings"), Column("Version")]
    note = "The version is a hash of all that decides the grades; for a file, of its bytes."
    return [Table("Labelers and their settings", columns, rows, note)] if rows else []


def _judge(judge: JudgeConfig) -> tuple[str, str]:
    samples = f"samples: {judge.samples}, aggregate: {judge.aggregate}, " if judge.samples > 1 else ""
    return str(judge.component), samples + _compact(judge.parameters)
