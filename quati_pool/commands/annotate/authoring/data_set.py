"""What a release of questions holds: their records without names of people, their splits, and the facts of the card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from quati_pool.annotation.authoring.forms import MACHINE
from quati_pool.annotation.authoring.pira import CHOICES, DERIVED, Pira
from quati_pool.annotation.authoring.romqa import BLOCK, CLUSTER, Romqa
from quati_pool.commands.annotate.authoring.choices import ChoiceSet, choice_sets
from quati_pool.commands.annotate.authoring.estimate import Estimate
from quati_pool.commands.annotate.authoring.records import Record, Records
from quati_pool.commands.annotate.authoring.report import AuthoringReport, report_on
from quati_pool.commands.annotate.authoring.romqa_report import RomqaReport, Spread, current_blocks
from quati_pool.commands.annotate.authoring.splits import Splits
from quati_pool.errors import QuatiPoolError
from quati_pool.qa_benchmarks.base import SPLITS
from quati_pool.release.question_sets import (
    AspectAgreement,
    Ends,
    HumanScore,
    Naturalness,
    QuestionFacts,
    QuestionSizes,
    Verified,
)

# A query's own id is its question_id.
_INTERNAL = {"task_id", "text_id", "parent_id", "query_id"}


@dataclass(frozen=True)
class ReleasedChoices:
    """The sets of multiple choice in a language: ``accepted`` are released, ``refused`` and ``missing`` (never accepted
    as they are now) are not; ``too_small`` are the splits without two distinct answers."""

    accepted: int
    refused: int
    missing: int
    too_small: Sequence[str] = ()


@dataclass(frozen=True)
class DataSet:
    """What is released: the records by kind, their splits, and the accepted sets of multiple choice by language.
    ``open`` counts by kind the items that want something, released or not."""

    records: Records
    splits: Splits
    report: AuthoringReport
    choices: Mapping[str, Sequence[ChoiceSet]]
    by_kind: Mapping[str, Sequence[Record]]
    open: Mapping[str, int]

    @property
    def units(self) -> dict[str, int]:
        """The number of units by split."""
        found = Counter(self.splits.of(self.records, one["item_id"]) for one in self.records.units)
        return {split: found[split] for split in SPLITS}

    @property
    def shared_constraints(self) -> int:
        """The number of constraints in several splits: none of one draw of clusters, but those of two draws may be."""
        splits: dict[tuple[str, ...], set[str | None]] = {}
        for one in self.records.units if self.report.romqa is not None else ():
            for constraint in one["constraints"]:
                key = (constraint["property"]["id"], constraint["entity"]["id"], constraint["side"])
                splits.setdefault(key, set()).add(self.splits.of(self.records, one["item_id"]))
        return sum(len(of_constraint) > 1 for of_constraint in splits.values())


def data_set(records: Records, splits: Splits) -> tuple[DataSet, dict[str, ReleasedChoices]]:
    """What is released, finished or not. Raises QuatiPoolError where nothing is finished."""
    config, unit = records.config, records.design.unit
    if not records.of(unit, kept=True):
        problem = f"no {unit_name(unit)} is finished yet"
        left_out = [why for item_id, why in records.left_out.items() if records.items[item_id].state == "kept"]
        if left_out:
            problem += f", but for {len(left_out):,} that are left out ({', '.join(sorted(set(left_out)))})"
        raise QuatiPoolError(f"{config.name}: {problem}; go on with: quati-pool annotate, or see questions list")
    chosen, counts = _choices(records, splits)
    unused = _unused(records, {one.digest for sets in chosen.values() for one in sets})
    waiting = Counter(
        # A draft is in no release until somebody has accepted it; other units that are open may be.
        "draft" if records.undecided(item) else item.kind
        for item in records.items.values()
        if records.state(item) == "open" and item.item_id not in unused
    )
    accepted = {one["digest"] for one in records.of(CHOICES)}
    # An open unit waits, whether it is released or not.
    units = {one["item_id"] for one in records.units}
    by_kind = {
        kind: [
            _public(one, records)
            for one in of_kind
            if one["item_id"] not in unused and (kind != unit or one["item_id"] in units)
        ]
        for kind, of_kind in records.by_kind.items()
    }
    data = DataSet(
        records,
        splits,
        report_on(records, splits),
        {language: [one for one in sets if one.digest in accepted] for language, sets in chosen.items()},
        by_kind,
        {kind: waiting[kind] for kind in (*records.kinds, "draft") if waiting[kind]},
    )
    return data, counts


def unit_name(unit: str) -> str:
    """What a unit is called in sentences: the query of a cluster is a question once it is released."""
    return "question" if unit == Romqa.unit else unit


def _unused(records: Records, current: Set[str]) -> set[int]:
    """The items that a release has no use for: those of a question that is out or left out by now, sets of multiple
    choice that are not among the ``current`` ones, clusters without a question that is released, and blocks that show a
    question otherwise than it is released."""
    found = set()
    blocks, clusters = set(), set()
    if isinstance(records.design, Romqa):
        blocks = {one["item_id"] for one in current_blocks(records)}
        clusters = {records.items[one["item_id"]].parent_id for one in records.units}
    for item in records.items.values():
        unit = records.of_unit(item.item_id)
        unused = unit is not None and unit is not item and records.state(unit) == "out"
        if isinstance(records.design, Pira):
            unused |= item.kind == CHOICES and item.content["digest"] not in current
        elif isinstance(records.design, Romqa):
            unused |= item.kind == BLOCK and item.item_id not in blocks
            unused |= item.kind == CLUSTER and item.item_id not in clusters
        if unused:
            found.add(item.item_id)
    return found


def _choices(records: Records, splits: Splits) -> tuple[dict[str, list[ChoiceSet]], dict[str, ReleasedChoices]]:
    """The sets as they are now in every language in which some were ever derived, and how many of them there are."""
    if not isinstance(records.design, Pira):
        return {}, {}
    items = [item for item in records.items.values() if item.kind == CHOICES]
    state = {item.content["digest"]: item.state for item in items}
    sets, counts = {}, {}
    for language in sorted({language for item in items for language in item.content["languages"]}):
        sets[language], too_small = choice_sets(records, splits, language)
        states = Counter(state.get(one.digest, "open") for one in sets[language])
        counts[language] = ReleasedChoices(states["kept"], states["out"], states["open"], too_small)
    return sets, counts


def _public(record: Record, records: Records) -> Record:
    """A record without names of people, with the ids of a release and the name of the program that drafted it."""
    item_id = record["item_id"]
    item = records.items[item_id]
    ids = {"question_id": records.released_id(item_id)} if item.kind == records.design.unit else {}
    if item.parent_id is not None and records.items[item.parent_id].kind == records.design.unit:
        ids = {"question_id": records.released_id(item.parent_id)}
    name = "cluster_id" if records.design.sources == "clusters" else "source_id"
    source = {} if name in record else {name: records.root(item_id).source_id}
    found: Record = _numbered({**ids, **source, **record}, records)
    # By the record where it says so: a draft that was refused is not the question that a person wrote after it.
    drafted_by = record.get("drafted_by", item.drafted_by)
    if item.kind == CHOICES and item.parent_id is not None:
        # A set is built without a model: its question and answer are those that it was built from.
        drafted_by = records.items[item.parent_id].drafted_by
    if drafted_by is not None:
        found["drafted_by"] = records.drafters[drafted_by]
    return found


def _numbered(value: Any, records: Records) -> Any:
    """A value with the numbers of people, under ``person``, in place of their names, under ``by``, and with the names
    of translators in place of their versions."""
    if isinstance(value, Mapping):
        found: dict[str, Any] = {}
        for name, inner in value.items():
            if name == "by":
                found["person"] = records.people.get(inner)
            elif name == "kept":
                # Columns of the sources, whatever their names are.
                found[name] = inner
            elif name == "translator":
                found[name] = records.drafters[inner]
            elif name not in _INTERNAL:
                found[name] = _numbered(inner, records)
        return found
    if isinstance(value, (list, tuple)):
        return [_numbered(inner, records) for inner in value]
    return value


def entries_of(records: Records) -> Iterator[dict[str, Any]]:
    """Every entry that counts, without comments, in which people may name each other."""
    for item, entry in records.counting():
        yield {
            "seq": entry.seq,
            "item_id": item.item_id,
            "kind": item.kind,
            "round": entry.round,
            "step": entry.step,
            "action": entry.action,
            "person": records.people[entry.by],
            "reason": entry.reason,
            "content": {
                name: _translated(value, records) if name == MACHINE else value
                for name, value in entry.content.items()
                if name != "comment"
            },
            "active_seconds": entry.active_seconds,
        }


def _translated(machine: Mapping[str, Mapping[str, Any]], records: Records) -> dict[str, Any]:
    """Which fields a program translated, by the name of the program."""
    return {
        field: {"translator": records.drafters[one["by"]], "edited": one["edited"]} for field, one in machine.items()
    }


def facts(data: DataSet) -> QuestionFacts:
    """What the card says of the data set."""
    records, found = data.records, data.report
    derived = Counter(one["drafted_by"] for one in data.by_kind.get(DERIVED, ()) if one["drafted_by"])
    agreement = [
        AspectAgreement(one.field, one.agreement.alpha.value, one.agreement.ac1.value, one.agreement.n)
        for one in found.evaluations
        if one.agreement.n
    ]
    return QuestionFacts(
        unit=unit_name(records.design.unit),
        units=data.units,
        split_by=data.splits.by,
        seed=data.splits.seed,
        people=len(records.people),
        rounds={one.round: one.done for one in records.progress},
        out=records.out,
        open=data.open,
        human=[HumanScore(one.language, one.f1.value, one.em.value, one.n) for one in found.human if one.n],
        agreement=agreement,
        drafted_by=Counter(records.drafters[one["drafted_by"]] for one in records.units if one.get("drafted_by")),
        translated_by=Counter(translators(records)),
        derived_by=derived,
        shared_constraints=data.shared_constraints,
        **({} if found.romqa is None else _romqa_facts(found.romqa)),
    )


def translators(records: Records) -> Iterator[str]:
    """For each text of a unit that a program translated, the name of the first one that did."""
    for record in records.units:
        for versions in record.get("versions", {}).values():
            translated = next((one["machine"] for one in versions if "machine" in one), None)
            if translated is not None:
                yield records.drafters[translated["translator"]]


def _romqa_facts(found: RomqaReport) -> dict[str, Any]:
    verified, compared = found.verification, found.comparison

    def pair(spread: Spread) -> tuple[float, float] | None:
        return None if spread.mean is None or spread.median is None else (spread.mean, spread.median)

    facts: dict[str, Any] = {
        "verified": Verified(
            *_ends(verified.share),
            verified.judged,
            verified.verifiers,
            verified.agreement.alpha.value,
            verified.agreement.ac1.value,
        ),
        "sizes": [
            QuestionSizes(
                "all" if one.split is None else one.split,
                one.clusters,
                one.questions,
                pair(one.constraints),
                one.negated,
                pair(one.answers),
                pair(one.evidence),
            )
            for one in found.sizes
        ],
    }
    if compared is not None and (rated := compared.naturalness).blocks:
        facts["naturalness"] = Naturalness(
            compared.other,
            rated.blocks,
            rated.raters,
            _ends(rated.ours),
            _ends(rated.other),
            _ends(rated.difference),
            rated.between_clusters,
            rated.randomisation.p,
        )
    return facts


def _ends(found: Estimate) -> Ends:
    return found.value, found.low, found.high
