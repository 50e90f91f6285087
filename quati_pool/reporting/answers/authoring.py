"""The answers of the commands around rounds of writing: ``questions list``, ``report``, ``derive``, ``release``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from quati_pool.commands.annotate.authoring.blocks import AddedBlocks
from quati_pool.commands.annotate.authoring.derive import Derived
from quati_pool.commands.annotate.authoring.estimate import Estimate
from quati_pool.commands.annotate.authoring.release import ReleasedQuestions
from quati_pool.commands.annotate.authoring.report import AuthoringReport, HumanAnswers, RoundsReport
from quati_pool.commands.annotate.authoring.romqa_report import ClusterFates, Comparison, RomqaReport, Verification
from quati_pool.commands.annotate.drafts.deriving import DerivedByModel
from quati_pool.reporting.answers import draft_decisions, wording
from quati_pool.reporting.answers.draft_decisions import percent
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.tables import authoring as tables
from quati_pool.stats.bootstrap import Interval
from quati_pool.text.pluralize import counted, listed

_KINDS = {
    "text": "texts",
    "question": "questions",
    "derived": "derived texts",
    "choices": "sets of multiple choice",
    "cluster": "clusters",
    "query": "questions",
    "block": "pairs for rating",
}

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
    sentences = [_finished(found.progress), _waiting(found.progress), *map(draft_decisions.sentence, found.drafts)]
    if found.romqa is not None:
        return _romqa(sentences, found.romqa)
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
    rest = "--full adds values, labels, people's work, drafts by model and what rules point out."
    return Answer(
        sentences,
        tables.evaluations(found) if any(one.n for one in found.evaluations) else tables.rounds(found.progress),
        rest,
    )


def _romqa(sentences: Sequence[str], found: RomqaReport) -> Answer:
    """How questions on constraints were verified, which clusters stay, how natural they are; and their sizes."""
    sentences = [*sentences, *_verified(found.verification), _clusters(found.clusters)]
    sentences += [] if found.comparison is None else _compared(found.comparison)
    rest = "--full adds refusals by reason, agreement, naturalness, people's work and drafts."
    return Answer(sentences, tables.sizes(found), rest)


def _verified(found: Verification) -> list[str]:
    if not found.judged:
        return ["No question is verified yet."]
    who = {1: "The verifier says", 2: "Both verifiers agree"}.get(
        found.verifiers, f"All {found.verifiers} verifiers agree"
    )
    questions = counted(found.judged, "question", "questions")
    share = f"{who} that {found.exact:,} of {questions} ask exactly what they should: {percent(found.share)}"
    if found.verifiers < 2:
        return [f"{share}."]
    alpha, ac1 = found.agreement.alpha, found.agreement.ac1
    if alpha.value is None:
        return [f"{share}; α is undefined, as {alpha.why}."]
    shown = wording.with_interval(alpha.value, _interval(alpha), 2)
    return [f"{share}; Krippendorff's α {shown}, AC1 {wording.number(ac1.value, 2)}."]


def _clusters(found: ClusterFates) -> str:
    undecided = f", {found.undecided:,} may" if found.undecided else ""
    stay = "1 stays" if found.stay == 1 else f"{found.stay:,} stay"
    go = "1 goes" if found.go == 1 else f"{found.go:,} go"
    least = counted(found.least, "question", "questions")
    return f"Clusters: {stay}{undecided}, {go} with fewer than {least} kept."


def _compared(compared: Comparison) -> list[str]:
    found, other = compared.naturalness, wording.name(compared.other)
    if not found.blocks:
        return [f"Naturalness: no pair with a question of {other} is rated yet."]

    def shown(one: Estimate) -> str:
        return wording.with_interval(one.value, _interval(one), 2)

    people, pairs = counted(found.raters, "person", "people"), counted(found.blocks, "pair", "pairs")
    sentences = [
        f"Naturalness (1 to 5, {pairs}, {people}): {shown(found.ours)}, {other} {shown(found.other)}; difference "
        f"{shown(found.difference)}."
    ]
    if found.randomisation.p is None:
        return [*sentences, f"Between clusters: p undefined, as {found.randomisation.undefined}."]
    between = wording.number(found.between_clusters, 2)
    clusters = counted(found.clusters, "cluster", "clusters")
    p = wording.p_value(found.randomisation.p)
    return [*sentences, f"Mean difference of {clusters}: {between}, {p} (randomisation)."]


def _interval(found: Estimate) -> Interval | None:
    return None if found.low is None or found.high is None else Interval(found.low, found.high)


def derived(found: Derived | AddedBlocks) -> Answer:
    """What was added for acceptance or rating, and what to do next."""
    if isinstance(found, AddedBlocks):
        return _blocks(found)
    if not found.questions:
        return Answer(["No question is finished yet, so there is nothing to derive."], rest="next: quati-pool annotate")
    added = sum(found.added.values())
    choices = found.added.get("choices", 0)
    texts = counted(added - choices, "derived text", "derived texts")
    sets = counted(choices, "set of multiple choice", "sets of multiple choice")
    finished = counted(found.questions, "finished question", "finished questions")
    sentences = [f"{texts} and {sets} added for acceptance, of {finished}; {found.there:,} were there already."]
    if found.by_model is not None:
        sentences.append(_by_model(found.by_model))
    for language, splits in found.too_small.items():
        sentences += _too_small(language, splits)
    if found.replaced:
        sentences.append(
            f"{counted(found.replaced, 'earlier set waits', 'earlier sets wait')} that a release would not use, as the "
            "answers of their split are others now."
        )
    return Answer(sentences, rest="next: quati-pool annotate" if added else "")


def _blocks(found: AddedBlocks) -> Answer:
    if not found.questions:
        return Answer(["No question is finished yet, so there is nothing to rate."], rest="next: quati-pool annotate")
    other = wording.name(found.name)
    pairs, raters = counted(found.added, "pair", "pairs"), counted(found.raters, "person", "people")
    finished = counted(found.questions, "finished question", "finished questions")
    sentences = [
        f"{pairs} with questions of {other} added for rating by {raters} each, of {finished}; {found.there:,} were "
        "there already."
    ]
    if found.waiting:
        are = "question is" if found.waiting == 1 else "questions are"
        sentences.append(f"{found.waiting:,} {are} of clusters in which tasks wait: derive again once these are done.")
    if found.unpaired:
        got = counted(found.unpaired, "question", "questions")
        sentences.append(f"{got} got none: {other} has no unused question left; add some to its file.")
    return Answer(sentences, rest="next: quati-pool annotate" if found.added else "")


def _by_model(found: DerivedByModel) -> str:
    """What a model wrote, what of it is not added, and the cost."""
    parts = [f"{wording.name(found.drafter)} wrote {counted(len(found.texts), 'text', 'texts')}"]
    for what, reasons in (("held back", found.held_back), ("without an answer", found.failed)):
        if reasons:
            why = wording.counts((reason.replace("_", " "), count) for reason, count in reasons.most_common())
            parts.append(f"{reasons.total():,} {what} ({why})")
    if found.not_asked:
        parts.append(f"{found.not_asked:,} requests not asked")
    return f"{'; '.join(parts)}; {wording.asked_cost(found.calls, found.cost, found.unknown)}."


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
    if found.with_evidence is not None:
        questions = counted(found.with_evidence, "question has", "questions have")
        sentences.append(f"{questions} evidence of an answer." if found.with_evidence else "There is no evidence.")
    if found.shared_constraints:
        constraints = counted(found.shared_constraints, "constraint is", "constraints are")
        sentences.append(f"{constraints} in several splits, as the clusters are of several draws.")
    if found.open:
        waiting = ", ".join(f"{count:,} {_kind(kind)}" for kind, count in found.open.items())
        sentences.append(f"Released although not finished, or left out: {waiting}.")
    sentences += _left_out(found.out)
    if not found.commands:
        return Answer(sentences)
    lines = [f"  {shlex.join(('quati-pool', *command))}" for command in found.commands]
    if found.with_evidence:
        lines.append("and, in its workspaces, quati-pool build and quati-pool evaluate --robust")
    return Answer(sentences, rest="\n".join(["next:", *lines]))


def _finished(found: RoundsReport) -> str:
    states = found.states.get(found.unit, {})
    kept, total = states.get("kept", 0), sum(states.values())
    written_from = ""
    for source in ("text", "cluster"):
        sources = sum(found.states.get(source, {}).values())
        if sources and found.unit != source:
            written_from = f", from {counted(sources, source, _kind(source))}"
    by = counted(found.people, "person", "people")
    return f"{kept:,} of {total:,} {_kind(found.unit)} are finished{written_from}, by {by}."


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
