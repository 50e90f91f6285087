"""A third design in one file: a heading for each text, and a second person who says how good it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field as Setting

from quati_pool.annotation.authoring.base import Design, Field, Made, Parameters, Round, Source, Step
from quati_pool.store.authoring_records import Entry, Item, Wanted


class TinyParameters(Parameters):
    """What is asked."""

    words: Annotated[str, Setting(description="what is asked for")] = "A heading"


class Tiny(Design[TinyParameters]):
    id = "authoring/tiny"
    unit = "text"
    Parameters = TinyParameters
    summary = "a heading for each text, rated by another person"

    def __init__(self, parameters: TinyParameters, languages: Sequence[str], seed: int) -> None:
        super().__init__(parameters, languages, seed)
        heading = Field("heading", "line", parameters.words, languages[0], most=40, unlike_others=True)
        marked = Field("words", "spans", "The words behind it", required=False)
        rating = Field("rating", "scale", "How good is it?", values=("1", "5"))
        self.rounds = {
            "head": Round("head", (Step("head", ("text",), (heading, marked)),), refusals=("empty",)),
            "rate": Round("rate", (Step("rate", ("text", "heading"), (rating,)),), apart="item"),
        }

    def first(self, source: Source) -> Made:
        return Made("text", source.source_id, {"text": next(iter(source.text.values()))})

    def wanted(self, item: Item, entries: Sequence[Entry]) -> Wanted:
        if any(entry.action == "refused" for entry in entries):
            return Wanted(frozenset({("head", 1)}), "out", entries[-1].reason)
        done = {entry.round for entry in entries}
        tasks = {("head", 1)} | ({("rate", 1)} if "head" in done else set())
        return Wanted(frozenset(tasks), "kept" if "rate" in done else "open")

    def shown(self, step: Step, item: Item, parent: Item | None, entries: Sequence[Entry]) -> dict[str, Any]:
        known: Mapping[str, Any] = {**item.content, **{k: v for entry in entries for k, v in entry.content.items()}}
        return {name: known[name] for name in step.shows}

    def record(self, item: Item, parent: Item | None, entries: Sequence[Entry]) -> dict[str, Any] | None:
        said = {k: v for entry in entries for k, v in entry.content.items()}
        return {"kind": "text", "item_id": item.item_id, "source_id": item.source_id, **item.content, **said}
