"""Figures that are drawn only when they are rendered or embedded."""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from quati_pool.reporting.figures.plots.fonts import use_fonts
from quati_pool.reporting.formats.document import Figure, Format, Region

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

MOST_SVG_MARKS = 2000
"""A figure with more marks than this is embedded as PNG: browsers draw large SVGs slowly."""

INK, QUIET, RULE, ACCENT, WARM = "#22242a", "#6d7079", "#dcd9d2", "#234f86", "#b5541f"

# Names are shown literally: "$" does not start mathematics, and SVG text stays text.
_SETTINGS: dict[str, Any] = {"svg.hashsalt": "quati-pool", "svg.fonttype": "none", "text.parse_math": False}
STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.7,
    "text.color": INK,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.constrained_layout.h_pad": 0.08,
    "figure.constrained_layout.w_pad": 0.06,
}


# matplotlib's settings and Python's filters of warnings belong to the whole process.
_DRAWING = threading.RLock()

FORMATS: tuple[Format, ...] = ("svg", "png")
_DPI = 150


def embedding_format(marks: int) -> Format:
    """The format in which to embed a figure: PNG above ``MOST_SVG_MARKS`` marks, otherwise SVG."""
    return "png" if marks > MOST_SVG_MARKS else "svg"


class Place(NamedTuple):
    """A rectangle in fractions of a figure's width and height, from its upper left corner."""

    x: float
    y: float
    width: float
    height: float


class Link(NamedTuple):
    """Where a mark leads, and what is there."""

    href: str
    title: str


Places: TypeAlias = Callable[[], Sequence[Sequence[Place]]]
"""Finds the places of each thing that was drawn, such as a system, in the order in which the things were given; to be
called when the figure has its final layout. A thing that is not shown has no place."""


@dataclass(frozen=True)
class Drawing:
    """A figure that has not been drawn yet.

    ``size`` is in inches; ``marks`` is the number of dots, cells and points of lines; ``draw`` draws on an empty
    matplotlib figure with ``style`` as settings, and returns where its marks are if they can be linked. If
    ``constrained``, matplotlib makes room for all texts, which takes a third of the time; otherwise ``draw`` must place
    its axes itself.
    """

    size: tuple[float, float]
    marks: int
    draw: Callable[[Canvas], Places | None]
    style: dict[str, Any]
    constrained: bool = True

    @property
    def format(self) -> Format:
        """The format in which to embed the figure."""
        return embedding_format(self.marks)

    def render(self, format: Format) -> bytes:  # noqa: A002  # the field's word
        """The figure's bytes, always the same on one machine, regardless of the user's matplotlibrc.

        A character that no installed font has is drawn as a box in PNG; SVG keeps it, for the
        viewer's fonts. PNG has 150 dots per inch.
        """
        with self._drawn() as (canvas, _):
            return _saved(canvas, format)

    def render_all(self) -> dict[Format, bytes]:
        """The bytes of ``render`` in every format, drawn and laid out once."""
        with self._drawn() as (canvas, _):
            return {kind: _saved(canvas, kind) for kind in FORMATS}

    def figure(self) -> Canvas:
        """The figure as a matplotlib figure, to be changed or saved further."""
        with self._drawn() as (canvas, _):
            return canvas

    @contextmanager
    def _drawn(self) -> Iterator[tuple[Canvas, Places | None]]:
        # Drawn without pyplot, which would look for a display and keep global state.
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas

        with _DRAWING, matplotlib.rc_context(), warnings.catch_warnings():
            matplotlib.rcdefaults()
            for name, value in (_SETTINGS | self.style).items():
                matplotlib.rcParams[name] = value  # type: ignore[index]
            warnings.filterwarnings("ignore", "Glyph .* missing from font")
            canvas = Canvas(figsize=self.size, dpi=_DPI, layout="constrained" if self.constrained else None)
            FigureCanvasAgg(canvas)
            places = self.draw(canvas)
            use_fonts(canvas)
            if self.constrained:
                # The layout is fixed here; otherwise each format would be laid out again, starting from the previous
                # format's layout.
                canvas.draw_without_rendering()
                canvas.set_layout_engine("none")
            yield canvas, places

    def embed(self, caption: str, alt: str, stem: str, links: Sequence[Link] = ()) -> Figure:
        """The figure as a block of a document, in its ``format``; its file is ``<stem>.<format>``.

        ``links``, if there are any, has one for each thing that was drawn, in the order in which they were given.
        """
        with self._drawn() as (canvas, places):
            content = _saved(canvas, self.format)
            found = places() if links and places else ()
        if len(found) != len(links):
            raise ValueError(f"{len(found)} things were drawn, but there are {len(links)} links")
        regions = [Region(*place, *link) for link, where in zip(links, found, strict=True) for place in where]
        return Figure(content, self.format, caption, alt, f"{stem}.{self.format}", regions)


def place(axes: Axes, x: tuple[float, float], y: tuple[float, float]) -> Place:
    """The rectangle between two values of each axis."""
    canvas = axes.get_figure(root=True)
    assert canvas is not None
    corners = axes.transData.transform(np.column_stack([x, y]))
    (left, right), (low, high) = np.sort(canvas.transFigure.inverted().transform(corners), axis=0).T.tolist()
    return Place(left, 1 - high, right - left, high - low)


def _saved(canvas: Canvas, format: Format) -> bytes:  # noqa: A002
    out = io.BytesIO()
    canvas.savefig(out, format=format, dpi=_DPI, metadata={"Date": None} if format == "svg" else {"Software": None})
    return out.getvalue()
