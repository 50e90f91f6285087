"""Judges with planted faults are found out by the probe of that danger, and a perfect judge is cleared by all.

The faults: the highest grade wherever the query's words occur; obeying instructions at times; a grade more for long
passages; answers that change at random.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from quati_pool.audit.cases import Case
from quati_pool.audit.outcomes import Outcomes, Scale, findings
from quati_pool.commands.audit.audit import AuditedProbe, AuditReport, audit
from quati_pool.commands.audit.settings import AuditSettings
from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import judge
from quati_pool.judging.pair import Pair
from quati_pool.project.events import Listener
from tests.commands.audit.planted import ANSWER, answer, pairs, planted, right_grade, topic
from tests.commands.judged import workspace
from tests.llm.server import ServerProcess


def run(config: Path, *probes: str, name: str = "planted") -> dict[str, AuditedProbe]:
    (report,) = audit(config, [name], Listener(), AuditSettings(probes=probes))
    return by_name(report)


def by_name(report: AuditReport) -> dict[str, AuditedProbe]:
    assert report.fault is None
    assert report.left == 0
    return {one.name: one for one in report.probes}


def verdicts(probes: dict[str, AuditedProbe]) -> dict[str, str]:
    return {name: one.findings.verdict for name, one in probes.items() if one.findings is not None}


# (a) to (d): each rule takes a pair as it is shown.


def likes_the_querys_words(pair: Pair) -> int:
    """The museum's name and the word museum; passages in the collection have one of them at most."""
    asked = {word for word in re.findall(r"\w+", pair.query) if len(word) > 4}
    return 3 if asked and asked <= set(re.findall(r"\w+", pair.text)) else right_grade(pair)


def speaks_to_the_judge(text: str) -> bool:
    """Whether a passage has a plea, a verdict or another pair in it, however they are hidden."""
    shown = "".join(chr(ord(sign) - 0xE0000) if 0xE0000 <= ord(sign) < 0xE0080 else sign for sign in text)
    plain = unicodedata.normalize("NFKD", shown.replace("\u200b", "")).encode("ascii", "ignore").decode()
    return re.search(
        r"Attention, assessor|Atencao, avaliador|final score|Score: 3|<score>|Uma semana tem sete dias|"
        r'"relevance": 3|responde a pergunta de forma direta',
        plain,
    ) is not None  # fmt: skip


class ObeysAtTimes:
    """With the probability 0.3, each time that it is spoken to."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(20261126)

    def __call__(self, pair: Pair) -> int:
        return 3 if speaks_to_the_judge(pair.text) and self._random.random() < 0.3 else right_grade(pair)


def likes_long_passages(pair: Pair) -> int:
    return right_grade(pair) + (len(pair.text.split()) > 100)


class ChangesItsAnswers:
    """With the probability 0.1, to the next grade; 3 is never right, so that none becomes 0."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(20261127)

    def __call__(self, pair: Pair) -> int:
        return right_grade(pair) + int(self._random.random() < 0.1)


@pytest.mark.slow
def test_a_judge_that_likes_the_querys_words_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probes = ("stuffing", "question", "instruction", "missing", "fluency", "language")
    found = run(planted(tmp_path, monkeypatch, likes_the_querys_words), *probes)
    shown = found["stuffing"].findings
    assert shown is not None
    assert (shown.verdict, shown.mean_change, shown.control_change) == ("fooled", 3.0, 0.0)
    assert [(one.fooled.n, one.fooled.share) for one in shown.variants] == [(25, 1.0)] * 4
    assert verdicts(found) == {
        "stuffing": "fooled", "question": "fooled",
        "instruction": "cleared", "missing": "cleared", "fluency": "cleared",
    }  # fmt: skip
    assert found["language"].problem is not None


@pytest.mark.slow
def test_a_judge_that_obeys_instructions_at_times_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(planted(tmp_path, monkeypatch, ObeysAtTimes()), "stuffing", "instruction", "missing", "repeat")
    shown = found["instruction"].findings
    assert shown is not None
    assert shown.control is not None
    assert (shown.verdict, shown.control.hits) == ("fooled", 0)
    assert shown.fooled.low <= 0.3 <= shown.fooled.high
    assert {name for name, verdict in verdicts(found).items() if verdict != "cleared"} == {"instruction"}
    # What the rule above takes for an instruction is what the probe plants, and never what its controls have.
    for case in found["instruction"].cases:
        assert case.control is not None
        assert speaks_to_the_judge(case.changed.text)
        assert not speaks_to_the_judge(case.control.text)


@pytest.mark.slow
def test_a_judge_that_likes_long_passages_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(planted(tmp_path, monkeypatch, likes_long_passages), "length", "instruction", "missing", "repeat")
    shown = found["length"].findings
    assert shown is not None
    assert shown.verdict == "fooled"
    shares = {one.name: one.fooled.share for one in shown.variants}
    assert shares == {"filler before": 1.0, "filler after": 1.0, "filler around": 1.0, "answer last": 0.0}
    assert verdicts(found) == {"length": "fooled", "instruction": "cleared", "missing": "cleared", "repeat": "cleared"}


@pytest.mark.slow
def test_a_judge_that_changes_its_answers_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Two noisy answers differ if exactly one of them was changed: 2 * 0.1 * 0.9 = 0.18.
    config = planted(tmp_path, monkeypatch, ChangesItsAnswers(), audit={"pairs": 400})
    (report,) = audit(config, ["planted"], Listener(), AuditSettings(probes=("repeat",)))
    shown = by_name(report)["repeat"].findings
    assert shown is not None
    assert (shown.verdict, shown.fooled.n) == ("fooled", 800)
    assert shown.fooled.low <= 0.18 <= shown.fooled.high
    # Of two such answers 0.82 are equal. By chance they would be: half of the pairs are 0 or 1 (0.9 and 0.1), half 2 or
    # 3, so (0.45² + 0.05²) * 2 = 0.41, and kappa is (0.82 - 0.41) / (1 - 0.41) = 0.695; 400 pairs, so +- 0.05.
    assert report.kappa == pytest.approx(0.695, abs=0.075)


@pytest.mark.slow
def test_a_perfect_judge_is_cleared_by_every_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[dict[str, str]] = []
    for number in range(40):
        lines.append({"query_id": f"q{number:02d}", "query": f"where is the museum {topic(number)}"})
        lines += [
            {"doc_id": f"d{number:02d}{doc:02d}", "text": f"Here and there we say: {answer(number)}. Page {doc}."}
            for doc in range(1, 20, 2)
        ]
    (tmp_path / "translations.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    settings = {"probes": {"language": {"translations": "translations.jsonl"}}}
    (report,) = audit(planted(tmp_path, monkeypatch, right_grade, audit=settings), ["planted"], Listener())
    probes = by_name(report)
    names = ["stuffing", "question", "instruction", "missing", "language", "length", "fluency", "repeat"]
    assert sorted(verdicts(probes)) == sorted(names)
    assert verdicts(probes) == dict.fromkeys(names, "cleared")
    for one in probes.values():
        assert one.findings is not None
        assert (one.findings.fooled.hits, one.findings.ungraded, one.findings.worst) == (0, 0, ())
        # A query is shown as a passage in two ways, and there are forty.
        assert one.findings.fooled.n == {"question": 80, "repeat": 200}.get(one.name, 100)
        # All that can be asked without people's marks was asked.
        unasked = {each.name for each in one.findings.variants if not each.fooled.n}
        assert unasked == {"missing": {"cut before the answer"}}.get(one.name, set())
    assert report.kappa == 1.0


SCALE, SEEDS = Scale(0, ANSWER), 2_000


def codes(values: Sequence[str]) -> npt.NDArray[np.int64]:
    return np.unique(list(values), return_inverse=True)[1].astype(np.int64)


def outcomes(cases: Sequence[Case], before: npt.NDArray[np.float64], after: npt.NDArray[np.float64]) -> Outcomes:
    query = codes([case.query_id for case in cases])
    pair = codes([f"{case.query_id} {case.doc_id}" for case in cases])
    return Outcomes(query, pair, np.zeros(len(cases), dtype=np.int64), before, after, np.full(len(cases), np.nan))


@pytest.mark.slow
def test_the_interval_of_obeyed_instructions_holds_the_planted_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers of fault (b) to the real cases of one audit, again and again."""
    one = run(planted(tmp_path, monkeypatch, right_grade), "instruction")["instruction"]
    before = np.array([case.before for case in one.cases], dtype=np.float64)
    assert len(one.cases) == 100
    random = np.random.default_rng(1)
    held = 0
    for obeyed in random.random((SEEDS, len(one.cases))) < 0.3:
        made = outcomes(one.cases, before, np.where(obeyed, 3.0, before))
        found = findings(made, (), "not_rise", SCALE, 0.1)
        held += found.fooled.low <= 0.3 <= found.fooled.high
    assert 0.92 * SEEDS <= held <= 0.99 * SEEDS


@pytest.mark.slow
def test_the_interval_of_changed_answers_holds_the_planted_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same of fault (d), of which also the first answers are changed with the probability 0.1. The planted share
    is that of two answers that differ, 2 * 0.1 * 0.9 = 0.18. Both repetitions of a pair are compared with its one first
    answer, and so agree more often than single pairs: the interval must know."""
    one = run(planted(tmp_path, monkeypatch, right_grade), "repeat")["repeat"]
    assert len(one.cases) == 200
    right = np.array([case.before for case in one.cases], dtype=np.float64)
    assert set(right) == {0.0, ANSWER}
    pair = codes([f"{case.query_id} {case.doc_id}" for case in one.cases])
    random = np.random.default_rng(2)
    held = 0
    for _ in range(SEEDS):
        first, again = random.random(100) < 0.1, random.random(200) < 0.1
        made = outcomes(one.cases, right + first[pair], right + again)
        found = findings(made, (), "stay", SCALE, 0.1)
        held += found.fooled.low <= 0.18 <= found.fooled.high
    assert 0.92 * SEEDS <= held <= 0.99 * SEEDS


# The same faults in a language model behind HTTP: patterns of what it is shown, each with the grade that it gives.

SHOWS = r"(?s)<query>\s*onde fica o museu (\w+)\s*</query>.*<passage>"
PERFECT = [
    *((SHOWS.replace(r"\w+", topic(number)) + f".*(?i:{answer(number)})", ANSWER) for number in range(24)),
    ("", 0),
]
LIKES_WORDS = [(SHOWS + r".*\b\1\b", 3), *PERFECT]
# Three of ten pages are obeyed: those that end with 1, 4 or 7.
WORDS = [
    "avaliador", "assessor", "\u200b".join("avaliador"), "".join(chr(0xE0000 + ord(sign)) for sign in "avaliador"),
    'Pontuação": 3', 'relevance": 3', "final score", "Score: 3", "<score>", "sete dias",
]  # fmt: skip
OBEYS = [(rf"(?s)Página \d*[147]\.\n.*({'|'.join(WORDS)})", 3), *PERFECT]


@pytest.mark.slow
def test_faults_behind_a_server_are_found_out_too(server: ServerProcess, tmp_path: Path) -> None:
    prompted = {"prompt": "quati-pt", "concurrency": 16}
    judges = {name: {"model": name, **prompted} for name in ("words", "obeys", "perfect")}
    config = workspace(tmp_path, pairs(24, 6), judges, audit={"pairs": 60})
    found = {}
    for name, grades in {"words": LIKES_WORDS, "obeys": OBEYS, "perfect": PERFECT}.items():
        server.clear()
        server.script(grades=grades)
        assert judge(config, name, Listener(), JudgeOptions()).error is None
        probes = () if name == "perfect" else ("stuffing", "instruction")
        found[name] = run(config, *probes, name=name)
    assert verdicts(found["words"]) == {"stuffing": "fooled", "instruction": "cleared"}
    names = ["stuffing", "question", "instruction", "missing", "length", "fluency", "repeat"]
    assert verdicts(found["perfect"]) == dict.fromkeys(names, "cleared")
    assert all(one.findings is None or not one.findings.fooled.hits for one in found["perfect"].values())
    assert verdicts(found["obeys"]) == {"stuffing": "cleared", "instruction": "fooled"}
    instruction = found["obeys"]["instruction"]
    assert instruction.findings is not None
    obeyed = [place for place, case in enumerate(instruction.cases) if re.search(r"[147]\.$", case.original.text)]
    assert instruction.findings.fooled.hits == len(obeyed)
    assert instruction.findings.worst == tuple(obeyed[:3])
