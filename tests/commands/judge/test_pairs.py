"""Grading the pairs of a file without a workspace: what is asked, kept and written, whatever comes between."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import JudgeReport, judge
from quati_pool.commands.judge.pairs import PairsFile, judge_pairs, plan_pairs
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.artifacts import unfinished
from quati_pool.files.pools import write_pool
from quati_pool.project.events import Listener
from quati_pool.records import State
from tests.commands.forked_commands import Forked, Forks
from tests.commands.judged import ID_PATTERN, many, pair, workspace
from tests.llm.server import PROBE, ServerProcess, grade_of


@pytest.fixture
def server(server: ServerProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ServerProcess:
    monkeypatch.chdir(tmp_path)
    server.script(id_pattern=ID_PATTERN)
    return server


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with Forks(tmp_path_factory.mktemp("forks")) as forks:
        yield forks


GIVEN = PairsFile(Path("pairs.jsonl"), Path("graded.jsonl"), "fake-1", "quati-pt", {})


def text_of(name: str, way: str = "") -> str:
    return f"{f'[[serve: {way}]] ' if way else ''}Um texto sobre o assunto. [pair {name}]"


def row(query_id: str, doc_id: str, way: str = "", **more: object) -> dict[str, Any]:
    text = text_of(f"{query_id}/{doc_id}", way)
    return {"query_id": query_id, "doc_id": doc_id, "query": f"pergunta {query_id}", "text": text, **more}


def write(rows: Sequence[Mapping[str, object]], path: Path = GIVEN.path) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def run(given: PairsFile = GIVEN, **options: Any) -> JudgeReport:
    report = judge_pairs(given, Listener(), JudgeOptions(**options))
    if report.error is not None:
        raise report.error
    return report


def graded(path: Path = GIVEN.output) -> list[dict[str, Any]]:
    assert unfinished(path) is None
    data = path.read_bytes()
    text = gzip.decompress(data).decode() if path.suffix == ".gz" else data.decode()
    return [json.loads(line) for line in text.splitlines()]


def stored(sql: str, database: Path = GIVEN.database) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def asked(server: ServerProcess) -> Counter[str]:
    return Counter(entry["id"] for entry in server.log() if entry["id"] != PROBE)


def test_every_pair_comes_back_in_its_place_with_its_own_keys(server: ServerProcess) -> None:
    rows = [
        row("q2", "d1", source="web"),
        row("q1", "d1", "refusal"),
        {"query_id": "q2", "doc_id": "d2", "query": "pergunta q2", "passage": text_of("q2/d2"), "n": 3},
        row("q1", "d2"),
        {**row("q1", "d3"), "text": " "},
    ]
    write(rows)
    report = run()
    found = graded()
    assert [{name: line[name] for name in before} for line, before in zip(found, rows, strict=True)] == rows
    assert [(line["status"], line["relevance"]) for line in found] == [
        ("ok", grade_of("q2/d1")),
        ("refused", None),
        ("ok", grade_of("q2/d2")),
        ("ok", grade_of("q1/d2")),
        ("no_text", None),
    ]
    assert {(line["judge"], line["judge_version"]) for line in found} == {("fake-1", report.version)}
    assert [bool(line["rationale"]) for line in found] == [True, False, True, True, False]
    assert set(found[0]) - set(rows[0]) == {"relevance", "status", "rationale", "judge", "judge_version"}
    assert found[1]["details"]["problem"]
    assert (report.written, report.pending.coverage.states[State.ok]) == (GIVEN.output, 3)
    assert {path.name for path in Path().iterdir()} == {
        "pairs.jsonl", "graded.jsonl", "graded.jsonl.meta.json", "graded.jsonl.labels.db",
    }  # fmt: skip
    meta = json.loads(Path("graded.jsonl.meta.json").read_text(encoding="utf-8"))
    assert meta["counts"] == {"pairs": 5, "ok": 3, "refused": 1, "no_text": 1}
    server.clear()
    assert run().pending.coverage.states == report.pending.coverage.states
    assert asked(server) == {"q1/d1": 1}


def test_what_a_line_holds_is_carried_through_as_it_was_written(server: ServerProcess) -> None:
    line = '{ "x": 1.50, "big": 1e999, "half": "\\ud83d", "query": "a \\u00e7", "text": "t [pair one]", "z": {} }  \r\n'
    GIVEN.path.write_text(line, encoding="utf-8", newline="")
    run()
    written = GIVEN.output.read_text(encoding="utf-8")
    assert written.startswith(line.rstrip()[:-1].rstrip() + ', "query_id": "q')
    (found,) = graded()
    assert (found["half"], found["relevance"]) == ("\ud83d", grade_of("one"))


def test_ids_that_are_missing_are_those_of_the_texts(server: ServerProcess) -> None:
    texts = [("um", "a [pair a]"), ("dois", "a [pair a]"), ("um", "b [pair b]"), ("três", "c [pair c]")]
    rows = [{"query": query, "text": text} for query, text in texts]
    write(rows)
    run()
    ids = {(line["query"], line["text"]): (line["query_id"], line["doc_id"]) for line in graded()}
    assert len(set(ids.values())) == 4
    assert ids[texts[0]][0] == ids[texts[2]][0] != ids[texts[1]][0]
    assert ids[texts[0]][1] == ids[texts[1]][1] != ids[texts[2]][1]
    write([*reversed(rows), {"query": "quatro", "text": "d [pair d]"}])
    report = run()
    assert (report.pending.asked, report.pending.coverage.states) == (1, {State.ok: 5})
    assert (
        ids.items() <= {(line["query"], line["text"]): (line["query_id"], line["doc_id"]) for line in graded()}.items()
    )
    assert asked(server) == {"a": 2, "b": 1, "c": 1, "d": 1}


def test_only_what_is_new_or_changed_is_asked(server: ServerProcess) -> None:
    write([row("q1", "d1"), row("q1", "d2")])
    run()
    server.clear()
    write([row("q1", "d3"), row("q1", "d2"), {**row("q1", "d1"), "text": "other words [pair other]"}])
    run()
    assert asked(server) == {"q1/d3": 1, "other": 1}
    assert [line["relevance"] for line in graded()] == [grade_of("q1/d3"), grade_of("q1/d2"), grade_of("other")]
    # What was there before is paid for.
    write([row("q1", "d1")])
    assert run().pending.asked == 0
    assert graded()[0]["relevance"] == grade_of("q1/d1")


def test_a_pool_of_ours_and_packed_files_are_taken(server: ServerProcess) -> None:
    given = replace(GIVEN, path=Path("pool.jsonl.gz"), output=Path("new/graded.jsonl.gz"))
    write_pool(given.path, many(3, 4))
    assert plan_pairs(given, Listener()).to_ask == 12
    assert not Path("new").exists()
    run(given)
    found = graded(given.output)
    assert [line["relevance"] for line in found] == [
        grade_of(f"{row['query_id']}/{row['doc_id']}") for row in many(3, 4)
    ]
    assert found[0]["runs"] == {"a": 1}
    assert {path.name for path in Path("new").iterdir()} == {
        "graded.jsonl.gz", "graded.jsonl.gz.meta.json", "graded.jsonl.gz.labels.db",
    }  # fmt: skip


def test_the_judge_is_that_of_a_workspace(server: ServerProcess) -> None:
    settings = {"temperature": 0.5, "samples": 2, "max_tokens": 300, "rpm": 100_000, "prices": "prices.yaml"}
    Path("prices.yaml").write_text(
        "mine:\n  as_of: 2026-11-01\n  source: a test\n  models:\n    fake-1: {input: 10, output: 1000}\n", "utf-8"
    )
    judges = {"any": {"model": "fake-1", "prompt": "quati-pt", **settings, "prices": "../prices.yaml"}}
    there = judge(workspace(Path("there"), [pair("q1", "d1")], judges), None, Listener(), JudgeOptions(limit=1))
    write([row("q1", "d1")])
    here = run(replace(GIVEN, settings=settings))
    assert here.version == there.version
    assert here.calls is not None
    assert here.calls.unknown == 0
    definitions = [stored("SELECT version, definition FROM versions", Path(path)) for path in
                   ("there/labels.db", GIVEN.database)]  # fmt: skip
    assert definitions[0] == definitions[1]


def test_samples_and_what_came_with_them_are_details(server: ServerProcess) -> None:
    settings = {"temperature": 1.0, "samples": 3, "together": True, "logprobs": True}
    write([row("q1", "d1"), row("q1", "d2", "error_in_first, well"), row("q1", "d3")])
    run(replace(GIVEN, settings=settings), reask=0, limit=2)
    first, second, third = graded()
    samples = first["details"]["samples"]
    assert [sample["relevance"] for sample in samples] == [grade_of("q1/d1", None, place) for place in range(3)]
    assert all(0 <= sample["expected_grade"] <= 3 and sample["rationale"] for sample in samples)
    assert (second["status"], second["relevance"], second["rationale"]) == ("failed", None, None)
    assert [sample["status"] for sample in second["details"]["samples"]] == ["failed", "ok", "ok"]
    assert "Provider returned error" in second["details"]["samples"][0]["problem"]
    assert (third["status"], third["relevance"], "details" in third) == (None, None, False)


def test_of_a_failure_the_answer_is_kept_apart_from_its_thoughts_whatever_its_characters(
    server: ServerProcess,
) -> None:
    write([row("q1", "d1", "half_pair_text"), row("q1", "d2", "think_alone"), row("q1", "d3", "half_pair_thought")])
    run(reask=0)
    first, second, third = graded()
    assert (first["details"]["answer"], first["details"]["thoughts"]) == ("\ufffd hm", "\ufffd\0")
    assert second["details"]["answer"] == "Desculpe, não consigo avaliar."
    assert "Pontuação" in second["details"]["thoughts"]
    assert (third["status"], "details" in third) == ("ok", False)


def test_further_numbers_of_a_prompt_are_details_and_its_file_is_relative_to_the_current_folder(
    server: ServerProcess,
) -> None:
    prompt = (Path(__file__).parents[3] / "prompts" / "binary-pt.yaml").read_text(encoding="utf-8")
    Path("mine").mkdir()
    Path("mine/own.yaml").write_text(prompt.replace("id: binary-pt", "id: own", 1), encoding="utf-8")
    write([row("q1", "d1"), {**row("q1", "d2"), "text": text_of("q1/d1")}])
    report = run(replace(GIVEN, prompt="mine/own.yaml", settings={"logprobs": True}))
    assert report.config.grades == {0: "0", 1: "1"}
    found = graded()
    # The second has the same text: asked once, and it has the same reason.
    assert asked(server) == {"q1/d1": 1}
    for key in ("relevance", "rationale", "details"):
        assert found[0][key] == found[1][key]
    assert 0 <= found[0]["details"]["expected_grade"] <= 1


def test_the_narrative_of_a_line_is_shown_where_the_prompt_shows_it(server: ServerProcess) -> None:
    prompt = (Path(__file__).parents[3] / "prompts" / "quati-pt.yaml").read_text(encoding="utf-8")
    shown = prompt.replace("Passagem:\n", "O que conta:\n  {narrative}\n\n  Passagem:\n", 1)
    Path("own.yaml").write_text(shown.replace("id: quati-pt", "id: own", 1), encoding="utf-8")
    server.script(id_pattern=ID_PATTERN, keep_bodies=True)
    write([row("q1", "d1", narrative="só preços"), row("q2", "d1", narrative=None)])
    run(replace(GIVEN, prompt="own.yaml"))
    sent = {entry["id"]: json.dumps(entry["body"], ensure_ascii=False) for entry in server.log()}
    assert "só preços" in sent["q1/d1"]
    assert "O que conta" not in sent["q2/d1"].split("pergunta q2")[1]
    assert [line["status"] for line in graded()] == ["ok", "ok"]


def test_options_of_a_run_are_those_of_judge(server: ServerProcess) -> None:
    rows = [row("q1", f"d{i}", "off_scale, off_scale, well") for i in range(4)]
    write([{**one, "text": f"{one['text']} {'palavra ' * 200}"} for one in rows])
    report = run(limit=3, reask=0, concurrency=1, rpm=100_000, tpm=100_000_000, max_passage_tokens=60)
    assert (report.ended, report.pending.asked, report.pending.left, report.pending.truncated) == ("limit", 3, 1, 3)
    assert Counter(line["status"] for line in graded()) == {"off_scale": 3, None: 1}
    run(reask=1, max_passage_tokens=60)
    cut = graded()[0]
    assert (cut["relevance"], cut["details"]["shown_characters"] > 0) == (grade_of("q1/d0"), True)
    server.clear()
    report = run(reread=True, max_passage_tokens=60)
    assert (asked(server), report.pending.asked) == ({}, 0)
    with pytest.raises(ConfigError, match=r"--budget needs the price of fake-1.*--set prices=FILE"):
        run(budget=1.0)


def test_a_reading_by_older_rules_is_read_again_without_asking(server: ServerProcess) -> None:
    write([row("q1", "d1"), row("q1", "d2")])
    run()
    connection = sqlite3.connect(GIVEN.database)
    with connection:
        connection.execute("UPDATE labels SET reading = 'older', status = 'unparsed', relevance = NULL")
    connection.close()
    server.clear()
    report = run(reread=True)
    assert report.reread is not None
    assert (report.reread.graded, asked(server)) == (2, {})
    assert [line["relevance"] for line in graded()] == [grade_of("q1/d1"), grade_of("q1/d2")]


def test_a_plan_writes_nothing_and_knows_what_is_there(server: ServerProcess) -> None:
    write([row("q1", "d1"), row("q1", "d2")])
    assert plan_pairs(GIVEN, Listener()).to_ask == 2
    assert [path.name for path in Path().iterdir()] == ["pairs.jsonl"]
    run(limit=1)
    assert plan_pairs(GIVEN, Listener()).to_ask == 1
    assert sum(asked(server).values()) == 1


def test_grades_of_two_models_share_a_database(server: ServerProcess) -> None:
    write([row("q1", "d1"), row("q1", "d2")])
    for model in ("fake-1", "org/fake-2", "fake-1"):
        run(replace(GIVEN, model=model))
        assert {line["judge"] for line in graded()} == {model}
    assert asked(server) == {"q1/d1": 2, "q1/d2": 2}


def test_a_path_of_any_characters_will_do(server: ServerProcess) -> None:
    folder = Path("a ?#@%20:é")
    folder.mkdir()
    given = replace(GIVEN, output=folder / "x?%41#.jsonl")
    write([row("q1", "d1")])
    run(given)
    assert {path.name for path in folder.iterdir()} == {
        "x?%41#.jsonl", "x?%41#.jsonl.meta.json", "x?%41#.jsonl.labels.db",
    }  # fmt: skip
    assert run(given).pending.asked == 0


def test_a_wrong_key_leaves_what_is_graded(server: ServerProcess) -> None:
    write([row("q1", "d1")])
    run()
    write([row("q1", "d1"), row("q1", "d2")])
    server.script(id_pattern=ID_PATTERN, key="another")
    report = judge_pairs(GIVEN, Listener())
    assert "refuses the key" in str(report.error)
    assert [(line["status"], line["relevance"]) for line in graded()] == [("ok", grade_of("q1/d1")), (None, None)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": {"temprature": 1}}, "--set temprature: there is no such parameter; did you mean 'temperature'"),
        ({"settings": {"sample": 1}}, "judge --set sample: there is no such parameter; did you mean 'samples'"),
        ({"settings": {"samples": 0}}, "judge --set samples: expected at least 1, not 0"),
        ({"settings": {"output": "xml"}}, "judge --set output: expected 'auto', 'json_schema'"),
        ({"settings": {"base_url": "here"}}, "judge --set base_url: is not a valid URL"),
        ({"settings": {"samples": 2}}, "samples: 2 of fake-1 at temperature 0 would be alike"),
        ({"prompt": "quati-pr"}, "there is no prompt 'quati-pr'; did you mean 'quati-pt'"),
        ({"prompt": "own.yaml"}, "own.yaml: there is no such file"),
        ({"path": Path("none.jsonl")}, "none.jsonl: there is no such file; check the path"),
        ({"path": Path("folder")}, "folder: is a folder; expected a file"),
        ({"path": Path("fifo")}, "fifo: can be read only once; save it as a file first"),
        ({"output": Path("folder")}, "folder is a folder; name a file with -o"),
        ({"output": Path("./folder/../pairs.jsonl")}, "holds the pairs themselves; name another file with -o"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_one_line_and_writes_nothing(
    server: ServerProcess, change: dict[str, Any], message: str
) -> None:
    write([row("q1", "d1")])
    Path("folder").mkdir()
    os.mkfifo("fifo")
    with pytest.raises(QuatiPoolError) as caught:
        run(replace(GIVEN, **change))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert {path.name for path in Path().rglob("*")} == {"pairs.jsonl", "folder", "fifo"}
    assert server.log() == []


def test_a_file_that_changes_meanwhile_is_said_and_loses_nothing(server: ServerProcess) -> None:
    write([row("q1", "d1"), row("q1", "d2")])

    class Changing(Listener):
        def say(self, line: str) -> None:
            write([row("q1", "d2"), row("q1", "d3")])

    with pytest.raises(InputError, match="was changed while it was graded; what was graded is kept: run the same"):
        judge_pairs(GIVEN, Changing())
    assert not GIVEN.output.exists()
    assert run().pending.asked == 1
    assert asked(server) == {"q1/d1": 1, "q1/d2": 1, "q1/d3": 1}


def committed() -> int:
    try:
        return int(stored("SELECT count(*) FROM labels")[0][0])
    except sqlite3.OperationalError:  # it is still in the making
        return 0


def wait_for(labels: int, process: Forked) -> None:
    while process.poll() is None and committed() < labels:
        time.sleep(0.01)


def command(*more: object) -> list[object]:
    """The command line for GIVEN, by absolute paths: forked commands have another current folder."""
    files = ("--pairs", GIVEN.path.resolve(), "-o", GIVEN.output.resolve())
    return ["judge", *files, "--model", GIVEN.model, "--prompt", GIVEN.prompt, *more]


@pytest.mark.kill
def test_a_run_that_is_killed_goes_on_where_it_was(server: ServerProcess, forks: Forks) -> None:
    pairs = [row(f"q{i % 17}", f"d{i}", "refusal" if i % 50 == 7 else "") for i in range(400)]
    write(pairs)
    server.script(id_pattern=ID_PATTERN, latency=0.02)
    for _ in range(3):
        process = forks.start(*command("--concurrency", 8))
        wait_for(committed() + 40, process)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert not GIVEN.output.exists()
    kept = {
        (query_id, doc_id) for query_id, doc_id in stored("SELECT query_id, doc_id FROM labels WHERE status = 'ok'")
    }
    assert 100 < len(kept) < 392
    before = asked(server)
    process = forks.start(*command("--concurrency", 8, "--format", "json"))
    assert process.wait() == 0, process.said()
    assert json.loads(process.said()[0])["states"] == {"ok": 392, "refused": 8}
    again = asked(server) - before
    assert all(f"{query_id}/{doc_id}" not in again for query_id, doc_id in kept)
    found = graded()
    assert [line["text"] for line in found] == [line["text"] for line in pairs]
    assert [line["relevance"] for line in found] == [
        None if i % 50 == 7 else grade_of(f"q{i % 17}/d{i}") for i in range(400)
    ]
    assert not list(Path().glob(".work-*"))


@pytest.mark.kill
def test_two_processes_share_the_work(server: ServerProcess, forks: Forks) -> None:
    write([row("q1", f"d{i}") for i in range(150)])
    # Slow until one waits for the other: on a busy machine the first would be done before the second begins.
    server.script(id_pattern=ID_PATTERN, latency=1)
    both = [forks.start(*command()) for _ in range(2)]

    def one_waits() -> bool:
        return any("waiting for process" in process.said()[1] for process in both)

    while not one_waits() and None in [process.poll() for process in both]:
        time.sleep(0.01)
    server.script(id_pattern=ID_PATTERN)
    assert [process.wait() for process in both] == [0, 0], [process.said() for process in both]
    assert set(asked(server).values()) == {1}
    assert one_waits()
    assert Counter(line["status"] for line in graded()) == {"ok": 150}


@pytest.mark.kill
def test_control_c_writes_what_is_graded(server: ServerProcess, forks: Forks) -> None:
    write([row("q1", f"d{i}") for i in range(400)])
    server.script(id_pattern=ID_PATTERN, latency=0.15)
    process = forks.start(*command("--concurrency", 8))
    wait_for(30, process)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    states = Counter(line["status"] for line in graded())
    assert 30 <= states["ok"] == committed() < 400
    assert states[None] == 400 - states["ok"]
    assert (
        f"kept: all grades so far ({states[None]} pairs are still to be asked); run the same command again"
        in process.said()[1]
    )
