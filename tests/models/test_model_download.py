"""Fetching a model from a hub: a server in this process that answers as huggingface.co does."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlparse

import pytest

from quati_pool.models.errors import ModelMissingError
from quati_pool.models.files import model_files
from quati_pool.models.loading import load_model
from quati_pool.models.location import locate_or_download
from quati_pool.models.parameters import ModelParameters
from quati_pool.retrieval.base import ComponentEnvironment
from tests.tiny_models import dense as tiny

pytestmark = pytest.mark.neural

COMMIT = "c" * 40


class Hub:
    """The model ``someone/tiny`` at ``main``; ``someone/gated`` for members only; a fault where one is set."""

    def __init__(self, folder: Path) -> None:
        self.files = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        self.files |= {
            "README.md": b"# words",
            "onnx/model.onnx": b"x" * 99,
            "pytorch_model.bin": b"old",
            "tf_model.h5": b"tf",
        }
        self.sent: list[str] = []
        self.status = 200


class Answer(http.server.BaseHTTPRequestHandler):
    hub: Hub

    def log_message(self, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = urlparse(self.path).path
        if self.hub.status != 200:
            self.answer(self.hub.status, b"{}")
        elif "someone/gated" in path:
            self.answer(403, b"{}", {"X-Error-Code": "GatedRepo"})
        elif "someone/tiny" not in path:
            self.answer(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        elif path.startswith("/api/models/someone/tiny/tree/"):
            self.answer(200, json.dumps([self.entry(name) for name in self.hub.files]).encode())
        elif path.startswith("/api/models/someone/tiny"):
            if "/revision/" in path and path.rpartition("/")[2] not in ("main", COMMIT):
                self.answer(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
                return
            siblings = [{"rfilename": name, "size": len(data)} for name, data in self.hub.files.items()]
            self.answer(200, json.dumps({"id": "someone/tiny", "sha": COMMIT, "siblings": siblings}).encode())
        else:
            name = path.split(f"/resolve/{COMMIT}/")[-1]
            if self.command == "GET":
                self.hub.sent.append(name)
            data = self.hub.files[name]
            self.answer(200, data, {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": COMMIT})

    def entry(self, name: str) -> dict[str, object]:
        data = self.hub.files[name]
        return {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.sentence_transformer(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def hub(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    from huggingface_hub import constants

    found = Hub(folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Answer,), {"hub": found}))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", endpoint + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield found
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_model_is_downloaded_once_and_only_what_loading_reads(
    hub: Hub, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    notes: list[str] = []
    local = locate_or_download(ComponentEnvironment(), "someone/tiny", None, notes.append)
    assert local.identity == {"model": "someone/tiny", "revision": COMMIT}
    assert sorted(hub.sent) == sorted(str(file.relative_to(folder)) for file in model_files(folder))
    assert len(notes) == 1
    assert notes[0].startswith("downloading someone/tiny from http://127.0.0.1")
    assert capfd.readouterr() == ("", "")
    hub.sent.clear()
    assert locate_or_download(ComponentEnvironment(), "someone/tiny", None, pytest.fail) == local
    assert hub.sent == []
    loaded = load_model("SentenceTransformer", local.folder, ModelParameters(model="someone/tiny"))
    assert loaded.encode(["boats"]).shape == (1, tiny.WIDTH)


@pytest.mark.parametrize(
    ("model", "revision", "said"),
    [
        ("someone/nothing", None, r"there is no model 'someone/nothing' on the hub, or it is private; check the name"),
        ("nothing", None, r"there is no model 'nothing' on the hub"),
        ("someone/gated", None, r"'someone/gated' is gated; ask for access on its page, then run: hf auth login"),
        ("someone/tiny", "v9", r"'someone/tiny' has no revision 'v9'; correct revision:"),
        ("some one/ti ny", None, r"there is no model 'some one/ti ny' on the hub"),
    ],
)
def test_what_the_hub_does_not_give_is_said_in_one_line(hub: Hub, model: str, revision: str | None, said: str) -> None:
    with pytest.raises(ModelMissingError, match=said) as caught:
        locate_or_download(ComponentEnvironment(), model, revision, lambda note: None)
    assert "\n" not in str(caught.value)


def test_a_hub_that_fails_is_said_in_one_line(hub: Hub) -> None:
    hub.status = 400
    with pytest.raises(
        ModelMissingError, match=r"'someone/tiny' .* could not be fetched \(Bad request.*\); try again"
    ) as caught:
        locate_or_download(ComponentEnvironment(), "someone/tiny", None, lambda note: None)
    assert "\n" not in str(caught.value)
