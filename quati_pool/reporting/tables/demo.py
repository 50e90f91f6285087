"""The tables of ``demo``."""

from __future__ import annotations

from quati_pool.commands.demo import Demo
from quati_pool.reporting.formats.tables import Table
from quati_pool.reporting.tables import agree as agree_tables
from quati_pool.reporting.tables import build as build_tables
from quati_pool.reporting.tables import evaluate as evaluate_tables
from quati_pool.reporting.tables import judge as judge_tables


def tables(result: Demo) -> list[Table]:
    """What ``demo`` prints. Of agreement and evaluation it shows only the main tables; the rest is in ``reports/``."""
    boards = [
        table
        for condition in result.evaluated.conditions
        for table in evaluate_tables.board_tables(result.evaluated, condition)[:1]
    ]
    return [
        *build_tables.tables(result.built),
        *judge_tables.tables(result.judged),
        *agree_tables.main_tables(result.agreed),
        *(agree_tables.confusion_table(result.agreed, pair) for pair in result.agreed.compared),
        *boards,
        *evaluate_tables.ranking_tables(result.evaluated)[:2],
    ]
