"""Line plots over a common axis, such as the growth of pools with their depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from quati_pool.reporting.figures.plots.drawing import STYLE, Drawing
from quati_pool.reporting.figures.plots.names import inches, wrapped
from quati_pool.text.display_width import beginning, labels

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Numbers: TypeAlias = Sequence[float] | Sequence[float | None] | npt.NDArray[Any]
Series: TypeAlias = Mapping[str, tuple[Numbers, Numbers]]

# Colour-blind readers can distinguish these (the Okabe–Ito colours, darkened for a white background); strokes help too.
COLORS = ("#234f86", "#b5541f", "#2f7d5b", "#8a4f7d", "#9a7a12", "#4a4d55")
_STROKES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
_FEW_POINTS = 25


def lines(series: Series, x_label: str, y_label: str, title: str, *, log: bool = False) -> Drawing:
    """One line per series; ``series`` maps names to x values and y values.

    An undefined y (None, NaN) leaves a gap. The y axis starts at 0 unless a value is negative. With ``log``, the x axis
    is logarithmic (all x must be above 0), for lines that diverge early and converge late.
    """
    points = {name: (np.array(x, float), np.array(y, float)) for name, (x, y) in series.items()}
    for name, (x, y) in points.items():
        if len(x) != len(y):
            raise ValueError(f"the series {name} has {len(x)} x values and {len(y)} y values; give it as many of each")
    shown = labels(list(points))
    many = len(points) > 1
    width = 5.8 + (inches(shown) + 0.5 if many else 0)

    def draw(canvas: Canvas) -> None:
        from matplotlib.ticker import LogLocator, NullFormatter

        axes = canvas.add_subplot()
        for i, (x, y) in enumerate(points.values()):
            axes.plot(
                x,
                y,
                label=shown[i],
                color=COLORS[i % len(COLORS)],
                linestyle=_STROKES[i // len(COLORS) % len(_STROKES)],
                linewidth=1.7,
                marker="o" if len(x) <= _FEW_POINTS else "",
                markersize=3.5,
            )
        defined = np.concatenate([y for _, y in points.values()]) if points else np.zeros(0)
        if not (defined < 0).any():
            axes.set_ylim(bottom=0)
        axes.set(xlabel=beginning(x_label, 60), ylabel=beginning(y_label, 48))
        axes.set_title(wrapped(title, 5.8))
        axes.grid(axis="y")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
        if log:
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
        if many:
            # The legend lists the lines in the order of their right ends, from top to bottom.
            handles = sorted(axes.get_lines(), key=lambda line: -_last(np.asarray(line.get_ydata())))
            canvas.legend(handles=handles, loc="outside right upper")

    return Drawing((width, 3.8), sum(len(x) for x, _ in points.values()), draw, STYLE)


def _last(y: npt.NDArray[np.float64]) -> float:
    """The last defined value; -inf if there is none."""
    defined = y[~np.isnan(y)]
    return float(defined[-1]) if len(defined) else -np.inf
