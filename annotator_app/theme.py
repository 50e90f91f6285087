"""The app's appearance: its style sheet, and Streamlit's colour settings for light and dark mode."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

SCRIPTS = (
    "/app/component.js",
    "/app/keys.js",
    "/app/grading.js",
    "/app/authoring.js",
    "/app/own_labels.js",
    "/app/review.js",
)
"""The addresses of our scripts, which the page loads in addition to Streamlit's."""

ICON = "/app/icon.svg"
"""The address of the pages' icon."""

SETTINGS = {
    "theme.light.primaryColor": "#234f86",
    "theme.light.backgroundColor": "#fdfcfa",
    "theme.light.secondaryBackgroundColor": "#f3f1ec",
    "theme.light.textColor": "#22242a",
    "theme.light.borderColor": "#d5d1c8",
    "theme.dark.primaryColor": "#9dbfea",
    "theme.dark.backgroundColor": "#15171b",
    "theme.dark.secondaryBackgroundColor": "#1f2228",
    "theme.dark.textColor": "#dddbd5",
    "theme.dark.borderColor": "#3a3e46",
}


@cache
def asset(name: str) -> str:
    """The text of a file in ``assets/``."""
    return files("annotator_app").joinpath("assets", name).read_text(encoding="utf-8")


def apply() -> None:
    """Puts the style sheet on the page."""
    st.html(f"<style>{asset('app.css')}</style>")


def routes() -> list[Route]:
    """The routes of the scripts and the icon."""

    async def script(request: Request) -> Response:
        return Response(asset(Path(request.url.path).name), media_type="text/javascript")

    async def icon(_: Request) -> Response:
        return Response(asset("icon.svg"), media_type="image/svg+xml")

    return [*(Route(path, script, methods=["GET"]) for path in SCRIPTS), Route(ICON, icon, methods=["GET"])]
