"""The judge that an import adds to pool.yaml makes the authors' request, to a real server over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import judge
from quati_pool.commands.prompts import NewJudge, authors_judge, import_prompt, read_released
from quati_pool.project.events import Listener
from quati_pool.records import State
from tests.commands.judged import ID_PATTERN, many, rows, workspace
from tests.judging import released_files as quati
from tests.judging import test_umbrela_files as umbrela
from tests.llm.server import PROBE, ServerProcess, grade_of

# Every key of their scripts' requests but the messages; n: 1 and a timeout change no answer.
QUATI = {
    "model": "gpt-4-1106-preview", "temperature": 0, "max_tokens": 500, "top_p": 1,
    "frequency_penalty": 0, "presence_penalty": 0,
}  # fmt: skip
UMBRELA = {
    "model": "gpt-4o", "temperature": 0, "max_tokens": 100, "top_p": 1,
    "frequency_penalty": 0.5, "presence_penalty": 0,
}  # fmt: skip
UMBRELA_REASONING = {"model": "gpt-5-mini", "max_completion_tokens": 4096}
UMBRELA_EARLY = {"model": "gpt-4o", "max_tokens": 100}


def messages_of(text: str, query: str, passage: str) -> list[dict[str, str]]:
    return quati.their_messages(query, passage) if text == "" else umbrela.their_messages(text, query, passage)


@pytest.mark.parametrize(
    ("text", "model", "request_"),
    [
        ("", None, QUATI),
        (umbrela.ZERO_SHOT, None, UMBRELA),
        (umbrela.SHOWN, "gpt-5-mini", UMBRELA_REASONING),
        (umbrela.OBJECT_OF_ALL, None, UMBRELA_EARLY),
    ],
    ids=["quati", "umbrela", "umbrela-reasoning", "umbrela-early"],
)
def test_the_whole_request_is_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, model: str | None, request_: dict[str, Any]
) -> None:
    files = quati.write_released_files(tmp_path / "quati") if text == "" else umbrela.write(tmp_path, text)
    pairs = many(2, 3)
    config = workspace(tmp_path / "ws", pairs, {"lexical": {"judge": "lexical"}})
    released, out = read_released([files]), config.parent / "prompts" / "theirs.yaml"
    import_prompt(released, out, NewJudge(config, "theirs", authors_judge(released, out, config.parent, model)))
    with ServerProcess() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
        # A bare grade, which is read whatever the keys are.
        server.script(id_pattern=ID_PATTERN, default="bare", keep_bodies=True)
        report = judge(config, "theirs", Listener(), JudgeOptions())
        bodies = {entry["id"]: entry["body"] for entry in server.log() if entry["id"] != PROBE}
    assert report.pending.coverage.states == {State.ok: 6}
    assert bodies == {
        f"{row['query_id']}/{row['doc_id']}": {"messages": messages_of(text, row["query"], row["text"]), **request_}
        for row in pairs
    }
    stored = rows(config.parent, "select query_id || '/' || doc_id, relevance from labels")
    assert sorted(stored) == [(name, grade_of(name)) for name in sorted(bodies)]
