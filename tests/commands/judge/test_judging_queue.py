"""What is still to be asked: the quick comparison of columns against reading every label of every pair."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quati_pool.commands.judge.judging_queue import JudgingQueue
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.labels.labelers import Grading, judge_version
from quati_pool.project.config import JudgeConfig, load_config
from quati_pool.records import FAILURES, State
from quati_pool.store.database import Store
from quati_pool.store.records import Entry, Label, content_sha
from tests.commands.judged import pair, workspace

PAIRS = [pair(f"q{q}", f"d{d}") for q in range(3) for d in range(3)]
STATES = [State.ok, State.ok, State.unparsed, State.refused, State.retracted]


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[int, int, State, int, bool]]:
    """Labels in order: pair, sample, state, grade, and whether for the text that the pair has now."""
    current = st.sampled_from([True] * 4 + [False])
    label = st.tuples(st.integers(0, 8), st.integers(1, 3), st.sampled_from(STATES), st.integers(0, 3), current)
    return draw(st.lists(label, max_size=40))


def as_label(version: str, told: tuple[int, int, State, int, bool]) -> Label:
    place, sample, state, grade, current = told
    row = PAIRS[place]
    return Label(
        collection="test",
        labeler_id="fake",
        kind="judge",
        version=version,
        query_id=row["query_id"],
        doc_id=row["doc_id"],
        content_sha=content_sha(row["query"], row["text"] if current else "an earlier text"),
        sample=sample,
        status=state,
        relevance=grade if state is State.ok else None,
    )


def counts(coverage: LabelCoverage) -> tuple[object, ...]:
    lacking = sorted((graded.query_id, graded.doc_id, graded.status or "") for graded in coverage.lacking)
    spread = (coverage.unanimous, coverage.mean_range)
    return coverage.pairs, coverage.states, coverage.grades, coverage.unasked, coverage.pending, spread, lacking


@cache
def empty_database() -> bytes:
    """Making one takes longer than all that is done in it here."""
    with tempfile.TemporaryDirectory() as name:
        with Store.open(None, Path(name)):
            pass
        assert not (Path(name) / "labels.db-wal").exists()
        return (Path(name) / "labels.db").read_bytes()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(histories(), st.integers(1, 3), st.integers(1, 3))
def test_passing_over_finished_pairs_changes_no_count(
    history: list[tuple[int, int, State, int, bool]], samples: int, kept: int
) -> None:
    judge = {"model": "fake-1", "prompt": "quati-pt", "samples": samples, "temperature": 1.0, "aggregate": "median"}
    with tempfile.TemporaryDirectory() as name:
        config = load_config(workspace(Path(name), PAIRS, {"fake": judge}))
        (config.folder / "labels.db").write_bytes(empty_database())
        with Store.open(None, config.folder) as store:
            grading = Grading(config, store)
            judging, made = grading.judge("fake")
            assert isinstance(judging, JudgeConfig)
            version = judge_version(judging, made)
            store.register(version, "judge", {})
            store.append([Entry(label=as_label(version, told)) for told in history])

            slow = LabelCoverage()
            lacking = set()
            for chunk in grading.pairs():
                for graded in grading.labeler("fake").graded(chunk):
                    slow.add(graded)
                    if graded.status is not State.ok:
                        lacking.add((graded.query_id, graded.doc_id))

            def pending() -> JudgingQueue:
                return JudgingQueue(grading, "fake", made, version, samples, "median", lambda line: None, dry=True)

            passed_over = pending()
            passed_over.close()
            assert counts(passed_over.coverage) == counts(slow)

            asked = pending()
            tasks = [task for chunk in asked.tasks() for task in chunk]
            assert {(task.pair.query_id, task.pair.doc_id) for task in tasks} == lacking
            assert counts(asked.coverage) == counts(slow)
            for task in tasks:
                finished = {
                    sample
                    for place, sample, state, _, current in resolved(history)
                    if state is State.ok
                    and current
                    and (PAIRS[place]["query_id"], PAIRS[place]["doc_id"]) == (task.pair.query_id, task.pair.doc_id)
                }
                assert set(task.samples) == set(range(1, samples + 1)) - finished

            # A run that ends in the middle counts the rest as it stands.
            halfway = pending()
            for _ in zip(range(kept), halfway.tasks(), strict=False):
                pass
            halfway.close()
            assert counts(halfway.coverage) == counts(slow)


def resolved(history: list[tuple[int, int, State, int, bool]]) -> list[tuple[int, int, State, int, bool]]:
    """The label that counts for each key, by the words of DESIGN section 2."""
    current: dict[tuple[int, int, bool], tuple[int, int, State, int, bool]] = {}
    for told in history:
        key = (told[0], told[1], told[4])
        if told[2] in FAILURES and key in current and current[key][2] is State.ok:
            continue
        current[key] = told
    return list(current.values())
