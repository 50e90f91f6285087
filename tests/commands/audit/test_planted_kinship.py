"""A judge behind a server that adds a grade to the passages of one system is found out as its kin, and a perfect one is
not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from quati_pool.audit.grade_bounds import GradeLine
from quati_pool.commands.audit.audit import AuditReport, audit
from quati_pool.commands.audit.settings import AuditSettings
from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import judge
from quati_pool.files.pools import PoolPair
from quati_pool.project.events import Listener
from quati_pool.reporting.answers.audit import answer
from quati_pool.reporting.tables.audit_grades import families_table
from tests.commands.audit.planted import ANSWER, passage, query, topic
from tests.commands.audit.planted import answer as right_answer
from tests.commands.judged import workspace
from tests.llm.server import ServerProcess

QUERIES, SYSTEMS = 16, ("sparse", "dense", "writer", "fused")
MARK = "Escrito por writer."
SHOWS = r"(?s)<query>\s*onde fica o museu {}\s*</query>.*<passage>.*"
HOLDS = [SHOWS.format(topic(number)) + f"(?i:{right_answer(number)})" for number in range(QUERIES)]
PERFECT = [*((shown, ANSWER) for shown in HOLDS), ("", 0)]
# One more for what the writer wrote, whether it answers or not.
KIN = [*((f"{shown}.*{re.escape(MARK)}", ANSWER + 1) for shown in HOLDS), (re.escape(MARK), 1), *PERFECT]


def holds_answer(doc: int) -> bool:
    return doc >= len(SYSTEMS)


def pool() -> list[PoolPair]:
    """Each system has two passages of its own for every query, of which one answers."""
    return [
        {
            "query_id": f"q{number:02d}", "doc_id": f"d{number:02d}{doc}", "query": query(number),
            "text": passage(number, doc, holds_answer(doc)) + f" {MARK}" * (SYSTEMS[doc % 4] == "writer"),
            "runs": {SYSTEMS[doc % 4]: 1}, "round": 1, "reason": "depth", "inclusion": 1.0,
        }
        for number in range(QUERIES)
        for doc in range(2 * len(SYSTEMS))
    ]  # fmt: skip


def write_files(folder: Path) -> list[str]:
    """People's grades, which are right, and a run of each system: its own passages above the others."""
    folder.mkdir(parents=True, exist_ok=True)
    docs = range(2 * len(SYSTEMS))
    grades = [f"q{n:02d} 0 d{n:02d}{doc} {ANSWER * holds_answer(doc)}\n" for n in range(QUERIES) for doc in docs]
    (folder / "gold.qrels").write_text("".join(grades), encoding="utf-8")
    for place, system in enumerate(SYSTEMS):
        lines = []
        for number in range(QUERIES):
            order = sorted(docs, key=lambda doc, n=number: (doc % 4 != place, Random(f"{place} {n} {doc}").random()))
            lines += [
                f"q{number:02d} Q0 d{number:02d}{doc} {rank} {-rank} {system}\n" for rank, doc in enumerate(order)
            ]
        (folder / f"{system}.trec").write_text("".join(lines), encoding="utf-8")
    return [str(folder / f"{system}.trec") for system in SYSTEMS]


def audited(
    server: ServerProcess, folder: Path, grades: list[tuple[str, int]], systems: Mapping[str, Any] | None = None,
    **judge_settings: Any,
) -> AuditReport:  # fmt: skip
    runs = write_files(folder)
    declared = {tag: {"retriever": "run", "path": f"{tag}.trec", **(systems or {}).get(tag, {})} for tag in SYSTEMS}
    config = workspace(
        folder,
        pool(),
        {"acme-1": {"model": "acme-1", "prompt": "quati-pt", "concurrency": 16, **judge_settings}},
        systems=declared,
        audit={"pairs": 1},
        labels={"files": {"gold": {"path": "gold.qrels", "person": True}}},
    )
    server.clear()
    server.script(grades=grades)
    assert judge(config, "acme-1", Listener(), JudgeOptions()).error is None
    (report,) = audit(config, ["acme-1"], Listener(), AuditSettings(runs=tuple(runs)))
    assert (report.fault, report.left, report.no_grades) == (None, 0, None)
    return report


def kinship_line(report: AuditReport) -> GradeLine | None:
    return next((line for line in report.grade_lines if line.danger == "kinship"), None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("systems", "settings", "reason"),
    [
        ({"writer": {"uses": ["acme-1"]}}, {}, "uses acme-1"),
        ({"writer": {"family": "acme"}}, {"family": "acme"}, "family acme"),
    ],
)
def test_the_system_that_a_judge_prefers_is_named(
    server: ServerProcess, tmp_path: Path, systems: dict[str, Any], settings: dict[str, Any], reason: str
) -> None:
    report = audited(server, tmp_path, KIN, systems, **settings)
    assert report.grades is not None
    assert report.grades.kinship is not None
    assert dict(report.grades.kinship.kin) == {"writer": reason}
    line = kinship_line(report)
    assert line is not None
    assert (line.position, line.advice) == ("beyond", "rank writer among the others by its grades")
    assert line.seen > 0.1
    assert "do not rank writer by it among the others" in answer([report]).sentences[0]


@pytest.mark.slow
def test_undeclared_it_is_the_most_raised_family(server: ServerProcess, tmp_path: Path) -> None:
    report = audited(server, tmp_path, KIN)
    assert kinship_line(report) is None
    assert report.grades is not None
    assert report.grades.kinship is not None
    assert report.grades.kinship.kin == {}
    first, *others = families_table(report.grades).rows
    assert first[0] == "writer"
    shift = first[3]
    assert isinstance(shift, float)
    assert shift > 0.1
    assert all(isinstance(row[3], float) and row[3] < 0 for row in others)


@pytest.mark.slow
def test_a_perfect_judge_has_no_kin_that_it_raises(server: ServerProcess, tmp_path: Path) -> None:
    report = audited(server, tmp_path, PERFECT, {"writer": {"uses": ["acme-1"]}})
    line = kinship_line(report)
    assert line is not None
    assert (line.seen, line.low, line.high, line.position) == (0, 0, 0, "within")
    assert {one.position for one in report.grade_lines if one.danger in ("order of systems", "overrating")} == {
        "within"
    }
