"""The explorer's data: each number is that of the pool, the runs, the labels, and of ``agree`` and ``evaluate``."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.agree import agree
from quati_pool.commands.annotate.annotation_pair import label_sha
from quati_pool.commands.evaluate import Settings, evaluate
from quati_pool.errors import QuatiPoolError
from quati_pool.judging.pair import Pair
from quati_pool.labels.labelers import people_version
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.records import State
from quati_pool.reporting.explorer.writing import export_explorer
from quati_pool.reporting.json_data import agree as agree_data
from quati_pool.reporting.json_data import evaluate as evaluate_data
from quati_pool.reporting.page import report
from quati_pool.store.database import Store
from quati_pool.store.records import Entry, Label
from tests.reporting.explorer.parts import collection, grades, part, query

pytestmark = pytest.mark.slow

FEW = Settings(draws=50)


@pytest.fixture(scope="module")
def demo(finished_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(finished_demo, tmp_path_factory.mktemp("explorer") / "demo"))


@pytest.fixture(scope="module")
def explorer(demo: Path) -> Path:
    return export_explorer(demo / "pool.yaml", Listener(), settings=FEW).parent


@pytest.fixture(scope="module")
def pool(demo: Path) -> list[dict[str, Any]]:
    with gzip.open(demo / "pool.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def by_query(pool: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found = defaultdict(list)
    for pair in pool:
        found[pair["query_id"]].append(pair)
    return dict(found)


def test_pairs_and_texts_are_those_of_the_pool(explorer: Path, pool: list[dict[str, Any]]) -> None:
    found = collection(explorer)
    assert [one["id"] for one in found["queries"]] == [*by_query(pool)]
    assert found["first"] == [
        *[next(n for n, pair in enumerate(pool) if pair["query_id"] == query_id) for query_id in by_query(pool)],
        len(pool),
    ]
    for number, (query_id, pairs) in enumerate(by_query(pool).items()):
        written = query(explorer, number)
        assert found["queries"][number]["text"] == pairs[0]["query"], query_id
        assert written["docs"][: len(pairs)] == [pair["doc_id"] for pair in pairs]
        assert written["texts"] == [pair["text"] for pair in pairs]


def test_a_pair_is_of_one_system_alone_if_no_other_returned_it_within_its_depth(
    explorer: Path, pool: list[dict[str, Any]]
) -> None:
    found = collection(explorer)
    depths = {one["name"]: one["depth"] for one in found["systems"]}
    names = [*depths]
    for pair, alone in zip(pool, found["alone"], strict=True):
        fed = [run_tag for run_tag, rank in pair["runs"].items() if rank <= depths[run_tag]]
        assert alone == (names.index(fed[0]) if len(fed) == 1 else -1)
    assert len({*found["alone"]}) > 2


def test_rankings_are_those_of_the_runs(demo: Path, explorer: Path) -> None:
    found = collection(explorer)
    ids = [one["id"] for one in found["queries"]]
    parts = [query(explorer, number) for number in range(len(ids))]
    for column, one in enumerate(found["systems"]):
        ranked: dict[str, list[str]] = defaultdict(list)
        with gzip.open(demo / "runs" / f"{one['name']}.trec.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                query_id, _, doc_id, rank, _, _ = line.split()
                ranked[query_id].append(doc_id)
                assert len(ranked[query_id]) == int(rank)
        for query_id, written in zip(ids, parts, strict=True):
            shown = [written["docs"][doc] for doc in written["rankings"][column]]
            assert shown == ranked[query_id][: found["depth"]]


def test_grades_are_those_of_the_qrels(demo: Path, explorer: Path, pool: list[dict[str, Any]]) -> None:
    gold = {}
    for line in (demo / "labels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query_id, doc_id, grade, *_ = line.split("\t")
        gold[query_id, doc_id] = int(grade)
    expected = [gold.get((pair["query_id"], pair["doc_id"]), "-") for pair in pool]
    assert grades(collection(explorer), "sample-gold") == expected
    assert {*expected} >= {0, 1, 2, 3}


def test_boards_scores_and_coefficients_are_those_of_evaluate_and_agree(demo: Path, explorer: Path) -> None:
    found = collection(explorer)
    evaluated = evaluate_data.as_data(evaluate(demo / "pool.yaml", settings=FEW), per_query=True)
    ids, systems = [one["id"] for one in found["queries"]], [one["name"] for one in found["systems"]]
    names = [one["name"] for one in found["labelers"]]
    assert names[found["main"]] == evaluated["qrels"][0]["name"] == "sample-gold"
    for condition in evaluated["qrels"]:
        labeler = names.index(condition["name"])
        board = found["boards"][labeler]
        assert [systems[row["system"]] for row in board["rows"]] == [run["run_tag"] for run in condition["runs"]]
        assert board["queries"] == condition["queries"]
        for row, run in zip(board["rows"], condition["runs"], strict=True):
            assert row["rank"] == run["rank"]
            assert row["letters"] == list(run["group"])
            assert row["unjudged"] == pytest.approx(run["unjudged"]["10"]["share"], abs=1e-6)
            for name, ends in zip(found["measures"], row["means"], strict=True):
                mean = run["measures"][name]
                assert ends == pytest.approx([mean["mean"], mean["low"], mean["high"]], abs=1e-6)
            for number, name in enumerate(found["measures"]):
                same, measure, values = part(explorer, f"scores-{labeler}-{number}")
                assert (same, measure) == (labeler, number)
                theirs = dict(zip(ids, values[row["system"]], strict=True))
                known = run["per_query"][name]
                there = {one: value for one, value in theirs.items() if value is not None}
                assert there == pytest.approx(known, abs=1e-6)
    agreed = agree_data.as_data(agree(demo / "pool.yaml", draws=50))
    for one, pair in zip(found["agreement"], agreed["pairs"], strict=True):
        assert (names[one["a"]], names[one["b"]], one["n"]) == (pair["a"], pair["b"], pair["n"])
        assert not one["weighted"]
        shown = [one[name] for name in ("kappa", "quadratic", "same", "difference", "low", "high")]
        known = [pair[name] for name in ("kappa", "kappa_quadratic", "agreement", "difference")]
        assert shown == pytest.approx([*known, *pair["intervals"]["kappa"]], abs=1e-6)


def test_a_labels_reason_note_and_state_are_in_its_querys_part(
    finished_demo: Path, tmp_path: Path, pool: list[dict[str, Any]]
) -> None:
    folder = Path(shutil.copytree(finished_demo, tmp_path / "demo"))
    config = load_config(folder / "pool.yaml")
    first, second = pool[0], pool[1]
    with Store.open(config.labels.url, config.folder) as store:
        for pair, state, grade, extra in (
            (first, State.ok, 2, {}),
            (second, State.unsure, None, {"reason": "broken_text"}),
        ):
            shown = Pair(pair["query_id"], pair["doc_id"], pair["query"], pair["text"], None)
            store.append(
                [
                    Entry(
                        label=Label(
                            collection=config.name,
                            labeler_id="ana",
                            kind="assessor",
                            version=people_version(config),
                            query_id=pair["query_id"],
                            doc_id=pair["doc_id"],
                            content_sha=label_sha(shown),
                            status=state,
                            relevance=grade,
                            rationale=f"a note on {pair['doc_id']} \ud800",
                            extra=extra,
                        )
                    )
                ]
            )
    explorer = export_explorer(folder / "pool.yaml", Listener(), settings=FEW).parent
    found = collection(explorer)
    ana = [one["name"] for one in found["labelers"]].index("ana")
    assert found["labelers"][ana] == {"name": "ana", "kind": "person", "members": []}
    assert grades(found, "ana")[:3] == [2, "!", "-"]
    written = query(explorer, 0)
    theirs = {place: detail for place, labeler, detail in written["details"] if labeler == ana}
    assert theirs[0]["note"].startswith(f"a note on {first['doc_id']}")
    assert theirs[1]["state"] == "unsure"
    assert theirs[1]["why"] == "broken_text"
    assert "note" not in theirs.get(2, {})


def test_withheld_texts_are_in_no_file(finished_demo: Path, tmp_path: Path, pool: list[dict[str, Any]]) -> None:
    folder = Path(shutil.copytree(finished_demo, tmp_path / "demo"))
    config = folder / "pool.yaml"
    explorer = export_explorer(config, Listener(), settings=FEW).parent
    assert any("reason" in detail for _, _, detail in query(explorer, 0)["details"])
    config.write_text(config.read_text(encoding="utf-8").replace("release:\n", "release:\n  texts: false\n"))
    report(config, Listener(), FEW, output=tmp_path / "out")
    for folder_ in (export_explorer(config, Listener(), settings=FEW).parent, tmp_path / "out" / "explore"):
        assert collection(folder_)["texts"] is False
        written = b"".join(file.read_bytes() for file in sorted(folder_.glob("data/*.js"))).decode()
        assert pool[0]["doc_id"] in written
        assert not [pair["doc_id"] for pair in pool if json.dumps(pair["text"], ensure_ascii=False)[1:60] in written]
        assert '"reason"' not in written
        assert '"note"' not in written


def test_only_the_named_labelers_are_exported_the_first_as_the_main_one(demo: Path, tmp_path: Path) -> None:
    found = collection(export_explorer(demo / "pool.yaml", Listener(), ["lexical"], tmp_path / "out", FEW).parent)
    assert [one["name"] for one in found["labelers"]] == ["lexical"]
    assert found["main"] == 0
    assert found["agreement"] == []


def test_an_explorer_is_written_once_and_nothing_else_is_replaced(demo: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    page = export_explorer(demo / "pool.yaml", Listener(), output=out, settings=FEW)
    assert page.is_file()
    before = page.stat().st_mtime_ns
    assert export_explorer(demo / "pool.yaml", Listener(), output=out, settings=FEW).stat().st_mtime_ns == before
    (out / "data" / "query-0.js").unlink()
    export_explorer(demo / "pool.yaml", Listener(), output=out, settings=FEW)
    assert query(out, 0)["docs"]
    (out / "CNAME").write_text("example.org")
    with pytest.raises(QuatiPoolError, match="CNAME in it was not written with it"):
        export_explorer(demo / "pool.yaml", Listener(), output=out, settings=FEW)
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    with pytest.raises(QuatiPoolError, match="holds something else"):
        export_explorer(demo / "pool.yaml", Listener(), output=other, settings=FEW)
    assert (other / "thesis.txt").read_text() == "years of work"
