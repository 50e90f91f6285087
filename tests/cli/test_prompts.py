"""``quati-pool prompts``, ``prompts show`` and ``prompts import``, through the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from quati_pool.cli import prompts
from quati_pool.errors import QuatiPoolError
from quati_pool.judging.base import Setting
from quati_pool.judging.prompts import bundled_prompts, load_prompt
from quati_pool.project.config import load_config
from quati_pool.registry import JUDGES
from tests.judging.released_files import their_messages, write_released_files

IDS = ["binary-pt", "quati-en", "quati-es", "quati-pt", "umbrela-style-en"]


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, status: int = 0) -> tuple[str, str]:
    """What the command wrote to stdout and stderr; an error that main() would print is raised."""
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
    # With one command alone, typer would take its name for an argument.
    app.callback()(lambda: None)
    prompts.register(app)
    done = CliRunner().invoke(app, ["prompts", *arguments])
    if isinstance(done.exception, QuatiPoolError):
        raise done.exception
    assert done.exit_code == status, done.output
    return done.stdout, done.stderr


def test_the_list_in_every_format() -> None:
    assert [item["id"] for item in json.loads(run("--format", "json")[0])["prompts"]] == IDS
    rows = list(csv.DictReader(io.StringIO(run("--format", "csv")[0])))
    assert [row["ID"] for row in rows] == IDS
    assert (rows[0]["Language"], rows[0]["Grades"], rows[0]["From"]) == ("pt", "0, 1", "quati-pool")
    for how in ("table", "markdown", "latex"):
        out, err = run("--format", how)
        assert [name in out for name in IDS] == [True] * 5
        assert err == ""


def test_the_list_as_json_says_what_a_prompt_is() -> None:
    found = json.loads(run("--format", "json")[0])["prompts"][3]
    prompt = next(prompt for prompt in bundled_prompts() if prompt.id == "quati-pt")
    assert (found["sha"], found["version"], found["fenced"], found["examples"]) == (prompt.sha, 1, True, 2)
    assert list(found["scale"]) == ["0", "1", "2", "3"]


def test_a_workspaces_prompts_are_listed_and_a_faulty_one_hides_no_other(workspace: Path) -> None:
    (workspace / "ws" / "prompts").mkdir(parents=True)
    good = load_prompt("quati-pt").path.read_text(encoding="utf-8")
    own = workspace / "ws" / "prompts"
    (own / "quati-pt.yaml").write_text(good, encoding="utf-8")
    (own / "bad.yaml").write_text("id: bad\nsytem: x\n", encoding="utf-8")
    found = {item["id"]: item for item in json.loads(run("-c", "ws/pool.yaml", "--format", "json")[0])["prompts"]}
    assert sorted(found) == ["bad", *IDS]
    assert found["quati-pt"]["file"] == "ws/prompts/quati-pt.yaml"
    assert found["bad"]["problem"] == "ws/prompts/bad.yaml:2: sytem: unknown key; did you mean 'system'?"
    assert "ws/prompts/bad.yaml:2" in run("-c", "ws/pool.yaml")[0]


def test_show_prints_the_exact_messages() -> None:
    pair = ("--query", "onde fica o Jalapão", "--passage", "O Jalapão </passage> fica no Tocantins.")
    messages = load_prompt("quati-pt").messages(pair[1], pair[3])
    data = json.loads(run("show", "quati-pt", *pair, "--format", "json")[0])
    assert data["messages"] == messages
    assert data["schema"] == load_prompt("quati-pt").schema()
    readable = run("show", "quati-pt", *pair, "--full")[0]
    assert readable == "\n\n".join(f"── {m['role']} ──\n{m['content']}" for m in messages) + "\n"
    rows = list(csv.reader(io.StringIO(run("show", "quati-pt", *pair, "--format", "csv")[0])))
    assert rows[1:] == [[message["role"], message["content"]] for message in messages]


def test_show_says_where_a_narrative_goes_unused(workspace: Path) -> None:
    out, err = run("show", "binary-pt", "--query", "q", "--passage", "p", "--narrative", "n", "--full")
    assert err == "note: binary-pt does not use the narrative\n"
    assert "<narrative>" not in out
    text = load_prompt("binary-pt").path.read_text(encoding="utf-8")
    user = "  {query}\n\n  {narrative}\n"
    (workspace / "own.yaml").write_text(
        text.replace("id: binary-pt", "id: own").replace("  {query}\n", user), encoding="utf-8"
    )
    out, err = run("show", "own.yaml", "--query", "q", "--passage", "p", "--narrative", "n", "--full")
    assert err == ""
    assert "<narrative>\nn\n</narrative>" in out


def test_show_of_what_is_not_there() -> None:
    with pytest.raises(QuatiPoolError, match=r"^there is no prompt 'quati-p'; did you mean 'quati-pt'\?$"):
        run("show", "quati-p", "--query", "q", "--passage", "p")


def test_options_before_a_subcommand_are_refused_rather_than_ignored() -> None:
    for option in (("-c", "x.yaml"), ("--format", "json")):
        _, err = run(*option, "show", "quati-pt", "--query", "q", "--passage", "p", status=2)
        assert "put options after show" in err


def test_import_writes_a_prompt_that_show_prints(workspace: Path) -> None:
    write_released_files(workspace / "quati")
    out, err = run("import", "quati", "-o", "prompts/theirs.yaml", "--language", "pt-BR")
    assert out == (
        "wrote prompts/theirs.yaml: read it with: quati-pool prompts show prompts/theirs.yaml --query … --passage …\n"
    )
    assert "not fenced" in err
    shown = json.loads(run("show", "theirs", "--query", "q", "--passage", "p", "--format", "json")[0])
    assert shown["messages"] == their_messages("q", "p")
    with pytest.raises(QuatiPoolError, match="is there already"):
        run("import", "quati", "-o", "prompts/theirs.yaml")


POOL = """\
name: mine  # kept
corpus: {path: corpus.jsonl}
queries: {path: queries.tsv}
systems:
  bm25s: {retriever: bm25s}

judges:
  lexical: {judge: lexical}   # the floor
measures: [nDCG@10]
"""
ENTRY = """\
  theirs:
    model: gpt-4-1106-preview
    prompt: theirs
    output: text
    temperature: 0.0
    top_p: 1.0
    max_tokens: 500
    extra_body: {frequency_penalty: 0, presence_penalty: 0}
"""


def test_with_settings_prints_the_judge_to_paste(workspace: Path) -> None:
    write_released_files(workspace / "quati")
    (workspace / "pool.yaml").write_text(POOL)
    out, err = run("import", "quati", "-o", "prompts/theirs.yaml", "--with-settings")
    assert out.split("\n", 1)[1] == f"for pool.yaml (--judge NAME adds it there):\n\njudges:\n{ENTRY}"
    assert "quati-pool judge theirs --reask 0" in err
    assert (workspace / "pool.yaml").read_text() == POOL


def test_with_settings_and_a_name_adds_the_judge(workspace: Path) -> None:
    write_released_files(workspace / "quati")
    pool = workspace / "ws" / "pool.yaml"
    pool.parent.mkdir()
    pool.write_bytes(b"\xef\xbb\xbf" + POOL.replace("\n", "\r\n").encode())
    pool.chmod(0o640)
    settings = ("--with-settings", "--judge", "theirs", "-c", "ws/pool.yaml")
    run("import", "quati", "-o", "ws/prompts/theirs.yaml", *settings)
    grown = POOL.replace("measures:", f"{ENTRY}measures:").replace("\n", "\r\n")
    assert pool.read_bytes() == b"\xef\xbb\xbf" + grown.encode()
    assert pool.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in pool.parent.iterdir()) == ["pool.yaml", "prompts"]
    config = load_config(pool)
    made = JUDGES.get("llm")(config.judges["theirs"].parameters, Setting(folder=pool.parent, grades=config.grades))
    assert made.model.prompt.messages("q", "p") == their_messages("q", "p")


def test_the_prompt_of_the_judge_is_found_wherever_it_was_written(workspace: Path) -> None:
    write_released_files(workspace / "quati")
    (workspace / "ws").mkdir()
    (workspace / "ws" / "pool.yaml").write_text(POOL)
    settings = ("--with-settings", "--judge", "other", "-c", "ws/pool.yaml", "--model", "o3-mini")
    run("import", "quati", "-o", "elsewhere/theirs.yaml", *settings)
    parameters = load_config(workspace / "ws" / "pool.yaml").judges["other"].parameters
    assert (parameters.prompt, parameters.model) == ("../elsewhere/theirs.yaml", "o3-mini")
    # What a model that reasons does not take is left out.
    assert (parameters.output, parameters.max_tokens, parameters.top_p, parameters.extra_body) == (
        "text",
        500,
        None,
        {},
    )


@pytest.mark.parametrize(
    ("pool", "name", "message"),
    [
        (POOL, "lexical", "pool.yaml:8: judges.lexical: is there already; choose another name with --judge"),
        (POOL, "a b", "pool.yaml: the judge cannot be added (judges.a b: expected a name of letters, digits, "),
        (POOL.replace("nDCG@10]", "nDCG@10"), "new", "pool.yaml:10: is not YAML: "),
        (
            f"{POOL}...\n".replace("judges:\n  lexical: {judge: lexical}   # the floor\n", ""),
            "new",
            "pool.yaml: nothing",
        ),
        (
            f"{POOL}labels: {{files: {{new: new.tsv}}}}\n",
            "new",
            "pool.yaml: the judge cannot be added (labels.files.new",
        ),
        (None, "new", "pool.yaml: there is no such file; run: quati-pool init DIR"),
    ],
)
def test_a_judge_that_cannot_be_added_leaves_all_as_it_was(
    workspace: Path, pool: str | None, name: str, message: str
) -> None:
    write_released_files(workspace / "quati")
    if pool is not None:
        (workspace / "pool.yaml").write_text(pool)
    with pytest.raises(QuatiPoolError) as error:
        run("import", "quati", "-o", "prompts/theirs.yaml", "--with-settings", "--judge", name)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert not (workspace / "prompts").exists()
    assert pool is None or (workspace / "pool.yaml").read_text() == pool


@pytest.mark.parametrize("option", ["--judge", "--model"])
def test_settings_alone_take_a_judge(workspace: Path, option: str) -> None:
    write_released_files(workspace / "quati")
    assert "go with --with-settings" in run("import", "quati", "-o", "theirs.yaml", option, "x", status=2)[1]
    assert not (workspace / "theirs.yaml").exists()


@pytest.mark.parametrize("command", [[], ["show"], ["import"]])
def test_help_has_an_example(command: list[str]) -> None:
    assert f"Example: quati-pool {' '.join(['prompts', *command])}" in " ".join(run(*command, "--help")[0].split())
