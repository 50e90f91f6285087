"""A small collection made for the tests: 60 passages, 6 queries and every kind of system."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from quati_pool.commands.build import BuildResult, build
from quati_pool.reporting.reporter import Reporter
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]

_TOPICS = {
    "sea": "harbour tide sailor lighthouse current reef anchor boats sailing coast",
    "bread": "flour oven yeast baker crust dough loaves baking rye kneading",
    "stars": "telescope orbit planet comet galaxies observing eclipse light lens night",
    "law": "court judge verdict appeal contracts witness ruling statute lawyer trials",
    "garden": "soil seed pruning roses compost watering beds weeds planting spade",
    "music": "violin rhythm choir melody concert strings tuning drummer score singing",
}
_COMMON = "people often write about old and new ways while others keep records of each year"

QUERIES = {
    "q1": "sailors near the lighthouse",
    "q2": "how does yeast change the dough?",
    "007": "observing planets with a telescope",
    "7": "who gives the verdict in court",
    "q-é": "watering roses and planting seeds",
    "q6": "tuning violin strings",
}

SYSTEMS: dict[str, dict[str, Any]] = {
    "bm25s": {"retriever": "bm25s", "language": "en", "family": "lexical"},
    "words": {"retriever": "bm25s", "stemming": False, "stop_words": False, "pool_depth": 2},
    "lsa": {"retriever": "lsa", "dimensions": 8},
    # This and "nested" read deeper than run_depth, which makes candidates of what they read.
    "bm25s-lsa": {"first": "bm25s", "rerank": {"with": "lsa", "dimensions": 8, "depth": 30}},
    "rrf": {"fuse": ["bm25s", "lsa"], "method": "rrf", "k": 60},
    "combmnz": {"fuse": ["words", "lsa"], "method": "combmnz"},
    "nested": {"fuse": ["rrf", "combmnz"], "method": "combsum", "depth": 12},
    "theirs": {"retriever": "run", "path": "theirs.run", "pool": False},
}
RUN_DEPTH, POOL_DEPTH = 8, 4


def passages() -> dict[str, str]:
    """60 passages, ten a topic, each with words of its topic and of one other."""
    chance = random.Random(20240406)
    topics = [words.split() for words in _TOPICS.values()]
    texts = {}
    for number in range(60):
        own, other = topics[number % 6], topics[chance.randrange(6)]
        words = chance.choices(own, k=9) + chance.choices(other, k=3) + chance.choices(_COMMON.split(), k=10)
        chance.shuffle(words)
        texts[f"p{number:02}"] = " ".join(words).capitalize() + "."
    return texts


def config(**changes: Any) -> dict[str, Any]:
    """The settings of pool.yaml, with the top-level keys of ``changes`` in place of the usual ones."""
    usual = {
        "name": "small",
        "seed": 0,
        "corpus": {"path": "corpus.jsonl"},
        "queries": {"path": "queries.tsv"},
        "systems": SYSTEMS,
        "run_depth": RUN_DEPTH,
        "pool": {"depth": POOL_DEPTH, "extra": "extra.tsv"},
    }
    return {**usual, **changes}


def changed_system(run_tag: str, **changes: Any) -> dict[str, Any]:
    return {**SYSTEMS, run_tag: {**SYSTEMS[run_tag], **changes}}


def write_settings(folder: Path, settings: Mapping[str, Any]) -> Path:
    path = folder / "pool.yaml"
    path.write_text(yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True), encoding="utf-8")
    return path


def write_corpus(path: Path, texts: Mapping[str, str]) -> None:
    rows = (json.dumps({"doc_id": doc_id, "text": text}) + "\n" for doc_id, text in texts.items())
    path.write_text("".join(rows), encoding="utf-8")


def write_queries(path: Path, queries: Mapping[str, str]) -> None:
    path.write_text("".join(f"{key}\t{text}\n" for key, text in queries.items()), encoding="utf-8")


def make_collection(folder: Path, **changes: Any) -> Path:
    """Writes the collection's inputs into ``folder`` and returns its pool.yaml."""
    folder.mkdir(parents=True, exist_ok=True)
    write_corpus(folder / "corpus.jsonl", passages())
    write_queries(folder / "queries.tsv", QUERIES)
    # Deeper than run_depth, in no order, with the scores of an honest retriever.
    theirs = [f"{q} Q0 p{(7 * i) % 60:02} {i} {30 - i / 4} theirs\n" for q in QUERIES for i in range(30)]
    random.Random(1).shuffle(theirs)
    (folder / "theirs.run").write_text("".join(theirs), encoding="utf-8")
    (folder / "extra.tsv").write_text("# by hand\nq1\tp59\n007\tp00\nq1\tp59\n", encoding="utf-8")
    return write_settings(folder, config(**changes))


class Heard(Reporter):
    """Keeps the lines of a build."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)

    def made(self) -> dict[str, str]:
        """What was made, and why; an index by its engine alone, without its fingerprint."""
        made = {}
        for line in self.lines:
            what, _, rest = line.partition(": built ")
            if rest and what == "reports":
                made |= {f"report {name}": "" for name in rest.split(", ")}
            elif rest:
                why = re.search(r"\((.*?)\)", rest)
                made[_short(what)] = why[1] if why else "not there yet"
        return made

    def reused(self) -> set[str]:
        return {_short(line.removesuffix(": reused")) for line in self.lines if line.endswith(": reused")}


def _short(what: str) -> str:
    return what.rpartition("-")[0] if what.startswith("index ") else what


def built(path: Path, **options: Any) -> tuple[BuildResult | None, Heard]:
    """Builds in this process. Figures are sketched: drawing them takes longer than all the rest."""
    heard = Heard()
    with mock.patch("quati_pool.reporting.figures.build.heat_map", sketch):
        return build(path, heard, **options), heard


class sketch:  # noqa: N801  # it stands in for a function
    """A stand-in for the figures."""

    def __init__(self, values: Any, *words: Any) -> None:
        self.said = f"{values.tolist()} {words}"

    def render_all(self) -> dict[str, bytes]:
        return {kind: f"{kind} {self.said}".encode() for kind in ("svg", "png")}


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "quati_pool", *map(str, arguments)]


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **changes}


def run_cli(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    options = {"env": environment(), "timeout": PATIENCE, **options}
    return subprocess.run(command(*arguments), capture_output=True, text=True, encoding="utf-8", **options)


def products(folder: Path) -> dict[str, bytes]:
    """The bytes of all that a build promises to make the same again: runs, candidates, pool, reports."""
    patterns = ("runs/*.trec.gz", "cache/candidates/*.trec.gz", "pool.jsonl.gz", "reports/*")
    found = sorted(path for pattern in patterns for path in folder.glob(pattern))
    names = [path for path in found if not path.name.endswith(".meta.json")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in names}


def leftovers(folder: Path) -> list[Path]:
    """Half-made files and folders."""
    return sorted(path for path in folder.rglob("*") if path.name.startswith(".partial-"))


def read_pool(folder: Path) -> list[dict[str, Any]]:
    with gzip.open(folder / "pool.jsonl.gz", "rt", encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]


def read_trec(path: Path) -> dict[str, list[tuple[str, int, float]]]:
    """A run file read with nothing of quati-pool: query_id to (doc_id, rank, score) in file order."""
    rows: dict[str, list[tuple[str, int, float]]] = {}
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        query_id, _, doc_id, rank, score, _ = line.split(" ")
        rows.setdefault(query_id, []).append((doc_id, int(rank), float(score)))
    return rows


def sidecar(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.with_name(path.name + ".meta.json").read_text(encoding="utf-8"))
    return found


def drawn(name: str) -> bool:
    """Whether a product is a figure."""
    return name.endswith((".png", ".svg"))


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Polls until ``condition()`` holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited {PATIENCE} s for {what}"
        time.sleep(0.005)
