"""What the engine computes in batches, with shared beginnings and padding, against one prompt at a time by the library.

The direct computation knows neither padding nor caches: the logits of a whole row, and ``generate`` on a single prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from quati_pool.errors import QuatiPoolError
from quati_pool.llm.local.engine import Choice, Tokens
from quati_pool.llm.local.transformers_engine import TransformersEngine
from quati_pool.models.location import LocalModel
from quati_pool.models.parameters import ModelParameters
from tests.tiny_models.causal import causal

pytestmark = pytest.mark.neural

KINDS = ("llama", "mistral", "gemma2", "gpt2")
# 40 tokens that every prompt begins with: more than the sliding window of two of the models.
HEAD = np.random.default_rng(1).integers(10, 300, 40)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {kind: causal(tmp_path_factory.mktemp("models") / kind, kind) for kind in KINDS}


def engine(folder: Path, **parameters: Any) -> TransformersEngine:
    settings = ModelParameters(model=str(folder), device="cpu", **parameters)
    return TransformersEngine(LocalModel(folder, {}), settings, lambda _: None)


def rows(count: int, seed: int = 0, head: Tokens = HEAD) -> list[Tokens]:
    """Prompts of many lengths that begin alike."""
    random = np.random.default_rng(seed)
    return [np.concatenate([head, random.integers(10, 300, random.integers(1, 60))]) for _ in range(count)]


def tokens(*ids: int) -> Tokens:
    return np.array(ids, dtype=np.int64)


ENDINGS = {
    "one token": (tokens(20), tokens(21), tokens(22), tokens(23)),
    "several tokens": (tokens(20), tokens(21, 9), tokens(21, 30), tokens(21, 30, 31), tokens(22, 40, 41, 42)),
}


def scored(engine: TransformersEngine, choices: Sequence[Choice]) -> npt.NDArray[np.float64]:
    found = np.full((len(choices), len(choices[0].endings)), np.nan)
    for part, likely in engine.score(choices):
        found[part] = likely
    return found


def directly(folder: Path, choice: Choice) -> list[float]:
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    found = []
    for ending in choice.endings:
        row = torch.tensor(np.concatenate([choice.prompt, ending]))[None]
        with torch.inference_mode():
            likely = torch.log_softmax(model(row).logits[0].double(), dim=-1)
        start = len(choice.prompt)
        found.append(sum(float(likely[start - 1 + step, token]) for step, token in enumerate(ending.tolist())))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("endings", ENDINGS.values(), ids=ENDINGS.keys())
@pytest.mark.parametrize("budget", [1, 500, 100_000])
def test_scores_are_those_of_one_row_at_a_time(
    folders: dict[str, Path], kind: str, endings: tuple[Tokens, ...], budget: int
) -> None:
    choices = [Choice(prompt, endings) for prompt in rows(7)]
    made = engine(folders[kind], batch_tokens=budget)
    found = scored(made, choices)
    assert made.shared == len(HEAD)
    expected = [directly(folders[kind], choice) for choice in choices]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    # Random weights prefer some grades; a test on equal scores would prove nothing.
    assert np.ptp(found) > 0.5


def test_prompts_that_share_nothing_are_scored_alike(folders: dict[str, Path]) -> None:
    random = np.random.default_rng(3)
    choices = [Choice(random.integers(10, 300, size), ENDINGS["one token"]) for size in (1, 5, 80)]
    made = engine(folders["llama"])
    found = scored(made, choices)
    assert made.shared == 0
    np.testing.assert_allclose(found, [directly(folders["llama"], choice) for choice in choices], atol=1e-5)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 90), min_size=1, max_size=6), st.integers(0, 99))
def test_the_shared_beginning_follows_the_prompts(folders: dict[str, Path], shared: list[int], seed: int) -> None:
    """One engine for prompts whose common beginning changes from operation to operation, as in an audit."""
    made = engine(folders["llama"])
    random = np.random.default_rng(seed)
    base = random.integers(10, 300, 100)
    for length in shared:
        choices = [Choice(prompt, ENDINGS["one token"]) for prompt in rows(3, int(random.integers(99)), base[:length])]
        found = scored(made, choices)
        fresh = scored(engine(folders["llama"]), choices)
        np.testing.assert_allclose(found, fresh, atol=1e-5)


def test_what_several_queries_share_is_kept(folders: dict[str, Path]) -> None:
    """The first prompts are of one query, and share its text too; from the second query on the head is what counts."""
    made = engine(folders["llama"])
    query = np.concatenate([HEAD, np.full(40, 55)])
    for head, expected in ((query, 80), (np.concatenate([HEAD, np.full(40, 66)]), 40), (query, 40)):
        scored(made, [Choice(prompt, ENDINGS["one token"]) for prompt in rows(3, 1, head)])
        assert made.shared == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("budget", [1, 100_000])
def test_answers_are_those_of_generate_on_a_single_prompt(folders: dict[str, Path], kind: str, budget: int) -> None:
    prompts = rows(6)
    made = engine(folders[kind], batch_tokens=budget)
    found: dict[int, Any] = {}
    for part, answers in made.generate(prompts, 24, lambda: False):
        found.update(zip(part, answers, strict=True))
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(folders[kind], dtype=torch.float32)
    end = model.config.eos_token_id
    for place, prompt in enumerate(prompts):
        row = torch.tensor(prompt)[None]
        out = model.generate(row, attention_mask=torch.ones_like(row), max_new_tokens=24, do_sample=False)
        plain = out[0, len(prompt) :].tolist()
        ended = end in plain
        assert found[place].tokens == (plain[: plain.index(end)] if ended else plain)
        assert found[place].ended == ended


def test_an_answer_ends_at_the_end_token_and_is_cut_off_at_the_limit(folders: dict[str, Path]) -> None:
    """The model's first answer token is declared its end token, so that it ends at once; of another it never comes."""
    prompt = rows(1)[0]
    made = engine(folders["llama"])
    [(_, [long])] = list(made.generate([prompt], 5, lambda: False))
    assert (len(long.tokens), long.ended) == (5, False)
    made._models[0]._ends = [long.tokens[0]]
    [(_, [ended])] = list(made.generate([prompt], 5, lambda: False))
    assert (ended.tokens, ended.ended) == ([], True)


def test_a_stopped_answer_goes_no_further(folders: dict[str, Path]) -> None:
    [(_, [cut])] = list(engine(folders["llama"]).generate([rows(1)[0]], 50, lambda: True))
    assert (len(cut.tokens), cut.ended) == (1, False)


def test_a_full_device_halves_the_batch_and_says_so_once(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    parameters = ModelParameters(model=str(folders["llama"]), device="cpu", batch_tokens=100_000)
    made = TransformersEngine(LocalModel(folders["llama"], {}), parameters, said.append)
    whole = made._models[0].score

    def full(choices: Sequence[Choice], shared: Tokens) -> npt.NDArray[np.float64]:
        if len(choices) > 2:
            raise RuntimeError("out of memory")
        return whole(choices, shared)

    monkeypatch.setattr(made._models[0], "score", full)
    choices = [Choice(prompt, ENDINGS["one token"]) for prompt in rows(7)]
    np.testing.assert_allclose(scored(made, choices), scored(engine(folders["llama"]), choices), atol=1e-5)
    assert len(said) == 1


def test_another_error_of_the_library_is_one_line(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    made = engine(folders["llama"])

    def broken(*_: Any) -> None:
        raise RuntimeError("shapes\ndo not fit")

    monkeypatch.setattr(made._models[0], "score", broken)
    with pytest.raises(QuatiPoolError, match=r"failed on cpu \(shapes do not fit\)"):
        list(made.score([Choice(rows(1)[0], ENDINGS["one token"])]))
