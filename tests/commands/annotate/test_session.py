"""What a session opens with: scale, meanings, guidelines, version, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import ConfigError, InputError
from quati_pool.judging.prompts import load_prompt
from quati_pool.labels.labelers import people_definition
from tests.commands.annotate.people_at_work import collection

GPT: dict[str, Any] = {"model": "gpt-4o-2024-11-20", "prompt": "quati-pt"}


def test_people_see_the_scale_of_the_first_judge_that_has_a_prompt(tmp_path: Path) -> None:
    judges = {"lexical": {"judge": "lexical"}, "gpt-4o": GPT, "other": {**GPT, "prompt": "umbrela-en"}}
    prompt = load_prompt("quati-pt")
    with AnnotationSession.open(collection(tmp_path, judges=judges)) as session:
        assert [(found.grade, found.name) for found in session.scale] == [
            (0, "Irrelevant"), (1, "Relevant"), (2, "Highly relevant"), (3, "Perfectly relevant"),
        ]  # fmt: skip
        for found in session.scale:
            assert found.meaning == prompt.scale[found.grade].strip()
            assert found.example is not None
            assert found.example.grade == found.grade


def test_without_a_prompt_there_are_the_grades_names_only(tmp_path: Path) -> None:
    with AnnotationSession.open(collection(tmp_path, grades={0: "no", 1: "yes"})) as session:
        assert [(found.grade, found.name, found.meaning, found.example) for found in session.scale] == [
            (0, "no", None, None), (1, "yes", None, None),
        ]  # fmt: skip


def test_a_prompt_of_another_scale_is_refused_in_one_line(tmp_path: Path) -> None:
    path = collection(tmp_path, grades={0: "no", 1: "yes"}, annotation={"prompt": "quati-pt"})
    with pytest.raises(ConfigError, match="explains the grades 0, 1, 2, 3, and grades: has 0, 1; name a prompt"):
        AnnotationSession.open(path)


def test_an_unknown_prompt_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no prompt 'quati-p'"):
        AnnotationSession.open(collection(tmp_path, annotation={"prompt": "quati-p"}))


def test_guidelines_are_read_again_when_they_change(tmp_path: Path) -> None:
    (tmp_path / "guia.md").write_text("# Antes", encoding="utf-8")
    with AnnotationSession.open(collection(tmp_path, annotation={"guidelines": "guia.md"})) as session:
        version = session.version
        assert session.guidelines is not None
        before = session.guidelines
        (tmp_path / "guia.md").write_text("# Depois, e mais", encoding="utf-8")
        assert session.guidelines.text == "# Depois, e mais"
        assert session.guidelines.sha != before.sha
    with AnnotationSession.open(tmp_path / "pool.yaml") as session:
        assert session.version == version  # a corrected comma makes nobody's grades history


def test_guidelines_that_cannot_be_read_are_told_at_once(tmp_path: Path) -> None:
    path = collection(tmp_path, annotation={"guidelines": "guia.md"})
    with pytest.raises(InputError, match=r"guia.md: there is no such file; write it, or drop annotation.guidelines"):
        AnnotationSession.open(path)
    (tmp_path / "guia.md").write_bytes(b"# um\nlinha \xff\n")
    with pytest.raises(InputError, match=r"guia.md:2: is not UTF-8"):
        AnnotationSession.open(path)
    (tmp_path / "guia.md").unlink()
    (tmp_path / "guia.md").mkdir()
    with pytest.raises(InputError, match=r"guia.md: is a folder"):
        AnnotationSession.open(path)


def versions(folder: Path, **settings: Any) -> str:
    with AnnotationSession.open(collection(folder, **settings)) as session:
        assert session.store.definition(session.version) == people_definition(session.config)
        return session.version


def test_a_version_holds_what_changes_grades_and_nothing_else(tmp_path: Path) -> None:
    usual = versions(tmp_path, judges={"gpt-4o": GPT})
    assert usual == versions(tmp_path, annotation={"prompt": "quati-pt", "lease": 5, "idle": 30, "language": "es"})
    assert usual == versions(tmp_path), "a judge that is added later must not make history of people's grades"
    assert usual == versions(tmp_path, grades={0: "a", 1: "b", 2: "c", 3: "d"}), "nor must another name of a grade"
    others = [versions(tmp_path, annotation={"version": 2}), versions(tmp_path, grades={0: "no", 1: "yes"})]
    assert len({usual, *others}) == 3


def test_narratives_are_read_again_when_the_queries_change(tmp_path: Path) -> None:
    path = collection(tmp_path)
    with AnnotationSession.open(path) as session:
        assert dict(session.narratives) == {}
        (tmp_path / "queries.tsv").write_text(
            "query_id\tquery\tnarrative\nq0\tpergunta q0\tsobre isto\n", encoding="utf-8"
        )
        assert dict(session.narratives) == {"q0": "sobre isto"}


def test_a_desk_opens_without_a_pool_and_says_so_when_it_is_needed(tmp_path: Path) -> None:
    path = collection(tmp_path)
    (tmp_path / "pool.jsonl.gz").unlink()
    with AnnotationSession.open(path) as session, pytest.raises(InputError, match="run: quati-pool build"):
        session.pool_view  # noqa: B018


def test_a_model_can_be_revealed_without_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with AnnotationSession.open(
        collection(tmp_path, judges={"gpt-4o": GPT}, annotation={"reveal": "gpt-4o"})
    ) as session:
        assert session.revealed is not None
        assert session.revealed.name == "gpt-4o"
