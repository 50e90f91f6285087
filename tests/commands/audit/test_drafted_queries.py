"""An audit points out a judge whose own family drafted queries that it graded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.audit.grade_inputs import GradeSettings, WorkspaceGrades
from quati_pool.commands.audit.grades import DraftedQueries, GradeAudit
from quati_pool.commands.judge.judge import judge
from quati_pool.errors import InputError
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.store.database import Store
from tests.commands.judged import many, workspace

QUERIES, DOCS = 6, 4
CODE = """\
from quati_pool.judging.base import Judge, Parameters
from quati_pool.judging.verdict import Verdict
from quati_pool.records import State


class Named(Judge):
    class Parameters(Parameters):
        model: str

    def grade(self, pairs):
        return [Verdict(State.ok, len(pair.text) % 4) for pair in pairs]
"""
JUDGES: dict[str, Any] = {
    "first": {"judge": "mine.py:Named", "model": "gpt-4o"},
    "second": {"judge": "mine.py:Named", "model": "acme-2", "family": "openai"},
    "third": {"judge": "mine.py:Named", "model": "sabia-3"},
    "fourth": {"judge": "mine.py:Named", "model": "zeta-1"},
}
# q0005 was graded by people alone.
DRAFTERS = {"q0000": "gpt-4o-mini", "q0001": "acme-2", "q0002": "claude-4", "q0003": "zeta-1", "q0005": "gpt-4o"}


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drafted")
    files = {"files": {"ana": {"path": "people.qrels", "person": True}}}
    path = workspace(folder, many(QUERIES - 1, DOCS), JUDGES, labels=files, queries={"path": "queries.jsonl"})
    (folder / "mine.py").write_text(CODE)
    write_queries(folder, DRAFTERS)
    rows = [f"q{q:04d} 0 d{d:04d} {(q + d) % 4}\n" for q in range(QUERIES) for d in range(DOCS)]
    (folder / "people.qrels").write_text("".join(rows))
    for name in JUDGES:
        judge(path, name, Listener())
    return path


def write_queries(folder: Path, drafters: dict[str, Any]) -> None:
    rows = [{"query_id": f"q{n:04d}", "query": f"pergunta q{n:04d}"} for n in range(QUERIES)]
    drafted = [row | ({"drafted_by": drafters[row["query_id"]]} if row["query_id"] in drafters else {}) for row in rows]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in drafted))


def grades_of(config: Path, name: str, **settings: Any) -> GradeAudit:
    loaded = load_config(config)
    with Store.open(loaded.labels.url, loaded.folder) as store:
        found = WorkspaceGrades(Grading(loaded, store), GradeSettings(people="ana", **settings)).of(name)
    assert isinstance(found, GradeAudit)
    return found


@pytest.mark.parametrize(
    ("name", "drafted"),
    [
        # gpt-4o-mini by its name, acme-2 as pool.yaml says.
        ("first", DraftedQueries("openai", 2, 5)),
        ("second", DraftedQueries("openai", 2, 5)),
        ("third", None),
        # Of no known family, but the same model.
        ("fourth", DraftedQueries("zeta-1", 1, 5)),
    ],
)
def test_queries_that_a_judge_s_family_drafted_are_counted(
    config: Path, name: str, drafted: DraftedQueries | None
) -> None:
    assert grades_of(config, name).drafted == drafted


def test_a_family_that_an_option_declares_counts(config: Path) -> None:
    assert grades_of(config, "third", judge_families={"third": "anthropic"}).drafted == DraftedQueries(
        "anthropic", 1, 5
    )
    assert grades_of(config, "first", judge_families={"first": "other"}).drafted is None


def test_without_drafts_nothing_is_said_and_a_faulty_column_has_its_line(config: Path) -> None:
    try:
        write_queries(config.parent, {})
        assert grades_of(config, "first").drafted is None
        write_queries(config.parent, {"q0001": 7})
        with pytest.raises(InputError, match=r"queries.jsonl:2: drafted_by"):
            grades_of(config, "first")
    finally:
        write_queries(config.parent, DRAFTERS)
