"""Writes the JSON that commands give now into ``golden/``, from where ``test_golden_json`` compares it later.

    python -m tests.cli.make_golden [SCENE]…

What changes from one run, machine or release to the next (times, ports, versions, …) is replaced by a word first; null
stays null, and a number keeps its type.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import logging
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quati_pool.cli.main import main
from tests.cli.golden_scenes import ROOT, SCENES, Call, Scene
from tests.serial_engine import SerialEngine

GOLDEN = Path(__file__).with_name("golden")

TIMES = {
    "seconds", "seconds_low", "seconds_high", "p50", "p90", "p99", "created", "created_at", "since", "last_seen",
    "revoked", "stages_measured",
}  # fmt: skip
"""Keys of times, durations, and counts of what was timed."""

RELEASES = {"tool", "PyStemmer", "bm25s"}
"""Keys of versions, where they hold a text."""

_TEXTS = {
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(\+00:00|Z)?": "<time>",
    r"127\.0\.0\.1:\d+": "127.0.0.1:<port>",
    r"= [\d.]+ (ms|s|min|h|days)\Z": "= <time>",
}


def capture(scene: Scene, folder: Path) -> dict[str, str]:
    """Plays a scene in the empty ``folder``: all JSON that its calls print and save, by the name that it has in
    ``golden/``."""
    found = {}
    with _at(folder), contextlib.ExitStack() as stack:
        scene.make(stack)
        for call in scene.calls:
            if not isinstance(call, Call):
                call()
                continue
            out = _run(call)
            if call.name is not None:
                found[call.name] = out
        for pattern in scene.saved:
            for path in sorted(folder.glob(pattern)):
                if path.name.endswith(".meta.json") <= pattern.endswith(".meta.json"):
                    name = "saved-" + path.relative_to(folder).as_posix().replace("/", "--")
                    data = path.read_bytes()
                    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
                    printed = [call for call, other in found.items() if other == text]
                    found[name.removesuffix(".gz")] = f'"as {printed[0]}"' if printed else text
    return found


def parsed(text: str) -> Any:
    """The value of a JSON text, or of JSON lines, an object as its list of (key, value): order counts."""
    try:
        return json.loads(text, object_pairs_hook=Members)
    except json.JSONDecodeError:
        return [json.loads(line, object_pairs_hook=Members) for line in text.splitlines()]


class Members(list[tuple[str, Any]]):
    """The members of an object, in their order."""


def steady(value: Any, folder: Path, varying: frozenset[str], key: str = "") -> Any:
    """The same without what changes from one run, machine or release to the next."""
    if value is not None and (key in TIMES | varying or (key in RELEASES and isinstance(value, str))):
        return f"<{type(value).__name__}>"
    if isinstance(value, Members):
        return Members((name, steady(inner, folder, varying, name)) for name, inner in value)
    if isinstance(value, list):
        return [steady(inner, folder, varying, key) for inner in value]
    if isinstance(value, str):
        value = value.replace(str(folder), "<folder>").replace(str(ROOT), "<repository>")
        for pattern, word in _TEXTS.items():
            value = re.sub(pattern, word, value)
    return value


@contextlib.contextmanager
def _at(folder: Path) -> Iterator[None]:
    """The current folder is another one, no key or server is known, and figures are sketched."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in [name for name in os.environ if name.startswith(("OPENAI_", "QUATI_POOL_"))]:
            patch.delenv(name)
        patch.setenv("HF_HUB_CACHE", str(folder / "no-models"))
        patch.setattr("quati_pool.reporting.figures.plots.Drawing.render", lambda self, form: b"a sketch")
        sketches = {"svg": b"a sketch", "png": b"a sketch"}
        patch.setattr("quati_pool.reporting.figures.plots.Drawing.render_all", lambda self: sketches)
        patch.setattr("quati_pool.processes.opening.open_engine", lambda *asked: SerialEngine())
        logging.getLogger("bm25s").setLevel(logging.WARNING)
        yield


def _run(call: Call) -> str:
    """What a command prints to stdout."""
    arguments = shlex.split(call.command) + ([] if call.name is None else ["--format", "json"])
    out, err, status = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "argv", ["quati-pool", *arguments])
        try:
            main()
        except SystemExit as ending:
            status = int(ending.code or 0)
    assert status == call.status, f"{call.command}: exit {status}\n{err.getvalue()}"
    return out.getvalue()


def golden(scene: str, name: str) -> Path:
    return GOLDEN / scene / f"{name.removesuffix('.json')}.json"


def _write(name: str, scene: Scene) -> None:
    shutil.rmtree(GOLDEN / name, ignore_errors=True)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        found = capture(scene, folder)
        for call, text in found.items():
            path = golden(name, call)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_text(steady(parsed(text), folder, scene.varying)), encoding="utf-8")
    print(f"{name}: {len(found)} files")


def _text(value: Any) -> str:
    return json.dumps(_objects(value), ensure_ascii=False, indent=1) + "\n"


def _objects(value: Any) -> Any:
    if isinstance(value, Members):
        return {name: _objects(inner) for name, inner in value}
    return [_objects(inner) for inner in value] if isinstance(value, list) else value


if __name__ == "__main__":
    for name in sys.argv[1:] or SCENES:
        _write(name, SCENES[name])
