"""Which tests are quick, and which of the others this machine can run. Hypothesis draws the same examples every time,
no test fails for a slow machine, and the garbage collector passes over what all tests share."""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from quati_pool.store import upgrade
from tests.machine_parts import PARTS, REQUIRED, all_lacking, lacking, not_checked
from tests.new_databases import copied, migrated

if TYPE_CHECKING:
    from tests.llm.server import ServerProcess

NEEDS = (*PARTS, "slow")
MIGRATING = Path(__file__).with_name("store")

# What ir_datasets reads or builds stays in a folder of the tests; it looks when it is imported.
os.environ.setdefault("IR_DATASETS_HOME", str(Path(tempfile.gettempdir()) / "ir-datasets-of-tests"))

settings.register_profile("quati-pool", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("quati-pool")


def pytest_configure() -> None:
    # A shell starts what runs in the background with SIGINT ignored, and no test could press Ctrl-C then.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file whose ``pytestmark`` says what all its tests need may import that at its top. So it is not imported
    where none of them would run."""
    if collection_path.suffix != ".py":
        return None
    mark = re.search(r"^pytestmark = (.*)$", collection_path.read_text(encoding="utf-8"), re.MULTILINE)
    needs = {*NEEDS}.intersection(re.findall(r"pytest\.mark\.(\w+)", mark[1] if mark else ""))
    if config.getoption("markexpr") == "quick":
        return bool(needs) or None
    return (not REQUIRED and any(map(lacking, PARTS.keys() & needs))) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before pytest selects by markers."""
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker("postgres")
        if not any(item.get_closest_marker(name) for name in NEEDS):
            item.add_marker("quick")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for part in PARTS:
        if item.get_closest_marker(part) and (reason := lacking(part)):
            not_checked(reason)
    upgrade._upgrade = migrated if item.path.is_relative_to(MIGRATING) else copied


def pytest_report_header(config: pytest.Config) -> list[str]:
    return [] if config.getoption("markexpr") == "quick" else all_lacking()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Thousands of tests and all that they import stay to the end. Where a library collects garbage for each thing
    that it does, as statsmodels does for each Holm correction, looking through them took most of a test's time."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No network, and an empty Hugging Face cache."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


@pytest.fixture(scope="session")
def running_server() -> Iterator[ServerProcess]:
    """The model server, one in each process of the tests; whoever uses it sets its script and clears it."""
    from tests.llm.server import ServerProcess

    with ServerProcess() as server:
        yield server


@pytest.fixture
def server(running_server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> ServerProcess:
    """The model server as the one that judges ask, with its usual script and an empty log. Its grade of a pair is a
    hash of what it is shown: the id of a call is that message."""
    monkeypatch.setenv("OPENAI_BASE_URL", running_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    running_server.script()
    running_server.clear()
    return running_server


@pytest.fixture(scope="session")
def finished_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a demo, made once in each process of the tests; not to be changed."""
    from quati_pool.commands.demo import demo
    from quati_pool.reporting.reporter import Reporter

    folder = tmp_path_factory.mktemp("finished-demo") / "demo"
    demo(folder, Reporter())
    return folder


@pytest.fixture(scope="session")
def finished_estimates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a workspace with random queries that people have graded; not to be changed."""
    from tests.estimated_workspace import estimated_workspace

    return estimated_workspace(tmp_path_factory.mktemp("finished-estimates") / "workspace").parent


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished build; not to be changed."""
    from tests.commands.small_collection import built, make_collection

    path = make_collection(tmp_path_factory.mktemp("finished") / "workspace")
    # Older than two seconds: inputs this old are remembered by their size and time.
    for file in path.parent.iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))
    built(path)
    return path.parent


@pytest.fixture
def workspace(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished workspace, with its file times."""
    return Path(shutil.copytree(finished, tmp_path / "workspace", symlinks=True))


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """The inputs alone."""
    from tests.commands.small_collection import make_collection

    return make_collection(tmp_path / "fresh").parent
