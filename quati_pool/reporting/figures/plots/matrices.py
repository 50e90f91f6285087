"""Square matrices as coloured cells with numbers: overlap of systems, confusion of two labelers."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.reporting.figures.plots.drawing import QUIET, STYLE, Drawing, Places, place
from quati_pool.reporting.figures.plots.names import inches, wrapped
from quati_pool.text.display_width import columns, labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


MOST_NUMBERED = 40
"""A larger heat map has colours alone, in cells that shrink so that it does not grow."""
_CELL, _LETTERS = 0.55, 10  # inches, points


def heat_map(values: npt.NDArray[Any], names: Sequence[str], title: str, scale: str) -> Drawing:
    """A square matrix of shares from 0 to 1 with its numbers; NaN is shown as a dash. The places are the cells, row by
    row. More than ``MOST_NUMBERED`` names have small letters, to be read in the enlarged SVG, and no numbers."""
    side = _CELL * min(len(names), MOST_NUMBERED)
    size = max(4.5, side + 2.2)
    letters = min(_LETTERS, 0.9 * 72 * side / max(len(names), 1))

    def draw(canvas: Canvas) -> Places:
        axes = canvas.add_subplot()
        image = axes.imshow(np.ma.masked_invalid(values), vmin=0, vmax=1, cmap="Blues")
        shown = labels(names)
        axes.set_xticks(range(len(names)), shown, rotation=45, ha="right", rotation_mode="anchor", fontsize=letters)
        axes.set_yticks(range(len(names)), shown, fontsize=letters)
        axes.set_title(title)
        for row, column in np.ndindex(values.shape) if len(names) <= MOST_NUMBERED else ():
            value = values[row, column]
            axes.text(
                column,
                row,
                f"{value:.2f}" if np.isfinite(value) else "–",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if np.isfinite(value) and value > 0.6 else "black",
            )
        canvas.colorbar(image, ax=axes, label=scale, shrink=0.8)
        return lambda: [
            [place(axes, (column - 0.5, column + 0.5), (row - 0.5, row + 0.5))]
            for row, column in np.ndindex(values.shape)
        ]

    return Drawing((size + 1, size), values.size, draw, {})


def confusion_matrix(
    counts: npt.NDArray[np.integer[Any]], row_name: str, column_name: str, grades: Sequence[str | int], title: str
) -> Drawing:
    """How often one labeler gave each grade (rows) where another gave each grade (columns), with totals.

    Args:
        counts: numbers of pairs, shape (grades, grades).
        grades: the names of the grades, in the order of rows and columns.

    The colour shows the count's share of its row; a row without pairs stays white.
    """
    if counts.shape != (len(grades), len(grades)):
        raise ValueError(f"{len(grades)} grades need a square of as many counts, not {counts.shape}")
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.full(counts.shape, np.nan), where=totals > 0)
    last = len(grades)
    # A small gap shows that the totals are not part of the matrix.
    apart = last + 0.1
    side = max(0.62, 0.09 * len(f"{counts.sum():,}") + 0.2)
    shown = [*(_folded(str(grade)) for grade in grades), "Total"]
    across, down = labels([column_name, row_name])
    room = _room(side * (apart + 1), side * last / 2, shown, across, down)
    heading = wrapped(title, room.width)
    height = room.height + 0.2 * (heading.count("\n") + 1) + 0.15

    def draw(canvas: Canvas) -> None:
        axes = canvas.add_axes(
            (room.left / room.width, room.bottom / height, room.side / room.width, room.side / height)
        )
        image = axes.imshow(np.ma.masked_invalid(shares), vmin=0, vmax=1, cmap="Blues")
        axes.set(xlim=(-0.5, apart + 0.5), ylim=(apart + 0.5, -0.5))
        places = [*range(last), apart]
        axes.set_xticks(places, shown)
        axes.set_yticks(places, shown)
        axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
        axes.xaxis.set_label_position("top")
        # Centred on the matrix without its totals.
        middle = last / 2 / (apart + 1)
        axes.set_xlabel(across, x=middle, fontweight="bold", labelpad=8)
        axes.set_ylabel(down, y=1 - middle, fontweight="bold", labelpad=8)
        canvas.suptitle(heading, x=0.12 / room.width, y=1 - 0.12 / height, ha="left", va="top", fontsize=10.5)
        axes.spines[:].set_visible(False)
        for row, column in np.ndindex(counts.shape):
            dark = shares[row, column] > 0.55
            _number(axes, column, row, counts[row, column], "white" if dark else "black")
        for position in range(last):
            _number(axes, apart, position, totals[position, 0], QUIET)
            _number(axes, position, apart, counts[:, position].sum(), QUIET)
        _number(axes, apart, apart, counts.sum(), QUIET)
        start, end = (room.left + room.side + 0.25) / room.width, (room.bottom + 0.15 * room.side) / height
        bar_axes = canvas.add_axes((start, end, 0.15 / room.width, 0.7 * room.side / height))
        bar = canvas.colorbar(image, cax=bar_axes, label="share of the row")
        bar.outline.set_visible(False)

    return Drawing((room.width, height), counts.size, draw, STYLE, constrained=False)


class _Room(NamedTuple):
    """The layout of a figure without its title, in inches: a matrix of ``side``, and the room around it."""

    left: float
    bottom: float
    side: float
    width: float
    height: float


def _room(side: float, middle: float, ticks: Sequence[str], across: str, down: str) -> _Room:
    """The room that the labels need; ``middle`` is where the names of rows and columns are centred, in inches from
    the upper left corner of the matrix."""
    lines = [line for tick in ticks for line in tick.split("\n")]
    high = max(tick.count("\n") + 1 for tick in ticks)
    # Bold letters are wider.
    half_across, half_down = 0.6 * inches([across]), 0.6 * inches([down])
    left = max(inches(lines) + 0.45, half_across - middle + 0.1)
    above = max(0.16 * high + 0.4, half_down - middle + 0.1)
    below = max(0.15, half_down - (side - middle) + 0.1)
    right = max(1.05, half_across - (side - middle) + 0.1)
    return _Room(left, below, side, left + side + right, below + side + above)


def _folded(grade: str) -> str:
    (label,) = labels([grade])
    return "\n".join(textwrap.wrap(label, 10)) if columns(label) > 4 else label


def _number(axes: Axes, x: float, y: float, value: Any, color: str) -> None:
    axes.text(x, y, f"{value:,}", ha="center", va="center", fontsize=9, color=color)
