"""``quati-pool submissions report``: how each group's runs did, next to the other runs without their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quati_pool.commands.evaluate import Evaluation, Settings, evaluate
from quati_pool.errors import ConfigError
from quati_pool.evaluation.leaderboard import LeaderboardRow
from quati_pool.evaluation.scores import Values
from quati_pool.labels.gathered import LabelSource
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.project.submissions import Participation, participants_file, read_participants
from quati_pool.registry import nearest


@dataclass(frozen=True, eq=False)
class GroupResults:
    """What one group may see of all runs: the ``rows`` of the leaderboard, in which other groups' runs
    (``anonymous``) get no name and its own (``own``) their run tags, by system.

    ``values`` has the first measure of its own runs, shape (own runs, queries); ``all_values`` that of all runs, shape
    (runs, queries).
    """

    group: str
    config: PoolConfig
    source: LabelSource
    measures: tuple[str, ...]
    rows: tuple[LeaderboardRow, ...]
    own: dict[str, str]
    anonymous: frozenset[str]
    query_ids: tuple[str, ...]
    values: dict[str, Values]
    all_values: Values

    @property
    def labeler(self) -> str:
        return self.source.name

    @property
    def best(self) -> LeaderboardRow:
        """The group's best run by the first measure."""
        return next(row for row in self.rows if row.run_tag in self.own)


def group_results(
    config_path: Path, listener: Listener, *, groups: Sequence[str] = (), settings: Settings | None = None
) -> list[GroupResults]:
    """The results of ``groups``, or of all that have a system in ``pool.yaml``, by name, under the main labeler or the
    one of the settings.

    Raises QuatiPoolError where there is no shared task, no such group, or nothing to evaluate.
    """
    config = load_config(config_path)
    participants = required_participants(config)
    by_group: dict[str, list[Participation]] = {}
    for one in sorted(participants, key=lambda one: (one.group, one.priority)):
        if one.system in config.systems:
            by_group.setdefault(one.group, []).append(one)
    if not by_group:
        raise ConfigError(f"{config.path} has no system of a group; run: quati-pool submissions add FOLDER")
    for group in groups:
        if group not in by_group:
            raise ConfigError(f"there is no group {group!r}; {nearest(group, by_group)}")
    found = evaluate(config_path, settings=settings, listener=listener)
    systems = frozenset(one.system for one in participants)
    return [_results(config, found, group, by_group[group], systems) for group in groups or by_group]


def required_participants(config: PoolConfig) -> list[Participation]:
    """The runs of the shared task; raises ConfigError where there is none."""
    participants = read_participants(config)
    if not participants:
        path = participants_file(config)
        raise ConfigError(f"there is no {path}, so no group took part; run: quati-pool submissions add FOLDER")
    return participants


def _results(
    config: PoolConfig, found: Evaluation, group: str, runs: Sequence[Participation], systems: frozenset[str]
) -> GroupResults:
    condition = found.conditions[0]
    scores = condition.scores
    own = {one.system: one.run_tag for one in runs if one.system in scores.run_tags}
    if not own:
        raise ConfigError(f"no run of {group} is built; run: quati-pool build -c {config.path}")
    values = scores.of(found.measures[0])
    return GroupResults(
        group,
        config,
        condition.source,
        found.measures,
        condition.board.rows,
        own,
        systems - own.keys(),
        scores.query_ids,
        {system: values[scores.run_tags.index(system)] for system in own},
        np.asarray(values),
    )
