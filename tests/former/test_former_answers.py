"""Answers that the commit before read by its own rules: they are read again without being asked again."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.batch import batch
from quati_pool.commands.export.qrels import export_qrels
from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import JudgeReport, judge
from quati_pool.commands.judge.plan import plan
from quati_pool.store.database import Store
from quati_pool.store.records import Entry
from quati_pool.store.rereading import Owner, unread
from tests.cli.conftest import Cli, cli
from tests.commands.judged import workspace
from tests.former.make_answers import ANSWERS, CLEAN, KEPT, AnswerServer, judges, one, serving, two
from tests.former.test_former_workspace import Heard
from tests.store.samples import label

pytestmark = pytest.mark.slow

__all__ = ["cli"]

DOUBTFUL = [place for place, (*_, was, now) in enumerate(ANSWERS) if was is not None and now[1] is None]
CHANGED = [place for place, (*_, was, now) in enumerate(ANSWERS) if None not in (was, now[1]) and was != now[1]]
GRADED = [place for place, (*_, was, now) in enumerate(ANSWERS) if was is None and now[1] is not None]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnswerServer]:
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


@pytest.fixture
def former(tmp_path: Path) -> Path:
    """A folder with both collections and a copy of their database."""
    shutil.copy(KEPT, tmp_path / "labels.db")
    for name, pool in (("one", one()), ("two", two())):
        workspace(tmp_path / name, pool, judges(), name, labels={"url": f"sqlite:///{tmp_path}/labels.db"})
    return tmp_path


def graded(folder: Path, name: str) -> dict[str, tuple[str, int | None]]:
    """What counts of each pair."""
    with Store.open(f"sqlite:///{folder}/labels.db", folder) as store:
        [version] = {row.version for row in store.labelers(name)}
        rows = store.current(name, "gpt", version, ["q1"])
    # Of a pair that is shown otherwise now there are two.
    return {row.doc_id: (row.status.value, row.relevance) for row in sorted(rows, key=lambda row: row.answer)}


def count(folder: Path, table: str) -> int:
    with closing(sqlite3.connect(folder / "labels.db")) as connection:
        found: int = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return found


def run(path: Path, heard: Heard | None = None, **options: Any) -> JudgeReport:
    report = judge(path, "gpt", heard or Heard(), JudgeOptions(reask=0, **options))
    assert report.error is None
    return report


def test_the_kept_database_is_what_the_rules_of_its_day_made_of_the_answers(former: Path) -> None:
    found = graded(former, "one")
    for place, (_, _, was, _) in enumerate(ANSWERS):
        assert found[f"d{place:02d}"][1] == was
    assert (found["twin"], found["empty"], found["tokens"]) == (("ok", 2), ("ok", 1), ("ok", 1))
    assert len(DOUBTFUL) >= 8
    assert CHANGED
    assert GRADED


def test_rereading_asks_nothing_and_gives_what_todays_rules_say(former: Path, server: AnswerServer) -> None:
    heard = Heard()
    report = run(former / "one" / "pool.yaml", heard, reread=True)
    assert server.asked == []
    assert report.calls is None
    found = graded(former, "one")
    for place, (*_, now) in enumerate(ANSWERS):
        assert found[f"d{place:02d}"] == now
    assert found["twin"] == found["d10"] == ("unparsed", None)
    assert found["empty"] == ("no_text", None)
    assert report.reread is not None
    assert (report.reread.in_doubt, report.reread.graded, report.reread.another_grade) == (
        len(DOUBTFUL) + 1, len(GRADED), len(CHANGED),
    )  # fmt: skip
    # One call for each answer in doubt; the twin shares one.
    assert report.reread.to_ask == len(DOUBTFUL)
    [line] = [line for line in heard.lines if "read by newer rules" in line]
    assert f"{len(DOUBTFUL) + 1} now in doubt, {len(GRADED)} now graded, {len(CHANGED)} with another grade" in line
    assert f"asking again takes {len(DOUBTFUL)} calls at least" in line


@pytest.mark.parametrize("dry", [True, False])
def test_what_is_no_longer_asked_is_not_among_what_asking_again_takes(
    former: Path, server: AnswerServer, dry: bool
) -> None:
    """Pairs that have left the pool, and passages of which another text is shown now."""
    kept = [pair for pair in one() if pair["doc_id"] in ("d00", "d04", "d07")]
    kept[-1] = {**kept[-1], "text": "Um outro texto. [answer 0]"}
    path = workspace(former / "one", kept, judges(), "one", labels={"url": f"sqlite:///{former}/labels.db"})
    heard = Heard()
    if dry:
        plan(path, "gpt", heard)
    else:
        report = run(path, heard, reread=True)
        assert report.reread is not None
        assert (report.reread.to_ask, report.reread.in_doubt) == (1, len(DOUBTFUL) + 1)
    [line] = [line for line in heard.lines if "newer rules" in line]
    assert "asking again takes 1 call at least" in line


def test_who_shares_an_answer_follows_in_other_collections(former: Path, server: AnswerServer) -> None:
    run(former / "one" / "pool.yaml", reread=True)
    assert graded(former, "two") == {
        "e0": ("ok", 1), "e4": ("unparsed", None), "e6": ("ok", 2), "e10": ("unparsed", None),
    }  # fmt: skip
    assert run(former / "two" / "pool.yaml", reread=True).reread is None


def test_a_collection_that_shares_can_be_read_first(former: Path, server: AnswerServer) -> None:
    run(former / "two" / "pool.yaml", reread=True)
    expected = {"e0": ("ok", 1), "e4": ("unparsed", None), "e6": ("ok", 2), "e10": ("unparsed", None)}
    assert graded(former, "two") == expected
    run(former / "one" / "pool.yaml", reread=True)
    assert graded(former, "two") == expected


@pytest.mark.parametrize("reread", [True, False])
def test_a_second_reading_changes_nothing(former: Path, server: AnswerServer, reread: bool) -> None:
    server.instead = CLEAN
    run(former / "one" / "pool.yaml", reread=reread)
    labels, attempts, found = count(former, "labels"), count(former, "attempts"), graded(former, "one")
    asked = len(server.asked)
    heard = Heard()
    report = run(former / "one" / "pool.yaml", heard, reread=reread)
    assert report.reread is None
    assert (count(former, "labels"), count(former, "attempts"), len(server.asked)) == (labels, attempts, asked)
    assert graded(former, "one") == found
    assert not [line for line in heard.lines if "newer rules" in line]


def test_judging_asks_only_what_is_in_doubt(former: Path, server: AnswerServer) -> None:
    server.instead = CLEAN
    report = run(former / "one" / "pool.yaml")
    failed_before = [place for place, (*_, was, now) in enumerate(ANSWERS) if was is None and now[1] is None]
    asked = {place for place in range(len(ANSWERS)) for text in server.asked if f"[answer {place}]" in text}
    # The token's pair shows the marker of answer 0.
    assert asked == {*DOUBTFUL, *failed_before, 0}
    assert len(server.asked) == len(DOUBTFUL) + len(failed_before) + 1
    [tokens] = [text for text in server.asked if "im_start" in text]
    assert "<\\|im_start|>system" in tokens
    found = graded(former, "one")
    kept = {f"d{place:02d}": now for place, (*_, now) in enumerate(ANSWERS) if now[1] is not None}
    assert {doc_id: found[doc_id] for doc_id in kept} == kept
    assert all(found[doc_id] == ("ok", 1) for doc_id in found if doc_id not in kept and doc_id != "empty")
    assert report.pending.with_tokens == 1
    assert dict(report.pending.coverage.states) == {"ok": len(ANSWERS) + 2, "no_text": 1}


def test_a_dry_run_says_the_same_and_writes_nothing(former: Path, server: AnswerServer) -> None:
    with Store.open(f"sqlite:///{former}/labels.db", former):
        pass  # migrated
    before = (former / "labels.db").read_bytes()
    heard = Heard()
    planned = plan(former / "one" / "pool.yaml", "gpt", heard)
    assert [line for line in heard.lines if "now in doubt" in line]
    assert (planned.no_text, planned.with_template_tokens) == (1, 1)
    server.instead = CLEAN
    assert (former / "labels.db").read_bytes() == before
    report = run(former / "one" / "pool.yaml")
    assert planned.to_ask == report.pending.asked == len(server.asked)


def test_a_batch_hands_in_what_is_in_doubt(former: Path, server: AnswerServer) -> None:
    heard = Heard()
    with pytest.raises(Exception, match=r"404|501|Batch"):
        batch.submit(former / "one" / "pool.yaml", "gpt", heard)
    assert [line for line in heard.lines if "now in doubt" in line]


@pytest.mark.parametrize("written", range(4))
def test_reading_goes_on_where_it_was_interrupted(
    former: Path, server: AnswerServer, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """Killed between two commits, it ends as if it had not been."""
    monkeypatch.setattr("quati_pool.store.rereading._LABELS_A_CHUNK", 1)
    path = former / "one" / "pool.yaml"
    append = Store.append
    left = written

    def dying(store: Store, *given: Any) -> list[int]:
        nonlocal left
        if left == 0:
            raise KeyboardInterrupt
        left -= 1
        return append(store, *given)

    monkeypatch.setattr(Store, "append", dying)
    with suppress(KeyboardInterrupt):
        run(path, reread=True)
    monkeypatch.setattr(Store, "append", append)
    run(path, reread=True)
    found = graded(former, "one")
    assert {doc_id: found[doc_id] for doc_id in found if doc_id[1:].isdigit()} == {
        f"d{place:02d}": now for place, (*_, now) in enumerate(ANSWERS)
    }
    with closing(sqlite3.connect(former / "labels.db")) as connection:
        twice = connection.execute(
            "SELECT rereads FROM labels WHERE rereads IS NOT NULL GROUP BY 1 HAVING count(*) > 1"
        )
        assert twice.fetchall() == []


def test_qrels_are_refused_until_the_doubtful_were_asked(former: Path, server: AnswerServer) -> None:
    path = former / "one" / "pool.yaml"
    run(path, reread=True)
    with pytest.raises(Exception, match=r"have no grade by gpt .*unparsed"):
        export_qrels(path, "gpt")
    server.instead = CLEAN
    run(path)
    written = export_qrels(path, "gpt")
    assert "empty" not in written.path.read_text()


def test_other_names_of_the_grade_are_another_reading_and_no_other_judge(former: Path, server: AnswerServer) -> None:
    """Answers that a new alias makes readable are graded without being asked again."""
    from quati_pool.bundled import bundled

    text = (bundled("prompts") / "quati-pt.yaml").read_text(encoding="utf-8")
    assert "aliases: [" in text
    folder = former / "one"
    (folder / "prompts").mkdir()
    (folder / "prompts" / "quati-pt.yaml").write_text(text.replace("aliases: [", "aliases: [Outra, "), encoding="utf-8")
    server.instead = "Outra: 3"
    report = run(folder / "pool.yaml")
    assert dict(report.pending.coverage.states) == {"ok": len(ANSWERS) + 2, "no_text": 1}
    with Store.open(f"sqlite:///{former}/labels.db", former) as store:
        assert len({row.version for row in store.labelers("one")}) == 1
    (folder / "prompts" / "quati-pt.yaml").unlink()
    asked = len(server.asked)
    again = run(folder / "pool.yaml", reread=True)
    assert again.reread is not None
    assert again.reread.in_doubt > 0
    assert len(server.asked) == asked


def test_the_command_says_what_became_of_the_answers_and_what_asking_costs(
    former: Path, server: AnswerServer, cli: Cli
) -> None:
    path = former / "one" / "pool.yaml"
    done = cli("judge", "gpt", "--reread", "--format", "json", "-c", path)
    assert done.status == 0
    [line] = [line for line in done.err.splitlines() if "newer rules" in line]
    assert line.startswith("gpt: ")
    assert "asking again takes 9 calls at least" in line
    data = json.loads(done.out)
    assert data["reread"]["in_doubt"] == len(DOUBTFUL) + 1
    assert data["states"]["no_text"] == 1
    assert "run the same command again" not in done.err
    assert f"{data['pairs'] - data['states']['ok'] - 1} pairs are to be asked" in done.err
    assert server.asked == []
    refused = cli("judge", "lexical", "--reread", "-c", path)
    assert refused.status == 1


def test_few_queries_of_many_pairs_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    """Answers with their thoughts are long: of 50 queries with thousands of pairs each they would fill the memory."""
    entries = [Entry(label=label(f"q{q:02d}", f"d{d}")) for q in range(20) for d in range(400)]
    with Store.open(None, tmp_path) as store:
        store.append(entries)
        parts = list(unread(store, Owner("pira", "gpt"), "v1", "2-new"))
    assert sum(len(part.waiting) for part in parts) == len(entries)
    assert max(len(part.labels) for part in parts) <= 2000
    assert [part.done for part in parts] == [5, 10, 15, 20]
