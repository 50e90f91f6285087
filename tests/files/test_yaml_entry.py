"""An entry is added to a YAML file at one place, and every other byte stays."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.commands.init import TEMPLATE
from quati_pool.files.yaml_entry import with_entry

ENTRY = {"model": "m", "extra_body": {"frequency_penalty": 0.5}}
OWN_LINES = "  new:\n    model: m\n    extra_body: {frequency_penalty: 0.5}\n"
ONE_LINE = "new: {model: m, extra_body: {frequency_penalty: 0.5}}"


@pytest.mark.parametrize(
    ("before", "added", "after"),
    [
        # After the last entry, and the comments that are its own.
        ("a: 1\njudges:\n  x: {judge: lexical}  # free\n", OWN_LINES, "\n# end\nb: 2\n"),
        ("judges:\n  x:\n    judge: lexical\n    # language: en\n", OWN_LINES, "  # y: {judge: replay}\nb: 2\n"),
        ("judges:\n  x:\n    note: |\n      two\n      lines\n\n", OWN_LINES, "# end\n"),
        ("judges:\n  x:\n  - 1\n  - y: 2  # last\n", OWN_LINES, "b: 2\n"),
        ("judges:\n  x: &x {judge: lexical}\n  y: *x\n", OWN_LINES, ""),
        ("judges:\n    x: {judge: lexical}\n", OWN_LINES.replace("  ", "    ", 1).replace("\n    ", "\n      "), ""),
        # Where there are no judges yet.
        ("a: 1\njudges:  # none so far\n", OWN_LINES, "  # x: {judge: lexical}\nb: 2\n"),
        ("a: 1\n", f"judges:\n{OWN_LINES}", ""),
        ("a: 1", f"\njudges:\n{OWN_LINES}", ""),
        ("", f"judges:\n{OWN_LINES}", ""),
        ("# nothing yet\n", f"judges:\n{OWN_LINES}", ""),
        # Without a line's end.
        ("judges:\n  x: {judge: lexical}", f"\n{OWN_LINES}", ""),
        # In one line.
        ("judges: {", ONE_LINE, "}\nb: 2\n"),
        ("judges: {x: {judge: lexical}", f", {ONE_LINE}", ",  # free\n}\n"),
        ("{a: 1, judges: {x: {judge: lexical}", f", {ONE_LINE}", " }}"),
    ],
)
def test_what_is_put_in_and_where(before: str, added: str, after: str) -> None:
    assert with_entry(before + after, "judges", "new", ENTRY) == before + added + after


def test_line_ends_are_those_of_the_file() -> None:
    text = "judges:\r\n  x: {judge: lexical}\r\n"
    assert with_entry(text, "judges", "new", ENTRY) == text + OWN_LINES.replace("\n", "\r\n")


@pytest.mark.parametrize(
    "text",
    ["judges: null\n", "judges: ~\n", "a: 1\n...\n", "a: |\n  no end", "x: &x {y: {b: 1}}\njudges: *x\n", "{a: 1}\n"],
)
def test_what_leaves_no_place_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^nothing can be added to judges: as it is written$"):
        with_entry(text, "judges", "new", ENTRY)


def test_the_template_of_init_takes_one_after_its_judge() -> None:
    text = TEMPLATE.format(name="mine")
    made = with_entry(text, "judges", "new", ENTRY)
    assert made.replace(OWN_LINES, "") == text
    assert made.index(OWN_LINES) == text.index("  # gpt-4o:")


VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet="a:#-'\" \n{}", max_size=6),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=6,
)


@given(
    judges=st.dictionaries(st.sampled_from(["p", "q"]), VALUES, min_size=1),
    others=st.dictionaries(st.sampled_from(["a", "z"]), VALUES),
    flow=st.sampled_from([None, True, False]),
)
def test_any_file_holds_what_it_held_and_the_entry(judges: dict, others: dict, flow: bool | None) -> None:
    data = {**others, "judges": judges, "seed": 0}
    text = yaml.dump(data, default_flow_style=flow)
    made = with_entry(text, "judges", "new", ENTRY)
    assert yaml.safe_load(made) == {**data, "judges": {**judges, "new": ENTRY}}
    # What was there is there in one piece before, and one after, what was put in.
    length = len(made) - len(text)
    assert any(made[:at] + made[at + length :] == text for at in range(len(text) + 1))
