"""What to distrust in a collection's results: each finding is one sentence, found only where it holds.

The thresholds say from where on a figure is worth a reader's doubt; the figures themselves are in the sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from quati_pool.agreement.pairwise import PairAgreement
from quati_pool.audit.outcomes import ProbeFindings, VariantResult
from quati_pool.commands.audit.audit import AuditedProbe
from quati_pool.commands.audit.figures import fooling_variants, pairs_of, seen, units, variant_name
from quati_pool.commands.evaluate import Condition, Evaluation
from quati_pool.commands.report import State
from quati_pool.evaluation.measures import resolve
from quati_pool.evaluation.qrels_comparison import RankingComparison, Swap
from quati_pool.records import FAILURES
from quati_pool.reporting.answers import completeness, wording
from quati_pool.reporting.answers.evaluate import missing_queries, unjudged, without_grade
from quati_pool.reporting.explorer import links
from quati_pool.reporting.formats.document import Link, Words
from quati_pool.text.display_width import beginning
from quati_pool.text.pluralize import counted, listed

LOW_TAU = 0.8
"""Orders of systems with a lower Kendall's τ differ noticeably (Voorhees, SIGIR 1998)."""
LOW_KAPPA = 0.4
"""A κ below this is at most fair (Landis and Koch 1977)."""
WIDE, FEW = 0.3, 50
"""The width of κ's interval, and the number of pairs, from where on agreement is hardly known."""
LENIENT = 0.1
"""The mean difference of two labelers' grades, as a share of the scale."""
ALONE = 0.5
"""The share of the pool's pairs that single systems brought."""
FALL = 2
"""The ranks that a system loses without its own pairs."""
AUDITS = "audits"
"""The id of a report's section on audits."""

_REASON = 90


def findings(state: State) -> list[Words]:
    """All findings that hold, the most important first."""
    return [finding for _, find in CHECKS for finding in find(state)]


def checked(state: State) -> list[str]:
    """What ``findings`` looks at, in words."""
    return list(dict.fromkeys(name for name, find in CHECKS if find is not fooled or state.audits))


def _first(state: State) -> Condition | None:
    return state.evaluation.conditions[0] if state.evaluation else None


def graders(state: State) -> Iterator[Words]:
    """Who graded, if that is nobody, one labeler, or no person."""
    there = [source for source in state.gathered.sources if len(source.qrels)]
    names = {source.name for source in there}
    # A distilled judge confirms nothing of those whose grades it learned from.
    graded = [one for one in there if not one.members or (one.grader == "distilled" and names.isdisjoint(one.members))]
    if not graded:
        yield "Nobody has graded anything, so no system can be measured."
    elif len(graded) == 1:
        what = {"program": ", a program,", "distilled": ", a distilled judge,"}.get(graded[0].grader, "")
        yield "Only ", _labeler(graded[0].name), f"{what} has graded, so nothing confirms its grades."
    elif all(source.grader in ("llm", "program", "distilled") for source in graded):
        named = wording.linked([source.name for source in graded], links.labeler)
        yield "No person has graded, so how far the grades of ", *named, " can be trusted is not known."
    if state.evaluation and state.evaluation.main and state.evaluation.main.name is None:
        several = wording.linked(state.evaluation.main.candidates, links.labeler)
        first = wording.name(state.evaluation.conditions[0].source.name)
        yield *several, f" could equally be the main labeler; the leaderboard uses the grades of {first}."


def left_out(state: State) -> Iterator[Words]:
    for name, problem in (state.ledger.problems if state.ledger else {}).items():
        yield f"The grades of {wording.name(name)} cannot be read: {beginning(problem, _REASON)}"


def sampled(state: State) -> Iterator[Words]:
    """A leaderboard under people's grades of a sample, in place of estimates."""
    condition = _first(state)
    if "estimates" in state.missing and condition is not None and condition.source.grader == "people":
        yield (
            "The leaderboard takes all pairs that people did not grade as not relevant, although they graded a sample; "
            "estimates are not possible yet."
        )


def lead(state: State) -> Iterator[Words]:
    """The system nearest to the best one that does not differ significantly from it."""
    condition = _first(state)
    if condition is None or len(condition.board.rows) < 2:
        return
    best = [row.run_tag for row in condition.board.rows if row.rank == 1]
    if len(best) == len(condition.board.rows):
        yield f"All {len(best):,} systems have the same mean, so none of them is ahead."
        return
    alike = [one for one in condition.comparisons if one.a in best and one.b not in best and not one.significant]
    if not alike:
        return
    nearest = alike[0]
    href = links.system(nearest.a, against=nearest.b, by=condition.source.name)
    words = f"{wording.name(nearest.a)} is not significantly better than {wording.name(nearest.b)}"
    ahead = f"{nearest.difference:.3f} ahead, " if nearest.difference and nearest.difference > 0 else ""
    more = len({one.b for one in alike}) - 1
    nor = f", nor than {counted(more, 'other system', 'other systems')}" if more else ""
    yield Link(words, href), f" ({ahead}Holm-adjusted {wording.p_value(nearest.p_holm)}){nor}."


def orders(state: State) -> Iterator[Words]:
    """Another best system under another labeler, or else another order."""
    evaluation = state.evaluation
    if evaluation is None:
        return
    condition = evaluation.conditions[0]
    others = [(b, found) for a, b, found in evaluation.compared if a is condition]
    swaps = [(swap, b) for b, found in others if (swap := _at_the_top(found))]
    if swaps:
        yield _other_best(evaluation, swaps)
        return
    low = [(value, found, b) for b, found in others if (value := found.tau.value) is not None and _differ(found)]
    if low:
        value, found, b = min(low, key=lambda one: one[0])
        tau = wording.with_interval(value, found.tau.interval, 2)
        href = links.labeler(b.source.name, against=condition.source.name)
        words = f"{wording.name(b.source.name)} and {wording.name(condition.source.name)} order the systems differently"
        yield Link(words, href), f": Kendall's τ {tau}, {len(found.swaps):,} of {found.pairs:,} pairs of systems swap."


def _differ(found: RankingComparison) -> bool:
    tau = found.tau
    return (tau.value is not None and tau.value < LOW_TAU) or (tau.interval.low is not None and tau.interval.low <= 0)


def _at_the_top(found: RankingComparison) -> Swap | None:
    """The swap of a best system under the first qrels with one under the second, if they have no best in common."""
    best_a = {system.run_tag for system in found.systems if system.rank_a == 1}
    best_b = {system.run_tag for system in found.systems if system.rank_b == 1}
    if best_a & best_b:
        return None
    return next((swap for swap in found.swaps if swap.better in best_a and swap.worse in best_b), None)


def _other_best(evaluation: Evaluation, swaps: list[tuple[Swap, Condition]]) -> Words:
    """The surest and widest of the swaps."""
    swap, b = min(swaps, key=lambda one: (not one[0].significant_b, one[0].difference_b))
    measure, first = evaluation.measures[0], wording.name(evaluation.conditions[0].source.name)
    href = links.system(swap.worse, against=swap.better, by=b.source.name, measure=measure)
    words = f"Under {wording.name(b.source.name)}, {wording.name(swap.worse)} is ahead of {wording.name(swap.better)}"
    more = len(swaps) - 1
    others = f"; {counted(more, 'more labeler puts', 'more labelers put')} another system first" if more else ""
    return (
        Link(words, href),
        f" by {-swap.difference_b:.3f} ({wording.p_value(swap.p_b)}); under {first} it is {swap.difference_a:.3f} "
        f"behind ({wording.p_value(swap.p_a)}){others}.",
    )


def kappas(state: State) -> Iterator[Words]:
    """The lowest κ with a person (with anybody, if nobody is a person), or else the least certain one."""
    pairs = [(kappa, pair) for pair in _judged_together(state) if (kappa := pair.values["kappa"]) is not None]
    low = [one for one in pairs if one[0] < LOW_KAPPA]
    if low:
        kappa, pair = min(low, key=lambda one: one[0])
        shown = wording.with_interval(kappa, pair.intervals.get("kappa"), 2)
        which = f"all {len(pairs):,}" if len(low) == len(pairs) else f"{len(low):,} of {len(pairs):,}"
        whom = "with a person" if {pair.a, pair.b} & set(state.gathered.people) else "of labelers"
        also = f"; it is below {LOW_KAPPA:g} for {which} pairs {whom}" if len(low) > 1 else ""
        yield _both(pair, "agree little"), f": Cohen's κ {shown} on {_on(pair)}{also}."
        return
    unsure = [pair for _, pair in pairs if pair.n < FEW or _width(pair) > WIDE]
    if unsure:
        pair = max(unsure, key=lambda one: (_width(one), -one.n))
        shown = wording.with_interval(pair.values["kappa"], pair.intervals.get("kappa"), 2)
        yield "How far ", _both(pair, "agree"), f" is hardly known: Cohen's κ {shown} on {_on(pair)}."


def _judged_together(state: State) -> list[PairAgreement]:
    """The compared labelers with a common pair; with a person among them, if there is one."""
    if state.agreement is None:
        return []
    people = set(state.gathered.people)
    pairs = [pair for pair in state.agreement.compared if pair.n]
    return [pair for pair in pairs if people & {pair.a, pair.b}] or pairs


def _width(pair: PairAgreement) -> float:
    ends = pair.intervals.get("kappa")
    return 0 if ends is None or ends.low is None or ends.high is None else ends.high - ends.low


def _both(pair: PairAgreement, what: str) -> Link:
    return Link(f"{wording.name(pair.a)} and {wording.name(pair.b)} {what}", links.pairs(pair.a, pair.b))


def _on(pair: PairAgreement) -> str:
    return f"{counted(pair.n, 'pair', 'pairs')} of {counted(pair.queries, 'query', 'queries')}"


def lenient(state: State) -> Iterator[Words]:
    """The widest mean difference of a labeler's grades from a person's, or from the first labeler's."""
    condition = _first(state)
    if condition is None or state.agreement is None:
        return
    reference = set(state.gathered.people) or {condition.source.name}
    wide = LENIENT * (max(state.gathered.scale) - min(state.gathered.scale))
    found = [pair for pair in state.agreement.compared if len({pair.a, pair.b} & reference) == 1]
    pair = max(found, key=lambda one: abs(one.values["difference"] or 0), default=None)
    difference = pair.values["difference"] if pair else None
    if pair is None or not difference or abs(difference) < wide:
        return
    judge, other = (pair.b, pair.a) if pair.a in reference else (pair.a, pair.b)
    higher = (difference > 0) == (judge == pair.a)
    words = f"{wording.name(judge)} grades {'higher' if higher else 'lower'} than {wording.name(other)}"
    yield Link(words, links.pairs(judge, other)), f": by {abs(difference):.2f} of a grade on average, on {_on(pair)}."


def fooled(state: State) -> Iterator[Words]:
    """The probes that fooled the first labeler, if that is a judge that was audited, the worst first."""
    condition = _first(state)
    audit = condition and state.audit(condition.source.name)
    if not audit:
        return
    found: list[tuple[AuditedProbe, ProbeFindings | VariantResult]] = [
        (one, next(iter(fooling_variants(one.findings)), one.findings))
        for one in audit.probes
        if one.findings and one.findings.verdict == "fooled"
    ]
    found.sort(key=lambda one: -one[1].excess.value if one[1].excess else 0)
    for one, worst in found[:1]:
        dangers = listed([each.probe.danger for each, _ in found])
        share = wording.percent(worst.fooled.hits, worst.fooled.n)
        pairs = f"{share} of {_changed(one, worst)} {seen(one, worst.fooled.n)}"
        yield Link(f"{wording.name(audit.judge)} fails its audit", f"#{AUDITS}"), f" ({dangers}): {pairs}."


def _changed(one: AuditedProbe, found: ProbeFindings | VariantResult) -> str:
    """What was changed, and how if that is one of several ways."""
    if isinstance(found, VariantResult):
        return f"{pairs_of(one, found.fooled.n)} ({variant_name(found)})"
    return units(one, found)


def revealed(state: State) -> Iterator[Words]:
    """Whose grades were led by a judge's most often."""
    led = max(state.gathered.sources, key=lambda source: source.revealed, default=None)
    if led is not None and led.revealed:
        grades = f"{led.revealed:,} of the {counted(len(led.qrels), 'grade', 'grades')}"
        yield f"{grades} of ", _labeler(led.name), " were given after seeing a judge's grade, and may follow it."


def without_majority(state: State) -> Iterator[Words]:
    """The pairs of the sample on which people's grades tie."""
    found = state.estimates and state.estimates.drawn.without_majority
    if found:
        yield f"In the estimates, {found}."


def unjudged_at_top(state: State) -> Iterator[Words]:
    condition = _first(state)
    yield from unjudged(condition) if condition else ()


def ungraded(state: State) -> Iterator[Words]:
    """Pairs that the first labeler has not graded, and where another labeler failed most."""
    condition = _first(state)
    if condition:
        yield from without_grade(condition.source)
    failures = {
        source.name: counts
        for source in state.gathered.sources
        if not source.members and (condition is None or source is not condition.source)
        if (counts := {name: source.lacking.get(name, 0) for name in FAILURES}) and any(counts.values())
    }
    if failures:
        name = max(failures, key=lambda one: sum(failures[one].values()))
        failed = counted(sum(failures[name].values()), "answer", "answers")
        reasons = wording.counts(sorted((str(state), count) for state, count in failures[name].items()))
        yield f"{failed} of ", _labeler(name), f" gave no grade ({reasons})."


def reusable(state: State) -> Iterator[Words]:
    """The system that loses most ranks without the pairs that only it brought."""
    condition = _first(state)
    if condition is None or state.evaluation is None or isinstance(condition.quality, str):
        return
    measure = state.evaluation.measures[0]
    fed = [one for one in condition.quality.systems.systems if one.depth]
    one = min(fed, key=lambda one: one.measures[measure].rank_change)
    change = one.measures[measure]
    if -change.rank_change < (1 if change.rank_before == 1 else FALL):
        return
    pairs = counted(one.unique_pairs, "judged pair", "judged pairs")
    yield (
        "A system outside the pool may rank too low: without the ",
        Link(f"{pairs} that {wording.name(one.run_tag)} alone brought", links.alone(one.run_tag)),
        f", it falls from rank {change.rank_before} to {change.rank_after}.",
    )


def alone(state: State) -> Iterator[Words]:
    """A large share of pairs that one system alone brought, and who brought most of them."""
    found = state.pool.diversity
    share = found.union.unique_share
    if share is None or share <= ALONE or len(found.systems) < 2:
        return
    most = max(found.systems, key=lambda one: one.unique)
    system = Link(f"{wording.name(most.name)} alone", links.alone(most.name))
    yield f"{wording.share(share)} of the pairs come from one system only, {most.unique:,} from ", system, "."


def queries(state: State) -> Iterator[Words]:
    """Judged queries without a relevant document, queries that runs lack, and queries without pairs."""
    condition = _first(state)
    if condition:
        scores, by = condition.scores, condition.source.name
        ids = [one for one, without in zip(scores.query_ids, scores.without_relevant, strict=True) if without]
        if ids:
            named = wording.linked(ids, lambda query_id: links.query(query_id, by=by))
            of = f"{len(ids):,} of {counted(len(scores.query_ids), 'query has', 'queries have')}"
            yield f"{of} no relevant document under {wording.name(by)} (", *named, ")."
        yield from missing_queries(condition)
    without = state.pool.queries_without_pairs
    if without:
        named = wording.linked(without, links.query)
        yield f"{counted(len(without), 'query has', 'queries have')} no pair in the pool (", *named, ")."


def incomplete(state: State) -> Iterator[Words]:
    """What the pool lacks, where queries need more."""
    report = state.completeness
    if report is None or report.found is None or report.labeler is None or not report.found.needing_more:
        return
    found, by = report.found, report.labeler
    need = [query.query_id or "" for query in found.needing_more]
    named = wording.linked(need, lambda query_id: links.query(query_id, by=by))
    are = counted(len(need), "query needs", "queries need")
    yield f"{completeness.lacking(found, by)}; {are} more (", *named, ")."


def outside(state: State) -> Iterator[Words]:
    """Systems that are measured but did not feed the pool, and systems that are not measured."""
    condition = _first(state)
    if condition is None:
        return
    depths = dict(zip(state.pool.pool.run_tags, state.pool.pool.depths.tolist(), strict=True))
    tags = [row.run_tag for row in condition.board.rows if not depths.get(row.run_tag)]
    if tags:
        systems = wording.linked(tags, lambda run_tag: links.system(run_tag, by=condition.source.name))
        what = "what it alone returns" if len(tags) == 1 else "what they alone return"
        yield *systems, f" did not feed the pool: {what} is unjudged."
    absent = list(condition.run_set.absent)
    if absent:
        are = "is" if len(absent) == 1 else "are"
        yield f"{wording.names(absent)} {are} not measured, for want of a finished run."


def deep(state: State) -> Iterator[Words]:
    """Measures that look deeper than the pool."""
    condition, depths = _first(state), [depth for depth in state.pool.pool.depths.tolist() if depth]
    if condition is None or state.evaluation is None or not depths:
        return
    cutoffs = {str(one): one.params.get("cutoff") for one in resolve(state.evaluation.measures) if one.NAME != "Judged"}
    deeper = [name for name, cutoff in cutoffs.items() if cutoff is None or cutoff > min(depths)]
    counted_at = condition.holes[0].cutoffs
    deepest = max(cutoffs[name] or max(counted_at) for name in deeper) if deeper else 0
    cutoff = min((one for one in counted_at if one >= deepest), default=max(counted_at))
    shares = {one.run_tag: one.cutoffs[cutoff].share or 0 for one in condition.holes}
    worst = max(shares, key=lambda run_tag: shares[run_tag])
    if not deeper or not shares[worst]:
        return
    system = Link(wording.name(worst), links.system(worst, by=condition.source.name))
    looks, pooled = "looks" if len(deeper) == 1 else "look", counted(min(depths), "document", "documents")
    yield (
        f"{wording.names(deeper)} {looks} deeper than the pool ({pooled} of a system): up to "
        f"{wording.share(shares[worst])} of the first {cutoff} are unjudged (",
        system,
        ").",
    )


def texts(state: State) -> Iterator[Words]:
    if state.pool.without_text:
        pairs = counted(state.pool.without_text, "pair has", "pairs have")
        yield f"{pairs} no text and cannot be judged."


def truncated(state: State) -> Iterator[Words]:
    """Runs that are too short for a measure."""
    condition = _first(state)
    for one in condition.truncated if condition else ():
        systems = wording.linked(one.run_tags, links.system)
        measures = list(dict.fromkeys([*one.measures, *(lacking.measure for lacking in one.incomplete)]))
        hold, need = "holds" if len(one.run_tags) == 1 else "hold", "needs" if len(measures) == 1 else "need"
        depth = counted(one.depth, "document", "documents")
        yield *systems, f" {hold} {depth} per query, fewer than {wording.names(measures)} {need}."


def _labeler(name: str) -> Link:
    return Link(wording.name(name), links.labeler(name))


CHECKS: tuple[tuple[str, Callable[[State], Iterator[Words]]], ...] = (
    ("who graded", graders),
    ("who graded", left_out),
    ("who graded", sampled),
    ("the lead of the best system", lead),
    ("the order of systems under each labeler", orders),
    ("agreement", kappas),
    ("what fools the judge", fooled),
    ("lenient labelers", lenient),
    ("grades given after seeing a judge's", revealed),
    ("pairs on which people's grades tie", without_majority),
    ("unjudged documents at the top", unjudged_at_top),
    ("pairs without a grade", ungraded),
    ("systems outside the pool", outside),
    ("what leaving a system out changes", reusable),
    ("relevant documents outside the pool", incomplete),
    ("queries without pairs or relevant documents", queries),
    ("pairs that one system alone brought", alone),
    ("the depth of the pool", deep),
    ("truncated runs", truncated),
    ("pairs without text", texts),
)
"""What is checked, in words, and how; the most important first."""
