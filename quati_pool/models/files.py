"""The files in a model's folder: selects those that loading reads, and checks that they are complete."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quati_pool.models.errors import ModelError
from quati_pool.models.modules import module_types, modules_of, read_config, text_readers

_TOKENIZERS = (
    "tokenizer.json", "vocab.txt", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "vocab.json",
)  # fmt: skip


def model_files(folder: Path) -> list[Path]:
    """The files of a model on which its output depends: configuration, tokenizer and PyTorch weights."""
    files = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _is_skipped_folder(name))
        files += [Path(place, name) for name in files_to_load(names)]
    return files


def files_to_load(names: Collection[str]) -> list[str]:
    """Those of one folder's file names that loading reads, sorted. If there are weights in two formats, these are the
    safetensors files; files for frameworks other than PyTorch are left out. A GGUF file is a whole model where it is
    the only one and there is no configuration."""
    if "config.json" not in names and sum(name.endswith(".gguf") for name in names) == 1:
        return [name for name in names if name.endswith(".gguf")]
    safe = any(name.endswith(".safetensors") for name in names)
    kept = []
    for name in sorted(names):
        suffix = name.rpartition(".")[2].lower()
        if name.startswith(".") or name in ("training_args.bin", "data_config.json", "trainer_state.json"):
            continue
        if suffix in ("bin", "pt") or name.endswith(".bin.index.json"):
            weights = name.startswith("pytorch_model")
            if safe or not weights:
                continue
        elif suffix not in ("json", "txt", "model", "safetensors", "jinja", "metadata"):
            continue
        kept.append(name)
    return kept


def _is_skipped_folder(folder: str) -> bool:
    """Whether a folder inside a model contains nothing that loading reads."""
    return folder in ("onnx", "openvino", "eval", "runs", "logs") or folder.startswith((".", "checkpoint"))


def files_to_download(files: Collection[str]) -> list[str]:
    """Those of a repository's files, given as paths, that loading reads."""
    folders: dict[str, list[str]] = {}
    for file in files:
        folder, _, name = file.rpartition("/")
        if not any(_is_skipped_folder(part) for part in folder.split("/") if part):
            folders.setdefault(folder, []).append(name)
    return [
        f"{folder}/{name}" if folder else name for folder, names in folders.items() for name in files_to_load(names)
    ]


def require_complete(folder: Path, model: str) -> None:
    """Raises ModelError if a file that loading needs is missing, or if loading would run code that comes with the
    model."""
    if gguf_file(folder) is not None:
        return
    modules = modules_of(folder)
    readers = text_readers(folder, modules) if modules else {}
    for kind in module_types(folder):
        if not kind.startswith(("sentence_transformers.", "pylate.")):
            raise ModelError(
                f"model {model!r} needs custom code ({kind or 'a module without a type'}), which quati-pool does "
                f"not run; use another model"
            )
    if modules is None and not (folder / "config.json").is_file():
        if (folder / "adapter_config.json").is_file():
            raise ModelError(f"model {model!r} is only an adapter; merge it into its base model and give that folder")
        raise ModelError(
            f"the folder {folder} of model {model!r} holds no model (neither modules.json nor config.json); "
            f"name the folder that does"
        )
    missing = next(_missing_files(folder, modules or [], readers), None)
    if missing is not None:
        raise ModelError(
            f"model {model!r} is incomplete: {missing}; download it again (hf download …), or name another folder"
        )


def gguf_file(folder: Path) -> str | None:
    """The name of the GGUF file that holds a whole model with its tokenizer; None for a model in other files."""
    names = files_to_load([file.name for file in folder.iterdir() if file.is_file()])
    return names[0] if len(names) == 1 and names[0].endswith(".gguf") else None


def _missing_files(folder: Path, modules: Sequence[dict[str, Any]], readers: Mapping[Path, str]) -> Iterator[str]:
    """A clause for an error message for each missing file that loading needs."""
    for place in readers or [folder]:
        if (lacking := _missing_weights_or_tokenizer(place)) is not None:
            yield f"{place} has no {lacking}"
    configured = [place for place, kind in readers.items() if kind.endswith("Transformer")]
    configured += [
        folder / str(module.get("path", ""))
        for module in modules
        if str(module.get("type", "")).endswith((".Pooling", ".Dense"))
    ]
    for place in configured:
        if not (place / "config.json").is_file():
            yield f"{place} has no config.json"


def _missing_weights_or_tokenizer(place: Path) -> str | None:
    """The first thing that a folder with a transformer or a static embedding lacks, or None."""
    names = {file.name for file in place.iterdir()} if place.is_dir() else set()
    for index in (name for name in names if name.endswith((".safetensors.index.json", ".bin.index.json"))):
        shards = {str(file) for file in read_config(place / index).get("weight_map", {}).values()}
        if shards - names:
            return sorted(shards - names)[0]
    weights = re.compile(r".*\.safetensors|pytorch_model.*\.bin|idf\.json")
    if not any(weights.fullmatch(name) for name in names):
        return "weights (model.safetensors)"
    if not names & set(_TOKENIZERS):
        return "tokenizer (tokenizer.json)"
    return None
