"""``evaluate`` under sampled qrels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

RUN = "".join(f"q1 Q0 d{row} {row} {9 - row} mine\n" for row in range(1, 6))
STRATA = "q1 0 d1 1 2\nq1 0 d2 2 -1\nq1 0 d4 2 1\nq1 0 d5 2 0\nq1 0 d6 1 0\nq1 0 d7 2 -1\n"


@pytest.mark.usefixtures("sketched")
def test_measures_for_samples(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.run").write_text(RUN)
    Path("x.qrels").write_text(STRATA)
    options = ("--run", "mine.run", "--qrels", "x.qrels", "--draws", "0", "--pool-depth", "5", "--format", "json")
    done = cli("evaluate", *options, "--measures", "infNDCG xinfAP infAP nDCG@10")
    assert "warning: x.qrels: 2 of 6 pairs were not drawn" in done.err
    (board,) = json.loads(done.out)["qrels"]
    values = {name: one["mean"] for name, one in board["runs"][0]["measures"].items()}
    # As in tests/evaluation/test_sampled_measures.py, worked out there by hand.
    assert values["xinfAP"] == pytest.approx(13 / 18, abs=1e-5)
    # trec_eval knows no strata: d1 at rank 1, and d4 with one of the two pooled documents above it drawn and relevant,
    # (1 + 2·1)/4; (1 + 3/4)/2.
    assert values["infAP"] == pytest.approx(7 / 8, abs=1e-4)
    assert board["without_grade"] == {"not drawn": 2}
    assert board["leave_out"] is None
    assert "the qrels are a sample" in board["undefined"]["leave_out"]


def test_what_prels_cannot_give_is_refused(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.run").write_text(RUN)
    Path("x.prels").write_text("q1 d1 2 1 1\nq1 d4 1 1 0.5\nq1 d5 0 1 0.5\n")
    options = ("--run", "mine.run", "--qrels", "x.prels", "--draws", "0", "--format", "json")
    done = cli("evaluate", *options, "--measures", "statAP")
    (board,) = json.loads(done.out)["qrels"]
    # At d1: 1; at d4, rank 4: (1 + 2)/4; (1 + 2·3/4)/3.
    assert board["runs"][0]["measures"]["statAP"]["mean"] == pytest.approx(5 / 6)
    for measure in ("infNDCG", "xinfAP", "infAP"):
        done = cli("evaluate", *options, "--measures", measure)
        refusal = f"{measure} needs the pairs that were not drawn, which prels do not list; ask for statAP"
        assert (done.status, done.err.splitlines()[-1]) == (1, f"quati-pool: {refusal}")


@pytest.mark.usefixtures("sketched")
def test_minus_one_in_four_columns(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.run").write_text(RUN)
    Path("x.qrels").write_text("".join(f"{row.rsplit(' ', 2)[0]} {row.split()[-1]}\n" for row in STRATA.splitlines()))
    done = cli("evaluate", "--run", "mine.run", "--qrels", "x.qrels", "--draws", "0", "--measures", "infAP")
    assert "--grade -1=none (keep -1 on the scale where infAP is to read it as a pair that was not drawn)" in " ".join(
        done.err.split()
    )
    assert "0.875" in done.out
