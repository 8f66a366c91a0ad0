"""What calls answer. Fields that come from the API have its names."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal, Union
from urllib.parse import urlsplit

from .errors import AdnetError, ReplyError


@dataclass(frozen=True)
class Advertiser:
    """Who paid for an ad."""

    name: str
    #: The operator checked who is behind the name.
    verified: bool = False


@dataclass(frozen=True)
class Ad:
    """An ad. ``auction_id`` proves its events: keep it on your server, and show ``public()``."""

    ad_id: str
    auction_id: str
    type: str
    headline: str
    click_url: str
    impression_url: str
    disclosure_label: str
    body: str = ""
    image_url: str = ""
    cta_label: str = ""
    viewable_url: str = ""
    receipt_url: str = ""
    #: The text of the link to ``receipt_url`` in another language than English; see ``why()``.
    why_label: str = ""
    #: Who paid; ``None`` where nobody did, or no name was approved.
    advertiser: Advertiser | None = None
    #: The publisher's own campaign, as nothing else was sold: it costs and earns nothing.
    house: bool = False
    sandbox: bool = False
    #: Fields of a later server.
    more: dict[str, Any] = field(default_factory=dict)

    def public(self) -> dict[str, Any]:
        """What may go into pages, messages and tool results: everything but ``auction_id``."""
        return {name: value for name, value in self.fields().items() if name != "auction_id"}

    def label(self) -> str:
        """What marks the ad as one, with who paid where that is known."""
        return f"{self.disclosure_label} · {self.advertiser.name}" if self.advertiser else self.disclosure_label

    def why(self) -> str:
        """The text of the link to why the ad was shown, in the reader's language."""
        return self.why_label or "Why this ad?"

    def fields(self) -> dict[str, Any]:
        """The ad with the API's names; ``why_label``, ``house`` and ``advertiser`` where they say something, as in the API."""
        known = {name: getattr(self, name) for name in _NAMES if name not in _SOMETIMES or getattr(self, name)}
        by = self.advertiser
        return {**known, **({"advertiser": {"name": by.name, "verified": by.verified}} if by else {}), **self.more}


_TEXTS = ("ad_id", "auction_id", "type", "headline", "disclosure_label")
_OPTIONAL_TEXTS = ("body", "cta_label", "why_label")
_LINKS = ("click_url", "impression_url")
_OPTIONAL_LINKS = ("viewable_url", "receipt_url", "image_url")
_NAMES = (*_TEXTS, *_OPTIONAL_TEXTS, *_LINKS, *_OPTIONAL_LINKS, "house", "sandbox")
_SOMETIMES = ("why_label", "house")


@dataclass(frozen=True)
class Filled:
    """There is an ad: show it with its ``disclosure_label``."""

    ad: Ad
    kind: Literal["filled"] = "filled"


@dataclass(frozen=True)
class NoFill:
    """There is no ad, which is normal: show nothing."""

    reason: str
    auction_id: str | None = None
    #: Seconds after which asking again may help.
    retry_after: int | None = None
    #: Turns of the conversation until it may have an ad.
    retry_after_turns: int | None = None
    kind: Literal["no_fill"] = "no_fill"


@dataclass(frozen=True)
class Failed:
    """The call failed: show nothing."""

    error: AdnetError
    kind: Literal["error"] = "error"


@dataclass(frozen=True)
class Tracked:
    """An event is durable."""

    event: str
    #: The same event was sent before; nothing is counted twice.
    deduped: bool = False
    #: Of a conversion: whether it may be charged.
    verified: bool | None = None
    kind: Literal["tracked"] = "tracked"


@dataclass(frozen=True)
class BatchTracked:
    """The events of a batch are durable, but for the rejected."""

    tracked: int
    deduped: bool = False
    rejected: tuple[dict[str, Any], ...] = ()
    kind: Literal["tracked"] = "tracked"


AdResult = Union[Filled, NoFill, Failed]
TrackResult = Union[Tracked, Failed]
BatchResult = Union[BatchTracked, Failed]


def _invalid(what: str) -> Failed:
    return Failed(ReplyError(what, "invalid_reply", status=200))


def _is_link(value: object) -> bool:
    """A link that a reader may follow or a page may load."""
    if not isinstance(value, str):
        return False
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def _fault(ad: dict[str, Any]) -> str | None:
    """The first field of an ad that cannot be used."""
    for name in _TEXTS:
        if not isinstance(ad.get(name), str) or not ad[name]:
            return name
    for name in _OPTIONAL_TEXTS:
        if ad.get(name) and not isinstance(ad[name], str):
            return name
    for name in _LINKS:
        if not _is_link(ad.get(name)):
            return name
    for name in _OPTIONAL_LINKS:
        if ad.get(name) and not _is_link(ad[name]):
            return name
    return None if _is_writable(ad) else "form in JSON"


def _is_writable(value: object) -> bool:
    """Whether a host can write value as JSON: not with half of a surrogate pair, nor NaN."""
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False
    return True


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def ad_result(body: object) -> AdResult:
    """The result that the reply of POST /v1/ad-request means."""
    if not isinstance(body, dict) or "ad" not in body:
        return _invalid("the reply is no reply to an ad request")
    ad = body["ad"]
    if ad is None:
        reason, auction_id = body.get("reason"), body.get("auction_id")
        return NoFill(
            reason=reason if isinstance(reason, str) else "unknown",
            auction_id=auction_id if isinstance(auction_id, str) else None,
            retry_after=_number(body.get("retry_after")),
            retry_after_turns=_number(body.get("retry_after_turns")),
        )
    if not isinstance(ad, dict):
        return _invalid("the ad of the reply is none")
    if (wrong := _fault(ad)) is not None:
        return _invalid(f"the ad of the reply has no usable {wrong}")
    known = {name: ad[name] for name in _NAMES if ad.get(name) is not None}
    more = {name: value for name, value in ad.items() if name not in _NAMES and name != "advertiser"}
    return Filled(Ad(**known, advertiser=_advertiser(ad.get("advertiser")), more=more))


def _advertiser(by: object) -> Advertiser | None:
    if not isinstance(by, dict) or not isinstance(by.get("name"), str) or not by["name"]:
        return None
    return Advertiser(by["name"], by.get("verified") is True)


def track_result(body: object) -> TrackResult:
    """The result that the reply of POST /api/track means."""
    if not isinstance(body, dict) or body.get("tracked") is not True or not isinstance(body.get("event"), str):
        return _invalid("the reply is no reply to an event")
    verified = body.get("verified")
    return Tracked(body["event"], body.get("deduped") is True, verified if isinstance(verified, bool) else None)


def batch_result(body: object) -> BatchResult:
    """The result that the reply of POST /api/track?action=batch means."""
    tracked = _number(body.get("tracked")) if isinstance(body, dict) else None
    if tracked is None or not isinstance(body, dict):
        return _invalid("the reply is no reply to a batch of events")
    rejected = body.get("rejected")
    return BatchTracked(tracked, body.get("deduped") is True, tuple(rejected) if isinstance(rejected, list) else ())
