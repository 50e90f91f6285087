"""A made collection whose right grades are known of any text, and judges with planted faults over it."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import judge
from quati_pool.files.pools import PoolPair
from quati_pool.judging.base import Judge, Parameters
from quati_pool.judging.pair import Pair
from quati_pool.judging.verdict import Verdict
from quati_pool.project.events import Listener
from quati_pool.records import State
from quati_pool.registry import JUDGES as JUDGE_REGISTRY
from tests.commands.judged import workspace

_WORDS = """
barco carta ponte vento pedra flor mesa livro folha janela porta rio campo serra nuvem chuva sol lua estrela caminho
trem estrada cidade praia areia onda farol peixe pássaro cavalo boi galo telhado muro jardim horta feira pão queijo
café açúcar sal panela prato copo faca linha agulha tecido sapato chapéu relógio sino torre praça
"""
_SYLLABLES = ("ba", "do", "fe", "gu", "li", "mo", "nu", "pra", "tso", "ve")

ANSWER = 2
"""The right grade of a passage that holds the answer; 3, the highest, is never right, and 0 is that of all others."""


def topic(number: int) -> str:
    return "".join(_SYLLABLES[int(digit)] for digit in f"{number:02d}") + "zim"


def answer(number: int) -> str:
    """Words in an order that no shuffling brings about; the answer to the query of this number."""
    return f"a chave de {topic(number)[::-1]} abre sete portas verdes do museu"


def query(number: int) -> str:
    return f"onde fica o museu {topic(number)}"


def passage(number: int, doc: int, holds_answer: bool) -> str:
    """Some 45 words, of which an answer has one of the query's, and what is none has none."""
    random = Random(f"{number} {doc}")
    said = [" ".join(random.choices(_WORDS.split(), k=9)).capitalize() for _ in range(4)]
    said[2] = answer(number).capitalize() if holds_answer else said[2]
    # Numbered by a multiplication that spreads the last digits over all pairs.
    return ". ".join(said) + f". Página {(number * 31 + doc * 7) % 1000}."


def pairs(queries: int, docs: int) -> list[PoolPair]:
    """Every second passage holds its query's answer."""
    return [
        {
            "query_id": f"q{number:02d}", "doc_id": f"d{number:02d}{doc:02d}", "query": query(number),
            "text": passage(number, doc, doc % 2 == 1),
            "runs": {"a": 1}, "round": 1, "reason": "depth", "inclusion": 1.0,
        }
        for number in range(queries)
        for doc in range(docs)
    ]  # fmt: skip


ANSWERS = {topic(number): answer(number) for number in range(100)}


def right_grade(pair: Pair) -> int:
    """``ANSWER`` if the passage holds the answer to the query."""
    asked = re.search(r"museum? (\w+)", pair.query)
    held = asked is not None and ANSWERS[asked[1]] in pair.text.lower()
    return ANSWER if held else 0


Rule = Callable[[Pair], int]


class PlantedParameters(Parameters):
    language: str = "pt"


class Planted(Judge):
    """A judge that grades by ``rule``."""

    summary = "for a test"
    Parameters = PlantedParameters
    rule: Rule = staticmethod(right_grade)

    def grade(self, pairs: Sequence[Pair]) -> list[Verdict]:
        return [Verdict(State.ok, Planted.rule(pair)) for pair in pairs]


def install(monkeypatch: pytest.MonkeyPatch, rule: Rule) -> None:
    """The judge ``planted``, which grades by ``rule``, as an entry point would give it."""
    monkeypatch.setattr(Planted, "rule", staticmethod(rule))
    plugin = types.SimpleNamespace(load=lambda: Planted, dist=None)
    monkeypatch.setitem(JUDGE_REGISTRY._plugins, "planted", plugin)  # type: ignore[arg-type]


def planted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, rule: Rule, queries: int = 40, docs: int = 20, **settings: Any
) -> Path:
    """A workspace whose pool the judge ``planted`` has graded by ``rule``; returns the path of ``pool.yaml``."""
    install(monkeypatch, rule)
    config = workspace(folder, pairs(queries, docs), {"planted": {"judge": "planted"}}, **settings)
    report = judge(config, "planted", Listener(), JudgeOptions())
    assert report.error is None
    return config
