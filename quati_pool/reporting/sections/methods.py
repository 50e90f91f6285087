"""The report's part on methods: how everything was computed, and the settings of systems and labelers."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import yaml

from quati_pool import __version__
from quati_pool.commands.report import State
from quati_pool.files.artifacts import file_digest
from quati_pool.project.config import (
    ConsensusConfig,
    FusionSystem,
    HybridConfig,
    JudgeConfig,
    PeopleConfig,
    PoolConfig,
    RerankSystem,
    RetrieverSystem,
)
from quati_pool.project.config.labelers import PEOPLE_METHODS
from quati_pool.reporting.answers.build import ADAPTIVE
from quati_pool.reporting.formats.document import Block, Details, Paragraph
from quati_pool.reporting.formats.tables import Column, Table
from quati_pool.reporting.tables.evaluate import TESTS
from quati_pool.text.pluralize import listed
from quati_pool.text.secrets import masked

_AVERAGED = {
    "judged": "all judged queries, a query that a run lacks counting 0",
    "common": "the judged queries that all runs return",
    "returned": "the judged queries that each run returns itself, in tests of two systems those that both return",
}
_SOFTWARE = ("numpy", "scipy", "pandas", "pyarrow", "ir_measures", "pytrec_eval-terrier", "scikit-learn", "bm25s")


def _pooled(state: State) -> str:
    settings, pairs = state.config.pool, f"{len(state.pool.pool):,} pairs"
    candidates = (
        f"the first {settings.depth:,} documents per query of every system (or as many as the table of systems says)"
    )
    if not settings.chooses:
        return f"The pool holds {candidates}, {pairs} in all."
    by = f" by the grades of {settings.steered_by}" if settings.adaptive else ""
    limits = {"in all": settings.budget, "per query": settings.per_query, "per query and round": settings.per_round}
    at_most = listed([f"{limit:,} {what}" for what, limit in limits.items() if limit is not None])
    return (
        f"The pool holds {pairs} that {settings.component} chose{by} from {candidates}: at most {at_most}, "
        f"{settings.random_share:.0%} of them at random. {ADAPTIVE if settings.adaptive else ''}"
    ).rstrip()


def body(state: State) -> list[Block]:
    """How the pool, the labels, the agreement and the measures came about."""
    config, settings = state.config, state.settings
    words = [
        f"{_pooled(state)} Runs were kept to {config.run_depth:,} documents. Documents of equal score are ordered by "
        "doc_id, descending, and scores are compared as float32, as trec_eval does.",
        "A pair without a grade is unjudged, never 0: failures and pairs never asked are in no qrels and are counted "
        "above. Only labels given under the model, prompt and parameters below, for the texts as they are now, "
        "were read.",
        "Agreement of two labelers is over the pairs that both graded; that of all together is over the pairs that its "
        "table names.",
        f"Intervals are 95 % percentile bootstrap intervals over queries ({settings.draws:,} resamples, seed "
        f"{state.seed}). Systems were compared by the two-sided {TESTS[settings.test]} test over "
        f"queries with Holm's correction at {settings.alpha:g}. Standard deviations are population ones.",
    ]
    if state.evaluation is not None:
        words.append(
            f"Measures ({', '.join(state.evaluation.measures)}) were computed by ir_measures over "
            f"{_AVERAGED[settings.queries]}; nDCG takes linear gains and log2(rank + 1)."
        )
    software = ", ".join(f"{name} {version(name)}" for name in _SOFTWARE)
    words.append(f"Created by quati-pool {__version__} with Python {platform.python_version()}, {software}.")
    return list(map(Paragraph, words))


def appendix(state: State) -> list[Details]:
    config = state.config
    facts = [
        ["Collection", config.name],
        ["pool.yaml", f"SHA-256 {file_digest(config.path)}"],
        ["Seed", str(config.seed)],
        ["Queries", f"{config.queries.source}: {state.pool.diversity.queries:,} with pooled pairs"],
        *(
            [f"Corpus {name}" if len(config.corpora) > 1 else "Corpus", corpus.source]
            for name, corpus in config.corpora.items()
        ),
        *([] if config.texts is None else [["Texts of other pooled passages", config.texts.source]]),
        ["Last label", f"number {state.seq:,} in the database" if state.seq else "none in the database"],
    ]
    settings_table = Table("The collection", [Column("What"), Column("Which")], facts)
    blocks = [settings_table, _system_table(config), *_judge_tables(state)]
    return [Details("Methods: the settings of systems and labelers", blocks)]


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
        elif isinstance(judge, HybridConfig):
            whose = f"a lead's decision, else the {judge.people}" if judge.people in PEOPLE_METHODS else judge.people
            calibrated = ", calibrated" if judge.calibrated else ""
            rows.append([name, f"hybrid: people's grades ({whose}), else {judge.judge}'s{calibrated}", "", ""])
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
