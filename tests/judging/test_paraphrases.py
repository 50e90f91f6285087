"""Other wordings of a prompt ask for the same grades of the same texts, in words that really are others."""

from __future__ import annotations

import re
from itertools import permutations
from pathlib import Path

import pytest
import yaml

from quati_pool.bundled import bundled
from quati_pool.errors import ConfigError, InputError
from quati_pool.judging.paraphrases import paraphrases
from quati_pool.judging.prompts import Example, Prompt, bundled_prompts, load_prompt, prompt_files, read_prompt
from tests.judging.test_prompts import (
    ASPECTS,
    MINE,
    assert_no_grade_in_own_words,
    assert_readable_examples,
    assert_whole_frame,
    changed,
    write,
)

BUNDLED = {prompt.id: prompt for prompt in bundled_prompts()}
REVERSED = "examples reversed"


def wordings(name: str) -> dict[str, Prompt]:
    """All wordings of a bundled prompt, the prompt itself first."""
    others = {wording.name: wording.prompt for wording in paraphrases(BUNDLED[name], Path("/nowhere"))}
    return {name: BUNDLED[name], **others}


def other_words(name: str) -> dict[str, Prompt]:
    return {key: prompt for key, prompt in wordings(name).items() if key not in (name, REVERSED)}


def of_mine(folder: Path, *own: str, prompt: Prompt | None = None) -> list[str]:
    prompt = prompt or read_prompt(write(folder, MINE))
    return [wording.name for wording in paraphrases(prompt, folder, own)]


def trigrams(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return set(zip(words, words[1:], words[2:], strict=False))


# ---- the wordings that come with quati-pool


@pytest.mark.parametrize("name", BUNDLED)
def test_every_bundled_prompt_has_two_other_wordings_and_its_examples_reversed(name: str) -> None:
    reverse = [REVERSED] if BUNDLED[name].examples else []
    assert list(wordings(name)) == [name, f"{name}-2", f"{name}-3", *reverse]
    assert [prompt.id for prompt in other_words(name).values()] == [f"{name}-2", f"{name}-3"]


def test_every_file_is_a_wording_of_a_bundled_prompt() -> None:
    files = {path.relative_to(bundled("prompts") / "paraphrases") for path in bundled("prompts").glob("paraphrases/*")}
    assert files == {Path(f"{key}.yaml") for name in BUNDLED for key in other_words(name)}


def test_no_list_of_prompts_has_them() -> None:
    assert set(BUNDLED) == {"binary-pt", "quati-en", "quati-es", "quati-pt", "umbrela-style-en"}
    assert set(prompt_files(Path("/nowhere"))) == set(BUNDLED)
    with pytest.raises(ConfigError, match="there is no prompt 'quati-pt-2'; did you mean 'quati-pt'"):
        load_prompt("quati-pt-2")


@pytest.mark.parametrize("name", BUNDLED)
def test_the_task_is_the_same(name: str) -> None:
    prompt = BUNDLED[name]

    def pairs(one: Prompt) -> list[tuple[str, str, int]]:
        # All of them are pairs, no verbatim turns.
        examples = [example for example in one.examples if isinstance(example, Example)]
        assert len(examples) == len(one.examples)
        return [(example.query, example.passage, example.grade) for example in examples]

    for key, other in wordings(name).items():
        assert other.language == prompt.language
        assert sorted(other.scale) == sorted(prompt.scale)
        assert (other.answer, other.fenced) == (prompt.answer, prompt.fenced)
        assert other.schema() == prompt.schema()
        assert other.read_with().version == prompt.read_with().version
        assert other.uses_narrative == prompt.uses_narrative
        assert pairs(other) == (pairs(prompt)[::-1] if key == REVERSED else pairs(prompt))


@pytest.mark.parametrize("name", BUNDLED)
def test_no_two_wordings_ask_the_same(name: str) -> None:
    definitions = [prompt.definition for prompt in wordings(name).values()]
    assert all(definition not in definitions[:place] for place, definition in enumerate(definitions))


@pytest.mark.parametrize("name", BUNDLED)
def test_the_words_are_others_throughout(name: str) -> None:
    """At most a tenth of the three words in a row of one wording's system message are in another's; all that names
    keys and marks counts as common."""
    own = [BUNDLED[name], *other_words(name).values()]
    for one, other in permutations(own, 2):
        for texts in ((one.system, other.system), (system(one), system(other))):
            first, second = map(trigrams, texts)
            assert len(first) > 100
            assert len(first & second) / len(first) < 0.1
        assert not set(one.scale.values()) & set(other.scale.values())
        assert (one.user, one.again) != (other.user, other.again)
        assert one.user != other.user
        assert one.again != other.again
        reasons = [{example.reasoning for example in prompt.examples if isinstance(example, Example)}
                   for prompt in (one, other)]  # fmt: skip
        assert not reasons[0] & reasons[1]


def system(prompt: Prompt) -> str:
    """The system message, with the scale."""
    return prompt.messages("a", "b")[0]["content"]


@pytest.mark.parametrize("name", BUNDLED)
def test_the_structure_is_another(name: str) -> None:
    """The parts of the system message come in another order: marks, scale, keys of the answer."""
    orders = []
    for prompt in (BUNDLED[name], *other_words(name).values()):
        parts = {"marks": "<query>", "scale": "{scale}", "keys": f'"{prompt.answer.reasoning}"'}
        orders.append(sorted(parts, key=lambda part: prompt.system.index(parts[part])))
    assert orders[0] != orders[1] != orders[2]


@pytest.mark.parametrize("name", BUNDLED)
def test_they_stand_up_to_hostile_texts_as_the_prompt_does(name: str) -> None:
    for prompt in wordings(name).values():
        assert_whole_frame(prompt)
        assert_readable_examples(prompt)
        assert_no_grade_in_own_words(prompt)
        assert all(mark in prompt.system for mark in ("<query>", "</query>", "<passage>", "</passage>"))
        assert "JSON" in prompt.system
        assert "JSON" in prompt.again


def test_reversed_examples_are_sent_in_reversed_order() -> None:
    prompt = BUNDLED["quati-pt"]
    head, *turns, last = prompt.messages("a", "b")
    sent = wordings("quati-pt")[REVERSED].messages("a", "b")
    assert sent == [head, *turns[2:], *turns[:2], last]
    assert prompt.messages("a", "b") == [head, *turns, last]


# ---- prompts of a workspace


def test_a_workspaces_prompt_has_ours_only_if_it_asks_what_ours_asks(tmp_path: Path) -> None:
    data = yaml.safe_load(BUNDLED["quati-pt"].path.read_text(encoding="utf-8"))
    data["summary"] = "as it came"
    same = read_prompt(write(tmp_path, data, "quati-pt.yaml"))
    assert of_mine(tmp_path, prompt=same) == ["quati-pt-2", "quati-pt-3", REVERSED]
    data["reask"] += " Obrigado."
    other = read_prompt(write(tmp_path, data, "quati-pt.yaml"))
    assert of_mine(tmp_path, prompt=other) == [REVERSED]
    mine = read_prompt(write(tmp_path, {**data, "id": "mine", "examples": data["examples"][:1]}))
    assert of_mine(tmp_path, prompt=mine) == []


def test_an_own_wording_by_its_id_or_file(tmp_path: Path) -> None:
    first = write(tmp_path, changed(id="calm", system="Be calm.\n{scale}"), "prompts/calm.yaml")
    second = write(tmp_path, changed(id="terse", system="{scale}"), "drafts/terse.yaml")
    assert of_mine(tmp_path, "calm", "drafts/terse.yaml", str(second)) == ["calm", "drafts/terse.yaml"]
    found = paraphrases(read_prompt(write(tmp_path, MINE)), tmp_path, ["calm", "drafts/terse.yaml"])
    assert [wording.prompt.path for wording in found] == [first, second]


def test_an_own_wording_comes_after_ours_or_takes_the_place_of_one(tmp_path: Path) -> None:
    data = yaml.safe_load(BUNDLED["umbrela-style-en"].path.read_text(encoding="utf-8"))
    for name in ("mine", "umbrela-style-en-3"):
        write(tmp_path, {**data, "id": name, "reask": f"{name}: {{problem}}"}, f"prompts/{name}.yaml")
    names = of_mine(tmp_path, "mine", "umbrela-style-en-3", prompt=BUNDLED["umbrela-style-en"])
    assert names == ["umbrela-style-en-2", "mine", "umbrela-style-en-3"]


def test_the_prompt_itself_is_no_other_wording(tmp_path: Path) -> None:
    write(tmp_path, MINE, "prompts/mine.yaml")
    write(tmp_path, changed(id="twin", summary="the same"), "prompts/twin.yaml")
    assert of_mine(tmp_path, "mine", "twin") == []
    examples = [MINE["examples"][0]] * 2
    assert of_mine(tmp_path, prompt=read_prompt(write(tmp_path, changed(examples=examples)))) == []


ASKING = {**ASPECTS, "examples": []}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"scale": {0: "no", 2: "yes", 3: "very"}},
            "the prompt 'other' has the grades 0, 2, 3, and 'mine' has 0, 1, 2; name a wording with the same grades",
        ),
        (
            ASKING,
            "the prompt 'other' asks for the aspects M (1 to 2), Trust (0 to 3), and 'mine' for no aspects; "
            "name a wording with the same aspects",
        ),
    ],
)
def test_an_own_prompt_with_another_scale_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    write(tmp_path, changed(id="other", **change), "prompts/other.yaml")
    with pytest.raises(ConfigError) as error:
        of_mine(tmp_path, "other")
    assert str(error.value) == message


def test_own_prompts_may_ask_for_the_same_aspects(tmp_path: Path) -> None:
    write(tmp_path, changed(id="other", **ASKING, reask="{problem}"), "prompts/other.yaml")
    prompt = read_prompt(write(tmp_path, changed(**ASKING)))
    assert of_mine(tmp_path, "other", prompt=prompt) == ["other"]


def test_an_own_prompt_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no prompt 'quati-tp'; did you mean 'quati-pt'"):
        of_mine(tmp_path, "quati-tp")
    with pytest.raises(InputError, match=r"x\.yaml: there is no such file"):
        of_mine(tmp_path, "x.yaml")
