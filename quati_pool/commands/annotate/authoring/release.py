"""``quati-pool questions release``: the data set that people wrote, in the form of a benchmark, as JSON lines, or for
Hugging Face.

Who wrote what is released by number, never by name.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quati_pool import __version__
from quati_pool.annotation.authoring.base import Design
from quati_pool.annotation.authoring.pira import CHOICES, DERIVED, EVALUATION, QUESTION, Pira
from quati_pool.commands.annotate.authoring.choices import ChoiceSet, choice_sets
from quati_pool.commands.annotate.authoring.records import Record, Records, open_records
from quati_pool.commands.annotate.authoring.report import AuthoringReport, report_on
from quati_pool.commands.annotate.authoring.splits import SPLITS_FILE, Splits, make_splits, read_splits
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import (
    clear_partials,
    digest,
    file_digest,
    locked_output,
    read_meta,
    stale,
    unfinished,
    write_folder,
)
from quati_pool.project.events import Listener
from quati_pool.qa_benchmarks.base import SPLITS
from quati_pool.qa_benchmarks.multiple_choice import MultipleChoice
from quati_pool.qa_benchmarks.pira import multiple, writing
from quati_pool.qa_benchmarks.pira.files import LANGUAGES
from quati_pool.qa_benchmarks.pira.writing import QuestionSet
from quati_pool.release.names import file_stems
from quati_pool.release.output import Output
from quati_pool.release.question_sets import AspectAgreement, HumanScore, QuestionFacts, card, write_dataset
from quati_pool.store.authoring_records import Item
from quati_pool.text.pluralize import counted

FORMS = ("pira", "jsonl", "hf")

_REVISION = 1  # raised when the same records give other files
_INTERNAL = {"task_id", "text_id", "parent_id"}


@dataclass(frozen=True)
class ReleasedChoices:
    """The sets of multiple choice in a language: ``accepted`` are released, ``refused`` and ``missing`` (never accepted
    as they are now) are not; ``too_small`` are the splits without two distinct answers."""

    accepted: int
    refused: int
    missing: int
    too_small: Sequence[str] = ()


@dataclass(frozen=True)
class ReleasedQuestions:
    """A folder with a release; ``made`` is False if it held the same already.

    ``units`` counts the units by split; ``out`` what is left out, by kind and reason; ``open`` what is released
    although its rounds are not over, by kind. ``command`` is the next one, without ``quati-pool``.
    """

    path: Path
    form: str
    made: bool
    unit: str
    units: Mapping[str, int]
    out: Mapping[str, Mapping[str, int]]
    open: Mapping[str, int]
    choices: Mapping[str, ReleasedChoices] = field(default_factory=dict)
    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class _DataSet:
    """What is released: the records by kind, their splits, and the accepted sets of multiple choice by language."""

    records: Records
    splits: Splits
    report: AuthoringReport
    choices: Mapping[str, Sequence[ChoiceSet]]
    by_kind: Mapping[str, Sequence[Record]]
    open: Mapping[str, int]


def release(
    config_path: Path,
    form: str,
    folder: Path,
    *,
    allow_missing: bool = False,
    database: str | None = None,
    listener: Listener | None = None,
) -> ReleasedQuestions:
    """Writes the data set into ``folder``. Units that an earlier release in that folder holds stay in their splits.

    Raises QuatiPoolError, and writes nothing, for a form that the design does not have, a folder that holds something
    else, where nothing is finished yet, and, unless ``allow_missing``, where rounds are not over or a set of multiple
    choice was not accepted as it is now.
    """
    records = open_records(config_path, database)
    config = records.config
    if form not in records.design.formats or form not in FORMS:
        forms = ", ".join(one for one in records.design.formats if one in FORMS)
        raise QuatiPoolError(f"--as {form}: {config.path} has a design that is released as {forms}; name one of these")
    if not config.release.texts:
        problem = "release: texts: false withholds the texts, and every question quotes its own"
        raise ConfigError(f"{config.path}: {problem}; set it to true once you may publish them")
    if form not in possible_forms(records.design):
        written = ", ".join(records.design.languages)
        raise QuatiPoolError(f"--as pira: its files have the columns en and pt, and languages: is {written}; use jsonl")
    _refuse_others(folder, form, config.name)
    data, choices = _data_set(records, make_splits(records, folder))
    missing = {language: found.missing for language, found in choices.items() if found.missing}
    if (data.open or missing) and not allow_missing:
        _refuse_unfinished(records, data.open, missing, folder)
    key = {
        "tool": __version__,
        "form": f"{form}@{_REVISION}",
        "config": file_digest(config.path),
        "records": digest(dict(data.by_kind)),
        "entries": digest(list(_entries(records))),
        "card": digest(card(config.release, config.name, _facts(data))),
        "splits": dict(data.splits.units),
    }
    listener = listener or Listener()
    with locked_output(folder, listener.say):
        clear_partials(folder)
        made = stale(folder, key) is not None
        if made:
            _refuse_others(folder, form, config.name)
            with listener.stage(f"release {form}"):
                provenance = {"collection": config.name, "config": file_digest(config.path)}
                write_folder(folder, key, provenance, lambda partial: _write(form, data, partial))
    units = _unit_counts(data)
    to = folder.with_name(f"{folder.name}-ir")
    command = ("bench", "pira", "ir", "--data", str(folder), "--to", str(to)) if form == "pira" else ()
    return ReleasedQuestions(folder, form, made, records.design.unit, units, records.out, data.open, choices, command)


def possible_forms(design: Design[Any]) -> list[str]:
    """The forms in which a design's data set can be released in its languages."""
    forms = [form for form in design.formats if form in FORMS]
    return [form for form in forms if form != "pira" or set(design.languages) == set(LANGUAGES)]


def _refuse_others(folder: Path, form: str, collection: str) -> None:
    """Raises QuatiPoolError unless the folder is empty, or an unchanged release of the collection in the same form."""
    if folder.exists() and not folder.is_dir():
        raise QuatiPoolError(f"{folder} is a file; name a folder with -o")
    if not folder.name or folder.name == "..":
        raise QuatiPoolError(f"{folder} cannot be replaced; name a separate folder with -o")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    found = read_splits(folder)
    if found is None:
        raise QuatiPoolError(f"{folder} is not empty and holds no release of questions; name another folder with -o")
    if found["form"] != form:
        raise QuatiPoolError(f"{folder} holds a release as {found['form']}; name another folder with -o")
    meta = read_meta(folder)
    if meta is not None and meta.get("collection") != collection:
        problem = f"holds a release of {meta.get('collection')}, and this is {collection}"
        raise QuatiPoolError(f"{folder} {problem}; name another folder with -o")
    why = unfinished(folder)
    if why is not None and "changed" in why:
        raise QuatiPoolError(f"{folder} would be replaced, and {why}; move it away, or name another folder with -o")


# What is released


def _data_set(records: Records, splits: Splits) -> tuple[_DataSet, dict[str, ReleasedChoices]]:
    """What is released, finished or not. Raises QuatiPoolError where nothing is finished."""
    config = records.config
    if not records.of(records.design.unit, kept=True):
        problem = f"no {records.design.unit} is finished yet"
        raise QuatiPoolError(f"{config.name}: {problem}; go on with: quati-pool annotate, or see questions list")
    chosen, counts = _choices(records, splits)
    current = {one.digest for sets in chosen.values() for one in sets}
    unused = {item.item_id for item in records.items.values() if _unused(records, item, current)}
    waiting = Counter(
        item.kind for item in records.items.values() if item.state == "open" and item.item_id not in unused
    )
    accepted = {one["digest"] for one in records.of(CHOICES)}
    by_kind = {
        kind: [_public(one, records) for one in of_kind if one["item_id"] not in unused]
        for kind, of_kind in records.by_kind.items()
    }
    data = _DataSet(
        records,
        splits,
        report_on(records),
        {language: [one for one in sets if one.digest in accepted] for language, sets in chosen.items()},
        by_kind,
        {kind: waiting[kind] for kind in records.kinds if waiting[kind]},
    )
    return data, counts


def _unused(records: Records, item: Item, current: Set[str]) -> bool:
    """Whether a release has no use for an item: one of a question that is out by now, or a set of multiple choice that
    is not among the ``current`` ones."""
    unit = records.of_unit(item.item_id)
    if unit is not None and unit is not item and unit.state == "out":
        return True
    return item.kind == CHOICES and isinstance(records.design, Pira) and item.content["digest"] not in current


def _refuse_unfinished(records: Records, waiting: Mapping[str, int], missing: Mapping[str, int], folder: Path) -> None:
    """Raises QuatiPoolError, with what is to be done first."""
    parts = [f"{counted(count, 'item', 'items')} of kind {kind} not finished" for kind, count in waiting.items()]
    remedy = "go on with: quati-pool annotate"
    if not waiting.get(CHOICES):
        sets = ((counted(count, "set", "sets"), language) for language, count in missing.items())
        parts += [f"{count} of multiple choice ({language}) not accepted" for count, language in sets]
    if missing and not waiting.get(CHOICES):
        option = "" if read_splits(folder) is None else f" --release {folder}"
        remedy = f"run quati-pool questions derive{option}, and have what it adds accepted"
    raise QuatiPoolError(f"{records.config.name}: {', '.join(parts)}; {remedy}, or add --allow-missing")


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
    source = {} if "source_id" in record else {"source_id": records.root(item_id).source_id}
    found: Record = _numbered({**ids, **source, **record}, records.people)
    if "kept" in record:
        # Columns of the sources, whatever their names are.
        found["kept"] = record["kept"]
    if item.drafted_by is not None:
        found["drafted_by"] = records.drafters[item.drafted_by]
    return found


def _numbered(value: Any, people: Mapping[str, int]) -> Any:
    """A value with the numbers of people, under ``person``, in place of their names, under ``by``."""
    if isinstance(value, Mapping):
        return {
            "person" if name == "by" else name: people.get(inner) if name == "by" else _numbered(inner, people)
            for name, inner in value.items()
            if name not in _INTERNAL
        }
    if isinstance(value, (list, tuple)):
        return [_numbered(inner, people) for inner in value]
    return value


def _unit_counts(data: _DataSet) -> dict[str, int]:
    found = Counter(data.splits.of(data.records, one["item_id"]) for one in data.records.units)
    return {split: found[split] for split in SPLITS}


def _entries(records: Records) -> Iterator[dict[str, Any]]:
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
            "content": {name: value for name, value in entry.content.items() if name != "comment"},
            "active_seconds": entry.active_seconds,
        }


def _facts(data: _DataSet) -> QuestionFacts:
    records, found = data.records, data.report
    derived = Counter(one["drafted_by"] for one in data.by_kind.get(DERIVED, ()) if one["drafted_by"])
    agreement = [
        AspectAgreement(one.field, one.agreement.alpha.value, one.agreement.ac1.value, one.agreement.n)
        for one in found.evaluations
        if one.agreement.n
    ]
    return QuestionFacts(
        unit=records.design.unit,
        units=_unit_counts(data),
        split_by=data.splits.by,
        seed=data.splits.seed,
        people=len(records.people),
        rounds={one.round: one.done for one in records.progress},
        out=records.out,
        open=data.open,
        human=[HumanScore(one.language, one.f1.value, one.em.value, one.n) for one in found.human if one.n],
        agreement=agreement,
        derived_by=derived,
    )


# The forms


def _write(form: str, data: _DataSet, folder: Path) -> dict[str, Any]:
    output = Output(folder)
    # First, as it marks the folder as a release.
    output.json(
        SPLITS_FILE,
        {
            "form": form,
            "by": data.splits.by,
            "seed": data.splits.seed,
            "shares": dict(data.splits.shares),
            "units": dict(sorted(data.splits.units.items())),
        },
    )
    {"pira": _write_pira, "jsonl": _write_jsonl, "hf": _write_hf}[form](data, output)
    return {"units": _unit_counts(data), "rows": output.rows}


def _write_jsonl(data: _DataSet, output: Output) -> None:
    stems = file_stems(data.by_kind, ["entries"])
    for kind, records in data.by_kind.items():
        split_of = data.splits.of
        rows = ({"split": split_of(data.records, one["item_id"]), **one} for one in records)
        output.records(f"{stems[kind]}.jsonl", rows)
    output.records("entries.jsonl", _entries(data.records))
    config = data.records.config
    output.text("README.md", card(config.release, config.name, _facts(data)))


def _write_hf(data: _DataSet, output: Output) -> None:
    """One configuration a kind, that of the units first. What has no split, such as texts that several splits share,
    is in a split with the name of its kind."""
    unit = data.records.design.unit
    configs: dict[str, dict[str, list[Record]]] = {}
    for kind in sorted(data.by_kind, key=lambda kind: kind != unit):
        by_split: dict[str, list[Record]] = {split: [] for split in (*SPLITS, kind)}
        for one in data.by_kind[kind]:
            # The versions are in the entries; as columns they would differ from data set to data set.
            row = {name: value for name, value in one.items() if name != "versions"}
            by_split[data.splits.of(data.records, one["item_id"]) or kind].append(row)
        configs[kind] = by_split
    entries = [{**one, "content": json.dumps(one["content"], ensure_ascii=False)} for one in _entries(data.records)]
    configs["entries"] = {"entries": entries}
    config = data.records.config
    write_dataset(output, config.release, config.name, configs, _facts(data))


def _write_pira(data: _DataSet, output: Output) -> None:
    records = data.records
    derived: dict[int, dict[str, str]] = {}
    for one in records.of(DERIVED):
        # Of several texts that were accepted under one name, the first that was added is released.
        derived.setdefault(one["parent_id"], {}).setdefault(one["field"], one["text"])
    sets: dict[str, list[QuestionSet]] = {split: [] for split in SPLITS}
    for record in records.of(QUESTION):
        split = data.splits.of(records, record["item_id"])
        sets[str(split)].append(_question_set(records, record, derived.get(record["item_id"], {})))
    columns = writing.filled_columns(one for of_split in sets.values() for one in of_split)
    for split, of_split in sets.items():
        if of_split:
            _write_file(output, f"{split}.csv", writing.written(of_split, columns))
    for language, accepted in data.choices.items():
        for split in SPLITS:
            chosen = [_multiple_choice(records, one) for one in accepted if one.split == split]
            if chosen:
                # Only the released files, which are English, have no language in their name.
                name = f"MCQA-{split}.csv" if language == "en" else f"MCQA-{split}-{language}.csv"
                _write_file(output, name, multiple.written(chosen))
    output.records("assessments.jsonl", _assessments(records))
    output.text("README.md", card(records.config.release, records.config.name, _facts(data)))


def _question_set(records: Records, record: Record, derived: Mapping[str, str]) -> QuestionSet:
    first: Mapping[str, Any] = next(iter(record["assessments"]), {})

    def numbered(what: str) -> dict[str, dict[int, str]]:
        return {
            language: {n: derived[name] for n in (1, 2) if (name := f"{what}.{n}.{language}") in derived}
            for language in LANGUAGES
        }

    return QuestionSet(
        question_id=records.released_id(record["item_id"]),
        corpus=record["kept"].get("corpus", ""),
        question=record["question"],
        paraphrase=first.get("paraphrase") or {},
        answer=record["answer"],
        validated=first.get("validation") or {},
        text=records.texts(record),
        source=record["kept"].get("eid_article_scopus", ""),
        generic=first.get("generic"),
        in_text=first.get("in_text"),
        hard=first.get("hard"),
        meaningful=first.get("sense"),
        equivalent=first.get("equivalent"),
        type=first.get("type"),
        at_label=record["at_label"],
        translated_question=derived.get("translation.question.pt-en", ""),
        automatic=numbered("paraphrase"),
        automatic_answers=numbered("answer_paraphrase"),
        drafted_by="" if record["drafted_by"] is None else records.drafters[record["drafted_by"]],
    )


def _multiple_choice(records: Records, one: ChoiceSet) -> MultipleChoice:
    labels = multiple.LABELS[: len(one.options)]
    text = records.texts(one.record)[one.language]
    question = one.record["question"][one.language]
    question_id = records.released_id(one.record["item_id"])
    return MultipleChoice(question_id, question, one.options, labels, labels[one.correct], (text,))


def _assessments(records: Records) -> Iterator[dict[str, Any]]:
    """Every assessment; the columns of Pirá's files have room for the first of a question only."""
    for record in records.of(QUESTION):
        for one in record["assessments"]:
            yield {
                "id_qa": records.released_id(record["item_id"]),
                "person": records.people[one["by"]],
                "validation": one["validation"],
                **{name: one[name] for name in EVALUATION},
                "paraphrase": one["paraphrase"],
                "curated": one["curated"],
            }


def _write_file(output: Output, name: str, data: bytes) -> None:
    output.place(name).write_bytes(data)
    output.wrote(name)
