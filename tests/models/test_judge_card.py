"""How a trained judge's outputs are read as grades."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import logit

from quati_pool.models.errors import ModelError
from quati_pool.models.judge_card import CARD, JudgeCard, Teacher, read_card


def card(target: Any, scale: list[int], relevant_from: int, shifts: list[float], **more: Any) -> JudgeCard:
    return JudgeCard(
        target=target, scale=scale, relevant_from=relevant_from, shifts=shifts, max_tokens=64,
        base={"model": "base", "identity": {"digest": "0"}}, collection="c", teachers=[], augmentation={},
        negatives={}, settings={}, libraries={}, training_queries={}, held_out_queries={}, content_shas=[], steps={},
        held_out={}, **more,
    )  # fmt: skip


def outputs(*probabilities: float) -> Any:
    return logit(np.array([probabilities]))


def test_ordinal_outputs_by_hand() -> None:
    read = card("ordinal", [0, 1, 2, 3], 2, [0, 0, 0]).read(outputs(0.9, 0.6, 0.2))
    # P(≥1) = 0.9, P(≥2) = 0.6, P(3) = 0.2: two thresholds are passed; the mean is 0.9 + 0.6 + 0.2.
    assert read.grades.tolist() == [2]
    assert read.distribution is not None
    assert read.expected is not None
    assert read.distribution[0] == pytest.approx([0.1, 0.3, 0.4, 0.2])
    assert read.expected[0] == pytest.approx(1.7)
    # Out of order: the same probabilities, sorted.
    other = card("ordinal", [0, 1, 2, 3], 2, [0, 0, 0]).read(outputs(0.6, 0.9, 0.2))
    assert other.distribution == pytest.approx(read.distribution)


def test_the_shift_of_training_is_taken_back() -> None:
    plain = card("ordinal", [0, 1], 1, [0]).read(outputs(0.5))
    shifted = card("ordinal", [0, 1], 1, [float(np.log(4))]).read(outputs(0.8))  # odds 4 to 1
    assert shifted.expected == pytest.approx(plain.expected)


def test_a_scale_with_gaps() -> None:
    read = card("ordinal", [-1, 1, 4], 1, [0, 0]).read(outputs(0.8, 0.3))
    assert read.grades.tolist() == [1]
    # -1 * 0.2 + 1 * 0.5 + 4 * 0.3
    assert read.expected == pytest.approx(np.array([1.5]))


@given(arrays(np.float64, (5, 3), elements=st.floats(-30, 30).filter(lambda found: abs(found) > 1e-9)))
def test_ordinal_distributions_add_up_and_give_their_mean(found: Any) -> None:
    scale = np.array([0, 1, 2, 5])
    read = card("ordinal", scale.tolist(), 2, [0, 0, 0]).read(found)
    assert read.distribution is not None
    assert (read.distribution >= -1e-12).all()
    assert read.distribution.sum(axis=1) == pytest.approx(1)
    assert read.expected == pytest.approx(read.distribution @ scale)
    # A threshold is passed where a grade above it is more likely than not: its log-odds are above 0.
    assert read.grades.tolist() == scale[(found > 0).sum(axis=1)].tolist()


def test_expected_outputs_by_hand() -> None:
    read = card("expected", [0, 1, 2, 3], 2, [0]).read(np.array([[0.5], [-0.3], [1.4], [0.4]]))
    # 1.5 is as near to 1 as to 2: the lower one; outputs beyond the scale are its ends; 0.4 * 3 = 1.2.
    assert read.grades.tolist() == [1, 0, 3, 1]
    assert read.expected == pytest.approx(np.array([1.5, 0, 3, 1.2]))
    assert read.distribution is None


def test_binary_outputs_by_hand() -> None:
    read = card("binary", [0, 1, 2, 3], 2, [0]).read(outputs(0.7))
    assert (read.grades.tolist(), read.expected, read.distribution) == ([2], None, None)
    assert read.score == pytest.approx(np.array([0.7]))
    two = card("binary", [0, 1], 1, [0]).read(outputs(0.3))
    assert two.grades.tolist() == [0]
    assert two.distribution == pytest.approx(np.array([[0.7, 0.3]]))
    assert two.expected == pytest.approx(np.array([0.3]))


def test_what_readers_of_labels_learn_of_their_origin() -> None:
    teacher = Teacher(
        name="panel", kind="llm", version=None, sources=["gpt", "claude"], models=["gpt-4o"], families=["openai"]
    )
    made = card("binary", [0, 1], 1, [0]).model_copy(
        update={"teachers": [teacher], "training_queries": {"q1": "b"}, "held_out_queries": {"q2": "a"}}
    )
    assert made.learned() == {
        "labelers": ["claude", "gpt", "panel"], "models": ["base", "gpt-4o"], "families": ["openai"],
        "queries": ["a", "b"],
    }  # fmt: skip


def test_a_folder_without_a_sound_card_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"has no quati_pool_judge\.json: it is no judge that quati-pool trained"):
        read_card(tmp_path, "m")
    made = card("ordinal", [0, 1], 1, [0.5])
    (tmp_path / CARD).write_text(made.model_dump_json())
    assert read_card(tmp_path, "m") == made
    damaged = {**json.loads(made.model_dump_json()), "scale": "low"}
    (tmp_path / CARD).write_text(json.dumps(damaged))
    with pytest.raises(ModelError, match="is damaged at scale; train the judge again"):
        read_card(tmp_path, "m")
