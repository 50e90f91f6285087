"""Preparation of a corpus from pages: the steps of ``quati-pool prepare``, one file each."""
