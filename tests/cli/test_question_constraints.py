"""``quati-pool questions constraints`` on the command line, and what its page shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from quati_pool.commands.annotate.authoring.cluster_folder import read_clusters
from tests.annotation.authoring.made_graphs import planted
from tests.cli.conftest import Cli

PAGE = Path(__file__).parents[2] / "docs" / "constraints.md"
COMMAND = ("questions", "constraints", "triples.tsv", "--texts", "texts.jsonl")


@pytest.fixture
def writers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the page, in the current folder."""
    page = PAGE.read_text(encoding="utf-8")
    for name, kind in (("triples.tsv", "tsv"), ("texts.jsonl", "json")):
        (block,) = re.findall(rf"^```{kind}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        (tmp_path / name).write_text(block, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "triples.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in planted(4_000, plants=30)))
    return path


def test_the_page_shows_what_the_command_prints(writers: Path, cli: Cli) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert f"    $ quati-pool {' '.join(COMMAND)}\n" in page
    done = cli(*COMMAND)
    sentences, table, after = done.out.split("\n\n")
    assert "".join(f"    {line}\n" for line in sentences.splitlines()) in page
    assert "answers a question" in table
    first, entry = after.split("\n", 1)
    assert first == "next: add to pool.yaml, then quati-pool annotate"
    added = {"design": "romqa", "languages": ["en"], "sources": {"path": "authoring/clusters"}}
    assert yaml.safe_load(entry) == {"authoring": added}
    # The question that the page begins with: its only answer got the prize, and is no member.
    (record,) = read_clusters(Path("authoring/clusters"))
    by_entity = {one["entity"]: place for place, one in enumerate(record["constraints"])}
    signed = [{"constraint": by_entity[entity], "negated": entity == "abl"} for entity in ("abl", "camoes")]
    assert [one["answers"] for one in record["queries"] if one["constraints"] == signed] == [["fonseca"]]


def test_numbers_of_the_example_are_those_by_hand(writers: Path, cli: Cli) -> None:
    # Seed 0 keeps the queries novelist & abl (3 answers: amado, telles, ubaldo), novelist & camoes (those and fonseca),
    # camoes & not abl (fonseca) and abl (amado, gullar, telles, ubaldo): 7 constraints, 12 answers.
    found = json.loads(cli(*COMMAND, "--format", "json").out)
    assert (found["clusters"], found["questions"], found["skipped"]) == (1, 4, 0)
    assert found["question_constraints"] == {"mean": 7 / 4, "median": 2}
    assert found["answers"] == {"mean": 12 / 4, "median": 3.5}
    assert (found["constraints"], found["negated"]) == (7, 1)
    assert (found["drawn"], found["discarded"]) == (5, {"repeated": 1})
    assert (found["ids"], found["unnamed"]) == (12, 9)
    assert found["undefined"] == {"evidence": "the triples have no evidence"}
    assert found["made"]
    assert cli(*COMMAND).out.startswith("1 cluster with 4 questions to write, from 14 triples: authoring/clusters (as")


def test_evidence_is_counted_by_its_texts(writers: Path, cli: Cli) -> None:
    rows = (writers / "triples.tsv").read_text().splitlines()
    header = "subject\tproperty\tobject\tdoc_id\tstart\tend\tevidence\n"
    # All mentions of a prize have the same text, the others one each.
    texts = ["He got it." if "award" in row else f"Sentence {n}." for n, row in enumerate(rows)]
    lines = [f"{row}\tD{n}\t0\t9\t{text}\n" for n, (row, text) in enumerate(zip(rows, texts, strict=True))]
    (writers / "triples.tsv").write_text(header + "".join(lines))
    found = json.loads(cli(*COMMAND, "--format", "json").out)
    # By hand: novelist & abl 5 + 4 texts, novelist & camoes 5 + 1, camoes & not abl 1 + 4, abl 4: all six entities are
    # candidates of each.
    assert found["evidence"] == {"mean": (9 + 6 + 5 + 4) / 4, "median": 5.5}
    assert "undefined" not in found
    assert "No evidence" not in cli(*COMMAND).out
    assert "evidence texts a question  6.00" in cli(*COMMAND).out


def test_the_answer_is_short_and_every_format_is_there(graph: Path, cli: Cli) -> None:
    done = cli("questions", "constraints", "triples.tsv", "-o", "a: b/#1")
    lines = done.out.splitlines()
    assert len(lines) <= 40
    assert all(len(line) <= 80 for line in lines)
    assert re.match(r"\d+ clusters with \d+ questions to write, from 4,000 triples: a: b/#1\.$", lines[0])
    assert re.search(r"^Skipped: \d+ clusters with fewer than 3 questions\.$", done.out, re.MULTILINE)
    assert yaml.safe_load(done.out.split("annotate\n")[1])["authoring"]["sources"] == {"path": "a: b/#1"}
    full = cli("questions", "constraints", "triples.tsv", "-o", "a: b/#1", "--full").out
    counts = json.loads(cli("questions", "constraints", "triples.tsv", "-o", "a: b/#1", "--format", "json").out)
    for what, name in (("clusters", "clusters"), ("draws", "drawn"), ("ids without a text", "unnamed")):
        assert re.search(rf"^{what} +{counts[name]:,}$", full, re.MULTILINE)
    assert len(re.findall("^discarded: ", full, re.MULTILINE)) == len(counts["discarded"])
    for output_format in ("markdown", "latex", "csv"):
        assert cli("questions", "constraints", "triples.tsv", "-o", "a: b/#1", "--format", output_format).status == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--drop", "1"], "Invalid value for '--drop': 1.0 is not a probability from 0 to below 1"),
        (["--negate", "nan"], "Invalid value for '--negate': nan is not a probability"),
        (["--max-constraints", "2"], "Invalid value for --max-constraints: is below --min-constraints 3"),
        (["--min-shared", "0"], "Invalid value for '--min-shared'"),
        (["--clusters", "-1"], "Invalid value for '--clusters'"),
        (["--max-answers", "0"], "Invalid value for '--max-answers'"),
        (["--draws", "2"], "--min-questions 3: each cluster has 2 draws; raise --draws"),
        (["gone.tsv"], "gone.tsv: there is no such file; check the path"),
        (["empty.tsv"], "empty.tsv: holds no triples"),
        (["wide.tsv"], "wide.tsv:1: no column 'subject' among"),
        (["cut.tsv.gz"], "cut.tsv.gz: is cut off or not gzip"),
        (["folder.tsv"], "folder.tsv: is a folder; name the files in it"),
        (["--texts", "empty.tsv"], "empty.tsv: is not JSONL by its name"),
        (["-o", "triples.tsv"], "triples.tsv is a file; name a folder with -o"),
        (["-o", ".."], ".. cannot be replaced; name a separate folder with -o"),
        (["-o", "folder.tsv"], "folder.tsv is not empty and holds no clusters alone; name another folder with -o"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    graph: Path, cli: Cli, arguments: list[str], message: str
) -> None:
    Path("empty.tsv").touch()
    Path("wide.tsv").write_text("a\tb\tc\td\n1\t2\t3\t4\n")
    Path("cut.tsv.gz").write_bytes(b"\x1f\x8b\x08\x00\x00")
    Path("folder.tsv").mkdir()
    Path("folder.tsv/mine").touch()
    done = cli("questions", "constraints", "triples.tsv", *arguments)
    assert done.status in (1, 2)
    assert message in done.err.splitlines()[-1]
    assert not list(graph.parent.rglob("clusters*"))
    assert [file.name for file in Path("folder.tsv").iterdir()] == ["mine"]
