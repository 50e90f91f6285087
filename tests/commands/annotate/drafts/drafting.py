"""Workspaces whose questions a model drafts, and what its journal and its files say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from quati_pool.commands.annotate.drafts.drafting import DraftOptions, draft
from quati_pool.commands.annotate.drafts.report import DraftReport
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.project.events import Listener
from quati_pool.store.authoring_records import Item
from quati_pool.store.records import Question
from tests.commands.annotate import writers
from tests.commands.annotate.authoring import romqa_people, rounds
from tests.llm.server import PROBE, ServerProcess

JUDGE = {"model": "fake-1", "prompt": "quati-pt", "max_tokens": 400, "prices": "prices.yaml"}
PRICES = "mine:\n  as_of: 2026-11-01\n  source: a test\n  models:\n    fake-1: {input: 10, output: 1000}\n"


def with_judge(path: Path, **settings: Any) -> Path:
    """Adds the judge ``fake`` to a pool.yaml, with a price."""
    path.with_name("prices.yaml").write_text(PRICES, encoding="utf-8")
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    config.setdefault("judges", {})["fake"] = {**JUDGE, **settings}
    path.write_text(yaml.safe_dump(config, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return path


def corpus_workspace(folder: Path, **changes: Any) -> Path:
    """A workspace of 60 passages, whose corpus is read, without rounds."""
    return with_judge(writers.workspace(folder, **changes))


def pira_workspace(folder: Path, texts: Sequence[dict[str, str]] = rounds.TEXTS, **authoring: Any) -> Path:
    """A workspace of Pirá's rounds; without texts given, of three."""
    return with_judge(rounds.workspace(folder, texts, **authoring))


def run(path: Path, origin: str = "passages", count: int = 10, budget: float | None = None, **more: Any) -> DraftReport:
    return draft(path, DraftOptions(origin, "fake", count, budget), more.pop("listener", Listener()), **more)


def calls(server: ServerProcess) -> int:
    """The calls that were not the client's first question."""
    return sum(entry["id"] != PROBE for entry in server.log())


def journal(path: Path) -> list[dict[str, Any]]:
    return rows(path.parent / "cache" / "drafts" / "fake.jsonl")


def written(path: Path, origin: str = "passages") -> list[dict[str, Any]]:
    return rows(path.parent / "drafts" / f"fake-{origin}.jsonl")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def proposed(path: Path) -> list[Question]:
    with AnnotationSession.open(path) as session:
        return session.questions.current()


def items(path: Path) -> list[Item]:
    """The questions of a workspace's rounds."""
    with AnnotationSession.open(path) as session:
        return rounds.rounds(session).items("question")


def cluster_workspace(folder: Path, clusters: int = 2, **changes: Any) -> Path:
    """A workspace of RoMQA's rounds with three queries in each cluster, all of them with a draft unlike the others'."""
    made = [romqa_people.made_cluster(number) for number in range(clusters)]
    return with_judge(romqa_people.romqa_workspace(folder, made, **changes))


def queries(path: Path) -> list[Item]:
    """The queries of a workspace's clusters."""
    with AnnotationSession.open(path) as session:
        return rounds.rounds(session).items("query")
