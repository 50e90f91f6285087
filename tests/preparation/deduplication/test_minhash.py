import random

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import given, settings
from hypothesis import strategies as st

from quati_pool.preparation.deduplication.minhash import Signer, band_hashes, bands_and_rows

WORDS = [f"palavra{number}" for number in range(400)]


def text(seed: int, words: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


@pytest.mark.parametrize("length", [1, 3, 5])
def test_signatures_are_those_of_datasketch_on_the_same_word_shingles(length: int) -> None:
    signer = Signer(64, length, None)
    texts = [text(1, 20), "", text(2, length), "só", text(3, 700)]
    found = signer.signatures(texts)
    for row, whole in enumerate(texts):
        words = whole.split()
        shingles = {" ".join(words[start : start + length]) for start in range(len(words) - length + 1)}
        # A text of one shingle has its hash; so each stands alone here, far from the batch above.
        expected = MinHash(64, hashfunc=lambda shingle: int(signer.shingles([shingle])[0][0]))
        expected.update_batch(shingles or ({whole} if whole else set()))
        assert np.array_equal(found[row], expected.hashvalues)


def test_signatures_are_those_of_datasketch_on_the_same_character_shingles() -> None:
    signer = Signer(32, None, 4)
    texts = ["東京は日本の首都である", "a🦝b", "", "日本の首都"]
    found = signer.signatures(texts)
    for row, whole in enumerate(texts):
        shingles = {whole[start : start + 4] for start in range(len(whole) - 3)}
        expected = MinHash(32, hashfunc=lambda shingle: int(signer.shingles([shingle])[0][0]))
        expected.update_batch(shingles or ({whole} if whole else set()))
        assert np.array_equal(found[row], expected.hashvalues)


def test_shingles_tell_words_and_their_order_apart() -> None:
    signer = Signer(16, 3, None)
    texts = ["a b c", "c b a", "a c b", "ab c d", "a bc d", "a b", "a b c d"]
    first = [tuple(hashes.tolist()) for hashes in signer.shingles(texts)]
    assert len(set(first)) == len(texts)
    assert signer.shingles(["a b c\u00a0d"])[0].tolist() == signer.shingles([" a\nb  c d"])[0].tolist()


def test_the_estimate_errs_as_theory_says() -> None:
    """With P = 128 the share of equal places has mean J and variance J (1 - J) / P."""
    rng = random.Random(7)
    signer = Signer(128, 1, None)
    errors = []
    for shared in (20, 60, 100, 140, 180):
        for _ in range(40):
            drawn = [f"w{number}" for number in rng.sample(range(10**9), 240)]
            split = shared + (len(drawn) - shared) // 2
            one, other = drawn[:split], drawn[:shared] + drawn[split:]
            true = shared / len(drawn)
            signatures = signer.signatures([" ".join(one), " ".join(other)])
            estimate = (signatures[0] == signatures[1]).mean()
            errors.append((estimate - true) / np.sqrt(true * (1 - true) / 128))
    # 200 standardised errors: mean 0 ± 3 / sqrt(200), root mean square 1 ± 3 / sqrt(400).
    assert abs(np.mean(errors)) < 0.21
    assert abs(np.sqrt(np.mean(np.square(errors))) - 1) < 0.15


@given(st.lists(st.lists(st.integers(0, 1), min_size=7, max_size=7), min_size=1, max_size=12), st.integers(0, 1))
@settings(deadline=None)
def test_band_hashes_are_equal_where_all_places_of_the_band_are(rows: list[list[int]], salt: int) -> None:
    signatures = np.array(rows, dtype=np.uint32)
    hashes = band_hashes(signatures, 2, 3, np.full(len(rows), salt, dtype=np.uint64))
    assert hashes.shape == (len(rows), 2)
    assert (hashes != 0).all()
    for one in range(len(rows)):
        for other in range(len(rows)):
            for band, places in enumerate((slice(0, 3), slice(3, 6))):
                assert (hashes[one, band] == hashes[other, band]) is np.bool_(rows[one][places] == rows[other][places])


def test_salt_keeps_equal_signatures_apart() -> None:
    signatures = np.ones((2, 4), dtype=np.uint32)
    one, other = band_hashes(signatures, 2, 2, np.array([3, 4], dtype=np.uint64))
    assert (one != other).all()


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.8, 0.9])
@pytest.mark.parametrize("permutations", [64, 128, 256])
def test_bands_find_most_pairs_at_the_threshold_and_few_far_below(threshold: float, permutations: int) -> None:
    bands, rows = bands_and_rows(threshold, permutations)
    assert bands * rows <= permutations
    assert 1 - (1 - threshold**rows) ** bands > 0.85
    assert 1 - (1 - (threshold - 0.4) ** rows) ** bands < 0.1
