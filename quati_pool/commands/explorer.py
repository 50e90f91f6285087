"""The content of the explorer: the pairs of a collection, query by query, with what their labelers said of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from quati_pool.commands.report import State
from quati_pool.judging.pair import Pair
from quati_pool.labels.base import Graded, Labeler
from quati_pool.labels.labelers import Grading
from quati_pool.records import State as LabelState
from quati_pool.store.label_queries import rationales_of
from quati_pool.store.records import CurrentLabel


@dataclass(frozen=True)
class Detail:
    """What is known of a label besides its grade.

    ``state`` is that of a label without a grade; ``reasons`` are a judge's, one for each sample that has another;
    ``note`` is a person's, ``why`` the reason why a person could not judge the pair. ``cut``: the judge was shown a
    truncated passage; ``revealed``: a person's second label, given after seeing a judge's grade.
    """

    state: LabelState | None
    samples: tuple[int, ...]
    reasons: tuple[str, ...]
    note: str | None
    why: str | None
    cut: bool
    revealed: bool

    def __bool__(self) -> bool:
        return self.state is not None or bool(
            self.samples or self.reasons or self.note or self.why or self.cut or self.revealed
        )


@dataclass(frozen=True)
class QueryPairs:
    """The pooled pairs of a query, in the pool's order. ``details`` has, for each labeler of the state's ``gathered``,
    that of each pair, None where there is nothing more than a grade."""

    query_id: str
    pairs: Sequence[Pair]
    details: Sequence[Sequence[Detail | None]]


def pairs_by_query(state: State) -> Iterator[QueryPairs]:
    """The pairs of each query, in the pool's order."""
    grading = state.grading
    # Of a label file nothing is known but grades.
    labelers = [grading.labeler(source.name) if source.origin is None else None for source in state.gathered.sources]
    for chunk in grading.pairs():
        details = [
            [None] * len(chunk) if labeler is None else _details(grading, labeler, chunk) for labeler in labelers
        ]
        for query_id, numbered in groupby(enumerate(chunk), lambda one: one[1].query_id):
            places = [place for place, _ in numbered]
            yield QueryPairs(
                query_id, [chunk[place] for place in places], [[of[place] for place in places] for of in details]
            )


def _details(grading: Grading, labeler: Labeler, pairs: Sequence[Pair]) -> list[Detail | None]:
    behind = labeler.behind(pairs)
    seqs = (label.seq for labels in behind for label in labels.values())
    reasons = rationales_of(grading.store, seqs)
    return [
        _detail(labeler, graded, [*labels.values()], reasons) or None
        for graded, labels in zip(labeler.graded(pairs), behind, strict=True)
    ]


def _detail(labeler: Labeler, graded: Graded, labels: Sequence[CurrentLabel], reasons: dict[int, str]) -> Detail:
    answered = [label for label in labels if label.status in (LabelState.ok, LabelState.unsure)]
    said = tuple(dict.fromkeys(reasons[label.seq] for label in answered if label.seq in reasons))
    person = labeler.kind == "assessor"
    why = next((str(label.extra["reason"]) for label in answered if label.extra.get("reason")), None)
    return Detail(
        graded.status if graded.relevance is None else None,
        graded.samples,
        () if person else said,
        "\n\n".join(said) or None if person else None,
        why if person else None,
        graded.cut,
        graded.revealed,
    )
