"""Audits as they would come from a run, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quati_pool.audit.base import Probe, Setting, Shown
from quati_pool.audit.cases import Case
from quati_pool.audit.outcomes import Outcomes, ProbeFindings, Scale, VariantResult, Verdict
from quati_pool.commands.audit.audit import AuditedProbe, AuditReport
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.registry import PROBES
from quati_pool.stats.shares import Difference, Share
from tests.commands.judged import pair, workspace

Ends = tuple[float, float]
CHANGED = Shown("where is it", "the changed passage")


def config(folder: Path) -> PoolConfig:
    return load_config(workspace(folder, [pair("q1", "d1")], {"gpt": {"judge": "lexical"}}))


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
    needed: int | None = None,
    worst: Sequence[Case] = (),
    pairs: int | None = None,
) -> AuditedProbe:
    """``n`` graded cases and ``ungraded`` others, of ``pairs`` pairs (as many as cases by default); people's
    grades chose the first ``people`` of them. The ``worst`` ones come first."""
    made = probe(name, bound)
    number = n + ungraded
    cases = [
        Case(f"q{place % (pairs or number)}", "d1", made.variants[0], 0, 0 if place < people else None,
             Shown("where is it", f"passage {place}"), CHANGED, None if control is None else CHANGED)
        for place in range(number)
    ]  # fmt: skip
    cases[: len(worst)] = worst
    fooled = Share(n, hits, *ends)
    controls = None if control is None else Share(n, control, 0.0, 0.05)
    value = 0.0 if not n else (hits - (control or 0)) / n
    after = np.array([3.0] * n + [np.nan] * ungraded)
    return AuditedProbe(
        name,
        made,
        cases,
        Outcomes(
            query=np.arange(number),
            variant=np.zeros(number, dtype=np.int64),
            before=np.zeros(number),
            after=after,
            control=after if control is not None else np.full(number, np.nan),
        ),
        ProbeFindings(
            fooled=fooled,
            control=controls,
            excess=Difference(value, *(excess or ends)) if n else None,
            bound=bound,
            verdict=verdict,
            mean_change=0.5 if n else None,
            control_change=None if control is None else 0.25,
            ungraded=ungraded,
            variants=(
                VariantResult(made.variants[0], fooled, controls),
                VariantResult("other", Share(0, 0, 0, 1), None),
            ),
            worst=tuple(range(len(worst))),
            pairs_needed=needed,
        ),
    )


STUFFED = probed("stuffing", "fooled", 34, ends=(0.25, 0.44), control=3, excess=(0.22, 0.4))


def unasked(name: str, problem: str) -> AuditedProbe:
    return AuditedProbe(name, probe(name), problem=problem)


def report(folder: Path, *probes: AuditedProbe, judge: str = "gpt", **changes: Any) -> AuditReport:
    usual: dict[str, Any] = {"grader": "llm", "scale": Scale(0, 2), "kappa": 0.87, "runs": (), "pairs": 100}
    return AuditReport(judge=judge, config=config(folder), probes=probes, **{**usual, **changes})
