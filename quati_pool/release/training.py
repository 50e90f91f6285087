"""Training data for sentence-transformers: triplets with hard negatives, and pairs with scores, split by query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple

import pyarrow as pa
import xxhash
from pydantic import Field

from quati_pool.files.pools import has_text
from quati_pool.records import MAX_GRADE
from quati_pool.release import base
from quati_pool.release.card import Part, card, configuration, header
from quati_pool.release.checks import graded
from quati_pool.release.errors import ReleaseError
from quati_pool.release.output import Output
from quati_pool.release.parquet import write_table
from quati_pool.release.pool_records import passage_texts, pool_records
from quati_pool.release.query_splits import SplitParameters, folded, split_queries
from quati_pool.release.state import Release

# The constant of reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009).
_RRF = 60


class TrainingParameters(SplitParameters):
    negative: Annotated[int, Field(description="the highest grade of a negative passage")] = 0
    negatives: Annotated[int, Field(ge=1, description="how many negatives each relevant passage gets at most")] = 5
    rule: Annotated[
        Literal["fused", "best", "random"],
        Field(
            description="which negatives are hard: those that the runs rank highest together (reciprocal rank fusion), "
            "or best in any run, or a random choice"
        ),
    ] = "fused"


class _Graded(NamedTuple):
    doc_id: str
    relevance: int
    text: str


class Training(base.Format):
    """Writes, by the first labeler's grades and for each split, ``triplets`` (query, positive, negative) and ``pairs``
    (query, passage, score from 0 to 1, the grade's place on the scale), and in ``keys`` the ids and grades of their
    rows. Only graded passages are negatives: an ungraded one may be relevant."""

    id = "export/training"
    revision = 2
    name = "training"
    summary = "training data for sentence-transformers: triplets with hard negatives, and pairs with scores"
    Parameters = TrainingParameters
    parameters: TrainingParameters

    def fill(self, release: Release, output: Output) -> dict[str, Any]:
        if self.parameters.negative >= self.parameters.positive:
            raise ReleaseError("--set negative is not below --set positive; a passage would be both")
        if not all(has_text(query.query) for query in release.queries):
            raise ReleaseError(f"{release.name}: queries without text cannot be trained on; name their file: queries:")
        grades = graded(release.labelers[0].qrels)
        texts = passage_texts(release, {doc_id for _, doc_id in grades})
        split = split_queries(release.queries, grades, texts, self.parameters, release.name)
        by_query = _by_query(grades, texts)
        hardness = self._hardness(release, grades)
        counts = {"queries": len(split), "without_text": sum(doc_id not in texts for _, doc_id in grades)}
        parts = []
        for name in self.parameters.splits:
            chosen = [query for query in release.queries if split.get(query.query_id) == name]
            asked = {query.query_id: query.query for query in chosen}
            of_split = {query_id: by_query.get(query_id, []) for query_id in asked}
            triplets = list(self._triplets(of_split, hardness))
            pairs = [(query_id, one) for query_id, listed in of_split.items() for one in listed]
            parts.append(_written(output, "triplets", name, _triplet_tables(asked, triplets)))
            parts.append(_written(output, "pairs", name, _pair_tables(asked, pairs, release.grades)))
            counts |= {f"{name}_queries": len(chosen), f"{name}_triplets": len(triplets), f"{name}_pairs": len(pairs)}
        if not any(counts[f"{name}_triplets"] for name in self.parameters.splits):
            raise ReleaseError(f"{release.name}: {self._no_triplets(grades)}")
        output.lines("splits.tsv", ("\t".join(row) for row in [("query_id", "split"), *split.items()]))
        configs = [
            configuration(output, kind, {name: f"{kind}/{name}.parquet" for name in self.parameters.splits})
            for kind in ("triplets", "pairs")
        ]
        output.text("README.md", header(release, len(grades), configs) + card(release, parts, self._notes(release)))
        return counts

    def _notes(self, release: Release) -> list[str]:
        chosen = self.parameters
        main = release.labelers[0].labeler
        passages = chosen.together == "passages"
        return [
            f"By the grades of {main}: positives are graded {chosen.positive} or more, negatives {chosen.negative} or "
            f"less, at most {chosen.negatives} for each positive by the rule {chosen.rule}. A score is the grade's "
            f"place between {min(release.grades)} and {max(release.grades)}, the ends of the scale.",
            "Related queries are in one split: those of one cluster or text"
            + (", and those with a common relevant passage, of one doc_id or text." if passages else "."),
        ]

    def _no_triplets(self, grades: Mapping[tuple[str, str], int]) -> str:
        """Why there is no triplet, and what helps."""
        positive, negative, lowest = self.parameters.positive, self.parameters.negative, min(grades.values())
        if lowest <= negative:
            return (
                f"no query has a passage graded {positive} or more and another graded {negative} or less, both with "
                "text; name grades that occur together with --set positive=… and --set negative=…"
            )
        named = f"name the highest grade of a negative passage with --set negative={lowest}"
        helps = named if lowest < positive else "grade passages that are not relevant, too"
        return f"no pair is graded {negative} or less; {helps}"

    def _hardness(self, release: Release, grades: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], float]:
        """How hard each negative is, by the ranks that runs gave it; 0 for one that none returned."""
        hardness: dict[tuple[str, str], float] = {}
        for record in pool_records(release):
            ids, ranks = (record.query_id, record.doc_id), record.ranks.values()
            if self.parameters.rule == "random":
                key = f"{self.parameters.seed}\t{record.query_id}\t{record.doc_id}"
                hardness[ids] = xxhash.xxh3_64_intdigest(key.encode()) + 1
            elif self.parameters.rule == "best":
                hardness[ids] = 1 / min(ranks, default=MAX_GRADE)
            else:
                hardness[ids] = sum(1 / (_RRF + rank) for rank in ranks)
        return hardness

    def _triplets(
        self, by_query: Mapping[str, list[_Graded]], hardness: Mapping[tuple[str, str], float]
    ) -> Iterator[tuple[str, _Graded, _Graded]]:
        """Every relevant passage with each of the query's hardest negatives, the hardest first. A passage with the text
        of a relevant one is no negative."""
        for query_id, listed in by_query.items():
            positives = [one for one in listed if one.relevance >= self.parameters.positive]
            texts = {folded(one.text) for one in positives}
            negatives = [
                one for one in listed if one.relevance <= self.parameters.negative and folded(one.text) not in texts
            ]
            negatives.sort(key=lambda one: (-hardness.get((query_id, one.doc_id), 0), one.doc_id))
            for positive in positives:
                for negative in negatives[: self.parameters.negatives]:
                    yield query_id, positive, negative


def _by_query(grades: Mapping[tuple[str, str], int], texts: Mapping[str, str]) -> dict[str, list[_Graded]]:
    """The graded passages of each query that have a text, in the order of the grades."""
    found: dict[str, list[_Graded]] = {}
    for (query_id, doc_id), relevance in grades.items():
        if doc_id in texts:
            found.setdefault(query_id, []).append(_Graded(doc_id, relevance, texts[doc_id]))
    return found


def _triplet_tables(
    texts: Mapping[str, str], rows: Iterable[tuple[str, _Graded, _Graded]]
) -> tuple[pa.Table, pa.Table]:
    """The texts of triplets, and their ids and grades."""
    rows = list(rows)
    table = {
        "query": pa.array([texts[query_id] for query_id, *_ in rows], pa.string()),
        "positive": pa.array([positive.text for _, positive, _ in rows], pa.string()),
        "negative": pa.array([negative.text for *_, negative in rows], pa.string()),
    }
    keys = {
        "query_id": pa.array([query_id for query_id, *_ in rows], pa.string()),
        "positive_id": pa.array([positive.doc_id for _, positive, _ in rows], pa.string()),
        "positive_relevance": pa.array([positive.relevance for _, positive, _ in rows], pa.int64()),
        "negative_id": pa.array([negative.doc_id for *_, negative in rows], pa.string()),
        "negative_relevance": pa.array([negative.relevance for *_, negative in rows], pa.int64()),
    }
    return pa.table(table), pa.table(keys)


def _pair_tables(
    texts: Mapping[str, str], rows: Iterable[tuple[str, _Graded]], scale: Mapping[int, str]
) -> tuple[pa.Table, pa.Table]:
    """The texts and scores of pairs, and their ids and grades."""
    rows = list(rows)
    lowest, highest = min(scale), max(scale)
    table = {
        "query": pa.array([texts[query_id] for query_id, _ in rows], pa.string()),
        "passage": pa.array([one.text for _, one in rows], pa.string()),
        "score": pa.array([(one.relevance - lowest) / (highest - lowest) for _, one in rows], pa.float64()),
    }
    keys = {
        "query_id": pa.array([query_id for query_id, _ in rows], pa.string()),
        "doc_id": pa.array([one.doc_id for _, one in rows], pa.string()),
        "relevance": pa.array([one.relevance for _, one in rows], pa.int64()),
    }
    return pa.table(table), pa.table(keys)


def _written(output: Output, kind: str, split: str, tables: tuple[pa.Table, pa.Table]) -> Part:
    table, keys = tables
    write_table(output, f"keys/{kind}/{split}.parquet", keys)
    return Part(kind, split, write_table(output, f"{kind}/{split}.parquet", table))
