"""What a page gets of a task, and what it sends back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from quati_pool.annotation.authoring.base import Doubt, Step


class OwnItem(NamedTuple):
    """An item that a person made in the task they hold; ``seq`` is the entry to undo. ``text`` is its first field."""

    seq: int
    text: str


class WritingStep(NamedTuple):
    """The step that a person does now: everything that their page may know of it.

    ``item`` is a reference to the task that only this person's requests can use; no id of a text or of a question is on
    a page. ``sha`` is the digest of ``shown``: a form sent for other content than is shown by then is refused.
    ``own`` are the items made so far, in a round with ``several``; ``undoable`` is the seq of the person's last entry,
    None if it cannot be undone. ``translatable`` are the names of the fields that a model can fill from those in
    another language.
    """

    item: str
    round: str
    number: int
    steps: int
    step: Step
    shown: Mapping[str, Any]
    sha: str
    several: bool
    refusals: tuple[str, ...]
    own: tuple[OwnItem, ...]
    undoable: int | None
    translatable: frozenset[str] = frozenset()


class SentStep(NamedTuple):
    """A form as a page sends it, unchecked: every value may be of any type that JSON has. ``confirmed`` are the reasons
    of doubts that the person confirmed; times are in seconds. ``machine`` says of each field that a model filled under
    which ``request``, and whether the person has ``checked`` the translation."""

    item: str
    number: int
    sha: str
    nonce: str
    content: Mapping[str, Any]
    confirmed: frozenset[str] = frozenset()
    active_seconds: float | None = None
    elapsed_seconds: float | None = None
    machine: Any = None


class Outcome(NamedTuple):
    """``seq`` of the stored entry, None if nothing was written because of ``doubts`` that were not confirmed; ``again``
    if it had been stored already."""

    seq: int | None
    again: bool = False
    doubts: tuple[Doubt, ...] = ()


class Undone(NamedTuple):
    """What was taken back: the task and the step that the person is at again, as in WritingStep, and the content of the
    form, empty for an end or a refusal. ``machine`` has the ``request`` of each field that a model filled, and whether
    it was ``edited``."""

    item: str
    number: int
    content: Mapping[str, Any]
    machine: Mapping[str, Mapping[str, Any]] = {}
