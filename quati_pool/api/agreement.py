"""How far labelers agree, as a result to print, and as frames and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from quati_pool.api.frames import frame, values_and_ends, with_ends
from quati_pool.api.results import Estimate, SavedResult, Saving, Views
from quati_pool.errors import ConfigError
from quati_pool.registry import nearest

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from quati_pool.agreement.estimates import Estimates
    from quati_pool.agreement.pairwise import PairAgreement
    from quati_pool.commands.agree import AgreeReport


class Agreement(SavedResult):
    """The agreement of labelers: ``agree``'s result. Intervals have a level of 95 %: by bootstrap over queries, or, of
    figures that are weighted by how the pairs were drawn, by linearisation under the design."""

    result: AgreeReport

    more = "Frames: pairs, overall, per_query. One figure: kappa(a, b). All tables: to_latex(), save(folder)."

    @property
    def labelers(self) -> tuple[str, ...]:
        """The names of the labelers that were compared, in order."""
        return self.result.ratings.labelers

    @property
    def pairs(self) -> pd.DataFrame:
        """Each two labelers: a, b (str), n (int64: the pairs that both graded), queries (int64), then every coefficient
        with the ends of its interval (float64, NaN where undefined): kappa, kappa_low, kappa_high, and so on for
        kappa_linear, kappa_quadratic, spearman, pearson, kendall, agreement (share of equal grades, from 0 to 1) and
        difference (mean grade of a minus that of b); shared_members (str) names the labelers from whose grades those of
        both are computed."""
        names = self._coefficients
        columns = {
            "a": "str",
            "b": "str",
            "n": "int64",
            "queries": "int64",
            **with_ends(names),
            "shared_members": "str",
        }
        rows = [
            [pair.a, pair.b, pair.n, pair.queries, *values_and_ends(pair, names), ", ".join(pair.shared_members)]
            for pair in self.result.pairs
        ]
        return frame(rows, columns)

    @property
    def overall(self) -> pd.DataFrame:
        """All independent labelers together: coefficient (str), value, low, high (float64, NaN where undefined), n
        (int64)."""
        found = self.result.overall
        columns = {"coefficient": "str", "value": "float64", "low": "float64", "high": "float64", "n": "int64"}
        return frame([[name, *values_and_ends(found, [name]), found.n[name]] for name in found.values], columns)

    @property
    def per_query(self) -> pd.DataFrame:
        """Each two labelers within each query: query_id, a, b (str), n (int64) and the coefficients (float64, NaN where
        undefined)."""
        names = self._coefficients
        columns = {"query_id": "str", "a": "str", "b": "str", "n": "int64", **dict.fromkeys(names, "float64")}
        rows = [
            [query.query_id, pair.a, pair.b, pair.n, *(pair.values[name] for name in names)]
            for query in self.result.queries
            for pair in query.pairs
        ]
        return frame(rows, columns)

    def kappa(self, a: str, b: str, *, weights: Literal["linear", "quadratic"] | None = None) -> Estimate:
        """Cohen's κ of two labelers.

        Args:
            a: One labeler.
            b: The other; their order does not matter.
            weights: None for plain κ, or how disagreements are weighted by the distance of the grades.

        Returns:
            κ with its interval; ``n`` is the number of pairs that both graded.

        Raises:
            QuatiPoolError: If a labeler was not compared.

        Example:
            >>> c.agree().kappa("sample-gold", "lexical").n == len(c.pool())
            True
        """
        return self.coefficient("kappa" if weights is None else f"kappa_{weights}", a, b)

    def coefficient(self, name: str, a: str, b: str) -> Estimate:
        """A coefficient of two labelers by its column's name in ``pairs``.

        Args:
            name: kappa, kappa_linear, kappa_quadratic, spearman, pearson, kendall, agreement or difference.
            a: One labeler.
            b: The other; only ``difference``, the mean grade of a minus that of b, depends on their order.

        Returns:
            The coefficient with its interval; ``n`` is the number of pairs that both graded.

        Raises:
            QuatiPoolError: If there is no such coefficient, or a labeler was not compared.
        """
        pair = self._pair(a, b)
        if name not in pair.values:
            raise ConfigError(f"there is no coefficient {name!r}; {nearest(name, pair.values)}")
        found = _estimate(pair, name, pair.n)
        if name == "difference" and pair.a != a:
            low, high = (None if end is None else -end for end in (found.high, found.low))
            return Estimate(None if found.value is None else -found.value, low, high, found.n, found.undefined)
        return found

    def confusion(self, a: str, b: str) -> pd.DataFrame:
        """How often two labelers gave which grades: rows are a's grades, columns b's (int64).

        Raises:
            QuatiPoolError: If a labeler was not compared.
        """
        import pandas as pd

        pair = self._pair(a, b)
        counts = pair.confusion if pair.a == a else pair.confusion.T
        grades = list(self.result.ratings.scale)
        return pd.DataFrame(counts, index=pd.Index(grades, name=a), columns=pd.Index(grades, name=b))

    def plot(self, a: str, b: str) -> Figure:
        """The confusion matrix of two labelers as a matplotlib figure, which a notebook displays.

        Raises:
            QuatiPoolError: If a labeler was not compared.
        """
        from quati_pool.api.plots import displayed
        from quati_pool.reporting.figures.plots import confusion_matrix

        counts = self.confusion(a, b)
        grades = [str(grade) for grade in counts.index]
        return displayed(confusion_matrix(counts.to_numpy(), a, b, grades, f"{a} and {b}"))

    def to_frame(self) -> pd.DataFrame:
        """The same as ``pairs``."""
        return self.pairs

    @property
    def _coefficients(self) -> list[str]:
        from quati_pool.agreement.coefficients import COEFFICIENTS

        return list(COEFFICIENTS)

    def _pair(self, a: str, b: str) -> PairAgreement:
        for name in (a, b):
            if name not in self.labelers:
                raise ConfigError(f"there is no labeler {name!r} here; {nearest(name, self.labelers)}")
        for pair in self.result.pairs:
            if {pair.a, pair.b} == {a, b} and a != b:
                return pair
        raise ConfigError(f"{a!r} cannot be compared with itself; name two labelers")

    def _saving(self) -> Saving:
        from quati_pool.reporting.figures.agree import write

        return Saving(self.result.gathered.config, write)

    def _views(self) -> Views:
        from quati_pool.reporting.answers.agree import answer
        from quati_pool.reporting.json_data.agree import as_data
        from quati_pool.reporting.tables.agree import tables

        return Views(answer, tables, as_data)


def _estimate(found: Estimates, name: str, n: int) -> Estimate:
    value, low, high = values_and_ends(found, [name])
    return Estimate(value, low, high, n, found.undefined.get(name, found.undefined.get(f"intervals.{name}")))
