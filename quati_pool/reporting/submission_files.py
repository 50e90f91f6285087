"""The files of ``submissions``: for each group a report on its runs, a mail to send, and its results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from quati_pool.commands.submissions.group_results import GroupResults
from quati_pool.commands.submissions.intake import Intake, Submission
from quati_pool.project.config import PoolConfig
from quati_pool.project.events import Listener
from quati_pool.project.submissions import read_participants
from quati_pool.project.workspace import Workspace
from quati_pool.release.names import file_stems
from quati_pool.reporting.answers.submissions import own_results
from quati_pool.reporting.formats.tables import csv_file, to_markdown
from quati_pool.reporting.saved_files import save
from quati_pool.reporting.tables.submissions import intake_table, leaderboard_table, query_table
from quati_pool.text.markdown import escape_markdown
from quati_pool.text.pluralize import counted


def submissions_folder(config: PoolConfig, output: Path | None) -> Path:
    """The folder of the groups' files, the given one or that of the workspace's reports."""
    return output or Workspace(config.folder).report("submissions")


def save_intake(found: Intake, output: Path | None, listener: Listener) -> Path:
    """Writes ``GROUP/intake.md`` and ``GROUP/mail.md`` for each group; returns their folder."""
    folder = submissions_folder(found.config, output)
    stems = _stems(found.config, found.notes)
    for group in found.notes:
        files = {"intake.md": _intake(found, group), "mail.md": _mail(found, group)}
        save(found.config, folder / stems[group], files, {"depth": found.depth}, _Quiet(), group)
    listener.say(f"submissions: wrote {counted(len(found.notes), 'report', 'reports')} to {folder}")
    return folder


def save_results(found: Sequence[GroupResults], output: Path | None, listener: Listener) -> Path:
    """Writes ``GROUP/results.md`` and ``GROUP/queries.csv`` for each group; returns their folder."""
    folder = submissions_folder(found[0].config, output)
    stems = _stems(found[0].config, [one.group for one in found])
    for one in found:
        files = {"results.md": _results(one), "queries.csv": csv_file([query_table(one)])}
        save(one.config, folder / stems[one.group], files, {"labeler": one.labeler}, _Quiet(), one.group)
    listener.say(f"submissions: wrote {counted(len(found), 'report', 'reports')} to {folder}")
    return folder


def _stems(config: PoolConfig, groups: Iterable[str]) -> dict[str, str]:
    """The names of the groups' folders: those of a group never depend on which others are asked for."""
    return file_stems(sorted({*groups, *(one.group for one in read_participants(config))}))


class _Quiet(Listener):
    """Says nothing of each of many files."""


def _intake(found: Intake, group: str) -> str:
    runs = found.of(group)
    name = found.notes[group].name or group
    accepted = sum(one.ok for one in runs)
    parts = [
        f"# {escape_markdown(found.config.name)}: the runs of {escape_markdown(name)}",
        f"{accepted:,} of {counted(len(runs), 'run', 'runs')} can be accepted.",
        to_markdown(intake_table(runs, "Runs", group=False)).strip(),
    ]
    for one in runs:
        if one.faults or one.warnings:
            lines = [*(f"- fault: {escape_markdown(said)}" for said in one.faults)]
            lines += [f"- odd: {escape_markdown(said)}" for said in one.warnings]
            parts += [f"## {escape_markdown(one.path.name)}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _mail(found: Intake, group: str) -> str:
    """A mail to the group, to be read and sent by an organiser."""
    notes, runs = found.notes[group], found.of(group)
    faulty = [one for one in runs if not one.ok]
    to = escape_markdown(notes.contact) if notes.contact else "(no contact in group.yaml)"
    if faulty:
        what, outcome = "please correct some of your runs", f"; {len(faulty):,} cannot be accepted as they are."
    elif runs:
        what, outcome = "your runs are in", ", and all of them are accepted."
    else:
        what, outcome = "we have no run of yours", "."
    parts = [
        f"To: {to}  \nSubject: {escape_markdown(found.config.name)}: {what}",
        f"Dear {escape_markdown(notes.name or group)},",
        f"Thank you for taking part in {escape_markdown(found.config.name)}. We received "
        f"{counted(len(runs), 'run', 'runs')} from you{outcome}",
    ]
    parts += [_of_run(one) for one in faulty]
    if faulty:
        parts.append("Please send corrected files under the same names; runs that are accepted need not be sent again.")
    if odd := [one for one in runs if one.ok and one.warnings]:
        parts.append("You may want to look at these, although they are accepted:")
        parts += [_of_run(one) for one in odd]
    parts.append("With kind regards,\n\n(your name)")
    return "\n\n".join(parts) + "\n"


def _of_run(one: Submission) -> str:
    lines = "\n".join(f"- {escape_markdown(said)}" for said in (one.faults or one.warnings))
    return f"**{escape_markdown(one.path.name)}**\n\n{lines}"


def _results(found: GroupResults) -> str:
    parts = [
        f"# {escape_markdown(found.config.name)}: results of {escape_markdown(found.group)}",
        escape_markdown(own_results(found)),
        to_markdown(leaderboard_table(found)).strip(),
        "Intervals are bootstrap intervals over queries. queries.csv has each query with your runs, and the lowest, "
        "the median and the highest of all runs.",
    ]
    return "\n\n".join(parts) + "\n"
