"""Folders of long-running work that an interrupted build resumes: vectors of a corpus, scores of many pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quati_pool.corpus.store import CorpusStore
from quati_pool.files.artifacts import Counts, digest, stale
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.inputs import Corpus
from quati_pool.project.workspace import Workspace
from quati_pool.retrieval.base import Context
from quati_pool.retrieval.shards import Shards


@dataclass
class BuildContext(Context):
    """The context of a build, which keeps long-running work in the workspace's cache. ``forced``: finished work is done
    again, unless it was paid for."""

    builder: ArtifactBuilder = field(kw_only=True)
    corpora: Sequence[Corpus] = field(kw_only=True)
    forced: bool = field(default=False, kw_only=True)

    def resumable_folder(
        self,
        corpus: CorpusStore,
        name: str,
        key: Mapping[str, Any],
        fill: Callable[[Path], Counts],
        *,
        unit: str = "passages",
        paid: bool = False,
    ) -> Path:
        path, full_key = self._locate(corpus, name, key)
        listener, outer = self.builder.listener, self.progress

        def resume(folder: Path) -> Counts:
            done = Shards(folder)
            if done.passages:
                listener.say(
                    f"encoding {path.name}: continues after {done.passages:,} {unit} in {done.shards:,} shards"
                )
            self.progress = lambda done, total: listener.progress(f"encoding {name}: {unit}", done, total)
            try:
                return fill(folder)
            finally:
                self.progress = outer

        force = self.forced and not paid
        self.builder.ensure(f"encoding {path.name}", path, full_key, resume, resumable=True, force=force)
        return path

    def finished_folder(self, corpus: CorpusStore, name: str, key: Mapping[str, Any]) -> Path | None:
        path, full_key = self._locate(corpus, name, key)
        return path if stale(path, full_key) is None else None

    def _locate(self, corpus: CorpusStore, name: str, key: Mapping[str, Any]) -> tuple[Path, dict[str, Any]]:
        fingerprint = next(each.fingerprint for each in self.corpora if each.store is corpus)
        return locate_resumable(self.builder.workspace, name, fingerprint, key)


def locate_resumable(
    workspace: Workspace, name: str, fingerprint: str, key: Mapping[str, Any]
) -> tuple[Path, dict[str, Any]]:
    """The folder of resumable work on the corpus with this fingerprint, and its full key."""
    full_key = {"name": name, "corpus": fingerprint, **key}
    return workspace.encodings(name, digest(full_key)), full_key
