"""Where the server listens: a bound socket, TLS, and the address that a person opens."""

from __future__ import annotations

import errno
import ipaddress
import socket
import ssl

from pcqr.errors import ParameterError
from pcqr.server.settings import Settings

_NEVER_ASKED = "-"
"""For a private key that wants a password: OpenSSL would ask for it on the terminal, and wait."""


def bind(settings: Settings) -> socket.socket:
    """A socket at `host` and `port`, not listening yet. Anything but loopback needs keys, whatever its name."""
    host = "127.0.0.1" if settings.host.lower() == "localhost" else settings.host.strip("[]")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, settings.port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise ParameterError("--host", "an address or a name of this machine", settings.host) from None
    if settings.keys is None and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        raise ParameterError(
            "--host",
            "this machine alone (127.0.0.1) while there are no keys (make some: pcqr keys create NAME --role asker)",
            settings.host,
        )
    bound = socket.socket(family, kind)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        return bound
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise ParameterError("--port", "one that no other program uses", settings.port) from None
        if error.errno == errno.EACCES:
            raise ParameterError("--port", "one that this user may use, from 1024 on", settings.port) from None
        raise ParameterError("--host", "an address of this machine", settings.host) from None


def tls(settings: Settings) -> ssl.SSLContext | None:
    """The certificate and its key as TLS wants them; None where neither is given."""
    if settings.certificate is None and settings.certificate_key is None:
        return None
    if settings.certificate is None:
        raise ParameterError("--certificate", "given with --key-file", None)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(settings.certificate, settings.certificate_key, password=lambda: _NEVER_ASKED)
    except OSError as error:  # SSLError is one: the files do not fit together, or are no PEM
        reason = error.strerror if not isinstance(error, ssl.SSLError) and error.strerror else "not such files"
        allowed = "a certificate, and --key-file its private key without a password, both in PEM"
        raise ParameterError("--certificate", allowed, f"{settings.certificate} ({reason})") from None
    return context


def address_of(bound: socket.socket, settings: Settings) -> str:
    """What a person opens, with the port that was really taken."""
    host, port = bound.getsockname()[:2]
    if ipaddress.ip_address(host.partition("%")[0]).is_unspecified:
        host = settings.host_names[0] if settings.host_names else "localhost"
    scheme = "http" if settings.certificate is None else "https"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
