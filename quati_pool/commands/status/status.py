"""``quati-pool status``: where a collection stands, what is in doubt, and the next command; writes nothing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quati_pool.commands.status.doubts import Doubt, doubts
from quati_pool.commands.status.next_step import NextStep, next_step
from quati_pool.commands.status.state import WorkspaceState, workspace_state
from quati_pool.project.config import load_config


@dataclass(frozen=True, eq=False)
class Status:
    """The state of a workspace, what is in doubt about it, and the next step, None where all is done."""

    state: WorkspaceState
    doubts: tuple[Doubt, ...]
    next: NextStep | None

    def pasted(self, command: Sequence[str]) -> str:
        """A command line to paste where status was run."""
        path = self.state.config.path
        at = [] if path == Path("pool.yaml") or str(path) in command else ["-c", str(path)]
        return shlex.join(["quati-pool", *command, *at])


def status(config_path: Path) -> Status:
    """Reads a workspace; raises InputError only where its pool.yaml is invalid."""
    state = workspace_state(load_config(config_path, writing=True))
    return Status(state, tuple(doubts(state)), next_step(state))
