"""Anchors: pairs that people and a judge graded, kept so that the judge can be asked about them again later.

They are a file next to an audit's other pairs, and no design of the store: designs say whom people are to grade, while
the grades that anchors are compared with are the judge's labels in the store anyway.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from quati_pool.agreement.coefficients import cohen_kappa
from quati_pool.audit.base import PairTexts
from quati_pool.audit.drift import Anchor, AnchorGrades, Drift, Unfinished, draw_order, servers
from quati_pool.commands.audit.drawn_cases import Member, members
from quati_pool.commands.audit.graded_pairs import Key, people_of, read_graded, read_pairs
from quati_pool.commands.audit.queue import repetition_of, shown_pair
from quati_pool.commands.judge.chosen_judge import ChosenJudge, pick_judges
from quati_pool.errors import ConfigError
from quati_pool.files.artifacts import NOT_THERE, digest, locked, read_meta, unfinished, write_file
from quati_pool.files.lines import output, read_lines
from quati_pool.judging.base import Judge
from quati_pool.labels.base import Graded
from quati_pool.labels.consensus import aggregate_samples
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import ConsensusConfig, PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.records import State
from quati_pool.store.answer_sources import AnswerSource, answer_sources
from quati_pool.store.database import Store
from quati_pool.store.records import COUNTING, CurrentLabel, content_sha

# To be increased when the file has another form.
_FORMAT = 1
CHECKS = 1_000_000
"""The answers of the first check are the repetition after this one: no probe repeats a pair so often."""


@dataclass(frozen=True)
class FixedAnchors:
    """The anchors of a judge: ``added`` are new, and ``wanted`` is how many there should be."""

    judge: str
    drift: Drift
    added: int
    wanted: int


def fix_anchors(config: Path | PoolConfig, names: Sequence[str], number: int, listener: Listener) -> list[FixedAnchors]:
    """Fixes ``number`` anchors of judges of a ``pool.yaml``, or of its only one, without asking anything. Those that
    there are stay, unless the judge has changed since.

    Raises ConfigError if a judge cannot be asked again, or no pair was graded by people and by it.
    """
    config = load_config(config) if isinstance(config, Path) else config
    found = []
    for name in pick_judges(config, names):
        with Store.open(config.labels.url, config.folder) as store:
            grading = Grading(config, store)
            member = anchored(grading, name)
            path, lock = _paths(grading, name)
            with listener.stage(f"{name}: choosing anchors"), locked(lock, listener.say):
                known = anchors_of(grading, member)
                kept = known if isinstance(known, list) else []
                anchors = [*kept, *_drawn(grading, member, kept, number - len(kept))]
                if not anchors:
                    raise ConfigError(_no_pairs(grading, name))
                if len(anchors) > len(kept):
                    key = {"format": _FORMAT, "version": digest(member.definition(grading))}
                    _write(path, key, anchors)
            drift = stored_drift(grading, name)
            assert isinstance(drift, Drift)
            found.append(FixedAnchors(name, drift, len(anchors) - len(kept), number))
    return found


def _no_pairs(grading: Grading, name: str) -> str:
    """Why a judge that has graded pairs can have no anchors."""
    files = [one for one in grading.config.labels.files if one != grading.config.audit.people]
    named = f"; audit: {{people: {files[0]}}} in pool.yaml takes the grades of {files[0]} for people's" if files else ""
    return (
        f"{name} has no anchors, as people graded no pair that it graded too; let people grade first: "
        f"quati-pool annotate{named}"
    )


def anchored(grading: Grading, name: str) -> Member:
    """The judge ``name``. Raises ConfigError if it cannot have anchors."""
    settings = grading.config.judges.get(name)
    if isinstance(settings, ConsensusConfig):
        names = " ".join(settings.consensus)
        raise ConfigError(f"{name} is computed from the grades of other judges; check these: {names}")
    (member,) = members(grading, name)
    return member


def anchors_of(grading: Grading, member: Member) -> list[Anchor] | str:
    """The anchors of a judge, or in words why there are none that can be used."""
    path, _ = _paths(grading, member.name)
    fix = f"quati-pool audit {member.name} --anchors 200"
    problem = unfinished(path)
    if problem == NOT_THERE:
        return f"{member.name} has no anchors; fix some: {fix}"
    meta = read_meta(path)
    if meta is None:
        return f"the anchors of {member.name} cannot be used ({path.name} {problem}); fix them again: {fix}"
    if meta["key"].get("format") != _FORMAT:
        return f"the anchors of {member.name} are of another version of quati-pool; fix them again: {fix}"
    if meta["key"].get("version") != digest(member.definition(grading)):
        return (
            f"{member.name} is another judge since its anchors were fixed (its prompt, model or parameters in "
            f"pool.yaml changed), so that its grades may differ for that reason; judge, then fix new ones: {fix}"
        )
    return [Anchor.from_json(json.loads(text)) for _, text in read_lines(path)]


def stored_drift(grading: Grading, name: str) -> Drift | str:
    """The last finished check of a judge, or why it has no anchors; asks and writes nothing."""
    if isinstance(grading.config.judges.get(name), ConsensusConfig):
        return "a consensus has no anchors of its own; the judges that it is computed from have"
    (member,) = members(grading, name)
    anchors = anchors_of(grading, member)
    return anchors if isinstance(anchors, str) else Answers(member.chosen(grading), anchors).drift()


class Answers:
    """What a judge answered about its anchors: when they were fixed, and in checks and repetitions since.

    Its former grades are read from the store, not from the anchors' file, so that they follow the current rules for
    reading answers and aggregating samples, as its new ones do.
    """

    def __init__(self, chosen: ChosenJudge, anchors: Sequence[Anchor]) -> None:
        self._chosen = chosen
        self._anchors = anchors
        self.read()

    def read(self) -> None:
        """Reads the stored answers, also those that were stored since."""
        chosen, self._labels = self._chosen, self._read()
        repeated = {
            row.origin
            for (_, repetition), samples in self._labels.items()
            if repetition > CHECKS
            for row in samples.values()
        }
        self._sources = answer_sources(chosen.grading.store, repeated)

    @property
    def begun(self) -> dict[int, datetime]:
        """When the first answer of each check came, by its number."""
        found: dict[int, datetime] = {}
        for (_, repetition), samples in self._labels.items():
            for row in samples.values() if repetition > CHECKS else ():
                at = self._sources[row.origin].at
                check = repetition - CHECKS
                found[check] = min(found.get(check, at), at)
        return found

    @cached_property
    def askable(self) -> Mapping[str, tuple[Anchor, PairTexts]]:
        """The anchors that are in the pool as they were, by content, with the texts that the judge is given."""
        judge = self._chosen.judge
        texts = read_pairs(self._chosen.grading, {(anchor.query_id, anchor.doc_id) for anchor in self._anchors})
        found = {}
        for anchor in self._anchors:
            key = (anchor.query_id, anchor.doc_id)
            if key in texts:
                shown = as_asked(judge, texts[key].shown)
                if content_of(judge, key, shown) == anchor.content_sha:
                    found[anchor.content_sha] = (anchor, shown)
        return found

    def unanswered(self, check: int) -> list[str]:
        """Which askable anchors a check has still to ask about: those without an answer, not those whose answer has no
        grade, as that is what the judge says of them."""
        return [content for content in self.askable if not self._has(content, check, but=[State.failed])]

    def finished(self, check: int) -> bool:
        """Whether there is something stored of all askable anchors, if only a call that failed."""
        return self._stored(check) == len(self.askable)

    def _stored(self, check: int) -> int:
        return sum(self._has(content, check) for content in self.askable)

    def _has(self, content: str, check: int, but: Collection[State] = ()) -> bool:
        samples = self._labels.get((content, CHECKS + check), {})
        return sum(row.status not in but for row in samples.values()) >= self._chosen.settings.samples

    def drift(self) -> Drift:
        """The last finished check; before the first, the one that is nearest to it. So a check that was begun and left
        hides none of what is known already."""
        config, begun = self._chosen.grading.config, self.begun
        if not begun:
            return Drift(self._anchors, sorted(config.grades), config.seed, noise=self._noise([]))
        stored = {check: self._stored(check) for check in begun}
        check, last = max(begun, key=lambda one: (stored[one], one)), max(begun)
        checks = {one: self._compared(one) for one in begun}
        found = checks[check]
        by_people, former, new = ([getattr(pair, name) for pair in found.pairs] for name in ("people", "then", "now"))
        total = len(self.askable)
        return replace(
            found,
            unfinished=Unfinished(begun[last], stored[last], total) if stored[last] < total else None,
            noise=self._noise([one for one, each in checks.items() if each.verdict == "moved"]),
            kappa=cohen_kappa(found.grades, former, new),
            people_then=cohen_kappa(found.grades, by_people, former),
            people_now=cohen_kappa(found.grades, by_people, new),
            servers_then=servers(
                [(one.model, one.fingerprint, one.answered) for one in self._anchors if one.answered is not None]
            ),
            servers_now=servers([*self._answered(check)]),
        )

    def _compared(self, check: int) -> Drift:
        """The grades of a check next to the former ones."""
        config = self._chosen.grading.config
        pairs, ungraded, lost, unasked = [], 0, 0, 0
        for anchor in self._anchors:
            then, now = (self._graded(anchor, repetition) for repetition in (0, CHECKS + check))
            if now.status is None:
                unasked += 1
            elif now.relevance is None or then.relevance is None:
                ungraded += 1
                lost += then.relevance is not None
            else:
                key = (anchor.query_id, anchor.doc_id)
                pairs.append(AnchorGrades(*key, anchor.people, then.relevance, now.relevance))
        return Drift(
            self._anchors, sorted(config.grades), config.seed, check, pairs, ungraded=ungraded, lost=lost,
            unasked=unasked,
        )  # fmt: skip

    def _answered(self, check: int) -> Iterator[AnswerSource]:
        for (_, repetition), samples in self._labels.items():
            if repetition == CHECKS + check:
                yield from (self._sources[row.origin] for row in samples.values())

    def _read(self) -> Mapping[tuple[str, int], dict[int, CurrentLabel]]:
        """The labels by number of the sample, those of each anchor's hash and repetition; 0 is the former answer."""
        chosen, by_content = self._chosen, {anchor.content_sha: anchor for anchor in self._anchors}
        query_ids = list(dict.fromkeys(anchor.query_id for anchor in self._anchors))
        found: dict[tuple[str, int], dict[int, CurrentLabel]] = {}
        collection, phases = chosen.grading.config.name, (*COUNTING, "repeat")
        for row in chosen.grading.store.current(collection, chosen.name, chosen.version, query_ids, phases):
            anchor = by_content.get(row.content_sha)
            if anchor is None:
                continue
            if row.phase == "repeat":
                repetition, sample = repetition_of(row.sample)
            elif (row.query_id, row.doc_id) == (anchor.query_id, anchor.doc_id):
                repetition, sample = 0, row.sample
            else:
                continue
            known = found.setdefault((row.content_sha, repetition), {})
            if sample not in known or known[sample].status is not State.ok:
                known[sample] = row
        return found

    def _graded(self, anchor: Anchor, repetition: int) -> Graded:
        settings = self._chosen.settings
        labels = self._labels.get((anchor.content_sha, repetition), {})
        samples = {sample: (row.status, row.relevance) for sample, row in labels.items()}
        key = (anchor.query_id, anchor.doc_id)
        return aggregate_samples(*key, samples, settings.samples, settings.aggregate)

    def _noise(self, moved: Collection[int]) -> float | None:
        """The share of all repeated answers that differ from the former one, but for the checks ``moved``."""
        differ = known = 0
        anchors = {anchor.content_sha: anchor for anchor in self._anchors}
        for content, repetition in self._labels:
            if repetition and repetition - CHECKS not in moved:
                then, now = (self._graded(anchors[content], one).relevance for one in (0, repetition))
                if then is not None and now is not None:
                    known += 1
                    differ += then != now
        return differ / known if known else None


def _drawn(grading: Grading, member: Member, kept: Sequence[Anchor], number: int) -> list[Anchor]:
    """``number`` more anchors, or as many as there are."""
    if number <= 0:
        return []
    graded = read_graded(grading, grading.labeler(member.name), people_of(grading))
    there = {(anchor.query_id, anchor.doc_id) for anchor in kept}
    keys = zip(graded.query_ids, graded.doc_ids, graded.people.tolist(), strict=True)
    wanted = [
        (place, query_id, doc_id, int(grade))
        for place, (query_id, doc_id, grade) in enumerate(keys)
        if not math.isnan(grade) and (query_id, doc_id) not in there
    ]
    if not wanted:
        return []
    places, query_ids, doc_ids, grades = zip(*wanted, strict=True)
    order = draw_order(query_ids, doc_ids, grades, grading.config.seed)
    texts = read_pairs(grading, {(query_ids[row], doc_ids[row]) for row in order})
    contents = {anchor.content_sha for anchor in kept}
    chosen = member.chosen(grading)
    origins = _origins(chosen, list(dict.fromkeys(query_ids)))
    found: list[Anchor] = []
    for row in order:
        key = (query_ids[row], doc_ids[row])
        content = content_of(member.judge, key, as_asked(member.judge, texts[key].shown))
        # A passage that is pooled twice would be asked about once; one that was graded otherwise cut is another text.
        if content not in contents and (*key, content) in origins:
            contents.add(content)
            found.append(Anchor(*key, content, grades[row], int(graded.judge[places[row]])))
        if len(found) == number:
            break
    if not found and not kept:
        raise ConfigError(
            f"{member.name} graded other texts than pool.yaml shows it, such as passages cut by --max-passage-tokens; "
            "set max_passage_tokens there as it was"
        )
    return _with_sources(chosen, found, origins)


def as_asked(judge: Judge, shown: PairTexts) -> PairTexts:
    """The texts as a judge grades them: programs are not given narratives."""
    return shown if judge.model is not None else shown._replace(narrative=None)


def content_of(judge: Judge, key: Key, shown: PairTexts) -> str:
    """The hash of a pair's texts as the judge is shown them."""
    pair, _ = shown_pair(judge, *key, shown)
    return content_sha(pair.query, pair.text, pair.narrative)


def _origins(chosen: ChosenJudge, query_ids: Sequence[str]) -> dict[tuple[str, str, str], int]:
    """The origins of the judge's first samples, by query_id, doc_id and hash of the texts."""
    rows = chosen.grading.store.current(chosen.grading.config.name, chosen.name, chosen.version, query_ids)
    return {(row.query_id, row.doc_id, row.content_sha): row.origin for row in rows if row.sample == 1}


def _with_sources(
    chosen: ChosenJudge, anchors: Sequence[Anchor], origins: Mapping[tuple[str, str, str], int]
) -> list[Anchor]:
    """The anchors with the source of the judge's grade."""
    keys = [(anchor.query_id, anchor.doc_id, anchor.content_sha) for anchor in anchors]
    sources = answer_sources(chosen.grading.store, {origins[key] for key in keys})
    found = []
    for anchor in anchors:
        source = sources[origins[anchor.query_id, anchor.doc_id, anchor.content_sha]]
        found.append(replace(anchor, model=source.model, fingerprint=source.fingerprint, answered=source.at))
    return found


def _paths(grading: Grading, name: str) -> tuple[Path, Path]:
    """The file of a judge's anchors, and its lock."""
    workspace = Workspace(grading.config.folder)
    return workspace.audit(name, "anchors"), workspace.lock(f"audit-{name}-anchors")


def _write(path: Path, key: Mapping[str, Any], anchors: Sequence[Anchor]) -> None:
    def fill(partial: Path) -> dict[str, int]:
        with output(partial) as stream:
            for anchor in anchors:
                stream.write(json.dumps(anchor.as_json()).encode() + b"\n")
        return {"anchors": len(anchors)}

    write_file(path, key, {}, fill)
