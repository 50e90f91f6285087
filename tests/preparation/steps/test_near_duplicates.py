import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from quati_pool.errors import ConfigError, MissingExtraError
from quati_pool.preparation.base import Keys, TaskPool
from quati_pool.preparation.deduplication import first_of_equals
from quati_pool.preparation.deduplication.comparison_arrays import KeyFiles
from quati_pool.preparation.steps import near_duplicates
from quati_pool.preparation.steps.near_duplicates import NearDuplicates
from tests.preparation.global_filters import compared, in_process, pages, positions, stored

WORDS = [f"{stem}{ending}" for stem in ("cas", "mat", "flor", "águ", "terr") for ending in map(chr, range(97, 123))]


def near(**parameters: object) -> NearDuplicates:
    step = NearDuplicates(NearDuplicates.Parameters.model_validate(parameters))
    step.check()
    return step


def shingles(text: str) -> set[str]:
    words = text.lower().split()
    return {" ".join(words[start : start + 5]) for start in range(len(words) - 4)}


def edited(text: str, changes: int, rng: random.Random) -> str:
    words = text.split()
    for place in rng.sample(range(len(words)), changes):
        words[place] = f"novo{rng.randrange(10**6)}"
    return " ".join(words)


@cache
def planted() -> tuple[str, ...]:
    """100 passages of 160 words, each again with some words changed and with some added, in no order."""
    rng = random.Random(3)
    texts = []
    for number in range(100):
        text = " ".join(rng.choices(WORDS, k=160))
        texts += [text, edited(text, (0, 1, 2, 3, 4, 5, 6, 9, 14, 30)[number % 10], rng)]
        texts.append(" ".join([text.upper(), *rng.choices(WORDS, k=(1, 3, 7, 20, 40, 80, 160)[number % 7])]))
    rng.shuffle(texts)
    return tuple(texts)


@cache
def keys_of_planted() -> Keys:
    return near().keys(pages(planted()))


def decided(step: NearDuplicates, keys: Keys, folder: Path, cuts: Sequence[int] = ()) -> list[tuple[int, int, float]]:
    shards, rows = stored(folder / "keys", keys, cuts)
    drops = step.decide(shards, rows, TaskPool(folder / "bench", in_process))
    assert set(drops.reason.tolist()) <= {1}
    return [(*pair, alike) for pair, alike in zip(positions(drops, rows), drops.similarity.tolist(), strict=True)]


def test_planted_edits_are_found_and_different_texts_stay(tmp_path: Path) -> None:
    texts = planted()
    found = {row: kept for row, kept, _ in decided(near(), keys_of_planted(), tmp_path)}
    sets = [shingles(text) for text in texts]
    true = {
        (one, other): len(sets[one] & sets[other]) / len(sets[one] | sets[other])
        for one, other in combinations(range(len(texts)), 2)
    }
    alike = [other for (_, other), similarity in true.items() if similarity >= 0.95]
    assert len(alike) > 40
    assert set(alike) <= set(found)
    best = dict.fromkeys(range(len(texts)), 0.0)
    for (one, other), similarity in true.items():
        best[one], best[other] = max(best[one], similarity), max(best[other], similarity)
    assert min(best[row] for row in found) > 0.65  # 0.8 less four standard errors of the estimate
    assert sum(similarity < 0.5 for similarity in best.values()) > 10
    assert all(kept < row and kept not in found for row, kept in found.items())


def test_nearly_all_that_comparing_all_pairs_drops_is_dropped(tmp_path: Path) -> None:
    """16 families of 40 passages each, in which up to five words differ: comparing a bucket's rows with its first
    alone finds 90 % of what the oracle, the signatures of all pairs, has; with the one before too, over 97 %."""
    rng = random.Random(1)
    texts = []
    for _ in range(16):
        text = " ".join(rng.choices(WORDS, k=160))
        texts += [edited(text, rng.randint(0, 5), rng) for _ in range(40)]
    rng.shuffle(texts)
    keys = near().keys(pages(texts))
    equal = np.stack([(row == keys["signature"]).mean(axis=1) for row in keys["signature"]])
    _, labels = connected_components(csr_array(equal >= 0.8), directed=False)
    firsts = {int(label): row for row, label in reversed(list(enumerate(labels)))}
    expected = {row for row, label in enumerate(labels.tolist()) if firsts[label] != row}
    found = decided(near(), keys, tmp_path)
    assert {row for row, _, _ in found} <= expected
    assert len(found) >= 0.97 * len(expected) > 200
    for row, kept, similarity in found:
        assert labels[row] == labels[kept]
        assert similarity == np.float32(equal[row, kept])


@pytest.fixture(scope="module")
def uncut(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, int, float]]:
    return decided(near(), keys_of_planted(), tmp_path_factory.mktemp("uncut"))


@given(st.lists(st.integers(0, 300), max_size=4), st.integers(100, 400), st.integers(30, 500))
@settings(max_examples=4, deadline=None)
def test_drops_do_not_depend_on_shards_or_parts(
    uncut: list[tuple[int, int, float]], cuts: list[int], part_rows: int, at_once: int
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(first_of_equals, "PART_ROWS", part_rows),
        patch.object(near_duplicates, "_COMPARED_AT_ONCE", at_once * 256),
        patch.object(near_duplicates, "_MEASURED_ROWS", at_once),
    ):
        assert decided(near(), keys_of_planted(), Path(folder), cuts) == uncut


def test_keys_do_not_depend_on_where_batches_end() -> None:
    batch = pages(planted()[:30])
    parts = [near().keys(batch.take(rows)) for rows in np.split(np.arange(30), [1, 14])]
    for name, whole in near().keys(batch).items():
        assert np.array_equal(whole, np.concatenate([part[name] for part in parts]))
    assert near().keys(batch.take(np.arange(0)))["signature"].shape == (0, 128)


def test_a_template_ten_thousand_times_takes_pairs_in_line_with_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = near(permutations=32, banding={"bands": 4, "rows": 2}, threshold=0.6)
    texts = [f"a previsão do tempo para hoje é de chuva fraca em todo o estado e amanhã {n}" for n in range(10_000)]
    pairs = []
    measured = near_duplicates._Signatures.similarity

    def counting(self: Any, some: Any) -> Any:
        pairs.append(len(some))
        return measured(self, some)

    monkeypatch.setattr(near_duplicates._Signatures, "similarity", counting)
    found = compared(step, texts, tmp_path)
    # 12 shingles, one of them with the number: J = 11/13 = 0.85 between any two.
    assert len(found) > 9_950
    assert set(found.values()) <= set(range(50))
    assert sum(pairs) <= (4 * 2 + 1) * len(texts)


def test_a_chain_is_one_group_and_tells_the_similarity_to_the_row_that_stays(tmp_path: Path) -> None:
    words = [f"p{number}" for number in range(220)]
    texts = [" ".join(words[start : start + 160]) for start in range(0, 60, 10)]
    # Neighbours share 146 of 166 shingles, J = 0.88; the ends 106 of 206, J = 0.51.
    shards, rows = stored(tmp_path / "keys", near().keys(pages(texts)))
    drops = near().decide(shards, rows, TaskPool(tmp_path / "bench", in_process))
    assert dict(positions(drops, rows)) == dict.fromkeys(range(1, 6), 0)
    assert drops.similarity[0] == pytest.approx(0.88, abs=0.1)
    assert drops.similarity[-1] == pytest.approx(106 / 206, abs=0.13)


def test_short_texts_equal_only_the_same_text_and_empty_ones_none(tmp_path: Path) -> None:
    texts = ["Fale conosco", "", "fale  conosco", "conosco fale", "fale", " ", "", "fale conosco agora já sim"]
    assert compared(near(), texts, tmp_path) == {2: 0}


def test_a_preparation_that_kept_nothing_has_nothing_to_compare(tmp_path: Path) -> None:
    with KeyFiles(tmp_path / "shard"):
        pass
    assert len(near().decide([tmp_path / "shard"], [0], TaskPool(tmp_path / "bench", in_process))) == 0
    assert len(near().decide([], [], TaskPool(tmp_path / "none", in_process))) == 0


def test_within_pages_only_where_asked(tmp_path: Path) -> None:
    text = planted()[0]
    texts = [text, text + " fim", text, text]
    doc_ids = ["a", "a", "b", "b"]
    assert compared(near(), texts, tmp_path / "all", doc_ids=doc_ids) == {1: 0, 2: 0, 3: 0}
    assert compared(near(scope="page"), texts, tmp_path / "page", doc_ids=doc_ids) == {1: 0, 3: 2}


def test_scripts_without_spaces_are_compared_by_characters(tmp_path: Path) -> None:
    rng = random.Random(5)
    one = "".join(chr(rng.randrange(0x4E00, 0x5E00)) for _ in range(400))
    other = "".join(chr(rng.randrange(0x4E00, 0x5E00)) for _ in range(400))
    texts = [one, other, one[:200] + "中" + one[200:]]
    assert compared(near(shingle={"characters": 5}), texts, tmp_path / "characters") == {2: 0}
    assert compared(near(), texts, tmp_path / "words") == {}  # each is one word


def test_what_normalising_takes_out_makes_no_difference(tmp_path: Path) -> None:
    rng = random.Random(6)
    words = rng.choices(WORDS, k=100)
    texts = [" ".join(words), ", ".join(words) + "."]
    assert compared(near(), texts, tmp_path / "default") == {}
    marks = near(normalise=["punctuation", "white space"])
    assert compared(marks, texts, tmp_path / "marks") == {1: 0}


def test_a_killed_search_goes_on_where_it_was(tmp_path: Path) -> None:
    shards, rows = stored(tmp_path / "keys", keys_of_planted(), [100])
    done: list[Any] = []

    def killed(function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        done.extend(tasks[:5])
        in_process(function, tasks[:5])
        raise KeyboardInterrupt

    def going_on(function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        done.extend(tasks)
        return in_process(function, tasks)

    with pytest.raises(KeyboardInterrupt):
        near().decide(shards, rows, TaskPool(tmp_path / "bench", killed))
    drops = near().decide(shards, rows, TaskPool(tmp_path / "bench", going_on))
    again = near().decide(shards, rows, TaskPool(tmp_path / "another", in_process))
    assert positions(drops, rows) == positions(again, rows)
    assert len(done) == len(set(done)) == 16 + 1


@pytest.mark.parametrize(
    "shingle", [{}, {"words": 5, "characters": 10}, {"words": 0}, {"words": None, "characters": -1}]
)
def test_a_shingle_is_words_or_characters(shingle: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        near(shingle=shingle)


def test_bands_that_do_not_fit_are_refused_with_a_remedy() -> None:
    with pytest.raises(ConfigError, match=r"9 bands of 15 are more than the 128 permutations; lower .* or raise"):
        near(banding={"bands": 9, "rows": 15})
    with pytest.raises(ConfigError, match=r"16 permutations are too few .* 1\.0; raise permutations, or set banding"):
        near(permutations=16, threshold=1)
    assert near(banding={"bands": 16, "rows": 8}).notes() == near().notes()


def test_notes_say_what_share_of_pairs_is_found() -> None:
    # 1 - (1 - 0.8^8)^16 = 0.947
    assert list(near().notes()) == ["16 bands of 8: pairs of similarity 0.8 are found with a chance of 95%"]


def test_without_datasketch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_duplicates, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'quati-pool\[prepare\]'"):
        NearDuplicates.require()


def test_reading_a_configuration_loads_no_heavy_package() -> None:
    code = (
        "import sys; from quati_pool.preparation.steps.near_duplicates import NearDuplicates as N; "
        "N(N.Parameters()); N.require(); print({'datasketch', 'scipy', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("set()\n", "")
