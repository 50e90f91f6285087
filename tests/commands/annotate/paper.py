"""The Quati paper's set-up as a workspace: 24 queries, the first 10 passages of one system each, two people."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from quati_pool.commands.build import build
from quati_pool.files.label_files import LabelFile, read_label_file
from quati_pool.project.events import Listener
from tests.shared_data import shared

PEOPLE = ("ana", "bia")
SYSTEM = "theirs"


def annotations(name: str) -> Path:
    """The released file of one of the two."""
    return shared(f"quati/annotator_0{PEOPLE.index(name) + 1}_240_annotations_with_questions.tsv")


def rows(file: LabelFile) -> list[tuple[str, str, str]]:
    """Query, passage id and passage, in the order of the file."""
    assert file.query is not None
    assert file.doc_id is not None
    assert file.text is not None
    return list(zip(file.query, file.doc_id, file.text, strict=True))


def make(folder: Path, **settings: object) -> Path:
    """A built workspace whose pool is those 240 pairs; the path of its pool.yaml."""
    content = rows(read_label_file(annotations("ana")))
    folder.mkdir(parents=True)
    query_ids = {query: str(number) for number, query in enumerate(dict.fromkeys(query for query, _, _ in content), 1)}
    queries = [f"{number}\t{query}\n" for query, number in query_ids.items()]
    (folder / "queries.tsv").write_text("query_id\tquery\n" + "".join(queries), encoding="utf-8")
    # One passage was shown under two queries.
    passages = {doc_id: text for _, doc_id, text in content}
    lines = [json.dumps({"doc_id": doc_id, "text": text}, ensure_ascii=False) for doc_id, text in passages.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    ranks = dict.fromkeys(query_ids, 0)
    with (folder / "theirs.run").open("w", encoding="utf-8") as file:
        for query, doc_id, _ in content:
            ranks[query] += 1
            file.write(f"{query_ids[query]} Q0 {doc_id} {ranks[query]} {100 - ranks[query]} {SYSTEM}\n")
    config = {
        "name": "quati-240",
        "corpus": {"path": "corpus.jsonl"},
        "queries": {"path": "queries.tsv"},
        "systems": {SYSTEM: {"retriever": "run", "path": "theirs.run"}},
        "pool": {"depth": 10},
        **settings,
    }
    path = folder / "pool.yaml"
    path.write_text(yaml.safe_dump(config, allow_unicode=True, sort_keys=False), encoding="utf-8")
    build(path, Listener())
    return path
