"""The list of steps as phases, and what their keys hold: all that changes what a phase leaves, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.commands.prepare.pipeline_plan import Phase, phases, pipeline
from quati_pool.preparation.config import load_prepare_config

CONFIG = """\
name: some
seed: 1
steps:
  - read: {path: pages.jsonl}
  - url: {drop_tlds: [pt], drop_domains_file: bad.txt}
  - segment
  - quality: {stop_words_file: words.txt, min_stop_words: 1}
  - duplicates
  - write: {to: all}
  - line-breaks
  - sample: {n: 5}
  - write: {to: some}
"""


def made(folder: Path, config: str = CONFIG, shards: tuple[str, ...] = ("a", "b")) -> list[Phase]:
    folder.mkdir(exist_ok=True)
    for name, content in (("bad.txt", "x.com\n"), ("words.txt", "de\nque\n")):
        if not (folder / name).exists():
            (folder / name).write_text(content)
    (folder / "prepare.yaml").write_text(config)
    return phases(pipeline(load_prepare_config(folder / "prepare.yaml")), shards)


def redone(before: list[Phase], after: list[Phase]) -> list[int]:
    """The phases whose work cannot be used again."""
    return [phase.number for phase in after if phase.name not in {each.name for each in before}]


def test_a_phase_ends_where_rows_are_compared_or_written(tmp_path: Path) -> None:
    found = made(tmp_path)
    assert [([link.label for link in phase.links], phase.end.label) for phase in found] == [
        (["read", "url", "segment", "quality"], "repeated-ids"),
        ([], "duplicates"),
        ([], "write"),
        (["line-breaks"], "sample"),
        ([], "write-2"),
    ]
    assert [link.unit for link in (*found[0].links, found[0].end)] == ["pages"] * 3 + ["passages"] * 2
    # Only what cuts, or learns something of its rows, needs to store them again.
    assert [phase.rewrites for phase in found] == [True, False, False, False, False]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("name: some", "name: other", []),
        ("to: all", "to: elsewhere, format: parquet, rows: 7", []),
        ("  - duplicates\n", "  - duplicates: {scope: all}\n", []),
        ("drop_tlds: [pt]", "drop_tlds: [pt, br]", [0, 1, 2, 3, 4]),
        ("  - segment\n", "  - segment: {characters: 900}\n", [0, 1, 2, 3, 4]),
        ("  - duplicates\n", "  - duplicates: {scope: page}\n", [1, 2, 3, 4]),
        ("  - line-breaks\n", "  - line-breaks: {share: 0.1}\n", [3, 4]),
        # The phase that looks at the sample's ids, and what the sample leaves.
        ("n: 5", "n: 6", [3, 4]),
        ("seed: 1", "seed: 2", [3, 4]),
        ("  - duplicates\n", "", [1, 2, 3]),
    ],
)
def test_a_change_redoes_what_it_must_and_no_more(tmp_path: Path, old: str, new: str, expected: list[int]) -> None:
    before = made(tmp_path)
    assert CONFIG.count(old) == 1
    assert redone(before, made(tmp_path, CONFIG.replace(old, new))) == expected


@pytest.mark.parametrize(("name", "content"), [("bad.txt", "y.com\n"), ("words.txt", "de\npara\n")])
def test_a_changed_list_redoes_the_step_that_reads_it(tmp_path: Path, name: str, content: str) -> None:
    before = made(tmp_path)
    (tmp_path / name).write_text(content)
    assert redone(before, made(tmp_path)) == [0, 1, 2, 3, 4]


def test_a_moved_folder_keeps_its_work(tmp_path: Path) -> None:
    assert redone(made(tmp_path / "here"), made(tmp_path / "there")) == []


def test_a_further_shard_leaves_the_first_phase_of_the_others(tmp_path: Path) -> None:
    assert redone(made(tmp_path), made(tmp_path, shards=("a", "b", "c"))) == [1, 2, 3, 4]
