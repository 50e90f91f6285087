"""A judge's answers in audits enter nothing that is made of grades: what all commands say before an audit and after it
is the same, on SQLite and on PostgreSQL."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from quati_pool.commands.audit.anchors import fix_anchors
from quati_pool.commands.audit.audit import audit
from quati_pool.commands.audit.drift import check_drift
from quati_pool.commands.audit.settings import AuditSettings
from quati_pool.commands.evaluate import Settings
from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import judge
from quati_pool.commands.labels import labels
from quati_pool.commands.report import opened
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.records import State
from quati_pool.reporting.json_data.agree import as_data as agree_data
from quati_pool.reporting.json_data.evaluate import as_data as evaluate_data
from quati_pool.store.database import Store
from quati_pool.store.failed_answers import failed_answers
from quati_pool.store.records import AUDITING, content_sha
from quati_pool.store.usage import attempts_of, total
from tests.cli.conftest import Cli
from tests.llm.server import ServerProcess
from tests.store.samples import entry

JUDGES = {
    "one": {"model": "fake-1", "prompt": "quati-en", "concurrency": 16},
    "two": {"model": "fake-1", "prompt": "quati-pt", "concurrency": 16},
    "both": {"consensus": ["one", "two"], "method": "median"},
}


@pytest.fixture
def server(server: ServerProcess) -> ServerProcess:
    # Some answers have no grade, of the pool's pairs and of changed ones.
    server.script(shares={"refusal": 0.05, "empty": 0.05})
    return server


def judged(workspace: Path, url: str) -> Path:
    """A built workspace, judged by two judges with some failures, and graded in a file."""
    path = workspace / "pool.yaml"
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings |= {
        "judges": JUDGES,
        "labels": {"url": url, "files": {"gold": {"path": "gold.qrels", "person": True}}},
        "audit": {"pairs": 8, "probes": {"length": {"words": 30}}},
    }
    path.write_text(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True), encoding="utf-8")
    with Store.open(url, workspace) as store:
        pool = list(chain.from_iterable(Grading(load_config(path), store).pairs()))
    grades = (f"{pair.query_id} 0 {pair.doc_id} {place % 4}\n" for place, pair in enumerate(pool))
    (workspace / "gold.qrels").write_text("".join(grades), encoding="utf-8")
    for name in ("one", "two"):
        assert judge(path, name, Listener(), JudgeOptions(reask=0)).error is None
    return path


@pytest.fixture
def config(server: ServerProcess, workspace: Path, made_url: str) -> Path:
    return judged(workspace, made_url)


def outputs(run: Cli, config: Path, folder: Path) -> Iterator[tuple[str, Any]]:
    """What the commands print and write."""
    folder.mkdir()
    for command in (
        ("labels",),
        ("labels", "one", "--full"),
        ("agree", "one", "gold", "--draws", 0),
        ("status",),
        ("judge", "one", "--dry-run"),
        ("judge", "two", "--dry-run"),
        ("export", "qrels", "--labeler", "one", "--allow-missing", "-o", folder / "one.qrels"),
        ("export", "qrels", "--labeler", "both", "--allow-missing", "-o", folder / "both.qrels"),
        ("export", "labels", "--labeler", "one", "-o", folder / "one.jsonl"),
        ("export", "bundle", "--labeler", "one", "--allow-missing", "-o", folder / "bundle"),
    ):
        form = () if command[0] == "export" else ("--format", "json")
        done = run(*command, *form, "-c", config)
        assert done.status == 0, (command, done.err)
        yield " ".join(map(str, command[:3])), json.loads(done.out) if form else ""
    for path in sorted(folder.rglob("*")):
        if path.suffix != ".json" and any(part in str(path.relative_to(folder)) for part in ("qrels", "label", "one")):
            yield str(path.relative_to(folder)), path.read_bytes() if path.is_file() else None


def read(config: Path) -> dict[str, Any]:
    """What reports are made of, and what the store says by default."""
    loaded = load_config(config)
    with opened(config, Settings(draws=50)) as state:
        assert state.evaluation is not None
        assert state.agreement is not None
        found = {"evaluation": evaluate_data(state.evaluation), "agreement": agree_data(state.agreement)}
    with Store.open(loaded.labels.url, loaded.folder) as store:
        grading = Grading(loaded, store)
        pairs = list(chain.from_iterable(grading.pairs()))
        query_ids = list(dict.fromkeys(pair.query_id for pair in pairs))
        found["names"] = grading.names
        found["labelers"] = [(one.labeler_id, one.version, one.rows) for one in store.labelers("small")]
        for name in ("one", "two"):
            version = grading.labeler(name).version
            used = store.usage("small", name)
            found[name] = (
                grading.labeler(name).graded(pairs),
                used.attempts, used.input_tokens, used.output_tokens, used.cost, used.states, used.models,
                failed_answers(store, "small", name, version, query_ids),
                store.shareable(version, [content_sha(pair.query, pair.text) for pair in pairs]),
                store.table("small", name, version).to_pylist(),
            )  # fmt: skip
    return found


def audited(config: Path) -> None:
    """Asks both judges about more than a hundred texts, of which some get no grade, and one of them about its anchors
    twice."""
    reports = audit(config, ["one", "both"], Listener(), AuditSettings(reask=0))
    assert sum(report.asked for report in reports) > 100
    assert reports[0].wordings is not None
    fix_anchors(config, ["one"], 20, Listener())
    for _ in range(2):
        (check,) = check_drift(config, ["one"], Listener(), JudgeOptions(reask=0), 0)
        assert check.run.asked == 20
    with Store.open(load_config(config).labels.url, config.parent) as store, store.reading() as connection:
        used = total(connection.execute(attempts_of("small", "one", None, AUDITING)).partitions())
    assert used.attempts > used.states[State.ok] > 30


@pytest.mark.slow
def test_what_commands_print_and_write_is_the_same_after_an_audit(
    server: ServerProcess, workspace: Path, cli: Cli, tmp_path: Path
) -> None:
    config = judged(workspace, f"sqlite:///{tmp_path / 'labels.db'}")
    before = dict(outputs(cli, config, tmp_path / "before"))
    assert {"one.qrels", "both.qrels", "one.jsonl"} < {*before}
    assert any("bundle" in name for name in before)
    audited(config)
    after = dict(outputs(cli, config, tmp_path / "after"))
    for name, expected in before.items():
        assert after[name] == expected, name
    assert after.keys() == before.keys()


@pytest.mark.slow
def test_reports_and_exports_are_as_current_after_an_audit(config: Path, cli: Cli) -> None:
    def status() -> Any:
        return json.loads(cli("status", "--format", "json", "-c", config).out)

    for command in (
        ("agree", "--draws", 20),
        ("evaluate", "--draws", 20),
        ("report", "--draws", 20),
        ("export", "qrels", "--labeler", "one", "--allow-missing"),
    ):
        done = cli(*command, "-c", config)
        assert done.status == 0, (command, done.err)
    before = status()
    assert [(Path(one["path"]).name, one["why"]) for one in before["outputs"]] == [
        ("agreement.json", None), ("evaluation.json", None), ("report.html", None), ("one.qrels", None),
    ]  # fmt: skip
    audited(config)
    after = status()
    for name, expected in before.items():
        if name != "next":
            assert after[name] == expected, name
    # The other judge was asked for the consensus alone.
    assert before["next"]["command"].startswith("quati-pool audit one ")
    assert after["next"]["command"].startswith("quati-pool audit two ")


@pytest.mark.slow
def test_what_reports_are_made_of_is_the_same_after_an_audit(config: Path) -> None:
    before = read(config)
    audited(config)
    after = read(config)
    for name, expected in before.items():
        assert after[name] == expected, name


def test_an_audited_judge_that_left_pool_yaml_is_what_it_was(config: Path) -> None:
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    url = load_config(config).labels.url
    with Store.open(url, config.parent) as store:
        before = sorted((one.labeler_id, one.rows) for one in store.labelers("small"))
    audit(config, ["one"], Listener(), AuditSettings(probes=("repeat", "stuffing")))
    del settings["judges"]["one"], settings["judges"]["both"]
    config.write_text(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True), encoding="utf-8")
    with Store.open(url, config.parent) as store:
        after = sorted((one.labeler_id, one.rows) for one in store.labelers("small"))
    assert [name for name, _ in before] == ["one", "two"]
    assert after == before
    report = labels(config)
    assert report.problems == {}
    coverage = report.coverages["one"]
    assert (
        coverage.states[State.ok] + sum(coverage.states[state] for state in (State.refused, State.unparsed))
        == (before[0][1])
    )


def test_who_answered_in_audits_alone_is_no_labeler(config: Path) -> None:
    url = load_config(config).labels.url
    with Store.open(url, config.parent) as store:
        store.append(
            [
                entry("q1", "p00", collection="small", labeler_id="probed", phase="probe"),
                entry("q1", "p00", collection="small", labeler_id="repeated", phase="repeat", version="v2"),
                entry("q1", "p01", State.refused, collection="small", labeler_id="probed", phase="probe"),
            ]
        )
        assert {one.labeler_id for one in store.labelers("small")} == {"one", "two"}
        names = Grading(load_config(config), store).names
        assert names == ["one", "two", "both", "gold"]
        assert store.usage("small", "probed").attempts == 0
        assert failed_answers(store, "small", "probed", "v1", ["q1"]) == {}
        assert store.shareable("v1", ["sha of p00"]) == {}
    assert list(labels(config).coverages) == ["one", "two", "both", "gold"]
    # One grade, and it is a labeler: the other rows are still not counted.
    with Store.open(url, config.parent) as store:
        store.append([entry("q1", "p00", collection="small", labeler_id="probed")])
        assert {one.labeler_id: one.rows for one in store.labelers("small")}["probed"] == 1
        assert store.usage("small", "probed").attempts == 1


def test_what_people_answer_when_asked_again_is_theirs(config: Path) -> None:
    """Labels of phase repeat are people's too, who are no judges in an audit: they stay labelers."""
    with Store.open(load_config(config).labels.url, config.parent) as store:
        store.append([entry("q1", "p00", collection="small", labeler_id="ana", kind="assessor", phase="repeat")])
        assert {one.labeler_id: one.rows for one in store.labelers("small")}["ana"] == 1


@pytest.mark.slow
def test_estimates_are_the_same_after_an_audit(
    server: ServerProcess,
    finished_estimates: Path,
    tmp_path: Path,
    cli: Cli,
) -> None:
    config = Path(shutil.copytree(finished_estimates, tmp_path / "workspace", symlinks=True)) / "pool.yaml"

    def estimated() -> Any:
        done = cli("estimate", "--format", "json", "-c", config)
        assert done.status == 0, done.err
        return json.loads(done.out)

    before = estimated()
    assert before["judge"] == "gpt-4o"
    (report,) = audit(config, ["gpt-4o"], Listener(), AuditSettings(pairs=5))
    assert report.asked > 20
    assert estimated() == before
