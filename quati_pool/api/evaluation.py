"""How systems rank, as a result to print, and as frames and figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quati_pool.api.frames import frame
from quati_pool.api.results import Estimate, SavedResult, Saving, Views
from quati_pool.errors import ConfigError
from quati_pool.registry import nearest

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from quati_pool.commands.evaluate import Condition
    from quati_pool.commands.evaluate import Evaluation as TypedEvaluation
    from quati_pool.evaluation.significance import Comparison


class Evaluation(SavedResult):
    """Runs measured under one or several qrels: ``evaluate``'s result.

    Intervals are 95 % bootstrap intervals over queries. Frames have one block of rows per qrels, named in the column
    ``qrels``; the first ones are those of the main labeler.
    """

    result: TypedEvaluation

    more = (
        "Frames: leaderboard, per_query, comparisons, rank_correlation. A figure: plot(). "
        "All tables: to_latex(), save(folder)."
    )

    @property
    def qrels(self) -> tuple[str, ...]:
        """The names of the qrels, in order."""
        return tuple(condition.name for condition in self.result.conditions)

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures, of which the first ranks the runs."""
        return self.result.measures

    @property
    def leaderboard(self) -> pd.DataFrame:
        """The runs under each qrels, best first: qrels (str), rank (int64, by the first measure; equal means share
        one), run_tag (str), group (str: runs with a common letter do not differ significantly), each measure's mean
        and the ends of its interval (float64: nDCG@10, nDCG@10_low, nDCG@10_high), missing_queries (int64: judged
        queries that the run lacks, which count 0) and queries (int64: those that means are taken over)."""
        measures = {f"{name}{end}": "float64" for name in self.measures for end in ("", "_low", "_high")}
        columns = {"qrels": "str", "rank": "int64", "run_tag": "str", "group": "str", **measures}
        columns |= {"missing_queries": "int64", "queries": "int64"}
        rows = []
        for condition in self.result.conditions:
            for row in condition.board.rows:
                figures = [
                    value
                    for mean in (row.measures[name] for name in self.measures)
                    for value in (mean.mean, mean.interval.low, mean.interval.high)
                ]
                missing = condition.judged_queries - condition.returned[row.run_tag]
                group = "".join(condition.letters[row.run_tag])
                rows.append([condition.name, row.rank, row.run_tag, group, *figures, missing, row.queries])
        return frame(rows, columns)

    @property
    def per_query(self) -> pd.DataFrame:
        """Every run on every judged query under each qrels: qrels, query_id, run_tag (str), returned (bool: whether the
        run has the query; if not, its values are 0) and the measures (float64)."""
        import numpy as np
        import pandas as pd

        blocks = []
        for condition in self.result.conditions:
            scores = condition.scores
            runs, _, queries = scores.values.shape
            block = pd.DataFrame({"qrels": pd.Series([condition.name], dtype="str").repeat(runs * queries)})
            block["query_id"] = np.tile(pd.array(scores.query_ids, dtype="str"), runs)
            block["run_tag"] = pd.array(scores.run_tags, dtype="str").repeat(queries)
            block["returned"] = ~scores.missing.ravel()
            for place, name in enumerate(scores.measures):
                block[name] = scores.values[:, place].ravel()
            blocks.append(block.astype({"query_id": "str"}))
        return pd.concat(blocks, ignore_index=True)

    @property
    def comparisons(self) -> pd.DataFrame:
        """Paired tests of two runs over queries: qrels, measure, a, b (str), difference (float64: mean of a minus that
        of b), p, p_holm (float64, corrected for the number of tests), significant (bool). Each two runs on the first
        measure, or with a baseline all runs against it (b) on every measure."""
        columns = {
            "qrels": "str", "measure": "str", "a": "str", "b": "str", "difference": "float64", "p": "float64",
            "p_holm": "float64", "significant": "bool",
        }  # fmt: skip
        rows = [
            [condition.name, measure, one.a, one.b, one.difference, one.p, one.p_holm, one.significant]
            for condition in self.result.conditions
            for measure, found in self._tests(condition)
            for one in found
        ]
        return frame(rows, columns)

    @property
    def rank_correlation(self) -> pd.DataFrame:
        """How alike each two qrels rank the runs by the first measure: a, b (str), and each coefficient with the ends
        of its interval (float64, NaN where undefined): tau, tau_low, tau_high, and so on."""
        from quati_pool.reporting.tables.evaluate import COEFFICIENTS

        columns = {f"{name}{end}": "float64" for name in COEFFICIENTS for end in ("", "_low", "_high")}
        rows = []
        for a, b, found in self.result.rankings:
            each = [getattr(found, name) for name in COEFFICIENTS]
            rows.append([a.name, b.name, *(end for one in each for end in (one.value, *one.interval[:2]))])
        return frame(rows, {"a": "str", "b": "str", **columns})

    def mean(self, run_tag: str, measure: str | None = None, *, qrels: str | None = None) -> Estimate:
        """A run's mean on a measure.

        Args:
            run_tag: The run.
            measure: One of ``measures``; the first by default.
            qrels: One of the names in ``qrels``; the first by default.

        Returns:
            The mean with its interval; ``n`` is the number of queries.

        Raises:
            QuatiPoolError: If there is no such run, measure or qrels.

        Example:
            >>> c.evaluate().mean("bm25s", "nDCG@10").n
            24
        """
        condition = self._condition(qrels)
        rows = {row.run_tag: row for row in condition.board.rows}
        measure = measure or self.measures[0]
        for what, name, known in (("run", run_tag, rows), ("measure", measure, self.measures)):
            if name not in known:
                raise ConfigError(f"there is no {what} {name!r} here; {nearest(name, known)}")
        row = rows[run_tag]
        found = row.measures[measure]
        undefined = "no resamples, or fewer than two queries" if found.interval.low is None else None
        return Estimate(found.mean, found.interval.low, found.interval.high, row.queries, undefined)

    def plot(self, *, qrels: str | None = None) -> Figure:
        """The leaderboard with its intervals on the first measure as a matplotlib figure, which a notebook displays.

        Args:
            qrels: One of the names in ``qrels``; the first by default.

        Raises:
            QuatiPoolError: If there are no such qrels.
        """
        from quati_pool.api.plots import displayed
        from quati_pool.reporting.figures.evaluate import leaderboard

        return displayed(leaderboard(self.result, self._condition(qrels)))

    def to_frame(self) -> pd.DataFrame:
        """The same as ``leaderboard``."""
        return self.leaderboard

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """The JSON object of ``quati-pool evaluate``.

        Args:
            per_query: Whether to add every query's values.
        """
        from quati_pool.reporting.json_data.evaluate import as_data

        data: dict[str, Any] = as_data(self.result, per_query)
        return data

    def _condition(self, qrels: str | None) -> Condition:
        for condition in self.result.conditions:
            if qrels in (None, condition.name):
                return condition
        raise ConfigError(f"there are no qrels {qrels!r} here; {nearest(str(qrels), self.qrels)}")

    def _tests(self, condition: Condition) -> list[tuple[str, Sequence[Comparison]]]:
        if self.result.settings.baseline is not None:
            return list(condition.against.items())
        return [(self.measures[0], condition.comparisons)]

    def _saving(self) -> Saving:
        from quati_pool.reporting.figures.evaluate import write

        return Saving(self.result.config or self.result.gathered.config, write)

    def _views(self) -> Views:
        from quati_pool.reporting.answers.evaluate import answer
        from quati_pool.reporting.json_data.evaluate import as_data
        from quati_pool.reporting.tables.evaluate import tables

        return Views(answer, tables, as_data)
