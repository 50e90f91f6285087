"""Labels of one pair in a table: who, which grade, and what they say to it."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from annotator_app import context, html
from quati_pool.records import State


class Row(NamedTuple):
    """Who, as what (person, judge, consensus, file), the grade in words, active seconds, what a person noted,
    and a judge's reasons, which are folded away."""

    name: str
    kind: str
    grade: str
    seconds: float | None
    notes: list[str]
    reasons: list[str]


def labels_table(rows: list[Row]) -> Markup:
    """The table; all in it is of others and escaped."""
    return html.fill('<table class="labels"><tbody>{rows}</tbody></table>', rows=html.join([_row(row) for row in rows]))


def grade_name(grade: int | None, status: State | None) -> str:
    """A grade with its name; without a grade what the label says instead."""
    if grade is None:
        known = {None, State.unsure, State.skipped, State.retracted}
        return context.say(f"review.state.{status or State.unsure}" if status in known else "review.state.failed")
    name = next((meaning.name for meaning in context.desk().scale if meaning.grade == grade), "")
    return f"{grade} {name}".strip()


def _row(row: Row) -> Markup:
    notes = html.join([html.passage(note, kind="note") for note in row.notes])
    reasons = html.join([html.passage(reason, kind="why") for reason in row.reasons])
    folded = (
        html.fill(
            "<details><summary>{title}</summary>{reasons}</details>", title=context.say("review.why"), reasons=reasons
        )
        if row.reasons
        else Markup("")
    )
    seconds = "" if row.seconds is None else context.say("review.seconds", seconds=context.number(row.seconds))
    return html.fill(
        '<tr class="{kind}"><th scope="row">{name}</th><td class="grade">{grade}</td><td>{notes}{folded}</td>'
        '<td class="quiet seconds">{seconds}</td></tr>',
        kind=row.kind,
        name=html.text(row.name),
        grade=html.text(row.grade),
        notes=notes,
        folded=folded,
        seconds=seconds,
    )
