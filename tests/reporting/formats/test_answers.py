"""An answer fits a screen: what does not fit is left out from the end, and the answer says so."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from quati_pool.reporting.formats.answers import Answer, answer_text, fitted
from quati_pool.reporting.formats.tables import Column, Table
from quati_pool.text.display_width import columns

_NAMES = st.text("abc-日 ", max_size=90)


@st.composite
def _tables(draw: st.DrawFn) -> Table:
    texts, numbers = draw(st.integers(1, 3)), draw(st.integers(0, 12))
    headings = [Column(draw(_NAMES)) for _ in range(texts)] + [Column(draw(_NAMES), 4) for _ in range(numbers)]
    row = st.tuples(*[_NAMES] * texts, *[st.floats(-1, 1)] * numbers)
    return Table(draw(_NAMES), headings, draw(st.lists(row, max_size=70)), draw(_NAMES) * draw(st.integers(0, 20)))


@given(st.lists(_NAMES, max_size=30), _tables(), _NAMES.map(str.strip), st.integers(40, 120))
def test_an_answer_fits(sentences: list[str], table: Table, rest: str, width: int) -> None:
    lines = answer_text(Answer(sentences, table, rest), width).splitlines()
    assert len(lines) <= 40
    assert all(columns(line) <= width for line in lines)


def test_the_result_comes_first_then_the_table_then_where_the_rest_is() -> None:
    table = Table("Systems", [Column("System"), Column("nDCG@10", 4)], [["bm25", 0.4523], ["lsa", 0.25]], "A note.")
    assert answer_text(Answer(["bm25 wins."], table, "All tables: --full.")) == (
        "bm25 wins.\n\nSystems\nSystem  nDCG@10\n──────  ───────\nbm25     0.4523\nlsa      0.2500\nA note.\n\n"
        "All tables: --full.\n"
    )


def test_what_is_to_be_copied_is_never_cut() -> None:
    command = f"  quati-pool agree -c {'folder/' * 20}pool.yaml"
    assert answer_text(Answer(["Done."], rest=f"Next:\n{command}")) == f"Done.\n\nNext:\n{command}\n"


def test_rows_and_columns_that_do_not_fit_are_named() -> None:
    rows = [[f"system-{place}", place, place, place] for place in range(63)]
    table = Table("Systems", [Column("System"), Column("One"), Column("A long heading " * 3), Column("Two")], rows)
    shown = fitted(table, 40, 20)
    assert [column.heading for column in shown.columns] == ["System", "One"]
    assert len(shown.rows) == 20
    assert shown.note == f"Not shown here: 43 more rows and the columns {'A long heading ' * 3}, Two."


def test_a_name_too_long_for_its_column_loses_its_middle() -> None:
    table = Table("", [Column("System"), Column("Mean", 4)], [["multilingual-e5-large-reranked-by-mono-t5", 0.5]])
    assert fitted(table, 30, 5).rows == [["multilingua…by-mono-t5", 0.5]]
    whole = fitted(table, 80, 5)
    assert whole.rows == table.rows
    assert whole.note == ""


def test_what_is_too_long_loses_whole_words() -> None:
    *_, last = answer_text(Answer(["word " * 400])).split("\n\n")[0].splitlines()
    assert set(last.split()) == {"word", "…"}
