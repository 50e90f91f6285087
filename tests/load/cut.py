"""A PostgreSQL server behind a socket that breaks connections at the worst moment: as they commit."""

from __future__ import annotations

import contextlib
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

_SOCKET = ".s.PGSQL.5432"
_COMMIT = b"COMMIT\x00"
_EVERY = 4


class Cutting:
    """Passes on all that clients and server say, until ``begin``: from then on of four commits one is not passed
    on (``unsent``) and one is, but not the answer to it (``unanswered``); both connections end with it."""

    def __init__(self, server: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="qp-"))  # short: the path of a socket may have 107 bytes
        self.unsent = 0
        self.unanswered = 0
        self._server = server / _SOCKET
        self._commits = 0
        self._cutting = False
        self._lock = threading.Lock()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.folder / _SOCKET))
        self._listening.listen(100)

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.close()
        shutil.rmtree(self.folder)

    def begin(self) -> None:
        self._cutting = True

    def end(self) -> None:
        self._cutting = False

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server))
                last = threading.Event()
                for where in (self._ask, self._answer):
                    threading.Thread(target=where, args=(client, server, last), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket, last: threading.Event) -> None:
        with self._cutting_off(client, server), contextlib.suppress(OSError):
            while said := client.recv(65536):
                if self._cutting and _COMMIT in said:
                    with self._lock:
                        self._commits += 1
                        turn = self._commits % _EVERY
                        self.unsent += turn == 1
                        self.unanswered += turn == 3
                    if turn == 1:
                        break
                    if turn == 3:
                        last.set()
                server.sendall(said)

    def _answer(self, client: socket.socket, server: socket.socket, last: threading.Event) -> None:
        with self._cutting_off(client, server), contextlib.suppress(OSError):
            while said := server.recv(65536):
                if last.is_set() and _COMMIT in said:
                    break
                client.sendall(said)

    @contextlib.contextmanager
    def _cutting_off(self, *both: socket.socket) -> Iterator[None]:
        """Ends both connections at the end, however it comes."""
        yield
        for one in both:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
