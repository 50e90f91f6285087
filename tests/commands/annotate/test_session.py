"""What a session opens with: scale, meanings, guidelines, version, and what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.annotate.session import AnnotationSession, GradeMeaning
from quati_pool.errors import ConfigError, InputError
from quati_pool.judging.prompts import load_prompt
from quati_pool.labels.labelers import people_definition
from tests.commands.annotate.people_at_work import collection

GPT: dict[str, Any] = {"model": "gpt-4o-2024-11-20", "prompt": "quati-pt"}


# The first sentences of the scales of quati-en, quati-es and quati-pt.
NAMES = {
    "en": ["Irrelevant", "Relevant", "Highly relevant", "Perfectly relevant"],
    "es": ["Irrelevante", "Relevante", "Muy relevante", "Perfectamente relevante"],
    "pt": ["Irrelevante", "Relevante", "Muito relevante", "Perfeitamente relevante"],
}
# Of people, and of judges that ask a model with a bundled prompt, computed at commit a77e60f: a grade that was stored
# under these is read under these only.
PEOPLE = "c279e0af9d79b86fa93030657f42df1c30ec88ff290bba40683b4f4ca5e692aa"
JUDGES = {
    "quati-pt": "77be334468bc04cd367f813322e6c705624bf35bdd353267395627780e2a5444",
    "quati-en": "45e690965dfcab8224ddfdf8dff9d95c4ead6c076cc1b04bf166dceb82df25c6",
    "quati-es": "4b9c6c502388af38394f6e860191150d9776d0d5a33b43855f09bb9f5a5e406b",
    "umbrela-style-en": "89115bbfe94d119cc85f6d44c5ac77f02d85f442fbd13a38bbadcbf66d6d32fd",
}


def test_grades_that_were_stored_before_prompts_had_names_are_current(tmp_path: Path) -> None:
    with AnnotationSession.open(
        collection(tmp_path, judges={name: {**GPT, "prompt": name} for name in JUDGES})
    ) as session:
        assert session.version == PEOPLE
        assert {name: session.grading.labeler(name).version for name in JUDGES} == JUDGES


def names(scale: Sequence[GradeMeaning]) -> list[str]:
    assert [found.grade for found in scale] == list(range(len(scale)))
    return [found.name for found in scale]


def test_people_see_the_scale_of_the_first_judge_that_has_a_prompt_in_its_language(tmp_path: Path) -> None:
    judges = {"lexical": {"judge": "lexical"}, "gpt-4o": GPT, "other": {**GPT, "prompt": "umbrela-en"}}
    prompt = load_prompt("quati-pt")
    with AnnotationSession.open(collection(tmp_path, judges=judges, annotation={"language": "en"})) as session:
        assert names(session.scale) == NAMES["pt"]
        assert session.scale == session.scale_in("es"), "the passages' language is the prompt's, whatever the page's"
        for found in session.scale:
            assert f"{found.name}. {found.meaning}" == prompt.scale[found.grade].strip()
            assert found.example == prompt.example_of(found.grade)
            assert found.example is not None


@pytest.mark.parametrize("language", [None, "en", "es", "pt"])
def test_without_a_prompt_the_default_scale_is_explained_in_the_page_s_language(
    tmp_path: Path, language: str | None
) -> None:
    with AnnotationSession.open(collection(tmp_path, annotation={"language": language})) as session:
        prompt = load_prompt(f"quati-{language or 'en'}")
        assert session.prompt is None
        assert session.scale == session.scale_in(language)
        assert names(session.scale) == NAMES[language or "en"]
        for found in session.scale:
            assert f"{found.name}. {found.meaning}" == prompt.scale[found.grade].strip()
            assert found.example == prompt.example_of(found.grade)
        assert {other: names(session.scale_in(other)) for other in NAMES} == NAMES


def test_the_names_that_pool_yaml_sets_are_the_users_own(tmp_path: Path) -> None:
    own = {0: "fora", 1: "assunto", 2: "responde", 3: "responde bem"}
    with AnnotationSession.open(collection(tmp_path, grades=own)) as session:
        assert names(session.scale) == list(own.values())
        # What the user means by them is not known.
        assert {(found.meaning, found.example) for found in session.scale} == {(None, None)}
    with AnnotationSession.open(collection(tmp_path, grades=own, annotation={"prompt": "quati-pt"})) as session:
        assert names(session.scale) == list(own.values())
        assert session.scale[0].meaning == "A passagem não trata do assunto da pergunta."


@pytest.mark.parametrize(("language", "expected"), [("es-MX", NAMES["es"]), ("en", NAMES["en"]), ("fr", NAMES["en"])])
def test_a_prompt_that_names_no_grades_has_the_names_of_its_language(
    tmp_path: Path, language: str, expected: list[str]
) -> None:
    text = load_prompt("umbrela-style-en").path.read_text(encoding="utf-8")
    text = text.replace("id: umbrela-style-en", "id: own").replace("language: en", f"language: {language}")
    path = collection(tmp_path, annotation={"prompt": "own.yaml", "language": "pt"})
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
    with AnnotationSession.open(path) as session:
        assert names(session.scale) == expected


def test_another_scale_without_a_prompt_has_names_only(tmp_path: Path) -> None:
    with AnnotationSession.open(collection(tmp_path, grades={0: "no", 1: "yes"})) as session:
        assert session.scale_in("pt") == [GradeMeaning(0, "no"), GradeMeaning(1, "yes")]


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
