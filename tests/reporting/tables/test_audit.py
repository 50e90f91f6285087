"""The tables of an audit: all figures, and texts that cannot act in any format."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from quati_pool.audit.base import PairTexts
from quati_pool.audit.cases import Case
from quati_pool.commands.audit.audit import AuditReport
from quati_pool.commands.audit.plan import AuditPlan
from quati_pool.commands.components import probes as probe_listings
from quati_pool.registry import PROBES
from quati_pool.reporting.formats.tables import FORMATS, csv_file, latex_file, to_csv
from quati_pool.reporting.tables.audit import (
    example_tables,
    examples_table,
    plan_tables,
    plans_table,
    probes,
    probes_table,
    shown,
    tables,
    variants_table,
)
from tests.reporting.audit_reports import STUFFED, probed, report, unasked, way
from tests.reporting.hostile import HOSTILE

ACTING = [*HOSTILE, "\x1b[31mred\x1b]0;title\x07", "\x9b2J", "a\rb", "zero\u200bwidth", "\u2066\u202eright", "\u2028"]
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def case(
    query: str = "where is it", text: str = "as it is", changed: PairTexts | None = None, **others: object
) -> Case:
    original = PairTexts(query, text)
    usual: dict[str, object] = {"query_id": "q1", "doc_id": "d1", "variant": "query first", "before": 0, "people": 1}
    return Case(**{**usual, **others}, original=original, changed=changed or PairTexts(query, "changed"), control=None)  # type: ignore[arg-type]


def worst(*cases: Case) -> AuditReport:
    return report(probed("stuffing", "fooled", 34, worst=cases))


def by_heading(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_all_figures_of_a_probe() -> None:
    made = report(STUFFED, unasked("language", "no translations"))
    first, second = by_heading(to_csv(probes_table(made)))
    assert first == {
        "Danger": "keyword stuffing", "Probe": "stuffing", "Verdict": "fooled", "n": "100", "Fooled %": "34.0",
        "95 % interval low": "25.0", "95 % interval high": "44.0", "Controls %": "3.0",
        "Controls' interval low": "0.0", "Controls' interval high": "5.0", "Excess %": "31.0",
        "Its interval low": "22.0", "Its interval high": "40.0", "Bound %": "10.0", "Mean change": "0.5",
        "Controls' change": "0.25", "Ungraded": "0", "Controls ungraded": "0", "By people": "0",
        "Not asked because": "",
        "Do not": "compare systems whose passages may repeat the query's words",
        "Paper": "Alaofi et al., SIGIR-AP 2024 (arXiv 2501.17969)",
    }  # fmt: skip
    assert (second["Verdict"], second["Fooled %"], second["Not asked because"]) == ("not asked", "", "no translations")


def test_variants() -> None:
    found = [way("query first", 20, 20, (0.8, 1.0), 1), way("query last", 0, 0, (0.0, 1.0))]
    stuffed = probed("stuffing", "fooled", 20, control=1, variants=found, fooled_by=found[:1])
    made = report(stuffed, unasked("language", "no translations"))
    first, second = by_heading(to_csv(variants_table(made)))
    assert (first["Excess %"], first["Its interval low"], first["Fools it"]) == ("95.0", "80.0", "yes")
    assert (second["Excess %"], second["Fools it"]) == ("", "")
    assert (first["Variant"], first["n"], first["Fooled %"], first["Controls %"]) == (
        "query first",
        "20",
        "100.0",
        "5.0",
    )
    assert (second["Variant"], second["n"], second["Fooled %"]) == ("query last", "0", "")


def test_an_example_has_all_texts_in_lines() -> None:
    text = "word " * 40 + "\n\n" + 150 * "x"
    made = worst(case(text=text, changed=PairTexts("", text + "\nwhere is it")))
    (table,) = example_tables(made, 60)
    assert table.title == (
        "keyword stuffing, query first: query q1, passage d1; gpt graded 0 before and 3 after; people's grade: 1"
    )
    parts: dict[str, list[str]] = {}
    for name, line in table.rows:
        assert isinstance(name, str)
        assert isinstance(line, str)
        assert len(line) <= 60
        parts.setdefault(name or list(parts)[-1], []).append(line)
    assert list(parts) == ["Query", "Passage", "Changed query", "Changed passage"]
    assert parts["Changed query"] == ["(empty)"]
    assert parts["Passage"][-4:] == ["", 60 * "x", 60 * "x", 30 * "x"]
    assert parts["Changed passage"] == [*parts["Passage"], "where is it"]
    assert table.note == ""


def test_the_control_is_shown_with_its_grade() -> None:
    controlled = replace(case(), control=PairTexts("where is it", "as much changed"))
    made = report(probed("stuffing", "fooled", 34, control=3, worst=[controlled]))
    (table,) = example_tables(made, 60)
    assert "; gpt graded 0 before, 3 after and 3 in the control; " in table.title
    assert table.rows[-1] == ["Control passage", "as much changed"]
    (row,) = by_heading(to_csv(examples_table(made)))
    assert (row["Grade of control"], row["Control passage"], row["Control query"]) == ("3", "as much changed", "")
    again = replace(controlled, control=controlled.original)
    (table,) = example_tables(report(probed("length", "fooled", 34, control=3, worst=[again])), 60)
    assert table.rows[-1] == ["Control passage", "(the pair as it is)"]


def test_examples_in_one_table_for_files() -> None:
    narrated = PairTexts("where is it", "changed", "in town")
    made = worst(case(text="one\r\ntwo"), case(changed=narrated, people=None))
    first, second = by_heading(to_csv(examples_table(made)))
    assert (first["Passage"], first["Changed passage"], first["Changed query"]) == ("one\ntwo", "changed", "")
    assert (first["Grade before"], first["Grade after"], first["Grade by people"]) == ("0", "3", "1")
    assert (second["Narrative"], second["Changed narrative"], second["Grade by people"]) == ("", "in town", "")
    assert "Narrative" not in by_heading(to_csv(examples_table(worst(case()))))[0]


def printed(made: AuditReport, how: str) -> str:
    found = tables([made], 100 if how == "table" else None)
    if how in ("csv", "latex"):
        return {"csv": csv_file, "latex": latex_file}[how](found)
    return "\n".join(map(FORMATS[how], found))


@pytest.mark.parametrize("how", FORMATS)
@pytest.mark.parametrize("text", ACTING)
def test_hostile_texts_cannot_act(text: str, how: str) -> None:
    out = printed(worst(case(text, text, PairTexts(text + text, text + "\n" + text))), how)
    assert not HIDDEN.search(out)
    out.encode()
    if how == "markdown":
        assert "<" not in out
        rows = [line for line in out.splitlines() if line.startswith("| keyword stuffing | query first | q1")]
        assert len(rows) == 1
        assert len(re.findall(r"(?<!\\)\|", rows[0])) == 15
    if how == "csv":
        (row,) = by_heading(out.split("# Examples that fooled gpt most\n")[1])
        assert row["Changed query"] == shown(text + text)


def test_hidden_characters_are_shown_and_the_note_says_so() -> None:
    assert shown("a\u200bb\x1b[0m\u202e\r\nc") == "a⟨U+200B⟩b⟨U+001B⟩[0m⟨U+202E⟩\nc"
    made = worst(case(text="a\u200bb"))
    for table in (examples_table(made), *example_tables(made, 100)):
        assert table.note == "Characters that are hidden or act on a terminal are shown as ⟨U+…⟩."


def test_a_judge_that_nothing_fooled_has_no_table_of_examples() -> None:
    titles: Sequence[str] = [table.title for table in tables([report(probed("repeat"))])]
    assert titles == ["Dangers that gpt was tested for", "Ways of changing pairs that gpt was asked about"]


def test_a_plan_by_probe() -> None:
    plan = AuditPlan(
        audited="gpt", judge="gpt", probes=[STUFFED, unasked("language", "no translations")], texts=3, to_ask=2,
        calls=2, input_tokens=9, output_tokens=8, cost=None, seconds=None, notes=("one", "two"),
    )  # fmt: skip
    whole, by_probe = plan_tables([plan])
    assert whole.rows == [["gpt", 3, 2, 2, 9, 8, "unknown", None]]
    assert (whole.note, whole.totals) == ("one; two", 0)
    priced = replace(plan, judge="other", cost=0.5, seconds=60.0)
    both = plans_table([priced, replace(priced, judge="third", cost=0.25)])
    assert both.rows[-1] == ["All", 6, 4, 4, 18, 16, 0.75, 2.0]
    assert both.totals == 1
    assert plans_table([plan, priced]).rows[-1] == ["All", 6, 4, 4, 18, 16, "unknown", None]
    assert by_probe.rows[1] == ["gpt", "change of language", "language", 0, 0, 0, "no translations"]


def test_probes_are_listed_with_papers_and_parameters() -> None:
    listed, parameters = probes(probe_listings())
    assert [row[0] for row in listed.rows] == PROBES.names()
    assert all(isinstance(row[2], str) and "arXiv" in row[2] for row in listed.rows)
    assert {row[0] for row in parameters.rows if row[1] == "bound"} == set(PROBES.names())
