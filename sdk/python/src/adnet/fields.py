"""Fields of requests that have a form of their own, with the API's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict


class Suitability(TypedDict, total=False):
    """What you know of the conversation beside its texts: it adds refusals and clears none."""

    #: Categories that your own moderation flagged, by the names of its service. An unknown one refuses.
    flags: Sequence[str]
    #: The reader's age: under 13, 13 to 17, 18 and older. Left out it is unknown.
    age: Literal["child", "teen", "adult"]
    #: Whether the session has no ads for a day after one was refused because of its subject.
    remember: bool
