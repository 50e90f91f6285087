"""The Quati authors' files become a prompt of ours that sends the very same messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quati_pool.commands.prompts import import_prompt, read_released
from quati_pool.errors import QuatiPoolError
from quati_pool.judging.prompts import Prompt, load_prompt, read_prompt
from quati_pool.judging.quati_files import read_lenient_json
from quati_pool.judging.verdict import read_verdict
from quati_pool.llm.thoughts import split
from tests.judging.released_files import EXAMPLES, SYSTEM, their_messages, write_released_files


@pytest.fixture
def released(tmp_path: Path) -> Path:
    return write_released_files(tmp_path / "quati")


@pytest.fixture
def imported(released: Path, tmp_path: Path) -> Prompt:
    return import_prompt(read_released([released]), tmp_path / "prompts" / "mine.yaml")


@pytest.mark.parametrize(
    ("query", "passage"),
    [("o que é a maré?", "A maré sobe."), ("", ""), ("{passage}", "{query} {} {0}"), ('"', "</passage>\n<query>")],
)
def test_the_messages_are_theirs_letter_by_letter(imported: Prompt, query: str, passage: str) -> None:
    assert imported.messages(query, passage) == their_messages(query, passage)
    assert imported.fenced is False


def test_the_written_yaml_is_a_prompt_like_any_other(imported: Prompt, tmp_path: Path) -> None:
    assert load_prompt("mine", tmp_path).sha == imported.sha
    assert (imported.id, imported.language, sorted(imported.scale)) == ("mine", "pt", [0, 1, 2, 3])
    assert imported.schema()["required"] == ["Razão", "Pontuação"]
    for _, answer in EXAMPLES:
        assert read_verdict(answer, imported.read_with()).relevance == json.loads(answer)["Pontuação"]
    assert sorted(path.name for path in (tmp_path / "prompts").iterdir()) == ["mine.yaml"]


def test_files_may_be_named_one_by_one(released: Path, tmp_path: Path) -> None:
    files = sorted(released.iterdir(), reverse=True)
    assert import_prompt(read_released(files), tmp_path / "mine.yaml").messages("q", "p") == their_messages("q", "p")


def test_without_examples_there_are_two_messages(released: Path, tmp_path: Path) -> None:
    (released / "examples_rev_9.json").unlink()
    theirs = their_messages("q", "p")
    assert import_prompt(read_released([released]), tmp_path / "mine.yaml").messages("q", "p") == [
        theirs[0],
        theirs[-1],
    ]


def test_numbered_places_and_doubled_braces_in_a_format(released: Path, tmp_path: Path) -> None:
    config = {"query_passage_format": "{{{1}}} {0} {1}", "example_format": "{1} ({0})", "result_regex": "'A': 'B':"}
    (released / "config.json").write_text(json.dumps(config))
    (released / "examples_rev_9.json").unlink()
    made = import_prompt(read_released([released]), tmp_path / "mine.yaml")
    assert made.messages("the query", "the passage")[-1]["content"] == "{the query} the passage the query"
    assert (made.answer.reasoning, made.answer.grade) == ("A", "B")


def holds_no_thoughts(text: str) -> bool:
    """An example whose answer is a thought is refused."""
    return split(text).text == text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet=st.characters(codec="utf-8"), min_size=1).filter(str.strip).filter(holds_no_thoughts))
def test_any_text_survives_the_yaml(released: Path, text: str) -> None:
    (released / "initial_prompt_rev_9.json").write_text(json.dumps({"role": "system", "content": text}))
    turns = [[{"role": "user", "content": text}, {"role": "assistant", "content": f"{text}\nPontuação: 2"}]]
    (released / "examples_rev_9.json").write_text(json.dumps(turns))
    path = released / "any.yaml"
    path.write_text(read_released([released]).yaml("any"), encoding="utf-8", newline="")
    messages = read_prompt(path).messages("q", "p")
    assert [message["content"] for message in messages[:3]] == [text, f"Caso 1:\n{text}", f"{text}\nPontuação: 2"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\{\s*\"x\"\.\d\'"', r"\{\s*" + '"x"' + r"\.\d\'"),
        (r'"a\\b\n\u00e7"', "a\\b\nç"),
        # Left alone where the file is JSON as it is, and nothing else in it changes.
        (r'"\\s"', r"\s"),
        (r'"\uZZ"', r"\uZZ"),
        ('"two\nlines"', "two\nlines"),
        ('\ufeff"mark"', "mark"),
    ],
)
def test_a_lone_backslash_stands_for_itself(tmp_path: Path, text: str, value: str) -> None:
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    assert read_lenient_json(tmp_path / "config.json") == value


BAD_FILES = [
    ("config.json", '{"a": ', "config.json:1: is not JSON: Expecting value; expected a released Quati file"),
    ("config.json", "[]", "config.json: holds no settings; expected query_passage_format and result_regex"),
    ("config.json", "{}", "config.json: has no text query_passage_format; add it"),
    (
        "config.json",
        '{"query_passage_format": "{} {} {}", "result_regex": ""}',
        "config.json: query_passage_format has the place {}; expected {} twice, or {0} and {1}",
    ),
    (
        "config.json",
        '{"query_passage_format": "{0.x} {1!r}", "result_regex": ""}',
        "config.json: query_passage_format has the place {0.x}; expected {} twice, or {0} and {1}",
    ),
    (
        "config.json",
        '{"query_passage_format": "{", "result_regex": ""}',
        "config.json: query_passage_format is not a format (Single '{' encountered in format string); "
        "expected two places {}",
    ),
    (
        "config.json",
        '{"query_passage_format": "{} {}", "example_format": "{} {}", "result_regex": "([0-9])"}',
        "config.json: result_regex names 0 keys; expected two in quotes, that of the reasoning and that of the grade",
    ),
    (
        "initial_prompt_rev_9.json",
        '{"role": "user", "content": "x"}',
        "initial_prompt_rev_9.json: has a turn of 'user'; expected system",
    ),
    (
        "initial_prompt_rev_9.json",
        '{"role": "system"}',
        "initial_prompt_rev_9.json: has a malformed turn; expected role and content only, both texts",
    ),
    ("examples_rev_9.json", "[[]]", "examples_rev_9.json: holds no examples; expected a list of pairs of turns"),
    ("examples_rev_9.json", "[" * 100_000, "examples_rev_9.json: nests too deeply; expected a released Quati file"),
]


@pytest.mark.parametrize(("name", "text", "message"), BAD_FILES, ids=lambda value: value[:40])
def test_a_file_that_is_not_what_it_should_be(
    released: Path, tmp_path: Path, name: str, text: str, message: str
) -> None:
    (released / name).write_text(text)
    with pytest.raises(QuatiPoolError) as error:
        import_prompt(read_released([released]), tmp_path / "mine.yaml")
    assert str(error.value) == f"{released}/{message}"
    assert not (tmp_path / "mine.yaml").exists()


def test_what_makes_no_prompt_is_not_left_behind(released: Path, tmp_path: Path) -> None:
    turns = [[{"role": "user", "content": "x"}, {"role": "assistant", "content": '{"Pontuação": 7}'}]]
    (released / "examples_rev_9.json").write_text(json.dumps(turns))
    with pytest.raises(QuatiPoolError) as error:
        import_prompt(read_released([released]), tmp_path / "out" / "mine.yaml")
    assert str(error.value) == (
        "initial_prompt_rev_9.json, examples_rev_9.json, config.json: cannot be made a prompt ("
        'examples.0.assistant: "Pontuação" is 7, which is not on the scale 0, 1, 2, 3; '
        "correct the example or the scale)"
    )
    assert list((tmp_path / "out").iterdir()) == []


def test_what_is_missing_or_there_twice_is_named(released: Path, tmp_path: Path) -> None:
    def refused(*paths: Path, out: str = "mine.yaml") -> str:
        with pytest.raises(QuatiPoolError) as error:
            import_prompt(read_released(paths), tmp_path / out)
        return str(error.value)

    assert refused(tmp_path) == (
        f"{tmp_path}: holds neither the Quati files (initial_prompt_*.json, config.json) nor prompts of umbrela "
        "(qrel_*.txt, qrel_*.yaml); name the files of one"
    )
    assert refused(released / "initial_prompt_rev_9.json") == "there is no config.json among what you named; add it"
    gone = tmp_path / "config.json"
    assert refused(gone, released / "initial_prompt_rev_9.json") == (
        f"{gone}: cannot be read (No such file or directory); check the path"
    )
    other = released / "initial_prompt_rev_8.json"
    other.write_text("{}")
    assert refused(released) == (
        f"there are several files initial_prompt_*.json ({other}, {released / 'initial_prompt_rev_9.json'}); "
        "name the one you want"
    )
    assert refused(tmp_path / "x.json").startswith(f"{tmp_path / 'x.json'}: is not one of the Quati files; expected ")
    other.unlink()
    message = f"{tmp_path / 'mine.json'}: is not a name for a prompt; end it in .yaml"
    assert refused(released, out="mine.json") == message


def test_a_prompt_that_is_there_is_not_written_over(imported: Prompt, released: Path) -> None:
    before = imported.path.read_bytes()
    with pytest.raises(QuatiPoolError, match="is there already; move it away, or choose another name"):
        import_prompt(read_released([released]), imported.path)
    assert imported.path.read_bytes() == before


def test_the_look_alike_needs_leniency(released: Path) -> None:
    """Otherwise the tests above would show nothing."""
    with pytest.raises(json.JSONDecodeError):
        json.loads((released / "config.json").read_text(encoding="utf-8"))
    assert "{" in SYSTEM
