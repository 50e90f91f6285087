"""The ``annotation:`` section of ``pool.yaml``: how people grade, and which questions they write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from quati_pool.files.yaml_file import Model, YamlFile
from quati_pool.project.config.labelers import HybridConfig, PeopleConfig
from quati_pool.registry import nearest


class TaxonomyConfig(Model):
    """The kinds of questions that authors write, by three properties; None selects a property's bundled values."""

    theme: Annotated[list[str], Field(min_length=1)] | None = None
    scope: Annotated[list[str], Field(min_length=1)] | None = None
    type: Annotated[list[str], Field(min_length=1)] | None = None


_Evidence = Annotated[
    Literal["optional", "required", "off"],
    BeforeValidator(lambda value: "off" if value is False else value),  # YAML reads a bare off as false
]


class AnnotationConfig(Model):
    """How people grade.

    ``prompt`` is the prompt whose grade meanings and examples annotators see (None: the prompt of the first judge that
    has one); ``guidelines`` is a Markdown file. Grades given under another ``version`` are kept as history only: raise
    it when new meanings or guidelines change what a grade means. ``reveal`` is a judge whose grade and reasoning are
    shown once a person has graded; ``language`` is the language of the pages until a person picks one. ``evidence`` is
    whether people mark the words that justify a grade: they may (optional), they must for all grades but the lowest
    (required), or they cannot (off). ``repeats`` is the share of their answers after which people get a pair of theirs
    again, unannounced, and ``gold`` that after which they get a gold pair, if there are any. ``lease`` is how many
    minutes a pair stays reserved for a person; a gap longer than ``idle`` seconds counts as ``idle`` seconds of work.
    """

    prompt: str | None = None
    guidelines: str | None = None
    version: Annotated[int, Field(ge=1)] = 1
    reveal: str | None = None
    language: Literal["pt", "en", "es"] | None = None
    evidence: _Evidence = "optional"
    repeats: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    gold: Annotated[float, Field(ge=0, le=0.5)] = 0.05
    lease: Annotated[float, Field(ge=1)] = 30
    idle: Annotated[float, Field(ge=1)] = 120
    taxonomy: TaxonomyConfig = TaxonomyConfig()


def read_annotation(file: YamlFile, data: Any, judges: Mapping[str, Any]) -> AnnotationConfig:
    """Reads ``annotation:``; raises InputError where ``reveal`` is not one of the ``judges``, names other people,
    or is set together with ``repeats``."""
    if isinstance(data, dict) and "taxonomy" in data:
        data = {**data, "taxonomy": _taxonomy(file, data["taxonomy"])}
    config = file.model(("annotation",), AnnotationConfig, data)
    place, reveal = ("annotation", "reveal"), config.reveal
    if reveal is not None and reveal not in judges:
        hint = nearest(reveal, judges) if judges else "add it under judges:"
        raise file.error(place, f"there is no judge {reveal!r}; {hint}")
    if reveal is not None and isinstance(judges[reveal], PeopleConfig | HybridConfig):
        raise file.error(place, f"{reveal!r} are other people's grades; name a judge")
    if reveal is not None and config.repeats:
        problem = "who saw a judge's grade of a pair does not repeat their own; set reveal: or repeats:, not both"
        raise file.error(("annotation", "repeats"), problem)
    return config


def _taxonomy(file: YamlFile, data: Any) -> TaxonomyConfig:
    place = ("annotation", "taxonomy")
    config = file.model(place, TaxonomyConfig, data)
    for key, values in config:
        for value in values or ():
            if not value.strip() or not value.isprintable():
                raise file.error((*place, key), f"expected one line of text, not {value!r}")
            if values.count(value) > 1:
                raise file.error((*place, key), f"names {value!r} twice; name it once")
    return config
