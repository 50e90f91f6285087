"""Who is kin to a judge that was distilled from others' grades."""

from __future__ import annotations

from quati_pool.commands.audit.grades import BY_NAME, Relations, _kin


def test_what_its_teachers_use_or_are_is_kin() -> None:
    relations = Relations(
        uses={"own": {"minilm"}, "reranked": {"gpt-4o"}, "far": {"e5"}},
        judge_names=["small", "models/small"],
        teacher_names={"panel", "gpt-4o", "minilm"},
        teacher_families={"owl"},
    )
    assert relations.teachers == {"owl", "openai"}
    tags = {"own": "a", "reranked": "b", "owls": "owl", "ada": "text-embedding-3", "far": "c"}
    related = {*relations.teachers}
    assert dict(_kin(list(tags), tags, relations, related)) == {
        "own": "uses minilm", "reranked": "uses gpt-4o", "owls": "family owl", "ada": BY_NAME,
    }  # fmt: skip


def test_without_teachers_nothing_more_is_kin() -> None:
    assert Relations().teachers == set()
    assert dict(_kin(["a"], {"a": "b"}, Relations(judge_names=["j"]), set())) == {}
