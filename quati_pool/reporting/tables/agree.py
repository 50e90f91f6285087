"""The tables of ``agree``, and its coefficients as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from quati_pool.agreement.coefficients import COEFFICIENTS
from quati_pool.agreement.disagreement import Hardness, by_grade
from quati_pool.agreement.estimates import Estimates
from quati_pool.agreement.overall import basis
from quati_pool.agreement.pairwise import PairAgreement
from quati_pool.agreement.paper_tables import Layout
from quati_pool.commands.agree import AgreeReport
from quati_pool.reporting.explorer import links
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.text.pluralize import counted

HEADINGS = {
    "kappa": "κ",
    "kappa_linear": "κ linear",
    "kappa_quadratic": "κ quadratic",
    "spearman": "Spearman",
    "pearson": "Pearson",
    "kendall": "Kendall τ-b",
    "agreement": "Same grade",
    "difference": "Mean difference",
}
_TITLES = {"kappa": "Cohen's κ", "spearman": "Spearman's correlation", "pearson": "Pearson's correlation"}
_TOGETHER = {
    "alpha_nominal": "Krippendorff's α, nominal",
    "alpha_ordinal": "Krippendorff's α, ordinal",
    "alpha_interval": "Krippendorff's α, interval",
    "fleiss_kappa": "Fleiss' κ",
    "gwet_ac1": "Gwet's AC1",
    "gwet_ac2": "Gwet's AC2",
}
WEIGHTED_INTERVALS = "Of weighted figures: by linearisation under the design, for the pairs that it draws from."
# The number of queries in a printed table; files contain all.
SHOWN_QUERIES = 60
_HARDEST = 10
_EXAMPLES = 3
_LONGEST_QUERY = 100


def tables(report: AgreeReport, queries: int | None = SHOWN_QUERIES, *, whole: bool = False) -> list[Table]:
    """All tables; the table of κ by query has at most ``queries`` rows (None for all). With ``whole``, no table leaves
    out rows."""
    return [*main_tables(report, whole=whole), *detail_tables(report, queries, whole=whole)]


def main_tables(report: AgreeReport, *, whole: bool = False) -> list[Table]:
    """The labelers, their agreement in pairs and all together, and Tables 3 to 5 of the Quati paper."""
    tables = [_labelers(report), _pairs(report, whole)]
    if report.draws:
        tables.append(_intervals(report, whole))
    tables.append(_together(report))
    if any(not pair.shared_members and {pair.a, pair.b} & report.ratings.people for pair in report.pairs):
        tables += [_layout(report, name, found) for name, found in report.layouts.items()]
    return tables


def detail_tables(report: AgreeReport, queries: int | None = SHOWN_QUERIES, *, whole: bool = False) -> list[Table]:
    """Confusion matrices, disagreement by threshold, query and grade, and pairs that need a look."""
    by_query = query_tables(report, queries, whole=whole)
    binarized, *by_grade = grade_tables(report, whole=whole)
    confusions = [table for pair in _shown(report, whole) for table in confusion_tables(report, pair)]
    return [binarized, *confusions, *by_query, *by_grade, *listed_tables(report, whole=whole)]


def query_tables(report: AgreeReport, queries: int | None = None, *, whole: bool = False) -> list[Table]:
    """κ by query, at most ``queries`` of them, and the queries that are hardest for people and for each judge."""
    tables = []
    if len(report.ratings.people) > 1 or (report.ratings.people and report.query_layout.judges):
        tables.append(_by_query(report, None if whole else queries))
    return [*tables, *_hardest(report, whole)]


def grade_tables(report: AgreeReport, *, whole: bool = False) -> list[Table]:
    """Agreement on relevant or not, by threshold, and agreement by grade."""
    pairs = _shown(report, whole)
    return [_binarized(report, pairs), _by_grade(report, pairs)]


def as_rows(report: AgreeReport) -> str:
    """CSV with one row per coefficient, for each pair of labelers (plain and binarised) and for all together."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = ["a", "b", "relevant_from", "coefficient", "value", "low", "high", "pairs", "shared_members"]
    writer.writerow([*columns, "weighted_by", "unweighted"])
    for pair in report.pairs:
        plain = pair.unweighted
        designs = "" if pair.weighting is None else "; ".join(pair.weighting.designs)
        for grade in (None, *pair.binarized):
            found, unweighted = (one if one is None or grade is None else one.binarized[grade] for one in (pair, plain))
            assert found is not None
            for name, value, low, high in _values(found):
                key = [pair.a, pair.b, "" if grade is None else str(grade), name]
                before = _cell(None if unweighted is None else unweighted.values[name])
                writer.writerow([*key, value, low, high, pair.n, ", ".join(pair.shared_members), designs, before])
    for name, value, low, high in _values(report.overall):
        writer.writerow(["", "", "", name, value, low, high, report.overall.n[name], "", "", ""])
    return out.getvalue()


def _values(found: Estimates) -> Iterator[tuple[str, float | str, float | str, float | str]]:
    for name, value in found.values.items():
        ends = found.intervals.get(name)
        low, high = (ends.low, ends.high) if ends else (None, None)
        yield name, _cell(value), _cell(low), _cell(high)


def _cell(value: float | None) -> float | str:
    return "" if value is None else value


def _files(report: AgreeReport) -> dict[str, str | None]:
    """Each labeler's file, as it was named, so that the output does not depend on the current folder."""
    return {source.name: None if source.origin is None else str(source.origin) for source in report.gathered.sources}


def _labelers(report: AgreeReport) -> Table:
    ratings, gathered = report.ratings, report.gathered
    scale = np.asarray(ratings.scale)
    rows: list[list[Cell]] = []
    for source in gathered.sources:
        grades = scale[ratings.of(source.name)[ratings.of(source.name) >= 0]]
        person = "decisions on people's labels" if source.members else "person"
        kind = person if source.kind == "assessor" else "label file" if source.origin else source.kind
        mean = float(grades.mean()) if len(grades) else None
        rows.append([source.name, kind, len(grades), source.ungraded, len(report.unmatched[source.name]), mean])
    columns = [Column("Labeler"), Column("Kind"), Column("Pairs graded"), Column("Without a grade")]
    notes = [f"Pairs are matched by {gathered.matched_by}. The mean grade is over each labeler's own pairs."]
    notes += [f"{source.name} is a hybrid: {source.hybrid}." for source in gathered.sources if source.hybrid]
    for source in gathered.sources:
        if source.lacking:
            states = ", ".join(f"{count:,} {state}" for state, count in source.lacking.items())
            notes.append(f"{source.name} without a grade: {states}.")
    if gathered.revealed:
        revealed = ", ".join(f"{source.name} {source.revealed:,}" for source in gathered.sources if source.revealed)
        notes.append(
            f"Second labels, given after seeing a judge's grade, count where there are any: {revealed or 'none'}."
        )
    columns += [Column("Graded by no other"), Column("Mean grade", 4)]
    leads = {0: [links.labeler(source.name) for source in gathered.sources]}
    return Table("Labelers", columns, rows, " ".join(notes), links=leads)


def _shown(report: AgreeReport, whole: bool) -> list[PairAgreement]:
    return report.pairs if whole else report.compared


def pair_links(pairs: Sequence[PairAgreement]) -> dict[int, list[str]]:
    """The links of a table with a row for each of the ``pairs`` and their labelers in its first two columns."""
    return {
        0: [links.labeler(pair.a, against=pair.b) for pair in pairs],
        1: [links.labeler(pair.b, against=pair.a) for pair in pairs],
    }


def _pairs(report: AgreeReport, whole: bool) -> Table:
    shown = _shown(report, whole)
    # A panel and its member agree by construction, so they are marked if they are shown.
    marked = any(pair.shared_members for pair in shown)
    weighted = any(pair.unweighted for pair in shown)
    rows: list[list[Cell]] = [
        [
            pair.a, pair.b, pair.n, *pair.values.values(),
            *([unweighted_kappa(pair)] if weighted else []),
            *([", ".join(pair.shared_members)] if marked else []),
        ]
        for pair in shown
    ]  # fmt: skip
    decimals = [Column(HEADINGS.get(name, name), 4) for name in COEFFICIENTS]
    note = "Same grade: share of the pairs. Mean difference: the first labeler's mean grade minus the second's."
    reasons = [_reasons(f"{pair.a} and {pair.b}", pair) for pair in shown]
    reasons += weighting_notes(shown)
    if marked:
        reasons.append("Two labelers with a shared member agree by construction.")
    if len(shown) < len(report.pairs):
        left = counted(len(report.pairs) - len(shown), "pair of labelers is", "pairs of labelers are")
        reasons.append(
            f"{left} left out that agree by construction, as a panel and its member or two panels of the same member "
            "do; the JSON has them."
        )
    columns = [Column("Labeler"), Column("and"), Column("Pairs"), *decimals]
    columns += [Column("κ unweighted", 4)] if weighted else []
    columns += [Column("Shared members")] if marked else []
    leads = {**pair_links(shown), 2: [links.pairs(pair.a, pair.b) for pair in shown]}
    return Table("Agreement of two labelers", columns, rows, " ".join(filter(None, [note, *reasons])), links=leads)


def unweighted_kappa(pair: PairAgreement) -> float | None:
    """κ of the graded pairs, where ``pair`` is weighted; None where it is not, or where κ is undefined."""
    return None if pair.unweighted is None else pair.unweighted.values["kappa"]


def weighting_notes(pairs: Sequence[PairAgreement], name: Callable[[str], str] = str) -> Iterator[str]:
    """Sentences on how the figures of ``pairs`` are weighted, which pairs are left out, and where probabilities are
    unequal but unknown. ``name`` writes a labeler's name."""
    by_designs: dict[tuple[str, ...], list[PairAgreement]] = {}
    for pair in pairs:
        if pair.weighting is not None:
            by_designs.setdefault(pair.weighting.designs, []).append(pair)
    for designs, group in by_designs.items():
        weight = "1/π" if len(designs) == 1 else "1/(sum of π)"
        yield f"The figures of {_whose(group, name)} are weighted by {weight} ({'; '.join(map(name, designs))})."
    left_out = [pair for pair in pairs if pair.weighting is not None and pair.weighting.left_out]
    if left_out:
        counts = [
            f"{pair.weighting.left_out:,} of {pair.n:,} pairs of {name(pair.a)} and {name(pair.b)}"
            for pair in left_out[:_EXAMPLES]
            if pair.weighting is not None
        ]
        more = f" and of {len(left_out) - _EXAMPLES:,} more" if len(left_out) > _EXAMPLES else ""
        yield f"Left out of weighted figures, as no design drew them at random: {', '.join(counts)}{more}."
    unknown: dict[str, list[PairAgreement]] = {}
    for pair in pairs:
        if pair.not_weighted is not None:
            unknown.setdefault(pair.not_weighted, []).append(pair)
    for reason, group in unknown.items():
        yield f"The figures of {_whose(group, name)} are not weighted, although they should be: {reason}."


def _whose(pairs: Sequence[PairAgreement], name: Callable[[str], str]) -> str:
    return f"{name(pairs[0].a)} and {name(pairs[0].b)}" if len(pairs) == 1 else f"{len(pairs):,} pairs of labelers"


def _intervals(report: AgreeReport, whole: bool) -> Table:
    shown = _shown(report, whole)
    rows: list[list[Cell]] = [[pair.a, pair.b, *(_interval(pair, name) for name in COEFFICIENTS)] for pair in shown]
    columns = [Column("Labeler"), Column("and"), *(Column(HEADINGS.get(name, name), 4) for name in COEFFICIENTS)]
    note = f"Bootstrap over queries, {report.draws:,} resamples, seed {report.seed}, percentiles 2.5 and 97.5."
    if any(pair.weighting for pair in shown):
        note += f" {WEIGHTED_INTERVALS}"
    lost = max((ends.undefined for pair in shown for ends in pair.intervals.values()), default=0)
    if lost:
        note += f" Resamples in which a coefficient is undefined are left out, up to {lost:,} of them."
    return Table("95 % intervals", columns, rows, note, links=pair_links(shown))


def _interval(found: Estimates, name: str) -> tuple[float, float] | None:
    ends = found.intervals.get(name)
    return None if ends is None or ends.low is None or ends.high is None else (ends.low, ends.high)


def _ends_column(report: AgreeReport) -> list[Column]:
    return [Column("95 % interval", 4)] if report.draws else []


def _ends_of(report: AgreeReport, found: Estimates, name: str) -> list[Cell]:
    return [_interval(found, name)] if report.draws else []


def _reasons(what: str, found: Estimates) -> str:
    """Why coefficients are undefined, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in found.undefined.items():
        if not name.startswith("intervals."):
            by_reason.setdefault(reason, []).append(HEADINGS.get(name) or _TOGETHER.get(name, name))
    reasons = [f"{', '.join(names)} undefined ({reason})" for reason, names in by_reason.items()]
    return f"{what}: {'; '.join(reasons)}." if reasons else ""


def _binarized(report: AgreeReport, pairs: Sequence[PairAgreement]) -> Table:
    rows: list[list[Cell]] = []
    for pair in pairs:
        for grade, found in pair.binarized.items():
            row = [found.values[name] for name in ("kappa", "pearson", "agreement", "difference")]
            rows.append([pair.a, pair.b, f"≥ {grade}", row[0], *_ends_of(report, found, "kappa"), *row[1:]])
    columns = [Column("Labeler"), Column("and"), Column("Relevant"), Column("κ", 4), *_ends_column(report)]
    columns += [Column("Correlation", 4), Column("Same", 4), Column("Mean difference", 4)]
    note = "With two grades, each weighted κ equals κ, and Spearman, Pearson and Kendall coincide."
    leads = pair_links([pair for pair in pairs for _ in pair.binarized])
    return Table("Agreement on relevant or not", columns, rows, note, links=leads)


def _together(report: AgreeReport) -> Table:
    found = report.overall
    rows: list[list[Cell]] = [
        [_TOGETHER[name], value, *_ends_of(report, found, name), found.n[name]] for name, value in found.values.items()
    ]
    columns = [Column("Coefficient"), Column("Value", 4), *_ends_column(report), Column("Pairs")]
    over = basis(found.labelers, found.left_out)
    note = (
        f"{over[0].upper()}{over[1:]}. Missing grades are allowed except in Fleiss' κ. AC1 and AC2 take the shares of "
        f"grades from all {found.graded:,} graded pairs, including those of one labeler alone; AC2's weights: "
        f"{found.ac2_weights}."
    )
    if any(pair.weighting for pair in report.pairs):
        note += " Pairs are not weighted here."
    title = "All independent labelers together" if found.left_out else "All labelers together"
    return Table(title, columns, rows, " ".join(filter(None, [note, _reasons("Here", found)])))


def _layout(report: AgreeReport, name: str, found: Layout) -> Table:
    several = len(found.people) > 1
    rows: list[list[Cell]] = []
    for row, labeler in enumerate(found.labelers):
        cells: list[Cell] = [labeler, *found.value[row].tolist(), float(found.mean[row]), float(found.std[row])]
        rows.append([*cells, *([float(found.difference[row])] if several else [])])
    columns = [Column("Labeler"), *(Column(person, 4) for person in found.people)]
    columns += [Column("Mean", 4), Column("Standard deviation", 4)]
    if several:
        rows.append(["Mean human annotators", *[""] * len(found.people), found.human_mean, found.human_std, ""])
        columns.append(Column("Difference to human mean", 4))
    note = "Means over the people (for a person, over the others); population standard deviations."
    apart = [pair for pair in report.pairs if not pair.shared_members and {pair.a, pair.b} & report.ratings.people]
    counts = [pair.n for pair in apart]
    if min(counts) < max(counts):
        note += (
            f" They are over different pairs: from {min(counts):,} to {max(counts):,} that two labelers both graded."
        )
    undefined = [f"{pair.a} and {pair.b}" for pair in apart if pair.values[name] is None]
    if undefined:
        note += f" Undefined, and in no mean: {', '.join(undefined)}."
    leads = {0: list(map(links.labeler, found.labelers))}
    return Table(f"{_TITLES[name]} with people", columns, rows, note, totals=int(several), links=leads)


def confusion_tables(report: AgreeReport, pair: PairAgreement) -> list[Table]:
    """A pair's confusion matrix, if it has common pairs, and that of weighted shares, if its figures are weighted."""
    tables = [confusion_table(report, pair)] if pair.n else []
    if pair.weighting is not None:
        shares, grades = pair.weighting.shares, [str(grade) for grade in report.ratings.scale]
        rows: list[list[Cell]] = [[grade, *row, sum(row)] for grade, row in zip(grades, shares.tolist(), strict=True)]
        rows.append(["Total", *shares.sum(axis=0).tolist(), float(shares.sum())])
        columns = [Column(f"{pair.a} ↓ {pair.b} →"), *(Column(grade, 4) for grade in grades), Column("Total", 4)]
        title = f"Weighted shares of the grades of {pair.a} (rows) and {pair.b} (columns)"
        note = " ".join(weighting_notes([pair]))
        tables.append(Table(title, columns, rows, note, totals=1))
    return tables


def confusion_table(report: AgreeReport, pair: PairAgreement) -> Table:
    """A pair's confusion matrix with totals (the paper's Tables 8–13)."""
    counts, grades = pair.confusion, [str(grade) for grade in report.ratings.scale]
    rows: list[list[Cell]] = [[grade, *row, sum(row)] for grade, row in zip(grades, counts.tolist(), strict=True)]
    rows.append(["Total", *counts.sum(axis=0).tolist(), int(counts.sum())])
    columns = [Column(f"{pair.a} ↓ {pair.b} →"), *map(Column, grades), Column("Total")]
    return Table(f"Grades of {pair.a} (rows) and {pair.b} (columns)", columns, rows, totals=1)


def _by_query(report: AgreeReport, limit: int | None) -> Table:
    found = report.query_layout
    groups = [("People", found.human_mean, found.human_std)] if len(report.ratings.people) > 1 else []
    for column, judge in enumerate(found.judges):
        groups.append((f"{judge} and people", found.judge_mean[:, column], found.judge_std[:, column]))
    order = sorted(range(len(found.query_ids)), key=lambda row: found.query_ids[row])
    rows: list[list[Cell]] = [
        [_query(report, found.query_ids[row]), *(float(part[row]) for _, *parts in groups for part in parts)]
        for row in order[:limit]
    ]
    # The overall means begin with the one for people, whether or not it is shown.
    first = 1 + len(found.judges) - len(groups)
    ends = zip(found.overall_mean[first:], found.overall_std[first:], strict=True)
    rows.append(["Mean over queries", *(float(end) for pair in ends for end in pair)])
    columns = [Column("Query")]
    for name, *_ in groups:
        columns += [Column(name, 4), Column("±", 4)]
    undefined = ", ".join(
        f"{name} in {count:,}"
        for (name, *_), count in zip(groups, found.overall_undefined[first:].tolist(), strict=True)
        if count
    )
    note = "Mean κ within a query over the pairs of people, or over the people; ± population standard deviation."
    if undefined:
        note += f" Undefined, and in no mean: {undefined} of {len(order):,} queries."
    parts = np.column_stack([found.human_undefined, found.judge_undefined])[:, first:]
    some = int(((parts > 0) & ~np.isnan(np.column_stack([found.human_mean, found.judge_mean])[:, first:])).sum())
    if some:
        note += f" {some:,} means are without the pairs of labelers whose κ is undefined in that query."
    if limit is not None and len(order) > limit:
        note += f" The first {limit:,} of {len(order):,} queries; --format json shows all."
    leads = {0: [links.query(found.query_ids[row], show="disputed") for row in order[:limit]]}
    return Table("κ by query", columns, rows, note, totals=1, links=leads)


def _query(report: AgreeReport, query_id: str) -> str:
    text = report.gathered.queries.get(query_id, "")
    # If there are no ids, the text is the id.
    return f"{query_id} {_cut(text, 60)}" if text and text != query_id else _cut(query_id)


def _cut(text: str, longest: int = _LONGEST_QUERY) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _hardest(report: AgreeReport, whole: bool) -> list[Table]:
    apart = [hard for hard in report.hardest if hard.among != "labelers"]
    # If there are only two judges, their tables would be identical.
    alike = len(apart) == 2 and not report.ratings.people
    return [
        hardest_table(report, hard, None if whole else _HARDEST) for hard in (report.hardest[:1] if alike else apart)
    ]


def hardest_table(report: AgreeReport, hard: Hardness, most: int | None = None) -> Table:
    """The queries in ``hard``, or the first ``most`` of them."""
    whom = hard.judge if hard.judge else {"people": "people", "labelers": "the labelers"}[hard.among]
    shown = hard.queries[:most]
    rows: list[list[Cell]] = [[_query(report, q.query_id), q.n, q.agreement, q.distance] for q in shown]
    columns = [Column("Query"), Column("Comparisons"), Column("Same grade", 4), Column("Mean distance", 4)]
    note = "By the mean distance of two grades of a pair."
    if len(hard.queries) > len(rows):
        note += f" The first {len(rows):,} of {len(hard.queries):,} queries; --format json shows all."
    leads = {0: [links.query(q.query_id, by=hard.judge, show="disputed") for q in shown]}
    return Table(f"Queries hardest for {whom}", columns, rows, note, links=leads)


def _by_grade(report: AgreeReport, pairs: Sequence[PairAgreement]) -> Table:
    rows: list[list[Cell]] = []
    graded = [pair for pair in pairs if pair.n]
    for pair in graded:
        found = by_grade(pair.confusion, report.ratings.scale)
        for row, grade in enumerate(found.scale):
            rows.append([pair.a, pair.b, str(grade), float(found.specific[row]), float(found.mean_b[row]),
                         float(found.mean_a[row])])  # fmt: skip
    columns = [Column("Labeler"), Column("and"), Column("Grade"), Column("Specific agreement", 4)]
    columns += [Column("Second's mean there", 4), Column("First's mean there", 4)]
    note = (
        "Specific agreement: of all times that one of the two gave the grade, the share that the other matched. "
        "The means: what one gave on average where the other gave the grade."
    )
    by_pair = [(pair, grade) for pair in graded for grade in report.ratings.scale]
    there = [links.pairs(pair.a, pair.b, grade_a=grade) for pair, grade in by_pair]
    leads = {**pair_links([pair for pair, _ in by_pair]), 2: there}
    return Table("Agreement by grade", columns, rows, note, links=leads)


def listed_tables(report: AgreeReport, *, whole: bool = False) -> list[Table]:
    """Pairs and rows that need a look: pairs graded by only one labeler, rows that match no pair, and duplicates."""
    tables = []
    rows: list[list[Cell]] = []
    leads: list[str] = []
    for name, places in report.unmatched.items():
        shown = places if whole else places[:_EXAMPLES]
        for query_id, doc_id in report.ratings.pair_ids(shown):
            rows.append([name, _cut(query_id), _cut(doc_id)])
            leads.append(links.query(query_id, by=name, doc_id=doc_id))
        if len(places) > len(shown):
            rows.append([name, f"and {len(places) - len(shown):,} more", ""])
            leads.append("")
    if rows:
        columns = [Column("Labeler"), Column("query_id"), Column("doc_id")]
        title, note = "Pairs that one labeler alone graded", "All of them are in the JSON."
        tables.append(Table(title, columns, rows, note, links={1: leads, 2: leads}))
    lost = report.gathered.unmatched
    if lost:
        columns = [Column("Labeler"), Column("Line"), Column("Why")]
        rows = [[one.labeler, str(one.line), one.reason] for one in lost[: None if whole else _HARDEST]]
        note = f"Their texts match no pair of the pool, or several. {len(lost):,} in all, listed in the JSON."
        tables.append(Table("Rows that match no pair", columns, rows, note))
    twice, files = report.gathered.duplicates[: None if whole else _HARDEST], _files(report)
    if twice:
        columns = [Column("Labeler"), Column("File"), Column("Lines"), Column("query_id"), Column("doc_id")]
        rows = [
            [one.labeler, files[one.labeler], f"{one.first_line} and {one.line}", _cut(one.query_id), _cut(one.doc_id)]
            for one in twice
        ]
        found = len(report.gathered.duplicates)
        note = f"Of each the first was taken; the grades are equal. {found:,} in all, listed in the JSON."
        leads = [links.query(one.query_id, by=one.labeler, doc_id=one.doc_id) for one in twice]
        tables.append(Table("Pairs that occur twice in a file", columns, rows, note, links={3: leads, 4: leads}))
    return tables
