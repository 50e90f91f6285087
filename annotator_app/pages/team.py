"""The page where a lead gives out access codes, makes designs, and adds pairs with a known grade."""

from __future__ import annotations

from markupsafe import Markup

from annotator_app import context, html, theme
from annotator_app.team.designs import designs
from annotator_app.team.known_pairs import known_pairs
from annotator_app.team.people import people


def page() -> None:
    style = Markup(theme.asset("lead.css") + theme.asset("team.css"))
    html.draw(
        html.fill('<style>{style}</style><h1 class="page">{title}</h1>', style=style, title=context.say("app.team"))
    )
    people()
    designs()
    known_pairs()
