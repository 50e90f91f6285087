"""Collections from existing data sets: of ir_datasets, made on the spot with its own classes, and in folders."""

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quati_pool.corpus.store import CorpusStore
from quati_pool.data_sets.ir_dataset import IrDataset
from quati_pool.errors import QuatiPoolError
from quati_pool.files.corpus import read_passages
from quati_pool.files.queries import read_queries
from quati_pool.release.about import ReleaseConfig
from quati_pool.release.ir_datasets import IrDatasets
from tests.cli.conftest import Cli
from tests.release.small_release import HOSTILE, ir_datasets_export, release_of
from tests.shared_data import shared

MODULE = """
from typing import NamedTuple
import ir_datasets
from ir_datasets.datasets.base import Dataset
from ir_datasets.formats import BaseDocs, BaseQueries, BaseQrels, TrecQrel, TrecQuery

class Page(NamedTuple):
    doc_id: str
    title: str
    body: str
    def default_text(self):
        return self.title + " " + self.body

class Docs(BaseDocs):
    def docs_iter(self):
        return iter([Page("d1", "Ferry", "The ferry leaves at noon."), Page("d2", "", "Bread\\tand\\nbutter.")])
    def docs_cls(self):
        return Page

class Queries(BaseQueries):
    def queries_iter(self):
        return iter([TrecQuery("q1", "ferry", "When does the ferry leave?", "The hour.")])
    def queries_cls(self):
        return TrecQuery

class Judged(BaseQrels):
    def qrels_iter(self):
        return iter([TrecQrel("q1", "d1", 2, "0"), TrecQrel("q1", "d2", 0, "0")])
    def qrels_cls(self):
        return TrecQrel
    def qrels_defs(self):
        return {}

class Known:
    def documentation(self):
        known = {"pretty_name": "Pages", "desc": "<p>Two &amp; a half</p>", "license": "CC0"}
        return {**known, "bibtex_ids": ["Graff2002Aquaint"]}

if "pages" not in ir_datasets.registry:
    ir_datasets.registry.register("pages", Dataset(Docs(), Queries(), Judged(), Known()))
    ir_datasets.registry.register("docs-only", Dataset(Docs()))
"""

POOL = """\
name: mine
corpus: {{{corpus}}}
queries: {{{queries}}}
systems: {{bm25s: {{retriever: bm25s, language: en}}}}
labels: {{files: {{gold: {{{labels}}}}}}}
"""


@pytest.fixture
def new_process(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Forgets the files that were imported, and what they registered; called once for the test."""
    import ir_datasets

    own = dict(ir_datasets.registry._registered)

    def forget() -> None:
        monkeypatch.setattr(ir_datasets.registry, "_registered", dict(own))
        for name in [name for name in sys.modules if name.startswith("quati_pool.component_files.")]:
            del sys.modules[name]

    forget()
    return forget


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_process: Callable[[], None]) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pages.py").write_text(MODULE, encoding="utf-8")
    return tmp_path


def workspace(folder: Path, source: str, *, corpus: str = "", queries: str = "", labels: str = "") -> None:
    folder.mkdir(exist_ok=True)
    parts = {"corpus": f"{source}{corpus}", "queries": f"{source}{queries}", "labels": f"{source}{labels}"}
    (folder / "pool.yaml").write_text(POOL.format(**parts), encoding="utf-8")


def corpus_of(folder: Path) -> dict[str, str]:
    (store,) = (folder / "cache" / "corpus").glob("*/")
    return {row["doc_id"]: row["text"] for batch in CorpusStore(store).batches() for row in batch.to_pylist()}


def queries_of(folder: Path) -> list[dict[str, str]]:
    (path,) = folder.glob("cache/data_sets/*/queries.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.usefixtures("sketched")
def test_a_data_set_of_a_users_module(pages: Path, cli: Cli) -> None:
    workspace(pages, 'ir_datasets: "pages.py:pages"')
    refused = cli("evaluate")
    assert (refused.status, len(refused.err.splitlines())) == (1, 1)
    done = cli("build")
    assert done.status == 0, done.err
    assert corpus_of(pages) == {"d1": "Ferry The ferry leaves at noon.", "d2": " Bread\tand\nbutter."}
    assert queries_of(pages) == [{"query_id": "q1", "query": "ferry", "narrative": "The hour."}]
    found = json.loads(cli("evaluate", "--draws", "0", "--format", "json").out)
    assert found["qrels"][0]["pairs"] == 2
    assert found["qrels"][0]["runs"][0]["measures"]["RR(rel=2)@10"]["mean"] == 1.0
    again = cli("build").err.splitlines()
    assert [line for line in again if "built" in line] == []
    assert "queries of pages.py:pages: reused" in again
    assert "1 file is valid" in cli("validate", "pool.yaml").out
    assert cli("build", "--plan").status == 0
    assert cli("status").status == 0
    assert cli("export", "hf", "--labeler", "gold").status == 0
    card = (pages / "exports" / "hf" / "README.md").read_text(encoding="utf-8")
    assert "### Pages (pages.py:pages)\n\nTwo &amp; a half\n\n- License: CC0" in card
    assert "The AQUAINT Corpus of English News Text" in card


@pytest.mark.usefixtures("sketched")
def test_fields_of_a_data_set(pages: Path, cli: Cli, new_process: Callable[[], None]) -> None:
    fields = {"corpus": ", text: [title, body]", "queries": ", query: [title, description], narrative: description"}
    workspace(pages, 'ir_datasets: "pages.py:pages"', **fields)
    assert cli("build").status == 0
    assert corpus_of(pages) == {"d1": "Ferry\nThe ferry leaves at noon.", "d2": "Bread\tand\nbutter."}
    (query,) = queries_of(pages)
    assert (query["query"], query["narrative"]) == ("ferry When does the ferry leave?", "When does the ferry leave?")
    # Other code is other content.
    (pages / "pages.py").write_text(MODULE + "\n# changed", encoding="utf-8")
    assert "pages.py was changed after it registered 'pages'; start Python again" in cli("build").err
    new_process()
    assert "queries of pages.py:pages: built" in cli("build").err


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("ir_datasets: vaswany", "ir_datasets has no data set 'vaswany'; did you mean 'vaswani'?"),
        ("ir_datasets: none.py:x", "none.py cannot be imported (FileNotFoundError: "),
        ("ir_datasets: pages.py:x", "ir_datasets has no data set 'x'; "),
        (
            "ir_datasets: pages.py:vaswani",
            "pages.py:vaswani: ir_datasets or other code registered 'vaswani' first; give",
        ),
        ("ir_datasets: pages.py:docs-only", "pages.py:docs-only has no queries; name a data set of ir_datasets"),
        ("beir: none", "none: there is no such folder; check the path"),
        ("mteb: .", "corpus.jsonl: there is no such file, nor corpus/*.parquet; check the folder"),
    ],
)
def test_what_is_not_there_is_one_line(pages: Path, cli: Cli, source: str, fault: str) -> None:
    workspace(pages, source)
    done = cli("build")
    assert (done.status, len(done.err.splitlines())) == (1, 1), done.err
    assert fault in done.err


def test_a_name_in_two_files_is_one_line(pages: Path, cli: Cli) -> None:
    (pages / "other.py").write_text(MODULE, encoding="utf-8")
    parts = {"corpus": 'ir_datasets: "pages.py:pages"', "queries": 'ir_datasets: "other.py:pages"'}
    (pages / "pool.yaml").write_text(POOL.format(**parts, labels=parts["corpus"]), encoding="utf-8")
    # The queries are read before all others.
    _, line = cli("build").err.splitlines()
    fault = f"pages.py:pages: {pages / 'other.py'} registered 'pages' first; give one of the two another name"
    assert line == f"quati-pool: {fault}"


@pytest.mark.parametrize(
    ("corpus", "fault"),
    [
        ("ir_datasets: x, path: y", "2: corpus: names ir_datasets and path; expected one of them"),
        ("doc_id: x", "2: corpus: the key 'path' is missing; add it, or name a data set with ir_datasets:, beir: or"),
    ],
)
def test_one_source(pages: Path, cli: Cli, corpus: str, fault: str) -> None:
    (pages / "pool.yaml").write_text(POOL.format(corpus=corpus, queries="path: q", labels="path: l"), encoding="utf-8")
    assert f"pool.yaml:{fault}" in cli("build").err


def test_a_part_that_cannot_be_fetched_says_where_it_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    data_set = IrDataset("vaswani", Path())

    def offline() -> Any:
        raise OSError("no route to host")

    monkeypatch.setattr(data_set._data, "docs_iter", offline, raising=False)
    with pytest.raises(
        QuatiPoolError, match=r"the docs of vaswani cannot be read \(OSError: no route to host\); ir_dat"
    ):
        list(data_set.passages())
    about = data_set.about()
    assert (about.title, about.license) == ("Vaswani", None)
    assert str(about.description).startswith("A small corpus of roughly 11,000 scientific abstracts.")


VASWANI = """
import sys
from quati_pool.cli.main import main
sys.argv = ["quati-pool", "build", "-c", sys.argv[1]]
main()
"""


def test_vaswani_where_ir_datasets_looks_for_it(tmp_path: Path) -> None:
    """Its files, as shared/data has them in TREC's format, placed in the form that ir_datasets reads."""
    documents = [
        (doc_id, text)
        for batch in read_passages([shared("vaswani/doc-text.trec")])
        for doc_id, text in zip(batch.doc_ids, batch.texts, strict=True)
    ]
    queries = read_queries(shared("vaswani/query-text.trec"))
    qrels: dict[str, list[str]] = {}
    for line in shared("vaswani/qrels").read_text(encoding="utf-8").splitlines():
        query_id, _, doc_id, _ = line.split()
        qrels.setdefault(query_id, []).append(doc_id)
    home = tmp_path / "home" / "vaswani"
    home.mkdir(parents=True)
    (home / "docs.txt").write_text("".join(f"{doc_id}\n{text.strip()}\n   /\n" for doc_id, text in documents))
    (home / "queries.txt").write_text("".join(f"{query.query_id}\n{query.query}\n/\n" for query in queries))
    (home / "qrels.txt").write_text(
        "".join(f"{query_id}\n{' '.join(docs)}\n   /\n" for query_id, docs in qrels.items())
    )
    workspace(tmp_path / "work", "ir_datasets: vaswani")
    environment = {**os.environ, "IR_DATASETS_HOME": str(tmp_path / "home"), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", VASWANI, str(tmp_path / "work" / "pool.yaml")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = corpus_of(tmp_path / "work")
    assert len(found) == 11_429
    assert {doc_id: text.strip() for doc_id, text in found.items()} == {
        doc_id: text.strip() for doc_id, text in documents
    }
    assert [row["query"].strip() for row in queries_of(tmp_path / "work")] == [query.query for query in queries]
    (judged,) = (tmp_path / "work").glob("cache/data_sets/*/all.qrels")
    assert len(judged.read_text().splitlines()) == sum(map(len, qrels.values()))


HARD = {"d1": "a\ttab and\na line", "é": "«é»", "007": "", "a,b": 'quotes "here"'}


def beir(folder: Path) -> None:
    (folder / "qrels").mkdir(parents=True)
    rows = [{"_id": doc_id, "title": "T" if doc_id == "d1" else "", "text": text} for doc_id, text in HARD.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    metadata = {"narrative": "why", "cluster_id": "c"}
    lines = [{"_id": "q1", "text": "tab", "metadata": metadata}, {"_id": "q2", "text": "é"}]
    with gzip.open(folder / "queries.jsonl.gz", "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(line) + "\n" for line in lines)
    for split, grade in (("test", 2), ("dev", 1)):
        with (folder / "qrels" / f"{split}.tsv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
            writer.writerows([("query-id", "corpus-id", "score"), ("q1", "d1", grade), ("q2", "a,b", 0)])


def mteb(folder: Path) -> None:
    for name in ("corpus", "queries", "data"):
        (folder / name).mkdir(parents=True)
    ids = list(HARD)
    for shard, some in enumerate((ids[:3], ids[3:])):
        table = {
            "_id": some,
            "title": ["T" if doc_id == "d1" else "" for doc_id in some],
            "text": [HARD[x] for x in some],
        }
        pq.write_table(pa.table(table), folder / "corpus" / f"corpus-0000{shard}-of-00002.parquet")
    pq.write_table(pa.table({"id": ["q1", "q2"], "text": ["tab", "é"]}), folder / "queries" / "test.parquet")
    for split, grade in (("test", 2), ("dev", 1)):
        table = {"query-id": ["q1", "q2"], "corpus-id": ["d1", "a,b"], "score": [grade, 0]}
        pq.write_table(pa.table(table), folder / "data" / f"{split}-00000-of-00001.parquet")
    (folder / "README.md").write_text("---\npretty_name: A set\nlicense: mit\n---\n# A set\n", encoding="utf-8")


@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize(("kind", "write"), [("beir", beir), ("mteb", mteb)])
def test_folders(pages: Path, cli: Cli, kind: str, write: Any) -> None:
    write(pages / "theirs")
    workspace(pages, f"{kind}: theirs", labels=", split: dev")
    done = cli("build")
    assert done.status == 0, done.err
    assert corpus_of(pages) == {**HARD, "d1": "T\n" + HARD["d1"]}
    assert [(row["query_id"], row["query"]) for row in queries_of(pages)] == [("q1", "tab"), ("q2", "é")]
    assert (queries_of(pages)[0]["narrative"] == "why") == (kind == "beir")
    (judged,) = pages.glob("cache/data_sets/*/dev.qrels")
    assert judged.read_text(encoding="utf-8") == "q1 0 d1 1\nq2 0 a,b 0\n"
    assert cli("export", "hf", "--labeler", "gold", "--allow-missing").status == 0
    card = (pages / "exports" / "hf" / "README.md").read_text(encoding="utf-8")
    assert "## Built from" in card
    assert ("- License: mit" in card) == (kind == "mteb")
    workspace(pages, f"{kind}: theirs", labels=", split: train")
    assert "has no split 'train'; there are: dev, test" in cli("build").err


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("corpus.jsonl", '{"_id": 7, "text": "x"}\n', "corpus.jsonl:1: _id is 7; expected a string"),
        ("corpus.jsonl", '{"_id": "a b", "text": "x"}\n', "corpus.jsonl:1: _id 'a b' holds white space"),
        ("corpus.jsonl", '{"_id": "a"}\n', "corpus.jsonl:1: no column 'text'; the columns are _id"),
        ("corpus.jsonl", '{"id": "a", "text": "x"}\n' * 2, "theirs: doc_id 'a' occurs again; each passage needs"),
        ("corpus.jsonl", "[]\n", "corpus.jsonl:1: is not a JSON object"),
        ("qrels/test.tsv", "query-id\tcorpus-id\nq1\td1\n", "test.tsv:2: no column 'score'; expected query-id, corpus"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\n", "test.tsv:2: 2 columns; expected 3: as in"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\tx\n", "test.tsv:2: relevance 'x' is not an integer"),
    ],
)
def test_faults_of_folders_name_their_line(pages: Path, cli: Cli, name: str, text: str, fault: str) -> None:
    beir(pages / "theirs")
    (pages / "theirs" / name).write_text(text, encoding="utf-8")
    workspace(pages, "beir: theirs")
    done = cli("build")
    assert done.status == 1
    assert fault in done.err.splitlines()[-1]


@pytest.mark.usefixtures("sketched", "new_process")
def test_a_collection_built_from_its_own_export(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {f"d{n}": text or "an empty one would be no_text" for n, text in enumerate(HOSTILE, 1)}
    grades = {("q1", "d1"): 3, ("q1", "d2"): 0, ("007", "d3"): 1}
    about = ReleaseConfig(license="mit", citation="@misc{x, title={'}}")
    release = release_of(tmp_path / "made", {"ana": grades}, texts=texts, narratives={"q1": "why\n"}, about=about)
    (tmp_path / "out").mkdir()
    IrDatasets(IrDatasets.Parameters()).write(release, tmp_path / "out")

    monkeypatch.chdir(tmp_path)
    source = 'ir_datasets: "out/dataset.py:small"'
    (tmp_path / "pool.yaml").write_text(
        f"name: again\ncorpus: {{{source}}}\nqueries: {{{source}}}\n"
        "systems: {bm25s: {retriever: bm25s, language: en}}\n"
        f"labels: {{files: {{gold: {{{source}}}}}}}\n",
        encoding="utf-8",
    )
    done = cli("build")
    assert done.status == 0, done.err
    (store,) = (tmp_path / "cache" / "corpus").glob("*/")
    rows: list[dict[str, Any]] = [row for batch in CorpusStore(store).batches() for row in batch.to_pylist()]
    assert {row["doc_id"]: row["text"] for row in rows} == texts
    (queries,) = tmp_path.glob("cache/data_sets/*/queries.jsonl")
    first, second = map(json.loads, queries.read_text(encoding="utf-8").splitlines())
    assert (first["query_id"], first["query"], first["narrative"]) == ("q1", "what is q1?", "why\n")
    assert second["query_id"] == "007"
    (qrels,) = tmp_path.glob("cache/data_sets/*/all.qrels")
    assert qrels.read_text(encoding="utf-8") == "q1 0 d1 3\nq1 0 d2 0\n007 0 d3 1\n"
    assert cli("export", "bundle", "--labeler", "gold", "--allow-missing").status == 0
    card = (tmp_path / "exports" / "bundle" / "README.md").read_text(encoding="utf-8")
    assert "- License: mit" in card
    assert "@misc{x, title={'}}" in card


def test_an_export_that_changed(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, new_process: Callable[[], None]
) -> None:
    import ir_datasets

    monkeypatch.chdir(tmp_path)
    ir_datasets_export(tmp_path / "out", "before")
    workspace(tmp_path, 'ir_datasets: "out/dataset.py:small"')
    assert cli("build").status == 0
    assert corpus_of(tmp_path) == {"d1": "before"}
    # Once it is built, the library's docstore takes the place of docs.jsonl.
    assert ir_datasets.load("small").docs_store().get("d1").text == "before"

    documents = tmp_path / "out" / "docs.jsonl"
    exported = documents.read_bytes()
    documents.write_bytes(exported.replace(b"before", b"by hand"))
    refused = cli("build")
    assert refused.status == 1
    assert refused.err.splitlines()[-1] == f"quati-pool: {documents} was changed after the export; export it again"
    documents.write_bytes(exported)
    assert "corpus: reused" in cli("build").err

    ir_datasets_export(tmp_path / "out", "after")
    shutil.rmtree(tmp_path / "cache" / "corpus")
    assert "another data set 'small' is registered already; start Python again if this" in cli("build").err
    new_process()
    assert cli("build").status == 0
    assert corpus_of(tmp_path) == {"d1": "after"}


@pytest.mark.usefixtures("new_process")
def test_two_exports_of_one_name_are_one_line(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("one", "two"):
        ir_datasets_export(tmp_path / folder, folder)
    parts = {"corpus": 'ir_datasets: "two/dataset.py:small"', "queries": 'ir_datasets: "one/dataset.py:small"'}
    (tmp_path / "pool.yaml").write_text(POOL.format(**parts, labels=parts["queries"]), encoding="utf-8")
    _, _, line = cli("build").err.splitlines()  # Queries and qrels are read before the corpus.
    assert "two/dataset.py cannot be imported (ValueError: another data set 'small' is registered already; " in line


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        (
            "qrels/test.tsv",
            "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td1\t0\nq1\td1\t0\n",
            "theirs: query_id 'q1' and doc_id 'd1' are graded 2 and 0; correct it in the data set",
        ),
        (
            "qrels/test.tsv",
            "query-id\tcorpus-id\tscore\n",
            "theirs holds no judgements; name another data set or split",
        ),
        (
            "queries.jsonl",
            '{"_id": "q1", "text": "a"}\n' * 2,
            "theirs: query_id 'q1' occurs twice; correct it in the data set",
        ),
        (
            "queries.jsonl",
            '{"_id": "q1", "text": " "}\n',
            "theirs: query_id 'q1' has no text; correct it in the data set, or name its fields with query:",
        ),
        ("queries.jsonl", "", "theirs holds no queries; name another data set"),
    ],
)
def test_faults_of_a_data_set_name_it(pages: Path, cli: Cli, name: str, text: str, fault: str) -> None:
    beir(pages / "theirs")
    (pages / "theirs" / "queries.jsonl.gz").unlink()
    (pages / "theirs" / "queries.jsonl").write_text('{"_id": "q1", "text": "a"}\n', encoding="utf-8")
    (pages / "theirs" / name).write_text(text, encoding="utf-8")
    workspace(pages, "beir: theirs")
    done = cli("build")
    assert done.status == 1
    assert done.err.splitlines()[-1] == f"quati-pool: {fault}"


@pytest.mark.usefixtures("sketched")
def test_a_judgement_that_is_repeated_is_read_once(pages: Path, cli: Cli) -> None:
    beir(pages / "theirs")
    rows = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td1\t0\nq1\td1\t2\n"
    (pages / "theirs" / "qrels" / "test.tsv").write_text(rows, encoding="utf-8")
    workspace(pages, "beir: theirs")
    assert cli("build").status == 0
    (judged,) = pages.glob("cache/data_sets/*/all.qrels")
    assert judged.read_text(encoding="utf-8") == "q1 0 d1 2\nq2 0 d1 0\n"
