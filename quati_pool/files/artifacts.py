"""Artifacts, the files and folders that the tool writes: written atomically, with a sidecar that contains their key.

Data is written under a temporary name in the same folder, synced and renamed; ``<name>.meta.json`` is written last.
An artifact whose sidecar is missing, has a different key or does not match the data counts as missing, so that a
command killed at any point leaves either a finished artifact or nothing.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from filelock import BaseFileLock, FileLock, Timeout

from quati_pool import __version__
from quati_pool.errors import QuatiPoolError
from quati_pool.files.digests import digest as digest
from quati_pool.files.digests import file_digest as file_digest
from quati_pool.files.former_keys import former_key

_CUT_SHORT = re.compile(r"\d+ requested and \d+ written")
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")

# The size in bytes that marks a lock file as removed.
_REMOVED_SIZE = 1

NOT_THERE = "not there yet"
"""The reason of ``stale`` for an artifact that was never built."""

T = TypeVar("T")

Key = Mapping[str, Any]
Counts = Mapping[str, Any]


def sidecar(path: Path) -> Path:
    return path.with_name(path.name + ".meta.json")


def stale(path: Path, key: Key) -> str | None:
    """A brief reason why the artifact at ``path`` cannot be used for ``key``; None if it can."""
    meta = _meta(path)
    if isinstance(meta, str):
        return meta
    stored, wanted = meta["key"], json.loads(json.dumps(key))
    if stored != wanted and stored != (former := former_key(wanted)):
        # Differences that are only due to the former spelling of keys are not reported.
        return _worded(min((_differences(stored, words) for words in (wanted, former)), key=len))
    return _changed(path, meta)


def unfinished(path: Path) -> str | None:
    """A brief reason why there is no complete artifact at ``path``, under any key; None if there is one."""
    meta = _meta(path)
    return meta if isinstance(meta, str) else _changed(path, meta)


def read_meta(path: Path) -> dict[str, Any] | None:
    """The sidecar's content of a complete artifact, under any key; None if there is no such artifact."""
    meta = _meta(path)
    return None if isinstance(meta, str) or _changed(path, meta) else meta


def added_files(path: Path) -> list[str]:
    """The files in an artifact's folder that were not written with it, by their path within it; also those of a folder
    that was changed since. Empty if its sidecar is missing."""
    meta = _meta(path)
    written = meta["content"].get("files", {}) if isinstance(meta, dict) else None
    return [] if written is None else sorted(_content(path)["files"].keys() - written.keys())


def _meta(path: Path) -> dict[str, Any] | str:
    """The sidecar's content, or why it cannot be read."""
    if not path.exists():
        return NOT_THERE
    try:
        meta = json.loads(sidecar(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return "was not finished"
    except (OSError, ValueError):
        return f"{sidecar(path).name} cannot be read"
    if not isinstance(meta, dict) or meta.get("content") is None or not isinstance(meta.get("key"), dict):
        return f"{sidecar(path).name} cannot be read"
    return meta


def _changed(path: Path, meta: dict[str, Any]) -> str | None:
    return None if meta["content"] == _content(path) else "was changed since it was written"


def write_file(path: Path, key: Key, provenance: Mapping[str, Any], fill: Callable[[Path], Counts]) -> Counts:
    """Writes a file with ``fill``, which writes to the path it is given and returns counts; then its sidecar."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming(path):
        counts = put_file(path, fill)
        _write_sidecar(path, key, provenance, counts)
    return counts


def put_file(path: Path, fill: Callable[[Path], T]) -> T:
    """Writes a file with ``fill``, which writes to the path it is given, and returns the result of ``fill``. If it
    fails, the previous file stays unchanged."""
    # The suffix stays last: writers choose gzip and picture formats by it.
    partial = path.with_name(f".partial-{path.name}")
    try:
        result = fill(partial)
        sync(partial)
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync(path.parent)
    return result


def write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner may read, from the first byte on."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text)


def check_folder(path: Path) -> None:
    """Raises QuatiPoolError for a path that no folder can be written to: a file, or one without a name of its own."""
    if path.exists() and not path.is_dir():
        raise QuatiPoolError(f"{path} is a file; name a folder with -o")
    if not path.name or path.name == "..":
        raise QuatiPoolError(f"{path} cannot be replaced; name a separate folder with -o")


def write_folder(path: Path, key: Key, provenance: Mapping[str, Any], fill: Callable[[Path], Counts]) -> Counts:
    """Writes a folder with ``fill``, which writes into the empty folder it is given; then its sidecar."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial, old = path.with_name(f".partial-{path.name}"), path.with_name(f".old-{path.name}")
    clear_partials(path)
    with naming(path):
        partial.mkdir()
        try:
            counts = fill(partial)
            for file in sorted(partial.rglob("*")):
                sync(file)
            sync(partial)
            # With the sidecar of the old folder, the new one would look as if somebody had changed it.
            sidecar(path).unlink(missing_ok=True)
            # A folder cannot be renamed onto another; processes with open files of the old one can still read them.
            if path.exists():
                os.replace(path, old)
            os.replace(partial, path)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        sync(path.parent)
        _write_sidecar(path, key, provenance, counts)
    shutil.rmtree(old, ignore_errors=True)
    return counts


def grow_folder(path: Path, key: Key, provenance: Mapping[str, Any], fill: Callable[[Path], Counts]) -> Counts:
    """Completes a folder with ``fill``, which continues from the existing files and syncs what it writes: the folder
    survives if the process is killed, and gets its sidecar when it is complete."""
    with naming(path):
        path.mkdir(parents=True, exist_ok=True)
        sidecar(path).unlink(missing_ok=True)
        counts = fill(path)
        sync(path)
        sync(path.parent)
        _write_sidecar(path, key, provenance, counts)
    return counts


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Adds the artifact's path to an OSError without a file name.

    numpy reports neither the name nor the reason, only "9 requested and 5 written".
    """
    try:
        yield
    except OSError as error:
        number = error.errno or (errno.ENOSPC if _CUT_SHORT.search(str(error)) else None)
        if error.filename is not None or number is None:
            raise
        raise OSError(number, os.strerror(number), str(path)) from error


def clear_partials(path: Path) -> None:
    """Removes the partial files that a killed process left of an artifact; the artifact's lock must be held."""
    for name in (f".partial-{path.name}", f".old-{path.name}", f".partial-{sidecar(path).name}"):
        leftover = path.with_name(name)
        if leftover.is_dir():
            shutil.rmtree(leftover)
        else:
            leftover.unlink(missing_ok=True)


def read_counts(path: Path) -> Counts:
    """The counts in the sidecar of a current artifact."""
    counts: Counts = json.loads(sidecar(path).read_text(encoding="utf-8"))["counts"]
    return counts


@contextmanager
def locked(lock: Path, say: Callable[[str], None], what: str | None = None, *, leave: bool = True) -> Iterator[None]:
    """Holds the lock of one artifact; if another process holds it, says which and waits. ``what`` is the artifact's
    name in that message, by default the lock's name. Without ``leave`` the lock file is removed afterwards.

    The operating system releases the lock of a process that dies, however it dies.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    holder = lock.with_suffix(".holder")
    file, descriptor = _acquired(lock, lambda: say(waiting(what or lock.stem, _holder(holder))))
    try:
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        # This only informs waiting processes: a full disk is reported when the artifact itself is written.
        with suppress(OSError):
            holder.write_text(f"process {os.getpid()} on {socket.gethostname()} (since {now})", encoding="utf-8")
        yield
    finally:
        with suppress(OSError):
            holder.unlink(missing_ok=True)
        if not leave and descriptor is not None:
            _remove_lock(lock, descriptor)
        file.release()


def waiting(what: str, holder: str) -> str:
    """What a process says that waits for a lock: ``what`` is locked, ``holder`` the process that holds the lock."""
    return f"{what}: waiting for {holder}, which holds the lock"


@contextmanager
def locked_output(path: Path, say: Callable[[str], None], what: str | None = None) -> Iterator[None]:
    """Holds the lock of an artifact that several workspaces may write. The lock is a hidden file next to the artifact,
    so that every machine that sees the artifact sees its lock; it is removed afterwards."""
    with locked(lock_path(path), say, what or str(path), leave=False):
        yield


def lock_path(path: Path) -> Path:
    """The lock file of an artifact, a hidden file next to it; the same for every path that resolves to the artifact."""
    place = path.resolve()
    return place.with_name(f".{place.name}.lock")


def _acquired(lock: Path, waits: Callable[[], None]) -> tuple[BaseFileLock, int | None]:
    """The acquired lock, and the descriptor of its file, or None if the file system has no locks and the existence of
    the file is the lock. ``waits`` is called once if another process holds the lock."""
    descriptors: list[int] = []
    file: BaseFileLock = FileLock(lock, on_acquired=descriptors.append)
    timeout = 0
    while True:
        try:
            file.acquire(timeout=timeout)
        except Timeout:
            waits()
            timeout = -1
        except OSError as error:
            if error.errno != errno.ENOSYS or file.on_acquired is None:
                raise
            file = FileLock(lock)
        else:
            if not descriptors:
                return file, None
            if os.fstat(descriptors[-1]).st_size != _REMOVED_SIZE:
                return file, descriptors[-1]
            file.release()
            time.sleep(0.05)


def _remove_lock(lock: Path, descriptor: int) -> None:
    """Removes the file of a lock that is held.

    Another process may already have opened the file. filelock does not acquire a file without a name, but on NFS an
    open file keeps a name when it is removed, so its size marks it as removed too.
    """
    with suppress(OSError):
        if os.fstat(descriptor).st_size == 0:  # a file with content is not a lock file
            lock.unlink(missing_ok=True)
            os.ftruncate(descriptor, _REMOVED_SIZE)


def _holder(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8") or "another process"
    except OSError:
        return "another process"


def _write_sidecar(path: Path, key: Key, provenance: Mapping[str, Any], counts: Counts) -> None:
    meta = {
        "tool": f"quati-pool {__version__}",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        **provenance,
        "key": key,
        "counts": counts,
        "content": _content(path),
    }
    text = json.dumps(meta, indent=1, ensure_ascii=False) + "\n"
    put_file(sidecar(path), lambda partial: partial.write_text(text, encoding="utf-8"))


def _content(path: Path) -> dict[str, Any]:
    """The fingerprint by which changes are detected: a file's hash, or the names and sizes of a folder's files (an
    index may take gigabytes, and nobody edits it by hand)."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return {"files": {file.relative_to(path).as_posix(): file.stat().st_size for file in files}}
    return {"sha256": file_digest(path)}


def sync(path: Path) -> None:
    """Flushes a file or folder to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def differing(old: Key, new: Key) -> str:
    """A brief description of the first difference between two keys."""
    return _worded(_differences(old, new))


def _differences(old: Any, new: Any) -> list[tuple[str, str, str]]:
    """The settings in which two keys differ: (name, old value, new value)."""
    before, after = dict(_leaves(old)), dict(_leaves(new))
    both = ((name, before.get(name, "absent"), after.get(name, "absent")) for name in before.keys() | after.keys())
    return sorted((name, was, now) for name, was, now in both if was != now)


def _worded(differences: list[tuple[str, str, str]]) -> str:
    """A description of the first difference."""
    for name, was, now in differences:
        hashed = _DIGEST.search(was) or _DIGEST.search(now)
        return f"{name} changed" if hashed else f"{name} was {was}, is {now}"
    return "its settings changed"


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        # What differs is named in one of several mappings, by its number.
        yield from _leaves({str(number): inner for number, inner in enumerate(value, 1)}, name)
    else:
        yield name, json.dumps(value, ensure_ascii=False)
