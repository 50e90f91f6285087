"""The commands around build: init, retrievers, demo, help and formats."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from quati_pool.cli.main import app
from quati_pool.cli.validate import FileKind
from quati_pool.errors import MissingExtraError
from quati_pool.files.validation import KINDS
from quati_pool.retrieval.bm25 import Bm25
from tests.cli.conftest import Cli
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]


def names(group: typer.Typer, before: str = "") -> list[str]:
    """All commands, those of groups with the group's name."""
    own = [f"{before}{command.name or command.callback.__name__}" for command in group.registered_commands]  # type: ignore[union-attr]
    inner = [
        names(part.typer_instance, f"{before}{part.name} ") for part in group.registered_groups if part.typer_instance
    ]
    return sorted(sum(inner, own))


COMMANDS = names(app)


# ---- init


def test_init_makes_a_workspace_that_builds(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli("init", "my collection/2024")
    path = Path("my collection/2024/pool.yaml")
    assert done == (
        0,
        f"wrote {path}: name your corpus and queries in it\nnext: quati-pool build -c {path}\n",
        "",
    )
    rows = [{"doc_id": f"d{i}", "text": f"Passage number {i} tells of ferries and bread."} for i in range(5)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (path.parent / "corpus.jsonl").write_text(lines, encoding="utf-8")
    (path.parent / "queries.tsv").write_text("q1\tferries\n", encoding="utf-8")
    done = cli("build", "-c", path, "--format", "json")
    assert done.status == 0, done.err
    data = json.loads(done.out)
    assert data["collection"] == "2024"
    assert [system["run_tag"] for system in data["systems"]] == ["bm25s", "lsa", "bm25s-lsa", "rrf"]
    assert data["pool"]["pairs"] == 5


def test_init_refuses_to_overwrite(tiny: Path, cli: Cli) -> None:
    before = (tiny / "pool.yaml").read_bytes()
    done = cli("init", tiny)
    expected = f"quati-pool: {tiny / 'pool.yaml'} is there already; edit it, or choose another folder\n"
    assert done == (1, "", expected)
    assert (tiny / "pool.yaml").read_bytes() == before


def test_init_in_the_current_folder(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "coleção nº 7"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert cli("init", ".").status == 0
    assert 'name: "cole--o-n--7"' in (folder / "pool.yaml").read_text(encoding="utf-8")


# ---- formats

FORMATS = ["table", "json", "markdown", "latex", "csv"]


@pytest.mark.parametrize("how", FORMATS)
def test_retrievers_in_every_format(cli: Cli, how: str) -> None:
    done = cli("retrievers", "--full", "--format", how)
    assert (done.status, done.err) == (0, "")
    for name in ("bm25s", "lsa", "run", "rrf", "combmnz", "dimensions"):
        assert name in done.out
    if how == "json":
        components = json.loads(done.out)["components"]
        found = {(item["kind"], item["name"]) for item in components}
        assert {("retriever", "bm25"), ("reranker", "lsa"), ("fusion", "rrf")} <= found
        assert all(item["summary"] for item in components)
        assert all(parameter["description"] for item in components for parameter in item["parameters"])


@pytest.mark.parametrize("how", FORMATS)
def test_build_in_every_format(tiny: Path, cli: Cli, how: str) -> None:
    done = cli("build", "--full", "--format", how)
    assert done.status == 0, done.err
    begin = {
        "table": "Pairs that only one system returned\n",
        "markdown": "### Pairs that only one system returned\n\n| System |",
        "latex": "% needs the package booktabs\n\\begin{table}\n",
        "csv": "# ",
        "json": "{",
    }
    assert done.out.startswith(begin[how])
    if how == "json":
        assert json.loads(done.out)["pool"]["queries"] == 2
    if how == "csv":
        title, _, first = done.out.split("\n\n")[0].partition("\n")
        assert title == "# Pairs that only one system returned"
        assert next(csv.DictReader(io.StringIO(first)))["System"] == "bm25s"


def test_build_prints_nothing_but_its_table_on_stdout(tiny: Path, cli: Cli) -> None:
    """stderr is no terminal here: lines, and no progress bar."""
    done = cli("build")
    assert "\x1b" not in done.out + done.err
    assert "\r" not in done.out + done.err
    assert [line.split(": ")[0].split(" ")[0] for line in done.err.splitlines()] == [
        "corpus",
        "run",
        "index",
        "run",
        "pool",
        "reports",
    ]


def test_only_makes_only_that(tiny: Path, cli: Cli) -> None:
    done = cli("build", "--only", "theirs")
    assert (done.status, done.out) == (0, "")
    assert done.err.endswith("pool: left as it was; still to build: bm25s\n")
    done = cli("build", "--only", "bm25s", "--only", "theirs", "--format", "json")
    assert json.loads(done.out)["pool"]["queries"] == 2


# ---- help


def test_every_command_has_help_with_an_example(cli: Cli) -> None:
    assert {"build", "demo", "init", "retrievers", "judge", "batch submit", "export qrels"} <= set(COMMANDS)
    for name in COMMANDS:
        done = cli(*name.split(), "--help")
        assert (done.status, done.err) == (0, ""), name
        assert f"Usage: quati-pool {name} " in done.out
        assert f"Example: quati-pool {name}" in " ".join(done.out.split())


def test_help_and_version(cli: Cli) -> None:
    done = cli("--help")
    assert done.status == 0
    assert all(name.split()[0] in done.out for name in COMMANDS)
    done = cli("--version")
    assert done.status == 0
    assert done.out.startswith("quati-pool ")


@pytest.mark.slow
def test_a_closed_pipe_is_not_worth_a_word() -> None:
    """quati-pool retrievers | head -1, where head ends first."""
    with subprocess.Popen(
        [sys.executable, "-m", "quati_pool", "retrievers"],
        env={"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        # 1 where typer notices, 141 (as by SIGPIPE) where quati-pool does.
        assert process.wait(PATIENCE) in (1, 141)


# ---- demo


def graded(arguments: list[str]) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "quati_pool", *arguments, "--format", "json"],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_demo_is_complete(tmp_path: Path) -> None:
    data = graded(["demo", str(tmp_path / "demo")])
    tags = [system["run_tag"] for system in data["systems"]]  # type: ignore[attr-defined]
    assert len(tags) >= 6
    try:
        Bm25.require()
    except MissingExtraError:
        assert "bm25" not in tags
    else:
        assert "bm25" in tags
    # Whoever changes the sample's systems has to grade what they return.
    assert data["ungraded"] == 0
    assert data["pool"]["queries"] == 24  # type: ignore[index]
    assert data["pool"]["queries_without_pairs"] == []  # type: ignore[index]
    judged = data.pop("judge")
    assert judged["states"] == {"ok": data["pool"]["pairs"]}  # type: ignore[index]
    agreed, evaluated = data.pop("agree"), data.pop("evaluate")
    assert agreed["labelers"] == ["sample-gold", "lexical"]  # type: ignore[index]
    assert agreed["pairs"][0]["n"] == data["pool"]["pairs"]  # type: ignore[index]
    assert [one["labeler"] for one in evaluated["qrels"]] == ["sample-gold", "lexical"]  # type: ignore[index]
    assert all({run["run_tag"] for run in one["runs"]} == set(tags) for one in evaluated["qrels"])  # type: ignore[index]
    # As edited and built by hand.
    build = [
        "build",
        "-c",
        str(tmp_path / "demo" / "pool.yaml"),
        "--qrels",
        str(tmp_path / "demo" / "labels.tsv"),
    ]
    assert graded(build) == data


def test_demo_leaves_a_folder_of_other_things_alone(tiny: Path, cli: Cli) -> None:
    (tiny / "pool.yaml").unlink()
    before = sorted(tiny.rglob("*"))
    done = cli("demo", tiny)
    assert done == (1, "", f"quati-pool: {tiny} is not empty and holds no pool.yaml; name another folder\n")
    assert sorted(tiny.rglob("*")) == before


def test_only_in_json_is_one_object_too(tiny: Path, cli: Cli) -> None:
    done = cli("build", "--only", "theirs", "--format", "json")
    assert json.loads(done.out) == {"systems": [], "pool": None}
    assert "still to build: bm25s" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("redirected", ["", " >&-"])
def test_a_stdout_that_cannot_show_everything(tiny: Path, redirected: str) -> None:
    """One without "─", and one that is closed."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        f"'{sys.executable}' -m quati_pool build{redirected}",
        shell=True,
        cwd=tiny,
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert redirected or "?????" in done.stdout


def test_a_pattern_for_inputs_passes_over_what_build_made(tiny: Path, cli: Cli) -> None:
    settings = (tiny / "pool.yaml").read_text(encoding="utf-8")
    (tiny / "pool.yaml").write_text(settings.replace("corpus.jsonl", "'**/*.jsonl*'"), encoding="utf-8")
    assert cli("build").status == 0
    again = cli("build")
    assert again.status == 0, again.err
    assert "corpus: reused" in again.err


def test_validate_takes_every_kind_there_is() -> None:
    # The command names them itself, so that --help need not import the readers.
    assert tuple(kind.value for kind in FileKind) == (*KINDS, "config")
