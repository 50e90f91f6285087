"""Estimates of disk, memory, time and cost before anything runs: the workload that a component is asked about, the
estimate that it returns, and the arithmetic that components share."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from quati_pool.models.sizes import Shape


@dataclass(frozen=True)
class Workload:
    """The work of a system, for which an estimate is wanted.

    ``characters`` is the mean length of a passage, ``pairs`` the number of query–passage pairs that a reranker scores
    (0 for a retriever). ``sample`` holds some texts spread over the corpus; it is empty if the corpus is not on this
    machine.
    """

    passages: int
    characters: float
    queries: int
    depth: int
    pairs: int = 0
    sample: Sequence[str] = ()


class Part(NamedTuple):
    """A part of an estimate: bytes of disk, and seconds on this machine."""

    disk: float = 0
    seconds: float = 0


NONE = Part()


@dataclass(frozen=True)
class Estimate:
    """What a workload takes; a field is None if that is not known, and 0 if none is needed.

    ``encode`` counts the passages to encode or, for a reranker, the pairs to score. ``disk`` is the bytes that are
    kept, ``memory`` the peak in bytes apart from the interpreter (``device_memory``: on a GPU). ``seconds`` refers to
    this machine, ``flops`` counts the floating point operations of a model, ``tokens`` those sent to a server, and
    ``cost`` is in US dollars. ``arithmetic`` shows how the figures were calculated, one line each.

    ``index`` and ``search`` are the parts of ``disk`` and ``seconds`` that belong to the index and to the run: systems
    that share vectors may each have their own index, and each has its own run. The rest belongs to what is encoded or,
    if a component encodes nothing, to its index.
    """

    encode: int = 0
    disk: int | None = None
    memory: int | None = None
    device_memory: int | None = None
    seconds: float | None = None
    flops: float | None = None
    tokens: int | None = None
    cost: float | None = None
    arithmetic: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    index: Part = NONE
    search: Part = NONE

    def plus(
        self, *, index: Part = NONE, search: Part = NONE, memory: float = 0, lines: Sequence[str] = ()
    ) -> Estimate:
        """The estimate with an index and a search added; ``memory`` is needed at the same time as the memory so far."""
        seconds = None if self.seconds is None else self.seconds + index.seconds + search.seconds
        return replace(
            self,
            disk=round((self.disk or 0) + index.disk + search.disk),
            memory=round((self.memory or 0) + memory),
            seconds=seconds,
            arithmetic=(*self.arithmetic, *lines),
            index=Part(self.index.disk + index.disk, self.index.seconds + index.seconds),
            search=Part(self.search.disk + search.disk, self.search.seconds + search.seconds),
        )


CHARACTERS_A_TOKEN = 4.0
"""Characters per token of running text in a Latin script, used when there is no tokenizer: OpenAI's rule of thumb for
English. Not measured on Quati's Portuguese, whose words have 6.3 characters including the space, for which the rule
gives 1.6 tokens per word."""

GPU = "NVIDIA A100"
GPU_PEAK: Mapping[str, float] = {"fp32": 19.5e12, "fp16": 312e12, "bf16": 312e12}
"""FLOP/s for dense matrices on one A100, by the precision in which a model computes (NVIDIA's A100 data sheet)."""
GPU_SHARE = 0.5
"""The share of its peak that a GPU is assumed to reach: Narayanan et al. (2021, arXiv 2104.04473, table 1) reach 44 to
52 % on A100s. With short batches, padding or fp32 it is lower."""

CPU_SHARE = 0.8
"""The share of the FLOP/s of a plain matrix product (numpy, float32) that a transformer is assumed to reach on a CPU.
On two cores, the whole encoding of 20,000 short texts with all-MiniLM-L6-v2 reached 0.52 (tests/benchmarks/RESULTS.md),
and the layers of BERT base over texts of 256 tokens reached 1.4 (torch has its own matrix products)."""

_BERT_BASE = Shape(12, 768, 3072, 12, 30522, 768, 512)
_XLM_R_BASE = Shape(12, 768, 3072, 12, 250002, 768, 512)
_XLM_R_LARGE = Shape(24, 1024, 4096, 16, 250002, 1024, 512)
_MT5_BASE = Shape(12, 768, 2048, 12, 250112, 768, 512, matrices=3, decoder_layers=12)
_MT5_XL = Shape(24, 2048, 5120, 32, 250112, 2048, 512, matrices=3, decoder_layers=24)
_MT5_XXL = Shape(24, 4096, 10240, 64, 250112, 4096, 512, matrices=3, decoder_layers=24)
_T5_BASE = Shape(12, 768, 3072, 12, 32128, 768, 512, decoder_layers=12)

KNOWN: Mapping[str, Shape] = {
    # Devlin et al. (2019), and the models' config.json.
    "google-bert/bert-base-uncased": _BERT_BASE,
    "google-bert/bert-base-multilingual-cased": replace(_BERT_BASE, vocabulary=119547),
    "neuralmind/bert-base-portuguese-cased": replace(_BERT_BASE, vocabulary=29794),
    "sentence-transformers/all-MiniLM-L6-v2": Shape(6, 384, 1536, 12, 30522, 384, 256),
    # Conneau et al. (2020, arXiv 1911.02116), and the models' config.json.
    "FacebookAI/xlm-roberta-base": _XLM_R_BASE,
    "FacebookAI/xlm-roberta-large": _XLM_R_LARGE,
    # Wang et al. (2024, arXiv 2402.05672): initialised from Multilingual MiniLM, XLM-R base and large.
    "intfloat/multilingual-e5-small": Shape(12, 384, 1536, 12, 250037, 384, 512),
    "intfloat/multilingual-e5-base": _XLM_R_BASE,
    "intfloat/multilingual-e5-large": _XLM_R_LARGE,
    # Xue et al. (2021, arXiv 2010.11934), and the models' config.json; Bonifacio et al. (2021, arXiv
    # 2108.13897) and Jeronymo et al. (2022, arXiv 2209.13738) fine-tuned them to rerank.
    "google/mt5-base": _MT5_BASE,
    "google/mt5-xl": _MT5_XL,
    "google/mt5-xxl": _MT5_XXL,
    "unicamp-dl/mt5-base-mmarco-v2": _MT5_BASE,
    "unicamp-dl/mt5-3B-mmarco-en-pt": _MT5_XL,
    "unicamp-dl/mt5-13b-mmarco-100k": _MT5_XXL,
    # Raffel et al. (2020, arXiv 1910.10683); Nogueira et al. (2020, arXiv 2003.06713).
    "google-t5/t5-base": _T5_BASE,
    "castorini/monot5-base-msmarco": _T5_BASE,
    "castorini/monot5-base-msmarco-10k": _T5_BASE,
}
"""The sizes of public models, by their names on the Hugging Face hub."""


STAND_INS: Mapping[str, tuple[Shape, str]] = {
    "colbert": (_XLM_R_LARGE, "as large as XLM-R large, from which ColBERT-X starts (Nair et al. 2022)"),
    "splade": (
        Shape(6, 768, 3072, 12, 30522, 768, 512),
        "as large as DistilBERT, from which SPLADE v2 starts (Formal et al. 2021)",
    ),
}
"""The shape assumed for each retriever whose model is still to be named (``<yours>``), and the reason for it."""


def known_shape(model: str) -> Shape | None:
    """The sizes of a public model, by its name or by the name of its folder; None for a model not in ``KNOWN``."""
    wanted = model.rstrip("/").rpartition("/")[2].lower()
    return next((shape for name, shape in KNOWN.items() if name.rpartition("/")[2].lower() == wanted), None)


def layer_weights(shape: Shape) -> int:
    """The number of weights in the layers that every token passes: the encoder's, without embeddings and decoder."""
    return shape.layers * (4 * shape.hidden**2 + shape.matrices * shape.hidden * shape.ffn)


def weights(shape: Shape) -> int:
    """The approximate number of weights of a model: layers and embeddings, of both halves of an encoder-decoder."""
    decoder = shape.decoder_layers * (8 * shape.hidden**2 + shape.matrices * shape.hidden * shape.ffn)
    embeddings = shape.vocabulary * shape.hidden * (2 if shape.decoder_layers else 1)
    return layer_weights(shape) + decoder + embeddings


def forward_flops(shape: Shape, tokens: float, sequences: float = 1, *, vocabulary_head: bool = False) -> float:
    """Floating point operations of one forward pass over ``sequences`` texts of ``tokens`` tokens each.

    Per token there are two operations for each weight of the layers, and 4 · tokens · hidden for the attention of each
    layer (Narayanan et al. 2021, arXiv 2104.04473, appendix; Kaplan et al. 2020, arXiv 2001.08361, section 2.1, halve
    the latter for causal models). An encoder-decoder decodes one token: the layers of its decoder compute keys and
    values for all tokens, and everything else for that one token. ``vocabulary_head`` adds a head that computes a
    weight for every vocabulary entry at every token, as in SPLADE.
    """
    hidden = shape.hidden
    token = 2 * layer_weights(shape) + 4 * tokens * hidden * shape.layers
    if vocabulary_head:
        token += 2 * hidden * (hidden + shape.vocabulary)
    once = 0.0
    if shape.decoder_layers:
        token += 4 * hidden**2 * shape.decoder_layers
        block = 2 * (6 * hidden**2 + shape.matrices * hidden * shape.ffn) + 4 * tokens * hidden
        once = shape.decoder_layers * block + 2 * hidden * shape.vocabulary
    return sequences * (tokens * token + once)


def tokens_of(
    characters: float,
    max_tokens: int | None = None,
    sample: Sequence[str] = (),
    count: Callable[[str], int] | None = None,
) -> float:
    """About how many tokens a model reads of a text of ``characters`` characters, at most ``max_tokens``.

    If ``sample`` and ``count`` are given, this is the mean of ``count`` over the sample's texts, each capped at
    ``max_tokens``; otherwise ``characters`` ÷ CHARACTERS_A_TOKEN.
    """
    limit = float("inf") if max_tokens is None else float(max_tokens)
    if count is not None and sample:
        return sum(min(count(text), limit) for text in sample) / len(sample)
    return min(characters / CHARACTERS_A_TOKEN, limit)


@cache
def calibrated_flops() -> float:
    """FLOP/s of a matrix product on this machine, measured once per process for about half a second: in float16 on the
    GPU if torch finds one, else in float32 on all CPU cores."""
    device = _gpu_flops()
    if device is not None:
        return device
    import numpy as np

    left = np.random.default_rng(0).random((1024, 1024), dtype=np.float32)
    return _best(lambda: left @ left, 2 * 1024**3)


def _gpu_flops() -> float | None:
    # Importing torch takes seconds, so it is skipped on a machine without the driver.
    if not Path("/dev/nvidiactl").exists():
        return None
    try:
        import torch

        if not torch.cuda.is_available():
            return None
        left = torch.rand((4096, 4096), device="cuda", dtype=torch.float16)

        def multiply() -> None:
            left @ left
            torch.cuda.synchronize()

        multiply()
        return _best(multiply, 2 * 4096**3)
    except (ImportError, RuntimeError):
        return None


def _best(work: Callable[[], object], flops: float, seconds: float = 0.4) -> float:
    """FLOP/s of the fastest of the runs that fit into ``seconds``; slower runs were disturbed by other work."""
    best, end = float("inf"), time.perf_counter() + seconds
    while True:
        started = time.perf_counter()
        work()
        now = time.perf_counter()
        best = min(best, now - started)
        if now >= end:
            return flops / best


@cache
def core_flops() -> float:
    """FLOP/s of a float32 matrix product in one CPU thread, measured once per process. Used for what is built on one
    thread to be reproducible, even if there are more cores or a GPU."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    left = np.random.default_rng(0).random((512, 512), dtype=np.float32)
    with threadpool_limits(1):
        return _best(lambda: left @ left, 2 * 512**3, seconds=0.1)


READ = 1e9
"""The approximate bytes per second at which vectors are read from disk or main memory."""

LIBRARIES: Mapping[str, int] = {
    "neural": 470 * 2**20,
    "scikit-learn": 140 * 2**20,
    "bm25s": 95 * 2**20,
    "faiss": 40 * 2**20,
    "java": 400 * 2**20,
}
"""Bytes of memory that libraries take once loaded. ``neural`` is torch with transformers; ``java`` includes its process
(tests/benchmarks/bench_plan.py)."""
START: Mapping[str, float] = {"neural": 8.0, "java": 3.0}
"""Seconds to load the libraries together with a small model."""


def seconds_here(flops: float) -> float:
    """The approximate seconds that ``flops`` of a model take on this machine."""
    return flops / (calibrated_flops() * CPU_SHARE)


def gpu_speed(compute: str = "fp16") -> float:
    """FLOP/s that one GPU is assumed to reach."""
    return GPU_PEAK[compute] * GPU_SHARE


def gpu_hours(flops: float, compute: str = "fp16") -> float:
    """Hours that one GPU takes for ``flops`` in the precision ``compute``."""
    return flops / gpu_speed(compute) / 3600


def estimate_forward(
    model: str,
    shape: Shape | None,
    sequences: int,
    tokens: float,
    *,
    unit: str = "passages",
    weight_bytes: int = 4,
    vocabulary_head: bool = False,
) -> Estimate:
    """The estimate for one pass of ``sequences`` texts of ``tokens`` tokens through a model: everything but ``disk``,
    with the arithmetic; ``memory`` is that of the weights. Without a shape only the number of texts is known.
    """
    if shape is None:
        return Estimate(encode=sequences, notes=(f"{model}: its sizes are not known here",))
    flops = forward_flops(shape, tokens, sequences, vocabulary_head=vocabulary_head)
    size = weights(shape)
    layers = 2 * layer_weights(shape)
    a_token = flops / max(sequences * tokens, 1)
    line = (
        f"{_short(model)}: {sequences:,} {unit} × {tokens:,.0f} tokens × (2 × {layers / 2e6:,.0f} M weights + "
        f"{(a_token - layers) / 1e6:,.0f} M for {_other_costs(shape, vocabulary_head)}) = {flops:.2e} FLOP"
    )
    held = f"{_short(model)}: {size / 1e6:,.0f} M weights × {weight_bytes} bytes = {human_bytes(size * weight_bytes)}"
    return Estimate(
        encode=sequences,
        memory=size * weight_bytes,
        device_memory=size * weight_bytes,
        seconds=seconds_here(flops),
        flops=flops,
        arithmetic=(line, held),
    )


def _other_costs(shape: Shape, vocabulary_head: bool) -> str:
    costs = ["attention"]
    if vocabulary_head:
        costs.append("the vocabulary")
    if shape.decoder_layers:
        costs.append("the decoder")
    return " and ".join(costs)


def _short(model: str) -> str:
    return model.rstrip("/").rpartition("/")[2] or model


def human_bytes(size: float) -> str:
    """Formats bytes with about three digits: ``3.81 GiB``."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.3g} {unit}"


def human_seconds(seconds: float) -> str:
    """Formats a duration in its natural unit: ``40 s``, ``12 min``, ``3.4 h``, ``12 days``."""
    if seconds < 1:
        return "< 1 s"
    for limit, unit, size in ((120, "s", 1), (7200, "min", 60), (172800, "h", 3600)):
        if seconds < limit:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 86400:,.0f} days" if seconds >= 864000 else f"{seconds / 86400:.1f} days"


def human_hours(hours: float) -> str:
    """Formats hours with about two digits: ``0.33 h``, ``120 h``."""
    return f"{hours:,.0f} h" if hours >= 10 else f"{hours:.2g} h" if hours >= 0.01 else "< 0.01 h"
