"""Figures that a notebook displays, whether or not matplotlib's pyplot is used in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from quati_pool.reporting.figures.plots import Drawing


def displayed(drawing: Drawing) -> Figure:
    """The drawing as a matplotlib figure with the method by which notebooks display objects.

    matplotlib gives figures that method only if pyplot made them.
    """
    figure = drawing.figure()
    figure._repr_png_ = lambda: drawing.render("png")  # type: ignore[attr-defined]
    return figure
