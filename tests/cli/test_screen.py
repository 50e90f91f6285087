"""By default every command prints an answer that fits a screen: at most 40 lines, 80 columns in a pipe and 120 on a
terminal, on the demo and on files of the size of TREC Deep Learning 2021: 53 queries, 63 runs and six labelers, two of
them derived."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
import typer

from quati_pool.cli import console
from quati_pool.cli.main import app
from quati_pool.commands.demo import demo
from quati_pool.commands.init import init_pages
from quati_pool.project.events import Listener
from quati_pool.reporting.formats.answers import LINES, PIPE, TERMINAL, Answer, answer_text
from quati_pool.text.display_width import columns
from tests.cli import shared_task
from tests.cli.conftest import Cli
from tests.shared_data import shared

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("sketched")]

_PAIR = '--query "onde fica o Jalapão" --passage "O Jalapão fica no Tocantins."'
DEMO = f"""
    demo {{new}}
    init {{new}}/mine
    build
    build --plan
    build --qrels labels.tsv
    judge lexical --dry-run
    judge lexical
    status
    doctor
    labels
    labels lexical --missing
    agree
    evaluate
    evaluate --baseline bm25s
    report
    export qrels --labeler lexical -o {{new}}.qrels
    export labels --labeler lexical -o {{new}}.jsonl
    export beir --labeler sample-gold --allow-missing -o {{new}}-beir
    export hf -o {{new}}-hf
    export training -o {{new}}-training
    export ltr -o {{new}}-ltr
    export ir-datasets -o {{new}}-ir
    export mteb -o {{new}}-mteb
    export doccano -o {{new}}-doccano
    export bundle -o {{new}}-bundle
    export explorer -o {{new}}-explorer
    retrievers
    retrievers dense
    retrievers lsa
    retrievers llm
    prompts
    prompts show quati-pt {_PAIR}
    validate pool.yaml runs/bm25s.trec.gz corpus.jsonl queries.jsonl labels.tsv
    assessors add ana
    assessors list
    assign --random 50
    assign --stratified 100 --judge lexical
    assign --training training.tsv
    assessors revoke ana
    import ana=few.tsv
    export prels --labeler ana --design 1 -o {{new}}.prels
    questions list
    bench list
    bench list pira
    prepare -c pages/prepare.yaml
    prepare -c pages/prepare.yaml --explain quality
    prepare --steps
"""
BENCH = "bench pira ir --data {pira} --lang pt -o {new}"
LARGE = """
    build
    build --plan
    status
    doctor
    labels
    labels --missing
    agree --draws 200
    evaluate --draws 200
    evaluate --draws 200 --baseline p_bm25
    report --draws 20
    validate {runs}
"""
# They need a server, other people's files or accepted questions, and have tests of their own.
ELSEWHERE = {
    "annotate",
    "questions export",
    "batch submit",
    "batch status",
    "batch collect",
    "batch abandon",
    "prompts import",
}


TASK = """
    submissions check incoming
    submissions add incoming
    build
    judge stub
    submissions report --draws 100
    submissions release --after 2999-01-01
    submissions release --after 2020-01-01
"""


def _leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[str]:
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _leaves(inner, (*path, name))
        if command.invoke_without_command:
            yield " ".join(path)
    else:
        yield " ".join(path)


def test_every_command_is_tried() -> None:
    tried = [line.strip() for line in f"{DEMO}{BENCH}{TASK}".splitlines() if line.strip()]
    for name in set(_leaves(typer.main.get_command(app))) - ELSEWHERE - {""}:
        assert any(line == name or line.startswith(f"{name} ") for line in tried), name


@pytest.fixture
def fits(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Runs a command and checks what it prints: in this pipe, and what the same answer would be on a terminal."""
    answers: list[Answer] = []

    def recorded(answer: Answer, width: int) -> str:
        answers.append(answer)
        return answer_text(answer, width)

    monkeypatch.setattr(console, "answer_text", recorded)

    def check(line: str) -> None:
        answers.clear()
        done = cli(*shlex.split(line))
        assert done.status == 0, (line, done.err)
        for width, printed in [(PIPE, done.out), *((TERMINAL, answer_text(one, TERMINAL)) for one in answers)]:
            lines = printed.splitlines()
            assert len(lines) <= LINES, (line, width, printed)
            # A path alone, such as the report's, is not cut: it is there to be copied.
            assert all(columns(one) <= width or os.path.exists(one) for one in lines), (line, width, printed)
        for answer in answers:
            assert answer.sentences, line
            assert answer.sentences[0].strip(), line

    return check


def test_the_demo(tmp_path: Path, fits: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "demo"
    demo(folder, Listener())
    init_pages(folder / "pages")
    graded = (folder / "labels.tsv").read_text(encoding="utf-8").splitlines()
    few = [graded[0], *graded[1:6]]
    (folder / "few.tsv").write_text("\n".join(few) + "\n", encoding="utf-8")
    heading = graded[0].split("\t")
    rows = [dict(zip(heading, row.split("\t"), strict=True)) for row in graded[1:4]]
    training = [f"{row['query_id']}\t{row['doc_id']}\t{row['relevance']}\tA reason." for row in rows]
    (folder / "training.tsv").write_text(
        "\n".join(["query_id\tdoc_id\trelevance\texplanation", *training]) + "\n", encoding="utf-8"
    )
    monkeypatch.chdir(folder)
    for number, line in enumerate(DEMO.strip().splitlines()):
        fits(line.strip().format(new=f"../new-{number}"))


def test_a_shared_task(tmp_path: Path, fits: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    shared_task.write(tmp_path)
    shutil.copytree(tmp_path / "corrected", tmp_path / "incoming", dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for line in TASK.strip().splitlines():
        fits(line.strip())


def test_a_benchmark(tmp_path: Path, fits: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fits(BENCH.format(pira=shared("pira/validation.csv").parent, new="bench"))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the released runs and grades, made-up texts, and run tags of which one has 150 characters."""
    folder = tmp_path_factory.mktemp("large")
    runs: dict[str, list[str]] = {}
    with gzip.open(shared("trec-dl-2021/dl21-runs-top20-judged53.txt.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            run_tag = line.split()[-1]
            tag = "p_bm25rm3-" + "x" * 140 if run_tag == "p_bm25rm3" else run_tag
            runs.setdefault(tag, []).append(" ".join([*line.split()[:-1], tag]))
    (folder / "given").mkdir()
    for tag, rows in runs.items():
        (folder / "given" / f"{tag}.run").write_text("\n".join(rows) + "\n", encoding="utf-8")
    docs = sorted({row.split()[2] for rows in runs.values() for row in rows})
    corpus = [json.dumps({"doc_id": doc_id, "text": f"The passage {doc_id}."}) for doc_id in docs]
    (folder / "corpus.jsonl").write_text("\n".join(corpus) + "\n", encoding="utf-8")
    queries = sorted({row.split()[0] for rows in runs.values() for row in rows})
    (folder / "queries.tsv").write_text("".join(f"{one}\tquestion {one}\n" for one in queries), encoding="utf-8")
    for name in ("nist", "gpt-4o", "llama-3.2-3b", "mistral-7b"):
        with gzip.open(shared(f"trec-dl-2021/{name}.qrels.gz"), "rt", encoding="utf-8") as lines:
            rows = [line.split() for line in lines]
        kept = [" ".join(row) for row in rows if row[3] in "0123"]
        (folder / f"{name}.qrels").write_text("\n".join(kept) + "\n", encoding="utf-8")
    systems = "".join(f"  {tag}: {{retriever: run, path: given/{tag}.run}}\n" for tag in runs)
    judges = "".join(
        f"  {name}: {{judge: replay, path: {name}.qrels}}\n" for name in ("gpt-4o", "llama-3.2-3b", "mistral-7b")
    )
    (folder / "pool.yaml").write_text(
        "name: dl21\ncorpus: {path: corpus.jsonl}\nqueries: {path: queries.tsv}\n"
        f"systems:\n{systems}pool: {{depth: 10}}\nrun_depth: 20\n"
        f"judges:\n{judges}"
        "  panel: {consensus: [gpt-4o, llama-3.2-3b, mistral-7b], method: majority}\n"
        "  two: {consensus: [llama-3.2-3b, mistral-7b], method: mean}\n"
        "labels: {files: {nist: nist.qrels}}\n",
        encoding="utf-8",
    )
    return folder


def test_files_of_the_size_of_a_trec_track(
    large: Path, cli: Cli, fits: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(large)
    fits("build")
    for name in ("gpt-4o", "llama-3.2-3b", "mistral-7b"):
        fits(f"judge {name}")
    found = json.loads(cli("evaluate", "--draws", "0", "--format", "json").out)
    assert len(found["qrels"]) == 6
    assert {len(one["runs"]) for one in found["qrels"]} == {63}
    runs = " ".join(sorted(f"given/{path.name}" for path in (large / "given").iterdir()))
    for line in LARGE.strip().splitlines():
        fits(line.strip().format(runs=runs))


def test_full_prints_the_tables_of_the_other_formats(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    demo(folder, Listener())
    monkeypatch.chdir(folder)
    for command in ("build", "labels", "agree", "evaluate", "build --plan", "retrievers", "bench list", "prompts"):
        full = cli(*command.split(), "--full").out.splitlines()
        markdown = cli(*command.split(), "--format", "markdown").out.splitlines()
        titles = [line.removeprefix("### ").replace("\\", "") for line in markdown if line.startswith("### ")]
        assert titles
        assert [line for line in full if line in set(titles)] == titles
