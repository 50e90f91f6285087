"""The JSON of anchors and of checks of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quati_pool.audit.drift import ALPHA, PROBABILITY, SHARE, Drift, Server
from quati_pool.commands.audit.anchors import FixedAnchors
from quati_pool.commands.audit.drift import DriftReport
from quati_pool.reporting.json_data.serializer import Undefined, known, pick, serialize

_UNCHECKED = "no anchor has a grade of a check yet"


def as_data(reports: Sequence[DriftReport]) -> Any:
    """The JSON object of ``audit --drift``, those of several judges under ``audits``."""
    found = [_report(report) for report in reports]
    return serialize(found[0] if len(found) == 1 else {"audits": found})


def anchors_data(found: Sequence[FixedAnchors]) -> Any:
    """The JSON object of ``audit --anchors``, those of several judges under ``audits``."""
    of_each = [
        {**pick(one, "judge added wanted"), "anchors": len(one.drift.anchors), **_power(one.drift)} for one in found
    ]
    return serialize(of_each[0] if len(of_each) == 1 else {"audits": of_each})


def _report(report: DriftReport) -> dict[str, Any]:
    run, calls = report.run, report.run.calls
    unknown = 0 if calls is None else calls.unknown
    cost = Undefined(f"the cost of {unknown} attempts is unknown") if unknown else (calls.cost if calls else 0.0)
    return {
        "judge": report.judge,
        "drift": drift_data(report.drift),
        "gone": report.gone,
        **pick(run, "asked left ended"),
        "cost": cost,
        "error": None if run.error is None else str(run.error),
    }


def drift_data(drift: Drift) -> dict[str, Any]:
    """A check of anchors, or anchors that were not checked yet."""
    test, shift = drift.test, drift.shift
    checked = bool(drift.pairs)
    interval = None if shift is None else {"value": shift.value, "low": shift.low, "high": shift.high}
    constant = "all grades are the same one" if checked else _UNCHECKED
    return {
        "verdict": drift.verdict,
        "anchors": len(drift.anchors),
        "check": known(drift.check, "the anchors were not checked yet"),
        "n": len(drift.pairs),
        **pick(drift, "ungraded lost unasked up down"),
        "unfinished": known(
            None if drift.unfinished is None else drift.unfinished._asdict(), "the last check is finished"
        ),
        "mean_shift": known(interval, _UNCHECKED),
        "p": known(test.p if checked else None, _UNCHECKED),
        "p_shift": known(test.p_shift if checked else None, _UNCHECKED),
        "stuart_maxwell": {
            "statistic": test.statistic,
            "df": test.df,
            "p": known(test.p_statistic if checked else None, _UNCHECKED),
        },
        "alpha": ALPHA,
        "kappa": known(drift.kappa, constant),
        "kappa_with_people": {
            "then": known(drift.people_then, constant),
            "now": known(drift.people_now, constant),
        },
        **_power(drift),
        "servers": {
            "changed": drift.server_changed,
            "then": [*map(_server, drift.servers_then)],
            "now": [*map(_server, drift.servers_now)],
        },
        "grades": drift.grades,
        "table": drift.table,
    }


def _power(drift: Drift) -> dict[str, Any]:
    return {
        "noise": known(drift.noise, "the judge was asked about no anchor again yet"),
        "power": {
            "share": SHARE,
            "power": drift.power,
            "smallest_share": known(drift.smallest, "one grade more on all pairs is not found either"),
            "smallest_share_power": PROBABILITY,
        },
    }


def _server(one: Server) -> dict[str, Any]:
    return one._asdict()
