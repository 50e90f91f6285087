"""Pirá's texts searched whole, and cut into passages at words and at sentences; success@k of every k."""

from __future__ import annotations

import csv
import gzip
import io
import random
from pathlib import Path
from unittest import mock

import pytest

from quati_pool.commands.bench.bench import BenchOptions, BenchResult, bench
from quati_pool.errors import ConfigError
from quati_pool.project.events import Listener
from quati_pool.reporting.answers.bench import answer
from quati_pool.reporting.figures.bench import write
from tests.commands.small_collection import sketch
from tests.qa_benchmarks.pira_rows import row, write_split

POOL = """\
name: mine
corpus: {path: c.jsonl}
queries: {path: q.tsv}
systems: {words: {retriever: bm25s, language: en}, lsa: {retriever: lsa, language: en, dimensions: 4}}
run_depth: 30
"""
WORDS = ["tide", "boats", "harbour", "oil", "sea", "coral", "reef", "wave", "whale", "sand", "port", "ship"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """12 texts of 12 sentences, of 20 to 40 words each, so that no 100 words end with one by chance alone."""
    folder = tmp_path_factory.mktemp("pira")
    chance = random.Random(3)
    rows = []
    for number in range(12):
        sentences = [chance.choices([*WORDS, f"own{number}"], k=chance.randint(20, 40)) for _ in range(12)]
        text = " ".join(" ".join(words).capitalize() + "." for words in sentences)
        question = " ".join([*chance.choices(WORDS, k=3), *chance.choices([f"own{number}", "sea"], k=1)])
        rows.append(row(f"A{number}", text, question_en_origin=f"What {question}?"))
    write_split(folder / "data", "test", rows)
    (folder / "pool.yaml").write_text(POOL)
    return folder


def run(data: Path, task: str, **options) -> BenchResult:
    chosen = BenchOptions(folder=data / "work", languages=["en"], systems=data / "pool.yaml", **options)
    with mock.patch("quati_pool.reporting.figures.build.heat_map", sketch):
        result = bench("pira", task, data / "data", chosen, Listener())
    write(result, chosen.folder, Listener())
    return result


def brute_force(folder: Path, run_tag: str, k: int) -> float:
    """The share of queries with a relevant document in the first k lines of their run, counted line by line."""
    relevant: dict[str, set[str]] = {}
    for line in (folder / "gold.qrels").read_text().splitlines():
        query_id, _, doc_id, grade = line.split()
        assert grade == "1"
        relevant.setdefault(query_id, set()).add(doc_id)
    found = set()
    for line in gzip.decompress((folder / "runs" / f"{run_tag}.trec.gz").read_bytes()).decode().splitlines():
        query_id, _, doc_id, rank, *_ = line.split()
        if int(rank) <= k and doc_id in relevant[query_id]:
            found.add(query_id)
    return len(found) / len(relevant)


@pytest.mark.parametrize(
    ("task", "cut", "name"),
    [("ir", None, "ir"), ("ir", "words", "ir-words"), ("ir", "sentences", "ir-sentences"), ("oqa", None, "oqa"),
     ("oqa", "sentences", "oqa-sentences")],
)  # fmt: skip
def test_success_of_every_k_is_that_of_the_run(data: Path, task: str, cut: str | None, name: str) -> None:
    result = run(data, task, cut=cut)
    reports, folder = data / "work" / "reports", data / "work" / "collections" / f"{name}-test-en"
    lines = list(csv.DictReader(io.StringIO((reports / f"{name}-success.csv").read_text())))
    values = {(line["system"], int(line["k"])): float(line["success"]) for line in lines}
    # The runs end at rank 30, and so do the curves.
    assert set(values) == {(tag, k) for tag in ("words", "lsa", "random order") for k in range(1, 31)}
    for tag in ("words", "lsa"):
        counted = [brute_force(folder, tag, k) for k in range(1, 31)]
        assert [values[tag, k] for k in range(1, 31)] == counted
        assert counted[0] < counted[-1]
    assert {line["task"] for line in lines} == {name}
    assert f"{name}-success.csv" in answer(result).rest


def test_the_two_cuts_are_collections_of_their_own(data: Path) -> None:
    found = {cut: run(data, "ir", cut=cut) for cut in (None, "words", "sentences")}
    folders = {cut: data / "work" / "collections" / f"ir{'' if cut is None else f'-{cut}'}-test-en" for cut in found}
    corpora = {cut: (folder / "corpus.jsonl").read_text() for cut, folder in folders.items()}
    assert len(set(corpora.values())) == 3
    assert "text success@1" in found["words"].rows[0].measures
    assert "text success@1" not in found[None].rows[0].measures
    # ir over words is what oqa does by itself.
    oqa = run(data, "oqa")
    assert [one.measures for one in oqa.rows] == [one.measures for one in found["words"].rows]


def test_what_cannot_be_cut_so_is_refused(data: Path) -> None:
    with pytest.raises(ConfigError, match="--cut sentence: ir cuts at words or sentences; name one"):
        run(data, "ir", cut="sentence")
    with pytest.raises(ConfigError, match="--cut has no effect on pira mrc"):
        bench("pira", "mrc", data / "data", BenchOptions(folder=data / "work", cut="words"), Listener())
