import tempfile
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from quati_pool.preparation.base import TaskPool
from quati_pool.preparation.steps.duplicates import Duplicates
from tests.preparation.global_filters import compared, in_process, pages, stored


def duplicates(**parameters: object) -> Duplicates:
    return Duplicates(Duplicates.Parameters.model_validate(parameters))


def test_each_copy_is_dropped_for_the_first(tmp_path: Path) -> None:
    texts = ["Um texto.", "outro", "um  TEXTO.\n", "Um texto!", "outro", "Um texto."]
    assert compared(duplicates(), texts, tmp_path, cuts=[1, 4]) == {2: 0, 4: 1, 5: 0}


def test_drops_tell_shard_row_reason_and_no_similarity(tmp_path: Path) -> None:
    step = duplicates()
    shards, rows = stored(tmp_path, step.keys(pages(["b", "a", "a", "b"])), [1, 1, 3])
    drops = step.decide(shards, rows, TaskPool(tmp_path / "bench", in_process))
    assert drops.shard.tolist() == [2, 3]
    assert drops.row.tolist() == [1, 0]
    assert drops.kept_shard.tolist() == [2, 0]
    assert drops.kept_row.tolist() == [0, 0]
    assert [step.reasons[code - 1] for code in drops.reason] == ["duplicate", "duplicate"]
    assert np.isnan(drops.similarity).all()


def test_texts_without_text_equal_none(tmp_path: Path) -> None:
    assert compared(duplicates(), ["", "", " \n", "a", "\u00a0"], tmp_path / "all") == {}
    punctuation = duplicates(normalise=["punctuation"])
    assert compared(punctuation, ["...", "!!!", "a.", "a!"], tmp_path / "marks") == {3: 2}
    assert compared(duplicates(normalise=[]), ["", "", " ", " "], tmp_path / "as-they-are") == {}


def test_within_pages_only_where_asked(tmp_path: Path) -> None:
    texts = ["menu", "texto", "menu", "menu", "menu"]
    doc_ids = ["a", "a", "a", "b", "b"]
    assert compared(duplicates(), texts, tmp_path / "all", doc_ids=doc_ids) == {2: 0, 3: 0, 4: 0}
    assert compared(duplicates(scope="page"), texts, tmp_path / "page", doc_ids=doc_ids) == {2: 0, 4: 3}


def test_hostile_texts_are_compared_like_others(tmp_path: Path) -> None:
    hostile = ["\0", "\ud800", "a\0", "\x1b[2J", "a" * 1_000_000, "🦝" * 1000]
    assert compared(duplicates(), hostile + hostile, tmp_path) == {
        len(hostile) + row: row for row in range(len(hostile))
    }


@given(
    st.lists(st.text("aAéÉ\u0301eß s\n.", max_size=4), max_size=30).flatmap(
        lambda texts: st.tuples(st.just(texts), st.lists(st.integers(0, len(texts)), max_size=3))
    )
)
@settings(max_examples=30, deadline=None)
def test_what_a_dictionary_of_normalised_texts_finds_is_found_in_any_shards(case: tuple[list[str], list[int]]) -> None:
    texts, cuts = case
    firsts: dict[str, int] = {}
    expected = {}
    for row, text in enumerate(texts):
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
        plain = " ".join(folded.split())
        if plain and firsts.setdefault(plain, row) != row:
            expected[row] = firsts[plain]
    with tempfile.TemporaryDirectory() as folder:
        assert compared(duplicates(), texts, Path(folder), cuts) == expected


def test_keys_do_not_depend_on_where_batches_end() -> None:
    batch = pages(["um", "dois", "", "três"])
    whole = duplicates().keys(batch)
    parts = [duplicates().keys(batch.take(np.arange(start, start + 2))) for start in (0, 2)]
    for name in ("hi", "lo"):
        assert whole[name].dtype == np.uint64
        assert np.array_equal(whole[name], np.concatenate([part[name] for part in parts]))
    assert duplicates().keys(batch.take(np.arange(0)))["hi"].shape == (0,)


def test_a_difference_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValidationError, match="'punctuation'"):
        duplicates(normalise=["accents"])
