"""What ``bench list`` shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quati_pool.commands.bench import listing
from quati_pool.errors import ConfigError
from quati_pool.registry import BENCHMARKS, Registry
from quati_pool.reporting.formats.tables import to_text
from quati_pool.reporting.json_data.serializer import serialize
from quati_pool.reporting.tables.benchmarks import tables
from tests.plugin_package import write_dist_info
from tests.shared_data import shared

PLUGIN = """
from quati_pool.qa_benchmarks.base import Benchmark, Parameters

class Half:
    summary = "no tasks"
    Parameters = Parameters

class Whole(Benchmark):
    name, title, summary, license = "whole", "Whole", "from elsewhere", "MIT"
    citation, source, tasks = "none", "https://example.org", {}
"""

ENTRY_POINTS = """
[quati_pool.benchmarks]
whole = another:Whole
half = another:Half
gone = not_there:Benchmark
"""

SMALL = "tests.commands.bench.small_benchmark:Small"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """The registry with one benchmark of ours and three plug-ins, two of them broken."""
    write_dist_info(tmp_path, "another", "2.0", ENTRY_POINTS)
    (tmp_path / "another.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry("benchmarks", {"small": SMALL})
    monkeypatch.setattr(listing, "BENCHMARKS", registry)
    return registry


def test_a_broken_plug_in_is_listed_with_its_error_beside_the_others(elsewhere: Registry) -> None:
    found = {one.name: one for one in listing.benchmarks()}
    assert list(found) == ["small", "whole", "half", "gone"]
    assert found["small"].problem is None
    assert (found["whole"].summary, found["whole"].problem) == ("from elsewhere", None)
    missing = "AttributeError: type object 'Half' has no attribute 'tasks'"
    assert found["half"].problem == f"cannot be listed ({missing}); fix or uninstall its package"
    assert found["gone"].problem == (
        "the benchmark 'gone' of another 2.0 cannot be loaded (ModuleNotFoundError: No module named 'not_there'); "
        "fix or uninstall that package"
    )
    text = "\n".join(map(to_text, tables(list(found.values()))))
    assert "No module named 'not_there'" in text
    assert json.loads(json.dumps(serialize(list(found.values()))))[3]["problem"]


def test_one_benchmark_alone(elsewhere: Registry) -> None:
    [found] = listing.benchmarks("small")
    assert [(task.name, task.kind, task.summary) for task in found.tasks] == [
        ("capitals", "answering", "name the capital"),
        ("sentences", "retrieval", "find the sentence about the capital"),
    ]
    first, tasks, settings, files = tables([found])
    assert first.rows == [["small", "Capitals", "two tasks for tests"]]
    assert [row[1] for row in tasks.rows] == ["capitals", "sentences"]
    assert settings.rows == [["small", "capitals", "capitals-only", "no more than the capital"]]
    assert files.rows == [
        ["small", "released at", "https://example.org/capitals"],
        ["small", "license", "none"],
        ["small", "cite", "none"],
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [("smal", "there is no benchmark 'smal'; did you mean 'small'?"), ("gone", "the benchmark 'gone' of another 2.0")],
)
def test_a_benchmark_that_is_not_there_or_broken_is_refused_by_name(
    elsewhere: Registry, name: str, message: str
) -> None:
    with pytest.raises(ConfigError, match="^" + message.replace("?", r"\?")):
        listing.benchmarks(name)


def test_ours_are_listed_with_license_source_citation_and_tasks() -> None:
    found = listing.benchmarks()
    assert [one.name for one in found][:6] == ["pira", "romqa", "race", "qasc", "arc", "openbookqa"]
    for one in found[:6]:
        assert one.problem is None
        assert one.title
        assert one.summary
        assert one.license
        assert one.citation
        assert one.source.startswith("http")
        # ARC's files hold no texts to find.
        assert {task.kind for task in one.tasks} == {"answering"} | ({"retrieval"} if one.name != "arc" else set())
        assert all(task.summary for task in one.tasks)


def test_a_benchmark_without_settings_has_no_table_of_them() -> None:
    shown = tables(listing.benchmarks("openbookqa"))
    assert [table.title for table in shown] == ["Benchmarks", "Tasks", "Files"]


def test_every_setting_of_a_released_file_is_told_in_words() -> None:
    data = shared("pira/validation.csv").parent
    for task in BENCHMARKS.get("pira").tasks.values():
        settings = {case.setting for case in task.cases(data)} - {""}
        assert settings <= set(task.settings())
