"""Prices: which model costs what, what is unknown, and a file of the user's own."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from quati_pool.errors import InputError
from quati_pool.llm.answers import Usage
from quati_pool.llm.prices import BUNDLED, price_of, read_prices


def test_a_call_costs_its_input_cached_input_and_output() -> None:
    price = price_of("gpt-4o")
    assert price
    # 600 × 2.50 + 400 × 1.25 + 200 × 10.00 dollars a million = 0.0015 + 0.0005 + 0.002
    assert price.cost(Usage(1000, 400, 200, None)) == pytest.approx(0.004)
    assert price.cost(Usage(1000, 400, 200, None), batch=True) == pytest.approx(0.002)


def test_cached_tokens_without_a_price_of_their_own_cost_what_others_cost() -> None:
    price = price_of("gpt-4")
    assert price
    assert price.cost(Usage(1_000_000, 500_000, 0, None)) == pytest.approx(30)


def test_counts_that_the_server_did_not_tell_have_no_cost() -> None:
    price = price_of("gpt-4o")
    assert price
    assert price.cost(Usage(None, None, 5, None)) is None
    assert price.cost(Usage(5, None, None, None)) is None
    assert price.cost(Usage(1_000_000, None, 0, None)) == pytest.approx(2.5)


def test_embeddings_cost_their_input() -> None:
    price = price_of("text-embedding-3-small")
    assert price
    assert price.cost(Usage(1_000_000, None, None, None)) == pytest.approx(0.02)


def test_a_dated_model_costs_what_its_family_costs_unless_it_is_listed() -> None:
    family = price_of("gpt-4o")
    assert price_of("gpt-4o-2024-11-20") == family
    older = price_of("gpt-4o-2024-05-13")
    assert older
    assert family
    assert (older.input, family.input) == (5, 2.5)


@pytest.mark.parametrize(
    "model", ["qwen3:8b", "gpt-4o-mini-finetuned", "ft:gpt-4o:me", "GPT-4o", "openai/gpt-4o", "gpt-4o-2024", "", "gpt"]
)
def test_any_other_model_has_an_unknown_price(model: str) -> None:
    assert price_of(model) is None


def test_every_price_is_dated_sourced_and_plausible() -> None:
    prices = read_prices(BUNDLED)
    assert len(prices) >= 25
    for price in prices.values():
        assert date(2026, 1, 1) <= price.as_of
        assert price.source
        assert price.input > 0
        assert price.cached_input <= price.input
        assert price.output == 0 or price.output >= price.input
        assert price.batch == 0.5


def write(folder: Path, text: str) -> Path:
    path = folder / "prices.yaml"
    path.write_text(text, encoding="utf-8")
    return path


HEAD = "lab:\n  as_of: 2026-10-01\n  source: our contract\n"


def test_prices_of_ones_own_come_first_and_the_others_stay(tmp_path: Path) -> None:
    own = write(tmp_path, HEAD + "  models:\n    qwen3: {input: 0.1, output: 0.2}\n    gpt-4o: {input: 1, output: 2}\n")
    mine = price_of("qwen3", own)
    assert mine
    assert (mine.input, mine.cached_input, mine.batch, mine.as_of, mine.source) == (
        0.1, 0.1, 1.0, date(2026, 10, 1), "our contract",
    )  # fmt: skip
    dated = price_of("gpt-4o-2024-11-20", own)
    assert dated
    assert dated.input == 1
    assert price_of("gpt-4.1", own) == price_of("gpt-4.1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: holds no prices; expected  PROVIDER: {as_of: DATE, source: …, models: {…}}"),
        (
            HEAD + "  models:\n    q: {input: free, output: 1}\n",
            "5: lab.models.q.input: expected a number, not 'free'",
        ),
        (HEAD + "  models:\n    q: {input: 1}\n", "5: lab.models.q: the key 'output' is missing; add it"),
        (
            HEAD + "  models:\n    q: {input: 1, output: -1}\n",
            "5: lab.models.q.output: expected at least 0, not -1",
        ),
        (
            HEAD + "  models:\n    q: {input: 1, outptu: 1}\n",
            "5: lab.models.q.outptu: unknown key; did you mean 'output'?",
        ),
        (
            HEAD + "  models:\n    7: {input: 1, output: 1}\n",
            "5: lab.models.7: expected a model's name (quote a number: '7')",
        ),
        ("lab:\n  source: x\n  models: {q: {input: 1, output: 1}}\n", "1: lab: the key 'as_of' is missing; add it"),
        (
            HEAD + "  models: {q: {input: 1, output: 1}}\nlib:\n  as_of: 2026-01-01\n  source: x\n  models:\n"
            "    q: {input: 1, output: 1}\n",
            "9: lib.models.q: has a price above; keep one",
        ),
    ],
)  # fmt: skip
def test_a_file_that_is_no_price_list_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        price_of("q", path)
    assert str(caught.value).startswith(f"{path}:{message}")


def test_a_file_that_is_not_there_says_where_it_was_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no such file; check prices: in pool\.yaml"):
        price_of("gpt-4o", tmp_path / "none.yaml")
