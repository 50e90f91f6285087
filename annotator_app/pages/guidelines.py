"""The page with the collection's guidelines."""

from __future__ import annotations

import streamlit as st

from annotator_app import context


def page() -> None:
    guidelines = context.session().guidelines
    if guidelines is None:
        return
    with st.container(key="guidelines"):
        # HTML in the Markdown is not rendered, and the page's policy blocks images from other sites.
        st.markdown(guidelines.text)
