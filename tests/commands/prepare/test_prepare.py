"""The whole of ``quati-pool prepare``: what it drops, what it writes, and that nothing depends on how it ran."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quati_pool.commands.prepare.prepare import Funnel, prepare
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.artifacts import write_file
from quati_pool.files.corpus import expand_paths, read_passages
from quati_pool.preparation.base import Drops
from quati_pool.preparation.reading import sharding
from quati_pool.preparation.steps.duplicates import Duplicates
from quati_pool.processes.base import Engine
from quati_pool.processes.opening import open_engine
from quati_pool.project.events import Listener
from quati_pool.reporting.figures.prepare import write
from quati_pool.reporting.json_data.prepare import as_data
from quati_pool.reporting.tables import prepare as prepare_tables
from tests.commands.prepare.planted import Planted, make_pile, write_pile
from tests.serial_engine import SerialEngine

LINES, PLANTED = make_pile()


class Heard(Listener):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def outcome(folder: Path) -> dict[str, str]:
    """The hashes of all that a preparation gives, unpacked, without sidecars."""
    found = {}
    for place in ("all", "half", "corpus", "reports"):
        for path in sorted((folder / place).glob("*")):
            if path.name.startswith(".") or path.name.endswith(".meta.json"):
                continue
            data = path.read_bytes()
            found[f"{place}/{path.name}"] = hashlib.sha256(
                gzip.decompress(data) if path.suffix == ".gz" else data
            ).hexdigest()
    return found


def run(config: Path, engine: Engine | None = None) -> Funnel:
    result = prepare(config, lambda: engine or SerialEngine(), Listener())
    write(result, Listener())
    return result


def made(config: Path, engine: Engine | None = None) -> Funnel:
    """The same without reports, whose pictures take longer than few pages."""
    return prepare(config, lambda: engine or SerialEngine(), Listener())


def dropped(result: Funnel) -> dict[str, dict[str, int]]:
    return {
        link.label: dict(count.dropped)
        for link, count in zip(result.links, result.counts, strict=True)
        if count.dropped
    }


def expected(planted: Planted) -> dict[str, dict[str, int]]:
    found = {step: {reason: len(ids) for reason, ids in reasons.items()} for step, reasons in planted.drops.items()}
    return {"read": dict(planted.unreadable), **found}


def written(folder: Path) -> dict[str, str]:
    return {
        doc_id: content
        for batch in read_passages(expand_paths(folder, "*"))
        for doc_id, content in zip(batch.doc_ids, batch.texts, strict=True)
    }


def at(folder: Path, place: str) -> str:
    """The doc_id of the page at ``file:line``."""
    name, _, line = place.rpartition(":")
    data = (folder / name).read_bytes()
    lines = (gzip.decompress(data) if name.endswith(".gz") else data).split(b"\n")
    doc_id: str = json.loads(lines[int(line) - 1])["doc_id"]
    return doc_id


@pytest.fixture(scope="module", params=["local", pytest.param("ray", marks=pytest.mark.ray)])
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Funnel]:
    folder = tmp_path_factory.mktemp(request.param)
    return folder, run(write_pile(folder, LINES), open_engine(request.param, 2))


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Funnel]:
    folder = tmp_path_factory.mktemp("serial")
    return folder, run(write_pile(folder, LINES))


@pytest.mark.slow
def test_exactly_the_planted_pages_are_dropped_each_for_its_reason(ran: tuple[Path, Funnel]) -> None:
    folder, result = ran
    found = dropped(result)
    half = found.pop("sample")
    assert found == expected(PLANTED)
    kept = written(folder / "all")
    single = {f"{doc_id}_0" for doc_id in PLANTED.kept}
    several = {doc_id for doc_id in kept if doc_id.rpartition("_")[0] in set(PLANTED.long)}
    assert set(kept) == single | several
    assert {doc_id.rpartition("_")[0] for doc_id in several} == set(PLANTED.long)
    sampled = written(folder / "half")
    assert sampled.items() <= kept.items()
    assert len(sampled) == len(kept) - half["not in the sample"]
    # A share of a half of 1,800: within five standard deviations.
    assert abs(len(sampled) - len(kept) / 2) < 5 * (len(kept) / 4) ** 0.5


@pytest.mark.slow
def test_both_engines_give_the_same_bytes_as_no_engine(ran: tuple[Path, Funnel], serial: tuple[Path, Funnel]) -> None:
    assert outcome(ran[0]) == outcome(serial[0])
    assert len(outcome(ran[0])) >= 8


def test_every_step_takes_what_the_one_before_it_left(serial: tuple[Path, Funnel]) -> None:
    _, result = serial
    for link, count, after in zip(result.links, result.counts, result.counts[1:], strict=False):
        assert after.rows_in == count.rows_out, link.label
        assert after.pages_in == count.pages_out
        assert after.characters_in == count.characters_out
        if link.label not in ("segment", "read"):
            assert count.rows_in - sum(count.dropped.values()) == count.rows_out
    assert result.counts[0].rows_in == len(LINES)


def test_examples_name_page_and_measure(serial: tuple[Path, Funnel]) -> None:
    folder, _ = serial
    tables, data = prepare_tables.explained(folder / "prepare.yaml", "quality:too-few-words")
    [found] = data.values()
    planted = PLANTED.drops["quality"]["too few words"]
    assert {example["doc_id"] for example in found["examples"]} == {f"{doc_id}_0" for doc_id in planted}
    assert all(example["measured"].endswith("at least 50") for example in found["examples"])
    assert all(example["place"].startswith("pages/") for example in found["examples"])
    assert tables[0].title == "quality: too few words (7 dropped)"


def test_what_was_kept_in_a_duplicates_place_is_recorded(serial: tuple[Path, Funnel]) -> None:
    folder, _ = serial
    with gzip.open(folder / "reports" / "prepare-planted-dropped.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    by_step: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        by_step.setdefault(line["step"], []).append(line)
    assert set(by_step) == {"repeated-ids", "duplicates", "near-duplicates"}
    for step in ("duplicates", "near-duplicates"):
        [ids] = PLANTED.drops[step].values()
        assert {line["doc_id"] for line in by_step[step]} == {f"{doc_id}_0" for doc_id in ids}
        assert all(line["kept"].removesuffix("_0") in PLANTED.kept for line in by_step[step])
    assert all(line["similarity"] >= 0.8 for line in by_step["near-duplicates"])
    for line in by_step["repeated-ids"]:
        assert line["doc_id"] == line["kept"]
        assert line["place"] != line["kept_place"]
    for line in lines:
        assert at(folder, line["place"]) == line["doc_id"].removesuffix("_0")
        assert at(folder, line["kept_place"]) == line["kept"].removesuffix("_0")


@pytest.mark.slow
def test_the_cut_in_shards_changes_nothing(
    serial: tuple[Path, Funnel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from quati_pool.preparation.reading import sharding

    monkeypatch.setattr(sharding, "BYTES", 150_000)
    engine = SerialEngine()
    run(write_pile(tmp_path, LINES), engine)
    assert len(engine.ran) > 60
    assert outcome(tmp_path) == outcome(serial[0])


def test_a_finished_preparation_is_not_done_again(serial: tuple[Path, Funnel], tmp_path: Path) -> None:
    config = write_pile(tmp_path, LINES[:300])
    first = run(config)
    before = outcome(tmp_path)
    engine = SerialEngine()
    second = run(config, engine)
    assert {type(task).__name__ for task in engine.ran} == {"WriteTask"}
    assert as_data(first) == as_data(second)
    assert outcome(tmp_path) == before


def test_another_last_step_leaves_the_first_ones_as_they_are(tmp_path: Path) -> None:
    config = write_pile(tmp_path, LINES[:300])
    made(config)
    config.write_text(config.read_text().replace("share: 0.5", "n: 20"))
    engine = SerialEngine()
    result = made(config, engine)
    # What the sample looks at, and what is left of it.
    assert {task.phase for task in engine.ran if type(task).__name__ == "ShardTask"} == {4, 5}
    assert [each.rows for each in result.written][1] == 20
    assert len(written(tmp_path / "half")) == 20


def test_a_smaller_corpus_leaves_no_file_of_the_larger_one(tmp_path: Path) -> None:
    config = write_pile(tmp_path, LINES[:300])
    config.write_text(config.read_text().replace("{to: all}", "{to: all, rows: 10}"))
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "notes.txt").write_text("mine")
    made(config)
    files = len(list((tmp_path / "all").glob("*.jsonl.gz")))
    config.write_text(config.read_text().replace("drop_tlds: [pt]", "drop_tlds: [pt, br]"))
    made(config)
    assert files > 10
    assert len(list((tmp_path / "all").glob("*.jsonl.gz"))) == 1
    assert (tmp_path / "all" / "notes.txt").read_text() == "mine"


def test_an_empty_pile_is_refused_and_one_page_is_not(tmp_path: Path) -> None:
    config = write_pile(tmp_path, [], files=1)
    with pytest.raises(InputError, match="no page could be read"):
        made(config)
    good = next(line for line in LINES if f'"doc_id": "{PLANTED.kept[0]}"'.encode() in line)
    (tmp_path / "pages" / "0.jsonl").write_bytes(good)
    made(config)
    assert list(written(tmp_path / "all")) == [f"{PLANTED.kept[0]}_0"]


def lines_of(*rows: tuple[str, str]) -> str:
    return "".join(json.dumps({"doc_id": doc_id, "text": content}) + "\n" for doc_id, content in rows)


def write_config(folder: Path, steps: str) -> Path:
    path = folder / "prepare.yaml"
    path.write_text("name: small\nsteps:\n  - read: {path: '*.jsonl'}\n" + steps)
    return path


def test_files_of_a_larger_corpus_go_also_where_their_removal_was_killed(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text(lines_of(*((f"d{number}", "text") for number in range(5))))
    made(write_config(tmp_path, "  - write: {to: all, rows: 1}\n"))
    # Of another command: a sidecar alone does not make it one of the corpus.
    write_file(tmp_path / "all" / "bm25.trec.gz", {"run": 1}, {}, lambda path: {"bytes": path.write_bytes(b"run")})
    # Killed after the file was removed and before its sidecar was.
    (tmp_path / "all" / "00003.jsonl.gz").unlink()
    made(write_config(tmp_path, "  - write: {to: all, rows: 4}\n"))
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == [
        "00000.jsonl.gz",
        "00000.jsonl.gz.meta.json",
        "00001.jsonl.gz",
        "00001.jsonl.gz.meta.json",
        "bm25.trec.gz",
        "bm25.trec.gz.meta.json",
    ]


def test_a_removal_can_be_killed_between_file_and_sidecar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pages.jsonl").write_text(lines_of(("a", "text"), ("b", "text")))
    made(write_config(tmp_path, "  - write: {to: all, rows: 1}\n"))
    config = write_config(tmp_path, "  - write: {to: all}\n")
    unlink = Path.unlink

    def killed(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        if path.name.startswith("00001"):
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            made(config)
    made(config)
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["00000.jsonl.gz", "00000.jsonl.gz.meta.json"]


class StoppedEngine(SerialEngine):
    """Ctrl-C comes when the third task is awaited."""

    def run(self, *arguments: Any, **named: Any) -> Iterator[tuple[int, Any]]:
        for done, result in enumerate(super().run(*arguments, **named)):
            if done == 2:
                raise KeyboardInterrupt
            yield result


def test_ctrl_c_notes_the_finished_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharding, "FILES", 1)
    for number in range(4):
        (tmp_path / f"{number}.jsonl").write_text(lines_of((f"d{number}", "text")))
    with pytest.raises(KeyboardInterrupt) as stopped:
        made(write_config(tmp_path, "  - write: {to: all}\n"), StoppedEngine())
    assert stopped.value.__notes__ == ["3 of 4 shards of the phase 1. read to repeated-ids"]


def test_where_nothing_is_left_the_steps_after_it_go_on(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text(lines_of(("a", "text"), ("b", "text"), ("a", "again")))
    steps = "duplicates, segment, line-breaks, near-duplicates, write: {to: none}, sample: {n: 3}, write: {to: less}"
    listed = "".join(f"  - {step}\n" for step in steps.split(", "))
    result = made(write_config(tmp_path, "  - url: {missing: drop}\n" + listed))
    assert [count.rows_out for count in result.counts] == [3] + [0] * (len(result.counts) - 1)
    assert dropped(result) == {"url": {"no URL": 3}}
    assert [(each.files, each.rows) for each in result.written] == [(1, 0), (1, 0)]
    assert gzip.decompress((tmp_path / "less" / "00000.jsonl.gz").read_bytes()) == b""
    assert as_data(result)["steps"][-1]["characters_out"] == 0


def test_all_rows_of_a_repeated_page_go_whatever_the_shards(tmp_path: Path) -> None:
    """Pages a and b come twice, each cut in a passage a line, and in shards of their own."""
    for number, doc_id in enumerate(["a", "b", "c", "b", "a", "b"]):
        content = "".join(f"{place} " + "palavra " * 12 + "\n" for place in range(number + 1))
        (tmp_path / f"{number}.jsonl").write_text(lines_of((doc_id, content)))
    steps = "  - segment: {characters: 100, tolerance: 20}\n  - write: {to: all, format: jsonl}\n"
    result = run(write_config(tmp_path, steps))
    found = [json.loads(line)["doc_id"] for line in (tmp_path / "all" / "00000.jsonl").read_text().splitlines()]
    assert found == ["a_0", "b_0", "b_1", "c_0", "c_1", "c_2"]
    with gzip.open(tmp_path / "reports" / "prepare-small-dropped.jsonl.gz", "rt") as file:
        told = [json.loads(line) for line in file]
    assert [(line["doc_id"], line["kept"], line["place"], line["kept_place"]) for line in told] == [
        *((f"b_{place}", "b_0", "3.jsonl:1", "1.jsonl:1") for place in range(4)),
        *((f"a_{place}", "a_0", "4.jsonl:1", "0.jsonl:1") for place in range(5)),
        *((f"b_{place}", "b_0", "5.jsonl:1", "1.jsonl:1") for place in range(6)),
    ]
    assert result.counts[2].dropped == {"repeated doc_id": 15}


def test_a_changed_list_counts_in_a_process_that_knew_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text(
        "".join(
            json.dumps({"doc_id": host, "text": "text", "url": f"http://{host}/"}) + "\n" for host in ("a.com", "b.com")
        )
    )
    config = write_config(tmp_path, "  - url: {drop_domains_file: bad.txt}\n  - write: {to: all}\n")
    for host, other in (("a.com", "b.com"), ("b.com", "a.com")):
        (tmp_path / "bad.txt").write_text(host)
        made(config)
        assert list(written(tmp_path / "all")) == [other]


def test_a_list_that_changes_while_it_is_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text(lines_of(("a", "text")))
    (tmp_path / "bad.txt").write_text("a.com")
    config = write_config(tmp_path, "  - url: {drop_domains_file: bad.txt}\n  - write: {to: all}\n")

    def opened() -> Engine:
        (tmp_path / "bad.txt").write_text("b.com")
        return SerialEngine()

    with pytest.raises(InputError, match="was changed meanwhile; run the command again"):
        prepare(config, opened, Listener())


def test_drops_that_cannot_be_are_told_as_the_fault_of_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pages.jsonl").write_text(lines_of(("a", "text"), ("b", "text")))
    config = write_config(tmp_path, "  - duplicates\n  - write: {to: all}\n")
    for shard, row, kept_shard, kept_row in (
        (1, 0, -1, -1),
        (0, 2, -1, -1),
        (0, -1, -1, -1),
        (0, 1, 1, 0),
        (0, 1, 0, 2),
    ):
        drops = Drops.of(*(np.array([each]) for each in (shard, row)), 1, np.array([kept_shard]), np.array([kept_row]))
        monkeypatch.setattr(Duplicates, "decide", lambda *_, drops=drops: drops)
        with pytest.raises(QuatiPoolError, match="the step duplicates returns drops that are out of order"):
            made(config)


@pytest.mark.parametrize("to", ["pages/made", "x/../pages/made"])
def test_what_a_step_writes_is_not_read(tmp_path: Path, to: str) -> None:
    config = write_pile(tmp_path, LINES[:60])
    config.write_text(config.read_text().replace("pages/*.jsonl*", "pages").replace("{to: all}", f"{{to: {to}}}"))
    prepare(config, SerialEngine, Listener())
    with pytest.raises(InputError, match=r"read would read pages/made/00000\.jsonl\.gz, which is written here"):
        prepare(config, SerialEngine, Listener())
