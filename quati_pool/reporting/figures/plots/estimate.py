"""The plot of estimates under people's grades, next to what people and a judge alone give."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from quati_pool.reporting.figures.plots.drawing import ACCENT, QUIET, WARM, Drawing, Places
from quati_pool.reporting.figures.plots.rankings import Numbers, intervals

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

# Where people's own figures are, below the estimate in the row of a system that is 1 high.
_BELOW = 0.24
_LEGEND = 0.35


def estimates(
    names: list[str],
    means: Numbers,
    ends: tuple[Numbers, Numbers],
    people: tuple[Numbers, Numbers, Numbers],
    judge: Numbers,
    title: str,
    x_label: str,
) -> Drawing:
    """A leaderboard by ``intervals``, with people's grades alone as a lighter dot and interval below each estimate, and
    the judge alone as a hollow dot without one.

    Args:
        names, means, ends: the systems, the best first, with their estimates and the lows and highs of these.
        people: means, lows and highs from people's grades alone; None and NaN are not drawn.
        judge: means under the judge's grades alone.
    """
    ranked = intervals(names, means, *ends, title, x_label)

    def draw(canvas: Canvas) -> Places | None:
        from matplotlib.lines import Line2D

        places = ranked.draw(canvas)
        axes = canvas.axes[0]
        rows = np.arange(len(names))
        mean, low, high = (np.array(values, np.float64) for values in people)
        axes.hlines(rows + _BELOW, low, high, color=QUIET, alpha=0.35, linewidth=1.4)
        axes.plot(mean, rows + _BELOW, "o", color=QUIET, alpha=0.6, markersize=3)
        axes.plot(np.array(judge, np.float64), rows, "o", markersize=5, markerfacecolor="none", markeredgecolor=WARM)
        canvas.legend(
            handles=[
                Line2D([], [], color=ACCENT, marker="o", markersize=5, linewidth=2.2, label="estimate"),
                Line2D([], [], color=QUIET, marker="o", markersize=3, linewidth=1.4, alpha=0.6, label="people only"),
                Line2D([], [], color=WARM, marker="o", markerfacecolor="none", linestyle="", label="judge alone"),
            ],
            loc="outside lower center",
            ncols=3,
        )
        return places

    width, height = ranked.size
    return replace(ranked, size=(width, height + _LEGEND), marks=5 * len(names), draw=draw)
