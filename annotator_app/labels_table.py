"""A table with the labels of one pair: labeler, grade and notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from annotator_app import context, html
from quati_pool.records import State


class LabelRow(NamedTuple):
    """A row of the table: the labeler's name and kind (person, judge, consensus, file), the grade in words, active
    seconds, a person's notes, a judge's reasons and thoughts, which are collapsed, and the words of the passage that a
    person marked as evidence."""

    name: str
    kind: str
    grade: str
    seconds: float | None
    notes: list[str]
    reasons: Sequence[str] = ()
    thoughts: Sequence[str] = ()
    evidence: Sequence[str] = ()


def labels_table(rows: list[LabelRow]) -> Markup:
    """The table; all its texts are untrusted and escaped."""
    return html.fill('<table class="labels"><tbody>{rows}</tbody></table>', rows=html.join([_row(row) for row in rows]))


def grade_name(grade: int | None, status: State | None) -> str:
    """A grade with its name; without a grade, the state of the label."""
    if grade is None:
        known = {None, State.unsure, State.skipped, State.retracted}
        return context.say(f"review.state.{status or State.unsure}" if status in known else "review.state.failed")
    name = next(
        (meaning.name for meaning in context.session().scale_in(context.language()) if meaning.grade == grade), ""
    )
    return f"{grade} {name}".strip()


def _row(row: LabelRow) -> Markup:
    notes = html.join([html.passage(note, kind="note") for note in row.notes])
    quotes = [html.fill("<q>{words}</q>", words=html.marked(words)) for words in row.evidence]
    evidence = html.fill('<p class="evidence theirs" dir="auto">{quotes}</p>', quotes=html.join(quotes, " … "))
    folded = html.join([_folded("review.why", row.reasons), _folded("review.thoughts", row.thoughts)])
    seconds = "" if row.seconds is None else context.say("review.seconds", seconds=context.number(row.seconds))
    return html.fill(
        '<tr class="{kind}"><th scope="row">{name}</th><td class="grade">{grade}</td><td>{notes}{evidence}{folded}</td>'
        '<td class="quiet seconds">{seconds}</td></tr>',
        kind=row.kind,
        name=html.text(row.name),
        grade=html.text(row.grade),
        notes=notes,
        evidence=evidence if quotes else Markup(""),
        folded=folded,
        seconds=seconds,
    )


def _folded(title: str, texts: Sequence[str]) -> Markup:
    if not texts:
        return Markup("")
    return html.fill(
        "<details><summary>{title}</summary>{texts}</details>",
        title=context.say(title),
        texts=html.join([html.passage(text, kind="why") for text in texts]),
    )
