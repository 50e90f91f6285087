"""``quati-pool demo``: the bundled sample, built and judged from start to end without any network."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from quati_pool.bundled import bundled
from quati_pool.commands.agree import AgreeReport, agree
from quati_pool.commands.build import BuildResult, build
from quati_pool.commands.evaluate import Evaluation, evaluate
from quati_pool.commands.judge.judge import JudgeReport, judge
from quati_pool.errors import MissingExtraError, QuatiPoolError
from quati_pool.project.events import Listener
from quati_pool.registry import RETRIEVERS

_FILES = ("corpus.jsonl", "queries.jsonl", "labels.tsv", "PROVENANCE.md", "pool.yaml")
_BM25 = "  bm25: {retriever: bm25, language: pt, family: lexical}\n"
# The judge that needs neither network nor key.
_JUDGE = "lexical"


@dataclass(frozen=True, eq=False)
class Demo:
    """What each command said."""

    built: BuildResult
    judged: JudgeReport
    agreed: AgreeReport
    evaluated: Evaluation


def demo(folder: Path, listener: Listener) -> Demo:
    """Copies the sample into ``folder``, builds its pool, in which bm25 joins where its extra is
    installed, has it graded by term overlap, compares these grades with the sample's own, and ranks the
    systems under both.

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
    judged = judge(folder / "pool.yaml", _JUDGE, listener)
    agreed = agree(folder / "pool.yaml")
    listener.finished(agreed)
    evaluated = evaluate(folder / "pool.yaml")
    listener.finished(evaluated)
    return Demo(result, judged, agreed, evaluated)


def _systems(template: str, listener: Listener) -> str:
    """The sample's pool.yaml, with bm25 where it can run."""
    try:
        RETRIEVERS.get("bm25").require()
    except MissingExtraError as error:
        listener.say(f"without bm25 (Lucene): {error}")
        return template
    return template.replace("systems:\n", f"systems:\n{_BM25}", 1)
