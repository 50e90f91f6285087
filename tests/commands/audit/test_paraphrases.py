"""A judge asked with other wordings of its prompt, with a real server over HTTP."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from quati_pool.bundled import bundled
from quati_pool.commands.audit.audit import AuditReport, audit, stored_audit
from quati_pool.commands.audit.grade_inputs import GradeSettings, WorkspaceGrades
from quati_pool.commands.audit.plan import plan
from quati_pool.commands.audit.settings import AuditSettings
from quati_pool.commands.audit.wordings import Wordings
from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import judge
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.store.database import Store
from tests.commands.audit.planted import ANSWER, answer, pairs, topic
from tests.commands.audit.test_audit import people_say
from tests.commands.judged import rows, workspace
from tests.llm.server import PROBE, ServerProcess

QUERIES, DOCS = 8, 6
WORDINGS = ["quati-pt-2", "quati-pt-3", "examples reversed"]
PRICED = {"prices": "prices.yaml", "max_tokens": 100, "output": "json_schema"}
ONE_PROBE = {"pairs": 2, "probes": {"length": {"words": 60}}}
# The grade is right under every wording; every second passage holds the answer.
RIGHT = [
    *((rf"(?s){topic(number)}\b.*(?i:{answer(number)})", ANSWER) for number in range(QUERIES)),
    ("", 0),
]
# The user's message of quati-pt-3 begins so; under that wording alone nothing is a 0.
TURNED = [("(?s)A pessoa buscou:.*" + pattern.removeprefix("(?s)"), grade or 1) for pattern, grade in RIGHT]


@pytest.fixture
def server(server: ServerProcess) -> ServerProcess:
    """The server, which grades rightly."""
    server.script(grades=RIGHT)
    return server


def graded(folder: Path, queries: int = 4, prompts: Sequence[str] = (), **settings: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "prices.yaml").write_text(
        "mine:\n  as_of: 2026-11-01\n  source: a test\n  models:\n    fake-1: {input: 10, output: 1000}\n", "utf-8"
    )
    paraphrases = {"queries": queries, "prompts": [*prompts]}
    config = workspace(
        folder,
        pairs(QUERIES, DOCS),
        {"fake": {"model": "fake-1", "prompt": "quati-pt", **PRICED}},
        audit={**ONE_PROBE, "paraphrases": paraphrases},
        **settings,
    )
    assert judge(config, "fake", Listener(), JudgeOptions()).error is None
    return config


def run(config: Path, **settings: Any) -> AuditReport:
    (report,) = audit(config, ["fake"], Listener(), AuditSettings(**settings))
    return report


def reworded(report: AuditReport) -> Wordings:
    assert report.wordings is not None
    return report.wordings


def figures(found: Wordings) -> list[Any]:
    return [(one.name, one.mean, one.shift, one.kappa, one.kappa_people) for one in found.all]


def drawn(config: Path) -> list[tuple[str, str]]:
    with gzip.open(config.parent / "audits" / "fake" / "paraphrases.jsonl.gz", "rt") as lines:
        return [(case["query_id"], case["doc_id"]) for case in map(json.loads, lines)]


def stored(config: Path) -> AuditReport:
    loaded = load_config(config)
    with Store.open(loaded.labels.url, loaded.folder) as store:
        found = stored_audit(WorkspaceGrades(Grading(loaded, store)), "fake", lambda line: None)
    assert found is not None
    return found


def test_whole_queries_are_asked_about_once_with_each_wording(
    server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = graded(tmp_path)
    server.clear()
    report = run(config)
    assert report.fault is None
    found = reworded(report)
    assert ([one.name for one in found.others], found.own.name) == (WORDINGS, "quati-pt")
    assert (found.pairs, found.queries) == (4 * DOCS, 4)
    asked = Counter(entry["id"] for entry in server.log() if entry["id"] != PROBE)
    probes = sum(len({case.asked[0] for case in one.cases}) for one in report.probes)
    assert report.asked == sum(asked.values()) >= 3 * 4 * DOCS + probes
    answers = rows(tmp_path, "SELECT version, COUNT(*) FROM labels WHERE extra LIKE '%paraphrases%' GROUP BY version")
    assert sorted(number for _, number in answers) == [4 * DOCS] * 3
    phases = rows(tmp_path, "SELECT DISTINCT phase FROM labels WHERE extra LIKE '%paraphrases%'")
    assert phases == [("probe",)]
    server.clear()
    monkeypatch.delenv("OPENAI_API_KEY")
    again = run(config)
    assert (again.asked, again.left, server.log()) == (0, 0, [])
    assert figures(reworded(again)) == figures(found) == figures(reworded(stored(config)))


def test_a_wording_that_turns_the_judge_is_found_and_another_is_not(server: ServerProcess, tmp_path: Path) -> None:
    server.script(grades=[*TURNED, *RIGHT])
    report = run(graded(tmp_path))
    found = reworded(report)
    own, second, third, mirrored = found.all
    # Half of the pairs are right at 2, the others are 0, and 1 under the third wording: κ of (2, 2) and (0, 1) in
    # halves is (0.5 - 0.25) / (1 - 0.25) = 1/3.
    assert [one.mean for one in found.all] == [1.0, 1.0, 1.5, 1.0]
    assert [one.shift and one.shift.value for one in found.all] == [None, 0.0, 0.5, 0.0]
    assert [one.kappa and one.kappa.value for one in (second, mirrored)] == [1.0, 1.0]
    assert third.kappa is not None
    assert third.kappa.value == pytest.approx(1 / 3)
    assert own.kappa is None
    (line,) = [one for one in report.grade_lines if one.danger == "wording of the prompt"]
    # Every query has the same share, so that the interval is a point.
    assert (line.position, line.seen, line.low, line.high, line.n) == ("beyond", 0.5, 0.5, 0.5, 4 * DOCS)


def test_a_judge_that_no_wording_turns_is_within_its_bound(server: ServerProcess, tmp_path: Path) -> None:
    (line,) = [one for one in run(graded(tmp_path)).grade_lines if one.danger == "wording of the prompt"]
    assert (line.position, line.seen) == ("within", 0.0)


def test_people_are_compared_with_each_wording_and_their_queries_come_first(
    server: ServerProcess, tmp_path: Path
) -> None:
    server.script(grades=[*TURNED, *RIGHT])
    config = graded(tmp_path, queries=3)
    # Two queries whole, and one pair of a third.
    people_say(config, "ana", [ANSWER if doc % 2 else 0 for _ in range(2) for doc in range(DOCS)] + [0])
    found = reworded(run(config))
    assert {query_id for query_id, _ in drawn(config)[: 2 * DOCS]} == {"q00", "q01"}
    assert found.pairs == 3 * DOCS
    assert 2 * DOCS <= found.by_people <= 2 * DOCS + 1
    kappas = [one.kappa_people.value for one in found.all if one.kappa_people is not None]
    # Without the one further pair 1/3 as above; with it (0, 1) is 7 of 13: (6/13 - 36/169) / (1 - 36/169) = 0.316.
    assert kappas == [1.0, 1.0, pytest.approx(1 / 3 if found.by_people == 2 * DOCS else 42 / 133), 1.0]


def test_what_was_drawn_stays_and_more_queries_are_added(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path, queries=2)
    run(config)
    kept = drawn(config)
    people_say(config, "ana", [0] * QUERIES * DOCS)
    assert run(config).asked == 0
    assert drawn(config) == kept
    written = config.read_text(encoding="utf-8")
    config.write_text(written.replace("queries: 2", "queries: 3"), encoding="utf-8")
    more = run(config)
    assert more.asked == 3 * DOCS
    assert drawn(config)[: len(kept)] == kept
    assert reworded(more).queries == 3
    config.write_text(written, encoding="utf-8")
    assert reworded(run(config)).queries == 3


def test_without_money_it_ends_and_later_asks_what_is_left(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    broke = run(config, budget=0.001)
    assert (broke.asked, broke.wordings) == (0, None)
    assert broke.no_wordings == "nothing was asked with another wording yet"
    assert broke.fault is not None
    part = run(config, budget=1.0)
    assert 0 < part.asked < broke.left
    assert part.cost <= 1.0
    rest = run(config)
    assert (rest.fault, rest.asked) == (None, broke.left - part.asked)
    assert reworded(rest).pairs == 4 * DOCS


def test_a_dry_run_forecasts_the_calls_of_all_wordings(server: ServerProcess, tmp_path: Path) -> None:
    config = graded(tmp_path)
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    (forecast,) = plan(config, ["fake"], Listener())
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before
    report = run(config)
    calls = sum(one.calls.attempts for one in report.runs if one.calls is not None)
    # Each client's first question is about no pair.
    assert forecast.to_ask == report.asked
    assert forecast.calls == calls - sum(one.calls is not None for one in report.runs)
    sent = sum(one.calls.tokens["input"] for one in report.runs if one.calls is not None)
    assert forecast.input_tokens == pytest.approx(sent, rel=0.3)


def test_a_wording_of_ones_own_is_asked_too_and_one_with_other_grades_is_refused(
    server: ServerProcess, tmp_path: Path
) -> None:
    text = (bundled("prompts") / "paraphrases" / "quati-pt-2.yaml").read_text(encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(text.replace("id: quati-pt-2", "id: mine").replace("MATERIAL", "O TEXTO"))
    config = graded(tmp_path, prompts=["mine.yaml"])
    assert [one.name for one in reworded(run(config)).others] == ["quati-pt-2", "quati-pt-3", "mine.yaml", WORDINGS[2]]
    config.write_text(config.read_text(encoding="utf-8").replace("mine.yaml", "binary-pt"), encoding="utf-8")
    server.clear()
    message = r"pool\.yaml: audit\.paraphrases\.prompts: .*; name a wording with the same grades"
    with pytest.raises(ConfigError, match=message):
        run(config, redraw=True)
    assert server.log() == []
    found = stored(config)
    assert found.wordings is None
    assert re.search(message, found.no_wordings or "")
    assert any(one.findings for one in found.probes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"runs": ("nofile",)}, "nofile"),
        ({"grades": GradeSettings(measure="nosuch")}, "nosuch"),
        ({"grades": GradeSettings(judge_families={"nobody": "x"})}, "--judge-family: there is no judge 'nobody'"),
        ({"grades": GradeSettings(families=Path("nofile.tsv"))}, "nofile.tsv"),
    ],
)
def test_faulty_options_are_refused_before_anything_is_asked(
    server: ServerProcess, tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    config = graded(tmp_path)
    server.clear()
    with pytest.raises(QuatiPoolError, match=message):
        run(config, **settings)
    assert server.log() == []


def test_what_has_no_other_wording_says_so(tmp_path: Path) -> None:
    config = workspace(
        tmp_path, pairs(3, 4), {"lexical": {"judge": "lexical"}}, audit={**ONE_PROBE, "paraphrases": {"queries": 2}}
    )
    assert judge(config, "lexical", Listener(), JudgeOptions()).error is None
    (report,) = audit(config, ["lexical"], Listener())
    assert (report.wordings, report.no_wordings) == (None, "it has no prompt")
    assert not (tmp_path / "audits" / "lexical" / "paraphrases.jsonl.gz").exists()


def test_named_probes_leave_the_wordings_out(server: ServerProcess, tmp_path: Path) -> None:
    report = run(graded(tmp_path), probes=("question",))
    assert (report.wordings, report.no_wordings) == (None, None)
