"""A build that is killed in the middle of encoding is finished by the next one, which encodes only the rest."""

from __future__ import annotations

import importlib
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from quati_pool.project.workspace import Workspace
from quati_pool.retrieval.shards import Shards
from tests.commands.small_collection import (
    ROOT,
    built,
    environment,
    leftovers,
    wait_for,
    write_corpus,
    write_queries,
    write_settings,
)
from tests.tiny_models import cross_encoder, dense, multivector, sparse

pytestmark = [pytest.mark.neural, pytest.mark.kill]

MANY, FEW, QUERIES, DEPTH = 6500, 2600, 10, 60
# Passages of a shard with the tiny models below.
SHARD = {"dense": 4096, "colbert": 2048, "splade": 1024}
TOTAL = {"dense": MANY, "colbert": FEW, "splade": FEW, "cross-encoder": QUERIES * DEPTH}
# Small batches make encoding take seconds, in which it can be killed; they change no shard.
SLOW = {"batch_tokens": 256}
SYSTEMS: dict[str, dict[str, Any]] = {
    "dense": {"retriever": "dense", "corpus": "many", "model": "models/dense", **SLOW},
    "colbert": {"retriever": "colbert", "corpus": "few", "model": "models/colbert", **SLOW},
    "splade": {
        "retriever": "splade", "corpus": "few", "model": "models/splade/model", "passage_terms": 10, **SLOW,
    },
    "words": {"retriever": "bm25s", "corpus": "few", "language": "en"},
    "cross-encoder": {
        "first": "words",
        "rerank": {"with": "cross-encoder", "model": "models/pairs", "depth": DEPTH, **SLOW},
    },
}  # fmt: skip
COUNTED = {
    "dense": "quati_pool.retrieval.encoders.encoding",
    "colbert": "quati_pool.retrieval.encoders.encoding",
    "splade": "quati_pool.retrieval.encoders.encoding",
    "cross-encoder": "quati_pool.retrieval.pairwise.pairs",
}
"""Where each asks for its batches, of all texts that it is about to give to its model."""


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """The last bits of a model's numbers depend on the number of threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which nothing was built; not to be changed."""
    folder = tmp_path_factory.mktemp("killed") / "inputs"
    models = folder / "models"
    dense.sentence_transformer(models / "dense")
    multivector.plain(models / "colbert")
    sparse.splade(models / "splade")
    # A shard of pairs is smaller the longer the pairs that the model can read: here some 90 of them.
    cross_encoder.cross_encoder(models / "pairs", positions=16384)
    chance = random.Random(6)
    words = list(dense.WORDS)
    # All different: equal passages are encoded once.
    texts = {f"p{n}": f"{' '.join(chance.choices(words, k=6))} {n}" for n in range(MANY)}
    write_corpus(folder / "many.jsonl", texts)
    write_corpus(folder / "few.jsonl", dict(list(texts.items())[:FEW]))
    write_queries(folder / "queries.tsv", {f"q{n}": " ".join(chance.sample(words, 4)) for n in range(QUERIES)})
    corpora = {name: {"path": f"{name}.jsonl"} for name in ("many", "few")}
    settings = {"name": "killed", "corpora": corpora, "queries": {"path": "queries.tsv"}}
    write_settings(folder, {**settings, "systems": SYSTEMS, "run_depth": DEPTH, "pool": {"depth": 3}})
    return folder


@pytest.fixture(scope="module")
def unbroken(inputs: Path) -> Path:
    """The same workspace after a build that nothing ended."""
    folder = Path(shutil.copytree(inputs, inputs.with_name("unbroken")))
    built(folder / "pool.yaml")
    return folder


def has_a_shard(folder: Path) -> bool:
    # A journal is there a moment before its first line is.
    return any(b"\n" in file.read_bytes() for file in (folder / "cache" / "encodings").glob("*/shards.jsonl"))


@pytest.fixture(scope="module")
def killed(inputs: Path) -> dict[str, Path]:
    """For each system a copy of the workspace, in which the build of its run was killed once a first shard was
    there. They start at the same time, of one process that has imported torch for all of them."""
    folders = {run_tag: Path(shutil.copytree(inputs, inputs.with_name(run_tag))) for run_tag in TOTAL}
    commands = [
        {"arguments": ["build", "-c", str(folder / "pool.yaml"), "--only", run_tag], "log": str(folder / "stderr")}
        for run_tag, folder in folders.items()
    ]
    starting = [sys.executable, "-m", "tests.commands.forked_builds"]
    threads = environment(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(starting, env=threads, cwd=ROOT, **pipes) as driver, ExitStack() as stack:
        stack.callback(driver.kill)

        def answer(line: str) -> list[int]:
            assert driver.stdin is not None
            assert driver.stdout is not None
            driver.stdin.write(line + "\n")
            driver.stdin.flush()
            numbers: list[int] = json.loads(driver.stdout.readline())
            return numbers

        building = dict(zip(folders, map(psutil.Process, answer(json.dumps(commands))), strict=True))
        for process in building.values():
            stack.callback(process.kill)

        def all_killed() -> bool:
            ended = {run_tag for run_tag, process in building.items() if process.status() == psutil.STATUS_ZOMBIE}
            for run_tag in building.keys() - ended:
                if has_a_shard(folders[run_tag]):
                    building[run_tag].kill()
            return len(ended) == len(building)

        wait_for(all_killed, "first shards")
        statuses = dict(zip(building, answer(""), strict=True))
        stack.pop_all()
    for run_tag, status in statuses.items():
        assert status == -9, (folders[run_tag] / "stderr").read_text(encoding="utf-8")
    return folders


@pytest.mark.parametrize("run_tag", TOTAL)
def test_a_rerun_encodes_what_a_killed_build_had_not(
    run_tag: str, killed: dict[str, Path], unbroken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = killed[run_tag]
    (work,) = (folder / "cache" / "encodings").iterdir()
    before = Shards(work)
    total, unit = TOTAL[run_tag], "pairs" if run_tag == "cross-encoder" else "passages"
    assert 0 < before.passages < total
    assert before.passages == before.shards * SHARD.get(run_tag, before.passages // before.shards)
    journal = (work / "shards.jsonl").read_bytes()

    encoded: list[int] = []
    module = COUNTED[run_tag]
    batches = importlib.import_module(module).token_batches  # type: ignore[attr-defined]

    def counting(lengths: Any, budget: int) -> Any:
        encoded.append(len(lengths))
        return batches(lengths, budget)

    monkeypatch.setattr(f"{module}.token_batches", counting)
    _, heard = built(folder / "pool.yaml", only=[run_tag])
    told = f"encoding {work.name}: continues after {before.passages:,} {unit} in {before.shards:,} shards"
    assert told in heard.lines
    # The queries of ColBERT, and those of pairs, are not told by their number of tokens.
    queries = QUERIES if run_tag in ("dense", "splade") else 0
    assert sum(encoded) == total - before.passages + queries
    # What a build killed in the middle of a line left there is cut off.
    whole = journal[: journal.rfind(b"\n") + 1]
    assert (work / "shards.jsonl").read_bytes().startswith(whole)
    assert Shards(work).shards > before.shards

    run = Workspace(folder).run(run_tag).read_bytes()
    assert run == Workspace(unbroken).run(run_tag).read_bytes()
    same = unbroken / "cache" / "encodings" / work.name
    for file in work.iterdir():
        assert file.read_bytes() == (same / file.name).read_bytes(), file.name
    assert not leftovers(folder)
