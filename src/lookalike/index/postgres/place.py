"""Parse `postgresql://user@host/database?table=prefix`, and show it without a password."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from lookalike.errors import UsageError

PREFIX = "lookalike"
"""The default prefix of the names of the tables."""
_PREFIXES = re.compile(r"[a-z_][a-z0-9_]{0,39}")


@dataclass(frozen=True, slots=True)
class Place:
    """Where an index is.

    Examples
    --------
    >>> place = Place.parse("postgresql://ann:secret@db/news?table=seen&sslmode=require")
    >>> place.prefix, place.name
    ('seen', 'postgresql://ann@db/news?table=seen&sslmode=require')
    >>> place.without_secrets("no pg_hba.conf entry for secret")
    'no pg_hba.conf entry for ***'
    """

    url: str
    """As the driver takes it."""
    prefix: str
    name: str
    """As messages and records show it."""
    secrets: tuple[str, ...]

    @classmethod
    def parse(cls, given: str) -> Place:
        """Check a URL."""
        parts = urlsplit(given)
        options = parse_qsl(parts.query, keep_blank_values=True)
        prefix = dict(options).get("table", PREFIX)
        user, at, host = parts.netloc.rpartition("@")
        login, _, password = user.partition(":")
        hidden = {"password", "sslpassword"}
        given_secrets = [password, unquote(password), *(value for name, value in options if name in hidden)]
        secrets = tuple(sorted({one for one in given_secrets if one}, key=len, reverse=True))
        shown = [(name, value) for name, value in options if name not in hidden]
        name = urlunsplit(parts._replace(netloc=f"{login}{at}{host}", query=_query(shown)))
        if not _PREFIXES.fullmatch(prefix):
            raise UsageError(
                f"{name}: table={prefix} is not a valid prefix for table names; use up to 40 lower-case letters, "
                "digits and _"
            )
        url = urlunsplit(parts._replace(query=_query([one for one in options if one[0] != "table"])))
        return cls(url, prefix, name, secrets)

    def without_secrets(self, message: str) -> str:
        """A message of the driver with passwords removed."""
        for secret in self.secrets:
            message = message.replace(secret, "***")
        return message


def _query(options: list[tuple[str, str]]) -> str:
    return urlencode(options, quote_via=quote, safe="/")
