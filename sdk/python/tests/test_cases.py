"""The shared table of cases (sdk/cases) with the Python package, sync and async.

On a mock that replays the table's replies and lets Prism hold both sides to openapi.json, and on a
real installation; sdk/test/with.mjs starts both.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from adnet import Ad, Adnet, AdnetError, AsyncAdnet
from adnet.mcp import with_ad

WORLD = json.loads(os.environ["ADNET_WORLD"])
TABLE = json.loads(Path(WORLD["table"]).read_text(encoding="utf-8"))
CASES: list[dict[str, Any]] = TABLE["cases"]
KINDS = {"filled": "ad", "no_fill": "reason", "error": "error"}


def filled_in(value: Any, names: Mapping[str, str]) -> Any:
    """Value with ${NAME} and "@ad" put in."""
    if isinstance(value, str):
        if value.startswith("@"):
            return TABLE["ads"][value[1:]]
        if value == "${LONG}":
            return "long " * 10_000
        return re.sub(r"\$\{(\w+)\}", lambda match: names[match[1]], value)
    if isinstance(value, list):
        return [filled_in(one, names) for one in value]
    if isinstance(value, dict):
        return {name: filled_in(one, names) for name, one in value.items()}
    return value


def field(got: Any, name: str) -> Any:
    if isinstance(got, Ad):
        return got.fields().get(name)
    return got.get(name) if isinstance(got, Mapping) else getattr(got, name)


def holds(got: Any, want: Any, at: str = "result") -> None:
    """Fails unless got has everything of want; "…" is any text but none."""
    if want == "…":
        assert isinstance(got, str) and got, f"{at} is {got!r}"
    elif isinstance(want, list):
        assert len(got) == len(want), at
        for index, one in enumerate(want):
            holds(got[index], one, f"{at}.{index}")
    elif isinstance(want, dict):
        for name, one in want.items():
            holds(field(got, name), one, f"{at}.{name}")
    else:
        assert got == want, f"{at} is {got!r}, not {want!r}"


def settings(one: dict[str, Any], key: str | None) -> dict[str, Any]:
    """What the client of a case is made with; the table's times are in ms."""
    options = dict(one.get("options", {}))
    return {
        "key": key or options.pop("key", "pub_live_0123456789abcdef"),
        "timeout": options.pop("timeout", 5000) / 1000,
        **{name: options[name] for name in ("retries", "event_retries") if name in options},
    }


def make(adnet: Any, one: dict[str, Any], names: Mapping[str, str], changed: Any = None) -> Any:
    """The call of a case: its result, or of an async client the coroutine of it."""
    args = filled_in(one["args"] if changed is None else changed, names)
    options = {"idempotency_key": one["idempotency_key"]} if "idempotency_key" in one else {}
    if one["call"] == "ad":
        return adnet.ad(**args, **options)
    if one["call"] == "report":
        ad = Ad(names["AD_ID"], names["AUCTION_ID"], "native", "Headline", "click", "impression", "Sponsored")
        return adnet.report(ad, args["event"], **options)
    if one["call"] == "tool":
        return with_ad(adnet, args, one["tool"], structured=one.get("structured", False))
    if one["call"] == "conversion":
        return adnet.conversion(**args)
    return {"track": adnet.track, "batch": adnet.track_batch}[one["call"]](args, **options)


def ask(one: dict[str, Any], url: str, key: str | None, names: Mapping[str, str], changed: Any = None) -> Any:
    with Adnet(url=url, transport=httpx.HTTPTransport(verify=False), **settings(one, key)) as adnet:
        return make(adnet, one, names, changed)


def ask_async(one: dict[str, Any], url: str, key: str | None, names: Mapping[str, str], changed: Any = None) -> Any:
    async def answer() -> Any:
        plain = httpx.AsyncHTTPTransport(verify=False)  # without reading certificates for each case
        async with AsyncAdnet(url=url, transport=plain, **settings(one, key)) as adnet:
            return await make(adnet, one, names, changed)

    return asyncio.run(answer())


def check(result: Any, want: Any, names: Mapping[str, str], whole: bool = False) -> None:
    if whole:
        assert result == filled_in(want, names)
        return
    holds(result, filled_in(want, names))
    if result.kind == "error":
        assert isinstance(result.error, AdnetError)
    if result.kind != "tracked":
        assert [kind for kind, name in KINDS.items() if hasattr(result, name)] == [result.kind]


# with_ad takes the async client.
ASKED = [
    (i, asking)
    for i, one in enumerate(CASES)
    for asking in (ask, ask_async)
    if one["call"] != "tool" or asking is ask_async
]
NAMES = [f"{CASES[i]['name']} {asking.__name__}" for i, asking in ASKED]


@pytest.mark.parametrize(("index", "asking"), ASKED, ids=NAMES)
def test_mock(index: int, asking: Callable[..., Any]) -> None:
    one, mock = CASES[index], WORLD["mock"]
    turn = f"{index}-{asking.__name__}"
    began = time.monotonic()
    result = asking(one, f"{mock['url']}/{turn}", None, mock["values"])
    took = time.monotonic() - began
    check(result, one["result"], mock["values"], whole=one["call"] == "tool")
    assert took * 1000 < one.get("within_ms", 10_000)
    log = httpx.get(f"{mock['url']}/{turn}/log").json()
    for sent in log:
        assert sent["violations"] == [], "Prism holds request and reply to openapi.json"
        assert len(sent["headers"]["idempotency-key"]) >= 16
        assert sent["headers"]["idempotency-key"] == log[0]["headers"]["idempotency-key"], "one key for all tries"
        holds(sent, filled_in(one.get("sent", {}), mock["values"]), "sent")
    if "tries" in one:
        assert len(log) == one["tries"]
    if one["call"] == "ad" and "sent" not in one and one.get("tries") != 0:
        assert log[0]["body"] == one["args"], "the request as it was given"


REAL = [one for one in CASES if "real" in one]


@pytest.mark.parametrize("one", REAL, ids=[one["name"] for one in REAL])
@pytest.mark.parametrize("asking", [ask, ask_async])
def test_real(asking: Callable[..., Any], one: dict[str, Any]) -> None:
    real = one["real"]
    names = WORLD["values"][0 if asking is ask else 1]
    for _ in range(real.get("times", 1)):
        result = asking(one, WORLD["url"], WORLD["keys"][real["key"]], names, real.get("args"))
        if result.kind == real["result"]["kind"]:
            break
    check(result, real["result"], names)
