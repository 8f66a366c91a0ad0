"""Which proxy the environment names for an installation.

The variables are those of httpx (``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY``, ``NO_PROXY``, in either
case; without any, the settings of macOS and Windows). httpx makes a client for every proxy it finds,
also for one that ``NO_PROXY`` excludes, and cannot read an IPv6 address or a range there.
"""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from urllib.request import getproxies

import httpx

_PORTS = {"http": 80, "https": 443}


def proxy_for(url: httpx.URL) -> str | None:
    """The proxy for url; None where the environment names none, or excludes the host."""
    named = getproxies()
    proxy = named.get(url.scheme) or named.get("all")
    if not proxy or any(_excludes(entry, url) for entry in named.get("no", "").replace(",", " ").split()):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _excludes(entry: str, url: httpx.URL) -> bool:
    """Whether an entry of NO_PROXY means the host of url.

    An entry is ``*``, a name with its subdomains, ``.name`` for the subdomains alone, an address or a range
    of them, each also with a scheme in front and a port behind. One that cannot be read excludes nothing.
    """
    if entry == "*":
        return True
    scheme, found, rest = entry.rpartition("://")
    if found and scheme.lower() not in ("all", url.scheme):
        return False
    if _contains(rest, url.host):
        return True
    name, port = _split(rest)
    if port and port != str(url.port or _PORTS[url.scheme]):
        return False
    if name.startswith("[") or _is_address(url.host):
        return _contains(name.strip("[]"), url.host)
    name = name.lower().lstrip("*").rstrip(".")
    hosts = [host.rstrip(".") for host in (url.host, url.raw_host.decode("ascii"))]
    if name.startswith("."):
        return any(host.endswith(name) for host in hosts)
    return name != "" and any(host == name or host.endswith("." + name) for host in hosts)


def _split(text: str) -> tuple[str, str]:
    """A host and its port; the port is empty where there is none."""
    name, colon, port = text.rpartition(":")
    if colon and port.isdigit() and (":" not in name or name.endswith("]")):
        return name, port
    return text, ""


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _contains(text: str, host: str) -> bool:
    """Whether text is the address host, or a range that has it."""
    address, slash, bits = text.partition("/")
    address = address[1:-1] if address.startswith("[") and address.endswith("]") else address
    try:
        return ip_address(host) in ip_network(address + slash + bits, strict=False)
    except ValueError:
        return False
