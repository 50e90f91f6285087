"""Writes a benchmark's collection as a workspace for ``build``, ``judge``, ``annotate`` and ``evaluate``."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from quati_pool import __version__
from quati_pool.commands.bench.systems_file import POOL_DEPTH, RUN_DEPTH, SystemsFile, default_systems
from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import file_digest, locked, put_file
from quati_pool.files.problems import id_error
from quati_pool.files.queries import DRAFTED_BY
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.qa_benchmarks.base import Benchmark, Collection
from quati_pool.records import id_problem

# Written first: it marks a folder as written by this command, even if the command was killed afterwards.
_MARK = "benchmark.json"
_PROMPTS = ("en", "es", "pt")
# JSON can contain half a surrogate pair, which UTF-8 cannot encode.
_SURROGATE = re.compile("[\ud800-\udfff]")

_TEMPLATE = """\
# {name}: a collection of a benchmark, written by  quati-pool bench. Edit what you like: see  quati-pool init.
name: {quoted}
seed: {seed}                       # of every draw and fit

corpus: {{path: corpus.jsonl}}
queries: {{path: queries.jsonl}}{clusters}

systems:                      # the key is the run_tag; quati-pool retrievers lists what there is
{systems}
run_depth: {run_depth}                # documents kept per query and run
pool: {{depth: {pool_depth}}}             # of each system

judges:                       # quati-pool judge NAME; quati-pool prompts lists the prompts
  lexical: {{judge: lexical, language: {language}}}          # term overlap: free, offline, the floor
  # gpt-4o: {{model: gpt-4o-2024-11-20, prompt: quati-{prompt}}}   # the key in OPENAI_API_KEY

labels:
  files:                      # the benchmark's own judgements: above 0 is relevant, what is not there is unjudged
    gold: {{path: gold.qrels}}

measures: [nDCG@10, Success@1, Success@5, Success@10, R@100, RR@10]   # ir_measures; the first ranks systems

release:                      # what exports say of the collection
{release}
"""


class Source(NamedTuple):
    """A collection's name, its benchmark, and the hash of each file that it was read from. ``about`` describes files
    that are not the benchmark's own, in the keys of ``release:``."""

    name: str
    benchmark: type[Benchmark]
    files: Mapping[str, str] = {}
    about: Mapping[str, str] | None = None


def write_workspace(
    folder: Path,
    source: Source,
    collection: Collection,
    systems: SystemsFile | None,
    seed: int,
    listener: Listener,
    *,
    keep: bool = False,
) -> Path:
    """Writes corpus, queries, qrels and pool.yaml of a collection into ``folder``; returns the path of pool.yaml.

    Files with the same content are not touched. With ``keep`` the workspace belongs to the user: edited files are kept
    too, and a folder with another collection is refused. Without ``keep``, files that differ are replaced, unless
    labels.db may hold labels of their texts.

    Raises QuatiPoolError for a folder that holds anything else, and for a collection that cannot become a workspace.
    """
    name = source.name
    _check(name, collection)
    files: dict[str, Callable[[], Iterable[str]]] = {
        "corpus.jsonl": lambda: _passages(collection),
        "queries.jsonl": lambda: _queries(collection),
        "gold.qrels": lambda: _judgements(collection),
    }
    digests = {file: _digest(lines()) for file, lines in files.items()}
    counts = {
        "passages": len(collection.passages),
        "queries": len(collection.queries),
        "judgements": len(collection.qrels),
    }
    mark = {"collection": name, "language": collection.language, **counts, "sha256": digests}
    _refuse_folder(folder, mark, keep)
    with locked(Workspace(folder).lock("collection"), listener.say, str(folder)):
        _refuse_folder(folder, mark, keep)
        if not _is_marked(folder, mark):
            whole = {**mark, "tool": f"quati-pool {__version__}", "made_from": dict(source.files)}
            _write(folder / _MARK, [json.dumps(whole, indent=1, ensure_ascii=False) + "\n"])
        for (file, lines), count in zip(files.items(), counts.items(), strict=True):
            _write_changed(folder / file, digests[file], lines, keep, listener, f"{count[1]:,} {count[0]}")
        settings = folder / "pool.yaml"
        block, without = (systems.block(), None) if systems else default_systems(collection.language)
        text = _settings(source, collection, systems, block, seed)
        if _write_changed(settings, _digest([text]), lambda: [text], keep, listener) and without:
            listener.say(without)
    return settings


def _write_changed(
    path: Path,
    digest: str,
    lines: Callable[[], Iterable[str]],
    keep: bool,
    listener: Listener,
    size: str = "",
) -> bool:
    """Writes the file unless it has this content or ``keep`` protects the user's edits; returns whether it did."""
    there = path.exists()
    if there and file_digest(path) == digest:
        return False
    if there and keep:
        listener.say(f"{path.name}: kept, though it differs from what would be written; delete it to have it rewritten")
        return False
    _write(path, lines())
    listener.say(f"{path.name}: {'rewritten' if there else 'written'}{size and f', {size}'}")
    return True


def _refuse_folder(folder: Path, mark: dict[str, Any], keep: bool) -> None:
    """Raises QuatiPoolError for a folder whose files must not be replaced."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise QuatiPoolError(f"{folder} is a file; name a folder")
    found = _read_mark(folder)
    if found is None:
        # An interrupted command may leave these.
        others = {path.name for path in folder.iterdir()} - {"cache", f".partial-{_MARK}"}
        if others:
            what = "is not empty and holds no collection of a benchmark"
            raise QuatiPoolError(f"{folder} {what}; name another folder")
    elif keep and not _is_marked(folder, mark):
        was = found.get("collection")
        held = "the same collection of other files" if was == mark["collection"] else f"another collection ({was})"
        raise QuatiPoolError(f"{folder} holds {held}, which stays as it is; name another folder")
    elif not keep and (folder / "labels.db").exists():
        for file, digest in mark["sha256"].items():
            if (folder / file).exists() and file_digest(folder / file) != digest:
                raise QuatiPoolError(
                    f"{folder / file} is not what the data gives now, and {folder / 'labels.db'} "
                    "may hold labels of it; move that folder away, or name another with -o"
                )


def _is_marked(folder: Path, mark: dict[str, Any]) -> bool:
    """Whether the folder holds exactly this collection, regardless of the version that wrote it."""
    found = _read_mark(folder) or {}
    return {key: found.get(key) for key in mark} == mark


def _read_mark(folder: Path) -> dict[str, Any] | None:
    """The folder's ``benchmark.json``; empty where that cannot be read, None where it is missing."""
    try:
        found = json.loads((folder / _MARK).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _check(name: str, collection: Collection) -> None:
    """Raises QuatiPoolError for a collection without passages, queries or judgements, or with invalid, repeated or
    unknown ids."""
    for what, rows in (
        ("passages", collection.passages),
        ("queries", collection.queries),
        ("judgements", collection.qrels),
    ):
        if not rows:
            raise QuatiPoolError(f"{name}: there are no {what}; check the files of the benchmark")
    for column, ids in (
        ("doc_id", [doc_id for doc_id, _ in collection.passages]),
        ("query_id", [topic.query_id for topic in collection.queries]),
    ):
        seen: set[str] = set()
        for value in ids:
            problem = id_problem(value)
            if problem is None and value.startswith("#"):
                problem = "begins with '#', which marks a comment in TREC files"
            if problem is not None:
                raise QuatiPoolError(f"{name}: {id_error(column, value, problem)}")
            if value in seen:
                raise QuatiPoolError(f"{name}: {column} {value!r} occurs twice; expected each once")
            seen.add(value)
    pairs = {(query_id, doc_id) for query_id, doc_id, _ in collection.qrels}
    if len(pairs) < len(collection.qrels):
        raise QuatiPoolError(f"{name}: {len(collection.qrels) - len(pairs)} pairs are judged twice; expected each once")
    strangers = {query_id for query_id, _ in pairs} - {topic.query_id for topic in collection.queries}
    if strangers:
        raise QuatiPoolError(f"{name}: judges the query {min(strangers)!r}, which is not among its queries; drop it")


def _settings(source: Source, collection: Collection, given: SystemsFile | None, systems: str, seed: int) -> str:
    name, benchmark, _, about = source
    if about is None:
        about = {
            "title": benchmark.title,
            "license": benchmark.license,
            "citation": benchmark.citation,
            "url": benchmark.source,
        }
    title = f"{about['title']}, {name}" if "title" in about else name
    release = {**about, "title": title, "languages": [collection.language]}
    clusters = any(topic.cluster_id for topic in collection.queries)
    return _TEMPLATE.format(
        name=name,
        quoted=json.dumps(name, ensure_ascii=False),
        seed=seed,
        clusters="      # cluster_id: related questions; quati-pool evaluate --robust" if clusters else "",
        systems=systems,
        run_depth=given.run_depth if given else RUN_DEPTH,
        pool_depth=given.pool_depth if given else POOL_DEPTH,
        language=collection.language,
        prompt=collection.language if collection.language in _PROMPTS else "en",
        # A JSON value is a YAML value too.
        release="\n".join(f"  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in release.items()),
    )


def _passages(collection: Collection) -> Iterator[str]:
    for doc_id, text in collection.passages:
        yield _line({"doc_id": doc_id, "text": text})


def _queries(collection: Collection) -> Iterator[str]:
    for topic in collection.queries:
        more = {"cluster_id": topic.cluster_id, DRAFTED_BY: topic.drafted_by}
        there = {name: value for name, value in more.items() if value}
        yield _line({"query_id": topic.query_id, "query": topic.query, **there})


def _judgements(collection: Collection) -> Iterator[str]:
    for query_id, doc_id, relevance in collection.qrels:
        yield f"{query_id} 0 {doc_id} {relevance}\n"


def _line(record: dict[str, str]) -> str:
    """A record as a line of JSON, in which half a surrogate pair becomes U+FFFD."""
    return _SURROGATE.sub("\ufffd", json.dumps(record, ensure_ascii=False)) + "\n"


def _digest(lines: Iterable[str]) -> str:
    found = hashlib.sha256()
    for line in lines:
        found.update(line.encode())
    return found.hexdigest()


def _write(path: Path, lines: Iterable[str]) -> None:
    """Writes a file atomically: completely or not at all."""

    def fill(partial: Path) -> None:
        with partial.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)

    path.parent.mkdir(parents=True, exist_ok=True)
    put_file(path, fill)
