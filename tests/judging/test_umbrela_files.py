"""A prompt file of umbrela becomes a prompt of ours that sends the very same messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quati_pool.commands.prompts import import_prompt, read_released
from quati_pool.errors import QuatiPoolError
from quati_pool.judging.prompts import Prompt, read_prompt
from quati_pool.judging.verdict import read_verdict
from quati_pool.records import State
from tests.judging.released_files import write_released_files

# Files of their forms, with words of our own; lines end in a space, as some of theirs do.
ZERO_SHOT = """\
Grade from 0 to 3:\x20
0 = off the subject,\x20
3 = the answer.

Query: {query}
Passage: {passage}

Weigh the match (M) and the trust (T), then settle on a final score (O).
Write no code. Give each score as ##final score: score with no reasons."""
FEW_SHOT = ZERO_SHOT.replace("Query:", "Some examples:\n\n{examples}\n\nQuery:")
SHOWN = ZERO_SHOT.replace(
    "Query: {q", "###\n\nquery: tides\npassage: {{moon}}\n   - indented\n\n##final score: 2\n\nQuery: {q"
)
NAMED_OBJECT = FEW_SHOT[: FEW_SHOT.index("Write no code.")] + "Produce a JSON dictionary (format: o: score)."
OBJECT_OF_ALL = ZERO_SHOT[: ZERO_SHOT.index("Write no code.")] + "Produce a JSON dictionary of scores."
BASIC = """\
Grade it.

{examples}

Give your reasons, and the relevance category alone on the last line.

{query}
{passage}

Why:"""

ROWS = [("tides?", "The moon\npulls.", 3), ("caju {fruit}?", "{query} no", 0), ("tides?", "A town.", 0)]


def their_examples(form: str) -> str:
    """As their script puts examples together: drawn grade by grade, indented as in its source."""
    made = ""
    for query, passage, grade in (ROWS[1], ROWS[2], ROWS[0]):
        answer = f"##final score: {grade}" if form == "line" else f"Output: { {'O': grade} }"
        made += (
            f"\n{' ' * 16}###\n\n{' ' * 16}Query: {query}\n{' ' * 16}Passage: {passage}\n{' ' * 16}{answer}\n{' ' * 16}"
        )
    return made


def their_messages(text: str, query: str, passage: str, examples: str = "") -> list[dict[str, str]]:
    """What their script sends of a .txt file with such text."""
    content = text.strip().format(examples=examples, query=query, passage=passage)
    return [{"role": "system", "content": "You are a helpful assistant."}, {"role": "user", "content": content}]


def write(folder: Path, text: str, name: str = "qrel_zeroshot_bing.txt") -> Path:
    path = folder / name
    if path.suffix == ".yaml":
        data = {"method": path.stem, "system_message": "", "prefix_user": text}
        path.write_text(yaml.safe_dump(data, width=60), encoding="utf-8")
    else:
        path.write_bytes(text.encode())
    return path


def table(folder: Path) -> Path:
    path = folder / "examples.jsonl"
    rows = [json.dumps({"query": q, "passage": p, "relevance": str(n)}) for q, p, n in ROWS]
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def imported(path: Path, examples: Path | None = None, out: str = "mine.yaml") -> Prompt:
    return import_prompt(read_released([path], None, examples), path.parent / out)


PAIRS = [("how high", "The tide is high."), ("", ""), ("{passage}", "{query} {} {examples}"), ('"', " \n</passage>\n")]


@pytest.mark.parametrize("name", ["qrel_zeroshot_bing.txt", "qrel_zeroshot_bing.yaml", "my own.txt"])
@pytest.mark.parametrize("text", [ZERO_SHOT, SHOWN, OBJECT_OF_ALL])
def test_the_messages_are_theirs_letter_by_letter(tmp_path: Path, name: str, text: str) -> None:
    prompt = imported(write(tmp_path, text, name))
    for query, passage in PAIRS:
        assert prompt.messages(query, passage) == their_messages(text, query, passage)
    assert (prompt.fenced, prompt.language, sorted(prompt.scale)) == (False, "en", [0, 1, 2, 3])


@pytest.mark.parametrize(("text", "form"), [(FEW_SHOT, "line"), (NAMED_OBJECT, "object"), (BASIC, "line")])
def test_examples_are_written_as_their_script_writes_them(tmp_path: Path, text: str, form: str) -> None:
    for name in ("qrel_fewshot_bing.txt", "qrel_fewshot_bing.yaml"):
        prompt = imported(write(tmp_path, text, name), table(tmp_path), f"{name[-4:].strip('.')}.yaml")
        for query, passage in PAIRS:
            assert prompt.messages(query, passage) == their_messages(text, query, passage, their_examples(form))


def test_examples_as_a_text_are_taken_as_they_are(tmp_path: Path) -> None:
    shown = tmp_path / "shown.txt"
    shown.write_bytes(b"\n  {one} \xc3\xa9 \n")
    prompt = imported(write(tmp_path, FEW_SHOT), shown)
    assert prompt.messages("q", "p") == their_messages(FEW_SHOT, "q", "p", "\n  {one} é \n")
    (tmp_path / "none.txt").touch()
    assert imported(write(tmp_path, FEW_SHOT), tmp_path / "none.txt", "none.yaml").messages("q", "p") == (
        their_messages(FEW_SHOT, "q", "p")
    )


def test_a_text_file_is_read_as_theirs_is(tmp_path: Path) -> None:
    windows = write(tmp_path, "\ufeff\n" + ZERO_SHOT.replace("\n", "\r\n") + "\r\n \t")
    assert imported(windows).messages("q", "p") == their_messages(ZERO_SHOT, "q", "p")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet="ab: #-'\"{}|>é \t\n\x85\u2028", max_size=30), folded=st.booleans())
def test_any_text_survives_the_yaml(tmp_path: Path, text: str, folded: bool) -> None:
    whole = "x" + text.replace("{", "{{").replace("}", "}}") + "{query}{passage}"
    if folded:
        whole = whole.replace(" ", " \n ")
    path = tmp_path / "any.yaml"
    path.write_text(read_released([write(tmp_path, whole)]).yaml("any"), encoding="utf-8", newline="")
    assert read_prompt(path).messages("q", "p") == their_messages(whole, "q", "p")


def test_texts_with_blanks_at_line_ends_are_written_as_blocks(tmp_path: Path) -> None:
    assert (
        imported(write(tmp_path, SHOWN)).path.read_text(encoding="utf-8").count("user: |-\n  Grade from 0 to 3: \n")
        == 1
    )


def test_the_settings_are_those_of_the_files_time(tmp_path: Path) -> None:
    def parameters(text: str, model: str = "gpt-4o") -> dict[str, object]:
        return dict(read_released([write(tmp_path, text)]).settings(model).parameters)

    penalties = {"frequency_penalty": 0.5, "presence_penalty": 0}
    later = {"output": "text", "temperature": 0.0, "top_p": 1.0, "max_tokens": 100, "extra_body": penalties}
    assert parameters(ZERO_SHOT) == parameters(BASIC.replace("{examples}", "")) == later
    assert parameters(OBJECT_OF_ALL) == {"output": "text", "temperature": None, "max_tokens": 100}
    assert parameters(ZERO_SHOT, "gpt-5-mini") == {"output": "text", "max_tokens": 100, "reasoning_tokens": 3996}


NAMES = {"final score", "final_score", "o", "o_score", "overall", "overall score", "overall_score", "score"}


@pytest.mark.parametrize(
    ("text", "grade", "answers"),
    [
        (ZERO_SHOT, "final score", ["##final score: 2", "##Final Score: 2.", "M: 3\nT: 1\nO: 2\n", '{"O": 2}', "2"]),
        (NAMED_OBJECT.replace("{examples}", ""), "O", ["{'o': 2}", '{"O": 2}', "O: 2"]),
        (OBJECT_OF_ALL, "O", ['{"M": 3, "T": 1, "O": 2}', '{"M": 3, "T": 1, "overall_score": "2"}']),
        (BASIC.replace("{examples}", ""), "relevance category", ["It fits.\nRelevance category: 2", "2"]),
    ],
)
def test_grades_are_read_where_their_script_finds_them(
    tmp_path: Path, text: str, grade: str, answers: list[str]
) -> None:
    prompt = imported(write(tmp_path, text))
    assert prompt.answer.grade == grade
    assert {name.lower() for name in (grade, *prompt.answer.aliases)} == {*NAMES, "relevance category"}
    for answer in answers:
        assert read_verdict(answer, prompt.read_with()).relevance == 2, answer
    # Their script takes 0 for the first two, and 2 and 1 for the others.
    for answer in ("I cannot tell.", "", "final score: 2 or 3", "It is 1 of the best.\nscore 2"):
        assert read_verdict(answer, prompt.read_with()).status is State.unparsed


def test_the_scores_that_are_asked_for_beside_the_grade_are_aspects(tmp_path: Path) -> None:
    prompt = imported(write(tmp_path, OBJECT_OF_ALL))
    assert prompt.schema()["required"] == ["M", "T", "O"]
    for answer in (
        '{"M": 3, "T": 1, "O": 2}',
        "{'M': 3, 'T': 1, 'O': 2}",
        '```json\n{"M": 3, "T": 1, "overall": 2}\n```',
    ):
        verdict = read_verdict(answer, prompt.read_with())
        assert (verdict.relevance, verdict.aspects) == (2, {"M": 3, "T": 1}), answer
    verdict = read_verdict('{"O": 2}', prompt.read_with())
    assert (verdict.relevance, verdict.aspects) == (2, {})
    assert imported(write(tmp_path, ZERO_SHOT), None, "line.yaml").schema()["required"] == ["final score"]


def test_asking_again_names_the_form(tmp_path: Path) -> None:
    def asked(text: str, out: str) -> str:
        return imported(write(tmp_path, text), None, out).reask("?", "no number")[1]["content"]

    assert asked(ZERO_SHOT, "a.yaml") == (
        "No grade could be read from your answer: no number.\n"
        "Answer again with nothing but ##final score: n, where n is a single whole number from 0 to 3."
    )
    assert 'nothing but {"M": n, "T": n, "O": n}, where' in asked(OBJECT_OF_ALL, "b.yaml")
    assert "nothing but Relevance category: n, where" in asked(BASIC.replace("{examples}", ""), "c.yaml")


def test_what_is_particular_is_noted(tmp_path: Path) -> None:
    assert read_released([write(tmp_path, ZERO_SHOT)]).notes == ()
    [note] = read_released([write(tmp_path, BASIC.replace("{examples}", ""))]).notes
    assert note.startswith("qrel_zeroshot_bing.txt asks for reasons and then a grade alone on the last line")
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump({"prefix_user": ZERO_SHOT, "system_message": "Be strict."}))
    [note] = read_released([path]).notes
    assert (
        note
        == "own.yaml has a system_message, which their script does not send: it sends 'You are a helpful assistant.'"
    )


def refused(*paths: Path, examples: Path | None = None) -> str:
    with pytest.raises(QuatiPoolError) as error:
        read_released(paths, None, examples)
    assert "\n" not in str(error.value)
    return str(error.value)


BAD: list[tuple[str, str, str]] = [
    ("a.txt", "Query: {query}", "is not a prompt of umbrela: has no {passage}"),
    ("a.txt", "{query} {passage} {", "has a brace that opens or closes nothing; write braces as {{ and }}"),
    ("a.txt", "{query} {passage} {topic}", "has no variable {topic}; there are: examples, passage, query"),
    ("a.txt", "{query!r} {passage}", "has no variable {query!r}; "),
    ("a.yaml", "id: x\nuser: y\n", "is not a prompt of umbrela: has no text prefix_user"),
    ("a.yaml", "- {query}", "is not a prompt of umbrela: has no text prefix_user"),
    ("a.yaml", "prefix_user: {", ":1: is not YAML: "),
    ("a", "\udcff", "is not UTF-8; save it as UTF-8"),
]


@pytest.mark.parametrize(("name", "text", "message"), BAD, ids=lambda value: value[:30])
def test_a_file_that_is_no_prompt_of_theirs(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode(errors="surrogateescape"))
    assert refused(path).startswith(f"{path}{message}" if message.startswith(":") else f"{path}: {message}")


def test_examples_that_are_missing_or_unfit(tmp_path: Path) -> None:
    few, zero = write(tmp_path, FEW_SHOT, "qrel_fewshot_bing.txt"), write(tmp_path, ZERO_SHOT)
    assert refused(few).startswith(
        f"{few}: has a place {{examples}}, which their script fills from qrels; add --examples"
    )
    assert refused(zero, examples=table(tmp_path)) == f"{zero}: has no place {{examples}}; drop --examples"
    rows = tmp_path / "rows.tsv"
    rows.write_text("query\tpassage\trelevance\nq\tp\t4\n")
    assert refused(few, examples=rows) == f"{rows}:2: relevance 4 is not on the scale 0, 1, 2, 3"
    rows.write_text("query\tpassage\trelevance\nq\tp\thigh\n")
    assert refused(few, examples=rows).startswith(f"{rows}:2: relevance 'high' is not an integer; ")
    other = tmp_path / "rows.xlsx"
    assert refused(few, examples=other).startswith(f"{other}: holds no examples; expected .tsv, .csv or .jsonl")
    quati = write_released_files(tmp_path / "quati")
    assert refused(quati, examples=rows) == "the Quati files bring their own examples; drop --examples"


def test_a_folder_is_told_by_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "prompts"
    folder.mkdir()
    one = write(folder, ZERO_SHOT)
    (folder / "__init__.py").touch()
    assert read_released([folder]).source == one.name
    two = write(folder, ZERO_SHOT, "qrel_zeroshot_basic.yaml")
    assert refused(folder) == f"there are several prompts ({two}, {one}); name the one you want"
    two.unlink()
    write_released_files(folder)
    assert refused(folder).startswith(f"{folder}: holds both the Quati files (")
    assert refused(one, folder / "config.json").startswith(
        f"{one}, {folder / 'config.json'}: holds both the Quati files ("
    )
