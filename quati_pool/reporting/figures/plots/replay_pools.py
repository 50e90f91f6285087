"""The plot of how pooling methods did in a replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from quati_pool.reporting.figures.plots.drawing import QUIET, STYLE, Drawing
from quati_pool.reporting.figures.plots.lines import COLORS
from quati_pool.reporting.figures.plots.names import inches, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_WIDTH = 3.1
_HEIGHT = 2.9


class MethodLine(NamedTuple):
    """A method's values, one for each share; None where undefined. ``moving``: whether its budget moves."""

    name: str
    moving: bool
    values: Sequence[float | None]


class Panel(NamedTuple):
    """One value over the share of the pool; ``level`` is a value to compare with, if there is one, ``from_zero`` starts
    the axis at 0."""

    name: str
    lines: Sequence[MethodLine]
    level: float | None = None
    from_zero: bool = False


def method_lines(rows: Sequence[tuple[str, Sequence[Panel]]], shares: Sequence[float], title: str) -> Drawing:
    """Rows of panels with their names, one line per method in a colour of its own, dashed where its budget moves."""
    panels = [panel for _, of_row in rows for panel in of_row]
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    colors = {name: COLORS[place % len(COLORS)] for place, name in enumerate(names)}
    most = max(len(of_row) for _, of_row in rows)
    width = _WIDTH * most + inches(names) + 1.0

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots(len(rows), most, squeeze=False, sharex=True, sharey="col")
        for of_row, (name, found) in zip(axes, rows, strict=True):
            for one, panel in zip(of_row, found, strict=True):
                _draw(one, panel, shares, colors)
                one.set_title(f"{panel.name}, {name}" if name else panel.name, fontsize=9.5)
        for one in axes[-1]:
            one.set_xlabel("share of the pool, %")
            one.set_xticks([100 * share for share in shares], [f"{100 * share:g}" for share in shares])
        canvas.suptitle(wrapped(title, width), x=0.02, ha="left", fontsize=10.5)
        canvas.legend(handles=_keys(colors, panels), loc="outside right upper")

    marks = len(shares) * sum(len(panel.lines) for panel in panels)
    return Drawing((width, _HEIGHT * len(rows) + 0.7), marks, draw, STYLE)


def _draw(axes: Axes, panel: Panel, shares: Sequence[float], colors: dict[str, str]) -> None:
    for line in panel.lines:
        axes.plot(
            [100 * share for share in shares],
            [float("nan") if value is None else value for value in line.values],
            color=colors[line.name],
            linestyle=(0, (4, 2)) if line.moving else "-",
            marker="D" if line.moving else "o",
            markerfacecolor="white" if line.moving else colors[line.name],
            linewidth=1.5,
            markersize=3.5,
        )
    if panel.level is not None:
        axes.axhline(panel.level, color=QUIET, linewidth=0.9, linestyle=":", zorder=0)
    if panel.from_zero:
        axes.set_ylim(bottom=0)
    axes.grid(axis="y")


def _keys(colors: dict[str, str], panels: Sequence[Panel]) -> list[object]:
    from matplotlib.lines import Line2D

    keys: list[object] = [Line2D([], [], color=color, linewidth=1.7, label=name) for name, color in colors.items()]
    keys.append(Line2D([], [], color=QUIET, marker="o", markersize=3.5, label="budget per query"))
    if any(line.moving for panel in panels for line in panel.lines):
        keys.append(
            Line2D(
                [], [], color=QUIET, marker="D", markersize=3.5, markerfacecolor="white", linestyle=(0, (4, 2)),
                label="moving budget",
            )
        )  # fmt: skip
    if any(panel.level is not None for panel in panels):
        keys.append(Line2D([], [], color=QUIET, linewidth=0.9, linestyle=":", label="judge alone"))
    return keys
