"""The pairs of a pool that a judge graded, with people's grades, and the texts that probes need of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from quati_pool.annotation.evidence import EVIDENCE, evidence_in
from quati_pool.audit.base import Material, PairTexts, SourcePair
from quati_pool.audit.drawing import GradedPairs, draw
from quati_pool.audit.outcomes import Scale
from quati_pool.errors import ConfigError
from quati_pool.judging.pair import Pair
from quati_pool.labels.base import Labeler
from quati_pool.labels.labelers import Grading, StoredLabeler

Key = tuple[str, str]

# How many passages of other queries, and non-answers per query, probes may take words from.
_OFF_TOPIC = 200
_NON_ANSWERS = 8


def people_of(grading: Grading) -> Labeler | None:
    """Who says which pairs are irrelevant: ``people:`` of ``audit:``, all people who graded in the workspace, or else
    its first label file of people; None if nobody graded."""
    config = grading.config
    if config.audit.people is not None:
        return grading.labeler(config.audit.people)
    if grading.people():
        return grading.panel("majority")
    files = [name for name in config.labels.files if grading.labeler(name).kind == "assessor"]
    return grading.labeler(files[0]) if files else None


def read_graded(grading: Grading, judge: Labeler, people: Labeler | None) -> GradedPairs:
    """The pairs of the pool that ``judge`` graded. Raises ConfigError if there are none."""
    query_ids: list[str] = []
    doc_ids: list[str] = []
    by_judge: list[int] = []
    by_people: list[float] = []
    for chunk in grading.pairs():
        theirs = [None] * len(chunk) if people is None else [one.relevance for one in people.graded(chunk)]
        for one, other in zip(judge.graded(chunk), theirs, strict=True):
            if one.relevance is not None:
                query_ids.append(one.query_id)
                doc_ids.append(one.doc_id)
                by_judge.append(one.relevance)
                by_people.append(np.nan if other is None else other)
    if not query_ids:
        raise ConfigError(f"{judge.name} has graded no pair of the pool; judge first: quati-pool judge {judge.name}")
    return GradedPairs(query_ids, doc_ids, np.array(by_judge, dtype=np.float64), np.array(by_people, dtype=np.float64))


def read_pairs(grading: Grading, wanted: Collection[Key]) -> dict[Key, SourcePair]:
    """These pairs with their texts, and the evidence that people marked in them."""
    people = grading.people()
    found = {}
    for chunk in grading.pairs():
        pairs = [pair for pair in chunk if (pair.query_id, pair.doc_id) in wanted]
        evidence = _evidence(people, pairs)
        for pair in pairs:
            key = (pair.query_id, pair.doc_id)
            shown = PairTexts(pair.query, pair.text, pair.narrative)
            found[key] = SourcePair(*key, shown, evidence_in(pair.text, evidence.get(key)))
    return found


def _evidence(people: Iterable[StoredLabeler], pairs: list[Pair]) -> Mapping[Key, object]:
    """The evidence of the first person who marked any, as stored, by pair."""
    found: dict[Key, object] = {}
    for person in people if pairs else ():
        for pair, labels in zip(pairs, person.behind(pairs), strict=True):
            for label in labels.values():
                if EVIDENCE in label.extra:
                    found.setdefault((pair.query_id, pair.doc_id), label.extra[EVIDENCE])
    return found


def read_material(grading: Grading, pairs: GradedPairs, scale: Scale, seed: int) -> Material:
    """Texts of the pool from which probes make others: drawn like the pairs that are changed."""
    everything = draw(pairs, "any", scale, scale.answers_from, seed).places
    off_topic = {_key(pairs, place) for place in everything[:_OFF_TOPIC].tolist()}
    unanswered = np.where(np.isnan(pairs.people), pairs.judge, pairs.people) < scale.answers_from
    non_answers: dict[str, list[Key]] = {}
    for place in everything[unanswered[everything]].tolist():
        keys = non_answers.setdefault(pairs.query_ids[place], [])
        if len(keys) < _NON_ANSWERS:
            keys.append(_key(pairs, place))
    texts = read_pairs(grading, {*off_topic, *(key for keys in non_answers.values() for key in keys)})
    return Material(
        [(query_id, texts[query_id, doc_id].shown.text) for query_id, doc_id in sorted(off_topic)],
        {query_id: [(key[1], texts[key].shown.text) for key in keys] for query_id, keys in non_answers.items()},
        {one.query_id: (one.shown.query, one.shown.narrative) for one in texts.values()},
    )


def _key(pairs: GradedPairs, place: int) -> Key:
    return pairs.query_ids[place], pairs.doc_ids[place]
