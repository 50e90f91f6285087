"""``runs:`` of pool.yaml: every run of some files as a system of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from quati_pool.errors import InputError
from quati_pool.project.config import PoolConfig, RetrieverSystem, load_config
from quati_pool.project.inputs import load_queries, run_files


def run(*tags: str, query_id: str = "q1") -> str:
    return "".join(f"{query_id} Q0 d{row} 1 {row} {tag}\n" for row, tag in enumerate(tags))


def written(folder: Path, systems: str, files: dict[str, str], head: str = "name: x\n") -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "pool.yaml").write_text(f"{head}systems:\n{systems}", encoding="utf-8")
    return folder / "pool.yaml"


def loaded(folder: Path, group: str, files: dict[str, str]) -> PoolConfig:
    return load_config(written(folder, f"  official: {{retriever: run, {group}}}\n", files))


def sources(config: PoolConfig) -> dict[str, tuple[str, str | None]]:
    return {tag: (parameters.path, parameters.run_tag) for tag, parameters in run_files(config).items()}


def test_all_runs_of_one_file(tmp_path: Path) -> None:
    config = loaded(tmp_path, "runs: all.txt, pool_depth: 5", {"all.txt": run("b", "a", "c", "a").replace("d3", "d9")})
    assert sources(config) == {tag: ("all.txt", tag) for tag in ("b", "a", "c")}
    assert [config.pool_depth(tag) for tag in config.systems] == [5, 5, 5]
    assert [config.family(tag) for tag in config.systems] == ["b", "a", "c"]
    assert config.corpora == {}


def test_every_file_of_a_pattern_is_a_system(tmp_path: Path) -> None:
    files = {"in/z.run": run("one"), "in/a.run": run("two"), "in/b.run.meta.json": "{}", "in/both.run": run("x", "y")}
    # Files by name, and the runs of a file in its order.
    assert sources(loaded(tmp_path, 'runs: "in/*.run"', files)) == {
        "two": ("in/a.run", None),
        "x": ("in/both.run", "x"),
        "y": ("in/both.run", "y"),
        "one": ("in/z.run", None),
    }


def test_runs_named_by_their_files(tmp_path: Path) -> None:
    files = {"in/input.a.run": run("Anserini"), "in/b.txt.gz": "", "in/c": run("Anserini")}
    found = sources(loaded(tmp_path, 'runs: ["in/input*", in/b.txt.gz, in/c], named_by: file', files))
    assert found == {"b": ("in/b.txt.gz", None), "c": ("in/c", None), "input.a": ("in/input.a.run", None)}


def test_families_by_a_pattern(tmp_path: Path) -> None:
    config = loaded(tmp_path, 'runs: all.txt, family_pattern: "^([^-_]+)[-_]"', {"all.txt": run("a-1", "a_2", "b-1")})
    assert [config.family(tag) for tag in config.systems] == ["a", "a", "b"]
    # Where the name has none, the path of the file is searched.
    files = {"in/unicamp/x.run": run("x"), "in/usp/y.run": run("y")}
    config = loaded(tmp_path, 'runs: "in/*/*.run", family_pattern: "in/([^/]+)/"', files)
    assert [config.family(tag) for tag in config.systems] == ["unicamp", "usp"]


def test_one_run_of_a_file_beside_a_group(tmp_path: Path) -> None:
    systems = (
        "  a: {retriever: run, path: all.txt, run_tag: x}\n"
        "  more: {retriever: run, runs: other.txt}\n"
        "  both: {fuse: [a, y]}\n"
    )
    config = load_config(written(tmp_path, systems, {"all.txt": run("x", "z"), "other.txt": run("y")}))
    assert list(config.systems) == ["a", "y", "both"]
    assert [query.query_id for query in load_queries(config).queries] == ["q1"]


@pytest.mark.parametrize(
    ("group", "fault"),
    [
        ("runs: none.txt", "systems.official.runs: {folder}/none.txt: there is no such file; check the path"),
        ('runs: "none/*.run"', "systems.official.runs: {folder}/none/*.run: no file matches; check the pattern"),
        ("runs: []", "systems.official.runs: "),
        ("runs: in", "systems.official.runs: {folder}/in: is a folder; expected a file, or a glob"),
        (
            'runs: "in/*.run"',
            "systems.official.runs: in/a.run and in/b.run hold runs of one name, 'same'; rename one, or set  "
            "named_by: file",
        ),
        ("runs: odd.txt", "systems.official.runs: odd.txt holds a run 'a/b'; expected a name of letters, digits"),
        ("runs: bad.txt", "systems.official.runs: {folder}/bad.txt:1: 2 columns; expected 6"),
        ("runs: taken.txt", "systems.official.runs: holds a run 'other', and another system has that name"),
        ("runs: all.txt, path: all.txt", "systems.official.path: unknown key"),
        ("runs: all.txt, named_by: tag", "systems.official.named_by: expected 'run_tag' or 'file', not 'tag'"),
        ('runs: all.txt, family_pattern: "("', "systems.official.family_pattern: is not a regular expression ("),
        ('runs: all.txt, family_pattern: "a"', "systems.official.family_pattern: has 0 groups; expected one"),
        (
            'runs: all.txt, family_pattern: "^(a)-"',
            "systems.official.family_pattern: finds no family in the run 'b-1' of all.txt; widen it",
        ),
        ('runs: all.txt, family: a, family_pattern: "^(a)"', "systems.official.family_pattern: the group has a family"),
    ],
)
def test_faults_of_a_group_name_its_line(tmp_path: Path, group: str, fault: str) -> None:
    files = {
        "in/a.run": run("same"),
        "in/b.run": run("same"),
        "all.txt": run("a-1", "b-1"),
        "odd.txt": run("a/b"),
        "bad.txt": "two columns\n",
        "taken.txt": run("other"),
    }
    systems = f"  official: {{retriever: run, {group}}}\n  other: {{retriever: run, path: all.txt}}\n"
    with pytest.raises(InputError) as caught:
        load_config(written(tmp_path, systems, files))
    assert str(caught.value).startswith(f"{tmp_path}/pool.yaml:3: " + fault.format(folder=tmp_path))


@pytest.mark.parametrize(
    ("head", "systems", "fault"),
    [
        (
            "name: x\n",
            "  a: {retriever: run, path: r}\n  b: {first: a, rerank: {with: lsa}}\n",
            "1: expected either corpus: (one) or corpora: (several by name), as b reads passages; only run files and "
            "fusions of them do without",
        ),
        (
            "name: x\ncorpus: {path: c}\n",
            "  a: {retriever: run, path: r}\n  b: {retriever: lsa}\n",
            "1: the key 'queries' is missing; add it",
        ),
        (
            "name: x\ncorpus: {path: c}\nqueries: {only: q}\n",
            "  b: {retriever: lsa}\n",
            "3: queries: the key 'path' is missing; add it, as b reads the queries' texts",
        ),
    ],
)
def test_what_only_run_files_do_without(tmp_path: Path, head: str, systems: str, fault: str) -> None:
    with pytest.raises(InputError) as caught:
        load_config(written(tmp_path, systems, {}, head))
    assert str(caught.value) == f"{tmp_path}/pool.yaml:{fault}"


def test_a_fusion_of_run_files_needs_no_corpus(tmp_path: Path) -> None:
    systems = "  a: {retriever: run, path: r}\n  b: {retriever: run, path: s}\n  c: {fuse: [a, b]}\n"
    config = load_config(written(tmp_path, systems, {}))
    assert isinstance(config.systems["a"], RetrieverSystem)
    assert config.systems["a"].corpus is None


def test_what_is_in_the_files_is_read_once_they_are_old_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "  all: {retriever: run, runs: all.txt}\n", {"all.txt": run("a", "b")})
    os.utime(tmp_path / "all.txt", (1, 1))
    assert list(load_config(path).systems) == ["a", "b"]
    known = json.loads((tmp_path / "cache" / "runs.json").read_text(encoding="utf-8"))
    assert known["all.txt"][2] == {"a": ["q1"], "b": ["q1"]}
    with monkeypatch.context() as patched:
        patched.setattr("quati_pool.project.workspace.run_queries", None)
        assert list(load_config(path).systems) == ["a", "b"]
    (tmp_path / "all.txt").write_text(run("c", "b"), encoding="utf-8")
    assert list(load_config(path).systems) == ["c", "b"]


def test_queries_of_the_runs_or_of_qrels(tmp_path: Path) -> None:
    files = {
        "one.run": run("a", query_id="q9") + run("a", query_id="q1"),
        "two.run": run("b", query_id="q5") + run("b", query_id="q1"),
        "some.qrels": "q1 0 d1 1\nq7 0 d1 0\nq5 0 d2 2\n",
    }
    systems = '  all: {retriever: run, runs: "*.run"}\n'

    def ids(head: str) -> list[str]:
        return [query.query_id for query in load_queries(load_config(written(tmp_path, systems, files, head))).queries]

    assert ids("name: x\n") == ["q9", "q1", "q5"]
    assert ids("name: x\nqueries: {ids: [q5]}\n") == ["q5"]
    assert ids("name: x\nqueries: {only: some.qrels}\n") == ["q1", "q7", "q5"]
    (tmp_path / "topics.tsv").write_text("q1\tone\nq2\ttwo\nq5\tfive\n", encoding="utf-8")
    assert ids("name: x\nqueries: {path: topics.tsv, only: some.qrels}\n") == ["q1", "q5"]
    (tmp_path / "topics.tsv").write_text("q2\ttwo\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"queries.only: topics.tsv has no query of some.qrels; check both"):
        ids("name: x\nqueries: {path: topics.tsv, only: some.qrels}\n")
