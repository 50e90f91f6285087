"""The reader and the oracle, which were written apart, agree on what made-up answers give."""

from __future__ import annotations

from collections import Counter

import pytest

from quati_pool.judging.verdict import Reading, judge_choice
from quati_pool.llm.thoughts import ANY, Marks
from quati_pool.records import State
from tests.judging.answer_oracle import Expected, expected
from tests.judging.made_answers import WANTED, Answer, Wanted, made_answer

ANSWERS = 100_000
PARTS = 4  # for the processes that run the tests to share


def reading(wanted: Wanted) -> Reading:
    setup = wanted.setup
    thoughts = () if setup.marks is None else (*ANY, *(Marks(*marks) for marks in setup.marks))
    return Reading(wanted.reason, setup.keys[0], setup.keys[1:], setup.scale, setup.aspects, thoughts)


READINGS = {id(wanted): reading(wanted) for wanted in WANTED}


def by_the_reader(answer: Answer) -> Expected:
    reading = READINGS[id(answer.wanted)]
    verdict = judge_choice(answer.text, answer.refusal, answer.finish_reason, reading, answer.error)
    return Expected(verdict.status, verdict.relevance, dict(verdict.aspects))


def by_the_oracle(answer: Answer) -> Expected:
    return expected(answer.text, answer.refusal, answer.finish_reason, answer.error, answer.wanted.setup)


def test_every_state_occurs_often_and_a_third_are_graded() -> None:
    states = Counter(by_the_oracle(made_answer(seed)).state for seed in range(5000))
    assert set(states) == {
        State.ok, State.unparsed, State.off_scale, State.refused, State.truncated, State.failed,
    }  # fmt: skip
    assert states[State.ok] > 5000 / 3
    assert min(states.values()) > 100


def test_a_seed_gives_one_answer() -> None:
    assert made_answer(7) == made_answer(7)
    assert len({made_answer(seed).text for seed in range(500)}) > 400


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_reader_and_oracle_agree(part: int) -> None:
    differing = []
    for seed in range(part, ANSWERS, PARTS):
        answer = made_answer(seed)
        read, wanted = by_the_reader(answer), by_the_oracle(answer)
        if read != wanted:
            differing.append(f"seed {seed}: {answer}\n  read as {read}\n  but is  {wanted}")
    shown = "\n".join(differing[:10])
    assert not differing, f"{len(differing)} of {ANSWERS // PARTS} differ, the first of them:\n{shown}"
