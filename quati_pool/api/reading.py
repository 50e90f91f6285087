"""Reads a collection's pool, runs and labels as frames."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from quati_pool.api.arguments import path_or_none
from quati_pool.api.frames import label_frame, pool_file_frame, run_frame
from quati_pool.api.results import Coverage, Status
from quati_pool.api.workspace import Workspace
from quati_pool.errors import ConfigError, QuatiPoolWarning
from quati_pool.registry import nearest

if TYPE_CHECKING:
    import pandas as pd


class Reading(Workspace):
    """What a workspace holds."""

    def status(self) -> Status:
        """Where the collection stands, what is in doubt, and the next command. Only reads, and waits for nothing.

        Raises:
            QuatiPoolError: If pool.yaml is invalid.

        Example:
            >>> c.status().to_dict()["collection"]
            'amostra'
        """
        from quati_pool.commands.status.status import status

        return Status(status(self.path))

    def pool(self) -> pd.DataFrame:
        """The pool's pairs.

        Returns:
            query_id, doc_id, query, text (str), runs (dict: each system's rank of the pair, {run_tag: rank}, down to
            run_depth), round (int64), reason (str) and inclusion (float64: the probability of inclusion, NaN where
            grades chose the pair).

        Raises:
            QuatiPoolError: If the pool is not built.

        Example:
            >>> c.pool().columns.tolist()
            ['query_id', 'doc_id', 'query', 'text', 'runs', 'round', 'reason', 'inclusion']
        """
        from quati_pool.labels.labelers import workspace_pool

        return pool_file_frame(workspace_pool(self._config()))

    def runs(self, *run_tags: str) -> pd.DataFrame:
        """The systems' runs, down to run_depth.

        Args:
            *run_tags: The systems; by default all whose run is built.

        Returns:
            query_id, doc_id (str), rank (int64, from 1), score (float32) and run_tag (str), sorted by run and rank.

        Raises:
            QuatiPoolError: If no run is built, or a named one is not.

        Example:
            >>> c.runs("bm25s")["run_tag"].unique().tolist()
            ['bm25s']
        """
        from quati_pool.project.runs import workspace_runs

        found = workspace_runs(self._config())
        runs = {run.run_tag: run for run in found.runs}
        for run_tag in run_tags:
            if run_tag in found.absent:
                raise ConfigError(f"the run of {run_tag} is {found.absent[run_tag]}; build it")
            if run_tag not in runs:
                raise ConfigError(f"there is no system {run_tag!r}; {nearest(run_tag, self.systems)}")
        return run_frame([runs[run_tag] for run_tag in run_tags or runs])

    def labels(self, *names: str, rationales: bool = False, pool: str | Path | None = None) -> pd.DataFrame:
        """The labels that count now: of each labeler's current version, for the pool's current texts.

        Args:
            *names: Labelers; by default all: judges, people, label files and panels.
            rationales: Whether to add what each labeler gave as its reasons.
            pool: Another pool than the workspace's.

        Returns:
            query_id, doc_id, labeler, kind (str: judge, assessor, consensus, hybrid or file), relevance (Int64, missing
            where there is no grade), status (str: ok, or why there is no grade), cut (bool: whether the passage was
            cut), revealed (bool: whether it was given after seeing a judge's grade), and with ``rationales`` rationale
            (str, missing where there is none). Pairs that were never asked about are not in it.

        Raises:
            QuatiPoolError: If the pool is not built, or there is no such labeler.

        Example:
            >>> sorted(c.labels()["labeler"].unique().tolist())
            ['lexical', 'sample-gold']
        """
        from quati_pool.commands.labels import current_labels

        found, problems = current_labels(self.path, names, path_or_none(pool), rationales=rationales)
        for name, problem in problems.items():
            warnings.warn(f"{name} is left out: {problem}", QuatiPoolWarning, stacklevel=2)
        return label_frame(found, rationales)

    def coverage(self, *names: str, missing: bool = False, pool: str | Path | None = None) -> Coverage:
        """Who graded how much of the pool, in which states, at what cost: the command ``quati-pool labels``.

        Args:
            *names: Labelers; all by default.
            missing: Whether to list the pairs without a grade, with why and the answer.
            pool: Another pool than the workspace's.

        Raises:
            QuatiPoolError: If the pool is not built, nobody has graded, or there is no such labeler.
        """
        from quati_pool.commands.labels import labels

        report = labels(self.path, list(names), path_or_none(pool), missing=missing)
        for name, problem in report.problems.items():
            warnings.warn(f"{name} is left out: {problem}", QuatiPoolWarning, stacklevel=2)
        return Coverage(report, missing)

    def qrels(
        self, labeler: str | None = None, *, allow_missing: bool = False, pool: str | Path | None = None
    ) -> pd.DataFrame:
        """One labeler's grades as qrels.

        Args:
            labeler: A judge, a person, a label file or a panel; by default the main labeler.
            allow_missing: Whether to leave pairs without a grade out, as unjudged.
            pool: Another pool than the workspace's.

        Returns:
            query_id, doc_id (str) and relevance (int64), in the pool's order.

        Raises:
            QuatiPoolError: While a pair has failed or was never asked about, unless ``allow_missing``: a missing grade
                would read as not relevant. If nothing is graded, or several labelers could be the main one.

        Example:
            >>> c.qrels("lexical").columns.tolist()
            ['query_id', 'doc_id', 'relevance']
        """
        from quati_pool.commands.export.qrels import labeler_qrels

        found = labeler_qrels(self._config(), labeler, allow_missing=allow_missing, pool=path_or_none(pool))
        return found.qrels.to_frame()
