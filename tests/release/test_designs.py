"""How pairs were chosen for people to grade, as a release says it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quati_pool.release.bundle import Bundle, BundleParameters
from quati_pool.release.manifest import verify
from quati_pool.release.state import ReleasedDesign
from quati_pool.store.records import Design, Selection
from tests.release.small_release import contents, labelled, release_of

GRADES = {("q1", "d1"): 3, ("q2", "d1"): 1}
STRATIFIED = ReleasedDesign(
    Design(
        design_id=2, method="stratified", seed=-5, frame_sha="f00d", frame_pairs=3,
        strata={"q1": [2, 1, 0.5], "q2": [1, 1, 1.0]}, parameters={"overlap": 2, "load": None, "to": ["Ana", "Bia"]},
    ),
    [Selection("q1", "d1", "q1", 0.5, 2), Selection("q2", "d1", "q2", 1.0, 2)],
)  # fmt: skip
IMPORTED = ReleasedDesign(
    Design(
        design_id=4, method="imported", seed=0, frame_sha="f00d", frame_pairs=3,
        strata={"imported": [1, 1, 1.0]}, parameters={"person": "Caio", "file": "c.tsv"},
    ),
    [Selection("q1", "d2", "imported", 1.0, 1)],
)  # fmt: skip


ACTIVE = ReleasedDesign(
    Design(
        design_id=5, method="active", seed=1, frame_sha="f00d", frame_pairs=3, strata={"all": [3, 2, 0.5]},
        parameters={"measure": "nDCG@10", "expected": 1.5, "uniform": 0.2, "for": None},
    ),
    [Selection("q1", "d1", "all", 0.125, 1), Selection("q2", "d1", "all", 1.0, 1)],
)  # fmt: skip
QUERIES = ReleasedDesign(
    Design(
        design_id=6, method="random-queries", seed=1, frame_sha="f00d", frame_pairs=3,
        strata={"theme=law": [2, 2, 0.5]}, parameters={"n": 1, "query_counts": {"theme=law": [2, 1]}},
    ),
    [Selection("q1", "d1", "theme=law", 0.5, 1), Selection("q1", "d2", "theme=law", 0.5, 1)],
)  # fmt: skip


def exported(folder: Path, corpus: str = "full", **changes: Any) -> dict[str, bytes]:
    release = release_of(folder, changes.pop("labelers", {"gpt": GRADES}), extra_pairs=[("q1", "d2")], **changes)
    out = folder / "out"
    out.mkdir()
    Bundle(BundleParameters(corpus=corpus)).write(release, out)
    assert verify(out) == []
    return contents(out)


@pytest.mark.parametrize("corpus", ["full", "none"])
def test_design_tsv_has_a_row_for_each_selected_pair(tmp_path: Path, corpus: str) -> None:
    files = exported(tmp_path, corpus, designs=[STRATIFIED, IMPORTED])
    rows = list(csv.DictReader(io.StringIO(files["design.tsv"].decode()), delimiter="\t"))
    assert [tuple(row.values()) for row in rows] == [
        ("2", "stratified", "-5", "q1", "d1", "q1", "0.5", "2"),
        ("2", "stratified", "-5", "q2", "d1", "q2", "1.0", "2"),
        # Nobody knows how another tool chose its pairs.
        ("4", "imported", "0", "q1", "d2", "imported", "", "1"),
    ]
    assert list(rows[0]) == ["design_id", "method", "seed", "query_id", "doc_id", "stratum", "inclusion", "replicates"]
    # An estimate of the number of pairs from those drawn: 1 / 0.5 + 1 / 1 = 3, the pairs of the frame.
    drawn = [float(row["inclusion"]) for row in rows if row["inclusion"]]
    assert sum(1 / probability for probability in drawn) == STRATIFIED.design.frame_pairs
    assert json.loads(files["MANIFEST.json"])["files"]["design.tsv"]["rows"] == 3
    card = files["README.md"].decode()
    assert "| design.tsv | 3 |" in card
    assert "designs.json says how each design was drawn" in card


def test_designs_json_says_how_they_were_drawn_and_not_for_whom(tmp_path: Path) -> None:
    files = exported(tmp_path, designs=[STRATIFIED, IMPORTED])
    one, other = json.loads(files["designs.json"])
    assert one == {
        "design_id": 2, "method": "stratified", "sampling": "fixed-size", "seed": -5, "frame_sha": "f00d",
        "frame_pairs": 3, "selected": 2,
        "strata": {
            "q1": {"pairs": 2, "selected": 1, "inclusion": 0.5}, "q2": {"pairs": 1, "selected": 1, "inclusion": 1.0},
        },
        "parameters": {"overlap": 2, "load": None},
    }  # fmt: skip
    assert other["strata"]["imported"]["inclusion"] is None
    assert other["sampling"] is None
    assert not any(name in b"".join(files.values()) for name in (b"Ana", b"Bia", b"Caio"))


def test_pairs_for_a_measure_and_random_queries_are_released_with_their_probabilities(tmp_path: Path) -> None:
    files = exported(tmp_path, designs=[ACTIVE, QUERIES])
    rows = csv.DictReader(io.StringIO(files["design.tsv"].decode()), delimiter="\t")
    assert [(row["method"], row["query_id"], row["doc_id"], row["stratum"], row["inclusion"]) for row in rows] == [
        ("active", "q1", "d1", "all", "0.125"),
        ("active", "q2", "d1", "all", "1.0"),
        ("random-queries", "q1", "d1", "theme=law", "0.5"),
        ("random-queries", "q1", "d2", "theme=law", "0.5"),
    ]
    active, queries = json.loads(files["designs.json"])
    assert (active["sampling"], queries["sampling"]) == ("poisson", "fixed-size")
    assert active["parameters"] == ACTIVE.design.parameters
    assert queries["parameters"]["query_counts"] == {"theme=law": [2, 1]}


def test_a_release_without_designs_has_no_word_of_them(tmp_path: Path) -> None:
    files = exported(tmp_path)
    assert not {"design.tsv", "designs.json"} & files.keys()
    assert b"design" not in files["README.md"]


@pytest.mark.parametrize("corpus", ["full", "none"])
def test_evidence_quotes_passages_only_where_they_are_released(tmp_path: Path, corpus: str) -> None:
    extras = [
        '{"active_seconds": 2.5, "evidence": [{"start": 4, "end": 8, "text": "text"},'
        ' {"start": 9, "end": 11, "text": "of"}]}',
        "{}",
    ]
    labels = pa.table({"query_id": ["q1", "q2"], "doc_id": ["d1", "d1"], "seq": [1, 2], "extra": extras})
    exported(tmp_path, corpus, labelers=[labelled("ana", GRADES, kind="assessor", labels=labels)])
    found = pq.read_table(tmp_path / "out" / "labels" / "ana.parquet")["extra"].to_pylist()
    spans = [{"start": 4, "end": 8}, {"start": 9, "end": 11}]
    quoted = json.loads(extras[0]) if corpus == "full" else {"active_seconds": 2.5, "evidence": spans}
    assert [json.loads(extra) for extra in found] == [quoted, {}]
