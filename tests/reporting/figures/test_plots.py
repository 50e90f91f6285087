"""Figures hold the numbers and names they are given, in the same bytes every time."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import matplotlib.figure
import numpy as np
import pytest
from matplotlib.axes import Axes

from quati_pool.reporting.figures.plots import (
    MOST_SVG_MARKS,
    Drawing,
    Link,
    confusion_matrix,
    embedding_format,
    funnel,
    heat_map,
    intervals,
    lines,
    rank_change,
    scatter,
)
from quati_pool.reporting.formats.document import Format, Region

pytestmark = pytest.mark.slow

VALUES = np.array([[1.0, 0.25, np.nan], [0.125, 1.0, 0.6], [0.0, 0.875, 1.0]])
NAMES = ["bm25", "x_y$z$", "rrf<&>"]


SVG = "{http://www.w3.org/2000/svg}"

# Mathematics, markup, scripts that matplotlib's font lacks, and what no XML can hold.
HOSTILE = ["$x$", r"\$a_b$ \frac{", "<script>&", "日本語 🦜", "नमस्ते", "العربية", "\x00\ud800", "two\nlines", ""]


def texts(path: Path) -> list[str]:
    """All text of an SVG, in order."""
    return [element.text or "" for element in ET.parse(path).iter(f"{SVG}text")]


def shown(drawing: Drawing) -> list[str]:
    """All text of the drawing's SVG, in order."""
    return [element.text or "" for element in ET.fromstring(drawing.render("svg")).iter(f"{SVG}text")]


def drawings(names: list[str], title: str) -> dict[str, Drawing]:
    """Each figure, of as many values as there are names."""
    values = np.linspace(0.1, 0.9, len(names))
    counts = np.arange(len(names) ** 2).reshape(len(names), -1)
    return {
        "confusion_matrix": confusion_matrix(counts, names[0], names[-1], names, title),
        "scatter": scatter(values, values[::-1], names, names[0], names[-1], title),
        "intervals": intervals(names, values, values - 0.1, values + 0.1, title, names[0]),
        "lines": lines({name: ([1, 2], [n, n + 1]) for n, name in enumerate(names)}, names[0], names[-1], title),
        "funnel": funnel(names, values, 1 - values, names, title, names[0]),
        "rank_change": rank_change(names, values, values[::-1], names[0], names[-1], title),
    }


FIGURES = [*drawings(["a"], "t")]


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_same_bytes_twice(tmp_path: Path, suffix: Format) -> None:
    one, other = tmp_path / f"one.{suffix}", tmp_path / f"other.{suffix}"
    for path in (one, other):
        path.write_bytes(heat_map(VALUES, NAMES, "Overlap", "share").render(suffix))
    assert one.read_bytes() == other.read_bytes()
    changed = tmp_path / f"changed.{suffix}"
    changed.write_bytes(heat_map(VALUES.T, NAMES, "Overlap", "share").render(suffix))
    assert changed.read_bytes() != one.read_bytes()


def test_numbers_and_names_are_shown_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "map.svg"
    path.write_bytes(heat_map(VALUES, NAMES, "Overlap", "share of pairs").render("svg"))
    shown = texts(path)
    cells = [text for text in shown if text == "–" or (len(text) == 4 and text[1] == ".")]
    # In reading order; 0.125 and 0.875 as Python rounds them. The scale shows 0.0 to 1.0.
    assert cells == ["1.00", "0.25", "–", "0.12", "1.00", "0.60", "0.00", "0.88", "1.00"]
    for name in NAMES:
        assert shown.count(name) == 2
    assert {"Overlap", "share of pairs"} <= set(shown)


@pytest.mark.parametrize("suffix", ["png", "svg"])
@pytest.mark.parametrize("value", [1.0, np.nan])
def test_a_single_system(suffix: Format, value: float) -> None:
    head = heat_map(np.array([[value]]), ["alone"], "Overlap", "share").render(suffix)[:8]
    assert head == b"\x89PNG\r\n\x1a\n" if suffix == "png" else head.startswith(b"<?xml")


def test_twenty_systems_are_larger_than_two(tmp_path: Path) -> None:
    sizes = []
    for count in (2, 20):
        path = tmp_path / f"{count}.svg"
        drawing = heat_map(np.eye(count), [f"system-{n}" for n in range(count)], "Overlap", "share")
        path.write_bytes(drawing.render("svg"))
        sizes.append(float(ET.parse(path).getroot().attrib["width"].removesuffix("pt")))
    assert sizes[1] > 2 * sizes[0]


@pytest.mark.parametrize("format", ["png", "svg"])
@pytest.mark.parametrize("figure", FIGURES)
def test_the_same_data_gives_the_same_bytes_whatever_the_users_settings(figure: str, format: Format) -> None:  # noqa: A002
    import matplotlib

    one = drawings(NAMES, "Title")[figure].render(format)
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.fonttype": "path"}):
        assert drawings(NAMES, "Title")[figure].render(format) == one
    assert drawings(NAMES, "Another")[figure].render(format) != one
    assert one.startswith(b"\x89PNG\r\n\x1a\n" if format == "png" else b"<?xml")


@pytest.mark.parametrize("figure", FIGURES)
def test_all_formats_at_once_are_the_bytes_of_each_alone(figure: str) -> None:
    drawing = drawings(NAMES, "Title")[figure]
    assert drawing.render_all() == {"svg": drawing.render("svg"), "png": drawing.render("png")}


@pytest.mark.parametrize("figure", FIGURES)
def test_any_name_can_be_drawn(figure: str) -> None:
    """Where warnings are errors, in both formats."""
    drawing = drawings(HOSTILE, " ".join(HOSTILE))[figure]
    assert drawing.render("png")
    found = " ".join(shown(drawing))
    assert "日本語 🦜" in found
    if figure != "scatter":
        for name in ("$x$", r"\$a_b$ \frac{", "<script>&", "नमस्ते", "العربية", "\ufffd\ufffd", "two lines"):
            assert name.replace(" ", "") in found.replace(" ", "")


@pytest.mark.parametrize("figure", FIGURES)
def test_a_single_value(figure: str) -> None:
    drawing = drawings(["alone"], "Title")[figure]
    assert drawing.render("png")
    assert "Title" in shown(drawing)


def test_a_figure_of_more_than_two_thousand_marks_is_embedded_as_png() -> None:
    assert MOST_SVG_MARKS == 2000
    assert [embedding_format(marks) for marks in (0, 2000, 2001)] == ["svg", "svg", "png"]
    values = np.linspace(0, 1, 2001)
    figure = scatter(values, values, ["q"] * 2001, "x", "y", "T").embed("caption", "alt", "folder/queries")
    assert (figure.format, figure.file) == ("png", "folder/queries.png")
    assert figure.content.startswith(b"\x89PNG")
    assert (figure.caption, figure.alt) == ("caption", "alt")
    few = scatter(values[:2000], values[:2000], ["q"] * 2000, "x", "y", "T").embed("", "", "queries")
    assert (few.format, few.file) == ("svg", "queries.svg")


def test_a_confusion_matrix_shows_its_counts_with_totals() -> None:
    # Annotators 1 and 2 of the Quati collection (arXiv 2404.06976, appendix): 240 pairs.
    counts = np.array([[41, 6, 4, 1], [13, 25, 28, 2], [4, 11, 42, 8], [1, 5, 18, 31]])
    found = shown(confusion_matrix(counts, "HA1", "HA2", ["none", "some", "much", "all"], "Grades"))
    assert [text for text in found if text in ("none", "some", "much", "all", "Total")] == [
        *("none", "some", "much", "all", "Total") * 2
    ]
    numbers = [int(text) for text in found if text.isdigit()]
    assert numbers[:16] == counts.ravel().tolist()
    # Row and column totals by turns, then all.
    assert numbers[16:] == [52, 59, 68, 47, 65, 92, 55, 42, 240]


def test_a_confusion_matrix_colours_a_count_by_its_share_of_the_row() -> None:
    def picture(counts: list[list[int]]) -> str | None:
        root = ET.fromstring(confusion_matrix(np.array(counts), "A", "B", [0, 1], "T").render("svg"))
        return next(root.iter(f"{SVG}image")).get("{http://www.w3.org/1999/xlink}href")

    assert picture([[1, 3], [0, 2]]) == picture([[10, 30], [0, 7]])
    assert picture([[1, 3], [0, 2]]) != picture([[3, 1], [0, 2]])
    # A row without pairs has no shares.
    assert picture([[1, 3], [0, 0]]) != picture([[1, 3], [0, 2]])


def test_a_matrix_of_other_size_than_its_grades_is_refused() -> None:
    with pytest.raises(ValueError, match="3 grades need a square"):
        confusion_matrix(np.eye(2, dtype=int), "A", "B", [0, 1, 2], "T")


def test_the_scatter_gives_mean_and_population_deviation_and_counts_what_it_leaves_out() -> None:
    x = np.array([0.2, 0.4, np.nan, 0.6, 0.1])
    y = np.array([0.1, 0.3, 0.5, 0.8, np.nan])
    found = shown(scatter(x, y, ["q1", "q2", "q3", "q4", "q5"], "people", "judge", "T"))
    # Of q1, q2, q4: x 0.4 ± √(0.08/3) = 0.1633; y 0.4 ± √(0.26/3) = 0.2944.
    assert "mean ± std. dev.: 0.400 ± 0.163 across, 0.400 ± 0.294 up" in found
    assert "3 queries" in found
    assert "2 of 5 queries left out: a value is undefined" in found
    # Alone farther than a tenth of the axes from the diagonal: q4 by 0.2.
    assert [text for text in found if text.startswith("q")] == ["q4"]


def test_a_scatter_of_whole_values_leaves_nothing_out() -> None:
    found = shown(scatter(np.array([0.5]), np.array([0.5]), ["q1"], "x", "y", "T"))
    assert not any("left out" in text for text in found)


def test_the_axes_of_a_scatter_are_alike_and_hold_every_point() -> None:
    def ticks(low: float) -> list[float]:
        found = shown(scatter(np.array([low, 0.5]), np.array([0.5, 0.5]), ["a", "b"], "x", "y", "T"))
        numbers = [float(text.replace("−", "-")) for text in found if text.replace("−", "").replace(".", "").isdigit()]
        assert numbers[: len(numbers) // 2] == numbers[len(numbers) // 2 :]
        return numbers

    assert (min(ticks(0.3)), max(ticks(0.3))) == (0.0, 1.0)
    assert min(ticks(-0.8)) <= -0.75


@pytest.mark.parametrize("values", [np.zeros(0), np.full(3, np.nan)])
def test_a_scatter_without_a_point(values: np.ndarray) -> None:
    found = shown(scatter(values, values, ["q"] * len(values), "x", "y", "T"))
    assert "0 queries" in found
    assert not any("mean" in text for text in found)


def test_intervals_stand_in_order_of_the_mean_with_the_undefined_last() -> None:
    names = ["low", "none", "best", "tie-a", "tie-b"]
    means = [0.1, None, 0.9, 0.5, 0.5]
    found = shown(
        intervals(names, means, [0.0, None, None, 0.4, 0.4], [0.2, None, 1.0, 0.6, float("nan")], "T", "nDCG@10")
    )
    assert [text for text in found if text in names] == ["best", "tie-a", "tie-b", "low", "none"]
    means_shown = [text for text in found if text == "–" or (len(text) == 6 and text[1] == ".")]
    assert means_shown == ["0.9000", "0.5000", "0.5000", "0.1000", "–"]


def test_rank_change_names_each_system_with_rank_and_mean_on_both_sides() -> None:
    names = ["bm25", "e5", "rrf", "gone"]
    drawing = rank_change(names, [0.5, 0.7, 0.5, None], [0.6, 0.2, 0.8, 0.9], "people", "judge", "T")
    found = [text.split("\N{EN SPACE}") for text in shown(drawing)]
    # Equal means share a rank; a side's mean stands outward.
    assert [text for text in found if text[-1].endswith(".")] == [
        ["0.7000", "e5", "1."],
        ["0.5000", "bm25", "2."],
        ["0.5000", "rrf", "2."],
    ]
    assert [text for text in found if text[0].endswith(".")] == [
        ["1.", "rrf", "0.8000"],
        ["2.", "bm25", "0.6000"],
        ["3.", "e5", "0.2000"],
    ]
    assert ["1 of 4 systems left out: a mean is undefined"] in found
    # Two risen or fallen lines and one kept, in the order of the names.
    strokes = [line.get("style", "") for line in ET.fromstring(drawing.render("svg")).iter(f"{SVG}path")]
    lines_only = [style for style in strokes if style.startswith("fill: none; stroke") and "stroke-width: 1." in style]
    assert ["#234f86" in style for style in lines_only[:3]] == [False, False, True]
    assert ["#b5541f" in style for style in lines_only[:3]] == [False, True, False]


def test_means_that_differ_in_their_last_bits_share_a_rank_and_keep_the_order_given() -> None:
    # 0.1 + 0.2 is above 0.3 by one bit, and the table of ranks calls them equal.
    found = shown(rank_change(["a", "b"], [0.3, 0.1 + 0.2], [0.3, 0.1 + 0.2], "people", "judge", "T"))
    left = [text.split("\N{EN SPACE}") for text in found if text.endswith(".")]
    assert left == [["0.3000", "a", "1."], ["0.3000", "b", "1."]]


LONG = ["a labeler with quite a long name", "B"]


@pytest.mark.parametrize("grades", [["0"], ["0", "1"], ["irrelevant", "somewhat relevant", "highly relevant"]])
@pytest.mark.parametrize("names", [LONG, LONG[::-1], ["日本語の評価者の名前がここに", "B"]])
def test_all_of_a_confusion_matrix_is_inside_the_figure_and_nothing_covers_another(
    grades: list[str], names: list[str]
) -> None:
    from matplotlib.text import Text

    counts = np.full((len(grades), len(grades)), 1234567)
    with confusion_matrix(counts, *names, grades, " and ".join(names))._drawn() as (canvas, _):
        canvas.draw_without_rendering()
        renderer = canvas.canvas.get_renderer()  # type: ignore[attr-defined]
        written = [text for text in canvas.findobj(Text) if text.get_visible() and text.get_text()]  # type: ignore[attr-defined]
        boxes = [text.get_window_extent(renderer) for text in written]
        whole = canvas.bbox
        for text, box in zip(written, boxes, strict=True):
            assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= whole.x1 and box.y1 <= whole.y1, text.get_text()  # noqa: PT018
        for i, one in enumerate(boxes):
            for j, other in enumerate(boxes[:i]):
                assert not one.overlaps(other), (written[i].get_text(), written[j].get_text())  # type: ignore[attr-defined]


def test_lines_end_in_the_order_of_their_legend_and_gaps_are_allowed() -> None:
    series = {"low": ([1, 2], [1, 2]), "high": ([1, 2, 3], [5, None, 9]), "none": ([1], [float("nan")])}
    found = shown(lines(series, "depth", "pairs", "Growth"))
    assert [text for text in found if text in series] == ["high", "low", "none"]
    assert lines({}, "x", "y", "T").render("png")


def test_a_logarithmic_axis_has_ticks_at_one_two_and_five_and_takes_a_single_value() -> None:
    found = shown(lines({"run": (range(1, 101), np.linspace(0.5, 1, 100))}, "k", "success@k", "Curve", log=True))
    assert [text for text in found if text in {"1", "2", "5", "10", "20", "50", "100", "60"}][:7] == [
        "1", "2", "5", "10", "20", "50", "100",
    ]  # fmt: skip
    assert "1" in shown(lines({"run": ([1], [0.5])}, "k", "success@k", "Point", log=True))


def test_a_series_with_more_x_than_y_is_refused() -> None:
    with pytest.raises(ValueError, match="the series pool has 2 x values and 1 y values"):
        lines({"pool": ([1, 2], [1])}, "x", "y", "T")


def test_a_funnel_has_a_bar_of_what_is_left_and_one_of_what_was_dropped_for_each_step() -> None:
    drawing = funnel(["read", "url"], [30.0, 20.0], [0.0, 10.0], ["3 pages", "2 pages"], "Left", "characters")
    assert {"read", "url", "3 pages", "2 pages", "Left", "characters", "left", "dropped"} <= set(shown(drawing))
    figure = matplotlib.figure.Figure()
    drawing.draw(figure)
    left, dropped = (list(bars) for bars in figure.axes[0].containers)
    assert [bar.get_width() for bar in left] == [30.0, 20.0]
    # What a step dropped stands behind what it left: together they are what came to it.
    assert [(bar.get_x(), bar.get_width()) for bar in dropped] == [(30.0, 0.0), (20.0, 10.0)]
    low, high = figure.axes[0].get_ylim()
    assert low > high, "the first step stands at the top"


def test_a_funnel_needs_as_much_of_everything() -> None:
    with pytest.raises(ValueError, match="2 steps need as many"):
        funnel(["read", "url"], [1.0], [0.0, 0.0], ["", ""], "Left", "characters")


def links_to(names: list[str]) -> list[Link]:
    return [Link(f"to/{name}", name) for name in names]


def covering(regions: Sequence[Region], axes: Axes, x: float, y: float) -> list[str]:
    """The titles of the regions that cover a point of the ``axes``."""
    canvas = axes.get_figure(root=True)
    assert canvas is not None
    across, up = canvas.transFigure.inverted().transform(axes.transData.transform((x, y)))
    return [one.title for one in regions if 0 <= across - one.x <= one.width and 0 <= (1 - up) - one.y <= one.height]


def test_the_row_of_a_system_covers_its_dot_its_name_and_its_mean() -> None:
    names, means = ["low", "none", "high"], [0.2, None, 0.9]
    drawing = intervals(names, means, means, means, "T", "nDCG@10")
    figure = drawing.embed("", "", "x", links_to(names))
    axes = drawing.figure().axes[0]
    for row, (name, mean) in enumerate([("high", 0.9), ("low", 0.2)]):
        assert covering(figure.links, axes, mean, row) == [name]
    assert [(one.x, one.width) for one in figure.links] == [(0, 1)] * 3
    # They lie under one another, the best at the top, and fill the axes.
    high, low, none = sorted(figure.links, key=lambda one: one.y)
    assert [high.href, low.href, none.href] == ["to/high", "to/low", "to/none"]
    assert high.y + high.height == pytest.approx(low.y)


def test_a_system_leads_to_one_page_from_both_ends_of_its_line() -> None:
    names = ["rises", "lost", "falls"]
    drawing = rank_change(names, [0.1, None, 0.9], [0.8, 0.5, 0.2], "a", "b", "T")
    figure = drawing.embed("", "", "x", links_to(names))
    axes = drawing.figure().axes[0]
    ends = [covering(figure.links, axes, x, y) for x in (0, 1) for y in (0, 1)]
    assert ends == [["falls"], ["rises"], ["rises"], ["falls"]]
    assert len(figure.links) == 4
    assert all(one.x >= 0 and one.x + one.width <= 1.000001 for one in figure.links)


def test_every_point_that_is_drawn_is_covered_by_its_own_square() -> None:
    x, y = np.array([0.1, 0.5, np.nan, -0.4]), np.array([0.9, 0.5, 0.3, 0.2])
    names = ["q1", "q2", "q3", "q4"]
    drawing = scatter(x, y, names, "people", "judge", "T")
    figure = drawing.embed("", "", "x", links_to(names))
    axes = drawing.figure().axes[0]
    for at in (0, 1, 3):
        assert covering(figure.links, axes, x[at], y[at]) == [names[at]]
    assert [one.title for one in figure.links] == ["q1", "q2", "q4"]
    width, height = drawing.size
    for one in figure.links:
        assert one.width * width == pytest.approx(one.height * height)


def test_every_cell_of_a_heat_map_is_covered() -> None:
    titles = [f"{row}, {column}" for row in NAMES for column in NAMES]
    drawing = heat_map(VALUES, NAMES, "T", "share")
    figure = drawing.embed("", "", "x", links_to(titles))
    axes = drawing.figure().axes[0]
    for row, column in np.ndindex(VALUES.shape):
        assert covering(figure.links, axes, column, row) == [titles[3 * row + column]]


def test_links_change_no_byte_of_a_figure_and_must_be_as_many_as_its_things() -> None:
    drawing = scatter(np.array([0.1, 0.5]), np.array([0.2, 0.4]), ["a", "b"], "x", "y", "T")
    assert drawing.embed("", "", "x", links_to(["a", "b"])).content == drawing.embed("", "", "x").content
    assert drawing.embed("", "", "x").content == drawing.render("svg")
    with pytest.raises(ValueError, match="2 things were drawn, but there are 1 links"):
        drawing.embed("", "", "x", links_to(["a"]))
