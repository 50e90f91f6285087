"""Causal language models that chat: the checks before they are loaded, and their tokenizers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quati_pool.models.errors import ModelError
from quati_pool.models.files import gguf_file
from quati_pool.models.loading import load_errors, load_model, require_packages
from quati_pool.models.parameters import ModelParameters


def require_transformers(component: str) -> None:
    """Raises MissingExtraError if transformers or torch is not installed."""
    require_packages(component, "torch", "transformers")


def load_chat_tokenizer(folder: Path, model: str) -> Any:
    """The tokenizer in a model's folder. Raises ModelError if it cannot be loaded or has no chat template."""
    import transformers

    with load_errors(model):
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False, **_options(folder)
        )
    if not tokenizer.chat_template:
        raise ModelError(f"model {model!r} has no chat template, so it was not trained to answer; name one that was")
    return tokenizer


def load_causal(folder: Path, parameters: ModelParameters) -> Any:
    """The causal language model in a folder, whose configuration was checked, on the first device of ``parameters``.

    Raises ModelError if it cannot be loaded completely.
    """
    return load_model("AutoModelForCausalLM", folder, parameters, **_options(folder))


def causal_config(folder: Path, model: str) -> Any:
    """A model's configuration. Raises ModelError if it is not that of a causal language model."""
    import transformers
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    with load_errors(model):
        config: Any = transformers.AutoConfig.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False, **_options(folder)
        )
    generates: Any = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    wanted = generates.get(config.model_type)
    architectures = config.architectures or []
    if wanted is None or (wanted not in architectures and not _options(folder)):
        kind = "an encoder-decoder" if config.is_encoder_decoder else "no causal language model"
        named = f" ({', '.join(architectures)})" if architectures else ""
        raise ModelError(f"model {model!r} is {kind}{named}; name one that generates text, such as a chat model")
    return config


def most_positions(config: Any) -> int | None:
    """The longest input, in tokens, that a configuration says its model takes; None if it does not say."""
    limit = getattr(config.get_text_config(), "max_position_embeddings", None)
    return limit if isinstance(limit, int) and limit > 0 else None


def _options(folder: Path) -> dict[str, str]:
    file = gguf_file(folder)
    return {} if file is None else {"gguf_file": file}
