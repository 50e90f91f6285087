"""``quati-pool demo``: builds, judges and evaluates the bundled sample, offline."""

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
    """The result of each command; ``lacking`` says which system is left out because its extra is not installed."""

    built: BuildResult
    judged: JudgeReport
    agreed: AgreeReport
    evaluated: Evaluation
    lacking: str | None = None


def demo(folder: Path, listener: Listener) -> Demo:
    """Copies the sample into ``folder``, builds its pool (with bm25 if its extra is installed), grades it by term
    overlap, compares these grades with the sample's own, and ranks the systems under both.

    Existing files are kept: an edited workspace is built as it is. Raises QuatiPoolError if the folder holds something
    else.
    """
    sample = bundled("data/sample")
    if folder.exists() and any(folder.iterdir()) and not (folder / "pool.yaml").exists():
        raise QuatiPoolError(f"{folder} is not empty and holds no pool.yaml; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    lacking = _without_bm25()
    for name in _FILES:
        if not (folder / name).exists():
            partial = folder / f".partial-{name}"
            shutil.copyfile(sample / name, partial)
            if name == "pool.yaml":
                partial.write_text(_systems(partial.read_text(encoding="utf-8"), lacking), encoding="utf-8")
            partial.replace(folder / name)
    result = build(folder / "pool.yaml", listener, qrels=folder / "labels.tsv")
    assert result is not None  # all systems are built
    judged = judge(folder / "pool.yaml", _JUDGE, listener)
    agreed = agree(folder / "pool.yaml", listener=listener)
    listener.finished(agreed)
    evaluated = evaluate(folder / "pool.yaml", listener=listener)
    listener.finished(evaluated)
    return Demo(result, judged, agreed, evaluated, None if "bm25" in result.config.systems else lacking)


def _without_bm25() -> str | None:
    """Why bm25 cannot run here; None if it can."""
    try:
        RETRIEVERS.get("bm25").require()
    except MissingExtraError as error:
        return str(error)
    return None


def _systems(template: str, lacking: str | None) -> str:
    """The sample's pool.yaml, with bm25 unless it is ``lacking``."""
    return template if lacking else template.replace("systems:\n", f"systems:\n{_BM25}", 1)
