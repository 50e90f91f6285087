"""Loads models: silently, completely, without using the network, and without running code that comes with them."""

from __future__ import annotations

import importlib.util
import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from quati_pool.errors import MissingExtraError, QuatiPoolError
from quati_pool.models.errors import ModelError
from quati_pool.models.parameters import ModelParameters, devices_of


def require_neural(component: str) -> None:
    """Raises MissingExtraError if sentence-transformers or faiss is not installed."""
    require_packages(component, "sentence_transformers", "faiss")


def require_packages(component: str, *packages: str) -> None:
    """Raises MissingExtraError if one of these packages of the extra ``neural`` is not installed."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(component, "neural", {"faiss": "faiss-cpu"}.get(package, package.replace("_", "-")))


def library_versions() -> dict[str, str]:
    """The versions of the libraries that run models, by name."""
    return {name: version(name) for name in ("sentence-transformers", "transformers")}


def dtype_of(parameters: ModelParameters) -> Any:
    """The data type, of torch, that a model computes in."""
    import torch

    return {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[parameters.compute]


def load_model(name: str, folder: Path, parameters: ModelParameters, **options: Any) -> Any:
    """The model in ``folder``, ready to use. ``name`` is a class of sentence-transformers or, if it begins with
    ``AutoModel``, of transformers; ``options`` are passed to it.

    Runs no code that comes with a model. Raises ModelError if it cannot be loaded completely.
    """
    device, dtype = devices_of(parameters)[0], dtype_of(parameters)
    # The head of a cross-encoder may use the pooler; models that return vectors do not.
    with load_errors(parameters.model, unused=() if name == "CrossEncoder" else ("pooler",)):
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
    """Hides the libraries' progress bars, warnings and reports from the user; yields a list that collects what they
    log meanwhile."""
    import transformers

    logged: list[str] = []

    class Recorder(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            logged.append(record.getMessage())

    with ExitStack() as undo:
        undo.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        for name in ("transformers", "sentence_transformers", "huggingface_hub"):
            logger = logging.getLogger(name)
            undo.callback(_restore, logger, logger.handlers, logger.propagate, logger.level)
            logger.handlers, logger.propagate = [Recorder()], False
            logger.setLevel(logging.WARNING)
        bars: Any = transformers.utils.logging
        if bars.is_progress_bar_enabled():
            # This also turns the progress bars of huggingface_hub off and on.
            bars.disable_progress_bar()
            undo.callback(bars.enable_progress_bar)
        yield logged


@contextmanager
def load_errors(model: str, unused: Sequence[str] = ()) -> Iterator[None]:
    """Keeps loading quiet, and turns exceptions of the libraries into a ModelError with a message of one line.

    Also raises ModelError if weights that the model uses are missing, which the libraries would fill at random; weights
    whose names contain one of ``unused`` may be missing. Raises QuatiPoolError if the device runs out of memory.
    """
    try:
        with quiet() as logged:
            yield
    except (QuatiPoolError, MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        # Not a ModelError: the model's files are not at fault if the device runs out of memory.
        if type(error).__name__ == "OutOfMemoryError":
            raise QuatiPoolError(f"model {model!r} does not fit into the device's memory; use device: cpu") from error
        said = " ".join(str(error).split()) or type(error).__name__
        if "trust_remote_code" in said or "custom code" in said:
            reason = "needs custom code, which quati-pool does not run; use another model"
        else:
            reason = f"cannot be loaded ({said[:200]}); its files may be damaged: download it again, or name another"
        raise ModelError(f"model {model!r} {reason}") from error
    missing = [key for report in logged for key in _missing_weights(report)]
    lacking = [key for key in missing if not any(part in key for part in unused)]
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise ModelError(
            f"model {model!r} has no weights for {lacking[0]}{more}, which would be random; "
            f"download it again, or name a model that was trained for this"
        )


def _missing_weights(report: str) -> list[str]:
    """The names of the weights that a library reports as missing and filled at random, without ``position_ids``, which
    are not weights."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", report)
    rows = [line.split("|") for line in plain.splitlines() if "|" in line]
    keys = [row[0].strip() for row in rows if len(row) > 1 and row[1].strip() == "MISSING"]
    return [key for key in keys if "position_ids" not in key]


def _restore(logger: logging.Logger, handlers: list[logging.Handler], propagate: bool, level: int) -> None:
    logger.handlers, logger.propagate = handlers, propagate
    logger.setLevel(level)
