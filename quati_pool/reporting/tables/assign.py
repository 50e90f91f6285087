"""What ``quati-pool assign`` says."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.annotate.assigning.assign import AssignReport
from quati_pool.reporting.formats.tables import Cell, Column, Table

# Strata that a table shows; JSON and CSV have all.
_SHOWN = 40


def tables(report: AssignReport, whole: bool = False) -> list[Table]:
    """The design, its strata (the first of them, unless ``whole``), and who got how many pairs."""
    chosen = Table(
        "Assignment",
        [Column(name) for name in ("Method", "Seed", "Pairs in the pool", "Chosen", "People a pair", "New slots")],
        [[report.method, report.seed, report.frame_pairs, len(report.sample), report.overlap, report.added_slots]],
        _told(report),
    )
    shown = report.strata if whole else report.strata[:_SHOWN]
    more = len(report.strata) - len(shown)
    strata = Table(
        "Strata",
        [Column("Stratum"), Column("N"), Column("n"), Column("Inclusion probability", 4)],
        [[one.name, one.pairs, one.selected, one.inclusion] for one in shown],
        f"{more:,} more strata are in the JSON and CSV." if more else "",
    )
    made = [chosen, strata]
    if report.people:
        rows: list[list[Cell]] = [[_who(name), count] for name, count in report.people.items()]
        made.append(Table("Who grades them", [Column("For"), Column("Pairs")], rows))
    return made


def as_data(report: AssignReport) -> dict[str, Any]:
    return {
        "design": report.design_id if report.known is None else report.known,
        "new": report.design_id is not None,
        "dry_run": report.dry_run,
        "method": report.method,
        "seed": report.seed,
        "frame": {"sha256": report.frame_sha, "pairs": report.frame_pairs},
        "pairs": len(report.sample),
        "added_pairs": report.added_pairs,
        "overlap": report.overlap,
        "load": report.load,
        "slots": len(report.sample) * report.overlap,
        "added_slots": report.added_slots,
        "strata": [
            {"stratum": one.name, "N": one.pairs, "n": one.selected, "inclusion": one.inclusion}
            for one in report.strata
        ],
        "people": [{"name": name, "slots": count} for name, count in report.people.items() if name is not None],
        "open_slots": report.people.get(None, 0),
        "notes": list(report.notes),
    }


def _told(report: AssignReport) -> str:
    if report.known is not None:
        return f"This is design {report.known} already: nothing was added."
    if not len(report.sample):
        return "No pair was chosen, so nothing was added: ask for a higher rate, or for a number of pairs."
    if report.dry_run:
        return "Nothing was written, for this is a dry run."
    if not report.added_slots:
        return f"Written as design {report.design_id}: all its pairs have their people already, so no slot is new."
    return f"Written as design {report.design_id}: {report.added_slots:,} new slots, of {report.added_pairs:,} pairs."


def _who(name: str | None) -> str:
    return "whoever comes" if name is None else name
