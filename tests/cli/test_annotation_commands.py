"""``assessors``, ``assign``, ``import``, ``export labels`` and ``annotate`` as a lead runs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from quati_pool.commands.annotate.access import sign_in
from quati_pool.commands.annotate.errors import WrongCodeError
from quati_pool.commands.annotate.preflight import is_loopback
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.files.label_files import read_label_file
from tests.cli.conftest import Cli, Done
from tests.commands.annotate.people_at_work import collection, pairs
from tests.commands.small_collection import environment
from tests.patience import PATIENCE

CODE = re.compile(r"[0-9A-Z]{4}(-[0-9A-Z]{4}){3}\n\Z")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a workspace with a pool of 2 queries of 3 passages."""
    config = collection(tmp_path / "workspace", pairs(2, 3))
    monkeypatch.chdir(config.parent)
    return config.parent


@pytest.fixture
def built(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: the small collection, built."""
    folder = Path(shutil.copytree(finished, tmp_path / "built", symlinks=True))
    monkeypatch.chdir(folder)
    return folder


def refused(done: Done) -> str:
    """The one line that a refusal is."""
    assert (done.status, done.out) == (1, ""), done
    assert len(done.err.splitlines()) == 1
    return done.err.removeprefix("quati-pool: ").rstrip("\n")


def add(cli: Cli, name: str, role: str = "assessor") -> str:
    done = cli("assessors", "add", name, "--role", role)
    assert done.status == 0, done.err
    return done.out.strip()


# ---- assessors


def test_a_code_is_printed_once_alone_opens_a_session_and_is_nowhere_kept(workspace: Path, cli: Cli) -> None:
    done = cli("assessors", "add", "ana", "--role", "lead")
    assert done.status == 0
    assert CODE.match(done.out)
    code = done.out.strip()
    assert code not in done.err
    with AnnotationSession.open(workspace / "pool.yaml") as session:
        token, person = sign_in(session, code.lower().replace("-", " "), "127.0.0.1")
        assert (person.name, person.role) == ("ana", "lead")
        session.person(token)
    kept = b"".join(path.read_bytes() for path in workspace.rglob("*") if path.is_file())
    secret = code.partition("-")[2]
    assert secret.encode() not in kept
    assert secret.replace("-", "").encode() not in kept
    for how in ("table", "json", "csv"):
        listed = cli("assessors", "list", "--format", how)
        assert (listed.status, listed.err) == (0, "")
        assert "ana" in listed.out
        assert "scrypt" not in listed.out
        assert code[:4] not in listed.out
    (one,) = json.loads(cli("assessors", "list", "--format", "json").out)["people"]
    assert (one["name"], one["role"], one["labels"], one["revoked"]) == ("ana", "lead", 0, None)
    assert one["last_seen"].endswith("+00:00")


def test_a_revoked_code_opens_nothing_and_a_new_one_does(workspace: Path, cli: Cli) -> None:
    old = add(cli, "ana")
    done = cli("assessors", "revoke", "ana")
    assert (done.status, done.out) == (0, "")
    with AnnotationSession.open(workspace / "pool.yaml") as session, pytest.raises(WrongCodeError):
        sign_in(session, old, "one")
    (one,) = json.loads(cli("assessors", "list", "--format", "json").out)["people"]
    assert one["revoked"] is not None
    assert refused(cli("assessors", "revoke", "ana")) == "nobody called 'ana' has a code; there are none"
    new = add(cli, "ana")
    assert new != old
    with AnnotationSession.open(workspace / "pool.yaml") as session:
        assert sign_in(session, new, "two")[1].name == "ana"


@pytest.mark.parametrize(
    "name",
    ["", "ana bia", "a\tb", "a" * 65, "../x", "adjudicated", "Adjudicated", "-x", "a\u202eb", "a,b", "a=b", "a#1"],
)
def test_a_name_that_cannot_be_a_persons_is_refused(workspace: Path, cli: Cli, name: str) -> None:
    done = cli("assessors", "add", "--role", "assessor", "--", name)
    assert "name" in refused(done)
    assert json.loads(cli("assessors", "list", "--format", "json").out)["people"] == []


def test_a_name_that_is_a_judges_or_has_a_code_is_refused(tmp_path: Path, cli: Cli) -> None:
    config = collection(tmp_path / "judged", judges={"lexical": {"judge": "lexical"}})
    assert "is a judge of pool.yaml" in refused(cli("assessors", "add", "lexical", "--role", "lead", "-c", config))
    assert cli("assessors", "add", "ana", "--role", "assessor", "-c", config).status == 0
    again = refused(cli("assessors", "add", "ana", "--role", "assessor", "-c", config))
    assert again == "ana has a code already; revoke it first, or choose another name"


# ---- assign, import, export


def test_assign_says_what_it_chose_and_a_dry_run_writes_nothing(workspace: Path, cli: Cli) -> None:
    for name in ("ana", "bia"):
        add(cli, name)
    choice = ("assign", "--stratified", 4, "--by", "query", "--overlap", 2, "--load", 4, "--to", "ana,bia")
    dry = cli(*choice, "--dry-run", "--format", "json")
    assert dry.status == 0, dry.err
    said = json.loads(dry.out)
    assert (said["design"], said["dry_run"], said["pairs"], said["slots"]) == (None, True, 4, 8)
    assert said["strata"] == [
        {"stratum": "query=q0", "N": 3, "n": 2, "inclusion": 2 / 3},
        {"stratum": "query=q1", "N": 3, "n": 2, "inclusion": 2 / 3},
    ]
    assert said["people"] == [{"name": "ana", "slots": 4}, {"name": "bia", "slots": 4}]
    done = cli(*choice)
    assert "Written as design 1: 8 new slots, of 4 pairs." in done.out
    assert "This is design 1 already: nothing was added." in cli(*choice).out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("--all", "--training", "x.tsv"),
            "cannot be combined with the other choices, as everybody does all of the training",
        ),
        (("--training", "x.tsv", "--seed", 3), "cannot be combined with the other choices"),
        (("--training", "x.tsv", "--minimum", 2), "cannot be combined with the other choices"),
        (("--gold", "x.tsv", "--to", "ana"), "as everybody may get each of the gold pairs"),
        (("--gold", "x.tsv", "--training", "y.tsv"), "cannot be combined with the other choices"),
        (("--withdraw", 1, "--all"), "cannot be combined with the other choices, as the design says"),
        (("--withdraw", 1, "--gold", "x.tsv"), "cannot be combined with the other choices"),
        (("--gold", "x.tsv", "--random-queries", 3), "cannot be combined with the other choices"),
        (("--withdraw", 1, "--for", "bm25"), "cannot be combined with the other choices"),
        (("--training", "x.tsv", "--uniform", 0), "cannot be combined with the other choices"),
        (("--queries", "q1", "--depth", 3), "says how deep a system's run is taken; add --system"),
    ],
)
def test_options_that_do_not_go_together_are_bad_usage(
    workspace: Path, cli: Cli, arguments: tuple[str, ...], expected: str
) -> None:
    done = cli("assign", *arguments)
    assert (done.status, done.out) == (2, "")
    assert expected in done.err


def test_assign_draws_whole_queries(workspace: Path, cli: Cli) -> None:
    (workspace / "queries.tsv").write_text("query_id\tquery\ttheme\nq0\ta\tsea\nq1\tb\tsea\n", encoding="utf-8")
    dry = cli("assign", "--random-queries", 2, "--strata", "theme", "--dry-run", "--format", "json")
    said = json.loads(dry.out)
    assert (said["method"], said["pairs"], said["queries"]) == (
        "random-queries", 6, [{"stratum": "theme=sea", "N": 2, "n": 2}],
    )  # fmt: skip
    done = cli("assign", "--random-queries", 1)
    words = " ".join(done.out.split())
    assert "1 of 2 queries are drawn: 3 of 6 pairs are chosen (random queries, seed 0), for 1 person each." in words
    assert "Written as design 1: 3 new slots, of 3 pairs." in words
    assert done.err.startswith("estimates need 8 queries")
    assert refused(cli("assign", "--random-queries", 2, "--strata", "topic")) == (
        "queries.tsv: has no column 'topic' to form strata; its columns are theme"
    )


def test_assign_draws_pairs_for_a_measure(built: Path, cli: Cli) -> None:
    arguments = ("assign", "--pairs-for", "nDCG@3", "--expect", 20, "--for", "lsa,rrf", "--uniform", 0.25)
    dry = cli(*arguments, "--seed", 2, "--dry-run", "--format", "json")
    said = json.loads(dry.out)
    assert (said["method"], said["seed"]) == ("active", 2)
    assert said["strata"][0]["inclusion"] * said["frame"]["pairs"] == pytest.approx(20)
    done = cli(*arguments)
    assert "pairs are chosen (pairs for nDCG@3, Poisson, seed 0), for 1 person each." in " ".join(done.out.split())
    assert "inclusion probabilities go from " in done.err
    with AnnotationSession.open(built / "pool.yaml") as session:
        [design] = session.designs.all()
    assert {name: design.parameters[name] for name in ("measure", "expected", "uniform", "for")} == {
        "measure": "nDCG@3", "expected": 20.0, "uniform": 0.25, "for": ["lsa", "rrf"],
    }  # fmt: skip
    assert refused(cli("assign", "--pairs-for", "nDCG@3")) == (
        "--pairs-for needs the number of pairs, given once: --rate 0.1, or --expect 1500"
    )


def test_training_is_added_by_assign(workspace: Path, cli: Cli) -> None:
    (workspace / "t.tsv").write_text("query_id\tdoc_id\trelevance\texplanation\nq0\td0\t3\tyes\n", encoding="utf-8")
    done = cli("assign", "--training", "t.tsv", "--format", "json")
    assert json.loads(done.out) == {"training": {"pairs": 1, "added": 1, "total": 1, "assigned": 0, "dry_run": False}}
    assert "people see the known grade" not in done.err
    note = "1 of the chosen pairs are training: people see the known grade before they grade"
    assert note in cli("assign", "--all").err
    again = cli("assign", "--training", "t.tsv", "--format", "json")
    assert (json.loads(again.out)["training"]["added"], json.loads(again.out)["training"]["assigned"]) == (0, 1)
    assert "1 of them are assigned too: people see the known grade" in again.err


def test_gold_pairs_are_added_by_assign(workspace: Path, cli: Cli) -> None:
    (workspace / "g.tsv").write_text("query_id\tdoc_id\trelevance\nq0\td0\t3\n", encoding="utf-8")
    done = cli("assign", "--gold", "g.tsv", "--format", "json")
    assert json.loads(done.out) == {"gold": {"pairs": 1, "added": 1, "total": 1, "assigned": 0, "dry_run": False}}
    assert "training" not in cli("assign", "--all").err
    again = cli("assign", "--gold", "g.tsv")
    assert "0 of 1 pair are new or changed; 1 gold pair in all." in again.out
    assert "1 of them are assigned too: who has one of these to grade does not get it as gold" in again.err


def test_a_design_is_withdrawn_but_for_what_is_done(workspace: Path, cli: Cli) -> None:
    cli("assign", "--all")
    dry = cli("assign", "--withdraw", 1, "--dry-run", "--format", "json")
    assert json.loads(dry.out) == {"withdrawn": {"design": 1, "slots": 6, "done": 0, "dry_run": True}}
    done = cli("assign", "--withdraw", 1)
    assert done.out == "6 open slots of design 1 are withdrawn; 0 done ones stay.\n"
    assert "0 open slots of design 1 would be withdrawn" in cli("assign", "--withdraw", 1, "--dry-run").out
    assert "there is no design 2; there are: 1" in refused(cli("assign", "--withdraw", 2))


def test_nothing_to_assign_without_a_pool_is_one_line(tiny: Path, cli: Cli) -> None:
    assert "run: quati-pool build" in refused(cli("assign", "--all"))


def test_somebody_whose_labels_are_imported_needs_no_code_and_is_listed_without_one(workspace: Path, cli: Cli) -> None:
    (workspace / "hers.qrels").write_text("q0 0 d1 3\nq1 0 d0 0\n", encoding="utf-8")
    done = cli("import", "ana=hers.qrels")
    assert done.status == 0, done.err
    said = "ana is new here and has no access code; to let them sign in, run: quati-pool assessors add ana\n"
    assert done.err.endswith(said)
    assert "never had a code" in cli("assessors", "list").out
    (one,) = json.loads(cli("assessors", "list", "--format", "json").out)["people"]
    assert (one["name"], one["labels"], one["revoked"], one["code"]) == ("ana", 2, None, False)
    done = cli("import", "ana=hers.qrels", "--format", "json")
    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out)["imported"][0]["new_person"] is False
    add(cli, "ana")
    (one,) = json.loads(cli("assessors", "list", "--format", "json").out)["people"]
    assert (one["labels"], one["code"]) == (2, True)


def test_what_is_imported_is_exported_again(workspace: Path, cli: Cli) -> None:
    add(cli, "ana")
    (workspace / "hers.tsv").write_text("topic\tdoc\tjudgement\nq0\td1\tgood\nq1\td0\tbad\n", encoding="utf-8")
    done = cli(
        "import", "ana=hers.tsv", "--column", "query_id=topic", "--column", "doc_id=doc", "--column",
        "relevance=judgement", "--grade", "good=3", "--grade", "bad=0", "--format", "json",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert json.loads(done.out)["imported"][0]["written"] == 2
    done = cli("export", "labels", "--labeler", "ana", "--as", "tsv", "-o", "out.tsv")
    assert (done.status, done.out) == (0, "")
    assert done.err == "wrote out.tsv: 2 labels; 4 pairs were not given\n"
    read = read_label_file(workspace / "out.tsv")
    assert (read.query_id, read.doc_id, read.relevance) == (["q0", "q1"], ["d1", "d0"], [3, 0])
    for arguments in (("import", "ana=out.tsv"), ("labels", "ana")):
        assert cli(*arguments).status == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("import", "nothing"), "'nothing' holds no '='"),
        (("import", "ana=a.tsv", "ana=b.tsv"), "a.tsv and b.tsv are both named ana; give each its own"),
        (("import",), "Missing argument"),
    ],
)
def test_import_without_a_name_is_bad_usage(
    workspace: Path, cli: Cli, arguments: tuple[str, ...], expected: str
) -> None:
    done = cli(*arguments)
    assert (done.status, done.out) == (2, "")
    assert expected in done.err


# ---- annotate


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.org"])
def test_a_host_that_others_reach_is_refused_while_nobody_has_a_code(workspace: Path, cli: Cli, host: str) -> None:
    assert refused(cli("annotate", "--host", host)) == (
        f"nobody has an access code, so {host!r} is not served; run: quati-pool annotate --lead NAME"
    )
    # A code that was taken back is none.
    add(cli, "ana")
    cli("assessors", "revoke", "ana")
    assert "nobody has an access code" in refused(cli("annotate", "--host", host))


def test_only_this_machine_is_told_from_the_address() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "", "10.0.0.1", "localhost.example.org", "127.0.0.1.example")))


def test_two_names_that_differ_in_case_alone_are_refused(workspace: Path, cli: Cli) -> None:
    add(cli, "ana")
    assert refused(cli("assessors", "add", "Ana")) == (
        "the name 'Ana' is too similar to ana, which is taken; choose another"
    )


def test_somebody_who_has_graded_nothing_is_told_from_a_stranger(workspace: Path, cli: Cli) -> None:
    add(cli, "ana")
    assert "ana has graded nothing yet; run: quati-pool annotate" in refused(cli("export", "qrels", "--labeler", "ana"))
    assert "there is no labeler 'anna'" in refused(cli("export", "qrels", "--labeler", "anna"))


def test_what_a_revoked_person_had_alone_goes_to_whoever_comes(workspace: Path, cli: Cli) -> None:
    add(cli, "ana")
    add(cli, "bia")
    assert cli("assign", "--random", 4, "--to", "ana").status == 0
    ran = cli("assessors", "revoke", "ana", "--release")
    assert "the code of ana no longer works; their labels stay; 4 of their pairs are now open to everyone" in ran.err
    assert "0 of their pairs" in cli("assessors", "revoke", "ana", "--release").err


def test_without_streamlit_it_says_what_to_install(workspace: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    add(cli, "ana")
    monkeypatch.setitem(sys.modules, "streamlit", None)
    assert refused(cli("annotate", "--port", 0)).endswith("run: pip install 'quati-pool[app]'")


def test_a_port_in_use_is_one_line(workspace: Path, cli: Cli) -> None:
    add(cli, "ana")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert str(port) in refused(cli("annotate", "--port", port))


def test_the_first_lead_is_made_by_starting_it(workspace: Path, cli: Cli) -> None:
    """The port is taken, so that it ends; the code is printed before."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        first = cli("annotate", "--lead", "lia", "--port", port)
        again = cli("annotate", "--lead", "lia", "--port", port)
    assert CODE.match(first.out)
    said, *rest = first.err.splitlines()
    assert said == "the code of lia (lead) is not shown again; sign in with it"
    assert not [line for line in rest if "nobody has an access code" in line]
    with AnnotationSession.open(workspace / "pool.yaml") as session:
        assert sign_in(session, first.out.strip(), "here")[1].role == "lead"
    assert (again.out, again.err.splitlines()[0]) == ("", "lia is a lead already, and has a code")
    add(cli, "ana")
    assert refused(cli("annotate", "--lead", "ana")) == (
        "ana has a code as an assessor; name somebody else, or revoke it first: quati-pool assessors revoke ana"
    )
    assert "choose one word" in refused(cli("annotate", "--lead", "a b"))


@pytest.mark.slow
def test_it_says_where_it_serves_and_ctrl_c_ends_it_with_0(workspace: Path, cli: Cli) -> None:
    add(cli, "ana")
    command = [sys.executable, "-m", "quati_pool", "annotate", "--port", "0"]
    process = subprocess.Popen(
        command, cwd=workspace, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        address = re.match(r"(http://127\.0\.0\.1:\d+) \(Ctrl-C stops it\)\n", line)
        assert address, line
        with urllib.request.urlopen(address[1]) as answer:
            assert answer.status == 200
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out, err) == (0, "", "stopped\n")
    finally:
        process.kill()
        process.wait()
