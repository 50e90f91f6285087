"""The tables and files of ``demo``, and the same as data."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.demo import Demo
from quati_pool.reporting.formats.tables import Table
from quati_pool.reporting.tables import agree as agree_tables
from quati_pool.reporting.tables import build as build_tables
from quati_pool.reporting.tables import evaluate as evaluate_tables
from quati_pool.reporting.tables import judge as judge_tables


def tables(made: Demo) -> list[Table]:
    """What ``demo`` prints: of agreement and evaluation the main tables, the others being in ``reports/``."""
    boards = [
        table
        for condition in made.evaluated.conditions
        for table in evaluate_tables.board_tables(made.evaluated, condition)[:1]
    ]
    return [
        *build_tables.tables(made.built),
        *judge_tables.tables(made.judged),
        *agree_tables.main_tables(made.agreed),
        *(agree_tables.confusion_table(made.agreed, pair) for pair in made.agreed.compared),
        *boards,
        *evaluate_tables.ranking_tables(made.evaluated)[:2],
    ]


def as_data(made: Demo) -> dict[str, Any]:
    """What each command gives as JSON."""
    return {
        **build_tables.as_data(made.built),
        "judge": judge_tables.as_data(made.judged),
        "agree": agree_tables.as_data(made.agreed),
        "evaluate": evaluate_tables.as_data(made.evaluated),
    }
