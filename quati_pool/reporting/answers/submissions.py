"""The answers of ``submissions``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from quati_pool.commands.submissions.adding import Added
from quati_pool.commands.submissions.group_results import GroupResults
from quati_pool.commands.submissions.intake import Intake
from quati_pool.commands.submissions.releasing import Released
from quati_pool.reporting.answers import wording
from quati_pool.reporting.answers.evaluate import without_grade
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.formats.document import plain
from quati_pool.reporting.tables import submissions as tables
from quati_pool.text.pluralize import counted


def checked(found: Intake, folder: Path) -> Answer:
    """How many runs are accepted, and of which groups the others are."""
    groups, faulty = list(found.notes), [one for one in found.submissions if not one.ok]
    runs = f"{counted(len(found.submissions), 'run', 'runs')} of {counted(len(groups), 'group', 'groups')}"
    said = [f"{len(found.accepted):,} of {runs} can be accepted."]
    if faulty:
        waiting = list(dict.fromkeys(one.group for one in faulty))
        verb = "has faults" if len(faulty) == 1 else "have faults"
        said.append(f"{len(faulty):,} {verb}, of {wording.names(waiting)}.")
    warned = sum(one.ok and bool(one.warnings) for one in found.submissions)
    if warned:
        said.append(f"{counted(warned, 'accepted run is', 'accepted runs are')} odd in some way, which keeps none out.")
    said += _unread(found)
    rows = sorted(found.submissions, key=lambda one: (one.ok, not one.warnings))
    rest = (
        f"--full prints all runs. For each group a report and a mail to send: GROUP/intake.md and mail.md in {folder}."
    )
    return Answer(said, tables.intake_table(rows), rest)


def _unread(found: Intake) -> list[str]:
    """A sentence on what in the folder of groups was not taken for a run, if anything."""
    named = wording.names(found.unread)
    return [f"Not looked at, as only GROUP/RUN is a run: {named}."] if found.unread else []


def added(found: Added) -> Answer:
    """How many runs are now systems, and what waits."""
    families = len({one.family for one in found.participants})
    said = [
        f"{counted(len(found.participants), 'run', 'runs')} of {counted(families, 'group', 'groups')} are systems of "
        f"{found.intake.config.path.name}: {len(found.new):,} new, {len(found.replaced):,} replaced, "
        f"{len(found.unchanged):,} unchanged."
    ]
    for what, runs in (
        ("Not added, as they have faults", found.waiting),
        ("Kept as added, as the present files have faults", found.kept),
        (f"No longer in {found.intake.folder}, and still systems", found.absent),
    ):
        if runs:
            named = wording.names(["/".join(one.key) for one in runs])
            said.append(f"{what}: {named}.")
    said += _unread(found.intake)
    return Answer(said, tables.added_tables(found)[0], "Next: quati-pool build. --full prints all runs.")


def reported(found: Sequence[GroupResults], folder: Path) -> Answer:
    """For whom reports were written, and how the best did."""
    first = min(found, key=lambda one: one.best.rank)
    runs, measure = len(first.rows), first.measures[0]
    mean = first.best.measures[measure]
    value = wording.with_interval(mean.mean, mean.interval, 3, level=True)
    said = [
        f"Results for {counted(len(found), 'group', 'groups')} of {counted(runs, 'run', 'runs')} by {measure} under "
        f"{first.labeler}'s grades; the highest of them is a run of {first.group}, {value}.",
        *map(plain, without_grade(first.source)),
    ]
    rest = f"Each group's own, with all other runs anonymous: GROUP/results.md and queries.csv in {folder}."
    return Answer(said, tables.results_tables(found)[0], rest)


def released(found: Released) -> Answer:
    qrels = found.manifest["qrels"]
    pairs = sum(one["pairs"] for one in qrels)
    listed = f"the qrels of {wording.names([one['labeler'] for one in qrels])} ({pairs:,} pairs)"
    if found.released:
        said = f"Released: {listed}, since {found.after.isoformat()}."
    else:
        said = f"Withheld until {found.after.isoformat()}: {listed}; the manifest has their SHA-256."
    rest = f"{found.path} can be published now." if not found.released else f"Everything is in {found.path.parent}."
    return Answer([said], tables.released_tables(found)[0], rest)


def own_results(found: GroupResults) -> str:
    """What a group reads first about its runs."""
    measure, best = found.measures[0], found.best
    mean = best.measures[measure]
    value = wording.with_interval(mean.mean, mean.interval, 3, level=True)
    means = sorted((row.measures[measure].mean for row in found.rows), reverse=True)
    middle = len(means) // 2
    median = means[middle] if len(means) % 2 else (means[middle - 1] + means[middle]) / 2
    return (
        f"Your best run, {found.own[best.run_tag]}, has rank {best.rank} of {len(means):,} runs by {measure} under "
        f"{found.labeler}'s grades over {counted(len(found.query_ids), 'query', 'queries')}: {value}. The median of "
        f"all runs is {median:.3f}, the highest {means[0]:.3f}."
        + "".join(f" {plain(said)}" for said in without_grade(found.source))
    )
