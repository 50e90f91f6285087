"""Serves the app: Streamlit with additional routes, behind the ``Gate``, for one opened workspace."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quati_pool.errors import MissingExtraError, QuatiPoolError

if TYPE_CHECKING:
    from quati_pool.commands.annotate.session import AnnotationSession

_SETTINGS: dict[str, Any] = {
    "browser.gatherUsageStats": False,
    "client.showErrorDetails": "none",
    "client.showErrorLinks": False,
    "client.toolbarMode": "minimal",
    "global.developmentMode": False,
    "logger.hideWelcomeMessage": True,
    "logger.level": "warning",
    "runner.magicEnabled": False,
    "server.enableStaticServing": False,
    "server.fileWatcherType": "none",
    "server.headless": True,
    "server.maxUploadSize": 1,
    "server.showEmailPrompt": False,
}


def serve(
    config_path: Path,
    host: str = "127.0.0.1",
    port: int = 8501,
    database: str | None = None,
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serves the workspace until stopped; calls ``ready`` with the address once it answers.

    ``port`` 0 chooses a free one. Raises MissingExtraError without streamlit, QuatiPoolError if the port is taken,
    and the errors of opening the workspace. The caller must first check whether the host may be served.
    """
    try:
        import streamlit  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError("quati-pool annotate", "app", error.name or "streamlit") from None
    from annotator_app import context
    from annotator_app.explorer import separate_explorers
    from quati_pool.commands.annotate.preflight import warm
    from quati_pool.commands.annotate.review.dashboard_process import separate_dashboards
    from quati_pool.commands.annotate.session import AnnotationSession

    with (
        AnnotationSession.open(config_path, database) as session,
        separate_dashboards(session, config_path, database),
        separate_explorers(session, config_path, database),
        _bound(host, port) as listening,
    ):
        warm(session)
        context.use(session)
        try:
            _run(session, listening, lambda: ready(_address(listening, host)))
        finally:
            context.use(None)


def application(session: AnnotationSession) -> Any:
    """The ASGI app for ``session``, which the caller must have passed to ``context.use``."""
    from starlette.middleware import Middleware
    from streamlit.web.bootstrap import load_config_options
    from streamlit.web.server.starlette import App

    from annotator_app import authoring_api, downloads, explorer, grading_api, own_labels_api, sign_in, theme
    from annotator_app.gate import Gate

    load_config_options({**_SETTINGS, **theme.SETTINGS})
    return App(
        Path(__file__).with_name("script") / "run.py",
        routes=[
            *sign_in.routes(session),
            *grading_api.routes(session),
            *authoring_api.routes(session),
            *own_labels_api.routes(session),
            *downloads.routes(session),
            *explorer.routes(session),
            *theme.routes(),
        ],
        middleware=[Middleware(Gate, session=session)],
    )


def _run(session: AnnotationSession, listening: socket.socket, ready: Callable[[], None]) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready()

    settings = uvicorn.Config(
        application(session), log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=3
    )
    Server(settings).run(sockets=[listening])


def _bound(host: str, port: int) -> socket.socket:
    """A socket that listens on a host and port."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(2048)
        except BaseException:
            bound.close()
            raise
    except OSError as error:
        raise QuatiPoolError(
            f"cannot listen on {host}, port {port}: {error.strerror or error}; name another with --host or --port"
        ) from None
    return bound


def _address(listening: socket.socket, host: str) -> str:
    port = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"
