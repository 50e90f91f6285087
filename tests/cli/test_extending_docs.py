"""The components of docs/extending.md, as they are there, over the bundled sample."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shlex
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quati_pool.commands.labels import labels
from tests.cli.conftest import Cli

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "extending.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
Scores = dict[str, dict[str, float]]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the page, each named by its first line, and the sample's corpus and queries."""
    for language, text in BLOCKS:
        if language in ("python", "yaml"):
            (tmp_path / re.match(r"# (\S+)\n", text)[1]).write_text(text, encoding="utf-8")  # type: ignore[index]
    for name in ("corpus.jsonl", "queries.jsonl"):
        shutil.copy(ROOT / "data" / "sample" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def records(path: Path, key: str, value: str) -> dict[str, str]:
    return {row[key]: row[value] for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


def words(text: str) -> set[str]:
    return set(text.lower().split())


def first(scores: Scores, depth: int) -> Scores:
    """trec_eval's order: descending scores as float32, then descending doc_ids; without queries that found nothing."""
    ranked = {}
    for query_id, found in scores.items():
        order = sorted(((np.float32(score), doc_id) for doc_id, score in found.items()), reverse=True)
        ranked[query_id] = {doc_id: float(score) for score, doc_id in order[:depth]}
    return {query_id: found for query_id, found in ranked.items() if found}


def run(name: str) -> Scores:
    found: Scores = {}
    for line in gzip.decompress(Path("runs", f"{name}.trec.gz").read_bytes()).decode().splitlines():
        query_id, _, doc_id, _, score, _ = line.split()
        found.setdefault(query_id, {})[doc_id] = float(score)
    return found


def assert_same(found: Scores, expected: Scores) -> None:
    assert {q: list(docs) for q, docs in found.items()} == {q: list(docs) for q, docs in expected.items()}
    for query_id, docs in expected.items():
        assert list(found[query_id].values()) == pytest.approx(list(docs.values()), rel=1e-6)


def test_the_example_runs_and_computes_what_it_says(workspace: Path, cli: Cli, sketched: None) -> None:
    [script] = [text for language, text in BLOCKS if language == "sh"]
    commands = [shlex.split(line)[1:] for line in script.splitlines()]
    assert ["build"] in commands
    assert ["judge"] in commands
    for command in commands:
        done = cli(*command)
        assert done.status == 0, done.err
    queries = records(workspace / "queries.jsonl", "query_id", "query")
    texts = records(workspace / "corpus.jsonl", "doc_id", "text")

    def over(documents: dict[str, Any], score: Any) -> Scores:
        """The score of the words of each query and of each of its documents."""
        return {q: {d: score(words(queries[q]), words(texts[d])) for d in found} for q, found in documents.items()}

    jaccard = over(dict.fromkeys(queries, texts), lambda query, text: len(query & text) / len(query | text))
    jaccard = {q: {d: score for d, score in found.items() if score} for q, found in jaccard.items()}
    assert_same(run("jaccard"), first(jaccard, 100))

    bm25s = {q: dict(list(found.items())[:50]) for q, found in run("bm25s").items()}
    coverage = over(bm25s, lambda query, text: (len(query & text) / len(query)) ** 2)
    assert_same(run("reranked"), first(coverage, 100))

    fused: Scores = {}
    for name in ("bm25s", "jaccard"):
        for query_id, documents in run(name).items():
            for rank, doc_id in enumerate(documents, 1):
                into = fused.setdefault(query_id, {})
                into[doc_id] = into.get(doc_id, 0.0) + 1 / rank**2
    assert_same(run("fused"), first(fused, 100))

    grades: Counter[int] = Counter()
    for pair in map(json.loads, gzip.decompress(Path("pool.jsonl.gz").read_bytes()).splitlines()):
        found = [word for word in words(pair["query"]) if len(word) > 5 and word in pair["text"].lower()]
        grades[min(3, len(found))] += 1
    assert len(grades) == 4
    assert labels(workspace / "pool.yaml").coverages["long-words"].grades == grades


def test_the_hash_is_in_the_report_and_in_the_released_judge(workspace: Path, cli: Cli, sketched: None) -> None:
    for command in ("build", "judge", "report", "export bundle"):
        done = cli(*command.split())
        assert done.status == 0, done.err
    # Markdown escapes the underscore.
    report = Path("reports/report.md").read_text(encoding="utf-8").replace("\\", "")
    for name in ("jaccard.py:Jaccard", "coverage.py:Coverage", "squares.py:InverseSquares", "long_words.py:LongWords"):
        sha = hashlib.sha256((workspace / name.partition(":")[0]).read_bytes()).hexdigest()[:16]
        assert f"{name} (sha256 {sha})" in report
    definition = json.loads(Path("exports/bundle/judges/long-words.json").read_text(encoding="utf-8"))["definition"]
    assert definition == {"judge": f"judge/long_words.py:LongWords@1 (sha256 {sha})", "grades": [0, 1, 2, 3]}


def test_a_judge_without_a_model_is_refused_by_batch(workspace: Path, cli: Cli) -> None:
    assert cli("build").status == 0
    done = cli("batch", "submit", "long-words")
    assert (done.status, done.err) == (
        1,
        "quati-pool: long-words asks no model; run: quati-pool judge long-words\n",
    )
    assert cli("judge", "--dry-run").status == 0
    # The listing is of what is registered.
    assert "jaccard" not in cli("retrievers").out


def test_the_pooling_method_chooses_what_most_runs_rank(workspace: Path, cli: Cli, sketched: None) -> None:
    [line] = re.findall(r"^    (pool: .*popular.py:Popular.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    config = workspace / "pool.yaml"
    settings = config.read_text(encoding="utf-8")
    assert cli("build").status == 0
    runs: dict[tuple[str, str], int] = {
        (pair["query_id"], pair["doc_id"]): sum(rank <= 10 for rank in pair["runs"].values()) for pair in pooled()
    }
    Path("pool.jsonl.gz").unlink()
    config.write_text(f"{settings}{line}\n", encoding="utf-8")
    done = cli("judge", "--adaptive")
    assert done.status == 0, done.err
    assert "popular.py:Popular chose 100 of" in done.out
    chosen = {(pair["query_id"], pair["doc_id"]) for pair in pooled() if pair["reason"] == "popular.py:Popular"}
    assert len(chosen) == 100 < len(runs)
    for query_id in {query_id for query_id, _ in runs}:
        taken = [number for pair, number in runs.items() if pair in chosen and pair[0] == query_id]
        rest = [number for pair, number in runs.items() if pair not in chosen and pair[0] == query_id]
        assert min(taken, default=4) >= max(rest, default=0)


def pooled() -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(Path("pool.jsonl.gz").read_bytes()).decode().splitlines()]
