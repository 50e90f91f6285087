"""Blocks for rating: each finished question with one of another set, so that people say how natural both are without
knowing which is which."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quati_pool.annotation.authoring.romqa import BLOCK, QUERY, SIDES, Romqa, RomqaParameters
from quati_pool.commands.annotate.authoring.records import Record, Records
from quati_pool.errors import ConfigError, InputError
from quati_pool.files.problems import quoted
from quati_pool.files.queries import read_queries
from quati_pool.project.config import PoolConfig
from quati_pool.stats.hashing import hashes, places
from quati_pool.store.authoring_records import Item, NewItem
from quati_pool.text.typed import UnprintableError, has_words, typed_line


@dataclass(frozen=True)
class AddedBlocks:
    """What was added for rating, with questions of the set ``name``, for ``raters`` people each.

    ``questions`` are the finished ones, of which ``there`` had a block already, and ``waiting`` are of clusters in
    which something is still to be written or verified. ``unpaired`` found no question in the other set, which has
    ``unused`` left.
    """

    name: str
    raters: int
    added: int
    there: int
    questions: int
    waiting: int
    unpaired: int
    unused: int


def other_questions(config: PoolConfig) -> dict[str, str]:
    """The questions of the other set, on one line each, by id.

    Raises ConfigError where pool.yaml names none, and InputError for a file that cannot be read and a question without
    words or with control characters.
    """
    parameters = config.authoring.parameters if config.authoring is not None else None
    compare = parameters.compare if isinstance(parameters, RomqaParameters) else None
    if compare is None:
        example = "compare: {path: other.tsv, name: RoMQA}"
        raise ConfigError(f"{config.path}: authoring: there is no set to compare the questions with; add  {example}")
    path = config.folder / compare.path
    found = {}
    for query in read_queries(path):
        try:
            found[query.query_id] = typed_line(" ".join(query.query.split()))
        except UnprintableError:
            problem = f"the question {quoted(query.query_id)} holds control characters; remove them"
            raise InputError(path, None, problem) from None
        if not has_words(found[query.query_id]):
            raise InputError(path, None, f"the question {quoted(query.query_id)} has no words; remove it")
    return found


def _check_same_set(config_path: Path, blocks: Iterable[Item], others: Mapping[str, str]) -> None:
    """Raises ConfigError if a block shows a question that the other set does not have: the ratings of two sets would be
    those of one."""
    for block in blocks:
        other_id, questions = block.content["other_id"], block.content["questions"]
        theirs = next(questions[side] for side in SIDES if side != block.content["ours"])
        if others.get(other_id) != theirs:
            raise ConfigError(
                f"{config_path}: authoring: compare: path: the question {quoted(other_id)} ({quoted(theirs)}), which "
                "people rate, is not in that file, or has other words there; put back the file that the questions are "
                "compared with"
            )


def new_blocks(records: Records, design: Romqa, others: Mapping[str, str]) -> tuple[list[NewItem], AddedBlocks]:
    """The blocks of finished questions that have none, with questions of the other set that are in none: both in the
    order of hashes of the seed, as many as both have. A question stays as it is once it is finished, so it needs one
    block only. Raises ConfigError if there are blocks with questions of yet another set."""
    compare = design.parameters.compare
    assert compare is not None, "other_questions refuses collections without"
    blocks = [item for item in records.items.values() if item.kind == BLOCK]
    _check_same_set(records.config.path, blocks, others)
    paired = {item.parent_id for item in blocks}
    used = {item.content["other_id"] for item in blocks}
    kept = {one["query_id"]: one for one in records.of(QUERY, kept=True)}
    unsettled = {
        item.content["cluster_id"] for item in records.items.values() if item.kind == QUERY and item.state == "open"
    }
    settled = [one for one in kept.values() if one["cluster_id"] not in unsettled]
    new = {one["query_id"] for one in settled if one["item_id"] not in paired}
    unused = others.keys() - used
    pairs = zip(
        _ordered("block", design.seed, new),
        _ordered("block of the other set", design.seed, unused),
        strict=False,
    )
    items = [_block(design, kept[query_id], other_id, others[other_id]) for query_id, other_id in pairs]
    found = AddedBlocks(
        compare.name,
        design.parameters.raters,
        len(items),
        sum(one["item_id"] in paired for one in kept.values()),
        len(kept),
        sum(one["cluster_id"] in unsettled and one["item_id"] not in paired for one in kept.values()),
        len(new) - len(items),
        len(unused) - len(items),
    )
    return items, found


def _block(design: Romqa, record: Record, other_id: str, other: str) -> NewItem:
    query_id = record["query_id"]
    ours = SIDES[int(hashes("side of a block", design.seed, [query_id])[0]) % 2]
    questions: dict[str, Any] = {side: record["question"] if side == ours else other for side in SIDES}
    content = {"questions": questions, "ours": ours, "other_id": other_id}
    return NewItem(BLOCK, query_id, content, design.place(query_id), record["item_id"])


def _ordered(purpose: str, seed: int, ids: Collection[str]) -> list[str]:
    known = list(ids)
    return [known[place] for place in places(hashes(purpose, seed, known), known).tolist()]
