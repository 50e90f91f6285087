"""``quati-pool prepare``, as the user runs it, up to ``build`` over what it wrote."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.made_pages import sentence_text
from tests.serial_engine import SerialEngine

CONFIG = """\
name: small
seed: 5
steps:
  - read: {path: pages.jsonl}
  - url: {drop_tlds: [pt]}
  - quality: {language: pt}
  - segment: {characters: 300, tolerance: 100}
  - duplicates
  - write: {to: all}
  - sample: {n: 9}
  - write: {to: nine, format: parquet}
"""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve pages of which three go: two by URL, one as it has few words."""
    monkeypatch.setattr("quati_pool.processes.opening.open_engine", lambda *asked: SerialEngine())
    monkeypatch.chdir(tmp_path)
    source = random.Random(3)
    with Path("pages.jsonl").open("w", encoding="utf-8") as file:
        for number in range(12):
            url = f"https://example.{'pt' if number < 2 else 'com.br'}/{number}"
            content = "Poucas palavras de que." if number == 7 else sentence_text(source, 900)
            file.write(json.dumps({"doc_id": f"p{number}", "url": url, "text": content}, ensure_ascii=False) + "\n")
    Path("prepare.yaml").write_text(CONFIG)
    return tmp_path


def test_the_funnel_is_printed_in_every_format(workspace: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    done = cli("prepare", "--full", "--format", "json")
    assert done.status == 0
    data = json.loads(done.out)
    steps = {step["step"]: step for step in data["steps"]}
    assert list(steps) == [
        "read", "url", "quality", "segment", "repeated-ids", "duplicates", "write", "sample", "write-2",
    ]  # fmt: skip
    assert steps["url"]["dropped"]["top-level domain"] == 2
    assert {reason for reason, count in steps["quality"]["dropped"].items() if count} == {"too few words"}
    assert (steps["segment"]["rows_in"], steps["segment"]["unit"]) == (9, "pages")
    assert [corpus["passages"] for corpus in data["corpora"]] == [steps["write"]["rows_out"], 9]
    assert json.loads((workspace / "reports" / "prepare-small.json").read_text(encoding="utf-8")) == data
    # Drawn once is enough.
    monkeypatch.setattr("quati_pool.reporting.figures.prepare.write", lambda *_: None)
    for how in ("table", "markdown", "latex"):
        again = cli("prepare", "--full", "--format", how)
        assert again.status == 0
        assert "finished before" in again.err
        assert "top-level domain" in again.out.replace("\\-", "")
    first, *_ = cli("prepare", "--full", "--format", "csv").out.split("\n\n")
    title, _, table = first.partition("\n")
    assert title == "# Funnel of small"
    assert [row["Step"] for row in csv.DictReader(io.StringIO(table))] == list(steps)


def test_what_a_rule_dropped_is_shown_and_nothing_run(workspace: Path, cli: Cli) -> None:
    early = cli("prepare", "--explain", "url")
    assert early.status == 1
    assert early.err.count("\n") == 1
    assert "is not there yet; run: quati-pool prepare -c prepare.yaml" in early.err
    cli("prepare")
    for rule in ("quality:too-few-words", "quality", "too-few-words", "Quality: too few words"):
        done = cli("prepare", "--explain", rule, "--format", "json")
        assert (done.status, done.err) == (0, "")
        [found] = json.loads(done.out).values()
        [example] = found["examples"]
        assert (example["doc_id"], example["place"]) == ("p7", "pages.jsonl:8")
        assert example["measured"] == "4 words; at least 50"
    shown = cli("prepare", "--explain", "url").out
    assert "top-level domain (2 dropped)" in shown
    for rule in ("quality:too-many-words", "nonsense", "", ":"):
        wrong = cli("prepare", "--explain", rule)
        assert (wrong.status, wrong.err.count("\n")) == (1, 1)
        assert "no such rule dropped anything; " in wrong.err
    (workspace / "reports" / "prepare-small-examples.json").write_text('{"quality')
    spoilt = cli("prepare", "--explain", "quality")
    assert (spoilt.status, spoilt.err.count("\n")) == (1, 1)
    assert "is damaged; run again" in spoilt.err


def test_the_steps_are_listed_without_a_configuration(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli("prepare", "--steps", "--format", "json")
    assert (done.status, done.err) == (0, "")
    steps = {step["name"]: step for step in json.loads(done.out)["steps"]}
    assert {"read", "url", "language", "segment", "line-breaks", "quality", "duplicates"} <= set(steps)
    assert {"near-duplicates", "sample", "write"} <= set(steps)
    assert all(parameter["description"] for step in steps.values() for parameter in step["parameters"])
    assert "near-duplicates" in cli("prepare", "--steps").out


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["--workers", "0"], 2, "Invalid value for '--workers'"),
        (["--engine", "spark"], 2, "'spark' is not one of"),
        (["--address", "ray://here"], 2, "--address"),
        (["-c", "missing.yaml"], 1, "missing.yaml"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    workspace: Path, cli: Cli, arguments: list[str], status: int, told: str
) -> None:
    done = cli("prepare", *arguments)
    assert done.status == status
    assert told in done.err
    assert done.out == ""
    assert not (workspace / "cache").exists()


@pytest.mark.parametrize("corpus", ["all/*.jsonl.gz", "nine/*.parquet"])
def test_build_reads_what_was_written(workspace: Path, cli: Cli, corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quati_pool.reporting.figures.prepare.write", lambda *_: None)
    prepared = json.loads(cli("prepare", "--format", "json").out)
    passages = prepared["corpora"][corpus.startswith("nine")]["passages"]
    Path("queries.tsv").write_text("1\tgoverno do estado\n2\tponte sobre o rio\n3\tpesca e mercado de peixes\n")
    Path("pool.yaml").write_text(
        f"name: small\ncorpus: {{path: '{corpus}'}}\nqueries: {{path: queries.tsv}}\n"
        "systems:\n  bm25s: {retriever: bm25s, language: pt}\npool: {depth: 3}\n"
    )
    built = cli("build", "--format", "json")
    assert built.status == 0, built.err
    assert json.loads(built.out)["pool"]["pairs"] > 0
    checked = cli("validate", *sorted(map(str, workspace.glob(corpus))), "--format", "json")
    assert checked.status == 0, checked.err
    assert str(passages) in checked.out
    pool = [json.loads(line) for line in gzip.decompress(Path("pool.jsonl.gz").read_bytes()).splitlines()]
    assert all(pair["doc_id"].rpartition("_")[2].isdigit() for pair in pool)
