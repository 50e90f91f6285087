"""Prompts are checked in full, send exactly what they say, and let no text out of its fence."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.errors import ConfigError, InputError
from quati_pool.judging.prompts import Prompt, bundled_prompts, load_prompt, read_prompt
from quati_pool.judging.verdict import read_verdict
from quati_pool.llm.thoughts import Marks, marks_of
from quati_pool.records import State
from quati_pool.text.fencing import recovered
from quati_pool.text.prompt_parts import LONGEST_ECHO
from tests.judging.write_golden import GOLDEN, hostile_pair

BUNDLED = {prompt.id: prompt for prompt in bundled_prompts()}

MINE: dict[str, Any] = {
    "id": "mine",
    "version": 2,
    "language": "en",
    "summary": "a prompt for tests",
    "scale": {0: "no", 1: "yes", 2: "very"},
    "system": "Grade so:\n{scale}\nAnswer {{in JSON}}.",
    "examples": [{"query": "q1", "passage": "p1", "reasoning": 'says "so"', "grade": 2}],
    "user": "Q: {query}\n\nNeed: {narrative}\n\nP: {passage}",
    "answer": {"reasoning": "Why", "grade": "Mark", "aliases": ["Final mark"]},
    "reask": "Again, since {problem}.",
}


def changed(**changes: Any) -> dict[str, Any]:
    data = {**copy.deepcopy(MINE), **changes}
    return {key: value for key, value in data.items() if value is not None}


def write(folder: Path, data: Any, name: str = "mine.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(data, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return path


@pytest.fixture
def mine(tmp_path: Path) -> Prompt:
    return read_prompt(write(tmp_path, MINE))


# ---- the messages


def test_the_messages_in_full(mine: Prompt) -> None:
    assert mine.messages("who?", "them {query}", "names count") == [
        {"role": "system", "content": "Grade so:\n0: no\n1: yes\n2: very\nAnswer {in JSON}."},
        {"role": "user", "content": "Q: <query>\nq1\n</query>\n\nP: <passage>\np1\n</passage>"},
        {"role": "assistant", "content": '{"Why": "says \\"so\\"", "Mark": 2}'},
        {
            "role": "user",
            "content": "Q: <query>\nwho?\n</query>\n\nNeed: <narrative>\nnames count\n</narrative>\n\n"
            "P: <passage>\nthem {query}\n</passage>",
        },
    ]
    assert mine.uses_narrative


@pytest.mark.parametrize("narrative", [None, "", " \n"])
def test_without_a_narrative_its_paragraph_is_left_out(mine: Prompt, narrative: str | None) -> None:
    content = mine.messages("a", "b", narrative)[-1]["content"]
    assert content == "Q: <query>\na\n</query>\n\nP: <passage>\nb\n</passage>"


def test_what_a_caller_does_to_messages_changes_no_later_ones(mine: Prompt) -> None:
    before = mine.messages("a", "b")
    mine.messages("a", "b")[0]["content"] = "spoilt"
    mine.messages("a", "b").clear()
    assert mine.messages("a", "b") == before


def test_an_unfenced_prompt_sends_texts_as_they_are(tmp_path: Path) -> None:
    prompt = read_prompt(write(tmp_path, changed(fenced=False, user="{passage}|{query}|{query}")))
    assert prompt.messages("</query>", "<passage>")[-1]["content"] == "<passage>|</query>|</query>"


def test_turns_are_sent_letter_by_letter(tmp_path: Path) -> None:
    turns = {"user": "as {it} is\n", "assistant": ' {"Mark":1} '}
    messages = read_prompt(write(tmp_path, changed(examples=[turns]))).messages("a", "b")
    assert [message["content"] for message in messages[1:3]] == ["as {it} is\n", ' {"Mark":1} ']


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=())))
def test_every_message_can_be_sent(text: str) -> None:
    for prompt in BUNDLED.values():
        messages = [*prompt.messages(text, text, text), *prompt.reask(text, text)]
        assert json.loads(json.dumps(messages, ensure_ascii=False).encode("utf-8")) == messages


def test_the_schema_is_strict_and_reasons_first(mine: Prompt) -> None:
    assert mine.schema() == {
        "type": "object",
        "properties": {"Why": {"type": "string"}, "Mark": {"type": "integer", "enum": [0, 1, 2]}},
        "required": ["Why", "Mark"],
        "additionalProperties": False,
    }
    assert list(mine.schema()["properties"]) == ["Why", "Mark"]


ASPECTS = {"answer": {"grade": "Mark", "aspects": {"Trust": [0, 3], "M": [1, 2]}}}


def test_aspects_are_asked_for_before_the_grade_and_reasons_only_where_named(tmp_path: Path) -> None:
    example = {"query": "q1", "passage": "p1", "grade": 2, "aspects": {"Trust": 3, "M": 1}}
    prompt = read_prompt(write(tmp_path, changed(**ASPECTS, examples=[example])))
    assert prompt.messages("a", "b")[2]["content"] == '{"M": 1, "Trust": 3, "Mark": 2}'
    schema = prompt.schema()
    assert schema["properties"] == {
        "M": {"type": "integer", "enum": [1, 2]},
        "Trust": {"type": "integer", "enum": [0, 1, 2, 3]},
        "Mark": {"type": "integer", "enum": [0, 1, 2]},
    }
    assert schema["required"] == list(schema["properties"]) == ["M", "Trust", "Mark"]
    with_reasons = {"answer": {**ASPECTS["answer"], "reasoning": "Why"}}
    prompt = read_prompt(write(tmp_path, changed(**with_reasons, examples=[{**example, "reasoning": "so"}])))
    assert prompt.messages("a", "b")[2]["content"] == '{"Why": "so", "M": 1, "Trust": 3, "Mark": 2}'
    assert prompt.schema()["required"] == ["Why", "M", "Trust", "Mark"]
    verdict = read_verdict('{"Why": "so", "M": 1, "Trust": 3, "Mark": 2}', prompt.read_with())
    assert (verdict.relevance, verdict.rationale, verdict.aspects) == (2, "so", {"M": 1, "Trust": 3})


def test_people_may_be_shown_reasons_and_aspects_that_no_model_is_asked_for(tmp_path: Path) -> None:
    shown = {"query": "q", "passage": "p", "grade": 1}
    told = {**shown, "grade": 0, "reasoning": "so", "aspects": {"M": 2}}
    prompt = read_prompt(write(tmp_path, changed(**ASPECTS, examples=[], illustrations=[shown, told])))
    assert [(one.reasoning, one.aspects) for one in prompt.illustrations] == [(None, {}), ("so", {"M": 2})]


def test_the_definition_holds_what_is_asked_and_nothing_of_how_it_is_read(mine: Prompt, tmp_path: Path) -> None:
    head = mine.messages("a", "b")[:-1]
    definition = {
        "head": head,
        "user": MINE["user"],
        "reask": MINE["reask"],
        "answer": ["Why", "Mark"],
        "grades": [0, 1, 2],
        "fenced": True,
    }
    assert mine.definition == definition
    prompt = read_prompt(write(tmp_path, changed(**ASPECTS, examples=[], fenced=False)))
    aspects = {"M": [1, 2], "Trust": [0, 1, 2, 3]}
    assert prompt.definition == {
        **definition, "head": head[:1], "answer": [None, "Mark"], "fenced": False, "aspects": aspects,
    }  # fmt: skip


def test_a_reading_has_a_name_that_changes_with_all_that_changes_it(mine: Prompt, tmp_path: Path) -> None:
    own = marks_of(Marks("<t>", "</t>"))
    others = [
        {"answer": {**MINE["answer"], "aliases": []}},
        {"answer": {**MINE["answer"], "reasoning": "Reason"}},
        {"answer": {**MINE["answer"], "grade": "Score"}},
        {"answer": {**MINE["answer"], "aspects": {"M": [0, 3]}}, "examples": []},
        {"answer": {**MINE["answer"], "aspects": {"M": [0, 2]}}, "examples": []},
        {"scale": {0: "no", 1: "yes", 2: "very", 3: "more"}},
    ]
    readings = [read_prompt(write(tmp_path, changed(**change))).read_with() for change in others]
    readings += [mine.read_with(), mine.read_with(own), mine.read_with(())]
    versions = [reading.version for reading in readings]
    assert len(set(versions)) == len(versions)
    assert all(re.fullmatch(r"2-[0-9a-f]{12}", version) for version in versions)
    same = [
        {"answer": {**MINE["answer"], "aliases": ["FINAL  mark"]}},
        {"system": "Grade.", "reask": "Again: {problem}", "scale": {2: "c", 1: "b", 0: "a"}},
    ]
    for change in same:
        prompt = read_prompt(write(tmp_path, changed(**change)))
        assert prompt.read_with().version == mine.read_with().version


def test_asking_again_tells_the_cause(mine: Prompt) -> None:
    assert mine.reask("Mark: {high}", '"Mark" is {high}') == [
        {"role": "assistant", "content": "Mark: {high}"},
        {"role": "user", "content": 'Again, since "Mark" is {high}.'},
    ]


def test_a_huge_answer_is_cut_in_its_middle_and_an_empty_one_stood_in_for(mine: Prompt) -> None:
    echo = mine.reask("a" * 50_000 + "z" * 50_000, "so")[0]["content"]
    assert echo == "a" * (LONGEST_ECHO // 2) + " […] " + "z" * (LONGEST_ECHO // 2)
    assert mine.reask("x" * LONGEST_ECHO, "so")[0]["content"] == "x" * LONGEST_ECHO
    assert mine.reask(" \n", "so")[0]["content"] == "…"


# ---- the prompts that come with quati-pool


def test_the_bundled_prompts() -> None:
    assert {name: (prompt.language, sorted(prompt.scale)) for name, prompt in BUNDLED.items()} == {
        "binary-pt": ("pt", [0, 1]),
        "quati-en": ("en", [0, 1, 2, 3]),
        "quati-es": ("es", [0, 1, 2, 3]),
        "quati-pt": ("pt", [0, 1, 2, 3]),
        "umbrela-style-en": ("en", [0, 1, 2, 3]),
    }
    answer = BUNDLED["quati-pt"].answer
    assert (answer.reasoning, answer.grade, len(BUNDLED["quati-pt"].examples)) == ("Razão", "Pontuação", 2)
    assert len({prompt.sha for prompt in BUNDLED.values()}) == 5


@pytest.mark.parametrize("name", BUNDLED)
def test_the_golden_messages_of_a_hostile_pair(name: str) -> None:
    golden = json.loads((GOLDEN / f"{name}.messages.json").read_text(encoding="utf-8"))
    assert BUNDLED[name].messages(**hostile_pair()) == golden


@pytest.mark.parametrize("name", BUNDLED)
def test_a_hostile_pair_changes_nothing_in_the_frame(name: str) -> None:
    assert_whole_frame(BUNDLED[name])


def assert_whole_frame(prompt: Prompt) -> None:
    """The oracle knows nothing of how a text is neutralised: the last message is cut at its four marks."""
    pair = hostile_pair()
    plain, hostile = prompt.messages("A", "B"), prompt.messages(**pair)
    assert hostile[:-1] == plain[:-1]
    content = hostile[-1]["content"]
    marks = ["<query>\n", "\n</query>", "<passage>\n", "\n</passage>"]
    assert [content.count(mark.strip()) for mark in marks] == [1, 1, 1, 1]
    before, rest = content.split(marks[0])
    query, rest = rest.split(marks[1])
    between, rest = rest.split(marks[2])
    passage, after = rest.split(marks[3])
    assert f"{before}{marks[0]}A{marks[1]}{between}{marks[2]}B{marks[3]}{after}" == plain[-1]["content"]
    assert (recovered(query), recovered(passage)) == (pair["query"], pair["passage"])


@pytest.mark.parametrize("name", BUNDLED)
def test_the_examples_answers_are_read_as_their_grades(name: str) -> None:
    assert_readable_examples(BUNDLED[name])


def assert_readable_examples(prompt: Prompt) -> None:
    answers = [message["content"] for message in prompt.messages("a", "b") if message["role"] == "assistant"]
    grades = [read_verdict(answer, prompt.read_with()).relevance for answer in answers]
    assert grades == [getattr(example, "grade", None) for example in prompt.examples]
    for answer in answers:
        assert list(json.loads(answer)) == [prompt.answer.reasoning, prompt.answer.grade]


@pytest.mark.parametrize("name", BUNDLED)
def test_no_prompts_own_words_read_as_a_grade(name: str) -> None:
    assert_no_grade_in_own_words(BUNDLED[name])


def assert_no_grade_in_own_words(prompt: Prompt) -> None:
    """A model that only repeats what it was told has judged nothing."""
    told = [prompt.messages("a", "b")[0]["content"], prompt.reask("x", "y")[1]["content"], prompt.user]
    for text in told:
        assert read_verdict(text, prompt.read_with()).status is State.unparsed
        # The keys are named as the answer's schema has them, in its order.
    assert 0 <= told[0].index(f'"{prompt.answer.reasoning}"') < told[0].index(f'"{prompt.answer.grade}"')


def test_fenced_prompts_name_their_marks() -> None:
    for prompt in BUNDLED.values():
        system = prompt.messages("a", "b")[0]["content"]
        assert all(mark in system for mark in ("<query>", "</query>", "<passage>", "</passage>"))


# ---- identity


def test_the_sha_changes_with_all_that_changes_what_is_asked(tmp_path: Path) -> None:
    example = MINE["examples"][0]
    answer = MINE["answer"]
    changes: list[dict[str, Any]] = [
        {},
        {"system": "Grade.\n{scale}"},
        {"scale": {0: "no", 1: "yes", 2: "very much"}},
        {"scale": {0: "no", 1: "yes", 2: "very", 3: "more"}},
        {"system": "Grade.", "scale": {0: "a", 1: "b", 2: "c"}},
        {"system": "Grade.", "scale": {0: "a", 1: "b", 2: "c", 3: "d"}},
        {"examples": []},
        {"examples": [{**example, "grade": 1}]},
        {"examples": [{**example, "reasoning": "other"}]},
        {"examples": [{**example, "narrative": "n"}]},
        {"examples": [example, example]},
        {"user": "Q: {query}\n\nP: {passage}"},
        {"user": "P: {passage}\n\nQ: {query}"},
        {"answer": {**answer, "reasoning": "Reason"}},
        {"answer": {**answer, "grade": "Score"}},
        {"answer": {"grade": "Mark"}, "examples": []},
        {"answer": {"grade": "Mark", "aspects": {"M": [0, 3]}}, "examples": []},
        {"answer": {"grade": "Mark", "aspects": {"M": [1, 3]}}, "examples": []},
        {"answer": {"grade": "Mark", "aspects": {"M": [0, 3], "T": [0, 3]}}, "examples": []},
        {"reask": "Again: {problem}"},
        {"fenced": False},
    ]
    shas = [read_prompt(write(tmp_path, changed(**change))).sha for change in changes]
    assert len(set(shas)) == len(shas)


def test_the_sha_does_not_change_with_what_changes_nothing_that_is_asked(tmp_path: Path) -> None:
    sha = read_prompt(write(tmp_path, MINE)).sha
    (tmp_path / "elsewhere").mkdir()
    assert read_prompt(write(tmp_path, changed(id="other"), "elsewhere/other.yaml")).sha == sha
    same: list[dict[str, Any]] = [
        {"summary": "other words"},
        {"language": "pt"},
        {"version": 3},
        # Further names of the grade only change how answers are read.
        {"answer": {**MINE["answer"], "aliases": ["FINAL  mark"]}},
        {"answer": {**MINE["answer"], "aliases": []}},
    ]
    for change in same:
        assert read_prompt(write(tmp_path, changed(**change))).sha == sha
    plain = changed(system="Grade.", scale={0: "a", 1: "b", 2: "c"})
    assert (
        read_prompt(write(tmp_path, plain)).sha
        == read_prompt(write(tmp_path, {**plain, "scale": {2: "z", 1: "y", 0: "x"}})).sha
    )


# ---- what is refused


# A change of MINE, the place that the message names (None: the whole file), and the message.
GRADED = {"query": "q", "passage": "p", "reasoning": "r", "grade": 2}
HALF = "holds half a surrogate pair; write the whole character"
MEND = "correct the example or the scale"
BARE = {"query": "q", "passage": "p", "grade": 2}
RANGE = "expected [lowest, highest], whole numbers at most 100 apart, such as [0, 3]"
REFUSED: list[tuple[dict[str, Any], str | None, str]] = [
    ({"sytem": "x"}, "sytem", "unknown key; did you mean 'system'?"),
    ({"reask": None}, None, "the key 'reask' is missing; add it"),
    ({"id": "other"}, "id", "'other' is not the file's name; rename one of the two"),
    ({"version": "2"}, "version", "expected a whole number, not '2'"),
    ({"version": 0}, "version", "expected at least 1, not 0"),
    ({"summary": "two\nlines"}, "summary", "expected one line of text"),
    ({"system": " "}, "system", "is empty; write a text"),
    ({"system": "{scael}"}, "system", "has no variable {scael}; did you mean 'scale'? (write braces as {{ and }})"),
    ({"reask": "Again."}, "reask", "lacks {problem}; put it where the problem belongs"),
    ({"user": "{query}"}, "user", "lacks {passage}; put it where the passage belongs"),
    ({"user": "{passage}"}, "user", "lacks {query}; put it where the query belongs"),
    ({"user": "{query}{passage}{query}"}, "user", "has {query} 2 times; keep one"),
    ({"user": "{q}"}, "user", "has no variable {q}; there are: narrative, passage, query (write braces as {{ and }})"),
    ({"user": "{query} {"}, "user", "has a brace that opens or closes nothing; write braces as {{ and }}"),
    (
        {"user": "<query>{query}</query> {passage}"},
        "user",
        "writes a fence mark itself; drop it, since {query} and {passage} bring theirs",
    ),
    (
        {"user": "{query} {narrative}\n\n{passage}"},
        "user",
        "{narrative} is in the paragraph of {query} or {passage}, and is left out with its paragraph where a "
        "query has none; put empty lines around it",
    ),
    (
        {"scale": {0: "only"}},
        "scale",
        "needs at least two grades, each with its meaning",
    ),
    ({"scale": {0: "a", -1: "b"}}, "scale.-1", "expected at least 0, not -1"),
    ({"scale": {0: "a", "1": "b"}}, "scale.1", "expected a whole number, not '1'"),
    ({"scale": {0: "a", 1: ""}}, "scale.1", "is empty; write a text"),
    ({"examples": {}}, "examples", "expected a list of examples, each with query, passage, reasoning and grade"),
    ({"examples": [{**GRADED, "grade": 3}]}, "examples.0.grade", f"3 is not on the scale 0, 1, 2; {MEND}"),
    ({"examples": [{**GRADED, "grade": "2"}]}, "examples.0.grade", "expected a whole number, not '2'"),
    ({"examples": [{**GRADED, "Grade": 2}]}, "examples.0.Grade", "unknown key; did you mean 'grade'?"),
    ({"examples": [{"query": "q"}]}, "examples.0", "the key 'passage' is missing; add it"),
    (
        {"examples": [{"user": "u", "assistant": "Mark: 3"}]},
        "examples.0.assistant",
        f'"Mark" is 3, which is not on the scale 0, 1, 2; {MEND}',
    ),
    ({"examples": [{"user": "u", "grade": 2}]}, "examples.0.grade", "unknown key; there are: assistant, user"),
    ({"examples": [{**GRADED, "reasoning": "so \ud800"}]}, "examples.0.reasoning", HALF),
    ({"examples": [{"user": "u", "assistant": "\udfff Mark: 2"}]}, "examples.0.assistant", HALF),
    ({"system": "\ud83d{scale}"}, "system", HALF),
    ({"scale": {0: "a", 1: "\ude00"}}, "scale.1", HALF),
    ({"language": "\ud800"}, "language", HALF),
    ({"answer": {"reasoning": "Why", "grade": "Mark\ud800"}}, "answer.grade", HALF),
    ({"answer": {"reasoning": "Why"}}, "answer", "the key 'grade' is missing; add it"),
    (
        {"answer": {"reasoning": "Why", "grade": "Mark", "aliases": ["mark"]}},
        "answer",
        "'mark' is named twice (case does not count); name it once",
    ),
    (
        {"answer": {"grade": "Mark", "aspects": {"mark": [0, 3]}}},
        "answer",
        "'mark' is named twice (case does not count); name it once",
    ),
    (
        {"answer": {"reasoning": "M", "grade": "Mark", "aspects": {"m": [0, 3]}}},
        "answer",
        "'m' is named twice (case does not count); name it once",
    ),
    ({"answer": {"grade": "Mark", "aspects": {"M": [3, 0]}}}, "answer.aspects.M", RANGE),
    ({"answer": {"grade": "Mark", "aspects": {"M": [0]}}}, "answer.aspects.M", RANGE),
    ({"answer": {"grade": "Mark", "aspects": {"M": [0, 101]}}}, "answer.aspects.M", RANGE),
    (
        {"answer": {"grade": "Mark", "aspects": ["M"]}},
        "answer.aspects",
        "expected keys and their values, {key: value}, not ['M']",
    ),
    ({"examples": [BARE]}, "examples.0", "the key 'reasoning' is missing; add it"),
    ({"illustrations": [BARE]}, "illustrations.0", "the key 'reasoning' is missing; add it"),
    (
        {"names": {0: "No", 1: "Yes"}},
        "names",
        "has the grades 0, 1, and scale: has 0, 1, 2; name each grade of the scale",
    ),
    (
        {"names": {0: "No", 1: "Yes", 3: "Very"}},
        "names",
        "has the grades 0, 1, 3, and scale: has 0, 1, 2; name each grade of the scale",
    ),
    ({"names": {0: "No", 1: "", 2: "Very"}}, "names.1", "expected one line of text"),
    (
        {"answer": {"grade": "Mark"}},
        "examples.0.reasoning",
        "would not be shown, as answer: names no reasoning; drop this key",
    ),
    (
        {"examples": [{**GRADED, "aspects": {"M": 1}}]},
        "examples.0.aspects.M",
        "there is no such aspect; the prompt asks for none",
    ),
    (
        {**ASPECTS, "examples": [{**BARE, "aspects": {"M": 1, "Trsut": 3}}]},
        "examples.0.aspects.Trsut",
        "there is no such aspect; did you mean 'Trust'?",
    ),
    (
        {**ASPECTS, "examples": [{**BARE, "aspects": {"M": 1}}]},
        "examples.0",
        "lacks the aspect Trust; add it under aspects:",
    ),
    ({**ASPECTS, "examples": [BARE]}, "examples.0", "lacks the aspect M; add it under aspects:"),
    (
        {**ASPECTS, "examples": [{**BARE, "aspects": {"M": 3, "Trust": 3}}]},
        "examples.0.aspects.M",
        f"3 is not on the scale 1, 2; {MEND}",
    ),
    (
        {"answer": {"reasoning": "Why", "grade": "Mark:"}},
        "answer.grade",
        "expected a word or a few, of letters, digits, spaces, '_' and '-'",
    ),
]


@pytest.mark.parametrize(("change", "place", "words"), REFUSED, ids=lambda value: str(value)[:40])
def test_a_faulty_prompt_is_refused_with_its_place(
    tmp_path: Path, change: dict[str, Any], place: str | None, words: str
) -> None:
    path = write(tmp_path, changed(**change))
    with pytest.raises(InputError) as error:
        read_prompt(path)
    assert error.value.message == (f"{place}: {words}" if place else words)
    # The line of the innermost key that the file has, found in the text without a YAML reader.
    lines = path.read_text(encoding="utf-8").splitlines()
    line = 1
    if place:
        top, _, inner = place.partition(".")
        line = next(number for number, text in enumerate(lines, start=1) if text.startswith(f"{top}:"))
        key = inner.rpartition(".")[2]
        # An item of a list begins with a dash.
        wanted = "- " if place in ("examples.0", "illustrations.0") else key
        line += next((n for n, text in enumerate(lines[line:], start=1) if key and wanted in text.split(":")[0]), 0)
    assert error.value.line == line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: holds no prompt; expected keys such as id, scale, system, user, answer"),
        ("- a", ":1: holds no prompt; expected keys such as id, scale, system, user, answer"),
        ("id: a\nid: b", ":2: the key 'id' occurs twice; keep one"),
    ],
)
def test_a_file_that_holds_no_prompt(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(InputError) as error:
        read_prompt(tmp_path / "mine.yaml")
    assert str(error.value) == f"{tmp_path / 'mine.yaml'}{message}"


# ---- finding prompts


def test_a_workspaces_own_prompt_comes_first(tmp_path: Path) -> None:
    assert load_prompt("quati-pt", tmp_path).path == BUNDLED["quati-pt"].path
    assert load_prompt("quati-pt") == BUNDLED["quati-pt"]
    own = write(tmp_path, changed(id="quati-pt"), "prompts/quati-pt.yaml")
    assert load_prompt("quati-pt", tmp_path).path == own


def test_a_prompt_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, MINE, "drafts/mine.yaml")
    assert load_prompt("drafts/mine.yaml", tmp_path).path == path
    assert load_prompt(str(path), Path("/elsewhere")).path == path
    monkeypatch.chdir(tmp_path)
    assert load_prompt("drafts/mine.yaml").id == "mine"


def test_a_prompt_that_is_not_there(tmp_path: Path) -> None:
    write(tmp_path, MINE, "prompts/mine.yaml")
    with pytest.raises(ConfigError) as error:
        load_prompt("quati-tp", tmp_path)
    assert str(error.value) == "there is no prompt 'quati-tp'; did you mean 'quati-pt'?"
    with pytest.raises(ConfigError, match="did you mean 'mine'"):
        load_prompt("min", tmp_path)
    with pytest.raises(InputError, match=r"drafts/x\.yaml: there is no such file; name another, or one of"):
        load_prompt("drafts/x.yaml", tmp_path)
