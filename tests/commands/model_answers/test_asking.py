"""A model's answers to a task's questions, asked over a real server: each question once, kept whatever ends the run."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from quati_pool.commands.model_answers import asking
from quati_pool.commands.model_answers.asking import Answerer, Answers, ask, chosen_answerer
from quati_pool.commands.model_answers.journal import Journal, open_journal
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.llm.faults import FatalError, ServerDown
from quati_pool.project.events import Listener
from quati_pool.qa_benchmarks.base import AnswerTaskRun, Case
from tests.commands.bench.small_task_runs import LABELS, Choices, Sets, many
from tests.llm.server import PROBE, ServerProcess, answer_of

KEY = "sk-test-0123456789abcdef"


class Lines(Listener):
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.shown: list[tuple[str, int, int, str]] = []

    def say(self, line: str) -> None:
        self.lines.append(line)

    def progress(self, label: str, done: int, total: int, detail: str = "", unit: str = "") -> None:
        self.shown.append((label, done, total, detail))


@pytest.fixture
def server(running_server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> ServerProcess:
    monkeypatch.setenv("OPENAI_BASE_URL", running_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    running_server.script()
    running_server.clear()
    return running_server


def pool(folder: Path, **settings: Any) -> Path:
    """A pool.yaml with the judge ``fake``, whose other files need not be there."""
    folder.mkdir(exist_ok=True)
    (folder / "prices.yaml").write_text(
        "mine:\n  as_of: 2026-11-01\n  source: a test\n  models:\n    fake-1: {input: 10, output: 1000}\n", "utf-8"
    )
    config = {
        "name": "none",
        "corpus": {"path": "corpus.jsonl"},
        "queries": {"path": "queries.jsonl"},
        "grades": {0: "no", 1: "yes"},
        "systems": {"lexical": {"retriever": "bm25s"}},
        "judges": {
            "fake": {"model": "fake-1", "prompt": "no-such-prompt", "max_tokens": 100, **settings},
            "lexical": {"judge": "lexical"},
            "both": {"consensus": ["fake", "lexical"]},
        },
    }
    path = folder / "pool.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return path


@pytest.fixture
def answerer(tmp_path: Path) -> Answerer:
    return chosen_answerer(pool(tmp_path), "fake")


def run(task_run: AnswerTaskRun, answerer: Answerer, folder: Path, **options: Any) -> Answers:
    made = ask(task_run, answerer, folder / "answers" / "fake.jsonl", options.pop("listener", Listener()), **options)
    if made.error is not None:
        raise made.error
    return made


def calls(server: ServerProcess) -> int:
    return sum(entry["id"] != PROBE for entry in server.log())


def journal(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "answers" / "fake.jsonl").read_text("utf-8").splitlines()]


def test_every_question_gets_the_answer_that_the_server_gave(
    server: ServerProcess, answerer: Answerer, tmp_path: Path
) -> None:
    task_run, lines = many(60), Lines()
    made = run(task_run, answerer, tmp_path, listener=lines)
    wanted = {one: answer_of(task_run.request(one).messages[-1]["content"], LABELS) for one in task_run.ids}
    assert made.values == wanted
    assert set(wanted.values()) == set(LABELS)
    assert (made.failed, made.ended, made.asked, made.reused, made.calls) == ({}, None, 60, 0, 61)
    assert lines.lines == [f"fake: asking {server.url.split('/')[2]} with output json_schema"]
    assert lines.shown[-1][:3] == ("fake test en", 60, 60)
    # 60 answers and the client's first question, at 10 and 1000 dollars a million tokens.
    told = made.tokens
    assert sum(line["usage"]["output"] for line in journal(tmp_path)) == told["output"] > 0
    assert calls(server) == 60


def test_what_was_answered_is_not_asked_again(server: ServerProcess, answerer: Answerer, tmp_path: Path) -> None:
    first = run(many(10), answerer, tmp_path)
    server.clear()
    lines = Lines()
    again = run(many(10), answerer, tmp_path, listener=lines)
    assert (again.values, again.asked, again.reused, again.cost) == (first.values, 0, 10, 0.0)
    # Not even the client's first question.
    assert (server.log(), lines.lines) == ([], [])
    grown = run(many(12), answerer, tmp_path, listener=lines)
    assert (grown.asked, grown.reused, calls(server)) == (2, 10, 2)
    assert first.values.items() < grown.values.items()


def test_a_journal_that_an_earlier_version_wrote_answers_for_all_of_its_questions(
    server: ServerProcess, answerer: Answerer, tmp_path: Path
) -> None:
    # Written by commit 86aec73, before requests and journals had modules of their own.
    kept = Path(__file__).with_name("former.jsonl").read_bytes()
    path = tmp_path / "answers" / "fake.jsonl"
    path.parent.mkdir()
    path.write_bytes(kept)
    found = [
        run(task_run, answerer, tmp_path)
        for task_run in (many(4), Sets({"a": "which?"}), Choices({"r": "[[serve: refusal]] who?"}))
    ]
    assert [made.values for made in found] == [
        {"q0": "C", "q1": "B", "q2": "A", "q3": "A"},
        {"a": ("answer 271", "answer 911")},
        {},
    ]
    assert found[2].failed == {"r": "refused: the model refused: I cannot help with that."}
    assert (server.log(), path.read_bytes()) == ([], kept)


def test_the_same_question_is_asked_once_whatever_its_id(
    server: ServerProcess, answerer: Answerer, tmp_path: Path
) -> None:
    task_run = Choices({"a": "who?", "b": "who?", "c": "when?"})
    made = run(task_run, answerer, tmp_path)
    assert (calls(server), made.asked, made.reused) == (2, 2, 1)
    assert made.values["a"] == made.values["b"]
    other = run(Choices({"z": "when?"}, Case("validation", "en")), answerer, tmp_path)
    assert (calls(server), other.values) == (2, {"z": made.values["c"]})


@pytest.mark.parametrize(
    ("change", "asked_again"),
    [
        ({"temperature": 0.5}, True),
        ({"seed": 7}, True),
        ({"max_tokens": 101}, True),
        ({"output": "json_object"}, True),
        ({"base_url": None}, False),
        ({"prompt": "another"}, False),
        ({"concurrency": 3, "timeout": 30.0, "max_passage_tokens": 9, "together": True}, False),
        ({"prices": "prices.yaml"}, False),
        ({"samples": 3, "aggregate": "mode"}, False),
    ],
)
def test_only_what_changes_answers_has_a_question_asked_again(
    server: ServerProcess, answerer: Answerer, tmp_path: Path, change: dict[str, Any], asked_again: bool
) -> None:
    run(Choices({"a": "[[answer: B]] who?"}), answerer, tmp_path)
    server.clear()
    changed = chosen_answerer(pool(tmp_path / "other", **change), "fake")
    made = run(Choices({"a": "[[answer: B]] who?"}), changed, tmp_path)
    assert (calls(server), made.values) == (int(asked_again), {"a": "B"})


def test_an_unreadable_answer_is_asked_again_twice_and_then_kept(
    server: ServerProcess, answerer: Answerer, tmp_path: Path
) -> None:
    server.script(keep_bodies=True, id_pattern=r"question (\w+)")
    task_run = Choices({
        "never": "question never [[answer: Z]]",
        "late": "question late [[serve: prose, half_grade, well]]",
        "cut": "question cut [[serve: length]]",
    })  # fmt: skip
    made = run(task_run, answerer, tmp_path)
    assert list(made.values) == ["late"]
    assert made.failed == {
        "never": 'unparsed: "answer" gives Z, which is not one of A, B, C',
        "cut": "truncated: the answer was cut off at the token limit",
    }
    assert Counter(entry["id"] for entry in server.log()) == {"never": 3, "late": 3, "cut": 3, PROBE: 1}
    last = [entry for entry in server.log() if entry["id"] == "never"][-1]["body"]["messages"]
    assert [message["role"] for message in last] == ["system", "user", "assistant", "user"]
    assert "not one of A, B, C" in last[-1]["content"]
    by_id = {line["id"]: line for line in journal(tmp_path)}
    assert (by_id["never"]["tries"], by_id["never"]["text"]) == (3, '{"answer": "Z"}')
    assert by_id["never"]["usage"]["output"] == 3 * (len('{"answer": "Z"}') // 4 + 1)
    server.clear()
    assert run(task_run, answerer, tmp_path).failed == made.failed
    assert calls(server) == 0


def test_thoughts_are_no_answer_and_are_not_sent_back(
    server: ServerProcess, answerer: Answerer, tmp_path: Path
) -> None:
    server.script(keep_bodies=True, id_pattern=r"question (\w+)")
    made = run(Choices({"one": "question one [[answer: ◁think▷B?◁/think▷ Z]]"}), answerer, tmp_path)
    assert made.failed["one"] == 'unparsed: "answer" gives Z, which is not one of A, B, C'
    sent = [entry["body"]["messages"] for entry in server.log() if entry["id"] == "one"]
    assert [message["content"] for message in sent[-1] if message["role"] == "assistant"] == ['{"answer": "\nZ"}']


def test_stored_answers_are_read_by_the_rules_of_today(
    server: ServerProcess, answerer: Answerer, tmp_path: Path
) -> None:
    """A journal of a version that read thoughts as answers keeps its keys, and loses no answer but those in doubt."""
    task_run = Choices(
        {name: f"[[answer: C]] question {name}?" for name in ("plain", "drafted", "alone", "cut", "often")}
    )
    assert set(run(task_run, answerer, tmp_path).values.values()) == {"C"}
    texts = {
        "plain": '{"answer": "A"}',
        "drafted": '<think>{"answer": "A"}</think> B',
        "alone": '<think>{"answer": "A"}</think>',
        "cut": '<think>{"answer": "A"}',
        "often": '<think>{"answer": "A"}</think>',
    }
    path = tmp_path / "answers" / "fake.jsonl"
    lines = [{**line, "value": "A", "text": texts[line["id"]]} for line in journal(tmp_path)]
    lines = [{**line, "tries": 3} if line["id"] == "often" else line for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    server.clear()
    made = run(task_run, answerer, tmp_path)
    # What is now in doubt is asked again, unless it had been as often as it may.
    assert made.values == {"plain": "A", "drafted": "B", "alone": "C", "cut": "C"}
    assert made.failed == {"often": "unparsed: the answer holds thoughts alone"}
    assert calls(server) == 2
    before = path.read_bytes()
    assert run(task_run, answerer, tmp_path).values == made.values
    assert (calls(server), path.read_bytes()) == (2, before)


def test_refusals_are_kept_and_calls_that_failed_are_made_again(
    server: ServerProcess, answerer: Answerer, tmp_path: Path
) -> None:
    task_run = Choices({
        "no": "[[serve: refusal]] a?", "filtered": "[[serve: filtered_prompt]] b?", "long": "[[serve: too_long]] c?",
        "well": "[[answer: C]] d?",
    })  # fmt: skip
    for times in (1, 2):
        made = run(task_run, answerer, tmp_path)
        assert made.values == {"well": "C"}
        assert {one: reason.split(":")[0] for one, reason in made.failed.items()} == {
            "no": "refused", "filtered": "refused", "long": "failed",
        }  # fmt: skip
        # The four of the first run, and in each further one that which the server would not take.
        assert calls(server) == 3 + times
    assert "maximum context length" in made.failed["long"]


def test_several_answers_come_back_as_a_tuple_from_server_and_journal(
    server: ServerProcess, answerer: Answerer, tmp_path: Path
) -> None:
    task_run = Sets({"some": "[[answer: Lima, Accra]] which?", "none": "[[answer: ]] which other?"})
    for _ in range(2):
        assert run(task_run, answerer, tmp_path).values == {"some": ("Lima", "Accra"), "none": ()}
    assert calls(server) == 2


def test_a_server_without_schemas_is_asked_in_words_alone(
    server: ServerProcess, answerer: Answerer, tmp_path: Path
) -> None:
    server.script(refuses=["response_format"])
    lines = Lines()
    made = run(Choices({"a": "[[answer: B]] who?"}), answerer, tmp_path, listener=lines)
    assert made.values == {"a": "B"}
    assert lines.lines[-1].endswith("with output text")


# ---- the ends of a run


def test_a_budget_is_never_broken_and_what_it_bought_is_kept(server: ServerProcess, tmp_path: Path) -> None:
    answerer = chosen_answerer(pool(tmp_path, prices="prices.yaml"), "fake")
    task_run = many(100)
    made = run(task_run, answerer, tmp_path, budget=0.5)
    assert made.ended == "budget"
    assert 0 < made.cost <= 0.5
    assert 0 < len(made.values) == made.asked < 100
    # One more call could have cost its 100 tokens of output and some 700 of input.
    assert made.cost > 0.5 - 2 * (100 * 1000 + 1000 * 10) / 1e6
    server.clear()
    assert run(task_run, answerer, tmp_path, budget=0.0).values == made.values
    assert run(task_run, answerer, tmp_path, budget=-1).ended == "budget"
    assert server.log() == []
    rest = run(task_run, answerer, tmp_path, budget=100)
    assert (rest.ended, len(rest.values), rest.reused) == (None, 100, made.asked)
    booked = sum(line["cost"] for line in journal(tmp_path))
    probes = made.cost + rest.cost - booked
    assert 0 < probes < booked


def test_an_unreadable_answer_that_no_budget_was_left_to_ask_for_again_is_asked_again_by_the_next_run(
    server: ServerProcess, tmp_path: Path
) -> None:
    answerer = chosen_answerer(pool(tmp_path, prices="prices.yaml"), "fake")
    task_run = Choices({"a": "[[serve: prose, well]] [[answer: C]] who?"})
    # One call may cost 0.1 for its 100 tokens of output and some 0.01 of input; the first costs some 0.03.
    made = run(task_run, answerer, tmp_path, budget=0.115)
    assert (made.ended, made.values, made.failed, calls(server)) == ("budget", {}, {}, 1)
    assert [line["state"] for line in journal(tmp_path)] == ["unparsed"]
    again = run(task_run, answerer, tmp_path)
    assert (again.ended, again.values, again.failed, calls(server)) == (None, {"a": "C"}, {}, 2)


def test_what_a_server_does_not_tell_is_taken_from_the_budget_at_its_highest(
    server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quati_pool.llm.answers._usage", lambda *_: None)
    answerer = chosen_answerer(pool(tmp_path, prices="prices.yaml"), "fake")
    made = run(many(2), answerer, tmp_path, budget=1.0)
    assert (made.cost, made.unknown) == (0.0, 3)
    # Two calls of at most 100 tokens of output at 1000 dollars a million, and their input.
    assert 0.2 < made.spent < 0.25


def test_a_budget_needs_a_price(server: ServerProcess, answerer: Answerer, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^--budget needs the price of fake-1, which is not known; "):
        run(many(1), answerer, tmp_path, budget=1.0)
    assert server.log() == []


def test_a_wrong_key_ends_it_in_one_line_and_keeps_what_was_answered(
    server: ServerProcess, answerer: Answerer, tmp_path: Path
) -> None:
    first = run(many(5), answerer, tmp_path)
    server.script(key="sk-another")
    made = ask(many(8), answerer, tmp_path / "answers" / "fake.jsonl", Listener())
    assert isinstance(made.error, FatalError)
    assert "\n" not in str(made.error)
    assert KEY not in str(made.error)
    assert (made.values, made.failed) == (first.values, {})


def test_a_server_that_is_not_there_ends_it_in_one_line(
    answerer: Answerer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    # One attempt in place of minutes of retries, which bench has no option for.
    monkeypatch.setattr("quati_pool.llm.connection.Retry", lambda: _retry())
    made = ask(many(3), answerer, tmp_path / "answers" / "fake.jsonl", Listener())
    assert isinstance(made.error, ServerDown)
    assert "127.0.0.1:9" in str(made.error)
    assert (made.values, made.failed) == ({}, {})


def _retry() -> Any:
    from quati_pool.llm.retries import Retry

    return Retry(attempts=1)


def test_a_stop_lets_what_is_in_flight_finish(server: ServerProcess, answerer: Answerer, tmp_path: Path) -> None:
    server.script(latency=0.05)
    stop, made = threading.Event(), []
    thread = threading.Thread(target=lambda: made.append(run(many(400), answerer, tmp_path, stop=stop)))
    thread.start()
    while calls(server) < 20:
        time.sleep(0.01)
    stop.set()
    thread.join()
    (answers,) = made
    assert answers.ended == "interrupted"
    assert 0 < len(answers.values) < 400
    # Nothing that was asked is lost.
    assert len(journal(tmp_path)) == len(answers.values) == calls(server)


def test_the_endpoint_is_named_once_for_all_exams(server: ServerProcess, answerer: Answerer, tmp_path: Path) -> None:
    lines = Lines()
    for question in ("who?", "when?"):
        run(Choices({"a": question}), answerer, tmp_path, listener=lines)
    assert len(lines.lines) == 1


# ---- the journal


def test_a_journal_cut_at_any_byte_keeps_its_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "fake.jsonl"
    with Journal(path) as kept:
        for request in ("x", "y"):
            kept.append([{"request": request, "id": "a", "state": "ok", "value": "ação"}])
    data = path.read_bytes()
    ends = [place for place, byte in enumerate(data, 1) if byte == ord("\n")]
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        with Journal(path) as kept:
            assert list(kept.entries) == ["x", "y"][: sum(end <= cut for end in ends)]
        assert path.read_bytes() == data[: max([0, *(end for end in ends if end <= cut)])]


def test_after_a_cut_only_what_is_missing_is_asked(server: ServerProcess, answerer: Answerer, tmp_path: Path) -> None:
    task_run = many(6)
    whole = run(task_run, answerer, tmp_path)
    path = tmp_path / "answers" / "fake.jsonl"
    data = path.read_bytes()
    ends = [place for place, byte in enumerate(data, 1) if byte == ord("\n")]
    for cut in (0, ends[0] - 1, ends[2], ends[2] + 5, ends[-1] - 1):
        path.write_bytes(data[:cut])
        server.clear()
        again = run(task_run, answerer, tmp_path)
        assert again.values == whole.values
        assert calls(server) == sum(end > cut for end in ends)
        assert len(path.read_bytes().splitlines()) == 6


def test_half_a_surrogate_pair_in_an_answer_is_kept_as_the_replacement_character(tmp_path: Path) -> None:
    path = tmp_path / "fake.jsonl"
    with Journal(path) as kept:
        kept.append([{"request": "x", "id": "a", "state": "unparsed", "text": "a\ud800b", "tries": 3}])
    with Journal(path) as kept:
        assert kept.entries["x"]["text"] == "a\ufffdb"


def test_a_line_that_is_none_of_a_journal_is_refused_with_its_number(answerer: Answerer, tmp_path: Path) -> None:
    path = tmp_path / "answers" / "fake.jsonl"
    path.parent.mkdir()
    good = '{"request": "x", "id": "a", "state": "ok", "value": "A"}\n'
    bad = ["{}\n", "[1]\n", "nonsense\n", "\n", "\xff\n", good.replace("ok", "fine"), good.replace("value", "values")]
    for line in bad:
        path.write_bytes((good + line + good).encode("latin-1"))
        with pytest.raises(InputError, match=r"fake\.jsonl:2: is not a line of a journal of answers; delete it"):
            run(many(1), answerer, tmp_path)
        assert path.read_bytes() == (good + line + good).encode("latin-1")


def test_a_write_that_fails_leaves_the_journal_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "fake.jsonl"
    entry = {"request": "x", "id": "a", "state": "ok", "value": "A"}
    write = os.pwrite
    with Journal(path) as kept:
        kept.append([entry])
        before = path.read_bytes()

        def full(file: int, data: bytes, offset: int) -> int:
            if offset > len(before):
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(file, data[:10], offset)

        monkeypatch.setattr(os, "pwrite", full)
        with pytest.raises(OSError, match=r"No space left on device: '.*fake\.jsonl'"):
            kept.append([{**entry, "request": "y"}])
        assert path.read_bytes() == before
        monkeypatch.undo()
        kept.append([{**entry, "request": "z"}])
    with Journal(path) as kept:
        assert list(kept.entries) == ["x", "z"]


def test_a_full_disk_is_told_and_what_was_written_before_stays(
    server: ServerProcess, answerer: Answerer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    run(many(2), answerer, tmp_path)
    monkeypatch.setattr(Journal, "append", full)
    made = ask(many(4), answerer, tmp_path / "answers" / "fake.jsonl", Listener())
    assert isinstance(made.error, OSError)
    assert len(made.values) == 2


SCRIPT = """
import sys
from pathlib import Path
from quati_pool.commands.model_answers.asking import ask, chosen_answerer
from quati_pool.project.events import Listener
from tests.commands.bench.small_task_runs import many

class Loud(Listener):
    def say(self, line):
        print(line, flush=True)

folder = Path(sys.argv[1])
ask(many(100), chosen_answerer(folder / "pool.yaml", "fake"), folder / "answers" / "fake.jsonl", Loud())
"""


@pytest.mark.kill
def test_who_comes_second_waits_and_finishes_what_a_killed_process_had_in_flight(
    server: ServerProcess, answerer: Answerer, tmp_path: Path
) -> None:
    # The first gets 40 answers and then none, so that it can only be killed.
    server.script(queue=["well"] * 40, default="hang")
    path, lines, made = tmp_path / "answers" / "fake.jsonl", Lines(), []
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, stdout=subprocess.PIPE, text=True,
    ) as first:  # fmt: skip
        assert first.stdout is not None
        assert "asking" in first.stdout.readline()
        second = threading.Thread(target=lambda: made.append(run(many(100), answerer, tmp_path, listener=lines)))
        second.start()
        while path.read_bytes().count(b"\n") < 40 or not lines.lines:
            time.sleep(0.01)
        # Stopped before the server is well again, so that no further answer reaches it.
        first.send_signal(signal.SIGSTOP)
        server.script()
        first.send_signal(signal.SIGKILL)
    second.join()
    assert lines.lines[0].startswith(f"fake.jsonl: waiting for process {first.pid} on ")
    (answers,) = made
    assert (answers.asked, answers.reused, len(answers.values)) == (60, 40, 100)
    assert len({line["request"] for line in journal(tmp_path)}) == len(journal(tmp_path)) == 100
    # Beyond one call for each there is only what the first had in flight.
    assert 0 <= calls(server) - 100 <= answerer.parameters.concurrency
    assert run(many(100), answerer, tmp_path).asked == 0


# ---- who answers


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fakes", r"pool\.yaml: there is no judge 'fakes'; did you mean 'fake'\?$"),
        ("lexical", r"pool\.yaml: lexical is not a language model and answers no questions; there are: fake$"),
        ("both", r"pool\.yaml: both is not a language model and answers no questions; there are: fake$"),
    ],
)
def test_who_is_no_language_model_is_refused(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        chosen_answerer(pool(tmp_path), name)


def test_a_pool_yaml_without_language_models_says_how_to_add_one(tmp_path: Path) -> None:
    path = pool(tmp_path)
    config = yaml.safe_load(path.read_text())
    config["judges"] = {}
    path.write_text(yaml.safe_dump(config))
    with pytest.raises(QuatiPoolError, match="add one under judges:"):
        chosen_answerer(path, "fake")


def test_a_question_without_any_text_is_named(answerer: Answerer, tmp_path: Path) -> None:
    with pytest.raises(QuatiPoolError, match=r"^the question b: there is nothing to show in the prompt set-open-en; "):
        run(Sets({"a": "which?", "b": " "}), answerer, tmp_path)


def test_two_exams_may_take_turns_at_one_journal(server: ServerProcess, answerer: Answerer, tmp_path: Path) -> None:
    with open_journal(tmp_path / "answers" / "fake.jsonl", Listener()) as kept:
        assert kept.entries == {}
    run(many(3), answerer, tmp_path)
    run(Sets({"a": "which?"}), answerer, tmp_path)
    assert run(many(3), answerer, tmp_path).asked == 0
    assert len({line["request"] for line in journal(tmp_path)}) == 4
    assert asking.REASK == 2
