"""The JSON of ``demo``: that of ``build``, with that of the other commands under additional keys."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.demo import Demo
from quati_pool.reporting.json_data import agree, build, evaluate, judge


def as_data(result: Demo) -> Any:
    return {
        **build.as_data(result.built),
        "judge": judge.as_data(result.judged),
        "agree": agree.as_data(result.agreed),
        "evaluate": evaluate.as_data(result.evaluated),
    }
