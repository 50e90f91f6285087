"""The verdicts of audits in a release's data card."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any, cast

import pytest

from quati_pool.commands.export import audits
from quati_pool.commands.export.collection import export
from quati_pool.project.events import Listener
from tests.audited_workspace import AUDITED, asked, audited_demo
from tests.reporting.audit_reports import probed, report, way


def card(config: Path, *labelers: str) -> str:
    path = export(config, "bundle", Listener(), labelers=labelers, allow_missing=True).path
    return (path / "README.md").read_text(encoding="utf-8").replace("\\", "")


def test_the_card_says_what_each_audited_judge_failed_and_passed(finished_demo: Path, tmp_path: Path) -> None:
    config = audited_demo(finished_demo, tmp_path / "demo")
    dangers = {
        one.findings.verdict: one.probe.danger
        for one in asked(config).probes
        if one.findings is not None and one.findings.fooled.n
    }
    section = card(config, "sample-gold", AUDITED).partition("## Audits of judges\n\n")[2].partition("\n\n##")[0]
    lead, _, line = section.partition("\n\n")
    assert "must not raise a grade, must lower it, or must not move it" in lead
    assert line.startswith(f"- {AUDITED} failed the probes for keyword stuffing (")
    assert line.count("\n") == 0
    assert re.search(
        r"keyword stuffing \(100 % of 20 irrelevant pairs, 0 % of the controls; excess \d+ to 100 %, bound 10 %\)", line
    )
    assert "(0 % of 40 answers about 20 pairs; excess 0 to " in line
    decided, _, undecided = line.partition(". The ")
    failed, _, passed = decided.partition(" and passed the ")
    assert undecided.endswith(" did not decide.")
    for verdict, part in {"fooled": failed, "cleared": passed, "undecided": undecided}.items():
        assert verdict not in dangers or dangers[verdict] in part
    # Those whose grades are not in the release are not in its card.
    assert "Audits of judges" not in card(config, "sample-gold")


def test_variants_that_fool_a_judge_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    shuffled, last = way("shuffled words", 26, 26, (0.87, 1.0)), way("query last", 9, 25, (0.2, 0.5), 1)
    made = report(
        probed("missing", "fooled", 26, ends=(0.18, 0.37), fooled_by=[shuffled]),
        probed("stuffing", "fooled", 9, control=0, excess=(0.03, 0.17), fooled_by=[last]),
        probed("question", "undecided", 12, ends=(0.05, 0.104)),
    )
    monkeypatch.setattr(audits, "stored_audits", lambda *asked: [made])
    [found] = audits.released_audits(cast("Any", None), ["gpt"], print)
    assert found.verdicts == (
        "gpt failed the probes for missing evidence (26 % of 100 relevant pairs; excess 18 to 37 %, bound 10 %; most "
        "of all shuffled words: 26 of 26) and keyword stuffing (query last: 36 % of 25 irrelevant pairs, 4 % of the "
        "controls; excess 20 to 50 %, bound 10 %). The probe for question as passage (12 % of 100 irrelevant pairs; "
        "excess 5 to 10.4 %, bound 10 %) did not decide."
    )


def test_an_export_is_written_again_once_there_is_an_audit(finished_demo: Path, tmp_path: Path) -> None:
    config = Path(shutil.copytree(finished_demo, tmp_path / "demo", symlinks=True)) / "pool.yaml"
    config.write_text(config.read_text(encoding="utf-8") + "audit: {pairs: 20}\n", encoding="utf-8")
    assert "Audits of judges" not in card(config, AUDITED)
    asked(config)
    assert "Audits of judges" in card(config, AUDITED)
