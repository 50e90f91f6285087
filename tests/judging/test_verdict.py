"""What counts as a verdict and what does not, by a table, and that nothing else ever gives a grade."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from quati_pool.judging.verdict import Reading, Verdict, judge_choice, read_verdict
from quati_pool.llm.thoughts import ANY as ANY_MARKS
from quati_pool.llm.thoughts import split
from quati_pool.records import State
from quati_pool.text.json_objects import folded
from tests.judging.readings import EN, PT, SCALE


def in_json(value: str) -> str:
    return f'{{"Razão": "porque sim", "Pontuação": {value}}}'


OK = [
    # JSON, alone or among other text
    ('{"Razão": "… 3 …", "Pontuação": 0}', 0),
    ('{"Pontuação": 1, "Razão": "the other way round"}', 1),
    ('{"Pontuação": 2}', 2),
    (in_json("2.00"), 2),
    (in_json('"2.0"'), 2),
    ('{"Razão": "diz {\\"Pontuação\\": 3} no texto", "Pontuação": 0}', 0),
    ('{"Razão": "diz Pontuação: 3", "Pontuação": 0}\n', 0),
    ('```json\n{"Razão": "x", "Pontuação": 2}\n```', 2),
    ('Claro! {"Razão": "x", "Pontuação": 2}', 2),
    ('{"Razão": "a", "Pontuação": 3} Repito: {"Razão": "b", "Pontuação": 3}', 3),
    ('{"Razão": "an object without the key"} {"Pontuação": 3}', 3),
    ('[{"Pontuação": 2}, {"Pontuação": 2.0}]', 2),
    ('[[{"Pontuação": 2}]]', 2),
    ('{ {"Pontuação": 2} }', 2),
    ('{"a": {"Pontuação": 1}, "Pontuação": 1}', 1),
    ('{"a": [{"b": {"pontuacao": "1.0"}}], "Pontuação": 1}', 1),
    ('{"a": {"Pontuação": 1}} Pontuação: 1', 1),
    ('{"Razão": "two\nlines", "Pontuação": 2}', 2),
    ('{"pontuação": 1}', 1),
    ('{"PONTUAÇÃO": 1}', 1),
    ('{" Pontuação ": 1}', 1),
    ('{"Pontuacao": 1}', 1),
    ('{"Pontua\\u00e7\\u00e3o": 1}', 1),
    (unicodedata.normalize("NFD", '{"Pontuação": 1}'), 1),
    ('{"Pontuação": 1, "Pontuação": 1.0, "Pontuacao": "1"}', 1),
    ('Pontuação: 1. Digo: {"Pontuação": 1}', 1),
    ('{"Pontuação": 1}\nPontuação: 1', 1),
    ('Confiança da pontuação: 3. {"Pontuação": 1}', 1),
    ('Pontuação: veja abaixo.\n{"Pontuação": 1}', 1),
    # what closes after the verdict
    ('```json\n{"Pontuação": 2}\n```\n\n', 2),
    ('~~~~\n{"Pontuação": 2}\n~~~~', 2),
    ('**{"Pontuação": 2}**.', 2),
    ('({"Pontuação": 2})。', 2),
    ('| {"Pontuação": 2} |', 2),
    ('“{"Pontuação": 2}” 」】!', 2),
    ('{"Pontuação": 2}}', 2),
    ("```\nPontuação: 2\n```", 2),
    ("(Pontuação: 2)!", 2),
    ("«Pontuação: 2»", 2),
    ("「Pontuação: 2」。", 2),
    ("Pontuação: 2!!", 2),
    # text
    ("Numa escala de 0 a 3, a passagem é fraca. Pontuação: 1", 1),
    ("Pontuação: 1\nPensando melhor:\nPontuação: 1.0", 1),
    ("Pontuação: 1 (pouco relevante)\nPontuação: 1", 1),
    ("**Pontuação:** 2", 2),
    ("**Pontuação**: **2**.", 2),
    ('"Pontuação" : "2"', 2),
    ("`Pontuação`: 2", 2),
    ("Pontuação：2", 2),
    ("## Pontuação:\n\n2\n", 2),
    ("PONTUAÇÃO: 2", 2),
    ("Pontuação: 2.0", 2),
    ("A pontuação: veja abaixo.\nPontuação: 2", 2),
    ("Pontuação: veja abaixo.\nPontuação: 2", 2),
    # text where the key stands in a place of its own
    ("Numa escala de 0 a 3, este trecho responde em parte. Pontuação: 2", 2),
    ("Responde em parte; pontuação: 2", 2),
    ("Responde em parte! Pontuação: 2", 2),
    ("(Responde em parte) Pontuação: 2", 2),
    ("[1] Pontuação: 2", 2),
    ("3. Pontuação: 2", 2),
    ("Responde em parte… **Pontuação:** 2", 2),
    ('"Responde em parte." "Pontuação": 2', 2),
    ("Responde em parte—pontuação: 2", 2),
    ("Responde em parte – pontuação: 2", 2),
    ("**Responde em parte** - **Pontuação:** 2", 2),
    ("Responde em parte. (Pontuação: 2)", 2),
    ("Responde em parte\n  - Pontuação: 2", 2),
    ("Responde em parte\n> * _Pontuação_: 2", 2),
    ("Responde em parte\n| Pontuação: 2", 2),
    ("-Pontuação: 2", 2),
    ("→ Pontuação: 2", 2),
    ('{"Razão": "sem a chave"} Pontuação: 2', 2),
    # another quantity before the grade
    ("Confiança da pontuação: 3\nPontuação: 2", 2),
    ("F-Pontuação: 1,5. Pontuação: 2", 2),
    ("Pontuação: 2\nConfiança da pontuação: 3\nPontuação: 2", 2),
    (unicodedata.normalize("NFD", "Pontuação: 2"), 2),
    ("Pontuac\u0327ão: 2", 2),
    ('{"Razão": "sem a chave"}\nPontuação: 2', 2),
    ("O conjunto {x} e {y: 1}. Pontuação: 2", 2),
    # JSON that is not quite, where its key is beyond doubt
    ('{"Razão": "ele disse "oi" e saiu", "Pontuação": 1}', 1),
    ('{"Razão": "x", "Pontuação": 1,}', 1),
    ("{'Razão': 'x', 'Pontuação': 1}", 1),
    ("{'Pontuação': 1}", 1),
    ('{"Razão": "x", "Pontuação": "1",}', 1),
    ('{"Razão": "x" "y", "Pontuação": 1}\n```', 1),
    ('[{"Pontuação": 1}, {"Pontuação": 1,}]', 1),
    ('{"Razão": "diz \\"oi", "Pontuação": 1,}', 1),
    # thoughts
    ('<think>Talvez {"Pontuação": 3}? Pontuação: 2?</think> {"Pontuação": 1}', 1),
    ("<THINK>\nPontuação: 3\n</THINK>\nPontuação: 1", 1),
    ('<thinking>{"Pontuação": 3}</thinking>{"Pontuação": 1}', 1),
    ('<reasoning>{"Pontuação": 3}</reasoning>{"Pontuação": 1}', 1),
    ('<seed:think>{"Pontuação": 3}</seed:think>{"Pontuação": 1}', 1),
    ('[THINK]{"Pontuação": 3}[/THINK]{"Pontuação": 1}', 1),
    ('◁think▷{"Pontuação": 3}◁/think▷{"Pontuação": 1}', 1),
    ('<|begin_of_thought|>{"Pontuação": 3}<|end_of_thought|>{"Pontuação": 1}', 1),
    ('<|START_THINKING|>{"Pontuação": 3}<|END_THINKING|>{"Pontuação": 1}', 1),
    ('<|channel>thought\n{"Pontuação": 3}<channel|>{"Pontuação": 1}', 1),
    ('<think>a <think> b </think> {"Pontuação": 3}</think> {"Pontuação": 1}', 1),
    ('<think>the tag <thinking> {"Pontuação": 3}</think> {"Pontuação": 1}', 1),
    ('{"Pontuação": 3} is a draft</think>{"Pontuação": 1}', 1),
    ('{"Pontuação": 1} <think>certo? Pontuação: 3</think>', 1),
    ("Pontuação: <think>3?</think> 1", 1),
    ("<think>3</think>\n1\n", 1),
    (
        '<|channel|>analysis<|message|>{"Pontuação": 3}<|end|>'
        '<|start|>assistant<|channel|>final<|message|>{"Pontuação": 1}<|return|>',
        1,
    ),
    ('<|channel|>analysis<|message|>Pontuação: 3<|channel|>final <|constrain|>json<|message|>{"Pontuação": 1}', 1),
    ('<|channel|>commentary to=functions.f<|message|>{"Pontuação": 3}<|call|>{"Pontuação": 1}', 1),
    # a bare integer
    ("2", 2),
    (" 2\n", 2),
    ("2.", 2),
    ("2.0", 2),
    ("**2**", 2),
    ('"2"', 2),
]

# What people's programs read as a grade where the answer leaves a doubt.
DOUBTED = [
    # the answer continues after the verdict
    'Claro! {"Pontuação": 2} Espero ter ajudado em 2023.',
    '{"Pontuação": 3} {"Razão": "an object without the key"}',
    '{"Pontuação": 3}{}',
    '{"Pontuação": 3},',
    '{"Pontuação": 3}?',
    '{"Pontuação": 3} ~~',
    '{"Pontuação": 3}\n```json',
    '{"Pontuação": 3} 3',
    '[{"Pontuação": 3}, {"Razão": "x"}]',
    "Pontuação: 2 (muito relevante)",
    "Pontuação: 2 – muito relevante",
    "Pontuação: 2, ",
    "Pontuação: 2. Em 2023, outra coisa.",
    "Pontuação: 2\nJustificativa: publicado em 2023",
    "Pontuação: 2\nA pontuação: explicada acima.",
    "Pontuação: 2\nConfiança da pontuação: 2",
    "Pontuação: 2\n\nConsulta: outra\nTrecho: outro",
    'Pontuação: 2 {"Razão": "x"}',
    '{"Pontuação": 2}\n\nConsulta: a próxima\n{"Pontuação": 2}\n…',
    # two verdicts that differ
    '{"Razão": "a", "Pontuação": 1} Corrijo: {"Razão": "b", "Pontuação": 3}',
    '{"Pontuação": 0}\n\nO trecho diz: {"Pontuação": 3}',
    '{"Pontuação": 0} Consulta: outra. {"Pontuação": 3}',
    '[{"Pontuação": 0}, {"Pontuação": 3}]',
    'Pontuação: 3, digo: {"Pontuação": 1}',
    'Pontuação: 1, digo: {"Pontuação": 1}',
    '{"Pontuação": 1}\nPontuação: 3',
    "Pontuação: 3\nPensando melhor:\nPontuação: 1",
    "Pontuação: 1 ou 2\nPontuação: 1",
    '{"Pontuação": 1} {"Pontuação": 4}',
    '{"Pontuação": 4} {"Pontuação": 1}',
    '{"Pontuação": "alta"} {"Pontuação": 1}',
    # nested ones give no grade, and must agree
    '{"a": {"Pontuação": 3}, "Pontuação": 1}',
    '{"a": [1, [{"b": {"Pontuação": 3}}]], "Pontuação": 1}',
    '{"a": {"Pontuação": 1, "Pontuação": 3}, "Pontuação": 1}',
    '{"a": {"Pontuação": {"Pontuação": 1}}, "Pontuação": 1}',
    '{"a": {"Pontuação": "1.00"}, "Pontuação": 1}',
    '{"a": {"Pontuação": null}, "Pontuação": 1}',
    '{"Pontuação": {"Pontuação": 1}}',
    '{"a": {"Pontuação": 3}} Pontuação: 1',
    '{"Pontuação": 1} {"a": {"Pontuação": 1}}',
    # JSON without its end, or that more than one reading mends
    '{"Razão": "x", "Pontuação": 1',
    '{"Razão": "x", "Pontuação": 1,',
    '{"Razão": "x", "Pontuação": 1 ```',
    '{"a": {"Razão": "x", "Pontuação": 1,}',
    '{"Razão": "x", "Pontuação": 1,}}',
    '{"Pontuação": 1} {"Pontuação": ',
    '{"Pontuação": 1} {"Pontuação": 1',
    '{"Razão": "x", Pontuação: 1}',
    """{"Razão": "x", "Pontuação': 1}""",
    '{"Razão": "x" "Pontuação": 1}',
    '{"Razão": "diz: "Pontuação": 1}',
    '{"Razão": "x, "Pontuação": 1}',
    '{"Razão": "a ","Pontuação": 1}", b}',
    '{"Razão": "a confiança da Pontuação: 3", "Pontuação": 1,}',
    '{"Razão": "x", "Pontuação": 1, "b": 2,}',
    '{"Razão": "x", "Pontuação": 1,} Espero ter ajudado.',
    "{'Pontuação': 1, 'Razão': 'x'}",
    "{'Pontuação': 1} {'Pontuação': 3}",
    "{'Razão': 'x'} Pontuação: 1",
    'Pontuação: 1\n{"Razão": x}',
    # thoughts
    '<think>{"Pontuação": 3}</think>',
    '<think>{"Pontuação": 3}</think> Desculpe, não consigo avaliar.',
    "Pontuação: 3</think>",
    '{"Pontuação": 1}</think> Não sei.',
    '{"Pontuação": 3}<think>ou</think>{"Pontuação": 1}',
    '{"Pontuação": 1}<think>sim</think> certo',
    '<|channel|>analysis<|message|>{"Pontuação": 3}<|end|>',
    '<|channel|>analysis<|message|>{"Pontuação": 3}<|end|><|start|>assistant',
    '<|channel|>final<|message|>{"Pontuação": 1}<|end|><|start|>user<|message|>outra<|end|>',
    '<|channel|>final<|message|>{"Pontuação": 1}<|end|><|channel|>final<|message|>{"Pontuação": 3}',
]

UNPARSED = [
    *DOUBTED,
    "",
    " \n",
    "Error 503",
    "published in 2023",
    "A passagem é relevante.",
    "Entre 2 e 3.",
    "2 3",
    "2-3",
    "2/3",
    "2.5",
    "+2",
    "02",
    "２",
    "²",
    # text that leaves a doubt
    "Pontuação: 2/3",
    "Pontuação: 2-3",
    "Pontuação: 2 - 3",
    "Pontuação: 2 ou 3",
    "Pontuação: 2 de 3",
    "Pontuação: 2, talvez 3",
    "Pontuação: 2 e meio",
    "Pontuação: 2,5",
    "Pontuação: 2.5",
    "Pontuação: 2. 5",
    "Pontuação: 2½",
    "Pontuação: 2²",
    "Pontuação: 2%",
    "Pontuação: 2?",
    "Pontuação: 2a",
    "Pontuação: 02",
    "Pontuação: +2",
    "Pontuação: ２",
    "Pontuação: [2]",
    "Pontuação: aproximadamente 2",
    "Pontuação: dois",
    "Pontuação 2",
    "Pontuação = 2",
    "Pontuação: 1\nPontuação: 2 ou 3",
    "Apontuação: 2",
    "max_pontuação: 2",
    "Pontuação: 1.000",
    "Pontuação: 2.00",
    "1.000",
    # a key that may be another quantity's
    "A pontuação máxima é 3, e a pontuação: 2",
    "A pontuação: 2",
    "Pontuação máxima pontuação: 3",
    "F-Pontuação: 2",
    "F–Pontuação: 2",
    "F‑**Pontuação:** 2",
    "F(1)-Pontuação: 2",
    "F -Pontuação: 2",
    "F- Pontuação: 2",
    "precisão/pontuação: 2",
    "resultado.pontuação: 2",
    "resultado:pontuação: 2",
    "max__pontuação: 2",
    "pontuação:pontuação: 2",
    'a "máxima" pontuação: 2',
    "a máxima (pontuação: 2)",
    "a máxima\u200b pontuação: 2",
    "F₁ pontuação: 2",
    "Pontuação: 1\nConfiança da pontuação: 3",
    "Pontuação: 1. F-Pontuação: 2",
    "Pontuação: 1 (a máxima pontuação: 3)",
    "Pontuação: 1\nConfiança da pontuação: 1.5",
    "Pontuação: 1\nConfiança da pontuação: 1\nConfiança da pontuação: 2\nConfiança da pontuação: 1",
    "Pontuação: 1\nConfiança da pontuação: 3\nPontuação:",
    "Pontuação: 1 Pontuação: 2",
    # a later verdict that says nothing
    "Pontuação: 3\nPontuação: indefinida",
    "Pontuação: 3\nPontuação:",
    'Pontuação: 3\nPontuação: {"valor": 2}',
    "Pontuação: 3. Confiança da pontuação: 3. Pontuação: indefinida",
    # JSON
    *map(in_json, ["2.5", '"2-3"', '"2/3"', '"dois"', '""', "true", "false", "null", "NaN", "Infinity"]),
    *map(in_json, ["[2]", '{"valor": 2}', "2e0", '"02"', '"+2"', '"\\u0032"', '"２"', "2.00000000000000000001"]),
    *map(in_json, ['"1.000"', '"2.00"']),
    '{"Pontuação": 1, "Pontuação": 2}',
    '{"Pontuação": 1, "pontuacao": 2}',
    '{"Pontuação": 1, "Pontuação": "alta"}',
    '{"resultado": {"Pontuação": 2}}',
    '{"Razão": "Pontuação: 3"}',
    '{"Razão": "{\\"Pontuação\\": 3}"}',
    'Pontuação: {"valor": 2}',
    # a bad value is not made good by the text, or by an earlier object
    '{"Pontuação": "alta"}\nPontuação: 2',
    '{"Pontuação": 1} {"Pontuação": "alta"}',
    # broken JSON that leaves a doubt
    '{"Razão": "diz {"Pontuação": 3}", "Pontuação": 0}',
    '{"Razão": "a Pontuação: 3 caberia se',
    '{"Razão": "o texto traz Pontuação: 3',
    '{"Razão": "o texto traz\nPontuação: 3.\n',
    "{'Pontuação': 0, 'Razão': 'o texto traz Pontuação: 3'}",
    '{"Razão": "diz "Pontuação": 3 no texto',
    '{"a": {"Razão": "x", "Pontuação": 1,},}',
    '{"Razão": "o texto traz, "Pontuação": 3"}',
    '{"Razão": "o trecho diz {"a": "b", "Pontuação": 3}"}',
    '{"Razão": "o texto traz", "Pontuação": **3**,}',
    '{"Razão": "o texto traz", "Pontuação": 3,} "fim"',
]

# A thought without an end: the verdict may have been still to come.
TRUNCATED = [
    "<think>",
    '<think>{"Pontuação": 3}',
    '{"Pontuação": 3} <think>ou',
    '<think>a <think> b </think> {"Pontuação": 1}',
    '<think>a</thinking> {"Pontuação": 1}',
    "[THINK]Pontuação: 3",
    '</think><think>{"Pontuação": 3}',
    '<|channel|>analysis<|message|>{"Pontuação": 3}',
    '<|channel|>final<|message|>{"Pontuação": 3}<|end|><|start|>assistant<|channel|>analysis<|message|>ou',
    "Pontuação: 3<|channel|>analysis",
    # Even inside what may have been a string.
    '{"Razão": "o trecho fala de <think>", "Pontuação": 1}',
]

OFF_SCALE = [
    "Pontuação: 4",
    "Pontuação: -1",
    "Pontuação: −1",
    "Confiança da pontuação: 1\nPontuação: 4",
    "Pontuação: 4\nPontuação: 4.",
    '<think>{"Pontuação": 1}</think>{"Pontuação": 4}',
    '{"Razão": "x", "Pontuação": 4,}',
    "4",
    "-1",
    "503",
    "9" * 10_000,
    *map(in_json, ["-1", "4", "4.0", '"4"', '"-1"', "9" * 10_000, '"' + "9" * 10_000 + '"']),
    '{"Pontuação": 4} {"Pontuação": 4}',
]


@pytest.mark.parametrize(("text", "grade"), OK)
def test_a_written_verdict_is_read(text: str, grade: int) -> None:
    verdict = read_verdict(text, PT)
    assert (verdict.status, verdict.relevance, verdict.problem) == (State.ok, grade, None)
    assert verdict.span is not None
    assert text[slice(*verdict.span)] == str(grade)


@pytest.mark.parametrize("text", UNPARSED)
def test_what_leaves_a_doubt_is_unparsed(text: str) -> None:
    failed(read_verdict(text, PT), State.unparsed)


@pytest.mark.parametrize("text", OFF_SCALE, ids=lambda text: text[:40])
def test_an_integer_outside_the_scale_is_off_scale(text: str) -> None:
    failed(read_verdict(text, PT), State.off_scale)


@pytest.mark.parametrize("text", TRUNCATED)
def test_a_thought_without_an_end_is_truncated(text: str) -> None:
    failed(read_verdict(text, PT), State.truncated)


def failed(verdict: Verdict, status: State) -> None:
    assert (verdict.status, verdict.relevance, verdict.span) == (status, None, None)
    # Stored, and told to the model: short, in one line, and printable whatever the model wrote.
    assert verdict.problem
    assert len(verdict.problem) < 160
    assert verdict.problem.isprintable()


def test_the_english_traps() -> None:
    assert read_verdict("On a scale of 0 to 3, final score: 1", EN).relevance == 1
    assert read_verdict("##final score: 1", EN).relevance == 1
    assert read_verdict("final score: -1", EN).status is State.off_scale
    assert read_verdict("published in 2023", EN).status is State.unparsed
    # An alias is a key of its own; nothing else that ends in the key is.
    assert read_verdict("Confidence score: 3\nFinal score: 1", EN).relevance == 1
    assert read_verdict("Score: 1. Final score: 1", EN).relevance == 1
    for text in (
        "Score: 3. Final score: 1",
        "Final score: 1 out of 3",
        "Score: 1\nConfidence score: 3",
        "Score: 1. F-Score: 2",
        "The maximum score: 3",
        "The not quite final score: 3",
        "Score: 3\nScore: unclear",
        "Score: 3\nFinal score: unclear",
        "Score: 1.000",
    ):
        failed(read_verdict(text, EN), State.unparsed)
    assert read_verdict('{"Reason": "x", "final  SCORE": 2}', EN).relevance == 2
    assert read_verdict("Error 503", EN).status is State.unparsed


def test_problems_say_what_was_written_and_what_was_expected() -> None:
    def problem(text: str) -> str | None:
        return read_verdict(text, PT).problem

    assert problem(in_json("4")) == '"Pontuação" is 4, which is not on the scale 0, 1, 2, 3'
    assert problem(in_json("2.5")) == '"Pontuação" is 2.5, which is not one whole number'
    assert problem('{"Pontuação": 1, "Pontuação": 2}') == '"Pontuação" has two values, 1 and 2'
    assert problem("F-Pontuação: 2") == '"Pontuação" has a number only where it follows other words'
    assert problem("Pontuação: 1\nPontuação: 2 ou 3") == '"Pontuação" has two values, 1 and 2 ou 3'
    assert problem('{"a": {"Pontuação": null}, "Pontuação": 2}') == '"Pontuação" has two values, null and 2'
    assert problem('{"a": {"Pontuação": 2}}') == '"Pontuação" is only inside another JSON object'
    assert problem("Pontuação: 2 (muito\n\x07)") == '"Pontuação" is 2, but the answer goes on: (muito \ufffd)'
    broken = "the JSON in the answer is broken, and "
    assert problem('{"Pontuação": 1') == broken + "its braces do not match"
    assert problem('{"Razão": "x, "Pontuação": 1}') == broken + "a quotation mark is missing"
    assert problem("{'a': 'x'}\nPontuação: 1") == broken + '"Pontuação" is not beyond doubt one of its keys'
    assert problem("<think>3</think> \n") == "the answer holds thoughts alone"
    assert problem("<think>3") == "the answer ended within its thoughts"
    assert problem("Error 503") == 'the answer holds no "Pontuação" with a number'
    assert problem("\n") == "the answer is empty"


def test_gaps_in_the_scale_are_off_it() -> None:
    reading = Reading("Reason", "Score", [], {0, 1, 10})
    assert read_verdict('{"Score": 2}', reading).status is State.off_scale
    assert read_verdict('{"Score": 10}', reading).relevance == 10
    assert read_verdict("Score: 1", reading).relevance == 1


@pytest.mark.parametrize(
    ("text", "rationale"),
    [
        ('{"Razão": " porque sim ", "Pontuação": 2}', "porque sim"),
        ('{"razão": "porque sim", "Pontuação": 2}', "porque sim"),
        ('{"Razão": ["a"], "Pontuação": 2}', None),
        ('{"Razão": "", "Pontuação": 2}', None),
        ('{"Pontuação": 2}', None),
        ("Trata do tema.\n\n**Pontuação:** 2", "Trata do tema."),
        ("<think>Hum.</think>Trata do tema.<think>Ou?</think>\n\nPontuação: 2", "Trata do tema."),
        ('<think>Hum.</think>{"Razão": "porque sim", "Pontuação": 2}', "porque sim"),
        ("2", None),
        # What no database or UTF-8 file can hold.
        ('{"Razão": "a\\u0000b\\ud800c", "Pontuação": 2}', "a\ufffdb\ufffdc"),
    ],
)
def test_the_rationale_is_kept(text: str, rationale: str | None) -> None:
    verdict = read_verdict(text, PT)
    assert (verdict.relevance, verdict.rationale) == (2, rationale)


WITH_ASPECTS = Reading("Why", "O", ["Overall"], SCALE, {"M": SCALE, "Trust": range(1, 4)})


@pytest.mark.parametrize(
    ("text", "aspects"),
    [
        ('{"M": 2, "Trust": 1, "O": 2}', {"M": 2, "Trust": 1}),
        ('{"O": 2, "trust": "1.0", "m": 2.00}', {"M": 2, "Trust": 1}),
        ('{"Trust": 1, "O": 2}', {"Trust": 1}),
        ('{"O": 2}', {}),
        # not on its scale, no whole number, two that differ
        ('{"M": 4, "Trust": 0, "O": 2}', {}),
        ('{"M": "high", "Trust": null, "O": 2}', {}),
        ('{"M": 1, "m": 2, "Trust": 3, "Trust": 3, "O": 2}', {"Trust": 3}),
        ('{"M": 1, "m": "high", "O": 2}', {}),
        # in the object that counts, and in no other
        ('{"M": 1, "Trust": 1} {"M": 3, "O": 2}', {"M": 3}),
        ('{"a": {"M": 1}, "O": 2}', {}),
        ('M: 1. {"Trust": 2, "O": 2}', {"Trust": 2}),
        ('{"M": 1, "O": 2} {"M": 3, "O": 2}', {"M": 3}),
        # text
        ("M: 2\nTrust: 1\nO: 2", {"M": 2, "Trust": 1}),
        ("M: 2, Trust: 1, O: 2", {"M": 2, "Trust": 1}),
        ("**M:** 2 (good). **Trust:** 1. **Overall:** 2.", {"M": 2, "Trust": 1}),
        ("M: 2\nM: 2.0\nTrust: 1\nTrust: 2\nO: 2", {"M": 2}),
        ("M: 2\nM: 2 or 3\nO: 2", {}),
        ("Confidence in M: 2\nF-Trust: 1\nO: 2", {}),
        ('{"M": 1}\nTrust: 2\nO: 2', {"Trust": 2}),
        ("<think>M: 1</think>M: 2\nO: 2", {"M": 2}),
        ("{'M': 2, 'Trust': 1, 'O': 2}", {"M": 2, "Trust": 1}),
        ("2", {}),
    ],
)
def test_aspects_are_kept_beside_the_grade_and_never_change_it(text: str, aspects: dict[str, int]) -> None:
    verdict = read_verdict(text, WITH_ASPECTS)
    assert (verdict.status, verdict.relevance, verdict.aspects) == (State.ok, 2, aspects)


def test_what_is_no_grade_has_no_aspects() -> None:
    for text in (
        '{"M": 2, "Trust": 1}',
        '{"M": 2, "O": 9}',
        '{"M": 2, "O": 2} so',
        "M: 2\nTrust: 1",
        "M: 2\nO: 2\nM: 2",
    ):
        verdict = read_verdict(text, WITH_ASPECTS)
        assert (verdict.status in (State.unparsed, State.off_scale), verdict.aspects) == (True, {})


# ---- how a completion ended


def test_a_content_filter_is_refused_not_a_zero() -> None:
    for text in (None, "", "0", in_json("0")):
        failed(judge_choice(text, None, "content_filter", PT), State.refused)


def test_a_refusal_is_refused_whatever_else_is_there() -> None:
    verdict = judge_choice(in_json("2"), "I can't\nhelp " + "x" * 1000, "stop", PT)
    assert verdict.status is State.refused
    assert verdict.problem is not None
    assert verdict.problem.startswith("the model refused: I can't help xxx")
    assert len(verdict.problem) < 250


def test_an_answer_cut_off_is_truncated_even_with_a_grade_in_it() -> None:
    for text in (None, "", in_json("2"), "Pontuação: 2"):
        failed(judge_choice(text, None, "length", PT), State.truncated)


def test_no_text_is_unparsed() -> None:
    for text in (None, "", " \n"):
        failed(judge_choice(text, None, "stop", PT), State.unparsed)


def test_an_error_in_a_choice_is_failed() -> None:
    failed(judge_choice(in_json("2"), None, "stop", PT, "the engine died"), State.failed)


@pytest.mark.parametrize("reason", ["stop", None, "EOS"])
def test_a_finished_answer_is_read(reason: str | None) -> None:
    assert judge_choice(in_json("2"), None, reason, PT).relevance == 2
    assert judge_choice(in_json("2"), "", reason, PT).relevance == 2


# ---- hostile answers


@pytest.mark.parametrize(
    "piece",
    [
        "{", '{"', '{"a":', '{"a":[', "[", '{"":{"":', "{ ", '{"a":1}', '{"a":"\\', "{'", "{\n", '"', "2", "\\", "\0",
        ". ", '{"Pontuação":1,', "Pontuação", "Pontuação: ", "Pontuação: 2 ", "Pontuação: 2. ", "Pontuação*",
        "Pontuação:2,  ", '{"Pontuação":1}', "{'Pontuação':1,}", '{"a":{"Pontuação":1}}', "}", ", }", "~~~ ", "~~ ",
        "<think>", "</think>", "<think></think>", "<think", "< ", "<|channel|>", "<|start|>", "<|start|>a<|channel|>",
        "<|channel|>a<|message|>", "<|channel|>final<|message|>", "<|", "◁think▷", "[THINK",
        "-", " -", "-\u2013 ", "*", "\u200b", "x-", "Pontuação: 2\nF-",
    ],
)  # fmt: skip
def test_hostile_answers_of_100_kb_end(piece: str) -> None:
    """Would take minutes or overflow the stack, were the reading not linear and its depth not bounded."""
    many = piece * (100_000 // len(piece))
    for text in (many, piece + " " * 100_000 + piece, "Pontuação:" + piece * 20_000, f"x{many}Pontuação: 2"):
        verdict = read_verdict(text, PT)
        assert verdict.status in (State.ok, State.unparsed, State.off_scale, State.truncated)


# ---- properties


GRADES = st.sampled_from([(str(grade), grade) for grade in SCALE])
WRITTEN = st.sampled_from(
    [(form.format(grade), State.ok, grade) for grade in SCALE for form in ("{}", "{}.0", "{}.000", '"{}"', '" {}.0 "')]
    + [(value, State.off_scale, None) for value in ("4", "-1", "4.0", '"17"', "1" * 30)]
    + [
        (value, State.unparsed, None)
        for value in ("1.5", "true", "null", "[1]", '"1-2"', '"um"', "{}", "1e0", '"1.00"')
    ]
)
ANY = st.text(alphabet=st.characters(codec="utf-8"))
MENTION = 'Pontuação: 3 {"Pontuação": 3} \\"Pontuação\\": 3'


@given(st.dictionaries(st.sampled_from(["M", "m", "Trust"]), ANY | st.integers(-2, 5), max_size=3), GRADES)
def test_no_aspect_changes_the_verdict(others: dict[str, str | int], grade: tuple[str, int]) -> None:
    assume(all(isinstance(said, int) or split(said).text == said for said in others.values()))
    verdict = read_verdict(json.dumps({**others, "O": grade[1]}), WITH_ASPECTS)
    assert (verdict.status, verdict.relevance) == (State.ok, grade[1])
    assert all(verdict.aspects[name] in WITH_ASPECTS.aspects[name] for name in verdict.aspects)


CLOSING = st.text(alphabet=" \n\t.!|\"'`*_“”„‘’«»。！)]}」』】›", max_size=8) | st.sampled_from(["\n```", "~~~"])


def spoken(text: str) -> bool:
    """Whether a text has neither a key, an object, nor a mark of thoughts."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return not any(sign in plain for sign in ("pontua", "{", "<", "[think", "[/think", "◁"))


@given(ANY | st.just(MENTION), WRITTEN, ANY, CLOSING, st.booleans())
@example(MENTION, ("0", State.ok, 0), "Confiança: ", "\n```", False)
def test_the_value_of_the_key_decides_whatever_else_the_object_says(
    reasoning: str, written: tuple[str, State, int | None], before: str, after: str, grade_first: bool
) -> None:
    assume(spoken(before) and split(reasoning).text == reasoning)
    value, status, grade = written
    members = [f'"Razão": {json.dumps(reasoning, ensure_ascii=False)}', f'"Pontuação": {value}']
    text = before + "{" + ", ".join(reversed(members) if grade_first else members) + "}" + after
    verdict = read_verdict(text, PT)
    assert (verdict.status, verdict.relevance) == (status, grade)
    if status is State.ok:
        assert verdict.rationale == (reasoning.replace("\0", "\ufffd").strip() or None)


VERDICTS = [
    '{{"Pontuação": {}}}',
    '{{"Razão": "Pontuação: 9", "pontuacao": "{}"}}',
    '[{{"Pontuação": {}.0}}]',
    "Pontuação: {}",
    "**Pontuação:** {}",
    "- **Pontuação**: {}.",
    "pontuacao : {}",
    '"Pontuação":"{}"',
    "Pontuação：\n{}",
]
NESTED = '{{"x": [{{"Pontuação": {}}}]}}'


@given(
    st.lists(st.tuples(st.sampled_from([*VERDICTS, NESTED]), st.sampled_from("00001")), max_size=3),
    st.sampled_from(VERDICTS),
    st.sampled_from("01"),
    ANY,
    CLOSING,
)
def test_verdicts_give_a_grade_only_where_they_agree(
    earlier: list[tuple[str, str]], frame: str, grade: str, prose: str, after: str
) -> None:
    assume(spoken(prose))
    text = f"\n{prose}\n".join([*(one.format(said) for one, said in earlier), frame.format(grade)]) + after
    agreed = all(said == grade for _, said in earlier)
    verdict = read_verdict(text, PT)
    assert (verdict.status, verdict.relevance) == ((State.ok, int(grade)) if agreed else (State.unparsed, None))


@given(st.sampled_from(VERDICTS), GRADES, ANY)
def test_nothing_but_closing_marks_may_follow(frame: str, grade: tuple[str, int], after: str) -> None:
    assume(spoken(after) and after.strip() and not after[0].isdigit())
    closing = all(
        sign.isspace() or sign in ".!|\"'`*_“”„‘’«»。！" or unicodedata.category(sign) in ("Pe", "Pf") for sign in after
    )
    assert (read_verdict(frame.format(grade[0]) + after, PT).status is State.ok) == closing


KINDS = [(marks.open, marks.close) for marks in ANY_MARKS] + [
    ("<|channel|>analysis<|message|>", "<|end|>"),
    ("<|start|>assistant<|channel|>commentary to=f<|message|>", "<|call|>"),
    ("", "</think>"),
    ("", "[/THINK]"),
]


@given(st.sampled_from(KINDS), ANY | st.just(MENTION), st.sampled_from([*VERDICTS, "{}", "x {}", "<think>{}"]), GRADES)
def test_an_answer_is_read_as_it_would_be_without_its_thoughts(
    kind: tuple[str, str], thought: str, frame: str, grade: tuple[str, int]
) -> None:
    assume("<" not in thought and "[" not in thought and "◁" not in thought)
    answer = frame.format(grade[0])
    bare = read_verdict(answer, PT)
    before = f"{kind[0]}{thought}{kind[1]}"
    verdict = read_verdict(before + answer, PT)
    assert (verdict.status, verdict.relevance, verdict.rationale) == (bare.status, bare.relevance, bare.rationale)
    if verdict.span and bare.span:
        assert verdict.span == (bare.span[0] + len(before), bare.span[1] + len(before))


# What may be between two words of one name; and what sets a key apart from the words before it.
JOINTS = [
    "", " ", "  ", "\t", "\xa0", "-", "–", " -", "- ", "_", "__", "/", "·", " *", ' "', "' ", " (", "\u200b", ".", ":",
]  # fmt: skip
PARTS = [
    "\n", "\n- ", "\r\n> ", "\u2028", ". ", ", ", "; ", ": ", "! ", "?", "… ", ") ", "] ", " — ", " – ", " - ", "—",
]  # fmt: skip
WORDS = st.text(alphabet=st.characters(categories=["L", "Nd"]), min_size=1)
NOTHING = "not reported"
NUMBERS = st.sampled_from(["0", "1", "2", "3", "2.0", "1.5", "1.000", "2 ou 3", NOTHING])


def single(number: str) -> int | None:
    return int(number[0]) if number in ("0", "1", "2", "3", "2.0") else None


@given(st.lists(st.tuples(WORDS, st.sampled_from([*JOINTS, *PARTS, *PARTS]), NUMBERS), min_size=1, max_size=5))
@example([("x", "\n", "1"), ("Confiança", " ", "3")])
@example([("x", "\n", "1"), ("F", "-", "2")])
@example([("x", "\n", "3"), ("x", "\n", NOTHING)])
def test_only_a_key_of_its_own_place_gives_a_grade(
    written: list[tuple[str, str, str]],
) -> None:
    assume(not any("pontua" in unicodedata.normalize("NFKC", word).casefold() for word, _, _ in written))
    text = "\n".join(f"{word}{joint}pontuação: {number}" for word, joint, number in written)
    # A key within a longer word or after one underscore is none.
    keys = [(joint in PARTS, number) for _, joint, number in written if joint not in ("", "_")]
    # The last one counts, and nothing follows it; those before it that say something must agree.
    said = [single(number) for own, number in keys if own and number != NOTHING]
    last_counts = written[-1][1] in PARTS and written[-1][2] != NOTHING
    expected = said[-1] if last_counts and len(set(said)) == 1 else None
    assert read_verdict(text, PT).relevance == expected


PIECES = st.sampled_from(
    [
        "Pontuação", "pontuacao", '"Pontuação"', "Razão", '"Razão"', ":", "：", ": ", ",", ". ", ".", "-", "\n", " ",
        "{", "}", "[", "]", "(", ")", '"', "'", "\\", '\\"', "**", "```json\n", "```", "ou", "e", "texto",
        "\0", "true", "null", "0", "1", "2", "3", "4", "-1", "2.0", "1.5", "2/3", "2023", "½",
        '{"Razão": "a", "Pontuação": ', '{"Pontuação": 3}', '{"a": 1}',
        "Pontuação: ", "**Pontuação:** ", "Pontuação: 2\n", "\npontuacao: 1", '"Pontuação": 1', '{"Razão": "',
        '", "Pontuação": 0}', "\n", "confiança ", "máxima", "F-", "x.", "a ", "–", " - ", "…", "1.000", ": indefinida",
        "Pontuação: 1\n", "\nPontuação: 2. ",
    ]
)  # fmt: skip
AROUND = "".join(character for character in map(chr, range(0x3001)) if character.isspace()) + "\"'`*_“”„‘’«»"
KEYS = ("pontuação", "pontuacao")


@settings(max_examples=1500)
@given(st.lists(st.one_of(PIECES, PIECES, PIECES, st.characters(codec="utf-8")), max_size=25).map("".join))
def test_no_answer_gives_a_grade_that_was_not_written_as_the_verdict(text: str) -> None:
    written_as_the_verdict(text, read_verdict(text, PT))


def written_as_the_verdict(text: str, verdict: Verdict) -> None:
    """The oracle, which shares nothing with the reading: fails where a grade was not written as one."""
    if verdict.status is not State.ok:
        assert verdict.relevance is None
        return
    assert verdict.span is not None
    start, end = verdict.span
    # The grade stands there, and is no part of a longer number, word or fraction.
    assert text[start:end] == str(verdict.relevance)
    assert verdict.relevance in SCALE
    after = re.sub(r"^\.0+(?![0-9])" if "{" in text else r"^\.0(?![0-9])", "", text[end:])
    assert not re.match(r"[\w/%½-]|[.,][0-9]", after.replace("_", ""))
    assert not re.search(r"[\w.,/½-]$", text[:start].rstrip("_").replace("：", ":"))
    # What precedes it is the key and a colon, or it is all there is.
    before = text[:start].rstrip(AROUND)
    if before:
        assert before[-1] in ":："
        named = before[:-1].rstrip(AROUND)
        key = next((key for key in KEYS if named.casefold().endswith(key)), None)
        assert key is not None
        # And the key is not the end of a longer name.
        assert of_its_own(named[: -len(key)], "{}" if "{" in text else "")
    else:
        assert not after.strip(AROUND + ".")
    # Nothing else says otherwise, and nothing follows but what closes.
    found = objects_of(text)
    if all(found):
        assert {grade for one in found for grade in grades_in(one[""])} <= {verdict.relevance}
        end = next((one["end"] for one in found if one["start"] < start < one["end"]), end)
        rest = re.sub(r"^\.0+(?![0-9])", "", text[end:])
    else:
        assert {match[1] for match in re.finditer(MENTIONS, text, re.IGNORECASE)} <= {"", str(verdict.relevance)}
        assert text.count("{") == text.count("}")
        rest = after.replace(",", "")
    closing = re.sub("~{3,}", "", rest)
    assert not [
        sign for sign in closing if not (sign in AROUND + "|.!。！" or unicodedata.category(sign) in ("Pe", "Pf"))
    ]
    if "{" not in text:
        for other in re.finditer(MENTIONS, text, re.IGNORECASE):
            assert not of_its_own(text[: other.start()]) or other[1] in ("", str(verdict.relevance))


MENTIONS = rf"(?<![^\W_])(?<![^\W_]_)(?:{'|'.join(KEYS)})[{AROUND}]*[:：][{AROUND}]*([0-9]*)"


def of_its_own(before: str, braces: str = "") -> bool:
    """Whether between the last word before a key and the key something parts them: a line's end,
    punctuation, a dash between spaces, or ``braces``, which begin or end what JSON keeps apart."""
    words = list(re.finditer(r"[^\W_]+", before))
    between = before[words[-1].end() :] if words else "\n" + before
    if between in (".", ":"):
        return False
    dash = "[-‐‑‒–−]"
    partings = list(
        re.finditer(rf"[\n\r\v\f\x85\u2028\u2029\0.,;:!?…)\]—。，；：！？）】{braces}]|\s{dash}+\s", between)
    )
    # A dash that touches what stands before it joins the key to it, be it a word or its bracket.
    return bool(partings) and not re.search(rf"[^\s\-‐‑‒–−]{dash}", between[partings[-1].end() - 1 :])


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("Pontuação: 1\nConfiança da pontuação: 3", 3),
        ("Pontuação: 1\nConfiança da pontuação: 3", 1),
        ("Pontuação: 1. F-Pontuação: 2", 2),
        ("A máxima pontuação: 3", 3),
        ("Pontuação: 3\nPontuação: indefinida", 3),
        ("Pontuação: 1.000", 1),
        ("Pontuação: 2\nPontuação: 1", 2),
        ("Entre 2 e 3", 3),
        ("Pontuação: 2 (muito)", 2),
        ('{"Pontuação": 2} certo', 2),
        ('{"Pontuação": 1} {"Pontuação": 2}', 2),
        ('{"a": {"Pontuação": 1}, "Pontuação": 2}', 2),
        ('{"Razão": "x", "Pontuação": 2', 2),
        ('{"Pontuação": 1,} {"Pontuação": 2,}', 2),
    ],
)
def test_the_oracle_sees_a_grade_that_was_not_the_verdict(text: str, grade: int) -> None:
    at = text.rindex(str(grade))
    with pytest.raises(AssertionError):
        written_as_the_verdict(text, Verdict(State.ok, grade, span=(at, at + 1)))


def objects_of(text: str) -> list[dict[str, Any]]:
    """The JSON objects of a text by brute force, each with its end; an empty one stands for one that is broken."""
    found: list[dict[str, Any]] = []
    position = 0
    while (position := text.find("{", position)) >= 0:
        try:
            pairs, end = json.JSONDecoder(strict=False, object_pairs_hook=tuple).raw_decode(text, position)
        except json.JSONDecodeError:
            broken = re.match(r"\{\s*[\"']", text[position:])
            if broken:
                return [{}]
            position += 1
            continue
        found.append({"": pairs, "start": position, "end": end})
        position = end
    return found


def grades_in(value: object) -> list[object]:
    """What the grade's keys say in a value, at any depth."""
    if isinstance(value, list):
        return [grade for inner in value for grade in grades_in(inner)]
    if not isinstance(value, tuple):
        return []
    grades = [said for key, said in value if " ".join(key.casefold().split()) in KEYS]
    numbers = [int(said) if isinstance(said, (str, float)) else said for said in grades]
    return numbers + [grade for _, inner in value for grade in grades_in(inner)]


@given(ANY)
def test_a_text_without_the_key_gives_no_grade_but_a_bare_one(text: str) -> None:
    assume(not re.search("pontua", unicodedata.normalize("NFC", text), re.IGNORECASE))
    if read_verdict(text, PT).status is State.ok:
        assert text.strip(AROUND + ".") in {"0", "1", "2", "3", "0.0", "1.0", "2.0", "3.0"}


@given(ANY)
def test_keys_are_compared_without_case_width_of_space_and_form(key: str) -> None:
    assert folded(unicodedata.normalize("NFD", key)) == folded(key)
    assert folded(f"  {key}\n") == folded(key)
    assert folded(folded(key)) == folded(key) or unicodedata.normalize("NFC", folded(key)) != folded(key)


def test_accents_count_in_keys() -> None:
    strict = Reading("Razão", "Pontuação", [], SCALE)
    assert read_verdict('{"Pontuacao": 2}', strict).status is State.unparsed
    assert read_verdict("Pontuacao: 2", strict).status is State.unparsed
