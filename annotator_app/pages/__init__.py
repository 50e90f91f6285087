"""The app's pages, one module each; ``page()`` draws it for the person who is signed in."""
