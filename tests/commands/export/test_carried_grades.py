"""Grades carried to near-duplicates in one file of qrels: by hand, by a separate computation, and how they are
marked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.commands.export.carried_grades import CarriedGrade, carried_grades
from quati_pool.commands.export.qrels import export_qrels
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import sidecar
from quati_pool.files.pools import PoolPair
from quati_pool.judging.pair import Pair
from quati_pool.labels.base import Graded
from quati_pool.records import State
from quati_pool.store.database import Store
from tests.cli.conftest import Cli
from tests.commands.judged import pair, workspace

W = [f"w{place}" for place in range(22)]


def row(query_id: str, doc_id: str, words: list[str]) -> PoolPair:
    return pair(query_id, doc_id, " ".join(words))


# 22 words are 20 shingles; without the first or the last word 19 of them are left, of 20 in all.
POOL = [
    row("q1", "a", W),
    row("q1", "b", W[:20]),  # 18 of 20
    row("q1", "c", W[:21]),  # 19 of 20
    row("q1", "d", W[1:]),  # 19 of 20
    row("q1", "e", W[1:]),
    row("q2", "x", W),
    row("q2", "y", W[:18]),  # 16 of 20 of x
    row("q2", "z", W[:16]),  # 14 of 20 of x, 14 of 16 of y
]
GRADES = {("q1", "b"): 3, ("q1", "c"): 2, ("q1", "d"): 1, ("q1", "e"): 1, ("q2", "x"): 2}
LIST_HEADER = "query_id\tdoc_id\tgrade\tfrom_doc_id\tsimilarity"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A label file grades five of eight pairs."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    lines = [f"{query_id} 0 {doc_id} {grade}\n" for (query_id, doc_id), grade in GRADES.items()]
    (folder / "gold.qrels").write_text("".join(lines), encoding="utf-8")
    return workspace(folder, POOL, {}, labels={"files": {"gold": {"path": "gold.qrels"}}})


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_the_nearest_then_the_lowest_grade_then_the_first_and_no_chains(config: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.qrels"
    made = export_qrels(config, "gold", path, carry=0.8, allow_missing=True)
    # a: c and d are equally near; d has the lower grade, and e, which has it too, comes later. z is near to y alone,
    # whose grade is itself carried.
    assert lines(path) == [
        "q1 0 a 1", "q1 0 b 3", "q1 0 c 2", "q1 0 d 1", "q1 0 e 1", "q2 0 x 2", "q2 0 y 2",
    ]  # fmt: skip
    assert made.carried_list == tmp_path / "out.qrels.carried.tsv"
    assert lines(made.carried_list) == [LIST_HEADER, "q1\ta\t1\td\t0.95", "q2\ty\t2\tx\t0.8"]
    assert made.carried == 2
    meta = json.loads(sidecar(path).read_text(encoding="utf-8"))
    assert (meta["key"]["carry"], meta["counts"]) == (0.8, {"pairs": 7, "outside_pool": 0, "left_out": 1, "carried": 2})
    assert export_qrels(config, "gold", path, carry=0.85, allow_missing=True).carried == 1
    assert lines(made.carried_list) == [LIST_HEADER, "q1\ta\t1\td\t0.95"]
    assert export_qrels(config, "gold", path, carry=1, allow_missing=True).carried == 0
    assert lines(made.carried_list) == [LIST_HEADER]


def test_what_is_carried_is_not_missing_and_the_rest_is_refused(config: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.qrels"
    with pytest.raises(QuatiPoolError, match=r"^3 of 8 pairs have no grade by gold"):
        export_qrels(config, "gold", path)
    with pytest.raises(QuatiPoolError, match=r"^1 of 8 pairs have no grade by gold \(1 never asked\): q2 z \("):
        export_qrels(config, "gold", path, carry=0.8)
    assert list(tmp_path.glob("out*")) == []


@pytest.mark.parametrize("similarity", [0.79, 1.01, float("nan")])
def test_a_similarity_at_which_nothing_may_be_carried(config: Path, similarity: float) -> None:
    with pytest.raises(ConfigError, match=r"^grades are carried at a similarity from 0.8 to 1, not "):
        export_qrels(config, "gold", carry=similarity)


def test_off_by_default_and_a_list_does_not_outlive_its_qrels(config: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.qrels"
    export_qrels(config, "gold", path, allow_missing=True)
    plain, meta = path.read_bytes(), json.loads(sidecar(path).read_text(encoding="utf-8"))
    assert len(lines(path)) == 5
    assert "carry" not in meta["key"]
    assert "carried" not in meta["counts"]
    export_qrels(config, "gold", path, carry=0.8, allow_missing=True)
    made = export_qrels(config, "gold", path, allow_missing=True)
    assert (made.carried, made.carried_list) == (0, None)
    assert path.read_bytes() == plain
    assert not path.with_name("out.qrels.carried.tsv").exists()


def test_a_carried_grade_is_never_without_its_list(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before the qrels are written, with what such a kill leaves; the same command then finishes."""
    path = tmp_path / "out.qrels"

    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("quati_pool.commands.export.qrels.write_qrels", killed)
        with pytest.raises(KeyboardInterrupt):
            export_qrels(config, "gold", path, carry=0.8, allow_missing=True)
    assert sorted(one.name for one in tmp_path.glob("*out.qrels*")) == ["out.qrels.carried.tsv"]
    (tmp_path / ".partial-out.qrels.carried.tsv").write_text("query_id\tdo", encoding="utf-8")
    export_qrels(config, "gold", path, carry=0.8, allow_missing=True)
    assert sorted(one.name for one in tmp_path.glob("*out.qrels*")) == [
        "out.qrels", "out.qrels.carried.tsv", "out.qrels.meta.json",
    ]  # fmt: skip


def test_the_command_says_how_many_were_carried(config: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(config.parent)
    refused = cli("export", "qrels", "--labeler", "gold", "--carry", "0.7")
    assert refused.status == 2
    assert "--carry" in refused.err
    done = cli("export", "qrels", "--labeler", "gold", "--carry", "0.8", "--allow-missing")
    assert done.status == 0, done.err
    assert done.err.splitlines() == [
        "wrote qrels/gold.qrels: 7 pairs; 1 of 8 pairs without a grade are left out (1 never asked)",
        "2 grades were carried from near-duplicates, not given: qrels/gold.qrels.carried.tsv",
    ]
    with Store.open(None, config.parent) as store:
        assert store.labelers("test") == []


STATES = {
    "never asked": (Graded("q", "b", None, None), True),
    "not given": (Graded("q", "b", None, None, given=False), True),
    "failed": (Graded("q", "b", State.failed, None), True),
    "unparsed": (Graded("q", "b", State.unparsed, None), True),
    "skipped": (Graded("q", "b", State.skipped, None), True),
    "retracted": (Graded("q", "b", State.retracted, None), True),
    "could not judge": (Graded("q", "b", State.unsure, None), False),
    "tied": (Graded("q", "b", None, None, tied=True), False),
    "no text": (Graded("q", "b", State.no_text, None), False),
    "graded": (Graded("q", "b", State.ok, 0), False),
}


@pytest.mark.parametrize("name", STATES)
def test_what_was_looked_at_without_a_grade_as_outcome_gets_none(name: str) -> None:
    graded, filled = STATES[name]
    both = [Pair("q", doc_id, "what", " ".join(W)) for doc_id in "ab"]
    found = carried_grades(both, [Graded("q", "a", State.ok, 2), graded], 0.8)
    assert found == ([CarriedGrade("q", "b", 2, "a", 1.0)] if filled else [])


WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=9)


@given(
    st.lists(st.tuples(st.sampled_from(["q1", "q2"]), WORDS, st.none() | st.integers(0, 3)), max_size=12),
    st.sampled_from([0.8, 0.9, 1.0]),
)
def test_any_pool(rows: list[tuple[str, list[str], int | None]], least: float) -> None:
    rows.sort(key=lambda one: one[0])
    pool = [Pair(query_id, f"d{place}", "what", " ".join(words)) for place, (query_id, words, _) in enumerate(rows)]
    graded = [
        Graded(pool[place].query_id, f"d{place}", None if grade is None else State.ok, grade)
        for place, (*_, grade) in enumerate(rows)
    ]
    expected = {}
    for place, (query_id, words, grade) in enumerate(rows):
        best = None
        for other, (other_query, other_words, other_grade) in enumerate(rows):
            if grade is None and other_grade is not None and other_query == query_id and other != place:
                one, two = triples(words), triples(other_words)
                similarity = len(one & two) / len(one | two)
                candidate = (-similarity, other_grade, other)
                if similarity >= least and (best is None or candidate < best):
                    best = candidate
        if best is not None:
            expected[f"d{place}"] = (best[1], f"d{best[2]}", round(-best[0], 4))
    found = carried_grades(pool, graded, least)
    assert {one.doc_id: (one.grade, one.from_doc_id, one.similarity) for one in found} == expected


def triples(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[start : start + 3]) for start in range(len(words) - 2)} or {tuple(words)}
