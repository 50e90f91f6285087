"""Files that the library ir_datasets reads, and the module that registers them there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quati_pool.files.digests import file_digest
from quati_pool.files.qrels import write_qrels
from quati_pool.records import Query
from quati_pool.release import base
from quati_pool.release.card import Part, card, header
from quati_pool.release.checks import holding_all_graded
from quati_pool.release.names import file_stems
from quati_pool.release.output import Output
from quati_pool.release.state import Release
from quati_pool.text.characters import one_line

_MODULE = '''"""Registers the collection with ir_datasets: import this file, then load {example!r}."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Optional

import ir_datasets
from ir_datasets.datasets.base import Dataset
from ir_datasets.formats import GenericDoc, JsonlDocs, JsonlQueries, TrecQrels
from ir_datasets.util import LocalDownload, home_path

NAME = {name!r}
# The qrels by the name of their data set; those of the main labeler are also NAME's own.
QRELS = {qrels!r}
GRADES = {grades!r}
DOCUMENTATION = {documentation!r}
# The SHA-256 of each data file.
EXPORTED_FILES = {hashes!r}
FOLDER = Path(__file__).resolve().parent


class CollectionQuery(NamedTuple):
    query_id: str
    text: str
    narrative: Optional[str]

    def default_text(self) -> str:
        return self.text


class Export:
    """Documents the data sets, and tells those of this file from others of the same name."""

    source = (str(FOLDER), Path(__file__).read_bytes())

    def documentation(self) -> dict:
        return DOCUMENTATION


def register() -> None:
    """Registers the data sets once. Raises ValueError where another one of their names is registered."""
    registered = [name for name in QRELS if name in ir_datasets.registry]
    for name in registered:
        if getattr(ir_datasets.registry[name], "source", None) != Export.source:
            raise ValueError(
                f"another data set {{name!r}} is registered already; start Python again if this one replaces it, else "
                "export one of the two collections under another name"
            )
    if registered:
        return
    # The library reads the documents from here once it is built, so other documents need another one.
    store = home_path() / "quati-pool" / NAME / f"{{EXPORTED_FILES['docs.jsonl']}}.pklz4"
    docs = JsonlDocs(LocalDownload(FOLDER / "docs.jsonl"), GenericDoc, docstore_path=str(store), lang={language!r})
    mapping = {{"query_id": "query_id", "text": "text", "narrative": "narrative"}}
    queries = JsonlQueries(LocalDownload(FOLDER / "queries.jsonl"), CollectionQuery, mapping, lang={language!r})
    for name, file in QRELS.items():
        qrels = TrecQrels(LocalDownload(FOLDER / "qrels" / file), GRADES)
        ir_datasets.registry.register(name, Dataset(docs, queries, qrels, Export()))


register()
'''


class IrDatasets(base.Format):
    """Writes ``docs.jsonl``, ``queries.jsonl``, ``qrels/LABELER.qrels`` and ``dataset.py``, which registers them: the
    collection under its name with the first labeler's grades, and under NAME/LABELER with each labeler's."""

    id = "export/ir-datasets"
    revision = 2
    name = "ir-datasets"
    summary = "files for ir_datasets, and the module that registers them"
    Parameters = base.Parameters

    def fill(self, release: Release, output: Output) -> dict[str, Any]:
        passages = holding_all_graded(release, release.passages())
        documents = ({"doc_id": doc_id, "text": text} for doc_id, text in passages)
        counts: dict[str, Any] = {"passages": output.records("docs.jsonl", documents)}
        counts["queries"] = output.records("queries.jsonl", map(_query, release.queries))
        stems = file_stems([labelled.labeler for labelled in release.labelers])
        name = file_stems([release.name])[release.name]
        qrels = {name: f"{next(iter(stems.values()))}.qrels"}
        parts = [Part("docs.jsonl", None, counts["passages"]), Part("queries.jsonl", None, counts["queries"])]
        counts["pairs"] = {}
        for labelled in release.labelers:
            file = f"{stems[labelled.labeler]}.qrels"
            write_qrels(labelled.qrels, output.place(f"qrels/{file}"))
            output.wrote(f"qrels/{file}", len(labelled.qrels))
            qrels[f"{name}/{stems[labelled.labeler]}"] = file
            counts["pairs"][labelled.labeler] = len(labelled.qrels)
            parts.append(Part(f"qrels/{file}", None, len(labelled.qrels), labeler=labelled.labeler))
        hashes = {part.name: file_digest(output.folder / part.name) for part in parts}
        output.text("dataset.py", _module(release, name, qrels, hashes))
        output.text("README.md", header(release, counts["passages"]) + card(release, parts))
        return {**counts, "datasets": list(qrels)}


def _module(release: Release, name: str, qrels: Mapping[str, str], hashes: Mapping[str, str]) -> str:
    about = release.about
    known = {
        "pretty_name": about.title or release.name, "desc": about.description, "license": about.license,
        "bibtex": about.citation,
    }  # fmt: skip
    return _MODULE.format(
        example=name,
        name=name,
        qrels=dict(qrels),
        grades={grade: one_line(meaning) for grade, meaning in release.grades.items()},
        documentation={key: value for key, value in known.items() if value},
        hashes=dict(hashes),
        language=about.languages[0] if about.languages else None,
    )


def _query(query: Query) -> dict[str, str | None]:
    return {"query_id": query.query_id, "text": query.query, "narrative": query.narrative}
