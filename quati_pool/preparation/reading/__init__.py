"""Readers of the page formats, one module each, and the code they share."""
