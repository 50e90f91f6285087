"""``quati-pool demo``: the bundled sample, built and judged from start to end without any network."""

from __future__ import annotations

import shutil
from pathlib import Path

from quati_pool.bundled import bundled
from quati_pool.errors import MissingExtraError, QuatiPoolError
from quati_pool.registry import RETRIEVERS
from quati_pool.steps.build import BuildResult, build
from quati_pool.steps.judge import JudgeReport, judge
from quati_pool.steps.listener import Listener

_FILES = ("corpus.jsonl", "queries.jsonl", "labels.tsv", "PROVENANCE.md", "pool.yaml")
_BM25 = "  bm25: {retriever: bm25, language: pt, family: lexical}\n"
# The judge that needs neither network nor key.
_JUDGE = "lexical"


def demo(folder: Path, listener: Listener) -> tuple[BuildResult, JudgeReport]:
    """Copies the sample into ``folder``, builds its pool, in which bm25 joins where its extra is
    installed, and has it graded by term overlap.

    What is there already is kept, so a workspace that was edited is built as it is.
    """
    sample = bundled("data/sample")
    if folder.exists() and any(folder.iterdir()) and not (folder / "pool.yaml").exists():
        raise QuatiPoolError(f"{folder} is not empty and holds no pool.yaml; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        if not (folder / name).exists():
            partial = folder / f".partial-{name}"
            shutil.copyfile(sample / name, partial)
            if name == "pool.yaml":
                partial.write_text(_systems(partial.read_text(encoding="utf-8"), listener), encoding="utf-8")
            partial.replace(folder / name)
    result = build(folder / "pool.yaml", listener, qrels=folder / "labels.tsv")
    assert result is not None  # nothing was left out by --only
    return result, judge(folder / "pool.yaml", _JUDGE, listener)


def _systems(template: str, listener: Listener) -> str:
    """The sample's pool.yaml, with bm25 where it can run."""
    try:
        RETRIEVERS.get("bm25").require()
    except MissingExtraError as error:
        listener.say(f"without bm25 (Lucene): {error}")
        return template
    return template.replace("systems:\n", f"systems:\n{_BM25}", 1)
