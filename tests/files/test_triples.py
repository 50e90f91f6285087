"""Triples, mentions and texts: the same from every format, in any order; faults by file and line."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files import triples as module
from quati_pool.files.triples import COLUMNS, EntityText, Mention, Triples, read_mentions, read_texts, read_triples
from quati_pool.records import Ids

Triple = tuple[str, str, str]

ROWS: list[Triple] = [("Q2", "P1", "Q10"), ("Q10", "P1", "Q2"), ("é", "P1", "Q2"), ("Q2", "P1", "Q10"), ("Z", "p", "é")]


def decoded(found: Triples) -> list[Triple]:
    columns = (
        found.ids.entities.decode(found.subject).to_pylist(),
        found.ids.properties.decode(found.property).to_pylist(),
        found.ids.entities.decode(found.object).to_pylist(),
    )
    return list(zip(*columns, strict=True))


def records(rows: list[Triple], more: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    return [
        dict(zip(COLUMNS, row, strict=True)) | extra for row, extra in zip(rows, more or [{}] * len(rows), strict=True)
    ]


def as_tsv(path: Path, found: list[dict[str, Any]]) -> None:
    lines = ["\t".join(found[0]), *("\t".join(map(str, record.values())) for record in found)]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def as_bare_tsv(path: Path, found: list[dict[str, Any]]) -> None:
    path.write_text("".join("\t".join(record[name] for name in COLUMNS) + "\n" for record in found), encoding="utf-8")


def as_csv(path: Path, found: list[dict[str, Any]]) -> None:
    lines = [",".join(found[0]), *(",".join(f'"{value}"' for value in record.values()) for record in found)]
    path.write_text("\n".join(lines), encoding="utf-8")


def as_jsonl(path: Path, found: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in found), encoding="utf-8")


def as_gzip(path: Path, found: list[dict[str, Any]]) -> None:
    plain = path.with_name("plain.tsv")
    as_tsv(plain, found)
    path.write_bytes(gzip.compress(plain.read_bytes()))


def as_parquet(path: Path, found: list[dict[str, Any]]) -> None:
    pq.write_table(pa.Table.from_pylist(found), path)


def as_coded_parquet(path: Path, found: list[dict[str, Any]]) -> None:
    table = pa.table({name: pa.array([r[name] for r in found]).dictionary_encode() for name in reversed(COLUMNS)})
    pq.write_table(table, path, row_group_size=2)


Writer = Callable[[Path, list[dict[str, Any]]], None]
WRITERS: dict[str, Writer] = {
    "a.tsv": as_tsv,
    "bare.tsv": as_bare_tsv,
    "a.csv": as_csv,
    "a.jsonl": as_jsonl,
    "a.tsv.gz": as_gzip,
    "a.parquet": as_parquet,
    "coded.parquet": as_coded_parquet,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_codes_ranked_by_bytes(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name, records(ROWS))
    found = read_triples([tmp_path / name])
    assert found.ids.entities.values.to_pylist() == ["Q10", "Q2", "Z", "é"]
    assert found.ids.properties.values.to_pylist() == ["P1", "p"]
    assert decoded(found) == ROWS
    assert found.subject.tolist() == [1, 0, 3, 1, 2]
    assert len(found) == 5


@pytest.mark.parametrize("name", ["a.tsv", "bare.tsv", "a.tsv.gz", "a.parquet"])
def test_regular_files_are_not_read_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    WRITERS[name](tmp_path / name, records(ROWS))
    fast = read_triples([tmp_path / name])
    monkeypatch.setattr(module, "_tsv_batches", lambda path, header: None)
    monkeypatch.setattr(module, "_parquet_batches", lambda path: None)
    assert decoded(read_triples([tmp_path / name])) == decoded(fast)
    monkeypatch.undo()
    monkeypatch.setattr(module, "_coded", None)
    read_triples([tmp_path / name])


def test_other_columns_are_left_alone_and_blank_lines_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("\ufeffrank\tobject\tsubject\tproperty\n1\tb\ta\tp\n\n2\tc\ta\tp\r\n")
    assert decoded(read_triples([path])) == [("a", "p", "b"), ("a", "p", "c")]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.text("aé\"'\\#{€𝄞,", min_size=1, max_size=4)] * 3).filter(lambda row: '"' not in "".join(row)),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 5),
)
def test_any_ids_round_trip_whatever_the_size_of_blocks(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Triple], size: int
) -> None:
    folder = tmp_path_factory.mktemp("ids")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_ROWS", size)
        patch.setattr("quati_pool.files.arrow_reader._BLOCK", size)
        codes = []
        for name, write in WRITERS.items():
            write(folder / name, records(rows))
            found = read_triples([folder / name])
            assert decoded(found) == rows
            codes.append((found.subject.tolist(), found.property.tolist(), found.object.tolist()))
        assert all(code == codes[0] for code in codes)


def test_several_files_share_vocabularies(tmp_path: Path) -> None:
    as_tsv(tmp_path / "a.tsv", records(ROWS[:2]))
    as_parquet(tmp_path / "b.parquet", records(ROWS[2:4]))
    as_jsonl(tmp_path / "c.jsonl", records(ROWS[4:]))
    assert decoded(read_triples([tmp_path / name for name in ("a.tsv", "b.parquet", "c.jsonl")])) == ROWS


def test_quotes_within_ids_are_kept_and_around_them_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text('a\tp\t"literal"@en\n')
    assert decoded(read_triples([path])) == [("a", "p", '"literal"@en')]
    path.write_text('a\tp\tb\na\tp\t"b"\n')
    with pytest.raises(InputError, match=r"a\.tsv:2: object '\"b\"' is in double quotes"):
        read_triples([path])


def test_one_subject_with_100_000_objects(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"hub\tp\t{n}\n" for n in range(100_000)))
    found = read_triples([path])
    assert len(found) == 100_000
    assert len(set(found.object.tolist())) == 100_000
    assert len(set(found.subject.tolist())) == 1


FAULTS = {
    "empty.tsv": (b"", "holds no triples"),
    "header.tsv": (b"subject\tproperty\tobject\n", "holds no triples"),
    "empty.jsonl": (b"\n \n", "holds no triples"),
    "empty.csv": (b"", "holds no triples"),
    "latin.tsv": ("a\tp\tb\nmaré\tp\tb\n".encode("latin-1"), r":2: byte 4 \(0xE9\) is not UTF-8"),
    "utf16.tsv": ("a\tp\tb\n".encode("utf-16"), ":1: begins with a UTF-16 byte-order mark"),
    "column.tsv": (b"subject\tproperty\nA\tP\n", ":1: no column 'object' among 'subject', 'property'; expected"),
    "named.tsv": (b"head\trelation\ttail\nA\tP\tB\n", ":1: no column 'subject' among 'head', 'relation', 'tail'"),
    "four.tsv": (b"a\tp\tb\tc\n", ":1: no column 'subject'.*a TSV without a header has these three alone"),
    "short.tsv": (b"a\tp\tb\na\tp\n", ":2: 2 columns; expected 3"),
    "wide.tsv": (b"a\tp\tb\na\tp\tb\tc\n", ":2: 4 columns; expected 3"),
    "blank.tsv": (b"a\tp\tb\na\tp\t\n", ":2: object is empty; expected an id"),
    "space.tsv": (b"a\tp\tb\na b\tp\tb\n", r":2: subject 'a b' holds white space \(U\+0020\)"),
    "control.tsv": (b"a\tp\tb\na\tp\x07\tb\n", r":2: property 'p\\x07' holds the character U\+0007"),
    "nul.tsv": (b"a\tp\tb\x00\n", r":1: object 'b\\x00' holds the character U\+0000"),
    "column.csv": (b"subject,object\na,b\n", ":1: no column 'property'"),
    "wide.csv": (b"subject,property,object\na,b,c,d\n", ":2: 4 columns; expected 3"),
    "space.csv": (b'subject,property,object\na,p,"b c"\n', ":2: object 'b c' holds white space"),
    "column.jsonl": (b'{"subject": "a", "object": "b"}\n', ":1: has no property; expected the columns"),
    "number.jsonl": (b'{"subject": "a", "property": "p", "object": 5}\n', ":1: object is not a string"),
    "null.jsonl": (b'{"subject": null, "property": "p", "object": "b"}\n', ":1: subject is not a string"),
    "half.jsonl": (b'{"subject": "\\ud800", "property": "p", "object": "b"}\n', r":1: subject .* U\+D800"),
    "control.jsonl": (b'{"subject": "a", "property": "p", "object": "b\\u0000"}\n', r":1: object .* U\+0000"),
    "twice.jsonl": (b'{"subject": "a", "subject": "b", "property": "p", "object": "c"}\n', ":1: an object holds"),
    "list.jsonl": (b'["a", "p", "b"]\n', ":1: is not a JSON object"),
    "cut.tsv.gz": (gzip.compress(b"a\tp\tb\n" * 1000)[:-9], "is cut off or not gzip"),
    "text.parquet": (b"a\tp\tb\n", "is damaged or not Parquet"),
    "what.txt": (b"a\tp\tb\n", "is not in a known format"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_name_file_line_and_remedy(tmp_path: Path, name: str) -> None:
    content, message = FAULTS[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as raised:
        read_triples([path])
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith(str(path))


@pytest.mark.parametrize("name", ["none.tsv", "none.jsonl", "none.parquet", "none.csv"])
def test_a_missing_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_triples([tmp_path / name])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"subject": ["a"], "object": ["b"]}, "no column 'property' among 'subject', 'object'"),
        ({"subject": [1], "property": ["p"], "object": ["b"]}, "column 'subject' is int64; ids are strings"),
        ({"subject": ["a", None], "property": ["p", "p"], "object": ["b", "b"]}, r":2: row 2: subject is null"),
        ({"subject": ["a"], "property": ["p"], "object": ["b c"]}, r":1: row 1: object 'b c' holds white space"),
        ({"subject": [], "property": [], "object": []}, "holds no triples"),
    ],
)
def test_faults_of_parquet(tmp_path: Path, columns: dict[str, list[Any]], message: str) -> None:
    path = tmp_path / "a.parquet"
    kinds = {name: pa.array(values, pa.string() if not values else None) for name, values in columns.items()}
    pq.write_table(pa.table(kinds), path)
    with pytest.raises(InputError, match=message):
        read_triples([path])


def test_a_graph_too_large_for_64_bits_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("a\tp\tb\n")
    ranked = module._ranked

    class Many(Ids):
        def __len__(self) -> int:
            return 3_000_000_000

    def large(chunks: list[pa.DictionaryArray]) -> tuple[Ids, Any]:
        ids, codes = ranked(chunks)
        return Many(ids.values), codes

    monkeypatch.setattr(module, "_ranked", large)
    with pytest.raises(QuatiPoolError, match="3,000,000,000 entities with 3,000,000,000 properties are too many"):
        read_triples([path])


# Mentions.

PLACES: list[dict[str, Any]] = [
    {"doc_id": "D2", "start": 5, "end": 9, "evidence": "one, 'two' three"},
    {"doc_id": "D1", "start": 0, "end": 4, "evidence": "deux"},
    {"doc_id": "D1", "start": 1, "end": 1, "evidence": "drei\\"},
    {"doc_id": "D1", "start": 7, "end": 9, "evidence": "one, 'two' three"},
    {"doc_id": "", "start": "", "end": "", "evidence": ""},
]


@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.jsonl", "a.tsv.gz", "a.parquet"])
@pytest.mark.parametrize("size", [1, 2, 100])
def test_mentions_of_wanted_triples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, size: int) -> None:
    monkeypatch.setattr(module, "_ROWS", size)
    places = PLACES
    if name == "a.parquet":
        places = [*PLACES[:4], dict.fromkeys(PLACES[0])]
    WRITERS[name](tmp_path / name, records(ROWS, places))
    found = read_triples([tmp_path / name])
    keys = found.ids.keys(found.subject, found.property, found.object)
    # The triple of rows 1 and 4, that of row 2, and that of row 5, which has no mention.
    mentions = read_mentions([tmp_path / name], found.ids, np.unique(keys[[0, 1, 4]]))
    assert mentions == {
        int(keys[0]): [Mention("D1", 7, 9, "one, 'two' three")],
        int(keys[1]): [Mention("D1", 0, 4, "deux")],
    }


def test_keys_are_one_for_each_triple_in_the_order_of_ids(tmp_path: Path) -> None:
    as_tsv(tmp_path / "a.tsv", records(ROWS))
    found = read_triples([tmp_path / "a.tsv"])
    keys = found.ids.keys(found.subject, found.property, found.object).tolist()
    by_key = sorted(zip(keys, ROWS, strict=True))
    assert [row for _, row in by_key] == sorted(ROWS, key=lambda row: tuple(part.encode() for part in row))
    assert len(set(keys)) == len(set(ROWS))


def test_rows_in_any_order_give_the_same_mentions(tmp_path: Path) -> None:
    generator = random.Random(2)
    rows = [("a", "p", "b")] * 40
    places = [
        {"doc_id": f"D{generator.randrange(4)}", "start": n % 5, "end": 9, "evidence": f"t{n % 7}"} for n in range(40)
    ]
    pairs = list(zip(rows, places, strict=True))
    texts = []
    for number in range(3):
        generator.shuffle(pairs)
        path = tmp_path / f"{number}.tsv"
        as_tsv(path, records([row for row, _ in pairs], [place for _, place in pairs]))
        found = read_triples([path])
        texts.append(read_mentions([path], found.ids, found.ids.keys(found.subject, found.property, found.object)[:1]))
    first = {
        t: min((p["doc_id"], p["start"], 9) for p in places if p["evidence"] == t)
        for t in {p["evidence"] for p in places}
    }
    assert texts[0] is not None
    assert list(texts[0].values()) == [sorted(Mention(*place, text) for text, place in first.items())]
    assert texts[0] == texts[1] == texts[2]


@pytest.mark.parametrize("name", WRITERS)
def test_files_without_evidence_have_no_mentions(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name, records(ROWS))
    found = read_triples([tmp_path / name])
    keys = found.ids.keys(found.subject, found.property, found.object)
    assert read_mentions([tmp_path / name], found.ids, np.unique(keys)) is None


MENTION_FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "doc": ({"doc_id": "D 1"}, r":2: doc_id 'D 1' holds white space"),
    "start": ({"start": "x"}, ":2: start 'x' is not a number of characters"),
    "minus": ({"start": -1}, ":2: start '-1' is not a number of characters"),
    "end": ({"end": 3}, ":2: end 3 is before start 5"),
}


@pytest.mark.parametrize("name", ["a.tsv", "a.jsonl"])
@pytest.mark.parametrize("fault", MENTION_FAULTS)
def test_faulty_places_are_refused_where_they_are_wanted(tmp_path: Path, name: str, fault: str) -> None:
    changed, message = MENTION_FAULTS[fault]
    path = tmp_path / name
    found = records(ROWS[:2], [PLACES[0], PLACES[0] | changed])
    if name == "a.tsv":
        message = message.replace(":2:", ":3:")
    WRITERS[name](path, found)
    triples = read_triples([path])
    keys = triples.ids.keys(triples.subject, triples.property, triples.object)
    with pytest.raises(InputError, match=message):
        read_mentions([path], triples.ids, np.unique(keys))
    assert read_mentions([path], triples.ids, keys[:1]) == {int(keys[0]): [Mention("D2", 5, 9, "one, 'two' three")]}


def test_columns_of_evidence_come_together(tmp_path: Path) -> None:
    place = {"doc_id": "D", "evidence": "text"}
    for name in ("a.tsv", "a.jsonl", "a.parquet"):
        WRITERS[name](tmp_path / name, records(ROWS[:1], [place]))
        triples = read_triples([tmp_path / name])
        with pytest.raises(InputError, match="no column 'start'; evidence needs doc_id, start, end, evidence"):
            read_mentions([tmp_path / name], triples.ids, np.array([0]))


def test_hostile_evidence_in_jsonl(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    text = '<script>alert(1)</script>\n\u202eRTL "quoted"\t'
    as_jsonl(path, records(ROWS[:1], [{"doc_id": "D", "start": 0, "end": 4, "evidence": text}]))
    triples = read_triples([path])
    keys = triples.ids.keys(triples.subject, triples.property, triples.object)
    assert read_mentions([path], triples.ids, keys) == {int(keys[0]): [Mention("D", 0, 4, text)]}
    for bad, message in (("\\u0000", "evidence holds the character U\\+0000"), ("\\ud800", "half a surrogate pair")):
        path.write_text(
            '{"subject": "a", "property": "p", "object": "b", "doc_id": "D", "start": 0, "end": 4, '
            f'"evidence": "x{bad}"}}\n'
        )
        triples = read_triples([path])
        with pytest.raises(InputError, match=f":1: .*{message}"):
            read_mentions([path], triples.ids, triples.ids.keys(triples.subject, triples.property, triples.object))


# Texts.


def test_texts_of_wanted_ids(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl.gz"
    lines = [
        {"id": "Q1", "label": "Universo", "description": "tudo", "aliases": ["cosmos", "o <b>todo</b>"]},
        {"id": "Q2", "label": "Terra"},
        {"id": "P1", "label": "parte de", "description": None, "aliases": None, "more": 1},
    ]
    path.write_bytes(gzip.compress("\n".join(json.dumps(line) for line in [*lines, lines[1]]).encode()))
    assert read_texts([path], {"Q1", "P1", "Q9"}) == {
        "Q1": EntityText("Universo", "tudo", ("cosmos", "o <b>todo</b>")),
        "P1": EntityText("parte de", "", ()),
    }
    with pytest.raises(InputError, match=r":4: id 'Q2' has a text already; expected each id once"):
        read_texts([path], {"Q2"})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "holds no texts"),
        ('{"label": "a"}', ":1: has no id"),
        ('{"id": "Q 1", "label": "a"}', ":1: id 'Q 1' holds white space"),
        ('{"id": 1, "label": "a"}', ":1: id is not a string"),
        ('{"id": "Q1"}', ":1: has no label; expected id and label"),
        ('{"id": "Q1", "label": " "}', ":1: label is empty"),
        ('{"id": "Q1", "label": "\\u200b \\u00ad"}', ":1: label is empty or invisible"),
        ('{"id": "Q1", "label": ["a"]}', ":1: label is not a string"),
        ('{"id": "Q1", "label": "a\\nb"}', r":1: label .* holds the character U\+000A; expected one line"),
        ('{"id": "Q1", "label": "a", "description": "\\u0000"}', r":1: description holds the character U\+0000"),
        ('{"id": "Q1", "label": "a", "aliases": "b"}', ":1: aliases is not a list"),
        ('{"id": "Q1", "label": "a", "aliases": ["b", 3]}', ":1: an alias is not a string"),
        ('{"id": "Q1", "label": "\\udc00"}', ":1: label holds half a surrogate pair"),
        ("[]", ":1: is not a JSON object"),
    ],
)
def test_faulty_texts_are_refused_even_where_nobody_wants_them(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match=message):
        read_texts([path], set())


def test_texts_are_jsonl(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not JSONL by its name"):
        read_texts([tmp_path / "texts.tsv"], set())
