"""The kind of a model: what it was trained for, and which component can use it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from quati_pool.models.errors import ModelError
from quati_pool.models.location import LocalModel
from quati_pool.models.modules import module_types, modules_of, read_config

Kind = Literal["dense", "sparse", "multi-vector", "cross-encoder", "t5", "encoder"]


_KIND_OF_CLASS: dict[str, Kind] = {
    "SentenceTransformer": "dense",
    "SparseEncoder": "sparse",
    "MultiVectorEncoder": "multi-vector",
    "ColBERT": "multi-vector",
    "CrossEncoder": "cross-encoder",
}


_SPARSE_MODULES = {"SpladePooling", "SparseAutoEncoder", "SparseStaticEmbedding", "MLMTransformer", "IDF"}


T5_TYPES = {"t5", "mt5", "umt5", "longt5"}


_USED_AS: dict[Kind, str] = {
    "dense": "retriever: dense",
    "encoder": "retriever: dense",
    "sparse": "retriever: splade",
    "multi-vector": "retriever: colbert",
    "cross-encoder": "rerank: {with: cross-encoder}",
    "t5": "rerank: {with: monot5}",
}


_KIND_NAMES: dict[Kind, str] = {
    "dense": "a dense model",
    "encoder": "an encoder without a head",
    "sparse": "a sparse model",
    "multi-vector": "a late-interaction model",
    "cross-encoder": "a cross-encoder",
    "t5": "a T5 model",
}


def kind_of(folder: Path) -> Kind:
    """The kind of a model, read from its configuration files.

    ``encoder`` is a transformer without a head, to which sentence-transformers adds mean pooling. Raises ModelError if
    the files do not say what kind of model it is.
    """
    config = read_config(folder / "config.json")
    if modules_of(folder) is not None:
        saved = read_config(folder / "config_sentence_transformers.json").get("model_type")
        if saved in _KIND_OF_CLASS:
            return _KIND_OF_CLASS[saved]
        types = module_types(folder)
        last_parts = {name.rpartition(".")[2] for name in types}
        if any(name.startswith("pylate.") for name in types):
            return "multi-vector"
        if last_parts & _SPARSE_MODULES:
            return "sparse"
        return "cross-encoder" if "LogitScore" in last_parts else "dense"
    architectures = [str(name) for name in config.get("architectures") or []]
    if "HF_ColBERT" in architectures:
        return "multi-vector"
    if any(name.endswith("ForSequenceClassification") for name in architectures):
        return "cross-encoder"
    if config.get("model_type") in T5_TYPES and not any(name.endswith("EncoderModel") for name in architectures):
        return "t5"
    if not config.get("model_type"):
        raise ModelError(f"{folder} does not say what kind of model it holds; it needs a config.json with model_type")
    return "encoder"


def require_kind(local: LocalModel, model: str, wanted: Kind, component: str) -> None:
    """Raises ModelError if a model is not of the ``wanted`` kind; the message says what it can be used as.

    An ``encoder`` is accepted as dense, and as sparse if it predicts masked words, as SPLADE models do.
    """
    kind = kind_of(local.folder)
    if kind == wanted:
        return
    if kind == "encoder":
        architectures = read_config(local.folder / "config.json").get("architectures") or []
        if wanted == "dense" or (wanted == "sparse" and any(str(a).endswith("ForMaskedLM") for a in architectures)):
            return
    raise ModelError(
        f"model {model!r} is {_KIND_NAMES[kind]}, not {_KIND_NAMES[wanted]}, which {component} needs; "
        f"use it as  {_USED_AS[kind]},  or name another"
    )
