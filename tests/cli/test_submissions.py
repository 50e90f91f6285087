"""A shared task from the first check to the release: the story of docs/shared-task.md, and what may go wrong in it."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import stat
from collections import defaultdict
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from quati_pool.commands.submissions import adding, intake
from quati_pool.files.problems import Problems
from quati_pool.files.runs import RunRows, read_runs
from tests.cli import shared_task
from tests.cli.conftest import Cli

DOCS = Path(__file__).parents[2] / "docs" / "shared-task.md"

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("sketched")]


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shared_task.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def participants(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "submissions" / "participants.json").read_text("utf-8"))["runs"]
    return found


def corrected(folder: Path) -> None:
    shutil.copytree(folder / "corrected", folder / "incoming", dirs_exist_ok=True)


def test_the_story_of_the_page(task: Path, cli: Cli) -> None:
    page = DOCS.read_text(encoding="utf-8")
    block = page[page.index("    name: amostra-task") : page.index("Without texts")]
    assert yaml.safe_load(block) == yaml.safe_load(shared_task.POOL)
    told = re.findall(r"(?m)^    \$ quati-pool (.*)\n((?:    (?!\$).*\n)*)", page)
    assert len(told) == 12
    for number, (command, shown) in enumerate(told):
        if number == 2:
            corrected(task)
        done = cli(*command.split())
        said = " ".join((done.out + done.err).split())
        assert " ".join(shown.split()) in said, command
        assert done.status == (1 if "faults" in shown or "withheld until" in shown else 0), done.err
    _anonymous(task)
    _pooled_by_priority(task)
    _results(task)
    _released(task)
    evaluation = json.loads((task / "reports" / "evaluation.json").read_text(encoding="utf-8"))["qrels"][0]
    families = evaluation["leave_out"]["families"]
    assert {run["left_out"] for run in families["runs"]} == {one["family"] for one in participants(task)} | {"baseline"}


def _anonymous(task: Path) -> None:
    path = task / "submissions" / "participants.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    names = [*shared_task.GROUPS, *(name.title() for name in shared_task.GROUPS)]
    # Words of the queries and passages, and of the files that are the groups' own.
    theirs = (
        "incoming",
        "corrected",
        "reports/submissions",
        "cache",
        "corpus",
        "queries",
        "pool.jsonl",
        "exports/bundle",
    )
    for found in task.rglob("*"):
        relative = found.relative_to(task).as_posix()
        if found.is_file() and found != path and not relative.startswith(theirs):
            data = gzip.decompress(found.read_bytes()) if found.suffix == ".gz" else found.read_bytes()
            if b"SQLite" not in data[:16]:
                assert not [name for name in names if re.search(rb"\b%s-?\d?\b" % name.encode(), data)], relative
    bundle = task / "exports" / "bundle"
    assert not list(bundle.rglob("participants*"))
    for run in participants(task):
        rows = gzip.decompress((bundle / "runs" / f"{run['system']}.trec.gz").read_bytes()).splitlines()
        assert {row.split()[5].decode() for row in rows} == {run["system"]}
    # The order in pool.yaml is that of the anonymous names within what one command added.
    systems = list(yaml.safe_load((task / "pool.yaml").read_text(encoding="utf-8"))["systems"])
    assert systems[1:31] == sorted(systems[1:31])
    assert systems[31:] == sorted(systems[31:])


def _pooled_by_priority(task: Path) -> None:
    """By hand: the first ten of the two most important runs of each group, and of the baseline."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for run in participants(task):
        groups[run["group"]].append(run)
    assert {run["priority"] for run in groups["usp"]} == {1, 2, 3}
    assert next(run for run in groups["usp"] if run["file"] == "run3.txt")["priority"] == 1
    feeding = [run["system"] for runs in groups.values() for run in sorted(runs, key=lambda one: one["priority"])[:2]]
    pairs = set()
    for system in ["baseline", *feeding]:
        ranked: dict[bytes, int] = defaultdict(int)
        for row in gzip.decompress((task / "runs" / f"{system}.trec.gz").read_bytes()).splitlines():
            query_id, _, doc_id, *_ = row.split()
            ranked[query_id] += 1
            if ranked[query_id] <= 10:
                pairs.add((query_id.decode(), doc_id.decode()))
    with gzip.open(task / "pool.jsonl.gz", "rt", encoding="utf-8") as lines:
        pool = [json.loads(line) for line in lines]
    assert {(pair["query_id"], pair["doc_id"]) for pair in pool} == pairs
    # The others are in the ledger.
    assert set().union(*(pair["runs"] for pair in pool)) == {"baseline", *(run["system"] for run in participants(task))}


def _results(task: Path) -> None:
    folder = task / "reports" / "submissions"
    names = {run["run_tag"] for run in participants(task)}
    for group in shared_task.GROUPS:
        own = {run["run_tag"] for run in participants(task) if run["group"] == group}
        text = (folder / group / "results.md").read_text(encoding="utf-8")
        assert {name for name in names if f"| {name} |" in text} == own
        assert text.count("| another group's |") == 40 - len(own)
        assert "| baseline |" in text
        header = (folder / group / "queries.csv").read_text(encoding="utf-8").splitlines()[0]
        assert set(header.split(",")) == {"Query", *own, "Lowest of all", "Median", "Highest"}
        assert not [other for other in shared_task.GROUPS if other != group and other in text.replace("parana", "")]


def _released(task: Path) -> None:
    folder = task / "exports" / "submissions"
    manifest = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))
    (qrels,) = manifest["qrels"]
    assert hashlib.sha256((folder / qrels["file"]).read_bytes()).hexdigest() == qrels["sha256"]
    assert len((folder / qrels["file"]).read_text().splitlines()) == qrels["pairs"] == 2872
    assert len(manifest["runs"]) == 40
    for run in manifest["runs"]:
        # The run as anybody unpacks it, wherever it was packed.
        for folder in (task / "runs", task / "exports" / "bundle" / "runs"):
            unpacked = gzip.decompress((folder / f"{run['run_tag']}.trec.gz").read_bytes())
            assert hashlib.sha256(unpacked).hexdigest() == run["sha256"]


FOUND = {
    "acre/run2.txt": "has a decimal comma; write",
    "bahia/run2.txt": "are already in line 1; expected one row per pair",
    "ceara/run2.txt": "142 doc_ids ('X",
    "goias/run2.txt": "24 query_ids ('2019-q01', '2019-q02', '2019-q03', …) are not of the task",
    "maranhao/run2.txt": "1 query has more than 1,000 documents ('q01' has ",
    "para/run2.txt": "holds 2 runs (para-2, second); expected one run in a file",
    "parana/run2.txt.gz": "is cut off or not gzip; copy or compress it again",
    "piaui/run2.txt": "has exactly the ranking of a run of another group; tell us whose it is",
    "acre/run1.txt": "has exactly the ranking of a run of another group; tell us whose it is",
    "roraima/run2.txt": "the scores rise with the ranks in 24 of 24 queries; higher scores count as better: turn",
}


def test_every_fault_is_found_and_told_to_its_group_alone(task: Path, cli: Cli) -> None:
    done = cli("submissions", "check", "incoming", "--format", "json")
    found = json.loads(done.out)
    assert (done.status, found["topics"], len(found["runs"])) == (1, 24, shared_task.RUNS)
    faulty = {f"{one['group']}/{one['file']}": one["faults"] for one in found["runs"] if not one["accepted"]}
    assert faulty.keys() == FOUND.keys()
    for name, faults in faulty.items():
        assert [said for said in faults if FOUND[name] in said], faults
        # One fault in a message, even where it is in every row.
        assert len(faults) <= 2
    folder = task / "reports" / "submissions"
    assert {path.name for path in folder.iterdir()} == set(shared_task.GROUPS)
    for group in shared_task.GROUPS:
        mail = (folder / group / "mail.md").read_text(encoding="utf-8")
        assert mail.startswith(f"To: ir@{group}.example  \nSubject: amostra-task: ")
        assert f"Dear Universidade de {group.title()}," in mail
        assert "incoming" not in mail
        wrong = [name for name in FOUND if name.startswith(f"{group}/")]
        assert ("please correct some of your runs" in mail) == bool(wrong)
        assert mail.count("**run") == len(wrong)
        others = [other for other in shared_task.GROUPS if other not in (group, "para")]
        assert not [other for other in others if re.search(rf"\b{other}\b", mail.lower().replace(f"ir@{group}", ""))]


def test_a_file_is_read_once_for_one_task(task: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    # Corrected files may have the size and, from some archives, the time of the faulty ones.
    for path in task.rglob("run*"):
        os.utime(path, (1, 1))
    read: list[str] = []

    def counting(path: Path, problems: Problems) -> dict[str, RunRows]:
        read.append(path.name)
        return read_runs(path, problems)

    monkeypatch.setattr(intake, "read_runs", counting)
    first = cli("submissions", "check", "incoming", "--format", "json")
    assert (first.status, len(read)) == (1, shared_task.RUNS)
    assert cli("submissions", "check", "incoming", "--format", "json").out == first.out
    cli("submissions", "add", "incoming")
    assert len(read) == shared_task.RUNS
    corrected(task)
    assert cli("submissions", "check", "incoming").status == 0
    assert len(read) == shared_task.RUNS + shared_task.FAULTY
    # Other settings are another check.
    assert cli("submissions", "check", "incoming", "--depth", "20").status == 1
    assert len(read) >= 2 * shared_task.RUNS + shared_task.FAULTY


def test_a_run_that_is_faulty_later_stays_as_it_was_added(task: Path, cli: Cli) -> None:
    corrected(task)
    cli("submissions", "add", "incoming")
    files = [task / "pool.yaml", *sorted((task / "submissions").iterdir())]
    before = [path.read_bytes() for path in files]
    # Another group sends the same ranking, and a group sends a worse file.
    late = task / "incoming" / "zeta"
    late.mkdir()
    shutil.copy(task / "incoming" / "usp" / "run1.txt", late / "run1.txt")
    (task / "incoming" / "acre" / "run1.txt").write_text("broken\n", encoding="utf-8")
    done = cli("submissions", "add", "incoming")
    said = " ".join(done.out.split())
    assert "40 runs of 12 groups are systems of pool.yaml: 0 new, 0 replaced, 38 unchanged." in said
    assert "Not added, as they have faults: zeta/run1.txt." in said
    assert "Kept as added, as the present files have faults: acre/run1.txt and usp/run1.txt." in said
    assert [path.read_bytes() for path in files] == before


def test_priorities_that_groups_change_later_are_reported(task: Path, cli: Cli) -> None:
    corrected(task)
    cli("submissions", "add", "incoming")
    assert "priority" not in cli("submissions", "add", "incoming").err
    notes = task / "incoming" / "usp" / "group.yaml"
    notes.write_text("priorities: [run1.txt, run2.txt, run3.txt]\n", encoding="utf-8")
    before = (task / "pool.yaml").read_bytes()
    done = cli("submissions", "add", "incoming")
    assert done.status == 0
    systems = {run["file"]: run["system"] for run in participants(task) if run["group"] == "usp"}
    moved = f"{systems['run1.txt']}: 3, now 1; {systems['run3.txt']}: 1, now 3"
    assert f"2 runs have another priority than the group gives now ({moved}); change it there" in done.err
    assert (task / "pool.yaml").read_bytes() == before


def test_a_task_without_queries_cannot_be_checked(task: Path, cli: Cli) -> None:
    for systems in ("systems: {}\n", "systems: {one: {retriever: run, path: incoming/usp/run1.txt}}\n"):
        (task / "pool.yaml").write_text(f"name: task\n{systems}", encoding="utf-8")
        done = cli("submissions", "check", "incoming")
        assert (done.status, len(done.err.splitlines())) == (1, 1)
        assert "pool.yaml: names no queries of the task; add  queries: {path: topics.tsv}" in done.err


def test_what_is_no_run_of_a_group_is_named(task: Path, cli: Cli) -> None:
    (task / "incoming" / "loose.txt").write_text("a run in no folder\n", encoding="utf-8")
    (task / "incoming" / "usp" / "deep").mkdir()
    (task / "incoming" / "usp" / "gone.txt").symlink_to(task / "nowhere")
    (task / "incoming" / "usp" / ".hidden").write_text("of an editor", encoding="utf-8")
    (task / "incoming" / "zeta").mkdir()
    os.mkdir(os.fsencode(task / "incoming") + b"/bad\xff")
    done = cli("submissions", "check", "incoming", "--format", "json")
    assert json.loads(done.out)["unread"] == ["bad\udcff", "loose.txt", "usp/deep", "usp/gone.txt"]
    said = " ".join(cli("submissions", "check", "incoming").out.split())
    assert "Not looked at, as only GROUP/RUN is a run: " in said
    mail = (task / "reports" / "submissions" / "zeta" / "mail.md").read_text(encoding="utf-8")
    assert "we have no run of yours" in mail
    assert "We received 0 runs from you." in mail
    assert "accepted" not in mail


@pytest.mark.parametrize(
    ("notes", "fault"),
    [
        ("name: 5", "group.yaml, line 1: name: expected text, not 5"),
        ("naem: x", "group.yaml, line 1: naem: unknown key"),
        ("priorities: [none.txt]", "group.yaml, line 1: priorities: there is no run 'none.txt' in this folder"),
        # No file but a run of the group's own is read for it.
        ("priorities: [../acre/run1.txt]", "priorities: there is no run '../acre/run1.txt' in this folder"),
        ("priorities: [./run2.txt, run2.txt]", "priorities: there is no run './run2.txt' in this folder"),
        ("priorities: [/etc/passwd]", "priorities: there is no run '/etc/passwd' in this folder"),
        ("priorities: [group.yaml]", "priorities: there is no run 'group.yaml' in this folder"),
        ("{", "group.yaml, line 1: "),
    ],
)
def test_a_faulty_group_yaml_is_a_fault_of_that_group_alone(task: Path, cli: Cli, notes: str, fault: str) -> None:
    corrected(task)
    (task / "incoming" / "usp" / "group.yaml").write_text(notes, encoding="utf-8")
    found = json.loads(cli("submissions", "check", "incoming", "--format", "json").out)["runs"]
    faulty = [one for one in found if not one["accepted"]]
    assert {one["group"] for one in faulty} == {"usp"}
    assert len(faulty) == 3
    assert all(fault in one["faults"][-1] for one in faulty), faulty[0]["faults"]
    assert (task / "reports" / "submissions" / "acre" / "mail.md").exists()


def test_a_run_is_compared_with_those_that_were_added_before(task: Path, cli: Cli) -> None:
    corrected(task)
    assert cli("submissions", "add", "incoming").status == 0
    late = task / "late"
    for group in ("usp", "zeta"):
        (late / group).mkdir(parents=True)
        text = (task / "incoming" / "usp" / "run1.txt").read_text(encoding="utf-8")
        (late / group / "again.txt").write_text(text.replace("usp-1\n", "other\n"), encoding="utf-8")
    done = cli("submissions", "check", "late", "--format", "json")
    faults = {one["group"]: one["faults"] for one in json.loads(done.out)["runs"]}
    assert faults["usp"] == ["ranks the same documents as run1.txt; send one of them"]
    assert faults["zeta"] == ["has exactly the ranking of a run of another group; tell us whose it is"]
    said = " ".join(cli("submissions", "add", "late").out.split())
    assert "No longer in late, and still systems: acre/run1.txt," in said


def test_runs_of_a_later_folder_share_priorities(task: Path, cli: Cli) -> None:
    corrected(task)
    cli("submissions", "add", "incoming")
    late = task / "late" / "usp"
    late.mkdir(parents=True)
    rows = (task / "incoming" / "usp" / "run1.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    (late / "new.txt").write_text("".join(rows[1:]).replace("usp-1\n", "usp-9\n"), encoding="utf-8")
    done = cli("submissions", "add", "late")
    systems = {run["file"]: run["system"] for run in participants(task) if run["group"] == "usp"}
    shared = f"{systems['run3.txt']} and {systems['new.txt']}: 1"
    assert f"runs of one group have one priority ({shared}); give each its own" in done.err


def test_names_are_taken_from_nobody(task: Path, cli: Cli) -> None:
    """Neither from the organisers' own systems, nor from a group that has withdrawn."""
    own = "  baseline: {retriever: bm25s, language: pt, family: g07}\n  g09: {retriever: bm25s, language: en}\n"
    text = shared_task.POOL.replace("  baseline: {retriever: bm25s, language: pt}\n", own)
    (task / "pool.yaml").write_text(text, encoding="utf-8")
    corrected(task)
    cli("submissions", "add", "incoming")
    families = {run["family"] for run in participants(task)}
    assert families == {f"g{number:02}" for number in range(10, 22)}
    # Without the mapping nobody knows whose the systems are.
    (task / "submissions" / "participants.json").rename(task / "away.json")
    done = cli("submissions", "add", "incoming")
    assert done.status == 1
    assert "participants.json does not say who is behind 40 systems of pool.yaml (g10-r1, " in done.err
    done = cli("export", "bundle")
    assert "the qrels of the shared task are withheld until they are released" in done.err


@pytest.mark.usefixtures("sketched")
def test_a_group_withdraws(task: Path, cli: Cli) -> None:
    corrected(task)
    cli("submissions", "add", "incoming")
    gone = {run["system"] for run in participants(task) if run["group"] == "usp"}
    config = task / "pool.yaml"
    systems = yaml.safe_load(config.read_text(encoding="utf-8"))["systems"]
    kept = {tag: settings for tag, settings in systems.items() if tag not in gone}
    data = yaml.safe_load(config.read_text(encoding="utf-8")) | {"systems": kept}
    config.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    for command in ("build", "judge stub", "submissions report --draws 0", "submissions release --after 2999-01-01"):
        done = cli(*command.split())
        assert done.status == 0, done.err
    assert not (task / "reports" / "submissions" / "usp").exists()
    manifest = json.loads((task / "exports" / "submissions" / "MANIFEST.json").read_text(encoding="utf-8"))
    assert not gone & {run["run_tag"] for run in manifest["runs"]}
    assert "there is no group 'usp'" in cli("submissions", "report", "usp").err


@pytest.mark.usefixtures("sketched")
def test_results_say_what_has_no_grade(task: Path, cli: Cli) -> None:
    corrected(task)
    for command in ("submissions add incoming", "build", "judge stub --limit 100"):
        cli(*command.split())
    done = cli("submissions", "report", "--draws", "0")
    said = "2,772 pairs have no grade by stub (2,772 never asked)."
    assert said in " ".join(done.out.split())
    assert said in (task / "reports" / "submissions" / "acre" / "results.md").read_text(encoding="utf-8")


def test_the_second_column_of_a_run_names_nobody(task: Path, cli: Cli) -> None:
    corrected(task)
    path = task / "incoming" / "usp" / "run1.txt"
    path.write_text(path.read_text(encoding="utf-8").replace(" Q0 ", " usp-secret "), encoding="utf-8")
    assert cli("submissions", "add", "incoming").status == 0
    for run in (task / "submissions").glob("*.gz"):
        assert b"secret" not in gzip.decompress(run.read_bytes())
    assert stat.S_IMODE((task / "cache" / "submissions.json").stat().st_mode) == 0o600


def test_folders_of_groups_keep_their_names(task: Path, cli: Cli) -> None:
    corrected(task)
    shutil.move(task / "incoming" / "usp", task / "incoming" / "Acre")
    for command in ("submissions add incoming", "build", "judge stub", "submissions report --draws 0"):
        cli(*command.split())
    folder = task / "reports" / "submissions"
    before = {path.name for path in folder.iterdir()}
    cli("submissions", "report", "acre", "--draws", "0")
    assert {path.name for path in folder.iterdir()} == before


def test_adding_again_changes_nothing_and_other_content_needs_a_word(task: Path, cli: Cli) -> None:
    corrected(task)
    assert cli("submissions", "add", "incoming").status == 0
    before = {path: path.read_bytes() for path in [task / "pool.yaml", *sorted((task / "submissions").iterdir())]}
    done = cli("submissions", "add", "incoming", "--format", "json")
    counts = json.loads(done.out)
    assert [counts[name] for name in ("new", "replaced", "unchanged", "waiting", "kept")] == [0, 0, 40, 0, 0]
    assert {path: path.read_bytes() for path in before} == before
    changed = task / "incoming" / "usp" / "run1.txt"
    changed.write_text(
        changed.read_text(encoding="utf-8").replace(" 1 ", " 1 ", 1).replace("Q0", "0"), encoding="utf-8"
    )
    done = cli("submissions", "add", "incoming")
    assert (done.status, len(done.err.splitlines())) == (1, 2)
    assert "1 run has another content than when it was added (usp/run1.txt); replace with --replace" in done.err
    assert {path: path.read_bytes() for path in before} == before
    assert "0 new, 1 replaced, 39 unchanged" in " ".join(cli("submissions", "add", "incoming", "--replace").out.split())
    assert "0 new, 0 replaced, 40 unchanged" in " ".join(cli("submissions", "add", "incoming").out.split())


@pytest.mark.parametrize("write", ["write_participants", "_write_run", "_extend"])
def test_a_killed_add_is_finished_by_the_next(
    task: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, write: str
) -> None:
    corrected(task)
    calls = []

    def killed(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == (5 if write == "_write_run" else 1):
            raise KeyboardInterrupt
        whole(*arguments)

    whole = getattr(adding, write)
    with monkeypatch.context() as patched:
        patched.setattr(adding, write, killed)
        assert cli("submissions", "add", "incoming").status == 130
    cli("validate", "pool.yaml")
    assert cli("submissions", "add", "incoming").status == 0
    runs = participants(task)
    systems = yaml.safe_load((task / "pool.yaml").read_text(encoding="utf-8"))["systems"]
    assert len(runs) == 40
    assert set(systems) == {"baseline", *(run["system"] for run in runs)}
    assert all((task / systems[run["system"]]["path"]).exists() for run in runs)
    assert not list(task.rglob(".partial-*"))


def test_a_group_that_comes_later_gets_a_number_of_its_own(task: Path, cli: Cli) -> None:
    corrected(task)
    shutil.move(task / "incoming" / "acre", task / "acre")
    cli("submissions", "add", "incoming")
    first = {run["group"]: run["family"] for run in participants(task)}
    shutil.move(task / "acre", task / "incoming" / "acre")
    cli("submissions", "add", "incoming")
    now = {run["group"]: run["family"] for run in participants(task)}
    assert {group: now[group] for group in first} == first
    assert now["acre"] == "g12"
    assert sorted(first.values()) == [f"g{number:02}" for number in range(1, 12)]


def test_grades_that_change_after_the_promise_are_refused(
    task: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    corrected(task)
    for command in ("submissions add incoming", "build", "judge stub"):
        assert cli(*command.split()).status == 0
    assert "are withheld until they are released" in cli("export", "beir", "--labeler", "stub").err
    assert "do not publish them: the qrels of the shared task are withheld" in cli("export", "qrels").err
    day = date(2030, 5, 1)
    monkeypatch.setattr("quati_pool.commands.submissions.releasing.today", lambda: day)
    monkeypatch.setattr("quati_pool.project.submissions.today", lambda: day)
    folder = task / "exports" / "submissions"
    assert "Withheld until 2030-05-02" in cli("submissions", "release", "--after", "2030-05-02").out
    assert not (folder / "stub.qrels").exists()
    day = date(2030, 5, 2)
    assert "Released" in cli("submissions", "release").out
    assert (folder / "stub.qrels").exists()
    # Taken back: the file goes.
    assert "Withheld" in cli("submissions", "release", "--after", "2030-05-03").out
    assert not (folder / "stub.qrels").exists()
    manifest = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))
    manifest["qrels"][0]["sha256"] = "0" * 64
    (folder / "MANIFEST.json").write_text(json.dumps(manifest), encoding="utf-8")
    done = cli("submissions", "release")
    assert "the grades of stub have changed since the manifest promised the SHA-256" in done.err
    assert cli("submissions", "release", "--replace").status == 0


@pytest.mark.usefixtures("sketched")
def test_a_task_of_an_earlier_version_goes_on(task: Path, cli: Cli) -> None:
    """Participants without rankings, and a manifest with the hashes of packed runs, as first written."""
    corrected(task)
    for command in ("submissions add incoming", "build", "judge stub", "submissions release --after 2999-01-01"):
        assert cli(*command.split()).status == 0
    path = task / "submissions" / "participants.json"
    now = path.read_bytes()
    data = json.loads(now)
    for run in data["runs"]:
        del run["ranking"]
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    (manifest,) = (task / "exports" / "submissions").iterdir()
    promised = json.loads(manifest.read_text(encoding="utf-8"))
    former = {**promised, "manifest": 1, "runs": [{**run, "sha256": "0" * 64} for run in promised["runs"]]}
    manifest.write_text(json.dumps(former), encoding="utf-8")
    assert cli("submissions", "release").status == 0
    assert json.loads(manifest.read_text(encoding="utf-8")) == promised
    assert "0 new, 0 replaced, 40 unchanged" in " ".join(cli("submissions", "add", "incoming").out.split())
    assert path.read_bytes() == now


def test_what_was_promised_is_dropped_only_with_a_word(task: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    text = shared_task.POOL + "labels: {files: {HA: {path: ha.qrels}}}\n"
    (task / "pool.yaml").write_text(text, encoding="utf-8")
    corrected(task)
    for command in ("submissions add incoming", "build", "judge stub", "export qrels --labeler stub -o ha.qrels"):
        assert cli(*command.split()).status == 0
    folder = task / "exports" / "submissions"
    release = ("submissions", "release")
    assert cli(*release, "--after", "2020-01-01", "--labeler", "HA", "--labeler", "stub").status == 0
    assert {path.name for path in folder.iterdir()} == {"MANIFEST.json", "HA.qrels", "stub.qrels"}
    done = cli(*release, "--labeler", "stub")
    assert "the grades of HA have been left out since the manifest promised the SHA-256" in done.err
    # What is withdrawn or withheld does not lie there any more, whoever is named.
    assert cli(*release, "--labeler", "stub", "--replace").status == 0
    assert {path.name for path in folder.iterdir()} == {"MANIFEST.json", "stub.qrels"}
    assert cli(*release, "--labeler", "HA", "--after", "2999-01-01", "--replace").status == 0
    assert {path.name for path in folder.iterdir()} == {"MANIFEST.json"}
    # A run that changes later is a broken promise too.
    last = max((one for one in participants(task) if one["group"] == "acre"), key=lambda one: one["priority"])
    path = task / "incoming" / "acre" / last["file"]
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-1]), encoding="utf-8")
    for command in ("submissions add incoming --replace", "build"):
        assert cli(*command.split()).status == 0
    done = cli(*release)
    assert f"the run {last['system']} has changed since the manifest promised the SHA-256" in done.err
    assert cli(*release, "--replace").status == 0
    # Without the list of participants the date holds all the same.
    (task / "submissions" / "participants.json").unlink()
    for export in ("bundle", "explorer"):
        done = cli("export", export, "--labeler", "stub")
        assert (done.status, "withheld until 2999-01-01" in done.err) == (1, True)
    for export in ("qrels", "labels"):
        done = cli("export", export, "--labeler", "stub")
        assert done.status == 0
        assert "do not publish them: the qrels of the shared task are withheld until 2999-01-01" in done.err
    for damaged in ("{", "{}", '{"qrels_after": "soon", "qrels": [], "runs": []}', "[]"):
        (folder / "MANIFEST.json").write_text(damaged, encoding="utf-8")
        done = cli("export", "bundle", "--labeler", "stub")
        assert (done.status, len(done.err.splitlines())) == (1, 1)
        assert "MANIFEST.json: is damaged; restore it from a backup" in done.err


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("shutil.rmtree('incoming')", "incoming: is not a folder; expected one with a folder for each group"),
        ("shutil.rmtree('incoming'); os.mkdir('incoming')", "incoming: has no folder of a group; expected GROUP/RUN"),
        ("shutil.rmtree('incoming'); os.makedirs('incoming/a')", "incoming: has no run; expected GROUP/RUN below it"),
    ],
)
def test_what_is_not_there_is_one_line(task: Path, cli: Cli, change: str, fault: str) -> None:
    exec(change, {"shutil": shutil, "os": os, "Path": Path})
    done = cli("submissions", "check", "incoming")
    assert done.status == 1
    assert fault in done.err.splitlines()[-1]


def test_without_a_shared_task(task: Path, cli: Cli) -> None:
    for command in ("submissions report", "submissions release --after 2030-01-01"):
        done = cli(*command.split())
        assert done.status == 1
        assert "so no group took part; run: quati-pool submissions add FOLDER" in done.err


@pytest.mark.parametrize(
    ("pool", "fault"),
    [
        ("{by: priority}", "expected by: priority and per_group: together"),
        ("{per_group: 3}", "expected by: priority and per_group: together"),
        ("{by: priority, per_group: 0}", "pool.per_group: expected at least 1, not 0"),
        ("{by: rank, per_group: 1}", "pool.by: expected 'priority', not 'rank'"),
    ],
)
def test_settings_of_priorities(task: Path, cli: Cli, pool: str, fault: str) -> None:
    text = shared_task.POOL.replace("{by: priority, per_group: 2, depth: 10}", pool)
    (task / "pool.yaml").write_text(text, encoding="utf-8")
    assert fault in cli("build").err


def test_a_task_that_has_no_system_yet(task: Path, cli: Cli) -> None:
    text = shared_task.POOL.replace("systems:\n  baseline: {retriever: bm25s, language: pt}\n", "")
    (task / "pool.yaml").write_text(text, encoding="utf-8")
    corrected(task)
    assert "expected at least one system" in cli("build").err
    assert cli("submissions", "add", "incoming").status == 0
    assert cli("build").status == 0
