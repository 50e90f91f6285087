"""The sizes of a model, read from its files: layers, widths, longest input, and the number of tokens of a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from quati_pool.models.errors import ModelError
from quati_pool.models.kind import T5_TYPES
from quati_pool.models.modules import modules_of, read_config, transformer_folder


@dataclass(frozen=True)
class Shape:
    """The sizes of a transformer; for an encoder-decoder, those of its encoder and the number of decoder layers.

    ``ffn`` is the inner width of a feed-forward block, ``matrices`` the number of matrices in such a block (2, or 3 if
    it is gated), and ``dimension`` that of the output vectors.
    """

    layers: int
    hidden: int
    ffn: int
    heads: int
    vocabulary: int
    dimension: int
    max_tokens: int
    matrices: int = 2
    decoder_layers: int = 0


def shape_of(folder: Path) -> Shape:
    """The sizes of a model's transformer, from its configuration.

    Raises ModelError if a size is missing from the configuration.
    """
    place = transformer_folder(folder)
    config = read_config(place / "config.json")

    def size(*names: str, default: int | None = None) -> int:
        for name in names:
            value = config.get(name)
            if isinstance(value, int):
                return value
        if default is None:
            raise ModelError(f"{place / 'config.json'} does not give {names[0]}; give a model's own configuration")
        return default

    hidden = size("hidden_size", "d_model", "dim", "n_embd")
    return Shape(
        layers=size("num_hidden_layers", "num_layers", "n_layers", "n_layer"),
        hidden=hidden,
        ffn=size("intermediate_size", "d_ff", "hidden_dim", default=4 * hidden),
        heads=size("num_attention_heads", "num_heads", "n_heads", "n_head"),
        vocabulary=size("vocab_size"),
        dimension=_dimension(folder, hidden),
        max_tokens=max_tokens_of(folder),
        matrices=3 if "gated" in str(config.get("feed_forward_proj", "")) or "gate_proj" in config else 2,
        decoder_layers=size("num_decoder_layers", default=0) if config.get("model_type") in T5_TYPES else 0,
    )


def max_tokens_of(folder: Path) -> int:
    """The longest input that a model takes, in tokens; 512 if its files do not say."""
    place = transformer_folder(folder)
    for name in ("sentence_bert_config.json", "sentence_transformers_config.json"):
        limit = read_config(place / name).get("max_seq_length")
        if isinstance(limit, int):
            return limit
    config, tokenizer = read_config(place / "config.json"), read_config(place / "tokenizer_config.json")
    limits = [config.get("max_position_embeddings"), tokenizer.get("model_max_length")]
    known = [int(limit) for limit in limits if isinstance(limit, (int, float)) and 0 < limit < 10**6]
    return min(known, default=512)


def token_counter(folder: Path, prompt: str = "") -> Callable[[str], int] | None:
    """A function that counts the tokens of a passage, with ``prompt`` before it, as the model in ``folder`` would but
    without a limit; None if its tokenizer is in an older format or the library tokenizers is not installed."""
    file = transformer_folder(folder) / "tokenizer.json"
    if not file.is_file():
        return None
    try:
        import tokenizers
    except ModuleNotFoundError:
        return None
    tokenizer = tokenizers.Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(prompt + text).ids)


def _dimension(folder: Path, hidden: int) -> int:
    """The dimension of the output vectors: the hidden width, unless a dense layer or DPR's projection changes it."""
    dimension = hidden
    config = read_config(transformer_folder(folder) / "config.json")
    projected = config.get("projection_dim") if config.get("model_type") == "dpr" else None
    if isinstance(projected, int) and projected > 0:
        return projected
    for module in modules_of(folder) or []:
        if str(module.get("type", "")).endswith(".Dense"):
            out = read_config(folder / str(module.get("path", "")) / "config.json").get("out_features")
            dimension = out if isinstance(out, int) else dimension
    return dimension
