"""Runs a filter over rows, whole or cut in batches, and names why each row goes."""

import csv
import pickle
from collections.abc import Sequence

import numpy as np

from quati_pool.preparation.base import KEPT, Filter
from quati_pool.preparation.batch import WHOLE, Batch
from tests.shared_data import shared


def rows(texts: Sequence[str], urls: Sequence[str] | None = None, languages: Sequence[str] | None = None) -> Batch:
    n = len(texts)
    place = np.arange(n)
    return Batch(
        doc_id=[f"d{number}" for number in range(n)],
        url=[""] * n if urls is None else list(urls),
        language=[""] * n if languages is None else list(languages),
        text=list(texts),
        page=place,
        index=np.full(n, WHOLE, dtype=np.int64),
        file=np.zeros(n, dtype=np.int64),
        line=place + 1,
    )


def reasons(step: Filter, batch: Batch) -> list[str]:
    """Why each row goes; empty for those that stay."""
    verdicts = step.apply(batch)
    assert verdicts.codes.dtype == np.int16
    assert verdicts.codes.shape == (len(batch),)
    names = ["", *step.reasons]
    for row in np.flatnonzero(verdicts.codes != KEPT).tolist():
        detail = verdicts.detail(row)
        assert detail
        assert len(detail) <= 200
        assert detail.isprintable()
    return [names[code] for code in verdicts.codes]


def reasons_in_pieces(step: Filter, batch: Batch, size: int) -> list[str]:
    """The same, from a copy of the step that travelled to another process and sees ``size`` rows at a time."""
    travelled: Filter = pickle.loads(pickle.dumps(step))
    found: list[str] = []
    for start in range(0, len(batch), size):
        found += reasons(travelled, batch.take(np.arange(start, min(start + size, len(batch)))))
    return found


def quati_passages() -> list[str]:
    """The different passages of the paper's annotators, longer than a line; skips where they are not at hand."""
    found = set()
    for number in ("01", "02"):
        with shared(f"quati/annotator_{number}_240_annotations_with_questions.tsv").open(encoding="utf-8") as file:
            found |= {row["passage"] for row in csv.DictReader(file, delimiter="\t")}
    return sorted(passage for passage in found if len(passage) > 300)
