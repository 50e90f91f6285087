"""The random designs that drew the pairs of labelers: those by which people got their pairs, and those of label files
that are samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from quati_pool.agreement.pair_designs import PairDesign, PairProbabilities
from quati_pool.labels.gathered import LabelSource
from quati_pool.records import Sample

# The store is imported only where it is read: label files do not need it.
if TYPE_CHECKING:
    from quati_pool.store.database import Store
    from quati_pool.store.designs import Designs
    from quati_pool.store.records import Design, FramePair, Selection


def with_designs(sources: Sequence[LabelSource], store: Store, collection: str) -> list[LabelSource]:
    """The same sources with the random designs in whose slots the people behind their grades graded; without designs
    where none could change a figure, as all pairs have one probability."""
    from quati_pool.store.designs import Designs
    from quati_pool.store.drawn_labels import designs_of_people

    designs = Designs(store, collection)
    random = {one.design_id: one for one in designs.all() if one.is_random and one.design_id is not None}
    if all(map(_equal, random.values())) and len({one.frame_sha for one in random.values()}) < 2:
        return list(sources)
    by_person = designs_of_people(store, collection)
    of_source = [_of_source(source, by_person).intersection(random) for source in sources]
    wanted = sorted(set().union(*of_source))
    # A single design's frame is never looked up: weights need only the pairs that it drew.
    read = {key: _read(designs, random[key], with_frame=len(wanted) > 1) for key in wanted}
    return [
        replace(source, designs=tuple(read[key] for key in sorted(keys)))
        for source, keys in zip(sources, of_source, strict=True)
    ]


def sampled_file(name: str, sample: Sample) -> PairDesign:
    """The design of a label file that is a sample. Of strata in each query (sampled qrels), pairs are drawn with a
    fixed size; a file of probabilities (prels) does not say how, and its pairs count as drawn independently."""
    frame = sample.frame
    if sample.stratum is None:
        assert sample.inclusion is not None, "a sample has strata or probabilities"
        inclusion, stratum = sample.inclusion, np.zeros(len(frame), dtype=np.int64)
        drawn = np.flatnonzero(inclusion > 0)
    else:
        stratum = np.unique(np.stack([frame.query, sample.stratum]), axis=1, return_inverse=True)[1].ravel()
        judged = frame.relevance >= 0
        inclusion = (np.bincount(stratum, weights=judged) / np.bincount(stratum))[stratum]
        drawn = np.flatnonzero(judged)
    return PairDesign(
        key=f"file {name}",
        name=f"the sample of {name}",
        drawn=PairProbabilities(
            frame.queries.decode(frame.query[drawn]).to_pylist(),
            frame.docs.decode(frame.doc[drawn]).to_pylist(),
            [str(code) for code in stratum[drawn].tolist()],
            inclusion[drawn],
        ),
        poisson=sample.stratum is None,
        frame_key=f"file {name}",
    )


def _of_source(source: LabelSource, by_person: Mapping[str, frozenset[int]]) -> frozenset[int]:
    """The designs behind a source's grades: a panel's are those of its members."""
    names = source.members or {source.name}
    return frozenset().union(*(by_person.get(name, frozenset()) for name in names))


def _equal(design: Design) -> bool:
    """Whether a design gives all pairs of its frame one probability, whatever its strata are."""
    return design.method in ("all", "random")


def _read(designs: Designs, design: Design, *, with_frame: bool) -> PairDesign:
    assert design.design_id is not None, "a stored design has a number"
    selected = designs.selections(design.design_id)
    frame = designs.frame(design.design_id) if with_frame else None
    return PairDesign(
        key=f"design {design.design_id:09}",
        name=f"design {design.design_id}, {design.method}",
        drawn=_probabilities(selected),
        poisson=design.poisson,
        whole_queries=design.method == "random-queries",
        seed=design.seed,
        frame=None if frame is None else _probabilities(frame),
        frame_key=design.frame_sha,
        equal_in_frame=_equal(design),
    )


def _probabilities(pairs: Sequence[Selection] | Sequence[FramePair]) -> PairProbabilities:
    return PairProbabilities(
        [one.query_id for one in pairs],
        [one.doc_id for one in pairs],
        [one.stratum for one in pairs],
        np.array([one.inclusion for one in pairs], dtype=np.float64),
    )
