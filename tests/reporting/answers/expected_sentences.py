"""What the sentences of an opening must say: numbers and names, chosen from the JSON of commands alone."""

from __future__ import annotations

import re
from typing import Any

from quati_pool.commands.report import State
from quati_pool.reporting.json_data import agree as agree_data
from quati_pool.reporting.json_data import build as build_data
from quati_pool.reporting.json_data import completeness as completeness_data
from quati_pool.reporting.json_data import evaluate as evaluate_data

SYSTEMS = ["alfa", "bravo", "carlos", "delta", "eco"]
LABELERS = ["ana", "bia", "judge", "panelist", "rules"]
MEASURE = "nDCG@10"
Row = dict[str, Any]


def tokens(sentence: str) -> list[str]:
    """The numbers, and the names of systems, labelers and queries, in their order."""
    names = "|".join([*SYSTEMS, *LABELERS, *(f"q{chr(97 + n)}" for n in range(8))])
    return re.findall(
        rf"\b(?:{names})\b|-?\d+(?:,\d{3})*(?:\.\d+)?", sentence.replace(MEASURE, "M").replace("P@5", "P")
    )


def p_value(p: float | None) -> list[str]:
    return [] if p is None else ["0.0001" if p < 0.0001 else f"{p:.2g}"]


def valued(value: float | None, ends: list[float | None] | None, decimals: int = 2, level: bool = False) -> list[str]:
    if value is None:
        return []
    low, high = ends or (None, None)
    shown = [f"{number:z.{decimals}f}" for number in (value, low, high) if number is not None]
    return [*shown[:1], *["95"] * (level and len(shown) > 1), *shown[1:]]


def named(names: list[str], most: int = 3) -> list[str]:
    return [*names[:most], *([str(len(names) - most)] if len(names) > most else [])]


class Expected:
    """What the sentences must say, from the JSON alone."""

    def __init__(self, made: State) -> None:
        assert made.evaluation is not None
        self.evaluated: Row = evaluate_data.as_data(made.evaluation)
        self.agreed: Row | None = agree_data.as_data(made.agreement) if made.agreement else None
        self.built: Row = build_data.as_data(made.pool)
        self.first: Row = self.evaluated["qrels"][0]
        self.runs: list[Row] = self.first["runs"]
        self.by: str = self.first["name"]
        self.best = [run["run_tag"] for run in self.runs if run["rank"] == 1]
        self.comparisons: list[Row] = self.first["comparisons"][MEASURE]
        self.orders = [one for one in self.evaluated["rank_correlation"] if one["a"] == self.by]
        self.pairs: list[Row] = [pair for pair in self.agreed["pairs"] if pair["n"]] if self.agreed else []
        self.people: list[str] = self.agreed["people"] if self.agreed else []
        self.lacking: Row = self.first["without_grade"]
        self.completeness: Row | None = completeness_data.as_data(made.completeness)

    def mean(self, run: Row, level: bool = False) -> list[str]:
        found = run["measures"][MEASURE]
        return valued(found["mean"], [found["low"], found["high"]], 3, level)

    def candidates(self) -> list[str]:
        """Those that the JSON names where it says why there is no main labeler, and whose leaderboard is shown."""
        candidates, found, _ = self.evaluated["undefined"]["main_labeler"].partition(" could equally")
        assert found
        names = tokens(candidates)
        assert self.by in names
        return [*named(names), self.by]

    def leader(self) -> list[str]:
        under = [self.by, str(self.first["queries"])]
        if len(self.runs) == 1:
            return [*self.best, *self.mean(self.runs[0], True), *under]
        if len(self.runs) == 2:
            one, other = self.runs
            both = [one["run_tag"], *self.mean(one, True), other["run_tag"], *self.mean(other)]
            return [*both, *under, *p_value(self.comparisons[0]["p"])]
        means = {str(self.mean(run)[1:]) for run in self.runs if run["rank"] == 1}
        value = self.mean(self.runs[0], True) if len(means) == 1 else self.mean(self.runs[0])[:1]
        if len(self.best) == len(self.runs):
            return [str(len(self.runs)), *value, *under]
        rest = len(self.runs) - len(self.best)
        pairs = [one for one in self.comparisons if one["a"] in self.best and one["b"] not in self.best]
        alike = len({one["b"] for one in pairs if not one["significant"]})
        others = [str(rest)] if rest > 1 else []
        if any(one["significant"] for one in pairs):
            others = ([str(alike), *others] if rest > 1 else []) if alike else []
        return [*named(self.best), *under, *value, *others, str(len(self.comparisons)), "0.05"]

    def order(self) -> list[str]:
        found = []
        for one in self.orders:
            ends = one["intervals"]["tau"]
            includes = ["0"] if one["tau"] is not None and ends and ends[0] <= 0 <= ends[1] else []
            found.append([*([one["b"]]), *valued(one["tau"], ends), *includes])
        if len(found) == 1:
            (figures,) = found
            return [figures[0], self.by, *figures[1:]]
        return [self.by, *(token for figures in found for token in figures)]

    def agreement(self) -> list[str]:
        assert self.agreed is not None
        return [*self._main_agreement(), *self._together()]

    def _kappa(self, pair: Row, level: bool = False) -> list[str]:
        return valued(pair["kappa"], pair["intervals"].get("kappa"), 2, level)

    def _main_agreement(self) -> list[str]:
        assert self.agreed is not None
        if len(self.pairs) == 1:
            (pair,) = self.pairs
            on = [str(pair["n"]), str(pair["queries"])]
            if pair["kappa"] is None:
                return [pair["a"], pair["b"], *on, *tokens(pair["undefined"]["kappa"])]
            quadratic = valued(pair["kappa_quadratic"], pair["intervals"].get("kappa_quadratic"))
            higher = pair["difference"]
            mean = [pair["a"] if higher > 0 else pair["b"], f"{abs(higher):.2f}"] if round(higher, 2) else []
            equal = f"{100 * pair['agreement']:.1f}"
            return [pair["a"], pair["b"], *self._kappa(pair, True), *on, *quadratic, equal, *mean]
        kappas = self.agreed["layouts"]["kappa"]
        rows = {row["labeler"]: row for row in kappas["rows"]}
        if self.people and len(rows) > 1:
            return self._with_people(kappas, rows)
        known = [pair for pair in self.pairs if pair["kappa"] is not None]
        low, high = (choose(known, key=lambda one: one["kappa"]) for choose in (min, max))
        ends = [low["a"], low["b"], *self._kappa(high), high["a"], high["b"]]
        return [str(len(known)), *self._kappa(low, True), *ends]

    def _with_people(self, kappas: Row, rows: dict[str, Row]) -> list[str]:
        found: list[str] = []
        if len(self.people) == 2:
            found += [*self.people, *self._kappa(self._pair(*self.people), True)]
        elif len(self.people) > 2:
            found += [str(len(self.people)), *valued(kappas["mean_human"], None), *valued(kappas["std_human"], None)]
        judges = [name for name in rows if name not in self.people]
        if judges and len(self.people) == 1:
            found.append(self.people[0])
        for place, judge in enumerate(judges):
            pair = self._pair(judge, self.people[0]) if len(self.people) == 1 else None
            found += [judge, *(self._kappa(pair, not place) if pair else valued(rows[judge]["mean"], None))]
        return found

    def _pair(self, a: str, b: str) -> Row:
        assert self.agreed is not None
        return next(pair for pair in self.agreed["pairs"] if {pair["a"], pair["b"]} == {a, b})

    def _together(self) -> list[str]:
        assert self.agreed is not None
        overall = self.agreed["overall"]
        labelers = overall["labelers"]
        if len(labelers) < 3:
            return []
        more = [str(len(self.pairs))]
        return [str(len(labelers)), *valued(overall["alpha_ordinal"], overall["intervals"].get("alpha_ordinal")), *more]

    def pool(self) -> list[str]:
        pool, systems = self.built["pool"], [one for one in self.built["systems"] if one["pool_depth"]]
        depths = sorted({one["pool_depth"] for one in systems})
        share = f"{100 * pool['unique_pairs'] / pool['returned_pairs']:.1f}"
        counts = [str(depth) for depth in (depths[0], depths[-1])[: len(depths)]]
        counts += [str(len(systems)), str(pool["queries"]), str(pool["pairs"]), str(pool["unique_pairs"]), share]
        relevant = self.first["grades"]["rows"][-1]
        if relevant["pairs"]:
            unique = f"{100 * relevant['unique'] / relevant['pairs']:.1f}"
            counts += [str(relevant["pairs"]), "1", self.by, str(relevant["unique"]), unique]
        return counts

    def graded(self, order: list[str]) -> list[str]:
        covered = {one["name"]: one["pool"] for one in self.evaluated["qrels"]}
        pairs = str(max(one["pairs"] for one in covered.values()))
        complete = [name for name in order if covered[name]["graded"] == covered[name]["pairs"]]
        partial = [name for name in order if name not in complete]
        several = [str(len(complete))] if len(complete) > 4 and not partial else named(complete, 4)
        said = [*several, pairs] if complete else []
        counts = [token for name in partial[:4] for token in (name, str(covered[name]["graded"]))]
        return said + ([pairs, *counts, *([str(len(partial) - 4)] if len(partial) > 4 else [])] if partial else [])

    def lead(self) -> list[str]:
        pairs = [one for one in self.comparisons if one["a"] in self.best and one["b"] not in self.best]
        alike = [one for one in pairs if not one["significant"]]
        one = alike[0]
        more = len({other["b"] for other in alike}) - 1
        ahead = [f"{one['difference']:.3f}"] if one["difference"] > 0 else []
        return [one["a"], one["b"], *ahead, *p_value(one["p_holm"]), *([str(more)] if more else [])]

    def another_best(self) -> list[str]:
        found = []
        for one in self.orders:
            (under,) = [other for other in self.evaluated["qrels"] if other["name"] == one["b"]]
            best = [run["run_tag"] for run in under["runs"] if run["rank"] == 1]
            tops = [swap for swap in one["swaps"] if swap["better"] in self.best and swap["worse"] in best]
            if not {*best} & {*self.best} and tops:
                found.append((not tops[0]["significant_b"], tops[0]["difference_b"], one["b"], tops[0]))
        _, difference, by, swap = min(found, key=lambda one: one[:2])
        ahead = [by, swap["worse"], swap["better"], f"{-difference:.3f}", *p_value(swap["p_b"])]
        behind = [self.by, f"{swap['difference_a']:.3f}", *p_value(swap["p_a"])]
        return [*ahead, *behind, *([str(len(found) - 1)] if len(found) > 1 else [])]

    def other_order(self) -> list[str]:
        one = min((one for one in self.orders if one["tau"] is not None), key=lambda one: one["tau"])
        swaps = [str(len(one["swaps"])), str(one["pairs_of_systems"])]
        return [one["b"], self.by, *valued(one["tau"], one["intervals"]["tau"]), *swaps]

    def _with_a_person(self) -> list[Row]:
        return [pair for pair in self.pairs if {pair["a"], pair["b"]} & {*self.people}] or self.pairs

    def low_kappa(self) -> list[str]:
        known = [pair for pair in self._with_a_person() if pair["kappa"] is not None]
        low = [pair for pair in known if pair["kappa"] < 0.4]
        pair = min(low, key=lambda one: one["kappa"])
        which = [str(len(known))] if len(low) == len(known) else [str(len(low)), str(len(known))]
        also = ["0.4", *which] if len(low) > 1 else []
        return [pair["a"], pair["b"], *self._kappa(pair), str(pair["n"]), str(pair["queries"]), *also]

    def unsure_kappa(self) -> list[str]:
        def width(pair: Row) -> float:
            ends = pair["intervals"].get("kappa")
            return ends[1] - ends[0] if ends else 0

        known = [pair for pair in self._with_a_person() if pair["kappa"] is not None]
        unsure = [pair for pair in known if pair["n"] < 50 or width(pair) > 0.3]
        pair = max(unsure, key=lambda one: (width(one), -one["n"]))
        return [pair["a"], pair["b"], *self._kappa(pair), str(pair["n"]), str(pair["queries"])]

    def lenient(self) -> list[str]:
        reference = {*self.people} or {self.by}
        pairs = [pair for pair in self.pairs if len({pair["a"], pair["b"]} & reference) == 1]
        pair = max(pairs, key=lambda one: abs(one["difference"]))
        judge, other = (pair["b"], pair["a"]) if pair["a"] in reference else (pair["a"], pair["b"])
        return [judge, other, f"{abs(pair['difference']):.2f}", str(pair["n"]), str(pair["queries"])]

    def unjudged(self) -> list[str]:
        worst = self._worst("10")
        return [f"{100 * worst['unjudged']['10']['share']:.1f}", "10", worst["run_tag"]]

    def _worst(self, cutoff: str) -> Row:
        """The run with most unjudged documents; of several, the first that was given."""
        given = sorted(self.runs, key=lambda run: SYSTEMS.index(run["run_tag"]))
        return max(given, key=lambda run: run["unjudged"][cutoff]["share"] or 0)

    def ungraded(self) -> list[str]:
        return [str(sum(self.lacking.values())), self.by, *map(str, self.lacking.values())]

    def failed(self) -> list[str]:
        others = [one for one in self.agreed["sources"] if one["labeler"] != self.by] if self.agreed else []
        name, counts = next(
            (one["labeler"], one["without_grade"]) for one in others if "failed" in one["without_grade"]
        )
        return [str(sum(counts.values())), name, *(str(counts[state]) for state in sorted(counts))]

    def fall(self) -> list[str]:
        left = [one for one in self.first["leave_out"]["systems"]["runs"] if one["pool_depth"]]

        def change(one: Row) -> int:
            found = one["measures"][MEASURE]
            return int(found["rank_after"] - found["rank_before"])

        one = max(left, key=change)
        ranks = [str(one["measures"][MEASURE][rank]) for rank in ("rank_before", "rank_after")]
        return [str(one["unique_pairs"]), one["run_tag"], *ranks]

    def alone(self) -> list[str]:
        most = max(self.built["systems"], key=lambda one: one["unique"] or 0)
        return [f"{100 * self.built['pool']['unique_share']:.1f}", str(most["unique"]), most["run_tag"]]

    def irrelevant(self) -> list[str]:
        return [str(self.first["queries_without_relevant"]), str(self.first["queries"]), self.by]

    def incomplete(self) -> list[str]:
        assert self.completeness is not None
        found, whole = self.completeness, self.completeness["outside"]
        capture = whole["capture_recapture"]
        held = [str(whole["queries"]), str(whole["relevant"]), str(found["relevant_from"]), found["labeler"]]
        more = [str(round(capture["estimate"])), "95", f"{capture['low']:.0f}", f"{capture['high']:.0f}"]
        needed = [str(len(found["need_more"])), *named(found["need_more"])]
        return [*held, *more, str(len(found["families"])), *needed]

    def deep(self) -> list[str]:
        depth = min(one["pool_depth"] for one in self.built["systems"] if one["pool_depth"])
        # The measures of the random collections with the deepest cutoff end there; rates are known at 5, 10, 20, 100.
        ends = [name.partition("@")[2] for name in self.evaluated["measures"] if not name.startswith("Judged")]
        deepest = max(int(end) if end else 100 for end in ends)
        cutoff = str(min(one for one in (5, 10, 20, 100) if one >= min(deepest, 100)))
        worst = self._worst(cutoff)
        share = f"{100 * worst['unjudged'][cutoff]['share']:.1f}"
        return [str(depth), share, cutoff, worst["run_tag"]]
