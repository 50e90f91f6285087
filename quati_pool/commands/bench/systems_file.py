"""The systems that search a benchmark's collections: those of a user's pool.yaml, or default ones per language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from quati_pool.errors import ConfigError, MissingExtraError
from quati_pool.files.yaml_file import YamlFile
from quati_pool.project.cache_keys import component_environment, used_corpora
from quati_pool.project.config import FusionSystem, PoolConfig, RerankSystem, RetrieverSystem, load_config
from quati_pool.project.workspace import Workspace
from quati_pool.registry import RETRIEVERS

RUN_DEPTH, POOL_DEPTH = 100, 10

_MODELS = ("model", "query_model", "passage_model")

_BM25 = "  bm25: {{retriever: bm25, language: {language}, family: lexical}}     # Lucene: k1 0.9, b 0.4\n"
_WITHOUT = "  # bm25: {{retriever: bm25, language: {language}, family: lexical}}   # Lucene: needs quati-pool[lucene]\n"
# The reranker has more dimensions than lsa, as the two would otherwise find the same over a small corpus.
_DEFAULTS = """\
  bm25s: {{retriever: bm25s, language: {language}, family: lexical}}   # k1 0.9, b 0.4
  bm25s-1.2-0.75: {{retriever: bm25s, language: {language}, k1: 1.2, b: 0.75, family: lexical}}
  bm25s-words: {{retriever: bm25s, language: {language}, stemming: false, stop_words: false, family: lexical}}
  lsa: {{retriever: lsa, language: {language}, dimensions: 128, family: latent}}
  lsa-64: {{retriever: lsa, language: {language}, dimensions: 64, family: latent}}
  bm25s-lsa: {{first: bm25s, rerank: {{with: lsa, language: {language}, dimensions: 256, depth: 100}}, family: latent}}
  rrf: {{fuse: [bm25s, lsa], method: rrf, k: 60}}
  combsum: {{fuse: [bm25s, lsa], method: combsum}}
  # With quati-pool[neural], as  quati-pool retrievers  lists them; the models are names on the Hugging Face hub or
  # folders, and  quati-pool build --plan  says first what they take:
  # e5: {{retriever: dense, model: intfloat/multilingual-e5-base}}
  # splade: {{retriever: splade, model: naver/splade-cocondenser-ensembledistil}}   # English
  # colbert: {{retriever: colbert, model: colbert-ir/colbertv2.0}}                 # English
  # bm25s-cross: {{first: bm25s, rerank: {{with: cross-encoder, model: cross-encoder/mmarco-mMiniLMv2-L12-H384-v1}}}}
"""


@dataclass(frozen=True, eq=False)
class SystemsFile:
    """The systems of a pool.yaml, to be run over other collections: ``systems`` maps run tags to settings without
    ``corpus`` and with absolute paths."""

    path: Path
    systems: Mapping[str, Mapping[str, Any]]
    run_depth: int
    pool_depth: int

    @classmethod
    def read(cls, path: Path) -> SystemsFile:
        """Reads and checks a pool.yaml; the files of its corpus and queries need not exist.

        Raises InputError as ``load_config`` does, and ConfigError for systems over several corpora.
        """
        config = load_config(path)
        corpora = used_corpora(config)
        if len(corpora) > 1:
            raise ConfigError(
                f"{path}: systems: search the corpora {', '.join(corpora)}, and a benchmark's collection has "
                "one; name a pool.yaml whose systems search one corpus"
            )
        written: Mapping[str, Mapping[str, Any]] = YamlFile(path).data["systems"]
        systems = {tag: _portable(config, tag, settings) for tag, settings in written.items()}
        return cls(path, systems, config.run_depth, config.pool.depth)

    def block(self) -> str:
        """The lines under ``systems:`` in a pool.yaml."""
        return "".join(f"  {_flow({tag: settings})[1:-1]}\n" for tag, settings in self.systems.items())


def default_systems(language: str) -> tuple[str, str | None]:
    """The lines under ``systems:`` for texts in ``language``, an ISO 639-1 code: systems that need no extra, and
    Lucene's BM25 if it is installed. Also returns why Lucene's BM25 is missing, None if it is installed."""
    try:
        RETRIEVERS.get("bm25").require()
    except MissingExtraError as error:
        return (_WITHOUT + _DEFAULTS).format(language=language), f"without bm25 (Lucene): {error}"
    return (_BM25 + _DEFAULTS).format(language=language), None


def foreign_languages(config: PoolConfig, language: str) -> dict[str, str]:
    """The systems that analyse texts as being in a language other than ``language``, each with that other language."""
    found = {}
    for tag, system in config.systems.items():
        own = getattr(system.parameters, "language", None)
        if isinstance(own, str) and own != language:
            found[tag] = own
    return found


def _portable(config: PoolConfig, tag: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """A system's settings, valid in a pool.yaml in any folder."""
    system = config.systems[tag]
    kept = {key: value for key, value in settings.items() if key != "corpus"}
    files = set(_files(config, system))
    if isinstance(system, RerankSystem):
        return {**kept, "rerank": _absolute(config.folder, settings["rerank"], files)}
    return _absolute(config.folder, kept, files)


def _files(config: PoolConfig, system: RetrieverSystem | RerankSystem | FusionSystem) -> Iterator[str]:
    """The files that a system's component reads, and the one in which it is itself (with its class after the colon),
    as its settings name them."""
    component = system.component
    if component.file is not None:
        yield component.name
    if not isinstance(system, FusionSystem):
        environment = component_environment(config, Workspace(config.folder))
        yield from component.cls(system.parameters, environment).inputs()


def _absolute(folder: Path, settings: Mapping[str, Any], files: set[str]) -> dict[str, Any]:
    """The settings with every path absolute: files, prices, and models that are folders."""

    def absolute(key: str, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        place = folder / Path(value).expanduser()
        if value in files or key == "prices" or (key in _MODELS and (place.exists() or value.startswith("."))):
            return str(place.resolve())
        return value

    return {key: absolute(key, value) for key, value in settings.items()}


class _OneLine(yaml.SafeDumper):
    """A YAML dumper that escapes line ends in texts, so that they stay on one line."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        several = bool(text) and text.splitlines() != [text]
        return self.represent_scalar("tag:yaml.org,2002:str", text, '"' if several else None)


_OneLine.add_representer(str, _OneLine.represent_text)


def _flow(value: Any) -> str:
    """A value as YAML on one line."""
    written: str = yaml.dump(
        value, Dumper=_OneLine, default_flow_style=True, allow_unicode=True, sort_keys=False, width=2**31
    )
    return written.strip()
