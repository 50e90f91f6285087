"""Finds a model: a folder, or a name on the Hugging Face hub that is in this machine's cache.

Only ``locate_or_download`` downloads models.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from quati_pool.errors import ConfigError
from quati_pool.files.artifacts import digest
from quati_pool.models.errors import ModelError, ModelMissingError
from quati_pool.models.files import files_to_download, model_files, require_complete
from quati_pool.models.loading import quiet
from quati_pool.models.parameters import ModelParameters


class Environment(Protocol):
    """Where models are looked up."""

    @property
    def folder(self) -> Path:
        """The workspace's, to which the folders of models are relative."""

    @property
    def digest(self) -> Callable[[Path], str]:
        """Returns the SHA-256 of a file."""


class LocalModel(NamedTuple):
    """A model on this machine: its folder, and its identity in keys (a digest of its content, or name and commit)."""

    folder: Path
    identity: dict[str, Any]


def locate(environment: Environment, model: str, revision: str | None) -> LocalModel:
    """Finds a model on this machine, without the network.

    ``model`` is a folder (absolute or relative to the workspace), or else a name on the hub. Raises ConfigError for a
    placeholder such as ``<yours>`` and for a folder with a revision, ModelMissingError if the model is not on this
    machine, and ModelError if it is incomplete.
    """
    return _locate(environment.folder, environment.digest, model, revision)


def _locate(workspace: Path, file_digest: Callable[[Path], str], model: str, revision: str | None) -> LocalModel:
    _require_name(model)
    folder = workspace / Path(model).expanduser()
    if folder.is_dir():
        if revision is not None:
            raise ConfigError(f"model {model!r} is a folder, which has no revision {revision!r}; drop revision:")
        require_complete(folder, model)
        files = {str(file.relative_to(folder)): file_digest(file) for file in model_files(folder)}
        return LocalModel(folder, {"digest": digest(files)})
    if folder.is_file():
        raise ModelError(f"model {model!r} is a file, not a folder; name the folder that holds config.json")
    if _is_path(model):
        raise ModelMissingError(f"there is no model folder {folder}; correct model:, or put the model there")
    found = _cached(model, revision)
    if found is None:
        named = model if revision is None else f"{model} --revision {revision}"
        raise ModelMissingError(
            f"model {model!r} is neither a folder of the workspace nor in the Hugging Face cache; "
            f"check the name, run: hf download {named}  where there is a network, or give its folder"
        )
    require_complete(found, model)
    return LocalModel(found, {"model": model, "revision": found.name})


def locate_or_download(
    environment: Environment, model: str, revision: str | None, note: Callable[[str], None]
) -> LocalModel:
    """Finds a model, or downloads the files it needs from the hub unless HF_HUB_OFFLINE is set.

    Raises the errors of ``locate``, and ModelMissingError with the reason if it cannot be downloaded.
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


def locate_or_announce(
    environment: Environment, parameters: ModelParameters, note: Callable[[str], None]
) -> LocalModel | None:
    """Finds a model without the network and without reading its weights.

    Returns None for a model that ``locate_or_download`` would download, and announces that in a line to ``note``.
    Raises the errors of ``locate``; a missing model is an error if the name cannot exist on the hub or must not be
    looked up there: a path, a name that begins with a folder of the workspace, and any name if HF_HUB_OFFLINE is set.
    """
    model = parameters.model
    try:
        return _locate(environment.folder, lambda path: "", model, parameters.revision)
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


def _require_name(model: str) -> None:
    if re.search(r"<[^<>]*>", model):
        raise ConfigError(f"model: {model} is a placeholder; name your model, or drop the system")


def _is_path(model: str) -> bool:
    return model.startswith(("/", ".", "~")) or "\\" in model or model.count("/") > 1 or Path(model).is_absolute()


def _cached(model: str, revision: str | None) -> Path | None:
    """The snapshot of a hub model in this machine's cache, or None. A name without an owner is also looked up under
    ``sentence-transformers/``."""
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
                wanted = files_to_download(files)
                size = sum(files[file] for file in wanted)
                note(f"downloading {name} from {hub.endpoint} ({size / 2**20:,.0f} MiB)")
                huggingface_hub.snapshot_download(name, revision=revision, allow_patterns=wanted)
            return
        except GatedRepoError as error:
            raise ModelMissingError(
                f"model {name!r} is gated; ask for access on its page, then run: hf auth login"
            ) from error
        except RevisionNotFoundError as error:
            raise ModelMissingError(f"model {name!r} has no revision {revision!r}; correct revision:") from error
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
