"""What a desk opens with: scale, meanings, guidelines, version, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.annotate.session import Desk
from quati_pool.errors import ConfigError, InputError
from quati_pool.judging.prompts import load_prompt
from quati_pool.labels.labelers import people_definition
from tests.commands.annotate.people_at_work import collection

GPT: dict[str, Any] = {"model": "gpt-4o-2024-11-20", "prompt": "quati-pt"}


def test_people_see_the_scale_of_the_first_judge_that_has_a_prompt(tmp_path: Path) -> None:
    judges = {"lexical": {"judge": "lexical"}, "gpt-4o": GPT, "other": {**GPT, "prompt": "umbrela-en"}}
    prompt = load_prompt("quati-pt")
    with Desk.open(collection(tmp_path, judges=judges)) as desk:
        assert [(found.grade, found.name) for found in desk.scale] == [
            (0, "Irrelevant"), (1, "Relevant"), (2, "Highly relevant"), (3, "Perfectly relevant"),
        ]  # fmt: skip
        for found in desk.scale:
            assert found.meaning == prompt.scale[found.grade].strip()
            assert found.example is not None
            assert found.example.grade == found.grade


def test_without_a_prompt_there_are_the_grades_names_only(tmp_path: Path) -> None:
    with Desk.open(collection(tmp_path, grades={0: "no", 1: "yes"})) as desk:
        assert [(found.grade, found.name, found.meaning, found.example) for found in desk.scale] == [
            (0, "no", None, None), (1, "yes", None, None),
        ]  # fmt: skip


def test_a_prompt_of_another_scale_is_refused_in_one_line(tmp_path: Path) -> None:
    path = collection(tmp_path, grades={0: "no", 1: "yes"}, annotation={"prompt": "quati-pt"})
    with pytest.raises(ConfigError, match="explains the grades 0, 1, 2, 3, and grades: has 0, 1; name a prompt"):
        Desk.open(path)


def test_an_unknown_prompt_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no prompt 'quati-p'"):
        Desk.open(collection(tmp_path, annotation={"prompt": "quati-p"}))


def test_guidelines_are_read_again_when_they_change(tmp_path: Path) -> None:
    (tmp_path / "guia.md").write_text("# Antes", encoding="utf-8")
    with Desk.open(collection(tmp_path, annotation={"guidelines": "guia.md"})) as desk:
        version = desk.version
        assert desk.guidelines is not None
        before = desk.guidelines
        (tmp_path / "guia.md").write_text("# Depois, e mais", encoding="utf-8")
        assert desk.guidelines.text == "# Depois, e mais"
        assert desk.guidelines.sha != before.sha
    with Desk.open(tmp_path / "pool.yaml") as desk:
        assert desk.version == version  # a corrected comma makes nobody's grades history


def test_guidelines_that_cannot_be_read_are_told_at_once(tmp_path: Path) -> None:
    path = collection(tmp_path, annotation={"guidelines": "guia.md"})
    with pytest.raises(InputError, match=r"guia.md: there is no such file; write it, or drop annotation.guidelines"):
        Desk.open(path)
    (tmp_path / "guia.md").write_bytes(b"# um\nlinha \xff\n")
    with pytest.raises(InputError, match=r"guia.md:2: is not UTF-8"):
        Desk.open(path)
    (tmp_path / "guia.md").unlink()
    (tmp_path / "guia.md").mkdir()
    with pytest.raises(InputError, match=r"guia.md: is a folder"):
        Desk.open(path)


def versions(folder: Path, **settings: Any) -> str:
    with Desk.open(collection(folder, **settings)) as desk:
        assert desk.store.definition(desk.version) == people_definition(desk.config)
        return desk.version


def test_a_version_holds_what_changes_grades_and_nothing_else(tmp_path: Path) -> None:
    usual = versions(tmp_path, judges={"gpt-4o": GPT})
    assert usual == versions(tmp_path, annotation={"prompt": "quati-pt", "lease": 5, "idle": 30, "language": "es"})
    assert usual == versions(tmp_path), "a judge that is added later must not make history of people's grades"
    assert usual == versions(tmp_path, grades={0: "a", 1: "b", 2: "c", 3: "d"}), "nor must another name of a grade"
    others = [versions(tmp_path, annotation={"version": 2}), versions(tmp_path, grades={0: "no", 1: "yes"})]
    assert len({usual, *others}) == 3


def test_narratives_are_read_again_when_the_queries_change(tmp_path: Path) -> None:
    path = collection(tmp_path)
    with Desk.open(path) as desk:
        assert dict(desk.narratives) == {}
        (tmp_path / "queries.tsv").write_text(
            "query_id\tquery\tnarrative\nq0\tpergunta q0\tsobre isto\n", encoding="utf-8"
        )
        assert dict(desk.narratives) == {"q0": "sobre isto"}


def test_a_desk_opens_without_a_pool_and_says_so_when_it_is_needed(tmp_path: Path) -> None:
    path = collection(tmp_path)
    (tmp_path / "pool.jsonl.gz").unlink()
    with Desk.open(path) as desk, pytest.raises(InputError, match="run: quati-pool build"):
        desk.frame  # noqa: B018


def test_a_model_can_be_revealed_without_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Desk.open(collection(tmp_path, judges={"gpt-4o": GPT}, annotation={"reveal": "gpt-4o"})) as desk:
        assert desk.revealed is not None
        assert desk.revealed.name == "gpt-4o"
