"""RoMQA's way of writing questions (Zhong, Shi, Yih and Zettlemoyer, Findings of EMNLP 2023, section 2): from a logical
query, a conjunction of constraints; verified by others, of whom all must agree; rated for how natural it is. Where a
model has drafted the question, somebody decides on that first, and it is written only if the draft is refused.

An item is a cluster of constraints, a query of it (the question, once it is written), or a block: a question with one
of another set, for people to rate who do not know which is which.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field as Setting
from pydantic import model_validator

from quati_pool.annotation.authoring.base import DRAFT_ROUND, Design, Made, Parameters, Round, Source
from quati_pool.annotation.authoring.cluster_records import evidence_texts
from quati_pool.annotation.authoring.forms import Field, Step
from quati_pool.files.triples import EntityText
from quati_pool.store.authoring_records import DRAFT, Entry, Item, ItemState, Wanted
from quati_pool.text.typed import has_words

CLUSTER, QUERY, BLOCK = "cluster", "query", "block"
"""The kinds of items."""

SIDES = ("a", "b")
"""The questions of a block, as people who rate them know them."""

NOT_VERIFIED = "not_verified"
SMALL_CLUSTER = "small_cluster"
"""Why a question is left out: a verifier refused it; too few others of its cluster are left."""

LANGUAGE = "language"
REFUSED_QUERY = ("unnatural", "unclear", "other")
REFUSED_DRAFT = ("unnatural", "unclear", "says_more", "says_less", "other_meaning", LANGUAGE, "other")
REFUSED_QUESTION = ("says_more", "says_less", "other_meaning", LANGUAGE, "other")

DRAFT_STEP = "draft_query"
"""The step in which a person decides on a draft."""

MOST_ANSWERS = 10
"""The most answers of a query that people are shown."""

_QUESTION_CHARACTERS = 500


class OtherSet(Parameters):
    """The questions that those written here are compared with: a file of queries, and what the set is called."""

    path: Annotated[str, Setting(min_length=1)]
    name: Annotated[str, Setting(min_length=1, max_length=100)]

    @model_validator(mode="after")
    def _named(self) -> Self:
        if not (has_words(self.name) and self.name.isprintable()):
            raise ValueError("name: expected words on one line, such as  name: RoMQA")
        return self


class RomqaParameters(Parameters):
    """How many people verify and rate each question."""

    verifiers: Annotated[int, Setting(ge=1, le=10, description="people who verify each question; all must agree")] = 2
    least_questions: Annotated[
        int, Setting(ge=1, le=100, description="questions that a cluster must keep, or all of them are left out")
    ] = 3
    raters: Annotated[int, Setting(ge=1, le=20, description="people who rate how natural each question is")] = 3
    compare: Annotated[
        OtherSet | None,
        Setting(description="the questions that they are rated next to: {path: a file of queries, name: the set's}"),
    ] = None

    @model_validator(mode="after")
    def _rated(self) -> Self:
        if self.compare is None and "raters" in self.model_fields_set:
            raise ValueError(
                "raters: has no effect without questions to compare with; add  compare: {path: other.tsv, name: RoMQA},"
                " or drop raters"
            )
        return self


class Romqa(Design[RomqaParameters]):
    id = "authoring/romqa"
    Parameters = RomqaParameters
    summary = "questions on constraints of a knowledge graph, verified by others and rated, as for RoMQA"
    example = "languages: [en], sources: {path: authoring/clusters}"
    unit = QUERY
    finished_only = True
    formats: ClassVar[tuple[str, ...]] = ("romqa", "jsonl", "hf")
    sources: ClassVar[Literal["texts", "clusters"]] = "clusters"
    split_by: ClassVar[tuple[str, ...]] = ("clusters",)
    most_languages = 1

    def __init__(self, parameters: RomqaParameters, languages: Sequence[str], seed: int) -> None:
        super().__init__(parameters, languages, seed)
        (self.language,) = self.languages
        self._question = f"question.{self.language}"
        self.rounds = {one.name: one for one in _rounds(self._question, self.language)}

    # What people write from.

    def first(self, source: Source) -> Made:
        return Made(CLUSTER, source.source_id, {"constraints": len(source.cluster["constraints"])})

    def inner(self, source: Source) -> list[Made]:
        return [Made(QUERY, query["query_id"], _content(source, query)) for query in source.cluster["queries"]]

    # What an item wants. Tasks that are done stay wanted, so that undoing one is seen to take away those after it.

    def wanted(self, item: Item, entries: Sequence[Entry]) -> Wanted:
        if item.kind == CLUSTER:
            return Wanted(frozenset(), "kept")
        if item.kind == BLOCK:
            tasks = _replicates("rate", self.parameters.raters)
            return Wanted(tasks, "kept" if len(_last(entries, "rate")) >= self.parameters.raters else "open")
        written, decided = _newest(entries, "write"), _newest(entries, DRAFT_ROUND)
        drafted = self._drafted(item) is not None
        tasks = _replicates(DRAFT_ROUND, 1) if drafted and (decided is not None or written is None) else frozenset()
        if not drafted or written is not None or (decided is not None and decided.action == "refused"):
            tasks |= _replicates("write", 1)
        if written is not None and written.action == "refused":
            return Wanted(tasks, "out", written.reason)
        if _asked(entries) is None:
            return Wanted(tasks)
        tasks |= _replicates("verify", self.parameters.verifiers)
        verified = _last(entries, "verify")
        state: ItemState = "open"
        if len(verified) >= self.parameters.verifiers:
            state = "out" if any(entry.action == "refused" for entry in verified) else "kept"
        return Wanted(tasks, state, NOT_VERIFIED if state == "out" else None)

    # What a person sees.

    def shown(self, step: Step, item: Item, parent: Item | None, entries: Sequence[Entry]) -> dict[str, Any]:
        asked = _asked(entries)
        text = None if asked is None else asked.content[self._question]
        if step.name == DRAFT_STEP:
            text = self._drafted(item)
        known = {**item.content, "question": {} if text is None else {self.language: text}}
        return {name: known[name] for name in step.shows}

    def _drafted(self, item: Item) -> str | None:
        """The question that a model drafted for a query, if one has."""
        text: str | None = item.content.get(DRAFT, {}).get(self._question)
        return text

    def in_short(self, item: Item, entries: Sequence[Entry]) -> str:
        if item.kind != QUERY:
            return super().in_short(item, entries)
        asked = _asked(entries)
        return _in_short(item.content["constraints"]) if asked is None else str(asked.content[self._question])

    # What is released.

    def record(self, item: Item, parent: Item | None, entries: Sequence[Entry]) -> dict[str, Any] | None:
        """What is released of an item; None for one that is out.

        Of a cluster: ``kind, item_id, cluster_id`` and ``constraints``, their number.

        Of a query, also of one that is still open: ``kind, item_id, query_id, cluster_id, language``; ``question`` and
        ``by``, who wrote or accepted it, None until then; ``constraints`` as in the item's content, ``answers``, their
        number, and ``evidence``, that of different texts (None: the clusters have none); ``verifications``, in the
        order of their tasks, each with ``by, task_id, exact`` (whether the question asks exactly this) and else the
        ``reason``; ``drafted_by``, None unless the question is a draft that was accepted, edited or not.

        Of a block: ``kind, item_id, parent_id``; ``questions``, ``ours`` and ``other_id`` as in the item's content;
        ``ratings``, in the order of their tasks, each with ``by, task_id, a, b`` (1 to 5).
        """
        common = {"kind": item.kind, "item_id": item.item_id}
        if item.kind == CLUSTER:
            return common | {"cluster_id": item.source_id, **item.content}
        if item.kind == BLOCK:
            ratings = [
                {"by": one.by, "task_id": one.task_id} | {side: one.content[f"natural.{side}"] for side in SIDES}
                for one in _last(entries, "rate")
            ]
            return common | {"parent_id": item.parent_id, **item.content, "ratings": ratings}
        asked = _asked(entries)
        return common | {
            "query_id": item.source_id,
            "cluster_id": item.content["cluster_id"],
            "language": self.language,
            "question": None if asked is None else asked.content[self._question],
            "constraints": item.content["constraints"],
            "answers": item.content["count"],
            "evidence": item.content["evidence"],
            "by": None if asked is None else asked.by,
            "verifications": [
                {"by": one.by, "task_id": one.task_id, "exact": one.action == "given", "reason": one.reason}
                for one in _last(entries, "verify")
            ],
            "drafted_by": item.drafted_by if asked is not None and asked.round == DRAFT_ROUND else None,
        }

    def left_out(self, units: Sequence[Mapping[str, Any]]) -> dict[int, str]:
        """The questions, open ones too, of clusters that too few can remain of."""
        clusters: dict[str, list[int]] = defaultdict(list)
        for one in units:
            clusters[one["cluster_id"]].append(one["item_id"])
        return {
            item_id: SMALL_CLUSTER
            for item_ids in clusters.values()
            if len(item_ids) < self.parameters.least_questions
            for item_id in item_ids
        }

    def released_id(self, item: Item, source: Item) -> str:
        return item.source_id


def shown_ids(cluster: Mapping[str, Any]) -> set[str]:
    """The ids of a cluster whose texts people are shown."""
    found = {constraint[name] for constraint in cluster["constraints"] for name in ("property", "entity")}
    return found.union(*(query["answers"][:MOST_ANSWERS] for query in cluster["queries"]))


def _in_short(constraints: Sequence[Mapping[str, Any]]) -> str:
    """The constraints of a query's item on one line, negated ones with a barred arrow."""
    return "; ".join(
        f"{one['property']['label']} {'↛' if one['negated'] else '→'} {one['entity']['label']}" for one in constraints
    )


def _content(source: Source, query: Mapping[str, Any]) -> dict[str, Any]:
    """The item of a query: all that people are shown of it."""

    def named(identity: str) -> dict[str, Any]:
        text = source.names.get(identity, EntityText(identity, "", ()))
        return {"id": identity, **text._asdict(), "aliases": list(text.aliases)}

    constraints = [(source.cluster["constraints"][one["constraint"]], one["negated"]) for one in query["constraints"]]
    return {
        "cluster_id": source.cluster["cluster_id"],
        "constraints": [
            {
                "property": named(one["property"]),
                "entity": named(one["entity"]),
                "side": one["side"],
                "negated": negated,
            }
            for one, negated in constraints
        ],
        "answers": [named(answer)["label"] for answer in query["answers"][:MOST_ANSWERS]],
        "count": len(query["answers"]),
        "evidence": evidence_texts(query),
    }


def _replicates(round_name: str, count: int) -> frozenset[tuple[str, int]]:
    return frozenset((round_name, replicate) for replicate in range(1, count + 1))


def _newest(entries: Sequence[Entry], round_name: str) -> Entry | None:
    return next((entry for entry in reversed(entries) if entry.round == round_name), None)


def _asked(entries: Sequence[Entry]) -> Entry | None:
    """The entry with the question: what somebody wrote, or else a draft as it was accepted."""
    found = _newest(entries, "write") or _newest(entries, DRAFT_ROUND)
    return found if found is not None and found.action == "given" else None


def _last(entries: Sequence[Entry], round_name: str) -> list[Entry]:
    """The last entry of each task of a round, in the order of the tasks."""
    found = {entry.task_id: entry for entry in entries if entry.round == round_name}
    return [found[task_id] for task_id in sorted(found, key=lambda one: one or 0)]


def _rounds(question: str, language: str) -> Iterator[Round]:
    query = ("constraints", "answers", "count")
    field = Field(question, "line", "question", language, most=_QUESTION_CHARACTERS, unlike_others=True)
    yield Round("write", (Step("write", query, (field,)),), refusals=REFUSED_QUERY)
    # After writing, since later rounds are served first: what a model drafted is decided on before more is written.
    draft = Step(DRAFT_STEP, (*query, "question"), (field._replace(prefilled=question),))
    yield Round(DRAFT_ROUND, (draft,), refusals=REFUSED_DRAFT)
    yield Round("verify", (Step("verify", (*query, "question"), ()),), apart="item", refusals=REFUSED_QUESTION)
    ratings = tuple(Field(f"natural.{side}", "scale", f"natural_{side}", values=("1", "5")) for side in SIDES)
    yield Round("rate", (Step("rate", ("questions",), ratings),), apart="parent")
