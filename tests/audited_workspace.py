"""Workspaces whose lexical judge was audited, offline."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from quati_pool.commands.audit.audit import AuditReport, audit
from quati_pool.commands.audit.settings import AuditSettings
from quati_pool.commands.judge.judge import judge
from quati_pool.project.events import Listener
from tests.commands import judged
from tests.reporting.hostile import HOSTILE

AUDITED = "lexical"
PAIRS = 20
TEXTS = [text for text in HOSTILE if "\x00" not in text]
"""Hostile passages that a label database can hold."""


def audited_demo(finished_demo: Path, folder: Path) -> Path:
    """A copy of the finished demo with an audit; returns its pool.yaml."""
    config = Path(shutil.copytree(finished_demo, folder, symlinks=True)) / "pool.yaml"
    section = f"audit: {json.dumps({'pairs': PAIRS})}\n"
    config.write_text(config.read_text(encoding="utf-8") + section, encoding="utf-8")
    asked(config)
    return config


def asked(config: Path) -> AuditReport:
    """The audit of the lexical judge."""
    (report,) = audit(config, [AUDITED], Listener(), AuditSettings(pairs=PAIRS))
    return report


def hostile_workspace(folder: Path) -> Path:
    """A pool whose passages would act in a page, and the audit of its judge; returns its pool.yaml."""
    pairs = [judged.pair(f"q{number % 3}", f"d{number:02}", f"{text} nada") for number, text in enumerate(TEXTS)]
    for pair in pairs:
        pair["query"] = f"{TEXTS[1]} perguntas da consulta {pair['query_id']}"
    pairs.sort(key=lambda pair: (pair["query_id"], pair["doc_id"]))
    config = judged.workspace(folder, pairs, {AUDITED: {"judge": "lexical"}}, audit={"pairs": PAIRS})
    meta = folder / "pool.jsonl.gz.meta.json"
    content = json.loads(meta.read_text(encoding="utf-8"))
    content["key"] = {"depth": {"a": 10}, "systems": ["a"]}
    meta.write_text(json.dumps(content), encoding="utf-8")
    queries = {pair["query_id"]: pair["query"] for pair in pairs}
    lines = [f"{query_id}\t{query}\n" for query_id, query in queries.items()]
    (folder / "queries.tsv").write_text("".join(lines), encoding="utf-8")
    judge(config, AUDITED, Listener())
    asked(config)
    return config
