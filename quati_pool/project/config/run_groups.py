"""Systems by ``runs:`` of ``pool.yaml``: every run of one or several files is a system of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from quati_pool.errors import InputError
from quati_pool.files.corpus import expand_paths
from quati_pool.files.problems import quoted
from quati_pool.files.yaml_file import EXPECTED_NAME, Place, YamlFile, is_name
from quati_pool.project.config.systems import System
from quati_pool.project.workspace import Workspace

# What ends the name of a run file and is no part of the run's name.
_SUFFIX = re.compile(r"(\.(run|trec|txt|res))?(\.gz)?\Z")


class RunGroup(System):
    """The runs of all files that ``runs`` names (a path, a glob, or a list of these).

    ``named_by``: whether a system is named by the run's tag or by its file, which then holds one run.
    ``family_pattern``: a regular expression with one group, which is the family of a run: it is searched in the run's
    name and, where it is not found there, in the path of its file.
    """

    runs: str | Annotated[list[str], Field(min_length=1)]
    named_by: Literal["run_tag", "file"] = "run_tag"
    family_pattern: str | None = None
    corpus: str | None = None


def expand_groups(file: YamlFile, data: Any) -> dict[Any, tuple[Place, Any]]:
    """The settings of all systems by name, each with its place in the file; every run of a group is a system.

    Raises InputError for a group with faulty settings or files, and for runs that have the name of another system.
    """
    if not isinstance(data, dict) or not data:
        raise file.error(("systems",), "expected at least one system, such as  bm25s: {retriever: bm25s}")
    systems: dict[Any, tuple[Place, Any]] = {}
    for name, settings in data.items():
        place: Place = ("systems", name)
        grouped = isinstance(settings, dict) and "runs" in settings and settings.get("retriever") == "run"
        for run_tag, member in _members(file, place, settings).items() if grouped else [(name, settings)]:
            if run_tag in systems or (grouped and run_tag in data and not run_tag == name):
                raise file.error((*place, "runs"), f"holds a run {run_tag!r}, and another system has that name")
            systems[run_tag] = place, member
    return systems


def _members(file: YamlFile, place: Place, data: dict[Any, Any]) -> dict[str, dict[Any, Any]]:
    """The settings of each run of a group as a system, by name, in the order of the files and of the runs in them."""
    group = file.model(place, RunGroup, {key: value for key, value in data.items() if key != "retriever"})
    family = _family_pattern(file, place, group)
    folder = file.path.parent
    workspace = Workspace(folder)
    settings = {key: value for key, value in data.items() if key in {*System.model_fields, "corpus"}}
    members: dict[str, dict[Any, Any]] = {}
    try:
        paths = expand_paths(folder, group.runs, workspace.is_output)
        for path, runs in zip(paths, _runs(paths, group, workspace), strict=True):
            name = os.path.relpath(path, folder)
            for run_tag, chosen in runs.items():
                if run_tag in members:
                    both = f"{members[run_tag]['path']} and {name} hold runs of one name, {run_tag!r}"
                    raise file.error((*place, "runs"), f"{both}; rename one, or set  named_by: file")
                if not is_name(run_tag):
                    raise file.error((*place, "runs"), f"{name} holds a run {quoted(run_tag)}; {EXPECTED_NAME}")
                members[run_tag] = {**settings, "retriever": "run", "path": name, **chosen}
                if family is not None:
                    members[run_tag]["family"] = _family(file, place, family, run_tag, name)
    except InputError as error:
        if error.path == str(file.path):
            raise
        raise file.error((*place, "runs"), str(error)) from None
    return members


def _runs(paths: Sequence[Path], group: RunGroup, workspace: Workspace) -> Iterator[dict[str, dict[str, str]]]:
    """For each file, the name of each of its runs and the parameters that choose it."""
    if group.named_by == "file":
        for path in paths:
            yield {_SUFFIX.sub("", path.name): {}}
        return
    for run_tags in workspace.run_queries(paths).values():
        yield {run_tag: {"run_tag": run_tag} if len(run_tags) > 1 else {} for run_tag in run_tags}


def _family_pattern(file: YamlFile, place: Place, group: RunGroup) -> re.Pattern[str] | None:
    if group.family_pattern is None:
        return None
    at = (*place, "family_pattern")
    if group.family is not None:
        raise file.error(at, "the group has a family: too; drop one of them")
    try:
        pattern = re.compile(group.family_pattern)
    except re.error as error:
        raise file.error(at, f"is not a regular expression ({error})") from None
    if pattern.groups != 1:
        raise file.error(at, f'has {pattern.groups} groups; expected one, the family, such as "^([^-]+)-"')
    return pattern


def _family(file: YamlFile, place: Place, pattern: re.Pattern[str], run_tag: str, path: str) -> str:
    found = pattern.search(run_tag) or pattern.search(path)
    if found is None or not found[1]:
        raise file.error((*place, "family_pattern"), f"finds no family in the run {run_tag!r} of {path}; widen it")
    return found[1]
