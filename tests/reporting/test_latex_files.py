"""The LaTeX that commands save compiles as it is, with pdflatex."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reporting.formats.test_latex import compiled


@pytest.mark.latex
def test_every_latex_file_of_the_demo_compiles(finished_demo: Path, tmp_path: Path) -> None:
    files = sorted((finished_demo / "reports").glob("*.tex"))
    assert [file.name for file in files] == ["agreement.tex", "diversity.tex", "evaluation.tex"]
    for file in files:
        folder = tmp_path / file.stem
        folder.mkdir()
        source = file.read_text(encoding="utf-8")
        assert source.count("\\begin{table}") >= 5
        assert compiled(source, folder).read_bytes().startswith(b"%PDF")
