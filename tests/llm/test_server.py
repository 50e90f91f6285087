"""The test server itself: the bare SDK agrees with it, and what it serves and logs is what it was told."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import openai
import pydantic
import pytest

from quati_pool.llm.client import Client
from quati_pool.llm.faults import CallError, FatalError
from tests.llm.calling import request, with_client
from tests.llm.server import (
    STATES,
    STATUSES,
    WAYS,
    ServerProcess,
    answer_of,
    answers_of,
    completion,
    draft_of,
    grade_of,
    state_of,
    way_of,
)

T = TypeVar("T")


def with_sdk(server: ServerProcess, act: Callable[[openai.AsyncOpenAI], Awaitable[T]]) -> T:
    async def run() -> T:
        async with openai.AsyncOpenAI(base_url=server.url, api_key="any", max_retries=0) as sdk:
            return await act(sdk)

    return asyncio.run(run())


class Verdict(pydantic.BaseModel):
    reason: str
    relevance: int


def test_the_sdk_parses_its_answers(server: ServerProcess) -> None:
    async def act(sdk: openai.AsyncOpenAI) -> Any:
        messages: Any = [{"role": "user", "content": "uma pergunta"}]
        return await sdk.chat.completions.parse(model="m", messages=messages, response_format=Verdict, n=2)

    made = with_sdk(server, act)
    assert [choice.message.parsed.relevance for choice in made.choices] == [
        grade_of("uma pergunta", None, index) for index in range(2)
    ]
    assert made.usage.total_tokens == made.usage.prompt_tokens + made.usage.completion_tokens


def test_the_sdk_reads_its_errors_and_models(server: ServerProcess) -> None:
    async def act(sdk: openai.AsyncOpenAI) -> list[str]:
        for way, (status, error) in STATUSES.items():
            messages: Any = [{"role": "user", "content": f"[[serve: {way}]]"}]
            with pytest.raises(openai.APIStatusError) as caught:
                await sdk.chat.completions.create(model="m", messages=messages)
            assert (caught.value.status_code, caught.value.body) == (status, error)
        return [model.id async for model in sdk.models.list()]

    assert with_sdk(server, act) == ["any"]


def test_grades_follow_the_pair_the_sample_and_the_scale() -> None:
    grades = [grade_of(f"pair {number}") for number in range(400)]
    assert set(Counter(grades)) == {0, 1, 2, 3}
    assert min(Counter(grades).values()) > 50
    assert {grade_of(f"pair {number}", scale=(0, 1)) for number in range(50)} == {0, 1}
    assert len({grade_of("p", seed) for seed in range(30)}) > 1


def test_shares_are_served_whatever_the_order_of_the_calls(server: ServerProcess) -> None:
    shares = {"refusal": 0.2, "429 0": 0.2, "too_long": 0.2}
    server.script(shares=shares, seed=3, id_pattern=r"<(\w+)>")

    async def act(client: Client) -> None:
        calls = [client.complete(request(f"texto <p{number}> fim")) for number in range(100)]
        await asyncio.gather(*calls, return_exceptions=True)

    with_client(server, act)
    entries = server.log()
    assert len({entry["id"] for entry in entries}) == 100
    for entry in entries:
        assert entry["way"] == way_of(entry["id"], entry["call"], shares, 3)
    served = Counter(entry["way"] for entry in entries)
    assert all(8 < served[way] < 50 for way in shares)


def test_the_queue_is_served_in_the_order_of_arrival(server: ServerProcess) -> None:
    server.script(queue=["500", "refusal", "prose"])
    made = with_client(server, lambda client: client.complete(request("a")))
    assert made.choices[0].refusal
    assert [entry["way"] for entry in server.log()] == ["500", "refusal"]


def test_a_pair_that_is_asked_again_is_known_by_its_id(server: ServerProcess) -> None:
    server.script(id_pattern=r"#(\w+)")

    async def act(client: Client) -> None:
        first = request("exemplo #x0 e o par #q1d2")
        await client.complete(first)
        more = [
            *first.messages,
            {"role": "assistant", "content": "?"},
            {"role": "user", "content": "Responda em JSON."},
        ]
        await client.complete(type(first)(more, first.schema))

    with_client(server, act)
    assert [(entry["id"], entry["call"]) for entry in server.log()] == [("q1d2", 0), ("q1d2", 1)]


def test_the_log_outlives_a_client_that_breaks_off(server: ServerProcess) -> None:
    async def act(client: Client) -> None:
        task = asyncio.create_task(client.complete(request("p [[serve: late 30]]")))
        while not server.log():
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with_client(server, act)
    (entry,) = server.log()
    assert (entry["way"], entry["status"], entry["done"]) == ("late 30", 0, False)


@pytest.mark.parametrize(
    ("way", "text"),
    [
        ("prose", "Numa escala de 0 a 3, este trecho responde em parte. Pontuação: {grade}"),
        ("bare", "{grade}"),
        ("wrong_keys", '{{"opinion": "good", "stars": {grade}}}'),
    ],
)
def test_answers_in_the_wrong_form(server: ServerProcess, way: str, text: str) -> None:
    asked = f"[[serve: {way}]]"
    made = with_client(server, lambda client: client.complete(request(asked)))
    assert made.choices[0].text == text.format(grade=grade_of(asked))


@pytest.mark.parametrize(
    ("way", "grade"), [("off_scale", 7), ("negative", -1), ("half_grade", 2.5), ("fenced", None), ("two_objects", None)]
)
def test_grades_in_the_wrong_form(server: ServerProcess, way: str, grade: float | None) -> None:
    asked = f"[[serve: {way}]]"
    text = with_client(server, lambda client: client.complete(request(asked))).choices[0].text or ""
    last = text.removesuffix("\n```").rsplit("\n", 1)[-1]
    assert json.loads(last)["Pontuação"] == (grade_of(asked) if grade is None else grade)
    assert text.count("{") == (2 if way == "two_objects" else 1)


def test_what_thinks_or_leaves_a_doubt_names_another_grade_and_the_log_the_one_that_is_meant() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "p"}]}
    well = completion(body, "p", "well")["choices"][0]["message"]["content"]
    other = well.replace(str(grade_of("p")), str((grade_of("p") + 1) % 4))
    for way in ("think", "think_tail", "think_open", "channels", "two_objects", "next_pair", "quotation", "array"):
        written = completion(body, "p", way)["choices"][0]["message"]["content"]
        assert (written.count(well), written.count(other)) == (1, 1), way


def test_the_log_names_the_grade_that_is_meant_and_every_way_has_a_state(server: ServerProcess) -> None:
    server.script(queue=["think", "500", "end abort"])

    async def act(sdk: openai.AsyncOpenAI) -> list[str]:
        messages: Any = [{"role": "user", "content": "p"}]
        made = []
        for _ in range(2):
            answer = await sdk.chat.completions.create(model="m", messages=messages)
            made.append(answer.choices[0].finish_reason)
            if len(made) == 1:
                with pytest.raises(openai.InternalServerError):
                    await sdk.chat.completions.create(model="m", messages=messages)
        return made

    assert with_sdk(server, act) == ["stop", "abort"]
    assert [entry["grade"] for entry in server.log()] == [grade_of("p"), None, grade_of("p")]
    assert [state_of(entry["way"]) for entry in server.log()] == ["ok", "failed", "failed"]
    assert {way.split(" ")[0] for way in STATES} <= set(WAYS)
    assert (state_of("late 0.5"), state_of("filtered_prompt"), state_of("429 2")) == ("ok", "refused", "failed")


def test_what_it_is_told_to_refuse_it_refuses(server: ServerProcess) -> None:
    server.script(model="only-this")
    with pytest.raises(FatalError, match="does not serve the model 'gpt-4o'"):
        with_client(server, lambda client: client.complete(request("p")))
    server.script(refuses=["temperature"])
    with pytest.raises(CallError, match="Unsupported parameter: 'temperature'"):
        with_client(server, lambda client: client.complete(request("p")))
    with pytest.raises(AssertionError, match="no such way: weel"):
        server.script(default="weel")


def answered(schema: dict[str, Any] | None, *texts: str, system: str = "Reply {}") -> Any:
    body: dict[str, Any] = {"model": "fake-1"}
    body["messages"] = [{"role": "system", "content": system}, *({"role": "user", "content": text} for text in texts)]
    if schema is not None:
        form = {"name": "answer", "schema": {"type": "object", "properties": schema}}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return json.loads(completion(body, texts[-1], "well")["choices"][0]["message"]["content"])


def test_answers_are_given_in_the_form_of_the_schema_and_by_the_question() -> None:
    one, free = {"type": "string", "enum": ["A", "B", "C"]}, {"type": "string"}
    questions = [f"<question>\n{number}\n</question>" for number in range(30)]
    picked = [answered({"answer": one}, question)["answer"] for question in questions]
    assert picked == [answer_of(question, "ABC") for question in questions]
    assert set(picked) == {"A", "B", "C"}
    # Asked again within a conversation, it answers the same.
    assert answered({"answer": one}, questions[0], "again!") == {"answer": picked[0]}
    assert answered({"answer": free}, questions[0]) == {"answer": answer_of(questions[0])}
    several = [answered({"answers": {"type": "array", "items": one}}, question)["answers"] for question in questions]
    assert several == [answers_of(question, "ABC") for question in questions]
    assert {len(labels) for labels in several} == {0, 1, 2, 3}
    assert len(answered({"answers": {"type": "array", "items": free}}, questions[0])["answers"]) == 2


def test_drafts_are_given_in_the_form_of_the_schema_or_by_markers() -> None:
    form = {"question_pt": {"type": "string"}, "answer_pt": {"type": "string"}}
    texts = [f"text {number}" for number in range(30)]
    drafts = [answered(form, text) for text in texts]
    assert drafts == [{key: draft_of(text, key) for key in form} for text in texts]
    assert len({draft["question_pt"] for draft in drafts} | {draft["answer_pt"] for draft in drafts}) == 60
    assert answered(form, "[[question_pt: Quem?]] text 1") == {
        "question_pt": "Quem?",
        "answer_pt": draft_of("[[question_pt: Quem?]] text 1", "answer_pt"),
    }
    # Asked again within a conversation, it writes the same.
    assert answered(form, "text 1", "again!") == drafts[1]


def test_a_marker_says_what_is_answered() -> None:
    one, many = {"answer": {"type": "string"}}, {"answers": {"type": "array", "items": {"type": "string"}}}
    assert answered(one, "[[answer: Porto Alegre]] where?", "again!") == {"answer": "Porto Alegre"}
    assert answered(many, "which? [[answer: 2, 7]]") == {"answers": ["2", "7"]}
    assert answered(many, "which? [[answer: ]]") == {"answers": []}
    assert answered(None, "[[answer: B]] who?", system='Reply {"answer": "…"}') == {"answer": "B"}
    assert answered(None, "[[answer: B]] who?", system='Reply {"answers": ["…"]}') == {"answers": ["B"]}
