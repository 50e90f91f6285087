"""The page where people grade: a place for the component of ``assets/grading.js``, which talks to ``grading_api``.

Streamlit runs a script on the server and sends what changed for every press, which costs ten times as much as storing
the answer and finding the next pair (tests/benchmarks/RESULTS.md); so this page's presses are requests of their own.
"""

from __future__ import annotations

import json

from annotator_app import context, html


def page() -> None:
    said = {"unreachable": context.say("app.unreachable")}
    html.draw(
        html.fill(
            '<div id="grading" data-language="{language}" data-words="{words}"></div>',
            language=context.language(),
            words=json.dumps(said, ensure_ascii=False),
        )
    )
