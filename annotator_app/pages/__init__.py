"""The app's pages: one module each, whose ``page()`` draws it for the person of this run."""
