"""The model server as each test of the client finds it: empty and well."""

from __future__ import annotations

import pytest

from tests.llm.server import ServerProcess

KEY = "sk-test-0123456789abcdef"


@pytest.fixture
def server(running_server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> ServerProcess:
    for variable in ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    running_server.script()
    running_server.clear()
    return running_server
