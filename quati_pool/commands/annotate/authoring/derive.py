"""``quati-pool questions derive``: adds what is derived from kept questions, for people to accept, refuse or rate.

Of Pirá's, sets for multiple choice are built here; paraphrases and translations come from files, by any program, or
from a model that is asked for them. Of RoMQA's, each is put next to one of another set, for people to rate.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quati_pool.annotation.authoring.pira import CHOICES, DERIVED, QUESTION, TEXT, DerivedField, Pira, derived_field
from quati_pool.annotation.authoring.romqa import Romqa
from quati_pool.commands.annotate.authoring.blocks import AddedBlocks, new_blocks, other_questions
from quati_pool.commands.annotate.authoring.choices import choice_sets
from quati_pool.commands.annotate.authoring.records import Record, Records, read_records
from quati_pool.commands.annotate.authoring.sources import design_of
from quati_pool.commands.annotate.authoring.splits import make_splits, read_splits
from quati_pool.commands.annotate.drafts.deriving import LONGEST, DerivedByModel, derive_by_model
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.digests import digest
from quati_pool.files.problems import quoted
from quati_pool.files.tables import Field, read_table
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.store.authoring import Authoring
from quati_pool.store.authoring_records import NewItem
from quati_pool.store.database import Store

_FIELDS = ("field", "text", "question_id", "source_id", "drafted_by")
_LONGEST_NAME = 100


@dataclass(frozen=True)
class Derived:
    """What was added for acceptance, by field (``choices`` for sets of multiple choice), and how many were there.

    ``questions`` is the number of kept questions; ``too_small`` are splits without two distinct answers, by language;
    ``replaced`` counts sets that wait for acceptance and that a release would not use, because the answers of their
    split are others by now. ``by_model`` is what a model was asked for, None without one.
    """

    added: Mapping[str, int]
    there: int
    questions: int
    too_small: Mapping[str, Sequence[str]]
    replaced: int
    by_model: DerivedByModel | None = None


def derive(
    config_path: Path,
    files: Sequence[Path] = (),
    *,
    languages: Sequence[str] = (),
    release: Path | None = None,
    model: str | None = None,
    budget: float | None = None,
    database: str | None = None,
    listener: Listener | None = None,
    stop: threading.Event | None = None,
) -> Derived | AddedBlocks:
    """Adds the sets of multiple choice in ``languages`` (by default English, or the first language where the
    collection has no English), the derived texts of ``files`` (JSON lines), and what ``model``, a judge of pool.yaml,
    derives (``derive_by_model``) for at most ``budget`` US dollars. Where the design is RoMQA's, adds the blocks of
    ``new_blocks`` instead.

    ``release`` is the folder of a release whose splits stay, as sets are built from the answers of a split. What is
    there already is not added again. Raises InputError, with the line, for a text of no kept question, a field or
    language that the design does not have, and an empty text; nothing is added then.
    """
    config = load_config(config_path, writing=True)
    design = design_of(config)
    if isinstance(design, Romqa):
        for option, given in (("--file", files), ("--choices", languages), ("--release", release), ("--model", model)):
            if given:
                raise QuatiPoolError(f"{option}: questions of romqa are only put next to others for rating; drop it")
        return _blocks(config, design, database)
    if not isinstance(design, Pira):
        problem = f"the design {design.id} has nothing to derive; those of pira and romqa have"
        raise ConfigError(f"{config.path}: authoring: {problem}")
    for language in languages:
        if language not in design.languages:
            among = ", ".join(design.languages)
            raise QuatiPoolError(f"--choices {language}: the questions are written in {among}; name one of these")
    chosen = list(dict.fromkeys(languages)) or ["en" if "en" in design.languages else design.languages[0]]
    if release is not None and read_splits(release) is None:
        raise QuatiPoolError(f"--release {release}: holds no release of questions, so no splits; name its folder")
    with Store.open(database or config.labels.url, config.folder) as store:
        with store.snapshot():
            records = read_records(config, store)
        splits = make_splits(records, release)
        items: list[NewItem] = []
        too_small: dict[str, Sequence[str]] = {}
        current: set[str] = set()
        for language in chosen:
            sets, too_small[language] = choice_sets(records, splits, language)
            for one in sets:
                current.add(one.digest)
                parent = one.record["item_id"]
                source_id = f"{parent}:{CHOICES}:{one.digest}"
                items.append(NewItem(CHOICES, source_id, one.content(), design.place(source_id), parent))
        names: dict[str, str] = {}
        for path in files:
            for item in _read(path, records, design):
                if item.drafted_by is not None:
                    names[_version(item.drafted_by)] = item.drafted_by
                    item = item._replace(drafted_by=_version(item.drafted_by))
                items.append(item)
        by_model = None
        if model is not None:
            by_model = derive_by_model(records, design, store, model, listener or Listener(), budget, stop)
            items += [_item(one.parent, one.field, one.text, one.drafted_by, design) for one in by_model.texts]
        known = {(item.kind, item.source_id) for item in records.items.values()}
        new = []
        for item in items:
            if (key := (item.kind, item.source_id)) not in known:
                known.add(key)
                new.append(item)
        for version in sorted({item.drafted_by for item in new if item.drafted_by in names}):
            store.register(version, "judge", {"name": names[version]})
        Authoring(store, config.name, design.id, design).add(new)
    waiting = [item for item in records.items.values() if item.kind == CHOICES and item.state == "open"]
    replaced = sum(
        item.content["digest"] not in current for item in waiting if set(item.content["languages"]) <= set(chosen)
    )
    added = Counter(CHOICES if item.kind == CHOICES else str(item.content["field"]) for item in new)
    kept = len(records.of(QUESTION, kept=True))
    small = {language: splits for language, splits in too_small.items() if splits}
    return Derived(dict(added), len(items) - len(new), kept, small, replaced, by_model)


def _blocks(config: PoolConfig, design: Romqa, database: str | None) -> AddedBlocks:
    others = other_questions(config)
    with (
        Store.open(database or config.labels.url, config.folder) as store,
        # Two processes would pair the same question of the other set twice.
        store.lock(f"derive {config.name}", lambda _: None),
    ):
        with store.snapshot():
            records = read_records(config, store)
        items, found = new_blocks(records, design, others)
        Authoring(store, config.name, design.id, design).add(items)
    return found


def _version(drafter: str) -> str:
    """The version under which a program that somebody else ran is registered."""
    return digest({"drafter": drafter})[:16]


def _read(path: Path, records: Records, design: Pira) -> Iterator[NewItem]:
    """The texts of a file as items, with the name of the program in place of its version."""
    questions = {records.released_id(one["item_id"]): one for one in records.of(QUESTION, kept=True)}
    texts = {one["source_id"]: one for one in records.of(TEXT)}
    fields = [Field(name, name, required=name in ("field", "text")) for name in _FIELDS]
    for line, (name, text, question_id, source_id, drafter) in read_table(path, "jsonl", fields):
        field = derived_field(name, design.languages)
        if field is None or field.number not in (None, 1, 2):
            raise InputError(path, line, f"field is {quoted(name)}; expected {_expected(design.languages)}")
        text, drafter = text.strip(), drafter.strip()
        if not text or len(text) > LONGEST or "\x00" in text:
            raise InputError(path, line, f"text is {quoted(text)}; expected 1 to {LONGEST:,} characters")
        if field.what in ("paraphrase", "translation.question") and len(text.splitlines()) > 1:
            raise InputError(path, line, f"text is {quoted(text)}; expected a question on one line")
        if drafter and (len(drafter) > _LONGEST_NAME or not drafter.isprintable()):
            raise InputError(path, line, f"drafted_by is {quoted(drafter)}; expected a program's name, such as pegasus")
        if field.what == "translation.text":
            parent = _found(path, line, "source_id", source_id, texts, "no text of the collection has this id")
        else:
            parent = _found(path, line, "question_id", question_id, questions, "no kept question has this id")
        if field.what == "translation.text" and field.language in parent["text"]:
            raise InputError(path, line, f"its source has the text in {field.language} already; drop this line")
        yield _item(parent, name, text, drafter or None, design)


def _item(parent: Record, name: str, text: str, drafted_by: str | None, design: Pira) -> NewItem:
    """A derived text as an item."""
    field = derived_field(name, design.languages)
    assert field is not None
    content = {"field": name, "language": field.language, **_origin(parent, field), "text": text}
    key = f"{parent['item_id']}:{name}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return NewItem(DERIVED, key, content, design.place(key), parent["item_id"], drafted_by)


def _found(path: Path, line: int, name: str, value: str, known: Mapping[str, Record], problem: str) -> Record:
    if not value:
        raise InputError(path, line, f"has no {name}; expected the id of what the text derives from")
    found = known.get(value)
    if found is None:
        raise InputError(path, line, f"{name} is {quoted(value)}: {problem}; ids are as in the files of a release")
    return found


def _origin(parent: Record, field: DerivedField) -> dict[str, Any]:
    """What a text derives from, and the question and answer that it is shown with."""
    if field.what == "translation.text":
        return {"original": next(iter(parent["text"].values())), "question": None, "answer": None}
    shown = {name: parent[name].get(field.language) for name in ("question", "answer")}
    original = parent["answer" if field.what == "answer_paraphrase" else "question"][field.origin]
    return {"original": original, **shown}


def _expected(languages: Sequence[str]) -> str:
    one, other = languages[0], languages[-1]
    names = [f"paraphrase.1.{one}", f"answer_paraphrase.2.{other}"]
    if one != other:
        names += [f"translation.text.{other}", f"translation.question.{one}-{other}"]
    return (
        f"one such as {', '.join(names)} (paraphrases have the numbers 1 and 2; languages are {', '.join(languages)})"
    )
