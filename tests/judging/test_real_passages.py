"""Real web passages of the Quati annotations: through the prompts, and through a whole judged pool."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from quati_pool.commands.export.qrels import export_qrels
from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import judge
from quati_pool.judging.prompts import load_prompt
from quati_pool.project.events import Listener
from quati_pool.records import State
from quati_pool.text.fencing import recovered
from tests.commands.judged import workspace
from tests.shared_data import shared


def annotations() -> list[dict[str, str]]:
    path = shared("quati/annotator_01_240_annotations_with_questions.tsv")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.mark.parametrize("name", ["quati-pt", "quati-en", "quati-es", "binary-pt", "umbrela-style-en"])
def test_every_passage_stands_whole_between_one_pair_of_marks(name: str) -> None:
    prompt = load_prompt(name)
    rows = annotations()
    assert len(rows) == 240
    for row in rows:
        content = prompt.messages(row["query"], row["passage"])[-1]["content"]
        for field in ("query", "passage"):
            assert content.count(f"<{field}>") == content.count(f"</{field}>") == 1
            inside = content.split(f"<{field}>\n")[1].split(f"\n</{field}>")[0]
            assert recovered(inside) == row[field]


def test_a_persons_grades_replayed_are_exported_as_they_were(tmp_path: Path) -> None:
    """240 pairs of 24 queries; the person's grades go in as labels and come out as qrels, pair by pair."""
    rows = annotations()
    ids = {query: f"q{place:02d}" for place, query in enumerate(sorted({row["query"] for row in rows}))}
    assert len(ids) == 24
    rows.sort(key=lambda row: (ids[row["query"]], row["passage_id"]))
    grades = {(ids[row["query"]], row["passage_id"]): int(float(row["score"])) for row in rows}
    gold = "".join(f"{query_id} 0 {doc_id} {grade}\n" for (query_id, doc_id), grade in grades.items())
    (tmp_path / "gold.qrels").write_text(gold, encoding="utf-8")
    judges = {"person": {"judge": "replay", "path": "gold.qrels"}, "lexical": {"judge": "lexical", "language": "pt"}}
    config = workspace(tmp_path, [], judges)
    pool = tmp_path / "annotated.jsonl"
    with pool.open("w", encoding="utf-8") as file:
        for row in rows:
            pair = {"query_id": ids[row["query"]], "doc_id": row["passage_id"]}
            file.write(json.dumps({**pair, "query": row["query"], "text": row["passage"]}) + "\n")
    for name in judges:
        report = judge(config, name, Listener(), JudgeOptions(pool=pool))
        assert report.pending.coverage.states == {State.ok: 240}
    written = export_qrels(config, "person", tmp_path / "out.qrels", pool=pool)
    assert written.path.read_text(encoding="utf-8") == gold
