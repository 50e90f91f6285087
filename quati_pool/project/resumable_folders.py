"""Folders of long-running work that an interrupted build resumes: vectors of a corpus, scores of many pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quati_pool.corpus.store import CorpusStore
from quati_pool.files.artifacts import Counts, digest, stale
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.events import kept_if_stopped
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
    _system: str = ""

    def begin(self, system: str, doing: str, unit: str) -> None:
        """Sets the names of the work that ``progress`` and ``step`` report next: a system's run_tag, and what is done
        for it, counted in ``unit``."""
        listener = self.builder.listener
        self._system = system
        self.progress = lambda done, total: listener.progress(f"{system}: {doing}", done, total, unit=unit)
        self.step = lambda what: listener.progress(f"{system}: {what}", 0, 0)

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
            label = f"{self._system or name}: {'encoding' if unit == 'passages' else 'scoring'}"
            self.progress = lambda done, total: listener.progress(label, done, total, unit=unit)
            try:
                with kept_if_stopped(lambda: _kept(folder, f"{unit} of {self._system or path.name}")):
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


def _kept(folder: Path, what: str) -> str:
    done = Shards(folder).passages
    return f"{done:,} {what}" if done else ""


def locate_resumable(
    workspace: Workspace, name: str, fingerprint: str, key: Mapping[str, Any]
) -> tuple[Path, dict[str, Any]]:
    """The folder of resumable work on the corpus with this fingerprint, and its full key."""
    full_key = {"name": name, "corpus": fingerprint, **key}
    return workspace.encodings(name, digest(full_key)), full_key
