"""What the sentences of the answers say, against scipy, scikit-learn and the commands' JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from tests.cli.conftest import Cli
from tests.cli.test_evaluate import (
    HUMAN,
    LLM,
    RUNS,
    by_query,
    mean,
    random_run,
    write_qrels,
    write_run,
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for run_tag, run in RUNS.items():
        write_run(tmp_path / f"{run_tag}.run", run_tag, run)
    perfect = {query: {doc: float(grade) for doc, grade in grades.items()} for query, grades in HUMAN.items()}
    write_run(tmp_path / "best.run", "best", perfect)
    write_run(tmp_path / "extra.run", "extra", random_run(9))
    write_qrels(tmp_path / "human.qrels", HUMAN)
    write_qrels(tmp_path / "llm.qrels", LLM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(cli: Cli, *arguments: str) -> str:
    """The sentences of an answer, before its table, on one line."""
    done = cli(*arguments)
    assert done.status == 0, done.err
    return " ".join(done.out.split("\n\n")[0].split())


def test_two_systems_are_compared_by_the_paired_test(cli: Cli) -> None:
    said = answer(cli, "evaluate", "--run", "a.run", "--run", "best.run", "--qrels", "human.qrels", "--draws", "0")
    a, best = (by_query(run, HUMAN, "nDCG@10") for run in (RUNS["a"], {q: dict(g) for q, g in HUMAN.items()}))
    p = stats.ttest_rel([best[query] for query in HUMAN], [a[query] for query in HUMAN]).pvalue
    assert p < 0.05
    shown = "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"
    assert said.startswith(
        f"best 1.000 and a {mean(a):.3f} nDCG@10 under human's grades over 6 queries: they differ significantly, "
        f"{shown} (paired t test)."
    )


def test_the_best_of_several_and_how_many_cannot_be_told_apart_from_it(cli: Cli) -> None:
    files = ["--run", "*.run", "--qrels", "human.qrels"]
    found = json.loads(cli("evaluate", *files, "--format", "json").out)["qrels"][0]
    said = answer(cli, "evaluate", *files)
    first = found["runs"][0]
    ends = first["measures"]["nDCG@10"]
    tests = [one for one in found["comparisons"]["nDCG@10"] if one["a"] == first["run_tag"]]
    alike = sum(not one["significant"] for one in tests)
    assert first["run_tag"] == "best"
    assert len(tests) == 4
    tested = "(paired t test, Holm over 10 pairs, alpha 0.05)."
    shown = f"1.000 (95 % interval {ends['low']:.3f} to {ends['high']:.3f})"
    leads = f"best has the highest nDCG@10 under human's grades over 6 queries, {shown}"
    if alike == 4:
        assert said.startswith(f"No clear winner: {leads}, but no difference to the other 4 is significant {tested}")
    elif alike:
        assert said.startswith(f"{leads}; {alike} of the other 4 do")
    else:
        assert said.startswith(f"{leads}; all others differ significantly from it {tested}")
    assert "Judged queries are missing from c." in said


def test_labelers_are_compared_by_kappa_and_by_the_order_of_systems(cli: Cli) -> None:
    files = ["--run", "*.run", "--qrels", "human.qrels", "--qrels", "llm.qrels"]
    common = [(query, doc) for query, grades in HUMAN.items() for doc in grades if doc in LLM[query]]
    kappa = cohen_kappa_score([HUMAN[q][d] for q, d in common], [LLM[q][d] for q, d in common])
    runs = [*RUNS.values(), random_run(9), {q: {d: float(g) for d, g in grades.items()} for q, grades in HUMAN.items()}]
    means = [[mean(by_query(run, grades, "nDCG@10")) for run in runs] for grades in (HUMAN, LLM)]
    tau = stats.kendalltau(np.round(means[0], 12), np.round(means[1], 12)).statistic
    assert answer(cli, "evaluate", *files, "--draws", "0").count(
        f"llm against human: Cohen's κ of the grades {kappa:.2f}, Kendall's τ of the order of systems {tau:.2f}."
    )
    agreed = answer(cli, "agree", "--labels", "human=human.qrels", "--labels", "llm=llm.qrels")
    data = cli("agree", "--labels", "human=human.qrels", "--labels", "llm=llm.qrels", "--format", "json").out
    low, high = json.loads(data)["pairs"][0]["intervals"]["kappa"]
    interval = f"{kappa:.2f} (95 % interval {low:z.2f} to {high:z.2f})"
    assert agreed.startswith(f"Cohen's κ of human and llm is {interval} on {len(common)} pairs of 6 queries, ")
    shown = f"llm against human: Cohen's κ of the grades {kappa:.2f} ({low:z.2f} to {high:z.2f}), "
    assert shown in answer(cli, "evaluate", *files)


def test_people_among_each_other_come_before_judges_with_people(cli: Cli, here: Path) -> None:
    one = {query: {doc: min(3, grade + (number + place) % 2) for place, (doc, grade) in enumerate(grades.items())}
           for number, (query, grades) in enumerate(HUMAN.items())}  # fmt: skip
    write_qrels(here / "bia.qrels", one)
    labels = ["--labels", "ana=human.qrels", "--labels", "bia=bia.qrels", "--labels", "llm=llm.qrels"]
    people = ["--person", "ana", "--person", "bia"]
    said = answer(cli, "agree", *labels, *people, "--draws", "0")
    every = [(q, d) for q in HUMAN for d in HUMAN[q]]

    def kappa(a: dict[str, dict[str, int]], b: dict[str, dict[str, int]]) -> float:
        pairs = [(q, d) for q, d in every if d in a[q] and d in b[q]]
        return float(cohen_kappa_score([a[q][d] for q, d in pairs], [b[q][d] for q, d in pairs]))

    among, judge = kappa(HUMAN, one), (kappa(LLM, HUMAN) + kappa(LLM, one)) / 2
    assert said.startswith(
        f"Cohen's κ of the two people, ana and bia, is {among:.2f}. "
        f"Agreement of the others with them, mean κ: llm {judge:z.2f}."
    )


def test_an_undefined_kappa_says_why(cli: Cli, here: Path) -> None:
    (here / "x.qrels").write_text("q1 0 d00 2\nq1 0 d01 2\n", encoding="utf-8")
    said = answer(cli, "agree", "--labels", "x.qrels", "--labels", "y=x.qrels")
    assert said == "Cohen's κ of x and y on 2 pairs of 1 query is undefined: both gave every pair the grade 2."


def test_people_who_share_no_pair_have_no_kappa_with_each_other(cli: Cli, here: Path) -> None:
    names = ["ana", "bia", "caio"]
    labels = [option for name in ["all", *names] for option in ("--labels", f"{name}.qrels")]
    people = [option for name in names for option in ("--person", name)]
    write_qrels(here / "all.qrels", {f"q{n}": {"d1": n % 2, "d2": 2} for n in range(3)})
    for n, name in enumerate(names):
        write_qrels(here / f"{name}.qrels", {f"q{n}": {"d1": n % 2, "d2": 1}})
    said = answer(cli, "agree", *labels, *people, "--draws", "0")
    assert said.startswith(
        "Cohen's κ of the 3 people with each other is not known, as no two of them graded the same pair. Agreement"
    )
    for name in names:
        write_qrels(here / f"{name}.qrels", {"q0": {"d1": 1, "d2": 1}})
    said = answer(cli, "agree", *labels, *people, "--draws", "0")
    assert said.startswith("Cohen's κ of the 3 people with each other is undefined for every two of them. Agreement")


def test_a_narrow_terminal_is_kept_and_a_wide_one_is_not_filled(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for columns, most in ((60, 60), (300, 120)):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = cli("evaluate", "--run", "*.run", "--qrels", "human.qrels", "--draws", "0").out.splitlines()
        assert max(map(len, lines)) <= most
    assert max(map(len, lines)) > 80


def test_one_component_has_an_example_that_pool_yaml_takes(cli: Cli, here: Path) -> None:
    (here / "corpus.jsonl").write_text('{"doc_id": "d1", "text": "a"}\n', encoding="utf-8")
    (here / "queries.tsv").write_text("q1\ta\n", encoding="utf-8")
    (here / "theirs.run").write_text("q1 Q0 d1 1 1.0 theirs\n", encoding="utf-8")
    write_qrels(here / "gold.qrels", {"q1": {"d1": 1}})
    listed = json.loads(cli("retrievers", "--format", "json").out)["components"]
    for item in listed:
        shown = cli("retrievers", item["name"]).out
        # Examples of one name share their heading.
        assert set(item["example"].splitlines()) <= set(shown.splitlines())
        head = "name: x\ncorpus: {path: corpus.jsonl}\nqueries: {path: queries.tsv}\n"
        systems = "systems:\n  bm25: {retriever: bm25}\n  lsa: {retriever: lsa}\n"
        kind, _, body = item["example"].partition("\n")
        systems += "judges:\n  lexical: {judge: lexical}\n" if kind == "pool:" else ""
        example = f"{systems}{body}\n" if kind == "systems:" else f"{systems}{kind}\n{body}\n"
        (here / "pool.yaml").write_text(head + example, encoding="utf-8")
        from quati_pool.project.config import load_config

        config = load_config(here / "pool.yaml")
        assert len(config.systems) + len(config.judges) == (2 if kind == "authoring:" else 3)
        assert (config.authoring is not None) == (kind == "authoring:")
    assert re.search("there is no component 'bm52'; did you mean 'bm25'", cli("retrievers", "bm52").err)


def test_of_tied_leaders_each_is_compared(cli: Cli, here: Path) -> None:
    """P@1 of one and two are both 0.5; three differs from one, which it never beats, but not from two."""
    grades = {f"q{number:02}": {"yes": 1, "no": 0} for number in range(20)}
    write_qrels(here / "gold.qrels", grades)
    wins = {"one": set(range(10)), "two": set(range(10, 20)), "three": {10, 11, 12, 13, 14}}
    for run_tag, found in wins.items():
        run = {query: {"yes" if number in found else "no": 1.0} for number, query in enumerate(grades)}
        write_run(here / "tied" / f"{run_tag}.run", run_tag, run)
    arguments = ["--run", "tied/*.run", "--qrels", "gold.qrels", "--measures", "P@1", "--draws", "0", "--alpha", "0.2"]
    tests = json.loads(cli("evaluate", *arguments, "--format", "json").out)["qrels"][0]["comparisons"]["P@1"]
    verdicts = {frozenset((one["a"], one["b"])): one["significant"] for one in tests}
    assert verdicts[frozenset(("two", "three"))] != verdicts[frozenset(("one", "three"))]
    said = answer(cli, "evaluate", *arguments)
    assert said.startswith(
        "one and two have the highest P@1 under gold's grades over 20 queries, 0.500; the other does not differ "
        "significantly from all of them (paired t test, Holm over 3 pairs, alpha 0.2)."
    )


@pytest.mark.parametrize("inverted", [False, True])
def test_an_interval_includes_0_only_if_0_lies_in_it(cli: Cli, here: Path, inverted: bool) -> None:
    other = {q: {d: 3 - grade if inverted else grade for d, grade in grades.items()} for q, grades in HUMAN.items()}
    write_qrels(here / "other.qrels", other)
    files = ["--run", "*.run", "--qrels", "human.qrels", "--qrels", "other.qrels", "--measures", "nDCG@10"]
    (found,) = json.loads(cli("evaluate", *files, "--format", "json").out)["rank_correlation"]
    low, high = found["intervals"]["tau"]
    assert ("which includes 0" in answer(cli, "evaluate", *files)) == (low <= 0 <= high)


def test_nearly_all_is_not_all(cli: Cli, here: Path) -> None:
    rows = [f"q{number} 0 d {number % 4}" for number in range(4000)]
    (here / "a.qrels").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (here / "b.qrels").write_text("\n".join([*rows[:-1], "q3999 0 d 0"]) + "\n", encoding="utf-8")
    said = answer(cli, "agree", "--labels", "a.qrels", "--labels", "b.qrels", "--draws", "0")
    assert "; > 99.9 % of the grades are equal." in said


def test_a_component_that_prints_or_exits_spoils_no_output(cli: Cli, here: Path) -> None:
    (here / "corpus.jsonl").write_text('{"doc_id": "d1", "text": "a"}\n', encoding="utf-8")
    (here / "queries.tsv").write_text("q1\ta\n", encoding="utf-8")
    (here / "mine.py").write_text(
        "import sys\nfrom quati_pool.retrieval.base import Retriever\nprint('loud')\n\n"
        "class Mine(Retriever):\n    def search(self, corpus, folder, queries, depth, context):\n        sys.exit(0)\n",
        encoding="utf-8",
    )
    (here / "pool.yaml").write_text(
        "name: x\ncorpus: {path: corpus.jsonl}\nqueries: {path: queries.tsv}\n"
        "systems:\n  mine: {retriever: mine.py:Mine}\n",
        encoding="utf-8",
    )
    assert json.loads(cli("status", "--format", "json").out)["collection"] == "x"
    done = cli("build")
    assert done.status == 1
    assert done.err.splitlines()[-1].startswith("quati-pool: mine.py:7: SystemExit: 0; fix that file")
