"""The answer of ``demo``: the pool, the judge, how far to trust it, which system is best, and what to do next."""

from __future__ import annotations

import shlex
from pathlib import Path

from quati_pool.commands.demo import Demo
from quati_pool.reporting.answers import agree, build, evaluate, judge
from quati_pool.reporting.formats.answers import Answer


def answer(result: Demo, folder: Path) -> Answer:
    """``folder`` is the workspace, as the user named it."""
    gold = result.evaluated.conditions[0].source
    sentences = [
        f"Pool: {build.pooled(result.built)}",
        f"Judge: {judge.graded(result.judged)} It only matches terms. {gold.name}: the "
        f"{len(gold.qrels):,} grades that come with the sample.",
        *(f"Agreement: {sentence}" for sentence in agree.main_result(result.agreed)),
        *(f"Systems: {sentence}" for sentence in evaluate.leaders(result.evaluated)),
        *evaluate.labelers(result.evaluated, kappa=False),
        *([f"Left out: {result.lacking}."] if result.lacking else []),
    ]
    commands = {
        f"cd {shlex.quote(str(folder))}": "pool.yaml, runs, pool and reports of the sample",
        "quati-pool status": "what is done here, and the next command",
        "quati-pool report": "everything on one page: reports/report.html",
        "quati-pool evaluate --full": "all tables (build, judge, agree take --full too)",
        "quati-pool retrievers": "the systems that a pool.yaml can name",
        "quati-pool prompts": "prompts for LLM judges, in several languages",
        "quati-pool init ../mine": "a workspace for your own corpus and queries",
    }
    width = max(map(len, commands))
    steps = [f"  {command:{width}}  {what}" for command, what in commands.items()]
    board = evaluate.board(result.evaluated, result.evaluated.conditions[0])
    return Answer(sentences, board, "\n".join(["Next:", *steps]))
