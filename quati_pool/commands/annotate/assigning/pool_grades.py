"""Grades of the pool's pairs by judges and people, as an assignment reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import QuatiPoolError
from quati_pool.labels.base import PRECEDENCE, Graded, Labeler
from quati_pool.labels.consensus import PanelAnswer
from quati_pool.labels.qrels import nothing_graded
from quati_pool.project.config import HybridConfig, JudgeConfig, PeopleConfig
from quati_pool.text.pluralize import listed

Values = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True, eq=False)
class JudgedPool:
    """A labeler, and its grade of each pair of the pool; ``graded`` is None for a pair that the pool lost meanwhile."""

    labeler: Labeler
    graded: Sequence[Graded | None]

    @cached_property
    def grades(self) -> list[int | None]:
        """The grade of each pair, None without one."""
        return [None if one is None else one.relevance for one in self.graded]

    @property
    def version(self) -> str | None:
        return self.labeler.version

    def samples(self) -> Values:
        """All answers of the labeler: shape (samples, pairs), one row for a labeler without several; NaN where there is
        none."""
        several = [() if one is None else one.samples or _single(one.relevance) for one in self.graded]
        most = max(map(len, several), default=0)
        rows = [[answers[row] if row < len(answers) else np.nan for answers in several] for row in range(max(most, 1))]
        return np.array(rows, dtype=np.float64)


class PoolGrades:
    """Reads grades of a session's pool, whose pairs in its order are ``query_ids`` and ``doc_ids``."""

    def __init__(self, session: AnnotationSession, query_ids: Sequence[str], doc_ids: Sequence[str]) -> None:
        self._session = session
        self.pairs = list(zip(query_ids, doc_ids, strict=True))

    def of(self, name: str) -> JudgedPool:
        """Those of a labeler. Raises QuatiPoolError if there is none of this name, or if it has graded no pair."""
        labeler = self._session.grading.labeler(name)
        if labeler.grader == "hybrid":
            raise QuatiPoolError(f"{name} follows from people's labels; name its judge, or another one")
        found = self._read(labeler)
        if all(grade is None for grade in found.grades):
            raise nothing_graded(name, found.labeler.kind)
        return found

    def usual_judge(self) -> str | None:
        """The first judge of pool.yaml that has graded a pair, language models before programs; None if none has."""
        config = self._session.config
        of_people = (PeopleConfig, HybridConfig)
        names = [name for name, judge in config.judges.items() if not isinstance(judge, of_people)]
        return next((judge.name for judge in self._readable(names) if self._has_graded(judge)), None)

    def several(self, first: str | None, further: Sequence[str]) -> list[JudgedPool]:
        """Judges whose grades are compared: the named ones, ``first`` before the others; where one or none is named,
        also all language models of pool.yaml that have graded pairs.

        Raises QuatiPoolError if a named one has graded no pair.
        """
        names = [*([] if first is None else [first]), *further]
        if len(names) < 2:
            config = self._session.config
            single = [name for name, judge in config.judges.items() if isinstance(judge, JudgeConfig)]
            models = [judge for judge in self._readable(single) if judge.grader == "llm" and self._has_graded(judge)]
            names += [judge.name for judge in models if judge.name not in names]
        return [self.of(name) for name in names]

    @cached_property
    def people(self) -> list[PanelAnswer | None]:
        """What the people of the workspace say of each pair together, a lead's decision first."""
        grading = self._session.grading
        panel = grading.panel("majority")
        found: dict[tuple[str, str], PanelAnswer] = {}
        if panel.members or panel.decisions:
            for chunk in grading.pairs():
                found |= {(one.graded.query_id, one.graded.doc_id): one for one in panel.answers(chunk)}
        return [found.get(pair) for pair in self.pairs]

    def _read(self, labeler: Labeler) -> JudgedPool:
        grading = self._session.grading
        found = {(one.query_id, one.doc_id): one for chunk in grading.pairs() for one in labeler.graded(chunk)}
        return JudgedPool(labeler, [found.get(pair) for pair in self.pairs])

    def _readable(self, names: Sequence[str]) -> list[Labeler]:
        readable, _ = self._session.grading.readable((), names)
        return sorted(readable, key=lambda judge: PRECEDENCE[judge.grader])

    def _has_graded(self, judge: Labeler) -> bool:
        pairs = self._session.grading.pairs()
        return any(one.relevance is not None for chunk in pairs for one in judge.graded(chunk))


def too_few_judges(option: str, judges: Sequence[JudgedPool]) -> QuatiPoolError:
    """What to raise where ``judges`` are too few to compare."""
    there = f"there is only {judges[0].labeler.name}" if judges else "there is none"
    return QuatiPoolError(
        f"{option} compares two judges or more that have graded pairs, and {there}; name them: --judge NAME "
        "--judge NAME"
    )


def as_values(grades: Sequence[int | None]) -> Values:
    """Grades as numbers, NaN without one."""
    return np.array([np.nan if grade is None else grade for grade in grades], dtype=np.float64)


def in_words(judged: Sequence[JudgedPool]) -> str:
    """``gpt-4o and mistral``."""
    return listed([one.labeler.name for one in judged])


def _single(grade: int | None) -> tuple[int, ...]:
    return () if grade is None else (grade,)
