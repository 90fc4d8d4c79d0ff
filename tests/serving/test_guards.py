"""Whoever should not come in does not, and nobody can hold a server up."""

from __future__ import annotations

import _thread
import contextlib
import logging
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reticent.errors import InputError, PartyError
from reticent.serving.asking import parsed
from reticent.serving.server import GuardedServer, ServingLimits, ServingPlace, WebApp
from serving_at_hand import Visitor, served, told

pytestmark = pytest.mark.net

SECRET = "pineapple"
LONG = 30.0  # seconds: nobody waits so long, whatever the machine does


def failing(given: Any) -> Any:
    if given == "input":
        raise InputError("there is no query")
    if given == "world":
        raise PartyError("nobody answers")
    raise KeyError(SECRET)


APP = WebApp(
    pages={
        "": lambda csrf: f'<meta name="csrf" content="{csrf}">',
        "bad": lambda csrf: failing(""),
    },
    changes={"change": lambda given: {"got": given}, "fail": failing},
    calls={"/call": lambda given: {"got": given}, "/odd": lambda given: float("nan")},
    files={"style.css": ("text/css", b"p {}")},
)


@pytest.fixture(scope="module")
def server() -> Iterator[GuardedServer]:
    with served(APP, limits=ServingLimits(body=1000, seconds=LONG)) as server:
        yield server


@pytest.fixture
def hasty() -> Iterator[GuardedServer]:
    """One that waits no longer for a request than a moment."""
    with served(APP, limits=ServingLimits(seconds=0.4)) as server:
        yield server


@pytest.fixture(scope="module")
def visitor(server: GuardedServer) -> Visitor:
    found = Visitor(server)
    found.come_in()
    return found


# --- coming in -----------------------------------------------------------------------------------


def test_the_token_is_exchanged_for_a_cookie_and_leaves_the_address(server: GuardedServer) -> None:
    first = Visitor(server).ask("GET", server.url.removeprefix(server.origin))
    assert first.status == 303
    assert server.gate.token not in first.headers["location"]
    name, *marks = first.headers["set-cookie"].split("; ")
    assert server.gate.token not in name
    assert marks == [f"Path={first.headers['location']}", "HttpOnly", "SameSite=Strict"]


def test_the_page_its_files_a_change_and_a_call_are_there(visitor: Visitor) -> None:
    assert visitor.get("").status == 200
    assert visitor.get("style.css").body == b"p {}"
    assert visitor.post("change", {"a": [1, "ü"]}).data == {"got": {"a": [1, "ü"]}}
    assert visitor.call("/call", None).data == {"got": None}


def test_every_answer_says_how_it_may_be_used(visitor: Visitor) -> None:
    answers = [
        visitor.get(""),
        visitor.get("nowhere"),
        visitor.ask("GET", "/"),
        visitor.post("change", 1),
    ]
    for one in answers:
        policy = one.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert one.headers["cache-control"] == "no-store"
        assert one.headers["x-content-type-options"] == "nosniff"
        assert one.headers["referrer-policy"] == "no-referrer"


def test_a_head_has_no_body(visitor: Visitor) -> None:
    found = visitor.ask("HEAD", visitor.server.gate.inside, Cookie=visitor.cookie)
    assert (found.status, found.body) == (200, b"")
    assert int(found.headers["content-length"]) > 10


# --- who may not ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["/", "/?token=", "/?token=abc", "/?token=abc&more=1", "/style.css", "/call", "//", "/?x"],
)
def test_nothing_is_there_without_the_token(path: str, server: GuardedServer) -> None:
    assert Visitor(server).ask("GET", path).status == 401


def test_a_cookie_that_is_missing_or_wrong_is_refused(visitor: Visitor) -> None:
    name = visitor.cookie.partition("=")[0]
    for cookie in (None, "", "a=b", f"{name}=", f"{name}=abc", f"{name}=é", f"{visitor.cookie}x",
                   f"{name}=abc; {visitor.cookie}"):  # fmt: skip
        assert visitor.get("", Cookie=cookie).status in (400, 401)
    assert visitor.get("", Cookie=f"a=b; {visitor.cookie}").status == 200


def test_the_cookie_is_of_no_use_for_calls_nor_the_token_for_pages(visitor: Visitor) -> None:
    assert visitor.call("/call", 1, Authorization=None, Cookie=visitor.cookie).status == 401
    bearer = f"Bearer {visitor.server.gate.token}"
    assert visitor.get("", Cookie=None, Authorization=bearer).status == 401


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer abc", "Basic {}", "{}", "Bearer {}x"])
def test_a_program_without_the_token_is_refused(given: str, visitor: Visitor) -> None:
    given = given.format(visitor.server.gate.token)
    assert visitor.call("/call", 1, Authorization=given).status == 401


@pytest.mark.parametrize(
    "host", [None, "", "evil.example", "evil.example:{}", "127.0.0.1", "127.0.0.1:1", "127.0.0.2:{}",
             "127.0.0.1:{}.evil.example", "localhost.evil.example:{}", "127.0.0.1:{}@evil.example"],
)  # fmt: skip
def test_a_foreign_host_is_refused(host: str | None, visitor: Visitor) -> None:
    """A name of somebody else's that was made to point here."""
    host = host and host.format(visitor.server.port)
    assert visitor.get("", Host=host).status == 421
    assert visitor.call("/call", 1, Host=host).status == 421


def test_this_machine_may_be_called_localhost(visitor: Visitor) -> None:
    assert visitor.get("", Host=f"localhost:{visitor.server.port}").status == 200


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://evil.example",
        "https://127.0.0.1:{}",
        "http://127.0.0.1:1",
        "http://localhost:{}",
    ],
)
def test_a_foreign_origin_is_refused(origin: str, visitor: Visitor) -> None:
    origin = origin.format(visitor.server.port)
    assert visitor.post("change", 1, Origin=origin).status == 403
    assert visitor.get("", Origin=origin).status == 403
    assert visitor.call("/call", 1, Origin=origin).status == 403


def test_a_change_says_where_it_comes_from(visitor: Visitor) -> None:
    assert visitor.post("change", 1, Origin=None).status == 403
    for site in ("cross-site", "same-site", "none"):
        assert visitor.post("change", 1, Sec_Fetch_Site=site).status == 403
    assert visitor.get("", Sec_Fetch_Site="cross-site").status == 403
    assert visitor.get("", Sec_Fetch_Site="none").status == 200  # typed, or a bookmark


@pytest.mark.parametrize("csrf", [None, "", "abc", "{}x"])
def test_a_change_needs_the_second_secret(csrf: str | None, visitor: Visitor) -> None:
    csrf = csrf and csrf.format(visitor.csrf)
    assert visitor.post("change", 1, **{"X-Reticent-CSRF": csrf}).status == 403


# --- what is not there ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["../style.css", "./", "..%2f..%2fetc/passwd", "%2e%2e/%2e%2e/etc/passwd", "..\\style.css",
     "//etc/passwd", "style.css/..", "style.css%00", "Style.css", "style.css/", "change", "call"],
)  # fmt: skip
def test_a_path_is_one_of_the_list_or_nothing(path: str, visitor: Visitor) -> None:
    assert visitor.get(path).status == (405 if path == "change" else 404)
    assert visitor.ask("GET", "/../../etc/passwd", Cookie=visitor.cookie).status == 401


def test_nothing_is_asked_in_an_address(visitor: Visitor) -> None:
    assert visitor.get(f"?q={SECRET}").status == 400
    assert visitor.post(f"change?q={SECRET}", 1).status == 400


@pytest.mark.parametrize(
    "method", ["PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "get", "X"]
)
def test_methods_that_nobody_needs_are_refused(method: str, visitor: Visitor) -> None:
    found = visitor.ask(method, visitor.server.gate.inside, Cookie=visitor.cookie)
    assert found.status == 501


def test_pages_are_not_posted_to_and_changes_not_got(visitor: Visitor) -> None:
    assert visitor.post("", 1).status == 405
    assert visitor.get("change").headers["allow"] == "POST"


# --- too large, too slow, odd --------------------------------------------------------------------


def test_a_body_is_bounded(visitor: Visitor) -> None:
    assert visitor.post("change", "a" * 998).status == 200
    assert visitor.post("change", "a" * 999).status == 413
    # Refused by what it says it will be: nothing of it is waited for.
    assert visitor.post("change", b"1", Content_Length="999999999999").status == 413
    assert visitor.post("change", b"1", Content_Length="9" * 50).status == 411
    assert visitor.post("change", b"1", Content_Length="-1").status == 411
    assert visitor.post("change", b"1", Content_Length=None).status == 411
    assert visitor.post("change", b"1", Transfer_Encoding="chunked").status == 501


def test_a_body_is_json_and_says_so(visitor: Visitor) -> None:
    for kind in (None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert visitor.post("change", 1, Content_Type=kind).status == 415
    assert visitor.post("change", 1, Content_Type="application/json; charset=utf-8").status == 200


BAD = [
    b"{", b"", b"nonsense", b'{"a": 1, "a": 2}', b"NaN", b"[Infinity]", b"1e999", b'"\\ud800"', b"\xff",
    b'{"\\udfff": 1}', b"[" * 150 + b"]" * 150, b"[" * 400_000, b'{"a":' * 100_000, b"1" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("body", BAD, ids=range(len(BAD)))
def test_json_that_cannot_be_used_is_refused(body: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        parsed(body)


def test_bad_json_is_an_answer_like_others(visitor: Visitor) -> None:
    for body in (b"{", b"[" * 900, b'"\\ud800"'):
        found = visitor.post("change", body)
        assert (found.status, [*found.data]) == (400, ["error"])


def test_a_head_is_bounded_and_strict(visitor: Visitor) -> None:
    host = f"Host: {visitor.host}\r\n"
    for head, status in {
        "GET / HTTP/1.1\r\n" + "a" * 30_000: 431,
        "GET /" + "a" * 30_000: 431,
        "GET / HTTP/1.1\r\n" + "".join(f"a{i}: b\r\n" for i in range(80)): 431,
        "GET / HTTP/1.1\r\n" + host + host: 400,
        "GET / HTTP/1.1\r\n" + host + " folded: x\r\n": 400,
        "GET / HTTP/1.1\r\n" + host + "a : b\r\n": 400,
        "GET / HTTP/1.1\r\n" + host + "a: b\rc\r\n": 400,
        "GET / HTTP/1.1\r\n" + host + "a: b\nc: d\r\n": 400,
        "GET / HTTP/1.1\r\n" + host + "é: b\r\n": 400,
        "GET http://127.0.0.1/ HTTP/1.1\r\n" + host: 400,
        "GET /\r\n" + host: 505,
        "GET / HTTP/2.0\r\n" + host: 505,
        "\r\n": 400,
        "\x16\x03\x01\r\n": 400,
    }.items():
        assert told(visitor.raw(head.encode("latin-1") + b"\r\n")).status == status, head[:60]


def test_a_slow_request_is_ended(hasty: GuardedServer) -> None:
    visitor = Visitor(hasty)
    assert told(visitor.raw(b"GET / HT")).status == 408
    head = f"POST /call HTTP/1.1\r\nHost: {visitor.host}\r\nContent-Length: 10\r\n"
    token = f"Authorization: Bearer {hasty.gate.token}\r\nContent-Type: application/json\r\n\r\n1"
    assert told(visitor.raw(head.encode(), token.encode())).status == 408


def test_byte_by_byte_buys_no_time(hasty: GuardedServer) -> None:
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", hasty.port), timeout=LONG) as slow:
        while not select.select([slow], [], [], 0.05)[0]:
            assert time.monotonic() < begin + 10  # as often as that, bytes bought time
            with contextlib.suppress(ConnectionError):
                slow.sendall(b"G")
        found = slow.recv(1000)
    assert told(found).status == 408


def test_connections_are_bounded() -> None:
    with served(APP, limits=ServingLimits(connections=2, seconds=LONG)) as server:
        visitor = Visitor(server)
        address = ("127.0.0.1", server.port)
        with (
            socket.create_connection(address),
            socket.create_connection(address),
            socket.create_connection(address, timeout=LONG) as third,  # they come in this order
        ):
            assert third.recv(10) == b""
        begin = time.monotonic()
        while time.monotonic() < begin + LONG / 2:  # until both are seen to be gone
            time.sleep(0.02)
            try:
                assert visitor.ask("GET", "/").status == 401
                break
            except (ConnectionError, IndexError, ValueError):
                continue
        else:
            pytest.fail("nobody is let in any more")


# --- failing -------------------------------------------------------------------------------------


def test_failures_are_told_and_faults_tell_nothing(
    visitor: Visitor, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert visitor.post("fail", "input").data == {"error": "there is no query"}
    assert visitor.post("fail", "input").status == 400
    assert visitor.post("fail", "world").status == 502
    for found in (visitor.post("fail", SECRET), visitor.get("bad")):
        assert found.status == 500
        assert SECRET not in found.text
    assert SECRET not in caplog.text
    assert "KeyError in test_guards.py" in caplog.text


def test_an_answer_that_cannot_be_said_is_a_fault(visitor: Visitor) -> None:
    assert visitor.call("/odd", SECRET).status == 500


def test_the_machine_has_another_address(visitor: Visitor) -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6")
    with served(APP, ServingPlace("::1")) as server:
        assert server.origin == f"http://[::1]:{server.port}"
        other = Visitor(server)
        other.come_in()
        assert other.post("change", 1).status == 200
        assert other.get("", Host=f"127.0.0.1:{server.port}").status == 421


def test_logs_tell_what_the_app_has_and_no_more(
    visitor: Visitor, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    visitor.get(SECRET)
    visitor.get(f"?{SECRET}")
    visitor.ask(SECRET, f"/{SECRET}", Cookie=SECRET)
    visitor.post("change", {SECRET: SECRET})
    visitor.call("/call", SECRET.encode())
    visitor.ask("GET", visitor.server.url.removeprefix(visitor.server.origin))
    gate = visitor.server.gate
    for secret in (SECRET, gate.token, gate.csrf, gate.inside, visitor.cookie.partition("=")[2]):
        assert secret not in caplog.text
    assert "POST change 200" in caplog.text
    assert "(elsewhere) 404" in caplog.text


def test_a_request_keeps_itself_to_itself(visitor: Visitor) -> None:
    from reticent.serving.asking import WebRequest

    assert SECRET not in repr(WebRequest("POST", f"/{SECRET}", SECRET, {"cookie": SECRET}))


# --- elsewhere -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [{"address": "0.0.0.0"}, {"address": "::"}, {"address": "192.0.2.1"}, {"address": "192.0.2.1", "allow_remote": True},
     {"address": "evil.example"}, {"address": ""}, {"port": -1}, {"port": 65_536}, {"key": Path("key.pem")}],
)  # fmt: skip
def test_another_address_needs_more(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        ServingPlace(**given)


def test_what_another_address_means_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="everything that you see"):
        ServingPlace("192.0.2.1")
    files: dict[str, Any] = {"certificate": tmp_path / "c.pem", "key": tmp_path / "k.pem"}
    with pytest.raises(InputError, match="by which name"):
        ServingPlace("0.0.0.0", allow_remote=True, **files)
    place = ServingPlace("192.0.2.1", allow_remote=True, **files)
    assert "other machines can reach" in place.warnings()[0]
    assert ServingPlace().warnings() == []
    with pytest.raises(InputError, match="cannot be used"):
        place.context()


def test_a_port_that_is_taken_is_said(server: GuardedServer) -> None:
    with pytest.raises(InputError, match="cannot listen"):
        GuardedServer(APP, ServingPlace(port=server.port))


def test_over_tls(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    self_signed(certificate, key)
    place = ServingPlace(certificate=certificate, key=key, names=("localhost",))
    with served(APP, place, ServingLimits(seconds=LONG)) as server:
        assert server.origin == f"https://localhost:{server.port}"
        visitor = Visitor(server, ssl.create_default_context(cafile=str(certificate)))
        first = visitor.ask("GET", server.url.removeprefix(server.origin))
        assert first.headers["set-cookie"].endswith("; Secure")
        visitor.come_in()
        assert visitor.post("change", "ü").data == {"got": "ü"}
        with contextlib.suppress(ConnectionError):  # in the clear nothing is answered
            assert not Visitor(server).raw(b"GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP")
        assert visitor.get("").status == 200  # and others are none the worse for it


def self_signed(certificate: Path, key: Path) -> None:
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    made = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(made.public_key())
        .serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(made, hashes.SHA256())
    )  # fmt: skip
    pem = serialization.Encoding.PEM
    certificate.write_bytes(signed.public_bytes(pem))
    key.write_bytes(
        made.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


def test_ctrl_c_ends_it_without_a_word() -> None:
    server = GuardedServer(APP)
    threading.Timer(0.2, _thread.interrupt_main).start()
    server.run()
    with pytest.raises(OSError):  # noqa: PT011
        Visitor(server).ask("GET", "/")


def test_secrets_are_of_one_run() -> None:
    one, other = GuardedServer(APP), GuardedServer(APP)
    for server in (one, other):
        server._sockets.server_close()
    assert (
        len(
            {
                one.gate.token,
                one.gate.csrf,
                one.gate.inside,
                other.gate.token,
                other.gate.csrf,
                other.gate.inside,
            }
        )
        == 6
    )
    assert len(one.gate.token) >= 43
