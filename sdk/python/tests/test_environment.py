"""The environment of a machine: no constructor fails by it, and a call answers."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from adnet import Adnet, AdResult, AsyncAdnet, ClientError, Failed, NetworkError, NoFill
from adnet.proxies import proxy_for

VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")


class Server(HTTPServer):
    """An installation without ads that counts requests, by their first line."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lines: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.lines.append(self.requestline)
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b'{"ad": null, "reason": "no_match"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    made = Server()
    yield made
    made.shutdown()
    made.server_close()


class Keeping(Handler):
    """Keeps its connections, as servers do."""

    protocol_version = "HTTP/1.1"


@pytest.fixture
def keeping(server: Server) -> Any:
    with_threads = ThreadingHTTPServer(("127.0.0.1", 0), Keeping)
    with_threads.lines = []  # type: ignore[attr-defined]
    threading.Thread(target=with_threads.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{with_threads.server_address[1]}"
    with_threads.shutdown()
    with_threads.server_close()


def ask(url: str, **options: Any) -> AdResult:
    with Adnet("x", url, timeout=5, **options) as adnet:
        return adnet.ad(context="x")


def ask_async(url: str, **options: Any) -> AdResult:
    async def answer() -> AdResult:
        async with AsyncAdnet("x", url, timeout=5, **options) as adnet:
            return await adnet.ad(context="x")

    return asyncio.run(answer())


both = pytest.mark.parametrize("asking", [ask, ask_async])

HARMLESS: list[dict[str, str]] = [
    {},
    {"SSL_CERT_FILE": "/none.pem"},
    {"SSL_CERT_DIR": "/none", "SSLKEYLOGFILE": "/none/keys"},
    *(
        {"ALL_PROXY": proxy, "NO_PROXY": f"127.0.0.1,{excluded}"}
        for proxy in ("socks5://127.0.0.1:9", "nonsense://x", "http://[::1", "http://x:port", "127.0.0.1:9")
        for excluded in ("[::1]", "fd00:1::/64", "::1", "10.0.0.0/8", "*.example.com", "[", "://", ":", "é")
    ),
    {"HTTP_PROXY": "socks5://127.0.0.1:9", "NO_PROXY": "127.0.0.0/8"},
    {"HTTPS_PROXY": "http://127.0.0.1:9", "SSL_CERT_FILE": "/none.pem"},
    {"http_proxy": "nonsense", "no_proxy": " * "},
]


@pytest.mark.parametrize("environment", HARMLESS, ids=str)
@both
def test_settings_that_do_not_concern_the_host_do_no_harm(
    asking: Callable[..., AdResult], environment: dict[str, str], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert isinstance(asking(server.url), NoFill)


BROKEN = [
    ("http://ads.example.com", {"ALL_PROXY": "socks5://127.0.0.1:9"}),
    ("http://ads.example.com", {"HTTP_PROXY": "nonsense://127.0.0.1:9"}),
    ("http://ads.example.com", {"HTTP_PROXY": "http://[::1"}),
    ("http://ads.example.com", {"ALL_PROXY": "http://127.0.0.1:port"}),
    ("https://ads.example.com", {"HTTPS_PROXY": "http://é\x7f"}),
    ("https://ads.example.com", {"SSL_CERT_FILE": "/none.pem"}),
    ("https://ads.example.com", {"SSL_CERT_FILE": __file__}),
    ("https://ads.example.com", {"SSLKEYLOGFILE": "/none/keys"}),
]


@pytest.mark.parametrize(("url", "environment"), BROKEN, ids=str)
@both
def test_settings_that_cannot_be_used_are_an_error_of_the_call(
    asking: Callable[..., AdResult],
    url: str,
    environment: dict[str, str],
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    result = asking(url)
    assert isinstance(result, Failed) and isinstance(result.error, ClientError)
    assert result.error.code == "client_error" and not result.error.retryable
    assert "ALL_PROXY" in str(result.error) and "SSL_CERT_FILE" in str(result.error)


@both
def test_a_client_that_could_not_be_made_is_made_by_a_later_call(
    asking: Callable[..., AdResult], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "nonsense://x")
    if asking is ask:
        with Adnet("x", server.url) as adnet:
            assert isinstance(adnet.ad(context="x"), Failed)
            monkeypatch.delenv("ALL_PROXY")
            assert isinstance(adnet.ad(context="x"), NoFill)
        return

    async def answers() -> tuple[AdResult, AdResult]:
        async with AsyncAdnet("x", server.url) as adnet:
            first = await adnet.ad(context="x")
            monkeypatch.delenv("ALL_PROXY")
            return first, await adnet.ad(context="x")

    first, second = asyncio.run(answers())
    assert isinstance(first, Failed) and isinstance(second, NoFill)


@both
def test_calls_go_through_the_proxy_of_the_environment(
    asking: Callable[..., AdResult], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    assert isinstance(asking("http://ads.example.com/base"), NoFill)
    assert server.lines == ["POST http://ads.example.com/base/v1/ad-request HTTP/1.1"]


@both
def test_a_transport_of_the_caller_goes_through_no_proxy(
    asking: Callable[..., AdResult], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json={"ad": None}))
    assert isinstance(asking("http://ads.example.com", transport=transport), NoFill)


@both
def test_a_host_that_nobody_knows_is_a_broken_network(asking: Callable[..., AdResult], server: Server) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{closed.getsockname()[1]}"
    for url in (away, "http://none.invalid", server.url.replace("http:", "https:")):
        result = asking(url)
        assert isinstance(result, Failed) and isinstance(result.error, NetworkError) and result.error.retryable


EXCLUDED = [
    ("*", "http://ads.example.com", True),
    ("example.com", "http://ads.example.com", True),
    ("example.com", "http://example.com", True),
    ("example.com", "http://badexample.com", False),
    (".example.com", "http://ads.example.com", True),
    (".example.com", "http://example.com", False),
    ("*.example.com", "http://ads.example.com", True),
    ("EXAMPLE.com.", "http://ads.example.com", True),
    ("münchen.example", "http://xn--mnchen-3ya.example", True),
    ("xn--mnchen-3ya.example", "http://ads.münchen.example", True),
    ("ads.example.com:8080", "http://ads.example.com:8080", True),
    ("ads.example.com:80", "http://ads.example.com", True),
    ("ads.example.com:443", "http://ads.example.com", False),
    ("https://ads.example.com", "http://ads.example.com", False),
    ("all://ads.example.com", "http://ads.example.com", True),
    ("127.0.0.1", "http://127.0.0.1:8080", True),
    ("127.0.0.1:8080", "http://127.0.0.1:8080", True),
    ("127.0.0.1:9", "http://127.0.0.1:8080", False),
    ("0.0.1", "http://127.0.0.1", False),
    ("127.0.0.0/8", "http://127.1.2.3", True),
    ("127.0.0.1/8", "http://127.1.2.3", True),
    ("10.0.0.0/8", "http://127.0.0.1", False),
    ("::1", "http://[::1]:8080", True),
    ("[::1]", "http://[::1]:8080", True),
    ("[::1]:8080", "http://[::1]:8080", True),
    ("[::1]:9", "http://[::1]:8080", False),
    ("0:0:0:0:0:0:0:1", "http://[::1]", True),
    ("fd00:1::/64", "http://[fd00:1::5]", True),
    ("[fd00:1::]/64", "http://[fd00:1::5]", True),
    ("fd00:1::/64", "http://[fd00:2::5]", False),
    ("fd00:1::/999", "http://[fd00:1::5]", False),
    ("localhost", "http://localhost:8080", True),
    ("", "http://localhost", False),
    ("a, b\tlocalhost", "http://localhost", True),
]


@pytest.mark.parametrize(("entry", "url", "excluded"), EXCLUDED)
def test_hosts_that_no_proxy_names_need_no_proxy(
    entry: str, url: str, excluded: bool, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", f"other.example,{entry}")
    assert proxy_for(httpx.URL(url)) == (None if excluded else "http://proxy.example:3128")


def test_many_threads_make_one_client(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[httpx.Client] = []
    plain = httpx.Client.__init__

    def count(self: httpx.Client, *args: Any, **options: Any) -> None:
        made.append(self)
        plain(self, *args, **options)

    monkeypatch.setattr(httpx.Client, "__init__", count)
    adnet = Adnet("x", server.url, timeout=10)
    assert made == [], "a constructor opens nothing"
    results: list[AdResult] = []
    threads = [threading.Thread(target=lambda: results.append(adnet.ad(context="x"))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and all(isinstance(result, NoFill) for result in results)
    adnet.close()
    assert made[0].is_closed
    adnet.close()
    result = adnet.ad(context="x")
    assert isinstance(result, Failed) and result.error.code == "closed"


@pytest.mark.parametrize("certificates", ["/none.pem", str(Path(__file__))])
def test_the_low_level_reads_no_certificate_before_it_asks(certificates: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", certificates)
    assert Adnet("x", "https://ads.example.com").api.token == "x"


def test_a_client_serves_one_event_loop_after_the_other(keeping: str) -> None:
    adnet = AsyncAdnet("x", keeping, timeout=5)
    assert all(isinstance(asyncio.run(adnet.ad(context="x")), NoFill) for _ in range(4))
    assert len(adnet._clients) == 1, "clients of loops that ended are dropped"
    asyncio.run(adnet.aclose())
    late = asyncio.run(adnet.ad(context="x"))
    assert isinstance(late, Failed) and late.error.code == "closed"


def test_a_client_serves_event_loops_in_many_threads(keeping: str) -> None:
    adnet = AsyncAdnet("x", keeping, timeout=5)
    results: list[object] = []

    def work() -> None:
        results.extend(asyncio.run(adnet.ad(context="x")) for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 20 and all(isinstance(result, NoFill) for result in results)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of fork beside threads
def test_a_fork_does_not_use_connections_of_its_parent(keeping: str) -> None:
    with Adnet("x", keeping, timeout=5) as adnet:
        assert isinstance(adnet.ad(context="x"), NoFill)
        client = adnet._client
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if isinstance(adnet.ad(context="x"), NoFill) and adnet._client is not client else 1
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert isinstance(adnet.ad(context="x"), NoFill) and adnet._client is client
