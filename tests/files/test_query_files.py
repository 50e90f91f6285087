"""Queries in every format: the same records, and each fault in its words."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest

from quati_pool.errors import InputError
from quati_pool.files.problems import Collected
from quati_pool.files.queries import query_columns, read_queries, read_query_column
from quati_pool.records import Query
from tests.shared_data import shared

ID_RULE = "expected an id without white space or control characters"
NAMES = "the columns are"

TOPIC = "<top>\n<num> Number: 401\n<title> Topic: a title\n<desc> Description:\nsome\nwords\n</top>\n"

SPEC = [
    ("q.tsv", "", ": holds no queries; expected at least one"),
    ("q.tsv", "1\tone\n2 two\n", ":2: 1 column; expected 2: query_id <tab> query"),
    ("q.tsv", "1\tone\tmore\n", ":1: 3 columns; expected 2: query_id <tab> query"),
    ("q.tsv", "1\tone\n\n1\ttwo\n", ":3: query_id '1' is in line 1 already; expected it once"),
    ("q.tsv", "\tone\n", ":1: query_id is empty; expected an id"),
    ("q.tsv", "a b\tone\n", f":1: query_id 'a b' holds white space (U+0020); {ID_RULE}"),
    (
        "q.tsv",
        "qid\ttext\n1\tone\n",
        f":1: no column 'query_id'; {NAMES} qid, text: add it, or set query_id to the right one",
    ),
    (
        "q.tsv",
        "Number\tTitle\n1\tone\n",
        f":1: no column 'query_id'; {NAMES} Number, Title: add it, or set query_id to the right one",
    ),
    (
        "q.tsv",
        "query_id\tpergunta\n1\tone\n",
        f":1: no column 'query'; {NAMES} query_id, pergunta: add it, or set query to the right one",
    ),
    ("q.csv", "1,one\n", f":1: no column 'query_id'; {NAMES} 1, one: add it, or set query_id to the right one"),
    (
        "q.csv",
        "query_id;query\n1;one\n",
        f":1: no column 'query_id'; {NAMES} query_id;query: add it, or set query_id to the right one",
    ),
    (
        "q.csv",
        'query_id,query\n1,"a\nb"\n1,c\n',
        ":4: query_id '1' is in line 2 already; expected it once",
    ),
    ("q.csv", 'query_id,query\n1,"a\n\nb"\n2,c,d\n', ":5: 3 columns; expected 2: as in the header"),
    (
        "q.csv",
        'query_id,query\n1,a\n2,"b\nc\n',
        ":3: is not CSV (unexpected end of data); expected quotes in pairs, doubled inside",
    ),
    (
        "q.csv",
        'query_id,query\n1,"a"b\n',
        ":2: is not CSV (',' expected after '\"'); expected quotes in pairs, doubled inside",
    ),
    (
        "q.jsonl",
        '{"query_id": 7, "query": "a"}',
        ':1: query_id is the number 7; expected a string: write "7"',
    ),
    ("q.jsonl", '{"query_id": "7", "query": null}', ":1: query is null; expected a string (it may be empty)"),
    ("q.jsonl", '{"query_id": null, "query": ""}', ":1: query_id is null; expected an id"),
    ("q.jsonl", '{"query_id": "7", "query": ["a"]}', ":1: query is a list; expected a string"),
    ("q.jsonl", '{"query_id": true, "query": ""}', ":1: query_id is true or false; expected a string"),
    ("q.jsonl", '{"query_id": "7", "query": {}}', ":1: query is an object; expected a string"),
    (
        "q.jsonl",
        '\n{"query_id": "7", "text": "a"}',
        f":2: no column 'query'; {NAMES} query_id, text: add it, or set query to the right one",
    ),
    ("q.jsonl", "[]", ":1: is not a JSON object; expected one object per line"),
    (
        "q.jsonl",
        '{"query_id": "7" "query": ""}',
        ":1: is not JSON (Expecting ',' delimiter, column 18); expected one object per line",
    ),
    (
        "q.jsonl",
        "[" * 100_000,
        ":1: holds a number too long, or nests too deeply; expected one flat object per line",
    ),
    (
        "q.jsonl",
        '{"query_id": "\\ud800", "query": ""}',
        ":1: query_id holds half a surrogate pair; write the whole character",
    ),
    (
        "q.jsonl",
        '{"query_id": "7", "query": "\\udc00"}',
        ":1: query holds half a surrogate pair; write the whole character",
    ),
    (
        "q.txt",
        "1 one\n",
        ": is not in a known format; expected .jsonl, .tsv, .csv, .parquet, or TREC's <DOC> or <top>",
    ),
    ("q.xml", "<DOC>\n</DOC>\n", ": holds documents (<DOC>); expected queries"),
    ("q.parquet", "", ": is Parquet; expected queries as .jsonl, .tsv, .csv or TREC topics"),
    ("q.trec", "\n<top>\n<title> a\n</top>\n", ":2: this topic has no <num>; expected its query_id there"),
    (
        "q.trec",
        "<top><num>1</num><desc>a</desc></top>",
        ":1: this topic has no <title>; its fields are num, desc: set query to one of them",
    ),
    ("q.trec", TOPIC + TOPIC, ":8: query_id '401' is in line 1 already; expected it once"),
    (
        "q.trec",
        "<top>\n<num> 1\n" + TOPIC,
        ":1: this <top> is not closed before the next opens in line 3; expected </top>",
    ),
    ("q.trec", TOPIC + "<top>\n", ":8: this <top> is not closed before the file ends; expected </top>"),
    ("q.trec", TOPIC + "</top>\n", ":8: </top> closes nothing; expected <top> before it"),
    ("q.trec", TOPIC + "words\n", ":8: text 'words' is outside of any <top>; expected it inside"),
    (
        "q.trec",
        "<top><num>1</num><title>a</title> b</top>",
        ":1: text 'b' is outside of the topic's fields; expected it inside",
    ),
    ("q.trec", "<top><num> 1 2 <title> a</top>", f":1: query_id '1 2' holds white space (U+0020); {ID_RULE}"),
]


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize(("name", "text", "error"), SPEC)
def test_refused(tmp_path: Path, name: str, text: str, error: str) -> None:
    path = written(tmp_path, name, text)
    with pytest.raises(InputError) as caught:
        read_queries(path)
    assert str(caught.value) == f"{path}{error}"


def test_collecting_goes_on_after_a_fault(tmp_path: Path) -> None:
    faulty = ["1\tone", "1\ttwo", "x", "a b\tc", "4\tfour"]
    problems = Collected(9)
    assert read_queries(written(tmp_path, "q.tsv", "\n".join(faulty)), problems=problems) == [
        Query("1", "one"), Query("4", "four")
    ]  # fmt: skip
    assert [error.line for error in problems.errors] == [2, 3, 4]


QUERIES = [
    Query("007", "Onde fica a Praça XV?"),
    Query("7", 'a < b & "c", d', "what counts"),
    Query("vazia", "", "nothing to find"),
]


def tsv(rows: list[list[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def as_csv(rows: list[list[str]]) -> str:
    stream = io.StringIO()
    csv.writer(stream).writerows(rows)
    return stream.getvalue()


def topics(closed: bool) -> str:
    def element(name: str, label: str, text: str) -> str:
        text = text.replace("&", "&amp;")
        return f"<{name}>{text}</{name}>" if closed else f"<{name}> {label}: {text}\n"

    return "\n".join(
        "<top>\n"
        + element("num", "Number", query.query_id)
        + element("title", "Topic", query.query)
        + element("narr", "Narrative", query.narrative or "")
        + "\n</top>\n"
        for query in QUERIES
    )


def rows(header: bool) -> list[list[str]]:
    names = [["query_id", "query", "narrative"]] if header else []
    return names + [[query.query_id, query.query, query.narrative or ""] for query in QUERIES]


def jsonl() -> str:
    records = [vars(query) | {"other": 1} for query in QUERIES]
    return "\n".join(json.dumps(record) for record in records)


FORMS = {
    "q.tsv": tsv(rows(header=True)),
    "q.csv": "\ufeff" + as_csv(rows(header=True)),
    "q.jsonl": jsonl(),
    "q.trec": topics(closed=True),
    "q.topics": topics(closed=False),
    "q.xml": f'<?xml version="1.0"?>\n<!-- by hand -->\n<topics>\n{topics(closed=True)}</topics>',
}


@pytest.mark.parametrize("name", [*FORMS, *(f"{name}.gz" for name in FORMS)])
def test_every_format_holds_the_same_queries(tmp_path: Path, name: str) -> None:
    assert read_queries(written(tmp_path, name, FORMS[name.removesuffix(".gz")])) == QUERIES


def test_a_tsv_may_lack_a_header_and_has_no_quotes(tmp_path: Path) -> None:
    path = written(tmp_path, "q.tsv", '\ufeff1\t"one\r\n2\t\r\n')
    assert read_queries(path) == [Query("1", '"one'), Query("2", "")]


def test_named_fields(tmp_path: Path) -> None:
    path = written(tmp_path, "q.csv", "why,title,id,body\nso,a,1,b\n,,2,c\n")
    assert read_queries(path, "id", ["title", "body"], "why") == [Query("1", "a b", "so"), Query("2", "c")]
    with pytest.raises(InputError, match=r"no column 'gone'; .* set narrative to the right one$"):
        read_queries(path, "id", "title", "gone")


def test_named_topic_fields(tmp_path: Path) -> None:
    text = (
        "<top>\n\n<num> Number: 401 \n<title> foreign minorities,\n  Germany &amp; Austria\n\n"
        "<desc> Description: \nWhat language, if x < y?\n\n<narr> Narrative: \nRelevant\nif.\n\n</top>\n"
    )
    path = written(tmp_path, "topics.401-450", text)
    title, description = "foreign minorities, Germany & Austria", "What language, if x < y?"
    assert read_queries(path) == [Query("401", title, "Relevant if.")]
    assert read_queries(path, query="desc") == [Query("401", description, "Relevant if.")]
    assert read_queries(path, query=["title", "desc"], narrative="desc") == [
        Query("401", f"{title} {description}", description)
    ]


CLUSTERED = [
    Query("1", "a", None, "Q42 of the south"),
    Query("2", "b", "why", "7"),
    Query("3", "c", None, "007"),
    Query("4", "d"),
]


@pytest.mark.parametrize("name", ["q.tsv", "q.csv", "q.jsonl"])
@pytest.mark.parametrize("column", ["cluster_id", "group"])
def test_clusters_are_any_text_and_some_queries_are_in_none(tmp_path: Path, name: str, column: str) -> None:
    table = [["query_id", "query", column, "narrative"]]
    table += [[query.query_id, query.query, query.cluster_id or "", query.narrative or ""] for query in CLUSTERED]
    records = [
        {"query_id": query.query_id, "query": query.query, "narrative": query.narrative, column: query.cluster_id}
        for query in CLUSTERED[:3]
    ]
    records.append({"query_id": "4", "query": "d"})
    text = {"q.tsv": tsv(table), "q.csv": as_csv(table), "q.jsonl": "\n".join(map(json.dumps, records))}[name]
    path = written(tmp_path, name, text)
    assert read_queries(path, cluster_id=column) == CLUSTERED
    if column != "cluster_id":
        assert {query.cluster_id for query in read_queries(path)} == {None}


def test_topics_have_no_clusters(tmp_path: Path) -> None:
    text = "<top><num>1</num><title>a</title><cluster_id>x</cluster_id></top>"
    assert read_queries(written(tmp_path, "q.trec", text)) == [Query("1", "a")]


CONTROL = "expected a text without control characters"
BAD_CLUSTERS = [
    (
        "q.tsv",
        "query_id\tquery\tcluster_id\n1\ta\t x\n",
        ":2: cluster_id ' x' begins or ends with white space; expected none there",
    ),
    (
        "q.tsv",
        "query_id\tquery\tcluster_id\n1\ta\tx\x1b[1m\n",
        f":2: cluster_id 'x\\x1b[1m' holds the character U+001B; {CONTROL}",
    ),
    (
        "q.csv",
        'query_id,query,cluster_id\n1,a,\n2,b,"x\ny"\n',
        f":3: cluster_id 'x\\ny' holds the character U+000A; {CONTROL}",
    ),
    (
        "q.csv",
        "query_id,query,cluster_id\n1,a,x\u200b\n",
        f":2: cluster_id 'x\\u200b' holds the character U+200B; {CONTROL}",
    ),
    ("q.csv", "query_id,cluster_id,query,cluster_id\n", ":1: column 'cluster_id' occurs twice; expected it once"),
    (
        "q.jsonl",
        '{"query_id": "1", "query": "a", "cluster_id": 7}',
        ':1: cluster_id is the number 7; expected a string: write "7"',
    ),
    ("q.jsonl", '{"query_id": "1", "query": "a", "cluster_id": ["7"]}', ":1: cluster_id is a list; expected a string"),
    (
        "q.jsonl",
        '{"query_id": "1", "query": "a", "cluster_id": true}',
        ":1: cluster_id is true or false; expected a string",
    ),
    (
        "q.jsonl",
        '{"query_id": "1", "query": "a", "cluster_id": "\\ud800"}',
        ":1: cluster_id holds half a surrogate pair; write the whole character",
    ),
]


@pytest.mark.parametrize(("name", "text", "error"), BAD_CLUSTERS)
def test_a_broken_cluster_is_refused(tmp_path: Path, name: str, text: str, error: str) -> None:
    path = written(tmp_path, name, text)
    with pytest.raises(InputError) as caught:
        read_queries(path)
    assert str(caught.value) == f"{path}{error}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.tsv", "1\ta\n"),
        ("q.csv", "query_id,query,cluster_id\n1,a,x\n"),
        ("q.jsonl", '{"query_id": "1", "query": "a"}'),
        ("q.trec", TOPIC),
    ],
)
def test_a_column_that_is_named_holds_a_cluster_at_least_once(tmp_path: Path, name: str, text: str) -> None:
    path = written(tmp_path, name, text)
    with pytest.raises(InputError) as caught:
        read_queries(path, cluster_id="group")
    expected = "no query has a cluster_id in the column 'group'; expected one at least"
    assert str(caught.value) == f"{path}: {expected}: add it, or set cluster_id to the right column"


def test_vaswani() -> None:
    queries = read_queries(shared("vaswani/query-text.trec"))
    assert len(queries) == 93
    assert queries[0] == Query("1", "MEASUREMENT OF DIELECTRIC CONSTANT OF LIQUIDS BY THE USE OF MICROWAVE TECHNIQUES")
    assert queries[9] == Query("10", "METHODS OF CALCULATING INSTANTANEOUS POWER DISSIPATION IN REACTIVE CIRCUITS")
    assert queries[-1] == Query(
        "93",
        "HIGH FREQUENCY OSCILLATORS USING TRANSISTORS THEORETICAL TREATMENT AND PRACTICAL CIRCUIT DETAILS",
    )


def test_pira() -> None:
    queries = read_queries(shared("pira/validation.csv"), "id_qa", "question_pt_origin")
    assert len(queries) == 225
    assert queries[0] == Query("A1234", "Quais são os métodos de previsão de precipitação no Nordeste?")
    assert queries[9] == Query(
        "B2189",
        "Em áreas onde os níveis de nutrientes são baixos, quais as são as consequências para biodiversidade marinha?",
    )
    assert queries[-1] == Query(
        "A354", "Como o Projeto Águas Rasas Norte pode expandir sua aplicação para outras áreas de estudo?"
    )


# ---- further columns


@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        ("a.tsv", "query_id\tquery\ttheme\n1\ta\tsea\n2\tb\t\n", ["query_id", "query", "theme"]),
        ("a.csv", '\n"theme",query_id,query\n"sea",1,"a, b"\n,2,c\n', ["theme", "query_id", "query"]),
        ("a.jsonl", '{"query_id": "1", "query": "a"}\n\n{"query_id": "2", "query": "b", "theme": null}\n',
         ["query_id", "query", "theme"]),
        ("a.tsv", "1\ta\n2\tb\n", []),
        ("a.tsv", "", []),
        ("a.csv", "", []),
        ("a.txt", "<top>\n<num> 1\n<title> a\n</top>\n", []),
    ],
)  # fmt: skip
def test_the_columns_of_a_file_are_those_that_have_names(
    tmp_path: Path, name: str, text: str, columns: list[str]
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert query_columns(tmp_path / name) == columns


def test_a_column_has_a_text_for_each_query(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('number,query,theme\n007,a,"sea, deep"\n7,b,\n', encoding="utf-8")
    assert query_columns(tmp_path / "a.csv", "number") == ["number", "query", "theme"]
    assert query_columns(tmp_path / "a.csv") == []
    assert read_query_column(tmp_path / "a.csv", "theme", "number") == {"007": "sea, deep", "7": ""}
    rows = '{"query_id": "1", "theme": "sea"}\n{"query_id": "2"}\n{"query_id": "3", "theme": null}\n'
    (tmp_path / "a.jsonl").write_text(rows, encoding="utf-8")
    assert read_query_column(tmp_path / "a.jsonl", "theme") == {"1": "sea", "2": "", "3": ""}


def test_a_column_that_is_no_text_is_refused_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"query_id": "1", "year": 2020}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.jsonl:1: year is the number 2020; expected a string"):
        read_query_column(tmp_path / "a.jsonl", "year")
    (tmp_path / "a.jsonl").write_text('{"query_id": "1"}\n[]\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.jsonl:2: is not a JSON object"):
        query_columns(tmp_path / "a.jsonl")
