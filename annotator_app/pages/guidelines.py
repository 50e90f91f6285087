"""The guidelines that the lead wrote, and what the grades mean."""

from __future__ import annotations

import streamlit as st

from annotator_app import context


def page() -> None:
    guidelines = context.session().guidelines
    if guidelines is None:
        return
    with st.container(key="guidelines"):
        # Markdown without HTML in it; the page's policy keeps its pictures from elsewhere away.
        st.markdown(guidelines.text)
