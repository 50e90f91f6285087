"""Scatter plots of two values per query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from quati_pool.reporting.figures.plots.drawing import ACCENT, INK, QUIET, STYLE, WARM, Drawing, Place, Places, place
from quati_pool.reporting.figures.plots.names import wrapped
from quati_pool.text.display_width import beginning, columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_NAMED = 3
_LONGEST = 20
# As fractions of an axis: the distance from the diagonal that counts as far, the width and height of a letter, and how
# far the place of a point reaches around it.
_FAR = 0.1
_COLUMN = 0.0135
_LINE = 0.02
_REACH = 0.018


def scatter(
    x: npt.NDArray[np.floating[Any]],
    y: npt.NDArray[np.floating[Any]],
    names: Sequence[str],
    x_label: str,
    y_label: str,
    title: str,
) -> Drawing:
    """One point per query, the diagonal on which both values are equal, and a cross at mean ± population standard
    deviation, as in Figure 2 of the Quati paper (arXiv 2404.06976).

    Args:
        x, y: the values, shape (queries,). A query with NaN as either value is left out; a note gives the number
            of such queries.
        names: the names of the queries, preferably short, such as ids; shown for up to three points that are far from
            the diagonal and have room next to them.
    """
    if not len(x) == len(y) == len(names):
        raise ValueError(f"{len(x)} x values, {len(y)} y values and {len(names)} names; each point needs one of each")
    kept = np.flatnonzero(np.isfinite(x) & np.isfinite(y)).tolist()
    left_out = len(x) - len(kept)
    points = np.stack([x[kept], y[kept]]).astype(float)

    def draw(canvas: Canvas) -> Places:
        axes = canvas.add_subplot()
        low, high = _bounds(points)
        axes.plot([low, high], [low, high], color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        dots: dict[str, Any] = {"color": ACCENT, "alpha": 0.6, "linewidths": 0, "zorder": 2}
        axes.scatter(points[0], points[1], s=22, label=f"{len(kept):,} queries", **dots)
        if kept:
            mean, std = points.mean(axis=1), points.std(axis=1)
            label = f"mean ± std. dev.: {_spread(mean[0], std[0])} across, {_spread(mean[1], std[1])} up"
            cross: dict[str, Any] = {"color": WARM, "markersize": 5, "elinewidth": 1.5, "capsize": 3, "zorder": 3}
            axes.errorbar(mean[0], mean[1], xerr=std[0], yerr=std[1], fmt="D", label=label, **cross)
            _name_farthest(axes, points, [names[i] for i in kept], high - low)
        axes.set(xlim=(low, high), ylim=(low, high), aspect="equal")
        axes.set(xlabel=beginning(x_label, 56), ylabel=beginning(y_label, 56))
        axes.set_title(wrapped(title, 5.2))
        axes.grid()
        note = f"{left_out:,} of {len(x):,} queries left out: a value is undefined" if left_out else None
        below: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0, -0.11), "borderaxespad": 0}
        axes.legend(**below, title=note, title_fontsize=8, alignment="left")
        return lambda: _places(axes, x, y)

    return Drawing((5.4, 6.2), len(kept), draw, STYLE)


def _bounds(points: npt.NDArray[np.float64]) -> tuple[float, float]:
    """The common range of both axes: from 0 to 1 or, if values are outside, wider, plus a margin."""
    low, high = min(0.0, points.min(initial=0.0)), max(1.0, points.max(initial=0.0))
    margin = 0.03 * (high - low)
    return low - margin, high + margin


def _places(axes: Axes, x: npt.NDArray[np.floating[Any]], y: npt.NDArray[np.floating[Any]]) -> list[list[Place]]:
    """A square around each point; nothing for a query that is left out."""
    low, high = axes.get_xlim()
    reach = _REACH * (high - low)
    return [
        [place(axes, (across - reach, across + reach), (up - reach, up + reach))] if np.isfinite(across + up) else []
        for across, up in zip(x.tolist(), y.tolist(), strict=True)
    ]


def _spread(mean: float, std: float) -> str:
    return f"{mean:.3f} ± {std:.3f}"


def _name_farthest(axes: Axes, points: npt.NDArray[np.float64], names: Sequence[str], span: float) -> None:
    """Names the points farthest from the diagonal whose name covers neither another point nor the cross."""
    away = np.abs(points[0] - points[1])
    low, high = _bounds(points)
    mean, std = points.mean(axis=1), points.std(axis=1)
    # The cross as a row of points along each arm.
    arms = np.linspace(mean - std, mean + std, 50)
    taken = np.hstack([points, [arms[:, 0], np.full(50, mean[1])], [np.full(50, mean[0]), arms[:, 1]]])
    named = 0
    for i in np.argsort(-away, kind="stable").tolist():
        if named == _NAMED or away[i] < _FAR * span:
            return
        across, up = points[:, i]
        name = beginning(names[i], _LONGEST)
        width = (columns(name) + 2) * _COLUMN * span
        level = np.abs(taken[1] - up) < _LINE * span
        for left in (False, True):
            start, end = (across - width, across) if left else (across, across + width)
            inside = level & (taken[0] > start) & (taken[0] < end)
            if start < low or end > high or inside.any():
                continue
            axes.annotate(
                name,
                (across, up),
                xytext=(-6 if left else 6, 0),
                textcoords="offset points",
                ha="right" if left else "left",
                va="center",
                fontsize=7,
                color=INK,
            )
            # No later name may cover this one.
            row = np.linspace(start, end, 50)
            taken = np.hstack([taken, [row, np.full(50, up)]])
            named += 1
            break
