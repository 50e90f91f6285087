"""``quati-pool import``: stores labels that people gave outside the app under their names."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quati_pool.agreement.identities import folded
from quati_pool.agreement.matching import match
from quati_pool.agreement.pool_join import UnmatchedRow, join_to_pool
from quati_pool.annotation.presentation_order import query_places
from quati_pool.annotation.sampling import frame_sha
from quati_pool.commands.annotate.access import check_name, check_new_name
from quati_pool.commands.annotate.annotation_pair import Ids, counting_shas, label_sha
from quati_pool.commands.annotate.pool_view import PoolView
from quati_pool.commands.annotate.questions.export import queries_there
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.artifacts import digest, file_digest
from quati_pool.files.label_files import LabelFile
from quati_pool.files.pools import PooledPair
from quati_pool.files.queries import read_queries
from quati_pool.labels.gathered import LabelFiles
from quati_pool.labels.label_files import read_label_source
from quati_pool.project.events import Listener
from quati_pool.records import Qrels, State
from quati_pool.store.listing import sent
from quati_pool.store.listing import slots as all_slots
from quati_pool.store.records import CurrentLabel, Design, Label, NewSlot, Selection, Slot
from quati_pool.text.pluralize import counted

# Pairs named in an error message.
_NAMED = 3
# Pairs of the pool read at a time.
_BATCH = 8192


@dataclass(frozen=True, kw_only=True)
class ImportedLabels:
    """The outcome of one person's file. It counts labels ``written``, labels already ``there`` with the same grade,
    labels ``taken_back`` after an earlier import (they stay retracted), ``duplicates`` (rows that repeat a pair and
    its grade), ``ungraded`` pairs, pairs left out because they are ``outside`` the pool, and pairs with a text
    ``differing`` from the pool's. ``unmatched`` are the rows left out because their texts match no pair or several.
    ``design_id`` is the design of slots created for this file; a ``new`` person was unknown before and has no access
    code."""

    name: str
    path: Path
    written: int
    there: int
    taken_back: int
    duplicates: int
    ungraded: int
    outside: int
    differing: int
    unmatched: Sequence[UnmatchedRow] = ()
    design_id: int | None = None
    new: bool = False


def import_labels(
    config_path: Path,
    given: LabelFiles,
    *,
    skip_unknown: bool = False,
    database: str | None = None,
    listener: Listener | None = None,
) -> list[ImportedLabels]:
    """Stores the labels of files, given by person, as blind labels of these people.

    Files without ids are joined to the pool's pairs by texts, as ``agree`` does. If a pair is assigned to the
    person, that slot becomes done; otherwise the person takes a free slot, or gets one in a design with the method
    "imported". If run again, even after it was killed, it writes only what is missing.

    Unknown people are added, without an access code.

    Raises QuatiPoolError, and writes nothing, if a name is not valid for a person, a file is faulty, grades pairs that
    are not in the pool or has texts that match none (unless ``skip_unknown`` leaves these out), or has a grade that
    differs from the person's earlier one.
    """
    listener = listener or Listener()
    with (
        AnnotationSession.open(config_path, database, listener.say) as session,
        session.store.lock(f"{session.config.name} assign", listener.say),
    ):
        _check_people(session, given.files)
        plans = _plans(session, given, skip_unknown)
        _refuse_other_grades(plans)
        return [plan.carry_out(listener) for plan in plans]


def _check_people(session: AnnotationSession, names: Iterable[str]) -> None:
    known = [one.name for one in session.people.all()]
    for name in names:
        if unicodedata.normalize("NFC", name) not in known:
            name = check_name(session.config, name)
            check_new_name(name, known)
            known.append(name)


def _plans(session: AnnotationSession, given: LabelFiles, skip_unknown: bool) -> list[_Plan]:
    config, pool = session.config, session.pool_view
    read = {
        unicodedata.normalize("NFC", name): read_label_source(name, Path(), settings, given.scale or config.grades)
        for name, settings in given.files.items()
    }
    known = read_queries(given.queries) if given.queries is not None else queries_there(config)
    queries = {query.query_id: query.query for query in known}
    joined, unmatched = join_to_pool(read, _pairs(pool), queries)
    if unmatched and not skip_unknown:
        raise _unmatched_error(unmatched)
    matched = match(joined, queries)
    plans = []
    for name, file in joined.items():
        grades = _grades(matched.qrels[name])
        outside = [pair for pair in grades if pair not in pool]
        if outside and not skip_unknown:
            shown = ", ".join(f"{query_id} {doc_id}" for query_id, doc_id in outside[:_NAMED])
            raise InputError(
                file.path,
                None,
                f"{len(outside):,} of {len(grades):,} graded pairs are not in the pool: {shown}"
                f"{' and so on' if len(outside) > _NAMED else ''}; pool them (pool.extra), or leave them out with "
                "--skip-unknown",
            )
        inside = {pair: grade for pair, grade in grades.items() if pair in pool}
        counts = {
            "duplicates": sum(one.labeler == name for one in matched.duplicates),
            "ungraded": matched.ungraded[name],
            "outside": len(outside),
            "unmatched": [row for row in unmatched if row.labeler == name],
        }
        plans.append(_Plan(session, name, file, inside, _differing(pool, file), counts))
    return plans


def _unmatched_error(unmatched: Sequence[UnmatchedRow]) -> QuatiPoolError:
    """An error that says for the first rows why their texts match no pair."""
    shown = "; ".join(f"{row.path}:{row.line}: {row.reason}" for row in unmatched[:_NAMED])
    return QuatiPoolError(
        f"{counted(len(unmatched), 'row matches', 'rows match')} no pair of the pool, or several: {shown}"
        f"{'; and so on' if len(unmatched) > _NAMED else ''}; add query_id and doc_id columns, or leave these rows out "
        "with --skip-unknown"
    )


def _pairs(pool: PoolView) -> Iterator[PooledPair]:
    for batch in pool.table.select(PooledPair._fields).to_batches(max_chunksize=_BATCH):
        yield from map(PooledPair, *(column.to_pylist() for column in batch.columns))


def _grades(qrels: Qrels) -> dict[Ids, int]:
    query_ids, doc_ids = qrels.queries.decode(qrels.query).to_pylist(), qrels.docs.decode(qrels.doc).to_pylist()
    return dict(zip(zip(query_ids, doc_ids, strict=True), qrels.relevance.tolist(), strict=True))


def _differing(pool: PoolView, file: LabelFile) -> set[str]:
    """The doc_ids whose text in the file differs from the pool's, ignoring white space, case and the encoding of
    accents: those labels may be about something else."""
    if file.doc_id is None or file.text is None:
        return set()
    wanted = set(file.doc_id)
    pooled: dict[str, set[str]] = defaultdict(set)
    for doc_id, text in zip(pool.table["doc_id"].to_pylist(), pool.table["text"].to_pylist(), strict=True):
        if doc_id in wanted:
            pooled[doc_id].add(text)
    return {
        doc_id
        for doc_id, text in zip(file.doc_id, file.text, strict=True)
        if text and doc_id in pooled and text not in pooled[doc_id]
        if folded(text) not in map(folded, pooled[doc_id])
    }


def _refuse_other_grades(plans: Sequence[_Plan]) -> None:
    for plan in plans:
        if plan.other_grades:
            shown = ", ".join(f"{query_id} {doc_id}" for query_id, doc_id in plan.other_grades[:_NAMED])
            more = " and so on" if len(plan.other_grades) > _NAMED else ""
            raise QuatiPoolError(
                f"{plan.name} graded {len(plan.other_grades):,} pairs differently before: {shown}{more}; drop them "
                f"from {plan.file.path.name}, or undo them in the app"
            )


class _Plan:
    """The labels to be written from one person's file."""

    def __init__(
        self,
        session: AnnotationSession,
        name: str,
        file: LabelFile,
        grades: Mapping[Ids, int],
        differing: set[str],
        counts: Mapping[str, Any],
    ) -> None:
        self.session = session
        self.name = name
        self.file = file
        self._sha = file_digest(file.path)
        self._counts = counts
        self._differing = differing
        # By pair, the hash of a new label, and the hashes with which a label counts.
        self._shas: dict[Ids, str] = {}
        self._counting: dict[Ids, frozenset[str]] = {}
        for ids in grades:
            shown = session.pair(*ids)
            assert shown is not None
            self._shas[ids], self._counting[ids] = label_sha(shown), counting_shas(shown)
        current = self._current(grades)
        nonces = {pair: self._nonce(pair) for pair in grades}
        before = sent(session.store, nonces.values())
        self.other_grades: list[Ids] = []
        self.there = self.taken_back = 0
        self.labels: dict[Ids, Label] = {}
        for pair, grade in grades.items():
            said = current.get(pair)
            if said is not None and (said.status, said.relevance) == (State.ok, grade):
                self.there += 1
            elif said is not None and said.status in (State.ok, State.unsure):
                self.other_grades.append(pair)
            elif nonces[pair] in before:
                self.taken_back += 1
            else:
                self.labels[pair] = self._label(pair, grade, nonces[pair])

    def carry_out(self, listener: Listener) -> ImportedLabels:
        """Writes the labels one by one, each for its slot, after all slots have been claimed or created."""
        new = self.session.people.add_without_code(self.name)
        mine = self._mine()
        self._claim([pair for pair in self.labels if pair not in mine])
        mine = self._mine()
        design_id = self._create_slots([pair for pair in self.labels if pair not in mine])
        mine = self._mine()
        for done, (pair, label) in enumerate(self.labels.items(), start=1):
            slot = mine[pair]
            if slot.state == "open":
                self.session.assignments.submit(self.name, slot.assignment_id, label, self.session.lease)
            else:
                # The slot was done under an earlier version, or for a text that has changed since.
                self.session.assignments.add_label(replace(label, assignment_id=slot.assignment_id))
            listener.progress(self.name, done, len(self.labels), unit="labels")
        return ImportedLabels(
            name=self.name, path=self.file.path, written=len(self.labels), there=self.there,
            taken_back=self.taken_back, differing=len(self._differing), design_id=design_id, new=new, **self._counts,
        )  # fmt: skip

    def _mine(self) -> dict[Ids, Slot]:
        found = all_slots(self.session.store, self.session.config.name, self.name)
        return {(slot.query_id, slot.doc_id): slot for slot in found}

    def _claim(self, pairs: Sequence[Ids]) -> None:
        """Claims the free slots of these pairs."""
        wanted: dict[str, set[str]] = defaultdict(set)
        for query_id, doc_id in pairs:
            wanted[query_id].add(doc_id)
        for query_id, doc_ids in wanted.items():
            free = self.session.assignments.free(self.name, query_id)
            ids = [slot.assignment_id for slot in free if slot.doc_id in doc_ids]
            if ids:
                self.session.assignments.claim(self.name, ids, self.session.lease)

    def _create_slots(self, pairs: Sequence[Ids]) -> int | None:
        """Creates a design with slots for pairs that are not assigned to this person; returns its design_id."""
        if not pairs:
            return None
        session, pool = self.session, self.session.pool_view
        columns = [pool.table[name].to_pylist() for name in ("query_id", "doc_id")]
        highest: dict[Ids, int] = defaultdict(int)
        for slot in all_slots(session.store, session.config.name):
            pair = (slot.query_id, slot.doc_id)
            highest[pair] = max(highest[pair], slot.replicate)
        order = query_places(session.config.seed, [query_id for query_id, _ in pairs])
        design = Design(
            method="imported",
            seed=session.config.seed,
            frame_sha=frame_sha(*columns),
            frame_pairs=len(pool),
            strata={"imported": [len(pairs), len(pairs), 1.0]},
            parameters={"person": self.name, **self._origin()},
        )
        return session.designs.create(
            design,
            [Selection(*pair, "imported", 1.0, 1) for pair in pairs],
            [NewSlot(*pair, highest[pair] + 1, order[pair[0]], self.name) for pair in pairs],
        )

    def _origin(self) -> dict[str, Any]:
        return {"file": self.file.path.name, "sha256": self._sha}

    def _nonce(self, pair: Ids) -> str:
        """The nonce of this pair's label from this file, for the pair's current texts and the current version."""
        known = [self.session.config.name, self.name, self.session.version, self._sha, *pair, self._shas[pair]]
        return f"import:{digest(known)}"

    def _label(self, pair: Ids, grade: int, nonce: str) -> Label:
        extra: dict[str, Any] = {"imported": self._origin()}
        if pair[1] in self._differing:
            extra["imported"]["other_text"] = True
        return Label(
            collection=self.session.config.name,
            labeler_id=self.name,
            kind="assessor",
            version=self.session.version,
            query_id=pair[0],
            doc_id=pair[1],
            content_sha=self._shas[pair],
            status=State.ok,
            relevance=grade,
            extra=extra,
            nonce=nonce,
        )

    def _current(self, pairs: Mapping[Ids, int]) -> dict[Ids, CurrentLabel]:
        """The person's last label of each pair with its current texts."""
        session = self.session
        query_ids = list(dict.fromkeys(query_id for query_id, _ in pairs))
        rows = session.store.current(session.config.name, self.name, session.version, query_ids)
        found = {}
        for row in sorted(rows, key=lambda one: one.seq):
            pair = (row.query_id, row.doc_id)
            if pair in pairs and row.content_sha in self._counting[pair]:
                found[pair] = row
        return found
