"""A benchmark's collection as a workspace: what is written, kept, refused, and finished after a kill."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.commands.bench.collections import Source, write_workspace
from quati_pool.commands.bench.systems_file import SystemsFile, _flow
from quati_pool.errors import ConfigError, InputError, MissingExtraError, QuatiPoolError
from quati_pool.files import artifacts
from quati_pool.files.corpus import read_passages
from quati_pool.files.qrels import read_qrels
from quati_pool.files.queries import read_queries
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.project.inputs import query_drafters
from quati_pool.qa_benchmarks.base import Collection, Topic
from quati_pool.registry import RETRIEVERS
from tests.commands.bench.small_benchmark import Small
from tests.commands.small_collection import Heard

SMALL = Collection(
    passages=[("d1", "um barco no mar"), ("d2", "pão no forno"), ("d3", "")],
    queries=[Topic("q1", "barco"), Topic("q2", "forno")],
    qrels=[("q1", "d1", 1), ("q2", "d2", 1), ("q2", "d3", 0)],
    language="pt",
)
OTHER = replace(SMALL, passages=[*SMALL.passages, ("d4", "estrela")])
FILES = ("benchmark.json", "corpus.jsonl", "queries.jsonl", "gold.qrels", "pool.yaml")


@pytest.fixture(autouse=True)
def _without_lucene(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same systems wherever the tests run."""

    def lacking() -> None:
        raise MissingExtraError("bm25", "lucene", "pyjnius")

    monkeypatch.setattr(RETRIEVERS.get("bm25"), "require", lacking)


def write(folder: Path, collection: Collection = SMALL, *, keep: bool = True, **others: Any) -> Heard:
    heard = Heard()
    given = {"name": "small", "systems": None, "seed": 7, **others}
    source = Source(given["name"], Small)
    write_workspace(folder, source, collection, given["systems"], given["seed"], heard, keep=keep)
    return heard


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {name: ((folder / name).read_bytes(), (folder / name).stat().st_mtime_ns) for name in FILES}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def passages(path: Path) -> list[tuple[str, str]]:
    return [pair for batch in read_passages([path]) for pair in zip(batch.doc_ids, batch.texts, strict=True)]


def test_files_that_are_not_the_benchmarks_have_their_own_description(tmp_path: Path) -> None:
    def described(folder: str, about: dict[str, str] | None) -> Any:
        source = Source("small", Small, {}, about)
        path = write_workspace(tmp_path / folder, source, SMALL, None, 0, Listener())
        return yaml.safe_load(path.read_text(encoding="utf-8"))["release"]

    own = described("own", None)
    assert (own["license"], own["citation"], own["url"]) == (Small.license, Small.citation, Small.source)
    assert own["title"] == f"{Small.title}, small"
    about = {"title": "Sea: 1", "license": "cc-by-4.0"}
    assert described("ours", about) == {"title": "Sea: 1, small", "license": "cc-by-4.0", "languages": ["pt"]}
    assert described("bare", {}) == {"title": "small", "languages": ["pt"]}


def test_what_is_written_reads_back_as_the_collection(tmp_path: Path) -> None:
    clustered = replace(SMALL, queries=[Topic("q1", "barco", "cluster 1"), Topic("q2", "forno")])
    write(tmp_path / "ws", clustered)
    assert passages(tmp_path / "ws" / "corpus.jsonl") == SMALL.passages
    found = read_queries(tmp_path / "ws" / "queries.jsonl")
    assert [(one.query_id, one.query, one.cluster_id) for one in found] == [
        ("q1", "barco", "cluster 1"),
        ("q2", "forno", None),
    ]
    qrels = read_qrels(tmp_path / "ws" / "gold.qrels")
    columns = qrels.queries.decode(qrels.query).to_pylist(), qrels.docs.decode(qrels.doc).to_pylist(), qrels.relevance
    assert list(zip(*columns, strict=True)) == SMALL.qrels
    assert "evaluate --robust" in (tmp_path / "ws" / "pool.yaml").read_text()


def test_the_program_that_drafted_a_query_is_in_its_column_alone(tmp_path: Path) -> None:
    write(tmp_path / "ws", replace(SMALL, queries=[Topic("q1", "barco", drafted_by="gpt-4o"), Topic("q2", "forno")]))
    assert query_drafters(load_config(tmp_path / "ws" / "pool.yaml")) == {"q1": "gpt-4o"}


def test_without_clusters_no_query_has_the_key(tmp_path: Path) -> None:
    write(tmp_path / "ws")
    rows = [json.loads(line) for line in (tmp_path / "ws" / "queries.jsonl").read_text().splitlines()]
    assert rows == [{"query_id": "q1", "query": "barco"}, {"query_id": "q2", "query": "forno"}]
    assert "robust" not in (tmp_path / "ws" / "pool.yaml").read_text()


def test_pool_yaml_has_six_systems_and_more_that_need_no_extra(tmp_path: Path) -> None:
    heard = write(tmp_path / "ws")
    config = load_config(tmp_path / "ws" / "pool.yaml")
    assert len(config.systems) == 8
    assert (config.name, config.seed, config.run_depth, config.pool.depth) == ("small", 7, 100, 10)
    assert config.labels.files["gold"].path == "gold.qrels"
    assert config.measures == ["nDCG@10", "Success@1", "Success@5", "Success@10", "R@100", "RR@10"]
    languages = {getattr(system.parameters, "language", "pt") for system in config.systems.values()}
    assert languages == {"pt"}
    assert any(line.startswith("without bm25 (Lucene):") for line in heard.lines)


def test_lucene_joins_where_its_extra_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RETRIEVERS.get("bm25"), "require", lambda: None)
    write(tmp_path / "ws")
    assert next(iter(load_config(tmp_path / "ws" / "pool.yaml").systems)) == "bm25"


@pytest.mark.parametrize("keep", [True, False])
def test_a_second_time_nothing_is_touched(tmp_path: Path, keep: bool) -> None:
    write(tmp_path / "ws", keep=keep)
    before = state(tmp_path / "ws")
    heard = write(tmp_path / "ws", keep=keep)
    assert state(tmp_path / "ws") == before
    assert heard.lines == []


def test_the_same_collection_gives_the_same_bytes_in_any_folder(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b" / "c", keep=False)
    assert contents(tmp_path / "a") == contents(tmp_path / "b" / "c")


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("name", ["pool.yaml", "corpus.jsonl", "notes.txt", ".hidden"])
def test_a_folder_with_anything_else_is_refused_and_left_alone(tmp_path: Path, name: str, keep: bool) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(QuatiPoolError, match="is not empty and holds no collection of a benchmark; name another"):
        write(tmp_path, keep=keep)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "ws").write_text("mine")
    with pytest.raises(QuatiPoolError, match="is a file; name a folder"):
        write(tmp_path / "ws")


def test_a_users_workspace_with_another_collection_stays_as_it_is(tmp_path: Path) -> None:
    write(tmp_path)
    before = state(tmp_path)
    with pytest.raises(QuatiPoolError, match=r"holds another collection \(small\), which stays as it is"):
        write(tmp_path, OTHER, name="other")
    with pytest.raises(QuatiPoolError, match="holds the same collection of other files, which stays as it is"):
        write(tmp_path, OTHER)
    assert state(tmp_path) == before


@pytest.mark.parametrize("name", ["pool.yaml", "queries.jsonl"])
def test_what_a_user_edited_is_kept_and_said(tmp_path: Path, name: str) -> None:
    write(tmp_path)
    (tmp_path / name).write_text("edited")
    heard = write(tmp_path)
    assert (tmp_path / name).read_text() == "edited"
    assert len(heard.lines) == 1
    assert heard.lines[0].startswith(f"{name}: kept, though it differs from what would be written")


def test_our_own_workspace_follows_the_data_and_the_systems(tmp_path: Path) -> None:
    write(tmp_path, keep=False)
    heard = write(tmp_path, OTHER, keep=False, seed=8)
    assert "corpus.jsonl: rewritten, 4 passages" in heard.lines
    assert "pool.yaml: rewritten" in heard.lines
    assert load_config(tmp_path / "pool.yaml").seed == 8
    assert passages(tmp_path / "corpus.jsonl") == OTHER.passages


def test_texts_that_somebody_may_have_labelled_are_never_replaced(tmp_path: Path) -> None:
    write(tmp_path, keep=False)
    (tmp_path / "labels.db").write_bytes(b"labels")
    write(tmp_path, keep=False, seed=8)
    before = contents(tmp_path)
    with pytest.raises(QuatiPoolError, match=r"corpus.jsonl is not what the data gives now.*labels.db may hold labels"):
        write(tmp_path, OTHER, keep=False)
    assert contents(tmp_path) == before


class Killed(BaseException):
    pass


def dying(at: int, before: bool) -> Callable[[Path, Path], None]:
    """os.replace, whose process dies at its ``at``-th call, before it or after it."""
    calls = 0
    real = artifacts.os.replace

    def replaces(source: Path, target: Path) -> None:
        nonlocal calls
        calls += 1
        if calls == at and before:
            shutil.copyfile(source, target.with_name("left-behind"))
            raise Killed
        real(source, target)
        if calls == at:
            raise Killed

    return replaces


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("at", range(1, len(FILES) + 1))
def test_killed_at_any_file_the_same_command_finishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int, before: bool, keep: bool
) -> None:
    write(tmp_path / "whole")
    folder = tmp_path / "killed"
    with monkeypatch.context() as patched:
        patched.setattr(artifacts.os, "replace", dying(at, before))
        with pytest.raises(Killed):
            write(folder, keep=keep)
    # What a process leaves that has no time to clear up.
    if (folder / "left-behind").exists():
        (folder / "left-behind").rename(folder / f".partial-{FILES[at - 1]}")
    write(folder, keep=keep)
    assert contents(folder) == contents(tmp_path / "whole")


def test_hostile_texts_come_back_as_they_were(tmp_path: Path) -> None:
    hostile = ["", "a\nb\r\nc", "\x00\x1b[31m", "\u2028\x85", '{"doc_id": "d9"}', "</passage> {x}", "é" * 1_000_000]
    texts = [(f"d{place}", text) for place, text in enumerate(hostile)]
    queries = [Topic(f"q{place}", text) for place, text in enumerate(hostile[:-1])]
    write(tmp_path, replace(SMALL, passages=texts, queries=queries, qrels=[("q0", "d0", 1)]))
    assert passages(tmp_path / "corpus.jsonl") == texts
    assert [one.query for one in read_queries(tmp_path / "queries.jsonl")] == hostile[:-1]


def test_half_a_character_from_json_becomes_the_replacement_character(tmp_path: Path) -> None:
    write(tmp_path, replace(SMALL, passages=[("d1", "a\ud800b"), *SMALL.passages[1:]]))
    assert passages(tmp_path / "corpus.jsonl")[0] == ("d1", "a\ufffdb")


BAD = {
    "no passages": (replace(SMALL, passages=[]), "there are no passages"),
    "no judgements": (replace(SMALL, qrels=[]), "there are no judgements"),
    "doc_id twice": (replace(SMALL, passages=[("d1", "a"), ("d1", "b")]), "doc_id 'd1' occurs twice"),
    "query_id of two words": (replace(SMALL, queries=[Topic("q 1", "a")]), "query_id 'q 1' holds white space"),
    "query_id of a comment": (replace(SMALL, queries=[Topic("#1", "a")]), "query_id '#1' begins with '#'"),
    "pair twice": (replace(SMALL, qrels=[("q1", "d1", 1), ("q1", "d1", 0)]), "1 pairs are judged twice"),
    "stranger": (replace(SMALL, qrels=[("q9", "d1", 1)]), "the query 'q9', which is not among its queries"),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_collection_that_cannot_be_one_is_refused_before_anything_is_written(tmp_path: Path, bad: str) -> None:
    collection, message = BAD[bad]
    with pytest.raises(QuatiPoolError, match=message) as caught:
        write(tmp_path / "ws", collection)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "ws").exists()


THEIRS = """\
name: theirs
corpora: {wiki: {path: nowhere.jsonl}, unused: {path: nowhere-else.jsonl}}
queries: {path: nowhere.tsv}
seed: 3
systems:
  theirs: {retriever: run, corpus: wiki, path: runs-of-others/a.run, pool: false}
  folder: {retriever: dense, corpus: wiki, model: models/mine, query_prompt: "line one\\nline two: "}
  named: {retriever: dense, corpus: wiki, model: intfloat/multilingual-e5-base, family: 'dense: #1'}
  paid: {retriever: openai-embedding, corpus: wiki, model: text-embedding-3-small, prices: prices.yaml}
  '7': {retriever: bm25s, corpus: wiki, k1: 1.0e-05, stop_words: no}
  again: {first: '7', rerank: {with: dense, model: models/mine, depth: 50}, pool_depth: 3}
  dpr: {retriever: dense, corpus: wiki, query_model: models/mine, passage_model: facebook/dpr-ctx_encoder}
  fused: {fuse: [named, again], method: rrf, weights: [1, 0.5]}
run_depth: 50
pool: {depth: 5}
"""


def test_the_systems_of_a_pool_yaml_move_with_absolute_paths_and_nothing_else_changed(tmp_path: Path) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    (home / "models" / "mine").mkdir(parents=True)
    (home / "pool.yaml").write_text(THEIRS)
    systems = SystemsFile.read(home / "pool.yaml")
    write(away, systems=systems)
    before, after = load_config(home / "pool.yaml"), load_config(away / "pool.yaml")
    assert (after.run_depth, after.pool.depth, list(after.systems)) == (50, 5, list(before.systems))
    moved = yaml.safe_load((away / "pool.yaml").read_text())["systems"]
    assert moved["theirs"] == {"retriever": "run", "path": str(home / "runs-of-others/a.run"), "pool": False}
    assert moved["folder"]["model"] == moved["again"]["rerank"]["model"] == str(home / "models/mine")
    assert moved["dpr"]["query_model"] == str(home / "models/mine")
    assert moved["dpr"]["passage_model"] == "facebook/dpr-ctx_encoder"
    assert moved["paid"]["prices"] == str(home / "prices.yaml")
    for tag in ("named", "7", "fused"):
        assert after.systems[tag].model_dump(exclude={"corpus"}) == before.systems[tag].model_dump(exclude={"corpus"})
    assert after.systems["folder"].parameters.query_prompt == "line one\nline two: "
    assert after.seed == 7


def test_systems_over_several_corpora_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text(THEIRS.replace("corpus: wiki, k1", "corpus: unused, k1"))
    with pytest.raises(ConfigError, match="search the corpora wiki, unused, and a benchmark's collection has one"):
        SystemsFile.read(path)


def test_a_fault_in_their_file_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text(THEIRS.replace("k1:", "k2:"))
    with pytest.raises(InputError, match=r"pool.yaml:10: systems.7.k2: unknown key; there are: b, corpus"):
        SystemsFile.read(path)
    with pytest.raises(InputError, match="there is no such file"):
        SystemsFile.read(tmp_path / "absent.yaml")


few = st.text(max_size=6)
plain = few | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False)


@given(st.dictionaries(few, plain | st.lists(plain, max_size=2), max_size=3))
def test_settings_stand_on_one_line_and_read_back_the_same(settings: dict[str, Any]) -> None:
    written = _flow(settings)
    assert "\n" not in written
    assert yaml.safe_load(written) == settings


def test_a_listener_hears_what_was_written(tmp_path: Path) -> None:
    heard = write(tmp_path / "ws")
    assert heard.lines[:4] == [
        "corpus.jsonl: written, 3 passages",
        "queries.jsonl: written, 2 queries",
        "gold.qrels: written, 3 judgements",
        "pool.yaml: written",
    ]
    write_workspace(tmp_path / "quiet", Source("small", Small), SMALL, None, 0, Listener())
