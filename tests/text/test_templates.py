"""A template fills its places and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.text.templates import Template, braces_doubled


@given(st.text(), st.text(), st.text())
def test_what_is_filled_in_is_not_read_as_a_template(literal: str, first: str, second: str) -> None:
    template = Template(f"{braces_doubled(literal)}{{a}}{{{{b}}}}{{b}}", {"a", "b"})
    assert template.fill({"a": first, "b": second}) == f"{literal}{first}{{b}}{second}"
    assert template.variables == {"a", "b"}


@pytest.mark.parametrize("text", ["{", "}", "{a", "a}", "{a}}", "{{a}", '{"Score": 2}}'])
def test_a_brace_alone_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^has a brace that opens or closes nothing; write braces as \{\{ and \}\}$"):
        Template(text, {"a"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{pasage}", "has no variable {pasage}; did you mean 'passage'? (write braces as {{ and }})"),
        ("{}", "has no variable {}; there are: passage, query (write braces as {{ and }})"),
        ("{0}", "has no variable {0}; there are: passage, query (write braces as {{ and }})"),
        ("{query!r}", "has no variable {query!r}; did you mean 'query'? (write braces as {{ and }})"),
        ("{query:>9}", "has no variable {query:>9}; did you mean 'query'? (write braces as {{ and }})"),
        ("{query.x}", "has no variable {query.x}; did you mean 'query'? (write braces as {{ and }})"),
    ],
)
def test_an_unknown_variable_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="has no variable") as error:
        Template(text, {"query", "passage"})
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("A {q}\n\nN {n}\n\nB {p}", "A {q}\n\nB {p}"),
        ("A {q}\n \n\t\nN {n}\nmore\n\nB", "A {q}\n\nB"),
        ("N {n}\n\nB {p}", "B {p}"),
        ("A {q}\n\n\nN {n}", "A {q}"),
        ("A {q}\n\nN {n}\n", "A {q}"),
        ("\n\nA {q}\n\nB", "\n\nA {q}\n\nB"),
        ("A {{n}}\n\n{n}", "A {{n}}"),
        ("{n}", ""),
    ],
)
def test_a_paragraph_goes_with_its_variable(text: str, without: str) -> None:
    assert Template(text, {"q", "n", "p"}).without("n").text == without
