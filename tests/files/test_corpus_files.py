"""Passages in every format: the same records, and each fault in its words."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.errors import InputError
from quati_pool.files.corpus import expand_paths, locate_doc_ids, read_file, read_passages
from quati_pool.files.problems import Collected
from quati_pool.records import id_problem
from tests.shared_data import shared

ID_RULE = "expected an id without white space or control characters"
UNCLOSED = "expected </DOC>"

SPEC = [
    ("c.jsonl", "", ": holds no passages; expected at least one"),
    (
        "c.jsonl",
        '{"doc_id": "a", "text": "b"}\n{"doc_id": 7, "text": ""}',
        ':2: doc_id is the number 7; expected a string: write "7"',
    ),
    ("c.jsonl", '{"doc_id": "a", "text": null}', ":1: text is null; expected a string (it may be empty)"),
    (
        "c.jsonl",
        '{"doc_id": "a"}',
        ":1: no column 'text'; the columns are doc_id: add it, or set text to the right one",
    ),
    ("c.jsonl", "{}", ":1: no column 'doc_id'; the columns are none: add it, or set doc_id to the right one"),
    (
        "c.jsonl",
        '{"doc_id": "a\\u00a0b", "text": ""}',
        rf":1: doc_id 'a\xa0b' holds white space (U+00A0); {ID_RULE}",
    ),
    (
        "c.jsonl",
        '{"doc_id": "a", "text": "\\ud83d"}',
        ":1: text holds half a surrogate pair; write the whole character",
    ),
    ("c.tsv", "a\tb\tc\n", ":1: 3 columns; expected 2: doc_id <tab> text"),
    (
        "c.tsv",
        "id\ttext\na\tb\n",
        ":1: no column 'doc_id'; the columns are id, text: add it, or set doc_id to the right one",
    ),
    ("c.csv", "a,b\n", ":1: no column 'doc_id'; the columns are a, b: add it, or set doc_id to the right one"),
    ("c.csv", 'doc_id,text\n"a","b\n\nc"\n,d\n', ":5: doc_id is empty; expected an id"),
    ("c.trec", "<DOC>\n<DOCNO>a</DOCNO>\n", f":1: this <DOC> is not closed before the file ends; {UNCLOSED}"),
    (
        "c.trec",
        "<DOC>\n<DOC>\n</DOC>",
        f":1: this <DOC> is not closed before the next opens in line 2; {UNCLOSED}",
    ),
    ("c.trec", "\n<doc>text</doc>", ":2: this <DOC> has no <DOCNO>; expected <DOCNO>…</DOCNO> once"),
    (
        "c.trec",
        "<DOC><DOCNO>a</DOCNO><DOCNO>b</DOCNO></DOC>",
        ":1: this <DOC> has more than one <DOCNO>; expected <DOCNO>…</DOCNO> once",
    ),
    ("c.trec", "<DOC><DOCNO> </DOCNO></DOC>", ":1: DOCNO is empty; expected an id"),
    ("c.trec", "<DOC><DOCNO>a b</DOCNO></DOC>", f":1: DOCNO 'a b' holds white space (U+0020); {ID_RULE}"),
    ("c.trec", "<top>\n</top>", ": holds topics (<top>); expected passages"),
    (
        "c.txt",
        "some text\n",
        ": is not in a known format; expected .jsonl, .tsv, .csv, .parquet, or TREC's <DOC> or <top>",
    ),
    ("c.parquet", "PAR1", ": is damaged or not Parquet; copy or write it again"),
]


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def read(path: Path, doc_id: str = "doc_id", text: str | list[str] = "text") -> list[tuple[str, str]]:
    batches = read_passages([path], doc_id, text)
    return [pair for batch in batches for pair in zip(batch.doc_ids, batch.texts, strict=True)]


@pytest.mark.parametrize(("name", "text", "error"), SPEC)
def test_refused(tmp_path: Path, name: str, text: str, error: str) -> None:
    path = written(tmp_path, name, text)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == f"{path}{error}"


PARQUET_SPEC = [
    (
        {"id": ["a"], "text": ["b"]},
        ": no column 'doc_id'; the columns are id, text: add it, or set doc_id to the right one",
    ),
    ({"doc_id": [7], "text": ["b"]}, ": column 'doc_id' is int64; ids are strings: write it as string"),
    ({"doc_id": ["a"], "text": [b"b"]}, ": column 'text' is binary; texts are strings: write it as string"),
    (
        {"doc_id": ["a", "b"], "text": ["c", None]},
        ":2: row 2: text is null; expected a string (it may be empty)",
    ),
    ({"doc_id": ["a", ""], "text": ["c", ""]}, ":2: row 2: doc_id is empty; expected an id"),
]


@pytest.mark.parametrize(("columns", "error"), PARQUET_SPEC)
def test_refused_parquet(tmp_path: Path, columns: dict[str, list[object]], error: str) -> None:
    path = tmp_path / "c.parquet"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == f"{path}{error}"


def test_refused_parquet_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.parquet: there is no such file; check the path$"):
        read(tmp_path / "none.parquet")


IDS = st.text(min_size=1, max_size=6).filter(lambda text: id_problem(text) is None)
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=20).map(str.strip)
RECORDS = st.dictionaries(IDS, TEXTS, min_size=1, max_size=8)


@given(RECORDS)
def test_every_format_holds_the_same_passages(
    tmp_path_factory: pytest.TempPathFactory, records: dict[str, str]
) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    pairs = list(records.items())
    stream = io.StringIO()
    csv.writer(stream).writerows([("text", "doc_id"), *((text, doc_id) for doc_id, text in pairs)])
    objects = [{"doc_id": doc_id, "text": text, "more": [1]} for doc_id, text in pairs]
    forms = {
        "a.jsonl": "\n".join(json.dumps(record) for record in objects),
        "b.jsonl": "".join(json.dumps(record, ensure_ascii=False) + "\r\n" for record in objects),
        "a.tsv": "doc_id\tx\ttext\n" + "".join(f"{doc_id}\t\t{text}\n" for doc_id, text in pairs),
        "a.csv": stream.getvalue(),
        "a.trec": "".join(
            f"<DOC>\n<docno> {escaped(doc_id)} </docno>\n<TEXT>\n{escaped(text)}\n</TEXT>\n</DOC>\n"
            for doc_id, text in pairs
        ),
    }
    for name, text in forms.items():
        assert read(written(folder, name, text)) == pairs, name
        assert read(written(folder, name + ".gz", text)) == pairs, name
    columns = {"text": list(records.values()), "doc_id": pa.array(records).dictionary_encode()}
    pq.write_table(pa.table(columns), folder / "a.parquet", row_group_size=3)
    assert read(folder / "a.parquet") == pairs


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def test_what_only_looks_like_a_tag_stays(tmp_path: Path) -> None:
    text = (
        "<Doc><DOCNO>1</DOCNO><!-- a\nremark --><TEXT type='a' n=1>a < b, x<y and y >z &amp;lt; AT&T\n"
        "\n  <P>&eacute;&#233; <3 <not a tag> <br/>end</p></TEXT></DOC> <DOC>\n<DOCNO>2</DOCNO></DOC>"
    )
    path = written(tmp_path, "some.dat", text)
    assert read(path) == [("1", "a < b, x<y and y >z &lt; AT&T\néé <3 <not a tag>  end"), ("2", "")]


def test_several_fields_are_joined_by_a_line_end(tmp_path: Path) -> None:
    records = [{"id": "a", "title": "T", "body": "B"}, {"id": "b", "title": "", "body": "B"}]
    path = written(tmp_path, "c.jsonl", "\n".join(map(json.dumps, records)))
    assert read(path, "id", ["title", "body"]) == [("a", "T\nB"), ("b", "B")]
    assert read(path, "id", ["body", "title"]) == [("a", "B\nT"), ("b", "B")]
    table = pa.table({name: [record[name] for record in records] for name in records[0]})
    pq.write_table(table, tmp_path / "c.parquet")
    assert read(tmp_path / "c.parquet", "id", ["title", "body"]) == [("a", "T\nB"), ("b", "B")]
    with pytest.raises(InputError, match="TREC documents have no fields to choose from"):
        read(written(tmp_path, "c.trec", "<DOC>"), text="TEXT")


def test_large_fields_are_read(tmp_path: Path) -> None:
    text = 'many "words"\n' * 50_000
    quoted = text.replace('"', '""')
    path = written(tmp_path, "c.csv", f'doc_id,text\na,"{quoted}"\nb,c\n')
    assert [(line, doc_id) for line, doc_id, _ in read_file(path)] == [(2, "a"), (50_003, "b")]
    assert read(path)[0] == ("a", text)


def test_batches_span_files_and_repeated_ids_are_located(tmp_path: Path) -> None:
    first = written(tmp_path, "a.tsv", "".join(f"{i}\tt\n" for i in range(5000)))
    pq.write_table(pa.table({"doc_id": ["x", "17"], "text": ["", ""]}), tmp_path / "b.parquet")
    paths = [first, tmp_path / "b.parquet"]
    assert [len(batch.doc_ids) for batch in read_passages(paths)] == [1024, 1024, 1024, 1024, 906]
    assert locate_doc_ids(paths, {"17", "none"}) == {"17": [(first, 18), (tmp_path / "b.parquet", 2)]}


def test_long_passages_make_small_batches(tmp_path: Path) -> None:
    long = "x" * 3_000_000
    path = written(tmp_path, "long.jsonl", "".join(f'{{"doc_id": "d{i}", "text": "{long}"}}\n' for i in range(7)))
    # 8 million characters end a batch.
    assert [len(batch.doc_ids) for batch in read_passages([path])] == [3, 3, 1]


def test_collecting_leaves_out_bad_rows_and_goes_on(tmp_path: Path) -> None:
    path = written(tmp_path, "c.trec", "<DOC></DOC>\n<DOC>\n<DOC><DOCNO>a</DOCNO>b</DOC>\n")
    problems = Collected(5)
    assert [batch.doc_ids for batch in read_passages([path], problems=problems)] == [["a"]]
    assert [error.line for error in problems.errors] == [1, 2]


def test_paths_are_expanded_in_order_and_once(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "sub/c.jsonl", "a.jsonl.meta.json", ".partial-a.jsonl", "[1].jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    def names(patterns: str | list[str]) -> list[str]:
        return [path.relative_to(tmp_path).as_posix() for path in expand_paths(tmp_path, patterns)]

    assert names("a.jsonl") == ["a.jsonl"]
    assert names(["b.jsonl", "?.jsonl"]) == ["a.jsonl", "b.jsonl"]
    assert names("*") == ["[1].jsonl", "a.jsonl", "b.jsonl"]
    assert names("**/*.jsonl") == ["[1].jsonl", "a.jsonl", "b.jsonl", "sub/c.jsonl"]
    assert names("[1].jsonl") == ["[1].jsonl"]
    assert expand_paths(tmp_path, "*", ours=lambda path: path.name.startswith("a")) == [
        tmp_path / "[1].jsonl",
        tmp_path / "b.jsonl",
    ]
    assert expand_paths(Path("/elsewhere"), str(tmp_path / "a.jsonl")) == [tmp_path / "a.jsonl"]
    with pytest.raises(InputError) as caught:
        names("*.csv")
    assert str(caught.value) == f"{tmp_path / '*.csv'}: no file matches; check the pattern"


def test_vaswani() -> None:
    passages = read(shared("vaswani/doc-text.trec"))
    assert len(passages) == 11_429
    assert passages[0] == (
        "1",
        "compact memories have flexible capacities  a digital data storage\n"
        "system with capacity up to bits and random and or sequential access\nis described",
    )
    assert passages[9] == ("10", "highspeed microwave switching of semiconductors part")
    doc_id, text = passages[-1]
    assert doc_id == "11429"
    assert text.startswith("pattern detection and recognition  both processes")
    assert text.endswith("\ncomputer  the programs tested included the recognition process for\n"
                         "reading handlettered sansserif alphanumeric characters")  # fmt: skip


def test_pira() -> None:
    passages = read(shared("pira/validation.csv"), "id_qa", "abstract")
    assert len(passages) == 225
    assert [doc_id for doc_id, _ in (passages[0], passages[9], passages[-1])] == ["A1234", "B2189", "A354"]
    assert passages[0][1].startswith("Spatial distributions of percent of normal monthly precipita")
    assert passages[9][1].endswith(" and the support of marine biodiversity.")
    assert len(passages[9][1]) == 1450
    assert passages[-1][1].endswith("dimentological and geotechnical studies.")
