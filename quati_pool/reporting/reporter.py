"""Saves the results of commands when they finish."""

from __future__ import annotations

from quati_pool.project.events import Listener


class Reporter(Listener):
    """Writes the reports on the pool, on agreement and on evaluation into the workspace's ``reports/``."""

    def finished(self, result: object) -> None:
        from quati_pool.commands.agree import AgreeReport
        from quati_pool.commands.build import BuildResult
        from quati_pool.commands.evaluate import Evaluation

        if isinstance(result, BuildResult):
            from quati_pool.reporting.figures import build

            build.write(result, self)
        elif isinstance(result, AgreeReport):
            from quati_pool.reporting.figures import agree

            agree.write(result, None, self)
        elif isinstance(result, Evaluation):
            from quati_pool.reporting.figures import evaluate

            evaluate.write(result, None, self)
