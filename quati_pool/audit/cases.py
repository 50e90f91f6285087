"""The cases of a probe: changed pairs with their controls, as they are asked about and stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from quati_pool.audit.base import Material, PairTexts, Probe, SourcePair


@dataclass(frozen=True)
class Candidate:
    """A drawn pair; ``judge`` is the judge's grade of it, ``people`` that of people, None if they gave none."""

    pair: SourcePair
    judge: int
    people: int | None


@dataclass(frozen=True)
class Case:
    """A pair as it was drawn, the change that is asked about, and its control.

    ``before`` is the judge's grade of the pair as it is; ``repetition`` is 0 for a changed pair, or counts from 1 how
    often the unchanged pair is asked again.
    """

    query_id: str
    doc_id: str
    variant: str
    before: int
    people: int | None
    original: PairTexts
    changed: PairTexts
    control: PairTexts | None
    repetition: int = 0

    @property
    def asked(self) -> list[tuple[PairTexts, int]]:
        """What is asked about: texts, each with its repetition. A control that is the pair itself is its first
        repetition."""
        control = [] if self.control is None else [(self.control, int(self.control == self.original))]
        return [(self.changed, self.repetition), *control]

    def as_json(self) -> dict[str, Any]:
        shown = {"original": self.original, "changed": self.changed, "control": self.control}
        texts = {name: None if one is None else one._asdict() for name, one in shown.items()}
        return {
            "query_id": self.query_id, "doc_id": self.doc_id, "variant": self.variant, "before": self.before,
            "people": self.people, **texts, "repetition": self.repetition,
        }  # fmt: skip

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Case:
        shown = {
            name: None if record[name] is None else PairTexts(**record[name])
            for name in ("original", "changed", "control")
        }
        return cls(**{**record, **shown})


def make_cases(
    name: str,
    probe: Probe,
    candidates: Iterable[Candidate],
    material: Material,
    seed: int,
    pairs: int,
    fits: Callable[[PairTexts], bool] = lambda shown: True,
    kept: Sequence[Case] = (),
) -> list[Case]:
    """The cases of the first ``pairs`` candidates that can be changed, in their order; after those ``kept`` from an
    earlier draw of fewer pairs.

    Each candidate is changed in the way that was used least so far, or, if the probe wants every variant, in all of
    them. What gives the same texts as an earlier change, as a passage that occurs twice, or texts that do not ``fit``
    into what the judge is shown, is left out.
    """
    variants = list(probe.variants)
    used = Counter(case.variant for case in kept)
    known = {(case.changed, case.repetition) for case in kept}
    cases = list(kept)
    changed = {(case.query_id, case.doc_id) for case in kept}
    for candidate in candidates:
        if len(changed) >= pairs:
            break
        pair = (candidate.pair.query_id, candidate.pair.doc_id)
        if pair in changed:
            continue
        found: list[Case] = []
        for variant in variants if probe.every_variant else sorted(variants, key=used.__getitem__):
            case = _case(name, probe, candidate, variants, variant, material, seed)
            if case is None or not all(fits(shown) for shown, _ in case.asked):
                continue
            if (case.changed, case.repetition) in known:
                continue
            known.add((case.changed, case.repetition))
            used[variant] += 1
            found.append(case)
            if not probe.every_variant:
                break
        if found:
            changed.add(pair)
        cases.extend(found)
    return cases


def _case(
    name: str,
    probe: Probe,
    candidate: Candidate,
    variants: Sequence[str],
    variant: str,
    material: Material,
    seed: int,
) -> Case | None:
    pair = candidate.pair
    random = Random(f"{seed}\t{name}\t{pair.query_id}\t{pair.doc_id}\t{variant}")
    change = probe.change(pair, variant, material, random)
    if change is None:
        return None
    repeated = change.changed == pair.shown
    return Case(
        query_id=pair.query_id,
        doc_id=pair.doc_id,
        variant=variant,
        before=candidate.judge,
        people=candidate.people,
        original=pair.shown,
        changed=change.changed,
        control=change.control,
        repetition=variants.index(variant) + 1 if repeated else 0,
    )
