"""The designs by which pairs were chosen for people to grade, as files of a release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from quati_pool.files.label_files.cells import escaped
from quati_pool.release.card import Part
from quati_pool.release.output import Output
from quati_pool.release.state import ReleasedDesign
from quati_pool.store.records import NO_SAMPLE

SELECTIONS, DESIGNS = "design.tsv", "designs.json"

_COLUMNS = ("design_id", "method", "seed", "query_id", "doc_id", "stratum", "inclusion", "replicates")
# The names of the people whom pairs were given to; who graded is in the labels.
_NAMES = ("to", "person")

NOTES = [
    "design.tsv lists the pairs that were chosen for people to grade, each with its stratum, its inclusion probability "
    "(empty where pairs were not drawn) and the number of people who were to grade it (replicates).",
    "designs.json says how each design was drawn: the seed, the pairs drawn from (frame: their number and the SHA-256 "
    "of their ids), and for each stratum the number of pairs, of those selected, and the inclusion probability (the "
    "mean where each pair has its own). Its sampling is poisson (pairs drawn independently of each other), fixed-size "
    "(simple random sampling without replacement within strata, of pairs or of queries with all their pairs), or null "
    "where pairs were not drawn at random.",
]
"""What the data card says about the files."""


def write_designs(designs: Sequence[ReleasedDesign], output: Output) -> list[Part]:
    """Writes ``design.tsv``, a row for each selected pair of each design, and ``designs.json``; returns the parts for
    the data card. Without designs it writes nothing."""
    if not designs:
        return []
    rows = output.lines(SELECTIONS, _lines(designs)) - 1
    output.wrote(SELECTIONS, rows)
    output.json(DESIGNS, [_described(one) for one in designs])
    return [Part(SELECTIONS, None, rows)]


def _lines(designs: Sequence[ReleasedDesign]) -> Iterator[str]:
    yield "\t".join(_COLUMNS)
    for design, selections in designs:
        for query_id, doc_id, stratum, inclusion, replicates in selections:
            probability = "" if design.method in NO_SAMPLE else inclusion
            known = (design.design_id, design.method, design.seed, query_id, doc_id, escaped(stratum))
            yield "\t".join(map(str, (*known, probability, replicates)))


def _described(released: ReleasedDesign) -> dict[str, Any]:
    design = released.design
    strata = {
        name: {"pairs": pairs, "selected": selected, "inclusion": None if design.method in NO_SAMPLE else inclusion}
        for name, (pairs, selected, inclusion) in design.strata.items()
    }
    return {
        "design_id": design.design_id,
        "method": design.method,
        "sampling": ("poisson" if design.poisson else "fixed-size") if design.is_random else None,
        "seed": design.seed,
        "frame_sha": design.frame_sha,
        "frame_pairs": design.frame_pairs,
        "selected": len(released.selections),
        "strata": strata,
        "parameters": {name: value for name, value in design.parameters.items() if name not in _NAMES},
    }
