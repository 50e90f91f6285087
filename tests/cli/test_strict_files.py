"""What ``agree``, ``evaluate`` and ``validate`` say of one and the same file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.shared_data import shared

RUN = "q1 Q0 d1 1 3.5 {0}\nq1 Q0 d2 2 2.5 {0}\nq2 Q0 d1 1 1.5 {0}\n"
OFF = "the grade 8 is not on the scale 0, 1, 2, 3 (off it: 5, 8, in 2 of 4 labels)"
REMEDY = "name the whole scale with --scale (grades: in pool.yaml), or say what is not a grade: --grade 8=none"
NONE = ("--grade", "8=none", "--grade", "5=none")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {
        "sound.qrels": "q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 3\nq2 0 d2 1\n",
        "off.qrels": "q1 0 d1 2\nq1 0 d2 8\nq2 0 d1 3\nq2 0 d2 5\n",
        "a.run": RUN.format("a"),
    }
    write(tmp_path, files)
    return tmp_path


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def agree(*options: object) -> tuple[object, ...]:
    return ("agree", "--labels", "A=sound.qrels", *options, "--draws", 0, "-o", "out")


def evaluate(*options: object) -> tuple[object, ...]:
    return ("evaluate", "--run", "a.run", *options, "--draws", 0, "-o", "out", "--measures", "nDCG@10")


@pytest.mark.usefixtures("folder")
def test_grades_off_a_declared_scale_are_refused_by_agree_and_evaluate_in_the_same_words(cli: Cli) -> None:
    scale = ("--scale", "0,1,2,3")
    for options in (agree("--labels", "B=off.qrels", *scale), evaluate("--qrels", "B=off.qrels", *scale)):
        done = cli(*options)
        assert (done.status, done.err) == (1, f"quati-pool: off.qrels:2: B: {OFF}; {REMEDY}\n")
    # The remedies that were named.
    for more in (("--scale", "0,1,2,3,5,8"), (*scale, *NONE)):
        for options in (agree("--labels", "B=off.qrels", *more), evaluate("--qrels", "B=off.qrels", *more)):
            assert cli(*options).status == 0


@pytest.mark.usefixtures("folder")
def test_a_scale_of_pool_yaml_is_a_declared_one(folder: Path, cli: Cli) -> None:
    (folder / "pool.yaml").write_text(
        "name: tiny\ncorpus: {path: c.jsonl}\nqueries: {path: q.tsv}\nsystems: {bm25s: {retriever: bm25s}}\n"
        "grades: {0: nothing, 1: some, 2: much, 3: all}\n",
        encoding="utf-8",
    )
    for options in (agree("--labels", "B=off.qrels"), evaluate("--qrels", "B=off.qrels")):
        done = cli(*options, "-c", "pool.yaml")
        assert (done.status, done.err) == (1, f"quati-pool: off.qrels:2: B: {OFF}; {REMEDY}\n")


@pytest.mark.usefixtures("folder")
def test_labels_set_to_none_are_counted_in_table_and_json(cli: Cli) -> None:
    told = cli(*agree("--labels", "B=off.qrels", *NONE)).out
    assert "B without a grade: 2 set to none." in told
    data = json.loads(cli(*agree("--labels", "B=off.qrels", *NONE, "--format", "json")).out)
    assert [source["without_grade"] for source in data["sources"]] == [{}, {"set to none": 2}]
    assert data["pairs"][0]["n"] == 2
    # Of q1 d1 is graded, at the first rank, and of q2 too: both nDCG@10 are 1.
    data = json.loads(cli(*evaluate("--qrels", "B=off.qrels", *NONE, "--format", "json")).out)
    (condition,) = data["qrels"]
    assert (condition["without_grade"], condition["pairs"]) == ({"set to none": 2}, 2)
    assert condition["runs"][0]["measures"]["nDCG@10"]["mean"] == 1
    assert "2 pairs have no grade by B (2 set to none)" in cli(*evaluate("--qrels", "B=off.qrels", *NONE)).out


@pytest.mark.usefixtures("folder")
def test_without_a_declared_scale_evaluate_takes_any_grade_and_says_so(cli: Cli) -> None:
    done = cli(*evaluate("--qrels", "B=off.qrels", "--format", "json"))
    # By hand: q1 has gains 2, 8 ranked so; q2 has 3 at the first rank, and 5 that was not returned.
    expected = ((2 + 8 / 1.584963) / (8 + 2 / 1.584963) + 3 / (5 + 3 / 1.584963)) / 2
    data = json.loads(done.out)
    assert data["qrels"][0]["runs"][0]["measures"]["nDCG@10"]["mean"] == pytest.approx(expected, abs=1e-6)
    warning = f"off.qrels:2: {OFF}, and counts as it is; {REMEDY}"
    assert done.err.startswith(f"warning: {warning}\n")
    assert data["warnings"] == [warning]
    assert "warning" not in cli(*evaluate("--qrels", "B=sound.qrels")).err


@pytest.mark.parametrize("name", ["llama-3.2-3b", "mistral-7b"])
def test_published_grades_of_small_models_are_refused_alike(folder: Path, name: str, cli: Cli) -> None:
    source = shared(f"trec-dl-2021/{name}.qrels.gz")
    write(folder, {"a.run": "2082 Q0 msmarco_passage_01_552803451 1 1.5 a\n"})
    scale = ("--scale", "0,1,2,3")
    nist = shared("trec-dl-2021/nist.qrels.gz")
    first = cli("agree", "--labels", f"nist={nist}", "--labels", f"B={source}", *scale, "-o", "out")
    second = cli(*evaluate("--qrels", f"B={source}", *scale))
    assert (first.status, second.status) == (1, 1)
    assert first.err == second.err
    assert ("6, 8, 9, in 18 of 9,725" if name.startswith("llama") else "4, 5, 6, in 41 of 9,729") in first.err


@pytest.mark.parametrize("grade", [4294967299, -4294967299, 10**9, 1_000_001])
def test_huge_grades_are_refused_by_every_command(folder: Path, grade: int, cli: Cli) -> None:
    write(folder, {"huge.qrels": f"q1 0 d1 2\nq1 0 d2 {grade}\n"})
    fault = f"huge.qrels:2: relevance '{grade}' is beyond ±1,000,000; expected a grade such as 0 or 3"
    for options in (agree("--labels", "B=huge.qrels"), evaluate("--qrels", "B=huge.qrels")):
        done = cli(*options)
        assert (done.status, done.err) == (1, f"quati-pool: {fault}\n")
    done = cli("validate", "huge.qrels")
    assert (done.status, done.err) == (1, f"{fault}\n")
    for option in ("--grade", "x=2000000"), ("--scale", "0,2000000"):
        assert "'2000000' is beyond ±1,000,000" in cli(*evaluate("--qrels", "B=sound.qrels", *option)).err


def test_rows_that_repeat_are_accepted_alike_and_conflicts_refused_alike(folder: Path, cli: Cli) -> None:
    write(
        folder,
        {
            "twice.qrels": "q1 0 d1 2\nq1 0 d2 0\nq1 0 d1 2.0\nq2 0 d1 1\n",
            "conflict.qrels": "q1 0 d1 2\nq1 0 d1 1\nq2 0 d1 1\n",
        },
    )
    for options in (
        agree("--labels", "B=twice.qrels"),
        evaluate("--qrels", "B=twice.qrels"),
        ("validate", "twice.qrels"),
    ):
        assert cli(*options).status == 0
    fault = "query_id 'q1' and doc_id 'd1' have the grade 1 here and 2 in line 1; keep the correct row"
    for options in (
        agree("--labels", "B=conflict.qrels"),
        evaluate("--qrels", "B=conflict.qrels"),
        ("validate", "conflict.qrels"),
    ):
        done = cli(*options)
        assert done.status == 1
        assert f"conflict.qrels:2: {fault}" in done.err


def test_all_faulty_runs_are_named_in_one_go(folder: Path, cli: Cli) -> None:
    (folder / "runs").mkdir()
    write(
        folder / "runs",
        {
            "a.run": RUN.format("a"),
            "b.run": "q1 Q0 d1 1\nq1 Q0\n" + RUN.format("b"),
            "c.run": RUN.format("c") + "q2 Q0 d2 2 0,5 c\n",
            "d.run": RUN.format("d") + "q2 Q0 d2",
            "e.run": RUN.format("a"),
        },
    )
    done = cli("evaluate", "--run", "runs", "--run", "gone.run", "--qrels", "A=sound.qrels", "-o", "out")
    columns = "expected 6: query_id Q0 doc_id rank score run_tag"
    assert done.status == 1
    assert done.err.splitlines() == [
        f"quati-pool: runs/b.run:1: 4 columns; {columns}",
        "quati-pool: runs/c.run:4: score '0,5' has a decimal comma; write 0.5",
        f"quati-pool: runs/d.run:4: 3 columns; {columns}; "
        "has no line end after its last row and may be cut off; check that row, or copy it again",
        "quati-pool: runs/a.run and runs/e.run hold runs of one run_tag, 'a'; rename one, or put them into "
        "sets ([SET=]FILE)",
        "quati-pool: gone.run: there is no such file; check the path",
    ]


def test_a_run_that_may_be_cut_off_is_a_warning_of_evaluate_and_validate(folder: Path, cli: Cli) -> None:
    write(folder, {"a.run": RUN.format("a").rstrip("\n")})
    warning = "has no line end after its last row and may be cut off; check that row, or copy it again"
    done = cli(*evaluate("--qrels", "A=sound.qrels"))
    assert (done.status, done.err.splitlines()[0]) == (0, f"warning: a.run {warning}")
    done = cli("validate", "a.run")
    assert (done.status, done.err) == (0, f"a.run: warning: {warning}\n")


def test_faults_of_a_corpus_are_lines_by_kind(folder: Path, cli: Cli) -> None:
    write(folder, {"corpus.jsonl": "".join(f'{{"doc_id": "d{n}", "text": {n}}}\n' for n in range(50))})
    done = cli("validate", "corpus.jsonl", "--format", "json")
    line = (
        'corpus.jsonl:1: text is the number 0; expected a string: write "0" '
        "(50 such faults: corpus.jsonl:1, corpus.jsonl:2, corpus.jsonl:3, …)"
    )
    assert (done.status, done.err) == (1, line + "\n")
    (file,) = json.loads(done.out)["files"]
    assert (file["errors"], file["error_count"], file["more_errors"]) == ([line], 50, 0)
    assert "50 errors" in cli("validate", "corpus.jsonl").out


@pytest.mark.parametrize(
    ("rows", "without"),
    [
        ("1\ta\t8\n1\tb\t1\n", {"set to none": 1}),
        ("1\ta\t8\n1\tb\t1\n1\tc\t\n", {"no label or set to none": 2}),
        # a has another label that is a grade; c alone is without one.
        ("1\ta\t8\n1\ta\t2\n1\tb\t1\n1\tc\t\n", {"no label or set to none": 1}),
        ("1\tb\t1\n1\tc\t\n", {"no label": 1}),
    ],
)
def test_why_pairs_have_no_grade_is_said_as_far_as_it_is_known(
    tmp_path: Path, cli: Cli, rows: str, without: dict[str, int]
) -> None:
    (tmp_path / "a.tsv").write_text("query_id\tdoc_id\trelevance\n" + rows)
    (tmp_path / "b.qrels").write_text("1 0 a 1\n1 0 b 1\n1 0 c 0\n")
    files = ("--labels", tmp_path / "a.tsv", "--labels", tmp_path / "b.qrels")
    done = cli("agree", *files, "--grade", "8=none", "--format", "json", "-o", tmp_path / "out")
    assert json.loads(done.out)["sources"][0]["without_grade"] == without
