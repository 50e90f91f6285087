"""Exports the pairs of the pool and the labels of the scale, for grading in a doccano text classification project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from quati_pool.errors import ConfigError
from quati_pool.files.label_files.grades import Grader
from quati_pool.files.pools import PooledPair, read_pool_rows
from quati_pool.files.problems import RowError, quoted
from quati_pool.registry import nearest
from quati_pool.release import base
from quati_pool.release.checks import graded
from quati_pool.release.errors import ReleaseError
from quati_pool.release.output import Output
from quati_pool.release.state import Release

# doccano's limit.
_LONGEST_LABEL = 100
_LEFT_OUT = "grades outside the pool left out"


class DoccanoParameters(base.Parameters):
    labeler: Annotated[
        str | None, Field(description="the released labeler whose grades to include; by default none, for new grading")
    ] = None


class Doccano(base.Format):
    """Writes ``pairs.jsonl``, to be imported as JSONL (text ``text``, label ``label``), and ``labels.json``, to be
    imported as labels, with digits as shortcut keys.

    A pair's ``text`` is the query, its narrative if there is one, and the passage, separated by empty
    lines; ids, query and passage are further fields, which doccano exports again. A pair without a grade has no
    label and remains to be graded. Grades of pairs outside the pool are left out and counted.
    """

    id = "export/doccano"
    name = "doccano"
    summary = "pairs and labels to grade in doccano (text classification)"
    Parameters = DoccanoParameters
    needs_grades = False
    # Its pairs are read by those who grade them.
    publishes_texts = False
    parameters: DoccanoParameters

    def fill(self, release: Release, output: Output) -> dict[str, Any]:
        _check_names(release)
        grades = self._grades(release)
        narratives = {query.query_id: query.narrative for query in release.queries}
        left = dict(grades)

        def rows() -> Iterator[dict[str, Any]]:
            for _, pair in read_pool_rows(release.pool):
                grade = left.pop((pair.query_id, pair.doc_id), None)
                label = [] if grade is None else [release.grades[grade]]
                yield _row(pair, narratives.get(pair.query_id), label)

        pairs = output.records("pairs.jsonl", rows())
        if len(left) > self._outside(release):
            query_id, doc_id = next(iter(left))
            raise ReleaseError(
                f"labeler {quoted(self.parameters.labeler or '')} grades {quoted(query_id)} {quoted(doc_id)}, which "
                f"{release.pool.name} does not hold ({len(left):,} such pairs); name the pool they were graded in"
            )
        output.json("labels.json", [_label(grade, name) for grade, name in sorted(release.grades.items())])
        counts = {"pairs": pairs, "graded": len(grades) - len(left), "labels": len(release.grades)}
        return {**counts, _LEFT_OUT: len(left)} if left else counts

    def _outside(self, release: Release) -> int:
        """The number of the chosen labeler's grades that are known to be of pairs outside the pool."""
        return sum(one.outside for one in release.labelers if one.labeler == self.parameters.labeler)

    def _grades(self, release: Release) -> dict[tuple[str, str], int]:
        wanted = self.parameters.labeler
        if wanted is None:
            return {}
        for labelled in release.labelers:
            if labelled.labeler == wanted:
                return dict(graded(labelled.qrels))
        known = [labelled.labeler for labelled in release.labelers]
        raise ConfigError(f"there is no labeler {wanted!r} in this release; {nearest(wanted, known)}")


def _check_names(release: Release) -> None:
    """Raises ReleaseError for a grade's name that doccano does not accept, or from which the grade could not be
    recovered when the labels are imported again."""
    grader = Grader(release.grades)
    for grade, name in release.grades.items():
        if not name.strip() or len(name) > _LONGEST_LABEL:
            raise ReleaseError(
                f"the name of grade {grade} has {len(name)} characters, and doccano takes 1 to {_LONGEST_LABEL}; "
                "rename it under grades: in pool.yaml"
            )
        try:
            readable = grader.grade(name) == grade
        except RowError:
            readable = False
        if not readable:
            raise ReleaseError(
                f"the name {quoted(name)} of grade {grade} could not be read back as that grade: another has it too, "
                "or it is a number; rename it under grades: in pool.yaml"
            )


def _row(pair: PooledPair, narrative: str | None, label: list[str]) -> dict[str, Any]:
    text = "\n\n".join([pair.query, *([narrative] if narrative else []), pair.text])
    return {
        "text": text, "label": label, "query_id": pair.query_id, "doc_id": pair.doc_id,
        "query": pair.query, "passage": pair.text,
    }  # fmt: skip


def _label(grade: int, name: str) -> dict[str, Any]:
    return {"text": name, "suffix_key": str(grade)} if 0 <= grade <= 9 else {"text": name}
