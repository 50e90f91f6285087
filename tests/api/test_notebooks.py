"""The notebooks of the documentation, and a cell that is interrupted, in a real kernel."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.commands.judged import ID_PATTERN, many, rows, workspace
from tests.llm.server import PROBE, ServerProcess
from tests.patience import PATIENCE

pytestmark = pytest.mark.notebook

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.fixture(autouse=True)
def _of_this_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is a process of its own."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    # Python's own message about a debugger's frozen modules.
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3").execute()
    found = outputs(notebook)
    assert not [output for output in found if output.output_type == "stream" and output.name == "stderr"]
    html = [output.data["text/html"] for output in found if "text/html" in output.get("data", {})]
    assert any("nDCG@10" in shown and "<table" in shown for shown in html)
    assert len(NOTEBOOKS) == 2
    if path.stem == "collection":
        shown = [output.data for output in found if output.output_type in ("display_data", "execute_result")]
        assert sum("image/png" in data for data in shown) == 2
        # One output per cell has all lines of a build.
        assert any("pool: built" in data["text/plain"] and "\n" in data["text/plain"] for data in shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


def interrupt_after(server: ServerProcess, calls: int, pid: Path) -> None:
    """Interrupts the process, as Jupyter does, once the server has answered so many calls: importing what judges
    takes seconds on a busy machine, and an interruption there finds nothing to keep."""
    end = time.monotonic() + PATIENCE
    while sum(entry["done"] for entry in server.log()) < calls:
        if time.monotonic() > end:
            return
        time.sleep(0.02)
    os.kill(int(pid.read_text()), signal.SIGINT)


@pytest.mark.filterwarnings("default")
def test_interrupting_the_kernel_keeps_the_grades(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ServerProcess(id_pattern=ID_PATTERN, latency=0.3) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        config = workspace(tmp_path / "judged", many(4, 10), {"fake": {"model": "fake-1", "prompt": "quati-pt"}})
        pid = tmp_path / "pid"
        sources = [
            f"import os, quati_pool as qp\nfrom pathlib import Path\nc = qp.open({str(config)!r})",
            f"Path({str(pid)!r}).write_text(str(os.getpid()))\nc.judge(concurrency=1)",
            "c.judge(concurrency=20)",
        ]
        notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, sources)))
        interrupting = threading.Thread(target=interrupt_after, args=(server, 3, pid))
        interrupting.start()
        NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3", allow_errors=True).execute()
        interrupting.join()
        [error] = [output for output in outputs(notebook) if output.output_type == "error"]
        assert error.ename == "KeyboardInterrupt"
        assert "still to be asked" in error.evalue
        assert rows(config.parent, "SELECT count(*), count(DISTINCT query_id || doc_id) FROM labels") == [(40, 40)]
        # The one call that was under way is asked again, no other.
        assert len([entry for entry in server.log() if entry["id"] != PROBE]) in (40, 41)
        judged = outputs(notebook)[-1].data["text/plain"]
        assert "fake has graded all 40 pairs" in judged
