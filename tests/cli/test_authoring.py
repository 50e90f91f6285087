"""``quati-pool questions list|derive|report|release``, and the benchmark's tasks on what was released."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
import textwrap
from pathlib import Path

import pytest
import yaml

from quati_pool.text.token_overlap import exact_match, token_f1
from tests.cli.conftest import Cli
from tests.commands.annotate.authoring import romqa_example
from tests.commands.annotate.authoring.five_questions import Five, five
from tests.commands.annotate.authoring.people_writing import WRITERS, accept_all, pira_rows, written_by_pira
from tests.commands.annotate.authoring.romqa_people import RomqaPeople, everybody, romqa_workspace
from tests.commands.annotate.authoring.rounds import opened, workspace

pytestmark = pytest.mark.slow

SETS = 13


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten texts of Pirá through all rounds by a lead and four people, thirteen questions, all in one split."""
    rows = pira_rows(10, 2)
    assert len(rows) == SETS
    return written_by_pira(tmp_path_factory.mktemp("ten") / "sea", rows, split={"shares": [100, 0, 0]})


@pytest.fixture
def sea(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same as the current folder."""
    shutil.copytree(finished.parent, tmp_path / "sea")
    monkeypatch.chdir(tmp_path / "sea")
    return tmp_path / "sea"


def test_ten_texts_go_from_the_rounds_to_every_task_of_the_benchmark(sea: Path, cli: Cli) -> None:
    assert "13 of 13 questions are finished, from 10 texts, by 5 people." in cli("questions", "list").out
    assert "13 sets of multiple choice added for acceptance" in cli("questions", "derive").out.replace("\n", " ")
    refused = cli("questions", "release", "--as", "pira", "-o", "out")
    assert refused.status == 1
    assert "13 items of kind choices not finished; go on with: quati-pool annotate" in refused.err
    assert accept_all(sea / "pool.yaml") == SETS
    done = cli("questions", "release", "--as", "pira", "-o", "out")
    assert done.status == 0
    assert done.out.splitlines()[0] == "out: 13 questions (train 13) as pira."
    command = done.out.rstrip().splitlines()[-1]
    assert command.strip() == "quati-pool bench pira ir --data out --to out-ir"

    report = json.loads(cli("questions", "report", "--format", "json").out)
    human = {one["language"]: one for one in report["human"]}
    rows = json.loads(cli("bench", "pira", "mrc", "--data", "out", "--format", "json").out)["rows"]
    # Released answers and answers of Pirá's own validators, read here by the csv module alone.
    with Path("out/train.csv").open(encoding="utf-8", newline="") as file:
        released = list(csv.DictReader(file))
    for language in ("en", "pt"):
        pairs = [(row[f"answer_{language}_validate"], row[f"answer_{language}_origin"]) for row in released]
        f1 = sum(token_f1(*pair) for pair in pairs) / SETS
        em = 100 * sum(exact_match(*pair) for pair in pairs) / SETS
        measured = next(row for row in rows if row["language"] == language and not row.get("setting"))
        assert (measured["system"], measured["n"]) == ("human", SETS)
        assert measured["measures"]["F1"] == pytest.approx(f1) == pytest.approx(human[language]["F1"])
        assert measured["measures"]["EM"] == pytest.approx(em) == pytest.approx(human[language]["EM"])

    labelled = sum(bool(row["at_labels"]) for row in released)
    rows = json.loads(cli("bench", "pira", "at", "--data", "out", "--format", "json").out)["rows"]
    assert {(row["language"], row["n"]) for row in rows} == {("en", labelled), ("pt", labelled)}
    rows = json.loads(cli("bench", "pira", "mcqa", "--data", "out", "--lang", "en", "--format", "json").out)["rows"]
    accuracy = {row["setting"]: row["measures"]["accuracy"] for row in rows if row["system"] == "tf-idf"}
    assert accuracy["released"] == accuracy["built"]
    # The retrieval collection: the command that was printed, as it was printed.
    assert cli(*shlex.split(command)[1:]).status == 0
    queries = [json.loads(line) for line in Path("out-ir/train-en/queries.jsonl").read_text().splitlines()]
    assert {one["query_id"] for one in queries} == {row["id_qa"] for row in released}
    corpus = Path("out-ir/train-en/corpus.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(corpus) == 10
    # Pirá's own license and citation are not those of what other people wrote.
    settings = yaml.safe_load(Path("out-ir/train-en/pool.yaml").read_text(encoding="utf-8"))
    assert settings["release"] == {"title": "pira-ir-train-en", "languages": ["en"]}
    checked = cli("validate", "out-ir/train-en/pool.yaml")
    assert "error" not in checked.out.replace("0 errors", "")


def printed_on_the_page(page: str) -> list[tuple[str, str]]:
    """The commands that a page shows, with what it says they print."""
    blocks = [textwrap.dedent(block) for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", page, re.MULTILINE)]
    return [
        (found[1], found[2])
        for block in blocks
        for found in re.finditer(r"\$ quati-pool (.+)\n((?:(?!\$ ).*\n)*)", block)
    ]


def same(cli: Cli, command: str, lines: str) -> None:
    # The page leaves out where the rest is.
    assert lines.strip() == cli(*shlex.split(command)).out.partition("\n\n--full")[0].strip()


def test_the_page_shows_what_the_commands_print(
    sea: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "authoring.md").read_text(encoding="utf-8")
    of_texts, _, of_clusters = page.partition("\n## RoMQA")
    shown = printed_on_the_page(of_texts)
    assert [command.split()[1] for command, _ in shown] == ["list", "report", "derive", "release"]
    for command, lines in shown:
        if command.split()[1] == "release":
            accept_all(sea / "pool.yaml")
        same(cli, command, lines)
    path = romqa_example.written(tmp_path / "logic")
    monkeypatch.chdir(path.parent)
    shown = printed_on_the_page(of_clusters)
    assert [command.split()[1] for command, _ in shown] == ["derive", "report", "release"]
    for command, lines in shown:
        same(cli, command, lines)
        if command.split()[1] == "derive":
            romqa_example.work_on(path)


def test_answers_are_short_and_name_the_next_step(sea: Path, cli: Cli) -> None:
    for command in (["list"], ["report"], ["derive"], ["release", "--as", "jsonl", "-o", "out", "--allow-missing"]):
        lines = cli("questions", *command).out.splitlines()
        assert 0 < len(lines) <= 40
        assert all(len(line) <= 80 for line in lines), command
    full = cli("questions", "report", "--full").out
    for title in ("Evaluations", "How well people answer", "Work by person", "How often each value was given"):
        assert f"\n{title}\n" in f"\n{full}"
    for name in WRITERS:
        assert name in full
    for output_format in ("markdown", "latex", "csv"):
        for command in (["list"], ["report"], ["derive"]):
            assert cli("questions", *command, "--format", output_format).status == 0


def test_status_leads_from_the_first_text_to_the_release(
    finished: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workspace(tmp_path / "new")
    monkeypatch.chdir(path.parent)

    def following() -> str:
        return str(json.loads(cli("status", "--format", "json").out)["next"]["command"])

    assert following() == "quati-pool annotate"
    assert "nobody has begun to write questions" in cli("status").out
    texts = Path("texts.csv")
    texts.rename("away.csv")
    assert json.loads(cli("status", "--format", "json").out)["next"]["command"] == "quati-pool validate pool.yaml"
    Path("away.csv").rename(texts)
    assert not (path.parent / "labels.db").exists()
    with opened(path):
        pass
    assert "tasks of writing wait: create 3" in cli("status").out
    shutil.copytree(finished.parent, tmp_path / "sea")
    monkeypatch.chdir(tmp_path / "sea")
    command = following()
    assert command == "quati-pool questions release --as pira -o exports/pira"
    assert cli(*shlex.split(command)[1:]).status == 0
    assert json.loads(cli("status", "--format", "json").out)["next"] is None
    assert "13 of 13 questions are finished, no task waits; nothing is left to do." in cli("status").out.replace(
        "\n", " "
    )
    assert cli("status", "--full").status == 0


def test_status_leads_from_the_first_cluster_to_the_release(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = romqa_workspace(tmp_path / "logic")
    monkeypatch.chdir(path.parent)

    def following() -> str:
        return str(json.loads(cli("status", "--format", "json").out)["next"]["command"])

    assert following() == "quati-pool annotate"
    with opened(path) as session:
        everybody(session, RomqaPeople())
    assert following() == "quati-pool questions derive"
    assert "3 finished questions can be put next to others for rating" in cli("status").out.replace("\n", " ")
    said = cli("questions", "derive").out.replace("\n", " ")
    assert "3 pairs with questions of WebQs added for rating by 1 person each, of 6 finished questions; 0 were" in said
    assert "3 questions got none: WebQs has no unused question left; add some to its file." in said
    assert json.loads(cli("questions", "derive", "--format", "json").out)["there"] == 3
    assert following() == "quati-pool annotate"
    with opened(path) as session:
        everybody(session, RomqaPeople())
    # Three questions have no pair, but the other set has none left.
    command = following()
    assert command == "quati-pool questions release --as romqa -o exports/romqa"
    Path("other.tsv").rename("away.tsv")
    assert following() == "quati-pool validate pool.yaml"
    Path("away.tsv").rename("other.tsv")
    assert cli(*shlex.split(command)[1:]).status == 0
    assert json.loads(cli("status", "--format", "json").out)["next"] is None
    for command in ("list", "report", "derive"):
        lines = cli("questions", command).out.splitlines()
        assert 0 < len(lines) <= 40
        assert all(len(line) <= 80 for line in lines), command
        for output_format in ("markdown", "latex", "csv"):
            assert cli("questions", command, "--format", output_format).status == 0
    full = cli("questions", "report", "--full").out
    for title in ("Questions that stay", "Verification", "Clusters", "Naturalness", "Work by person"):
        assert f"\n{title}\n" in f"\n{full}"


def test_agreement_is_in_the_answer_where_several_assessed(tmp_path: Path, cli: Cli) -> None:
    grades = {name: [{"sense": grade} for grade in (5, 4, 3, 1, 5)] for name in ("rui", "eva")}
    path = five(tmp_path / "sea", ("ana", "rui", "eva"), Five(grades), assessors=2)
    said = cli("questions", "report", "-c", path).out.replace("\n", " ")
    assert "Agreement of assessors (Krippendorff's α): generic question –" in said
    assert "makes sense 1.00" in said
    assert "en F1 56.2" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["questions", "report"], "no questions are written in rounds here; add, such as  authoring: {design: pira"),
        (["questions", "derive"], "no questions are written in rounds here"),
        (["questions", "release", "--as", "pira", "-o", "out"], "no questions are written in rounds here"),
    ],
)
def test_without_rounds_the_remedy_is_named(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    (tmp_path / "pool.yaml").write_text(
        "name: a\ncorpus: {path: c.jsonl}\nqueries: {path: q.tsv}\nsystems: {bm25: {retriever: bm25}}\n"
    )
    monkeypatch.chdir(tmp_path)
    done = cli(*arguments)
    assert done.status == 1
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert not (tmp_path / "labels.db").exists()


def test_faults_of_the_sources_are_found_by_validate(tmp_path: Path, cli: Cli) -> None:
    path = workspace(tmp_path / "sea")
    assert json.loads(cli("validate", path, "--format", "json").out)["files"][0]["summary"]["texts"] == 3
    with (path.parent / "texts.csv").open("a", encoding="utf-8") as file:
        file.write("A1,1,again,de novo\n")
    done = cli("validate", path)
    assert done.status == 1
    assert "texts.csv:5: doc_id 'A1' occurs again, first at" in done.out + done.err
