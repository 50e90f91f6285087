"""The JSON of ``submissions``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quati_pool.commands.submissions.adding import Added
from quati_pool.commands.submissions.group_results import GroupResults
from quati_pool.commands.submissions.intake import Intake, Submission
from quati_pool.commands.submissions.releasing import Released
from quati_pool.reporting.json_data.serializer import Views, pick, serialize


def checked_data(found: Intake) -> Any:
    """The JSON object of ``submissions check``."""
    return serialize({**pick(found, "depth topics unread"), "runs": found.submissions}, VIEWS)


def added_data(found: Added) -> Any:
    """The JSON object of ``submissions add``, which names no group: it says which systems there are."""
    counts = {name: len(getattr(found, name)) for name in ("new", "replaced", "unchanged", "waiting", "kept", "absent")}
    listed = sorted(found.participants, key=lambda one: one.system)
    systems = [{"system": one.system, "family": one.family, "priority": one.priority} for one in listed]
    return serialize({**counts, "systems": systems}, VIEWS)


def results_data(found: Sequence[GroupResults]) -> Any:
    """The JSON object of ``submissions report``."""
    return serialize({"groups": list(found)}, VIEWS)


def released_data(found: Released) -> Any:
    """The JSON object of ``submissions release``: the manifest."""
    return serialize(found.manifest, VIEWS)


def _submission(one: Submission) -> dict[str, Any]:
    return pick(one, "group file=path.name priority run_tag accepted=ok queries rows faults warnings sha256")


def _results(one: GroupResults) -> dict[str, Any]:
    measure = one.measures[0]
    runs = [
        {"run_tag": one.own[row.run_tag], "rank": row.rank, "mean": row.measures[measure].mean}
        for row in one.rows
        if row.run_tag in one.own
    ]
    return {**pick(one, "group labeler"), "measure": measure, "of": len(one.rows), "runs": runs}


VIEWS: Views = {Submission: _submission, GroupResults: _results}
