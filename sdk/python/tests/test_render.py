"""What is made of an ad whose texts are hostile, in each form, and of settings that cannot work."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from dataclasses import replace
from typing import Any

import httpx
import pytest

from adnet import Ad, Adnet, AdResult, Advertiser, AsyncAdnet, Failed
from adnet.discord import ad_message
from adnet.mcp import AD_META_KEY, CARD_URI, ad_block, add_ad, card_contents, with_ad

BASE = "https://ads.example.com"
WORLD = json.loads(os.environ["ADNET_WORLD"])
AD = Ad(
    ad_id="1",
    auction_id="SECRET",
    type="native",
    headline="**Click** [me](https://evil.example) @everyone <img src=x>",
    body="one\n\n# two `three`",
    cta_label="Go](https://evil.example",
    click_url=f"{BASE}/s/x)y",
    impression_url=f"{BASE}/i",
    disclosure_label="Sponsored",
    receipt_url=f"{BASE}/r/x",
)


def test_markdown_shows_the_characters_of_the_texts() -> None:
    text = ad_block(AD)["text"]
    assert text.startswith(r"**Sponsored:** \*\*Click\*\* \[me\]")
    assert re.findall(r"(?<!\\)\]\(([^)]*)\)", text) == [f"{BASE}/s/x%29y", f"{BASE}/r/x"]
    assert "<img" not in text and "\n# two" not in text


def test_an_ad_says_who_paid() -> None:
    by = replace(AD, advertiser=Advertiser("Example *Ltd*\n[x](y)"))
    assert ad_block(by)["text"].startswith(r"**Sponsored · Example \*Ltd\* \[x\]\(y\):** ")
    assert ad_message(by)["embeds"][0]["footer"]["text"].startswith("Sponsored · Example *Ltd* ")
    assert add_ad({}, by)["_meta"][AD_META_KEY]["advertiser"] == {
        "name": "Example *Ltd*\n[x](y)",
        "verified": False,
    }
    assert "advertiser" not in AD.fields()


def test_the_receipt_is_linked_in_the_language_of_the_reply() -> None:
    german = replace(AD, disclosure_label="Anzeige", why_label="Warum [diese] Anzeige?")
    assert rf"· [Warum \[diese\] Anzeige?]({BASE}/r/x)" in ad_block(german)["text"]
    assert f"· [Why this ad?]({BASE}/r/x)" in ad_block(AD)["text"]
    for one, why in ((german, "Warum [diese] Anzeige?"), (AD, "Why this ad?")):
        assert ad_message(one)["components"][0]["components"][1]["label"] == why
    assert german.public()["why_label"] == "Warum [diese] Anzeige?"
    assert "why_label" not in AD.fields()


def test_a_result_keeps_what_it_had() -> None:
    had = {
        "content": [{"type": "text", "text": "answer"}],
        "structuredContent": {"a": 1},
        "_meta": {"b": 2, "ui": {"prefersBorder": True}},
    }
    before = json.dumps(had)
    result = add_ad(had, AD)
    assert len(result["content"]) == 2
    assert result["structuredContent"] == {"a": 1}
    ui = {"prefersBorder": True, "resourceUri": CARD_URI}
    assert result["_meta"] == {"b": 2, AD_META_KEY: AD.public(), "ui": ui}
    assert "SECRET" not in json.dumps(result)
    assert json.dumps(had) == before


def test_structured_content_has_the_ad_only_where_the_author_wants_it() -> None:
    text = {"content": [{"type": "text", "text": "answer"}]}
    assert "structuredContent" not in add_ad(text, AD, structured=True), "a host would prefer it to the answer"
    full = add_ad({**text, "structuredContent": {"a": 1}}, AD, structured=True)
    assert full["structuredContent"] == {"a": 1, "sponsored": AD.public()}
    for own in ({"sponsored": None}, {"sponsored": "x"}, [1], "x", None):
        result = add_ad({**text, "structuredContent": own}, AD, structured=True)
        assert result["structuredContent"] == own


def test_a_tool_keeps_its_own_card() -> None:
    own = {"ui": {"resourceUri": "ui://recipes/card"}}
    assert add_ad({"_meta": own}, AD)["_meta"]["ui"] == own["ui"]


class Result:
    """What a tool may return beside a dict."""

    content = ("answer",)


UNCHANGED: list[Any] = [
    {"isError": True, "content": [{"type": "text", "text": "no"}]},
    {"content": []},
    {"structuredContent": {"a": 1}},
    {"content": [], "structuredContent": {"a": 1}},
    {"content": "answer"},
    {"content": None},
    {"content": [{"type": "text", "text": "x"}], "_meta": "mine"},
    {"content": [{"type": "text", "text": "x"}], "_meta": {"ui": "mine"}},
    {"content": [{"type": "text", "text": "x"}], "is_error": True, "structured_content": None},
    {"content": [{"type": "text", "text": "x"}], "meta": "mine"},
    {"toolResult": 5},
    {},
    None,
    "answer",
    ["answer"],
    Result(),
    (block for block in ("answer",)),
]


@pytest.mark.parametrize("result", UNCHANGED, ids=str)
def test_a_result_that_an_ad_could_harm_is_returned_as_it_is(result: Any) -> None:
    def fill(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"ad": AD.fields()})

    async def answer() -> Any:
        async with AsyncAdnet("x", BASE, transport=httpx.MockTransport(fill)) as adnet:
            beside = await with_ad(adnet, {"context": "x"}, {"content": [{"type": "text", "text": "x"}]})
            assert len(beside["content"]) == 2, "this transport fills"
            return await with_ad(adnet, {"context": "x"}, result, report_impression=True, structured=True)

    assert asyncio.run(answer()) is result


def test_a_tool_answers_whatever_the_request_is() -> None:
    async def answer(request: Any) -> Any:
        async with AsyncAdnet("x", BASE, transport=httpx.MockTransport(lambda _: httpx.Response(500))) as adnet:
            return await with_ad(adnet, request, {"content": ["answer"]})

    for request in (None, 5, "x", {5: "x"}, {"context": object()}, {"timeout": "soon"}, {"idempotency_key": 5}):
        assert asyncio.run(answer(request)) == {"content": ["answer"]}
    without: Any = None
    assert asyncio.run(with_ad(without, {"context": "x"}, {"content": ["answer"]})) == {"content": ["answer"]}


def test_a_dumped_result_keeps_its_meta() -> None:
    had = {"content": ["answer"], "meta": {"a": 1, "ui": {"resourceUri": "ui://own"}}}
    meta = add_ad(had, AD)["_meta"]
    assert meta["a"] == 1 and meta["ui"] == {"resourceUri": "ui://own"} and AD_META_KEY in meta


@pytest.mark.parametrize("wrong", [r'"headline": "\ud83d"', r'"later": ["\udc00"]', '"later": NaN'])
def test_an_ad_that_no_result_can_carry_is_no_ad(wrong: str) -> None:
    reply = '{"ad": ' + json.dumps(AD.fields())[:-1] + ", " + wrong + "}}"
    transport = httpx.MockTransport(lambda _: httpx.Response(200, text=reply))
    with Adnet("x", BASE, transport=transport) as adnet:
        result = adnet.ad(context="x")
    assert isinstance(result, Failed) and result.error.code == "invalid_reply"


def test_a_tool_does_not_wait_for_an_event() -> None:
    async def away(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/track":
            await asyncio.sleep(60)
        return httpx.Response(200, json={"ad": AD.fields()})

    async def answer() -> Any:
        async with AsyncAdnet("x", BASE, timeout=0.2, transport=httpx.MockTransport(away)) as adnet:
            return await with_ad(adnet, {"context": "x"}, {"content": ["answer"]}, report_impression=True)

    began = time.monotonic()
    assert len(asyncio.run(answer())["content"]) == 2
    assert time.monotonic() - began < 5


def test_a_tool_answers_without_adnet() -> None:
    def away(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("away")

    async def answer(result: dict[str, object]) -> dict[str, object]:
        async with AsyncAdnet("x", BASE, transport=httpx.MockTransport(away)) as adnet:
            return await with_ad(adnet, {"context": "x"}, result)

    results: list[dict[str, object]] = [{"content": []}, {"isError": True, "content": []}]
    for result in results:
        assert asyncio.run(answer(result)) == result


def test_the_card_may_talk_to_the_installation_alone() -> None:
    card = card_contents(Adnet("x", BASE + "/"))
    assert card["_meta"]["ui"]["csp"] == {"connectDomains": [BASE], "resourceDomains": []}
    assert "ui/initialize" in card["text"]


def test_discord_gets_texts_within_its_limits() -> None:
    long = ad_message(replace(AD, headline="😀" * 300, cta_label="x" * 200, body="y" * 9000))
    title = long["embeds"][0]["title"]
    assert len(title.encode("utf-16-le")) <= 512 and title.endswith("😀…")
    assert len(long["embeds"][0]["description"]) <= 4096
    buttons = long["components"][0]["components"]
    assert [(len(button["label"]), button["url"]) for button in buttons] == [(80, AD.click_url), (12, AD.receipt_url)]
    assert long["allowed_mentions"] == {"parse": []}
    film = replace(AD, image_url="https://backup.example/ad.mp4")
    assert "image" in ad_message(film)["embeds"][0]
    assert "image" not in ad_message(replace(film, type="video"))["embeds"][0], "a film is no picture"
    far = ad_message(replace(AD, click_url=f"{BASE}/s/{'x' * 600}", receipt_url=""))
    assert far["components"] == [] and len(far["embeds"][0]["url"]) > 600


WRONG = ("http://[::1", "http://?q", "http://#", "http://@", "http://:80", "http://xn--", f"{BASE}?a=1", f"{BASE}/#a")


@pytest.mark.parametrize(("key", "url"), [("", BASE), ("a b", BASE), ("x", "ads.example.com"), ("x", ""), *(("x", url) for url in WRONG)])
def test_the_client_refuses_settings_that_cannot_work(key: str, url: str) -> None:
    with pytest.raises(ValueError, match="adnet: "):
        Adnet(key, url)


def test_a_request_that_cannot_be_written_is_an_error() -> None:
    with Adnet("x", BASE) as adnet:
        result = adnet.ad(context=object())
    assert isinstance(result, Failed) and result.error.code == "invalid_request"


def test_no_call_raises_whatever_it_is_given() -> None:
    refuse = httpx.MockTransport(lambda _: httpx.Response(400, json={"error": "no", "code": "invalid_request"}))

    class Odd:
        def __iter__(self) -> Any:
            raise KeyError("odd")

    deep: list[Any] = []
    deep.append(deep)
    odd: Any
    with Adnet("x", BASE, transport=refuse) as adnet:
        for odd in (None, 5, "x", Odd(), deep, [None], {5: {6}}, float("nan")):
            results = (
                adnet.track(odd),
                adnet.track_batch(odd),
                adnet.report(odd, "impression"),
                adnet.conversion(odd),
                adnet.ad(context=odd),
                adnet.ad(context="x", idempotency_key=odd),
            )
            assert {result.kind for result in results} == {"error"}
            assert {result.error.code for result in results} == {"invalid_request"}  # type: ignore[union-attr]
        for odd in ("soon", [], {}):
            result = adnet.ad(context="x", timeout=odd)
            assert isinstance(result, Failed) and result.error.code == "invalid_request"
        for odd in (float("nan"), float("-inf"), -1):
            result = adnet.ad(context="x", timeout=odd)
            assert isinstance(result, Failed) and result.error.code == "timeout"
        for odd in (float("inf"), 1e30, "5"):
            result = adnet.ad(context="x", timeout=odd)
            assert isinstance(result, Failed) and result.error.status == 400
    with Adnet("x", BASE, transport=refuse, timeout=None, retries="x") as adnet:
        result = adnet.ad(context="x")
        assert isinstance(result, Failed) and result.error.code == "invalid_request"


def test_an_idempotency_key_that_no_header_can_have_is_a_wrong_request() -> None:
    url = WORLD["url"]  # a transport finds it out when it writes

    async def ask(key: str) -> AdResult:
        async with AsyncAdnet("pub_test_sandbox", url) as adnet:
            return await adnet.ad(context="x", idempotency_key=key)

    for key in ("two\nlines of a key", "é" * 16):
        with Adnet("pub_test_sandbox", url) as adnet:
            result = adnet.ad(context="x", idempotency_key=key)
        for one in (result, asyncio.run(ask(key))):
            assert isinstance(one, Failed) and one.error.code == "invalid_request"


def test_a_closed_client_answers_an_error() -> None:
    closed = Adnet("x", BASE)
    closed.close()
    waiting = AsyncAdnet("x", BASE)

    async def ask() -> AdResult:
        await waiting.aclose()
        return await waiting.ad(context="x")

    for result in (closed.ad(context="x"), asyncio.run(ask())):
        assert isinstance(result, Failed) and result.error.code == "closed" and not result.error.retryable


@pytest.mark.parametrize("body", ["[" * 100_000, "1" * 100_000])
def test_a_reply_that_no_parser_takes_is_an_error(body: str) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, text=body))

    async def ask() -> AdResult:
        return await AsyncAdnet("x", BASE, transport=transport).ad(context="x")

    for result in (Adnet("x", BASE, transport=transport).ad(context="x"), asyncio.run(ask())):
        assert isinstance(result, Failed) and result.error.code == "invalid_reply"


def test_a_transport_that_fails_in_its_own_way_is_an_error() -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise KeyError("proxy")

    with Adnet("x", BASE, transport=httpx.MockTransport(fail)) as adnet:
        result = adnet.ad(context="x")
    assert isinstance(result, Failed) and result.error.code == "network"


def test_the_low_level_has_the_same_installation() -> None:
    assert Adnet("x", BASE).api.token == "x"
