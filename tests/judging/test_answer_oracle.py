"""The oracle of answers itself, by cases derived by hand from the rules."""

from __future__ import annotations

import pytest

from quati_pool.records import State
from tests.judging.answer_oracle import Expected, Setup, expected

PT = Setup(("Pontuação", "Pontuacao"), range(4))
EN = Setup(("Score", "Final score"), range(4))
OWN = Setup(("Score",), range(4), marks=(("<<plan>>", "<</plan>>"),))
NONE = Setup(("Pontuação",), range(4), marks=None)
ASPECTS = Setup(("O",), range(4), {"M": range(4), "T": range(2)})

U, T, S = State.unparsed, State.truncated, State.off_scale
ONE = '{"Razão": "x", "Pontuação": 1}'
THREE = '{"Razão": "x", "Pontuação": 3}'

TEXTS: list[tuple[str, State | int]] = [
    # one verdict
    (ONE, 1),
    ('{"Pontuação": 2.000}', 2),
    ('{"Pontuação": "2.0"}', 2),
    ('{"PONTUAC\u0327A\u0303O": 2}', 2),
    ('{"pontuacao ": 2, "Pontuação": 2}', 2),
    ('{"Razão": "two\nlines", "Pontuação": 2}', 2),
    ('{"Razão": "diz Pontuação: 3 e {\\"Pontuação\\": 0}", "Pontuação": 2}', 2),
    ("Responde em parte. Pontuação: 2", 2),
    ("## **Pontuação**：\n\n**2.0**", 2),
    ("Responde em parte – Pontuação: 2", 2),
    ("2", 2),
    (" **2.0**. ", 2),
    ('{"Pontuação": 4}', S),
    ("Pontuação: -1", S),
    ("503", S),
    ("9" * 5000, S),
    # no verdict
    ("", U),
    (" \n", U),
    ("Desculpe, não consigo avaliar.", U),
    ("Confidence score: 3", U),
    ("02", U),
    ("２", U),
    ("2/3", U),
    ('{"resultado": {"Pontuação": 2}}', U),
    ("A pontuação: 2", U),
    ("F-Pontuação: 2", U),
    ("Apontuação: 2", U),
    ("max_pontuação: 2", U),
    ("Pontuação: dois", U),
    # values that are no whole number
    *((f'{{"Pontuação": {value}}}', U) for value in ("2.5", '"2-3"', "02", "true", "null", "[2]", "2e0", '"2.00"')),
    *((f'{{"Pontuação": {value}}}', U) for value in ('"\\u0032"', '"2\\n"', "2.01", "-0", "NaN")),
    ('{"Pontuação": "\n2 "}', 2),
    *((f"Pontuação: {value}", U) for value in ("2.5", "2/3", "2-3", "2 ou 3", "2 de 3", "02", "+2", "2.00", "²", "2%")),
    # several that agree, and several that do not
    (f"{ONE}\n{ONE}", 1),
    (f"[{ONE}, {ONE}]", 1),
    (f"Pontuação: 1\n\n{ONE}", 1),
    (f"Pontuação: veja abaixo.\n{ONE}", 1),
    ("Pontuação: 1 (pouco relevante)\nPontuação: 1", 1),
    ("Confiança da pontuação: 3\nPontuação: 1", 1),
    ('{"a": [{"Pontuação": 1}], "Pontuação": 1}', 1),
    ('{"Pontuação": 1, "Pontuação": "1.0", "pontuacao": 1.0}', 1),
    ('[{"Pontuação": 0}, {"Pontuação": 3}]', U),
    (f"{ONE} Corrijo: {THREE}", U),
    (f"Pontuação: 3, digo: {ONE}", U),
    (f"Pontuação: 1 ou 2. Fico com: {ONE}", U),
    ('{"a": {"Pontuação": 3}, "Pontuação": 1}', U),
    ('{"Pontuação": 1, "pontuacao": 2}', U),
    ('{"Pontuação": "alta"} {"Pontuação": 1}', U),
    # what follows the verdict
    (f"```json\n{ONE}\n```\n", 1),
    (f"~~~\n{ONE}\n~~~", 1),
    (f"({ONE})!", 1),
    ("(Pontuação: 1.)", 1),
    ("“Pontuação: 1”。", 1),
    ("| Pontuação: 1 |", 1),
    (f"{ONE} ~~", U),
    (f"{ONE} (pouco relevante)", U),
    (f"{ONE}\n\nPergunta: outra\nPassagem: outra", U),
    (f'{ONE} {{"Razão": "sem nota"}}', U),
    (f"{ONE}\nA passagem traz: {THREE}", U),
    ("Pontuação: 1\nConfiança da pontuação: 1", U),
    ("Pontuação: 1 (pouco relevante)", U),
    ("Pontuação: 4. Muito boa", U),
    (f'[{ONE}, {{"x": 1}}]', U),
    # broken JSON
    ('{"Razão": "x", "Pontuação": 1', U),
    ('{"Razão": "ele disse "oi" e saiu", "Pontuação": 1}', 1),
    ('{"Razão": "x", "Pontuação": 1,}', 1),
    ("{'Razão': 'x', 'Pontuação': 1}", 1),
    ("```json\n{'Razão': 'x', 'Pontuação': '1'}\n```", 1),
    ("{'Razão': 'x', 'Pontuação': 5}", S),
    ('{"Razão": "diz "oi", "Pontuação": 1}', U),
    ("{'Razão': 'diz Pontuação: 3', 'Pontuação': 1}", U),
    ("{'Pontuação': 1, 'Razão': 'x'}", U),
    ("{'Razão': 'x', Pontuação: 1}", U),
    ('{"Pontuação": 1, "n": 2２}', U),
    ("{'Razão': 'x', 'Pontuação ': 1}", U),
    ("{'Razão': 'x', 'Pontuação\": 1}", U),
    ("{'Razão': 'x } y', 'Pontuação': 1}", U),
    ("{'Razão': 'x', 'Pontuação': 1} Pronto.", U),
    (f"{ONE} {{'a': 1}}", U),
    ('{"Razão": "a Pontuação: 3 caberia se', U),
    # thoughts
    (f"<think>{THREE}</think>{ONE}", 1),
    (f"< Think >{THREE}</ think >{ONE}", 1),
    (f"{ONE}<thinking>{THREE}</thinking>", 1),
    (f"[THINK]{THREE}[/THINK]{ONE}", 1),
    (f"◁think▷{THREE}◁/think▷{ONE}", 1),
    (f"<|begin_of_thought|>{THREE}<|end_of_thought|>{ONE}", 1),
    (f"<|START_THINKING|>{THREE}<|END_THINKING|>{ONE}", 1),
    (f"<|channel>thought\n{THREE}<channel|>{ONE}", 1),
    (f"<seed:think>{THREE}</seed:think>{ONE}", 1),
    (f"{THREE} Ou não.</think>\n{ONE}", 1),
    (f"<think>a<think>b</think>{THREE}</think>{ONE}", 1),
    (f"<think>a<reasoning>b</think>{ONE}", 1),
    (f"<think>a</think>{THREE}</think>{ONE}", 1),
    (f"<think>{THREE}</think> Desculpe, não consigo avaliar", U),
    (f"<think>{THREE}</think>", U),
    (f"<think>{THREE}", T),
    (f"{ONE}<think>", T),
    (f"<think>a<think>b</think>{ONE}", T),
    (f"<think>{THREE}</reasoning>{ONE}", T),
    ('{"Razão": "diz <think>x</think>", "Pontuação": 1}', 1),
    ('{"Pontuação": <think>3</think>1}', 1),
    ('{"Pontuação": 1<think>x</think>2}', U),
    (f"<thinker>{ONE}", 1),
    # channels
    (
        f"<|channel|>analysis<|message|>{THREE}<|end|><|start|>assistant<|channel|>final<|message|>{ONE}<|return|>",
        1,
    ),
    (f"<|channel|>analysis to=x <|constrain|>json<|message|>{THREE}<|call|><|channel|>final<|message|>{ONE}", 1),
    (f"<|channel|>commentary<|message|>{THREE}<|channel|>final json<|message|>{ONE}", 1),
    (f"<|channel|>analysis<|message|>a </think> {THREE}<|end|>{ONE}", 1),
    (f"{ONE}<|end|>", 1),
    (f"<|channel|>final<|message|>{ONE}<|end|><|channel|>final<|message|>{THREE}", U),
    (f"<|channel|>final<|message|>{ONE}<|end|><|start|>user<|message|>Pergunta: outra", U),
    (f"<|channel|>analysis<|message|>{THREE}<|end|>", U),
    (f"<|channel|>analysis<|message|>{ONE}", T),
    (f"<|channel|>final<|message|>{ONE}<|channel|>analysis<|message|>mais", T),
]


@pytest.mark.parametrize(("text", "outcome"), TEXTS, ids=lambda value: str(value)[:60])
def test_texts(text: str, outcome: State | int) -> None:
    state, grade = (State.ok, outcome) if isinstance(outcome, int) else (outcome, None)
    assert expected(text, None, "stop", None, PT) == Expected(state, grade)


@pytest.mark.parametrize(
    ("refusal", "finish_reason", "error", "state"),
    [
        *(
            (None, reason, None, State.ok)
            for reason in (None, "", "stop", " STOP ", "End-Turn", "eos", "stop sequence")
        ),
        *((None, reason, None, T) for reason in ("length", "MAX_TOKENS", "max-output-tokens", "Incomplete")),
        *((None, reason, None, State.refused) for reason in ("safety", "SAFETY", "content-filter", "refusal", "SPII")),
        *((None, reason, None, State.failed) for reason in ("abort", "tool_calls", "function_call", "error", "?")),
        ("I cannot.", "stop", None, State.refused),
        ("I cannot.", "length", None, State.refused),
        ("I cannot.", "stop", "overloaded", State.failed),
        (None, "safety", "overloaded", State.failed),
    ],
)
def test_ends(refusal: str | None, finish_reason: str | None, error: str | None, state: State) -> None:
    made = expected(ONE, refusal, finish_reason, error, PT)
    assert made == Expected(state, 1 if state is State.ok else None)


def test_how_it_ended_comes_before_thoughts_and_thoughts_before_verdicts() -> None:
    assert expected("<think>", None, "safety", None, PT).state is State.refused
    assert expected(f"<think>{ONE}", None, "end_turn", None, PT).state is T
    assert expected(None, None, "stop", None, PT).state is U


def test_keys_of_two_words_and_marks_of_ones_own() -> None:
    assert expected("Confidence score: 3\nFinal  score: 1", None, None, None, EN).grade == 1
    assert expected("Score: 3. Final score: 1", None, None, None, EN).state is U
    assert expected("<<Plan>>Score: 3<</plan>>Score: 1", None, None, None, OWN).grade == 1
    assert expected("<<plan>>Score: 3", None, None, None, OWN).state is T
    assert expected("Score: 3<</plan>>Score: 1", None, None, None, OWN).grade == 1
    assert expected("<think>Score: 3</think>Score: 1", None, None, None, OWN).grade == 1
    assert expected(f"<think>{ONE}</think>{THREE}", None, None, None, NONE).state is U
    assert expected(f"<think>{ONE}", None, None, None, NONE).grade == 1


def test_gaps_in_the_scale_are_off_it() -> None:
    gaps = Setup(("Score",), (0, 1, 10))
    assert [expected(f"Score: {n}", None, None, None, gaps).state for n in (1, 2, 10)] == [State.ok, S, State.ok]


@pytest.mark.parametrize(
    ("text", "aspects"),
    [
        ('{"M": 2, "T": 1, "O": 3}', {"M": 2, "T": 1}),
        ('{"O": 3, "m": "2.0", "T": 2}', {"M": 2}),
        ('{"M": 2, "m": 3, "T": true, "O": 3}', {}),
        ('{"a": {"M": 2}, "O": 3}', {}),
        ('{"M": 1}\n{"T": 1, "O": 3}', {"T": 1}),
        ("M: 2\n- **T**: 1\nO: 3", {"M": 2, "T": 1}),
        ("M: 2\nM: 2\nT: 1 or 0\nO: 3", {"M": 2}),
        ("M: 2\nM: 1\nthe T: 1\nO: 3", {}),
        ('{"M": 2}\nT: 1\nO: 3', {"T": 1}),
        ("{'M': 2, 'T': 1, 'O': 3}", {"M": 2, "T": 1}),
        ("3", {}),
    ],
)
def test_aspects(text: str, aspects: dict[str, int]) -> None:
    assert expected(text, None, None, None, ASPECTS) == Expected(State.ok, 3, aspects)
