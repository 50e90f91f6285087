"""Near-duplicates in a workspace: planted ones that a judge grades apart, and the list for people."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quati_pool.commands.audit.audit import AuditReport, audit, stored_audit
from quati_pool.commands.audit.grade_inputs import GradeSettings, WorkspaceGrades
from quati_pool.commands.audit.near_duplicates import DuplicateAudit
from quati_pool.commands.audit.settings import AuditSettings
from quati_pool.files.label_files.cells import unescaped
from quati_pool.files.pools import PoolPair
from quati_pool.judging.pair import Pair
from quati_pool.labels.labelers import Grading, people_definition, people_version
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.records import State
from quati_pool.reporting.answers.audit import answer
from quati_pool.reporting.formats.answers import LINES, PIPE, answer_text
from quati_pool.reporting.formats.tables import FORMATS
from quati_pool.reporting.json_data.audit import as_data
from quati_pool.reporting.tables.audit import tables
from quati_pool.store.database import Store
from quati_pool.store.records import Entry, Label, content_sha
from quati_pool.text.display_width import columns
from tests.commands.audit.planted import ANSWER, pairs, planted, right_grade
from tests.reporting.hostile import HOSTILE

QUERIES = 20
HEADER = "query_id\tdoc_id\tgrade\tother_doc_id\tother_grade\tsimilarity\tpeople_grade\tother_people_grade"


def copy_of(row: PoolPair, doc_id: str, ending: str) -> PoolPair:
    """The same passage with another last word."""
    text = f"{row['text'].rsplit(' ', 1)[0]} {ending}"
    return {**row, "doc_id": doc_id, "text": text}


def with_copies(queries: int = QUERIES) -> list[PoolPair]:
    """Of each query a passage without and one with the answer, a near-duplicate and a verbatim copy of each."""
    found = []
    for row in pairs(queries, 2):
        found += [row, copy_of(row, f"{row['doc_id']}-near", "outra"), {**row, "doc_id": f"{row['doc_id']}-same"}]
    return found


def reads_the_end(pair: Pair) -> int:
    """Overlooks the answer where the passage ends otherwise."""
    return 0 if pair.text.endswith("outra") else right_grade(pair)


def audited(config: Path, **settings: object) -> tuple[AuditReport, DuplicateAudit]:
    (report,) = audit(config, ["planted"], Listener(), AuditSettings(**settings))  # type: ignore[arg-type]
    assert report.near_duplicates is not None
    return report, report.near_duplicates


def made(folder: Path, monkeypatch: pytest.MonkeyPatch, rule: object = right_grade, rows: object = None) -> Path:
    monkeypatch.setattr("tests.commands.audit.planted.pairs", lambda queries, docs: rows or with_copies())
    return planted(folder, monkeypatch, rule, audit={"pairs": 4})  # type: ignore[arg-type]


def listed(config: Path) -> list[list[str]]:
    path = config.parent / "audits" / "planted" / "near-duplicates.tsv"
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    assert header == HEADER
    return [[unescaped(cell) for cell in line.split("\t")] for line in lines]


def people_say(config: Path, grades: dict[tuple[str, str], int], name: str = "ana") -> None:
    loaded = load_config(config)
    version = people_version(loaded)
    rows = {(row["query_id"], row["doc_id"]): row for row in with_copies()}
    labels = [
        Label(
            collection="test", labeler_id=name, kind="assessor", version=version, query_id=query_id, doc_id=doc_id,
            content_sha=content_sha(rows[query_id, doc_id]["query"], rows[query_id, doc_id]["text"]), status=State.ok,
            relevance=grade,
        )
        for (query_id, doc_id), grade in grades.items()
    ]  # fmt: skip
    with Store.open(None, loaded.folder) as store:
        store.register(version, "assessor", people_definition(loaded))
        store.append([Entry(label=label) for label in labels])


def test_a_judge_that_grades_alike_what_is_alike_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = made(tmp_path, monkeypatch)
    report, found = audited(config)
    share = found.found.judge.share
    # Each near-duplicate with the passage and with its verbatim copy; these two share an answer, and are no pair.
    assert (share.hits, share.n) == (0, 4 * QUERIES)
    assert [(line.danger, line.position) for line in report.grade_lines] == [("near-duplicates", "within")]
    assert listed(config) == []
    assert "near-duplicates.tsv" not in (answer([report]).rest or "")


def test_planted_near_duplicates_are_found_and_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = made(tmp_path, monkeypatch, reads_the_end)
    report, found = audited(config)
    share = found.found.judge.share
    # Two of the four pairs of each query: those of the passage with the answer.
    assert (share.hits, share.n, found.found.judge.across) == (2 * QUERIES, 4 * QUERIES, 2 * QUERIES)
    (line,) = report.grade_lines
    assert (line.position, line.n, line.of, line.bound) == ("beyond", 4 * QUERIES, "pairs of passages", 0.1)
    rows = listed(config)
    # 45 words or so, of which the last is another: one shingle of each is not shared.
    similarity = f"{found.found.apart[0].similarity:.4f}".rstrip("0")
    assert rows[0] == ["q00", "d0001", str(ANSWER), "d0001-near", "0", similarity, "", ""]
    assert len(rows) == 2 * QUERIES
    said = answer([report])
    assert "It grades 40 of 80 pairs of near-duplicates apart, 40 across grade 2." in said.sentences
    assert "near-duplicates for people to look at in near-duplicates.tsv there." in said.rest
    assert any("near-duplicates" in sentence and "copies of a passage" in sentence for sentence in said.sentences)
    assert said.table is not None
    row = next(row for row in said.table.shown() if row[0] == "near-duplicates")
    assert row[:3] == ["near-duplicates", "beyond", "50 %"]
    assert row[4:] == ["≤ 10 %", "80 pairs"]
    data = as_data([report])["near_duplicates"]
    assert (data["n"], data["apart"], data["share"], data["across"]) == (80, 40, 0.5, 40)
    assert (data["bound"], data["verdict"], data["people"], data["there"]) == (0.1, "beyond", None, None)
    assert data["examples"][0]["other_text"].endswith("outra")
    titles = [table.title for table in tables([report], 80)]
    assert "Near-duplicates: query q00; planted graded passage d0001 2, passage d0001-near 0" in titles


def test_a_list_that_is_the_same_is_not_written_and_what_a_kill_left_is_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = made(tmp_path, monkeypatch, reads_the_end)
    audited(config)
    path = tmp_path / "audits" / "planted" / "near-duplicates.tsv"
    before, content = path.stat().st_mtime_ns, path.read_bytes()
    leftover = path.with_name(f".partial-{path.name}")
    leftover.write_bytes(content[:20])
    audited(config)
    assert (path.stat().st_mtime_ns, leftover.exists()) == (before, False)
    path.write_bytes(content[: len(content) // 2])
    audited(config)
    assert path.read_bytes() == content


def test_a_write_that_fails_leaves_the_list_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = made(tmp_path, monkeypatch, reads_the_end)
    audited(config)
    path = tmp_path / "audits" / "planted" / "near-duplicates.tsv"
    path.write_text("old\n", encoding="utf-8")
    replaced = os.replace

    def full(source: Path, target: Path) -> None:
        if Path(target) == path:
            raise OSError(28, "No space left on device", str(target))
        replaced(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        audited(config)
    assert (path.read_text(encoding="utf-8"), list(path.parent.glob(".partial-*"))) == ("old\n", [])


def test_peoples_grades_are_next_to_the_judges_and_what_they_settled_comes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = made(tmp_path, monkeypatch, reads_the_end)
    # Both of one pair of each of two queries, alike and apart; one passage of a third.
    grades = {("q00", "d0001"): 2, ("q00", "d0001-near"): 2, ("q01", "d0101"): 2, ("q01", "d0101-near"): 1}
    people_say(config, {**grades, ("q02", "d0201"): 2})
    report, found = audited(config)
    assert (found.people, found.found.judge.share.n) == ("people", 4 * QUERIES)
    assert found.found.people is not None
    assert found.found.there is not None
    assert (found.found.people.share.hits, found.found.people.share.n, found.found.people.across) == (1, 2, 1)
    assert (found.found.there.share.hits, found.found.there.share.n) == (2, 2)
    rows = listed(config)
    assert [row[:2] + row[6:] for row in rows[-2:]] == [["q00", "d0001", "2", "2"], ["q01", "d0101", "2", "1"]]
    assert rows[0][:4] == ["q00", "d0001-near", "0", "d0001-same"]
    assert any("(100 % of those that people graded too, people 50 %)" in one for one in answer([report]).sentences)
    data = as_data([report])["near_duplicates"]
    assert (data["people"]["labeler"], data["people"]["share"], data["there"]["share"]) == ("people", 0.5, 1.0)
    _, by_name = audited(config, grades=GradeSettings(people="ana"))
    assert by_name.people == "ana"


def test_a_stored_audit_has_them_too_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = made(tmp_path, monkeypatch, reads_the_end)
    first, _ = audited(config)
    path = tmp_path / "audits" / "planted" / "near-duplicates.tsv"
    path.unlink()
    loaded = load_config(config)
    with Store.open(loaded.labels.url, loaded.folder) as store:
        kept = stored_audit(WorkspaceGrades(Grading(loaded, store)), "planted", print)
    assert kept is not None
    assert kept.grade_lines == first.grade_lines
    assert as_data([kept])["near_duplicates"] == as_data([first])["near_duplicates"]
    assert not path.exists()


def test_where_probes_are_named_they_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = made(tmp_path, monkeypatch, reads_the_end)
    (report,) = audit(config, ["planted"], Listener(), AuditSettings(probes=("length",)))
    assert (report.near_duplicates, report.grade_lines) == (None, [])
    assert as_data([report])["undefined"]["near_duplicates"] == "only some probes were run"
    assert not (tmp_path / "audits" / "planted" / "near-duplicates.tsv").exists()


def test_a_pool_without_near_duplicates_has_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = made(tmp_path, monkeypatch, rows=pairs(4, 4))
    report, found = audited(config)
    assert (found.found.judge.share.n, report.grade_lines, listed(config)) == (0, [], [])
    data = as_data([report])["near_duplicates"]
    assert (data["n"], data["share"], data["verdict"], data["examples"]) == (0, None, None, [])
    assert not any("ear-duplicates" in table.title for table in tables([report], 80))


def test_hostile_ids_and_texts_stay_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids and passages that would act in a terminal, a page or a spreadsheet."""
    ids = ["<script>alert(1)</script>", "=cmd|'/c'!A1", "\\t\\n", "doc\u202egpj", '"quoted"']
    texts = [text for text in HOSTILE if "\x00" not in text]
    found = []
    for number in range(10):
        (row,) = pairs(number + 1, 1)[-1:]
        for doc_id, text in zip(ids, texts, strict=False):
            long = f"{' '.join(f'{doc_id}{word}' for word in range(30))} {text}"
            for ending in ("fim", "outra"):
                found.append({**row, "doc_id": f"{doc_id}{ending}", "text": f"{long} {ending}"})
    config = made(tmp_path, monkeypatch, lambda pair: 0 if pair.text.endswith("outra") else 2, found)
    report, _ = audited(config)
    rows = listed(config)
    assert {row[1] for row in rows} == {f"{doc_id}fim" for doc_id in ids}
    text = answer_text(answer([report]))
    assert len(text.splitlines()) <= LINES
    assert max(map(columns, text.splitlines())) <= PIPE
    everything = tables([report], 80)
    for table in everything:
        html = FORMATS["html"](table) if "html" in FORMATS else ""
        assert "<script>" not in html
    shown = [cell for table in everything for row in table.shown() for cell in row]
    assert not any(character in cell for cell in shown for character in "\x1b\u202e\u200b")
    assert any("⟨U+202E⟩" in cell for cell in shown)


def test_the_bound_of_the_workspace_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = made(tmp_path, monkeypatch, reads_the_end)
    content = config.read_text(encoding="utf-8").replace("audit:\n", "audit:\n  bounds: {duplicates: 0.8}\n")
    config.write_text(content, encoding="utf-8")
    report, _ = audited(config)
    assert [(line.position, line.bound) for line in report.grade_lines] == [("within", 0.8)]
