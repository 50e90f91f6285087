"""Components by name, and plug-ins that fail without troubling anybody else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from quati_pool.errors import ConfigError
from quati_pool.project.cache_keys import locate_index
from quati_pool.project.workspace import Workspace
from quati_pool.registry import BENCHMARKS, FUSIONS, PREPARATIONS, RERANKERS, RETRIEVERS, Registry, nearest
from tests.plugin_package import write_dist_info

PLUGIN = """
from quati_pool.retrieval.fusion import CombSum
from quati_pool.retrieval.base import Parameters, Retriever

class Works(CombSum):
    summary = "a fusion from elsewhere"

class Shy(Retriever):
    summary = "a retriever that cannot say whether it is ready"
    Parameters = Parameters
    @classmethod
    def require(cls):
        raise OSError("no device")

def not_a_component():
    pass
"""

ENTRY_POINTS = """
[quati_pool.fusions]
works = elsewhere:Works
rrf = elsewhere:Works
shapeless = elsewhere:not_a_component
typo = elsewhere:Wroks

[quati_pool.retrievers]
crashes = crashes:Retriever
leaves = leaves:Retriever
missing = not_there:Retriever
shy = elsewhere:Shy
"""

LISTING = """
import json
from quati_pool.commands.components import components
print(json.dumps({f"{c.kind} {c.name}": [c.summary, c.problem] for c in components()}))
"""


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds an installed package with plug-ins, good and broken, put before all others."""
    write_dist_info(tmp_path, "elsewhere", "3.1", ENTRY_POINTS)
    (tmp_path / "elsewhere.py").write_text(PLUGIN)
    (tmp_path / "crashes.py").write_text("1 / 0\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit('bye')\n")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "registry", [RETRIEVERS, RERANKERS, FUSIONS, BENCHMARKS, PREPARATIONS], ids=lambda registry: registry.kind
)
def test_every_name_of_ours_is_there(registry: Registry) -> None:
    assert registry.names()
    for name in registry.names():
        component = registry.get(name)
        assert component.summary
        assert all(field.description for field in component.Parameters.model_fields.values())


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError) as caught:
        RETRIEVERS.get("bm26s")
    assert str(caught.value) == "there is no retriever 'bm26s'; did you mean 'bm25s'?"
    with pytest.raises(ConfigError) as caught:
        FUSIONS.get("borda")
    assert str(caught.value) == "there is no fusion 'borda'; there are: combmnz, combsum, rrf"


@pytest.mark.parametrize(
    ("word", "known", "answer"),
    [
        ("sytems", ["systems", "seed"], "did you mean 'systems'?"),
        ("K1", ["k1", "b"], "did you mean 'k1'?"),
        ("zzz", ["b", "a"], "there are: a, b"),
        ("zzz", [], "there are none"),
    ],
)
def test_nearest(word: str, known: list[str], answer: str) -> None:
    assert nearest(word, known) == answer


def test_a_plug_in_is_listed_after_ours_and_works(plugins: Path) -> None:
    registry = Registry("fusions", {"rrf": "quati_pool.retrieval.fusion:Rrf"})
    assert registry.names() == ["rrf", "works", "shapeless", "typo"]
    assert registry.get("works").summary == "a fusion from elsewhere"


def test_a_plug_in_cannot_take_the_name_of_one_of_ours(plugins: Path) -> None:
    registry = Registry("fusions", {"rrf": "quati_pool.retrieval.fusion:Rrf"})
    assert registry.get("rrf").__name__ == "Rrf"


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [
        ("retrievers", "crashes", "ZeroDivisionError: division by zero"),
        ("retrievers", "leaves", "SystemExit: bye"),
        ("retrievers", "missing", "ModuleNotFoundError: No module named 'not_there'"),
        ("fusions", "typo", "AttributeError: module 'elsewhere' has no attribute 'Wroks'"),
        ("fusions", "shapeless", "AttributeError: 'function' object has no attribute 'Parameters'"),
    ],
)
def test_a_broken_plug_in_fails_with_its_name(plugins: Path, kind: str, name: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Registry(kind, {}).get(name)
    assert str(caught.value) == (
        f"the {kind[:-1]} {name!r} of elsewhere 3.1 cannot be loaded ({why}); fix or uninstall that package"
    )


def test_the_listing_shows_broken_plug_ins_beside_all_others(plugins: Path) -> None:
    root = Path(__file__).parents[1]
    script = f"import sys; sys.path[:0] = [{str(plugins)!r}, {str(root)!r}]\n{LISTING}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    listed = json.loads(done.stdout)
    assert listed["fusion works"] == ["a fusion from elsewhere", None]
    assert listed["fusion rrf"][1] is None
    assert listed["retriever bm25s"][1] is None
    assert listed["retriever crashes"] == [
        "",
        "the retriever 'crashes' of elsewhere 3.1 cannot be loaded (ZeroDivisionError: division by zero); "
        "fix or uninstall that package",
    ]
    assert listed["retriever shy"][1] == "cannot be checked (OSError: no device)"
    broken = {name for name, (_, problem) in listed.items() if problem and "elsewhere 3.1" in problem}
    assert broken == {
        "retriever crashes",
        "retriever leaves",
        "retriever missing",
        "fusion shapeless",
        "fusion typo",
    }


SAME_NAME = """
from quati_pool.retrieval.base import Hits, Parameters, Retriever

class Finds(Retriever):
    id = "retriever/finds"
    summary = "one of two retrievers of the same class name and id"
    Parameters = Parameters

    def index_key(self):
        return {{}}

    def index(self, corpus, folder, context):
        (folder / "made-by").write_text("{package}")

    def search(self, corpus, folder, queries, depth, context):
        import numpy as np
        assert (folder / "made-by").read_text() == "{package}"
        nothing = np.empty(0, dtype=np.int64)
        return Hits(nothing, nothing, nothing.astype(np.float32))
"""

TWO_BUILDS = """
import sys
from pathlib import Path
from quati_pool.commands.build import build
from quati_pool.project.events import Listener

class Prints(Listener):
    def say(self, line):
        print(line)

for name in ("one", "other"):
    Path("pool.yaml").write_text(
        "name: x\\ncorpus: {path: c.jsonl}\\nqueries: {path: q.tsv}\\n"
        "systems: {a: {retriever: " + name + "}}\\n"
    )
    build(Path("pool.yaml"), Prints())
"""


def test_plugins_of_one_class_name_share_neither_index_nor_run(tmp_path: Path) -> None:
    site, home = tmp_path / "site", tmp_path / "home"
    home.mkdir()
    for name in ("one", "other"):
        (site / name).mkdir(parents=True)
        (site / name / "__init__.py").touch()
        (site / name / "retriever.py").write_text(SAME_NAME.format(package=name))
        write_dist_info(site, name, "1.0", f"[quati_pool.retrievers]\n{name} = {name}.retriever:Finds\n")
    (home / "c.jsonl").write_text('{"doc_id": "d", "text": "a"}\n')
    (home / "q.tsv").write_text("q\ta\n")
    script = f"import sys; sys.path[:0] = [{str(site)!r}, {str(Path(__file__).parents[1])!r}]\n{TWO_BUILDS}"
    ran = subprocess.run([sys.executable, "-c", script], cwd=home, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "run a: built in" in ran.stdout.split("pool: ")[-2]
    assert ran.stdout.count("index finds-") == 2
    assert "run a: reused" not in ran.stdout


SHARED_NAME = """
from typing import ClassVar
from pydantic import BaseModel
class Parts:
    Parameters, summary = BaseModel, "a plug-in"
class Finds(Parts):
    pass
class Ranks(Parts):
    pass
class Old(Parts):
    version = 2
class Older(Old):
    pass
class Odd(Parts):
    revision = "main"
"""
SHARED_POINTS = """
[quati_pool.retrievers]
pair = pair:Finds
older = pair:Older
odd = pair:Odd
[quati_pool.rerankers]
pair = pair:Ranks
[quati_pool.judges]
old = pair:Old
"""


class KeepsIndex:
    def index_key(self) -> dict[str, str]:
        return {"language": "pt"}


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_dist_info(tmp_path, "pair", "1.0", SHARED_POINTS)
    (tmp_path / "pair.py").write_text(SHARED_NAME)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pair", raising=False)


@pytest.mark.usefixtures("pair")
def test_a_retriever_and_a_reranker_of_one_name_share_an_index_only_where_they_say_so() -> None:
    finds, ranks = Registry("retrievers", {}), Registry("rerankers", {})
    assert finds.find("pair").index_identity == "index/pair@1 (pair 1.0)"
    assert ranks.find("pair").index_identity == "index/reranker/pair@1 (pair 1.0)"


@pytest.mark.parametrize(
    ("identity", "name"),
    [
        ("index/lsa@1", "lsa"),
        ("index/reranker/pair@1 (pair 1.0)", "reranker-pair"),
        ("index/ours/two words@1 (pair 1.0)", "ours-two-words"),
    ],
)
def test_an_indexs_folder_lies_in_that_of_all_whatever_it_is_called(tmp_path: Path, identity: str, name: str) -> None:
    place = locate_index(Workspace(tmp_path), KeepsIndex(), identity, "corpus")  # type: ignore[arg-type]
    assert place is not None
    assert place[0].parent == tmp_path / "cache" / "indexes"
    assert place[0].name.rpartition("-")[0] == name


@pytest.mark.usefixtures("pair")
def test_what_a_plug_in_calls_its_revision() -> None:
    retrievers = Registry("retrievers", {})
    with pytest.raises(ConfigError, match="its attribute version must be renamed to revision"):
        retrievers.get("older")
    with pytest.raises(ConfigError, match="its revision is not an integer"):
        retrievers.get("odd")
    # Judges never had one of that name: what theirs is, is theirs.
    assert Registry("judges", {}).identity("old") == "judge/old@1 (pair 1.0)"
