"""``quati-pool build --plan`` and ``init --paper``, as the user runs them."""

from __future__ import annotations

import csv
import io
import json
import socket
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

FORMATS = ["table", "json", "markdown", "latex", "csv"]


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection can be made, and no key is set."""

    def refused(*address: object) -> None:
        raise AssertionError("a plan opens no connection")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.mark.parametrize("how", FORMATS)
def test_plan_in_every_format(tiny: Path, cli: Cli, how: str) -> None:
    before = sorted(tiny.rglob("*"))
    done = cli("build", "--full", "--plan", "--format", how)
    assert (done.status, done.err) == (0, "")
    assert sorted(tiny.rglob("*")) == before
    for told in ("bm25s", "theirs", "corpus", "arithmetic"):
        assert told in done.out.lower()
    if how == "json":
        data = json.loads(done.out)
        assert [system["run_tag"] for system in data["systems"]] == ["bm25s", "theirs"]
        assert set(data) == {
            "collection", "queries", "corpora", "pool", "systems", "total", "left", "stages_measured", "undefined",
        }  # fmt: skip
        corpus = data["corpora"][0]
        assert corpus.items() >= {"name": "corpus", "passages": 3, "exact": True, "source": "counted"}.items()
        assert 0 < corpus["seconds_low"] < corpus["seconds"] < corpus["seconds_high"]
        assert min(corpus["disk"], corpus["memory"]) > 0
    if how == "csv":
        title, _, first = done.out.split("\n\n")[0].partition("\n")
        assert title == "# Plan of tiny: nothing was run"
        assert [row["System"] for row in csv.DictReader(io.StringIO(first))] == [
            "bm25s",
            "theirs",
            "All of it",
            "Still to do",
        ]


def test_the_table_says_what_is_there(tiny: Path, cli: Cli) -> None:
    assert "nothing yet" in cli("build", "--full", "--plan").out
    assert cli("build", "--full").status == 0
    done = cli("build", "--full", "--plan")
    assert done.out.count("run current") == 2
    assert "its store" in done.out


@pytest.mark.parametrize(
    "other", [["--force"], ["--qrels", "gold.qrels"], ["--engine", "local"]], ids=lambda options: options[0]
)
def test_what_means_nothing_beside_plan_is_bad_usage(tiny: Path, cli: Cli, other: list[str]) -> None:
    done = cli("build", "--plan", *other)
    assert (done.status, done.out) == (2, "")
    assert "--qrels, --force and --engine have no effect" in done.err


def test_only_limits_the_plan(tiny: Path, cli: Cli) -> None:
    data = json.loads(cli("build", "--plan", "--only", "theirs", "--format", "json").out)
    assert [system["run_tag"] for system in data["systems"]] == ["theirs"]


@pytest.mark.usefixtures("offline")
def test_the_papers_config_is_planned_offline_without_models_key_and_corpus(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "no models"))
    path = tmp_path / "quati" / "pool.yaml"
    done = cli("init", path.parent, "--paper")
    assert done == (
        0,
        f"wrote {path}, and prepare.yaml for its corpora: the top of each says what it needs\n"
        f"to see what it takes: quati-pool build --plan -c {path}\n",
        "",
    )
    done = cli("build", "--full", "--plan", "-c", path)
    assert (done.status, done.err) == (0, "")
    assert sorted(file.name for file in path.parent.iterdir()) == ["pool.yaml", "prepare.yaml"]
    assert done.out.count("model: <yours>") == 4
    assert done.out.count("no key in OPENAI_API_KEY") == 8
    data = json.loads(cli("build", "--plan", "-c", path, "--format", "json").out)
    assert len(data["systems"]) == 30
    assert data["total"]["cost"] > 500
    # How many terms a passage has is known of no model that is still to be named.
    assert set(data["total"]["unknown"]) <= {"splade-v2-1M", "splade-v2-10M"}


def test_init_paper_refuses_to_overwrite(tiny: Path, cli: Cli) -> None:
    before = (tiny / "pool.yaml").read_bytes()
    assert cli("init", tiny, "--paper").status == 1
    assert (tiny / "pool.yaml").read_bytes() == before
