"""``quati-pool init``: a workspace with a commented ``pool.yaml`` or ``prepare.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from quati_pool.bundled import bundled
from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import put_file

TEMPLATE = """\
# A collection for quati-pool. Paths are relative to this file; unknown keys are refused.
name: {name}                  # the collection
seed: 0                       # of every draw and fit

corpus:                       # JSONL, TSV, CSV, Parquet or TREC SGML, plain or .gz; a glob or a list too
  path: corpus.jsonl
  doc_id: doc_id              # the fields that hold id and text
  text: text                  # several are joined:  text: [title, text]

queries:                      # TSV (query_id <tab> query), CSV, JSONL or TREC topics
  path: queries.tsv
  # sample: 50                # a seeded sample, or  ids: [q1, q2]

systems:                      # the key is the run_tag; quati-pool retrievers lists what there is
  bm25s: {{retriever: bm25s, language: en}}
  # bm25: {{retriever: bm25, language: en, k1: 0.9, b: 0.4}}      # Lucene: needs quati-pool[lucene]
  # e5: {{retriever: dense, model: intfloat/multilingual-e5-base}}  # needs quati-pool[neural]; first see build --plan
  lsa: {{retriever: lsa, language: en, dimensions: 128}}
  bm25s-lsa: {{first: bm25s, rerank: {{with: lsa, language: en, depth: 100}}}}
  rrf: {{fuse: [bm25s, lsa], method: rrf, k: 60}}
  # theirs: {{retriever: run, path: theirs.run, pool: false}}     # in the ledger, not in the pool
  # official: {{retriever: run, runs: "official/*.run"}}          # every run of these files is a system

run_depth: 100                # documents kept per query and run
pool: {{depth: 10}}             # of each system; pool_depth: in a system overrides it
# pool: {{depth: 20, method: mm-ns, steered_by: lexical, budget: 2000}}  # grades choose the pairs: judge --adaptive

judges:                       # quati-pool judge NAME; quati-pool prompts lists the prompts
  lexical: {{judge: lexical, language: en}}                       # term overlap: free, offline, the floor
  # gpt-4o: {{model: gpt-4o-2024-11-20, prompt: quati-en}}        # the key in OPENAI_API_KEY
  # local: {{model: my-model, prompt: quati-en, base_url: "http://localhost:8000/v1", api_key_env: null}}
  # panel: {{consensus: [gpt-4o, local], method: mean}}           # computed when it is read
  # hybrid: {{people: majority, else: gpt-4o}}                    # people's grades where there are any
# labels:
#   url: "postgresql://user@host/database"                      # SQLite next to this file by default
#   files: {{ana: {{path: ana.tsv, person: true}}}}                 # labels in files, by who gave them; many formats

measures: [nDCG@10, nDCG@20, "R(rel=2)@100", "RR(rel=2)@10", "Judged@10"]   # ir_measures; the first ranks systems
# release: {{title: My collection, languages: [en], license: cc-by-4.0, citation: "…"}}  # for exports and the report
"""


def init(folder: Path, *, paper: bool = False) -> list[Path]:
    """Writes ``pool.yaml`` into ``folder``, which is created if needed; with ``paper`` the one with all systems of the
    Quati paper, and the ``prepare.yaml`` of its two corpora. Returns the files; the one to edit comes last.

    Raises QuatiPoolError if one of the files already exists.
    """
    if not paper:
        return _put(folder, {"pool.yaml": _template(folder)})
    place = bundled("data/quati-paper")
    return _put(folder, {name: (place / name).read_text("utf-8") for name in ("prepare.yaml", "pool.yaml")})


def init_pages(folder: Path) -> list[Path]:
    """Writes a ``prepare.yaml`` and a file of sample pages that it turns into a corpus. Returns the files; the one to
    edit comes last.

    Raises QuatiPoolError if one of the files already exists.
    """
    place = bundled("data/sample")
    pages = (place / "pages.jsonl").read_text("utf-8")
    return _put(folder, {"pages/sample.jsonl": pages, "prepare.yaml": (place / "prepare.yaml").read_text("utf-8")})


def _put(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Writes ``files``, texts by name, or none if one of them already exists."""
    paths = [folder / name for name in files]
    for path in paths:
        if path.exists():
            raise QuatiPoolError(f"{path} is there already; edit it, or choose another folder")
    for path, text in zip(paths, files.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        put_file(path, partial(Path.write_text, data=text, encoding="utf-8"))
    return paths


def _template(folder: Path) -> str:
    return TEMPLATE.format(name=_name(folder))


def _name(folder: Path) -> str:
    kept = "".join(c if (c.isalnum() and c.isascii()) or c in "._-" else "-" for c in folder.resolve().name)
    # Quoted, since YAML would not read 2024 or no as text.
    return f'"{kept or "collection"}"'
