"""Parse `postgresql://user@host/database?table=prefix`, and show it without a password."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from lookalike.errors import UsageError

PREFIX = "lookalike"
"""The default prefix of the names of the tables."""
_PREFIXES = re.compile(r"[a-z_][a-z0-9_]{0,39}")
_URL = re.compile(
    r"(?P<scheme>\w+://)(?:(?P<user>[^:@/]*)(?::(?P<password>[^@/]*))?@)?(?P<rest>[^?]*)(?:\?(?P<options>.*))?",
    re.DOTALL,
)
"""As the driver reads a URL: everything up to the first @ is the login, even with characters that end the host in other
URLs."""
_HIDDEN = ("password", "sslpassword")
"""Options that are secrets."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an index is.

    Examples
    --------
    >>> place = Place.parse("postgresql://ann:secret@db/news?table=seen&sslmode=require")
    >>> place.prefix, place.name
    ('seen', 'postgresql://ann@db/news?table=seen&sslmode=require')
    >>> Place.parse("postgresql:///news?host=/run/postgresql").url
    'postgresql:///news?host=/run/postgresql'
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
        """Check a URL. The driver gets it unchanged, but without `table`: what it means there is up to the driver."""
        parts = _URL.fullmatch(given)
        if parts is None:
            raise UsageError("the URL of an index in PostgreSQL is postgresql://user@host/database?table=prefix")
        scheme, user, password, rest = parts["scheme"], parts["user"], parts["password"], parts["rest"]
        options = [(_key(option), option) for option in (parts["options"] or "").split("&") if option]
        name = _join(scheme, user, rest, [option for key, option in options if key not in _HIDDEN])
        if "@" in rest:
            raise UsageError(f"{scheme}...@{rest.rpartition('@')[2]}: write @ and / in the password as %40 and %2F")
        if rest.count("[") != rest.count("]"):
            raise UsageError(f"{name}: the address of the host must be in brackets: [::1]")
        prefix = unquote(dict(options).get("table", f"table={PREFIX}").partition("=")[2])
        if not _PREFIXES.fullmatch(prefix):
            raise UsageError(
                f"{name}: table={prefix} is not a valid prefix for table names; use up to 40 lower-case letters, "
                "digits and _"
            )
        login = user if password is None else f"{user}:{password}"
        url = _join(scheme, login, rest, [option for key, option in options if key != "table"])
        secrets = [password or "", *(option.partition("=")[2] for key, option in options if key in _HIDDEN)]
        forms = {form for secret in secrets for form in (secret, unquote(secret)) if form}
        return cls(url, prefix, name, tuple(sorted(forms, key=len, reverse=True)))

    def without_secrets(self, message: str) -> str:
        """A message of the driver with passwords removed."""
        message = message.replace(self.url, self.name)
        for secret in self.secrets:
            message = message.replace(secret, "***")
        return message


def _key(option: str) -> str:
    return unquote(option.partition("=")[0])


def _join(scheme: str, login: str | None, rest: str, options: Sequence[str]) -> str:
    query = "&".join(options)
    return f"{scheme}{'' if login is None else f'{login}@'}{rest}{f'?{query}' if query else ''}"
