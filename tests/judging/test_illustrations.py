"""Illustrations show people what grades mean, and reach no model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from quati_pool.errors import InputError
from quati_pool.judging.prompts import Example, bundled_prompts, read_prompt
from tests.judging.test_prompts import GRADED, MINE, changed, write

BUNDLED = {prompt.id: prompt for prompt in bundled_prompts()}
SHOWN = {"query": "q2", "passage": "p2", "reasoning": "r2", "grade": 1}


def test_illustrations_change_no_message_and_no_hash(tmp_path: Path) -> None:
    without = read_prompt(write(tmp_path, MINE))
    messages, sha, definition = without.messages("a", "b", "c"), without.sha, without.definition
    prompt = read_prompt(write(tmp_path, changed(illustrations=[SHOWN, {**SHOWN, "grade": 0, "narrative": "n"}])))
    assert len(prompt.illustrations) == 2
    assert (prompt.messages("a", "b", "c"), prompt.sha, prompt.definition) == (messages, sha, definition)
    assert prompt.schema() == without.schema()


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_prompt_is_the_same_to_a_model_without_its_illustrations(name: str, tmp_path: Path) -> None:
    prompt = BUNDLED[name]
    data = yaml.safe_load(prompt.path.read_text(encoding="utf-8"))
    data.pop("illustrations", None)
    bare = read_prompt(write(tmp_path, data, f"{name}.yaml"))
    assert bare.illustrations == []
    assert (bare.sha, bare.definition, bare.messages("a", "b")) == (
        prompt.sha,
        prompt.definition,
        prompt.messages("a", "b"),
    )


@pytest.mark.parametrize("name", BUNDLED)
def test_every_grade_of_a_bundled_prompt_has_an_example(name: str) -> None:
    prompt = BUNDLED[name]
    examples = [prompt.example_of(grade) for grade in sorted(prompt.scale)]
    assert [example.grade for example in examples if example] == sorted(prompt.scale)
    # Each a text of its own, long enough to be a passage.
    passages = {example.passage for example in examples if example}
    assert len(passages) == len(prompt.scale)
    assert all(len(passage) > 150 for passage in passages)
    assert prompt.example_of(9) is None


def test_an_example_comes_before_an_illustration(tmp_path: Path) -> None:
    prompt = read_prompt(write(tmp_path, changed(illustrations=[SHOWN, {**SHOWN, "grade": 2}])))
    assert prompt.example_of(2) == Example(**MINE["examples"][0])
    assert prompt.example_of(1) == Example(**SHOWN)
    assert prompt.example_of(0) is None


def test_turns_are_no_example_for_people(tmp_path: Path) -> None:
    turns = {"user": "u", "assistant": '{"Mark": 2}'}
    assert read_prompt(write(tmp_path, changed(examples=[turns]))).example_of(2) is None


REFUSED: list[tuple[Any, str]] = [
    ({}, "illustrations: expected a list of illustrations, each with query, passage, reasoning and grade"),
    ("x", "illustrations: expected a list of illustrations, each with query, passage, reasoning and grade"),
    ([{**GRADED, "grade": 7}],
     "illustrations.0.grade: 7 is not on the scale 0, 1, 2; correct the illustration or the scale"),
    ([SHOWN, {"query": "q"}], "illustrations.1: the key 'passage' is missing; add it"),
    ([{**SHOWN, "Grade": 1}], "illustrations.0.Grade: unknown key; did you mean 'grade'?"),
    ([{"user": "u", "assistant": "Mark: 1"}], "illustrations.0.user: unknown key; did you mean 'query'?"),
]  # fmt: skip


@pytest.mark.parametrize(("illustrations", "message"), REFUSED)
def test_a_faulty_illustration_is_refused_with_its_place(tmp_path: Path, illustrations: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_prompt(write(tmp_path, changed(illustrations=illustrations)))
    assert error.value.message == message
    assert error.value.line
    assert error.value.line > 1
