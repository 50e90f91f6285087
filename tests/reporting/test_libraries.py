"""The libraries for the browser are those that their list names, byte by byte."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import quati_pool

FOLDER = Path(quati_pool.__file__).parent / "reporting" / "libraries"


def test_each_library_is_the_file_that_the_list_names_with_its_licence() -> None:
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\S+\.js) \|.*\| ([0-9a-f]{64}) \|$", listed, re.MULTILINE)
    assert {name for name, _ in rows} == {file.name for file in FOLDER.glob("*.js")}
    for name, known in rows:
        assert sha256((FOLDER / name).read_bytes()).hexdigest() == known, name
    for holder in ("Jason Miller", "Luca Ongaro", "Chart.js Contributors", "Tristen Brown", "Google"):
        assert holder in listed
