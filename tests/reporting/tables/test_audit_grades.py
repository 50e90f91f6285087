"""The tables of an audit's second part."""

from __future__ import annotations

from quati_pool.reporting.formats.tables import FORMATS, Table
from quati_pool.reporting.tables.audit import tables
from tests.reporting.audit_reports import STUFFED, report
from tests.reporting.grade_audits import all_beyond, grades


def by_title(found: list[Table], beginning: str) -> list[list[str]]:
    (table,) = [one for one in found if one.title.startswith(beginning)]
    return table.shown()


def test_all_figures() -> None:
    found = tables([report(STUFFED, grades=all_beyond())], 80)
    assert by_title(found, "How gpt's grades differ")[1] == [
        "level of the measure", "beyond", "-0.120", "-0.150 to -0.090", "0.020", "20", "queries",
        "read its nDCG@10 as people's: quati-pool estimate corrects it",
    ]  # fmt: skip
    assert by_title(found, "Grades of gpt by the grades of nist") == [
        ["0", "300", "0.80", "0.30", "0.50"],
        ["1", "100", "1.50", "0.90", "0.60"],
    ]
    assert [row[:5] for row in by_title(found, "The order of systems")] == [
        ["all", "4", "20", "0.400", "-0.300 to 0.500"],
        ["without kin", "2", "20", "0.900", "0.800 to 1.000"],
    ]
    assert [row[1] for row in by_title(found, "Who finds a difference")] == ["3", "1", "1", "0", "1"]
    assert by_title(found, "Families of systems") == [
        ["ours", "by its name, uses gpt", "2", "0.060", "0.030 to 0.090", "a, b"],
        ["c", "", "1", "-0.010", "-0.030 to 0.010", "c"],
        ["d", "", "1", "-0.010", "-0.030 to 0.010", "d"],
        ["all kin", "", "2", "0.060", "0.030 to 0.090", "a, b"],
    ]
    assert by_title(found, "gpt as a system") == [["gpt", "1", "5", "1.000"], ["nist", "3", "5", "0.700"]]
    assert by_title(found, "Judges that may err") == [["mistral", "500", "0.400", "0.250", "0.150", "0.110 to 0.190"]]
    for table in found:
        for how in FORMATS.values():
            assert how(table)


def test_tables_without_figures_are_left_out() -> None:
    bare = grades(gap=None, rankings=None, decisions=None, kinship=None, oracle=None)
    titles = [table.title for table in tables([report(grades=bare)], 80)]
    assert titles == ["How gpt's grades differ from people's", "Grades of gpt by the grades of nist"]
    assert not any("people's" in table.title for table in tables([report(STUFFED, no_grades="nobody")], 80))
