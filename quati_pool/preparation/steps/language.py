"""The step ``language``: keeps texts in given languages, by fastText's language identification, by the language that
their source declares, or by both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field

from quati_pool.errors import MissingExtraError
from quati_pool.files.yaml_file import Model
from quati_pool.preparation.base import KEPT, ComponentEnvironment, DropReasons, Filter
from quati_pool.preparation.base import Parameters as BaseParameters
from quati_pool.preparation.batch import Batch
from quati_pool.preparation.language_codes import known_code, main_code
from quati_pool.preparation.language_identification import (
    PACKAGE,
    IdentifiedLanguage,
    identified,
    identified_in_windows,
    is_installed,
    versions,
)

_LANGUAGE, _UNCERTAIN, _NONE, _DECLARED = range(1, 5)


class Windows(Model):
    """Windows of a text, evenly spread from its beginning to its end."""

    count: Annotated[int, Field(ge=1, description="How many.")] = 3
    characters: Annotated[int, Field(ge=20, description="How long each is, in characters.")] = 200


class Language(Filter):
    """Keeps a text if its likeliest language is one of those to keep, with a probability of at least the threshold.

    The identifier is the small version of fastText's lid.176 (Joulin et al. 2016, arXiv 1612.03651), which knows 176
    languages. It reads the whole text unless ``windows`` is set; then it reads that many windows and averages their
    probabilities (see ``identified_in_windows``), so that a long page costs no more than a short one. A text in which
    it knows no piece of a word (numbers, emoji, an empty text) has no language.

    At the default threshold of 0.5 the language is likelier than all others together. Running text in one language
    usually has more than 0.9; texts below that are short, mixed, or between similar languages such as Portuguese and
    Galician.

    ``declared`` says how to treat the language that the source names, in any spelling (``pt``, ``pt-BR``, ``por``):
    with ``use`` it decides, and only texts without one are identified; with ``also`` both the declared and the
    identified language must be one of those to keep; with ``ignore`` only the identified language counts. Rows that
    are kept carry the language found.
    """

    id = "preparation/language"
    summary = "keeps texts in given languages (fastText, whole text or windows of it)"

    class Parameters(BaseParameters):
        keep: list[Annotated[str, AfterValidator(known_code)]] = Field(
            min_length=1, description="Codes of the languages to keep, such as [pt]."
        )
        threshold: float = Field(
            0.5, ge=0, le=1, description="The least probability of the language; 0 for whichever is the likeliest."
        )
        windows: Windows | None = Field(
            None, description="Read only {count: 3, characters: 200} stretches of long texts; null: the whole text."
        )
        declared: Literal["use", "ignore", "also"] = Field(
            "ignore", description="The language that the source names: let it decide, ignore it, or ask for both."
        )

    parameters: Parameters

    def __init__(self, parameters: Parameters, environment: ComponentEnvironment | None = None) -> None:
        super().__init__(parameters, environment)
        self._latest: tuple[Batch, list[str]] | None = None

    @classmethod
    def require(cls) -> None:
        if not is_installed():
            raise MissingExtraError("the step language", "prepare", PACKAGE)

    def key(self) -> dict[str, Any]:
        return versions()

    @property
    def reasons(self) -> Sequence[str]:
        return ("language", "uncertain language", "no language", "declared language")

    def apply(self, batch: Batch) -> DropReasons:
        rows = [self._of_row(text, declared) for text, declared in zip(batch.text, batch.language, strict=True)]
        self._latest = (batch, [language for _, language, _ in rows])
        codes = np.array([code for code, _, _ in rows], dtype=np.int16)

        def detail(row: int) -> str:
            code, language, probability = rows[row]
            if code == _DECLARED:
                shown = language[:20]
                return f"its source says {shown if shown.isprintable() else ascii(shown)}"
            if code == _NONE:
                return "nothing to tell a language by"
            least = f"; at least {self.parameters.threshold:g}" if code == _UNCERTAIN else ""
            return f"{language} {probability:.2f}{least}"

        return DropReasons(codes, detail)

    def enriched(self, batch: Batch) -> Batch:
        if self._latest is None or self._latest[0] is not batch:
            self.apply(batch)
        assert self._latest is not None
        return batch.with_languages(self._latest[1])

    def _of_row(self, text: str, declared: str) -> tuple[int, str, float]:
        """The code of the drop reason (0 to keep the row), the row's language, and its probability."""
        how = self.parameters.declared
        named = main_code(declared) if how != "ignore" else ""
        if named:
            if named not in self.parameters.keep:
                return _DECLARED, named, 1.0
            if how == "use":
                return KEPT, named, 1.0
        found = self._identified(text)
        if not found.code:
            code = _NONE
        elif found.code not in self.parameters.keep:
            code = _LANGUAGE
        else:
            code = _UNCERTAIN if found.probability < self.parameters.threshold else KEPT
        return code, found.code, found.probability

    def _identified(self, text: str) -> IdentifiedLanguage:
        windows = self.parameters.windows
        return identified_in_windows(text, windows.count, windows.characters) if windows else identified(text)
