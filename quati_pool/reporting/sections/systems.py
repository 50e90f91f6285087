"""The report's part on systems: which is best, and how far the labelers order them alike."""

from __future__ import annotations

from quati_pool.commands.report import State
from quati_pool.reporting.answers import evaluate as answers
from quati_pool.reporting.figures import evaluate as figures
from quati_pool.reporting.formats.document import Block, Details, Paragraph, Row
from quati_pool.reporting.sections import estimates
from quati_pool.reporting.tables import evaluate as tables
from quati_pool.reporting.tables import run_facts


def body(state: State) -> list[Block]:
    """Estimates under people's grades, if there are any, the leaderboard under the first labeler, and the orders of the
    systems under two labelers."""
    evaluation = state.evaluation
    if evaluation is None:
        return [Paragraph(state.missing["evaluation"])]
    first = evaluation.conditions[0]
    said = [*answers.leaders(evaluation), *answers.labelers(evaluation, kappa=False)]
    main = evaluation.main
    if main is not None:
        # Without a main labeler, it begins with the name of a labeler.
        said.append(f"{main.said[0].upper() if main.name else main.said[0]}{main.said[1:]}.")
    changes = [figures.rank_change(evaluation, *compared) for compared in evaluation.compared if compared[2].systems]
    alone = state.alone(first.source)
    pictures = [figures.board(evaluation, first, alone=alone), *changes[:1]]
    return [
        *estimates.body(state),
        Paragraph(" ".join(said)),
        tables.board_tables(evaluation, first, alone=alone)[0],
        Row([picture.figure() for picture in pictures]),
    ]


def appendix(state: State) -> list[Details]:
    """All other tables and figures of ``evaluate``, but those on the pool: by labeler, then the changes of order."""
    evaluation = state.evaluation
    if evaluation is None:
        return []
    found = [*estimates.appendix(state)]
    for condition in evaluation.conditions:
        first, alone = condition is evaluation.conditions[0], state.alone(condition.source)
        board, *others = tables.board_tables(evaluation, condition, alone=alone)
        blocks: list[Block] = [] if first else [board, figures.board(evaluation, condition, alone=alone).figure()]
        blocks += [*others, run_facts.table(condition), *tables.comparison_tables(evaluation, condition, None)]
        found.append(Details(f"Systems {tables.under(condition, alone=alone)}", blocks))
    orders: list[Block] = [*tables.ranking_tables(evaluation)]
    changes = [figures.rank_change(evaluation, *compared) for compared in evaluation.compared if compared[2].systems]
    orders += [change.figure() for change in changes[1:]]
    return [*found, Details("Systems: their orders under two labelers", orders)] if orders else found
