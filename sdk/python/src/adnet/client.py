"""Clients of one installation, sync and async. Their calls never raise: see ``results``."""

from __future__ import annotations

import contextvars
import json
import queue
import random
import re
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import anyio
import httpx

from .api import AuthenticatedClient
from .errors import NetworkError, RequestError, TimeLimitError, error_of
from .fields import Suitability
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
        cannot be one.
        """
        if not isinstance(key, str) or not re.fullmatch(r"[\x21-\x7e]+", key):
            raise ValueError("adnet: key must be a key of adnet")
        if not isinstance(url, str) or not re.match(r"https?://[^/]", url):
            raise ValueError("adnet: url must be that of an adnet installation, as https://ads.example.com")
        try:
            httpx.URL(url)
        except httpx.InvalidURL as error:
            raise ValueError(f"adnet: url must be that of an adnet installation: {error}") from error
        #: Where the installation is, without a slash at its end.
        self.url = url.rstrip("/")
        self._key = key
        self._timeout, self._event_timeout = timeout, event_timeout
        self._retries, self._event_retries = retries, event_retries

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
        limit = self._timeout if timeout is None else timeout
        return _Call("/v1/ad-request", body, limit, self._retries, key, ad_result)

    def _event_call(self, event: Mapping[str, Any], timeout: float | None, key: str | None) -> _Call[TrackResult]:
        limit = self._event_timeout if timeout is None else timeout
        return _Call("/api/track", dict(event), limit, self._event_retries, key, track_result)

    def _batch_call(self, events: Events, timeout: float | None, key: str | None) -> _Call[BatchResult]:
        limit = self._event_timeout if timeout is None else timeout
        body = {"events": [dict(event) for event in events]}
        return _Call("/api/track?action=batch", body, limit, self._event_retries, key, batch_result)

    def _request(self, client: httpx.Client | httpx.AsyncClient, call: _Call[Any]) -> httpx.Request:
        """Errors: TypeError and ValueError for a body that is no JSON, or a key that is no header."""
        return client.build_request(
            "POST",
            self.url + call.path,
            content=_whole(json.dumps(call.body, allow_nan=False, ensure_ascii=False)),
            headers={
                "Authorization": f"Bearer {self._key}",
                "Content-Type": "application/json",
                "Idempotency-Key": call.idempotency_key or str(uuid.uuid4()),
            },
        )


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
        return Failed(RequestError("the request cannot be sent: the client is closed", "closed"))
    if isinstance(error, httpx.LocalProtocolError):  # an idempotency_key that no header can have
        return _refused(error)
    return Failed(NetworkError(f"adnet could not be reached, or the reply was cut off: {error}", "network"))


def _refused(error: Exception) -> Failed:
    return Failed(RequestError(f"the request cannot be sent: {error}", "invalid_request"))


def _event(ad: Ad, event: str) -> dict[str, str]:
    return {"event": event, "campaign_id": ad.ad_id, "auction_id": ad.auction_id}


class Adnet(_Installation):
    """The sync client. It keeps connections: use it with ``with``, or ``close`` it."""

    def __init__(self, key: str, url: str, *, transport: httpx.BaseTransport | None = None, **options: Any) -> None:
        super().__init__(key, url, **options)
        self._client = httpx.Client(transport=transport, follow_redirects=False)  # the key stays here

    __init__.__doc__ = _Installation.__init__.__doc__

    def __enter__(self) -> Adnet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

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
        ends = time.monotonic() + call.timeout
        try:
            request = self._request(self._client, call)
        except (TypeError, ValueError) as error:
            return _refused(error)
        tried = 0
        while True:
            result = self._try(call, request, ends)
            pause = _pause(result, tried, call.retries)
            # A pause that outlasts the limit would only turn a telling error into a timeout.
            if pause is None or time.monotonic() + pause >= ends:
                return result
            time.sleep(pause)
            tried += 1

    def _try(self, call: _Call[T], request: httpx.Request, ends: float) -> T | Failed:
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
        sending = threading.Thread(target=lambda: answer.put(context.run(self._send, call, request)), daemon=True)
        try:
            sending.start()
        except RuntimeError:  # no more threads, as in a program that is ending
            return self._send(call, request)
        try:
            return answer.get(timeout=left)
        except queue.Empty:
            return _late(call)

    def _send(self, call: _Call[T], request: httpx.Request) -> T | Failed:
        try:
            return _read(call, self._client.send(request))
        except httpx.TimeoutException:
            return _late(call)
        except Exception as error:
            return _broken(self._client, error)


class AsyncAdnet(_Installation):
    """The async client, for asyncio and trio. Use it with ``async with``, or ``aclose`` it."""

    def __init__(
        self, key: str, url: str, *, transport: httpx.AsyncBaseTransport | None = None, **options: Any
    ) -> None:
        super().__init__(key, url, **options)
        self._client = httpx.AsyncClient(transport=transport, follow_redirects=False, timeout=None)

    __init__.__doc__ = _Installation.__init__.__doc__

    async def __aenter__(self) -> AsyncAdnet:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._client.aclose()

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
            request = self._request(self._client, call)
        except (TypeError, ValueError) as error:
            return _refused(error)
        ends = anyio.current_time() + call.timeout
        with anyio.move_on_after(call.timeout):
            tried = 0
            while True:
                result = await self._try(call, request)
                pause = _pause(result, tried, call.retries)
                # A pause that outlasts the limit would only turn a telling error into a timeout.
                if pause is None or anyio.current_time() + pause >= ends:
                    return result
                await anyio.sleep(pause)
                tried += 1
        return _late(call)

    async def _try(self, call: _Call[T], request: httpx.Request) -> T | Failed:
        try:
            return _read(call, await self._client.send(request))
        except Exception as error:
            return _broken(self._client, error)
