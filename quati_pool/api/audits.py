"""Audits of judges and their plans, as results to print, and as frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quati_pool.api.frames import frame
from quati_pool.api.results import Result, Views

if TYPE_CHECKING:
    import pandas as pd

    from quati_pool.commands.audit.audit import AuditReport
    from quati_pool.commands.audit.comparison import AuditComparison as TypedComparison
    from quati_pool.commands.audit.plan import AuditPlan as TypedPlan
    from quati_pool.stats.shares import Difference, Share

_NAMED = {"judge": "str", "probe": "str"}
_SHARES = [f"{name}{end}" for name in ("share", "control", "excess") for end in ("", "_low", "_high")]


class Audit(Result):
    """What fools judges; ``audit``'s result. Shares are from 0 to 1, with the ends of their 95 % intervals."""

    result: Sequence[AuditReport]

    more = "Frames: probes, variants, worst, grades. The command's JSON: to_dict(). All tables: to_latex()."

    @property
    def judges(self) -> tuple[str, ...]:
        """The audited judges."""
        return tuple(report.judge for report in self.result)

    @property
    def cost(self) -> float:
        """What this run spent in US dollars, as far as known."""
        return sum(report.cost for report in self.result)

    @property
    def probes(self) -> pd.DataFrame:
        """One row per judge and probe: judge, probe, danger, verdict (str: fooled, undecided, cleared or not asked), n
        and fooled (int64: changed pairs, or answers, with a grade, and those whose grade moved as it must not), share,
        which is fooled of n, control, the share of the controls, and excess, the difference that the verdict compares
        with the bound, each with its interval (share, share_low, share_high, and so on), bound, mean_change and
        control_change in grades (float64, NaN without any), ungraded (int64), fooled_by (str: the variants that alone
        fool the judge, with commas between them), controls_move (bool: whether the controls' share is above the bound
        too), problem (str: why the probe could not be used; empty where it could)."""
        from quati_pool.audit.outcomes import no_findings

        rows: list[list[Any]] = []
        for report in self.result:
            for one in report.probes:
                found = one.findings or no_findings(one.probe.parameters.bound)
                rows.append(
                    [
                        report.judge, one.name, one.probe.danger, found.verdict, found.fooled.n, found.fooled.hits,
                        *_share(found.fooled), *_share(found.control), *_difference(found.excess), found.bound,
                        found.mean_change, found.control_change, found.ungraded,
                        ", ".join(each.name for each in found.fooled_by), found.controls_move, one.problem or "",
                    ]
                )  # fmt: skip
        columns = {
            **_NAMED, "danger": "str", "verdict": "str", "n": "int64", "fooled": "int64",
            **dict.fromkeys([*_SHARES, "bound", "mean_change", "control_change"], "float64"),
            "ungraded": "int64", "fooled_by": "str", "controls_move": "bool", "problem": "str",
        }  # fmt: skip
        return frame(rows, columns)

    @property
    def variants(self) -> pd.DataFrame:
        """One row per way of changing pairs: judge, probe, variant (str), n and fooled (int64), share, control and
        excess with their intervals (float64), as in ``probes``."""
        rows: list[list[Any]] = [
            [
                report.judge,
                one.name,
                each.name,
                each.fooled.n,
                each.fooled.hits,
                *_share(each.fooled),
                *_share(each.control),
                *_difference(each.excess),
            ]
            for report in self.result
            for one in report.probes
            if one.findings is not None
            for each in one.findings.variants
        ]
        counts = {"n": "int64", "fooled": "int64"}
        return frame(rows, {**_NAMED, "variant": "str", **counts, **dict.fromkeys(_SHARES, "float64")})

    @property
    def worst(self) -> pd.DataFrame:
        """The pairs that fooled each judge most: judge, probe, variant, query_id, doc_id (str), the judge's grades
        before and after the change (int64), of the control and people's (Int64, missing without one), and what the
        judge was shown: query and text, changed_query and changed_text, control_query and control_text (str, empty
        without a control)."""
        from quati_pool.reporting.tables.audit import grade_after, grade_of_control, worst

        rows: list[list[Any]] = []
        for report in self.result:
            for one, place, case in worst(report):
                control = ("", "") if case.control is None else (case.control.query, case.control.text)
                rows.append(
                    [
                        report.judge, one.name, case.variant, case.query_id, case.doc_id, case.before,
                        grade_after(one, place), grade_of_control(one, place), case.people, case.original.query,
                        case.original.text, case.changed.query, case.changed.text, *control,
                    ]
                )  # fmt: skip
        columns = {
            **_NAMED, "variant": "str", "query_id": "str", "doc_id": "str", "before": "int64", "after": "int64",
            "control": "Int64", "people": "Int64", "query": "str", "text": "str", "changed_query": "str",
            "changed_text": "str", "control_query": "str", "control_text": "str",
        }  # fmt: skip
        return frame(rows, columns)

    @property
    def grades(self) -> pd.DataFrame:
        """One row per judge and danger of its grades next to people's: judge, danger, verdict (str: within, undecided
        or beyond), seen, with the ends low and high of its interval, and bound (float64, NaN without an interval), n
        (int64) of what is named by of, and advice: what not to do where it is beyond (str)."""
        text, figures = dict.fromkeys(("judge", "danger", "verdict"), "str"), ("seen", "low", "high", "bound")
        columns = {**text, **dict.fromkeys(figures, "float64"), "n": "int64", "of": "str", "advice": "str"}
        rows = (
            [
                report.judge, one.danger, one.position, one.seen, one.low, one.high, one.bound, one.n, one.of,
                one.advice,
            ]
            for report in self.result
            for one in report.grade_lines
        )  # fmt: skip
        return frame(rows, columns)

    def to_frame(self) -> pd.DataFrame:
        """The same as ``probes``."""
        return self.probes

    def _views(self) -> Views:
        from quati_pool.reporting.answers.audit import answer
        from quati_pool.reporting.json_data.audit import as_data
        from quati_pool.reporting.tables.audit import tables

        return Views(answer, tables, as_data)


class AuditComparison(Audit):
    """Which of two judges to take; the result of ``audit`` with ``compare=True``."""

    more = "Frames: figures, dangers, probes, grades. The command's JSON: to_dict(). All tables: to_latex()."

    def __init__(self, comparison: TypedComparison, reports: Sequence[AuditReport]) -> None:
        super().__init__(reports)
        self.comparison = comparison

    @property
    def take(self) -> str | None:
        """The judge to take; None if neither is shown to be better and costs do not decide, each has dangers of its
        own, neither orders systems as people do, or the run is not finished."""
        found = self.comparison
        return None if found.take is None else found.judges[found.take]

    @property
    def by(self) -> str | None:
        """What decides: dangers, order, kappa; or cost or time, where neither is shown to be better."""
        return self.comparison.basis

    @property
    def figures(self) -> pd.DataFrame:
        """One row per figure, which are order (τ with people's order of systems), level (how far the measure is off)
        and kappa (κ with people): figure (str), first and second, the values of the two judges, difference, of the
        first less the second, with the ends low and high of its interval (float64), n (int64: queries, or pairs for
        kappa)."""
        found = self.comparison
        systems, kappa = found.systems, found.kappa
        compared = [] if systems is None else [("order", systems.tau), ("level", systems.level)]
        rows = [[name, *one[:3], *one.interval[:2], systems.queries] for name, one in compared if systems is not None]
        rows += [] if kappa is None else [["kappa", *kappa.kappa[:3], *kappa.kappa.interval[:2], kappa.n]]
        named = dict.fromkeys(("first", "second", "difference", "low", "high"), "float64")
        return frame(rows, {"figure": "str", **named, "n": "int64"})

    @property
    def dangers(self) -> pd.DataFrame:
        """One row per danger: danger, first and second, the verdicts on the two judges (str, missing where one does
        not have it), difference of the shares fooled with its ends low and high (float64, NaN where there is none),
        same_texts (boolean: whether it is over the same changed texts; missing without a difference), shown_of (str:
        the judge of which alone it is shown; empty if of neither)."""
        found = self.comparison
        rows = [
            [
                one.danger, *one.verdicts, *(one.difference or [None] * 3), one.same,
                "" if one.against is None else found.judges[one.against],
            ]
            for one in found.dangers
        ]  # fmt: skip
        text = dict.fromkeys(("danger", "first", "second"), "str")
        figures = dict.fromkeys(("difference", "low", "high"), "float64")
        return frame(rows, {**text, **figures, "same_texts": "boolean", "shown_of": "str"})

    def _views(self) -> Views:
        from quati_pool.reporting.answers.audit_comparison import answer
        from quati_pool.reporting.json_data.audit_comparison import as_data
        from quati_pool.reporting.tables.audit_comparison import tables

        return Views(
            lambda reports: answer(self.comparison, reports),
            lambda reports: tables(self.comparison, reports),
            lambda reports: as_data(self.comparison, reports),
        )


class AuditPlan(Result):
    """What an audit would ask and cost; the result of ``audit`` with ``dry_run=True``."""

    result: Sequence[TypedPlan]

    def to_frame(self) -> pd.DataFrame:
        """One row per judge that would be asked: audited, the judge of the audit, and judge (str), texts, to_ask,
        calls, input_tokens, output_tokens (int64), cost in US dollars and seconds (float64, NaN where unknown)."""
        counts = dict.fromkeys(("texts", "to_ask", "calls", "input_tokens", "output_tokens"), "int64")
        columns = {"audited": "str", "judge": "str", **counts, "cost": "float64", "seconds": "float64"}
        return frame(([getattr(plan, name) for name in columns] for plan in self.result), columns)

    def _views(self) -> Views:
        from quati_pool.reporting.answers.audit_plan import plan_answer
        from quati_pool.reporting.json_data.audit import plan_data
        from quati_pool.reporting.tables.audit import plan_tables

        return Views(plan_answer, plan_tables, plan_data)


def _share(found: Share | None) -> list[float | None]:
    """A share with its interval; nothing without units."""
    return [None] * 3 if found is None or found.share is None else [found.share, found.low, found.high]


def _difference(found: Difference | None) -> list[float | None]:
    return [None] * 3 if found is None else [*found]
