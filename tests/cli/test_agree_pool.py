"""``agree`` on the released Quati annotations, which have no query_ids, in a workspace that pooled their pairs."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

from tests.cli.conftest import Cli, cli
from tests.commands.judged import pair, workspace
from tests.shared_data import shared

__all__ = ["cli"]

FILES = {n: f"quati/annotator_0{n}_240_annotations_with_questions.tsv" for n in (1, 2)}


def annotations(number: int) -> list[dict[str, str]]:
    with shared(FILES[number]).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


@pytest.fixture
def ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """The current folder is a workspace whose pool has the annotated pairs of all queries but the last, under
    query_ids that it made up; and qrels of the second annotator's grades, under those ids."""
    monkeypatch.chdir(tmp_path)
    rows = annotations(1)
    made = {query: f"q{place}" for place, query in enumerate(dict.fromkeys(row["query"] for row in rows))}
    rows.sort(key=lambda row: made[row["query"]])
    pooled = {
        (made[row["query"]], row["passage_id"]): {
            **pair(made[row["query"]], row["passage_id"], f"\ufeff {row['passage']}"), "query": row["query"].upper()
        }
        for row in rows
        if made[row["query"]] != "q23"
    }  # fmt: skip
    workspace(tmp_path, pooled.values(), {"lexical": {"judge": "lexical"}})
    graded = {(made[row["query"]], row["passage_id"]): row["score"] for row in annotations(2)}
    qrels = "".join(f"{query} 0 {doc} {grade}\n" for (query, doc), grade in graded.items())
    (tmp_path / "second.qrels").write_text(qrels, encoding="utf-8")
    return made


def labels(path: Path | str) -> tuple[str, ...]:
    return "--labels", f"HA1={path}", "--labels", "HA2=second.qrels", "--draws", "0"


def kappa(ids: Mapping[str, str], without: str = "q23") -> float:
    second = {(row["query"], row["passage_id"]): row["score"] for row in annotations(2)}
    both = [
        (row["score"], second[row["query"], row["passage_id"]])
        for row in annotations(1)
        if ids[row["query"]] != without
    ]
    return float(cohen_kappa_score(*zip(*both, strict=True)))


def data_of(cli: Cli, *arguments: str) -> tuple[dict[str, Any], str]:
    done = cli("agree", *arguments, "--format", "json")
    assert (done.status, "Traceback" in done.err) == (0, False), done.err
    data: dict[str, Any] = json.loads(done.out)
    return data, done.err


@pytest.mark.parametrize("where", [(), ("-c", "pool.yaml"), ("--pool", "pool.jsonl.gz")])
def test_annotations_without_query_ids_take_those_of_the_pool(
    ids: Mapping[str, str], cli: Cli, where: tuple[str, ...]
) -> None:
    data, err = data_of(cli, *labels(shared(FILES[1])), *where)
    (both,) = data["pairs"]
    lost = [row for row in annotations(1) if ids[row["query"]] == "q23"]
    assert both["n"] == 240 - len(lost)
    assert both["kappa"] == pytest.approx(kappa(ids))
    assert data["matched_by"] == "query_id and doc_id"
    assert [(row["labeler"], row["query"], row["doc_id"], row["relevance"]) for row in data["unmatched"]] == [
        ("HA1", row["query"], row["passage_id"], int(row["score"])) for row in lost
    ]
    assert err.splitlines()[0].startswith(f"HA1: {len(lost)} rows are left out")
    assert len(re.findall(rf"^  .*{FILES[1]}:\d+: the query text", err, re.M)) == 3
    assert "Rows that match no pair" in cli("agree", "--full", *labels(shared(FILES[1])), *where).out


def test_passages_without_ids_take_those_of_the_pool(ids: Mapping[str, str], cli: Cli, tmp_path: Path) -> None:
    rows = [row for row in annotations(1) if ids[row["query"]] != "q23"]
    records = [{"query": row["query"], "text": row["passage"], "relevance": int(row["score"])} for row in rows]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    data, err = data_of(cli, *labels("texts.jsonl"))
    texts: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        texts.setdefault((row["query"], row["passage"]), set()).add(row["passage_id"])
    twice = [place for place, row in enumerate(rows, 1) if len(texts[row["query"], row["passage"]]) > 1]
    assert [row["line"] for row in data["unmatched"]] == twice
    assert all(len(row["candidates"]) == 2 for row in data["unmatched"])
    assert data["pairs"][0]["n"] == len(rows) - len(twice)
    assert bool(err) == bool(twice)


def test_files_that_speak_for_themselves_need_no_pool(ids: Mapping[str, str], cli: Cli) -> None:
    files = ("--labels", f"HA1={shared(FILES[1])}", "--labels", f"HA2={shared(FILES[2])}", "--draws", "0")
    data, err = data_of(cli, *files)
    assert (data["matched_by"], data["pairs"][0]["n"], data["unmatched"], err) == ("query text and doc_id", 240, [], "")
    joined, _ = data_of(cli, *files, "-c", "pool.yaml")
    assert joined["matched_by"] == "query_id and doc_id"
    assert joined["pairs"][0]["kappa"] == pytest.approx(kappa(ids))


def test_where_no_row_names_a_pair_the_first_is_shown(ids: Mapping[str, str], cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text('{"query": "who?", "doc_id": "d", "relevance": 1}\n', encoding="utf-8")
    done = cli("agree", *labels("other.jsonl"))
    assert done.status == 1
    assert done.err.count("\n") == 1
    assert "other.jsonl:1: the query text 'who?' is not in the pool" in done.err
