"""Cases are made of the drawn pairs in turn, never twice of the same texts, and can be stored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from quati_pool.audit.base import Change, Material, PairTexts, Parameters, Probe, Setting, SourcePair
from quati_pool.audit.cases import Candidate, Case, make_cases
from quati_pool.registry import PROBES

SETTING = Setting(Path(), {0: "no", 1: "yes"}, "en", str.split)
NOTHING = Material()


class Marking(Probe):
    """Writes the variant and a random number behind the passage; passages with ``only …`` take these variants alone,
    and ``says`` gives other texts."""

    id = "probe/marking"
    drawn = "any"
    expected = "stay"
    variants = ("a", "b", "c")
    control = False
    says: Mapping[str, str] = {}

    def change(self, pair: SourcePair, variant: str, material: Material, random: Random) -> Change | None:
        text = pair.shown.text
        if text.startswith("only") and variant not in text.split()[1:]:
            return None
        made = self.says.get(variant, f"{text} {variant} {random.random()}")
        return Change(pair.with_text(made), pair.shown if self.control else None)


class All(Marking):
    every_variant = True


def made(kind: type[Probe] = Marking, **attributes: Any) -> Probe:
    probe = kind(Parameters(), SETTING)
    for name, value in attributes.items():
        setattr(probe, name, value)
    return probe


def candidate(query_id: str, doc_id: str, text: str = "text", judge: int = 0, people: int | None = None) -> Candidate:
    return Candidate(SourcePair(query_id, doc_id, PairTexts(f"about {query_id}", f"{text} {doc_id}")), judge, people)


def several(count: int, text: str = "text") -> list[Candidate]:
    return [candidate(f"q{place % 7}", f"d{place}", text) for place in range(count)]


def cases(
    candidates: Iterable[Candidate], probe: Probe | None = None, pairs: int = 1_000, seed: int = 0, **others: Any
) -> list[Case]:
    return make_cases("marking", probe or made(), candidates, NOTHING, seed, pairs, **others)


def test_a_case_holds_the_pair_its_grades_and_its_texts() -> None:
    one = candidate("q", "d", judge=1, people=0)
    (case,) = cases([one], made(says={"a": "new"}, control=True))
    assert case == Case("q", "d", "a", 1, 0, one.pair.shown, PairTexts("about q", "new"), one.pair.shown)
    # A control that is the pair itself is its first repetition.
    assert case.asked == [(PairTexts("about q", "new"), 0), (one.pair.shown, 1)]
    (alone,) = cases([one], made(says={"a": "new"}))
    assert alone.asked == [(PairTexts("about q", "new"), 0)]


def test_a_control_of_other_texts_is_asked_about_as_such() -> None:
    case = Case("q", "d", "a", 0, None, PairTexts("q", "t"), PairTexts("q", "changed"), PairTexts("q", "control"))
    assert case.asked == [(PairTexts("q", "changed"), 0), (PairTexts("q", "control"), 0)]


def test_variants_are_used_in_turn() -> None:
    found = cases(several(10))
    assert [case.variant for case in found] == list("abcabcabca")
    assert [case.doc_id for case in found] == [f"d{place}" for place in range(10)]


def test_a_pair_that_cannot_be_changed_one_way_is_changed_the_next() -> None:
    # The first two take c alone, and then a and b are behind.
    candidates = [candidate("q", "d0", "only c"), candidate("q", "d1", "only c"), *several(6)[2:]]
    assert [case.variant for case in cases(candidates)] == list("ccabab")


def test_a_pair_that_cannot_be_changed_is_passed_over_and_does_not_count() -> None:
    candidates = [candidate("q", "d0", "only z"), *several(5)[1:]]
    assert [case.doc_id for case in cases(candidates, pairs=2)] == ["d1", "d2"]
    assert cases(candidates[:1]) == []
    assert cases([]) == []
    assert cases(candidates, pairs=0) == []


@given(st.lists(st.sampled_from(["text", "only a", "only b c", "only z"]), max_size=40))
def test_variants_stay_balanced_as_far_as_pairs_allow(texts: list[str]) -> None:
    found = cases([candidate("q", f"d{place}", text) for place, text in enumerate(texts)])
    assert len(found) == sum(text != "only z" for text in texts)
    used: Counter[str] = Counter()
    for case in found:
        possible = case.original.text.split()[1:-1] if case.original.text.startswith("only") else list("abc")
        assert used[case.variant] == min(used[variant] for variant in possible)
        used[case.variant] += 1


def test_texts_that_were_made_before_are_left_out() -> None:
    # In the way a every pair of a query becomes the same texts: its first pair keeps it, and others go on to b and c.
    same = made(says={"a": "the same"})
    found = cases([candidate("q1", "d1"), candidate("q1", "d2"), candidate("q1", "d3"), candidate("q2", "d4")], same)
    assert [(case.doc_id, case.variant) for case in found] == [("d1", "a"), ("d2", "b"), ("d3", "c"), ("d4", "a")]
    nothing_else = made(says=dict.fromkeys("abc", "the same"))
    found = cases([candidate("q1", "d1"), candidate("q1", "d2"), candidate("q2", "d3")], nothing_else, pairs=2)
    assert [case.doc_id for case in found] == ["d1", "d3"]


def test_every_variant_of_a_pair_counts_as_one_pair() -> None:
    found = cases([candidate("q", "d0", "only b c"), *several(5)[1:]], made(All), pairs=3)
    assert [(case.doc_id, case.variant) for case in found] == [
        ("d0", "b"), ("d0", "c"), *((f"d{place}", variant) for place in (1, 2) for variant in "abc"),
    ]  # fmt: skip


def test_a_pair_asked_again_is_numbered_and_never_a_duplicate() -> None:
    repeat = PROBES.get("repeat")
    probe = repeat(repeat.Parameters(times=3), SETTING)
    twins = [candidate("q", "d1", "same"), candidate("q", "d2", "same")]
    found = cases(twins, probe)
    assert [(case.variant, case.repetition) for case in found] == [("1", 1), ("2", 2), ("3", 3)] * 2
    assert [case.asked for case in found[:3]] == [[(twins[0].pair.shown, number)] for number in (1, 2, 3)]


def test_texts_that_do_not_fit_are_left_out_controls_too() -> None:
    candidates = [candidate("q", "d0", "only a"), candidate("q", "d1"), candidate("q", "d2")]
    short = cases(candidates, made(says={"a": "long " * 9}), fits=lambda shown: len(shown.text) < 30)
    assert [(case.doc_id, case.variant) for case in short] == [("d1", "b"), ("d2", "c")]
    long_pair = [candidate("q", "d", "long " * 9)]
    says = made(says=dict.fromkeys("abc", "short"))
    assert len(cases(long_pair, says, fits=lambda shown: len(shown.text) < 30)) == 1
    says.control = True  # type: ignore[attr-defined]
    assert cases(long_pair, says, fits=lambda shown: len(shown.text) < 30) == []


def test_what_does_not_fit_leaves_its_texts_to_no_one() -> None:
    # What was left out was not used: the way a is still the one that was used least.
    found = cases(several(3), made(says={"a": "too long"}), fits=lambda shown: shown.text != "too long")
    assert [case.variant for case in found] == list("bcb")


@given(
    st.lists(st.sampled_from(["text", "only a", "only b c", "only z"]), max_size=30),
    st.integers(0, 12),
    st.sampled_from([Marking, All]),
)
def test_fewer_pairs_are_the_first_of_more(texts: list[str], pairs: int, kind: type[Probe]) -> None:
    candidates = [candidate(f"q{place % 3}", f"d{place}", text) for place, text in enumerate(texts)]
    probe = made(kind, says={"a": "the same"})
    few, more = cases(candidates, probe, pairs), cases(candidates, probe)
    assert few == more[: len(few)]
    assert len({case.doc_id for case in few}) == min(pairs, len({case.doc_id for case in more}))


def test_each_case_has_a_random_number_of_its_own_that_depends_on_nothing_else() -> None:
    whole = cases(several(9), made(All))
    assert cases(several(9), made(All)) == whole
    assert len({case.changed.text.split()[-1] for case in whole}) == len(whole)
    assert cases(several(9)[3:], made(All)) == whole[9:]
    named = make_cases("another", made(All), several(9), NOTHING, 0, 1_000)
    for others in (named, cases(several(9), made(All), seed=1)):
        assert all(one.changed != other.changed for one, other in zip(others, whole, strict=True))


# Half a surrogate pair that is never followed by its other half, with which JSON would make it a character.
TEXTS = st.text(st.characters() | st.sampled_from('\ud800\0\x85\u2028\n\r"\\'), max_size=20)
SHOWN = st.builds(PairTexts, TEXTS, TEXTS, st.none() | TEXTS)


@given(
    st.builds(
        Case,
        query_id=st.text(max_size=5),
        doc_id=st.text(max_size=5),
        variant=st.text(max_size=5),
        before=st.integers(-1, 5),
        people=st.none() | st.integers(0, 3),
        original=SHOWN,
        changed=SHOWN,
        control=st.none() | SHOWN,
        repetition=st.integers(0, 9),
    )
)
def test_a_case_comes_back_from_its_json_line(case: Case) -> None:
    line = json.dumps(case.as_json()).encode()
    assert b"\n" not in line
    back = Case.from_json(json.loads(line))
    assert back == case
    assert back.asked == case.asked
    assert isinstance(back.changed, PairTexts)
