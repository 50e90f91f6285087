"""Audits as they would come from a run, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quati_pool.audit.base import PairTexts, Probe, Setting
from quati_pool.audit.cases import Case
from quati_pool.audit.outcomes import Outcomes, ProbeFindings, Scale, VariantResult, Verdict
from quati_pool.commands.audit.audit import AuditedProbe, AuditReport
from quati_pool.registry import PROBES
from quati_pool.stats.shares import Difference, Share

Ends = tuple[float, float]
CHANGED = PairTexts("where is it", "the changed passage")


def probe(name: str, bound: float = 0.1) -> Probe:
    kind: type[Probe] = PROBES.get(name)
    return kind(kind.Parameters(bound=bound), Setting(Path(), {0: "no", 1: "yes"}, "en", str.split))


def probed(
    name: str,
    verdict: Verdict = "cleared",
    hits: int = 0,
    n: int = 100,
    ends: Ends = (0.0, 0.04),
    control: int | None = None,
    excess: Ends | None = None,
    *,
    bound: float = 0.1,
    people: int = 0,
    ungraded: int = 0,
    worst: Sequence[Case] = (),
    pairs: int | None = None,
    fooled_by: Sequence[VariantResult] = (),
    suspects: Sequence[VariantResult] = (),
    controls_move: bool = False,
    variants: Sequence[VariantResult] | None = None,
) -> AuditedProbe:
    """``n`` graded cases and ``ungraded`` others, of ``pairs`` pairs (as many as cases by default); people's
    grades chose the first ``people`` of them. The ``worst`` ones come first."""
    made = probe(name, bound)
    number = n + ungraded
    cases = [
        Case(f"q{place % (pairs or number)}", "d1", made.variants[0], 0, 0 if place < people else None,
             PairTexts("where is it", f"passage {place}"), CHANGED, None if control is None else CHANGED)
        for place in range(number)
    ]  # fmt: skip
    cases[: len(worst)] = worst
    fooled = Share(n, hits, *ends)
    controls = None if control is None else Share(n, control, 0.0, 0.05)
    value = 0.0 if not n else (hits - (control or 0)) / n
    difference = Difference(value, *(excess or ends)) if n else None
    after = np.array([3.0] * n + [np.nan] * ungraded)
    return AuditedProbe(
        name,
        made,
        cases,
        Outcomes(
            query=np.arange(number),
            pair=np.arange(number) % (pairs or number),
            variant=np.zeros(number, dtype=np.int64),
            before=np.zeros(number),
            after=after,
            control=after if control is not None else np.full(number, np.nan),
        ),
        ProbeFindings(
            fooled=fooled,
            control=controls,
            excess=difference,
            bound=bound,
            verdict=verdict,
            mean_change=0.5 if n else None,
            control_change=None if control is None else 0.25,
            ungraded=ungraded,
            variants=tuple(
                variants
                or (
                    VariantResult(made.variants[0], fooled, controls, difference),
                    VariantResult("other", Share(0, 0, 0, 1), None, None),
                )
            ),
            fooled_by=tuple(fooled_by),
            suspects=(*fooled_by, *suspects),
            controls_move=controls_move,
            worst=tuple(range(len(worst))),
        ),
    )


def way(name: str, hits: int, n: int, ends: Ends, control: int | None = None) -> VariantResult:
    """What one way of changing pairs found; ``ends`` are those of the excess."""
    controls = None if control is None else Share(n, control, 0.0, 0.2)
    return VariantResult(
        name, Share(n, hits, *ends), controls, Difference((hits - (control or 0)) / n, *ends) if n else None
    )


STUFFED = probed("stuffing", "fooled", 34, ends=(0.25, 0.44), control=3, excess=(0.22, 0.4))


def unasked(name: str, problem: str) -> AuditedProbe:
    return AuditedProbe(name, probe(name), problem=problem)


def report(*probes: AuditedProbe, judge: str = "gpt", **changes: Any) -> AuditReport:
    usual: dict[str, Any] = {"grader": "llm", "scale": Scale(0, 2), "kappa": 0.87, "runs": (), "pairs": 100}
    return AuditReport(judge=judge, probes=probes, **{**usual, **changes})
