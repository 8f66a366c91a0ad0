"""Clients of one installation, sync and async. Their calls never raise: see ``results``."""

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import queue
import random
import re
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import anyio
import httpx

from .api import AuthenticatedClient
from .errors import AdnetError, ClientError, NetworkError, RequestError, TimeLimitError, error_of
from .fields import Suitability
from .proxies import proxy_for
from .results import Ad, AdResult, BatchResult, Failed, TrackResult, ad_result, batch_result, track_result

T = TypeVar("T")
Events = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class _Call(Generic[T]):
    """What a call is made of; the same for each try."""

    path: str
    body: object
    #: Seconds, all tries together.
    timeout: float
    retries: int
    idempotency_key: str | None
    read: Callable[[object], T | Failed]


class _Installation:
    """What both clients do alike: everything but waiting."""

    def __init__(
        self,
        key: str,
        url: str,
        *,
        timeout: float = 1.5,
        event_timeout: float = 10.0,
        retries: int = 0,
        event_retries: int = 2,
    ) -> None:
        """A client with a publisher key for ads, or a conversion key in a shop.

        Time limits are in seconds and hold for all tries of a call together: ``timeout`` for ad
        requests, ``event_timeout`` for events, which can wait while readers cannot. ``retries`` are
        further tries of calls that failed in a way that may pass. Raises ValueError when key or url
        cannot be one. The environment (proxies, certificates) is read by the first call.
        """
        if not isinstance(key, str) or not re.fullmatch(r"[\x21-\x7e]+", key):
            raise ValueError("adnet: key must be a key of adnet")
        if not isinstance(url, str) or not re.match(r"https?://[^/]", url):
            raise ValueError("adnet: url must be that of an adnet installation, as https://ads.example.com")
        try:
            host = httpx.URL(url).host
        except (httpx.InvalidURL, ValueError) as error:
            raise ValueError(f"adnet: url must be that of an adnet installation: {error}") from error
        if not host or "?" in url or "#" in url:
            raise ValueError("adnet: url must have a host, and neither a query nor a fragment")
        #: Where the installation is, without a slash at its end.
        self.url = url.rstrip("/")
        self._key = key
        #: Seconds of an ad request.
        self.ad_timeout = timeout
        self._event_timeout = event_timeout
        self._retries, self._event_retries = retries, event_retries
        self._opening = threading.Lock()
        self._closed = False

    @property
    def api(self) -> AuthenticatedClient:
        """The whole API with this key, generated from openapi.json: see ``adnet.api.api``."""
        return AuthenticatedClient(base_url=self.url, token=self._key)

    def _ad_call(
        self, fields: dict[str, Any], suitability: Suitability | None, timeout: float | None, key: str | None
    ) -> _Call[AdResult]:
        body = {name: value for name, value in fields.items() if value is not None}
        if suitability is not None:
            body["suitability"] = suitability
        if self._key.startswith("pk_"):  # in a reader's hands, so the rules for browsers hold
            body.setdefault("integration_method", "npm_sdk")
        limit = self.ad_timeout if timeout is None else timeout
        return _Call("/v1/ad-request", body, limit, self._retries, key, ad_result)

    def _event_call(self, event: Mapping[str, Any], timeout: float | None, key: str | None) -> _Call[TrackResult]:
        limit = self._event_timeout if timeout is None else timeout
        return _Call("/api/track", event, limit, self._event_retries, key, track_result)

    def _batch_call(self, events: Events, timeout: float | None, key: str | None) -> _Call[BatchResult]:
        limit = self._event_timeout if timeout is None else timeout
        return _Call("/api/track?action=batch", {"events": events}, limit, self._event_retries, key, batch_result)

    def _route(self) -> dict[str, Any]:
        """Settings of a transport to this one host: its proxy and whether certificates are needed.

        Errors: whatever the environment holds that httpx cannot use.
        """
        proxy = proxy_for(httpx.URL(self.url))
        secure = self.url.startswith("https") or (proxy or "").startswith("https")
        # Without TLS on the way no certificate is read, so that a missing file does no harm.
        return {"proxy": proxy, "verify": secure, "trust_env": secure}

    def _request(self, client: httpx.Client | httpx.AsyncClient, call: _Call[Any]) -> httpx.Request:
        """Errors: RequestError for a body that is no JSON, or a key that is no header."""
        key = call.idempotency_key or str(uuid.uuid4())
        if not isinstance(key, str) or not re.fullmatch("[ -~]+", key):
            raise _invalid("idempotency_key must be 16 to 255 characters of ASCII")
        return client.build_request(
            "POST",
            self.url + call.path,
            content=_json(call.body),
            headers={
                "Authorization": f"Bearer {self._key}",
                "Content-Type": "application/json",
                "Idempotency-Key": key,
            },
        )


def _checked(call: _Call[T]) -> _Call[T]:
    """The call with limits that clocks and queues take. Errors: RequestError for what is no number."""
    try:
        timeout = min(max(0.0, float(call.timeout)), threading.TIMEOUT_MAX)
        return replace(call, timeout=timeout, retries=int(call.retries))
    except (TypeError, ValueError, OverflowError) as error:
        raise _invalid(f"timeout must be a number of seconds, retries a number of tries: {error}") from error


def _invalid(message: str) -> RequestError:
    return RequestError(message, "invalid_request")


def _json(body: object) -> bytes:
    """Body as JSON. Errors: RequestError for one that has no such form."""
    try:
        return _whole(json.dumps(body, allow_nan=False, ensure_ascii=False, default=_plain))
    except Exception as error:  # objects of the caller fail in ways of their own
        raise _invalid(f"the request cannot be sent: it must be JSON: {error}") from error


def _plain(value: object) -> object:
    """The form for JSON of mappings and sequences that are no dict and no list."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _whole(text: str) -> bytes:
    """Text in UTF-8. Half of a surrogate pair, as of an emoji that was cut, is no text to a server."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _read(call: _Call[T], reply: httpx.Response) -> T | Failed:
    try:
        body = json.loads(reply.content)
    except (ValueError, RecursionError):
        body = None
    if reply.status_code != 200:
        return Failed(error_of(reply.status_code, body, reply.headers.get("retry-after")))
    return call.read(body)


def _pause(result: object, tried: int, retries: int) -> float | None:
    """Seconds until the next try; None when there is none."""
    if not isinstance(result, Failed) or not result.error.retryable or tried >= retries:
        return None
    if result.error.retry_after is not None:
        return result.error.retry_after
    return float(0.1 * 2**tried * random.uniform(0.5, 1.5))  # clients that failed together come back apart


def _late(call: _Call[Any]) -> Failed:
    return Failed(TimeLimitError(f"no reply within {call.timeout} s", "timeout"))


def _broken(client: httpx.Client | httpx.AsyncClient, error: Exception) -> Failed:
    """What came of a try that ended in an error of httpx, or of a transport of the caller's."""
    if client.is_closed:
        return _unsent(_closed())
    return Failed(NetworkError(f"adnet could not be reached, or the reply was cut off: {error}", "network"))


def _closed() -> RequestError:
    return RequestError("the request cannot be sent: the client is closed", "closed")


def _unsent(error: Exception) -> Failed:
    """What came of a call that failed before anything was sent."""
    if isinstance(error, AdnetError):
        return Failed(error)
    why = f"the request could not be prepared: {type(error).__name__}: {error}"
    settings = "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
    return Failed(ClientError(f"{why} (settings are read from {settings})", "client_error"))


def _event(ad: Ad, event: str) -> dict[str, Any]:
    return {"event": event, "campaign_id": getattr(ad, "ad_id", None), "auction_id": getattr(ad, "auction_id", None)}


class Adnet(_Installation):
    """The sync client. It keeps connections: use it with ``with``, or ``close`` it."""

    def __init__(self, key: str, url: str, *, transport: httpx.BaseTransport | None = None, **options: Any) -> None:
        super().__init__(key, url, **options)
        self._transport = transport
        self._client: httpx.Client | None = None
        self._process = 0

    __init__.__doc__ = _Installation.__init__.__doc__

    def __enter__(self) -> Adnet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._opening:
            self._closed = True
            client = self._client
        if client is not None:
            client.close()

    def _open(self) -> httpx.Client:
        """The client, made by the first call. Errors: see _route, and RequestError when it is closed."""
        with self._opening:
            if self._closed:
                raise _closed()
            # A fork has its parent's connections, where it would read replies of the parent's calls.
            if self._client is None or self._process != os.getpid():
                transport = self._transport or httpx.HTTPTransport(**self._route())
                # Redirects are not followed: the key stays with the installation.
                self._client = httpx.Client(transport=transport, trust_env=False, follow_redirects=False)
                self._process = os.getpid()
            return self._client

    def ad(
        self,
        *,
        suitability: Suitability | None = None,
        timeout: float | None = None,
        idempotency_key: str | None = None,
        **fields: Any,
    ) -> AdResult:
        """Asks for an ad with the fields of the API, as ``context``, ``messages``, ``session_id``."""
        return self._call(self._ad_call(fields, suitability, timeout, idempotency_key))

    def report(self, ad: Ad, event: str, **options: Any) -> TrackResult:
        """Reports what happened to an ad, from a server that knows. Readers' links report by themselves."""
        return self.track(_event(ad, event), **options)

    def conversion(self, click_id: str, **fields: Any) -> TrackResult:
        """Reports a conversion, with a conversion key and the ``adnet_click`` of the landing page."""
        return self.track({**fields, "event": "conversion", "click_id": click_id})

    def track(
        self, event: Mapping[str, Any], *, timeout: float | None = None, idempotency_key: str | None = None
    ) -> TrackResult:
        """Sends one event."""
        return self._call(self._event_call(event, timeout, idempotency_key))

    def track_batch(
        self, events: Events, *, timeout: float | None = None, idempotency_key: str | None = None
    ) -> BatchResult:
        """Sends up to 500 events at once."""
        return self._call(self._batch_call(events, timeout, idempotency_key))

    def _call(self, call: _Call[T]) -> T | Failed:
        """Makes the tries of a call within one time limit."""
        try:
            call = _checked(call)
            ends = time.monotonic() + call.timeout
            client = self._open()
            request = self._request(client, call)
        except Exception as error:
            return _unsent(error)
        tried = 0
        while True:
            result = self._try(client, call, request, ends)
            pause = _pause(result, tried, call.retries)
            # A pause that outlasts the limit would only turn a telling error into a timeout.
            if pause is None or time.monotonic() + pause >= ends:
                return result
            time.sleep(pause)
            tried += 1

    def _try(self, client: httpx.Client, call: _Call[T], request: httpx.Request, ends: float) -> T | Failed:
        """One try, in a thread of its own.

        The limits of httpx hold for each wait alone: not for the search of a name, for one address after
        the other, or for a reply that comes byte by byte. A thread that is given up ends by them.
        """
        left = ends - time.monotonic()
        if left <= 0:
            return _late(call)
        request.extensions = {**request.extensions, "timeout": httpx.Timeout(left).as_dict()}
        answer: queue.SimpleQueue[T | Failed] = queue.SimpleQueue()
        context = contextvars.copy_context()
        sending = threading.Thread(target=lambda: answer.put(context.run(_send, client, call, request)), daemon=True)
        try:
            sending.start()
        except RuntimeError:  # no more threads, as in a program that is ending
            return _send(client, call, request)
        try:
            return answer.get(timeout=min(left, threading.TIMEOUT_MAX))
        except queue.Empty:
            return _late(call)


def _send(client: httpx.Client, call: _Call[T], request: httpx.Request) -> T | Failed:
    try:
        return _read(call, client.send(request))
    except httpx.TimeoutException:
        return _late(call)
    except Exception as error:
        return _broken(client, error)


def _loop() -> object:
    """The event loop that this runs in."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        trio: Any = sys.modules["trio"]
        return trio.lowlevel.current_trio_token()


def _is_over(loop: object) -> bool:
    """Whether a loop cannot run any more. Of trio's this is not known, so one at a time has a client."""
    return loop.is_closed() if isinstance(loop, asyncio.AbstractEventLoop) else True


class AsyncAdnet(_Installation):
    """The async client, for asyncio and trio. Use it with ``async with``, or ``aclose`` it."""

    def __init__(
        self, key: str, url: str, *, transport: httpx.AsyncBaseTransport | None = None, **options: Any
    ) -> None:
        super().__init__(key, url, **options)
        self._transport = transport
        #: A client for each event loop, which its connections belong to.
        self._clients: dict[object, httpx.AsyncClient] = {}

    __init__.__doc__ = _Installation.__init__.__doc__

    async def __aenter__(self) -> AsyncAdnet:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        with self._opening:
            self._closed = True
            # Another loop's connections can only be dropped.
            client = self._clients.pop(_loop(), None)
            self._clients.clear()
        if client is not None:
            await client.aclose()

    def _open(self) -> httpx.AsyncClient:
        """The client, made by the first call. Errors: see _route, and RequestError when it is closed."""
        with self._opening:
            if self._closed:
                raise _closed()
            loop = _loop()
            client = self._clients.get(loop)
            if client is None:
                transport = self._transport or httpx.AsyncHTTPTransport(**self._route())
                client = httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=False, timeout=None)
                self._clients = {other: of for other, of in self._clients.items() if not _is_over(other)}
                self._clients[loop] = client
            return client

    async def ad(
        self,
        *,
        suitability: Suitability | None = None,
        timeout: float | None = None,
        idempotency_key: str | None = None,
        **fields: Any,
    ) -> AdResult:
        """Asks for an ad with the fields of the API, as ``context``, ``messages``, ``session_id``."""
        return await self._call(self._ad_call(fields, suitability, timeout, idempotency_key))

    async def report(self, ad: Ad, event: str, **options: Any) -> TrackResult:
        """Reports what happened to an ad, from a server that knows. Readers' links report by themselves."""
        return await self.track(_event(ad, event), **options)

    async def conversion(self, click_id: str, **fields: Any) -> TrackResult:
        """Reports a conversion, with a conversion key and the ``adnet_click`` of the landing page."""
        return await self.track({**fields, "event": "conversion", "click_id": click_id})

    async def track(
        self, event: Mapping[str, Any], *, timeout: float | None = None, idempotency_key: str | None = None
    ) -> TrackResult:
        """Sends one event."""
        return await self._call(self._event_call(event, timeout, idempotency_key))

    async def track_batch(
        self, events: Events, *, timeout: float | None = None, idempotency_key: str | None = None
    ) -> BatchResult:
        """Sends up to 500 events at once."""
        return await self._call(self._batch_call(events, timeout, idempotency_key))

    async def _call(self, call: _Call[T]) -> T | Failed:
        """Makes the tries of a call within one time limit."""
        try:
            call = _checked(call)
            ends = anyio.current_time() + call.timeout
            client = self._open()
            request = self._request(client, call)
        except Exception as error:
            return _unsent(error)
        with anyio.move_on_after(call.timeout):
            tried = 0
            while True:
                result = await _try(client, call, request)
                pause = _pause(result, tried, call.retries)
                # A pause that outlasts the limit would only turn a telling error into a timeout.
                if pause is None or anyio.current_time() + pause >= ends:
                    return result
                await anyio.sleep(pause)
                tried += 1
        return _late(call)


async def _try(client: httpx.AsyncClient, call: _Call[T], request: httpx.Request) -> T | Failed:
    try:
        return _read(call, await client.send(request))
    except Exception as error:
        return _broken(client, error)
