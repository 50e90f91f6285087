"""What a user's mistakes lead to: one line on stderr that says what to do, exit 1, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import CORPUS, POOL, Cli

Spoil = Callable[[Path], object]
FUSED = "  theirs: {retriever: run, path: theirs.run}"


def text(name: str, content: str | bytes) -> Spoil:
    data = content if isinstance(content, bytes) else content.encode()
    return lambda folder: (folder / name).write_bytes(data)


def setting(before: str, after: str) -> Spoil:
    assert before in POOL
    return text("pool.yaml", POOL.replace(before, after))


def both(*deeds: Spoil) -> Spoil:
    return lambda folder: [deed(folder) for deed in deeds]


def without(name: str) -> Spoil:
    return lambda folder: (folder / name).unlink()


def folder_instead(name: str) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).mkdir()

    return spoil


def parquet(**columns: list[object]) -> Spoil:
    use = setting("corpus.jsonl", "corpus.parquet")
    return both(lambda folder: pq.write_table(pa.table(columns), folder / "corpus.parquet"), use)


EXTRA = setting("depth: 2", "depth: 2, extra: extra.tsv")

# What is wrong: how it comes to be, and the line after "quati-pool: ".
FAULTS: dict[str, tuple[Spoil, str]] = {
    "no pool.yaml": (
        without("pool.yaml"),
        "pool.yaml: there is no such file; run: quati-pool init DIR, or name one with -c",
    ),
    "pool.yaml is a folder": (
        folder_instead("pool.yaml"),
        "pool.yaml: cannot be read (Is a directory); expected a YAML file",
    ),
    "pool.yaml is empty": (
        text("pool.yaml", ""),
        "pool.yaml:1: holds no settings; expected keys such as name, corpus, queries, systems",
    ),
    "pool.yaml is not YAML": (
        text("pool.yaml", POOL + "x:\n\t- 1\n"),
        "pool.yaml:9: is not YAML: found character '\\t' that cannot start any token",
    ),
    "pool.yaml is Latin-1": (
        text("pool.yaml", POOL.replace("tiny", "coleção").encode("latin-1")),
        "pool.yaml:1: is not UTF-8; save it as UTF-8",
    ),
    "unknown key": (
        text("pool.yaml", POOL + "run_dept: 10\n"),
        "pool.yaml:8: run_dept: unknown key; did you mean 'run_depth'?",
    ),
    "unknown parameter": (
        setting("language: en", "langage: en"),
        "pool.yaml:5: systems.bm25s.langage: unknown key; did you mean 'language'?",
    ),
    "unknown retriever": (
        setting("retriever: run", "retriever: runs"),
        "pool.yaml:6: systems.theirs.retriever: there is no retriever 'runs'; did you mean 'run'?",
    ),
    "missing key": (setting("name: tiny\n", ""), "pool.yaml:1: the key 'name' is missing; add it"),
    "depth of nothing": (
        setting("depth: 2", "depth: 0"),
        "pool.yaml:7: pool.depth: expected at least 1, not 0",
    ),
    "a run_tag that is no file name": (
        setting("  bm25s:", "  a/b:"),
        "pool.yaml:5: systems.a/b: expected a name of letters, digits, '.', '_', '+' and '-' (quote a number: '7')",
    ),
    "undefined system": (
        setting(FUSED, "  two: {first: bm25, rerank: {with: lsa}}"),
        "pool.yaml:6: systems.two: is made from 'bm25', which is not defined; did you mean 'bm25s'?",
    ),
    "a circle": (
        setting(FUSED, "  a: {fuse: [b]}\n  b: {fuse: [a, bm25s]}"),
        "pool.yaml:7: systems.b: depends on itself (b → a → b); break the cycle",
    ),
    "a system of itself": (
        setting(FUSED, "  a: {fuse: [a]}"),
        "pool.yaml:6: systems.a: depends on itself (a → a); break the cycle",
    ),
    "nothing feeds the pool": (
        text(
            "pool.yaml",
            POOL.replace("language: en", "pool: false").replace("theirs.run}", "theirs.run, pool: false}"),
        ),
        "pool.yaml:4: systems: every system has pool: false; let at least one feed the pool",
    ),
    "corpus is not there": (
        without("corpus.jsonl"),
        "corpus.jsonl: there is no such file; check the path",
    ),
    "corpus is a folder": (
        folder_instead("corpus.jsonl"),
        "corpus.jsonl: is a folder; expected a file, or a glob such as folder/*.jsonl",
    ),
    "no file of the corpus": (
        setting("corpus.jsonl", "part-*.jsonl"),
        "part-*.jsonl: no file matches; check the pattern",
    ),
    "empty corpus": (
        text("corpus.jsonl", ""),
        "corpus.jsonl: holds no passages; expected at least one",
    ),
    "doc_id twice in a file": (
        text("corpus.jsonl", CORPUS + CORPUS.splitlines()[0]),
        "corpus.jsonl:4: doc_id 'd1' occurs again, first at corpus.jsonl:1; give each passage its own id",
    ),
    "doc_ids in two files": (
        both(
            text("more.jsonl", '\n{"doc_id": "d2", "text": ""}\n{"doc_id": "d3", "text": ""}\n'),
            setting("corpus.jsonl", "[more.jsonl, corpus.jsonl]"),
        ),
        "more.jsonl:2: doc_id 'd2' occurs again, first at corpus.jsonl:2 "
        "(2 doc_ids occur more than once); give each passage its own id",
    ),
    "white space in a doc_id": (
        text("corpus.jsonl", CORPUS + '{"doc_id": "d 4", "text": "x"}\n'),
        "corpus.jsonl:4: doc_id 'd 4' holds white space (U+0020); "
        "expected an id without white space or control characters",
    ),
    "a doc_id that is a number": (
        text("corpus.jsonl", CORPUS + '{"doc_id": 4, "text": "x"}\n'),
        'corpus.jsonl:4: doc_id is the number 4; expected a string: write "4"',
    ),
    "corpus in Latin-1": (
        text("corpus.jsonl", CORPUS.encode() + '{"doc_id": "d4", "text": "coração"}\n'.encode("latin-1")),
        "corpus.jsonl:4: byte 31 (0xE7) is not UTF-8; convert to UTF-8",
    ),
    "corpus cut off": (
        both(text("corpus.jsonl.gz", b"\x1f\x8b\x08\x00abc"), setting("corpus.jsonl", "corpus.jsonl.gz")),
        "corpus.jsonl.gz: is cut off or not gzip; copy or compress it again",
    ),
    "corpus of no known format": (
        both(text("corpus.txt", "hello"), setting("corpus.jsonl", "corpus.txt")),
        "corpus.txt: is not in a known format; expected .jsonl, .tsv, .csv, .parquet, or TREC's <DOC> or <top>",
    ),
    "Parquet without the column": (
        parquet(pid=["d1"], passage=["x"]),
        "corpus.parquet: no column 'doc_id'; the columns are pid, passage: add it, or set doc_id to the right one",
    ),
    "Parquet with numbers as ids": (
        parquet(doc_id=[1], text=["x"]),
        "corpus.parquet: column 'doc_id' is int64; ids are strings: write it as string",
    ),
    "queries are not there": (
        without("queries.tsv"),
        "queries.tsv: there is no such file; check the path",
    ),
    "no query": (text("queries.tsv", ""), "queries.tsv: holds no queries; expected at least one"),
    "query_id twice": (
        text("queries.tsv", "q1\ta\nq1\tb\n"),
        "queries.tsv:2: query_id 'q1' is in line 1 already; expected it once",
    ),
    "queries without tabs": (
        text("queries.tsv", "q1 a question\n"),
        "queries.tsv:1: 1 column; expected 2: query_id <tab> query",
    ),
    "sample larger than the queries": (
        setting("queries.tsv}", "queries.tsv, sample: 3}"),
        "pool.yaml: queries.sample: 3, but only 2 queries; ask for fewer",
    ),
    "an id that no query has": (
        setting("queries.tsv}", "queries.tsv, ids: [q1, Q2]}"),
        "pool.yaml: queries.ids: queries.tsv has no query 'Q2'; did you mean 'q2'?",
    ),
    "extra pairs are not there": (EXTRA, "extra.tsv: there is no such file; check the path"),
    "extra pair without a tab": (
        both(EXTRA, text("extra.tsv", "q1 d1\n")),
        "extra.tsv:1: has 1 columns; expected query_id <tab> doc_id",
    ),
    "extra pair of another query": (
        both(EXTRA, text("extra.tsv", "# by hand\nq1\td1\nq9\td1\n")),
        "extra.tsv:3: there is no query 'q9' in the collection; drop the pair",
    ),
    "extra pair of another passage": (
        both(EXTRA, text("extra.tsv", "q1\td9\n")),
        "extra.tsv:1: there is no passage 'd9' in the corpus; drop the pair",
    ),
    "run is not there": (without("theirs.run"), "theirs.run: there is no such file; check the path"),
    "run with NaN": (
        text("theirs.run", "q1 Q0 d3 1 nan t\n"),
        "theirs.run:1: score 'nan' is not finite; expected a number such as 12.5",
    ),
    "run with a decimal comma": (
        text("theirs.run", "q1 Q0 d3 1 2,5 t\n"),
        "theirs.run:1: score '2,5' has a decimal comma; write 2.5",
    ),
    "run with a pair twice": (
        text("theirs.run", "q1 Q0 d3 1 2 t\nq1 Q0 d3 2 1 t\n"),
        "theirs.run:2: query_id 'q1' and doc_id 'd3' are already in line 1; expected one row per pair",
    ),
    "a folder where the pool should be": (
        folder_instead("pool.jsonl.gz"),
        "pool.jsonl.gz: Is a directory; fix it and run the same command again",
    ),
}


def error_of(done: object) -> str:
    """The error line, the last one of stderr and the only one of its kind."""
    status, out, err = done  # type: ignore[misc]
    assert status == 1, err
    assert out == ""
    *before, last = err.splitlines()
    assert all(": built in " in line or line.endswith(": reused") for line in before), err
    assert last.startswith("quati-pool: ")
    return str(last.removeprefix("quati-pool: "))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line(tiny: Path, cli: Cli, fault: str) -> None:
    spoil, expected = FAULTS[fault]
    spoil(tiny)
    assert error_of(cli("build")) == expected
    assert not list(tiny.rglob(".partial-*"))
    assert not (tiny / "reports").exists()


OPTIONS: dict[str, tuple[list[str], str]] = {
    "--only of no system": (["--only", "bm25"], "--only bm25: no such system; did you mean 'bm25s'?"),
    "--qrels not there": (["--qrels", "gold.qrels"], "gold.qrels: there is no such file; check the path"),
    "--qrels is a run": (
        ["--qrels", "theirs.run"],
        "theirs.run:1: 6 columns; expected 4: query_id 0 doc_id relevance",
    ),
    "--qrels is a folder": (["--qrels", "."], ".: is a folder; expected a file"),
    "-c elsewhere": (
        ["-c", "no/pool.yaml"],
        "no/pool.yaml: there is no such file; run: quati-pool init DIR, or name one with -c",
    ),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_a_wrong_option_is_refused_before_any_work(tiny: Path, cli: Cli, option: str) -> None:
    arguments, expected = OPTIONS[option]
    before = sorted(tiny.rglob("*"))
    assert error_of(cli("build", *arguments)) == expected
    assert sorted(tiny.rglob("*")) == before


def test_grades_that_are_no_integers(tiny: Path, cli: Cli) -> None:
    (tiny / "gold.qrels").write_text("q1 0 d1 0.5\n", encoding="utf-8")
    expected = "gold.qrels:1: relevance '0.5' is not an integer; expected a grade such as 0 or 3"
    assert error_of(cli("build", "--qrels", "gold.qrels")) == expected


def test_a_fault_costs_no_finished_work(tiny: Path, cli: Cli) -> None:
    assert cli("build").status == 0
    good = (tiny / "theirs.run").read_bytes()
    (tiny / "theirs.run").write_text("q1 Q0 d3 1 nan t\n", encoding="utf-8")
    error_of(cli("build"))
    (tiny / "theirs.run").write_bytes(good)
    done = cli("build")
    assert done.status == 0
    assert done.err.splitlines() == [
        f"{what}: reused" for what in ("corpus", "run theirs", "run bm25s", "pool", "reports")
    ]


def test_what_the_user_gave_is_checked_before_anything_is_retrieved(tiny: Path, cli: Cli) -> None:
    (tiny / "theirs.run").write_text("q1 Q0 d3 1 nan t\n", encoding="utf-8")
    error_of(cli("build"))
    assert not list(tiny.glob("cache/indexes/*"))
    assert not list(tiny.glob("runs/*.gz"))


def test_queries_without_words_make_an_empty_pool_that_says_so(tiny: Path, cli: Cli) -> None:
    (tiny / "queries.tsv").write_text("q1\t\nq2\t \n", encoding="utf-8")
    (tiny / "pool.yaml").write_text(POOL.replace(FUSED + "\n", ""), encoding="utf-8")
    done = cli("build", "--full")
    assert done.status == 0, done.err
    assert "0 pairs of 0 queries are pooled; 2 queries have no pair (q1, q2)." in done.out
    data = json.loads(cli("build", "--full", "--format", "json").out)
    assert data["pool"]["queries_without_pairs"] == ["q1", "q2"]
    assert data["pool"]["unique_share"] is None
    assert data["undefined"]["pool.unique_share"] == "no system returned anything"


@pytest.fixture
def read_only(tiny: Path) -> Iterator[Path]:
    """The folder, not to be written; root may write everywhere but on a read-only mount."""
    if os.geteuid():
        tiny.chmod(0o555)
        yield tiny
        tiny.chmod(0o755)
        return
    for options in (["--bind"], ["-o", "remount,bind,ro"]):
        done = subprocess.run(["mount", *options, str(tiny), str(tiny)], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"a read-only folder was not checked: {done.stderr.strip()}")
    os.chdir(tiny)
    yield tiny
    os.chdir(tiny.parent)
    subprocess.run(["umount", str(tiny)], check=True)


def test_a_folder_that_may_not_be_written(read_only: Path, cli: Cli) -> None:
    error = error_of(cli("build"))
    assert error in (
        "cache: Read-only file system; fix it and run the same command again",
        "cache: Permission denied; fix it and run the same command again",
    )


BAD_USAGE = [
    ["build", "--depth", "3"],
    ["build", "somewhere"],
    ["build", "--format", "yaml"],
    ["build", "--only"],
    ["build", "--engine", "spark"],
    ["build", "--workers", "2"],
    ["build", "--engine", "local", "--workers", "0"],
    ["build", "--engine", "local", "--address", "auto"],
    ["make"],
    ["init"],
    ["retrievers", "bm25", "lsa"],
]


@pytest.mark.parametrize("arguments", BAD_USAGE, ids=" ".join)
def test_bad_usage_exits_with_2(tiny: Path, cli: Cli, arguments: list[str]) -> None:
    done = cli(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err
