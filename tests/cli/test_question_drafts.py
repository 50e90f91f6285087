"""``quati-pool questions draft``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.commands.annotate.authoring.rounds import TEXTS
from tests.commands.annotate.drafts.drafting import calls, corpus_workspace, pira_workspace, with_judge
from tests.llm.server import ServerProcess


def test_the_answer_begins_with_how_many_drafts_wait(server: ServerProcess, cli: Cli, tmp_path: Path) -> None:
    refused = {"doc_id": "C1", "corpus": "1", "en": "A text. [[serve: refusal]]", "pt": ""}
    held = {
        "doc_id": "C2",
        "corpus": "1",
        "en": f"A text. [[question_pt<: {'Qual é o objetivo do artigo?'[::-1]}]]",
        "pt": "",
    }
    path = pira_workspace(tmp_path / "sea", [*TEXTS, refused, held])
    done = cli("questions", "draft", "--from", "passages", "--model", "fake", "--n", 200, "-c", path)
    assert done.status == 0, done.err
    lines = " ".join(done.out.split())
    assert lines.startswith(
        "3 of 5 drafts by fake-1 wait for people; 1 held back (1 decontextualised); 1 no draft (1 refused); US$ 0."
    )
    assert "There are 5 passages, so fewer than the 200 of --n." in lines
    assert done.out.rstrip().endswith("next: quati-pool annotate")
    assert len(done.out.splitlines()) <= 40
    full = cli("questions", "draft", "--from", "passages", "--model", "fake", "--n", 200, "-c", path, "--full")
    assert "decontextualised: do artigo" in full.out
    assert "refused: the model refused: I cannot help with that." in full.out
    again = cli(
        "questions", "draft", "--from", "passages", "--model", "fake", "--n", 200, "-c", path, "--format", "json"
    )
    found = json.loads(again.out)
    assert (found["waiting"], found["added"], found["held_back"], found["failed"]) == (
        3, 0, {"decontextualised": 1}, {"refused": 1},
    )  # fmt: skip
    assert found["thresholds"] == {"repeats": {"stems": 0.6, "grams": 0.7}, "copies": {"share": 0.6, "words": 5}}
    assert (found["calls"], found["cost"]) == (0, 0.0)
    assert {one["source"] for one in found["outcomes"]} == {"A1", "A2", "B1", "C1", "C2"}
    assert calls(server) == 5


def test_what_stays_undone_is_said_with_what_to_do(server: ServerProcess, cli: Cli, tmp_path: Path) -> None:
    failed = {"doc_id": "T1", "corpus": "2", "en": "A text. [[serve: 400]]", "pt": ""}
    path = pira_workspace(tmp_path / "sea", [failed, TEXTS[0]], subject="the sea", subject_when={"corpus": "1"})
    arguments = ("questions", "draft", "--from", "passages", "--model", "fake", "--n", 9, "-c", path)
    done = cli(*arguments)
    said = " ".join(done.out.split())
    assert said.startswith("0 of 2 drafts by fake-1 wait for people; 1 held back (1 subject); 1 no draft (1 failed);")
    assert "Run the same command again: failed calls are made again" in said
    assert done.out.rstrip().endswith("next: quati-pool annotate")
    path = pira_workspace(tmp_path / "law", subject="the law")
    done = cli(*arguments[:-1], path, "--dry-run")
    assert done.out == "Of 3 drafts, nothing is left to ask fake-1 for (3 subject); nothing was asked.\n"


def test_a_dry_run_says_what_it_would_cost(server: ServerProcess, cli: Cli, tmp_path: Path) -> None:
    path = corpus_workspace(tmp_path / "w")
    arguments = ("questions", "draft", "--from", "taxonomy", "--model", "fake", "--n", 300, "-c", path, "--dry-run")
    done = cli(*arguments)
    assert done.status == 0, done.err
    assert done.out.startswith("fake-1 would be asked for 300 of 300 drafts, for about US$ ")
    found = json.loads(cli(*arguments, "--format", "json").out)
    assert found["cost"] == pytest.approx((found["input_tokens"] * 10 + 300 * 200 * 1000) / 1e6)
    assert server.log() == []
    with_judge(path, model="unheard-of", prices=None)
    unknown = json.loads(cli(*arguments, "--format", "json").out)
    assert (unknown["cost"], unknown["undefined"]) == (None, {"cost": "the price is unknown"})


def test_a_spent_budget_is_an_error_after_the_answer(server: ServerProcess, cli: Cli, tmp_path: Path) -> None:
    path = with_judge(corpus_workspace(tmp_path / "w"), concurrency=1, max_tokens=100)
    done = cli("questions", "draft", "--from", "passages", "--model", "fake", "--n", 40, "--budget", 0.4, "-c", path)
    assert done.status == 1
    assert "not asked for" in done.out
    full = cli("questions", "draft", "--from", "passages", "--model", "fake", "--n", 40, "-c", path, "--full")
    assert "fake-1: US$ " in full.out
    assert "of the budget of US$ 0.4 is spent" in done.err.splitlines()[-1]


def test_what_is_wrong_is_said_in_one_line(cli: Cli, tmp_path: Path) -> None:
    path = pira_workspace(tmp_path / "sea")
    for arguments, status, said in (
        (("--from", "clusters", "--model", "fake", "--n", 1), 1, "--from clusters does not fit"),
        (("--from", "passages", "--model", "fakes", "--n", 1), 1, "there is no judge 'fakes'"),
        (("--from", "passages", "--model", "fake", "--n", 0), 2, "Invalid value for '--n'"),
        (("--from", "texts", "--model", "fake", "--n", 1), 2, "Invalid value for '--from'"),
    ):
        done = cli("questions", "draft", *arguments, "-c", path)
        assert done.status == status
        assert said in " ".join(done.err.split())
        assert "Traceback" not in done.err
