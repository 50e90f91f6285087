"""Second labels, given after seeing a judge's grade: agree reads them only where it is asked to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from quati_pool.commands.agree import agree
from quati_pool.errors import QuatiPoolError
from quati_pool.labels.gathered import LabelFiles
from quati_pool.labels.labelers import people_version
from quati_pool.project.config import LabelFileConfig, load_config
from quati_pool.records import State
from quati_pool.reporting.json_data.agree import as_data
from quati_pool.reporting.tables.agree import tables
from quati_pool.store.database import Store
from quati_pool.store.records import Entry, Kind, Label, Phase, content_sha
from tests.cli.conftest import Cli, cli
from tests.commands.judged import many, workspace

__all__ = ["cli"]

PAIRS = many(1, 4)
NOW = "the annotation's version"


def told(
    place: int,
    relevance: int | None,
    labeler_id: str = "ana",
    phase: Phase = "blind",
    status: State | None = None,
    kind: Kind = "assessor",
) -> Entry:
    row = PAIRS[place]
    return Entry(
        label=Label(
            collection="test",
            labeler_id=labeler_id,
            kind=kind,
            version=NOW if kind == "assessor" else "of the judge",
            query_id=row["query_id"],
            doc_id=row["doc_id"],
            content_sha=content_sha(row["query"], row["text"]),
            status=status or (State.ok if relevance is not None else State.unsure),
            relevance=relevance,
            phase=phase,
        )
    )


def stored(folder: Path, entries: Sequence[Entry]) -> Path:
    config = workspace(folder, PAIRS, {})
    version = people_version(load_config(config))
    with Store.open(None, folder) as store:
        store.append(
            [one if one.label.version != NOW else Entry(label=replace(one.label, version=version)) for one in entries]
        )
    return config


BLIND = [
    *[told(place, grade) for place, grade in enumerate([0, 1, 1, 2])],
    *[told(place, grade, "bia") for place, grade in enumerate([0, 1, 2, 3])],
]


def test_kappa_is_of_the_blind_labels_and_of_the_second_ones_where_asked(tmp_path: Path) -> None:
    config = stored(tmp_path, [*BLIND, told(2, 2, phase="revealed")])
    # ana 0112, bia 0123: equal in 2 of 4; by chance (1·1 + 2·1 + 1·1 + 0·1) / 16 = 1/4; κ = (1/2 - 1/4) / (3/4)
    blind = agree(config, draws=0)
    assert blind.pairs[0].values["kappa"] == pytest.approx(1 / 3)
    # ana 0122, bia 0123: equal in 3 of 4; by chance (1 + 1 + 2 + 0) / 16 = 1/4; κ = (3/4 - 1/4) / (3/4)
    second = agree(config, draws=0, revealed=True)
    assert second.pairs[0].values["kappa"] == pytest.approx(2 / 3)


def test_json_and_table_say_whose_second_labels_count(tmp_path: Path) -> None:
    config = stored(tmp_path, [*BLIND, told(2, 2, phase="revealed"), told(3, 3, phase="revealed")])

    def counted(revealed: bool) -> Mapping[str, int]:
        data = as_data(agree(config, draws=0, revealed=revealed))
        assert data["revealed"] is revealed
        return {source["labeler"]: source["revealed"] for source in data["sources"]}

    assert counted(True) == {"ana": 2, "bia": 0}
    assert counted(False) == {"ana": 0, "bia": 0}
    assert "count where there are any: ana 2." in tables(agree(config, draws=0, revealed=True))[0].note
    assert "Second" not in tables(agree(config, draws=0))[0].note


@pytest.mark.parametrize(
    ("events", "grade", "seconds", "lacking"),
    [
        ([told(0, 0), told(0, 3, phase="revealed")], 3, 1, {}),
        # Taken back: the first stands, as it was never changed.
        ([told(0, 0), told(0, 3, phase="revealed"), told(0, None, phase="revealed", status=State.retracted)], 0, 0, {}),
        ([told(0, 0), told(0, None, phase="revealed", status=State.skipped)], 0, 0, {}),
        # On second sight the person cannot judge it: no grade, and said so.
        ([told(0, 0), told(0, None, phase="revealed")], None, 0, {"unsure": 1}),
        # The first was taken back and given again after the second: that is the label now.
        ([told(0, 0), told(0, 3, phase="revealed"), told(0, None, status=State.retracted), told(0, 1)], 1, 0, {}),
        # A judge is shown nobody's grade; what claims to be its second label is not read.
        ([told(0, 0, kind="judge"), told(0, 3, kind="judge", phase="revealed")], 0, 0, {}),
    ],
)
def test_which_of_two_labels_counts(
    tmp_path: Path, events: list[Entry], grade: int | None, seconds: int, lacking: Mapping[str, int]
) -> None:
    others = [told(1, 2, kind=events[0].label.kind), told(0, 1, "bia"), told(1, 2, "bia")]
    config = stored(tmp_path, [*events, *others])
    report = agree(config, ["ana", "bia"], draws=0, revealed=True)
    ana = report.gathered.sources[0]
    docs = ana.qrels.docs.decode(ana.qrels.doc).to_pylist()
    found = dict(zip(docs, ana.qrels.relevance.tolist(), strict=True))
    assert found.get("d0000") == grade
    assert ana.revealed == seconds
    assert {state: n for state, n in ana.lacking.items() if state not in ("never asked", "not given")} == lacking


def test_a_second_label_of_an_older_version_is_history(tmp_path: Path) -> None:
    older = Entry(label=replace(told(2, 2, phase="revealed").label, version="older"))
    config = stored(tmp_path, [older, *BLIND])
    assert agree(config, draws=0, revealed=True).pairs[0].values["kappa"] == pytest.approx(1 / 3)


def test_files_alone_have_no_second_labels(tmp_path: Path) -> None:
    files = LabelFiles({name: LabelFileConfig(path=f"{name}.qrels") for name in ("ana", "bia")})
    with pytest.raises(QuatiPoolError, match="only files are named; name labelers too"):
        agree(tmp_path / "pool.yaml", files=files, revealed=True)


def test_the_command_has_the_option(tmp_path: Path, cli: Cli) -> None:
    config = stored(tmp_path, [*BLIND, told(2, 2, phase="revealed")])
    done = cli("agree", "-c", config, "--draws", 0, "--format", "json", "--revealed", "-o", tmp_path / "out")
    data = json.loads(done.out)
    assert done.status == 0
    assert data["revealed"] is True
    assert data["pairs"][0]["kappa"] == pytest.approx(2 / 3)
