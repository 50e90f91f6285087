"""``mine.py:CLASS`` in pool.yaml: which file is meant, what the component is called, and what a user reads."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from quati_pool.errors import InputError
from quati_pool.project.config import FusionSystem, JudgeConfig, PoolConfig, RetrieverSystem, load_config
from quati_pool.registry import RETRIEVERS, NamedComponent

MINE = """\
from quati_pool.judging.base import Judge
from quati_pool.retrieval.base import Hits, Parameters, Reranker, Retriever
from quati_pool.retrieval.bm25s import Bm25s
from quati_pool.retrieval.fusion import Fusion, Rrf

class Finds(Retriever):
    class Parameters(Parameters):
        steps: int = 1
    def search(self, corpus, folder, queries, depth, context):
        return Hits.of([])

class Ranks(Reranker):
    index_identity = "index/ours@3"
    def rescore(self, corpus, folder, queries, run, context):
        return run.score

class Adds(Fusion):
    def contributions(self, run):
        return run.score

class Grades(Judge):
    id = "judge/stern"
    revision = 2
    def grade(self, pairs):
        return []

class Ours(Bm25s):
    pass

class Half(Retriever):
    pass

class Old(Ranks):
    version = 2

class Shapeless(Ranks):
    Parameters = None

nothing = 3
"""
SHA = hashlib.sha256(MINE.encode()).hexdigest()[:16]
# Line 4 is that of the systems, line 9 that of the judge.
POOL = """\
name: mine
corpus: {path: c.jsonl}
queries: {path: q.tsv}
systems:
  a: {retriever: mine.py:Finds, steps: 3}
  b: {first: a, rerank: {with: mine.py:Ranks}}
  c: {fuse: [a, b], method: mine.py:Adds, weights: [1, 2]}
judges:
  j: {judge: mine.py:Grades}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    (tmp_path / "broken.py").write_text("import os\n\nos.environ['not set']\n", encoding="utf-8")
    (tmp_path / "unparsable.py").write_text("class A\n", encoding="utf-8")
    (tmp_path / "leaves.py").write_text("raise SystemExit('bye\\nbye')\n", encoding="utf-8")
    (tmp_path / "latin.py").write_bytes(b"A = '\xe9'\n")
    (tmp_path / "a folder.py").mkdir()
    return tmp_path


def load(folder: Path, text: str = POOL) -> PoolConfig:
    (folder / "pool.yaml").write_text(text, encoding="utf-8")
    return load_config(folder / "pool.yaml")


def components(config: PoolConfig) -> list[NamedComponent]:
    judge = config.judges["j"]
    assert isinstance(judge, JudgeConfig)
    return [*(config.systems[tag].component for tag in "abc"), judge.component]


def test_what_such_components_are_called_is_their_file_class_and_hash(folder: Path) -> None:
    config = load(folder)
    assert [each.identity for each in components(config)] == [
        f"retriever/mine.py:Finds@1 (sha256 {SHA})",
        f"reranker/mine.py:Ranks@1 (sha256 {SHA})",
        f"fusion/mine.py:Adds@1 (sha256 {SHA})",
        f"judge/stern@2 (sha256 {SHA})",
    ]
    assert [each.index_identity for each in components(config)[:2]] == [
        f"index/mine.py:Finds@1 (sha256 {SHA})",
        f"index/ours@3 (sha256 {SHA})",
    ]
    assert str(components(config)[0]) == f"mine.py:Finds (sha256 {SHA})"


def test_they_are_read_with_their_parameters(folder: Path) -> None:
    systems = load(folder).systems
    assert isinstance(systems["a"], RetrieverSystem)
    assert (systems["a"].retriever, systems["a"].parameters.steps) == ("mine.py:Finds", 3)
    assert isinstance(systems["c"], FusionSystem)
    assert systems["c"].parameters.weights == [1, 2]


def test_a_class_derived_from_one_of_ours_takes_over_neither_its_id_nor_its_index(folder: Path) -> None:
    component = RETRIEVERS.find("mine.py:Ours", folder)
    assert component.identity == f"retriever/mine.py:Ours@1 (sha256 {SHA})"
    assert component.index_identity == f"index/mine.py:Ours@1 (sha256 {SHA})"


def test_the_path_is_relative_to_pool_yaml_wherever_the_command_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = folder / "ours"
    below.mkdir()
    shutil.move(folder / "mine.py", below / "mine.py")
    identities = set()
    for name in ("ours/mine.py:Finds", f"{below}/mine.py:Finds", "../" + folder.name + "/ours/mine.py:Finds"):
        config = load(folder, POOL.replace("mine.py:", name.removesuffix("Finds")))
        identities.add(components(config)[0].identity)
    monkeypatch.chdir(below)
    identities.add(components(load_config(Path("../pool.yaml")))[0].identity)
    # Neither the folder nor how it is written: a workspace may move.
    assert identities == {f"retriever/mine.py:Finds@1 (sha256 {SHA})"}


def test_what_was_read_stays_while_the_file_changes(folder: Path) -> None:
    before = load(folder)
    (folder / "mine.py").write_text(MINE.replace("steps: int = 1", "steps: int = 2\n        more: int = 5"))
    after = load(folder)
    assert components(before)[0].identity.endswith(f"(sha256 {SHA})")
    assert not components(after)[0].identity.endswith(f"(sha256 {SHA})")
    assert "more" not in components(before)[0].cls.Parameters.model_fields
    assert after.systems["a"].parameters.more == 5


def test_without_a_folder_a_file_is_no_name() -> None:
    with pytest.raises(Exception, match=r"there is no retriever 'mine\.py:Finds'; there are: "):
        RETRIEVERS.find("mine.py:Finds")


NO_CLASS = "there are: Finds, Half, Ours"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone.py:Finds", "{folder}/gone.py: there is no such file; check the path, or put it back"),
        ('"a folder.py:A"', "{folder}/a folder.py cannot be read (Is a directory); expected a Python file"),
        ("mine.py:Fnids", "mine.py has no class 'Fnids'; did you mean 'Finds'?"),
        ("mine.py:Zzzzzzzz", f"mine.py has no class 'Zzzzzzzz'; {NO_CLASS}"),
        ("mine.py", f"mine.py names no class; write mine.py:CLASS; {NO_CLASS}"),
        ('"mine.py:"', f"mine.py names no class; write mine.py:CLASS; {NO_CLASS}"),
        ("mine.py:Grades", "mine.py:Grades is not a retriever; derive it from quati_pool.retrieval.base.Retriever"),
        ("mine.py:nothing", "mine.py:nothing is not a retriever; derive it from quati_pool.retrieval.base.Retriever"),
        ("mine.py:Half", "mine.py:Half lacks the method search; define it"),
        ("broken.py:A", "broken.py:3: KeyError: 'not set'; fix that file"),
        ("unparsable.py:A", "unparsable.py:1: SyntaxError: expected ':'; fix that file"),
        ("leaves.py:A", "leaves.py:1: SystemExit: bye bye; fix that file"),
        ("bm25s:A", "there is no retriever 'bm25s:A'; did you mean 'bm25s'?"),
    ],
)
def test_what_a_user_reads(folder: Path, name: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(folder, POOL.replace("mine.py:Finds, steps: 3", name))
    assert str(caught.value) == f"{folder}/pool.yaml:5: systems.a.retriever: {message.format(folder=folder)}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("steps: 3", "stesp: 3", "5: systems.a.stesp: unknown key; did you mean 'steps'?"),
        ("steps: 3", "steps: x", "5: systems.a.steps: expected a whole number, not 'x'"),
        ("steps: 3", "component: x", "5: systems.a.component: unknown key; there are: corpus, family, "),
        (":Ranks", ":Finds", "6: systems.b.rerank.with: mine.py:Finds is not a reranker; derive it from"),
        (":Ranks", ":Old", "6: systems.b.rerank.with: mine.py:Old cannot be used (TypeError: its attribute version "),
        (":Ranks", ":Shapeless", "6: systems.b.rerank.with: mine.py:Shapeless cannot be used (AttributeError: "),
        (":Adds", ":Add", "7: systems.c.method: mine.py has no class 'Add'; did you mean 'Adds'?"),
        ("[1, 2]", "[1]", "7: systems.c.weights: 1 weights for 2 systems; give one weight per system"),
        (":Grades", ":Adds", "9: judges.j.judge: mine.py:Adds is not a judge; derive it from quati_pool.judging.base."),
        ("mine.py:Grades", "latin.py:A", "9: judges.j.judge: latin.py:1: SyntaxError: (unicode error) "),
    ],
)
def test_errors_name_their_line_for_every_kind(folder: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(folder, POOL.replace(old, new))
    assert str(caught.value).startswith(f"{folder}/pool.yaml:{message}")
    assert "\n" not in str(caught.value)
