"""agree as a user runs it: the paper's figures, every format, files, and one line for each fault."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from quati_pool.reporting.figures.pictures import stem
from tests.agreement.rated import HA1_HA2, HA1_LLM, HA3_LLM
from tests.cli.conftest import Cli, Done
from tests.patience import PATIENCE
from tests.shared_data import shared

PRACA = "Onde está localizada a Praça XV de Novembro?"
COEFFICIENTS = ("kappa", "kappa_linear", "kappa_quadratic", "spearman", "pearson", "kendall", "agreement", "difference")
TOGETHER = ("alpha_nominal", "alpha_ordinal", "alpha_interval", "fleiss_kappa", "gwet_ac1", "gwet_ac2")
A = "q1 0 d1 1\nq1 0 d2 2\nq2 0 d1 0\nq2 0 d2 3\nq3 0 d1 1\n"
B = "q1 0 d1 1\nq1 0 d2 3\nq2 0 d1 0\nq2 0 d2 2\nq3 0 d1 1\n"
TWO = ("--labels", "A=a.qrels", "--labels", "B=b.qrels")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: two qrels files and no workspace."""
    (tmp_path / "a.qrels").write_text(A, encoding="utf-8")
    (tmp_path / "b.qrels").write_text(B, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def data_of(done: Done) -> dict[str, Any]:
    assert done.status == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def quati() -> tuple[str, ...]:
    names = {f"HA{n}": shared(f"quati/annotator_0{n}_240_annotations_with_questions.tsv") for n in (1, 2)}
    return tuple(part for name, path in names.items() for part in ("--labels", f"{name}={path}"))


def annotations(number: int) -> list[dict[str, str]]:
    path = shared(f"quati/annotator_0{number}_240_annotations_with_questions.tsv")
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def content(folder: Path) -> dict[str, bytes]:
    """All files of a folder but sidecars, which hold the time, and locks."""
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if not path.name.endswith((".meta.json", ".lock"))
    }


def csv_tables(out: str) -> dict[str, list[list[str]]]:
    """The tables of ``--format csv``, by title."""
    parts = [part.partition("\n") for part in out.removeprefix("# ").split("\n# ")]
    return {title: [row for row in csv.reader(io.StringIO(body)) if row] for title, _, body in parts}


# ---- the paper's figures


def test_the_released_annotations_give_the_papers_figures(cli: Cli) -> None:
    data = data_of(cli("agree", *quati(), "--format", "json"))
    (pair,) = data["pairs"]
    assert (pair["a"], pair["b"], pair["n"]) == ("HA1", "HA2", 240)
    assert [round(pair[name], 4) for name in ("kappa", "spearman", "pearson")] == [0.4369, 0.6931, 0.6982]
    assert pair["confusion"] == HA1_HA2
    (asked,) = (query for query in data["queries"] if query["query_id"] == PRACA)
    assert round(asked["pairs"][0]["kappa"], 4) == 0.2647
    assert len(data["queries"]) == 24
    assert data["people"] == ["HA1", "HA2"]
    assert data["matched_by"] == "query text and doc_id"


def number(value: object) -> bool:
    return type(value) is float and math.isfinite(value)


def test_the_json_has_the_keys_and_types_of_the_design(cli: Cli) -> None:
    data = data_of(cli("agree", *quati(), "--format", "json"))
    assert data["labelers"] == ["HA1", "HA2"]
    (pair,) = data["pairs"]
    assert all(number(pair[name]) for name in COEFFICIENTS)
    assert pair["undefined"] == {}
    for low, high in (pair["intervals"][name] for name in COEFFICIENTS):
        assert number(low)
        assert low < high
    for name in COEFFICIENTS:
        assert pair["intervals"][name][0] <= pair[name] <= pair["intervals"][name][1]
    assert list(pair["binarized"]) == ["1", "2", "3"]
    for found in pair["binarized"].values():
        assert {*COEFFICIENTS, "intervals", "undefined"} == set(found)
    assert all(number(data["overall"][name]) for name in TOGETHER)
    assert set(data["overall"]["intervals"]) == set(TOGETHER)
    for query in data["queries"]:
        assert type(query["query_id"]) is str
        for told in query["pairs"]:
            assert {"a", "b", "n", "undefined", *COEFFICIENTS} == set(told)
            assert type(told["n"]) is int
    assert (data["draws"], data["seed"], data["problems"], data["duplicates"]) == (2000, 0, {}, [])


@pytest.mark.parametrize("how", ["table", "markdown", "latex", "csv"])
def test_every_format_shows_the_figures_and_the_query(cli: Cli, how: str) -> None:
    done = cli("agree", "--full", *quati(), "--format", how, "--draws", "20")
    assert (done.status, done.err) == (0, "")
    if how == "csv":
        made = csv_tables(done.out)
        (row,) = made["Agreement of two labelers"][1:]
        assert [round(float(row[place]), 4) for place in (3, 6, 7)] == [0.4369, 0.6931, 0.6982]
        by_query = {row[0]: row[1:] for row in made["κ by query"]}
        assert round(float(by_query[PRACA][0]), 4) == 0.2647
        assert all(len({len(row) for row in rows}) == 1 for rows in made.values())
    else:
        for figure in ("0.4369", "0.6931", "0.6982", "0.2647"):
            assert figure in done.out
        assert {"markdown": "### ", "latex": r"\begin{tabular}", "table": "HA1 ↓ HA2 →"}[how] in done.out


# ---- three people and an LLM, as in the paper


@pytest.fixture
def panel(here: Path) -> dict[str, list[int]]:
    """Grades of 240 pairs that realise three of the paper's confusion matrices, as TSV files. HA2 and the
    LLM hang on HA1's grades, HA3 on the LLM's: the margins of the matrices are the same."""
    columns: dict[str, list[int]] = {"HA1": [], "HA2": [], "LLM": [], "HA3": []}
    thirds = [[n for n, times in enumerate(column) for _ in range(times)] for column in np.transpose(HA3_LLM).tolist()]
    for grade in range(4):
        seconds = [n for n, times in enumerate(HA1_HA2[grade]) for _ in range(times)]
        verdicts = [n for n, times in enumerate(HA1_LLM[grade]) for _ in range(times)]
        for second, verdict in zip(seconds, reversed(verdicts), strict=True):
            columns["HA1"].append(grade)
            columns["HA2"].append(second)
            columns["LLM"].append(verdict)
            columns["HA3"].append(thirds[verdict].pop())
    assert not any(thirds)
    for name, grades in columns.items():
        rows = [f"q{i % 24:02d}\td{i}\t{grade}\n" for i, grade in enumerate(grades)]
        text = "query_id\tdoc_id\trelevance\n" + "".join(rows)
        (here / f"{name}.tsv").write_text(text, encoding="utf-8")
    return columns


PANEL = ("--labels", "HA1=HA1.tsv", "--labels", "HA2=HA2.tsv", "--labels", "HA3=HA3.tsv", "--labels", "LLM=LLM.tsv")
PERSONS = ("--person", "HA1", "--person", "HA2", "--person", "HA3")


def test_three_people_and_an_llm_in_the_papers_layout(panel: dict[str, list[int]], cli: Cli) -> None:
    data = data_of(cli("agree", *PANEL, *PERSONS, "--draws", "0", "--format", "json"))
    pairs = {(pair["a"], pair["b"]): pair for pair in data["pairs"]}
    # The paper's Tables 3 to 5 and 8 to 13.
    paper = {
        ("HA1", "HA2"): (HA1_HA2, 0.4369, 0.6931, 0.6982),
        ("HA1", "LLM"): (HA1_LLM, 0.3234, 0.6073, 0.5982),
        ("HA3", "LLM"): (HA3_LLM, 0.3498, 0.6296, 0.6326),
    }
    for names, (confusion, *figures) in paper.items():
        assert pairs[names]["confusion"] == confusion
        assert [round(pairs[names][name], 4) for name in ("kappa", "spearman", "pearson")] == figures
    expected = {
        "kappa": lambda a, b: float(cohen_kappa_score(a, b)),
        "spearman": lambda a, b: float(stats.spearmanr(a, b).statistic),
        "pearson": lambda a, b: float(stats.pearsonr(a, b).statistic),
    }
    people = ["HA1", "HA2", "HA3"]
    for name, coefficient in expected.items():
        found = {row["labeler"]: row for row in data["layouts"][name]["rows"]}
        means = {}
        for labeler, grades in panel.items():
            others = [coefficient(grades, panel[person]) for person in people if person != labeler]
            means[labeler] = float(np.mean(others))
            assert found[labeler]["mean"] == pytest.approx(means[labeler])
            assert found[labeler]["std"] == pytest.approx(float(np.std(others)))
        human = [means[person] for person in people]
        assert data["layouts"][name]["mean_human"] == pytest.approx(float(np.mean(human)))
        assert data["layouts"][name]["std_human"] == pytest.approx(float(np.std(human)))
        assert found["LLM"]["difference"] == pytest.approx(means["LLM"] - float(np.mean(human)))
        assert [found[person]["difference"] for person in people] == [None] * 3


def test_the_printed_layout_ends_with_the_mean_human_annotators(panel: dict[str, list[int]], cli: Cli) -> None:
    done = cli("agree", *PANEL, *PERSONS, "--draws", "0", "--format", "csv")
    kappas = csv_tables(done.out)["Cohen's κ with people"]
    header = ["Labeler", "HA1", "HA2", "HA3", "Mean", "Standard deviation", "Difference to human mean"]
    assert kappas[0] == header
    assert [row[0] for row in kappas[1:]] == ["HA1", "HA2", "HA3", "LLM", "Mean human annotators"]
    assert kappas[1][1] == ""
    assert kappas[-1][1:4] == ["", "", ""]
    assert round(float(kappas[4][1]), 4) == 0.3234
    assert float(kappas[4][4]) - float(kappas[5][4]) == pytest.approx(float(kappas[4][6]))
    by_query = csv_tables(done.out)["κ by query"]
    assert by_query[0] == ["Query", "People", "±", "LLM and people", "±"]
    assert len(by_query) == 1 + 24 + 1


def test_by_query_figures_are_means_over_the_people(panel: dict[str, list[int]], cli: Cli) -> None:
    data = data_of(cli("agree", *PANEL, *PERSONS, "--draws", "0", "--format", "json"))
    people = ["HA1", "HA2", "HA3"]
    for query in data["kappa_by_query"]["queries"]:
        rows = range(int(query["query_id"][1:]), 240, 24)
        graded = {name: [grades[i] for i in rows] for name, grades in panel.items()}
        human = [float(cohen_kappa_score(graded[a], graded[b])) for a, b in combinations(people, 2)]
        llm = [float(cohen_kappa_score(graded["LLM"], graded[person])) for person in people]
        assert query["human"]["mean"] == pytest.approx(np.mean(human))
        assert query["human"]["std"] == pytest.approx(np.std(human))
        assert query["judges"]["LLM"]["mean"] == pytest.approx(np.mean(llm))
        assert query["judges"]["LLM"]["std"] == pytest.approx(np.std(llm))
    assert [hard["among"] for hard in data["hardest_queries"]] == ["labelers", "people", "LLM"]


# ---- how files are read


def test_columns_grades_and_scale_of_a_table_are_mapped(here: Path, cli: Cli) -> None:
    rows = "topic,passage,verdict\nq1,d1,sim\nq1,d2,não\nq2,d1,\n"
    (here / "ana.csv").write_text(rows, encoding="utf-8")
    (here / "b.qrels").write_text("q1 0 d1 1\nq1 0 d2 1\nq2 0 d1 0\n", encoding="utf-8")
    columns = ("--column", "ana.query_id=topic", "--column", "ana.doc_id=passage", "--column", "relevance=verdict")
    named = ("--labels", "ana=ana.csv", "--labels", "B=b.qrels", *columns, "--grade", "sim=1", "--grade", "não=0")
    data = data_of(cli("agree", *named, "--scale", "0,1", "--person", "ana", "--format", "json"))
    assert data["scale"] == {"0": "0", "1": "1"}
    assert data["people"] == ["ana"]
    assert data["pairs"][0]["confusion"] == [[0, 1], [0, 1]]
    assert data["sources"][0]["without_grade"] == {"no label": 1}
    assert data["sources"][0]["file"] == "ana.csv"
    assert data["sources"][1]["unmatched"] == [["q2", "d1"]]


def test_one_file_of_several_annotators_is_parted_by_name(here: Path, cli: Cli) -> None:
    labels = [("ana", "d1", "2"), ("bruno", "d1", "2"), ("ana", "d2", "0"), ("bruno", "d2", "1")]
    records = [
        {"id": i, "query_id": "q1", "doc_id": doc, "text": doc, "label": [label], "username": user}
        for i, (user, doc, label) in enumerate(labels)
    ]
    (here / "all.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    data = data_of(cli("agree", "--labels", "A=all.jsonl#ana", "--labels", "B=all.jsonl#bruno", "--format", "json"))
    assert data["pairs"][0]["confusion"] == [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    assert data["people"] == ["A", "B"]
    unnamed = data_of(cli("agree", "--labels", "all.jsonl#ana", "--labels", "all.jsonl#bruno", "--format", "json"))
    assert unnamed["labelers"] == ["ana", "bruno"]
    assert unnamed["overall"] == {**data["overall"], "labelers": ["ana", "bruno"]}
    done = cli("agree", "--labels", "A=all.jsonl", "--labels", "B=b.qrels")
    assert done.status == 1
    assert done.err == (
        "quati-pool: all.jsonl: holds the labels of ana, bruno; name one: --labels NAME=FILE#ANNOTATOR\n"
    )


def test_a_file_whose_name_holds_a_hash_is_that_file(here: Path, cli: Cli) -> None:
    (here / "a#2.qrels").write_text(A, encoding="utf-8")
    assert data_of(cli("agree", *TWO[:2], "--labels", "B=a#2.qrels", "--format", "json"))["pairs"][0]["kappa"] == 1


def test_query_texts_take_their_ids_from_a_file_of_queries(here: Path, cli: Cli) -> None:
    qrels = shared("quati/quati_1M_qrels.txt")
    judged: dict[str, list[tuple[str, int]]] = {}
    for line in qrels.read_text(encoding="utf-8").splitlines():
        query_id, _, doc_id, relevance = line.split()
        judged.setdefault(doc_id, []).append((query_id, int(relevance)))
    # The released annotations have no query_ids: those of the passages that the qrels judge once tell them.
    votes: dict[str, Counter[str]] = {}
    for row in annotations(1):
        there = judged.get(row["passage_id"], [])
        votes.setdefault(row["query"], Counter()).update([there[0][0]] if len(there) == 1 else [])
    ids = {text: vote.most_common(1)[0][0] if vote else f"x{n}" for n, (text, vote) in enumerate(votes.items())}
    assert len(set(ids.values())) == len(ids)
    (here / "queries.tsv").write_text("".join(f"{i}\t{text}\n" for text, i in ids.items()), encoding="utf-8")
    files = (*quati()[:2], "--labels", f"LLM={qrels}")
    done = cli("agree", *files)
    assert done.status == 1
    assert done.err.count("\n") == 1
    assert "name the texts' ids with --queries FILE (query_id <tab> query)" in done.err
    data = data_of(cli("agree", *files, "--queries", "queries.tsv", "--format", "json"))
    grades = {(i, doc): grade for doc, told in judged.items() for i, grade in told}
    both = [
        (int(row["score"]), grades[ids[row["query"]], row["passage_id"]])
        for row in annotations(1)
        if (ids[row["query"]], row["passage_id"]) in grades
    ]
    (pair,) = data["pairs"]
    # Of 240: the paper's GPT-4 column is not to be had from the released qrels (docs, limits).
    assert (pair["n"], round(pair["kappa"], 4)) == (len(both), 0.2529) == (26, 0.2529)
    assert pair["kappa"] == pytest.approx(float(cohen_kappa_score(*zip(*both, strict=True))))
    assert data["matched_by"] == "query_id and doc_id"
    assert {query["query_id"]: query["query"] for query in data["queries"]}.items() <= {
        i: t for t, i in ids.items()
    }.items()
    assert len(data["sources"][0]["unmatched"]) == 240 - len(both)


def test_duplicates_and_pairs_of_one_labeler_alone_are_listed(here: Path, cli: Cli) -> None:
    (here / "b.qrels").write_text("q1 0 d1 1\nq1 0 d1 1\nq1 0 d2 2\nq8 0 d8 0\n", encoding="utf-8")
    data = data_of(cli("agree", "--full", *TWO, "--format", "json"))
    twice = {"labeler": "B", "file": "b.qrels", "lines": [1, 2], "query_id": "q1", "doc_id": "d1"}
    assert data["duplicates"] == [twice]
    assert [source["unmatched"] for source in data["sources"]] == [
        [["q2", "d1"], ["q2", "d2"], ["q3", "d1"]],
        [["q8", "d8"]],
    ]
    assert data["pairs"][0]["n"] == 2
    out = cli("agree", "--full", *TWO).out
    assert "Pairs that one labeler alone graded" in out
    assert "Pairs that occur twice in a file" in out


# ---- what is undefined


def test_a_labeler_with_one_grade_is_undefined_with_the_reason(here: Path, cli: Cli) -> None:
    (here / "b.qrels").write_text(re.sub(r"\d$", "2", A, flags=re.M), encoding="utf-8")
    data = data_of(cli("agree", "--full", *TWO, "--format", "json"))
    (pair,) = data["pairs"]
    assert [pair[name] for name in ("spearman", "pearson", "kendall")] == [None] * 3
    assert pair["undefined"]["spearman"] == "B gave every pair the grade 2"
    assert pair["intervals"]["spearman"] is None
    assert pair["kappa"] == 0
    assert pair["binarized"]["3"]["undefined"]["pearson"] == "B gave every pair a grade below 3"
    assert (
        "Spearman, Pearson, Kendall τ-b undefined (B gave every pair the grade 2)." in cli("agree", "--full", *TWO).out
    )


def test_two_labelers_of_one_grade_have_no_kappa(here: Path, cli: Cli) -> None:
    for name in ("a", "b"):
        (here / f"{name}.qrels").write_text("q1 0 d1 2\nq2 0 d1 2\n", encoding="utf-8")
    data = data_of(cli("agree", *TWO, "--format", "json"))
    assert data["pairs"][0]["kappa"] is None
    assert data["pairs"][0]["undefined"]["kappa"] == "both gave every pair the grade 2"
    assert data["pairs"][0]["agreement"] == 1
    assert data["overall"]["alpha_nominal"] is None
    assert data["overall"]["undefined"]["alpha_nominal"] == "every pair got the grade 2 from all"


def test_two_of_three_without_a_common_pair_are_undefined(here: Path, cli: Cli) -> None:
    (here / "c.qrels").write_text("q1 0 d1 1\n", encoding="utf-8")
    (here / "b.qrels").write_text("q1 0 d2 1\n", encoding="utf-8")
    data = data_of(cli("agree", *TWO, "--labels", "C=c.qrels", "--format", "json"))
    pair = data["pairs"][2]
    assert (pair["a"], pair["b"], pair["n"]) == ("B", "C", 0)
    assert pair["undefined"] == dict.fromkeys(COEFFICIENTS, "no common pair")


# ---- faults

FAULTS = {
    "one labeler": (
        TWO[:2],
        "only A has grades; agreement needs two labelers: run another judge, or name files with --labels FILE",
    ),
    "no common pair": (
        (*TWO[:2], "--labels", "B=far.qrels"),
        "no two labelers graded a common pair (A has 5, such as 'q1' 'd1'; B has 1, such as 'q9' 'd1'); "
        "check that the files use the same ids",
    ),
    "off the scale": (
        (*TWO, "--scale", "0,1"),
        "a.qrels:2: A: the grade 2 is not on the scale 0, 1 (off it: 2, 3, in 2 of 5 labels); "
        "name the whole scale with --scale (grades: in pool.yaml), or say what is not a grade: --grade 3=none",
    ),
    "a conflicting duplicate": (
        (*TWO, "--labels", "C=conflict.qrels"),
        "conflict.qrels:3: query_id 'q1' and doc_id 'd1' have the grade 2 here and 1 in line 1; "
        "keep the correct row",
    ),
    "an empty file": ((*TWO, "--labels", "C=empty.tsv"), "empty.tsv: is empty; expected labels"),
    "no such file": ((*TWO, "--labels", "C=none.tsv"), "none.tsv: there is no such file; check the path"),
    "a folder": ((*TWO, "--labels", "C=folder"), "folder: is a folder; expected a file"),
    "no such queries": ((*TWO, "--queries", "none.tsv"), "none.tsv: there is no such file; check the path"),
    "an unknown person": ((*TWO, "--person", "C"), "--person C: no such labeler here; there are: A, B"),
    "no workspace": (
        (),
        "pool.yaml: there is no such file; name label files with --labels FILE, or a workspace with -c",
    ),
    "names without a workspace": (
        (*TWO, "ana"), "pool.yaml: there is no such file; run: quati-pool init DIR, or name one with -c",
    ),
    "an annotator of qrels": (
        (*TWO, "--labels", "C=b.qrels#ana"), "b.qrels: is qrels, which names no annotators; leave #ana off",
    ),
    "a grade that is a word": (
        (*TWO, "--labels", "C=words.tsv"),
        "words.tsv:2: relevance 'sim' is not a grade; expected an integer or one of Irrelevant, Relevant, "
        "Highly relevant, Perfectly relevant; map it with --grade sim=GRADE",
    ),
    "an output that is a file": ((*TWO, "-o", "a.qrels"), "a.qrels is not a folder; name one with -o"),
}  # fmt: skip


@pytest.fixture
def spoiled(here: Path) -> Path:
    (here / "far.qrels").write_text("q9 0 d1 1\n", encoding="utf-8")
    (here / "conflict.qrels").write_text("q1 0 d1 1\nq1 0 d2 1\nq1 0 d1 2\n", encoding="utf-8")
    (here / "empty.tsv").write_text("", encoding="utf-8")
    (here / "words.tsv").write_text("query_id\tdoc_id\trelevance\nq1\td1\tsim\n", encoding="utf-8")
    (here / "folder").mkdir()
    return here


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one_line_that_says_what_to_do(spoiled: Path, cli: Cli, name: str) -> None:
    arguments, message = FAULTS[name]
    assert cli("agree", *arguments) == (1, "", f"quati-pool: {message}\n")


def test_a_file_without_a_name_has_that_of_its_stem(here: Path, cli: Cli) -> None:
    (here / "x=2.qrels.gz").write_bytes(gzip.compress(B.encode()))
    options = ("--labels", "a.qrels", "--labels", "B=b.qrels", "--labels", "./b.qrels", "--draws", 0)
    found = data_of(cli("agree", *options, "--format", "json"))
    assert found["labelers"] == ["a", "B", "b"]
    # A file that is there is a file, whatever its name holds.
    refused = cli("agree", "--labels", "a.qrels", "--labels", "x=2.qrels.gz")
    assert "'x=2.qrels.gz' cannot be a name; give one: NAME=FILE" in refused.err.splitlines()[-1]
    found = data_of(cli("agree", "--labels", "x=x=2.qrels.gz", "--labels", "a.qrels", "--format", "json"))
    assert found["labelers"] == ["x", "a"]
    missing = cli("agree", "--labels", "a.qrels", "--labels", "C")
    assert (missing.status, missing.err) == (1, "quati-pool: C: there is no such file; check the path\n")


MISUSES = {
    "two files of one name": (
        (*TWO, "--labels", "A=b.qrels"), "a.qrels and b.qrels are both named A; give each its own: NAME=FILE"
    ),
    "two files of one stem": (
        ("--labels", "a.qrels", "--labels", "x/a.qrels.gz"),
        "a.qrels and x/a.qrels.gz are both named a; give each its own: NAME=FILE",
    ),
    "a stem with a blank": ((*TWO, "--labels", "my a.qrels"), "'my a.qrels' cannot be a name; give one: NAME=FILE"),
    "no name": ((*TWO, "--labels", "=b.qrels"), "'=b.qrels' is not NAME=FILE"),
    "no file": ((*TWO, "--labels", "C="), "'C=' is not NAME=FILE"),
    "a name with a blank": ((*TWO, "--labels", "A B=b.qrels"), "'A B=b.qrels' is not NAME=FILE"),
    "a scale of one grade": ((*TWO, "--scale", "1"), "expected at least two grades, such as 0,1"),
    "a scale of words": ((*TWO, "--scale", "no,yes"), "'no' is not an integer"),
    "an unknown field": ((*TWO, "--column", "A.relevanc=x"), "there is no field 'relevanc'; did you mean 'relevance'?"),
    "a column of a stranger": ((*TWO, "--column", "C.text=x"), "there is no --labels 'C'; there are: A, B"),
    "a grade of no number": ((*TWO, "--grade", "sim=yes"), "'yes' is not an integer"),
    "columns without files": (("--column", "text=x"), "files, and none is named; add --labels NAME=FILE"),
    "a negative seed": ((*TWO, "--seed", "-1"), "greater than or equal to 0"),
    "negative draws": ((*TWO, "--draws", "-1"), "greater than or equal to 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISUSES)
def test_a_misuse_is_told_with_exit_2(here: Path, cli: Cli, name: str) -> None:
    arguments, message = MISUSES[name]
    done = cli("agree", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err.splitlines()[-1]


def test_binary_junk_is_refused_in_one_line(here: Path, cli: Cli) -> None:
    generator = np.random.default_rng(0)
    for place in range(20):
        (here / "junk.tsv").write_bytes(generator.bytes(400))
        done = cli("agree", *TWO, "--labels", "C=junk.tsv")
        assert done.status == 1, place
        assert done.err.startswith("quati-pool: junk.tsv")
        assert done.err.count("\n") == 1


# ---- intervals


def test_no_draws_no_intervals(here: Path, cli: Cli) -> None:
    done = cli("agree", *TWO, "--draws", "0")
    assert done.status == 0
    assert "95 %" not in done.out
    data = data_of(cli("agree", *TWO, "--draws", "0", "--format", "json"))
    assert data["pairs"][0]["intervals"] == data["overall"]["intervals"] == {}


def test_one_draw_is_an_interval_of_one_value(here: Path, cli: Cli) -> None:
    data = data_of(cli("agree", *TWO, "--draws", "1", "--format", "json"))
    low, high = data["pairs"][0]["intervals"]["agreement"]
    assert low == high


def test_the_seed_decides_the_intervals_and_nothing_else(here: Path, cli: Cli) -> None:
    told = [cli("agree", *TWO, "--draws", "200", "--seed", seed, "--format", "json") for seed in (1, 1, 2)]
    assert told[0] == told[1]
    one, other = data_of(told[0]), data_of(told[2])
    assert one["pairs"][0]["intervals"] != other["pairs"][0]["intervals"]
    for data in (one, other):
        del data["seed"], data["pairs"][0]["intervals"], data["overall"]["intervals"]
        for found in data["pairs"][0]["binarized"].values():
            del found["intervals"]
        for undefined in (data["pairs"][0], data["overall"], *data["pairs"][0]["binarized"].values()):
            undefined["undefined"] = {k: v for k, v in undefined["undefined"].items() if "intervals" not in k}
    assert one == other


def test_the_order_of_rows_changes_nothing(here: Path, cli: Cli) -> None:
    before = cli("agree", *TWO, "--format", "csv", "--draws", "100")
    (here / "a.qrels").write_text("".join(reversed(A.splitlines(keepends=True))), encoding="utf-8")
    assert before.status == 0
    assert cli("agree", *TWO, "--format", "csv", "--draws", "100") == before


# ---- what is written


@pytest.mark.slow
def test_tables_and_figures_are_written_once(panel: dict[str, list[int]], here: Path, cli: Cli) -> None:
    arguments = (
        "agree",
        *PANEL[:4],
        *PANEL[6:],
        "--person",
        "HA1",
        "--person",
        "HA2",
        "--draws",
        "50",
        "-o",
        "out/deep",
    )
    done = cli(*arguments)
    assert done.status == 0
    assert done.err == (
        "agreement: wrote agreement.md, agreement.tex, agreement.csv, agreement.json and 9 more to out/deep\n"
    )
    folder = here / "out" / "deep"
    made = content(folder)
    figures = ["confusion--HA1--HA2", "confusion--HA1--LLM", "confusion--HA2--LLM", "kappa-by-query--LLM"]
    tables = ["agreement-tables.csv", *(f"agreement.{suffix}" for suffix in ("csv", "json", "md", "tex"))]
    assert sorted(made) == sorted([*tables, *(f"{name}.{suffix}" for name in figures for suffix in ("svg", "png"))])
    for name, data in made.items():
        assert (folder / f"{name}.meta.json").exists()
        if name.endswith(".png"):
            assert data.startswith(b"\x89PNG")
        if name.endswith(".svg"):
            assert b"</svg>" in data
    assert r"\toprule" in made["agreement.tex"].decode()
    assert made["agreement.md"].decode().startswith("# Agreement\n")
    rows = list(csv.DictReader(io.StringIO(made["agreement.csv"].decode())))
    (kappa,) = (
        row
        for row in rows
        if (row["a"], row["b"], row["relevant_from"], row["coefficient"]) == ("HA1", "HA2", "", "kappa")
    )
    assert (round(float(kappa["value"]), 4), kappa["pairs"]) == (0.4369, "240")
    assert float(kappa["low"]) < 0.4369 < float(kappa["high"])
    assert {row["coefficient"] for row in rows if not row["a"]} == set(TOGETHER)
    times = {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.name != ".reports.lock"}
    again = cli(*arguments, "--format", "json")
    assert (again.status, again.err) == (0, "agreement: out/deep is up to date\n")
    assert again.out.encode() == made["agreement.json"]
    assert content(folder) == made
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.name in times} == times


def test_a_file_that_was_changed_is_written_again(here: Path, cli: Cli) -> None:
    cli("agree", *TWO, "-o", "out")
    made = content(here / "out")
    (here / "out" / "agreement.md").write_text("spoiled", encoding="utf-8")
    assert cli("agree", *TWO, "-o", "out").err == "agreement: wrote agreement.md to out\n"
    assert content(here / "out") == made
    assert "agreement.json" in cli("agree", *TWO, "-o", "out", "--seed", "1").err


def test_files_alone_write_nothing(here: Path, cli: Cli) -> None:
    before = sorted(here.rglob("*"))
    done = cli("agree", *TWO)
    assert (done.status, done.err) == (0, "")
    assert sorted(here.rglob("*")) == before


def test_an_output_that_cannot_be_written_is_one_line(here: Path, cli: Cli) -> None:
    (here / "locked").mkdir()
    (here / "locked").chmod(0o500)
    # Nobody keeps root out of a folder; nothing can be made in /proc.
    for folder in ("a.qrels/below", "locked/below" if os.geteuid() else "/proc/below"):
        done = cli("agree", *TWO, "-o", folder)
        assert (done.status, done.out) == (1, "")
        assert done.err.startswith(f"quati-pool: {folder}")
        assert done.err.count("\n") == 1
    (here / "locked").chmod(0o700)


@pytest.mark.slow
def test_two_processes_write_one_folder_whole(here: Path, cli: Cli) -> None:
    command = [sys.executable, "-m", "quati_pool", "agree", *TWO, "-o", "out", "--draws", "50"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    running = [
        subprocess.Popen(command, cwd=here, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    ends = [process.communicate(timeout=PATIENCE) for process in running]
    assert [process.returncode for process in running] == [0, 0], ends
    assert ends[0][0] == ends[1][0]
    assert not [path for path in (here / "out").iterdir() if "partial" in path.name]
    assert cli("agree", *TWO, "-o", "out", "--draws", "50").err == "agreement: out is up to date\n"


def test_figures_of_names_that_look_alike_have_names_of_their_own() -> None:
    alike = [
        ("a", "b-c"),
        ("a-b", "c"),
        ("a", "b", "c"),
        ("a|b", "c"),
        ("a;b", "c"),
        ("a--b", "c"),
        ("a.", "c"),
        ("a", "c"),
    ]
    assert len({stem(*parts) for parts in alike}) == len(alike)


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("confusion", "HA1", "sample-gold"), "confusion--HA1--sample-gold"),
        (("confusion", "gpt-4o_2024.11", "x"), "confusion--gpt-4o_2024.11--x"),
    ],
)
def test_plain_names_name_their_figures(parts: Sequence[str], name: str) -> None:
    assert stem(*parts) == name


@pytest.mark.parametrize("name", ["a/b", "..", "<script>", "-", "", "x" * 10_000, "Ünï", "a--b", ".hidden"])
def test_any_other_name_becomes_a_short_plain_one(name: str) -> None:
    made = stem("confusion", name, "B")
    assert re.fullmatch(r"confusion--[A-Za-z0-9_][A-Za-z0-9._-]{0,70}--B", made)
    assert made != stem("confusion", name + "'", "B")


# ---- hostile texts

TEXTS = (
    '<script>alert("x")</script> | $HOME; \\input{x} `ls`',
    "[a](javascript:b) **x** _y_ ~z~ #",
    "100 % & more ^^M {\\undefined}",
    "ßλ😀 日本 \u202e 'quoted', \"comma\"",
    "y" * 10_000,
)
HOSTILE_NAMES = ("<script>alert(1)", "a|b$c;d`e😀&%_{")


@pytest.fixture
def hostile(here: Path) -> tuple[str, ...]:
    for name, shift in (("h1", 0), ("h2", 1)):
        with (here / f"{name}.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["query", "doc_id", "relevance"])
            writer.writerows([text, f"d{i}", (i + shift * (i % 2)) % 4] for text in TEXTS for i in range(4))
    one, other = HOSTILE_NAMES
    return ("--labels", f"{one}=h1.csv", "--labels", f"{other}=h2.csv", "--person", one, "--person", other)


def test_hostile_texts_are_escaped_in_markdown(hostile: tuple[str, ...], cli: Cli) -> None:
    out = cli("agree", *hostile, "--format", "markdown").out
    assert "<" not in out
    assert "&lt;script&gt;alert" in out
    widths: dict[int, set[int]] = {}
    for number, block in enumerate(out.split("\n\n")):
        if block.startswith("|"):
            widths[number] = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
    assert widths
    assert all(len(width) == 1 for width in widths.values())
    assert max(map(len, out.splitlines())) < 1000


def test_hostile_texts_are_escaped_in_latex(hostile: tuple[str, ...], cli: Cli) -> None:
    out = cli("agree", *hostile, "--format", "latex").out
    assert r"\input" not in out
    assert r"\undefined" not in out
    assert r"\textbackslash" in out
    for line in out.removeprefix("% needs the package booktabs\n").splitlines():
        assert not re.search(r"(?<!\\)[%#]", line)
        assert len(re.findall(r"(?<!\\)\$", line)) % 2 == 0
        assert len(re.findall(r"(?<!\\)\{", line)) == len(re.findall(r"(?<!\\)\}", line))


def test_hostile_texts_come_back_from_csv_and_json(hostile: tuple[str, ...], cli: Cli) -> None:
    rows = csv_tables(cli("agree", *hostile, "--format", "csv").out)["κ by query"]
    told = {row[0] for row in rows}
    assert set(TEXTS[:-1]) <= told
    assert {len(row) for row in rows} == {3}
    assert "y" * 99 + "…" in told
    data = data_of(cli("agree", *hostile, "--format", "json"))
    assert {query["query_id"] for query in data["queries"]} == set(TEXTS)
    assert data["labelers"] == list(HOSTILE_NAMES)


def test_hostile_names_make_files_inside_the_folder(hostile: tuple[str, ...], here: Path, cli: Cli) -> None:
    names = (HOSTILE_NAMES[0], "x" * 10_000, "..")
    files = [part for name in names for part in ("--labels", f"{name}=h1.csv")]
    before = {path.name for path in here.iterdir()}
    assert cli("agree", *files, "--labels", "../up=h2.csv", "-o", "out").status == 2
    done = cli("agree", *files, "-o", "out", "--draws", "0")
    assert done.status == 0, done.err
    assert {path.name for path in here.iterdir()} == before | {"out"}
    made = content(here / "out")
    assert len(made) == 5 + 2 * 3
    assert b"<script" not in made["agreement.md"]


# ---- many queries


@pytest.mark.slow
def test_of_ten_thousand_queries_the_table_shows_some_and_the_files_all(here: Path, cli: Cli) -> None:
    generator = np.random.default_rng(0)
    for name in ("a", "b"):
        grades = generator.integers(0, 4, 20_000).tolist()
        lines = [f"q{i // 2:05d} 0 d{i % 2} {grade}\n" for i, grade in enumerate(grades)]
        (here / f"{name}.qrels").write_text("".join(lines), encoding="utf-8")
    arguments = ("agree", *TWO, "--person", "A", "--draws", "100", "-o", "out")
    done = cli(*arguments, "--full")
    assert done.status == 0
    assert len(done.out.splitlines()) < 200
    assert "The first 60 of 10,000 queries; --format json shows all." in done.out
    assert "The first 10 of 10,000 queries; --format json shows all." in done.out
    made = content(here / "out")
    assert len(json.loads(made["agreement.json"])["queries"]) == 10_000
    assert made["agreement.md"].decode().count("\n| q") >= 10_000
    rows = csv_tables(cli("agree", *TWO, "--person", "A", "--draws", "0", "--format", "csv").out)
    assert len(rows["κ by query"]) == 1 + 10_000 + 1
    assert len(rows["Queries hardest for B"]) == 1 + 10_000


# ---- -c beside files


def test_the_grades_and_seed_of_a_pool_yaml_that_is_named_count_for_files(tmp_path: Path, cli: Cli) -> None:
    """One that only lies in the current folder does not: files alone are files alone."""
    (tmp_path / "pool.yaml").write_text(
        "name: wide\nseed: 5\ncorpus: {path: c.jsonl}\nqueries: {path: q.tsv}\nsystems: {a: {retriever: bm25s}}\n"
        "grades: {0: none, 1: some, 2: more, 3: most, 4: all}\n",
        encoding="utf-8",
    )
    for name, grades in (("a", "4 0 1 2"), ("b", "4 1 1 2")):
        rows = [f"q{n} 0 d{n} {grade}\n" for n, grade in enumerate(grades.split())]
        (tmp_path / f"{name}.qrels").write_text("".join(rows), encoding="utf-8")
    files = ("--labels", f"a={tmp_path / 'a.qrels'}", "--labels", f"b={tmp_path / 'b.qrels'}", "--draws", 5)
    data = json.loads(cli("agree", "-c", tmp_path / "pool.yaml", *files, "--format", "json").out)
    assert list(data["scale"]) == ["0", "1", "2", "3", "4"]
    assert data["seed"] == 5
    alone = cli("agree", *files)
    assert alone.status == 1
    assert "the grade 4 is not on the scale 0, 1, 2, 3" in alone.err
