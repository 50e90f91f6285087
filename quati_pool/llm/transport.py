"""The openai SDK and its aiohttp transport: creating a client, and translating its errors to faults."""

from __future__ import annotations

import os
import re
from urllib.parse import quote, urljoin, urlsplit

import aiohttp
import httpx2
import openai

from quati_pool.llm.endpoint import Endpoint
from quati_pool.llm.faults import Fault, Kind, of_status, one_line

ERRORS = (openai.OpenAIError, httpx2.HTTPError, aiohttp.ClientError, OSError)
"""The errors that an SDK call may raise because of the network or the server."""

# The route that a call appends to base_url.
_ROUTE = re.compile(r"(/deployments/[^/]*)?/(chat/completions|embeddings|files|batches)/?$")


def sdk(endpoint: Endpoint, key: str, concurrency: int) -> openai.AsyncOpenAI:
    """An SDK client that never retries by itself, and sends the query string of the endpoint's URL with every call."""
    address, query = endpoint.address()
    timeout = openai.Timeout(endpoint.timeout, connect=min(10.0, endpoint.timeout))
    connections = max(1000, concurrency)
    http = openai.DefaultAioHttpClient(
        limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=30.0),
        timeout=timeout,
        event_hooks={"response": [_refuse_redirect]},
        params=query,
    )
    if endpoint.api_version is None:
        return openai.AsyncOpenAI(api_key=key, base_url=address, timeout=timeout, max_retries=0, http_client=http)
    base = address.rstrip("/")
    if not urlsplit(base).path.startswith("/openai"):
        base += "/openai"
    return openai.AsyncAzureOpenAI(
        api_key=key, base_url=base, api_version=endpoint.api_version, timeout=timeout, max_retries=0, http_client=http
    )


def chat_path(endpoint: Endpoint) -> str:
    """The path for chat completions, relative to the SDK client's base URL."""
    return _path(endpoint, "/chat/completions")


def embeddings_path(endpoint: Endpoint) -> str:
    """The path for embeddings, relative to the SDK client's base URL."""
    return _path(endpoint, "/embeddings")


def _path(endpoint: Endpoint, route: str) -> str:
    if endpoint.api_version is None or "/deployments/" in endpoint.url:
        return route
    return f"/deployments/{quote(endpoint.model, safe='')}{route}"


async def post(client: openai.AsyncOpenAI, path: str, body: bytes) -> bytes:
    """Sends a JSON body and returns the raw body of the answer."""
    response = await client.post(path, cast_to=httpx2.Response, content=body)
    return response.content


async def _refuse_redirect(response: httpx2.Response) -> None:
    """Raises Fault if a request with a body would be redirected.

    A redirected POST may become a GET without the prompt, whose answer would be meaningless; if it keeps the prompt, it
    would disclose the prompt and the key to a server that the user did not choose.
    """
    if response.request.method == "GET" or not response.has_redirect_location:
        return
    try:
        target = urlsplit(urljoin(str(response.request.url), response.headers["location"]))
        host = target.netloc.rpartition("@")[2]
        address = one_line(f"{target.scheme}://{host}{_ROUTE.sub('', target.path)}", most=200)
    except ValueError:
        address = "an address that is not valid"
    raise Fault(f"the server redirects to {address}", "rejected", response.status_code, moved_to=address)


def fault_of(error: BaseException, key: str, timeout: float) -> Fault:
    """The fault that an error of the SDK, its transport or the socket stands for."""
    if isinstance(error, openai.APIStatusError):
        return of_status(error.status_code, error.response.headers, error.body, key)
    root = error
    # The transport reports a dropped connection as a time-out; the aiohttp error that caused it is accurate.
    while root.__cause__ is not None and not isinstance(root, (aiohttp.ClientError, OSError)):
        root = root.__cause__
    if isinstance(root, aiohttp.ClientPayloadError):
        return Fault("the connection broke off in the middle of the answer", "protocol", passing=True)
    if isinstance(root, aiohttp.ClientSSLError):
        return Fault(f"no secure connection: {one_line(root)}", "transport")
    if isinstance(root, aiohttp.ConnectionTimeoutError):
        return Fault("no connection within 10 s", "transport", passing=True)
    if isinstance(root, (TimeoutError, httpx2.TimeoutException)):
        return Fault(f"no answer within {timeout:g} s", "timeout", passing=True)
    if isinstance(root, aiohttp.ClientResponseError):
        return Fault(f"the answer is not HTTP: {one_line(root.message)}", "protocol", passing=True)
    if isinstance(root, (aiohttp.InvalidURL, httpx2.UnsupportedProtocol)):
        return Fault(f"no usable address: {one_line(root)}", "transport")
    kind: Kind = "transport"
    if isinstance(root, aiohttp.ClientConnectorError):
        # asyncio puts the address into strerror; a failed name look-up has a negative number and its own text.
        number = root.os_error.errno or 0
        words = os.strerror(number) if number > 0 else root.os_error.strerror
        return Fault(f"no connection: {one_line(words or root)}", kind, passing=True)
    return Fault(f"the connection was dropped ({one_line(root) or type(root).__name__})", kind, passing=True)
