"""A workspace that the commit before identities wrote opens as if nothing had happened."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.build import build
from quati_pool.commands.judge.chosen_judge import DEFAULT
from quati_pool.commands.judge.plan import plan
from quati_pool.commands.prepare.pipeline_plan import phases, pipeline
from quati_pool.commands.prepare.prepare import prepare
from quati_pool.files.artifacts import digest, stale
from quati_pool.labels.labelers import judge_version, make_judge
from quati_pool.preparation.config import load_prepare_config
from quati_pool.project.cache_keys import CacheKeys, locate_index, refuse_outdated, used_corpora
from quati_pool.project.config import FusionSystem, JudgeConfig, PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.project.inputs import corpus_key, load_queries
from quati_pool.project.workspace import Workspace
from quati_pool.registry import BENCHMARKS, EXPORTS, FUSIONS, JUDGES, PREPARATIONS, RERANKERS, RETRIEVERS
from quati_pool.store.database import Store
from tests.cli.conftest import Cli, cli
from tests.former.kept_workspace import unpack
from tests.serial_engine import SerialEngine

__all__ = ["cli"]

REGISTRIES = (RETRIEVERS, RERANKERS, FUSIONS, JUDGES, BENCHMARKS, PREPARATIONS, EXPORTS)

PINNED = re.compile(r"(?:^|\.)(?:pyserini|sentence-transformers|transformers|faiss|scikit-learn|PyStemmer|bm25s) was ")
"""Why an artifact may be made again after all: a package that changes what it holds is of another version now."""


class Heard(Listener):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """The folder of a copy."""
    return unpack(tmp_path)


@pytest.fixture
def known(workspace: Path) -> dict[str, Any]:
    """What its commands counted on the day it was made."""
    read: dict[str, Any] = json.loads((workspace / "known.json").read_text())
    return read


def without_versions(labels: dict[str, Any]) -> dict[str, Any]:
    labelers = [{name: value for name, value in row.items() if name != "version"} for row in labels["labelers"]]
    return {**labels, "labelers": labelers}


def test_all_its_labels_are_counted(workspace: Path, known: dict[str, Any], cli: Cli) -> None:
    done = cli("labels", "-c", workspace / "pool.yaml", "--format", "json")
    now = json.loads(done.out)
    unread = {row["labeler"]: row.pop("unread_answers") for row in now["labelers"]}
    assert {name: count for name, count in unread.items() if count} == {"gpt": 25, "narrow": 50, "offline": 25}
    for row, before in zip(now["labelers"], known["labels"]["labelers"], strict=True):
        # Ties were among the pairs that nobody could judge, and pairs that people were not given were not asked.
        row["unasked"] += row.pop("not_given")
        if tied := row.pop("tied"):
            assert row["labeler"] == "panel"
            row["states"]["unsure"] = tied
            del row["samples"], before["samples"]  # of pairs with a grade alone, where they agree by definition
    assert without_versions(now) == without_versions(known["labels"])
    was = {row["labeler"]: row["version"] for row in known["labels"]["labelers"]}
    is_now = {row["labeler"]: row["version"] for row in now["labelers"]}
    judges = {"gpt", "narrow", "offline", "lexical", "gold"}
    assert {name for name in was if was[name] != is_now[name]} == judges


@pytest.mark.slow
def test_its_labelers_agree_as_they_did(workspace: Path, known: dict[str, Any], cli: Cli) -> None:
    done = cli("agree", "-c", workspace / "pool.yaml", "--format", "json")
    pairs = json.loads(done.out)["pairs"]
    # The former commit weighted no pairs by how they were drawn.
    now = {(pair["a"], pair["b"]): (pair["n"], pair.get("unweighted", pair)["kappa"]) for pair in pairs}
    was = {(pair["a"], pair["b"]): (pair["n"], pair["kappa"]) for pair in known["pairs"]}
    assert len(was) >= 21
    assert {pair: now[pair] for pair in was if pair in now} == {pair: was[pair] for pair in was if pair in now}
    independent = {pair for pair in was if not {"both", "panel"} & set(pair)}
    assert independent <= now.keys()


@pytest.mark.parametrize("judge", ["gpt", "narrow", "offline", "lexical", "gold"])
def test_no_judge_asks_again(workspace: Path, judge: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMER_KEY", "any")
    planned = plan(workspace / "pool.yaml", judge, Listener(), DEFAULT)
    assert planned.to_ask == 0


def test_the_history_of_the_migration_is_whole(workspace: Path) -> None:
    """Every row is there, under a version whose definition hashes to it."""
    with Store.open(None, workspace) as store:
        labelers = store.labelers("former")
        assert sum(one.rows for one in labelers) == 4 * 25 + 50 + 2 * 25 + 5
        for one in labelers:
            definition = store.definition(one.version)
            if one.kind == "judge":
                assert definition is not None
                assert digest(definition) == one.version
                assert definition["judge"] in {"judge/llm@1", "judge/lexical@1", "judge/replay@1"}
        assert {batch.version for batch in store.batches("former")} <= {one.version for one in labelers}


def test_a_sample_by_a_judges_grades_is_the_same_sample(workspace: Path) -> None:
    """Its design holds the judge's version; the same command again adds nothing."""
    options = AssignOptions(stratified=14, judge="lexical", seed=3)
    assert assign(workspace / "pool.yaml", options).added_slots == 0


def keys_of(folder: Path) -> tuple[PoolConfig, Workspace, CacheKeys]:
    config = load_config(folder / "pool.yaml")
    there = Workspace(folder)
    corpora = {name: digest(corpus_key(config, name, there)) for name in used_corpora(config)}
    return config, there, CacheKeys(config, there, load_queries(config), corpora)


@pytest.mark.neural
@pytest.mark.java
def test_its_runs_pool_and_indexes_are_current(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMER_KEY", "any")
    config, there, keys = keys_of(workspace)
    found = {tag: stale(there.run(tag), keys.run(tag)) for tag in config.systems}
    found["pool"] = stale(there.pool, keys.pool([]))
    indexes = {}
    for tag, system in config.systems.items():
        if not isinstance(system, FusionSystem):
            component = system.component.cls(system.parameters, keys.environment)
            identity = system.component.index_identity
            place = locate_index(there, component, identity, keys._corpora[keys.corpus(tag)])
            if place is not None:
                indexes[tag] = place[0].name
                found[f"index of {tag}"] = stale(*place)
    assert {name: reason for name, reason in found.items() if reason and not PINNED.search(reason)} == {}
    assert indexes["lsa"] == indexes["by-lsa"]
    assert {name.rpartition("-")[0] for name in indexes.values()} >= {"bm25", "bm25s", "lsa", "dense", "splade"}


@pytest.mark.neural
@pytest.mark.java
def test_build_reuses_what_is_there(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMER_KEY", "any")
    _, there, keys = keys_of(workspace)
    if any(stale(there.run(tag), keys.run(tag)) for tag in keys.config.systems):
        return  # a package is of another version now, which the test before lists
    heard = Heard()
    build(workspace / "pool.yaml", heard)
    said = [line for line in heard.lines if not line.startswith("reports: ")]
    assert [line for line in said if not line.endswith(": reused")] == []
    assert "pool: reused" in said
    refuse_outdated(load_config(workspace / "pool.yaml"))


def test_prepare_takes_finished_work_over(workspace: Path) -> None:
    written = [workspace / "prepared" / name for name in ("00000.jsonl.gz", "00000.jsonl.gz.meta.json")]
    before = [path.stat().st_ino for path in written]
    heard = Heard()
    prepare(workspace / "prepare.yaml", SerialEngine, heard)
    assert [path.stat().st_ino for path in written] == before
    taken = [line for line in heard.lines if "taken over" in line]
    assert len(taken) == len([path for path in (workspace / "cache/preparation").iterdir() if path.is_dir()])
    shards = [line for line in heard.lines if "shard" in line]
    assert [line for line in shards if not line.endswith(": 1 of 1 shard finished before")] == []
    assert len(shards) == len(taken)
    heard = Heard()
    prepare(workspace / "prepare.yaml", SerialEngine, heard)
    assert not [line for line in heard.lines if "taken over" in line]


def everything_hashed(folder: Path) -> dict[str, str]:
    """Every key and version that components have a part in."""
    config, there, keys = keys_of(folder)
    found = {f"run {tag}": digest(keys.run(tag)) for tag in config.systems}
    found["pool"] = digest(keys.pool([]))
    for tag, system in config.systems.items():
        if isinstance(system, FusionSystem):
            continue
        component = system.component.cls(system.parameters, keys.environment)
        place = locate_index(there, component, system.component.index_identity, "corpus")
        found[f"index {tag}"] = str(place)
        found[f"encodings {tag}"] = digest([[name, dict(key)] for name, key in component.encodings()])
    for name, settings in config.judges.items():
        if isinstance(settings, JudgeConfig):
            found[f"judge {name}"] = judge_version(settings, make_judge(config, settings))
    links = pipeline(load_prepare_config(folder / "prepare.yaml"))
    found |= {phase.name: phase.key for phase in phases(links, ["shard"])}
    found |= {
        f"{registry.kind} {name}": registry.identity(name) for registry in REGISTRIES for name in registry.names()
    }
    return found


@contextmanager
def called(component: type, module: str, name: str) -> Iterator[None]:
    """The class as if its code were in another module under another name."""
    before = component.__module__, component.__name__, component.__qualname__
    component.__module__, component.__name__, component.__qualname__ = module, name, name
    try:
        yield
    finally:
        component.__module__, component.__name__, component.__qualname__ = before


@pytest.mark.neural
@pytest.mark.java
def test_code_may_move(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMER_KEY", "any")
    before = everything_hashed(workspace)
    moved = ModuleType("elsewhere_altogether")
    monkeypatch.setitem(sys.modules, moved.__name__, moved)
    with ExitStack() as stack:
        for registry in REGISTRIES:
            for name in registry.names():
                component = registry.get(name)
                renamed = f"Renamed{len(vars(moved))}"
                setattr(moved, renamed, component)
                stack.enter_context(called(component, moved.__name__, renamed))
                monkeypatch.setitem(registry._builtin, name, f"{moved.__name__}:{renamed}")
        assert RETRIEVERS.get("bm25").__module__ == moved.__name__
        assert everything_hashed(workspace) == before
    assert not [value for value in before.values() if "quati_pool" in value]


REVISED = {
    "export/bundle": 2,
    "export/hf": 2,
    "export/ir-datasets": 2,
    "export/ltr": 2,
    "export/mteb": 2,
    "export/training": 2,
}


def test_every_component_of_ours_says_what_it_is_called() -> None:
    for registry in REGISTRIES:
        for name in registry.names():
            called = f"{registry.kind[:-1]}/{name}"
            assert registry.get(name).id == called
            assert registry.identity(name) == f"{called}@{REVISED.get(called, 1)}"


def test_a_revision_makes_work_stale(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMER_KEY", "any")
    monkeypatch.setattr(RETRIEVERS.get("bm25s"), "revision", 2)
    _, there, keys = keys_of(workspace)
    reason = stale(there.run("bm25s"), keys.run("bm25s"))
    assert reason is not None
    assert '"retriever/bm25s@2"' in reason
