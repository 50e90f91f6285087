"""The verdicts of audits in a release's data card."""

from __future__ import annotations

import shutil
from pathlib import Path

from quati_pool.commands.export.collection import export
from quati_pool.project.events import Listener
from tests.audited_workspace import AUDITED, asked, audited_demo


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
    assert "A judge fails a probe if more pairs than a tolerated share certainly went wrong" in lead
    assert line.startswith(f"- {AUDITED} failed the probes for keyword stuffing (")
    assert line.count("\n") == 0
    failed, rest = line.split(" and passed the ")
    passed, _, undecided = rest.partition(". The ")
    for verdict, part in {"fooled": failed, "cleared": passed, "undecided": undecided}.items():
        assert verdict not in dangers or dangers[verdict] in part
    # Those whose grades are not in the release are not in its card.
    assert "Audits of judges" not in card(config, "sample-gold")


def test_an_export_is_written_again_once_there_is_an_audit(finished_demo: Path, tmp_path: Path) -> None:
    config = Path(shutil.copytree(finished_demo, tmp_path / "demo", symlinks=True)) / "pool.yaml"
    config.write_text(config.read_text(encoding="utf-8") + "audit: {pairs: 20}\n", encoding="utf-8")
    assert "Audits of judges" not in card(config, AUDITED)
    asked(config)
    assert "Audits of judges" in card(config, AUDITED)
