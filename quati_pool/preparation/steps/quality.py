"""The step ``quality``: drops texts that break the rules of MassiveWeb, each of which can be changed or switched
off."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from quati_pool.errors import ConfigError, InputError
from quati_pool.preparation.base import Codes, DropReasons, Filter, Parameters
from quati_pool.preparation.batch import Batch
from quati_pool.preparation.quality_rules import repetition, wording
from quati_pool.preparation.quality_rules.presets import (
    DUPLICATE_NGRAMS,
    PRESETS,
    RULES,
    TOP_NGRAMS,
    Bound,
    Preset,
    Rule,
)
from quati_pool.preparation.quality_rules.stop_words import (
    StopWords,
    base_language,
    fault_of,
    languages,
    list_of,
    read_list,
)
from quati_pool.preparation.quality_rules.words import Flags, Numbers, Words, words_of

_GROUP = 1 << 18
"""Characters measured at a time: arrays of this length stay in the processor's cache."""
_HUGE = 1 << 22
"""The length in characters above which a text's words are counted before any other measure."""
_UNSPACED = ("bo", "dz", "ja", "km", "lo", "my", "th", "yue", "zh")

_Share = Annotated[float, Field(ge=0, le=1)]
_Ratio = Annotated[float, Field(ge=0)]
_Number = Annotated[int, Field(ge=0)]


class QualityParameters(Parameters):
    """The bounds of the rules: a text beyond a bound is dropped; null switches the rule off."""

    preset: Annotated[
        Preset,
        Field(
            description="bounds for the rules not set here: those of Rae et al. 2021, or our stricter ones for a "
            "cleaner corpus of passages of about 1,000 characters"
        ),
    ] = "massiveweb"
    language: Annotated[
        str | None, Field(description="the code of the language whose stop words count; null: each row's own")
    ] = None
    stop_words: Annotated[list[str] | None, Field(description="stop words in place of the language's list")] = None
    stop_words_file: Annotated[str | None, Field(description="a file of stop words instead, one per line")] = None

    min_words: Annotated[_Number | None, Field(description="fewest words, separated by white space")] = 50
    max_words: Annotated[_Number | None, Field(description="most words")] = 100_000
    min_word_length: Annotated[_Ratio | None, Field(description="least mean characters per word")] = 3
    max_word_length: Annotated[_Ratio | None, Field(description="most mean characters per word")] = 10
    max_hash_signs: Annotated[_Ratio | None, Field(description="most # characters per word")] = 0.1
    max_ellipses: Annotated[_Ratio | None, Field(description="most ellipses (… or ...) per word")] = 0.1
    max_bullet_lines: Annotated[
        _Share | None, Field(description="greatest share of lines that start with a bullet")
    ] = 0.9
    max_ellipsis_lines: Annotated[
        _Share | None, Field(description="greatest share of lines that end in an ellipsis")
    ] = 0.3
    min_alphabetic_words: Annotated[_Share | None, Field(description="least share of words that hold a letter")] = 0.8
    min_stop_words: Annotated[_Number | None, Field(description="fewest different stop words")] = 2
    max_duplicate_lines: Annotated[
        _Share | None, Field(description="greatest share of lines that equal an earlier one")
    ] = 0.3
    max_duplicate_paragraphs: Annotated[
        _Share | None, Field(description="greatest share of paragraphs that equal an earlier one")
    ] = 0.3
    max_duplicate_line_characters: Annotated[
        _Share | None, Field(description="greatest share of characters in duplicate lines")
    ] = 0.2
    max_duplicate_paragraph_characters: Annotated[
        _Share | None, Field(description="greatest share of characters in duplicate paragraphs")
    ] = 0.2
    max_top_2gram: Annotated[
        _Share | None, Field(description="greatest share of characters in the most frequent pair of words")
    ] = 0.2
    max_top_3gram: Annotated[_Share | None, Field(description="the same for three words in a row")] = 0.18
    max_top_4gram: Annotated[_Share | None, Field(description="the same for four words in a row")] = 0.16
    max_duplicate_5grams: Annotated[
        _Share | None, Field(description="greatest share of characters in five words in a row that occurred before")
    ] = 0.15
    max_duplicate_6grams: Annotated[_Share | None, Field(description="the same for six words in a row")] = 0.14
    max_duplicate_7grams: Annotated[_Share | None, Field(description="the same for seven words in a row")] = 0.13
    max_duplicate_8grams: Annotated[_Share | None, Field(description="the same for eight words in a row")] = 0.12
    max_duplicate_9grams: Annotated[_Share | None, Field(description="the same for nine words in a row")] = 0.11
    max_duplicate_10grams: Annotated[_Share | None, Field(description="the same for ten words in a row")] = 0.1
    min_line_words: Annotated[
        _Ratio | None, Field(description="least mean words per line (not a rule of the paper)")
    ] = None
    min_letters: Annotated[
        _Share | None,
        Field(description="least share of letters among characters other than white space (not a rule of the paper)"),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _filled(cls, data: Any) -> Any:
        """The data with bounds that are not set filled in from the preset."""
        if isinstance(data, dict):
            preset = data.get("preset", "massiveweb")
            if isinstance(preset, str) and preset in PRESETS:
                return {**PRESETS[preset], **data}
        return data

    def bound(self, rule: Rule) -> Bound:
        value: Bound = getattr(self, rule.key)
        return value


_WORDING: Mapping[str, Callable[[Words], Numbers]] = {
    "min_words": wording.number_of_words,
    "max_words": wording.number_of_words,
    "min_word_length": wording.mean_word_length,
    "max_word_length": wording.mean_word_length,
    "max_hash_signs": wording.hash_signs,
    "max_ellipses": wording.ellipses,
    "max_bullet_lines": wording.bullet_lines,
    "max_ellipsis_lines": wording.ellipsis_lines,
    "min_alphabetic_words": wording.alphabetic_words,
}
_OURS: Mapping[str, Callable[[Words], Numbers]] = {
    "min_line_words": wording.line_words,
    "min_letters": wording.letters,
}
_STRETCHES = {
    "max_duplicate_lines": "max_duplicate_line_characters",
    "max_duplicate_paragraphs": "max_duplicate_paragraph_characters",
}


class Quality(Filter):
    """Drops a text for the first rule it breaks; ``quality_rules`` defines the measures. An undefined measure, such as
    the mean word length of a text without words, breaks no rule."""

    id = "preparation/quality"
    summary = "drops texts by the rules of MassiveWeb: words, symbols, stop words, repetition"
    Parameters = QualityParameters

    parameters: QualityParameters

    def check(self) -> None:
        settings = self.parameters
        for least, most in (("min_words", "max_words"), ("min_word_length", "max_word_length")):
            low, high = getattr(settings, least), getattr(settings, most)
            if low is not None and high is not None and low > high:
                raise ConfigError(f"quality: {least} {low} is more than {most} {high}, so nothing stays; change one")
        if settings.stop_words is not None and settings.stop_words_file is not None:
            raise ConfigError("quality: stop_words and stop_words_file are both given; keep one")
        if settings.language is not None and not settings.language.strip():
            raise ConfigError("quality: the language is empty; give a code such as pt, or leave the key out")
        if settings.min_stop_words is None:
            return
        given = self._given
        if given is None:
            return
        place = "stop_words" if settings.stop_words_file is None else self._file
        for word in given:
            fault = fault_of(word)
            if fault:
                raise ConfigError(f"quality: {place}: {word!r} {fault}")
        if len(StopWords(given)) < settings.min_stop_words:
            raise ConfigError(
                f"quality: {place} holds fewer different words than min_stop_words, {settings.min_stop_words}, so "
                "nothing stays; add words, or lower min_stop_words"
            )

    def key(self) -> dict[str, Any]:
        found: dict[str, Any] = {"unicode": unicodedata.unidata_version}
        if self._stop_words_count:
            lists = [self._fixed] if self._fixed else [self._of_language(code) for code in languages()]
            found["stop_words"] = [words.digest for words in lists if words]
        return found

    @property
    def reasons(self) -> Sequence[str]:
        return [rule.reason for rule in self._rules]

    def notes(self) -> Sequence[str]:
        settings = self.parameters
        notes = []
        if settings.min_stop_words is not None and self._fixed is None:
            if settings.language is None:
                notes.append(
                    "stop words are those of each row's language: rows without one, or in one that has no list, are "
                    "not judged by them; put a step language before this one, or set language or stop_words"
                )
            else:
                notes.append(
                    f"there is no list of stop words for the language {settings.language!r}, so the rule 'few stop "
                    f"words' is off; set stop_words or stop_words_file (there are lists for {', '.join(languages())})"
                )
        if settings.language is not None and base_language(settings.language) in _UNSPACED:
            notes.append(
                f"words are separated by white space, which {settings.language} does not use: set min_words, "
                "max_word_length and what else counts words to null"
            )
        return notes

    def apply(self, batch: Batch) -> DropReasons:
        codes = np.zeros(len(batch), dtype=np.int16)
        measured = np.full(len(batch), np.nan)
        for rows in _groups(batch.text):
            texts = batch.text[rows]
            languages_of = None if self._fixed else batch.language[rows]
            codes[rows], measured[rows] = self._measured(texts, languages_of)
        return DropReasons(codes, lambda row: self._detail(int(codes[row]), float(measured[row])))

    def _measured(self, texts: list[str], languages_of: Sequence[str] | None) -> tuple[Codes, Numbers]:
        """The reason code and the measured value of each text; the texts must be few enough to be measured together."""
        judgement = _Judgement(self._bounds, len(texts))
        if len(texts[0]) > _HUGE and "max_words" in judgement.places:
            # A text of this length is alone in its group, and most such texts break this rule.
            judgement.add("max_words", np.array([float(_word_count(texts[0]))]))
            if judgement.over:
                return judgement.codes, judgement.measured
        words = words_of(texts)
        for key, measure in _WORDING.items():
            if key in judgement.places:
                judgement.add(key, measure(words))
        if self._stop_words_count and not judgement.over:
            judgement.add("min_stop_words", self._stop_words_held(words, judgement.left, languages_of))
        if not judgement.over:
            self._measure_repetition(words.of_rows(judgement.left), judgement)
        for key, measure in _OURS.items():
            if key in judgement.places and not judgement.over:
                judgement.add(key, measure(words))
        return judgement.codes, judgement.measured

    def _measure_repetition(self, words: Words, judgement: _Judgement) -> None:
        on = judgement.places
        found: dict[str, Numbers] = {}
        for (number, characters), kind in zip(_STRETCHES.items(), ("lines", "paragraphs"), strict=True):
            if number in on or characters in on:
                found[number], found[characters] = repetition.duplicates(getattr(words, kind))
        tops, dups = repetition.ngrams(
            words,
            [n for n in TOP_NGRAMS if f"max_top_{n}gram" in on],
            [n for n in DUPLICATE_NGRAMS if f"max_duplicate_{n}grams" in on],
        )
        found |= {f"max_top_{n}gram": values for n, values in tops.items()}
        found |= {f"max_duplicate_{n}grams": values for n, values in dups.items()}
        for rule in self._rules:
            if rule.key in found:
                judgement.add(rule.key, found[rule.key])

    def _stop_words_held(self, words: Words, rows: Flags, languages_of: Sequence[str] | None) -> Numbers:
        if self._fixed:
            return self._fixed.held(words, rows)
        held = np.full(words.rows, np.nan)
        spoken = np.array([base_language(code) for code in languages_of or ()])
        for language in np.unique(spoken[rows]).tolist():
            stop_words = self._of_language(language)
            if stop_words:
                of_it = rows & (spoken == language)
                held[of_it] = stop_words.held(words, of_it)[of_it]
        return held

    def _detail(self, code: int, value: float) -> str:
        if not code:
            return ""
        rule, bound = self._rules[code - 1], list(self._bounds.values())[code - 1][1]
        scale, unit = (100.0, " %") if rule.share else (1.0, "")
        most = f"{bound * scale:.10g}"
        if rule.counted:
            measured = f"{value:.0f}"
        else:
            measured = f"{value * scale:.{1 if rule.share else 2}f}"
            if float(measured) == float(most):
                measured = f"{value * scale:.10g}"
        measure = rule.wording.format(measured + unit)
        measure = measure.removesuffix("s") if rule.counted and value == 1 else measure
        return f"{measure}; at {'least' if rule.least else 'most'} {most}{unit}"

    @cached_property
    def _rules(self) -> list[Rule]:
        """The rules that are switched on."""
        return [
            rule
            for rule in RULES
            if self.parameters.bound(rule) is not None and (rule.key != "min_stop_words" or self._stop_words_count)
        ]

    @cached_property
    def _bounds(self) -> dict[str, tuple[bool, float]]:
        """For each rule, whether its bound is a minimum, and the bound."""
        return {rule.key: (rule.least, float(self.parameters.bound(rule) or 0)) for rule in self._rules}

    @property
    def _stop_words_count(self) -> bool:
        settings = self.parameters
        return settings.min_stop_words is not None and (settings.language is None or self._fixed is not None)

    @property
    def _file(self) -> Path:
        return self.environment.folder / (self.parameters.stop_words_file or "")

    @cached_property
    def _given(self) -> Sequence[str] | None:
        """The stop words from the parameters or the user's file; None if neither is set."""
        if self.parameters.stop_words_file is None:
            return self.parameters.stop_words
        path = self._file
        try:
            return read_list(path)
        except FileNotFoundError:
            raise InputError(path, None, "there is no such file; give stop_words_file one word per line") from None
        except UnicodeDecodeError:
            raise InputError(path, None, "is not UTF-8; save it as UTF-8") from None
        except OSError as error:
            raise InputError(path, None, f"cannot be read ({error.strerror}); expected one word per line") from None

    @cached_property
    def _fixed(self) -> StopWords | None:
        """The stop words, if they are the same for all rows; otherwise None."""
        if self._given is not None:
            return StopWords(self._given)
        return None if self.parameters.language is None else self._of_language(self.parameters.language)

    def _of_language(self, code: str) -> StopWords | None:
        if code not in self._lists:
            words = list_of(code)
            self._lists[code] = None if words is None else StopWords(words)
        return self._lists[code]

    @cached_property
    def _lists(self) -> dict[str, StopWords | None]:
        return {}


class _Judgement:
    """Collects the first rule that each row breaks; rules must be added in order."""

    def __init__(self, bounds: Mapping[str, tuple[bool, float]], rows: int) -> None:
        self._bounds = bounds
        self.places = {key: place for place, key in enumerate(bounds, 1)}
        self.codes = np.zeros(rows, dtype=np.int16)
        self.measured = np.full(rows, np.nan)

    @property
    def left(self) -> Flags:
        rows: Flags = self.codes == 0
        return rows

    @property
    def over(self) -> bool:
        return bool(self.codes.all())

    def add(self, key: str, values: Numbers) -> None:
        least, bound = self._bounds[key]
        broken = self.left & (values < bound if least else values > bound)
        self.codes[broken] = self.places[key]
        self.measured[broken] = values[broken]


def _groups(texts: Sequence[str]) -> Iterator[slice]:
    """Groups of consecutive texts with up to about ``_GROUP`` characters in total; a longer text is alone."""
    first, held = 0, 0
    for row, text in enumerate(texts):
        if held and held + len(text) > _GROUP:
            yield slice(first, row)
            first, held = row, 0
        held += len(text) + 1
    if first < len(texts):
        yield slice(first, len(texts))


def _word_count(text: str) -> int:
    return sum(1 for _ in re.finditer(r"\S+", text))
