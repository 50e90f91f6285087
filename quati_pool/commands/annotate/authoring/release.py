"""``quati-pool questions release``: the data set that people wrote, in the form of a benchmark, as JSON lines, or for
Hugging Face.

Who wrote what is released by number, never by name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quati_pool import __version__
from quati_pool.annotation.authoring.base import Design
from quati_pool.annotation.authoring.pira import CHOICES
from quati_pool.commands.annotate.authoring import romqa_release
from quati_pool.commands.annotate.authoring.data_set import (
    DataSet,
    ReleasedChoices,
    data_set,
    entries_of,
    facts,
    unit_name,
)
from quati_pool.commands.annotate.authoring.pira_release import write_pira
from quati_pool.commands.annotate.authoring.records import Record, Records, open_records
from quati_pool.commands.annotate.authoring.splits import ABOUT, SPLITS_FILE, make_splits, read_splits
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import (
    check_folder,
    clear_partials,
    digest,
    file_digest,
    locked_output,
    read_counts,
    read_meta,
    stale,
    unfinished,
    write_folder,
)
from quati_pool.project.events import Listener
from quati_pool.qa_benchmarks.base import SPLITS
from quati_pool.qa_benchmarks.pira.files import LANGUAGES
from quati_pool.release.names import file_stems
from quati_pool.release.output import Output
from quati_pool.release.question_sets import card, write_dataset
from quati_pool.text.pluralize import counted

FORMS = ("pira", "romqa", "jsonl", "hf")

_REVISION = 2  # raised when the same records give other files


@dataclass(frozen=True)
class ReleasedQuestions:
    """A folder with a release; ``made`` is False if it held the same already.

    ``units`` counts the units by split; ``out`` what is left out, by kind and reason; ``open`` what is released
    although its rounds are not over, or left out for that, by kind. ``with_evidence`` is the number of questions with
    evidence of an answer, None in forms other than RoMQA's. ``shared_constraints`` is that of constraints in several
    splits. ``commands`` are the next ones, without ``quati-pool``.
    """

    path: Path
    form: str
    made: bool
    unit: str
    units: Mapping[str, int]
    out: Mapping[str, Mapping[str, int]]
    open: Mapping[str, int]
    choices: Mapping[str, ReleasedChoices] = field(default_factory=dict)
    with_evidence: int | None = None
    shared_constraints: int = 0
    commands: tuple[tuple[str, ...], ...] = ()


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
    else, where nothing is finished yet, where the clusters that questions were written from are not there any more,
    and, unless ``allow_missing``, where rounds are not over or a set of multiple choice was not accepted as it is now.
    """
    records = open_records(config_path, database)
    config = records.config
    if form not in records.design.formats or form not in FORMS:
        forms = ", ".join(one for one in records.design.formats if one in FORMS)
        raise QuatiPoolError(f"--as {form}: {config.path} has a design that is released as {forms}; name one of these")
    _refuse_texts(records, form)
    if form not in possible_forms(records.design):
        written = ", ".join(records.design.languages)
        raise QuatiPoolError(f"--as pira: its files have the columns en and pt, and languages: is {written}; use jsonl")
    _refuse_others(folder, form, config.name)
    data, choices = data_set(records, make_splits(records, folder))
    missing = {language: found.missing for language, found in choices.items() if found.missing}
    if (data.open or missing) and not allow_missing:
        _refuse_unfinished(records, data.open, missing, folder)
    key = {
        "tool": __version__,
        "form": f"{form}@{_REVISION}",
        "config": file_digest(config.path),
        "records": digest(dict(data.by_kind)),
        "entries": digest(list(entries_of(records))),
        "card": digest(card(config.release, config.name, facts(data))),
        "splits": dict(data.splits.units),
        **({"clusters": romqa_release.clusters_digest(config)} if form == "romqa" else {}),
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
    with_evidence = read_counts(folder).get("with_evidence")
    return ReleasedQuestions(
        folder,
        form,
        made,
        records.design.unit,
        data.units,
        records.out,
        data.open,
        choices,
        with_evidence,
        data.shared_constraints,
        _next_commands(form, folder, with_evidence),
    )


def _next_commands(form: str, folder: Path, with_evidence: int | None) -> tuple[tuple[str, ...], ...]:
    data = ("--data", str(folder))
    if form == "pira":
        return (("bench", "pira", "ir", *data, "--to", str(folder.with_name(f"{folder.name}-ir"))),)
    if form == "romqa":
        to = ("--to", str(folder.with_name(f"{folder.name}-evidence")))
        evidence = (("bench", "romqa", "evidence", *data, *to),) if with_evidence else ()
        return (("bench", "romqa", "closed", *data), *evidence)
    return ()


def possible_forms(design: Design[Any], *, texts: bool = True) -> list[str]:
    """The forms in which a design's data set can be released in its languages; without ``texts``, those that quote
    none."""
    forms = [form for form in design.formats if form in FORMS]
    if not texts:
        # Questions on constraints quote no text; RoMQA's gold files do, where the clusters have evidence.
        forms = [form for form in forms if form != "romqa"] if design.sources == "clusters" else []
    return [form for form in forms if form != "pira" or set(design.languages) == set(LANGUAGES)]


def _refuse_texts(records: Records, form: str) -> None:
    """Raises ConfigError where texts may not be released, and the form quotes them."""
    if records.config.release.texts or form in possible_forms(records.design, texts=False):
        return
    problem, instead = "every question quotes its own", ""
    if records.design.sources == "clusters":
        if not any(one["evidence"] for one in records.units):
            return
        problem, instead = "RoMQA's gold files quote them as evidence", ", or use --as jsonl, which quotes none"
    withheld = f"{records.config.path}: release: texts: false withholds the texts, and {problem}"
    raise ConfigError(f"{withheld}; set it to true once you may publish them{instead}")


def _refuse_others(folder: Path, form: str, collection: str) -> None:
    """Raises QuatiPoolError unless the folder is empty, or an unchanged release of the collection in the same form."""
    check_folder(folder)
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


def _refuse_unfinished(records: Records, waiting: Mapping[str, int], missing: Mapping[str, int], folder: Path) -> None:
    """Raises QuatiPoolError, with what is to be done first."""
    parts = [
        f"{counted(count, 'item', 'items')} of kind {unit_name(kind)} not finished" for kind, count in waiting.items()
    ]
    remedy = "go on with: quati-pool annotate"
    if not waiting.get(CHOICES):
        sets = ((counted(count, "set", "sets"), language) for language, count in missing.items())
        parts += [f"{count} of multiple choice ({language}) not accepted" for count, language in sets]
    if missing and not waiting.get(CHOICES):
        option = "" if read_splits(folder) is None else f" --release {folder}"
        remedy = f"run quati-pool questions derive{option}, and have what it adds accepted"
    raise QuatiPoolError(f"{records.config.name}: {', '.join(parts)}; {remedy}, or add --allow-missing")


# The forms


def _write(form: str, data: DataSet, folder: Path) -> dict[str, Any]:
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
            "about": data.records.config.release.model_dump(include=set(ABOUT), exclude_none=True),
        },
    )
    writers = {"pira": write_pira, "romqa": romqa_release.write_romqa, "jsonl": _write_jsonl, "hf": _write_hf}
    counts = writers[form](data, output)
    return {"units": data.units, "rows": output.rows, **(counts or {})}


def _write_jsonl(data: DataSet, output: Output) -> None:
    stems = file_stems(data.by_kind, ["entries"])
    for kind, records in data.by_kind.items():
        split_of = data.splits.of
        rows = ({"split": split_of(data.records, one["item_id"]), **one} for one in records)
        output.records(f"{stems[kind]}.jsonl", rows)
    output.records("entries.jsonl", entries_of(data.records))
    config = data.records.config
    output.text("README.md", card(config.release, config.name, facts(data)))


def _write_hf(data: DataSet, output: Output) -> None:
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
    entries = [{**one, "content": json.dumps(one["content"], ensure_ascii=False)} for one in entries_of(data.records)]
    configs["entries"] = {"entries": entries}
    config = data.records.config
    write_dataset(output, config.release, config.name, configs, facts(data))
