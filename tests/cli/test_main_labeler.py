"""The main labeler in ``export``, ``evaluate`` and ``report``, end to end on the demo."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from quati_pool.commands.evaluate import Settings, evaluate
from quati_pool.commands.export.collection import ExportedCollection, export
from quati_pool.commands.export.qrels import export_qrels
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.labels.labelers import Grading, people_definition, people_version
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.release.manifest import MANIFEST
from quati_pool.reporting.json_data.evaluate import as_data
from quati_pool.reporting.page import report
from quati_pool.reporting.tables.evaluate import board_tables
from quati_pool.store.database import Store
from quati_pool.store.records import Entry, content_sha
from tests.cli.conftest import Cli
from tests.store.samples import label

pytestmark = pytest.mark.slow

MODEL = {"model": "gpt-5", "prompt": "quati-pt", "base_url": "http://127.0.0.1:9"}
PANEL_OF_PEOPLE = {"people": "majority"}


@pytest.fixture
def demo(finished_demo: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished_demo, tmp_path / "demo", ignore=shutil.ignore_patterns("reports"))
    return tmp_path / "demo" / "pool.yaml"


def configure(path: Path, judges: Mapping[str, Any], files: Mapping[str, Any] | None = None) -> None:
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings["judges"] |= judges
    settings["labels"]["files"] = dict(files or {})
    path.write_text(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True), encoding="utf-8")


def graded(path: Path, *names: str, share: int = 1) -> None:
    """People's labels of every ``share``-th pair of the pool, each person's one grade higher than the last's."""
    config = load_config(path)
    with Store.open(None, path.parent) as store:
        pairs = [pair for chunk in Grading(config, store).pairs() for pair in chunk]
        store.register(people_version(config), "assessor", people_definition(config))
        store.append(
            [
                Entry(
                    label=label(
                        pair.query_id, pair.doc_id, collection=config.name, labeler_id=name, kind="assessor",
                        version=people_version(config), relevance=(number + at) % 4, phase="blind",
                        content_sha=content_sha(pair.query, pair.text, pair.narrative),
                    )
                )
                for at, name in enumerate(names)
                for number, pair in enumerate(pairs)
                if number % share == 0
            ]
        )  # fmt: skip


def splits(made: ExportedCollection) -> dict[str, str]:
    manifest = json.loads((made.path / MANIFEST).read_bytes())
    found: dict[str, str] = manifest["counts"]["splits"]
    return found


def test_the_split_test_of_beir_is_the_peoples(demo: Path, cli: Cli, tmp_path: Path) -> None:
    """``lexical`` is the first of pool.yaml, and was the split test for that."""
    configure(demo, {"panel": PANEL_OF_PEOPLE})
    graded(demo, "ana")
    done = cli("export", "beir", "-c", demo, "-o", tmp_path / "out")
    assert (done.status, done.out) == (0, ""), done.err
    assert "main labeler: panel (a panel of people)" in done.err.splitlines()
    assert "left out because people graded too: lexical; name all that you want with --labeler" in done.err.splitlines()
    assert {path.name for path in (tmp_path / "out" / "qrels").iterdir()} == {"test.tsv", "ana.tsv"}
    named = export(demo, "beir", Listener(), labelers=["panel", "lexical"], path=tmp_path / "named")
    assert splits(named) == {"test": "panel", "lexical": "lexical"}
    assert (named.main, named.peers_left_out) == (None, ())
    card = (
        export(demo, "bundle", Listener(), labelers=["panel", "lexical"], path=tmp_path / "bundle").path / "README.md"
    )
    assert "The main labeler is panel." in card.read_text(encoding="utf-8")


def test_a_label_file_comes_before_the_floor_judge(demo: Path) -> None:
    """The demo as it is."""
    made = export(demo, "beir", Listener())
    assert splits(made) == {"test": "sample-gold", "lexical": "lexical"}
    assert made.main is not None
    assert made.main.said == "main labeler: sample-gold (a label file)"


@pytest.mark.parametrize("form", ["beir", "hf", "bundle"])
def test_two_people_without_a_panel_are_asked_about(demo: Path, form: str, tmp_path: Path) -> None:
    configure(demo, {})
    graded(demo, "ana", "bia")
    with pytest.raises(QuatiPoolError, match=r"^ana or bia could equally be the main labeler; name one with --labeler"):
        export(demo, form, Listener(), path=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_qrels_are_the_main_labelers_where_nobody_is_named(demo: Path, cli: Cli, tmp_path: Path) -> None:
    done = cli("export", "qrels", "-c", demo, "-o", tmp_path / "q")
    assert done.err.splitlines()[0] == "main labeler: sample-gold (a label file)"
    configure(demo, {})
    made = export_qrels(demo, None, tmp_path / "lexical.qrels")
    assert made.main is not None
    assert made.main.name == "lexical"
    assert made.coverage.pairs == made.coverage.grades.total()


def test_evaluate_puts_the_main_labeler_first_and_says_so(demo: Path, cli: Cli) -> None:
    configure(demo, {"panel": PANEL_OF_PEOPLE})
    graded(demo, "ana")
    done = cli("evaluate", "-c", demo, "--draws", 0, "--format", "json", "--measures", "nDCG@10")
    assert done.status == 0, done.err
    assert "main labeler: panel (a panel of people)" in done.err.splitlines()
    data = json.loads(done.out)
    assert data["main_labeler"] == "panel"
    assert data["qrels"][0]["labeler"] == "panel"
    assert {pair["a"] for pair in data["rank_correlation"] if "panel" in (pair["a"], pair["b"])} == {"panel"}
    chosen = as_data(evaluate(demo, settings=Settings(["nDCG@10"], draws=0, labeler="lexical")))
    assert (chosen["main_labeler"], chosen["qrels"][0]["labeler"]) == ("lexical", "lexical")
    with pytest.raises(ConfigError, match=r"^--labeler lexicla: no such labeler here; did you mean 'lexical'"):
        evaluate(demo, settings=Settings(["nDCG@10"], draws=0, labeler="lexicla"))
    named = as_data(evaluate(demo, ["lexical", "panel"], settings=Settings(["nDCG@10"], draws=0)))
    assert [one["labeler"] for one in named["qrels"]] == ["lexical", "panel"]
    assert (named["main_labeler"], named["undefined"]["main_labeler"]) == (None, "the labelers were named")


def test_evaluate_asks_which_of_two_and_ranks_under_both(demo: Path, cli: Cli) -> None:
    configure(demo, {})
    graded(demo, "ana", "bia")
    done = cli("evaluate", "-c", demo, "--draws", 0, "--format", "json", "--measures", "nDCG@10")
    assert done.status == 0
    assert any(line.startswith("ana or bia could equally be the main labeler; name one with --labeler")
               for line in done.err.splitlines())  # fmt: skip
    data = json.loads(done.out)
    assert data["main_labeler"] is None
    assert data["undefined"]["main_labeler"].startswith("ana or bia could")
    assert {one["labeler"] for one in data["qrels"]} == {"lexical", "ana", "bia"}


def test_the_leaderboard_of_a_sample_says_what_it_covers(demo: Path) -> None:
    lexical = export_qrels(demo, "lexical")
    pairs = lexical.coverage.pairs
    rows = lexical.path.read_text(encoding="utf-8").splitlines(keepends=True)
    # Every second pair of the pool, and two that the pool does not hold.
    first = rows[0].split(" ")[0]
    half = [*rows[::2], f"{first} 0 far 1\n", f"{first} 0 farther 1\n"]
    (demo.parent / "half.qrels").write_text("".join(half), encoding="utf-8")
    configure(demo, {}, {"half": "half.qrels"})
    graded(demo, "ana", share=4)
    sample, inside = len(range(0, pairs, 4)), len(range(0, pairs, 2))
    found = evaluate(demo, settings=Settings(["nDCG@10"], draws=0))
    assert [board_tables(found, condition)[0].title for condition in found.conditions] == [
        f"Leaderboard under ana, over the {sample:,} of {pairs:,} pairs that ana graded",
        f"Leaderboard under half, over the {inside:,} of {pairs:,} pairs that half graded, and 2 outside the pool",
        f"Leaderboard under lexical, {pairs:,} graded pairs",
    ]
    assert [one["pool"] for one in as_data(found)["qrels"]] == [
        {"graded": sample, "pairs": pairs}, {"graded": inside, "pairs": pairs}, {"graded": pairs, "pairs": pairs},
    ]  # fmt: skip


def test_the_report_names_the_main_labeler_and_what_a_sample_covers(demo: Path) -> None:
    configure(demo, {})
    graded(demo, "ana", share=4)
    report(demo, Listener(), Settings(["nDCG@10"], draws=0))
    markdown = (demo.parent / "reports" / "report.md").read_text(encoding="utf-8").replace("\\", "")
    assert "Main labeler: ana (a person)." in markdown
    first = markdown.index("Leaderboard under")
    assert markdown[first:].startswith("Leaderboard under ana, over the ")


# ---- who gave the grades


def test_who_gave_a_labelers_grades(demo: Path) -> None:
    configure(
        demo,
        {
            "gpt": MODEL,
            "gold": {"judge": "replay", "path": "labels.tsv"},
            "mixed": {"consensus": ["gpt", "lexical"]},
            "models": {"consensus": ["gpt", "sample-gold"]},
            "panel": PANEL_OF_PEOPLE,
        },
        {"sample-gold": "labels.tsv", "nist": {"path": "labels.tsv", "person": True}},
    )
    graded(demo, "ana")
    expected = {
        "lexical": "program", "gold": "program", "gpt": "llm", "mixed": "program", "models": "llm", "panel": "people",
        "sample-gold": "file", "nist": "people", "ana": "people",
    }  # fmt: skip
    with Store.open(None, demo.parent) as store:
        grading = Grading(load_config(demo), store)
        assert {name: grading.labeler(name).grader for name in expected} == expected


def test_a_judge_of_the_store_alone_is_known_by_its_definition(demo: Path) -> None:
    """``lexical`` and a model's grades, neither of them in pool.yaml any more."""
    config = load_config(demo)
    pair = next(iter(config.judges))
    with Store.open(None, demo.parent) as store:
        store.register("m" * 64, "judge", {"judge": "llm", "model": "gpt-5"})
        store.append([Entry(label=label("q", "d", collection=config.name, labeler_id="old", version="m" * 64))])
    settings = yaml.safe_load(demo.read_text(encoding="utf-8"))
    settings["judges"] = {}
    demo.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    with Store.open(None, demo.parent) as store:
        grading = Grading(load_config(demo), store)
        assert (grading.labeler(pair).grader, grading.labeler("old").grader) == ("program", "llm")
