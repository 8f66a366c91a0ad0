"""The texts of an ad are a stranger's. These make them mean nothing to a reader of Markdown."""

from __future__ import annotations

import re

_MARKS = re.compile(r"[\\`*_\[\]#|~!>(){}+:@-]")
_UNSAFE = re.compile(r"[()<>\s\\]")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def inert(text: str) -> str:
    """Text as Markdown that shows exactly its characters, on one line."""
    escaped = _MARKS.sub(lambda mark: "\\" + mark[0], _one_line(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;")


def link(url: str) -> str:
    """An URL between the parentheses of a Markdown link."""
    return _UNSAFE.sub(lambda mark: f"%{ord(mark[0]):02X}", url)


def cut(text: str, limit: int) -> str:
    """At most limit UTF-16 units of text, whole characters, with an ellipsis where some are missing."""
    line = _one_line(text)
    if len(line.encode("utf-16-le")) <= 2 * limit:
        return line
    kept, units = [], 0
    for character in line:
        units += 2 if ord(character) > 0xFFFF else 1
        if units > limit - 1:
            break
        kept.append(character)
    return "".join(kept) + "…"
