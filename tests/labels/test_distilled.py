"""A judge that was distilled from other labelers' grades is never counted as independent of them. The judge here is a
class in a file, which says what it learned from as the judge ``distilled`` does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from quati_pool.commands.agree import AgreeReport, agree
from quati_pool.commands.audit.grade_inputs import GradeSettings, WorkspaceGrades
from quati_pool.commands.audit.grades import GradeAudit
from quati_pool.commands.judge.judge import judge
from quati_pool.errors import ConfigError
from quati_pool.files.digests import query_sha
from quati_pool.judging.origin import Origin
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.reporting.answers.audit_grades import grade_rest
from quati_pool.store.database import Store
from tests.commands.judged import many, workspace

QUERIES, DOCS = 6, 8
SEEN = [f"pergunta q{number:04d}" for number in range(4)]
"""The texts of the queries whose grades the judge saw."""

_CODE = """\
import hashlib
from quati_pool.judging.base import Judge, Parameters
from quati_pool.judging.verdict import Verdict
from quati_pool.records import State


class Hashed(Judge):
    class Parameters(Parameters):
        salt: str = ""

    def grade(self, pairs):
        return [Verdict(State.ok, hashlib.sha256((self.parameters.salt + pair.text).encode()).digest()[0] % 4)
                for pair in pairs]


class Pupil(Hashed):
    def identity(self):
        learned = {"labelers": ["teacher", "wise"], "models": ["gpt-4o", "base"], "families": ["owl"],
                   "queries": QUERIES}
        return {**super().identity(), "learned": learned}

    def grade(self, pairs):
        return [Verdict(State.ok, one.relevance, details={"expected_grade": one.relevance + 0.25})
                for one in super().grade(pairs)]
"""

JUDGES: dict[str, Any] = {
    "teacher": {"judge": "mine.py:Hashed"},
    "pupil": {"judge": "mine.py:Pupil", "salt": "a"},
    "other": {"judge": "mine.py:Hashed", "salt": "b"},
    "both": {"consensus": ["pupil", "other"], "method": "mean"},
}


def made(folder: Path, **settings: Any) -> Path:
    config = workspace(folder, many(QUERIES, DOCS), JUDGES, **settings)
    (folder / "mine.py").write_text(_CODE.replace("QUERIES", repr([query_sha(query) for query in SEEN])))
    (folder / "queries.tsv").write_text("".join(f"q{n:04d}\tpergunta q{n:04d}\n" for n in range(QUERIES)))
    rows = [f"q{q:04d} 0 d{d:04d} {(q + d) % 4}\n" for q in range(QUERIES) for d in range(DOCS)]
    (folder / "people.qrels").write_text("".join(rows))
    for name in ("teacher", "pupil", "other"):
        judge(config, name, Listener())
    return config


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("distilled")
    return made(folder, labels={"files": {"ana": {"path": "people.qrels", "person": True}}})


@pytest.fixture
def grading(config: Path) -> Iterator[Grading]:
    loaded = load_config(config)
    with Store.open(loaded.labels.url, loaded.folder) as store:
        yield Grading(loaded, store)


def test_its_labels_say_from_whom_it_learned(grading: Grading) -> None:
    pupil = grading.labeler("pupil")
    assert (pupil.grader, pupil.derived_from) == ("distilled", {"teacher", "wise"})
    (origin,) = pupil.origins
    assert (origin.models, origin.families) == ({"gpt-4o", "base"}, {"owl"})
    assert [origin.saw(f"pergunta q{number:04d}") for number in range(QUERIES)] == [True] * 4 + [False] * 2
    # A consensus depends on the teachers too, and on its other member.
    both = grading.labeler("both")
    assert both.derived_from == {"teacher", "wise", "other"}
    assert both.origins == (origin,)
    assert grading.labeler("teacher").derived_from == frozenset()
    assert grading.labeler("teacher").origins == ()


def test_its_labels_stay_its_own_where_it_is_no_longer_in_pool_yaml(config: Path) -> None:
    loaded = load_config(config)
    with Store.open(loaded.labels.url, loaded.folder) as store:
        alone = Grading(loaded.model_copy(update={"judges": {}}), store).labeler("pupil")
        assert (alone.grader, alone.derived_from) == ("distilled", {"teacher", "wise"})


def test_details_of_its_verdicts_are_in_its_labels(grading: Grading) -> None:
    chunk = next(grading.pairs())
    for one, labels in zip(grading.labeler("pupil").graded(chunk), grading.labeler("pupil").behind(chunk), strict=True):
        assert one.relevance is not None
        assert labels[1].extra["expected_grade"] == one.relevance + 0.25


def test_it_is_not_compared_with_its_teacher_and_counts_in_no_coefficient_of_several(config: Path) -> None:
    report: AgreeReport = agree(config, draws=0)
    shared = {frozenset((pair.a, pair.b)): pair.shared_members for pair in report.pairs}
    assert shared[frozenset(("teacher", "pupil"))] == ("teacher",)
    assert shared[frozenset(("pupil", "other"))] == ()
    assert shared[frozenset(("pupil", "both"))] == ("teacher", "wise")
    assert {"teacher", "pupil"} not in [{pair.a, pair.b} for pair in report.compared]
    assert report.ratings.independent == ("ana", "teacher", "other")
    # Both named: compared all the same, as a panel and its member are.
    named = agree(config, ["teacher", "pupil"], draws=0)
    assert [(pair.a, pair.b) for pair in named.compared] == [("teacher", "pupil")]


def test_an_audit_compares_it_on_queries_that_it_did_not_see(grading: Grading) -> None:
    found = WorkspaceGrades(grading, GradeSettings(people="ana")).of("pupil")
    assert isinstance(found, GradeAudit)
    assert found.overrating.shift.n == 2 * DOCS
    assert (found.teachers, found.seen_queries) == (("teacher", "wise"), 4)
    unseen = {f"q{number:04d}" for number in range(4, QUERIES)}
    assert found.ratings is not None
    rows = [row for row in range(len(found.ratings)) if found.ratings.of("pupil")[row] >= 0]
    assert {query_id for query_id, _ in found.ratings.pair_ids(rows)} == unseen
    # Nobody else's grades are left out, and neither is anything of a judge that learned from nobody.
    other = WorkspaceGrades(grading, GradeSettings(people="ana")).of("other")
    assert isinstance(other, GradeAudit)
    assert (other.overrating.shift.n, other.teachers) == (QUERIES * DOCS, ())
    # Judges that err alike: its teacher is not among those that it is compared with.
    assert [one.other for one in found.alike] == ["other"]


def test_an_audit_says_when_it_has_seen_all(tmp_path: Path) -> None:
    config = made(tmp_path, labels={"files": {"ana": {"path": "people.qrels", "person": True}}})
    code = _CODE.replace("QUERIES", repr([query_sha(f"pergunta q{number:04d}") for number in range(QUERIES)]))
    (tmp_path / "mine.py").write_text(code)
    judge(config, "pupil", Listener())
    loaded = load_config(config)
    with Store.open(loaded.labels.url, loaded.folder) as store:
        found = WorkspaceGrades(Grading(loaded, store), GradeSettings(people="ana")).of("pupil")
    assert found == "it was distilled from teacher and wise, and saw grades of all queries that it graded here"


def test_its_teachers_grades_cannot_calibrate_it(tmp_path: Path) -> None:
    files = {"teacher": {"path": "people.qrels", "person": True}}
    config = made(tmp_path)
    settings = yaml.safe_load(config.read_text())
    settings["labels"] = {"files": files}
    settings["judges"] = {
        "pupil": JUDGES["pupil"],
        "mixed": {"people": "teacher", "else": "pupil"},
        "plain": {"people": "teacher", "else": "pupil", "calibrated": False},
    }
    config.write_text(yaml.safe_dump(settings))
    loaded = load_config(config)
    with Store.open(loaded.labels.url, loaded.folder) as store:
        grading = Grading(loaded, store)
        with pytest.raises(ConfigError, match="pupil was distilled from teacher, whose grades therefore cannot calib"):
            grading.labeler("mixed")
        assert grading.labeler("plain").derived_from == {"teacher", "wise"}


@pytest.mark.parametrize("identity", [None, {}, {"learned": []}, {"learned": {"labelers": []}}, {"learned": "gpt"}])
def test_a_judge_that_says_nothing_learned_from_nobody(identity: dict[str, Any] | None) -> None:
    assert Origin.of(identity) is None


def test_the_answer_of_an_audit_names_them(config: Path) -> None:
    from quati_pool.commands.audit.audit import AuditReport

    loaded = load_config(config)
    with Store.open(loaded.labels.url, loaded.folder) as store:
        found = WorkspaceGrades(Grading(loaded, store), GradeSettings(people="ana")).of("pupil")
    assert isinstance(found, GradeAudit)
    report = AuditReport("pupil", "distilled", None, (), None, grades=found)
    assert grade_rest(report)[0] == (
        "It was distilled from the grades of teacher and wise; the 4 queries here of which it saw grades are left out."
    )
