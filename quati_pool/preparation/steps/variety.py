"""The step ``variety``: a hint at the variety of Portuguese, Brazil's or Portugal's, by words that only one of them
uses."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from quati_pool.files.artifacts import file_digest
from quati_pool.preparation.base import ComponentEnvironment, DropReasons, Filter
from quati_pool.preparation.base import Parameters as BaseParameters
from quati_pool.preparation.batch import Batch
from quati_pool.preparation.language_codes import main_code

_LIST = Path(__file__).parents[1] / "lists" / "portuguese.txt"
_WORD = re.compile(r"\w+(?:-\w+)*")
_ESTAR = r" est(?:ou|ás|á|amos|ão|ava|avas|ávamos|avam|ive|eve|iveram|aria|ariam|ará|arão|eja|ejam|ar) "
# "está fazendo" and "está a fazer"; excludes phrases that only look similar, such as "está quando" and "está a par".
_PROGRESSIVES = {
    "br": re.compile(_ESTAR + r"(?!(?:quando|lindo|comando|bando|brando|tremendo|horrendo|estupendo) )\w+[aei]ndo "),
    "pt": re.compile(_ESTAR + r"a (?!(?:par|bar|lar|mar|ar|altar|lugar) )\w*[aei]r(?:-\w+)* "),
}
_LANGUAGES = {"br": "pt-BR", "pt": "pt-PT"}


class Evidence(NamedTuple):
    """The evidence in a text for each variety: different words, in the order of the list."""

    br: tuple[str, ...]
    pt: tuple[str, ...]


class Variety(Filter):
    """Drops texts with more evidence for the other variety of Portuguese than for the one to keep.

    This is a hint, not a classifier: it counts the words, spellings and phrases of our own list of some 200 pairs
    (ônibus and autocarro, econômico and económico, registro and registo), and the two progressive constructions (está
    fazendo, está a fazer). The forms of one word count once, however often they occur. A text is dropped if at least
    ``at_least`` of them are evidence for the other variety, and more than for the one to keep. Most short texts contain
    no evidence and are kept, as are texts whose language is known not to be Portuguese. Quotations, names and scholarly
    texts can mislead it.

    Rows with as much evidence for the variety to keep (at least ``at_least``, and more than for the other) get
    ``pt-BR`` or ``pt-PT`` as their language.
    """

    id = "preparation/variety"
    summary = "a hint: drops texts with words of the other variety of Portuguese (Brazil, Portugal)"

    class Parameters(BaseParameters):
        keep: Literal["br", "pt"] = Field(description="The variety to keep: br for Brazil's, pt for Portugal's.")
        at_least: int = Field(2, ge=1, description="How many different words of the other variety drop a text.")

    parameters: Parameters

    def __init__(self, parameters: Parameters, environment: ComponentEnvironment | None = None) -> None:
        super().__init__(parameters, environment)
        self._latest: tuple[Batch, list[Evidence]] | None = None

    def key(self) -> dict[str, Any]:
        return {"list": file_digest(_LIST)}

    @property
    def reasons(self) -> Sequence[str]:
        return ("other variety",)

    def apply(self, batch: Batch) -> DropReasons:
        found = [
            evidence(text) if not language or main_code(language) == "pt" else Evidence((), ())
            for text, language in zip(batch.text, batch.language, strict=True)
        ]
        self._latest = (batch, found)
        least = self.parameters.at_least
        sides = [self._sides(each) for each in found]
        codes = np.array([len(theirs) >= least and len(theirs) > len(ours) for ours, theirs in sides], dtype=np.int16)

        def detail(row: int) -> str:
            ours, theirs = sides[row]
            against = f" against {len(ours)} ({_listed(ours)})" if ours else ""
            return (
                f"{len(theirs)} words of the other variety ({_listed(theirs)}){against}; fewer than {least} are allowed"
            )

        return DropReasons(codes, detail)

    def enriched(self, batch: Batch) -> Batch:
        if self._latest is None or self._latest[0] is not batch:
            self.apply(batch)
        assert self._latest is not None
        keep = self.parameters.keep
        languages = []
        for language, found in zip(batch.language, self._latest[1], strict=True):
            ours, theirs = self._sides(found)
            sure = len(ours) >= self.parameters.at_least and len(ours) > len(theirs)
            languages.append(_LANGUAGES[keep] if sure else language)
        return batch.with_languages(languages)

    def _sides(self, found: Evidence) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The evidence for the variety to keep, and for the other."""
        return (found.br, found.pt) if self.parameters.keep == "br" else (found.pt, found.br)


def evidence(text: str) -> Evidence:
    """The evidence in a text for each variety, regardless of case and of the Unicode form of accents."""
    words = _WORD.findall(unicodedata.normalize("NFC", text).lower())
    occurring = set(words)
    joined = f" {' '.join(words)} "
    return Evidence(*(_of_side(side, occurring, joined) for side in Evidence._fields))


def _of_side(side: str, occurring: set[str], joined: str) -> tuple[str, ...]:
    known = _known(side)
    found = {known.words[word]: word for word in sorted(known.singles & occurring, reverse=True)}
    for first in sorted(known.firsts & occurring):
        for line, phrase in known.phrases[first]:
            if f" {phrase} " in joined:
                found[line] = phrase
    listed = tuple(found[line] for line in sorted(found))
    progressive = _PROGRESSIVES[side].search(joined)
    return (*listed, progressive[0].strip()) if progressive else listed


class _Known(NamedTuple):
    """One side of the list: the line number of each word, the phrases with their line numbers by first word, and the
    sets of these words and first words."""

    words: dict[str, int]
    phrases: dict[str, list[tuple[int, str]]]
    singles: frozenset[str]
    firsts: frozenset[str]


@cache
def _known(side: str) -> _Known:
    words: dict[str, int] = {}
    phrases: dict[str, list[tuple[int, str]]] = {}
    for number, line in enumerate(_LIST.read_text(encoding="utf-8").splitlines(), start=1):
        columns = line.partition("#")[0].split("|")
        forms = columns[Evidence._fields.index(side)] if len(columns) == len(Evidence._fields) else ""
        for form in filter(None, map(str.strip, forms.split(","))):
            if " " in form:
                phrases.setdefault(form.split()[0], []).append((number, form))
            else:
                words[form] = number
    return _Known(words, phrases, frozenset(words), frozenset(phrases))


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:5]) + (", …" if len(words) > 5 else "")
