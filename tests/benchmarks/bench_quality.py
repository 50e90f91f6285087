"""All rules of the step ``quality`` on passages of 1,000 characters, beside datatrove's Gopher filters.

The passages hold common Portuguese words and made-up rare ones with the frequencies of running text (Zipf's law);
one in ten is spoilt by repetition. datatrove's filters split at white space here, as ours do: its own tokenisers,
which need further packages, are left out and would add to its time.

Run from the checkout: python -m tests.benchmarks.bench_quality
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np
from datatrove.data import Document
from datatrove.pipeline.filters import gopher_quality_filter, gopher_repetition_filter

from quati_pool.preparation.batch import Batch
from quati_pool.preparation.quality_rules.characters import classes, lower_case
from quati_pool.preparation.quality_rules.presets import RULES
from quati_pool.preparation.quality_rules.stop_words import list_of
from quati_pool.preparation.steps.quality import Quality, QualityParameters

SYLLABLES = "ca de ri mo ta ção pe lo na men to bra si lei ro gu ra ve zes pa ís te li não cu no"
COMMON = "os as no na se por mais foi ao como à sua ou quando muito nos já"
PORTUGUESE = list_of("pt") or ()


def passages(count: int, seed: int = 0) -> list[str]:
    chance = random.Random(seed)
    syllables = SYLLABLES.split()
    rare = ["".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(20_000)]
    words = [*PORTUGUESE, *COMMON.split(), *rare]
    # Zipf's law: the n-th word comes about 1 / n as often as the first.
    weights = np.cumsum(1 / (np.arange(len(words)) + 5.0))
    made = []
    for number in range(count):
        draws = np.searchsorted(weights, np.array([chance.random() for _ in range(260)]) * weights[-1]).tolist()
        text = " ".join(words[draw] + ("." if place % 13 == 12 else "") for place, draw in enumerate(draws))[:1000]
        if number % 10 == 0:
            text = (text[: 1000 - 20 * (number % 40)] + (" " + text[:60]) * 20)[:1000]
        made.append(text)
    return made


def batch(texts: list[str]) -> Batch:
    zeros, blank = np.zeros(len(texts), dtype=np.int64), [""] * len(texts)
    return Batch(blank, blank, blank, texts, zeros, zeros, zeros, zeros)


def seconds(function: Callable[[], int], repeat: int) -> tuple[float, int]:
    """The median of the processor's seconds, which other programs change less than the clock's, and the answer."""
    taken = []
    for _ in range(repeat):
        started = time.process_time()
        kept = function()
        taken.append(time.process_time() - started)
    return statistics.median(taken), kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=5000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    texts = passages(options.passages)
    started = time.process_time()
    classes()
    lower_case()
    print(f"tables of characters, once a process: {time.process_time() - started:.2f} s")
    step = Quality(QualityParameters(language="pt"))
    step.check()
    for module in (gopher_quality_filter, gopher_repetition_filter):
        module.split_into_words = lambda text, language: text.split()
    wording = gopher_quality_filter.GopherQualityFilter(stop_words=list(PORTUGUESE))
    repetition = gopher_repetition_filter.GopherRepetitionFilter()
    documents = [Document(text=text, id="d") for text in texts]

    def ours() -> int:
        return sum(
            int(np.count_nonzero(step.apply(batch(texts[first : first + 500])).codes == 0))
            for first in range(0, len(texts), 500)
        )

    def theirs() -> int:
        return sum(wording.filter(document) is True and repetition.filter(document) is True for document in documents)

    def their_wording() -> int:
        return sum(wording.filter(document) is True for document in documents)

    judges = {"quality": ours, "datatrove": theirs, "datatrove, GopherQualityFilter alone": their_wording}
    for name, function in judges.items():
        taken, kept = seconds(function, options.repeat)
        each = taken / len(texts)
        print(f"| {name} | {1 / each:,.0f} passages/s | {each * 1000:.3f} ms each | {kept} kept |")
    words = " ".join(texts).split()
    long = " ".join(random.Random(1).choices(words, k=1_800_000))[:10_000_000]
    bounds: dict[str, object] = {rule.key: 1.0 if rule.share else None for rule in RULES}
    every = Quality(QualityParameters.model_validate(bounds | {"min_alphabetic_words": 0, "min_letters": 0}))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    every.apply(batch([long]))
    taken = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"a page of {len(long):,} characters, every rule of repetition: {taken:.1f} s, ", end="")
    print(f"{(peak - before) / 2**10:.0f} MB more than the {before / 2**10:.0f} MB before")


if __name__ == "__main__":
    main()
