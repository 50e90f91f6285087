"""The answers of the commands around rounds of writing: ``questions list``, ``report``, ``derive``, ``release``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from quati_pool.commands.annotate.authoring.derive import Derived
from quati_pool.commands.annotate.authoring.release import ReleasedQuestions
from quati_pool.commands.annotate.authoring.report import AuthoringReport, HumanAnswers, RoundsReport
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.tables import authoring as tables
from quati_pool.stats.bootstrap import Interval
from quati_pool.text.pluralize import counted, listed

_KINDS = {"text": "texts", "question": "questions", "derived": "derived texts", "choices": "sets of multiple choice"}

_BEGIN = "Nobody has begun to write questions; people do it in the app: quati-pool annotate"


def rounds(found: RoundsReport) -> Answer:
    """How much is finished, what waits, and the rounds."""
    if not found.states:
        return Answer([_BEGIN])
    return Answer(
        [_finished(found), _waiting(found), *_left_out(found.out)],
        tables.rounds(found),
        "--full adds why items are out; quati-pool questions report has evaluations, agreement and times.",
    )


def report(found: AuthoringReport) -> Answer:
    """How much is finished, how well people answer and agree, and a row for each aspect that they evaluate."""
    if not found.progress.states:
        return Answer([_BEGIN])
    sentences = [_finished(found.progress), _waiting(found.progress)]
    if scores := [_human(one) for one in found.human if one.n]:
        sentences.append(f"A second person's answers against the authors': {'; '.join(scores)}.")
    if rated := [one for one in found.evaluations if one.agreement.n]:
        agreed = [
            f"{tables.HEADINGS.get(one.field, one.field)} {wording.number(one.agreement.alpha.value, 2)}"
            for one in rated
        ]
        sentences.append(f"Agreement of assessors (Krippendorff's α): {', '.join(agreed)}.")
    elif any(one.n for one in found.evaluations):
        sentences.append("One person assessed each question, so agreement is undefined.")
    rest = "--full adds values, labels, people's work, derived texts and what rules point out."
    return Answer(
        sentences,
        tables.evaluations(found) if any(one.n for one in found.evaluations) else tables.rounds(found.progress),
        rest,
    )


def derived(found: Derived) -> Answer:
    """What was added for acceptance, and what to do next."""
    if not found.questions:
        return Answer(["No question is finished yet, so there is nothing to derive."], rest="next: quati-pool annotate")
    added = sum(found.added.values())
    choices = found.added.get("choices", 0)
    texts = counted(added - choices, "derived text", "derived texts")
    sets = counted(choices, "set of multiple choice", "sets of multiple choice")
    finished = counted(found.questions, "finished question", "finished questions")
    sentences = [f"{texts} and {sets} added for acceptance, of {finished}; {found.there:,} were there already."]
    for language, splits in found.too_small.items():
        sentences += _too_small(language, splits)
    if found.replaced:
        sentences.append(
            f"{counted(found.replaced, 'earlier set waits', 'earlier sets wait')} that a release would not use, as the "
            "answers of their split are others now."
        )
    return Answer(sentences, rest="next: quati-pool annotate" if added else "")


def released(found: ReleasedQuestions) -> Answer:
    """What is in the folder, what is not, and the next command, which is the last line."""
    total = sum(found.units.values())
    splits = ", ".join(f"{split} {count:,}" for split, count in found.units.items() if count)
    what = _kind(found.unit)
    there = "" if found.made else " (as it was)"
    sentences = [f"{found.path}: {total:,} {what} ({splits}) as {found.form}{there}."]
    for language, one in found.choices.items():
        left_out = wording.counts([("refused", one.refused), ("never accepted", one.missing)])
        ending = f"; left out: {left_out}" if left_out else ""
        sentences.append(f"Multiple choice ({language}): {counted(one.accepted, 'set', 'sets')} accepted{ending}.")
        sentences += _too_small(language, one.too_small)
    if found.open:
        waiting = ", ".join(f"{count:,} {_kind(kind)}" for kind, count in found.open.items())
        sentences.append(f"Released although not finished, or left out: {waiting}.")
    sentences += _left_out(found.out)
    next_command = f"next:\n  {shlex.join(('quati-pool', *found.command))}" if found.command else ""
    return Answer(sentences, rest=next_command)


def _finished(found: RoundsReport) -> str:
    states = found.states.get(found.unit, {})
    kept, total = states.get("kept", 0), sum(states.values())
    texts = sum(found.states.get("text", {}).values())
    of_texts = f", from {counted(texts, 'text', 'texts')}" if texts and found.unit != "text" else ""
    by = counted(found.people, "person", "people")
    return f"{kept:,} of {total:,} {_kind(found.unit)} are finished{of_texts}, by {by}."


def _waiting(found: RoundsReport) -> str:
    return f"Tasks that wait: {found.waiting}." if found.waiting else "No task waits."


def _too_small(language: str, splits: Sequence[str]) -> list[str]:
    if not splits:
        return []
    it = "it" if len(splits) == 1 else "them"
    return [f"No sets ({language}) of {listed(splits)}: too few answers; leave {it} out of bench pira mcqa by --split."]


def _left_out(out: Mapping[str, Mapping[str, int]]) -> list[str]:
    parts = [
        f"{sum(reasons.values()):,} {_kind(kind)} ({', '.join(f'{count:,} {why}' for why, count in reasons.items())})"
        for kind, reasons in out.items()
    ]
    return [f"Out: {'; '.join(parts)}."] if parts else []


def _human(one: HumanAnswers) -> str:
    ends = None if one.f1.low is None or one.f1.high is None else Interval(one.f1.low, one.f1.high)
    f1 = wording.with_interval(one.f1.value, ends, 1)
    return f"{one.language} F1 {f1}, EM {wording.number(one.em.value, 1)} ({counted(one.n, 'question', 'questions')})"


def _kind(kind: str) -> str:
    return _KINDS.get(kind, f"items of kind {kind}")
