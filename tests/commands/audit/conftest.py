"""The command line in this process, databases of both engines, and a judge behind HTTP."""

from __future__ import annotations

import pytest

from tests.cli.conftest import cli as cli
from tests.llm.server import ServerProcess
from tests.store.conftest import cluster as cluster
from tests.store.conftest import engine as engine
from tests.store.conftest import made_postgresql as made_postgresql
from tests.store.conftest import made_sqlite as made_sqlite
from tests.store.conftest import made_url as made_url


@pytest.fixture
def server(running_server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> ServerProcess:
    """A judge behind HTTP, whose grade of a pair is a hash of what it is shown: the id of a call is that message."""
    monkeypatch.setenv("OPENAI_BASE_URL", running_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    running_server.script()
    running_server.clear()
    return running_server
