"""Keys and certificates are read again on SIGHUP: those who use the server notice nothing."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from typing import Any

from lookalike.errors import UsageError
from lookalike.server.gate import Gate
from lookalike.server.keys import Keys
from lookalike.server.options import ServerOptions

STDERR = 2


class Renewal:
    """Replaces the keys and the certificate of a running server.

    Parameters
    ----------
    app
        Its keys are replaced.
    context
        Its certificate is replaced; connections that exist keep theirs.
    say
        Called with messages for the user.
    """

    def __init__(
        self, options: ServerOptions, app: Gate, context: ssl.SSLContext | None, say: Callable[[str], None]
    ) -> None:
        self._options, self._app, self._context, self._say = options, app, context, say
        self._in_terminal = os.isatty(STDERR)
        self.asked = False
        """Whether a signal came."""

    def ask(self, *_: Any) -> None:
        """Note the signal; the event loop does the work."""
        self.asked = True

    def renew(self) -> bool:
        """Read keys and certificate again, or keep both; return False if the signal meant that the terminal is gone."""
        self.asked = False
        if self._in_terminal and not os.isatty(STDERR):
            return False
        files = [str(path) for path in (self._options.keys, self._options.tls_cert, self._options.tls_key) if path]
        if not files:
            self._say("SIGHUP: there are no keys or certificates to read again.")
            return True
        try:
            self._renew()
        except UsageError as error:
            self._say(f"SIGHUP: keys and certificate stay as they were: {error}")
        else:
            self._say(f"SIGHUP: read {', '.join(files)} again.")
        return True

    def _renew(self) -> None:
        options = self._options
        keys = None if options.keys is None else Keys.load(options.keys)
        if self._context is not None and options.tls_cert is not None:
            try:  # a certificate without its key would be noticed only after the old one is gone
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(options.tls_cert, options.tls_key)
                self._context.load_cert_chain(options.tls_cert, options.tls_key)
            except (OSError, ssl.SSLError) as error:
                raise UsageError(f"--tls-cert {options.tls_cert}, --tls-key {options.tls_key}: {error}") from None
        self._app.keys = keys
