"""The plot of how methods of estimation did in a replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from quati_pool.reporting.figures.plots.drawing import ACCENT, QUIET, STYLE, WARM, Drawing
from quati_pool.reporting.figures.plots.names import inches, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# Coverage below this is written at the edge instead, so that .93 and .97 can be told apart.
_LEAST = 0.8
_WIDTH = 7.0


class MethodDots(NamedTuple):
    """A row of the plot. ``coverage`` and ``half_width``: of systems, as lowest, mean and highest; ``differences``: the
    mean half-width of differences."""

    name: str
    coverage: tuple[float, float, float]
    half_width: tuple[float, float, float]
    differences: float


def methods(rows: Sequence[MethodDots], level: float, title: str) -> Drawing:
    """One row per method: on the left the coverage of its intervals, with a line at their ``level``, on the right their
    half-width; dots are means over systems, lines reach from the lowest to the highest system."""
    width = _WIDTH + inches([row.name for row in rows])

    def draw(canvas: Canvas) -> None:
        left, right = canvas.subplots(1, 2, sharey=True)
        places = range(len(rows))
        least = min([_LEAST, *(row.coverage[0] for row in rows if row.coverage[1] >= _LEAST)])
        _draw_coverage(left, rows, least - 0.01)
        left.axvline(level, color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
        left.set_yticks(places, [row.name for row in rows])
        left.set(ylim=(len(rows) - 0.4, -0.6), xlabel="coverage")
        for place, row in enumerate(rows):
            low, mean, high = row.half_width
            right.hlines(place, low, high, color=ACCENT, alpha=0.45, linewidth=2.2)
            right.plot(mean, place, "o", color=ACCENT, markersize=5, label="systems" if not place else None)
            right.plot(
                row.differences, place, "D", markersize=4.5, markerfacecolor="none", markeredgecolor=WARM,
                label="differences" if not place else None,
            )  # fmt: skip
        right.set_xlim(left=0)
        right.set_xlabel("half-width")
        for axes in (left, right):
            axes.grid(axis="x")
            axes.tick_params(axis="y", length=0)
            axes.spines["left"].set_visible(False)
        canvas.suptitle(wrapped(title, width), x=0.02, ha="left", fontsize=10.5)
        canvas.legend(loc="outside lower center", ncols=2)

    return Drawing((width, 0.3 * len(rows) + 1.9), 5 * len(rows), draw, STYLE)


def _draw_coverage(axes: Axes, rows: Sequence[MethodDots], least: float) -> None:
    axes.set_xlim(least, 1.005)
    for place, row in enumerate(rows):
        low, mean, high = row.coverage
        if mean < least:
            axes.text(least, place, f" ← {mean:.2f}", va="center", ha="left", color=WARM, fontsize=8)
            continue
        axes.hlines(place, max(low, least), high, color=ACCENT, alpha=0.45, linewidth=2.2)
        axes.plot(mean, place, "o", color=ACCENT, markersize=5)
