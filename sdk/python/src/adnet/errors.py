"""Why a call failed. Calls never raise these: they return them as the ``error`` of a ``Failed``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class AdnetError(Exception):
    """A failed call. What the server sent has the API's names."""

    name = "AdnetError"
    #: Codes whose failure may pass: the same call may succeed later. None: all.
    _passing: frozenset[str] | None = frozenset()

    def __init__(
        self,
        message: str,
        code: str,
        *,
        status: int | None = None,
        field: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        #: The API's code, as ``rate_limited``; or ``timeout``, ``network``, ``invalid_reply``,
        #: ``client_error``, ``closed``.
        self.code = code
        #: HTTP status; None when there was no reply.
        self.status = status
        #: The field of the request that is wrong.
        self.field = field
        #: Seconds after which asking again may help.
        self.retry_after = retry_after

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later."""
        return self._passing is None or self.code in self._passing


class RequestError(AdnetError):
    """The request is wrong (400, 404, 405, 410, 413): change it."""

    name = "RequestError"


class AuthError(AdnetError):
    """The key is missing, does not work, or does not open this (401, 403)."""

    name = "AuthError"


class ConflictError(AdnetError):
    """The call is at odds with another one (409); one that still runs is over soon."""

    name = "ConflictError"
    _passing = frozenset({"idempotency_in_progress"})


class RateLimitError(AdnetError):
    """Too many calls (429): ``retry_after`` says when to come back."""

    name = "RateLimitError"
    _passing = None


class ServerError(AdnetError):
    """The server failed (5xx)."""

    name = "ServerError"

    @property
    def retryable(self) -> bool:
        return self.code != "demo_mode"


class TimeLimitError(AdnetError):
    """The time limit ended first."""

    name = "TimeLimitError"
    _passing = None


class NetworkError(AdnetError):
    """No whole reply arrived."""

    name = "NetworkError"
    _passing = None


class ClientError(AdnetError):
    """The client failed before anything was sent, as by a broken proxy setting. The request is not at fault."""

    name = "ClientError"


class ReplyError(AdnetError):
    """The reply is none of adnet's: garbage, a redirect, or an ad with links that are no links."""

    name = "ReplyError"


def error_of(status: int, body: object, retry_after: str | None) -> AdnetError:
    """The error for a reply with this status; body is what the server sent, parsed if it was JSON."""
    said: Mapping[str, Any] = body if isinstance(body, dict) else {}
    code, field, after, message = (said.get(name) for name in ("code", "field", "retry_after", "error"))
    return _class_of(status)(
        message if isinstance(message, str) else f"the server answered {status}",
        code if isinstance(code, str) else f"http_{status}",
        status=status,
        field=field if isinstance(field, str) else None,
        retry_after=after if isinstance(after, int) else _seconds(retry_after),
    )


def _class_of(status: int) -> type[AdnetError]:
    known = {401: AuthError, 403: AuthError, 409: ConflictError, 429: RateLimitError}
    if status in known:
        return known[status]
    if status >= 500:
        return ServerError
    return RequestError if status >= 400 else ReplyError


def _seconds(header: str | None) -> int | None:
    """Retry-After in its form of whole seconds, the only one that adnet sends."""
    return int(header) if header is not None and header.isascii() and header.isdigit() and len(header) < 7 else None
