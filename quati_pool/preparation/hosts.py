"""The host of a URL in a canonical spelling: lower case, internationalised names in punycode, as browsers write it."""

from __future__ import annotations

import ipaddress
import re
import socket
from functools import lru_cache
from urllib.parse import unquote

# Before the host: white space and control characters, a scheme, two slashes of either kind.
_FULL = re.compile(r"[\s\x00-\x20]*(?:[A-Za-z][A-Za-z0-9+.-]*:)?[/\\]{2}([^/\\?#]*)")
_BARE = re.compile(r"[\s\x00-\x20]*([^/\\?#]*)")
_HOST = re.compile(r"(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\Z")
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)\Z")
_LONGEST = 253
# Escapes make a name up to three times as long, and user names may precede it; anything longer has no valid host.
_LONGEST_AUTHORITY = 1000


def host_of(url: str) -> str | None:
    """The host of a URL, or None if it has none or an impossible one.

    Accepts a missing scheme (``//example.pt/x``; ``example.pt/x`` if the name has a dot), user names, ports, escapes
    and a trailing dot. IP addresses are returned as ``192.0.2.1`` and ``[2001:db8::1]``.
    """
    found = _FULL.match(url)
    if found:
        return _of_authority(found[1])
    return _of_bare(url)


def _of_bare(url: str) -> str | None:
    found = _BARE.match(url)
    if not found or "@" in found[1] or "." not in found[1]:
        return None
    return _of_authority(found[1])


@lru_cache(maxsize=1 << 15)
def _of_authority(authority: str) -> str | None:
    if len(authority) > _LONGEST_AUTHORITY:
        return None
    host = authority.rpartition("@")[2].strip()
    if host.startswith("["):
        host, closed, port = host[1:].partition("]")
        if not closed or (port and not port.startswith(":")) or not _is_port(port[1:]):
            return None
        return _ipv6(host)
    host, _, port = host.partition(":")
    return canonical(host) if _is_port(port) else None


def _is_port(text: str) -> bool:
    return not text or (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) < 65536)


def canonical(host: str) -> str | None:
    """The canonical spelling of a host, or None if it cannot be a host. Resolves escapes, letters of any script (by
    UTS 46, punycode without the checks of registries, so that names in use such as those with emoji pass) and a
    trailing dot."""
    if "%" in host:
        host = unquote(host, errors="replace")
    if not host.isascii():
        mapped = _to_ascii(host)
        if mapped is None:
            return None
        host = mapped
    host = host.lower().removesuffix(".")
    if len(host) > _LONGEST or not _HOST.match(host):
        return None
    return _ipv4(host) if _NUMBER.match(host.rpartition(".")[2]) else host


def is_address(host: str) -> bool:
    """Whether a canonical host is an IPv4 or IPv6 address rather than a name."""
    return host.startswith("[") or host.rpartition(".")[2].isdigit()


def _to_ascii(host: str) -> str | None:
    import idna

    try:
        mapped = idna.uts46_remap(host, std3_rules=False)
        return ".".join(
            label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")
            for label in mapped.split(".")
        )
    except (idna.IDNAError, UnicodeError):
        return None


def _ipv4(host: str) -> str | None:
    """An IPv4 address as browsers read it: parts may be hexadecimal or octal, or fewer than four."""
    if not all(map(_NUMBER.match, host.split("."))):
        return None
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return None


def _ipv6(host: str) -> str | None:
    try:
        return f"[{ipaddress.IPv6Address(host.partition('%')[0]).compressed}]"
    except ValueError:
        return None
