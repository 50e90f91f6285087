"""A table of words and figures, for leads."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from annotator_app import html


def figures_table(
    columns: Sequence[str], rows: Sequence[Sequence[Markup | str]], words: int, caption: str = "", note: str = ""
) -> Markup:
    """A table under these headings whose first ``words`` columns contain words, the others numbers."""
    kinds = ["word" if place < words else "number" for place in range(len(columns))]
    head = [
        html.fill('<th scope="col" class="{kind}">{text}</th>', kind=kind, text=text)
        for kind, text in zip(kinds, columns, strict=True)
    ]
    body = [
        html.fill(
            "<tr>{cells}</tr>",
            cells=html.join(
                [
                    html.fill('<td class="{kind}">{cell}</td>', kind=kind, cell=cell)
                    for kind, cell in zip(kinds, row, strict=True)
                ]
            ),
        )
        for row in rows
    ]
    return html.fill(
        '<div class="wide-table" tabindex="0"><table class="figures">{caption}<thead><tr>{head}</tr></thead>'
        '<tbody>{body}</tbody></table></div><p class="quiet">{note}</p>',
        caption=html.fill("<caption>{text}</caption>", text=caption) if caption else Markup(""),
        head=html.join(head),
        body=html.join(body),
        note=note,
    )
