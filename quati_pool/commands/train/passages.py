"""The passages that one system finds for questions, for readers that learn to answer over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from quati_pool.commands.bench.bench import case_folder
from quati_pool.commands.bench.collections import Source, write_workspace
from quati_pool.commands.bench.provenance import Inputs
from quati_pool.commands.bench.retrieval import retrieve
from quati_pool.commands.bench.systems_file import POOL_DEPTH, RUN_DEPTH, SystemsFile, default_systems
from quati_pool.errors import ConfigError
from quati_pool.project.events import Listener
from quati_pool.qa_benchmarks.base import Case
from quati_pool.qa_benchmarks.pira.benchmark import Pira
from quati_pool.qa_benchmarks.pira.retrieval import PassageRetrieval
from quati_pool.registry import nearest

DEFAULT = "bm25s"
"""The system whose passages are read, unless another is named: one that needs no extra."""


@dataclass(frozen=True)
class ReadSystem:
    """The system whose passages are read, with its settings and those of the systems it combines; ``file`` is the
    user's pool.yaml, None for a default system, whose settings depend on the language of the texts."""

    run_tag: str
    file: SystemsFile | None

    def systems(self, language: str) -> SystemsFile:
        """The settings to build it with."""
        if self.file is not None:
            return self.file
        block, _ = default_systems(language)
        settings = yaml.safe_load(f"systems:\n{block}")["systems"][self.run_tag]
        return SystemsFile(Path("pool.yaml"), {self.run_tag: settings}, RUN_DEPTH, POOL_DEPTH)

    def about(self) -> dict[str, Any]:
        """What identifies it, as JSON."""
        return {"run_tag": self.run_tag, "systems": None if self.file is None else dict(self.file.systems)}


def read_system(path: Path | None, run_tag: str | None) -> ReadSystem:
    """The system that is named: of the pool.yaml at ``path`` (its first if none is), or the default one.

    Raises ConfigError where there is no such system, and the errors of reading pool.yaml.
    """
    if path is None:
        block, _ = default_systems("en")
        # Those that combine others need these too: then --systems is clearer.
        settings = yaml.safe_load(f"systems:\n{block}")["systems"]
        plain = [tag for tag, system in settings.items() if "retriever" in system]
        if run_tag is not None and run_tag not in plain:
            raise ConfigError(
                f"--over {run_tag}: {nearest(run_tag, plain)}; for other systems, name a pool.yaml by --systems"
            )
        return ReadSystem(run_tag or DEFAULT, None)
    file = SystemsFile.read(path)
    if run_tag is not None and run_tag not in file.systems:
        raise ConfigError(f"--over {run_tag}: no such system in {path}; {nearest(run_tag, file.systems)}")
    return ReadSystem(run_tag or next(iter(file.systems)), file)


def passages_found(
    data: Path, case: Case, over: ReadSystem, folder: Path, seed: int, listener: Listener
) -> Mapping[str, Sequence[str]]:
    """The texts of the best passages of each question of Pirá's ``oqa`` in a case, by query_id, best first.

    The collection is written, and the system built, in a folder of the case in ``folder``; what is there already is not
    built again.
    """
    task = PassageRetrieval()
    collection = task.collection(data, case)
    files = Inputs(data).add(task.files(data, case))
    name = case_folder(task, case)
    systems = over.systems(collection.language)
    source = Source(f"{Pira.name}-{name}", Pira, files)
    config = write_workspace(folder / name, source, collection, systems, seed, listener)
    return retrieve(config, collection, task, case, listener, [over.run_tag]).passages[over.run_tag]
