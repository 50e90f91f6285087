"""A local OpenAI-compatible embedding server in the test's own process, which answers well or as it is told to.

    with EmbeddingServer() as server:
        server.queue = ["429 0.1", "shuffled"]
        ...  # a client with base_url=server.url
        server.asked  # every request that came in, in order

``vector_of`` gives the vector of a text as any answer would hold it. A way of answering is taken from ``way`` (of the
texts and the number of the request), else from ``queue``, each once, else it is ``well``. ``redirect 307`` sends a
request to another path, where it would be answered in the next way.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]

ERRORS: dict[str, tuple[int, dict[str, Any]]] = {
    "400": (400, {"message": "This value is not allowed.", "code": None}),
    "401": (401, {"message": "Incorrect API key provided.", "code": "invalid_api_key"}),
    "404": (404, {"message": "The model does not exist.", "code": "model_not_found"}),
    "429": (429, {"message": "Rate limit reached.", "code": "rate_limit_exceeded"}),
    "500": (500, {"message": "The server had an error.", "code": None}),
    "too_long": (400, {"message": "This model's maximum context length is exceeded.", "code": None}),
    "too_many": (422, {"message": "The batch is larger than this server allows.", "code": None}),
    "empty": (400, {"message": "Input cannot be an empty string.", "code": None}),
    "encoding_format": (400, {"message": "Unknown parameter.", "param": "encoding_format", "code": None}),
}
"""Ways that are an HTTP status."""

ODD = ("list", "no_usage", "total_usage", "shuffled", "no_index")
"""Ways that are good answers, oddly written."""

WRONG = (
    "too_few",
    "too_many_rows",
    "same_index",
    "uneven",
    "no_vector",
    "half_vector",
    "not_json",
    "error_in_200",
    "half_body",
)
"""Ways that are no answer, and may pass."""

BAD = ("nan", "null", "infinite", "other_dimension")
"""Ways whose numbers are no vector to search by."""


@dataclass
class Asked:
    """A request: its texts, its body, its path and key, and the way it was answered; ``done`` once it was."""

    texts: list[str]
    body: dict[str, Any]
    path: str
    key: str
    way: str
    done: bool = False


@dataclass
class EmbeddingServer:
    """The server; its fields may be changed at any time."""

    dimension: int = 16
    length: float = 1.0
    """Of the vectors."""
    key: str | None = None
    model: str | None = None
    most_texts: int | None = None
    most_tokens: int | None = None
    """Of a text; here two bytes are a token."""
    knows_base64: bool = True
    """Whether encoding_format is looked at."""
    takes_encoding_format: bool = True
    latency: float = 0.0
    queue: list[str] = field(default_factory=list)
    way: Callable[[Sequence[str], int], str | None] | None = None
    asked: list[Asked] = field(default_factory=list)
    in_flight: int = 0
    peak: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self.over = threading.Event()

    def __enter__(self) -> Self:
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def texts(self) -> list[str]:
        """All texts of requests that were answered well, in order."""
        return [text for asked in self.asked if asked.done and asked.way not in ERRORS for text in asked.texts]

    def vector_of(self, text: str, dimensions: int | None = None) -> Vector:
        """The vector of a text, float32; with ``dimensions`` its first components, again at length 1."""
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        vector = np.random.default_rng(seed).standard_normal(self.dimension)
        vector = vector[: dimensions or self.dimension]
        return (self.length * vector / np.linalg.norm(vector)).astype(np.float32)

    def vectors_of(self, texts: Sequence[str], dimensions: int | None = None) -> Vector:
        return np.stack([self.vector_of(text, dimensions) for text in texts])

    def tokens_of(self, texts: Sequence[str]) -> int:
        """What the server counts for a request."""
        return sum(len(text.encode()) // 2 + 1 for text in texts)

    def take(self, body: dict[str, Any], path: str, key: str) -> Asked:
        """Notes a request and decides how it is answered."""
        texts = body["input"]
        with self._lock:
            self.in_flight += 1
            self.peak = max(self.peak, self.in_flight)
            asked = Asked(texts, body, path, key, self._way(body, key))
            self.asked.append(asked)
            return asked

    def leave(self) -> None:
        with self._lock:
            self.in_flight -= 1

    def _way(self, body: dict[str, Any], key: str) -> str:
        texts = body["input"]
        if self.key is not None and key != self.key:
            return "401"
        if self.model is not None and body["model"] != self.model:
            return "404"
        if not self.takes_encoding_format and "encoding_format" in body:
            return "encoding_format"
        if "" in texts:
            return "empty"
        if self.most_texts is not None and len(texts) > self.most_texts:
            return "too_many"
        if self.most_tokens is not None and any(self.tokens_of([text]) > self.most_tokens for text in texts):
            return "too_long"
        told = self.way(texts, len(self.asked)) if self.way else None
        return told or (self.queue.pop(0) if self.queue else "well")

    def answer(self, body: dict[str, Any], way: str) -> dict[str, Any]:
        """The answer of a way that has one."""
        texts = body["input"]
        vectors = list(self.vectors_of(texts, body.get("dimensions")))
        if way in ("nan", "null"):
            vectors[-1][0] = np.nan
        elif way == "infinite":
            vectors[-1][0] = np.inf
        elif way == "other_dimension":
            vectors = [vector[:-1] for vector in vectors]
        elif way == "uneven":
            vectors[-1] = vectors[-1][:-1]
        elif way == "too_few":
            vectors.pop()
        elif way == "too_many_rows":
            vectors.append(vectors[0])
        rows = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
        if way == "same_index":
            rows[-1]["index"] = 0
        elif way == "no_index":
            for row in rows:
                del row["index"]
        elif way == "shuffled":
            rows = rows[1::2] + rows[::2]
        digits = way in ("list", "null") or not self.knows_base64 or body.get("encoding_format") != "base64"
        for row in rows:
            row["embedding"] = self._written(row["embedding"], digits)
        if way == "no_vector":
            rows[-1]["embedding"] = "no vector"
        elif way == "half_vector":
            rows[-1]["embedding"] = base64.b64encode(b"\0" * 7).decode()
        made: dict[str, Any] = {"object": "list", "model": body["model"], "data": rows}
        count = self.tokens_of(texts)
        if way == "total_usage":
            made["usage"] = {"total_tokens": count}
        elif way != "no_usage":
            made["usage"] = {"prompt_tokens": count, "total_tokens": count}
        return made

    @staticmethod
    def _written(vector: Vector, digits: bool) -> Any:
        if digits:
            return [None if np.isnan(number) else float(number) for number in vector]
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def _handler_of(server: EmbeddingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            key = self.headers.get("api-key") or self.headers.get("Authorization", "").removeprefix("Bearer ")
            asked = server.take(body, self.path, key)
            try:
                time.sleep(server.latency)
                self._answer(asked)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True
            finally:
                server.leave()

        def _answer(self, asked: Asked) -> None:
            name, _, number = asked.way.partition(" ")
            if name == "hang":
                server.over.wait(30)
                self.close_connection = True
                return
            if name == "drop":
                self.close_connection = True
                return
            if name == "redirect":
                self.send_response(int(number))
                self.send_header("Location", "/elsewhere/v1/embeddings?key=sk-elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if name == "late":
                time.sleep(float(number))
            if name in ERRORS:
                status, error = ERRORS[name]
                if name == "401":
                    error = {**error, "message": f"Incorrect API key provided: {asked.key}."}
                self._send(status, json.dumps({"error": error}).encode(), number)
            elif name == "not_json":
                self._send(200, b"<html>upstream said no</html>")
            elif name == "error_in_200":
                self._send(200, json.dumps({"error": {"message": "Provider returned error", "code": 502}}).encode())
            else:
                made = json.dumps(server.answer(asked.body, name)).encode()
                asked.done = name != "half_body"
                self._send(200, made, cut=name == "half_body")

        def _send(self, status: int, data: bytes, retry_after: str = "", cut: bool = False) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            if retry_after:
                self.send_header("Retry-After", retry_after)
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if cut else data)
            self.close_connection = cut

    return Handler
