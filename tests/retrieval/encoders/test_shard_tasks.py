"""Encoding by the workers of an engine: the bytes of encoding in one process, whatever ends a worker or the run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_stores import contents, store

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.models.loading import library_versions
from quati_pool.models.parameters import ModelParameters
from quati_pool.processes.base import Engine, pack_call, perform
from quati_pool.processes.messages import unpack_outcome
from quati_pool.processes.opening import open_engine
from quati_pool.retrieval.base import Context
from quati_pool.retrieval.bi_encoder.dense import DenseParameters, DenseReranker
from quati_pool.retrieval.bi_encoder.dense_parameters import EncodingParameters
from quati_pool.retrieval.encoders import shard_tasks
from quati_pool.retrieval.late_interaction.colbert_parameters import ColbertParameters
from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.sparse.splade_parameters import SpladeParameters
from tests.retrieval.encoders.small_shards import (
    Dying,
    Noting,
    SmallColbert,
    SmallDense,
    SmallSplade,
    encoded_ordinals,
)
from tests.serial_engine import SerialEngine
from tests.tiny_models import dense, multivector, sparse

pytestmark = pytest.mark.neural

# In shards of four: the fourth repeats texts of others and of its own only, the third one text of the first.
TEXTS = [
    "the court judge heard the appeal", "boats", "a judge and a witness in court court court", "",
    "the tide lifts boats in the harbour", "boats sail past the harbour lighthouse", "boats", "rio floresta jacaré",
    "the lighthouse keeper was a witness", "", "x" * 500, "água",
    "boats", "", "água", "boats",
    "dough rises beside the oven oven", "appeal to the baker about dough " * 30, "tide and court", "judge",
    "oven",
]  # fmt: skip
FIRST_OF_THEIR_TEXT = [n for n, text in enumerate(TEXTS) if text not in TEXTS[:n]]


class Backwards(SerialEngine):
    """Does tasks as a worker does, with all that travels pickled, but in this process, and the last one first, so
    that every shard has to wait. Processes are started where they are what is tested: each imports torch."""

    def run(
        self,
        function: Callable[[Any], Any],
        tasks: Sequence[Any],
        name: Callable[[Any], str],
        idle: Callable[[], None] = lambda: None,
    ) -> Iterator[tuple[int, Any]]:
        for position in reversed(range(len(tasks))):
            idle()
            yield position, unpack_outcome(perform(pack_call(function, tasks[position])))


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """The last bits of a model's numbers depend on the number of threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    yield Backwards()
    shard_tasks._opened.clear()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    tmp = tmp_path_factory.mktemp("models")
    return {
        "dense": dense.sentence_transformer(tmp / "dense"),
        "splade": sparse.splade(tmp / "splade"),
        "colbert": multivector.plain(tmp / "colbert"),
        "question": dense.dpr(tmp / "question", "Question", seed=1),
        "context": dense.dpr(tmp / "context", "Context", seed=2),
    }


@pytest.fixture
def corpus(tmp_path: Path) -> CorpusStore:
    return store(tmp_path / "store", TEXTS)


def component(name: str, made: dict[str, Path]) -> Any:
    if name == "splade":
        return SmallSplade(SpladeParameters(model=str(made[name]), passage_terms=9))
    if name == "colbert":
        return SmallColbert(ColbertParameters(model=str(made[name]), precision="int8"))
    if name == "dpr":
        two = {"query_model": str(made["question"]), "passage_model": str(made["context"])}
        return SmallDense(DenseParameters(**two, query_prompt="judge ", batch_tokens=30))
    return SmallDense(DenseParameters(model=str(made[name]), batch_tokens=30))


def here(retriever: Any, corpus: CorpusStore) -> dict[str, bytes]:
    """What encoding in this process writes."""
    context = Context()
    files = contents(retriever.encoded(corpus, context).folder)
    encoded_ordinals(corpus)
    return files


def by(engine: Engine, **options: Any) -> Context:
    return Context(workers=lambda: engine, **options)


def bytes_by(engine: Engine, retriever: Any, corpus: CorpusStore, **options: Any) -> dict[str, bytes]:
    """What encoding by workers writes."""
    context = by(engine, **options)
    return contents(retriever.encoded(corpus, context).folder)


def flat(shards: list[list[int]]) -> list[int]:
    return [ordinal for shard in shards for ordinal in shard]


@pytest.mark.parametrize("name", ["dense", "dpr", "splade", "colbert"])
def test_shards_of_workers_in_any_order_come_to_the_bytes_of_one_process_and_a_text_is_encoded_once(
    name: str, made: dict[str, Path], corpus: CorpusStore, engine: Engine
) -> None:
    retriever = component(name, made)
    expected = here(retriever, corpus)
    seen: list[tuple[int, int]] = []
    found = bytes_by(engine, retriever, corpus, progress=lambda done, total: seen.append((done, total)))
    assert found == expected
    shards = encoded_ordinals(corpus)
    assert sorted(flat(shards)) == FIRST_OF_THEIR_TEXT
    # Five shards in all that hold a new text, of six.
    assert list(map(min, shards)) == [20, 16, 8, 4, 0]
    # The shard without a new text is done from the beginning.
    assert (seen[0], seen[-1]) == ((4, len(TEXTS)), (len(TEXTS), len(TEXTS)))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_the_reranker_has_the_passages_of_its_run_encoded(
    made: dict[str, Path], corpus: CorpusStore, engine: Engine
) -> None:
    reranker = DenseReranker(EncodingParameters(model=str(made["dense"])))
    docs = np.array([17, 2, 2, 6, 1])
    contexts = Context(), by(engine)
    (one, places), (other, same) = (reranker.of_run(corpus, docs, context) for context in contexts)
    assert contents(other.folder) == contents(one.folder)
    assert places.tolist() == same.tolist()


@pytest.fixture
def killed(made: dict[str, Path], corpus: CorpusStore) -> tuple[Context, Path, dict[str, bytes]]:
    """A context, its folder as a run leaves it that was killed with the second and the last shard finished, and
    what is to become of it."""
    retriever = component("dense", made)
    whole = Context()
    before = Shards(retriever.encoded(corpus, whole).folder)
    expected = contents(before.folder)
    encoded_ordinals(corpus)
    context = Context()
    folder = context._folder(corpus, retriever.name, retriever.encoding_key())
    (folder / "parts").mkdir(parents=True)
    vectors, longest = np.array(before.array("vectors")), np.array(before.array("longest"))
    # Of the fourth shard there is no length: it has no text of its own.
    for start, end, own, place in ((4, 8, [4, 5, 7], 1), (20, 21, [20], 4)):
        arrays = {"array.vectors": vectors[own], "array.longest": longest[[place]]}
        np.savez(folder / "parts" / f"{start}-{end}.npz", **arrays)
    return context, folder, expected


def test_shards_that_waited_for_an_earlier_one_are_not_encoded_again(
    made: dict[str, Path], corpus: CorpusStore, engine: Engine, killed: tuple[Context, Path, dict[str, bytes]]
) -> None:
    context, folder, expected = killed
    # Of the third the disk kept half; and there are leavings of another size of shards.
    (folder / "parts" / "8-12.npz").write_bytes((folder / "parts" / "4-8.npz").read_bytes()[:-100])
    (folder / "parts" / "0-7.npz").write_bytes(b"")
    context.workers = lambda: engine
    component("dense", made).encoded(corpus, context)
    assert sorted(map(min, encoded_ordinals(corpus))) == [0, 8, 16]
    assert contents(folder) == expected


def test_a_run_goes_on_in_one_process_and_leaves_nothing_beside_the_arrays(
    made: dict[str, Path], corpus: CorpusStore, killed: tuple[Context, Path, dict[str, bytes]]
) -> None:
    context, folder, expected = killed
    component("dense", made).encoded(corpus, context)
    assert contents(folder) == expected


def test_what_several_workers_say_is_said_once(made: dict[str, Path], corpus: CorpusStore, engine: Engine) -> None:
    heard: list[str] = []
    Noting(component("dense", made).parameters).encoded(corpus, by(engine, note=heard.append))
    assert heard == ["the device is small"]


def test_workers_of_another_machine_need_the_same_files_and_versions(
    made: dict[str, Path], corpus: CorpusStore, tmp_path: Path
) -> None:
    retriever = component("dense", made)
    job = shard_tasks.Job(
        SmallDense, retriever.parameters, made["dense"], corpus.folder, tmp_path, library_versions(), threads=1
    )
    assert shard_tasks.shard_size(job) == 4
    with pytest.raises(ConfigError, match=r"the corpus .*elsewhere is not there on .* same path"):
        shard_tasks.shard_size(_changed(job, corpus=tmp_path / "elsewhere"))
    with pytest.raises(ConfigError, match=r"transformers 0\.1; install the same versions"):
        shard_tasks.shard_size(_changed(job, versions={**library_versions(), "transformers": "0.1"}))


def test_workers_share_the_cores_unless_the_user_says_how_many_threads(
    made: dict[str, Path], corpus: CorpusStore, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever = component("dense", made)
    jobs: list[shard_tasks.Job] = []

    def kept(job: shard_tasks.Job) -> int:
        jobs.append(job)
        return 100

    monkeypatch.setattr(shard_tasks, "shard_size", kept)
    monkeypatch.setattr(shard_tasks, "usable_cores", lambda: 3)
    monkeypatch.setattr(engine, "run", lambda function, tasks, *rest: [(0, function(tasks[0]))])
    for threads in ("1", None):
        if threads is None:
            monkeypatch.delenv("OMP_NUM_THREADS")
        next(
            shard_tasks.encoded_by_workers(
                retriever, corpus, Shards(corpus.folder.with_name("s")), np.arange(1), np.arange(1), engine, Context()
            ),
            None,
        )
    assert [job.threads for job in jobs] == [None, 3]
    monkeypatch.undo()
    # Ray tells each worker that it has one core; ours know better.
    assert os.environ["OMP_NUM_THREADS"] == "1"
    shard_tasks._open(jobs[1])
    assert torch.get_num_threads() == 3
    torch.set_num_threads(1)
    shard_tasks._open(jobs[0])
    assert torch.get_num_threads() == 1


def _changed(job: shard_tasks.Job, **changes: Any) -> shard_tasks.Job:
    return shard_tasks.Job(**{**vars(job), **changes})


def test_each_worker_takes_a_gpu_of_its_own_as_long_as_there_are_some(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shard_tasks.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(shard_tasks, "devices_of", lambda parameters: ["cuda"])
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    parameters = ModelParameters(model="m")
    taken, held = [], []
    for _ in range(5):
        # What another process holds.
        monkeypatch.setattr(shard_tasks, "_claims", {})
        held.append(shard_tasks._claims)
        taken += [shard_tasks._device(parameters), shard_tasks._device(parameters)]
    # A worker keeps its device for the next model; the fifth shares the first one with two others.
    assert taken == [f"cuda:{n}" for n in (0, 0, 1, 1, 0, 0, 1, 1, 0, 0)]
    for claims in held:
        for claim in claims.values():
            claim.release()
    assert not os.environ.get("CUDA_VISIBLE_DEVICES")


def test_a_passage_whose_vector_is_nan_is_named_as_in_one_process(
    corpus: CorpusStore, tmp_path: Path, engine: Engine
) -> None:
    # "dough" first stands in the passage d16.
    broken = dense.poisoned(dense.sentence_transformer(tmp_path / "broken"), "dough")
    retriever = SmallDense(DenseParameters(model=str(broken)))
    told = []
    for context in (Context(), by(engine)):
        with pytest.raises(QuatiPoolError) as caught:
            retriever.encoded(corpus, context)
        told.append((type(caught.value), str(caught.value)))
    assert told[0] == told[1]
    assert f"model '{broken}' gives passage 'd16' a vector with NaN" in told[0][1]


@pytest.mark.ray
def test_ray_writes_the_same_bytes_and_replaces_a_worker_that_is_killed(
    made: dict[str, Path], corpus: CorpusStore
) -> None:
    plain = component("dense", made)
    expected = here(plain, corpus)
    context = Context(workers=lambda: open_engine("ray", 1))
    found = Dying(plain.parameters).encoded(corpus, context)
    assert corpus.folder.with_name("died").exists()
    assert contents(found.folder) == expected
    assert sorted(flat(encoded_ordinals(corpus))) == FIRST_OF_THEIR_TEXT
