"""What the methods of a collection return: each result prints as its command does, and becomes frames and JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from quati_pool.api.frames import frame
from quati_pool.errors import ConfigError
from quati_pool.project.events import Listener

if TYPE_CHECKING:
    import pandas as pd

    from quati_pool.commands.build import BuildResult
    from quati_pool.commands.judge.judge import JudgeReport
    from quati_pool.commands.judge.plan import JudgePlan
    from quati_pool.commands.labels import LabelsReport
    from quati_pool.commands.plan.plan import Plan as TypedPlan
    from quati_pool.commands.status.status import Status as TypedStatus
    from quati_pool.project.config import PoolConfig
    from quati_pool.reporting.formats.answers import Answer
    from quati_pool.reporting.formats.tables import Table

# The most rows of a table in a notebook.
_ROWS = 60


@dataclass(frozen=True)
class Estimate:
    """A figure with its uncertainty.

    Attributes:
        value: The figure; None where it is undefined.
        low: The lower end of its 95 % interval over queries; None where there is none.
        high: The upper end.
        n: The number of pairs of a query and a passage, or of queries, that the figure is computed from.
        undefined: Why the figure, or else its interval, is undefined; None if both are defined.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    undefined: str | None = None

    def __float__(self) -> float:
        """The figure; NaN where it is undefined."""
        return float("nan") if self.value is None else self.value

    def __str__(self) -> str:
        if self.value is None:
            return f"undefined ({self.undefined})"
        interval = "" if self.low is None or self.high is None else f" ({self.low:z.3f} to {self.high:z.3f})"
        return f"{self.value:z.3f}{interval}"


class Views(NamedTuple):
    """What a command prints of its typed result: its answer, all tables, and its JSON."""

    answer: Callable[[Any], Answer]
    tables: Callable[[Any], Sequence[Table]]
    data: Callable[[Any], Any]


class Result(ABC):
    """A command's result. Printed, it is the command's answer in at most 40 lines of 80 columns."""

    more = "As a frame: to_frame(). The command's JSON: to_dict(). All tables: to_latex()."
    """Where everything else is; the commands' answers name options and files instead."""

    result: Any
    """The command's typed result."""

    def __init__(self, result: Any) -> None:
        self.result = result

    @abstractmethod
    def _views(self) -> Views: ...

    def to_dict(self) -> dict[str, Any]:
        """The object that the command prints with ``--format json``: dictionaries, lists, strings, numbers, None."""
        data: dict[str, Any] = self._views().data(self.result)
        return data

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """The result's main table as a frame."""

    def to_latex(self) -> str:
        """All tables in LaTeX, for ``\\\\input``, as the command prints them with ``--format latex``."""
        from quati_pool.reporting.formats.tables import latex_file

        return latex_file(self._views().tables(self.result))

    def __str__(self) -> str:
        from quati_pool.reporting.formats.answers import answer_text

        return answer_text(replace(self._views().answer(self.result), rest=self.more)).rstrip("\n")

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from quati_pool.reporting.formats.answers import fitted
        from quati_pool.reporting.formats.document import Block, Paragraph
        from quati_pool.reporting.formats.html import fragment

        answer = self._views().answer(self.result)
        blocks: list[Block] = [Paragraph(sentence) for sentence in answer.sentences]
        if answer.table is not None:
            # A notebook scrolls wide tables, so no column is left out.
            blocks.append(fitted(answer.table, 10_000, _ROWS))
        blocks.append(Paragraph(self.more))
        return fragment(blocks)


class Saving(NamedTuple):
    """The workspace's configuration, if there is one, and the function that writes the files of a typed result."""

    config: PoolConfig | None
    write: Callable[[Any, Path | None, Listener], None]


class SavedResult(Result):
    """A result whose command writes files."""

    @abstractmethod
    def _saving(self) -> Saving: ...

    def save(self, folder: str | Path | None = None) -> None:
        """Writes what the command writes: tables as Markdown, LaTeX, CSV and JSON, and figures.

        Args:
            folder: Where to; by default the workspace's ``reports/``. Without a workspace it is required.

        Raises:
            QuatiPoolError: If there is no folder to write to.
        """
        config, write = self._saving()
        if folder is None and config is None:
            raise ConfigError("there is no workspace with reports/ to save this to; name a folder: save('results')")
        write(self.result, None if folder is None else Path(folder), Listener())


class Build(Result):
    """A built pool and how diverse it is; ``build``'s result."""

    result: BuildResult

    @property
    def pairs(self) -> int:
        """The number of pairs in the pool."""
        return len(self.result.pool)

    @property
    def systems(self) -> pd.DataFrame:
        """Each system's share of the pool: run_tag, family (str), pool_depth, returned, unique (int64), unique_share
        (float64, from 0 to 1; NaN for a system that returned nothing)."""
        config = self.result.config
        rows = [
            (one.name, config.family(one.name), config.pool_depth(one.name), one.pairs, one.unique, one.unique_share)
            for one in self.result.diversity.systems
        ]
        columns = {
            "run_tag": "str", "family": "str", "pool_depth": "int64", "returned": "int64", "unique": "int64",
            "unique_share": "float64",
        }  # fmt: skip
        return frame(rows, columns)

    @property
    def overlap(self) -> pd.DataFrame:
        """The share of the row's pairs that the column returned too, from 0 to 1; run tags are index and columns."""
        import pandas as pd

        names = [share.name for share in self.result.diversity.systems]
        return pd.DataFrame(self.result.diversity.overlap, index=names, columns=names)

    def to_frame(self) -> pd.DataFrame:
        """The same as ``systems``."""
        return self.systems

    def _views(self) -> Views:
        from quati_pool.reporting.answers.build import answer
        from quati_pool.reporting.json_data.build import as_data
        from quati_pool.reporting.tables.build import tables

        return Views(answer, tables, as_data)


class Judging(Result):
    """A run of a judge and the judge's coverage of the whole pool; ``judge``'s result."""

    result: JudgeReport

    @property
    def left(self) -> int:
        """The number of pairs that are still to be asked."""
        return self.result.pending.left

    @property
    def cost(self) -> float | None:
        """The cost of this run in US dollars; None if that of any call is unknown."""
        calls = self.result.calls
        if calls is None:
            return 0.0
        return None if calls.unknown else calls.cost

    def to_frame(self) -> pd.DataFrame:
        """The pool's pairs by state and grade: status (str), relevance (Int64, missing without a grade), pairs
        (int64). Pairs that were never asked about have the status "never asked"."""
        from quati_pool.labels.base import NEVER_ASKED

        coverage = self.result.pending.coverage
        rows: list[tuple[str, int | None, int]] = [
            ("ok", grade, count) for grade, count in sorted(coverage.grades.items())
        ]
        rows += [(str(state), None, count) for state, count in coverage.states.items() if count and state != "ok"]
        rows += [(NEVER_ASKED, None, coverage.unasked)] if coverage.unasked else []
        return frame(rows, {"status": "str", "relevance": "Int64", "pairs": "int64"})

    def _views(self) -> Views:
        from quati_pool.reporting.answers.judge import answer
        from quati_pool.reporting.json_data.judge import as_data
        from quati_pool.reporting.tables.judge import tables

        return Views(answer, tables, as_data)


class JudgingPlan(Result):
    """What a run of a judge would ask and cost; the result of ``judge`` with ``dry_run=True``."""

    result: JudgePlan

    def to_frame(self) -> pd.DataFrame:
        """One row with judge (str), pairs, to_ask, calls, input_tokens, output_tokens (int64), cost in US dollars and
        seconds (float64, NaN where unknown)."""
        counts = dict.fromkeys(("pairs", "to_ask", "calls", "input_tokens", "output_tokens"), "int64")
        columns = {"judge": "str", **counts, "cost": "float64", "seconds": "float64"}
        return frame([[getattr(self.result, name) for name in columns]], columns)

    def _views(self) -> Views:
        from quati_pool.reporting.answers.judge import plan_answer
        from quati_pool.reporting.json_data.judge import as_data
        from quati_pool.reporting.tables.judge_plan import table

        return Views(plan_answer, lambda plan: [table(plan)], as_data)


class Plan(Result):
    """What a build would need: time, memory, disk; ``plan``'s result."""

    result: TypedPlan

    def to_frame(self) -> pd.DataFrame:
        """One row per system: the members of ``systems`` in ``to_dict()``."""
        import pandas as pd

        return pd.DataFrame(self.to_dict()["systems"])

    def _views(self) -> Views:
        from quati_pool.reporting.answers.listings import planned
        from quati_pool.reporting.json_data.plan import as_data
        from quati_pool.reporting.tables.plan import tables

        return Views(planned, tables, as_data)


class Coverage(Result):
    """Who graded how much of the pool, in which states, at what cost; ``coverage``'s result."""

    result: LabelsReport

    def __init__(self, result: LabelsReport, missing: bool) -> None:
        super().__init__(result)
        self._missing = missing

    def to_frame(self) -> pd.DataFrame:
        """One row per labeler: labeler, kind (str), pairs of the pool, graded, failed or otherwise pending, never asked
        (int64)."""
        rows = []
        for labeler in self.result.labelers:
            found = self.result.coverages[labeler.name]
            rows.append((labeler.name, labeler.kind, found.pairs, found.grades.total(), found.pending - found.unasked,
                         found.unasked))  # fmt: skip
        counts = dict.fromkeys(("pairs", "graded", "pending", "never_asked"), "int64")
        return frame(rows, {"labeler": "str", "kind": "str", **counts})

    def _views(self) -> Views:
        from quati_pool.reporting.answers.labels import answer
        from quati_pool.reporting.json_data.labels import as_data
        from quati_pool.reporting.tables.labels import tables

        missing = self._missing
        return Views(
            partial(answer, missing=missing), partial(tables, missing=missing), partial(as_data, missing=missing)
        )


class Status(Result):
    """Where a collection stands, what is in doubt, and the next command; ``status``'s result."""

    result: TypedStatus

    more = "The systems: to_frame(). The command's JSON: to_dict()."

    def to_frame(self) -> pd.DataFrame:
        """One row per system: the members of ``systems`` in ``to_dict()``."""
        import pandas as pd

        return pd.DataFrame(self.to_dict()["systems"])

    def _views(self) -> Views:
        from quati_pool.reporting.answers.status import answer
        from quati_pool.reporting.json_data.status import as_data
        from quati_pool.reporting.tables.status import tables

        return Views(answer, tables, as_data)
