"""Selects fonts for names in scripts that matplotlib's default font lacks."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_OWN = "DejaVu Sans"
# Fallback fonts in order of preference; those that are installed are tried for characters that earlier fonts lack.
_WIDER = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR", "Source Han Sans SC", "WenQuanYi Zen Hei",
    "PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic",
    "Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Thai", "Noto Sans Arabic",
    "Noto Sans Hebrew", "Noto Sans Ethiopic", "Arial Unicode MS", "Unifont",
)  # fmt: skip


def use_fonts(canvas: Canvas) -> None:
    """Adds the installed fallback fonts to each text of the figure that needs them."""
    from matplotlib.text import Text

    known = _characters()
    for text in canvas.findobj(Text):
        assert isinstance(text, Text)
        if not set(text.get_text()) <= known:
            text.set_fontfamily([_OWN, *_installed()])


@cache
def _characters() -> frozenset[str]:
    from matplotlib import font_manager

    font = font_manager.get_font(font_manager.findfont(_OWN))
    return frozenset({"\n", *map(chr, font.get_charmap())})


@cache
def _installed() -> tuple[str, ...]:
    from matplotlib import font_manager

    names = set(font_manager.get_font_names())
    return tuple(name for name in _WIDER if name in names)
