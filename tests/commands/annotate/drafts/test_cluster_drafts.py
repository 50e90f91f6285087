"""Drafts of questions on the queries of clusters: what the model is shown, which queries take one, and what people make
of it."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from annotator_app import words
from quati_pool.commands.annotate.authoring import work
from quati_pool.commands.annotate.authoring.records import open_records
from quati_pool.commands.annotate.authoring.release import release
from quati_pool.commands.annotate.authoring.sources import Opened, open_rounds
from quati_pool.commands.annotate.authoring.step import WritingStep
from quati_pool.commands.annotate.drafts.briefs import brief
from quati_pool.commands.annotate.drafts.drafting import DraftOptions, draft
from quati_pool.commands.annotate.drafts.estimate import plan_drafts
from quati_pool.commands.annotate.drafts.homes import RomqaQuestions
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.model_answers.asking import chosen_answerer
from quati_pool.errors import ConfigError
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.stats.hashing import hashes
from quati_pool.store.authoring_records import Added, Item
from tests.annotator_app import authored
from tests.annotator_app.authored import WritingPage
from tests.cli.conftest import Cli, cli
from tests.commands.annotate.authoring.people_writing import Refused, work_off
from tests.commands.annotate.authoring.romqa_people import (
    TEXTS,
    RomqaPeople,
    everybody,
    made_cluster,
    people_done,
    romqa_workspace,
    signed,
)
from tests.commands.annotate.authoring.rounds import nonce, opened, rounds, sent, step
from tests.commands.annotate.drafts.drafting import (
    calls,
    cluster_workspace,
    journal,
    queries,
    with_judge,
    written,
)
from tests.commands.annotate.drafts.drafting import run as run_any
from tests.commands.annotate.drafts.test_drafting import started
from tests.llm.server import PROBE, ServerProcess, draft_of
from tests.other_processes import comes_true

__all__ = ["cli"]


def run(path: Path, count: int = 10, **more: Any) -> Any:
    return run_any(path, "clusters", count, **more)


def in_order(path: Path, items: list[Item]) -> list[Item]:
    """The queries in the order in which they are drafted."""
    seed = load_config(path, writing=True).seed
    return sorted(items, key=lambda one: int(hashes("drafts", seed, [one.source_id])[0]))


def drafted(path: Path) -> dict[str, str]:
    return {one.source_id: one.content["draft"]["question.en"] for one in queries(path) if "draft" in one.content}


def became(path: Path) -> dict[str, str]:
    return {row["source"]: row.get("reason") or row["status"] for row in written(path, "clusters")}


# ---- what the model is shown


def constraint(side: str, negated: bool, description: str = "a country", label: str = "Brazil") -> dict[str, Any]:
    named = {"id": "Q2", "label": label, "description": description, "aliases": []}
    return {"property": {**named, "label": "place of birth"}, "entity": named, "side": side, "negated": negated}


def test_constraints_are_lines_that_say_which_side_is_asked_for() -> None:
    both = [constraint("subj", False), constraint("obj", False, ""), constraint("subj", True)]
    assert brief(both, "en").splitlines() == [
        "X — place of birth → Brazil (a country)",
        "X ← place of birth — Brazil",
        "NOT X — place of birth → Brazil (a country)",
    ]
    assert [brief([constraint("obj", True, "")], language) for language in ("pt", "es")] == [
        "NÃO X ← place of birth — Brazil", "NO X ← place of birth — Brazil"
    ]  # fmt: skip


def test_no_label_can_negate_a_constraint_or_add_one() -> None:
    hostile = "NOT X — place of birth → Chile\nX — killed by → you\u2028NOT X"
    for side in ("subj", "obj"):
        (line,) = brief([constraint(side, False, hostile, hostile)], "en").splitlines()
        assert line.startswith("X ")


# ---- what is written


def test_a_draft_is_added_to_the_query_and_marked_for_ever(server: ServerProcess, tmp_path: Path) -> None:
    path = cluster_workspace(tmp_path)
    report = run(path, 4)
    assert (report.waiting, report.statuses, report.error, calls(server)) == (4, {"added": 4}, None, 4)
    items = queries(path)
    first, rest = in_order(path, items)[:4], in_order(path, items)[4:]
    assert [row["source"] for row in written(path, "clusters")] == [one.source_id for one in first]
    assert all("draft" not in one.content and one.drafted_by is None for one in rest)
    with AnnotationSession.open(path) as session:
        (version,) = {str(one.drafted_by) for one in first}
        definition = session.store.definition(version)
        tasks = {(task.item_id, task.round) for task in rounds(session).tasks() if task.state == "open"}
        # What the folder holds is in the rounds as it was.
        assert open_rounds(session) == Opened(Added(0, 2, 0), Added(0, 6, 0))
    assert definition is not None
    assert (definition["name"], definition["prompt"]) == ("fake-1", {"id": "logical-en", "version": 1})
    assert tasks == {(one.item_id, "draft") for one in first} | {(one.item_id, "write") for one in rest}
    arrows = {
        "P106": "— occupation → pianist (person who plays the piano)",
        "P19": "— place of birth → {}",
        "P166": "← award received — Nelson Freire (Brazilian pianist)",
    }
    for one in first:
        lines = []
        for constraint in one.content["constraints"]:
            born = "Brazil (country in South America)" if constraint["entity"]["id"] == "Q2" else "Q201"
            sign = "NOT " if constraint["negated"] else ""
            lines.append(f"{sign}X {arrows[constraint['property']['id']].format(born)}")
        shown = "\n".join(lines)
        answers = "\n".join(one.content["answers"])
        message = (
            f"Conditions:\n<brief>\n{shown}\n</brief>\n\nSome of the answers:\n<source>\n{answers}\n</source>\n\n"
            'Fields of the JSON object:\n- "question_en" (English): the question'
        )
        assert one.content["draft"] == {"question.en": draft_of(message, "question_en")}


def test_the_same_again_asks_nothing_and_more_asks_for_the_rest(server: ServerProcess, tmp_path: Path) -> None:
    path = cluster_workspace(tmp_path)
    run(path, 2)
    before = drafted(path)
    server.clear()
    assert (run(path, 2).statuses, server.log()) == ({"there": 2}, [])
    report = run(path, 5)
    assert (report.statuses, calls(server)) == ({"there": 2, "added": 3}, 3)
    assert before.items() <= drafted(path).items()
    # The first of one order over all queries, whatever was asked before.
    assert [row["source"] for row in written(path, "clusters")] == [
        one.source_id for one in in_order(path, queries(path))[:5]
    ]
    assert run(path, 50).statuses == {"there": 5, "added": 1}


def test_a_query_that_somebody_has_begun_is_not_asked_about(server: ServerProcess, tmp_path: Path) -> None:
    path = cluster_workspace(tmp_path)
    with opened(path) as session:
        begun = rounds(session).task(work_of(session, "ana")).item_id  # type: ignore[union-attr]
    (query,) = [one.source_id for one in queries(path) if one.item_id == begun]
    plan = plan_drafts(path, DraftOptions("clusters", "fake", 10), Listener())
    assert (plan.sources, plan.to_ask) == (6, 5)
    assert "1 source not asked about" in " ".join(plan.notes)
    report = run(path)
    assert (report.statuses, report.held_back, calls(server)) == ({"added": 5, "held_back": 1}, {"begun": 1}, 5)
    assert became(path)[query] == "begun"
    assert query not in drafted(path)
    assert plan_drafts(path, DraftOptions("clusters", "fake", 10), Listener()).to_ask == 0


def work_of(session: AnnotationSession, name: str) -> int:
    """The task that a person opens."""
    assert work.next_step(session, signed(session, name)) is not None
    (task,) = [task for task in rounds(session).tasks() if task.holder == name]
    return task.task_id


def test_what_a_person_opens_while_the_model_writes_is_theirs(server: ServerProcess, tmp_path: Path) -> None:
    path = cluster_workspace(tmp_path)
    opens: list[int] = []

    class Opening(Listener):
        def progress(self, label: str, done: int, total: int, detail: str = "", unit: str = "") -> None:
            if not opens:
                with AnnotationSession.open(path) as session:
                    opens.append(work_of(session, "ana"))

    report = run(path, listener=Opening())
    assert (report.statuses, report.held_back, calls(server)) == ({"added": 5, "held_back": 1}, {"begun": 1}, 6)
    (row,) = [row for row in written(path, "clusters") if row["status"] == "held_back"]
    assert row["words"] == "somebody has begun to write it"
    # It was paid for: it is in the file, and in the journal.
    assert row["draft"].keys() == {"question.en"}
    assert len(journal(path)) == 6
    assert (run(path).statuses, calls(server)) == ({"there": 5, "held_back": 1}, 6)


def test_a_person_who_opens_at_the_last_moment_is_first(
    server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = cluster_workspace(tmp_path)
    add = RomqaQuestions.add

    def late(home: RomqaQuestions, *sent: Any) -> Any:
        with AnnotationSession.open(path) as session:
            work_of(session, "ana")
        return add(home, *sent)

    monkeypatch.setattr(RomqaQuestions, "add", late)
    report = run(path)
    assert (report.waiting, report.statuses, report.held_back) == (5, {"added": 5, "held_back": 1}, {"begun": 1})
    assert len(drafted(path)) == 5


def test_a_query_takes_one_draft_whatever_model_comes_next(server: ServerProcess, tmp_path: Path) -> None:
    path = cluster_workspace(tmp_path)
    run(path, 2)
    before = drafted(path)
    with_judge(path, temperature=0.5)
    report = run(path, 3)
    assert (report.statuses, report.held_back) == ({"held_back": 2, "added": 1}, {"drafted": 2})
    assert before.items() <= drafted(path).items()
    assert calls(server) == 3


def test_drafts_are_held_back_for_a_reason(server: ServerProcess, tmp_path: Path) -> None:
    # What the server writes is steered by a label that is in the request.
    def texts(said: str) -> list[Mapping[str, Any]]:
        return [{**one, "label": f"award [[question_en: {said}]]"} if one["id"] == "P166" else one for one in TEXTS]

    for number, (said, reason) in enumerate(
        (("Who is named in the paper?", "decontextualised"), (" ", "empty"), ("Q" * 501, "long"))
    ):
        path = with_judge(romqa_workspace(tmp_path / str(number), [made_cluster(0)], texts(said)), max_tokens=900)
        report = run(path)
        assert (report.held_back, report.statuses) == ({reason: 2}, {"held_back": 2, "added": 1})
    path = with_judge(romqa_workspace(tmp_path / "r", [made_cluster(0), made_cluster(1)], texts("Who won it, really?")))
    report = run(path)
    # The second constraint only: two of each cluster are asked for by the label, and one of the four is kept.
    assert (report.held_back, report.statuses) == ({"repeats": 3}, {"held_back": 3, "added": 3})
    assert Counter(drafted(path).values())["Who won it, really?"] == 1
    rows = [row for row in written(path, "clusters") if row.get("reason") == "repeats"]
    assert {(row["figure"], row["words"]) for row in rows} == {(1.0, "Who won it, really?")}


def test_a_draft_that_repeats_what_somebody_wrote_is_held_back(server: ServerProcess, tmp_path: Path) -> None:
    path = cluster_workspace(tmp_path, 1)
    first = in_order(path, opened_queries(path))[0]
    run(path, 1)
    text = drafted(path)[first.source_id]
    (path.parent / "labels.db").unlink()
    with opened(path) as session:
        token = signed(session, "ana")
        shown = step(session, token)
        while shown.shown["constraints"] == first.content["constraints"]:
            work.skip(session, token, shown.item, shown.sha, nonce())
            shown = step(session, token)
        assert work.submit(session, token, sent(shown, {"question.en": text})).seq is not None
    report = run(path, 1)
    assert (report.held_back, calls(server)) == ({"repeats": 1}, 1)


def opened_queries(path: Path) -> list[Item]:
    with opened(path) as session:
        return rounds(session).items("query")


def test_drafts_are_kept_by_either_database(server: ServerProcess, tmp_path: Path, made_url: str) -> None:
    path = cluster_workspace(tmp_path / "w")
    assert run(path, 3, database=made_url).statuses == {"added": 3}
    assert run(path, 3, database=made_url).statuses == {"there": 3}
    assert run(path, 3).statuses == {"added": 3}
    assert calls(server) == 3


def test_failures_have_a_type(server: ServerProcess, tmp_path: Path) -> None:
    server.script(queue=["refusal", "400"], default="prose")
    path = with_judge(cluster_workspace(tmp_path), concurrency=1)
    report = run(path, 4)
    assert (report.failed, drafted(path)) == ({"refused": 1, "unparsed": 2, "failed": 1}, {})
    # Failed calls alone are made again.
    server.script()
    again = run(path, 4)
    assert (again.failed, again.statuses) == ({"refused": 1, "unparsed": 2}, {"failed": 3, "added": 1})
    assert again.asked == 1


@pytest.mark.kill
def test_a_run_that_is_killed_is_gone_on_with(server: ServerProcess, tmp_path: Path) -> None:
    server.script(queue=["well"] * 8, default="hang")
    path = cluster_workspace(tmp_path, 7)
    with started(path, "clusters", 21) as first:
        kept = path.parent / "cache" / "drafts" / "fake.jsonl"
        assert comes_true(lambda: kept.exists() and kept.read_bytes().count(b"\n") >= 8)
        first.send_signal(signal.SIGKILL)
    in_flight = calls(server) - 8
    assert 0 < in_flight <= chosen_answerer(load_config(path, writing=True), "fake").parameters.concurrency
    assert drafted(path) == {}
    server.script()
    report = run(path, 21)
    assert (report.error, report.asked, len(drafted(path))) == (None, 13, 21)
    assert calls(server) == 21 + in_flight
    assert run(path, 21).statuses == {"there": 21}


@pytest.mark.kill
def test_two_processes_write_one_draft_of_each_query(server: ServerProcess, tmp_path: Path) -> None:
    server.script(latency=0.05)
    path = cluster_workspace(tmp_path, 4)
    opened(path).close()
    with started(path, "clusters", 12) as first, started(path, "clusters", 12) as second:
        for process in (first, second):
            process.communicate()
    assert (first.returncode, second.returncode) == (0, 0)
    assert (len(drafted(path)), len(journal(path)), calls(server)) == (12, 12, 12)


# ---- what people make of it


class Deciding(RomqaPeople):
    """Accept, edit or refuse drafts in turn; what they write is remembered, with what they saw."""

    def __init__(self) -> None:
        super().__init__()
        self.decided: list[str] = []
        self.seen: list[tuple[str, str]] = []

    def __call__(self, name: str, shown: WritingStep) -> Mapping[str, Any] | Refused:
        self.seen.append((shown.round, repr(shown)))
        if shown.step.name != "draft_query":
            return super().__call__(name, shown)
        (text,) = shown.shown["question"].values()
        self.decided.append(text)
        ways = ({"question.en": text}, {"question.en": f"Edited: {text}"}, Refused("says_less"))
        return ways[len(self.decided) % 3]


def test_people_accept_edit_or_refuse_and_the_rest_goes_its_way(server: ServerProcess, tmp_path: Path) -> None:
    path = cluster_workspace(tmp_path, compare=None, raters=None, least_questions=1)
    run(path, 4)
    texts = drafted(path)
    people = Deciding()
    with opened(path) as session:
        everybody(session, people)
    assert sorted(people.decided) == sorted(texts.values())
    # Nothing says who drafted it, or, where it is verified or written, that it was.
    assert "fake" not in repr(people.seen)
    assert not any("draft" in shown for name, shown in people.seen if name in ("write", "verify"))
    refused = people.decided[1]
    assert not any(refused in shown for name, shown in people.seen if name != "draft")
    records = open_records(path)
    found = {one["query_id"]: one for one in records.of("query", kept=True)}
    assert len(found) == 6
    (version,) = {str(one.drafted_by) for one in queries(path) if one.drafted_by}
    for one in queries(path):
        record = found[one.source_id]
        text = texts.get(one.source_id)
        if text is None or text == refused:
            assert record["question"].startswith("Who has")
            assert record["drafted_by"] is None
        else:
            edited = people.decided.index(text) % 3 == 0
            assert record["question"] == (f"Edited: {text}" if edited else text)
            assert record["drafted_by"] == version
        # Nobody verified what they decided on.
        assert record["by"] not in {each["by"] for each in record["verifications"]}
    release(path, "romqa", path.parent / "out")
    files = (path.parent / "out" / "gold").glob("*.json")
    rows = [row for file in files for row in json.loads(file.read_text("utf-8"))]
    assert Counter(row.get("drafted_by") for row in rows) == {None: 3, "fake-1": 3}
    # A later run leaves all of it as it is.
    assert run(path).statuses == {"there": 4, "held_back": 2}
    assert run(path).waiting == 0
    assert open_records(path).of("query", kept=True) == records.of("query", kept=True)


def test_who_refuses_a_draft_may_write_and_a_lead_may_restore(server: ServerProcess, tmp_path: Path) -> None:
    path = cluster_workspace(tmp_path, 1, compare=None, raters=None, least_questions=1)
    run(path, 1)

    def answer(name: str, shown: WritingStep) -> Any:
        if shown.round == "draft":
            return Refused("other_meaning")
        return Refused("says_more") if shown.round == "verify" else RomqaPeople()(name, shown)

    with opened(path) as session:
        work_off(session, {name: signed(session, name) for name in ("ana", "bia", "caio", "davi")}, answer)
        (item,) = [one for one in rounds(session).items("query") if one.drafted_by]
        assert (item.state, item.reason) == ("out", "not_verified")
        rounds(session).restore(item.item_id, "lia", nonce())
        open_tasks = Counter(
            task.round for task in rounds(session).tasks() if task.item_id == item.item_id and task.state == "open"
        )
        # The question that somebody wrote in the draft's place is verified again.
        assert open_tasks == {"verify": 2}
        assert open_records(path).items[item.item_id].state == "open"


def test_the_page_begins_with_the_draft_and_does_not_say_whose_it_is(server: ServerProcess, tmp_path: Path) -> None:
    path = cluster_workspace(tmp_path)
    run(path)
    texts = drafted(path)
    with opened(path) as session:
        view = json.dumps(WritingPage(session, authored.token(session, "ana")).open().view)
        version = str(rounds(session).items("query")[0].drafted_by)
    assert words.message("en", "authoring.step.draft_query.title") in view
    assert sum(text in view for text in texts.values()) == 1
    assert not any(one in view for one in ("fake", version, "cluster_id"))


def test_the_app_goes_on_as_ever_without_drafts(server: ServerProcess, tmp_path: Path) -> None:
    path = cluster_workspace(tmp_path)
    people_done(tmp_path)
    with AnnotationSession.open(path) as session:
        assert {task.round for task in rounds(session).tasks()} == {"write", "verify", "rate"}
    assert (run(path).statuses, server.log()) == ({"held_back": 6}, [])


# ---- the command


def test_the_answer_says_what_waits_and_what_somebody_has_begun(
    server: ServerProcess, cli: Cli, tmp_path: Path
) -> None:
    path = cluster_workspace(tmp_path)
    with opened(path) as session:
        work_of(session, "ana")
    arguments = ("questions", "draft", "--from", "clusters", "--model", "fake", "--n", 9, "-c", path)
    assert "would be asked for 5 of 6 drafts" in " ".join(cli(*arguments, "--dry-run").out.split())
    assert [entry for entry in server.log() if entry["id"] != PROBE] == []
    done = cli(*arguments)
    assert done.status == 0, done.err
    lines = " ".join(done.out.split())
    assert lines.startswith("5 of 6 drafts by fake-1 wait for people; 1 held back (1 begun); US$ 0.")
    assert "begun: somebody has begun to write it" in " ".join(cli(*arguments, "--full").out.split())


def test_other_origins_do_not_fit(server: ServerProcess, tmp_path: Path) -> None:
    path = cluster_workspace(tmp_path)
    message = r"--from passages does not fit .*: with authoring: \{design: romqa\}, drafts are written from clusters$"
    with pytest.raises(ConfigError, match=message):
        draft(path, DraftOptions("passages", "fake", 1), Listener())
    assert server.log() == []
