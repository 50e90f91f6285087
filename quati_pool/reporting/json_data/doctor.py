"""The JSON of ``doctor``."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.doctor.doctor import Checkup
from quati_pool.commands.doctor.packages import Extra
from quati_pool.reporting.json_data.plan import VIEWS as PLANNED
from quati_pool.reporting.json_data.serializer import Views, pick, serialize


def as_data(checkup: Checkup) -> Any:
    """The JSON object of ``doctor``: sizes in bytes; of keys only whether they are set."""
    data = {
        "collection": checkup.config and checkup.config.name,
        "can_run": not checkup.problems,
        "problems": checkup.problems,
        "machine": checkup.machine,
        "core": next((extra for extra in checkup.extras if not extra.name), None),
        "extras": [extra for extra in checkup.extras if extra.name],
        "keys": checkup.keys,
        "servers": [{"address": address, "used_by": names} for address, names in checkup.servers.items()],
        "models": checkup.models,
        "database": checkup.database,
        "build_needs": checkup.left,
    }
    return serialize(data, VIEWS)


VIEWS: Views = {**PLANNED, Extra: lambda extra: pick(extra, "name packages missing remedy")}
