"""Pairs are changed in training as often as appendix B of arXiv 2011.10647 says, and as ``--augment full`` documents;
what is done to them is what its name says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from quati_pool.audit.base import Material, PairTexts, Setting, SourcePair
from quati_pool.audit.probes.instruction import Instruction
from quati_pool.audit.probes.question import Question
from quati_pool.audit.probes.stuffing import Stuffing
from quati_pool.text.analysis import analyzer
from quati_pool.training.augmentation import KEEPS, SHARES, UNCHANGED, Augmentation, Mode
from quati_pool.training.judge_data import Examples, TaughtPair

DRAWS = 100_000
PAPER = {
    True: {"query emptied": 0.05, "query exchanged": 0.05, "passage emptied": 0.05, "passage exchanged": 0.05},
    False: {"passage emptied": 0.4, "passage exchanged": 0.4},
}
"""By hand from the paper: a relevant pair is changed with 0.2: query or passage, a half each, and emptied or exchanged,
a half each, so 0.2 / 4 each; an irrelevant one with 0.8: its passage emptied or exchanged, a half each."""


def examples(queries: int = 40, docs: int = 5) -> Examples:
    """Passages of queries, each with those that answer it."""
    pairs = [
        TaughtPair(f"q{q}", f"d{q}-{d}", f"what is number {q} of things?", f"Passage {q} {d}. It says more.", *grades)
        for q in range(queries)
        for d in range(docs)
        for grades in [((3 if d < 2 else 0,), (0.0,))]
    ]
    # The third passage of a query answers the one before it.
    shared = [
        pairs[q * docs + 2]._replace(query_id=f"q{q - 1}", query=f"what is number {q - 1} of things?", grades=(3,))
        for q in range(1, queries)
    ]
    return Examples.of([*pairs, *shared], range(4), 2)


@pytest.mark.parametrize("mode", ["paper", "full", "none"])
def test_changes_are_as_frequent_as_they_are_said_to_be(mode: Mode) -> None:
    some = examples(1000, 5)
    made = Augmentation(mode, some, seed=7)
    relevant = some.relevant
    counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    drawn = {True: 0, False: 0}
    epoch = 0
    while min(drawn.values()) < DRAWS:
        for is_relevant, change in zip(relevant.tolist(), made.changes(epoch), strict=True):
            counts[is_relevant][change] += 1
            drawn[is_relevant] += 1
        epoch += 1
    for is_relevant, name in ((True, "relevant"), (False, "irrelevant")):
        shares = PAPER[is_relevant] if mode == "paper" else dict(SHARES[mode][name])
        shares[UNCHANGED] = 1 - sum(shares.values())
        assert counts[is_relevant].keys() <= shares.keys()
        for change, share in shares.items():
            low, high = binom.ppf([1e-6, 1 - 1e-6], drawn[is_relevant], share)
            assert low <= counts[is_relevant][change] <= high, (change, share)


@pytest.mark.parametrize("mode", ["paper", "full"])
def test_relevant_pairs_are_flipped_with_a_fifth_and_irrelevant_ones_changed_with_four_fifths(mode: Mode) -> None:
    flipping = {name: share for name, share in SHARES[mode]["relevant"].items() if name not in KEEPS}
    assert sum(flipping.values()) == pytest.approx(0.2)
    assert sum(SHARES[mode]["irrelevant"].values()) == pytest.approx(0.8)
    some = examples()
    unchanged = Augmentation(mode, some, 0).unchanged
    kept = sum(SHARES[mode]["relevant"].values())
    assert unchanged[some.relevant] == pytest.approx(1 - kept)
    assert unchanged[~some.relevant] == pytest.approx(0.2)


@pytest.mark.parametrize("mode", ["paper", "full"])
def test_a_changed_pair_is_what_the_name_of_its_change_says(mode: Mode) -> None:
    some = examples()
    made = Augmentation(mode, some, seed=1)
    answers = {
        (query_id, text)
        for query_id, text, relevant in zip(some.query_ids, some.texts, some.relevant.tolist(), strict=True)
        if relevant
    }
    ids = dict(zip(some.queries, some.query_ids, strict=True))
    seen = Counter[str]()
    for epoch in range(30):
        for position in range(len(some)):
            query, text, change, flipped = made(epoch, position)
            own_query, own_text = some.queries[position], some.texts[position]
            relevant = bool(some.relevant[position])
            seen[change] += 1
            assert flipped == (relevant and change not in KEEPS)
            # An epoch keeps its size, and what is not named stays.
            assert (query == own_query) == (change not in ("query emptied", "query exchanged"))
            if change in (UNCHANGED, "query emptied", "query exchanged"):
                assert text == own_text
            if change == "query emptied":
                assert query == ""
            if change == "query exchanged":
                assert query in ids
                assert (ids[query], own_text) not in answers
            if change == "passage emptied":
                assert text == ""
            if change == "passage exchanged":
                assert text in some.texts
                assert text != own_text
                assert (some.query_ids[position], text) not in answers
            if change == "question as heading":
                mark, _, rest = text.partition(" ")
                assert mark in ("#", "Q:", "FAQ:", "»")
                assert rest == f"{own_query}\n\n{own_text}"
            if change == "question as passage":
                words = set(own_query.rstrip("?").split())
                assert words >= {word.strip("?;,/-") for word in text.split()} - {""}
            if change in ("stuffed", "instruction"):
                base = own_text.split() if not relevant else None
                assert base is None or set(base) <= set(text.replace("\n", " ").split())
                assert text not in some.texts
            if change == "stuffed":
                assert {"number", "things"} <= {word.strip("?.,:").lower() for word in text.split()}
    named = {name for shares in SHARES[mode].values() for name in shares}
    assert seen.keys() == named | {UNCHANGED}


def test_what_happens_to_a_pair_follows_from_seed_epoch_and_pair_alone() -> None:
    some = examples()
    one, other = Augmentation("full", some, 3), Augmentation("full", some, 3)
    # Out of order, and each epoch again: as after a kill.
    shown = {(epoch, row): one(epoch, row) for epoch in (0, 1) for row in range(len(some))}
    again = {(epoch, row): other(epoch, row) for epoch in (1, 0) for row in reversed(range(len(some)))}
    assert shown == again
    assert [one(0, row) for row in range(20)] != [one(1, row) for row in range(20)]
    assert [one(0, row) for row in range(20)] != [Augmentation("full", some, 4)(0, row) for row in range(20)]


def test_a_passage_without_any_other_that_does_not_fit_is_emptied() -> None:
    pairs = [TaughtPair(f"q{q}", "d", f"query {q}", "The one passage.", (3,), (3.0,)) for q in range(2)]
    made = Augmentation("paper", Examples.of(pairs, range(4), 2), 0)
    shown = [made(epoch, row) for epoch in range(200) for row in range(2)]
    exchanged = [one for one in shown if one.change.endswith("exchanged")]
    assert exchanged
    assert all("" in (one.query, one.text) for one in exchanged)


@given(st.text(max_size=40), st.text(max_size=200), st.integers(0, 5))
def test_any_text_can_be_changed(query: str, text: str, seed: int) -> None:
    pairs = [
        TaughtPair("a", "1", query, text, (0,), (0.0,)),
        TaughtPair("b", "2", f"{query} b", f"{text} b", (1,), (1.0,)),
    ]
    made = Augmentation("full", Examples.of(pairs, range(2), 1), seed)
    for epoch in range(10):
        for row in range(2):
            assert isinstance(made(epoch, row).text, str)


def test_no_changed_passage_is_one_that_an_audit_makes() -> None:
    """The probes' forms and wordings are not those of training, so that an audit is no test on what was learned."""
    setting = Setting(Path(), dict.fromkeys(range(4), ""), "en", analyzer("en", stemming=False, stop_words=True))
    some = examples()
    trained = Augmentation("full", some, 5)
    changed = {trained(epoch, row).text for epoch in range(40) for row in range(len(some))} - set(some.texts) - {""}
    material = Material([(one, text) for one, text in zip(some.query_ids, some.texts, strict=True)], {}, {})
    probes = [kind(kind.Parameters(), setting) for kind in (Stuffing, Question, Instruction)]
    audited: set[str] = set()
    for query_id, doc_id, query, text in zip(some.query_ids, some.doc_ids, some.queries, some.texts, strict=True):
        pair = SourcePair(query_id, doc_id, PairTexts(query, text, None), ())
        for probe in probes:
            for variant in probe.variants:
                made = probe.change(pair, variant, material, Random(0))
                audited |= {made.changed.text} if made is not None else set()
    assert len(audited) > 500
    assert not audited & changed
    pleas = ("answers the query in full", "Ignore all other", "gnore as demais", "##final", "</passage>", "<!--")
    assert any("answers the query in full" in text for text in audited)
    assert not any(plea in text for text in changed for plea in pleas)
