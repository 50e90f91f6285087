"""Collections of run files: without a corpus and queries, with texts for the pooled passages alone, and with runs that
a corpus knows only in part."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path

import pytest
import pytrec_eval

from tests.cli.conftest import Cli
from tests.shared_data import shared

pytestmark = pytest.mark.slow

Pairs = dict[str, dict[str, int]]

QRELS = {
    "nist": {},
    "gpt-4o": {},
    "llama-3.2-3b": {"6": None, "8": None, "9": None},
    "mistral-7b": {"4": None, "5": None, "6": None},
}


def rows(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [line.split() for line in lines]


def jsonl(path: Path) -> list[dict[str, object]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def official() -> dict[str, dict[str, dict[str, float]]]:
    """The released runs by run tag, query and document."""
    runs: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for query_id, _, doc_id, _, score, run_tag in rows(shared("trec-dl-2021/dl21-runs-top20-judged53.txt.gz")):
        runs[run_tag][query_id][doc_id] = float(score)
    return runs


@pytest.fixture
def track(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of TREC DL 2021 as released: runs in one file, four qrels, neither texts nor topics."""
    none = {name: ", ".join(f'"{grade}": none' for grade in grades) for name, grades in QRELS.items()}
    files = "".join(
        f"  {name}: {{path: {shared(f'trec-dl-2021/{name}.qrels.gz')}, grades: {{{none[name]}}}}}\n" for name in QRELS
    )
    (tmp_path / "pool.yaml").write_text(
        "name: dl21\nsystems:\n"
        f"  official: {{retriever: run, runs: {shared('trec-dl-2021/dl21-runs-top20-judged53.txt.gz')}}}\n"
        "run_depth: 20\npool: {depth: 10}\njudges: {lexical: {judge: lexical}}\n"
        f"measures: [nDCG@10, AP(rel=2)@20]\nlabels:\n files:\n{files}",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def first_ten(scores: dict[str, float]) -> set[str]:
    return set(sorted(scores, key=lambda doc_id: (scores[doc_id], doc_id), reverse=True)[:10])


def judged(name: str, without: set[tuple[str, str]] = frozenset()) -> Pairs:
    found: Pairs = defaultdict(dict)
    for query_id, _, doc_id, grade in rows(shared(f"trec-dl-2021/{name}.qrels.gz")):
        if grade not in QRELS[name] and (query_id, doc_id) not in without:
            found[query_id][doc_id] = int(grade)
    return found


def mean(run: dict[str, dict[str, float]], qrels: Pairs, measure: str) -> float:
    values = pytrec_eval.RelevanceEvaluator(qrels, {measure}).evaluate(run)
    return sum(one["ndcg_cut_10"] for one in values.values()) / len(qrels)


@pytest.mark.usefixtures("sketched")
def test_a_track_as_released(track: Path, cli: Cli, official: dict[str, dict[str, dict[str, float]]]) -> None:
    built = json.loads(cli("build", "--format", "json").out)
    # By hand: a pair is pooled if it is among the first ten of any run; 7,443 of them is also ESTIMATES.md's count.
    finders: dict[tuple[str, str], set[str]] = defaultdict(set)
    for run_tag, queries in official.items():
        for query_id, scores in queries.items():
            for doc_id in first_ten(scores):
                finders[query_id, doc_id].add(run_tag)
    pool = jsonl(track / "pool.jsonl.gz")
    assert {(pair["query_id"], pair["doc_id"]) for pair in pool} == set(finders)
    assert built["pool"]["pairs"] == len(pool) == 7443
    assert {(pair["query"], pair["text"]) for pair in pool} == {("", "")}
    some = pool[100]
    ledger = {tag for tag, run in official.items() if some["doc_id"] in run[some["query_id"]]}
    assert set(some["runs"]) == ledger

    found = json.loads(cli("evaluate", "--draws", "0", "--format", "json").out)
    assert [one["name"] for one in found["qrels"]] == list(QRELS)
    for one in found["qrels"]:
        qrels = judged(one["name"])
        for run in one["runs"]:
            expected = mean(official[run["run_tag"]], qrels, "ndcg_cut_10")
            assert run["measures"]["nDCG@10"]["mean"] == pytest.approx(expected, abs=1e-6)
    assert found["qrels"][2]["without_grade"] == {"set to none": 18}

    left_out = {one["run_tag"]: one for one in found["qrels"][0]["leave_out"]["systems"]["runs"]}
    assert set(left_out) == set(official)
    for run_tag in ("uogTrPCP", "pash_f1", "top1000"):
        alone = {pair for pair, by in finders.items() if by == {run_tag}}
        assert left_out[run_tag]["unique_pairs"] == len(alone)
        after = mean(official[run_tag], judged("nist", alone), "ndcg_cut_10")
        assert left_out[run_tag]["measures"]["nDCG@10"]["after"] == pytest.approx(after, abs=1e-6)

    refusal = "quati-pool: pool.yaml: no text for 7,443 pairs: name texts: a corpus or a file with these passages"
    for command in ("judge", "judge --dry-run", "annotate", "assign --all"):
        done = cli(*command.split())
        assert (done.status, done.err.splitlines()) == (1, [f"{refusal} (and build)"])
    found = json.loads(cli("status", "--format", "json").out)
    assert found["next"]["command"] == "quati-pool agree", "nothing that would be refused"


def test_one_or_all_runs_of_a_file_by_option(
    tmp_path: Path, cli: Cli, official: dict[str, dict[str, dict[str, float]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs, nist = shared("trec-dl-2021/dl21-runs-top20-judged53.txt.gz"), shared("trec-dl-2021/nist.qrels.gz")
    options = ("--qrels", f"nist={nist}", "--draws", "0", "--format", "json", "--measures", "nDCG@10")
    all_runs = json.loads(cli("evaluate", "--run", runs, *options).out)["qrels"][0]["runs"]
    assert {run["run_tag"] for run in all_runs} == set(official)
    two = ("--run", f"{runs}#p_bm25", "--run", f"{runs}#p_tct0")
    chosen = json.loads(cli("evaluate", *two, *options).out)["qrels"][0]["runs"]
    assert {run["run_tag"] for run in chosen} == {"p_bm25", "p_tct0"}
    means = {run["run_tag"]: run["measures"]["nDCG@10"]["mean"] for run in all_runs}
    assert all(run["measures"]["nDCG@10"]["mean"] == means[run["run_tag"]] for run in chosen)
    done = cli("evaluate", "--run", f"{runs}#p_bm26", *options)
    assert (done.status, done.err) == (1, f"quati-pool: {runs}: holds no run 'p_bm26'; did you mean 'p_bm25'?\n")
    assert "1 file is valid" in cli("validate", runs).out


RUNS = """\
q1 Q0 d3 1 3 one
q1 Q0 x1 2 2 one
q2 Q0 d2 1 2 one
q1 Q0 x2 1 9 two
q2 Q0 x1 1 9 two
q2 Q0 d2 2 8 two
"""
CORPUS_OF_RUNS = """\
name: tiny
corpus: {path: corpus.jsonl}
queries: {path: queries.tsv}
systems:
  theirs: {retriever: run, runs: theirs.txt}
  again: {first: one, rerank: {with: lsa, dimensions: 2}}
pool: {depth: 2}
judges: {lexical: {judge: lexical}}
"""


@pytest.fixture
def partly(tiny: Path) -> Path:
    """Runs with documents that the corpus does not have."""
    (tiny / "theirs.txt").write_text(RUNS, encoding="utf-8")
    (tiny / "pool.yaml").write_text(CORPUS_OF_RUNS, encoding="utf-8")
    return tiny


def texts(folder: Path) -> dict[tuple[str, str], str]:
    return {(pair["query_id"], pair["doc_id"]): pair["text"] for pair in jsonl(folder / "pool.jsonl.gz")}


@pytest.mark.usefixtures("sketched")
def test_documents_that_the_corpus_does_not_have(partly: Path, cli: Cli) -> None:
    done = cli("build")
    assert done.status == 0, done.err
    assert "one: 1 of 3 documents are not in the corpus and kept: x1" in done.err
    assert "two: 2 of 3 documents are not in the corpus and kept: x1, x2" in done.err
    assert "one: 1 of 3 documents are not in the corpus and not reranked by again: x1" in done.err
    found = texts(partly)
    assert {pair for pair, text in found.items() if not text} == {("q1", "x1"), ("q1", "x2"), ("q2", "x1")}
    assert found["q2", "d2"].startswith("Rye bread")
    done = cli("judge", "--format", "json")
    assert json.loads(done.out)["states"]["no_text"] == 3
    # What is read back is what was built.
    assert "reused" in (again := cli("build")).err
    assert "not in the corpus" not in again.err


@pytest.mark.usefixtures("sketched")
def test_texts_for_pooled_documents_alone(partly: Path, cli: Cli) -> None:
    cli("build")
    more = [{"id": f"z{row}", "body": "not pooled"} for row in range(3000)]
    more += [{"id": "x1", "body": "A loaf."}, {"id": "d2", "body": "not this one, as the corpus has it"}]
    (partly / "more.jsonl").write_text("".join(json.dumps(one) + "\n" for one in more), encoding="utf-8")
    config = partly / "pool.yaml"
    config.write_text(CORPUS_OF_RUNS + "texts: {path: more.jsonl, doc_id: id, text: body}\n", encoding="utf-8")
    done = cli("build")
    assert "texts: built" in done.err
    assert "1 passages" in done.err
    found = texts(partly)
    assert found["q1", "x1"] == found["q2", "x1"] == "A loaf."
    assert found["q1", "x2"] == ""
    assert found["q2", "d2"].startswith("Rye bread")
    assert json.loads(cli("judge", "--format", "json").out)["states"]["no_text"] == 1
    assert "texts: reused" in cli("build").err
    # Another text makes the pool stale, as it does for every other input.
    (partly / "more.jsonl").write_text(json.dumps({"id": "x1", "body": "Two loaves."}) + "\n", encoding="utf-8")
    assert "pool.jsonl.gz: was built with settings other than those now in pool.yaml" in cli("evaluate").err
    cli("build")
    assert texts(partly)["q1", "x1"] == "Two loaves."
    (partly / "more.jsonl").write_text(json.dumps({"id": "X1", "body": "?"}) + "\n", encoding="utf-8")
    done = cli("build")
    assert done.status == 1
    assert "more.jsonl: holds no passages; expected some of the 2 that no corpus has; check doc_id" in done.err
    assert texts(partly)["q1", "x1"] == "Two loaves.", "the pool stays"


@pytest.mark.usefixtures("sketched")
def test_texts_and_queries_for_runs_alone(tiny: Path, cli: Cli) -> None:
    (tiny / "theirs.txt").write_text(RUNS, encoding="utf-8")
    alone = "name: tiny\nsystems:\n  theirs: {retriever: run, runs: theirs.txt}\njudges: {lexical: {judge: lexical}}\n"
    (tiny / "pool.yaml").write_text(alone, encoding="utf-8")
    assert "No pair has a text" in cli("build").out
    (tiny / "pool.yaml").write_text(f"{alone}texts: corpus.jsonl\n", encoding="utf-8")
    cli("build")
    done = cli("judge")
    assert done.err.splitlines()[-1] == (
        "quati-pool: pool.yaml: no text for 5 pairs: name queries: a file with their texts (and build)"
    )
    (tiny / "pool.yaml").write_text(f"{alone}texts: corpus.jsonl\nqueries: {{path: queries.tsv}}\n", encoding="utf-8")
    cli("build")
    assert json.loads(cli("judge", "--format", "json").out)["states"] == {"ok": 2, "no_text": 3}


@pytest.mark.usefixtures("sketched")
def test_exports_of_runs_alone(tiny: Path, cli: Cli) -> None:
    (tiny / "theirs.txt").write_text(RUNS, encoding="utf-8")
    (tiny / "some.qrels").write_text("q1 0 d3 1\nq2 0 d2 2\n", encoding="utf-8")
    labels = "labels: {files: {me: {path: some.qrels}}}\n"
    alone = f"name: tiny\nsystems:\n  theirs: {{retriever: run, runs: theirs.txt}}\n{labels}"
    (tiny / "pool.yaml").write_text(alone, encoding="utf-8")
    cli("build")
    options = ("--labeler", "me", "--allow-missing")
    for form in ("beir", "hf", "bundle"):
        done = cli("export", form, *options)
        assert (done.status, len(done.err.splitlines())) == (1, 1)
        assert f"{form} publishes the passages, and this collection has none: name corpus: or texts:" in done.err
    assert cli("export", "bundle", *options, "--set", "corpus=none").status == 0
    assert cli("export", "qrels", *options).status == 0
    (tiny / "pool.yaml").write_text(f"{alone}texts: corpus.jsonl\n", encoding="utf-8")
    cli("build")
    done = cli("export", "beir", *options)
    assert done.status == 0, done.err
    corpus = (tiny / "exports" / "beir" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["_id"] for line in corpus} == {"d2", "d3"}
