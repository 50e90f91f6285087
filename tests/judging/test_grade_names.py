"""Names of grades are for people: they reach no model, and a meaning does not repeat them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.judging.prompts import bundled_prompts, read_prompt, standard_prompt
from tests.judging.test_prompts import MINE, changed, write

BUNDLED = {prompt.id: prompt for prompt in bundled_prompts()}
# Computed by the release before prompts had names, in which judges' grades are stored: Prompt.sha at commit a77e60f.
SHAS = {
    "binary-pt": "ab9a1525986f4cf8164ec0be03b7c6c2c4ef1ca4e9398f87f62ceb2b981e356e",
    "quati-en": "40261817406bc9739637ca9648d1c9c61914a9733eda15b6ba2078a27e2f0165",
    "quati-es": "d02e5138183ac7ac09c43e9cfbffa3cdc38276671082ac4e082d8252a1b8a165",
    "quati-pt": "86d0fda450c6ae2db3fa249682afe6fb57942bb520cfb06a5e5fd7e9582e90a0",
    "umbrela-style-en": "8cdf745741c3d36ec280a17b9d6045048b4b95cf749f73e81a9a3d6ff20cc17e",
}
NAMES = {0: "No", 1: "Yes", 2: "Very"}


def test_names_changed_no_bundled_prompt() -> None:
    assert {name: prompt.sha for name, prompt in BUNDLED.items()} == SHAS


def test_names_change_no_message_and_no_hash(tmp_path: Path) -> None:
    without = read_prompt(write(tmp_path, MINE))
    prompt = read_prompt(write(tmp_path, changed(names=NAMES)))
    assert (prompt.names, without.names) == (NAMES, {})
    assert (prompt.sha, prompt.definition, prompt.schema()) == (without.sha, without.definition, without.schema())
    assert prompt.messages("a", "b", "c") == without.messages("a", "b", "c")


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("Very. The passage answers.", "The passage answers."),
        ("very: the passage answers", "the passage answers"),
        ("Very — the passage answers", "the passage answers"),
        ("Very.\n The passage answers.", "The passage answers."),
        ("Good. The passage answers.", "The passage answers."),  # the name in pool.yaml
        ("Very much so. It answers.", "Very much so. It answers."),
        ("It is very. Good.", "It is very. Good."),
        ("Very.", "Very."),  # nothing else would be left
        ("Very", "Very"),
    ],
)
def test_a_meaning_does_not_repeat_the_name(tmp_path: Path, text: str, meaning: str) -> None:
    prompt = read_prompt(write(tmp_path, changed(names=NAMES, scale={**MINE["scale"], 2: text})))
    assert prompt.meaning_of(2, "Good") == meaning


@given(st.text(min_size=1, max_size=9).filter(str.strip), st.text(max_size=20))
def test_no_name_is_read_as_a_pattern(name: str, rest: str) -> None:
    prompt = BUNDLED["quati-en"].model_copy(update={"names": {}, "scale": {0: f"{name}. x{rest}", 1: "no"}})
    assert prompt.meaning_of(0, name.strip()) == f"x{rest}".strip()
    assert prompt.meaning_of(1, name) == "no"


@pytest.mark.parametrize("name", [name for name in BUNDLED if BUNDLED[name].names])
def test_a_bundled_prompt_s_names_are_those_that_it_sends(name: str) -> None:
    prompt = BUNDLED[name]
    scale = yaml.safe_load(prompt.path.read_text(encoding="utf-8"))["scale"]
    assert {grade: text.partition(". ")[0] for grade, text in scale.items()} == prompt.names


@pytest.mark.parametrize(
    ("language", "name"),
    [("pt", "quati-pt"), ("pt-BR", "quati-pt"), ("EN", "quati-en"), ("es", "quati-es"), ("fr", None), ("../x", None)],
)
def test_the_default_scale_in_a_language(language: str, name: str | None) -> None:
    prompt = standard_prompt(language)
    assert (prompt and prompt.id) == name
    assert prompt is None or sorted(prompt.scale) == [0, 1, 2, 3]
