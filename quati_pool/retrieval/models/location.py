"""Neural models: where they lie, what kind they are, and how they are loaded, quietly and without the network.

A model is a folder, or a name on the Hugging Face hub that is in the cache of this machine; ``fetch`` is
the one place that downloads.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field

from quati_pool.errors import ConfigError, MissingExtraError, QuatiPoolError
from quati_pool.files.artifacts import digest
from quati_pool.retrieval import base

if TYPE_CHECKING:
    from quati_pool.retrieval.planning import Shape

Kind = Literal["dense", "sparse", "multi-vector", "cross-encoder", "t5", "encoder"]

_CPU_TOKENS = 2048
_TOKENIZERS = (
    "tokenizer.json", "vocab.txt", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "vocab.json",
)  # fmt: skip
_TYPES: dict[str, Kind] = {
    "SentenceTransformer": "dense",
    "SparseEncoder": "sparse",
    "MultiVectorEncoder": "multi-vector",
    "ColBERT": "multi-vector",
    "CrossEncoder": "cross-encoder",
}
_SPARSE_MODULES = {"SpladePooling", "SparseAutoEncoder", "SparseStaticEmbedding", "MLMTransformer", "IDF"}
_T5 = {"t5", "mt5", "umt5", "longt5"}
_USES: dict[Kind, str] = {
    "dense": "retriever: dense",
    "encoder": "retriever: dense",
    "sparse": "retriever: splade",
    "multi-vector": "retriever: colbert",
    "cross-encoder": "rerank: {with: cross-encoder}",
    "t5": "rerank: {with: monot5}",
}
_NAMES: dict[Kind, str] = {
    "dense": "a dense model",
    "encoder": "an encoder without a head",
    "sparse": "a sparse model",
    "multi-vector": "a late-interaction model",
    "cross-encoder": "a cross-encoder",
    "t5": "a T5 model",
}


class ModelMissingError(QuatiPoolError):
    """A model that is not on this machine."""


class ModelError(QuatiPoolError):
    """A model that is here and cannot be used: incomplete, damaged, or of another kind."""


class ModelParameters(base.Parameters):
    """What every component with a model of its own takes."""

    model: Annotated[str, Field(min_length=1, description="folder, or name on the Hugging Face hub")]
    revision: Annotated[str | None, Field(description="branch, tag or commit on the hub; main by default")] = None
    device: Annotated[
        str | list[str] | None,
        Field(description="cpu, cuda, cuda:1 …, or a list of them; by default a GPU where there is one"),
    ] = None
    batch_tokens: Annotated[
        int, Field(ge=1, description="tokens of one batch, padding included; on a CPU 2048 unless it is given")
    ] = 16384
    compute: Annotated[Literal["fp32", "fp16", "bf16"], Field(description="precision the model computes in")] = "fp32"


class Local(NamedTuple):
    """A model on this machine: its folder, and what tells it from every other model."""

    folder: Path
    identity: dict[str, Any]


def require_neural(component: str) -> None:
    """Raises MissingExtraError where sentence-transformers is not installed."""
    for package, name in (("sentence_transformers", "sentence-transformers"), ("faiss", "faiss-cpu")):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(component, "neural", name)


def locate(environment: base.ComponentEnvironment, model: str, revision: str | None) -> Local:
    """Finds a model on this machine, without the network.

    A folder, relative to the workspace or absolute, comes before a name on the hub. Raises ConfigError for
    a name that stands for one to be filled in, ModelMissingError where the model is not here, and ModelError
    where files of it are missing.
    """
    _require_name(model)
    folder = environment.folder / Path(model).expanduser()
    if folder.is_dir():
        if revision is not None:
            raise ConfigError(f"model {model!r} is a folder, which has no revision {revision!r}; drop revision:")
        _require_complete(folder, model)
        files = {str(file.relative_to(folder)): environment.digest(file) for file in model_files(folder)}
        return Local(folder, {"digest": digest(files)})
    if folder.is_file():
        raise ModelError(f"model {model!r} is a file, not a folder; name the folder that holds config.json")
    if _is_path(model):
        raise ModelMissingError(f"there is no model folder {folder}; mend model:, or put the model there")
    found = _cached(model, revision)
    if found is None:
        named = model if revision is None else f"{model} --revision {revision}"
        raise ModelMissingError(
            f"model {model!r} is neither a folder of the workspace nor in the Hugging Face cache; "
            f"check the name, run: hf download {named}  where there is a network, or give its folder"
        )
    _require_complete(found, model)
    return Local(found, {"model": model, "revision": found.name})


def fetch(
    environment: base.ComponentEnvironment, model: str, revision: str | None, note: Callable[[str], None]
) -> Local:
    """Finds a model, or downloads what is needed of it from the hub unless HF_HUB_OFFLINE is set.

    Raises as ``locate``, and ModelMissingError with the reason where the hub does not give it.
    """
    try:
        return locate(environment, model, revision)
    except (ModelMissingError, ModelError) as missing:
        _require_name(model)
        if _is_path(model) or (environment.folder / Path(model).expanduser()).exists():
            raise
        import huggingface_hub

        if huggingface_hub.constants.is_offline_mode():
            if isinstance(missing, ModelError):
                raise
            raise ModelMissingError(f"{missing} (HF_HUB_OFFLINE is set)") from None
    _download(model, revision, note)
    return locate(environment, model, revision)


def look(
    environment: base.ComponentEnvironment, parameters: ModelParameters, note: Callable[[str], None]
) -> Local | None:
    """Finds a model as ``fetch`` would, without the network and without reading it; None for one that would be
    downloaded, of which ``note`` takes a line.

    Raises as ``locate`` for what cannot be a name on the hub, or must not be asked for there: a path, a folder of the
    workspace that would lie next to others, or any name where HF_HUB_OFFLINE is set.
    """
    model = parameters.model
    try:
        return locate(replace(environment, digest=lambda path: ""), model, parameters.revision)
    except ModelMissingError:
        first = Path(model).parts[0]
        if _is_path(model) or (len(Path(model).parts) > 1 and (environment.folder / first).is_dir()):
            raise
        import huggingface_hub
        from huggingface_hub import utils
        from huggingface_hub.errors import HFValidationError

        names: Any = utils
        if huggingface_hub.constants.is_offline_mode():
            raise
        try:
            names.validate_repo_id(model)
        except HFValidationError:
            raise ModelMissingError(
                f"there is no model folder {model!r}, and no model on the hub has such a name"
            ) from None
    note(f"model {model!r} is not on this machine: build would download it from the Hugging Face hub")
    return None


def model_files(folder: Path) -> list[Path]:
    """The files of a model that its vectors depend on: configuration, tokenizer, weights of torch."""
    files = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _is_beside(name))
        files += [Path(place, name) for name in needed(names)]
    return files


def needed(names: Collection[str]) -> list[str]:
    """Of the file names of one folder those that loading reads: of weights in two formats the safe one, and
    nothing for other frameworks."""
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


def engines() -> dict[str, str]:
    """The versions of the libraries that models compute with."""
    return {name: version(name) for name in ("sentence-transformers", "transformers")}


def kind_of(folder: Path) -> Kind:
    """What a model was made for, read from its configuration files.

    ``encoder`` is a transformer without a head of its own: sentence-transformers adds mean pooling to it.
    Raises ModelError where the files do not say.
    """
    config = _read(folder / "config.json")
    modules = _modules(folder)
    if modules is not None:
        saved = _read(folder / "config_sentence_transformers.json").get("model_type")
        if saved in _TYPES:
            return _TYPES[saved]
        types = [str(module.get("type", "")) for module in modules]
        if _is_router(modules):
            types += [str(name) for name in _router(folder, modules)["types"].values()]
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
    if config.get("model_type") in _T5 and not any(name.endswith("EncoderModel") for name in architectures):
        return "t5"
    if not config.get("model_type"):
        raise ModelError(f"{folder} does not say what kind of model it holds; it needs a config.json with model_type")
    return "encoder"


def require_kind(local: Local, model: str, wanted: Kind, component: str) -> None:
    """Raises ModelError where a model was made for something else, and says what it can be used as.

    An ``encoder`` passes as dense, and as sparse where it predicts masked words, as SPLADE's models do.
    """
    kind = kind_of(local.folder)
    if kind == wanted:
        return
    if kind == "encoder":
        architectures = _read(local.folder / "config.json").get("architectures") or []
        if wanted == "dense" or (wanted == "sparse" and any(str(a).endswith("ForMaskedLM") for a in architectures)):
            return
    raise ModelError(
        f"model {model!r} is {_NAMES[kind]}, not {_NAMES[wanted]}, which {component} needs; "
        f"use it as  {_USES[kind]},  or name another"
    )


def devices_of(parameters: ModelParameters) -> list[str]:
    """The devices to compute on, at least one.

    Raises ConfigError for one that this machine has not.
    """
    import torch

    asked = parameters.device
    if asked is None or asked == []:
        if torch.cuda.is_available():
            return ["cuda"]
        return ["mps"] if torch.backends.mps.is_available() else ["cpu"]
    names = [asked] if isinstance(asked, str) else asked
    there = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    for name in names:
        kind = re.fullmatch(r"(cpu|mps|cuda)(?::(\d+))?", name)
        if kind is None:
            raise ConfigError(f"there is no kind of device {name!r}; use cpu, cuda, cuda:1 …")
        if int(kind[2] or 0) >= there[kind[1]]:
            raise ConfigError(f"this machine has no device {name!r}; drop device:, or use cpu")
    return names


def batch_tokens_of(parameters: ModelParameters, devices: Sequence[str]) -> int:
    """Tokens of one batch: on a CPU fewer than on a GPU unless the user says how many, because larger ones
    leave its caches (MiniLM on one core: 2,048 tokens in half the time of 16,384)."""
    if "batch_tokens" in parameters.model_fields_set or not devices[0].startswith("cpu"):
        return parameters.batch_tokens
    return min(parameters.batch_tokens, _CPU_TOKENS)


def load(name: str, folder: Path, parameters: ModelParameters, **options: Any) -> Any:
    """The model in ``folder``, ready to compute: ``name`` is a class of sentence-transformers, or of transformers
    where it begins with ``AutoModel``; ``options`` go to it.

    Runs no code that comes with a model. Raises ModelError where it cannot be loaded whole.
    """
    import torch

    device = devices_of(parameters)[0]
    dtype = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[parameters.compute]
    # A cross-encoder's head may read the pooler; those who want a text's vectors do not.
    with loading(parameters.model, unused=() if name == "CrossEncoder" else ("pooler",)):
        if name.startswith("AutoModel"):
            import transformers

            model = getattr(transformers, name).from_pretrained(
                str(folder), dtype=dtype, local_files_only=True, trust_remote_code=False, **options
            )
            return model.to(device).eval()
        import sentence_transformers

        kwargs = {"dtype": dtype, **options.pop("model_kwargs", {})}
        model = getattr(sentence_transformers, name)(
            str(folder), device=device, local_files_only=True, trust_remote_code=False, model_kwargs=kwargs,
            **options,
        )  # fmt: skip
        return model.eval()


@contextmanager
def quiet() -> Iterator[list[str]]:
    """Keeps progress bars, warnings and reports of the libraries off the user's screen; gives what the
    libraries logged."""
    import transformers

    heard: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard.append(record.getMessage())

    with ExitStack() as undo:
        undo.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        for name in ("transformers", "sentence_transformers", "huggingface_hub"):
            logger = logging.getLogger(name)
            undo.callback(_restore, logger, logger.handlers, logger.propagate, logger.level)
            logger.handlers, logger.propagate = [Ear()], False
            logger.setLevel(logging.WARNING)
        bars: Any = transformers.utils.logging
        if bars.is_progress_bar_enabled():
            # This turns the bars of huggingface_hub off and on too.
            bars.disable_progress_bar()
            undo.callback(bars.enable_progress_bar)
        yield heard


@contextmanager
def loading(model: str, unused: Sequence[str] = ()) -> Iterator[None]:
    """Loads quietly, and turns whatever a library raises into one line.

    Raises ModelError, also where weights that the model uses are missing and would be random; ``unused`` are
    parts of the names of weights that it does not.
    """
    try:
        with quiet() as heard:
            yield
    except (QuatiPoolError, MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        # torch's own out-of-memory errors say more than a wrapped one would.
        if type(error).__name__ == "OutOfMemoryError":
            raise QuatiPoolError(f"model {model!r} does not fit into the device's memory; use device: cpu") from error
        said = " ".join(str(error).split()) or type(error).__name__
        if "trust_remote_code" in said or "custom code" in said:
            reason = "needs code of its own, which quati-pool does not run; use another model"
        else:
            reason = f"cannot be loaded ({said[:200]}); its files may be damaged: get it again, or name another"
        raise ModelError(f"model {model!r} {reason}") from error
    missing = [key for report in heard for key in _missing_weights(report)]
    lacking = [key for key in missing if not any(part in key for part in unused)]
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise ModelError(
            f"model {model!r} has no weights for {lacking[0]}{more}, which would be random; "
            f"get it again, or name a model that was trained for this"
        )


def shape_of(folder: Path) -> Shape:
    """The sizes of a model's transformer, from its configuration.

    Raises ModelError where the configuration does not give them.
    """
    from quati_pool.retrieval.planning import Shape

    place = transformer_folder(folder)
    config = _read(place / "config.json")

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
        decoder_layers=size("num_decoder_layers", default=0) if config.get("model_type") in _T5 else 0,
    )


def transformer_folder(folder: Path) -> Path:
    """Where in a model the transformer (or the static embedding) lies that reads passages: the first module's
    folder, or, of a model with routes, that of the first module on the route of documents.

    Raises ModelError where the routes cannot be read.
    """
    modules = _modules(folder)
    if not modules:
        return folder
    place = folder / str(modules[0].get("path", ""))
    return place / _routes(folder, modules)["document"] if _is_router(modules) else place


def token_counter(folder: Path, prompt: str = "") -> Callable[[str], int] | None:
    """Counts the tokens of a passage, with the prompt before it, as the model in ``folder`` does, without a
    limit; None where its tokenizer is of an older format, or the library not installed."""
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


def max_tokens_of(folder: Path) -> int:
    """The longest input a model takes, in tokens; 512 where its files do not say."""
    place = transformer_folder(folder)
    for name in ("sentence_bert_config.json", "sentence_transformers_config.json"):
        limit = _read(place / name).get("max_seq_length")
        if isinstance(limit, int):
            return limit
    config, tokenizer = _read(place / "config.json"), _read(place / "tokenizer_config.json")
    limits = [config.get("max_position_embeddings"), tokenizer.get("model_max_length")]
    known = [int(limit) for limit in limits if isinstance(limit, (int, float)) and 0 < limit < 10**6]
    return min(known, default=512)


def read_config(folder: Path, name: str) -> dict[str, Any]:
    """A JSON object among a model's files; an empty one where the file is not there."""
    return _read(folder / name)


def _dimension(folder: Path, hidden: int) -> int:
    dimension = hidden
    for module in _modules(folder) or []:
        if str(module.get("type", "")).endswith(".Dense"):
            out = _read(folder / str(module.get("path", "")) / "config.json").get("out_features")
            dimension = out if isinstance(out, int) else dimension
    return dimension


def _require_name(model: str) -> None:
    if re.search(r"<[^<>]*>", model):
        raise ConfigError(f"model: {model} stands for a model of yours; name your model, or drop the system")


def _is_path(model: str) -> bool:
    return model.startswith(("/", ".", "~")) or "\\" in model or model.count("/") > 1 or Path(model).is_absolute()


def _is_beside(folder: str) -> bool:
    """Whether a folder inside a model holds nothing that loading reads."""
    return folder in ("onnx", "openvino", "eval", "runs", "logs") or folder.startswith((".", "checkpoint"))


def _cached(model: str, revision: str | None) -> Path | None:
    """The snapshot of a hub model in this machine's cache; names without an owner are those of
    sentence-transformers where there is no other."""
    from huggingface_hub import constants

    for name in _repositories(model):
        place = Path(constants.HF_HUB_CACHE) / ("models--" + name.replace("/", "--"))
        reference = place / "refs" / (revision or "main")
        commit = reference.read_text(encoding="utf-8").strip() if reference.is_file() else revision
        if commit and (place / "snapshots" / commit).is_dir():
            return place / "snapshots" / commit
    return None


def _repositories(model: str) -> list[str]:
    return [model] if "/" in model else [model, f"sentence-transformers/{model}"]


def _download(model: str, revision: str | None, note: Callable[[str], None]) -> None:
    import huggingface_hub
    from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError, RevisionNotFoundError

    hub = huggingface_hub.HfApi()
    for name in _repositories(model):
        try:
            with quiet():
                about = hub.model_info(name, revision=revision, files_metadata=True)
                files = {file.rfilename: file.size or 0 for file in about.siblings or []}
                wanted = _wanted(files)
                size = sum(files[file] for file in wanted)
                note(f"downloading {name} from {hub.endpoint} ({size / 2**20:,.0f} MiB)")
                huggingface_hub.snapshot_download(name, revision=revision, allow_patterns=wanted)
            return
        except GatedRepoError as error:
            raise ModelMissingError(
                f"model {name!r} is gated; ask for access on its page, then run: hf auth login"
            ) from error
        except RevisionNotFoundError as error:
            raise ModelMissingError(f"model {name!r} has no revision {revision!r}; mend revision:") from error
        except (RepositoryNotFoundError, HFValidationError):
            continue
        except Exception as error:
            said = " ".join(str(error).split())[:200] or type(error).__name__
            raise ModelMissingError(
                f"model {name!r} is not on this machine and could not be fetched ({said}); try again, run "
                f"hf download {name}  elsewhere and copy it, or give its folder"
            ) from error
    raise ModelMissingError(
        f"there is no model {model!r} on the hub, or it is private; check the name, or run: hf auth login"
    )


def _wanted(files: Collection[str]) -> list[str]:
    """Of a repository's files those that loading reads."""
    folders: dict[str, list[str]] = {}
    for file in files:
        folder, _, name = file.rpartition("/")
        if not any(_is_beside(part) for part in folder.split("/") if part):
            folders.setdefault(folder, []).append(name)
    return [f"{folder}/{name}" if folder else name for folder, names in folders.items() for name in needed(names)]


def _require_complete(folder: Path, model: str) -> None:
    """Raises ModelError where files that loading needs are not there."""
    modules = _modules(folder)
    readers = _readers(folder, modules) if modules else {}
    kinds = [str(module.get("type", "")) for module in modules or []]
    if modules and _is_router(modules):
        kinds += map(str, _router(folder, modules)["types"].values())
    for kind in kinds:
        if not kind.startswith(("sentence_transformers.", "pylate.")):
            raise ModelError(
                f"model {model!r} needs code of its own ({kind or 'a module without a type'}), which quati-pool does "
                f"not run; use another model"
            )
    if modules is None and not (folder / "config.json").is_file():
        if (folder / "adapter_config.json").is_file():
            raise ModelError(f"model {model!r} is an adapter alone; merge it into its base model and give that folder")
        raise ModelError(
            f"the folder {folder} of model {model!r} holds no model (neither modules.json nor config.json); "
            f"name the folder that does"
        )
    lacking = [f"{place} has no {found}" for place in readers or [folder] if (found := _lacking(place))]
    lacking += [
        f"{place} has no config.json"
        for place, kind in readers.items()
        if kind.endswith("Transformer") and not (place / "config.json").is_file()
    ]
    for module in modules or []:
        place = folder / str(module.get("path", ""))
        if str(module.get("type", "")).endswith((".Pooling", ".Dense")) and not (place / "config.json").is_file():
            lacking.append(f"{place} has no config.json")
    if lacking:
        raise ModelError(
            f"model {model!r} is incomplete: {lacking[0]}; get it again (hf download …), or name another folder"
        )


def _lacking(place: Path) -> str | None:
    """What a folder with a transformer or a static embedding lacks."""
    names = {file.name for file in place.iterdir()} if place.is_dir() else set()
    for index in (name for name in names if name.endswith((".safetensors.index.json", ".bin.index.json"))):
        shards = {str(file) for file in _read(place / index).get("weight_map", {}).values()}
        if shards - names:
            return sorted(shards - names)[0]
    weights = re.compile(r".*\.safetensors|pytorch_model.*\.bin|idf\.json")
    if not any(weights.fullmatch(name) for name in names):
        return "weights (model.safetensors)"
    if not names & set(_TOKENIZERS):
        return "tokenizer (tokenizer.json)"
    return None


def _readers(folder: Path, modules: Sequence[dict[str, Any]]) -> dict[Path, str]:
    """The folders of the modules that read texts, one of each route, and their types."""
    top = folder / str(modules[0].get("path", ""))
    if not _is_router(modules):
        return {top: str(modules[0].get("type", ""))}
    types = _router(folder, modules)["types"]
    return {top / name: str(types.get(name, "")) for name in _routes(folder, modules).values()}


def _is_router(modules: Sequence[dict[str, Any]]) -> bool:
    # Asym is what sentence-transformers called it before version 5.
    return str(modules[0].get("type", "")).endswith((".Router", ".Asym"))


def _router(folder: Path, modules: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The modules and routes of a model's router."""
    place = folder / str(modules[0].get("path", ""))
    config = _read(place / "router_config.json") or _read(place / "config.json")
    if not isinstance(config.get("types"), dict) or not isinstance(config.get("structure"), dict):
        raise ModelError(f"{place} names no modules for documents; get the model again")
    return config


def _routes(folder: Path, modules: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The folder of each route's first module, within the router's; one route is ``document``."""
    structure = _router(folder, modules)["structure"]
    routes = {name: str(parts[0]) for name, parts in structure.items() if isinstance(parts, list) and parts}
    if "document" not in routes:
        raise ModelError(f"the routes of {folder} are {', '.join(routes) or 'none'}, not document; name another model")
    return routes


def _modules(folder: Path) -> list[dict[str, Any]] | None:
    file = folder / "modules.json"
    if not file.is_file():
        return None
    modules = _json(file)
    if not isinstance(modules, list) or not modules or not all(isinstance(module, dict) for module in modules):
        raise ModelError(f"{file} is not a list of modules; get the model again, or name another")
    return modules


def _read(file: Path) -> dict[str, Any]:
    """A JSON object; an empty one where the file is not there."""
    found = _json(file) if file.is_file() else {}
    if not isinstance(found, dict):
        raise ModelError(f"{file} is not a JSON object; get the model again, or name another")
    return found


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be read as JSON; get the model again, or name another") from error


def _missing_weights(report: str) -> list[str]:
    """Weights that a library says it made up; numbered positions are none."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", report)
    rows = [line.split("|") for line in plain.splitlines() if "|" in line]
    keys = [row[0].strip() for row in rows if len(row) > 1 and row[1].strip() == "MISSING"]
    return [key for key in keys if "position_ids" not in key]


def _restore(logger: logging.Logger, handlers: list[logging.Handler], propagate: bool, level: int) -> None:
    logger.handlers, logger.propagate = handlers, propagate
    logger.setLevel(level)
