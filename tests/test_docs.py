"""README and docs: short where they should be, with links that lead somewhere and commands that exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from quati_pool.cli.main import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OTHERS = [
    *sorted({*ROOT.glob("*.md")} - {*PAGES}),
    *sorted(ROOT.glob("data/**/*.md")),
    *sorted(ROOT.glob("prompts/*.md")),
]
PICTURES = ROOT / "data" / "pictures"


def without_code(text: str) -> str:
    """The prose of a page: no fenced block, no indented block, no code span."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^ {4}.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`]*`", "", text)


def anchors(page: Path) -> set[str]:
    """What ``page#…`` may name: the headings as GitHub and GitLab spell them."""
    headings = re.findall(r"^#+ +(.+)$", without_code(page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def code_lines(text: str) -> Iterator[str]:
    """The lines of fenced and indented blocks, without indentation."""
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield line.strip()


def shown_commands(text: str) -> Iterator[list[str]]:
    """The words after ``quati-pool`` of every command in a code block and every code span."""
    for line in code_lines(text):
        for part in re.split(r"&&|\|", line):
            command = re.match(r"\s*(?:\$ +)?(?:\S+/)?quati-pool (.+)", part)
            if command:
                yield shlex.split(command[1], comments=True)
    for span in re.findall(r"`quati-pool ([^`]+)`", text):
        words = re.split(r"[\s,]+", span.replace("\\|", "|"))
        # `export qrels|beir` stands for two commands.
        choices = words[1].split("|") if len(words) > 1 else []
        yield from ([words[0], choice, *words[2:]] for choice in choices) if choices else [words]


@cache
def tree() -> Any:
    return typer.main.get_command(app)


def resolved(words: list[str]) -> tuple[Any, list[str]]:
    """The command that these words name, and the words after its name."""
    command = tree()
    for place, word in enumerate(words):
        if not subcommands(command) or word.startswith("-"):
            return command, words[place:]
        if word not in subcommands(command) and command.invoke_without_command:
            return command, words[place:]
        assert word in subcommands(command), f"there is no command quati-pool {' '.join(words[: place + 1])}"
        command = subcommands(command)[word]
    return command, []


def subcommands(command: Any) -> dict[str, Any]:
    """By name, the formats of ``export`` too; empty where the command is no group."""
    if not hasattr(command, "list_commands"):
        return {}
    return {name: command.get_command(None, name) for name in command.list_commands(None)}


def options(command: Any) -> set[str]:
    return {name for each in command.params for name in (*each.opts, *each.secondary_opts)} | {"--help"}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 200


def test_the_contents_page_lists_every_page() -> None:
    contents = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\((\w[\w-]*\.md)\)", contents)) == {
        page.name for page in PAGES if page.parent.name == "docs" and page.name != "README.md"
    }


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.is_file(), f"{page.name} links to {target}"
        assert file.is_relative_to(ROOT)
        assert not anchor or anchor in anchors(file), f"{page.name} links to {target}"


def test_the_readme_lists_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {n: named for n, named in project["optional-dependencies"].items() if n not in ("all", "test", "dev")}
    needed = [*project["dependencies"], *(each for named in extras.values() for each in named)]
    [table] = re.findall(r"^## Dependencies$(.*?)^## ", (ROOT / "README.md").read_text("utf-8"), re.M | re.DOTALL)
    listed = set(re.findall(r"[\w-]+", table.lower()))
    assert {re.split(r"[\[<>=]", each)[0].lower() for each in needed} <= listed
    assert all(f"`[{name}]`" in table for name in extras)


def test_every_picture_is_shown() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert {path.name for path in PICTURES.iterdir()} == set(re.findall(r"data/pictures/([\w-]+\.png)\)", text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_and_option_exists(page: Path) -> None:
    for words in shown_commands(page.read_text(encoding="utf-8")):
        command, rest = resolved(words)
        long = {word.partition("=")[0] for word in rest if word.startswith("--")}
        assert long <= options(command), f"{page.name}: quati-pool {' '.join(words)}"


def test_the_table_of_commands_names_options_that_exist() -> None:
    rows = re.findall(r"^\| (`quati-pool .*?) \| (.*) \|$", (ROOT / "docs" / "commands.md").read_text("utf-8"), re.M)
    assert len(rows) > 15
    for named, does in rows:
        first, *others = re.findall(r"`([^`]+)`", named)
        words = first.removeprefix("quati-pool ").split()
        commands = [resolved(words)[0], *(resolved([words[0], other])[0] for other in others)]
        # A row of a group names options of its commands too.
        commands += [each for command in commands for each in subcommands(command).values()]
        known = set().union(*(options(command) for command in commands))
        assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", does)) <= known, named


def test_the_checks_notice_what_does_not_exist() -> None:
    assert list(shown_commands("    $ quati-pool agree ana  # x\n")) == [["agree", "ana"]]
    assert list(shown_commands("`quati-pool export qrels|beir` and\n")) == [["export", "qrels"], ["export", "beir"]]
    with pytest.raises(AssertionError, match="no command quati-pool export pdf"):
        resolved(["export", "pdf"])
    assert "--no-such-option" not in options(resolved(["agree"])[0])
    assert "--labels" in options(resolved(["agree"])[0])


@pytest.mark.slow
def test_the_readmes_first_leaderboard(tmp_path: Path) -> None:
    """The lines of README, as they are: from an empty folder to a leaderboard."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [block] = re.findall(
        r"((?:^(?:    .*)?\n)*^    quati-pool init mine(?:.*\n)(?:^(?:    .*)?\n)*)", text, re.MULTILINE
    )
    script = "\n".join(line.removeprefix("    ") for line in block.splitlines())
    script = 'quati-pool() { "$PYTHON" -m quati_pool "$@"; }\n' + script
    environment = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert "Leaderboard under lexical" in ran.stdout
    assert (tmp_path / "mine" / "reports" / "evaluation.md").exists()
