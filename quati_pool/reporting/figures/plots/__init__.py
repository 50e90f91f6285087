"""Figures as PNG and SVG, with the same bytes for the same data.

Each function returns a ``Drawing``, which can be rendered or embedded.
"""

from quati_pool.reporting.figures.plots.drawing import MOST_SVG_MARKS, Drawing, Link, Place, embedding_format
from quati_pool.reporting.figures.plots.estimate import estimates
from quati_pool.reporting.figures.plots.funnel import funnel
from quati_pool.reporting.figures.plots.lines import lines
from quati_pool.reporting.figures.plots.matrices import MOST_NUMBERED, confusion_matrix, heat_map
from quati_pool.reporting.figures.plots.rankings import intervals, rank_change
from quati_pool.reporting.figures.plots.scatter import scatter

__all__ = [
    "MOST_NUMBERED",
    "MOST_SVG_MARKS",
    "Drawing",
    "Link",
    "Place",
    "confusion_matrix",
    "embedding_format",
    "estimates",
    "funnel",
    "heat_map",
    "intervals",
    "lines",
    "rank_change",
    "scatter",
]
