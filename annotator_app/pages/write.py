"""The page where people write and assess: a place for the component of ``assets/authoring.js``, which talks to
``authoring_api``."""

from __future__ import annotations

import json

from markupsafe import Markup

from annotator_app import context, html, theme


def page() -> None:
    said = {"unreachable": context.say("app.unreachable")}
    html.draw(html.fill("<style>{style}</style>", style=Markup(theme.asset("authoring.css"))))
    html.draw(
        html.fill(
            '<div id="writing" data-language="{language}" data-words="{words}"></div>',
            language=context.language(),
            words=json.dumps(said, ensure_ascii=False),
        )
    )
