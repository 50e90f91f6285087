"""Texts that would act in a page or a Markdown file if they were not escaped, and a document full of them."""

from __future__ import annotations

from collections.abc import Sequence

from quati_pool.reporting.formats import document
from quati_pool.reporting.formats.tables import Column, Table

HOSTILE = [
    "<script>alert('script')</script>",
    '"><img src=x onerror=alert(1)>',
    '" onmouseover="alert(2)',
    "' onfocus='alert(3)' autofocus='",
    "javascript:alert(4)",
    "<a href=javascript:alert(5)>press</a>",
    "</style><style>*{background:url(https://outside.example/a)}</style>",
    "<link rel=stylesheet href=https://outside.example/b.css>",
    "<iframe src=https://outside.example/c></iframe>",
    "<meta http-equiv=refresh content='0;url=https://outside.example/d'>",
    "</table></section><base href=https://outside.example/>",
    "<svg/onload=alert(6)>",
    "<!-- comment",
    "]]>",
    "{{ document }} {% raw %}",
    "&lt;b&gt; &amp;amp;",
    "![image](https://outside.example/e.png) [link](javascript:alert(7))",
    "| a | b |",
    "\x00\x1b\ud800",
    "\u202eright to left",
]

# An SVG that would act, were it part of the page; in an <img> a browser runs and fetches nothing.
SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="72pt" height="36pt">'
    b'<script>alert("svg")</script><image xlink:href="https://outside.example/f.png" width="9" height="9"/>'
    b'<style>@import url("https://outside.example/g.css");</style>'
    b'<rect width="72" height="36" fill="#c33" onload="alert(8)"/></svg>'
)


def hostile_document() -> document.Document:
    """Each text in each place that takes one."""
    title = " ".join(HOSTILE)
    return document.Document(title, title, sections_of(HOSTILE), lang='en" onclick="alert(9)')


def sections_of(texts: Sequence[str]) -> list[document.Section]:
    """A section for each text, with the text in every place that takes one, addresses included."""
    sections = []
    for number, text in enumerate(texts):
        columns = [Column(text), Column(text, 2), Column("none", 2)]
        table = Table(text, columns, [[text, 0.5, None]], text, links={0: [text], 1: [text]})
        region = document.Region(0.25, 0.25, 0.5, 0.5, text, text)
        figure = document.Figure(SVG, "svg", text, text, f"figures/{number}.svg", [region])
        matrices = document.Matrices(text, [text], [document.Matrix(text, text, [[3]], text, [[text]])], text)
        blocks = [
            document.Paragraph(text),
            table,
            figure,
            matrices,
            document.Row([document.Paragraph(text), table]),
            document.Details(text, [document.Paragraph(text), table]),
        ]
        sections.append(document.Section(f"s{number}", text, blocks))
    return sections
