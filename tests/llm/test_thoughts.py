"""Thoughts are told from what is said, whatever marks them, and every character keeps its place."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import Field

from quati_pool.errors import ConfigError
from quati_pool.files.yaml_file import Model, checked_parameters
from quati_pool.llm.thoughts import ANY, Marks, ThoughtMarks, marks_of, split

FINAL = "<|start|>assistant<|channel|>final<|message|>"

# A text, what is said in it, its thoughts.
SPLIT: list[tuple[str, str, list[str]]] = [
    ("plain", "plain", []),
    (" plain \n", "plain", []),
    ("a < b > c [1] <b>think</b>", "a < b > c [1] <b>think</b>", []),
    *((f"{kind.open} x {kind.close}said", "said", ["x"]) for kind in ANY),
    *((f"{kind.open.upper()}x{kind.close.lower()}said", "said", ["x"]) for kind in ANY),
    *((f" x {kind.close} said", "said", ["x"]) for kind in ANY),
    ("< think >x< / think >said", "said", ["x"]),
    ("[\nTHINK\n]x[/THINK ]said", "said", ["x"]),
    ("< | begin_of_thought | >x<|end_of_thought|>said", "said", ["x"]),
    ("one<think>x</think>two<thinking>y</thinking>three", "one\ntwo\nthree", ["x", "y"]),
    ("<think></think>said", "said", []),
    # blocks nest within their kind, and see no other
    ("<think>a<think>b</think>c</think>said", "said", ["a<think>b</think>c"]),
    ("<think>a<thinking>b</think>said", "said", ["a<thinking>b"]),
    ("<think>a</thinking>b</think>said", "said", ["a</thinking>b"]),
    ("<think><|channel|>final<|message|>a</think>said", "said", ["<|channel|>final<|message|>a"]),
    # a closing mark alone: the template opened the block
    ("a</think>b</think>said", "said", ["a</think>b"]),
    ("a<think>b</think>c</think>said", "said", ["a<think>b</think>c"]),
    ("a</think>b<think>c</think>said", "b\nsaid", ["a", "c"]),
    # channels
    (f"<|channel|>analysis<|message|>x<|end|>{FINAL}said<|return|>", "said", ["x"]),
    (f"<|start|>assistant<|channel|>analysis<|message|>x{FINAL}said", "said", ["x"]),
    ("<|channel|>analysis<|message|>x<|channel|>final<|message|>said<|end|>", "said", ["x"]),
    ("<|channel|>commentary to=f <|constrain|>json<|message|>{}<|call|>said", "said", ["{}"]),
    ("<|channel|>final <|constrain|>json<|message|>said", "said", []),
    ("<| CHANNEL |>Final<|message|>said", "said", []),
    ("<|channel|>finally<|message|>x<|end|>said", "said", ["x"]),
    ("<|channel|><|message|>x<|end|>said", "said", ["x"]),
    ("<|channel|>analysis<|message|>a<think>b<|end|>said", "said", ["a<think>b"]),
    ("<|channel|>analysis<|message|>a</think>b<|end|>said", "said", ["a</think>b"]),
    (f"{FINAL}<think>x</think>said", "said", ["x"]),
    (f"<|channel|>analysis<|message|>x<|end|>{FINAL}y</think>said",
     "said", [f"<|channel|>analysis<|message|>x<|end|>{FINAL}y"]),
    ("<|channel|>analysis<|end|>said", "said", ["analysis"]),
    # only tokens and the role before a channel are dropped
    (f"before{FINAL}said<|end|>after", "before\nsaid\nafter", []),
    (f"{FINAL}said<|end|><|start|>user<|message|>x<|end|>", "said\nuser\nx", []),
    ("<|start|>a<think>x</think>b<|channel|>final<|message|>said", "a\nb\nsaid", ["x"]),
    ("said<|return|>", "said", []),
]  # fmt: skip

UNCLOSED: list[tuple[str, str, list[str]]] = [
    *((f"said{kind.open}x", "said", ["x"]) for kind in ANY),
    ("<think>a<think>b</think>c", "", ["a<think>b</think>c"]),
    ("<think>a</thinking>b", "", ["a</thinking>b"]),
    ("a</think>said<think>b", "said", ["a", "b"]),
    ("<|channel|>analysis<|message|>x", "", ["x"]),
    ("said<|channel|>analysis<|message|>", "said", []),
    ("said<|channel|>final", "said", ["final"]),
]


@pytest.mark.parametrize(("text", "said", "thoughts"), SPLIT)
def test_what_is_said_is_told_from_what_is_thought(text: str, said: str, thoughts: list[str]) -> None:
    spoken = split(text)
    assert (spoken.said, spoken.thoughts, spoken.closed) == (said, thoughts, True)


@pytest.mark.parametrize(("text", "said", "thoughts"), UNCLOSED)
def test_a_thought_without_an_end_is_not_closed(text: str, said: str, thoughts: list[str]) -> None:
    spoken = split(text)
    assert (spoken.said, spoken.thoughts, spoken.closed) == (said, thoughts, False)


def test_without_marks_all_is_said() -> None:
    text = f" <think>x</think> {FINAL}y"
    assert split(text, ()) == (text, [], True, text.strip())


def test_own_marks_come_in_addition() -> None:
    marks = marks_of(Marks("Thought begin:", "~~thought end~~"))
    text = "thought  BEGIN: x </think> ~~Thought End~~ <think>y</think> said"
    assert split(text, marks)[1:] == (["x </think>", "y"], True, "said")
    assert split("x ~~thought end~~ said", marks).said == "said"
    # The longer of two that begin alike, and the signs of patterns are no pattern.
    marks = marks_of(Marks("[x", "[x]"))
    assert split("[x a [x] said", marks)[1:] == (["a"], True, "said")
    assert split("(.*) a [^]$ said", marks_of(Marks("(.*)", "[^]$")))[1:] == (["a"], True, "said")


class Parameters(Model):
    thoughts: Annotated[ThoughtMarks, Field(description="marks")] = None


def test_a_judges_parameter_names_own_marks_or_none() -> None:
    def given(value: Any) -> Parameters:
        return checked_parameters(Parameters, {"thoughts": value}, "judge")

    assert marks_of(Parameters().thoughts) == marks_of(given(None).thoughts) == ANY
    assert marks_of(given("none").thoughts) == ()
    own = given({"open": "<t>", "close": "</t>"})
    assert marks_of(own.thoughts) == (Marks("<t>", "</t>"), *ANY)
    assert own.model_dump() == {"thoughts": {"open": "<t>", "close": "</t>"}}
    assert Parameters(**own.model_dump()) == own
    for value, words in (
        ("off", "expected the marks of its thoughts, {open: TEXT, close: TEXT}, or none"),
        ({"open": "<t>"}, "expected the marks of its thoughts, {open: TEXT, close: TEXT}, or none"),
        ({"open": "<t>", "close": 1}, "expected the marks of its thoughts, {open: TEXT, close: TEXT}, or none"),
        ({"open": "<t>", "close": " "}, "a mark of thoughts is one line of at most 100 characters, such as <think>"),
        ({"open": "<t>", "close": "< T >"}, "the mark that closes thoughts must differ from the one that opens them"),
    ):
        with pytest.raises(ConfigError) as error:
            given(value)
        assert str(error.value) == f"judge thoughts: {words}"


PIECES = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "< think", ">", "<thinking>", "</thinking>", "[THINK]", "[/THINK]", "<|channel>thought",
         "<channel|>", "<|channel|>", "<|message|>", "<|start|>", "<|end|>", "final", "analysis", "said",
         " ", "\n", "<",
        ]
    )
    | st.text(max_size=3),
    max_size=20,
).map("".join)  # fmt: skip


@given(PIECES)
def test_every_character_keeps_its_place(text: str) -> None:
    spoken = split(text)
    assert len(spoken.text) == len(text)
    assert all(kept in (written, "\n") for kept, written in zip(spoken.text, text, strict=True))
    assert spoken.said.split() == spoken.text.split()
    assert all(thought and thought in text for thought in spoken.thoughts)


@given(PIECES, st.sampled_from([(kind.open, kind.close) for kind in ANY]), PIECES)
def test_a_block_is_thought_whatever_stands_in_it(inner: str, kind: tuple[str, str], after: str) -> None:
    plain = inner.replace("<", "‹").replace("[", "(").replace("◁", "")
    assume(split(after).closed and split(after).thoughts == [] and "/" not in after and "channel" not in after)
    spoken = split(f"{kind[0]}{plain}{kind[1]}{after}")
    assert spoken.closed
    assert spoken.said == split(after).said
    assert spoken.thoughts == ([plain.strip()] if plain.strip() else [])


@pytest.mark.parametrize(
    "piece",
    [
        *(mark for kind in ANY for mark in (kind.open, kind.close, kind.open + kind.close, kind.open[:-1])),
        "<|channel|>", "<|channel|>a", "<|channel|>a<|message|>", "<|channel|>final<|message|>", "<|start|>", "<|end|>",
        "<|start|>a<|channel|>", "<|message|>", "<", "< ", "<|", "<| ", "[", "[ ", "◁ ",
    ],
)  # fmt: skip
def test_hostile_texts_of_100_kb_end(piece: str) -> None:
    """Would take minutes, were the time not linear."""
    many = piece * (100_000 // len(piece))
    for text in (
        many,
        piece + " " * 100_000 + piece,
        f"<think>{many}",
        f"<|channel|>a<|message|>{many}",
        many + "</think>",
    ):
        assert len(split(text).text) == len(text)
