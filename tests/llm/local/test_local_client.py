"""The client of a model in this process, as the code that asks sees it."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from quati_pool.errors import QuatiPoolError
from quati_pool.judging.distribution import grade_distribution
from quati_pool.llm.faults import CallError, Stopped
from quati_pool.llm.local.client import Grades, LocalClient
from quati_pool.llm.local.engine import Engine
from quati_pool.llm.local.transformers_engine import TransformersEngine
from quati_pool.llm.options import Options, Request
from quati_pool.models.errors import ModelError
from quati_pool.models.location import LocalModel
from quati_pool.models.parameters import ModelParameters
from tests.tiny_models.causal import causal

pytestmark = pytest.mark.neural
SCALE = Grades("Score", (0, 1, 2, 3))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return causal(tmp_path_factory.mktemp("models") / "tiny", max_position_embeddings=256)


def loading(folder: Path) -> Callable[[Callable[[str], None]], tuple[Engine, str]]:
    def load(note: Callable[[str], None]) -> tuple[Engine, str]:
        parameters = ModelParameters(model=str(folder), device="cpu")
        return TransformersEngine(LocalModel(folder, {}), parameters, note), "weights"

    return load


def client(folder: Path, grades: Grades | None = SCALE, **options: Any) -> LocalClient:
    return LocalClient("tiny", Options(**{"max_tokens": 16, **options}), loading(folder), grades)


def request(text: str) -> Request:
    return Request([{"role": "system", "content": "You grade passages."}, {"role": "user", "content": text}])


def answered(client: LocalClient, texts: list[str]) -> list[Any]:
    async def run() -> list[Any]:
        async with client:
            await client.prepare()
            return await asyncio.gather(*(client.complete(request(text)) for text in texts), return_exceptions=True)

    return asyncio.run(run())


TEXTS = [f"Which river crosses the city? {'The tide rises. ' * number}" for number in range(6)]


@pytest.mark.parametrize("grades", [SCALE, Grades("Score", tuple(range(13)))], ids=["0 to 3", "0 to 12"])
def test_the_likeliest_grade_is_the_answer(folder: Path, grades: Grades) -> None:
    """The probabilities, from whole texts tokenised and run one by one: of "2" after the beginning of the answer, and
    on the scale with 1 and 12 of "2}", since 1 could go on."""
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    endings = [f"{number}}}" if len(grades.numbers) > 10 else str(number) for number in grades.numbers]
    for text, found in zip(TEXTS, answered(client(folder, grades), TEXTS), strict=True):
        begun = tokenizer.apply_chat_template(request(text).messages, tokenize=False, add_generation_prompt=True)
        begun += '{"Score": '
        read = len(tokenizer(begun)["input_ids"])
        logs = []
        for ending in endings:
            ids = torch.tensor([tokenizer(begun + ending)["input_ids"]])
            with torch.inference_mode():
                likely = torch.log_softmax(model(ids).logits[0].double(), dim=-1)
            logs.append(sum(float(likely[place - 1, ids[0, place]]) for place in range(read, ids.shape[1])))
        best = int(np.argmax(logs))
        choice = found.choices[0]
        assert json.loads(choice.text) == {"Score": grades.numbers[best]}
        assert (choice.finish_reason, found.output, found.fingerprint) == ("stop", "choice", "weights")
        assert (found.usage.input, found.usage.output) == (read, len(tokenizer(endings[best])["input_ids"]))
        place = choice.text.index(str(grades.numbers[best]))
        span = (place, place + len(str(grades.numbers[best])))
        shares = grade_distribution(choice.logprobs, choice.text, span, grades.numbers)
        assert shares is not None
        total = math.fsum(map(math.exp, logs))
        assert shares.off_scale == pytest.approx(1 - total, abs=1e-5)
        for number, log in zip(grades.numbers, logs, strict=True):
            assert shares.shares[number] == pytest.approx(math.exp(log) / total, abs=1e-5)
        expected = sum(n * math.exp(log) for n, log in zip(grades.numbers, logs, strict=True)) / total
        assert shares.expected == pytest.approx(expected, abs=1e-4)


def test_of_equally_likely_grades_the_lowest_is_the_answer(folder: Path, tmp_path: Path) -> None:
    """With the output layer at zero all tokens are equally likely."""
    even = causal(tmp_path / "even", tie_word_embeddings=False)
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(even)
    torch.nn.init.zeros_(model.lm_head.weight)
    model.save_pretrained(even)
    [found] = answered(client(even), ["Which river?"])
    assert json.loads(found.choices[0].text) == {"Score": 0}


def test_answers_are_texts_with_their_ends(folder: Path) -> None:
    for found in answered(client(folder, None), TEXTS[:3]):
        choice = found.choices[0]
        assert choice.logprobs is None
        assert (choice.finish_reason == "length") == (found.usage.output == 16)
        assert found.output == "answer"


def test_a_prompt_beyond_the_context_fails_alone(folder: Path) -> None:
    """256 tokens are the model's; the others are answered."""
    good, bad = answered(client(folder), [TEXTS[0], "tide " * 300])
    assert good.choices[0].finish_reason == "stop"
    assert isinstance(bad, CallError)
    assert bad.kind == "rejected"
    assert "256 that tiny takes; set max_passage_tokens" in bad.words
    [bad] = answered(client(folder, None, max_tokens=250), [TEXTS[0]])
    assert isinstance(bad, CallError)
    assert "lower max_tokens" in bad.words


def test_a_model_that_cannot_be_loaded_ends_the_run(tmp_path: Path) -> None:
    def load(note: Callable[[str], None]) -> tuple[Engine, str]:
        raise ModelError("model 'tiny' is damaged")

    async def run() -> None:
        async with LocalClient("tiny", Options(), load, SCALE) as made:
            await made.prepare()

    with pytest.raises(ModelError, match="damaged"):
        asyncio.run(run())


def test_a_failure_of_the_library_is_an_error_that_ends_the_run(folder: Path) -> None:
    made = client(folder)

    def broken(*_: object) -> None:
        raise KeyError("lost")

    async def run() -> list[Any]:
        async with made:
            await made.prepare()
            made._engine.score = broken  # type: ignore[union-attr, method-assign, assignment]
            return await asyncio.gather(made.complete(request("?")), return_exceptions=True)

    [error] = asyncio.run(run())
    assert isinstance(error, QuatiPoolError)
    assert "model 'tiny' failed (KeyError" in str(error)


def test_after_stop_nothing_is_begun(folder: Path) -> None:
    async def run() -> list[Any]:
        async with client(folder) as made:
            await made.prepare()
            made.stop()
            return await asyncio.gather(made.complete(request("?")), return_exceptions=True)

    [error] = asyncio.run(run())
    assert isinstance(error, Stopped)


def test_leaving_the_client_cuts_a_long_answer_short(folder: Path) -> None:
    """Thousands of tokens would take minutes."""
    long = causal(folder.with_name("long"), max_position_embeddings=100_000, eos_token_id=None)
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(long)
    tokenizer.eos_token = None
    tokenizer.save_pretrained(long)
    config = transformers.GenerationConfig.from_pretrained(long)
    config.eos_token_id = None
    config.save_pretrained(long)

    async def run() -> BaseException | None:
        async with client(long, None, max_tokens=50_000) as made:
            await made.prepare()
            asked = asyncio.ensure_future(made.complete(request("?")))
            await asyncio.sleep(0.3)
        return (await asyncio.gather(asked, return_exceptions=True))[0]  # type: ignore[return-value]

    assert isinstance(asyncio.run(run()), Stopped)
