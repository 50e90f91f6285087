"""Funnel plots: what is left after each step of a process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from quati_pool.reporting.figures.plots.drawing import ACCENT, STYLE, WARM, Drawing
from quati_pool.reporting.figures.plots.names import inches, wrapped
from quati_pool.text.display_width import beginning, labels

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_TALLEST = 100.0


def funnel(
    names: Sequence[str],
    left: Sequence[float],
    dropped: Sequence[float],
    shown: Sequence[str],
    title: str,
    x_label: str,
) -> Drawing:
    """One bar per step, the first at the top: what is left after the step in blue, followed by what it dropped in
    orange; the text in ``shown`` is written to the right."""
    if not len(names) == len(left) == len(dropped) == len(shown):
        raise ValueError(f"{len(names)} steps need as many numbers left and dropped, and texts")
    ticks = labels(names)
    width = 5.6 + inches(ticks) + inches(labels(shown))

    def draw(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        places = np.arange(len(names))
        axes.barh(places, left, height=0.62, color=ACCENT, label="left")
        axes.barh(places, dropped, left=left, height=0.62, color=WARM, alpha=0.55, label="dropped")
        axes.set_yticks(places, ticks)
        axes.set(ylim=(len(names) - 0.4, -0.6), xlabel=beginning(x_label, 60))
        axes.set_xlim(left=0)
        axes.set_title(wrapped(title, width))
        axes.grid(axis="x")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        numbers = axes.secondary_yaxis("right")
        numbers.set_yticks(places, labels(shown))
        numbers.tick_params(length=0)
        numbers.spines[:].set_visible(False)
        canvas.legend(loc="outside lower center", ncols=2)

    return Drawing((width, min(_TALLEST, 0.3 * len(names) + 1.5)), 2 * len(names), draw, STYLE)
