"""``quati-pool status``: what it says of each state, that its next commands lead to the end, and that it only reads."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.judge.judge import judge
from quati_pool.commands.status.labelers import label_states
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.records import State
from quati_pool.retrieval.bm25s import Bm25s
from quati_pool.store.database import Store
from quati_pool.store.records import Entry, Label, content_sha
from quati_pool.text.display_width import columns
from tests.cli.conftest import Cli
from tests.commands.annotate.people_at_work import answer, token
from tests.commands.judged import ID_PATTERN, many, pair, workspace
from tests.former.kept_workspace import unpack
from tests.llm.server import ServerProcess

pytestmark = pytest.mark.slow

JUDGES = {"fake": {"model": "gpt-4o-mini", "prompt": "quati-pt"}}


@pytest.fixture
def server(running_server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> ServerProcess:
    monkeypatch.setenv("OPENAI_BASE_URL", running_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-of-status")
    running_server.script(id_pattern=ID_PATTERN, polls=0)
    running_server.clear()
    return running_server


@pytest.fixture
def judged(server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a pool of 12 pairs, whose run was not built, and a judge."""
    workspace(tmp_path, many(3, 4), JUDGES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Time and bytes of every file, but for the index of a write-ahead log, in which readers take turns with
    writers."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("-shm")]
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def looked(cli: Cli, *arguments: object) -> dict[str, Any]:
    """The JSON of status, which changed nothing in the current folder and fits a screen as text."""
    before = snapshot(Path())
    done = cli("status", *arguments, "--format", "json")
    assert (done.status, done.err) == (0, ""), done.err
    text = cli("status", *arguments).out
    assert snapshot(Path()) == before
    lines = text.splitlines()
    assert len(lines) <= 40
    # A command to paste is not cut, however long its path.
    assert max(columns(line) for line in lines if not line.startswith("  quati-pool ")) <= 80
    found: dict[str, Any] = json.loads(done.out)
    command = found["next"]["command"] if found["next"] else "nothing is left to do"
    assert command in " ".join(lines)
    return found


def next_of(found: dict[str, Any]) -> list[str]:
    """The arguments of the next command."""
    program, *arguments = shlex.split(found["next"]["command"])
    assert program == "quati-pool"
    return arguments


def doubts(found: dict[str, Any]) -> str:
    return "\n".join(one["doubt"] for one in found["in_doubt"])


def edited(folder: Path, **changes: Any) -> None:
    path = folder / "pool.yaml"
    path.write_text(
        yaml.safe_dump({**yaml.safe_load(path.read_text("utf-8")), **changes}, sort_keys=False), encoding="utf-8"
    )


def grade_all(name: str = "ana") -> None:
    """What people do once the app is served: somebody signs in and grades what is open."""
    with AnnotationSession.open(Path("pool.yaml")) as session:
        mine = token(session, name)
        number = 0
        while (found := next_item(session, mine)) is not None:
            submit(session, mine, found, answer(number, number % 3))
            number += 1


def walk(cli: Cli, limit: int = 20) -> list[str]:
    """Runs the next command until there is none; people answer where the app would be served."""
    done = []
    while (found := looked(cli))["next"] is not None:
        arguments = next_of(found)
        done.append(" ".join(arguments))
        assert len(done) < limit, done
        if arguments == ["annotate"]:
            grade_all()
        else:
            ended = cli(*arguments)
            assert ended.status == 0, ended.err
    return done


# ---- the walk


def test_a_walk_from_a_new_workspace_ends(cli: Cli, tiny: Path, sketched: None) -> None:
    with (tiny / "pool.yaml").open("a", encoding="utf-8") as file:
        file.write("judges: {lexical: {judge: lexical, language: en}}\n")
    assert walk(cli) == [
        "build", "judge lexical", "assign --random 3", "annotate", "agree", "evaluate", "report",
        "export qrels --labeler ana",
    ]  # fmt: skip
    assert "\nlexical and ana have graded all of them; nothing is left to do.\n" in cli("status").out


def test_a_language_model_is_audited_last(cli: Cli, tiny: Path, server: ServerProcess, sketched: None) -> None:
    with (tiny / "pool.yaml").open("a", encoding="utf-8") as file:
        file.write(f"judges: {json.dumps(JUDGES)}\n")
    steps = walk(cli)
    assert steps[:2] == ["build", "judge fake"]
    assert steps[7:9] == ["export qrels --labeler ana", "audit fake"]
    assert "audit fake" not in steps[9:]


@pytest.mark.slow
def test_a_walk_from_the_demo_ends(cli: Cli, tmp_path: Path, sketched: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("demo", "demo").status == 0
    monkeypatch.chdir("demo")
    assert walk(cli) == ["report", "export qrels --labeler sample-gold"]
    with Path("labels.tsv").open(encoding="utf-8") as file:
        header, *rows = file.read().splitlines()
    Path("labels.tsv").write_text("\n".join([header, *rows[:900]]) + "\n", encoding="utf-8")
    again = walk(cli)
    assert again[:3] == ["agree", "evaluate", "report"]


def test_init_says_what_is_missing(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("init", ".").status == 0
    found = looked(cli)
    assert next_of(found) == ["validate", "pool.yaml"]
    assert "queries.tsv: there is no such file" in doubts(found)
    assert [one["state"] for one in found["systems"]] == ["not built"] * 4
    assert found["pool"]["pairs"] is None
    assert found["labelers"][0] == {
        "labeler": "lexical", "grader": "program", "version": None, "members": [], "graded": 0, "failures": 0,
        "never_asked": 0, "tied": 0, "not_given": 0, "pairs": 0, "states": {}, "grades": {}, "earlier_labels": 0,
        "unread_answers": 0, "open_batches": 0, "waiting_requests": 0, "not_pooled": 0,
        "queries_without_relevant": [],
    }  # fmt: skip


@pytest.mark.slow
def test_commands_name_the_workspace_they_are_for(cli: Cli, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny.rename(tiny.parent / "it's here")
    monkeypatch.chdir(tiny.parent)
    path = folder.relative_to(tiny.parent) / "pool.yaml"
    found = looked(cli, "-c", path)
    assert next_of(found) == ["build", "-c", str(path)]
    assert cli(*next_of(found)).status == 0
    assert looked(cli, "-c", path)["pool"]["state"] == "built"


# ---- systems and pool


def test_what_is_out_of_date_and_why(cli: Cli, tiny: Path) -> None:
    assert cli("build").status == 0
    edited(tiny, systems={"bm25s": {"retriever": "bm25s", "language": "en", "k1": 0.7},
                          "theirs": {"retriever": "run", "path": "theirs.run"}})  # fmt: skip
    found = looked(cli)
    assert next_of(found) == ["build"]
    states = {one["run_tag"]: (one["state"], one["imported"]) for one in found["systems"]}
    assert states == {"bm25s": ("out of date", False), "theirs": ("built", True)}
    assert "k1" in found["systems"][0]["why"]
    assert found["pool"]["state"] == "out of date"
    assert "bm25s: out of date (" in doubts(found)
    assert cli(*next_of(found)).status == 0
    assert {one["state"] for one in looked(cli)["systems"]} == {"built"}


@pytest.mark.slow
def test_a_system_that_is_new_and_a_run_that_was_lost(cli: Cli, tiny: Path) -> None:
    assert cli("build").status == 0
    Workspace(tiny).run("bm25s").unlink()
    systems = yaml.safe_load((tiny / "pool.yaml").read_text("utf-8"))["systems"]
    edited(tiny, systems={**systems, "lsa": {"retriever": "lsa", "dimensions": 2}})
    found = looked(cli)
    assert [one["state"] for one in found["systems"]] == ["not built", "built", "not built"]
    assert next_of(found) == ["build"]


@pytest.mark.slow
def test_a_pool_that_is_there_without_its_corpus_is_not_checked_and_holds_nobody_up(cli: Cli, tiny: Path) -> None:
    assert cli("build").status == 0
    (tiny / "corpus.jsonl").unlink()
    edited(tiny, judges={"lexical": {"judge": "lexical"}})
    found = looked(cli)
    assert {one["state"] for one in found["systems"]} == {"not checked"}
    assert next_of(found) == ["judge", "lexical"]
    assert "corpus.jsonl: there is no such file" in doubts(found)


@pytest.mark.slow
def test_queries_without_pairs_and_pairs_without_text(cli: Cli, tiny: Path) -> None:
    (tiny / "corpus.jsonl").write_text(
        (tiny / "corpus.jsonl").read_text("utf-8") + '{"doc_id": "d4", "text": " "}\n', encoding="utf-8"
    )
    (tiny / "theirs.run").write_text("q1 Q0 d4 1 2.5 theirs\nq2 Q0 d2 1 1.5 theirs\n", encoding="utf-8")
    with (tiny / "queries.tsv").open("a", encoding="utf-8") as file:
        file.write("q3\tzzz\n")
    assert cli("build").status == 0
    found = looked(cli)
    assert found["pool"]["queries_without_pairs"] == ["q3"]
    assert found["pool"]["without_text"] == 1
    assert "1 query has no pairs in the pool: q3" in doubts(found)
    assert "1 pooled pair has a passage without text" in doubts(found)


def test_a_broken_pool_yaml_is_one_line_and_exit_1(cli: Cli, tiny: Path) -> None:
    (tiny / "pool.yaml").write_text("name: tiny\ncorpsu: {path: x}\n", encoding="utf-8")
    done = cli("status")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("quati-pool: pool.yaml:2: ")
    assert len(done.err.splitlines()) == 1


# ---- labels


@pytest.mark.slow
def test_half_judged_with_failures(cli: Cli, judged: Path, server: ServerProcess) -> None:
    rows = [*many(3, 4), pair("q9", "d1", "[[serve: refusal]] [pair no]")]
    workspace(judged, rows, JUDGES)
    assert cli("judge", "fake", "--limit", "5", "--reask", "0").status == 0
    found = looked(cli)
    [one] = found["labelers"]
    assert (one["graded"], one["never_asked"], one["failures"], one["pairs"]) == (5, 8, 0, 13)
    assert cli("judge", "fake", "--reask", "0").status == 0
    found = looked(cli)
    [one] = found["labelers"]
    assert (one["graded"], one["never_asked"], one["failures"]) == (12, 0, 1)
    assert "fake has no grade of 1 pair (1 refused)" in doubts(found)


def test_labels_of_an_earlier_prompt_do_not_count(cli: Cli, judged: Path, server: ServerProcess) -> None:
    assert cli("judge", "fake").status == 0
    edited(judged, judges={"fake": {"model": "gpt-4o-mini", "prompt": "quati-en"}})
    found = looked(cli)
    [one] = found["labelers"]
    assert (one["graded"], one["never_asked"], one["earlier_labels"]) == (0, 12, 12)
    assert "fake: 12 labels count no longer, of another model, prompt or parameters" in doubts(found)


@pytest.mark.slow
def test_a_batch_that_waits(cli: Cli, judged: Path, server: ServerProcess) -> None:
    assert cli("batch", "submit", "fake").status == 0
    found = looked(cli)
    [one] = found["labelers"]
    assert (one["graded"], one["open_batches"], one["waiting_requests"]) == (0, 1, 12)
    assert "fake: 12 requests wait in 1 batch" in doubts(found)
    assert {"doubt": "fake: 12 requests wait in 1 batch", "command": "quati-pool batch collect fake"} in found[
        "in_doubt"
    ]
    assert cli("batch", "collect", "fake").status == 0
    [one] = looked(cli)["labelers"]
    assert (one["graded"], one["open_batches"]) == (12, 0)
    assert "no person has graded, so how far fake can be trusted is not known" in doubts(looked(cli))


@pytest.mark.slow
def test_the_next_command_of_a_judge(cli: Cli, tiny: Path, server: ServerProcess) -> None:
    server.script(polls=0)
    edited(tiny, judges=JUDGES)
    assert cli("build").status == 0
    assert next_of(looked(cli)) == ["judge", "fake"]
    assert cli("batch", "submit", "fake").status == 0
    found = looked(cli)
    assert next_of(found) == ["batch", "collect", "fake"]
    assert cli(*next_of(found)).status == 0
    assert next_of(looked(cli)) == ["assign", "--random", "3"]
    edited(tiny, judges={"fake": {"model": "gpt-4o-mini", "prompt": "quati-en"}})
    assert next_of(looked(cli)) == ["judge", "fake"]


@pytest.mark.slow
def test_answers_that_were_read_by_older_rules(cli: Cli, judged: Path, server: ServerProcess) -> None:
    assert cli("judge", "fake").status == 0
    with sqlite3.connect(judged / "labels.db") as connection:
        connection.execute("UPDATE labels SET reading = 'former' WHERE doc_id = 'd0001'")
    connection.close()
    found = looked(cli)
    assert found["labelers"][0]["unread_answers"] == 3
    assert "fake: 3 answers were read by older rules" in doubts(found)


@pytest.mark.slow
def test_a_judge_without_a_key_holds_up_nobody_but_itself(
    cli: Cli, tiny: Path, monkeypatch: pytest.MonkeyPatch, sketched: None
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    edited(tiny, judges={**JUDGES, "lexical": {"judge": "lexical"}})
    assert cli("build").status == 0
    found = looked(cli)
    assert next_of(found) == ["judge", "lexical"]
    assert "set OPENAI_API_KEY" in found["cannot_be_asked"]["fake"]
    assert cli("judge", "lexical").status == 0
    found = looked(cli)
    assert next_of(found) == ["assign", "--random", "3"]
    assert "fake cannot be asked here: there is no key" in doubts(found)
    (tiny / "labels.db").unlink()
    edited(tiny, judges=JUDGES)
    found = looked(cli)
    assert next_of(found) == ["judge", "fake"]
    assert "OPENAI_API_KEY" in found["next"]["why"]


@pytest.mark.slow
def test_reports_and_exports_that_are_older_than_the_labels(cli: Cli, tiny: Path, sketched: None) -> None:
    (tiny / "ana.qrels").write_text("q1 0 d1 2\nq1 0 d3 0\nq2 0 d2 3\n", encoding="utf-8")
    (tiny / "bia.qrels").write_text("q1 0 d1 1\nq1 0 d3 0\nq2 0 d2 3\n", encoding="utf-8")
    assert cli("build").status == 0
    assert cli("import", "ana=ana.qrels", "bia=bia.qrels").status == 0
    for command in ("agree", "evaluate", "report"):
        assert cli(command).status == 0
    for name in ("qrels", "beir"):
        assert cli("export", name, "--labeler", "ana", "--allow-missing").status == 0
    assert cli("export", "explorer", "--labeler", "ana").status == 0
    (tiny / "reports" / "explore.meta.json").rename(tiny / "hidden.json")
    assert looked(cli)["next"]["why"] == "report.html: its explorer: was not finished"
    (tiny / "hidden.json").rename(tiny / "reports" / "explore.meta.json")
    found = looked(cli)
    assert found["next"] is None
    assert {one["path"]: one["current"] for one in found["outputs"]} == {
        "reports/agreement.json": True, "reports/evaluation.json": True, "reports/report.html": True,
        "exports/beir": True, "exports/explorer": True, "qrels/ana.qrels": True,
    }  # fmt: skip
    config = load_config(tiny / "pool.yaml")
    with Store.open(None, tiny) as store:
        [version] = {one.version for one in store.labelers("tiny")}
        text = "The ferry leaves the harbour at noon."
        sha = content_sha("when does the ferry leave", text)
        label = Label(
            collection="tiny", labeler_id="ana", kind="assessor", version=version, query_id="q1", doc_id="d1",
            content_sha=sha, status=State.ok, relevance=0,
        )  # fmt: skip
        store.append([Entry(label=label)])
        assert {one.name: dict(one.coverage.grades) for one in label_states(config, store).labelers}["ana"] == {
            0: 2,
            3: 1,
        }
    found = looked(cli)
    why = {one["path"]: one["why"] for one in found["outputs"]}
    assert {why[f"reports/{name}"] for name in ("agreement.json", "evaluation.json", "report.html")} == {
        "1 label is newer"
    }
    assert why["qrels/ana.qrels"] == "holds other grades than ana has now"
    assert why["exports/beir"] == "holds other grades than there are now"
    assert why["exports/explorer"] == "1 label is newer"
    assert walk(cli) == [
        "agree", "evaluate", "report", "export explorer --labeler ana", "export beir --labeler ana",
        "export qrels --labeler ana",
    ]  # fmt: skip


@pytest.mark.slow
def test_an_explorer_is_no_export_of_grades_and_is_of_one_pool_yaml(cli: Cli, tiny: Path, sketched: None) -> None:
    (tiny / "ana.qrels").write_text("q1 0 d1 2\nq1 0 d3 0\nq2 0 d2 3\n", encoding="utf-8")
    assert cli("build").status == 0
    assert cli("import", "ana=ana.qrels").status == 0
    assert cli("export", "explorer").status == 0
    assert walk(cli) == ["evaluate", "report", "export qrels --labeler ana"]
    [queries] = tiny.glob("queries.*")
    former = queries.read_bytes()
    queries.write_bytes(former.replace(b"ferry", b"boat"))
    why = {one["path"]: one["why"] for one in looked(cli)["outputs"]}
    assert why["exports/explorer"] == "is of other queries"
    assert why["reports/report.html"] == "its explorer: is of other queries"
    queries.write_bytes(former)
    text = (tiny / "pool.yaml").read_text(encoding="utf-8")
    (tiny / "pool.yaml").write_text(f"{text}release: {{texts: false}}\n", encoding="utf-8")
    why = {one["path"]: one["why"] for one in looked(cli)["outputs"]}
    assert why["exports/explorer"] == "pool.yaml was changed since"
    # Its folder still holds the texts.
    assert why["reports/report.html"] == "its explorer: pool.yaml was changed since"


@pytest.mark.slow
def test_pairs_that_a_person_was_not_given_are_no_gaps(cli: Cli, tiny: Path, sketched: None) -> None:
    (tiny / "ana.qrels").write_text("q1 0 d1 2\n", encoding="utf-8")
    assert cli("build").status == 0
    assert cli("import", "ana=ana.qrels").status == 0
    assert walk(cli) == ["evaluate", "report", "export qrels --labeler ana"]
    assert (tiny / "qrels" / "ana.qrels").read_text("utf-8") == "q1 0 d1 2\n"


@pytest.mark.slow
def test_estimates_of_the_demo_are_listed_once_there_are_some_and_grow_old(
    cli: Cli, finished_demo: Path, tmp_path: Path, sketched: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shutil.copytree(finished_demo, tmp_path / "copy"))

    def why() -> dict[str, str | None]:
        return {one["path"]: one["why"] for one in looked(cli)["outputs"]}

    def listed() -> list[str]:
        return re.findall(r"(?m)^estimate +(.*)$", cli("status").out)

    assert cli("assign", "--random-queries", "8").status == 0
    grade_all()
    assert listed() == []
    assert cli("estimate").status == 0
    assert why()["reports/estimate.json"] is None
    assert listed() == ["current"]
    assert cli("assign", "--random-queries", "9").status == 0
    grade_all("bia")
    assert listed()[0].endswith("labels are newer")
    assert walk(cli)[:4] == ["agree", "evaluate", "estimate", "report"]
    assert listed() == ["current"]
    # Estimates of files say nothing about the workspace's labels.
    assert cli("export", "qrels", "--labeler", "sample-gold", "-o", "people.qrels").status == 0
    done = cli("estimate", "--people", "people.qrels", "--sampled", "queries")
    assert done.status == 0, done.err
    assert "reports/estimate.json" not in why()


# ---- workspaces that are not as they should be


@pytest.mark.slow
def test_a_former_workspace_is_read_and_left_as_it_is(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = unpack(tmp_path)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FORMER_KEY", "any")
    found = looked(cli)
    assert "is of an earlier quati-pool (revision 0002)" in found["database"]
    assert found["pool"]["pairs"] > 0
    assert {one["state"] for one in found["systems"]} <= {"built", "out of date", "not checked"}
    assert any(one["command"] == "quati-pool labels" for one in found["in_doubt"])
    # Unknown is not zero.
    assert (found["labelers"], found["outputs"]) == ([], [])
    assert cli("labels").status == 0
    found = looked(cli)
    assert found["database"] is None
    graded = {one["labeler"]: one["graded"] for one in found["labelers"]}
    assert graded["lexical"] == found["pool"]["pairs"] - (found["pool"]["without_text"] or 0)


def test_an_empty_and_a_damaged_database(cli: Cli, judged: Path) -> None:
    (judged / "labels.db").touch()
    assert looked(cli)["database"] is None
    (judged / "labels.db").write_bytes(b"no database, but long enough to be one" * 100)
    found = looked(cli)
    assert "this file is not a SQLite database" in found["database"]
    assert found["pool"]["pairs"] == 12


def test_a_server_that_cannot_be_reached_leaves_the_rest(cli: Cli, judged: Path) -> None:
    edited(judged, labels={"url": "postgresql://ana:open-sesame@127.0.0.1:9/none"})
    found = looked(cli)
    assert "no connection" in found["database"]
    assert (found["labelers"], found["outputs"]) == ([], [])
    assert found["pool"]["pairs"] == 12
    assert "sesame" not in json.dumps(found)


@pytest.mark.slow
def test_a_plug_in_that_is_broken(cli: Cli, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("build").status == 0

    def broken(self: Bm25s) -> dict[str, Any]:
        raise RuntimeError("of the plug-in")

    monkeypatch.setattr(Bm25s, "index_key", broken)
    found = looked(cli)
    states = {one["run_tag"]: (one["state"], one["why"]) for one in found["systems"]}
    assert states["bm25s"] == ("not checked", "RuntimeError: of the plug-in")
    assert states["theirs"] == ("built", None)


# ---- its form


@pytest.mark.slow
def test_many_systems_and_labelers_with_long_names_fit(cli: Cli, tiny: Path, sketched: None) -> None:
    long = "a-very-long-run-tag-of-a-multilingual-model-that-nobody-can-pronounce-" * 2
    systems = {f"{long}{n}": {"retriever": "run", "path": f"r{n}.run"} for n in range(62)}
    files = {f"{long[:100]}-{n}": {"path": "ana.qrels", "person": True} for n in range(6)}
    edited(tiny, systems={"bm25s": {"retriever": "bm25s"}, **systems}, labels={"files": files})
    (tiny / "ana.qrels").write_text("q1 0 d1 2\nq2 0 d2 3\n", encoding="utf-8")
    for n in range(62):
        (tiny / f"r{n}.run").write_text(f"q1 Q0 d{n % 3 + 1} 1 2.5 r\n", encoding="utf-8")
    found = looked(cli)
    assert next_of(found) == ["build"]
    assert cli("build").status == 0
    found = looked(cli)
    assert len(found["systems"]) == 63
    assert len(found["labelers"]) == 6
    full = cli("status", "--full").out
    assert full.count("built") > 63


@pytest.mark.parametrize("form", ["table", "markdown", "latex", "csv"])
def test_every_format(cli: Cli, tiny: Path, form: str) -> None:
    done = cli("status", "--format", form)
    assert (done.status, done.err) == (0, "")
    assert "bm25s" in cli("status", "--format", form, "--full").out


@pytest.mark.slow
def test_status_while_a_judge_runs(cli: Cli, judged: Path, server: ServerProcess) -> None:
    """What it counts never falls, and the judge is not held up."""
    workspace(judged, many(30, 10), JUDGES)
    thread = threading.Thread(target=judge, args=(Path("pool.yaml").absolute(), "fake", Listener()))
    thread.start()
    seen = []
    while thread.is_alive():
        done = cli("status", "--format", "json")
        assert done.status == 0, done.err
        seen.append(json.loads(done.out)["labelers"][0]["graded"])
    thread.join()
    assert seen == sorted(seen)
    assert looked(cli)["labelers"][0]["graded"] == 300


@pytest.mark.slow
def test_a_copy_of_a_workspace_says_the_same(cli: Cli, tiny: Path, sketched: None) -> None:
    """Nothing depends on the times of files."""
    (tiny / "ana.qrels").write_text("q1 0 d1 2\nq1 0 d3 0\nq2 0 d2 3\n", encoding="utf-8")
    assert cli("build").status == 0
    assert cli("import", "ana=ana.qrels").status == 0
    assert cli("evaluate").status == 0
    before = looked(cli)
    shutil.copytree(tiny, tiny.parent / "copy", copy_function=shutil.copyfile)
    assert looked(cli, "-c", tiny.parent / "copy" / "pool.yaml")["outputs"] != []
    copied = json.loads(cli("status", "-c", tiny.parent / "copy" / "pool.yaml", "--format", "json").out)
    assert copied["labelers"] == before["labelers"]
    assert [one["current"] for one in copied["outputs"]] == [one["current"] for one in before["outputs"]]
