"""The answer of ``build``: how large the pool is, and how much of it depends on single systems."""

from __future__ import annotations

import numpy as np

from quati_pool.commands.build import BuildResult
from quati_pool.pooling.diversity import GradeShares
from quati_pool.pooling.pool import EXTRA, KEPT, RANDOM
from quati_pool.project.config import JudgeConfig
from quati_pool.project.workspace import Workspace
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.text.pluralize import counted

ADAPTIVE = (
    "Grades chose its pairs: what a system alone brought in, and leaving a system out, say less than of a depth pool, "
    "as without it others would have been chosen."
)


def answer(result: BuildResult) -> Answer:
    folder = Workspace(result.config.folder).report("")
    sentences = [pooled(result), *rounds(result), *_caveat(result), *_doubts(result)]
    return Answer(sentences, _systems(result), wording.files(folder, "diversity"))


def pooled(result: BuildResult) -> str:
    """The size of the pool, and the share of its pairs that a single system returned, or how they were chosen."""
    found, depths = result.diversity, {depth for depth in result.pool.depths.tolist() if depth}
    if result.config.pool.chooses:
        return _chosen(result)
    if not depths:
        return f"{counted(len(result.pool), 'pair', 'pairs')} are pooled, from no system."
    top = f"top {depths.pop()}" if len(depths) == 1 else f"top {min(depths)} to {max(depths)}"
    systems = f"each of {len(found.systems):,} systems" if len(found.systems) > 1 else "1 system"
    queries = counted(found.queries, "query", "queries")
    pairs = counted(len(result.pool), "query–passage pair", "different query–passage pairs")
    return (
        f"The {top} of {systems} for {queries} give {pairs}, {found.union.unique:,} of "
        f"them ({wording.percent(found.union.unique, found.union.pairs)}) by one system alone."
    )


def _chosen(result: BuildResult) -> str:
    settings, pool = result.config.pool, result.pool
    by = f" by the grades of {settings.steered_by}" if settings.adaptive else ""
    drawn, kept, extra = (int((pool.reason == reason).sum()) for reason in (RANDOM, KEPT, EXTRA))
    at_random = f", {drawn:,} of them drawn at random" if drawn else ""
    number = len(pool) - kept - extra
    pairs = counted(number, "query–passage pair", "query–passage pairs")
    if result.chosen is not None:
        pairs = f"{number:,} of {counted(len(result.chosen.frame), 'candidate pair', 'candidate pairs')}"
    last = int(pool.round[~np.isin(pool.reason, (KEPT, EXTRA))].max(initial=0))
    said = f"{settings.method} chose {pairs}{by} in {counted(last, 'round', 'rounds')}{at_random}."
    if kept:
        stay = counted(kept, "pair stays", "pairs stay")
        said += f" {stay} in the pool from before, as {'it was' if kept == 1 else 'they were'} labelled."
    return said


def rounds(result: BuildResult) -> list[str]:
    """What is left of an adaptive pool."""
    if not result.config.pool.adaptive or result.chosen is None:
        return []
    labeler, further = result.config.pool.steered_by, result.chosen.further
    next_step = (
        f"quati-pool judge {labeler} --adaptive, or build once it has graded them"
        if isinstance(result.config.judges.get(str(labeler)), JudgeConfig)
        else f"quati-pool build, once {labeler} has graded them"
    )
    return [f"Up to {further:,} more may follow once these are graded: {next_step}." if further else "It is complete."]


def _caveat(result: BuildResult) -> list[str]:
    """What an adaptive pool cannot be used for."""
    return [ADAPTIVE] if result.config.pool.adaptive else []


def _doubts(result: BuildResult) -> list[str]:
    found = []
    if result.queries_without_pairs:
        without = counted(len(result.queries_without_pairs), "query has", "queries have")
        found.append(f"{without} no pair ({wording.names(result.queries_without_pairs)}).")
    if result.without_text:
        which = "No pair has a text" if result.without_text == len(result.pool) else ""
        which = which or f"{counted(result.without_text, 'pair has', 'pairs have')} no text"
        found.append(f"{which}, so they cannot be judged unless texts: in pool.yaml names a file of them.")
    if result.diversity.extra:
        extra = counted(result.diversity.extra, "pair comes", "pairs come")
        found.append(f"{extra} from {result.config.pool.extra} alone.")
    if result.grades:
        found.append(relevant_alone(result.grades))
    return found


def relevant_alone(grades: GradeShares, by: str = "") -> str:
    """How many of the relevant pairs a single system returned; ``by`` is the labeler, where that is not evident."""
    relevant = grades.relevant
    by_whom = f" by {by}" if by else ""
    return (
        f"Of {relevant.pairs:,} relevant pairs (grade 1 or higher{by_whom}) {relevant.unique:,} "
        f"({wording.percent(relevant.unique, relevant.pairs)}) come from one system alone."
    )


def _systems(result: BuildResult) -> Table:
    """The systems, those with the largest share of pairs of their own first."""
    shares = sorted(result.diversity.systems, key=lambda one: -(one.unique_share or 0))
    rows: list[list[Cell]] = [[one.name, one.pairs, one.unique, one.unique_share] for one in shares]
    columns = [Column("System"), Column("Pairs pooled"), Column("By it alone"), Column("Share", 1, percent=True)]
    note = "Without a system, the pairs by it alone would be unjudged."
    return Table("What each system brought into the pool", columns, rows, note)
