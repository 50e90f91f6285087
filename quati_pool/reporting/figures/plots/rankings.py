"""Plots of systems ranked by a measure: with intervals, and under two qrels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from quati_pool.reporting.figures.plots.drawing import ACCENT, QUIET, STYLE, WARM, Drawing, Place, Places, place
from quati_pool.reporting.figures.plots.names import inches, wrapped
from quati_pool.text.display_width import beginning, labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

Numbers = Sequence[float | None] | npt.NDArray[np.float64]
"""None and NaN mean undefined."""

_TALLEST = 100.0
_DECIMALS = 12


def intervals(names: Sequence[str], means: Numbers, lows: Numbers, highs: Numbers, title: str, x_label: str) -> Drawing:
    """A leaderboard: each system's mean as a dot on its interval, the best at the top.

    Systems with equal means stay in the given order. The side of an interval whose end is undefined is not drawn; a
    system with an undefined mean comes last, with a dash. A system's place is its whole row.
    """
    values, low, high = _array(means), _array(lows), _array(highs)
    if not len(names) == len(values) == len(low) == len(high):
        raise ValueError(f"{len(names)} systems need as many means, lows and highs")
    order = np.argsort(np.where(np.isnan(values), np.inf, -values), kind="stable")
    values, low, high = values[order], low[order], high[order]
    shown = labels([names[i] for i in order])
    width = 5.2 + inches(shown)

    def draw(canvas: Canvas) -> Places:
        axes = canvas.add_subplot()
        places = np.arange(len(values))
        ends = np.where(np.isnan(low), values, low), np.where(np.isnan(high), values, high)
        axes.hlines(places, *ends, color=ACCENT, alpha=0.45, linewidth=2.2)
        axes.plot(values, places, "o", color=ACCENT, markersize=5)
        axes.set_yticks(places, shown)
        axes.set(ylim=(len(values) - 0.4, -0.6), xlabel=beginning(x_label, 60))
        axes.set_title(wrapped(title, width))
        axes.grid(axis="x")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        numbers = axes.secondary_yaxis("right")
        numbers.set_yticks(places, ["–" if np.isnan(value) else f"{value:.4f}" for value in values])
        numbers.tick_params(length=0)
        numbers.spines[:].set_visible(False)
        rows = np.argsort(order)
        return lambda: [[place(axes, (0, 1), (row - 0.5, row + 0.5))._replace(x=0, width=1)] for row in rows]

    return Drawing((width, min(_TALLEST, 0.26 * len(values) + 1.3)), 2 * len(values), draw, STYLE)


def rank_change(
    names: Sequence[str], left: Numbers, right: Numbers, left_name: str, right_name: str, title: str
) -> Drawing:
    """Each system's ranks under two qrels, joined by a line: blue if it rises from left to right, dashed
    orange if it falls, grey if it keeps its rank.

    Args:
        left, right: the systems' means under each qrels; higher is better. Means that are equal to twelve decimals
            (beyond that, they differ by the order of summation) share a rank and stay in the given order. A system
            whose mean under either is undefined is left out of both, and counted in a note.

    A system's places are the two ends of its line, with its name and mean.
    """
    first, second = _array(left), _array(right)
    if not len(names) == len(first) == len(second):
        raise ValueError(f"{len(names)} systems need as many means under each qrels")
    kept = np.flatnonzero(~np.isnan(first) & ~np.isnan(second)).tolist()
    left_out = len(names) - len(kept)
    means = [np.round(values[kept], _DECIMALS) for values in (first, second)]
    ranks = [_ranks(values) for values in means]
    shown = labels([names[i] for i in kept], width=22)
    width = 2.6 + 2 * (inches(shown) + 0.8)
    height = min(_TALLEST, 0.26 * len(kept) + 1.9)

    def draw(canvas: Canvas) -> Places:
        from matplotlib.lines import Line2D

        axes = canvas.add_subplot()
        orders = [np.argsort(-values, kind="stable") for values in means]
        places = [np.argsort(order, kind="stable") for order in orders]
        looks: dict[str, dict[str, Any]] = {
            "rises": {"color": ACCENT, "linewidth": 1.6},
            "falls": {"color": WARM, "linewidth": 1.6, "linestyle": (0, (5, 2))},
            "keeps its rank": {"color": QUIET, "linewidth": 1.1, "alpha": 0.7},
        }
        for i in range(len(kept)):
            change = ranks[1][i] - ranks[0][i]
            look = looks["rises" if change < 0 else "falls" if change > 0 else "keeps its rank"]
            axes.plot([0, 1], [places[0][i], places[1][i]], marker="o", markersize=4, **look)
        axes.set(xlim=(-0.03, 1.03), ylim=(len(kept) - 0.4, -0.6))
        ends = labels([left_name, right_name])
        axes.set_xticks([0, 1], ends, fontweight="bold")
        axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
        other = axes.secondary_yaxis("right")
        for side, axis in enumerate((axes, other)):
            texts = [(f"{means[side][i]:.4f}", shown[i], f"{ranks[side][i]}.") for i in orders[side]]
            outward = 1 if side == 0 else -1
            axis.set_yticks(range(len(kept)), ["\N{EN SPACE}".join(text[::outward]) for text in texts])
            axis.tick_params(length=0)
            axis.spines[:].set_visible(False)
        canvas.suptitle(wrapped(title, width), x=0.02, ha="left", fontsize=10.5)
        note = f"{left_out:,} of {len(names):,} systems left out: a mean is undefined" if left_out else None
        handles = [Line2D([], [], label=name, **look) for name, look in looks.items()]
        canvas.legend(handles=handles, loc="outside lower center", ncols=3, title=note, title_fontsize=8)
        return lambda: _ends(axes, len(names), kept, places)

    return Drawing((width, height), 2 * len(kept), draw, STYLE)


def _ends(axes: Axes, systems: int, kept: Sequence[int], places: Sequence[npt.NDArray[np.intp]]) -> list[list[Place]]:
    """The two ends of each system's line, out to the edges of the figure; nothing for a system that is left out."""
    found: list[list[Place]] = [[] for _ in range(systems)]
    for i, system in enumerate(kept):
        rows = [(float(at[i]) - 0.5, float(at[i]) + 0.5) for at in places]
        left, right = place(axes, (0, 0.04), rows[0]), place(axes, (0.96, 1), rows[1])
        found[system] = [left._replace(x=0, width=left.x + left.width), right._replace(width=1 - right.x)]
    return found


def _array(values: Numbers) -> npt.NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _ranks(values: npt.NDArray[np.float64]) -> list[int]:
    """The ranks of ``values``, 1 for the highest; equal values share the better rank."""
    return [1 + int((values > value).sum()) for value in values]
