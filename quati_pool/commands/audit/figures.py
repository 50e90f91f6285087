"""How the figures of an audit are written, on its card and in a release."""

from __future__ import annotations

import math

from quati_pool.audit.outcomes import ProbeFindings, VariantResult
from quati_pool.commands.audit.audit import AuditedProbe
from quati_pool.stats.shares import Difference, Share
from quati_pool.text.pluralize import counted

_DRAWN = {"irrelevant": "irrelevant ", "relevant": "relevant ", "any": ""}
_MOST_DECIMALS = 4


def fooling_variants(found: ProbeFindings) -> tuple[VariantResult, ...]:
    """The variants that fooled a judge, the worst first, where the mean over all variants does not show it."""
    if found.excess is not None and found.excess.low > found.bound:
        return ()
    return found.fooled_by


def worse_variant(one: AuditedProbe, found: ProbeFindings) -> VariantResult | None:
    """The worst variant where all variants together fooled a judge and it did so more than they, by its interval."""
    worst = found.fooled_by[0] if found.fooled_by and not fooling_variants(found) else None
    if worst is None or worst.excess is None or found.excess is None or one.probe.every_variant:
        return None
    return worst if worst.excess.low > found.excess.value else None


def variant_name(result: VariantResult) -> str:
    return f"repetition {result.name}" if result.name.isdecimal() else result.name


def units(one: AuditedProbe, found: ProbeFindings) -> str:
    """What a probe's share counts: ``100 irrelevant pairs``, or ``200 answers about 100 pairs`` where each pair was
    changed in several ways."""
    if one.probe.every_variant and one.pairs < len(one.cases):
        return f"{counted(found.fooled.n, 'answer', 'answers')} about {pairs_of(one, one.pairs)}"
    return pairs_of(one, found.fooled.n)


def pairs_of(one: AuditedProbe, number: int) -> str:
    """``100 irrelevant pairs``, by the kind of pairs that a probe changes."""
    kind = _DRAWN[one.probe.drawn]
    return counted(number, f"{kind}pair", f"{kind}pairs")


def seen(one: AuditedProbe, number: int) -> str:
    """What a probe says of a number of pairs, as the end of a sentence."""
    words = one.probe.seen
    return f"was {words.removeprefix('were ')}" if number == 1 and words.startswith("were ") else words


def share(found: Share) -> str:
    """``34 %``; a dash without units."""
    return "–" if found.share is None else f"{percent(found)} %"


def percent(found: Share) -> str:
    """``34``; a share is shown as 0 or 100 only if it is, and as a dash without units."""
    value = found.share
    if value is None:
        return "–"
    if 0 < value < 0.005:
        return "< 1"
    return "> 99" if 0.995 <= value < 1 else f"{100 * value:.0f}"


def interval(found: Share | Difference, bound: float | None) -> str:
    """``22 to 40 %``, with the decimals of ``ends``."""
    return f"{ends(found, bound)} %"


def ends(found: Share | Difference, bound: float | None) -> str:
    """``22 to 40``: an interval in percent, with decimals where both ends would look the same, and where an end would
    look as if it were on the other side of the bound."""
    for decimals in range(_MOST_DECIMALS + 1):
        low, high = (_end(end, bound, decimals) for end in (found.low, found.high))
        if low != high:
            break
    else:
        low, high = (_end(end, bound, 0) for end in (found.low, found.high))
    return f"{low} to {high}"


def _end(value: float, bound: float | None, fewest: int) -> str:
    whole = round(100 * value)
    if math.isclose(100 * value, whole, abs_tol=1e-9):
        return f"{whole}"
    for decimals in range(fewest, _MOST_DECIMALS + 1):
        shown = f"{100 * value:z.{decimals}f}"
        if bound is None or (float(shown) > round(100 * bound, 9)) == (value > bound):
            break
    return shown


def limit(bound: float) -> str:
    """``10 %``: a bound."""
    return f"{100 * bound:g} %"
