"""The page with a person's own labels: a place for the component of ``assets/own_labels.js``, which talks to
``own_labels_api``."""

from __future__ import annotations

import json

from markupsafe import Markup

from annotator_app import context, html, theme


def page() -> None:
    said = {"unreachable": context.say("app.unreachable")}
    html.draw(html.fill("<style>{style}</style>", style=Markup(theme.asset("own_labels.css"))))
    html.draw(
        html.fill(
            '<div id="own-labels" data-language="{language}" data-person="{person}" data-words="{words}"></div>',
            language=context.language(),
            person=context.person().name,
            words=json.dumps(said, ensure_ascii=False),
        )
    )
