"""Any text and any JSON is held as it was given, on both engines."""

from __future__ import annotations

import json
import math

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, text

from quati_pool.records import State
from quati_pool.store.columns import escaped, json_text, restored
from quati_pool.store.database import Store
from quati_pool.store.records import Attempt, Entry
from tests.store.samples import label

ANY = st.text(st.characters() | st.sampled_from("\x00\x1a\ud800\udfff0a"))
HOSTILE = "NUL \x00, lone \ud83d, SUB \x1a0000, é, \U0001f600, '; DROP TABLE labels; --"


@given(ANY)
@example("\x1a0000")
@example("\ud83d\ude00")
def test_escaping_is_reversible_and_fits_both_engines(value: str) -> None:
    held = escaped(value)
    held.encode()
    assert "\x00" not in held
    assert restored(held) == value


def test_ordinary_text_is_held_as_it_is() -> None:
    assert escaped("Razão: 2\n\t\U0001f600") == "Razão: 2\n\t\U0001f600"


def test_what_cannot_be_held_is_visible() -> None:
    assert escaped("a\x00b\ud800c") == "a\x1a0000b\x1ad800c"


def test_json_names_numbers_that_json_lacks() -> None:
    value = {"logprobs": [math.nan, math.inf, -math.inf, 0.5], "top": {"a": (math.nan,)}}
    assert json.loads(json_text(value)) == {
        "logprobs": ["NaN", "Infinity", "-Infinity", 0.5],
        "top": {"a": ["NaN"]},
    }


def test_a_hostile_answer_is_kept_in_every_column_of_text(store: Store) -> None:
    texts = ("answer", "problem", "finish_reason", "output", "model", "endpoint", "response_id", "fingerprint")
    attempt = Attempt(number=1, status=State.unparsed, extra={HOSTILE: [HOSTILE]}, **dict.fromkeys(texts, HOSTILE))
    given = label(status=State.unparsed, rationale=HOSTILE, extra={"said": HOSTILE})
    store.append([Entry(label=given, attempts=(attempt,))])
    [(read, [tried])] = store.history("pira", "gpt", "q1", "d1")
    assert tried == attempt
    assert (read.rationale, read.extra) == (HOSTILE, {"said": HOSTILE})
    [current] = store.current("pira", "gpt", "v1", ["q1"])
    assert current.extra == {"said": HOSTILE}
    assert store.usage("pira", "gpt").models == {HOSTILE: 1}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(ANY, st.dictionaries(ANY, ANY | st.integers() | st.none() | st.floats(allow_nan=False, allow_infinity=False)))
def test_any_answer_comes_back(store: Store, answer: str, extra: dict[str, object]) -> None:
    attempt = Attempt(number=1, status=State.ok, answer=answer, extra=extra)
    [seq] = store.append([Entry(label=label(), attempts=(attempt,))])
    held, [tried] = store.history("pira", "gpt", "q1", "d1")[-1]
    assert (held.seq, tried.answer) == (seq, answer)
    assert tried.extra == json.loads(json.dumps(extra))


def test_the_text_in_the_database_is_readable_without_this_tool(store: Store, made_url: str) -> None:
    store.append([Entry(label=label(rationale="Não: fala de outra coisa"))])
    engine = create_engine(made_url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        found = connection.execute(text("SELECT query_id, relevance, rationale FROM labels")).all()
    engine.dispose()
    assert found == [("q1", 2, "Não: fala de outra coisa")]
