"""Who a label file says its labels are by."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.labels.label_files import kind_of, read_label_source
from quati_pool.project.config import LabelFileConfig
from quati_pool.records import GRADES

DOCCANO = '{"id": 1, "query_id": "q1", "doc_id": "d1", "text": "t", "label": ["Relevant"]}\n'


@pytest.mark.parametrize(
    ("name", "text", "person", "kind"),
    [
        ("gold.qrels", "q1 0 d1 1\n", False, "file"),
        ("gold.qrels", "q1 0 d1 1\n", True, "assessor"),
        ("ana.jsonl", DOCCANO, False, "assessor"),
    ],
)
def test_a_file_is_no_judge_and_a_persons_where_it_says_so(
    tmp_path: Path, name: str, text: str, person: bool, kind: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    settings = LabelFileConfig(path=name, person=person)
    assert kind_of(settings, read_label_source("gold", tmp_path, settings, GRADES)) == kind
