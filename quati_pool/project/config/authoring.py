"""The section ``authoring:`` of ``pool.yaml``: how the collection's questions are written, and from what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import Field, InstanceOf, model_validator

from quati_pool.annotation.authoring.base import Design
from quati_pool.files.yaml_file import Model, Place, YamlFile
from quati_pool.judging.llm_parameters import LlmParameters
from quati_pool.project.config.components import split_component
from quati_pool.project.config.labelers import AnyJudge, JudgeConfig
from quati_pool.registry import AUTHORING, NamedComponent, nearest

Column = Annotated[str, Field(min_length=1)]

_SPLITS = 3
_OF_TEXTS = ("id", "text", "keep")


class SourcesConfig(Model):
    """The files of the texts that people write from (a path, a glob, or a list of these), the names of their columns
    for the id and for the text in each language, and the columns that exports carry on. One column of text without a
    language is in the first language.

    Where people write from clusters, ``path`` is the folder of the clusters or a list of folders, and there are no
    columns."""

    path: str | Annotated[list[str], Field(min_length=1)]
    id: Column = "doc_id"
    text: Column | dict[str, Column] = "text"
    keep: list[Column] = Field(default_factory=list)

    @model_validator(mode="after")
    def _different_columns(self) -> Self:
        if not self.text:
            raise ValueError("text: expected the column of each language, such as {pt: text}")
        columns = [self.id, *([self.text] if isinstance(self.text, str) else self.text.values()), *self.keep]
        if twice := next((column for column in columns if columns.count(column) > 1), None):
            raise ValueError(f"the column {twice!r} is named twice; name each column once")
        return self


class SplitConfig(Model):
    """How a data set is split at random into train, validation and test: over question sets, or over texts or clusters,
    so that all questions of one are in one split (``Design.split_by``). ``shares`` are in percent."""

    by: str
    shares: list[Annotated[int, Field(ge=0, le=100)]] = Field(default_factory=lambda: [80, 10, 10])

    @model_validator(mode="after")
    def _all_of_it(self) -> Self:
        if len(self.shares) != _SPLITS or sum(self.shares) != 100 or not self.shares[0]:
            raise ValueError(
                f"shares: expected percent for train, validation and test that sum to 100, with some for train, such "
                f"as [80, 10, 10], not {self.shares}"
            )
        return self


class AuthoringConfig(Model):
    """The design of the rounds with its ``parameters``, the languages of every question, and what people write from.
    ``lease`` is how many minutes a person holds a task in which nothing is stored yet. ``translator`` is the judge that
    translates for people in their forms; ``translator_budget`` the most that this may cost in all, in US dollars."""

    design: str
    component: InstanceOf[NamedComponent]
    parameters: Any
    languages: list[str]
    sources: SourcesConfig
    split: SplitConfig
    lease: Annotated[float, Field(ge=1)] = 60
    translator: str | None = None
    translator_budget: Annotated[float | None, Field(gt=0)] = None

    @model_validator(mode="after")
    def _translated(self) -> Self:
        if self.translator is None and self.translator_budget is not None:
            raise ValueError("translator_budget: has no effect without translator; name one, or drop translator_budget")
        return self

    @property
    def source_paths(self) -> list[str]:
        """What ``sources: path:`` names."""
        return [self.sources.path] if isinstance(self.sources.path, str) else self.sources.path

    @property
    def text_columns(self) -> dict[str, str]:
        """The column of the text in each language that has one, in the order of ``languages``."""
        text = self.sources.text
        if isinstance(text, str):
            return {self.languages[0]: text}
        return {language: text[language] for language in self.languages if language in text}

    def make_design(self, seed: int) -> Design[Any]:
        """The design with its parameters."""
        design: Design[Any] = self.component.cls(self.parameters, self.languages, seed)
        return design


def read_authoring(file: YamlFile, data: Any, judges: Mapping[str, AnyJudge]) -> AuthoringConfig | None:
    """Reads ``authoring:``; None if there is none. Raises InputError, with the line at fault, also where the translator
    is none of the ``judges`` that are language models."""
    if data is None:
        return None
    place = ("authoring",)
    if not isinstance(data, dict):
        raise file.error(place, "expected settings such as {design: pira, languages: [pt, en], sources: {path: …}}")
    if "design" not in data:
        raise file.error(place, f"the key 'design' is missing; {nearest('', AUTHORING.names())}")
    common = set(AuthoringConfig.model_fields) - {"design", "component", "parameters"}
    component, parameters, rest = split_component(file, place, data, "design", AUTHORING, common)
    if not isinstance(getattr(component.cls, "id", None), str):
        problem = f"{component.name} has no id, under which its items are stored"
        raise file.error((*place, "design"), f'{problem}; give the class one, such as  id = "authoring/mine"')
    languages, most = rest.get("languages", []), component.cls.most_languages
    if "languages" in rest and not (isinstance(languages, list) and 1 <= len(languages) <= most):
        expected = "one language, such as [en]" if most == 1 else f"1 to {most} languages, such as [pt, en]"
        raise file.error((*place, "languages"), f"expected {expected}, not {languages!r}")
    for position, language in enumerate(languages):
        if not isinstance(language, str) or len(language) != 2 or not (language.isascii() and language.islower()):
            expected = "expected a language's two letters, such as pt (ISO 639-1; quote the Norwegian 'no')"
            raise file.error((*place, "languages", position), f"{expected}, not {language!r}")
        if language in languages[:position]:
            raise file.error((*place, "languages", position), f"{language!r} is named twice; name each language once")
    if "sources" in rest:
        rest["sources"] = _sources(file, (*place, "sources"), rest["sources"], component)
    rest["split"] = _split(file, (*place, "split"), rest.get("split", {}), component.cls.split_by)
    config = file.model(
        place, AuthoringConfig, {**rest, "design": component.name, "component": component, "parameters": parameters}
    )
    if isinstance(config.sources.text, dict):
        for language in config.sources.text:
            if language not in config.languages:
                hint = nearest(language, config.languages)
                raise file.error((*place, "sources", "text", language), f"is not among languages:; {hint}")
    for column, parameter in component.cls.columns(parameters).items():
        if column not in config.sources.keep:
            problem = f"reads the column {column!r}, which sources.keep lacks; add it there"
            raise file.error((*place, parameter, column), problem)
    if config.translator is not None:
        _check_translator(file, config, judges)
    return config


def _check_translator(file: YamlFile, config: AuthoringConfig, judges: Mapping[str, AnyJudge]) -> None:
    place, name = ("authoring", "translator"), config.translator
    assert name is not None
    models = [
        judge
        for judge, found in judges.items()
        if isinstance(found, JudgeConfig) and isinstance(found.parameters, LlmParameters)
    ]
    missing = "add one under judges:, with judge: llm, model:, base_url: and prompt:"
    advice = nearest(name, models) if models else missing
    if name not in judges:
        raise file.error(place, f"there is no judge {name!r}; {advice}")
    if name not in models:
        raise file.error(place, f"{name} is not a language model and translates nothing; {advice}")
    if not config.component.cls.translated:
        raise file.error(place, f"the rounds of {config.design} have no form to translate in; drop it")
    if len(config.languages) < 2:
        raise file.error(place, "has nothing to translate: every question is in one language; add another, or drop it")


def _sources(file: YamlFile, place: Place, data: Any, component: NamedComponent) -> SourcesConfig:
    if component.cls.sources == "clusters" and isinstance(data, dict):
        for key in _OF_TEXTS:
            if key in data:
                problem = f"is about texts, and questions of {component.name} are written from clusters; drop it"
                raise file.error((*place, key), problem)
        if "path" not in data:
            raise file.error(
                place, "the key 'path' is missing; name the folder that quati-pool questions constraints wrote"
            )
    return file.model(place, SourcesConfig, data)


def _split(file: YamlFile, place: Place, data: Any, split_by: Sequence[str]) -> SplitConfig:
    split = file.model(place, SplitConfig, {"by": split_by[0], **data} if isinstance(data, dict) else data)
    if split.by not in split_by:
        raise file.error((*place, "by"), f"expected {' or '.join(map(repr, split_by))}, not {split.by!r}")
    return split
