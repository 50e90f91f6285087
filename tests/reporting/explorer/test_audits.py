"""Audits in the explorer's data, and what a lead is sent of them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.audit.audit import AuditReport
from quati_pool.commands.evaluate import Settings
from quati_pool.commands.report import opened
from quati_pool.project.events import Listener
from quati_pool.reporting.answers import audit as answers
from quati_pool.reporting.explorer.scripts import arguments_of
from quati_pool.reporting.explorer.snapshot import Snapshot
from quati_pool.reporting.explorer.writing import export_explorer
from tests.audited_workspace import AUDITED, audited_demo
from tests.reporting.explorer.parts import collection

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def config(finished_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return audited_demo(finished_demo, tmp_path_factory.mktemp("audited") / "demo")


@pytest.fixture(scope="module")
def audited(config: Path) -> AuditReport:
    with opened(config, Settings(draws=20)) as state:
        return state.audits[0]


@pytest.fixture(scope="module")
def explorer(config: Path) -> Path:
    return export_explorer(config, Listener(), settings=Settings(draws=20)).parent


def audit_of(found: dict[str, Any]) -> dict[str, Any]:
    """The audit of the lexical judge, the only one."""
    by_name = dict(zip([one["name"] for one in found["labelers"]], found["audits"], strict=True))
    assert [name for name, audit in by_name.items() if audit] == [AUDITED]
    return dict(by_name[AUDITED])


def test_the_card_is_that_of_the_command(explorer: Path, audited: AuditReport) -> None:
    found, answer = audit_of(collection(explorer)), answers.answer([audited])
    assert answer.table is not None
    assert found["said"] == [*answer.sentences]
    assert found["table"]["rows"] == answer.table.shown()
    assert [column["heading"] for column in found["table"]["columns"]] == [one.heading for one in answer.table.columns]


def test_the_worst_examples_are_those_of_the_probes_with_their_pairs(explorer: Path, audited: AuditReport) -> None:
    data = collection(explorer)
    shown = audit_of(data)["worst"]
    cases = [one.cases[place] for one in audited.probes if one.findings for place in one.findings.worst]
    assert len(shown) == len(cases) > 3
    for example, case in zip(shown, cases, strict=True):
        assert (example["doc"], example["before"]) == (case.doc_id, case.before)
        assert (example["original"], example["changed"]) == (case.original._asdict(), case.changed._asdict())
        assert example["controlTexts"] == (case.control and case.control._asdict())
        query = max(number for number, first in enumerate(data["first"][:-1]) if first <= example["pair"])
        assert data["queries"][query]["id"] == case.query_id


def test_a_lead_is_sent_no_example_of_a_hidden_pair(explorer: Path, audited: AuditReport) -> None:
    data = collection(explorer)
    first = audit_of(data)["worst"][0]
    case = next(one.cases[one.findings.worst[0]] for one in audited.probes if one.findings and one.findings.worst)
    ids = (case.query_id, case.doc_id)
    snapshot = Snapshot(explorer, datetime.now(UTC), 0, (), {ids: first["pair"]}, frozenset())
    [sent] = arguments_of(snapshot.collection({ids}))
    left = audit_of(sent)["worst"]
    assert left == [one for one in audit_of(data)["worst"] if one["pair"] != first["pair"]]
    assert len(left) < len(audit_of(data)["worst"])
    [everything] = arguments_of(snapshot.collection(()))
    assert everything["audits"] == data["audits"]
