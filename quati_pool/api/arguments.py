"""Reads the arguments by which callers pass runs and labels: frames, mappings, or paths of files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from quati_pool.errors import ConfigError
from quati_pool.registry import nearest

if TYPE_CHECKING:
    import pandas as pd

    from quati_pool.files.frames import Given
    from quati_pool.labels.gathered import Gathered, LabelFiles
    from quati_pool.project.runs import RunSet

RunLike: TypeAlias = "pd.DataFrame | Mapping[str, Mapping[str, float]] | str | Path"
"""A frame with query_id, doc_id and score; {query_id: {doc_id: score}}; or the path of a TREC run."""

LabelsLike: TypeAlias = "pd.DataFrame | Mapping[str, Mapping[str, int]] | str | Path"
"""A frame with query_id, doc_id and relevance; {query_id: {doc_id: grade}}; or the path of qrels or a label file."""

Runs: TypeAlias = "Mapping[str, RunLike] | pd.DataFrame"
"""Runs by name, or one frame with a column run_tag."""

Labels: TypeAlias = "Mapping[str, LabelsLike] | pd.DataFrame"
"""Labels by labeler, or one frame with a column labeler."""

Scale: TypeAlias = Iterable[int] | Mapping[int, str] | None
"""All grades there are, with their names or without."""


def run_set(runs: Runs, pool_depth: int | None = None) -> RunSet:
    """The runs, each under its name."""
    from quati_pool.project.runs import named_runs

    return named_runs(_named(runs, "runs", "run_tag"), pool_depth)


def label_files(
    labels: Labels | None,
    argument: str,
    *,
    person: Sequence[str] = (),
    scale: Scale = None,
    queries: str | Path | None = None,
) -> LabelFiles:
    """The labels, each under its name; ``argument`` is what the caller's argument is called."""
    from quati_pool.files.frames import Given, read_label_frame
    from quati_pool.labels.gathered import LabelFiles
    from quati_pool.project.config import LabelFileConfig

    given = {} if labels is None else _named(labels, argument, "labeler")
    return LabelFiles(
        {
            name: read_label_frame(source)
            if isinstance(source, Given)
            else LabelFileConfig(path=str(source), person=name in person)
            for name, source in given.items()
        },
        path_or_none(queries),
        _scale(scale),
    )


def source(value: RunLike, name: str) -> Path | Given:
    """A path as such, and anything else under the ``name`` that messages give it."""
    from quati_pool.files.frames import Given

    return Path(value) if isinstance(value, (str, Path)) else Given(value, name)


def several(value: str | Iterable[str] | None) -> list[str]:
    """One name or several as a list."""
    return [value] if isinstance(value, str) else list(value or ())


def path_or_none(value: str | Path | None) -> Path | None:
    return None if value is None else Path(value)


def check_resampling(draws: int, seed: int | None) -> None:
    """Raises ConfigError for a number of resamples, or a seed, below 0."""
    if draws < 0:
        raise ConfigError(f"draws is {draws}; expected a number of resamples, or 0 for no intervals")
    if seed is not None and seed < 0:
        raise ConfigError(f"seed is {seed}; expected 0 or more")


def check_choice(argument: str, value: str | None, choices: Sequence[str]) -> None:
    """Raises ConfigError for a value that is none of the ``choices``; None means that none was made."""
    if value is not None and value not in choices:
        raise ConfigError(f"{argument} is {value!r}; {nearest(value, choices)}")


def oddities(gathered: Gathered) -> list[str]:
    """What was left out of the labels that were read, for a warning each."""
    found = [f"{name} is left out: {problem}" for name, problem in gathered.problems.items()]
    if gathered.unmatched:
        first = gathered.unmatched[0]
        found.append(
            f"{len(gathered.unmatched):,} rows match no pair of the pool, or several, and are left out, such as "
            f"{first.path}:{first.line}: {first.reason}"
        )
    return found


def _named(given: Any, argument: str, column: str) -> dict[str, Path | Given]:
    import pandas as pd

    from quati_pool.files.frames import parts

    if isinstance(given, pd.DataFrame):
        return dict(parts(given, column, argument))
    if not isinstance(given, Mapping) or not given:
        expected = f"expected names and what is called so, such as {argument}={{'name': frame}}"
        raise ConfigError(
            f"{argument}: {expected}, not {'nothing' if isinstance(given, Mapping) else type(given).__name__}"
        )
    for name in given:
        if not isinstance(name, str) or not name:
            raise ConfigError(f"{argument}: {name!r} is not a name; expected a string")
    return {name: source(value, f'{argument}["{name}"]') for name, value in given.items()}


def _scale(scale: Scale) -> Mapping[int, str] | None:
    from quati_pool.project.config import scale_of

    return scale if scale is None or isinstance(scale, Mapping) else scale_of(set(scale))
