"""The step ``read``: what becomes a page, what is refused and why, and files that are not what they should be."""

from __future__ import annotations

import gzip
import os
import random
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quati_pool.errors import ConfigError, InputError
from quati_pool.preparation.base import ComponentEnvironment, Reading
from quati_pool.preparation.steps.read import Read, ReadParameters
from quati_pool.records import id_problem
from tests.preparation.read_step import jsonl, page, pages, read
from tests.preparation.reading.test_lines import zstd


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_pages_have_id_url_language_and_text(tmp_path: Path) -> None:
    row = {"doc_id": "a", "url": " https://a.br/\n", "language": "pt", "text": "Olá,\nmundo.", "other": [1]}
    write(tmp_path / "a.jsonl", jsonl(row, {"text": "só texto", "doc_id": "b", "url": None}))
    found = read(tmp_path, "a.jsonl")
    assert found.pages == [
        ("a.jsonl", 1, "a", "https://a.br/", "pt", "Olá,\nmundo."),
        ("a.jsonl", 2, "b", "", "", "só texto"),
    ]
    assert (found.refused, found.notes) == ([], [])


BAD_LINES = [
    (b'{"doc_id": "x", "text": "n\xe3o"}', "not UTF-8"),
    # Half a surrogate pair written in UTF-8's manner is not UTF-8 (RFC 3629, section 3).
    (b'{"doc_id": "x", "text": "\xed\xa0\x80"}', "not UTF-8"),
    (b'{"doc_id": "x", "text": "a"', "not JSON"),
    (b"[" * 100_000, "not JSON"),
    (b"1" * 5000, "not JSON"),
    (b'["x", "a"]', "not JSON"),
    (b'{"doc_id": "x", "text": "' + b"a" * 200_000 + b'"}', "too long"),
    (b'{"doc_id": "x"}', "no text"),
    (b'{"doc_id": "x", "text": null}', "no text"),
    (b'{"doc_id": "x", "text": " \\n\\t\\u00a0"}', "no text"),
    (b'{"doc_id": "x", "text": "\\ufeff"}', "no text"),
    (b'{"text": "a"}', "no id"),
    (b'{"doc_id": "", "text": "a"}', "no id"),
    (b'{"doc_id": "a b", "text": "a"}', "id that may not be"),
    (b'{"doc_id": "a\\ud800", "text": "a"}', "id that may not be"),
    (b'{"doc_id": 7, "text": "a"}', "field that is not text"),
    (b'{"doc_id": "x", "text": ["a"]}', "field that is not text"),
    (b'{"doc_id": "x", "text": "a", "url": {"a": 1}}', "field that is not text"),
    (b'{"doc_id": "x", "text": "a", "language": true}', "field that is not text"),
]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.ndjson.zst"])
def test_every_bad_line_is_counted_with_its_place_and_the_rest_is_read(tmp_path: Path, name: str) -> None:
    rows: list[object] = []
    for number, (line, _) in enumerate(BAD_LINES):
        rows += [page(number), line]
    data = jsonl(*rows)
    packed = gzip.compress(data) if name.endswith(".gz") else zstd(data) if name.endswith(".zst") else data
    write(tmp_path / name, packed)
    found = read(tmp_path, name, max_page_bytes=100_000)
    assert found.ids == [f"d{number}" for number in range(len(BAD_LINES))]
    assert found.why == [(2 * number + 2, reason) for number, (_, reason) in enumerate(BAD_LINES)]
    assert {path for path, *_ in found.refused} == {name}
    assert max(len(excerpt) for *_, excerpt in found.refused) < 300
    assert found.notes == []


def test_the_excerpt_shows_what_is_wrong(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", jsonl(page(1), *(BAD_LINES[place][0] for place in (0, 2, 6, 13, 15, 16))))
    assert [excerpt for *_, excerpt in read(tmp_path, "a.jsonl", max_page_bytes=1000).refused] == [
        'byte 27 is 0xE3: {"doc_id": "x", "text": "n\ufffdo"}',
        '{"doc_id": "x", "text": "a"',
        '200,027 bytes; at most 1,000: {"doc_id": "x", "text": "' + "a" * 175,
        "'a b' holds white space (U+0020)",
        "doc_id: 7",
        "text: a list",
    ]


def test_a_line_may_have_exactly_the_limit(tmp_path: Path) -> None:
    data = jsonl(page(1))
    write(tmp_path / "a.jsonl", data)
    assert len(read(tmp_path, "a.jsonl", max_page_bytes=len(data) - 1).pages) == 1
    assert read(tmp_path, "a.jsonl", max_page_bytes=len(data) - 2).why == [(1, "too long")]


# Line ends, the mark before the text, NUL and halves of pairs are repaired; all else stays: a mark within, controls,
# other line separators, white space around, the decomposed letter.
REPAIRED = [
    ("a\r\nb\rc\n\r\nd\n\re", "a\nb\nc\n\nd\n\ne"),
    ("\ufeffa\ufeffb", "a\ufeffb"),
    ("a\0b", "a\ufffdb"),
    ("\ud83d a \udc00\ud800", "\ufffd a \ufffd\ufffd"),
    ("\U0001f600", "\U0001f600"),
    (" \x0b\x0c\x1c\x85\u2028a\u0301\x01\t ", " \x0b\x0c\x1c\x85\u2028a\u0301\x01\t "),
]


def test_texts_are_mended_and_nothing_else_is_changed(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", jsonl(*(page(number, text) for number, (text, _) in enumerate(REPAIRED))))
    assert read(tmp_path, "a.jsonl").texts == [repaired for _, repaired in REPAIRED]


def test_blank_lines_are_no_pages_but_count_as_lines(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", b"\xef\xbb\xbf\n" + jsonl(b"", page(1), b"  \r", page(2))[:-1])
    found = read(tmp_path, "a.jsonl")
    assert [(row.line, row.doc_id) for row in found.pages] == [(3, "d1"), (5, "d2")]
    assert found.refused == []


def test_fields_have_the_names_the_user_gives(tmp_path: Path) -> None:
    rows = [{"id": "a", "title": "T", "body": "B", "link": "l", "lang": "pt"}, {"id": "b", "title": "", "body": "B"}]
    write(tmp_path / "a.jsonl", jsonl(*rows, {"id": "c", "title": "T"}))
    fields = {"doc_id": "id", "url": "link", "language": "lang", "text": ["title", "body"]}
    found = read(tmp_path, "a.jsonl", fields=fields)
    assert [row[2:] for row in found.pages] == [("a", "l", "pt", "T\nB"), ("b", "", "", "B"), ("c", "", "", "T")]


def test_pages_without_ids_get_them_of_file_and_line(tmp_path: Path) -> None:
    for name in ("x/a.jsonl", "y/a b%.jsonl.gz"):
        data = jsonl({"text": "1"}, {"text": " "}, {"text": "3"})
        write(tmp_path / name, gzip.compress(data) if name.endswith(".gz") else data)
    found = read(tmp_path, ["x", "y"], fields={"doc_id": None})
    assert found.ids == ["x/a-1", "x/a-3", "y/a%20b%25-1", "y/a%20b%25-3"]
    assert read(tmp_path, "x/*.jsonl", fields={"doc_id": None}).ids == ["a-1", "a-3"]


def test_clueweb22_is_a_preset(tmp_path: Path) -> None:
    row = {
        "URL": "https://exemplo.com.br/\n", "URL-hash": "0F", "Language": "pt",
        "ClueWeb22-ID": "clueweb22-pt0000-00-00000", "Clean-Text": "Título\n\nUm texto.\n",
    }  # fmt: skip
    write(tmp_path / "pt0000-00.json.gz", gzip.compress(jsonl(row)))
    found = read(tmp_path, "*.json.gz", format="clueweb22")
    expected = ("clueweb22-pt0000-00-00000", "https://exemplo.com.br/", "pt", "Título\n\nUm texto.\n")
    assert [row[2:] for row in found.pages] == [expected]
    with pytest.raises(InputError, match=r"has no field 'text', but ClueWeb22's: say  format: clueweb22$"):
        read(tmp_path, "*.json.gz")


def test_files_of_text_are_a_page_each_with_their_path_as_id(tmp_path: Path) -> None:
    write(tmp_path / "t/a.txt", "\ufeffOlá\r\n".encode())
    write(tmp_path / "t/b c/é%\n\u200b.txt", b"dois")
    write(tmp_path / "t/d.txt.gz", gzip.compress(b"tres"))
    write(tmp_path / "t/e.txt", b"n\xe3o")
    write(tmp_path / "t/f.txt", b" \n")
    write(tmp_path / "t/g.txt", b"x" * 101)
    write(tmp_path / "t/h.txt.gz", gzip.compress(b"x" * 10_000_000))
    write(tmp_path / "t/i.md", b"none")
    write(tmp_path / "t/.j.txt", b"none")
    found = read(tmp_path, "t", max_page_bytes=100)
    assert [(row.line, row.doc_id, row.text) for row in found.pages] == [
        (1, "a.txt", "Olá\n"),
        (1, "b%20c/é%25%0A%E2%80%8B.txt", "dois"),
        (1, "d.txt.gz", "tres"),
    ]
    assert [id_problem(doc_id) for doc_id in found.ids] == [None] * 3
    assert [(path, reason) for path, _, reason, _ in found.refused] == [
        ("t/e.txt", "not UTF-8"),
        ("t/f.txt", "no text"),
        ("t/g.txt", "too long"),
        ("t/h.txt.gz", "too long"),
    ]
    assert read(tmp_path, "t/*.md", format="text").ids == ["i.md"]
    assert read(tmp_path, str(tmp_path / "t" / "*" / "*.txt"), format="text").ids == ["b%20c/é%25%0A%E2%80%8B.txt"]


def test_files_are_read_in_the_order_of_their_names_each_once(tmp_path: Path) -> None:
    for number, name in enumerate(["b/2.jsonl", "a/9.jsonl", "a/10.jsonl", "a.jsonl", "cache/x.jsonl.meta.json"]):
        write(tmp_path / name, jsonl(page(number)))
    found = read(tmp_path, ["b/2.jsonl", "**/*.jsonl", str(tmp_path / "a")])
    assert [row.path for row in found.pages] == ["a/10.jsonl", "a/9.jsonl", "a.jsonl", "b/2.jsonl"]
    assert found.ids == ["d2", "d1", "d3", "d0"]


def test_a_file_given_as_absolute_keeps_its_path(tmp_path: Path) -> None:
    path = write(tmp_path / "pages" / "a.jsonl", jsonl(page(1)))
    assert [row.path for row in read(tmp_path / "elsewhere", str(path)).pages] == [str(path)]
    (tmp_path / "work").mkdir()
    assert [row.path for row in read(tmp_path / "work", "../pages").pages] == ["../pages/a.jsonl"]


WRONG = [
    ("none.jsonl", {}, "none.jsonl: there is no such file; check the path"),
    ("*.jsonl", {}, "*.jsonl: no file matches; check the pattern"),
    ("empty", {}, "empty: holds no files of pages (.jsonl, .ndjson, .json, .parquet, .txt, .warc); check the path, "
     "or name the files by a pattern"),
    ("mixed", {"format": "parquet"}, "mixed: holds no files of the format parquet (.parquet); check the path, or "
     "name the files by a pattern"),
    ("mixed", {}, "mixed/a.json: is jsonl, but mixed/b.txt is text; name one by  format:, or the files by a pattern"),
    ("data.bin", {}, "data.bin: has no known suffix; set  format:  to one of jsonl, parquet, text, warc, "
     "clueweb22"),
    ("data.bin", {"format": "jsonl"}, "data.bin:1: is not JSONL: no line holds a JSON object; name another format, "
     "or take it out of path"),
    ("data.bin", {"format": "parquet"}, "data.bin: is damaged or not Parquet; copy or write it again"),
    ("data.bin", {"format": "warc"}, "data.bin: is not WARC; name another format, or take it out of path"),
    ("false.json.gz", {}, "false.json.gz: is not gzip; copy it again, or take .gz off its name if it "
     "is not compressed"),
    ("false.json.zst", {}, "false.json.zst: is not zstd; copy it again, or take .zst off its name if it "
     "is not compressed"),
    ("packed.json", {}, "packed.json: is gzip-compressed; end its name in .gz, or decompress it"),
    ("utf16.json", {}, "utf16.json:1: begins with a UTF-16 byte-order mark; convert to UTF-8"),
    ("ids.json", {}, "ids.json: 'doc_id' does not hold text, and ids are text: write them as strings, or say  "
     "fields: {doc_id: null}"),
    ("texts.json", {}, "texts.json: has no field 'text' but 'doc_id', 'texts'; did you mean 'texts'? name it by  "
     "fields: {text: …}"),
    ("texts.json", {"fields": {"text": "texts", "doc_id": "url"}}, "texts.json: has no field 'url' but 'doc_id', "
     "'texts'; name it by  fields: {doc_id: …}"),
    ("texts.json", {"fields": {"text": ["titel", "body"]}}, "texts.json: has no field 'titel' or 'body' but 'doc_id', "
     "'texts'; name it by  fields: {text: …}"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "parameters", "message"), WRONG, ids=range(len(WRONG)))
def test_what_only_the_user_can_mend_is_said_in_one_line(
    tmp_path: Path, path: str, parameters: dict[str, object], message: str
) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "mixed/a.json", jsonl(page(1)))
    write(tmp_path / "mixed/b.txt", b"texto")
    write(tmp_path / "data.bin", b"\x01\x02 neither\n" * 2000)
    write(tmp_path / "false.json.gz", jsonl(page(1)))
    write(tmp_path / "false.json.zst", jsonl(page(1)))
    write(tmp_path / "packed.json", gzip.compress(jsonl(page(1))))
    write(tmp_path / "utf16.json", jsonl(page(1)).decode().encode("utf-16"))
    write(tmp_path / "ids.json", jsonl({"doc_id": 1, "text": "a"}))
    write(tmp_path / "texts.json", jsonl(*({"doc_id": f"{number}", "texts": "a"} for number in range(1500))))
    with pytest.raises(InputError) as caught:
        read(tmp_path, path, **parameters)
    assert str(caught.value) == f"{tmp_path}/{message}"


@pytest.mark.parametrize("kind", ["text", "warc", "clueweb22"])
def test_fields_are_refused_where_there_are_none_to_choose(tmp_path: Path, kind: str) -> None:
    step = Read(ReadParameters(path="a", format=kind, fields={"text": "b"}), ComponentEnvironment(tmp_path))
    with pytest.raises(ConfigError, match=f"^read: the format {kind} has no fields to choose from; leave out fields$"):
        step.check()


def test_a_file_changed_after_the_work_was_cut_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", jsonl(page(1)))
    step = Read(ReadParameters(path="a.jsonl"), ComponentEnvironment(tmp_path))
    shards = step.shards()
    write(path, jsonl(page(1), page(2)))
    with pytest.raises(InputError, match=r"was changed while it was being read; run the command again$"):
        list(step.pages(shards[0], Reading()))
    os.remove(path)
    with pytest.raises(InputError, match=r"there is no such file; check the path$"):
        list(step.pages(shards[0], Reading()))


def test_a_thousand_bad_lines_are_no_mistake_of_the_user_where_a_page_is_among_them(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", jsonl(*[b"?"] * 999, page(1), *[b"?"] * 500))
    found = read(tmp_path, "a.jsonl")
    assert (found.ids, len(found.refused)) == (["d1"], 1499)
    write(tmp_path / "a.jsonl", jsonl(*[b"?"] * 1000, page(1)))
    with pytest.raises(InputError, match="is not JSONL"):
        read(tmp_path, "a.jsonl")


def test_a_broken_gzip_keeps_what_came_before_and_the_next_file_is_read(tmp_path: Path) -> None:
    """The last line of a stump is no page, whole or not: nobody knows."""
    draw = random.Random(3)
    packed = gzip.compress(jsonl(*(page(number, draw.randbytes(50).hex()) for number in range(2000))))
    write(tmp_path / "a.jsonl.gz", packed[: len(packed) // 2])
    write(tmp_path / "b.jsonl.gz", gzip.compress(jsonl(page(1))) + b"rubbish")
    write(tmp_path / "c.jsonl.gz", packed[:20_000] + b"\xff" * 100 + packed[20_100:])
    write(tmp_path / "d.jsonl.gz", gzip.compress(jsonl(page(1))))
    write(tmp_path / "e.jsonl.gz", b"")
    found = read(tmp_path, "*.jsonl.gz")
    kept = {name: [row for row in found.pages if row.path.startswith(name)] for name in "abcde"}
    counts = {name: len(rows) for name, rows in kept.items()}
    assert 900 < counts["a"] < 1100
    assert kept["a"] == [
        ("a.jsonl.gz", number + 1, f"d{number}", f"https://exemplo.br/{number}", "", row.text)
        for number, row in enumerate(kept["a"])
    ]
    assert all(len(row.text) == 100 for row in kept["a"])
    assert 100 < counts["c"] < 2000
    assert (counts["b"], counts["d"], counts["e"]) == (1, 1, 0)
    remedy = "pages, which are kept; copy or compress it again"
    assert found.notes == [
        f"a.jsonl.gz: is cut off after {counts['a']:,} {remedy}",
        f"b.jsonl.gz: holds something that is not gzip after 1 {remedy}",
        f"c.jsonl.gz: is damaged after {counts['c']:,} {remedy}",
        "e.jsonl.gz: is empty; copy it again if it should not be",
    ]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_line_of_100_mb_is_dropped_without_being_held(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith(".gz"):
        bomb = b'{"doc_id": "long", "text": "' + bytes(100_000_000) + b'"}\n'
        packed = gzip.compress(jsonl(page(1))) + gzip.compress(bomb, 1) + gzip.compress(jsonl(page(2)))
        path.write_bytes(packed)
        del bomb
    else:
        with path.open("wb") as file:
            file.write(jsonl(page(1)) + b'{"doc_id": "long", "text": "')
            file.seek(100_000_000, os.SEEK_CUR)
            file.write(b'"}\n' + jsonl(page(2)))
    tracemalloc.start()
    found = read(tmp_path, name, max_page_bytes=1_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.ids, found.why) == (["d1", "d2"], [(2, "too long")])
    assert found.refused[0][3].startswith('100,000,030 bytes; at most 1,000,000: {"doc_id": "long", "text": "')
    assert peak < 8_000_000


def test_a_field_that_was_named_and_is_nowhere_is_told(tmp_path: Path) -> None:
    rows = [*pages(range(1000)), page(1000, uri="u", lang="pt")]
    write(tmp_path / "a.jsonl", jsonl(*rows))
    write(tmp_path / "b.jsonl", jsonl({"doc_id": "b", "text": "b", "uri": None}))
    told = "has no field 'uri' but 'doc_id', 'url', 'text'; did you mean 'url'? name it by  fields: {url: …}"
    assert read(tmp_path, "?.jsonl", fields={"url": "uri"}).notes == [
        f"a.jsonl: up to line 1,000 it {told}; without it pages have no url"
    ]
    assert read(tmp_path, "?.jsonl").notes == []
    table = pa.table({name: [row[name] for row in rows] for name in ("doc_id", "url", "text")})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    assert read(tmp_path, "a.parquet", fields={"url": "uri"}).notes == [
        f"a.parquet: {told}; without it pages have no url"
    ]
    assert read(tmp_path, "a.parquet").notes == []


@pytest.mark.parametrize("change", ["grows", "goes", "is replaced"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.parquet"])
def test_a_file_that_changes_while_it_is_read_gives_nothing(tmp_path: Path, name: str, change: str) -> None:
    rows = pages(range(600))
    data = jsonl(*rows)
    path = tmp_path / name
    if name.endswith("parquet"):
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_bytes(gzip.compress(data) if name.endswith("gz") else zstd(data) if name.endswith("zst") else data)
    step = Read(ReadParameters(path=name), ComponentEnvironment(tmp_path))
    (shard,) = step.shards()
    batches = step.pages(shard, Reading())
    next(batches)
    if change == "grows":
        with path.open("ab") as file:
            file.write(b"\n")
    elif change == "goes":
        path.unlink()
    else:
        other = tmp_path / "other"
        other.write_bytes(data)
        other.rename(path)
    with pytest.raises(InputError, match="there is no such file" if change == "goes" else "was changed while"):
        list(batches)


def test_a_file_that_links_lead_to_is_read_once(tmp_path: Path) -> None:
    write(tmp_path / "p/a.jsonl", jsonl(page(1)))
    (tmp_path / "p/b.jsonl").symlink_to(tmp_path / "p/a.jsonl")
    (tmp_path / "p/again").symlink_to(tmp_path / "p")
    assert [row.path for row in read(tmp_path, ["p", "./p/../p/*.jsonl", str(tmp_path / "p")]).pages] == ["p/a.jsonl"]


def test_files_whose_pages_would_get_the_same_ids_are_refused(tmp_path: Path) -> None:
    for name in ("p/a.jsonl", "p/b.jsonl", "q/a.ndjson.gz"):
        data = jsonl({"text": name})
        write(tmp_path / name, gzip.compress(data) if name.endswith(".gz") else data)
    assert read(tmp_path, ["p", "q"], fields={"doc_id": None}).ids == ["p/a-1", "p/b-1", "q/a-1"]
    (tmp_path / "p/a.json").write_bytes(jsonl({"text": "other"}))
    with pytest.raises(InputError, match=r"p/a\.jsonl: its pages would get the same ids as those of p/a\.json; rename"):
        read(tmp_path, "p", fields={"doc_id": None})


@pytest.mark.parametrize("path", ["", " ", "a\0b", [""], []], ids=range(5))
def test_a_path_of_nothing_is_refused(path: str | list[str]) -> None:
    # An empty pattern once stood for all files of the machine.
    with pytest.raises(ValueError, match="path"):
        ReadParameters(path=path)


def test_batches_end_at_many_pages_or_many_characters(tmp_path: Path) -> None:
    rows = [*pages(range(300)), *(page(number, "é" * 900_000) for number in range(300, 304))]
    write(tmp_path / "a.jsonl", jsonl(*rows))
    step = Read(ReadParameters(path="a.jsonl"), ComponentEnvironment(tmp_path))
    shard, *_ = step.shards()
    assert [len(batch) for batch in step.pages(shard, Reading())] == [256, 44 + 3, 1]


def test_what_is_read_is_told_up_to_the_whole_weight(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", jsonl(*pages(range(1000))))
    write(tmp_path / "b.jsonl.gz", gzip.compress(jsonl(*pages(range(1000)))))
    write(tmp_path / "c.jsonl.gz", gzip.compress(jsonl(*pages(range(1000))))[:-9])
    found = read(tmp_path, "*")
    assert found.shards == 1
    assert found.weights == [sum(path.stat().st_size for path in tmp_path.iterdir())]
    assert found.ticks[0] == sorted(found.ticks[0])
    assert (len(found.ticks[0]) > 10, found.ticks[0][-1]) == (True, found.weights[0])


def test_the_parameters_are_told_and_checked() -> None:
    for name, field in ReadParameters.model_fields.items():
        assert field.description, name
    with pytest.raises(ValueError, match="max_page_bytes"):
        ReadParameters(path="a", max_page_bytes=0)
    with pytest.raises(ValueError, match="path"):
        ReadParameters(path=[])


def test_reasons_are_distinct_as_slugs() -> None:
    reasons = Read(ReadParameters(path="a")).reasons
    assert len({reason.lower().replace(" ", "-") for reason in reasons}) == len(reasons)
