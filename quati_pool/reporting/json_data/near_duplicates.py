"""The part of ``audit``'s JSON on near-duplicates."""

from __future__ import annotations

from typing import Any

from quati_pool.audit.near_duplicates import DuplicatePair, GradedApart
from quati_pool.commands.audit.audit import AuditReport
from quati_pool.commands.audit.grade_lines import DUPLICATES
from quati_pool.commands.audit.near_duplicates import EXAMPLES, DuplicateAudit
from quati_pool.reporting.json_data.serializer import Undefined, known, pick

_NONE = "no two near-duplicates that the judge was shown with different texts have grades"


def duplicates_data(report: AuditReport) -> dict[str, Any] | Undefined:
    """The shares of near-duplicates that the judge and people grade apart, and the first of them with their texts; all
    null with the reason if they were not looked for."""
    audited = report.near_duplicates
    if audited is None:
        return Undefined("label files have no texts" if report.of_files else "only some probes were run")
    line = next((line for line in report.grade_lines if line.danger == DUPLICATES), None)
    found = audited.found
    return {
        **_share(found.judge),
        "bound": report.bounds.duplicates,
        "verdict": Undefined(_NONE) if line is None else line.position,
        "answers_from": audited.answers_from,
        "there": found.there and _share(found.there),
        "people": found.people and {"labeler": audited.people, **_share(found.people)},
        "examples": [_pair(audited, pair) for pair in found.apart[:EXAMPLES]],
    }


def _share(one: GradedApart) -> dict[str, Any]:
    share = one.share
    ends = (share.low, share.high) if share.n else (None, None)
    return {
        "n": share.n,
        "apart": share.hits,
        "share": known(share.share, _NONE),
        "low": known(ends[0], _NONE),
        "high": known(ends[1], _NONE),
        "across": one.across,
    }


def _pair(audited: DuplicateAudit, pair: DuplicatePair) -> dict[str, Any]:
    one, other = (audited.texts[pair.query_id, doc_id] for doc_id in (pair.doc_id, pair.other_doc_id))
    ids = pick(pair, "query_id doc_id grade other_doc_id other_grade similarity people other_people")
    return {**ids, "query": one.query, "text": one.text, "other_text": other.text}
