"""Whose grades agree and evaluate read: the store's labelers, files of pool.yaml, files by option."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.agree import agree
from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import judge
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.artifacts import file_digest
from quati_pool.labels.gathered import Gathered, LabelFiles
from quati_pool.labels.labelers import people_definition, people_version
from quati_pool.labels.sources import gather, workspace_for
from quati_pool.project.config import LabelFileConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.records import Qrels
from quati_pool.reporting.json_data.agree import as_data
from quati_pool.store.database import Store
from quati_pool.store.records import Entry, content_sha
from tests.cli.conftest import Cli, cli
from tests.commands.judged import many, repool, workspace
from tests.store.samples import label

__all__ = ["cli"]

PAIRS = many(2, 3)
JUDGES: dict[str, Any] = {
    "lexical": {"judge": "lexical", "language": "pt"},
    "gold": {"judge": "replay", "path": "gold.qrels"},
}
KEYS = [(row["query_id"], row["doc_id"]) for row in PAIRS]


def qrels_text(grades: str) -> str:
    """Qrels of the pool's pairs in order, a character a grade; ``-`` leaves the pair out."""
    return "".join(f"{q} 0 {d} {grade}\n" for (q, d), grade in zip(KEYS, grades, strict=True) if grade != "-")


def grades_of(qrels: Qrels) -> str:
    query_ids, doc_ids = qrels.queries.decode(qrels.query).to_pylist(), qrels.docs.decode(qrels.doc).to_pylist()
    found = dict(zip(zip(query_ids, doc_ids, strict=True), qrels.relevance.tolist(), strict=True))
    return "".join(str(found.get(key, "-")) for key in KEYS)


def told(gathered: Gathered) -> dict[str, tuple[str, str]]:
    return {source.name: (source.kind, grades_of(source.qrels)) for source in gathered.sources}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A workspace with a pool of six pairs, its judge ``gold`` run, and a person's file."""
    (tmp_path / "gold.qrels").write_text(qrels_text("012301"), encoding="utf-8")
    (tmp_path / "ana.qrels").write_text(qrels_text("0123-2") + "q9 0 d9 1\n", encoding="utf-8")
    files = {"ana": {"path": "ana.qrels", "person": True}}
    judges = {**JUDGES, "panel": {"consensus": ["gold", "ana"], "method": "mean"}}
    config = workspace(tmp_path, PAIRS, judges, labels={"files": files})
    judge(config, "gold", Listener(), JudgeOptions())
    return tmp_path


def read(folder: Path, *names: str, **options: Any) -> Gathered:
    return gather(load_config(folder / "pool.yaml"), names, options.pop("given", LabelFiles()), **options)


def given(folder: Path, **files: str) -> LabelFiles:
    """Label files by name, written with the grades given."""
    for name, grades in files.items():
        (folder / f"{name}.given").write_text(qrels_text(grades), encoding="utf-8")
    return LabelFiles({name: LabelFileConfig(path=str(folder / f"{name}.given")) for name in files})


def test_all_labelers_of_a_workspace_are_those_with_grades(here: Path) -> None:
    gathered = read(here)
    # Nobody ran lexical. The panel's mean rounds half up, and has no grade where a member has none.
    assert told(gathered) == {
        "ana": ("assessor", "0123-2"),
        "gold": ("judge", "012301"),
        "panel": ("consensus", "0123-2"),
    }
    assert gathered.people == ["ana"]
    assert gathered.problems == {}
    lacking = {source.name: dict(source.lacking) for source in gathered.sources}
    assert lacking == {"ana": {}, "gold": {}, "panel": {"never asked": 1}}


def test_names_choose_and_order_the_labelers(here: Path) -> None:
    assert list(told(read(here, "gold", "ana"))) == ["gold", "ana"]
    assert list(told(read(here, "panel", "gold", "panel"))) == ["panel", "gold"]


def test_files_stand_before_the_labelers_that_are_named(here: Path) -> None:
    gathered = read(here, "gold", given=given(here, bruno="111111"), people=["bruno"])
    assert told(gathered) == {"bruno": ("assessor", "111111"), "gold": ("judge", "012301")}


def test_versions_and_files_of_the_sources_are_told(here: Path) -> None:
    ana, gold, panel = read(here).sources
    assert (ana.version, ana.origin) == (file_digest(here / "ana.qrels"), Path("ana.qrels"))
    assert gold.version is not None
    assert (gold.origin, panel.version, panel.origin) == (None, None, None)


def test_a_person_in_the_store_is_read_as_one(here: Path) -> None:
    config = load_config(here / "pool.yaml")
    version = people_version(config)
    entries = [
        Entry(
            label=label(
                row["query_id"], row["doc_id"], collection="test", labeler_id="carla", kind="assessor", version=version,
                content_sha=content_sha(row["query"], row["text"]), phase="final", relevance=3,
            )
        )
        for row in PAIRS[:4]
    ]  # fmt: skip
    with Store.open(None, here) as store:
        store.register(version, "assessor", people_definition(config))
        store.append(entries)
    gathered = read(here, "carla", "gold")
    assert told(gathered)["carla"] == ("assessor", "3333--")
    assert dict(gathered.sources[0].lacking) == {"not given": 2}


def test_failures_of_a_judge_are_counted_by_state(here: Path) -> None:
    (here / "gold.qrels").write_text(qrels_text("01230-").replace(" 3\n", " 7\n"), encoding="utf-8")
    judge(here / "pool.yaml", "gold", Listener(), JudgeOptions())
    (source,) = read(here, "gold").sources
    assert grades_of(source.qrels) == "012-0-"
    assert dict(source.lacking) == {"off_scale": 1, "failed": 1}
    assert source.ungraded == 2


def test_labels_of_texts_that_changed_are_no_grades(here: Path) -> None:
    judge(here / "pool.yaml", "lexical", Listener(), JudgeOptions())
    changed = [{**row, "text": "Outro texto."} if row["doc_id"] == "d0001" else row for row in PAIRS]
    repool(here, changed)  # type: ignore[arg-type]
    (source,) = read(here, "lexical").sources
    assert [grade == "-" for grade in grades_of(source.qrels)] == [False, True, False] * 2


def test_a_judge_that_cannot_be_read_is_left_out_with_the_reason(here: Path) -> None:
    (here / "gold.qrels").unlink()
    gathered = read(here)
    assert list(told(gathered)) == ["ana"]
    assert sorted(gathered.problems) == ["gold", "panel"]
    assert gathered.problems["gold"].endswith("gold.qrels: there is no such file; check the path")
    with pytest.raises(InputError, match="there is no such file"):
        read(here, "gold")


def test_a_name_of_nobody_is_refused_with_the_nearest(here: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no labeler 'godl' in test; did you mean 'gold'\?"):
        read(here, "godl")
    with pytest.raises(ConfigError, match=r"--person anna: no such labeler here; did you mean 'ana'\?"):
        read(here, people=["anna"])


def test_a_judge_that_graded_nothing_is_refused_by_name(here: Path) -> None:
    with pytest.raises(QuatiPoolError, match="lexical has graded no pair of the pool; run: quati-pool judge lexical"):
        read(here, "lexical", "gold")


def test_a_name_of_a_file_and_of_the_workspace_is_named_once(here: Path) -> None:
    with pytest.raises(ConfigError, match="gold is given with --labels and named too; name it once"):
        read(here, "gold", given=given(here, gold="000000"))


def test_the_workspace_is_left_alone_where_files_are_given_and_nobody_named(here: Path) -> None:
    files = given(here, bruno="111111")
    assert workspace_for(here / "none.yaml", (), files) is None
    assert workspace_for(here / "pool.yaml", ("gold",), files) is not None
    assert workspace_for(here / "pool.yaml", (), LabelFiles()) is not None
    with pytest.raises(InputError):
        workspace_for(here / "none.yaml", ("gold",), files)


def test_a_grade_off_the_workspaces_scale_is_refused_with_its_line(here: Path) -> None:
    (here / "ana.qrels").write_text(qrels_text("0121-5"), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read(here)
    assert str(refused.value).endswith(
        "ana.qrels:5: ana: the grade 5 is not on the scale 0, 1, 2, 3 (off it: 5, in 1 of 5 labels); "
        "name the whole scale with --scale (grades: in pool.yaml), or say what is not a grade: --grade 5=none"
    )


def test_files_set_the_scale_where_any_grade_is_right(here: Path) -> None:
    gathered = gather(None, (), given(here, a="000005", b="000007"), any_grade=True)
    assert sorted(gathered.scale) == [0, 5, 7]
    with pytest.raises(InputError, match="not on the scale"):
        gather(None, (), given(here, a="000005", b="000007"))


def test_query_texts_get_their_ids_from_the_workspaces_queries(here: Path) -> None:
    (here / "queries.tsv").write_text("q0000\tpergunta q0000\nq0001\tpergunta q0001\n", encoding="utf-8")
    rows = "".join(f"pergunta {q}\t{d}\t1\n" for q, d in KEYS)
    (here / "bruno.tsv").write_text("query\tdoc_id\trelevance\n" + rows, encoding="utf-8")
    gathered = read(here, "gold", given=LabelFiles({"bruno": LabelFileConfig(path=str(here / "bruno.tsv"))}))
    assert told(gathered)["bruno"] == ("file", "111111")
    assert gathered.queries["q0001"] == "pergunta q0001"


def test_what_is_said_does_not_depend_on_where_the_command_is_run(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = as_data(agree(here / "pool.yaml", draws=20))
    monkeypatch.chdir(here)
    assert as_data(agree(Path("pool.yaml"), draws=20)) == outside


# ---- by command


@pytest.fixture
def inside(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(here)
    return here


def test_agree_in_a_workspace_writes_its_reports(inside: Path, cli: Cli) -> None:
    done = cli("agree", "--format", "json", "--draws", "20")
    assert done.status == 0, done.err
    data = json.loads(done.out)
    assert data["labelers"] == ["ana", "gold", "panel"]
    # ana 0123-2 and gold 012301; q9 d9 is in no pool, but it is ana's all the same.
    assert data["pairs"][0]["confusion"] == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]]
    assert data["sources"][0]["unmatched"] == [["q9", "d9"]]
    assert data["sources"][2]["without_grade"] == {"never asked": 1}
    assert (inside / "reports" / "agreement.json").read_text(encoding="utf-8") == done.out


def test_agree_by_names_and_files_at_once(inside: Path, cli: Cli) -> None:
    given(inside, bruno="111111")
    arguments = ("agree", "gold", "--labels", "bruno=bruno.given", "--person", "bruno", "-o", "out", "--draws", "0")
    done = cli(*arguments, "--format", "json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["labelers"] == ["gold", "bruno"]
    assert not (inside / "reports").exists()
    assert (inside / "out" / "agreement.json").exists()


def test_agree_says_who_is_left_out(inside: Path, cli: Cli) -> None:
    (inside / "gold.qrels").unlink()
    missing = "gold.qrels: there is no such file; check the path"
    done = cli("agree")
    assert done.status == 1
    assert done.err == (
        f"quati-pool: only ana has grades (gold is left out: {missing}; panel is left out: {missing}); "
        "agreement needs two labelers: run another judge, or name files with --labels FILE\n"
    )
    given(inside, bruno="111111")
    text = (inside / "pool.yaml").read_text(encoding="utf-8").replace("files:", "files:\n    bruno: bruno.given")
    (inside / "pool.yaml").write_text(text, encoding="utf-8")
    done = cli("agree", "--draws", "0")
    assert done.status == 0
    assert f"gold is left out: {missing}\n" in done.err


def test_labels_and_export_know_the_labelers_of_files(inside: Path, cli: Cli) -> None:
    standings = {row["labeler"]: row for row in json.loads(cli("labels", "--format", "json").out)["labelers"]}
    assert (standings["ana"]["states"], standings["ana"]["unasked"]) == ({"ok": 5}, 1)
    assert standings["panel"]["states"] == {"ok": 5}
    done = cli("export", "qrels", "--labeler", "ana", "-o", "ana-out.qrels")
    assert done.status == 1
    assert "1 of 6 pairs have no grade by ana" in done.err
    done = cli("export", "qrels", "--labeler", "ana", "-o", "ana-out.qrels", "--allow-missing")
    assert done.status == 0, done.err
    without = "1 of 6 pairs without a grade are left out (1 never asked)"
    assert f"6 pairs; of 6 grades 1 are of pairs outside the pool; {without}" in done.err
    assert (inside / "ana-out.qrels").read_text(encoding="utf-8") == qrels_text("0123-2") + "q9 0 d9 1\n"


def test_a_workspace_of_label_files_alone_needs_no_pool(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given(tmp_path, ana="012301", bruno="012300")
    files = {name: {"path": f"{name}.given", "person": True} for name in ("ana", "bruno")}
    workspace(tmp_path, PAIRS, {}, labels={"files": files})
    (tmp_path / "pool.jsonl.gz").unlink()
    done = cli("agree", "--format", "json", "--draws", "0")
    assert done.status == 0, done.err
    assert json.loads(done.out)["people"] == ["ana", "bruno"]
