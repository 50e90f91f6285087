"""A build whose corpora the workers of an engine encode: the files of any other build, also after kill -9 of all."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import torch

from quati_pool.processes.base import Engine
from quati_pool.processes.local import LocalEngine
from quati_pool.project.workspace import Workspace
from quati_pool.retrieval.shards import Shards
from tests.commands.small_collection import (
    ROOT,
    built,
    command,
    environment,
    leftovers,
    make_collection,
    wait_for,
    write_corpus,
    write_queries,
    write_settings,
)
from tests.serial_engine import SerialEngine
from tests.tiny_models import dense, sparse

pytestmark = pytest.mark.neural

# Three whole shards of 1,024 passages, and the beginning of a fourth.
PASSAGES, SHARD = 3500, 1024


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The last bits of a model's numbers depend on the number of threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    yield
    torch.set_num_threads(threads)


def never() -> Engine:
    raise AssertionError("an engine was started for nothing")


def test_an_engine_is_not_started_where_nothing_is_to_be_encoded(tmp_path: Path) -> None:
    path = make_collection(tmp_path)
    result, _ = built(path, workers=never)
    assert result is not None


def parts(folder: Path) -> list[Path]:
    """Shards that workers finished, with the last one appended if it was not removed yet."""
    return list((folder / "cache" / "encodings").glob("*/parts/[0-9]*-[0-9]*.npz"))


def finished(folder: Path) -> int:
    """How many shards are, appended or not."""
    # A journal is there a moment before its first line is; a part, a moment after it was appended.
    journals = (folder / "cache" / "encodings").glob("*/shards.jsonl")
    return max(len(parts(folder)), sum(file.read_bytes().count(b"\n") for file in journals))


def test_workers_encode_with_a_class_from_a_users_file(tmp_path: Path) -> None:
    path = make_collection(tmp_path, systems={"mine": {"retriever": "mine.py:Mine", "model": "models/dense"}})
    dense.sentence_transformer(tmp_path / "models" / "dense")
    (tmp_path / "mine.py").write_text(
        "from quati_pool.retrieval.bi_encoder.dense import Dense\n\n\nclass Mine(Dense):\n    pass\n"
    )
    run = tmp_path / "runs" / "mine.trec.gz"
    built(path)
    by_this_process = run.read_bytes()
    shutil.rmtree(tmp_path / "cache")
    run.unlink()
    built(path, workers=lambda: LocalEngine(2))
    assert run.read_bytes() == by_this_process


@pytest.mark.kill
def test_a_build_killed_with_its_workers_is_finished_by_the_next_to_the_bytes_of_one_process(tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    sparse.splade(folder / "models" / "splade")
    chance = random.Random(6)
    # All different but the last, which is the first once more.
    texts = [f"{' '.join(chance.choices(list(dense.WORDS), k=6))} {n}" for n in range(PASSAGES - 1)]
    write_corpus(folder / "corpus.jsonl", {f"p{n}": text for n, text in enumerate([*texts, texts[0]])})
    write_queries(folder / "queries.tsv", {"q1": "the court", "q2": "boats of the harbour"})
    # Small batches make encoding take seconds, in which it can be killed; they change no shard.
    system = {"retriever": "splade", "model": "models/splade/model", "passage_terms": 10, "batch_tokens": 512}
    inputs = {"corpus": {"path": "corpus.jsonl"}, "queries": {"path": "queries.tsv"}}
    path = write_settings(folder, {"name": "killed", **inputs, "systems": {"splade": system}, "pool": {"depth": 3}})
    unbroken = Path(shutil.copytree(folder, tmp_path / "unbroken"))

    arguments = ["build", "-c", path, "--engine", "local", "--workers", "2"]
    with subprocess.Popen(command(*arguments), env=environment(), cwd=ROOT, stderr=subprocess.PIPE) as driver:
        workers: list[psutil.Process] = []
        try:
            wait_for(lambda: finished(folder) or driver.poll() is not None, "a first shard")
            workers = psutil.Process(driver.pid).children(recursive=True)
        finally:
            driver.kill()
        assert driver.stderr is not None
        said = driver.stderr.read().decode()
        assert driver.wait() == -signal.SIGKILL, said
    assert workers
    # Workers end with their driver, and write nothing any more.
    assert psutil.wait_procs(workers, 60)[1] == []
    (work,) = (folder / "cache" / "encodings").iterdir()
    appended = Shards(work)
    # The part of a shard that was just appended may not have been removed yet.
    waiting = [part for part in parts(folder) if int(part.name.partition("-")[0]) >= appended.passages]
    assert 0 < appended.shards + len(waiting) < 4
    assert appended.passages == appended.shards * SHARD

    engine = SerialEngine()
    _, heard = built(path, workers=lambda: engine)
    # How large shards are, and then those alone that nobody had finished.
    assert len(engine.ran) == 1 + 4 - appended.shards - len(waiting)
    if appended.shards:
        told = f"encoding {work.name}: continues after {appended.passages:,} passages in {appended.shards:,} shards"
        assert told in heard.lines

    built(unbroken / "pool.yaml")
    assert Workspace(folder).run("splade").read_bytes() == Workspace(unbroken).run("splade").read_bytes()
    same = unbroken / "cache" / "encodings" / work.name
    assert {file.name for file in work.iterdir()} == {file.name for file in same.iterdir()}
    for file in work.iterdir():
        assert file.read_bytes() == (same / file.name).read_bytes(), file.name
    assert not leftovers(folder)
    built(path, workers=never)
