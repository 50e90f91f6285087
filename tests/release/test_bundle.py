"""The bundle: everything in one folder, read back with this library's readers and with plain tools."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.corpus import read_passages
from quati_pool.files.pools import read_pool
from quati_pool.files.qrels import read_qrels
from quati_pool.files.queries import read_queries
from quati_pool.files.runs import read_run
from quati_pool.project.config import load_config
from quati_pool.release.bundle import Bundle, BundleParameters
from quati_pool.release.manifest import verify
from quati_pool.release.settings import publishable
from quati_pool.release.state import Release
from tests.release.small_release import (
    HARD_IDS,
    HOSTILE,
    QRELS_IDS,
    contents,
    graded_pairs,
    grid,
    labelled,
    pairs_of,
    release_of,
)

RUN = "q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 1.5 bm25\n"


def exported(release: Release, folder: Path, **parameters: Any) -> dict[str, Any]:
    folder.mkdir()
    counts = Bundle(BundleParameters(**parameters)).write(release, folder)
    assert verify(folder) == []
    return counts


def run_file(folder: Path, name: str = "bm25.trec.gz", mtime: int = 1) -> Path:
    path = folder / name
    packed = io.BytesIO()
    with gzip.GzipFile("a name", "wb", mtime=mtime, fileobj=packed) as stream:
        stream.write(RUN.encode())
    path.write_bytes(packed.getvalue())
    return path


def labels() -> pa.Table:
    """In no order, as a database may give them."""
    return pa.table(
        {
            "query_id": ["q2", "q1", "q1"], "doc_id": ["d1", "d2", "d1"], "phase": ["blind"] * 3, "sample": [1, 1, 1],
            "seq": [1, 3, 2], "status": ["ok", "failed", "ok"], "relevance": pa.array([1, None, 3], pa.int32()),
            "rationale": ["because | of `this`", None, "---"],
        }
    )  # fmt: skip


def whole(folder: Path, **changes: Any) -> Release:
    grades = {("q1", "d1"): 3, ("q2", "d1"): 1}
    gpt = labelled(
        "gpt", grades, version="v1", definition={"model": "m", "prompt": {"user": "a\nb"}}, labels=labels(),
        left_out={"failed": 1},
    )  # fmt: skip
    panel = labelled("the panel", grades, kind="consensus")
    made = release_of(folder, [gpt, panel], {"d1": "one", "d9": "outside the pool"}, [("q1", "d2")], **changes)
    return Release(**{**vars(made), "runs": {"bm25": run_file(folder)}})


def passages(folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for batch in read_passages([folder / "corpus.jsonl.gz"]):
        found |= zip(batch.doc_ids, batch.texts, strict=True)
    return found


def test_clusters_of_queries_read_back_equal(tmp_path: Path) -> None:
    release = whole(tmp_path, clusters={"q2": "far north"}, narratives={"q1": "why"})
    exported(release, tmp_path / "out")
    queries = read_queries(tmp_path / "out" / "queries.jsonl")
    assert queries == list(release.queries)
    assert [query.cluster_id for query in queries] == [None, "far north"]


def test_everything_is_in_it_and_reads_back_equal(tmp_path: Path) -> None:
    release = whole(tmp_path)
    counts = exported(release, tmp_path / "out")
    out = tmp_path / "out"
    panel = next(path.name for path in (out / "qrels").iterdir() if path.name != "gpt.qrels")
    assert panel.startswith("the_panel-")
    assert sorted(contents(out)) == sorted([
        "MANIFEST.json", "README.md", "corpus.jsonl.gz", "judges/gpt.json", "labels/gpt.parquet", "pool.jsonl.gz",
        "pool.yaml", "qrels/gpt.qrels", f"qrels/{panel}", "queries.jsonl", "runs/bm25.trec.gz",
    ])  # fmt: skip
    assert passages(out) == dict(release.passages())
    assert passages(out)["d9"] == "outside the pool"
    assert read_queries(out / "queries.jsonl") == list(release.queries)
    assert list(read_pool(out / "pool.jsonl.gz")) == list(read_pool(release.pool))
    for name in ("gpt.qrels", panel):
        assert pairs_of(read_qrels(out / "qrels" / name)) == {("q1", "d1"): 3, ("q2", "d1"): 1}
    assert gzip.decompress((out / "runs" / "bm25.trec.gz").read_bytes()).decode() == RUN
    assert read_run(out / "runs" / "bm25.trec.gz").rank.tolist() == [1, 2]
    assert json.loads((out / "judges" / "gpt.json").read_bytes()) == {
        "judge": "gpt", "version": "v1", "definition": {"model": "m", "prompt": {"user": "a\nb"}},
    }  # fmt: skip
    assert counts["pairs"] == {"gpt": 2, "the panel": 2}
    manifest = json.loads((out / "MANIFEST.json").read_bytes())
    rows = {name: entry["rows"] for name, entry in manifest["files"].items() if "rows" in entry}
    assert rows == {
        "corpus.jsonl.gz": 3, "labels/gpt.parquet": 3, "pool.jsonl.gz": 3, "qrels/gpt.qrels": 2, f"qrels/{panel}": 2,
        "queries.jsonl": 2, "runs/bm25.trec.gz": 2,
    }  # fmt: skip


def test_every_label_is_kept_with_rationale_state_and_version(tmp_path: Path) -> None:
    exported(whole(tmp_path), tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "labels" / "gpt.parquet").to_pylist()
    columns = ("labeler", "version", "query_id", "doc_id", "status", "relevance", "rationale")
    assert [tuple(row[name] for name in columns) for row in rows] == [
        ("gpt", "v1", "q1", "d1", "ok", 3, "---"),
        ("gpt", "v1", "q1", "d2", "failed", None, None),
        ("gpt", "v1", "q2", "d1", "ok", 1, "because | of `this`"),
    ]


def test_pooled_gives_away_the_passages_of_the_pool_alone(tmp_path: Path) -> None:
    exported(whole(tmp_path), tmp_path / "out", corpus="pooled")
    assert passages(tmp_path / "out") == {"d1": "one", "d2": "the text of d2"}
    assert "only the passages of the pool" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_pooled_gives_away_the_passages_that_were_graded_outside_the_pool_too(tmp_path: Path) -> None:
    pool = release_of(tmp_path / "other", {"gpt": {("q1", "d1"): 3}}).pool
    ana = labelled("ana", {("q1", "d1"): 3, ("q2", "d9"): 1, ("q1", "d8"): 0}, kind="file", outside=2)
    texts = {"d1": "the text of d1", "d7": "nobody's", "d8": "eight", "d9": "nine"}
    exported(release_of(tmp_path, [ana], texts, pool=pool), tmp_path / "out", corpus="pooled")
    assert passages(tmp_path / "out") == {"d1": "the text of d1", "d8": "eight", "d9": "nine"}
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "only the passages of the pool and of graded pairs outside it are part of this bundle" in card


@pytest.mark.parametrize("corpus", ["full", "pooled", "none"])
def test_reasons_that_may_quote_a_passage_go_where_the_passages_go(tmp_path: Path, corpus: str) -> None:
    exported(whole(tmp_path), tmp_path / "out", corpus=corpus)
    table = pq.read_table(tmp_path / "out" / "labels" / "gpt.parquet")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert ("rationale" in table.column_names) == (corpus != "none")
    assert ("The reasons that came with labels are not part of it either" in card) == (corpus == "none")
    assert len(table) == 3
    assert (b"because" in (tmp_path / "out" / "labels" / "gpt.parquet").read_bytes()) == (corpus != "none")


def test_none_gives_away_no_passage_anywhere(tmp_path: Path) -> None:
    def never() -> Any:
        raise AssertionError

    release = whole(tmp_path, passages=never)
    assert exported(release, tmp_path / "out", corpus="none")["passages"] == 0
    files = contents(tmp_path / "out")
    assert "corpus.jsonl.gz" not in files
    told = [json.loads(line) for line in gzip.decompress(files["pool.jsonl.gz"]).decode().split("\n")[:-1]]
    original = [json.loads(line) for line in gzip.decompress(release.pool.read_bytes()).decode().split("\n")[:-1]]
    assert told == [{key: value for key, value in pair.items() if key != "text"} for pair in original]
    unpacked = [gzip.decompress(data) if name.endswith(".gz") else data for name, data in files.items()]
    assert not any(b"the text of" in data for data in unpacked)


@pytest.mark.parametrize("corpus", ["full", "pooled"])
def test_a_graded_document_without_its_passage_is_named(tmp_path: Path, corpus: str) -> None:
    other = release_of(tmp_path / "other", {"gpt": {("q1", "d1"): 3}})
    release = release_of(
        tmp_path, {"gpt": {("q1", "d1"): 3, ("q1", "d2"): 1}}, pool=other.pool, passages=other.passages
    )
    with pytest.raises(QuatiPoolError, match=r"labeler 'gpt' grades doc_id 'd2', which the .* does not hold"):
        exported(release, tmp_path / "out", corpus=corpus)


def test_hard_ids_and_hostile_passages_read_back_equal(tmp_path: Path) -> None:
    grades = grid()
    release = release_of(tmp_path, {"gpt": grades}, dict(zip(HARD_IDS, HOSTILE, strict=False)))
    exported(release, tmp_path / "out")
    assert pairs_of(read_qrels(tmp_path / "out" / "qrels" / "gpt.qrels")) == grades
    assert passages(tmp_path / "out") == dict(release.passages())
    assert list(read_pool(tmp_path / "out" / "pool.jsonl.gz")) == list(read_pool(release.pool))


@settings(max_examples=30, deadline=None)
@given(graded_pairs(QRELS_IDS))
def test_any_ids_read_back_equal(tmp_path_factory: pytest.TempPathFactory, grades: dict[tuple[str, str], int]) -> None:
    folder = tmp_path_factory.mktemp("bundle")
    exported(release_of(folder, {"gpt": grades}), folder / "out")
    assert pairs_of(read_qrels(folder / "out" / "qrels" / "gpt.qrels")) == grades


def test_a_query_id_that_trec_files_take_for_a_comment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(QuatiPoolError, match="query_id '#1' begins with '#'"):
        exported(release_of(tmp_path, {"gpt": {("#1", "d1"): 3}}), tmp_path / "out")


def test_names_that_are_no_file_names_stay_within_the_folder(tmp_path: Path) -> None:
    grades = {("q1", "d1"): 3}
    labelers = [labelled(name, grades, labels=labels(), definition={}) for name in ("../../up", "GPT", "gpt", "a/b")]
    runs = {"../run": run_file(tmp_path), "bm25": run_file(tmp_path, "plain.gz")}
    exported(release_of(tmp_path, labelers, runs=runs), tmp_path / "out")
    files = contents(tmp_path / "out")
    assert sum(name.startswith("qrels/") for name in files) == 4
    assert len({name.lower() for name in files}) == len(files) == 20
    assert {path.name for path in tmp_path.iterdir()} == {
        "out", "pool.jsonl.gz", "pool.yaml", "bm25.trec.gz", "plain.gz",
    }  # fmt: skip


@pytest.mark.parametrize("corpus", ["full", "pooled", "none"])
def test_two_exports_of_one_state_are_byte_identical(tmp_path: Path, corpus: str) -> None:
    first = whole(tmp_path)
    exported(first, tmp_path / "one", corpus=corpus)
    # The same rows, packed at another time; the same labels, read in another order and split otherwise.
    run_file(tmp_path, mtime=99)
    gpt, panel = first.labelers
    turned = pa.concat_tables([labels().slice(2), labels().slice(0, 2)])
    second = Release(**{**vars(first), "labelers": [labelled("gpt", pairs_of(gpt.qrels), **_rest(gpt, turned)), panel]})
    exported(second, tmp_path / "two", corpus=corpus)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def _rest(gpt: Any, table: pa.Table) -> dict[str, Any]:
    return {"version": gpt.version, "definition": gpt.definition, "left_out": gpt.left_out, "labels": table}


SECRET = "postgresql://ana:s3cret@db.example.org/labels"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: a\n", "name: a\n"),
        ("name: a\nlabels: {}\n", "name: a\nlabels: {}\n"),
        (f"# é\nlabels:\n  url: {SECRET}  # ours\nseed: 0\n", "# é\nlabels:\n  url: null  # ours\nseed: 0\n"),
        (f'labels: {{url: "{SECRET}"}}\nname: a\n', "labels: {url: null}\nname: a\n"),
        (
            f"labels:\n  files: {{x: a.tsv}}\n  url: >-\n    {SECRET}\nname: a\n",
            "labels:\n  files: {x: a.tsv}\n  url: null\nname: a\n",
        ),
        (f"\ufefflabels: {{url: '{SECRET}'}}", "labels: {url: null}"),
    ],
)  # fmt: skip
def test_the_databases_address_is_taken_out_of_the_settings_alone(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text(text, encoding="utf-8")
    assert publishable(path) == expected


@pytest.mark.parametrize(
    "text",
    [
        f"labels: {{url: {SECRET}}}  # was {SECRET}\n",
        f"notes: &here {SECRET}\nlabels: {{url: *here}}\n",
    ],
)
def test_an_address_that_stands_elsewhere_too_is_refused_without_showing_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        publishable(path)
    assert str(caught.value) == (
        f"{path}: the address under labels: url: cannot be taken out of the file; write it there once, on one line"
    )


def test_the_sample_workspaces_settings_are_published_as_they_are(tmp_path: Path) -> None:
    sample = Path(__file__).parents[2] / "data" / "sample" / "pool.yaml"
    assert load_config(sample).labels.url is None
    exported(release_of(tmp_path, {"gpt": {("q1", "d1"): 3}}, config=sample), tmp_path / "out")
    assert (tmp_path / "out" / "pool.yaml").read_bytes() == sample.read_bytes()
