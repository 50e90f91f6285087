"""Releases: Pirá's own rows come out as they went in, splits stay, names of people never leave, faults are refused."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from quati_pool.commands.annotate.authoring import work
from quati_pool.commands.annotate.authoring.derive import derive
from quati_pool.commands.annotate.authoring.records import open_records
from quati_pool.commands.annotate.authoring.release import release
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.artifacts import read_meta
from quati_pool.qa_benchmarks.pira.files import read_questions
from quati_pool.release.errors import ReleaseError
from quati_pool.release.question_sets import record_schema
from tests.annotation.authoring import tiny_design
from tests.commands.annotate.authoring.people_writing import (
    WRITERS,
    Finished,
    PiraPeople,
    Refused,
    accept_all,
    pira_rows,
    pira_workspace,
    prefilled,
    signed_in,
    work_off,
    written_by_pira,
)
from tests.commands.annotate.authoring.rounds import (
    TEXTS,
    filled,
    members,
    nonce,
    opened,
    rounds,
    workspace,
    write_texts,
)
from tests.commands.annotate.writers import sign_in

TEN, SETS = 10, 13
NAMES = ("Zuleica", "Wandinha", "Xisto", "Ubirajara")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten texts of Pirá with thirteen questions, through all rounds."""
    return written_by_pira(tmp_path_factory.mktemp("finished") / "pira", pira_rows(TEN, 2))


@pytest.fixture
def pool(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished.parent, tmp_path / "pira")
    return tmp_path / "pira" / "pool.yaml"


def configured(pool: Path, **changes: Any) -> None:
    """Changes settings of a pool.yaml; those of ``authoring`` are merged."""
    data = yaml.safe_load(pool.read_text(encoding="utf-8"))
    data["authoring"].update(changes.pop("authoring", {}))
    pool.write_text(yaml.safe_dump({**data, **changes}, allow_unicode=True), encoding="utf-8")


def rows_of(folder: Path) -> Iterator[dict[str, str]]:
    for path in sorted(folder.glob("[tv]*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def splits_in(folder: Path) -> dict[str, str]:
    return dict(json.loads((folder / "splits.json").read_text())["units"])


def test_what_piras_people_wrote_comes_out_in_piras_columns(pool: Path, tmp_path: Path) -> None:
    derive(pool)
    accept_all(pool)
    found = release(pool, "pira", tmp_path / "out")
    assert found.units == {"train": 11, "validation": 1, "test": 1}
    out = {row["question_en_origin"]: row for row in rows_of(tmp_path / "out")}
    rows = pira_rows(TEN, 2)
    assert len(out) == len(rows) == SETS
    names = set(next(iter(out.values())))
    # The translated question is derived by a program, and nobody gave one here; the number of the row and the id are
    # new; a lead's curation removes nothing.
    assert set(rows[0]) - names == {"pt_question_translated_to_en"}
    for row in rows:
        written = out[row["question_en_origin"].strip()]
        for name in names - {"", "id_qa"}:
            assert written[name] == row[name].strip(), (row["id_qa"], name)
        assert written["id_qa"][0] == row["id_qa"][0]
    for name in ("train", "validation", "test"):
        assert read_questions(tmp_path / "out" / f"{name}.csv")


def test_derived_texts_are_in_the_columns_of_programs(pool: Path, tmp_path: Path) -> None:
    records = open_records(pool)
    ids = [records.released_id(one["item_id"]) for one in records.units]
    texts = {
        "paraphrase.1.en": "question_AUT_EN_1",
        "paraphrase.2.pt": "question_AUT_PT_2",
        "answer_paraphrase.2.en": "answer_AUT_EN_2",
        "translation.question.pt-en": "pt_question_translated_to_en",
    }
    lines = [
        {"question_id": ids[0], "field": field, "text": f"A text of {field}", "drafted_by": "pegasus"}
        for field in texts
    ]
    lines += [{"question_id": ids[1], "field": "paraphrase.1.en", "text": "Refused."}]
    lines += [{"question_id": ids[0], "field": "paraphrase.1.en", "text": "A second one."}]
    file = tmp_path / "derived.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    derive(pool, [file])
    everybody = PiraPeople(())
    accept_all(
        pool,
        lambda name, shown: Refused("wrong") if shown.shown.get("text") == "Refused." else everybody(name, shown),
    )
    release(pool, "pira", tmp_path / "out")
    by_id = {row["id_qa"]: row for row in rows_of(tmp_path / "out")}
    assert {column: by_id[ids[0]][column] for column in texts.values()} == {
        column: f"A text of {field}" for field, column in texts.items()
    }
    assert {by_id[ids[1]][column] for column in texts.values()} == {""}
    assert "question_AUT_EN_2" not in by_id[ids[0]]
    card = (tmp_path / "out" / "README.md").read_text()
    assert "Texts that programs derived and people accepted: pegasus 4." in card


def test_splits_are_exact_and_stay_when_questions_are_added(pool: Path, tmp_path: Path) -> None:
    rows = pira_rows(TEN + 6, 2)
    assert release(pool, "pira", tmp_path / "out").made
    before = splits_in(tmp_path / "out")
    assert Counter(before.values()) == {"train": 11, "validation": 1, "test": 1}
    assert not release(pool, "pira", tmp_path / "out").made
    known = {row["abstract"] for row in pira_rows(TEN, 2)}
    new = [row for row in rows if row["abstract"] not in known]
    texts = [
        {
            "doc_id": f"T{row['id_qa']}",
            "corpus": row["corpus"],
            "eid_article_scopus": row["eid_article_scopus"],
            "en": row["abstract"],
            "pt": row["abstract_translated_pt"],
        }
        for row in {row["abstract"]: row for row in new}.values()
    ]
    write_texts(pool.parent / "texts.csv", texts)
    with opened(pool) as session:
        people = {"leo": sign_in(session, "leo", "lead"), **{name: sign_in(session, name) for name in NAMES}}
        work_off(session, people, PiraPeople(new))
    total = SETS + len(new)
    assert release(pool, "pira", tmp_path / "out").made
    after = splits_in(tmp_path / "out")
    assert len(after) == total > SETS
    assert {unit: after[unit] for unit in before} == before
    assert set(Counter(after.values()).values()) <= {round(total * 0.8), int(total * 0.1), int(total * 0.1) + 1}
    # A folder of its own is split afresh.
    release(pool, "pira", tmp_path / "other")
    assert Counter(splits_in(tmp_path / "other").values()) == Counter(after.values())


def test_a_split_by_texts_keeps_the_questions_of_a_text_together(pool: Path, tmp_path: Path) -> None:
    configured(pool, authoring={"split": {"by": "texts", "shares": [60, 20, 20]}})
    found = release(pool, "pira", tmp_path / "out")
    assert Counter(splits_in(tmp_path / "out").values()) == {"train": 6, "validation": 2, "test": 2}
    assert sum(found.units.values()) == SETS
    split_of: dict[str, set[str]] = {}
    for split in ("train", "validation", "test"):
        for one in read_questions(tmp_path / "out" / f"{split}.csv"):
            split_of.setdefault(one.text["en"], set()).add(split)
    assert len(split_of) == TEN
    assert all(len(splits) == 1 for splits in split_of.values())
    configured(pool, authoring={"split": {"by": "sets", "shares": [60, 20, 20]}})
    with pytest.raises(QuatiPoolError, match="holds splits by texts, and authoring: split: by: is sets; set it back"):
        release(pool, "pira", tmp_path / "out")
    (tmp_path / "out" / "splits.json").write_text('{"by": "texts", "form": 7, "units": {}}')
    with pytest.raises(InputError, match=r"splits\.json: is not the list of a release's splits; name another folder"):
        release(pool, "pira", tmp_path / "out")


def test_what_is_not_finished_is_refused_unless_it_may_be_missing(tmp_path: Path) -> None:
    rows = pira_rows(4, 1)
    left: list[str] = []

    def answer(name: str, shown: Any) -> Any:
        given = PiraPeople(rows)(name, shown) if shown.step.name != "set" else people(name, shown)
        if shown.step.name == "validation" and (not left or left[0] == shown.shown["question"]["en"]):
            left[:] = [shown.shown["question"]["en"]]
            return None
        return given

    people = PiraPeople(rows)
    path = pira_workspace(tmp_path / "pira", rows)
    with opened(path) as session:
        work_off(session, signed_in(session, "ana", "rui", "eva"), answer)
    with pytest.raises(QuatiPoolError, match=r"1 item of kind question not finished; go on with: quati-pool annotate"):
        release(path, "pira", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    found = release(path, "pira", tmp_path / "out", allow_missing=True)
    assert found.open == {"question": 1}
    waiting = [row for row in rows_of(tmp_path / "out") if not row["answer_en_validate"]]
    assert [row["question_en_origin"] for row in waiting] == left
    assert "Not finished when this was released: 1 item of kind question." in (
        tmp_path / "out" / "README.md"
    ).read_text(encoding="utf-8")


def test_nothing_is_released_before_something_is_finished(tmp_path: Path) -> None:
    path = workspace(tmp_path / "sea")
    with opened(path):
        pass
    with pytest.raises(QuatiPoolError, match="no question is finished yet; go on with: quati-pool annotate"):
        release(path, "jsonl", tmp_path / "out", allow_missing=True)


def test_folders_that_hold_something_else_are_kept(pool: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("mine")
    with pytest.raises(QuatiPoolError, match="is not empty and holds no release of questions; name another folder"):
        release(pool, "pira", other)
    with pytest.raises(QuatiPoolError, match=r"thesis\.tex is a file; name a folder"):
        release(pool, "pira", other / "thesis.tex")
    release(pool, "pira", tmp_path / "out")
    with pytest.raises(QuatiPoolError, match="holds a release as pira; name another folder"):
        release(pool, "hf", tmp_path / "out")
    configured(pool, name="lake")
    with pytest.raises(QuatiPoolError, match="holds a release of sea, and this is lake; name another folder"):
        release(pool, "pira", tmp_path / "out")
    configured(pool, name="sea")
    (tmp_path / "out" / "train.csv").write_text("mine")
    with pytest.raises(QuatiPoolError, match="would be replaced, and was changed since it was written; move it away"):
        release(pool, "pira", tmp_path / "out")
    assert (tmp_path / "out" / "train.csv").read_text() == "mine"


def test_what_pool_yaml_forbids_is_refused(pool: Path, tmp_path: Path) -> None:
    configured(pool, release={"texts": False})
    with pytest.raises(ConfigError, match="texts: false withholds the texts"):
        release(pool, "jsonl", tmp_path / "out")
    with pytest.raises(QuatiPoolError, match=r"--as csv: .* is released as pira, jsonl, hf; name one of these"):
        release(pool, "csv", tmp_path / "out")


def test_piras_columns_need_both_of_its_languages(tmp_path: Path) -> None:
    sources = {"path": "texts.csv", "text": {"en": "en"}, "keep": ["corpus"]}
    path = workspace(tmp_path, languages=["en", "es"], sources=sources)
    with pytest.raises(
        QuatiPoolError, match=r"--as pira: its files have the columns en and pt, and languages: is en, es"
    ):
        release(path, "pira", tmp_path / "out")


@pytest.mark.parametrize("form", ["pira", "jsonl", "hf"])
def test_names_of_people_never_leave(tmp_path: Path, form: str) -> None:
    rows = pira_rows(3, 1)
    path = pira_workspace(tmp_path / "pira", rows)
    with opened(path) as session:
        people = PiraPeople(rows)
        work_off(session, signed_in(session, *NAMES), people)
    derive(path)
    with opened(path) as session:
        token = sign_in(session, "Quitéria")
        work_off(
            session,
            {"Quitéria": token},
            lambda name, shown: Refused("other", "ask Wandinha of Zuleica's group"),
        )
    release(path, form, tmp_path / "out", allow_missing=True)
    files = [*(tmp_path / "out").rglob("*"), tmp_path / "out.meta.json"]
    for file in files:
        if file.is_file():
            data = file.read_bytes()
            if file.suffix == ".parquet":
                data = json.dumps(pq.read_table(file).to_pylist(), ensure_ascii=False).encode()
            assert not [name for name in (*NAMES, "Quitéria", "Quit\\u00e9ria") if name.encode() in data], file
    if form == "jsonl":
        found = json_lines(tmp_path / "out" / "question.jsonl")
        listed = list(members(found))
        assert {value for name, value in listed if name == "person"} <= {1, 2, 3, 4, 5, 6}
        assert not {"by", "task_id", "text_id", "parent_id"} & {name for name, _ in listed}
        entries = json_lines(tmp_path / "out" / "entries.jsonl")
        refused = [one for one in entries if one["action"] == "refused"]
        assert refused
        assert all(one["content"] == {} and one["reason"] == "other" for one in refused)


def test_json_lines_have_every_version_and_are_the_same_each_time(pool: Path, tmp_path: Path) -> None:
    release(pool, "jsonl", tmp_path / "one")
    release(pool, "jsonl", tmp_path / "two")
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == ["README.md", "entries.jsonl", "question.jsonl", "splits.json", "text.jsonl"]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    questions = json_lines(tmp_path / "one" / "question.jsonl")
    assert len(questions) == SETS
    splits = splits_in(tmp_path / "one")
    assert all(one["split"] == splits[one["question_id"]] for one in questions)
    first = questions[0]["versions"]["question.en"]
    assert [(one["round"], one["text"]) for one in first] == [("create", questions[0]["question"]["en"])]
    rounds = Counter(one["round"] for one in json_lines(tmp_path / "one" / "entries.jsonl"))
    assert rounds == {"create": SETS + TEN, "edit": SETS, "assess": 3 * SETS, "curate": SETS}
    assert len(json_lines(tmp_path / "one" / "text.jsonl")) == TEN


def test_a_release_is_renewed_by_whatever_it_says_of_the_work(pool: Path, tmp_path: Path) -> None:
    derive(pool)
    assert release(pool, "jsonl", tmp_path / "out", allow_missing=True).made
    before = len(json_lines(tmp_path / "out" / "entries.jsonl"))
    assert "Not finished when this was released: 11 items of kind choices." in (tmp_path / "out/README.md").read_text()
    # Refused sets are no records, but their entries and the card are released.
    assert accept_all(pool, lambda name, shown: Refused("wrong")) == 11
    assert release(pool, "jsonl", tmp_path / "out").made
    assert len(json_lines(tmp_path / "out" / "entries.jsonl")) == before + 11
    card = (tmp_path / "out" / "README.md").read_text()
    assert "- choices: 11 wrong" in card
    assert "Not finished" not in card


def test_what_derives_from_a_question_that_is_out_by_now_is_left_out(tmp_path: Path) -> None:
    rows = pira_rows(3, 1)
    path = pira_workspace(tmp_path / "pira", rows)
    file = tmp_path / "derived.jsonl"
    with opened(path) as session:
        tokens = signed_in(session)
        work_off(session, tokens, PiraPeople(rows))
        last = rounds(session).last("lia")
        assert last is not None
        assert last.round == "curate"
        records = open_records(path)
        ids = {one["item_id"]: records.released_id(one["item_id"]) for one in records.units}
        lines = [{"question_id": one, "field": "paraphrase.1.en", "text": "Say it."} for one in ids.values()]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        derive(path, [file])
        work_off(session, {"eva": sign_in(session, "eva")}, PiraPeople(()))
        work.undo(session, tokens["lia"], nonce())
        work_off(session, {"lia": tokens["lia"]}, lambda name, shown: Refused("not_in_text"))
    found = release(path, "jsonl", tmp_path / "out", allow_missing=True)
    assert found.out["question"] == {"not_in_text": 1}
    there = {one["question_id"] for one in json_lines(tmp_path / "out" / "question.jsonl")}
    assert there == set(ids.values()) - {ids[last.item_id]}
    derived = [one["question_id"] for one in json_lines(tmp_path / "out" / "derived.jsonl")]
    assert sorted(derived) == sorted(there)


def test_columns_that_sources_keep_are_released_whatever_their_names(tmp_path: Path) -> None:
    columns = {"by": "FAO", "text_id": "7", "translator": "Rui"}
    texts = [{**text, **columns} for text in TEXTS]
    sources = {"path": "texts.csv", "text": {"pt": "pt", "en": "en"}, "keep": ["corpus", *columns]}
    path = workspace(tmp_path, texts, sources=sources, edited=0)
    with opened(path) as session:
        work_off(
            session,
            signed_in(session, "ana", "rui"),
            lambda name, shown: (
                Finished()
                if shown.own
                else filled(shown, len(shown.shown["text"]["en"]))
                if shown.step.name == "set"
                else prefilled(shown)
                if shown.step.name == "curate"
                else filled(shown, 7)
            ),
        )
    release(path, "jsonl", tmp_path / "out")
    for name in ("question", "text"):
        for one in json_lines(tmp_path / "out" / f"{name}.jsonl"):
            assert one["kept"] == {"corpus": one["kept"]["corpus"], **columns}


def test_hugging_face_reads_the_data_set(pool: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    configured(pool, release={"license": "cc-by-4.0", "title": "Sea: a test --- of cards", "languages": ["pt", "en"]})
    derive(pool)
    accept_all(pool)
    release(pool, "hf", tmp_path / "out")
    loaded = load_dataset(str(tmp_path / "out"), "question", cache_dir=str(tmp_path / "cache"))
    assert {split: len(loaded[split]) for split in loaded} == {"train": 11, "validation": 1, "test": 1}
    row = loaded["train"][0]
    assert row["question"]["en"]
    assert row["assessments"][0]["sense"] in range(1, 6)
    assert "versions" not in row
    texts = load_dataset(str(tmp_path / "out"), "text", split="text", cache_dir=str(tmp_path / "cache"))
    assert len(texts) == TEN
    choices = load_dataset(str(tmp_path / "out"), "choices", split="train", cache_dir=str(tmp_path / "cache"))
    assert choices[0]["answer"]["en"] == choices[0]["choices"]["en"][choices[0]["correct"]]
    header = yaml.safe_load((tmp_path / "out" / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    assert header["license"] == "cc-by-4.0"
    about = json.loads((tmp_path / "out" / "splits.json").read_text(encoding="utf-8"))["about"]
    assert about == {"title": "Sea: a test --- of cards", "license": "cc-by-4.0"}
    assert [one["config_name"] for one in header["configs"]] == ["question", "text", "choices", "entries"]


def test_fields_without_a_value_are_left_out_and_mixed_ones_refused() -> None:
    records = [{"a": 1, "b": None, "c": {"d": [], "e": "x"}, "f": {}}, {"a": None, "c": {"d": [], "e": None}}]
    assert record_schema(records) == pa.schema([("a", pa.int64()), ("c", pa.struct([("e", pa.string())]))])
    with pytest.raises(ReleaseError, match="the field a has values that no column of Parquet holds"):
        record_schema([{"a": 1}, {"a": "x"}])


@pytest.mark.parametrize("form", ["jsonl", "hf"])
def test_a_third_design_is_released_too(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    shutil.copy(str(tiny_design.__file__), folder / "mine.py")
    path = workspace(folder, design="mine.py:Tiny")
    with opened(path) as session:
        count = iter(range(100))

        def answer(name: str, shown: Any) -> Any:
            form = filled(shown, next(count))
            form.pop("words", None)
            return form

        work_off(session, signed_in(session, "ana", "rui"), answer)
    found = release(path, form, tmp_path / "out")
    assert sum(found.units.values()) == len(TEXTS)
    assert found.commands == ()
    if form == "jsonl":
        rows = json_lines(tmp_path / "out" / "text.jsonl")
        assert {row["split"] for row in rows} == {"train"}
        assert all(row["heading"] and row["rating"] == 4 for row in rows)
    with pytest.raises(QuatiPoolError, match="is released as jsonl, hf"):
        release(path, "pira", tmp_path / "other")


HOSTILE = [
    "<script>window.__pwned = 1</script> \"quoted\", 'so'",
    "=HYPERLINK(1); שלום, 你好 \U0001f30a",
    "| a | b |\\ `code` [link](javascript:alert(1)) ---",
]


def test_hostile_texts_are_released_as_they_are(tmp_path: Path) -> None:
    texts = [
        {"doc_id": f"T{number}", "corpus": "1", "en": f'{hostile}\nsecond "line"\n,third', "pt": hostile}
        for number, hostile in enumerate(HOSTILE)
    ]
    path = workspace(tmp_path / "sea", texts)
    configured(path, release={"title": HOSTILE[2], "description": "words"})

    def answer(name: str, shown: Any) -> Any:
        if shown.step.name == "set":
            if shown.own:
                return Finished()
            hostile = next(one for one in HOSTILE if shown.shown["text"]["pt"] == one)
            return {
                f"{what}.{language}": f"{language} {what} {hostile}"
                for what in ("question", "answer")
                for language in ("pt", "en")
            }
        if shown.step.name in ("edit", "curate"):
            return prefilled(shown)
        return filled(shown)

    with opened(path) as session:
        work_off(session, signed_in(session, "ana", "rui"), answer)
    release(path, "pira", tmp_path / "out")
    rows = {row["abstract_translated_pt"]: row for row in rows_of(tmp_path / "out")}
    for text in texts:
        row = rows[text["pt"]]
        assert row["abstract"] == text["en"]
        assert row["question_en_origin"] == f"en question {text['pt']}"
        assert row["answer_pt_origin"] == f"pt answer {text['pt']}"
    assert sum(len(read_questions(path)) for path in (tmp_path / "out").glob("[tv]*.csv")) == len(HOSTILE)
    assert (
        "[link](" not in (tmp_path / "out" / "README.md").read_text(encoding="utf-8").split("\n## ")[0].splitlines()[0]
    )


def test_the_sidecar_says_what_the_release_is_of(pool: Path, tmp_path: Path) -> None:
    release(pool, "pira", tmp_path / "out")
    meta = read_meta(tmp_path / "out")
    assert meta is not None
    assert meta["collection"] == "sea"
    assert meta["counts"]["units"] == {"train": 11, "validation": 1, "test": 1}
    assert WRITERS[0] not in json.dumps(meta)
