"""The section ``pool:`` of ``pool.yaml``: which pairs are to be graded."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, InstanceOf, model_validator

from quati_pool.files.yaml_file import Model, YamlFile
from quati_pool.pooling.adaptive import SPREAD, Limits
from quati_pool.pooling.methods.base import NoParameters
from quati_pool.project.config.components import split_component
from quati_pool.project.config.systems import Depth
from quati_pool.registry import POOL_METHODS, NamedComponent, nearest

DEPTH = "depth"
_LEARNS = "learns from grades; name who gives them, such as  steered_by: lexical"


class PoolSettings(Model):
    """How deep the pool goes, which runs feed it, and a file of further pairs (query_id <tab> doc_id).

    ``by: priority`` lets the first ``per_group`` systems of each family feed the pool, by their ``priority``.

    Every other ``method`` than depth chooses from the documents down to ``depth`` by the grades that the labeler
    ``steered_by`` gives: at most ``budget`` pairs in all and ``per_query`` of each query, ``per_round`` of a query at
    once, of which the share ``random_share`` is drawn at random. A budget without ``per_query`` moves to the queries
    where it finds most, after the share ``spread`` of it was spread evenly. ``relevant`` is the lowest relevant grade.
    """

    depth: Depth = 10
    by: Literal["priority"] | None = None
    per_group: Depth | None = None
    extra: str | None = None
    method: str = DEPTH
    component: InstanceOf[NamedComponent] = Field(default_factory=lambda: POOL_METHODS.find(DEPTH))
    parameters: Any = NoParameters()
    steered_by: str | None = None
    budget: Annotated[int, Field(ge=1)] | None = None
    per_query: Annotated[int, Field(ge=1)] | None = None
    per_round: Annotated[int, Field(ge=1)] = 1
    random_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    spread: Annotated[float, Field(ge=0, le=1)] = SPREAD
    relevant: int | None = None

    @model_validator(mode="after")
    def _both(self) -> Self:
        if (self.by is None) != (self.per_group is None):
            raise ValueError("expected by: priority and per_group: together, such as {by: priority, per_group: 3}")
        return self

    @property
    def adaptive(self) -> bool:
        """Whether grades decide what is pooled."""
        return bool(self.component.cls.learns or self.component.cls.expects)

    @property
    def limited(self) -> bool:
        """Whether the number of pairs is limited."""
        return self.budget is not None or self.per_query is not None

    @property
    def chooses(self) -> bool:
        """Whether the pool may hold less than all documents down to its depth."""
        return self.adaptive or self.limited

    def choice_key(self) -> dict[str, Any]:
        """What the choice depends on, other than the runs and the grades."""
        names = ("steered_by", "budget", "per_query", "per_round", "random_share", "spread", "relevant")
        return {
            "method": self.component.identity,
            "parameters": self.parameters.model_dump(),
            **{name: getattr(self, name) for name in names},
        }

    @property
    def limits(self) -> Limits:
        return Limits(self.budget, self.per_query, self.per_round, self.random_share, self.spread)

    def relevant_from(self, scale: Iterable[int]) -> int:
        """The lowest relevant grade: ``relevant``, or the lowest grade of at least half the highest one."""
        return lowest_relevant(scale) if self.relevant is None else self.relevant


def lowest_relevant(scale: Iterable[int]) -> int:
    """The lowest grade of at least half the highest one: 2 of 0 to 3, 1 of 0 and 1. The highest one where that is
    negative."""
    grades = sorted(scale)
    return next((grade for grade in grades if 2 * grade >= grades[-1]), grades[-1])


def check_relevant(file: YamlFile, settings: PoolSettings, scale: Collection[int]) -> None:
    """Raises InputError where ``relevant`` is no grade of the scale, or all grades would be relevant."""
    if settings.relevant is None or settings.relevant in sorted(scale)[1:]:
        return
    known = ", ".join(str(grade) for grade in sorted(scale)[1:])
    raise file.error(("pool", "relevant"), f"expected a grade above the lowest one ({known}), not {settings.relevant}")


def read_pool(file: YamlFile, data: Any, labelers: Mapping[str, bool]) -> PoolSettings:
    """Reads ``pool:``; ``labelers`` are the judges and label files by name, and whether each may steer it: one whose
    grades follow from the whole pool may not."""
    place = ("pool",)
    if not isinstance(data, dict):
        return file.model(place, PoolSettings, data)
    common = set(PoolSettings.model_fields) - {"method", "component", "parameters"}
    component, parameters, rest = split_component(file, place, data, "method", POOL_METHODS, common, DEPTH)
    method = {"method": component.name, "component": component, "parameters": parameters}
    settings = file.model(place, PoolSettings, {**rest, **method})
    if settings.adaptive:
        if not settings.limited:
            raise file.error(place, f"{settings.method} needs an end: add budget: (pairs in all) or per_query:")
        if settings.steered_by is None:
            raise file.error(place, f"{settings.method} {_LEARNS}")
        if settings.steered_by not in labelers:
            known = nearest(settings.steered_by, labelers)
            raise file.error((*place, "steered_by"), f"there is no labeler {settings.steered_by!r}; {known}")
        if not labelers[settings.steered_by]:
            problem = "grades by the whole pool, so it cannot choose it; name its people or its judge"
            raise file.error((*place, "steered_by"), f"{settings.steered_by} {problem}")
        moves = settings.component.cls.moves and settings.budget is not None
        if "spread" in data and not moves:
            raise file.error((*place, "spread"), "is of a budget: that moves between queries; drop it")
        return settings
    if settings.steered_by is not None:
        raise file.error((*place, "steered_by"), f"{settings.method} reads no grades; name another method: or drop it")
    of_limits = ("per_round", "random_share", "spread", "relevant")
    useless = next((key for key in of_limits if key in data and (key != "random_share" or not settings.limited)), None)
    if useless is not None:
        raise file.error((*place, useless), f"has no effect with {settings.method}; drop it")
    return settings
