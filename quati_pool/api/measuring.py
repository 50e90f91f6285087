"""Measures a collection's labelers and systems, and writes reports and exports."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quati_pool.api.agreement import Agreement
from quati_pool.api.arguments import (
    Labels,
    Runs,
    Scale,
    check_resampling,
    label_files,
    oddities,
    path_or_none,
    run_set,
    several,
)
from quati_pool.api.evaluation import Evaluation
from quati_pool.api.progress import listener
from quati_pool.api.workspace import Averaged, Test, Workspace
from quati_pool.errors import ConfigError, QuatiPoolWarning


class Measuring(Workspace):
    """What a workspace's labels and runs are worth."""

    def agree(
        self,
        *names: str,
        labels: Labels | None = None,
        person: str | Iterable[str] = (),
        queries: str | Path | None = None,
        scale: Scale = None,
        pool: str | Path | None = None,
        draws: int = 2000,
        seed: int | None = None,
        revealed: bool = False,
    ) -> Agreement:
        """Measures how far labelers agree. Writes nothing; ``save`` of the result does.

        Args:
            *names: Labelers of the workspace; all if no ``labels`` are given, else none.
            labels: Further labels by labeler, as in ``quati_pool.agree``.
            person: The labelers that are people, beyond those known as such.
            queries: A file that maps query texts to ids, for label files that hold only texts.
            scale: All grades there are; by default those of pool.yaml.
            pool: Another pool than the workspace's, to which label files without ids are joined.
            draws: Bootstrap resamples of the queries, for 95 % intervals; 0 for none.
            seed: The seed of the resamples; by default that of pool.yaml.
            revealed: Whether people's second labels, given after seeing a judge's grade, count where there are any.

        Returns:
            The coefficients of each two labelers, of all together, and within each query.

        Raises:
            QuatiPoolError: For fewer than two labelers with grades, or two that share no pair.

        Example:
            >>> c.agree("sample-gold", "lexical").labelers
            ('sample-gold', 'lexical')
        """
        from quati_pool.commands.agree import agree

        check_resampling(draws, seed)
        config, people = self._config(), several(person)
        files = label_files(labels, "labels", person=people, scale=scale or config.grades, queries=queries)
        with listener(self.progress) as shown:
            report = agree(
                self.path,
                names,
                files,
                people,
                draws=draws,
                seed=config.seed if seed is None else seed,
                pool=path_or_none(pool),
                revealed=revealed,
                home=config,
                listener=shown,
            )
        for oddity in [*oddities(report.gathered), *report.gathered.warnings]:
            warnings.warn(oddity, QuatiPoolWarning, stacklevel=2)
        return Agreement(report)

    def evaluate(
        self,
        *names: str,
        runs: Runs | None = None,
        qrels: Labels | None = None,
        measures: Sequence[str] | str | None = None,
        baseline: str | None = None,
        test: Test = "t",
        alpha: float = 0.05,
        pool_depth: int | None = None,
        robust: bool = False,
        labeler: str | None = None,
        queries: Averaged = "judged",
        scale: Scale = None,
        pool: str | Path | None = None,
        draws: int = 2000,
        seed: int | None = None,
    ) -> Evaluation:
        """Ranks systems under one or several qrels. Writes nothing; ``save`` of the result does.

        Args:
            *names: Labelers of the workspace; all if no ``qrels`` are given, else none.
            runs: Runs instead of the workspace's, as in ``quati_pool.evaluate``.
            qrels: Further qrels by name, as in ``quati_pool.evaluate``.
            measures: Names as ir_measures has them; the first ranks the runs. By default those of pool.yaml.
            baseline: A run that all others are tested against, on every measure.
            test: The paired test over queries.
            alpha: The level of significance.
            pool_depth: How deep ``runs`` were pooled.
            robust: Whether to add the worst query of each cluster (cluster_id of the queries' file).
            labeler: The main labeler, whose leaderboard comes first; by default people before language models before
                programs.
            queries: The queries to average over: all judged ones, those that all runs return, or each run's own.
            scale: All grades there are; by default those of pool.yaml.
            pool: Another pool than the workspace's, to which label files without ids are joined.
            draws: Bootstrap resamples of the queries, for 95 % intervals; 0 for none.
            seed: The seed of the resamples; by default that of pool.yaml.

        Returns:
            The leaderboard, values by query and tests.

        Raises:
            QuatiPoolError: If there are no runs or no grades, or runs are older than pool.yaml.

        Example:
            >>> c.evaluate("lexical", measures=["nDCG@10"]).qrels
            ('lexical',)
        """
        from quati_pool.commands.evaluate import Settings, evaluate

        check_resampling(draws, seed)
        config = self._config()
        files = label_files(qrels, "qrels", scale=scale or config.grades)
        settings = Settings(
            several(measures) or config.measures, baseline, test, alpha, draws, config.seed if seed is None else seed,
            pool_depth, robust, labeler, queries,
        )  # fmt: skip
        sets = [] if runs is None else [run_set(runs, pool_depth)]
        with listener(self.progress) as shown:
            found = evaluate(self.path, names, files, (), settings, path_or_none(pool), config, shown, sets)
        for oddity in [*oddities(found.gathered), *found.warnings]:
            warnings.warn(oddity, QuatiPoolWarning, stacklevel=2)
        return Evaluation(found)

    def report(
        self,
        *,
        person: str | Iterable[str] = (),
        measures: Sequence[str] | str | None = None,
        baseline: str | None = None,
        test: Test = "t",
        alpha: float = 0.05,
        labeler: str | None = None,
        queries: Averaged = "judged",
        draws: int = 2000,
        seed: int | None = None,
        output: str | Path | None = None,
    ) -> Path:
        """Writes one self-contained HTML page and one Markdown file with all results.

        Args:
            person: As in ``agree``.
            measures: As in ``evaluate``, like the following ones.
            baseline: A run that all others are tested against.
            test: The paired test over queries.
            alpha: The level of significance.
            labeler: The main labeler.
            queries: The queries to average over.
            draws: Bootstrap resamples of the queries.
            seed: The seed of the resamples.
            output: The folder; by default ``reports/``.

        Returns:
            The path of the HTML page.

        Raises:
            QuatiPoolError: If the pool is not built.
        """
        from quati_pool.commands.evaluate import Settings
        from quati_pool.reporting.page import report

        settings = Settings(
            several(measures) or None, baseline, test, alpha, draws, seed, labeler=labeler, queries=queries
        )  # fmt: skip
        with listener(self.progress) as shown:
            return report(self.path, shown, settings, several(person), path_or_none(output))

    def export(
        self,
        format: str,  # noqa: A002  # the field's word
        *,
        labeler: str | Iterable[str] | None = None,
        output: str | Path | None = None,
        allow_missing: bool = False,
        settings: Mapping[str, Any] | None = None,
    ) -> Path:
        """Writes qrels, or the whole collection in another tool's format or as pages to explore.

        Args:
            format: qrels, explorer, or beir, hf, doccano, bundle, or a plug-in's format.
            labeler: Whose grades; for a collection several, the main one first. By default the main labeler's and, for
                a collection, those of its peers; everybody's for the explorer.
            output: The file or folder; by default ``qrels/<labeler>.qrels`` or ``exports/<format>``.
            allow_missing: Whether to leave pairs without a grade out, as unjudged.
            settings: Parameters of the format.

        Returns:
            The file or folder written.

        Raises:
            QuatiPoolError: While a pair of an exported labeler has failed or was never asked about, unless
                ``allow_missing``; for an unknown format; and for a folder that holds something else.
        """
        from quati_pool.commands.export.collection import export
        from quati_pool.commands.export.qrels import export_qrels
        from quati_pool.reporting.explorer.writing import export_explorer

        labelers, path = several(labeler), path_or_none(output)
        with listener(self.progress) as shown:
            if format == "explorer":
                if settings or allow_missing:
                    raise ConfigError(
                        "the explorer has no settings and shows pairs without a grade as such; leave settings and "
                        "allow_missing out"
                    )
                return export_explorer(self.path, shown, labelers, path).parent
            if format != "qrels":
                parameters = dict(settings or {})
                return export(
                    self.path, format, shown, labelers=labelers, parameters=parameters, path=path,
                    allow_missing=allow_missing,
                ).path  # fmt: skip
            if settings or len(labelers) > 1:
                raise ConfigError("qrels are of one labeler and have no settings; name one, and leave settings out")
            name = labelers[0] if labelers else None
            return export_qrels(self.path, name, path, allow_missing=allow_missing, listener=shown).path
