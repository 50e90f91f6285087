"""Evaluation, agreement and pooling of frames and files, without a workspace."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from quati_pool.api.agreement import Agreement
from quati_pool.api.arguments import Labels, Runs, Scale, check_resampling, label_files, oddities, run_set, several
from quati_pool.api.evaluation import Evaluation
from quati_pool.api.frames import pool_frame
from quati_pool.api.progress import listener
from quati_pool.errors import ConfigError, QuatiPoolWarning

if TYPE_CHECKING:
    import pandas as pd


def evaluate(
    *,
    runs: Runs,
    qrels: Labels,
    measures: Sequence[str] | str | None = None,
    baseline: str | None = None,
    test: Literal["t", "wilcoxon", "randomisation"] = "t",
    alpha: float = 0.05,
    pool_depth: int | None = None,
    labeler: str | None = None,
    queries: Literal["judged", "common", "returned"] = "judged",
    scale: Scale = None,
    draws: int = 2000,
    seed: int = 0,
    progress: bool = True,
) -> Evaluation:
    """Ranks runs under one or several qrels, as ``quati-pool evaluate --run … --qrels …`` does.

    Documents are ranked by score as float32, equal scores by descending doc_id, as trec_eval does; a column ``rank`` is
    checked against the scores and otherwise ignored. A judged query that a run lacks counts 0.

    Args:
        runs: Runs by name: a DataFrame with query_id, doc_id and score, a mapping {query_id: {doc_id: score}}, or the
            path of a TREC run. Or one DataFrame of several runs, with their names in a column run_tag.
        qrels: Qrels by name: a DataFrame with query_id, doc_id and relevance, a mapping {query_id: {doc_id: grade}}, or
            the path of TREC qrels or another label file. Or one DataFrame with a column labeler. A missing relevance is
            a pair without a grade, which is unjudged, not 0.
        measures: Names as ir_measures has them, such as ``["nDCG@10", "R(rel=2)@100"]``; the first ranks the runs.
        baseline: A run that all others are tested against, on every measure.
        test: The paired test over queries.
        alpha: The level of significance.
        pool_depth: How deep the runs were pooled; adds results without each run to ``to_dict()``.
        labeler: The qrels that come first; by default in the order given.
        queries: The queries to average over: all judged ones, those that all runs return, or each run's own.
        scale: All grades there are; by default 0 and those that occur.
        draws: Bootstrap resamples of the queries, for 95 % intervals; 0 for none.
        seed: The seed of the resamples.
        progress: Whether long work shows what it does.

    Returns:
        The leaderboard, values by query and tests.

    Raises:
        QuatiPoolError: For runs or qrels that do not have the form above; the message names the argument and the row,
            counted from 0.

    Example:
        >>> runs = {"mine": {"q1": {"d1": 2.0, "d2": 1.0}}}
        >>> qrels = {"human": {"q1": {"d1": 0, "d2": 1}}}
        >>> qp.evaluate(runs=runs, qrels=qrels, measures=["RR"]).mean("mine").value
        0.5
    """
    from quati_pool.commands.evaluate import Settings, measure
    from quati_pool.evaluation.measures import DEFAULTS, parse_measures
    from quati_pool.labels.sources import gather

    check_resampling(draws, seed)
    chosen = parse_measures(several(measures) or DEFAULTS)
    settings = Settings(chosen, baseline, test, alpha, draws, seed, pool_depth, labeler=labeler, queries=queries)
    gathered = gather(None, (), label_files(qrels, "qrels", scale=scale), any_grade=True)
    with listener(progress) as shown:
        found = measure(None, gathered, [run_set(runs, pool_depth)], chosen, settings, listener=shown)
    for oddity in [*oddities(gathered), *found.warnings]:
        warnings.warn(oddity, QuatiPoolWarning, stacklevel=2)
    return Evaluation(found)


def agree(
    *,
    labels: Labels,
    person: str | Iterable[str] = (),
    queries: str | Path | None = None,
    scale: Scale = None,
    draws: int = 2000,
    seed: int = 0,
    progress: bool = True,
) -> Agreement:
    """Measures how far labelers agree, as ``quati-pool agree --labels …`` does.

    Args:
        labels: Labels by labeler: a DataFrame with query_id, doc_id and relevance, a mapping
            {query_id: {doc_id: grade}}, or the path of qrels or another label file. Or one DataFrame with a column
            labeler. A missing relevance is a pair without a grade.
        person: The labelers that are people.
        queries: A file that maps query texts to ids, for label files that hold only texts.
        scale: All grades there are; by default 0, 1, 2, 3.
        draws: Bootstrap resamples of the queries, for 95 % intervals; 0 for none.
        seed: The seed of the resamples.
        progress: Whether long work shows what it does.

    Returns:
        The coefficients of each two labelers, of all together, and within each query.

    Raises:
        QuatiPoolError: For fewer than two labelers, for two that share no pair, and for labels that do not have the
            form above or a grade that is not on the scale; the message names the argument and the row, counted from 0.

    Example:
        >>> labels = {"ana": {"q1": {"d1": 0, "d2": 3}}, "bia": {"q1": {"d1": 0, "d2": 3}}}
        >>> qp.agree(labels=labels).kappa("ana", "bia").value
        1.0
    """
    from quati_pool.commands.agree import compare
    from quati_pool.labels.sources import gather

    check_resampling(draws, seed)
    people = several(person)
    gathered = gather(None, (), label_files(labels, "labels", person=people, scale=scale, queries=queries), people)
    for oddity in [*oddities(gathered), *gathered.warnings]:
        warnings.warn(oddity, QuatiPoolWarning, stacklevel=2)
    with listener(progress) as shown:
        return Agreement(compare(gathered, draws=draws, seed=seed, listener=shown))


def pool(runs: Runs, *, depth: int = 10) -> pd.DataFrame:
    """The depth pool of some runs: the first ``depth`` documents per query of each.

    Args:
        runs: As in ``evaluate``.
        depth: How many documents per query each run contributes.

    Returns:
        query_id, doc_id (str) and runs, for each pair the rank in every run that returned it: {run_tag: rank}, below
        ``depth`` too. Sorted by query, then doc_id.

    Raises:
        QuatiPoolError: For runs that do not have the form above, and a depth below 1.

    Example:
        >>> qp.pool({"mine": {"q1": {"d1": 2.0, "d2": 1.0}}}, depth=1).to_dict("records")
        [{'query_id': 'q1', 'doc_id': 'd1', 'runs': {'mine': 1}}]
    """
    from quati_pool.pooling.pool import depth_pool

    if depth < 1:
        raise ConfigError(f"depth is {depth}; expected at least 1")
    found = run_set(runs).runs
    return pool_frame(depth_pool(found, {run.run_tag: depth for run in found}))
