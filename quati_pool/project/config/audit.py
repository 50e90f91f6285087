"""The section ``audit:`` of ``pool.yaml``: how judges are audited."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any

from pydantic import Field, InstanceOf

from quati_pool.audit.base import Probe
from quati_pool.audit.grade_bounds import GradeBounds
from quati_pool.errors import ConfigError
from quati_pool.files.yaml_file import Model, YamlFile
from quati_pool.registry import PROBES, NamedComponent


class ProbeConfig(Model):
    """A probe with its parameters."""

    component: InstanceOf[NamedComponent]
    parameters: Any


class ParaphrasesConfig(Model):
    """How many queries a judge is asked about with other wordings of its prompt (none if 0), and the user's own
    wordings, ids or files of prompts."""

    queries: Annotated[int, Field(ge=0)] = 10
    prompts: list[str] = Field(default_factory=list)


class AuditConfig(Model):
    """How many pairs each probe changes, whose grades say which are irrelevant (by default those of all people), from
    which grade on a passage answers its query (by default from the upper half of the scale on), the parameters of
    probes by name, the other wordings of the prompt, and how far grades may differ from people's."""

    pairs: Annotated[int, Field(ge=1)] = 100
    people: str | None = None
    answers_from: int | None = None
    probes: dict[str, ProbeConfig] = Field(default_factory=dict)
    paraphrases: ParaphrasesConfig = Field(default_factory=ParaphrasesConfig)
    bounds: GradeBounds = Field(default_factory=GradeBounds)

    def probe(self, name: str) -> ProbeConfig:
        """A probe as configured, or with its defaults. Raises ConfigError if there is none of this name."""
        found = self.probes.get(name)
        if found is not None:
            return found
        component = PROBES.find(name)
        return ProbeConfig(component=component, parameters=component.cls.Parameters())


def read_audit(file: YamlFile, data: Any) -> AuditConfig:
    """Reads ``audit:``; raises InputError for an unknown probe."""
    if not isinstance(data, dict):
        raise file.error(("audit",), "expected settings such as {pairs: 100}")
    probes = data.get("probes", {})
    if not isinstance(probes, dict):
        raise file.error(("audit", "probes"), "expected parameters by probe, such as {stuffing: {bound: 0.05}}")
    read = {name: _probe(file, name, settings) for name, settings in probes.items()}
    return file.model(("audit",), AuditConfig, {**data, "probes": read})


def check_answers_from(file: YamlFile, config: AuditConfig, grades: Collection[int]) -> None:
    """Raises InputError for an ``answers_from`` that is no grade of the scale or its lowest."""
    above = sorted(grades)[1:]
    if config.answers_from is not None and config.answers_from not in above:
        shown = ", ".join(map(str, above))
        raise file.error(("audit", "answers_from"), f"expected a grade above the lowest: {shown}")


def _probe(file: YamlFile, name: Any, settings: Any) -> ProbeConfig:
    place = ("audit", "probes", name)
    try:
        component = PROBES.find(str(name), file.path.parent)
    except ConfigError as error:
        raise file.error(place, str(error)) from None
    kind: type[Probe] = component.cls
    return ProbeConfig(component=component, parameters=file.model(place, kind.Parameters, settings or {}))
