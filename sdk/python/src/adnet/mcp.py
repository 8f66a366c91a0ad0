"""Ads in the results of an MCP server's tools.

A result with an ad has a text block for the person, the ad as ``_meta``, and a labelled card in hosts
that have MCP Apps. The tool's own answer stays as it is; without an ad nothing is added. Everything
here is plain data, as it goes over the wire: ``mcp.types.CallToolResult.model_validate`` takes it.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from .client import Adnet, AsyncAdnet
from .results import Ad, Filled
from .text import inert, link

#: The resource that shows an ad.
CARD_URI = "ui://adnet/ad"
#: The MIME type of MCP Apps.
CARD_MIME_TYPE = "text/html;profile=mcp-app"
#: The key of the ad in the ``_meta`` of a result, which the card reads.
AD_META_KEY = "adnet/ad"
#: ``_meta`` for the definition of a tool that may answer with an ad: hosts load the card by it.
AD_TOOL_META: dict[str, Any] = {"ui": {"resourceUri": CARD_URI}}


async def with_ad(
    adnet: AsyncAdnet,
    request: dict[str, Any],
    result: dict[str, Any],
    *,
    report_impression: bool = False,
    structured: bool = False,
) -> dict[str, Any]:
    """The result of a tool, with an ad if there is one.

    A failed tool gets none, nor does a result without an answer in ``content``, which the ad would replace:
    these are returned as they are. ``report_impression`` reports it at once: for hosts that show text and
    load nothing. ``structured``: see ``add_ad``.
    """
    if not _takes_ad(result):
        return result
    try:
        answer = await adnet.ad(**request)
    except Exception:  # a request that is no mapping of fields, or a client that is none
        return result
    if not isinstance(answer, Filled):
        return result
    if report_impression:
        # A tool waits for the event no longer than for the ad.
        await adnet.report(answer.ad, "impression", timeout=adnet.ad_timeout)
    return add_ad(result, answer.ad, structured=structured)


def _takes_ad(result: object) -> bool:
    """Whether an ad can stand beside the answer of this result."""
    if not isinstance(result, dict) or result.get("isError") or result.get("is_error"):
        return False
    content, meta = result.get("content"), _meta_of(result)
    if not isinstance(content, (list, tuple)) or not content or not isinstance(meta, dict):
        return False
    return isinstance(meta.get("ui") or {}, dict)


def _meta_of(result: dict[str, Any]) -> Any:
    """The ``_meta`` of a result; ``model_dump()`` of the MCP package calls it ``meta``."""
    return result.get("_meta") or result.get("meta") or {}


def add_ad(result: dict[str, Any], ad: Ad, *, structured: bool = False) -> dict[str, Any]:
    """Result with this ad.

    ``structured`` adds the ad as ``sponsored`` to a ``structuredContent`` that the tool filled as well. An
    output schema of the tool must allow it, or hosts refuse the whole result.
    """
    meta, shown, own = dict(_meta_of(result)), ad.public(), result.get("structuredContent")
    meta[AD_META_KEY] = shown
    meta["ui"] = {"resourceUri": CARD_URI, **(meta.get("ui") or {})}
    # Hosts that prefer structuredContent give their models nothing else: it stays the tool's.
    beside = {"structuredContent": {"sponsored": shown, **own}} if structured and isinstance(own, dict) else {}
    return {**result, **beside, "content": [*(result.get("content") or []), ad_block(ad)], "_meta": meta}


def ad_block(ad: Ad) -> dict[str, Any]:
    """The ad in words, for the person and not for the model."""
    lines = [f"**{inert(ad.label())}:** {inert(ad.headline)}"]
    if ad.body:
        lines.append(inert(ad.body))
    why = f" · [{inert(ad.why())}]({link(ad.receipt_url)})" if ad.receipt_url else ""
    lines.append(f"[{inert(ad.cta_label or ad.headline)}]({link(ad.click_url)}){why}")
    return {"type": "text", "text": "\n\n".join(lines), "annotations": {"audience": ["user"], "priority": 0.1}}


def card_html() -> str:
    """The page of the card."""
    return files(__package__).joinpath("ad.html").read_text(encoding="utf-8")


def card_csp(adnet: Adnet | AsyncAdnet) -> dict[str, list[str]]:
    """What the card may talk to: the installation alone."""
    parts = urlsplit(adnet.url)
    return {"connectDomains": [f"{parts.scheme}://{parts.netloc}"], "resourceDomains": []}


def card_contents(adnet: Adnet | AsyncAdnet) -> dict[str, Any]:
    """The card as the contents of ``resources/read``."""
    ui = {"csp": card_csp(adnet)}
    return {"uri": CARD_URI, "mimeType": CARD_MIME_TYPE, "text": card_html(), "_meta": {"ui": ui}}
