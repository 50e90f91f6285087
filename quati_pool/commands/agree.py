"""``quati-pool agree``: the agreement of labelers: pairwise, overall, and per query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quati_pool.agreement.disagreement import Hardness, hardest_queries
from quati_pool.agreement.overall import Overall, overall
from quati_pool.agreement.pairwise import PairAgreement, QueryAgreement, pairwise, per_query
from quati_pool.agreement.paper_tables import Layout, QueryLayout, layout, matrix, query_layout
from quati_pool.agreement.pool_join import UnmatchedRow
from quati_pool.agreement.ratings import Ratings
from quati_pool.agreement.weighted_pairs import weigh
from quati_pool.errors import InputError, QuatiPoolError, TranslatableText
from quati_pool.files.problems import quoted
from quati_pool.labels.gathered import Gathered, LabelFiles
from quati_pool.labels.sources import gather, workspace_for
from quati_pool.project.config import PoolConfig
from quati_pool.project.events import Listener
from quati_pool.stats.bootstrap import DRAWS
from quati_pool.text.pluralize import counted

LAYOUTS = ("kappa", "spearman", "pearson")
"""The coefficients of the Quati paper's Tables 3, 4 and 5."""


@dataclass(frozen=True, eq=False)
class AgreeReport:
    """The result of ``agree``. Figures of two labelers are weighted where their common pairs were drawn with unequal
    probabilities; all other figures are those of the graded pairs.

    ``unmatched`` has, by labeler, the pairs that no other independent labeler graded, as positions in ``ratings``; for
    a derived labeler, those that no independent one graded.
    """

    gathered: Gathered
    ratings: Ratings
    pairs: list[PairAgreement]
    overall: Overall
    queries: list[QueryAgreement]
    layouts: dict[str, Layout]
    query_layout: QueryLayout
    hardest: list[Hardness]
    unmatched: dict[str, list[int]]
    draws: int
    seed: int

    @property
    def compared(self) -> list[PairAgreement]:
        """The pairs of labelers that share no member (a panel and its member do), or that were both named."""
        named = set(self.gathered.named)
        return [pair for pair in self.pairs if not pair.shared_members or {pair.a, pair.b} <= named]


def agree(
    config_path: Path,
    names: Sequence[str] = (),
    files: LabelFiles | None = None,
    people: Sequence[str] = (),
    *,
    draws: int = DRAWS,
    seed: int | None = None,
    pool: Path | None = None,
    revealed: bool = False,
    home: PoolConfig | None = None,
    listener: Listener | None = None,
) -> AgreeReport:
    """Compares the labelers that ``gather`` finds. Of people's labels the blind and final ones count; with ``revealed``
    a second label, given after seeing a judge's grade, replaces them if there is one. Files without ids are joined to
    the pool of ``home``, a pool.yaml that only identifies their collection.

    Raises QuatiPoolError if there are fewer than two labelers, or no two of them graded a common pair.
    """
    files = files or LabelFiles()
    if not (names or files.files or config_path.exists()):
        remedy = "name label files with --labels FILE, or a workspace with -c"
        raise InputError(config_path, None, f"there is no such file; {remedy}")
    config = workspace_for(config_path, names, files)
    if revealed and config is None:
        raise QuatiPoolError("second labels are in a workspace's store, but only files are named; name labelers too")
    gathered = gather(config, names, files, people, pool=pool, revealed=revealed, home=home, nearby=config_path)
    return compare(gathered, draws=draws, seed=seed, listener=listener)


def compare(
    gathered: Gathered, *, draws: int = DRAWS, seed: int | None = None, listener: Listener | None = None
) -> AgreeReport:
    """``agree`` for labelers that have already been read."""
    if seed is None:
        seed = gathered.config.seed if gathered.config else 0
    ratings = join_ratings(gathered)
    independent = np.isin(ratings.labelers, ratings.independent)
    graders = (ratings.grade[independent] >= 0).sum(axis=0)
    listener = listener or Listener()

    def progress(done: int, total: int) -> None:
        listener.progress("agree: resampling queries", done, total, unit="pairs of labelers")

    pairs = pairwise(ratings, draws, seed, progress=progress)
    designs = {source.name: source.designs for source in gathered.sources}
    pairs = weigh(pairs, ratings, designs, intervals=draws > 0)
    listener.progress("agree: resampling queries for all labelers together", 0, 0)
    unrelated = [pair for pair in pairs if not pair.shared_members]
    with_people = [name for name in ratings.labelers if name in ratings.people or _has_other_person(name, ratings)]
    return AgreeReport(
        gathered,
        ratings,
        pairs,
        overall(ratings, draws, seed),
        per_query(ratings),
        {name: layout(matrix(unrelated, with_people, name), with_people, ratings.people) for name in LAYOUTS},
        query_layout(ratings),
        hardest_queries(ratings),
        {
            name: np.flatnonzero((graders == (name not in ratings.members)) & (ratings.of(name) >= 0)).tolist()
            for name in ratings.labelers
        },
        draws,
        seed,
    )


def _has_other_person(labeler: str, ratings: Ratings) -> bool:
    """Whether a person who is not a member of the labeler has graded."""
    return any(not ratings.shared_members(labeler, person) for person in ratings.people)


def join_ratings(gathered: Gathered) -> Ratings:
    """The grades of all labelers by pair. Raises the same errors as ``agree``."""
    graded = {source.name: source.qrels for source in gathered.sources}
    if len(graded) < 2:
        problem = f"only {next(iter(graded))} has grades" if graded else "nobody has graded anything"
        left_out = "; ".join(f"{name} is left out: {reason}" for name, reason in gathered.problems.items())
        problem += f" ({left_out})" if left_out else ""
        text = f"{problem}; agreement needs two labelers: run another judge, or name files with --labels FILE"
        raise QuatiPoolError(
            TranslatableText(text, "one_labeler", name=next(iter(graded)))
            if graded
            else TranslatableText(text, "nobody_graded")
        )
    members = {source.name: source.members for source in gathered.sources if source.members}
    ratings = Ratings.join(graded, list(gathered.scale), gathered.people, members)
    if (ratings.grade >= 0).sum(axis=0).max(initial=0) < 2:
        text = _nothing_common(ratings) + _unmatched(gathered.unmatched)
        raise QuatiPoolError(TranslatableText(text, "nothing_common"))
    return ratings


def _nothing_common(ratings: Ratings) -> str:
    counts = []
    for name in ratings.labelers:
        graded = np.flatnonzero(ratings.of(name) >= 0)
        if not len(graded):
            counts.append(f"{name} has none")
            continue
        first = graded[:1]
        (query_id,), (doc_id,) = ratings.queries.decode(ratings.query[first]), ratings.docs.decode(ratings.doc[first])
        pair = " ".join(quoted(str(one)) for one in (query_id, doc_id))
        counts.append(f"{name} has {len(graded):,}, such as {pair}")
    return f"no two labelers graded a common pair ({'; '.join(counts)}); check that the files use the same ids"


def _unmatched(rows: Sequence[UnmatchedRow]) -> str:
    if not rows:
        return ""
    names = counted(len(rows), "row matches", "rows match")
    return f"; {names} no pair of the pool, or several: {rows[0].path}:{rows[0].line}: {rows[0].reason}"
