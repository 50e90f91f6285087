"""judge, labels, export and batch as a user runs them: output, exit status, and one line for each fault."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from quati_pool.labels import failures
from quati_pool.records import State
from quati_pool.store.failed_answers import FailedAnswer
from tests.cli.conftest import Cli
from tests.commands.judged import ID_PATTERN, many, pair, workspace
from tests.llm.server import ServerProcess

LEXICAL = {"lexical": {"judge": "lexical", "language": "pt"}}
FAKE = {"fake": {"model": "gpt-4o-mini", "prompt": "quati-pt"}}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a workspace with six pairs and the judge lexical."""
    workspace(tmp_path, many(2, 3), LEXICAL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path


def test_judge_labels_and_export_from_a_workspace(here: Path, cli: Cli) -> None:
    done = cli("judge", "--format", "json")
    assert done.status == 0, done.err
    data = json.loads(done.out)
    assert {"judge", "pairs", "states", "grades", "cost", "seconds"} <= set(data)
    assert (data["judge"], data["pairs"], data["states"], data["cost"]) == ("lexical", 6, {"ok": 6}, 0.0)
    (told,) = json.loads(cli("labels", "--format", "json").out)["labelers"]
    assert (told["labeler"], told["states"], told["unasked"]) == ("lexical", {"ok": 6}, 0)
    done = cli("export", "qrels", "--labeler", "lexical", "-o", "my.qrels")
    assert (done.status, done.out, done.err) == (0, "", "wrote my.qrels: 6 pairs\n")
    assert len((here / "my.qrels").read_text(encoding="utf-8").splitlines()) == 6
    assert (here / "my.qrels.meta.json").exists()
    assert cli("export", "qrels", "--labeler", "lexical").err == "wrote qrels/lexical.qrels: 6 pairs\n"


@pytest.mark.parametrize("how", ["table", "json", "markdown", "latex", "csv"])
def test_judge_and_labels_in_every_format(here: Path, cli: Cli, how: str) -> None:
    for arguments in (("judge",), ("labels", "--missing"), ("judge", "--dry-run")):
        done = cli(*arguments, "--format", how)
        assert done.status == 0, done.err
        assert "lexical" in done.out
        if how == "json":
            json.loads(done.out)
        if how == "csv":
            assert list(csv.reader(io.StringIO(done.out)))


def test_an_export_while_pairs_are_unasked_names_them(here: Path, cli: Cli) -> None:
    cli("judge", "--limit", "2")
    done = cli("export", "qrels", "--labeler", "lexical", "-o", "my.qrels")
    assert done == (
        1,
        "",
        "quati-pool: 4 of 6 pairs have no grade by lexical (4 never asked): q0000 d0002 (never asked), "
        "q0001 d0000 (never asked), q0001 d0001 (never asked) and 1 more (quati-pool labels --missing lists them); "
        "run: quati-pool judge lexical, or leave them out, unjudged, with --allow-missing\n",
    )
    assert not (here / "my.qrels").exists()
    done = cli("export", "qrels", "--labeler", "lexical", "-o", "my.qrels", "--allow-missing")
    left_out = "4 of 6 pairs without a grade are left out (4 never asked)"
    assert done == (0, "", f"wrote my.qrels: 2 pairs; {left_out}\n")
    missing = json.loads(cli("labels", "--missing", "--format", "json").out)["labelers"][0]["missing"]
    assert [row["doc_id"] for row in missing] == ["d0002", "d0000", "d0001", "d0002"]


def faults(pool_yaml: str) -> dict[str, tuple[str, tuple[str, ...], str]]:
    return {
        "no such judge": (pool_yaml, ("judge", "lexcal"), "there is no judge 'lexcal'; did you mean 'lexical'?"),
        "no such labeler": (
            pool_yaml, ("export", "qrels", "--labeler", "ana"), "there is no labeler 'ana' in test; there are: lexical",
        ),
        "unknown key of a judge": (
            pool_yaml.replace("language: pt", "languag: pt"), ("judge",),
            "pool.yaml:12: judges.lexical.languag: unknown key; did you mean 'language'?",
        ),
        "unknown judge": (
            pool_yaml.replace("judge: lexical", "judge: oracle"), ("judge",),
            "pool.yaml:11: judges.lexical.judge: there is no judge 'oracle'; there are: distilled, lexical, llm, "
            "local, replay",
        ),
        "a consensus of a stranger": (
            pool_yaml + "  both: {consensus: [lexical, ana]}\n", ("judge", "lexical"),
            "pool.yaml:13: judges.both.consensus: 'ana' is neither a judge nor a label file; there are: lexical",
        ),
        "a consensus of one": (
            pool_yaml + "  both: {consensus: [lexical]}\n", ("judge", "lexical"),
            "pool.yaml:13: judges.both.consensus: expected at least 2, not ['lexical']",
        ),
        "no such prompt": (
            pool_yaml + "  fake: {model: m, prompt: quati-pr}\n", ("judge", "fake"),
            "there is no prompt 'quati-pr'; did you mean 'quati-pt'?",
        ),
        "no prompt": (
            pool_yaml + "  fake: {model: m}\n", ("judge", "fake"),
            "pool.yaml:13: judges.fake: the key 'prompt' is missing; add it",
        ),
        "no key": (
            pool_yaml + "  fake: {model: m, prompt: quati-pt}\n", ("judge", "fake"),
            "there is no key for api.openai.com: set OPENAI_API_KEY; for a server that needs none, api_key_env: null",
        ),
        "no address": (
            pool_yaml + "  fake: {model: m, prompt: quati-pt, base_url: localhost}\n", ("judge", "fake"),
            "pool.yaml:13: judges.fake.base_url: is not a valid URL; expected one such as http://localhost:8000/v1",
        ),
        "no such pool": (
            pool_yaml, ("judge", "--pool", "none.jsonl"), "none.jsonl: there is no such file; check the path",
        ),
        "no such grades file": (
            pool_yaml + "  gold: {judge: replay, path: none.qrels}\n", ("judge", "gold"),
            "none.qrels: there is no such file; check the path",
        ),
        "a database of nobody's": (
            pool_yaml + "labels: {url: 'mysql://localhost/x'}\n", ("judge",), "mysql",
        ),
        "a scale that is none": (
            pool_yaml + "grades: {0: nothing}\n", ("judge",),
            "pool.yaml:13: grades: expected at least 2, not {0: 'nothing'}",
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", faults(""))
def test_a_fault_is_one_line(here: Path, cli: Cli, name: str) -> None:
    text = (here / "pool.yaml").read_text(encoding="utf-8")
    changed, arguments, message = faults(text)[name]
    (here / "pool.yaml").write_text(changed, encoding="utf-8")
    done = cli(*arguments)
    assert done.status == 1
    assert done.out == ""
    assert message in done.err
    assert done.err.startswith("quati-pool: ")
    assert done.err.count("\n") == 1


def test_a_pool_without_texts_is_refused_before_anything_is_asked(here: Path, cli: Cli) -> None:
    rows = [
        {"query_id": "q1", "doc_id": "d1", "query": "a", "text": "b"},
        {"query_id": "q1", "doc_id": "d2", "query": "a"},
    ]
    (here / "bare.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = cli("judge", "--pool", "bare.jsonl")
    assert done.status == 1
    assert done.err.startswith("quati-pool: bare.jsonl:2: no column 'text'")
    assert done.err.count("\n") == 1
    assert json.loads(cli("labels", "--format", "json").out)["labelers"][0]["unasked"] == 6


def test_an_empty_pool_has_nothing_to_judge(here: Path, cli: Cli) -> None:
    (here / "empty.jsonl").write_text("", encoding="utf-8")
    done = cli("judge", "--pool", "empty.jsonl", "--format", "json")
    assert (done.status, json.loads(done.out)["pairs"]) == (0, 0)


def test_a_model_behind_the_environments_address(here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the README has it: OPENAI_BASE_URL and OPENAI_API_KEY, and nothing else."""
    workspace(here, [*many(2, 3), pair("q1", "no", "[[serve: refusal]] [pair no]")], FAKE)
    with ServerProcess(id_pattern=ID_PATTERN) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
        assert cli("judge", "--full", "fake", "--dry-run").status == 0
        done = cli("judge", "--full", "fake", "--budget", "0.5")
        assert done.status == 0, done.err
        assert "by gpt-4o-mini (7), with output json_schema" in done.out
        assert "sk-mine" not in done.out + done.err
        done = cli("judge", "--full", "--budget", "0.0001")
        assert done.status == 1
        assert "the budget of US$ 0.0001 is too small for even one pair, which needs up to US$ 0.00074" in done.err
        (here / "pool.yaml").write_text(
            (here / "pool.yaml").read_text(encoding="utf-8").replace("gpt-4o-mini", "gpt-4o"), encoding="utf-8"
        )
        assert cli("batch", "submit", "--full", "--limit", "5").status == 0
        assert cli("judge", "--full").status == 1
        done = cli("batch", "collect", "--full", "--format", "json")
        while done.status:
            done = cli("batch", "collect", "--full", "--format", "json")
        assert json.loads(done.out)["states"] == {"ok": 5}
        assert "collected" in cli("batch", "status", "--full").out
        earlier = json.loads(cli("labels", "--full", "--format", "json").out)["earlier_versions"]
        assert [row["labels"] for row in earlier] == [7]


@pytest.mark.parametrize("samples", [1, 2])
def test_the_end_of_a_budget_says_what_is_spent_and_what_one_more_pair_needs(
    here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, samples: int
) -> None:
    prices = "mine: {as_of: 2026-11-01, source: a test, models: {fake-1: {input: 10, output: 1000}}}\n"
    (here / "prices.yaml").write_text(prices, encoding="utf-8")
    fake = {"model": "fake-1", "prompt": "quati-pt", "prices": "prices.yaml", "max_tokens": 100}
    workspace(here, many(1, 40), {"fake": {**fake, "samples": samples, "temperature": 1.0, "concurrency": 1}})
    with ServerProcess(id_pattern=ID_PATTERN) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
        done = cli("judge", "--budget", "0.01")
        assert done.status == 1
        needs = re.escape(f"the budget of US$ 0.01 is too small for even one pair, which needs up to US$ 0.{samples}")
        advice = "nothing was asked; run the same command again with a larger --budget"
        assert re.fullmatch(rf"quati-pool: {needs}\d+: {advice}\n", done.err), done.err
        assert server.log() == []
        done = cli("judge", "--budget", "1", "--format", "json")
        assert done.status == 1
        data = json.loads(done.out)
        assert data["budget"]["budget"] == 1
        assert data["cost"] <= data["budget"]["spent"] <= 1 < data["budget"]["spent"] + data["budget"]["needed"]
        spent = "US$ {spent:.4f} of the budget of US$ 1 is spent, nothing is reserved, and one more pair needs "
        spent += "up to US$ {needed:.4f}"
        rest = r"\d\d pairs are still to be asked; run the same command again with a larger --budget\n"
        line = done.err.splitlines(keepends=True)[-1]
        assert re.fullmatch(f"quati-pool: {re.escape(spent.format(**data['budget']))}: {rest}", line), line


UNREADABLE = [
    *many(1, 2),
    pair("q1", "d1", "[[serve: wrong_keys]] [pair wrong]"),
    pair("q1", "d2", "[[serve: half_grade]] [pair half]"),
    pair("q1", "d3", "[[serve: refusal]] [pair no]"),
]
SUMMARY = "2 unparsed, 1 refused"


def test_calls_of_unknown_price_are_not_free(here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace(here, UNREADABLE, {"local": {"model": "of-our-own", "prompt": "quati-pt"}})
    with ServerProcess(id_pattern=ID_PATTERN) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
        printed = cli("judge", "local", "--reask", "0").out
    assert "This run made 6 calls, for an unknown cost." in printed.splitlines()


def test_judge_says_first_what_has_no_grade_and_shows_an_answer(
    here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace(here, UNREADABLE, FAKE)
    with ServerProcess(id_pattern=ID_PATTERN) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
        done = cli("judge", "fake", "--reask", "0")
        assert done.status == 0, done.err
        graded, calls = done.out.splitlines()[:2]
        assert graded == "fake has graded 2 of 5 pairs; without a grade: 2 unparsed, 1 refused."
        spent = json.loads(cli("labels", "--format", "json").out)["labelers"][0]["calls"]["cost"]
        assert calls == f"This run made 6 calls, for US$ {spent:.4f}."
        summary, example = done.err.splitlines()[-2:]
        assert summary == f"fake: 2 of 5 pairs graded; {SUMMARY}"
        assert example.startswith("such as q1 d1, unparsed (")
        assert example.endswith("; all of them: quati-pool labels fake --missing")
        asked = json.loads(cli("judge", "--full", "fake", "--reask", "0", "--format", "json").out)
    assert asked["summary"] == summary
    failure = asked["example_failure"]
    assert (failure["query_id"], failure["doc_id"], failure["state"]) == ("q1", "d1", "unparsed")
    assert failure["answer"] in example
    missing = {row["doc_id"]: row for row in
               json.loads(cli("labels", "--missing", "--format", "json").out)["labelers"][0]["missing"]}  # fmt: skip
    assert set(missing) == {"d1", "d2", "d3"}
    # The raw answer is what the server sent, whole; it is shown as Python writes it.
    raw = missing["d1"]["answer"]
    assert "Pontuação" not in json.loads(raw)
    assert failure["answer"] == repr(raw)
    assert missing["d3"]["state"] == "refused"
    assert missing["d2"]["problem"]
    told = cli("labels", "--full", "--missing").out
    assert missing["d2"]["problem"] in told
    assert repr(raw) in told


def test_judge_says_nothing_of_failures_where_there_are_none(here: Path, cli: Cli) -> None:
    done = cli("judge", "--limit", "2", "--format", "json")
    assert (json.loads(done.out)["summary"], json.loads(done.out)["example_failure"]) == (None, None)
    assert "graded" not in done.err


def test_pairs_without_text_are_listed_among_those_without_a_grade_and_counted_in_good_english(
    here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace(here, [pair("q1", "d0"), pair("q1", "d1", "[[serve: refusal]] x"), pair("q1", "d2", " ")], FAKE)
    with ServerProcess(id_pattern=ID_PATTERN) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
        said = cli("judge", "fake", "--limit", "1").err.splitlines()
        assert said[-1] == "1 pair is still to be asked; run the same command again"
        assert cli("judge", "fake", "--reread").err.splitlines()[-1] == "1 pair is to be asked: quati-pool judge fake"
        assert cli("judge", "fake", "--reask", "0").status == 0
    missing = json.loads(cli("labels", "--missing", "--format", "json").out)["labelers"][0]["missing"]
    assert [(row["doc_id"], row["state"]) for row in missing] == [("d1", "refused"), ("d2", "no_text")]
    assert missing[1]["problem"] == "the passage has no text"
    assert "the passage has no text" in cli("labels", "--full", "--missing").out


def test_batch_collect_says_first_what_has_no_grade_and_shows_an_answer(
    here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace(here, UNREADABLE, FAKE)
    with ServerProcess(id_pattern=ID_PATTERN) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
        assert cli("batch", "submit").status == 0
        done = cli("batch", "collect", "--format", "json")
        while done.status:
            done = cli("batch", "collect", "--format", "json")
    summary, example = done.err.splitlines()[-2:]
    assert summary == f"fake: 2 of 5 collected answers graded; {SUMMARY}"
    data = json.loads(done.out)
    assert data["summary"] == summary
    assert data["example_failure"]["doc_id"] == "d1"
    assert data["example_failure"]["answer"] in example


def test_a_raw_answer_cannot_reach_the_terminal(here: Path, cli: Cli) -> None:
    """Escape sequences, line ends and what turns the direction of text are shown as escapes, and no more than 200
    characters."""
    rude = "\x1b[2J\x9b31m\r\n\u202e\u200b\x07" + "a" * 500
    failed = FailedAnswer("q1", "d1", State.unparsed, "no\x1b[31m JSON\nobject", rude)
    line = failures.example("fake", failed)
    assert line.isprintable()
    assert not {"\x1b", "\x9b", "\n", "\r", "\u202e", "\u200b", "\x07"} & set(line)
    assert "\\x1b[2J\\x9b31m\\r\\n\\u202e\\u200b\\x07aaa" in line
    assert "a" * 200 not in line
    assert line.count("a" * 100) == 1
    assert "no answer" in failures.example("fake", FailedAnswer("q1", "d1", State.failed, "HTTP 500", None))


def test_pairs_of_a_file_need_no_workspace(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    lines = [
        {"query": "um", "text": "[pair a]"}, {"query": "um", "text": "[[serve: empty]] [pair b]"},
        {"query": "dois", "text": "[pair c]"},
    ]  # fmt: skip
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    command = ("judge", "--pairs", "pairs.jsonl", "--model", "fake-1", "--prompt", "quati-en", "-o", "graded.jsonl")
    with ServerProcess(id_pattern=ID_PATTERN) as server:
        command = (*command, "--set", f"base_url={server.url}", "--set", "max_tokens=200")
        planned = cli(*command, "--dry-run", "--format", "json")
        done = cli(*command, "--limit", "2", "--reask", "0")
        again = cli(*command, "--format", "json")
        reread = cli(*command, "--reread")
    assert reread.err.endswith("\n1 pair is to be asked: run the same command without --reread\n")
    assert (planned.status, json.loads(planned.out)["to_ask"]) == (0, 3)
    assert done.status == 0
    said = done.err.splitlines()
    assert said[1] == "fake-1: 1 of 3 pairs graded; 1 unparsed, 1 never asked"
    assert said[2].endswith("unparsed (the answer is empty): ''; all of them: graded.jsonl")
    assert said[3] == "wrote graded.jsonl: 3 pairs, 1 of them with a grade"
    assert said[4].startswith("1 pair is still to be asked; run the same command again")
    data = json.loads(again.out)
    assert (again.status, data["output"], data["states"]) == (0, "graded.jsonl", {"ok": 2, "unparsed": 1})
    # What was written is a label file like any other.
    agreed = cli("agree", "--labels", "a=graded.jsonl", "--labels", "b=graded.jsonl", "--format", "json")
    assert (agreed.status, json.loads(agreed.out)["pairs"][0]["n"]) == (0, 2)


PAIRS = ("--pairs", "p.jsonl", "--model", "m", "--prompt", "quati-en", "-o", "g.jsonl")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*PAIRS, "lexical"), "NAME: names a workspace, and --pairs works without one; drop one of the two"),
        ((*PAIRS, "-c", "pool.yaml"), "--config: names a workspace, and --pairs works without one; drop "
        "one of the two"),
        ((*PAIRS, "--pool", "p"), "--pool: names a workspace, and --pairs works without one; drop one of the two"),
        (PAIRS[:2], "--pairs: needs --model too"),
        (PAIRS[:4], "--pairs: needs --prompt too"),
        (PAIRS[:6], "--pairs: needs --output too"),
        (PAIRS[2:], "--model: goes with --pairs; in a workspace it is set in pool.yaml"),
        (("--set", "a=b"), "--set: goes with --pairs; in a workspace it is set in pool.yaml"),
        ((*PAIRS, "--set", "temperature"), "--set: 'temperature' holds no '='"),
        ((*PAIRS, "--set", "top_p=1", "--set", "top_p=1"), "--set: top_p is set twice; set it once"),
        ((*PAIRS, "--set", "model=n"), "--set: model has its own option: --model"),
    ],
)  # fmt: skip
def test_pairs_and_a_workspace_do_not_mix(here: Path, cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    done = cli("judge", *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.splitlines()[-1] == f"Error: Invalid value for {message}"
    assert not (here / "g.jsonl.labels.db").exists()
