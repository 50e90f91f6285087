"""The step ``segment``: cuts pages into passages of about a given length, at the ends of paragraphs and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from quati_pool.errors import MissingExtraError
from quati_pool.preparation.base import Cutter, DropReasons
from quati_pool.preparation.base import Parameters as StepParameters
from quati_pool.preparation.batch import Batch
from quati_pool.preparation.cutting import cuts


class Segment(Cutter):
    """Cuts pages into passages with ``cutting.cuts``, and strips the white space around each.

    A piece of only white space, which occurs only for a page without text, is not a passage; ``index`` counts the
    passages. The passages of a page depend only on its own text.
    """

    id = "preparation/segment"
    summary = "cuts pages into passages of about a length, at the ends of paragraphs and sentences"

    class Parameters(StepParameters):
        characters: Annotated[int, Field(ge=1, description="the length aimed at, in characters")] = 1000
        tolerance: Annotated[
            int,
            Field(ge=0, description="how much shorter or longer a passage may be; a page's last may be shorter still"),
        ] = 200
        overlap: Annotated[
            int, Field(ge=0, description="about how many characters of a passage are repeated at the start of the next")
        ] = 0
        min_characters: Annotated[
            int | None,
            Field(ge=0, description="shortest last passage of a page, where tolerance allows it; null: any length"),
        ] = None

        @model_validator(mode="after")
        def _fit(self) -> Segment.Parameters:
            if self.tolerance >= self.characters:
                raise ValueError(
                    f"tolerance {self.tolerance} allows passages of no length; "
                    f"expected less than characters, {self.characters}"
                )
            shortest = self.characters - self.tolerance
            if self.overlap > shortest // 2:
                raise ValueError(
                    f"overlap {self.overlap} leaves too little that is new; "
                    f"expected at most half of the shortest passage, {shortest // 2}"
                )
            if (self.min_characters or 0) > shortest:
                raise ValueError(
                    f"min_characters {self.min_characters} is more than other passages have; "
                    f"expected at most characters less tolerance, {shortest}"
                )
            return self

    parameters: Parameters

    @classmethod
    def require(cls) -> None:
        try:
            import regex  # noqa: F401
        except ImportError:
            raise MissingExtraError("the step segment", "prepare", "regex") from None

    def key(self) -> dict[str, Any]:
        from importlib.metadata import version

        return {"regex": version("regex")}

    @property
    def reasons(self) -> Sequence[str]:
        return ("no text",)

    def cut(self, batch: Batch) -> tuple[Batch, DropReasons]:
        wanted = self.parameters
        settings = (wanted.characters, wanted.tolerance, wanted.overlap, wanted.min_characters or 0)
        texts: list[str] = []
        counts = np.zeros(len(batch), dtype=np.int64)
        for row, text in enumerate(batch.text):
            passages = [passage for start, end in cuts(text, *settings) if (passage := text[start:end].strip())]
            counts[row] = len(passages)
            texts += passages
        rows = np.repeat(np.arange(len(batch)), counts)
        index = np.arange(len(texts)) - np.repeat(np.cumsum(counts) - counts, counts)
        codes = (counts == 0).astype(np.int16)

        def detail(row: int) -> str:
            return f"{len(batch.text[row]):,} characters, all white space" if batch.text[row] else "empty"

        return batch.cut(rows, index, texts), DropReasons(codes, detail)
