"""``transformers serve`` with a tiny random chat model, both made on the spot; run as a program by its test.

Its command line places the model by a ``device_map``, for which transformers wants the package accelerate,
which is not among our requirements. Here the same server starts without one, which means the CPU.
"""

from __future__ import annotations

import sys
from pathlib import Path

TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


def make_model(folder: Path) -> None:
    """A one-layer Llama with random weights and a tokenizer of one token a byte (about 70 kB)."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    pieces = ["<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE(vocab={piece: place for place, piece in enumerate(pieces)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="</s>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(pieces), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=4096, bos_token_id=0, eos_token_id=1, pad_token_id=1,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)


def serve(port: int) -> None:
    """Serves until the process is ended."""
    from transformers.cli import serve as command
    from transformers.cli.serving import model_manager

    class OnCpu(model_manager.ModelManager):  # type: ignore[misc]
        def __init__(self, *positional: object, **named: object) -> None:
            super().__init__(*positional, **named)
            self.device = None

    model_manager.ModelManager = OnCpu
    command.Serve(host="127.0.0.1", port=port, device="cpu", log_level="error")


if __name__ == "__main__":
    make_model(Path(sys.argv[1]))
    serve(int(sys.argv[2]))
