"""``questions constraints`` writes a draw once, and leaves a whole one or none, however it ends."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from quati_pool.annotation.authoring.constraints import ClusterSettings
from quati_pool.commands.annotate.authoring.cluster_folder import CLUSTERS, ENTITIES, read_clusters, read_names
from quati_pool.commands.annotate.authoring.constraints import draw_constraints
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.artifacts import sidecar
from quati_pool.files.triples import EntityText
from tests.annotation.authoring.made_graphs import planted

SETTINGS = ClusterSettings()


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "triples.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in planted(4_000, plants=30)))
    return path


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def started(graph: Path, folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "quati_pool", "questions", "constraints", str(graph), "-o", str(folder)]
    return subprocess.Popen([*command, "--format", "json", *options], stdout=subprocess.PIPE, text=True)


def left_over(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.parent.iterdir() if folder.name in file.name)


def test_the_same_again_changes_nothing_and_says_the_same(graph: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "clusters"
    first = draw_constraints([graph], [], folder, SETTINGS)
    assert first.made
    assert first.clusters > 5
    assert left_over(folder) == ["clusters", "clusters.meta.json"]
    before, meta = content(folder), sidecar(folder).read_bytes()
    # Neither a file's name nor the order of files matters.
    other = graph.rename(tmp_path / "renamed.tsv")
    assert draw_constraints([other], [], folder, SETTINGS) == replace(first, made=False)
    assert (content(folder), sidecar(folder).read_bytes()) == (before, meta)
    # Without a text there is no file of them.
    assert set(before) == {CLUSTERS}
    assert first.unnamed == first.ids > 0
    assert read_names(folder, {"P1"}) == {}


def test_the_order_of_rows_and_files_gives_the_same_clusters(graph: Path, tmp_path: Path) -> None:
    rows = graph.read_text().splitlines(keepends=True)
    parts = [tmp_path / "b.tsv", tmp_path / "a.tsv"]
    parts[0].write_text("".join(rows[:1_000:-1]))
    parts[1].write_text("".join(rows[:1_001]))
    draw_constraints([graph], [], tmp_path / "one", SETTINGS)
    draw_constraints(parts, [], tmp_path / "two", SETTINGS)
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_fewer_clusters_are_the_first_of_more(graph: Path, tmp_path: Path) -> None:
    all_of_them = draw_constraints([graph], [], tmp_path / "all", SETTINGS, None)
    few = draw_constraints([graph], [], tmp_path / "few", SETTINGS, 3)
    assert few.clusters == 3 < all_of_them.clusters
    assert few.skipped < all_of_them.skipped
    assert list(read_clusters(tmp_path / "few")) == list(read_clusters(tmp_path / "all"))[:3]


def test_clusters_with_few_questions_are_skipped(graph: Path, tmp_path: Path) -> None:
    every = draw_constraints([graph], [], tmp_path / "1", replace(SETTINGS, min_questions=1))
    usual = draw_constraints([graph], [], tmp_path / "3", SETTINGS)
    records = list(read_clusters(tmp_path / "1"))
    enough = [record for record in records if len(record["queries"]) >= 3]
    assert list(read_clusters(tmp_path / "3")) == enough
    assert (every.clusters, usual.clusters) == (len(records), len(enough))
    assert usual.skipped - every.skipped == len(records) - len(enough) > 0
    # Their draws are counted all the same.
    assert (usual.drawn, usual.discarded) == (every.drawn, every.discarded)


def test_a_draw_is_never_replaced_by_another(graph: Path, tmp_path: Path) -> None:
    folder = tmp_path / "clusters"
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"id": "P1", "label": "part of"}\n')
    more = tmp_path / "more.tsv"
    more.write_text("a\tb\tc\n")
    draw_constraints([graph], [texts], folder, SETTINGS)
    before = content(folder)
    assert read_names(folder, {"P1", "P2"}) == {"P1": EntityText("part of", "", ())}
    others: list[tuple[Sequence[Path], Sequence[Path], ClusterSettings, int | None, str]] = [
        ([graph, more], [texts], SETTINGS, 1_000, "triples changed"),
        ([graph], [], SETTINGS, 1_000, "texts changed"),
        ([graph], [texts], replace(SETTINGS, seed=4), 1_000, "seed was 0, is 4"),
        ([graph], [texts], SETTINGS, None, "clusters was 1000, is 0"),
    ]
    for triples, named, settings, most, why in others:
        with pytest.raises(QuatiPoolError, match=rf"holds another draw \({why}\).*; name another folder with -o"):
            draw_constraints(triples, named, folder, settings, most)
    assert content(folder) == before


def test_a_draw_that_lost_its_sidecar_is_not_replaced_by_another(graph: Path, tmp_path: Path) -> None:
    folder, texts = tmp_path / "clusters", tmp_path / "texts.jsonl"
    texts.write_text('{"id": "P1", "label": "part of"}\n')
    draw_constraints([graph], [], folder, SETTINGS)
    sidecar(folder).unlink()
    before = content(folder)
    for named, settings in (([], replace(SETTINGS, seed=4)), ([texts], SETTINGS)):
        with pytest.raises(QuatiPoolError, match=r"holds another draw, without clusters\.meta\.json.*; name another"):
            draw_constraints([graph], named, folder, settings)
        assert content(folder) == before
        assert left_over(folder) == ["clusters"]
    assert draw_constraints([graph], [], folder, SETTINGS).made
    assert content(folder) == before


def test_folders_of_others_stay_as_they_are(graph: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    assert draw_constraints([graph], [], folder, SETTINGS).made
    (folder / CLUSTERS).write_bytes(b"")
    with pytest.raises(QuatiPoolError, match="holds a draw that was changed since it was written; restore it, or name"):
        draw_constraints([graph], [], folder, SETTINGS)
    (folder / "notes.txt").write_text("mine")
    for _ in range(2):
        with pytest.raises(QuatiPoolError, match="is not empty and holds no clusters alone; name another folder"):
            draw_constraints([graph], [], folder, SETTINGS)
        sidecar(folder).unlink(missing_ok=True)
    assert set(content(folder)) == {CLUSTERS, "notes.txt"}
    with pytest.raises(QuatiPoolError, match="is a file; name a folder with -o"):
        draw_constraints([graph], [], graph, SETTINGS)
    with pytest.raises(QuatiPoolError, match="cannot be replaced; name a separate folder"):
        draw_constraints([graph], [], Path(), SETTINGS)


def test_nothing_is_written_where_there_is_nothing_to_write(graph: Path, tmp_path: Path) -> None:
    folder = tmp_path / "clusters"
    one = tmp_path / "one.tsv"
    one.write_text("a\tp\tb\n")
    with pytest.raises(QuatiPoolError, match="1 triple: no 3 constraints share 2 answers; lower --min-constraints or"):
        draw_constraints([one], [], folder, SETTINGS)
    with pytest.raises(QuatiPoolError, match=r"no cluster of \d+ gives 3 different questions; raise --max-answers"):
        draw_constraints([graph], [], folder, replace(SETTINGS, negate=0.0, max_answers=1))
    with pytest.raises(ConfigError, match="--min-questions 3: each cluster has 2 draws; raise --draws"):
        draw_constraints([graph], [], folder, replace(SETTINGS, draws=2))
    twice = tmp_path / "twice.jsonl"
    twice.write_text('{"id": "P1", "label": "a"}\n{"id": "P1", "label": "b"}\n')
    with pytest.raises(InputError, match=r"twice\.jsonl:2: id 'P1' has a text already"):
        draw_constraints([graph], [twice], folder, SETTINGS)
    assert left_over(folder) == []


def test_what_a_killed_process_left_is_written_again(graph: Path, tmp_path: Path) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "clusters"
    draw_constraints([graph], [], whole, SETTINGS)
    # Killed while it wrote.
    (tmp_path / ".partial-clusters").mkdir()
    (tmp_path / ".partial-clusters" / ENTITIES).write_bytes(b"part")
    assert draw_constraints([graph], [], folder, SETTINGS).made
    assert content(folder) == content(whole)
    # Killed before the sidecar: nobody could read the folder.
    sidecar(folder).unlink()
    with pytest.raises(QuatiPoolError, match="was not finished"):
        read_clusters(folder)
    assert draw_constraints([graph], [], folder, SETTINGS).made
    assert content(folder) == content(whole)
    assert left_over(folder) == ["clusters", "clusters.meta.json"]


@pytest.mark.kill
def test_killed_at_any_moment_it_goes_on(tmp_path: Path) -> None:
    graph = tmp_path / "triples.tsv"
    graph.write_text("".join("\t".join(row) + "\n" for row in planted(20_000)))
    whole = tmp_path / "whole"
    draw_constraints([graph], [], whole, SETTINGS)
    for moment in (".{}.lock", ".partial-{}", f".partial-{{}}/{CLUSTERS}"):
        folder = tmp_path / f"at{len(moment)}"
        seen = tmp_path / moment.format(folder.name)
        process = started(graph, folder)
        while not seen.exists() and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        killed = process.wait() == -signal.SIGKILL
        process.communicate()
        # The last moment is short; the others are long before the end.
        assert killed or CLUSTERS in moment
        unfinished = not sidecar(folder).exists()
        assert unfinished or CLUSTERS in moment
        assert json.loads(started(graph, folder).communicate()[0])["made"] == unfinished
        assert content(folder) == content(whole)
        assert left_over(folder) == [folder.name, f"{folder.name}.meta.json"]


@pytest.mark.slow
def test_of_two_processes_at_once_one_writes(graph: Path, tmp_path: Path) -> None:
    folder = tmp_path / "clusters"
    both = [started(graph, folder) for _ in range(2)]
    said = [json.loads(process.communicate()[0]) for process in both]
    assert sorted(one.pop("made") for one in said) == [False, True]
    assert said[0] == said[1]
    assert left_over(folder) == ["clusters", "clusters.meta.json"]


def test_ids_and_texts_are_data(tmp_path: Path) -> None:
    hostile = ["<script>alert(1)</script>", '"},{"', "$(reboot)", "日本", "e\u0301"]
    rows = [(x, prop, "h") for prop in hostile[:3] for x in hostile]
    rows += [(f"only{place}.{n}", prop, "h") for place, prop in enumerate(hostile[:3]) for n in range(2)]
    graph, texts = tmp_path / "t.jsonl.gz", tmp_path / "x.jsonl"
    with gzip.open(graph, "wt", encoding="utf-8") as stream:
        for row in rows:
            stream.write(json.dumps(dict(zip(("subject", "property", "object"), row, strict=True))) + "\n")
    texts.write_text("".join(json.dumps({"id": x, "label": x * 2}) + "\n" for x in hostile), encoding="utf-8")
    found = draw_constraints([graph], [texts], tmp_path / "c", replace(SETTINGS, min_questions=1))
    names = read_names(tmp_path / "c", hostile)
    assert {x: text.label for x, text in names.items()} == {x: x * 2 for x in hostile}
    (record,) = read_clusters(tmp_path / "c")
    assert {c["property"] for c in record["constraints"]} == set(hostile[:3])
    assert found.questions == len(record["queries"])
