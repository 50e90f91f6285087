"""The app's frame: the person, the pages of their role, language and sign-out."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import streamlit as st

from annotator_app import context, error_notices, html, theme, words
from quati_pool.commands.annotate.access import set_preference
from quati_pool.commands.annotate.session import AnnotationSession, Person
from quati_pool.project.workspace import Workspace

PAGES = {
    "assessor": ("annotate", "labels", "guidelines", "questions", "write"),
    "lead": ("team", "rounds", "review", "dashboard", "explorer"),
}
"""The pages by the role that sees them, named like their modules; a lead sees all."""


def main() -> None:
    """Draws the page at the requested address; pages of another role do not exist."""
    st.set_page_config(page_title=context.say("app.title"), layout="wide")
    theme.apply()
    with error_notices.guarded():
        person = context.enter()
        first = first_page(context.session())
        chosen = st.navigation(
            [
                st.Page(_page(name), title=context.say(f"app.{name}"), url_path=name, default=name == first)
                for name in pages_of(person, context.session())
            ],
            position="top",
        )
        with st.container(key="corner"):
            _corner()
        if chosen.url_path != "team":
            # A new access code is shown once.
            st.session_state.pop(context.NEW_CODE, None)
        chosen.run()


def pages_of(person: Person, session: AnnotationSession) -> list[str]:
    """The pages that a person sees, in the order of the menu. The commands behind them check the role again."""
    names = [*PAGES["assessor"], *(PAGES["lead"] if person.role == "lead" else ())]
    writing = session.config.authoring is not None
    # Where questions are written in rounds, they are not proposed freely.
    there = {
        "guidelines": session.config.annotation.guidelines is not None,
        "questions": not writing,
        "write": writing,
        "rounds": writing,
    }
    return [name for name in names if there.get(name, True)]


def first_page(session: AnnotationSession) -> str:
    """The page that is shown first: where questions are written and there is no pool yet, that of writing."""
    written = session.config.authoring is not None and not Workspace(session.config.folder).pool.exists()
    return "write" if written else "annotate"


def _page(name: str) -> Callable[[], None]:
    def draw() -> None:
        # A page is imported only when it is viewed, because the dashboard imports the statistics.
        with error_notices.guarded():
            import_module(f"annotator_app.pages.{name}").page()

    return draw


def _corner() -> None:
    """The menu under the person's name: language and sign-out."""
    person = context.person()
    with st.popover(html.label(person.name)):
        st.segmented_control(
            context.say("app.language"),
            list(words.LANGUAGES),
            default=context.language(),
            format_func=words.LANGUAGES.__getitem__,
            key="language",
            on_change=_speak,
        )
        html.draw(html.fill('<a class="go" href="/sign-out">{text}</a>', text=context.say("app.sign_out")))
    # The page's script gives the document this language.
    html.draw(html.fill('<div id="frame" data-language="{language}"></div>', language=context.language()))


def _speak() -> None:
    with error_notices.guarded():
        chosen = st.session_state["language"]
        if chosen is not None:
            set_preference(context.session(), context.token(), "language", chosen)
