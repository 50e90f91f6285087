"""The data types that all stages share: ids, queries, runs and qrels.

Ids are strings in files and interfaces, and integer codes internally. A run consists of numeric columns over two
vocabularies (``Ids``), so that ranking, fusion, pooling and counting are array operations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from quati_pool.errors import ScoreError
from quati_pool.ties import in_order, tied

if TYPE_CHECKING:
    import pandas as pd

LabelerKind = Literal["judge", "assessor", "consensus", "hybrid", "file"]
"""What a labeler is; ``hybrid``: people where they graded, a judge elsewhere; ``file``: a label file that does not say
who graded."""

Int = npt.NDArray[np.int64]
Float = npt.NDArray[np.float32]

ID = pa.large_string()
"""The Arrow type of all vocabularies; the offsets of the plain string type end at 2 GiB."""

# White space, control characters and lone surrogates break TREC files, terminals and pytrec_eval.
_BAD_ID = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b\u2060\ufeff\ud800-\udfff]")


GRADES = {0: "Irrelevant", 1: "Relevant", 2: "Highly relevant", 3: "Perfectly relevant"}
"""The default scale, from TREC-DL 2021 (arXiv 2404.06976, section 3.3): only passages of grade 2 or 3 answer the
query."""

MAX_GRADE = 1_000_000
"""The largest absolute value of a grade: evaluation libraries store grades in 32 bits, and allocate tables as long as
the highest grade."""


def id_problem(value: str) -> str | None:
    """The reason why ``value`` cannot be a query_id or doc_id, or None if it can."""
    if not value:
        return "is empty"
    found = _BAD_ID.search(value)
    if found is None:
        return None
    character = found.group()
    if character.isspace():
        return f"holds white space (U+{ord(character):04X})"
    return f"holds the character U+{ord(character):04X}, which no id may hold"


# pa.array and Array.to_numpy import pandas if it is installed, which takes half a second and 40 MB; the next two
# functions avoid that.


def arrow_array(codes: npt.NDArray[Any]) -> pa.Array:
    """Integers as an Arrow array of int64, shape (n,); a contiguous int64 array is not copied."""
    codes = np.ascontiguousarray(codes, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(codes), [None, pa.py_buffer(codes)])


def numbers(array: pa.Array) -> npt.NDArray[Any]:
    """The values of an Arrow array without nulls as a read-only view, shape (n,)."""
    values: npt.NDArray[Any] = np.from_dlpack(array)
    return values


def release_memory() -> None:
    """Returns freed memory to the operating system; Arrow's and the C library's allocators would otherwise keep it."""
    pa.default_memory_pool().release_unused()
    pa.system_memory_pool().release_unused()


class Ids:
    """A vocabulary of distinct ids, which maps codes (positions) to ids and back.

    The ids are kept in an Arrow string array, without a Python object per id.
    """

    def __init__(self, values: pa.ChunkedArray | pa.Array | Sequence[str]) -> None:
        if not isinstance(values, (pa.ChunkedArray, pa.Array)):
            values = pa.array(values, type=ID)
        self._values = values.cast(ID)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def values(self) -> pa.ChunkedArray | pa.Array:
        """All ids in code order."""
        return self._values

    def decode(self, codes: npt.NDArray[Any]) -> pa.Array:
        """The ids of ``codes``, shape (n,), as an Arrow array of large strings."""
        taken = self._values.take(arrow_array(codes))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken

    def encode(self, ids: pa.Array | Sequence[str]) -> Int:
        """The codes of ``ids``, shape (n,), with -1 for unknown ids."""
        ids = ids.cast(ID) if isinstance(ids, (pa.ChunkedArray, pa.Array)) else pa.array(ids, type=ID)
        found = pc.fill_null(pc.index_in(ids, value_set=self._values), -1)
        codes: Int = _combined(found).to_numpy(zero_copy_only=False).astype(np.int64)
        return codes

    def lexicographic_rank(self, codes: npt.NDArray[Any]) -> Int:
        """The rank of each code's id among the ids of ``codes``, counted from 0, shape (n,). Ids are ordered by their
        bytes, as trec_eval's strcmp does; equal codes get equal ranks."""
        distinct, inverse = np.unique(codes, return_inverse=True)
        order = numbers(pc.sort_indices(self.decode(distinct)))
        place = np.empty(len(distinct), dtype=np.int64)
        place[order] = np.arange(len(distinct))
        return place[inverse]


def _strings(column: pd.Series[str]) -> pa.Array | pa.ChunkedArray:
    return pa.array(column, type=ID)


def _combined(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def code_ids(columns: Sequence[pa.Array | pa.ChunkedArray]) -> tuple[Ids, list[Int]]:
    """One vocabulary for several columns of ids, in order of first appearance, and the codes of each column."""
    arrays = [pa.chunked_array([c]) if isinstance(c, pa.Array) else c for c in columns]
    chunks = [chunk for array in arrays for chunk in array.cast(ID).chunks]
    whole = pa.chunked_array(chunks, type=ID)
    encoded = _combined(whole.dictionary_encode())
    if len(whole) == 0:
        return Ids([]), [np.empty(0, dtype=np.int64) for _ in arrays]
    codes = numbers(encoded.indices).astype(np.int64)
    bounds = np.cumsum([len(array) for array in arrays])[:-1]
    return Ids(encoded.dictionary), list(np.split(codes, bounds))


class State(StrEnum):
    """The outcome of one pair for one labeler.

    Only ``ok`` has a grade. A failure has none, and its pair stays pending. ``skipped`` is an annotator's "later",
    ``unsure`` an annotator's final "cannot judge". ``no_text`` means that there was no passage to show: the labeler was
    not asked, and nothing waits for the pair."""

    ok = "ok"
    unparsed = "unparsed"
    off_scale = "off_scale"
    refused = "refused"
    truncated = "truncated"
    failed = "failed"
    skipped = "skipped"
    unsure = "unsure"
    retracted = "retracted"
    no_text = "no_text"


FAILURES = frozenset({State.unparsed, State.off_scale, State.refused, State.truncated, State.failed})


@dataclass(frozen=True)
class Query:
    """A query of the collection. ``narrative`` says what an assessor should accept as an answer; ``cluster_id`` names
    the group of related queries that it belongs to."""

    query_id: str
    query: str
    narrative: str | None = None
    cluster_id: str | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """One system's ranked output, sorted by query code, then rank.

    ``query`` and ``doc`` are codes into ``queries`` and ``docs``; ``rank`` counts from 1 within a query; ``score`` is
    float32, the precision at which trec_eval compares scores. All columns have shape (n,).
    """

    run_tag: str
    queries: Ids
    docs: Ids
    query: Int
    doc: Int
    rank: Int
    score: Float

    def __len__(self) -> int:
        return len(self.query)

    @classmethod
    def empty(cls, run_tag: str, queries: Ids | None = None, docs: Ids | None = None) -> Run:
        """A run without rows, over the given vocabularies or empty ones."""
        none = np.empty(0, dtype=np.int64)
        nothing = Ids([])
        return cls.ranked(
            run_tag, nothing if queries is None else queries, nothing if docs is None else docs, none, none, none
        )

    @classmethod
    def ranked(
        cls,
        run_tag: str,
        queries: Ids,
        docs: Ids,
        query: npt.NDArray[Any],
        doc: npt.NDArray[Any],
        score: npt.NDArray[Any],
        depth: int | None = None,
    ) -> Run:
        """Ranks hits by descending score, then descending doc_id, as trec_eval does, and cuts the ranking at ``depth``.

        Scores are first cast to float32. pytrec_eval and trec_eval up to 9.0.8 compare them at that precision, so that
        two scores that differ only beyond it are tied there.

        Raises ScoreError for a score that is not finite as float32.
        """
        query = np.asarray(query, dtype=np.int64)
        doc = np.asarray(doc, dtype=np.int64)
        # + 0.0 turns -0.0 into 0.0, which compares equal but prints differently.
        score = np.asarray(score).astype(np.float32) + np.float32(0.0)
        if len(score) and not np.isfinite(score).all():
            raise ScoreError(f"{run_tag}: a score is NaN or infinite as float32; fix the system that gave it")
        query, doc, score, rank = in_order(query, doc, score, docs.lexicographic_rank, depth)
        run = cls(run_tag, queries, docs, query, doc, rank, score)
        return run if depth is None else run.head(depth)

    @classmethod
    def from_frames(cls, frames: Mapping[str, pd.DataFrame]) -> list[Run]:
        """Runs that share their vocabularies, from a mapping of run tags to frames with the columns query_id, doc_id
        and score; a rank column is ignored.

        Raises ScoreError for a duplicate (query_id, doc_id) or a score that is not finite.
        """
        queries, query_codes = code_ids([_strings(frame["query_id"]) for frame in frames.values()])
        docs, doc_codes = code_ids([_strings(frame["doc_id"]) for frame in frames.values()])
        runs = []
        for (run_tag, frame), query, doc in zip(frames.items(), query_codes, doc_codes, strict=True):
            pairs = np.sort(query * len(docs) + doc)
            if (pairs[1:] == pairs[:-1]).any():
                raise ScoreError(f"{run_tag}: a (query_id, doc_id) occurs twice; keep one")
            runs.append(cls.ranked(run_tag, queries, docs, query, doc, frame["score"].to_numpy()))
        return runs

    @classmethod
    def from_frame(cls, run_tag: str, frame: pd.DataFrame) -> Run:
        """One run from one frame; see ``from_frames``."""
        return cls.from_frames({run_tag: frame})[0]

    @property
    def tied(self) -> npt.NDArray[np.bool_]:
        """Whether each row has the same score as another row of its query, shape (n,)."""
        return tied(self.query, self.score)

    def to_frame(self) -> pd.DataFrame:
        """The run as a frame with the columns query_id, doc_id, rank and score."""
        import pandas as pd

        return pd.DataFrame(
            {
                "query_id": self.queries.decode(self.query).to_pandas(),
                "doc_id": self.docs.decode(self.doc).to_pandas(),
                "rank": self.rank,
                "score": self.score,
            }
        )

    def head(self, depth: int) -> Run:
        """The run cut at rank ``depth`` for every query."""
        kept = self.rank <= depth
        return self if kept.all() else self._rows(kept)

    def without_unused_docs(self) -> Run:
        """The same run over a vocabulary of its own documents alone."""
        used, doc = np.unique(self.doc, return_inverse=True)
        return Run(self.run_tag, self.queries, Ids(self.docs.decode(used)), self.query, doc, self.rank, self.score)

    def known(self, docs: Ids) -> Run:
        """The rows whose document is in ``docs``, over that vocabulary; ranks keep their gaps."""
        doc = _codes(self.docs, self.doc, docs)
        return self._rows(doc >= 0).over(self.queries, docs)

    def _rows(self, kept: npt.NDArray[Any]) -> Run:
        columns = (self.query[kept], self.doc[kept], self.rank[kept], self.score[kept])
        return Run(self.run_tag, self.queries, self.docs, *columns)

    def _recoded(self, queries: Ids, docs: Ids, query: Int, doc: Int) -> Run:
        order = np.lexsort((self.rank, query))
        return Run(self.run_tag, queries, docs, query[order], doc[order], self.rank[order], self.score[order])

    def over(self, queries: Ids, docs: Ids) -> Run:
        """The same ranking over other vocabularies, which must contain all of its ids."""
        query = self.query if queries is self.queries else _codes(self.queries, self.query, queries)
        doc = self.doc if docs is self.docs else _codes(self.docs, self.doc, docs)
        return self._recoded(queries, docs, query, doc)

    @cached_property
    def pair(self) -> Int:
        """The (query, doc) pair of each row encoded as one integer, shape (n,)."""
        return self.query * len(self.docs) + self.doc


def _codes(old: Ids, codes: Int, new: Ids) -> Int:
    distinct, inverse = np.unique(codes, return_inverse=True)
    return new.encode(old.decode(distinct))[inverse]


def align(runs: Sequence[Run]) -> list[Run]:
    """The same runs over one shared query vocabulary and one shared document vocabulary.

    A vocabulary that all runs already share (the queries of a collection, the passages of a corpus) is kept.
    """
    queries, query_codes = _merge([(run.queries, run.query) for run in runs])
    docs, doc_codes = _merge([(run.docs, run.doc) for run in runs])
    return [
        run if queries is run.queries and docs is run.docs else run._recoded(queries, docs, query, doc)
        for run, query, doc in zip(runs, query_codes, doc_codes, strict=True)
    ]


def _merge(columns: Sequence[tuple[Ids, Int]]) -> tuple[Ids, list[Int]]:
    """Recodes columns of codes over different vocabularies into one vocabulary of the ids that occur."""
    first = columns[0][0]
    if all(vocabulary is first for vocabulary, _ in columns):
        return first, [codes for _, codes in columns]
    distinct = [np.unique(codes, return_inverse=True) for _, codes in columns]
    ids, recoded = code_ids(
        [vocabulary.decode(used) for (vocabulary, _), (used, _) in zip(columns, distinct, strict=True)]
    )
    return ids, [code[inverse] for code, (_, inverse) in zip(recoded, distinct, strict=True)]


@dataclass(frozen=True, eq=False)
class Qrels:
    """Relevance grades of query-document pairs. A pair that is absent is unjudged, which is not the same as grade 0.

    ``sample`` says how the pairs were drawn, None where that is not known.
    """

    queries: Ids
    docs: Ids
    query: Int
    doc: Int
    relevance: Int
    sample: Sample | None = None

    def __len__(self) -> int:
        return len(self.query)

    def to_frame(self) -> pd.DataFrame:
        """The judgements as a frame with the columns query_id, doc_id and relevance."""
        import pandas as pd

        return pd.DataFrame(
            {
                "query_id": self.queries.decode(self.query).to_pandas(),
                "doc_id": self.docs.decode(self.doc).to_pandas(),
                "relevance": self.relevance,
            }
        )


@dataclass(frozen=True, eq=False)
class Sample:
    """The pairs that judged ones were drawn from, ``frame``, with relevance −1 for those that were not drawn.

    Either each has its ``stratum``, a number, of which pairs were drawn with equal probability in each query; or the
    frame holds judged pairs only, each with the probability of its ``inclusion`` (0: it was not drawn). Both have shape
    (frame,).
    """

    frame: Qrels
    stratum: Int | None = None
    inclusion: npt.NDArray[np.float64] | None = None
