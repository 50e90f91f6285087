"""Components from a user's file through the commands: what is built again, what stays, and what a user reads."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quati_pool.cli.main import main
from quati_pool.commands.agree import agree
from quati_pool.commands.bench.systems_file import SystemsFile
from quati_pool.commands.judge.judge import judge
from quati_pool.commands.labels import labels
from quati_pool.commands.plan.plan import plan
from quati_pool.commands.validate.validate import validate
from quati_pool.errors import InputError, QuatiPoolError, ScoreError
from quati_pool.files.runs import read_run
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.records import State
from tests.commands.small_collection import built, make_collection, read_pool

FINDS = """\
from quati_pool.retrieval.base import Hits, Parameters, Retriever

class Finds(Retriever):
    class Parameters(Parameters):
        weight: float = 1.0

    def index_key(self):
        return {}

    def index(self, corpus, folder, context):
        (folder / "lengths").write_text(" ".join(str(len(text)) for text in corpus.texts(range(len(corpus)))))

    def search(self, corpus, folder, queries, depth, context):
        lengths = [int(word) for word in (folder / "lengths").read_text().split()]
        return Hits.of([(q, d, self.parameters.weight * n) for q in range(len(queries)) for d, n in enumerate(lengths)])
"""
RANKS = """\
from quati_pool.retrieval.base import Reranker

class Ranks(Reranker):
    def rescore(self, corpus, folder, queries, run, context):
        return -run.score
"""
ADDS = """\
from quati_pool.retrieval.fusion import Fusion

class Adds(Fusion):
    def contributions(self, run):
        return run.score
"""
GRADES = """\
from quati_pool.judging.base import Judge, Parameters
from quati_pool.judging.verdict import Verdict
from quati_pool.records import State

class Grades(Judge):
    class Parameters(Parameters):
        grade: int = 1

    def grade(self, pairs):
        return [Verdict(State.ok, self.parameters.grade) for _ in pairs]
"""
SYSTEMS: dict[str, dict[str, Any]] = {
    "bm25s": {"retriever": "bm25s"},
    "finds": {"retriever": "finds.py:Finds"},
    "ranks": {"first": "bm25s", "rerank": {"with": "ranks.py:Ranks"}},
    "adds": {"fuse": ["bm25s", "finds"], "method": "adds.py:Adds"},
}
JUDGES = {"mine": {"judge": "grades.py:Grades"}, "lexical": {"judge": "lexical"}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    for name, source in (("finds", FINDS), ("ranks", RANKS), ("adds", ADDS), ("grades", GRADES)):
        (folder / f"{name}.py").write_text(source)
    return make_collection(folder, systems=SYSTEMS, judges=JUDGES)


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def rebuilt(path: Path) -> dict[str, str]:
    return {what: why for what, why in built(path)[1].made().items() if not what.startswith("report")}


def pooled(path: Path) -> int:
    built(path)
    return len(read_pool(path.parent))


def test_what_is_built_again_follows_the_content_of_the_file(path: Path) -> None:
    assert rebuilt(path).keys() >= {"index finds.py-Finds", "run finds", "run ranks", "run adds", "pool"}
    lengths = [len(text) for text in _texts(path)]
    assert read_run(path.parent / "runs" / "finds.trec.gz").score.tolist()[:8] == sorted(lengths, reverse=True)[:8]
    for name in ("finds", "ranks", "adds", "grades"):
        os.utime(path.parent / f"{name}.py", (1, 1))
    assert rebuilt(path) == {}
    moved = path.parent.rename(path.parent.with_name("there")) / path.name
    assert rebuilt(moved) == {}
    # A comment is a change; what reads the run follows it, and nothing else does.
    change(moved.parent / "finds.py", "class Finds", "# longer is better\nclass Finds")
    assert rebuilt(moved).keys() == {"index finds.py-Finds", "run finds", "run adds", "pool"}
    change(moved.parent / "ranks.py", "-run.score", "run.score")
    assert rebuilt(moved).keys() == {"run ranks", "pool"}
    change(moved.parent / "adds.py", "run.score", "2 * run.score")
    assert rebuilt(moved).keys() == {"run adds", "pool"}


def test_a_parameter_is_in_the_key_whether_or_not_the_class_says_so(path: Path) -> None:
    built(path)
    change(path, "finds.py:Finds", "finds.py:Finds\n    weight: 2.0")
    assert rebuilt(path).keys() == {"run finds", "run adds", "pool"}
    longest = max(len(text) for text in _texts(path))
    assert read_run(path.parent / "runs" / "finds.trec.gz").score.max() == 2 * longest


def test_the_plan_knows_what_is_there(path: Path) -> None:
    built(path)
    assert {each.run_tag: each.there for each in plan(path).systems} == dict.fromkeys(SYSTEMS, ("run current",))
    change(path.parent / "finds.py", "class Finds", "\nclass Finds")
    now = {each.run_tag: (each.what, each.there) for each in plan(path).systems}
    assert now["finds"] == ("finds.py:Finds", ())
    assert now["ranks"] == ("bm25s to 100, by ranks.py:Ranks", ("run current",))
    assert now["adds"][1] == ()


def graded(path: Path, name: str = "mine") -> dict[Any, int]:
    """The pairs with each grade of a labeler's version that counts, and how many it was not asked."""
    coverage = labels(path).coverages[name]
    return {**{grade: n for grade, n in coverage.grades.items() if n}, "unasked": coverage.unasked}


def test_a_judges_grades_are_those_of_one_content_and_count_again_with_it(path: Path) -> None:
    pairs = pooled(path)
    file = path.parent / "grades.py"
    report = judge(path, "mine", Listener())
    assert report.pending.coverage.states == {State.ok: pairs}
    assert graded(path) == {1: pairs, "unasked": 0}
    os.utime(file, (1, 1))
    assert graded(path) == {1: pairs, "unasked": 0}
    change(file, "self.parameters.grade", "2")
    assert graded(path) == {"unasked": pairs}
    judge(path, "mine", Listener())
    assert graded(path) == {2: pairs, "unasked": 0}
    change(file, "State.ok, 2", "State.ok, self.parameters.grade")
    assert graded(path) == {1: pairs, "unasked": 0}
    change(path, "grades.py:Grades", "grades.py:Grades\n    grade: 3")
    assert graded(path) == {"unasked": pairs}


def test_without_its_file_nothing_is_lost(path: Path) -> None:
    """As for a plug-in that is not installed: every command refuses, and what is stored stays."""
    pairs = pooled(path)
    judge(path, "mine", Listener())
    judge(path, "lexical", Listener())
    file, away = path.parent / "grades.py", path.parent / "away"
    file.rename(away)
    for command in (labels, lambda path: agree(path, ["mine", "lexical"])):
        with pytest.raises(
            InputError, match=r"pool\.yaml:\d+: judges\.mine\.judge: .*grades\.py: there is no such file"
        ):
            command(path)
    [problem] = validate(path, None).errors
    assert "grades.py: there is no such file; check the path, or put it back" in str(problem)
    # Out of pool.yaml, its last version is read.
    settings = path.read_text()
    change(path, "  mine:\n    judge: grades.py:Grades\n", "")
    assert graded(path) == {1: pairs, "unasked": 0}
    path.write_text(settings)
    away.rename(file)
    assert graded(path) == {1: pairs, "unasked": 0}


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("finds", "Hits.of([", "None and Hits.of([", "finds: its search returned NoneType; return Hits.of(rows)"),
        ("finds", "range(len(queries))", "[6]", "finds: its search returned other than one query (0 to 5), one pass"),
        ("finds", "(q, d, ", "(q, d / 2, ", "finds: its search returned other than one query (0 to 5), one passage "),
        ("finds", "(q, d, ", "(q, 7, ", "finds: its search returned a passage twice for a query; return each once"),
        ("finds", "* n", "* float('nan')", "finds: a score is NaN or infinite as float32; fix the system that gave"),
        ("ranks", "-run.score", "run.score[1:]", "ranks: its reranker gave scores of shape"),
        ("adds", "run.score", "3.0", "adds: its fusion gave contributions of shape () for 47 documents; return one"),
    ],
)
def test_wrong_results_are_one_line_with_the_system(path: Path, name: str, old: str, new: str, message: str) -> None:
    change(path.parent / f"{name}.py", old, new)
    with pytest.raises(ScoreError) as caught:
        built(path)
    assert str(caught.value).startswith(message)


def test_an_error_in_the_file_is_one_line_with_its_place(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    change(path.parent / "finds.py", "lengths = [", "lengths = self.lengths\n        [")
    monkeypatch.setattr("sys.argv", ["quati-pool", "build", "-c", str(path)])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("quati-pool: finds.py:14: AttributeError: 'Finds' object has no attribute 'lengths'")
    change(path.parent / "finds.py", "lengths = self.lengths\n        [", "lengths = [")
    change(path.parent / "grades.py", "return [", "return 1 / 0, [")
    built(path)
    with pytest.raises(QuatiPoolError, match=r"mine failed \(ZeroDivisionError: division by zero\); fix grades\.py:10"):
        judge(path, "mine", Listener())


def test_two_workspaces_of_one_process_keep_to_their_own_files(path: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(path.parent, tmp_path / "other")) / path.name
    change(other.parent / "grades.py", "grade: int = 1", "grade: int = 3")
    for each, grade in ((path, 1), (other, 3), (path, 1)):
        pairs = pooled(each)
        judge(each, "mine", Listener())
        assert graded(each) == {grade: pairs, "unasked": 0}


def test_a_benchmarks_systems_name_the_file_from_any_folder(path: Path, tmp_path: Path) -> None:
    portable = tmp_path / "elsewhere" / "pool.yaml"
    portable.parent.mkdir()
    block = SystemsFile.read(path).block()
    portable.write_text(f"name: x\ncorpus: {{path: c.jsonl}}\nqueries: {{path: q.tsv}}\nsystems:\n{block}")
    ours, theirs = load_config(path).systems, load_config(portable).systems
    assert {tag: each.component.identity for tag, each in theirs.items()} == {
        tag: each.component.identity for tag, each in ours.items()
    }
    assert theirs["finds"].component.name == f"{path.parent.resolve()}/finds.py:Finds"


def _texts(path: Path) -> Iterator[str]:
    with (path.parent / "corpus.jsonl").open(encoding="utf-8") as lines:
        yield from (json.loads(line)["text"] for line in lines)
