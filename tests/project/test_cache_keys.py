"""What was built with settings other than those now in pool.yaml is not passed off as made by these."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.evaluate import evaluate
from quati_pool.commands.export.collection import export
from quati_pool.errors import InputError
from quati_pool.project.cache_keys import refuse_outdated
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.reporting.page import report
from tests.cli.conftest import CORPUS
from tests.commands.small_collection import built

POOL = """\
name: tiny
corpus: {path: corpus.jsonl}
queries: {path: queries.tsv}
systems:
  bm25s: {retriever: bm25s, language: en, k1: 0.9}
  lsa: {retriever: lsa, language: en, dimensions: 2}
  rrf: {fuse: [bm25s, lsa], k: 60}
pool: {depth: 2}
run_depth: 3
"""


@pytest.fixture
def pool_yaml(tmp_path: Path) -> Path:
    (tmp_path / "corpus.jsonl").write_text(CORPUS, encoding="utf-8")
    (tmp_path / "queries.tsv").write_text("q1\twhen does the ferry leave\nq2\tbaking bread\n", encoding="utf-8")
    (tmp_path / "pool.yaml").write_text(POOL, encoding="utf-8")
    built(tmp_path / "pool.yaml")
    return tmp_path / "pool.yaml"


def test_what_was_just_built_is_current(pool_yaml: Path) -> None:
    refuse_outdated(load_config(pool_yaml))


@pytest.mark.parametrize(
    ("old", "new", "artifact", "reason"),
    {
        "a parameter": ("k1: 0.9", "k1: 1.2", "runs/bm25s.trec.gz", "index.k1 was 0.9, is 1.2"),
        "a fusion's": ("k: 60", "k: 10", "runs/rrf.trec.gz", "parameters.k was 60.0, is 10.0"),
        "the pool's depth": ("{depth: 2}", "{depth: 1}", "pool.jsonl.gz", "depth.bm25s was 2, is 1"),
    }.values(),
)
def test_a_changed_setting_is_named(pool_yaml: Path, old: str, new: str, artifact: str, reason: str) -> None:
    pool_yaml.write_text(POOL.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as fault:
        refuse_outdated(load_config(pool_yaml))
    told = f"was built with settings other than those now in pool.yaml ({reason}); run: quati-pool build -c {pool_yaml}"
    assert str(fault.value) == f"{pool_yaml.parent / artifact}: {told}"
    built(pool_yaml)
    refuse_outdated(load_config(pool_yaml))


def test_changed_queries_are_noticed(pool_yaml: Path) -> None:
    (pool_yaml.parent / "queries.tsv").write_text("q1\tanother question\n", encoding="utf-8")
    with pytest.raises(InputError, match="queries changed"):
        refuse_outdated(load_config(pool_yaml))


def test_inputs_that_are_gone_and_runs_not_made_yet_are_no_fault(pool_yaml: Path) -> None:
    (pool_yaml.parent / "runs" / "lsa.trec.gz").unlink()
    refuse_outdated(load_config(pool_yaml))
    (pool_yaml.parent / "corpus.jsonl").unlink()
    refuse_outdated(load_config(pool_yaml))


@pytest.mark.parametrize("system", ["{retriever: bm25}", "{retriever: dense, model: model}"], ids=["bm25", "dense"])
def test_runs_of_systems_whose_extra_is_not_installed_are_no_fault(
    pool_yaml: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    """Whether a package is there, and its version, are all that keys ask of one."""

    extras = ("pyserini", "sentence_transformers", "sentence-transformers", "transformers", "faiss", "faiss-cpu")
    distribution, find_spec = importlib.metadata.distribution, importlib.util.find_spec

    def absent(name: str) -> Any:
        if name in extras:
            raise importlib.metadata.PackageNotFoundError(name)
        return distribution(name)

    monkeypatch.setattr(importlib.metadata, "distribution", absent)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in extras else find_spec(name))
    model = pool_yaml.parent / "model"
    model.mkdir()
    (model / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    for name in ("model.safetensors", "tokenizer.json"):
        (model / name).touch()
    systems = f"  made: {system}\n  both: {{fuse: [bm25s, made]}}\npool:"
    pool_yaml.write_text(POOL.replace("pool:", systems), encoding="utf-8")
    refuse_outdated(load_config(pool_yaml))
    # The others can be made, too.
    built(pool_yaml, only=["lsa"])


@pytest.mark.parametrize("command", ["evaluate", "report", "export"])
def test_every_command_that_describes_the_runs_refuses(pool_yaml: Path, command: str) -> None:
    (pool_yaml.parent / "gold.qrels").write_text("q1 0 d1 1\nq2 0 d2 1\n", encoding="utf-8")
    pool_yaml.write_text(POOL.replace("k: 60", "k: 10") + "labels: {files: {gold: gold.qrels}}\n", encoding="utf-8")
    commands: dict[str, Callable[[], object]] = {
        "evaluate": lambda: evaluate(pool_yaml),
        "report": lambda: report(pool_yaml, Listener()),
        "export": lambda: export(pool_yaml, "bundle", Listener()),
    }
    with pytest.raises(InputError, match=r"parameters\.k was 60\.0, is 10\.0"):
        commands[command]()
