"""The client against the local server: every way to answer, and what becomes of the call and of the run."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from typing import Any

import pytest

from quati_pool.llm import client as client_module
from quati_pool.llm.answers import Completion, Usage
from quati_pool.llm.client import Client
from quati_pool.llm.connection import Event
from quati_pool.llm.endpoint import Endpoint
from quati_pool.llm.faults import CallError, FatalError, ServerDown, Stopped
from quati_pool.llm.limits import Limits
from quati_pool.llm.options import Options, Request
from quati_pool.llm.retries import Retry
from tests.llm import virtual_time
from tests.llm.calling import QUICK, SCHEMA, request, with_client
from tests.llm.conftest import KEY
from tests.llm.server import PROBE, THOUGHT, ServerProcess, grade_of
from tests.other_processes import free_port


def ask(server: ServerProcess, text: str, **more: Any) -> Completion:
    return with_client(server, lambda client: client.complete(request(text)), **more)


def failure(server: ServerProcess, text: str, **more: Any) -> CallError:
    with pytest.raises(CallError) as caught:
        ask(server, text, **more)
    return caught.value


def test_an_answer_with_all_its_circumstances(server: ServerProcess) -> None:
    made = ask(server, "uma pergunta")
    (choice,) = made.choices
    assert json.loads(choice.text or "")["Pontuação"] == grade_of("uma pergunta")
    assert (choice.refusal, choice.finish_reason, choice.logprobs) == (None, "stop", None)
    assert (made.model, made.fingerprint, made.retries, made.output) == ("gpt-4o", "fp_test", 0, "json_schema")
    assert made.response_id
    assert made.response_id.startswith("chatcmpl-")
    assert made.usage
    assert None not in (made.usage.input, made.usage.cached, made.usage.output, made.usage.reasoning)
    assert made.seconds > 0


def test_the_body_is_what_request_body_says(server: ServerProcess) -> None:
    server.script(keep_bodies=True)

    async def act(client: Client) -> dict[str, Any]:
        asked = request("olá ✓", n=2, seed=7)
        await client.complete(asked)
        return client.request_body(asked)

    body = with_client(server, act, options=Options(top_p=0.5, extra_body={"user": "x"}))
    (entry,) = server.log()
    assert entry["body"] == body
    assert body == {
        "model": "gpt-4o",
        "temperature": 0.0,
        "top_p": 0.5,
        "max_tokens": 1024,
        "user": "x",
        "messages": [{"role": "user", "content": "olá ✓"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}},
        "n": 2,
        "seed": 7,
    }


def test_several_choices_and_logprobs(server: ServerProcess) -> None:
    made = with_client(
        server, lambda client: client.complete(request("p", n=3, seed=5)), options=Options(logprobs=True)
    )
    grades = [json.loads(choice.text or "")["Pontuação"] for choice in made.choices]
    assert grades == [grade_of("p", 5, index) for index in range(3)]
    for choice in made.choices:
        assert choice.logprobs
        assert "".join(token.token for token in choice.logprobs) == choice.text
        digit = [token for token in choice.logprobs if token.token.isdigit()][-1]
        assert digit.top == [(digit.token, -0.4), (str((int(digit.token) + 1) % 4), -1.1)]


@pytest.mark.parametrize(
    ("way", "text", "refusal", "finish_reason"),
    [
        ("refusal", None, "I cannot help with that.", "stop"),
        ("filtered_answer", None, None, "content_filter"),
        ("empty", "", None, "stop"),
        ("null", None, None, "stop"),
    ],
)
def test_an_answer_without_text_is_an_answer(
    server: ServerProcess, way: str, text: str | None, refusal: str | None, finish_reason: str
) -> None:
    (choice,) = ask(server, f"[[serve: {way}]]").choices
    assert (choice.text, choice.refusal, choice.finish_reason) == (text, refusal, finish_reason)
    assert len(server.log()) == 1


@pytest.mark.parametrize("way", ["error_beside", "error_in_choices", "odd_content", "odd_message", "odd_choices"])
def test_an_answer_in_doubt_as_a_whole_is_asked_again(server: ServerProcess, way: str) -> None:
    made = ask(server, f"[[serve: {way}, {way}, well]]")
    assert (made.retries, made.choices[0].error) == (2, None)
    assert [entry["way"] for entry in server.log()] == [way, way, "well"]
    if way.startswith("error"):
        error = failure(server, f"lost [[serve: {way}]]")
        assert (error.kind, error.status, error.words) == ("server", 502, "Provider returned error")


def test_an_error_in_one_of_several_choices_is_its_own(server: ServerProcess) -> None:
    made = with_client(server, lambda client: client.complete(request("p [[serve: error_in_first]]", n=3)))
    assert [choice.error for choice in made.choices] == ["Provider returned error", None, None]
    assert len(server.log()) == 1


def grade_in(text: str | None) -> Any:
    return json.loads(text or "null")["Pontuação"]


@pytest.mark.parametrize("way", ["thought_field", "thought_parts", "thinking_parts"])
def test_thoughts_come_apart_from_the_content(server: ServerProcess, way: str) -> None:
    (choice,) = ask(server, f"[[serve: {way}]]").choices
    assert (choice.thoughts, choice.notes) == (THOUGHT, ())
    assert grade_in(choice.text) == grade_of(f"[[serve: {way}]]")


@pytest.mark.parametrize(
    ("way", "text", "thoughts", "refusal", "notes"),
    [
        ("thought_alone", None, THOUGHT, None, ()),
        ("unknown_part", None, None, None, ("a part of type quotation was not read",)),
        ("split_number", "1\n0", None, None, ()),
        ("odd_refusal", ..., None, "{'why': ['no']}", ()),
        ("refusal_part", ..., None, "I cannot help with that.", ()),
    ],
)
def test_only_text_parts_are_content(
    server: ServerProcess, way: str, text: Any, thoughts: str | None, refusal: str | None, notes: tuple[str, ...]
) -> None:
    (choice,) = ask(server, f"[[serve: {way}]]").choices
    assert (choice.thoughts, choice.refusal, choice.notes) == (thoughts, refusal, notes)
    assert text is ... or choice.text == text


def test_odd_fields_count_as_absent_and_are_noted(server: ServerProcess) -> None:
    made = ask(server, "[[serve: odd_types]]")
    (choice,) = made.choices
    assert (made.response_id, made.model, made.fingerprint, made.usage) == (None, None, None, None)
    assert made.notes == (
        "model is a list, not text",
        "id is 7, not text",
        "system_fingerprint is an object, not text",
        'usage is "none", not counts',
    )
    assert (choice.finish_reason, choice.logprobs) == (None, None)
    assert choice.notes == ("finish_reason is 5, not text", "logprobs are not log-probabilities of tokens")
    assert grade_in(choice.text) == grade_of("[[serve: odd_types]]")
    assert ask(server, "[[serve: odd_counts]]").usage == Usage(None, None, None, None)
    assert len(server.log()) == 2


def test_words_of_a_server_are_cut_and_cannot_act_on_a_terminal(server: ServerProcess) -> None:
    error = failure(server, "[[serve: long_error]]")
    assert len(error.words) == 300
    assert error.words.startswith("\\x1b[2Jno no")
    assert error.words.isprintable()


REDIRECTS = [301, 302, 303, 307, 308]


@pytest.mark.parametrize("status", REDIRECTS)
def test_a_redirect_is_not_followed(server: ServerProcess, status: int) -> None:
    error = failure(server, f"[[serve: redirect {status}]]")
    assert (error.kind, error.status, error.retries) == ("rejected", status, 0)
    assert error.words == f"the server redirects to http://127.0.0.1:{server.port}/elsewhere/v1"
    assert [entry["status"] for entry in server.log()] == [status]


@pytest.mark.parametrize("status", REDIRECTS)
def test_prepare_names_the_address_of_a_redirect(server: ServerProcess, status: int) -> None:
    server.script(probe=f"redirect {status}")
    with pytest.raises(FatalError) as caught:
        with_client(server, lambda client: client.prepare())
    host = f"127.0.0.1:{server.port}"
    assert str(caught.value) == f"{host} redirects to http://{host}/elsewhere/v1; set base_url to it"
    assert len(server.log()) == 1


def test_a_cut_answer_says_so(server: ServerProcess) -> None:
    assert ask(server, "[[serve: length]]").choices[0].finish_reason == "length"


PASSING = ["408", "429", "429 0.05", "500", "503", "half_body", "cut_chunks", "drop", "not_json", "no_choices",
           "error_in_200"]  # fmt: skip


@pytest.mark.parametrize("way", PASSING)
def test_what_may_pass_is_asked_again(server: ServerProcess, way: str) -> None:
    made = ask(server, f"[[serve: {way}, {way}, well]]")
    assert made.retries == 2
    assert [entry["way"] for entry in server.log()] == [way, way, "well"]


@pytest.mark.parametrize(
    ("way", "kind", "status", "words"),
    [
        ("408", "server", 408, "Request timeout."),
        ("429", "server", 429, "Rate limit reached."),
        ("500", "server", 500, "The server had an error."),
        ("half_body", "protocol", None, "the connection broke off in the middle of the answer"),
        ("cut_chunks", "protocol", None, "the connection broke off in the middle of the answer"),
        ("drop", "transport", None, "the connection was dropped (Server disconnected)"),
        ("not_json", "protocol", None, "the body is not JSON: <html>upstream said no</html>"),
        ("error_in_200", "server", 502, "Provider returned error"),
    ],
)
def test_what_does_not_pass_fails_this_call_alone(
    server: ServerProcess, way: str, kind: str, status: int | None, words: str
) -> None:
    async def act(client: Client) -> tuple[CallError, Completion, Counter[str]]:
        with pytest.raises(CallError) as caught:
            await client.complete(request(f"[[serve: {way}]]"))
        return caught.value, await client.complete(request("outra")), client.counters.ends

    error, other, ends = with_client(server, act)
    assert (error.kind, error.status, error.words, error.retries) == (kind, status, words, QUICK.attempts - 1)
    assert error.seconds > 0
    assert other.choices[0].text
    assert len(server.log()) == QUICK.attempts + 1
    assert ends == {str(status or kind): QUICK.attempts, "200": 1}


@pytest.mark.parametrize(
    ("way", "kind", "words"),
    [
        ("400", "rejected", "This value is not allowed."),
        ("too_long", "rejected", "This model's maximum context length is 8192 tokens."),
        ("filtered_prompt", "content_filter", "The prompt was filtered."),
    ],
)
def test_what_cannot_pass_is_asked_once(server: ServerProcess, way: str, kind: str, words: str) -> None:
    error = failure(server, f"[[serve: {way}]]")
    assert (error.kind, error.status, error.words, error.retries) == (kind, 400, words, 0)
    assert len(server.log()) == 1


def test_a_server_that_hangs_is_a_time_out(server: ServerProcess) -> None:
    error = failure(server, "[[serve: hang]]", timeout=0.2, retry=Retry(attempts=2, first=0.01))
    assert (error.kind, error.words, error.retries) == ("timeout", "no answer within 0.2 s", 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "offset", "asked"),
    [("seconds", 0, 0.3), ("ms", 0, 0.3), ("date", 0, 2), ("date", 86_400 * 400, 2), ("date", -86_400 * 400, 2)],
)
def test_retry_after_is_kept_however_it_is_written_and_whatever_the_clocks_say(
    server: ServerProcess, written: str, offset: float, asked: float
) -> None:
    server.script(retry_after=written, date_offset=offset)
    events: list[Event] = []
    made = ask(server, f"[[serve: 429 {asked}, well]]", on_event=events.append)
    assert made.retries == 1
    assert [event.kind for event in events] == ["slower", "retry"]
    # A date has whole seconds, so one of them may be lost between the two headers.
    least = asked - 1 if written == "date" else asked
    assert all(least <= event.seconds <= asked + 0.02 for event in events)


def test_a_wait_longer_than_a_call_may_take_ends_the_call(server: ServerProcess) -> None:
    error = failure(server, "[[serve: 429 900]]")
    assert error.words == "Rate limit reached. (asks to wait 900 s, beyond the 20 s of a call)"
    assert len(server.log()) == 1


def test_a_wait_beyond_max_wait_fails_its_call_and_holds_the_others_no_longer(server: ServerProcess) -> None:
    server.script(queue=["429 3600"])

    async def act(client: Client) -> tuple[CallError, float]:
        with pytest.raises(CallError) as caught:
            await client.complete(request("a"))
        began = asyncio.get_running_loop().time()
        await client.complete(request("b"))
        return caught.value, asyncio.get_running_loop().time() - began

    error, held = with_client(server, act, limits=Limits(max_wait=0.2), retry=Retry(seconds=7200))
    assert error.words == "Rate limit reached. (asks to wait 3600 s, beyond max_wait: 0.2)"
    assert (error.status, error.retries) == (429, 0)
    assert held > 0.1
    assert [entry["status"] for entry in server.log()] == [429, 200]


def waits(server: ServerProcess, calls: int, **more: Any) -> list[str]:
    """What is said of waits while so many calls are made; the first that is said ends the run."""
    said: list[str] = []
    clients: list[Client] = []

    def hear(event: Event) -> None:
        if event.kind == "wait":
            said.append(event.words)
            asyncio.get_running_loop().call_later(0.1, clients[0].stop)

    async def act(client: Client) -> None:
        clients.append(client)
        ends = await asyncio.gather(*[client.complete(request(f"p{n}")) for n in range(calls)], return_exceptions=True)
        assert any(isinstance(end, Stopped) for end in ends)

    with_client(server, act, retry=Retry(), on_event=hear, **more)
    return said


def test_a_long_wait_is_said_once_with_its_cause(server: ServerProcess) -> None:
    host = server.url.removeprefix("http://").removesuffix("/v1")
    server.script(default="429 60")
    asks = f"before asking {host} again, which asks for 60 s (Rate limit reached.)"
    assert waits(server, 20) == [f"waiting 60 s {asks}"]
    server.script()
    (said,) = waits(server, 3, limits=Limits(rpm=1))
    assert re.fullmatch("waiting 6[01] s for rpm: 1", said)


def test_each_wait_that_ends_clearly_later_is_said_and_no_other() -> None:
    said: list[tuple[float, str]] = []

    async def story() -> None:
        loop = asyncio.get_running_loop()
        endpoint = Endpoint(model="m", base_url="http://127.0.0.1:9/v1", api_key_env=None)
        async with Client(endpoint, on_event=lambda event: said.append((loop.time(), event.words))) as client:
            await asyncio.gather(*[client.sleep(11 + number / 10, "for one") for number in range(40)])
            await client.sleep(9, "for nothing")
            await client.sleep(30, "for another")

    virtual_time.run(story())
    assert said == [(0.0, "waiting 11 s for one"), (pytest.approx(23.9), "waiting 30 s for another")]


def test_a_retry_waits_outside_its_slot(server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: high)

    async def act(client: Client) -> None:
        first = asyncio.create_task(client.complete(request("a [[serve: 500, well]]")))
        second = asyncio.create_task(client.complete(request("b [[serve: late 0.05]]")))
        await asyncio.gather(first, second)

    with_client(server, act, limits=Limits(concurrency=1), retry=Retry(first=0.5))
    assert [entry["id"][0] for entry in server.log()] == ["a", "b", "a"]


def test_many_calls_stay_within_concurrency_and_all_are_answered(server: ServerProcess) -> None:
    server.script(latency=0.02)

    async def act(client: Client) -> int:
        await asyncio.gather(*[client.complete(request(f"p{number}")) for number in range(200)])
        return client.concurrency_now

    assert with_client(server, act, limits=Limits(concurrency=16)) == 16
    state = server.state()
    assert len(state["entries"]) == 200
    assert 8 < state["peak"] <= 16


def test_concurrency_shrinks_under_429_and_no_call_is_lost(server: ServerProcess) -> None:
    server.script(latency=0.02, capacity=6)
    events: list[Event] = []

    async def act(client: Client) -> tuple[int, int]:
        await asyncio.gather(*[client.complete(request(f"p{number}")) for number in range(150)])
        return client.concurrency_now, client.in_flight

    now, left = with_client(
        server, act, limits=Limits(concurrency=64), retry=Retry(attempts=30, first=0.01), on_event=events.append
    )
    assert now < 20
    assert left == 0
    served = Counter(entry["status"] for entry in server.log())
    assert served[200] == 150
    assert set(served) == {200, 429}
    # Far fewer refusals than if 64 calls had gone on knocking.
    assert served[429] < 150
    assert any(event.kind == "slower" for event in events)


def test_a_cancelled_call_frees_its_slot(server: ServerProcess) -> None:
    async def act(client: Client) -> int:
        hanging = [asyncio.create_task(client.complete(request(f"{n} [[serve: hang]]"))) for n in range(4)]
        while len(server.log()) < 2:
            await asyncio.sleep(0.01)
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)
        await client.complete(request("outra"))
        return client.in_flight

    assert with_client(server, act, limits=Limits(concurrency=2)) == 0


def test_stop_lets_calls_in_flight_finish_and_begins_nothing(server: ServerProcess) -> None:
    async def act(client: Client) -> list[Any]:
        texts = ["retrying [[serve: 500]]", "a [[serve: late 0.5]]", "b [[serve: late 0.5]]", "waiting for a slot"]
        tasks = []
        for text in texts:
            tasks.append(asyncio.create_task(client.complete(request(text))))
            while text == texts[0] and not client.counters.ends["500"]:
                await asyncio.sleep(0.01)
        while client.in_flight < 2:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(client.stop)
        tasks.append(asyncio.create_task(client.complete(request("later"))))
        return await asyncio.gather(*tasks, return_exceptions=True)

    # A retry would wait for minutes.
    found = with_client(server, act, limits=Limits(concurrency=2), retry=Retry(first=200, longest=200), timeout=500.0)
    assert [type(one) for one in found] == [Stopped, Completion, Completion, Stopped, Stopped]
    assert [entry["id"].split(" [")[0] for entry in server.log()] == ["retrying", "a", "b"]


def test_stop_before_the_client_is_entered_is_kept(server: ServerProcess) -> None:
    async def run() -> None:
        client = Client(Endpoint(model="m", base_url=server.url))
        client.stop()
        async with client:
            with pytest.raises(Stopped):
                await client.complete(request())

    asyncio.run(run())
    assert server.log() == []


FATAL = [
    (
        "401",
        "refuses the key in OPENAI_API_KEY (Incorrect API key provided.); set OPENAI_API_KEY to a key of that server",
    ),
    (
        "404",
        "does not serve the model 'gpt-4o' (The model does not exist.); check the model's name and base_url "
        "(which usually ends in /v1)",
    ),
    (
        "insufficient_quota",
        "says that there is no money or quota left (You exceeded your current quota.); add some, then run again",
    ),
    ("no_money", "says that there is no money or quota left (Insufficient credits.); add some, then run again"),
]


@pytest.mark.parametrize(("way", "line"), FATAL)
def test_what_no_call_can_survive_ends_the_run_with_one_line(server: ServerProcess, way: str, line: str) -> None:
    async def act(client: Client) -> list[BaseException | Completion]:
        calls = [client.complete(request(f"[[serve: {way}]]"))]
        calls += [client.complete(request(f"{number} [[serve: late 0.2]]")) for number in range(50)]
        found = await asyncio.gather(*calls, return_exceptions=True)
        with pytest.raises(FatalError):
            await client.complete(request())
        return found

    found = with_client(server, act, limits=Limits(concurrency=4))
    host = f"127.0.0.1:{server.port}"
    assert str(found[0]) == f"{host} {line}"
    assert isinstance(found[0], FatalError)
    # Those in flight finished; the others were never sent and all say the same.
    assert Counter(type(one) for one in found) == {Completion: 3, FatalError: 48}
    assert {str(one) for one in found if isinstance(one, FatalError)} == {f"{host} {line}"}
    assert len(server.log()) == 4


def test_a_wrong_key_is_never_shown(server: ServerProcess) -> None:
    server.script(key="another-key-altogether")
    with pytest.raises(FatalError) as caught:
        with_client(server, lambda client: client.prepare())
    assert KEY not in str(caught.value)
    assert "(Incorrect API key provided: (key))" in str(caught.value)


def test_the_right_key_is_sent(server: ServerProcess) -> None:
    server.script(key=KEY)
    assert ask(server, "p").choices


def test_a_server_that_needs_no_key_gets_none_of_ours(server: ServerProcess) -> None:
    server.script(key="none")
    assert ask(server, "p", api_key_env=None).choices


def test_text_that_is_no_text_fails_its_call(server: ServerProcess) -> None:
    error = failure(server, "half of a pair: \ud83d")
    assert (error.kind, error.status) == ("rejected", None)
    assert server.log() == []


def test_azure_has_its_own_routes(server: ServerProcess) -> None:
    server.script(keep_bodies=True, key=KEY)
    ask(server, "p", api_version="2024-10-21")
    assert server.log()[0]["path"] == "/v1/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"


# -- prepare ---------------------------------------------------------------------------------------------


def test_the_probe_is_the_one_the_server_knows() -> None:
    assert client_module.PROBE == PROBE


@pytest.mark.parametrize(
    ("refuses", "output"),
    [((), "json_schema"), (("json_schema",), "json_object"), (("response_format",), "text")],
)
def test_the_strictest_form_that_the_server_takes_is_found_and_used(
    server: ServerProcess, refuses: tuple[str, ...], output: str
) -> None:
    server.script(refuses=refuses, keep_bodies=True)

    async def act(client: Client) -> tuple[str, Completion, int]:
        await client.prepare()
        return client.output, await client.complete(request()), len(client.probes)

    found, made, probes = with_client(server, act)
    assert (found, made.output, probes) == (output, output, 1)
    form = server.log()[-1]["body"].get("response_format", {"type": "text"})
    assert form["type"] == output


def test_a_server_that_takes_the_schema_and_ignores_it_is_asked_for_text(server: ServerProcess) -> None:
    server.script(probe="prose")

    async def act(client: Client) -> tuple[str, int]:
        await client.prepare()
        return client.output, len(client.probes)

    assert with_client(server, act) == ("text", 3)


@pytest.mark.parametrize("way", ["length", "end MAX_TOKENS", "thought_field", "thinking_parts", "odd_types"])
def test_a_probe_that_was_cut_off_or_is_strange_proves_nothing_against_the_server(
    server: ServerProcess, way: str
) -> None:
    server.script(probe=way)

    async def act(client: Client) -> str:
        await client.prepare()
        return client.output

    assert with_client(server, act) == "json_schema"


def test_the_parameters_that_a_server_wants_are_learnt(server: ServerProcess) -> None:
    server.script(refuses=("max_tokens", "temperature", "json_schema", "top_logprobs"), keep_bodies=True)
    events: list[Event] = []

    async def act(client: Client) -> None:
        await client.prepare()
        await client.complete(request())

    with_client(server, act, options=Options(max_tokens=50, logprobs=True), on_event=events.append)
    body = server.log()[-1]["body"]
    assert body["max_completion_tokens"] == 50
    assert body["top_logprobs"] == 5
    assert body["response_format"] == {"type": "json_object"}
    assert {"max_tokens", "temperature"}.isdisjoint(body)
    host = f"127.0.0.1:{server.port}"
    assert [event.words for event in events] == [
        f"{host} wants max_completion_tokens",
        f"{host} takes no temperature: the server's own is used",
        f"{host} does not support json_schema: using json_object instead",
        f"{host} gives 5 likeliest tokens at most",
    ]


def test_a_reasoning_model_gets_the_parameters_it_takes(server: ServerProcess) -> None:
    server.script(keep_bodies=True, refuses=("max_tokens", "temperature"))

    async def run() -> None:
        options = Options(max_tokens=100, reasoning_tokens=400, reasoning_effort="low")
        async with Client(Endpoint(model="gpt-5-mini", base_url=server.url), options) as client:
            await client.prepare()

    asyncio.run(run())
    (entry,) = server.log()
    assert entry["body"]["max_completion_tokens"] == 500
    assert entry["body"]["reasoning_effort"] == "low"


def test_a_form_that_was_chosen_is_not_changed(server: ServerProcess) -> None:
    server.script(refuses=("json_schema",))
    with pytest.raises(FatalError) as caught:
        with_client(server, lambda client: client.prepare(), options=Options(output="json_schema"))
    assert str(caught.value) == (
        f"127.0.0.1:{server.port} refuses a request for 'gpt-4o' (Invalid parameter: 'response_format' of type "
        "'json_schema' is not supported.); set output: auto"
    )


def test_prepare_probes_with_the_schema_of_the_calls_to_come(server: ServerProcess) -> None:
    server.script(keep_bodies=True)
    with_client(server, lambda client: client.prepare(SCHEMA))
    assert server.log()[0]["body"]["response_format"]["json_schema"]["schema"] == SCHEMA


@pytest.mark.parametrize(("way", "line"), FATAL)
def test_prepare_finds_what_no_call_can_survive(server: ServerProcess, way: str, line: str) -> None:
    server.script(probe=way)
    with pytest.raises(FatalError) as caught:
        with_client(server, lambda client: client.prepare())
    assert str(caught.value) == f"127.0.0.1:{server.port} {line}"
    assert len(server.log()) == 1


@pytest.mark.parametrize(
    ("way", "line"),
    [
        ("500", "does not answer as it should (The server had an error.); check the server, or check base_url"),
        (
            "not_json",
            "answers, but not as an OpenAI-compatible server (the body is not JSON: <html>upstream said no</html>); "
            "check base_url",
        ),
    ],
)
def test_prepare_gives_up_on_a_server_that_is_ill(server: ServerProcess, way: str, line: str) -> None:
    server.script(probe=way)
    with pytest.raises(ServerDown) as caught:
        with_client(server, lambda client: client.prepare())
    assert str(caught.value) == f"127.0.0.1:{server.port} {line}"
    assert len(server.log()) == QUICK.attempts


def test_a_server_that_is_down_is_said_to_be_down() -> None:
    port = free_port()

    async def run() -> None:
        endpoint = Endpoint(model="m", base_url=f"http://127.0.0.1:{port}/v1", api_key_env=None)
        async with Client(endpoint, retry=QUICK) as client:
            with pytest.raises(ServerDown) as down:
                await client.prepare()
            with pytest.raises(CallError) as lost:
                await client.complete(request())
        assert str(down.value) == (
            f"127.0.0.1:{port} does not answer as it should (no connection: Connection refused); "
            "check the server, or check base_url"
        )
        assert (lost.value.kind, lost.value.words) == ("transport", "no connection: Connection refused")

    asyncio.run(run())


def test_a_server_that_comes_back_finds_the_calls_waiting(server: ServerProcess) -> None:
    port = free_port()

    async def run() -> Completion:
        endpoint = Endpoint(model="m", base_url=f"http://127.0.0.1:{port}/v1", api_key_env=None)
        retry = Retry(attempts=200, first=0.05, longest=0.1, seconds=60)
        async with Client(endpoint, retry=retry) as client:
            call = asyncio.create_task(client.complete(Request([{"role": "user", "content": "p"}])))
            while not client.counters.retries:
                await asyncio.sleep(0.01)
            late = ServerProcess()
            await asyncio.to_thread(late.start, port)
            try:
                return await call
            finally:
                late.stop()

    assert asyncio.run(run()).retries >= 1
