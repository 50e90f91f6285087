"""Makes ``labels-<revision>.db``, what the commit of that revision made of answers that it read in its own way.

    python -m tests.former.make_answers

Two collections in one database: ``one`` has a pair for each of ANSWERS, the same passage twice in one place, a passage
without text and one with a token of a chat template; ``two`` has some of the same passages and shares their grades.
What each label said is in the database itself. Run once, by the code of that commit.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import judge
from quati_pool.files.pools import PoolPair
from quati_pool.project.events import Listener
from tests.commands.judged import pair, workspace

HERE = Path(__file__).parent
KEPT = HERE / "labels-0003.db"

CLEAN = '{"Razão": "x", "Pontuação": 1}'
ANSWERS: list[tuple[str, str, int | None, tuple[str, int | None]]] = [
    # The answer, its finish_reason, the grade that it had by the rules of 0003, and what it is by those of today.
    (CLEAN, "stop", 1, ("ok", 1)),
    ("Trata do tema.\nPontuação: 2", "stop", 2, ("ok", 2)),
    ("3", "stop", 3, ("ok", 3)),
    ('```json\n{"Pontuação": 0}\n```', "stop", 0, ("ok", 0)),
    ('<think>{"Pontuação": 3}</think> Desculpe, não consigo avaliar.', "stop", 3, ("unparsed", None)),
    ('<think>talvez {"Pontuação": 3}</think>{"Razão": "não", "Pontuação": 0}', "stop", 0, ("ok", 0)),
    ('{"Pontuação": 0}</think>Pontuação: 2', "stop", 0, ("ok", 2)),
    ('<think>{"Pontuação": 2}', "stop", 2, ("truncated", None)),
    ('{"Pontuação": 0} O texto diz {"Pontuação": 3}', "stop", 3, ("unparsed", None)),
    ('[{"Pontuação": 0}, {"Pontuação": 3}]', "stop", 3, ("unparsed", None)),
    ('{"Pontuação": 2} Espero ter ajudado.', "stop", 2, ("unparsed", None)),
    ('{"Razão": "x", "Pontuação": 1', "stop", 1, ("unparsed", None)),
    (CLEAN, "max_tokens", 1, ("truncated", None)),
    (CLEAN, "safety", 1, ("refused", None)),
    (CLEAN, "abort", 1, ("failed", None)),
    (CLEAN, "STOP", 1, ("ok", 1)),
    ("Não sei.", "stop", None, ("unparsed", None)),
    (CLEAN, "length", None, ("truncated", None)),
    ('<think>alta {"Pontuação": "alta"}</think>Pontuação: 1', "stop", None, ("ok", 1)),
]
TOKENS = "antes <|im_start|>system depois"


def one() -> list[PoolPair]:
    """The pool of the first collection."""
    asked = [pair("q1", f"d{place:02d}", f"Um texto. [answer {place}]") for place in range(len(ANSWERS))]
    twin = pair("q1", "twin", "Um texto. [answer 10]")
    return [*asked, twin, pair("q1", "empty", " \n"), pair("q1", "tokens", f"{TOKENS} [answer 0]")]


def two() -> list[PoolPair]:
    """That of the second, of which all grades are shared."""
    return [pair("q1", f"e{place}", f"Um texto. [answer {place}]") for place in (0, 4, 6, 10)]


def judges(**parameters: Any) -> dict[str, Any]:
    return {"gpt": {"model": "m", "prompt": "quati-pt", "output": "text", "api_key_env": None, **parameters}}


class AnswerServer:
    """Answers as the passage of a call says; ``instead`` is the answer to everything where it is given."""

    def __init__(self) -> None:
        self.instead: str | None = None
        self.asked: list[str] = []
        self.url = ""


@contextmanager
def serving() -> Iterator[AnswerServer]:
    told = AnswerServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            users = [message["content"] for message in body["messages"] if message["role"] == "user"]
            found = [match for text in users for match in re.findall(r"\[answer (\d+)\]", text)]
            text, finish = '{"answer": 1}', "stop"
            if "<passage>" in users[-1] or found:
                told.asked.append(users[-1])
                text, finish, *_ = ANSWERS[int(found[-1]) if found else 0]
                if told.instead is not None:
                    text, finish = told.instead, "stop"
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
            usage = {"prompt_tokens": 900, "completion_tokens": 20}
            data = json.dumps({"id": "x", "model": "m", "choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_port}/v1"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()


def main() -> None:
    import os

    if KEPT.exists():
        sys.exit(f"{KEPT} is there: a kept database stays as the tool of its day made it")
    folder = Path(sys.argv[1])
    with serving() as server:
        os.environ["OPENAI_BASE_URL"] = server.url
        url = f"sqlite:///{folder}/labels.db"
        for name, pool in (("one", one()), ("two", two())):
            path = workspace(folder / name, pool, judges(), name, labels={"url": url})
            report = judge(path, "gpt", Listener(), JudgeOptions(reask=0))
            print(name, dict(report.pending.coverage.states), dict(report.pending.coverage.grades))
    import sqlite3

    connection = sqlite3.connect(folder / "labels.db")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("VACUUM")
    connection.close()
    shutil.copy(folder / "labels.db", KEPT)


if __name__ == "__main__":
    main()
