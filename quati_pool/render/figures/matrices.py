"""Square matrices in colour, with their numbers: overlap of systems, confusion of two labelers."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from quati_pool.render.figures.drawing import QUIET, STYLE, Drawing
from quati_pool.render.figures.names import columns, labels, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


def heat_map(values: npt.NDArray[Any], names: Sequence[str], title: str, scale: str) -> Drawing:
    """A square matrix of shares from 0 to 1 with its numbers; NaN is a dash."""
    size = max(4.5, 0.55 * len(names) + 2.2)

    def draw(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        image = axes.imshow(np.ma.masked_invalid(values), vmin=0, vmax=1, cmap="Blues")
        shown = labels(names)
        axes.set_xticks(range(len(names)), shown, rotation=45, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(names)), shown)
        axes.set_title(title)
        for row, column in np.ndindex(values.shape):
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

    return Drawing((size + 1, size), values.size, draw, {})


def confusion_matrix(
    counts: npt.NDArray[np.integer[Any]], row_name: str, column_name: str, grades: Sequence[str | int], title: str
) -> Drawing:
    """How often one labeler's grade (rows) met another's (columns), with totals.

    Args:
        counts: of pairs, shape (grades, grades).
        grades: the names of the grades, in the order of rows and columns.

    The colour is the count's share of its row; a row without pairs stays white.
    """
    if counts.shape != (len(grades), len(grades)):
        raise ValueError(f"{len(grades)} grades need a square of as many counts, not {counts.shape}")
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.full(counts.shape, np.nan), where=totals > 0)
    last = len(grades)
    side = max(0.62, 0.09 * len(f"{counts.sum():,}") + 0.2)
    size = max(3.4, side * (last + 1) + 1.0)

    def draw(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        image = axes.imshow(np.ma.masked_invalid(shares), vmin=0, vmax=1, cmap="Blues")
        # Half a tick apart, the totals are seen to be no part of the matrix.
        apart = last + 0.1
        axes.set(xlim=(-0.5, apart + 0.5), ylim=(apart + 0.5, -0.5))
        places = [*range(last), apart]
        axes.set_xticks(places, [*(_folded(str(grade)) for grade in grades), "Total"])
        axes.set_yticks(places, [*(_folded(str(grade)) for grade in grades), "Total"])
        axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
        axes.xaxis.set_label_position("top")
        across, down = labels([column_name, row_name])
        # Over the middle of the matrix, not of the matrix and its totals.
        middle = last / 2 / (apart + 1)
        axes.set_xlabel(across, x=middle, fontweight="bold", labelpad=8)
        axes.set_ylabel(down, y=1 - middle, fontweight="bold", labelpad=8)
        canvas.suptitle(wrapped(title, size + 1), x=0.02, ha="left", fontsize=10.5)
        axes.spines[:].set_visible(False)
        for row, column in np.ndindex(counts.shape):
            dark = shares[row, column] > 0.55
            _number(axes, column, row, counts[row, column], "white" if dark else "black")
        for position in range(last):
            _number(axes, apart, position, totals[position, 0], QUIET)
            _number(axes, position, apart, counts[:, position].sum(), QUIET)
        _number(axes, apart, apart, counts.sum(), QUIET)
        bar = canvas.colorbar(image, ax=axes, label="share of the row", shrink=0.7)
        bar.outline.set_visible(False)

    return Drawing((size + 1, size), counts.size, draw, STYLE)


def _folded(grade: str) -> str:
    (label,) = labels([grade])
    return "\n".join(textwrap.wrap(label, 10)) if columns(label) > 4 else label


def _number(axes: Axes, x: float, y: float, value: Any, color: str) -> None:
    axes.text(x, y, f"{value:,}", ha="center", va="center", fontsize=9, color=color)
