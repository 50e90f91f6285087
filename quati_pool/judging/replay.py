"""The judge ``replay``: gives the grades in a label file, by people or another tool, as its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from quati_pool.files.artifacts import file_digest
from quati_pool.files.qrels import read_judgements
from quati_pool.judging import base
from quati_pool.judging.pair import Pair
from quati_pool.judging.verdict import Verdict
from quati_pool.records import State


class ReplayParameters(base.Parameters):
    path: Annotated[str, Field(description="TREC qrels, or a TSV of labels; relative to pool.yaml")]


class Replay(base.Judge):
    """Gives the grades of a file. A pair that is not in the file fails, since a missing grade is not a 0."""

    id = "judge/replay"
    summary = "grades from a file: TREC qrels, or a TSV with query_id, doc_id and relevance"
    example = "path: gold.qrels"
    Parameters = ReplayParameters
    by_content = False
    parameters: ReplayParameters

    def __init__(self, parameters: ReplayParameters, setting: base.Setting) -> None:
        super().__init__(parameters, setting)
        self._path = setting.folder / parameters.path
        graded = read_judgements(self._path)
        query_ids = graded.queries.decode(graded.query).to_pylist()
        doc_ids = graded.docs.decode(graded.doc).to_pylist()
        self._grades = dict(zip(zip(query_ids, doc_ids, strict=True), graded.relevance.tolist(), strict=True))

    def identity(self) -> dict[str, Any]:
        return {"file": file_digest(self._path), "grades": sorted(self.setting.grades)}

    def grade(self, pairs: Sequence[Pair]) -> list[Verdict]:
        return [self._verdict(pair) for pair in pairs]

    def _verdict(self, pair: Pair) -> Verdict:
        grade = self._grades.get((pair.query_id, pair.doc_id))
        name = self._path.name
        if grade is None:
            return Verdict(State.failed, problem=f"{name} has no grade for this pair")
        if grade not in self.setting.grades:
            return Verdict(State.off_scale, problem=f"{name} says {grade}, which is not on the scale")
        return Verdict(State.ok, grade, f"from {name}")
