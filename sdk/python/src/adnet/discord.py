"""An ad as a Discord message: what POST /channels/{id}/messages takes."""

from __future__ import annotations

from typing import Any

from .results import Ad
from .text import cut, inert

#: Discord's limits, in UTF-16 units.
_TITLE, _DESCRIPTION, _FOOTER, _LABEL, _URL, _EMBED_URL = 256, 4096, 2048, 80, 512, 2048


def ad_message(ad: Ad) -> dict[str, Any]:
    """The message that shows ad: labelled, its link counted, and a button to why it was shown."""
    embed: dict[str, Any] = {
        "title": cut(ad.headline, _TITLE),
        "footer": {"text": cut(ad.label(), _FOOTER)},
    }
    if ad.body:
        embed["description"] = cut(inert(ad.body), _DESCRIPTION)
    # A link that is too long for a button may stand in the embed.
    if _URL < len(ad.click_url) <= _EMBED_URL:
        embed["url"] = ad.click_url
    # Of a video the address is the film's, which is no picture.
    if ad.type != "video" and ad.image_url.startswith("https://"):
        embed["image"] = {"url": ad.image_url}
    links = ((ad.cta_label or "Learn more", ad.click_url), (ad.why(), ad.receipt_url))
    buttons = [
        {"type": 2, "style": 5, "label": cut(label, _LABEL), "url": url} for label, url in links if 0 < len(url) <= _URL
    ]
    return {
        "embeds": [embed],
        "components": [{"type": 1, "components": buttons}] if buttons else [],
        # The texts are an advertiser's: they mention nobody.
        "allowed_mentions": {"parse": []},
    }
