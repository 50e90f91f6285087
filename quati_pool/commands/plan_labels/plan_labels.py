"""``quati-pool plan-labels``: what a budget of money and hours buys, for each way to spend it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Literal

from quati_pool.commands.estimates.inputs import chosen_runs, one_state
from quati_pool.commands.estimates.plan import Effort, Planning, effort_of, planned_from, seconds_of_labels
from quati_pool.commands.estimates.plan_settings import PlanSettings
from quati_pool.commands.estimates.settings import EstimateSettings, measures_of
from quati_pool.commands.estimates.sources import chosen_judge
from quati_pool.commands.plan_labels.judge_cost import JudgeCost, judge_cost
from quati_pool.commands.plan_labels.means import Means, PersonCost
from quati_pool.commands.plan_labels.recall import (
    JUDGE_ORDER,
    WHOLE,
    Curve,
    Recalls,
    adaptive_methods,
    own_recalls,
    read_recalls,
)
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.estimation.pair_measures import served_by_pairs
from quati_pool.estimation.planning import LEAST_PAIRS, TriedDesign
from quati_pool.estimation.results import Target
from quati_pool.labels.gathered import Gathered, LabelFiles, LabelSource
from quati_pool.labels.main_labeler import Candidate, main_labeler
from quati_pool.labels.sources import gather
from quati_pool.pooling.candidates import Candidates, candidates
from quati_pool.pooling.replay.results import Budget
from quati_pool.project.config import JudgeConfig, PeopleConfig, PoolConfig, load_config
from quati_pool.project.config.pooling import DEPTH
from quati_pool.project.events import Listener
from quati_pool.project.runs import RunSet
from quati_pool.stats.sample_sizes import FEWEST_QUERIES

StrategyName = Literal[
    "depth", "adaptive", "adaptive-moving", "judge-order", "judge-order-moving", "random-queries", "pairs-for"
]
_NOT_COVERED = "no interval covers the documents that nobody graded"
_PANEL = "panel"


@dataclass(frozen=True, kw_only=True)
class PlanLabelsSettings:
    """What there is to spend: ``budget`` in US dollars and, if not None, people's ``hours``. ``cost_person`` is such as
    20/h or 0.25/label, ``cost_judge`` a judge's name or US dollars per pair; None takes the only judge. ``replay`` is
    a replay-pools.json of another collection, from which recall is read instead of from this one's grades."""

    budget: float
    cost_person: str
    hours: float | None = None
    cost_judge: str | None = None
    seconds_per_label: float | None = None
    minutes_per_query: float | None = None
    measure: str | None = None
    target: Target = "these-queries"
    replay: Path | None = None

    def check(self) -> None:
        """Raises ConfigError for values that nothing can be planned with."""
        for option, value in (("--budget", self.budget), ("--hours", self.hours)):
            if value is not None and not 0 < value < inf:
                raise ConfigError(f"{option} is {value:g}; give a number above 0")
        for option, value in (
            ("--seconds-per-label", self.seconds_per_label),
            ("--minutes-per-query", self.minutes_per_query),
        ):
            if value is not None and not 0 <= value < inf:
                raise ConfigError(f"{option} is {value:g}; give 0 or more")

    def planned(self, judge: str | None = None, people: str | None = None) -> PlanSettings:
        """The settings of the plan of an estimate. As sizes are given, any half-width will do."""
        measures = None if self.measure is None else [self.measure]
        of = EstimateSettings(measures=measures, targets=(self.target,), judge=judge, people=people)
        return PlanSettings(
            estimate=of,
            half_width=inf,
            seconds_per_label=self.seconds_per_label,
            minutes_per_query=self.minutes_per_query,
        )


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """One way to spend the budget, and what it buys.

    ``labels_people`` in ``queries`` take ``hours`` and ``dollars_people``; ``labels_judge`` are the pairs that the
    judge grades, of which those that it has not graded yet cost ``dollars_judge``. ``recall`` is the expected share of
    the relevant documents among the candidates that people see; ``half_width`` that of the 95 % interval of a system's
    mean, on average over the systems. What is None has its reason in ``undefined``. ``pool`` is the line for pool.yaml,
    None where it stays as it is; ``commands`` come after it.
    """

    name: StrategyName
    method: str | None = None
    budget: Budget | None = None
    labels_people: int | None = None
    labels_judge: int = 0
    queries: int | None = None
    dollars_people: float | None = None
    dollars_judge: float = 0.0
    hours: float | None = None
    recall: float | None = None
    half_width: float | None = None
    pool: str | None = None
    commands: tuple[str, ...] = ()
    undefined: Mapping[str, str] = field(default_factory=dict)

    @property
    def dollars(self) -> float | None:
        return None if self.dollars_people is None else self.dollars_people + self.dollars_judge


@dataclass(frozen=True, eq=False)
class PlanLabelsReport:
    """The result of ``plan_labels``. ``candidates`` and ``queries`` count those that may be pooled. ``recalls`` says
    whose grades recall is from. ``correlation`` is what half-widths were planned from where labels did not do, None
    where they did, and ``labels`` of ``labelled`` queries by ``people`` are these; ``judge`` steers and predicts."""

    config: PoolConfig
    settings: PlanLabelsSettings
    cost_person: PersonCost
    cost_judge: JudgeCost | None
    effort: Effort
    measure: str
    candidates: int
    queries: int
    recalls: Recalls
    judge: str | None
    people: str | None
    labels: int
    labelled: int
    correlation: float | None
    strategies: tuple[Strategy, ...]
    warnings: tuple[str, ...] = ()


def plan_labels(
    config_path: Path, settings: PlanLabelsSettings, *, listener: Listener | None = None
) -> PlanLabelsReport:
    """Plans how to spend a budget in a workspace whose runs are built.

    Raises QuatiPoolError without runs or a pool, for a budget that pays for no label, for a judge whose price is not
    known, and where neither the workspace's grades nor a replay say what methods find.
    """
    settings.check()
    cost_person, listener = PersonCost.of(settings.cost_person), listener or Listener()
    config = load_config(config_path)
    measure = _measure(settings, config)
    run_set = chosen_runs(config, [])
    depths = {run.run_tag: config.pool_depth(run.run_tag) for run in run_set.runs}
    frame = candidates(run_set.runs, depths)
    price = judge_cost(config, settings.cost_judge, listener)
    with one_state(config, None) as (store, _):
        from quati_pool.labels.labelers import Grading

        assert store is not None
        gathered = gather(config, [], LabelFiles(), store=store)
        grading = Grading(config, store)
        pooled = sum(map(len, grading.pairs()))
        effort = effort_of(settings.planned(), tuple(seconds_of_labels(grading)))
    judge = _judge(gathered, price)
    work = _Work(config, settings, run_set, frame, gathered, judge, price, cost_person, effort, measure, pooled)
    work.refuse_too_little()
    listener.progress("plan", 0, 0)
    recalls = work.recalls()
    planning, lacking = work.planning(recalls, listener)
    strategies = tuple(work.strategies(recalls, planning, lacking))
    from_labels = planning is not None and planning.from_labels
    return PlanLabelsReport(
        config=config,
        settings=settings,
        cost_person=cost_person,
        cost_judge=price,
        effort=effort,
        measure=measure,
        candidates=len(frame),
        queries=work.queries,
        recalls=recalls,
        judge=work.judge_name,
        people=planning.known.people if planning is not None and from_labels else None,
        labels=planning.labels if planning is not None else 0,
        labelled=planning.labelled if planning is not None else 0,
        correlation=planning.correlation if planning is not None and not from_labels else None,
        strategies=strategies,
        warnings=(*run_set.warnings, *(planning.warnings if planning is not None else ())),
    )


def _measure(settings: PlanLabelsSettings, config: PoolConfig) -> str:
    found = measures_of(settings.planned().estimate, config)
    if len(found) > 1:
        raise ConfigError(f"--measure {settings.measure}: one measure is planned at a time; name one")
    return found[0]


def _judge(gathered: Gathered, price: JudgeCost | None) -> LabelSource | None:
    """The judge whose grades there are: the one that was named, or that ``estimate`` would take; None without any."""
    if price is not None and price.name is not None:
        return next((one for one in gathered.sources if one.name == price.name), None)
    try:
        return chosen_judge(gathered, EstimateSettings())
    except QuatiPoolError:
        return None


@dataclass(frozen=True, eq=False)
class _Work:
    """What a plan is made from. ``pooled`` is the number of the pool's pairs; the candidates may be more."""

    config: PoolConfig
    settings: PlanLabelsSettings
    run_set: RunSet
    frame: Candidates
    gathered: Gathered
    judge: LabelSource | None
    price: JudgeCost | None
    cost: PersonCost
    effort: Effort
    measure: str
    pooled: int

    @property
    def means(self) -> Means:
        return Means(
            dollars=self.settings.budget,
            hours=self.settings.hours,
            cost=self.cost,
            seconds_per_label=self.effort.seconds_per_label,
            minutes_per_query=self.effort.minutes_per_query,
        )

    @property
    def queries(self) -> int:
        return int((self.frame.sizes > 0).sum())

    @property
    def judge_name(self) -> str | None:
        if self.price is not None and self.price.name is not None:
            return self.price.name
        return None if self.judge is None else self.judge.name

    def refuse_too_little(self) -> None:
        """Raises ConfigError for a budget that pays for no label."""
        if not self.means.labels(self.queries, len(self.frame)):
            one = self.means.dollars_of(1, 1), 60 * self.means.hours_of(1, 1)
            raise ConfigError(
                f"--budget {self.settings.budget:g} and the hours pay for no label: one, with reading into its query, "
                f"takes US$ {one[0]:.2f} and {one[1]:.1f} min of a person's time; give more"
            )

    # ---- recall

    def recalls(self) -> Recalls:
        if self.settings.replay is not None:
            return read_recalls(self.settings.replay)
        runs = [run.head(depth) for run in self.run_set.runs if (depth := self.config.pool_depth(run.run_tag))]
        scale = sorted(self.config.grades)
        for truth in self._truths():
            judge = self.judge if self._graded_all(self.judge) and truth.grader == "people" else None
            found = own_recalls(
                runs, self.frame, truth, judge, scale, self.config.pool.relevant_from(scale), self._shares()
            )
            if found is not None:
                return found
        raise ConfigError(
            f"no labeler has graded {100 * WHOLE:.0f} % of the {len(self.frame):,} candidates, so that nothing says "
            "what methods would find; run: quati-pool judge, or name a replay of another collection: --replay "
            "replay-pools.json (quati-pool replay pools)"
        )

    def _truths(self) -> Iterator[LabelSource]:
        """The labelers whose grades may say what is relevant: people's first, then the judge's."""
        people = [one for one in self.gathered.sources if one.grader == "people" and one.qrels.sample is None]
        able = {one.name: one for one in people if self._graded_all(one)}
        if able:
            found = main_labeler(
                [Candidate(one.name, one.grader, len(one.qrels), one.members) for one in able.values()]
            )
            yield able[found.name] if found.name is not None else max(able.values(), key=lambda one: len(one.qrels))
        if self.judge is not None:
            yield self.judge

    def _graded_all(self, source: LabelSource | None) -> bool:
        return source is not None and len(source.qrels) >= WHOLE * len(self.frame)

    def _shares(self) -> Iterator[float]:
        """The shares of the candidates that people can grade without the judge, and after it has graded them."""
        total = len(self.frame)
        yield self.means.labels(self.queries, total) / total
        if self.price is not None:
            yield self.means.labels(self.queries, total, self._judge_dollars(total)) / total

    # ---- what the judge costs

    def _judge_dollars(self, pairs: int) -> float:
        """US dollars for what the judge has still to grade of the pool, or of so many candidates."""
        assert self.price is not None
        left = self.price.left
        if left is None:
            left = self.pooled - (0 if self.judge is None else min(len(self.judge.qrels), self.pooled))
        return self.price.of(left + max(0, pairs - self.pooled))

    # ---- strategies

    def planning(self, recalls: Recalls, listener: Listener) -> tuple[Planning | None, str]:
        """What half-widths are planned from; None with the reason if there is nothing."""
        complete = recalls.truth if recalls.by_people and recalls.replay is None else None
        if served_by_pairs(self.measure) is None:
            return None, f"{self.measure} is no sum over pairs, and cannot be tried out; plan nDCG@10, DCG@10 or P@10"
        if self.judge is None:
            name = "" if self.judge_name is None else f" {self.judge_name}"
            return None, f"no judge has graded the pool, which is planned from; run: quati-pool judge{name}"
        try:
            settings = self.settings.planned(self.judge.name, complete)
            return planned_from(self.config.path, settings, LabelFiles(), listener=listener), ""
        except QuatiPoolError as error:
            return None, str(error)

    def strategies(self, recalls: Recalls, planning: Planning | None, lacking: str) -> Iterator[Strategy]:
        total = len(self.frame)
        labels = self.means.labels(self.queries, total)
        share = labels / total
        depth = recalls.of(DEPTH, "per-query", "people")
        yield self._pool(Strategy(name="depth", method=DEPTH, budget="per-query"), labels, depth, recalls)
        for budget, name in _BUDGETS["adaptive"]:
            best = recalls.best_adaptive(budget, share)
            method = best.method if best is not None else adaptive_methods()[0]
            yield self._pool(Strategy(name=name, method=method, budget=budget), labels, best, recalls)
        yield from self._in_judge_order(recalls)
        yield from self._with_judge_everywhere(planning, lacking)

    def _in_judge_order(self, recalls: Recalls) -> Iterator[Strategy]:
        total = len(self.frame)
        for budget, name in _BUDGETS[JUDGE_ORDER]:
            strategy = Strategy(name=name, method=JUDGE_ORDER, budget=budget)
            dollars, lacking = self._judge_bill(total)
            if lacking is not None:
                yield _unaffordable(strategy, lacking, dollars, total)
                continue
            strategy = replace(strategy, labels_judge=total, dollars_judge=dollars)
            labels = self.means.labels(self.queries, total, dollars)
            if not labels:
                yield _unaffordable(strategy, "what the judge leaves pays for no label", dollars, total)
                continue
            curve = recalls.of(JUDGE_ORDER, budget, "judge")
            yield self._pool(strategy, labels, curve, recalls)

    def _pool(self, strategy: Strategy, labels: int, curve: Curve | None, recalls: Recalls) -> Strategy:
        """The strategy in which people grade a pool of ``labels`` pairs."""
        total, undefined = len(self.frame), {}
        queries = min(labels, self.queries)
        recall = 1.0 if labels >= total else None if curve is None else curve.at(labels / total)
        if recall is None:
            undefined["recall"] = _no_recall(strategy, curve, recalls, labels / total)
        half_width = 0.0 if labels >= total and self.settings.target == "these-queries" else None
        if half_width is None:
            undefined["half_width"] = _NOT_COVERED if labels < total else "estimate says it once people have graded all"
        pool, commands = self._how(strategy, labels)
        return replace(
            strategy,
            labels_people=labels,
            queries=queries,
            hours=self.means.hours_of(labels, queries),
            dollars_people=self.means.dollars_of(labels, queries),
            recall=recall,
            half_width=half_width,
            pool=pool,
            commands=commands,
            undefined=undefined,
        )

    def _how(self, strategy: Strategy, labels: int) -> tuple[str, tuple[str, ...]]:
        """The line of pool.yaml, and the commands."""
        depth = self.config.pool.depth
        limit = f"budget: {labels}"
        if strategy.budget == "per-query" and strategy.method != DEPTH:
            limit = f"per_query: {max(1, labels // self.queries)}"
        panels = [name for name, one in self.config.judges.items() if isinstance(one, PeopleConfig)]
        people = ("quati-pool build", "quati-pool assign --all", "quati-pool annotate")
        if strategy.method == DEPTH:
            return f"pool: {{depth: {depth}, {limit}}}", people
        by_judge = strategy.method == JUDGE_ORDER
        steered_by = self.judge_name if by_judge else (panels or [_PANEL])[0]
        pool = f"pool: {{method: {strategy.method}, depth: {depth}, {limit}, steered_by: {steered_by}}}"
        if by_judge:
            asks = isinstance(self.config.judges.get(steered_by or ""), JudgeConfig)
            return pool, (f"quati-pool judge --adaptive {steered_by}" if asks else people[0], *people[1:])
        return pool if panels else f"{pool}  # and under judges:  {_PANEL}: {{people: majority}}", people

    def _with_judge_everywhere(self, planning: Planning | None, lacking: str) -> Iterator[Strategy]:
        """Whole queries, and pairs for the measure, drawn at random after the judge has graded the whole pool."""
        whole, pairs = Strategy(name="random-queries"), Strategy(name="pairs-for")
        dollars, too_dear = self._judge_bill(self.pooled)
        if too_dear is not None:
            yield _unaffordable(whole, too_dear, dollars, self.pooled)
            yield _unaffordable(pairs, too_dear, dollars, self.pooled)
            return
        size = self.pooled / self.queries
        queries = self.means.whole_queries(size, self.queries, dollars)
        labels = self.means.labels(self.queries, self.pooled, dollars)
        tried: tuple[TriedDesign | None, TriedDesign | None] = (None, None)
        served = served_by_pairs(self.measure)
        if planning is not None and served is not None:
            ((_, *given),) = planning.given(served, queries, labels)
            tried = (given[0], given[1])
        whole, pairs = (replace(one, labels_judge=self.pooled, dollars_judge=dollars) for one in (whole, pairs))
        yield self._queries(whole, queries, size, tried[0], lacking)
        yield self._pairs(pairs, labels, tried[1], lacking, measurable=served is not None)

    def _queries(
        self, strategy: Strategy, queries: int, size: float, tried: TriedDesign | None, lacking: str
    ) -> Strategy:
        if not queries:
            return _unaffordable(strategy, "what the judge leaves pays for no whole query", strategy.dollars_judge)
        labels, undefined = round(queries * size), {}
        if tried is None:
            undefined["half_width"] = lacking or f"an interval takes {FEWEST_QUERIES} queries or more"
        return replace(
            strategy,
            labels_people=labels,
            queries=queries,
            hours=self.means.hours_of(queries * size, queries),
            dollars_people=self.means.dollars_of(queries * size, queries),
            recall=queries / self.queries,
            half_width=None if tried is None else tried.figure,
            commands=self._drawing(f"--random-queries {queries}"),
            undefined=undefined,
        )

    def _pairs(
        self, strategy: Strategy, labels: int, tried: TriedDesign | None, lacking: str, *, measurable: bool
    ) -> Strategy:
        if not labels:
            return _unaffordable(strategy, "what the judge leaves pays for no label", strategy.dollars_judge)
        if not measurable:
            return _unaffordable(strategy, f"drawn pairs cannot serve {self.measure}", strategy.dollars_judge)
        labels = labels if tried is None else tried.labels
        queries = min(labels, self.queries)
        undefined = {"recall": "pairs are drawn for the measure, not for what is relevant"}
        half_width = None if tried is None else tried.figure
        if tried is None:
            undefined["half_width"] = lacking or f"an interval takes {LEAST_PAIRS} pairs or more"
        elif tried.count < tried.least:
            half_width = None
            undefined["half_width"] = (
                f"the ideal ranking of {self.measure} takes about {min(tried.least, self.pooled):,.0f} pairs"
            )
        return replace(
            strategy,
            labels_people=labels,
            queries=queries,
            hours=self.means.hours_of(labels, queries),
            dollars_people=self.means.dollars_of(labels, queries),
            half_width=half_width,
            commands=self._drawing(f"--pairs-for {self.measure} --expect {labels}"),
            undefined=undefined,
        )

    def _drawing(self, options: str) -> tuple[str, ...]:
        """The commands that draw and estimate, once the judge has graded the pool."""
        name = None if self.price is None else self.price.name
        judging = (
            [f"quati-pool judge {name}"] if name is not None and self.price is not None and self.price.left else []
        )
        return (*judging, f"quati-pool assign {options}", "quati-pool annotate", "quati-pool estimate")

    def _judge_bill(self, pairs: int) -> tuple[float, str | None]:
        """US dollars for the judge's grades of ``pairs``, and why they cannot be paid, None if they can."""
        if self.price is None:
            if self._graded_all(self.judge):
                return 0.0, None
            return 0.0, "which judge, and at what cost, is not known; add --cost-judge"
        dollars = self._judge_dollars(pairs)
        if dollars > self.settings.budget:
            return dollars, f"the judge alone costs US$ {dollars:,.2f}"
        return dollars, None


_BUDGETS: Mapping[str, Sequence[tuple[Budget, StrategyName]]] = {
    "adaptive": (("per-query", "adaptive"), ("moving", "adaptive-moving")),
    JUDGE_ORDER: (("per-query", "judge-order"), ("moving", "judge-order-moving")),
}


def _unaffordable(strategy: Strategy, reason: str, dollars: float, labels_judge: int | None = None) -> Strategy:
    """The strategy without anything that it buys."""
    names = ("labels_people", "dollars_people", "dollars", "hours", "queries", "recall", "half_width")
    labels = strategy.labels_judge if labels_judge is None else labels_judge
    return replace(strategy, labels_judge=labels, dollars_judge=dollars, undefined=dict.fromkeys(names, reason))


def _no_recall(strategy: Strategy, curve: Curve | None, recalls: Recalls, share: float) -> str:
    if curve is not None:
        most, least = curve.shares[-1], curve.recalls[-1]
        return (
            f"{100 * share:.0f} % of the candidates are more than the replay's {100 * most:.0f} %, with which "
            f"{least:.3f} was found"
        )
    if strategy.method == JUDGE_ORDER and recalls.replay is None:
        if not recalls.by_people:
            return f"the grades of {recalls.truth} say what is relevant here, and its own order is right by them"
        return "no judge has graded all candidates"
    if all(one.method != strategy.method for one in recalls.curves):
        return f"the replay has no {strategy.method}"
    steered = "the judge" if strategy.method == JUDGE_ORDER else "people"
    budget = "a moving budget" if strategy.budget == "moving" else "a fixed budget per query"
    option = " with --steered-by judge" if strategy.method == JUDGE_ORDER and strategy.budget == "moving" else ""
    return f"the replay has no {strategy.method} with {budget} steered by {steered}; replay it{option}"
