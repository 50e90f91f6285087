"""Figures as PNG and SVG, the same bytes for the same data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


def heat_map(path: Path, values: npt.NDArray[Any], names: Sequence[str], title: str, scale: str) -> None:
    """A square matrix of shares from 0 to 1 with its numbers; NaN is a dash. The suffix of ``path``
    (.png or .svg) chooses the format."""
    # The figure is drawn without pyplot, which would look for a display and keep global state.
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = max(4.5, 0.55 * len(names) + 2.2)
    with matplotlib.rc_context({"svg.hashsalt": "quati-pool", "svg.fonttype": "none"}):
        figure = Figure(figsize=(size + 1, size), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        image = axes.imshow(np.ma.masked_invalid(values), vmin=0, vmax=1, cmap="Blues")
        # "$" would start mathematics in a system's name.
        labels = [name.replace("$", r"\$") for name in names]
        axes.set_xticks(range(len(names)), labels, rotation=45, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(names)), labels)
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
        figure.colorbar(image, ax=axes, label=scale, shrink=0.8)
        metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
        figure.savefig(path, dpi=150, metadata=metadata)
