"""Addresses of PostgreSQL databases, which may hold a password that no message may show.

This module reads an address before the driver does. It refuses an address that can be read in two
ways, such as one with an @ in the password: the driver would take a part of the password for a host
and name it in its messages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from oddarm.errors import ParameterError

__all__ = ["PostgresURL", "is_postgres", "without_password"]

_PLACE = r"(?:\[[^\]@/]*\]|[^:,\[\]@/?]*)(?::\d*)?"
_URL = re.compile(
    r"(?P<scheme>postgres(?:ql)?://)"
    r"(?:(?P<user>[^:@/]*)(?::(?P<password>[^@/]*))?@)?"
    rf"(?P<place>{_PLACE}(?:,{_PLACE})*(?:/[^@?]*)?)"
    r"(?:\?(?P<query>[^@]*))?"
)
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SECRET = ("password", "sslpassword", "oauth_client_secret")
"""Options of an address whose values no message may show."""


@dataclass(frozen=True)
class PostgresURL:
    """An address that can be read in one way only.

    Attributes:
        text: The address as it was given.
        shown: The address without the password and without options.
    """

    text: str = field(repr=False)
    shown: str
    _secrets: frozenset[str] = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> PostgresURL:
        """Return the address, or raise ParameterError, which does not quote it."""
        match = _URL.fullmatch(text)
        if match is None or _BAD_PERCENT.search(text):
            raise ParameterError(
                "the PostgreSQL address cannot be read, must look like "
                "postgresql://user:password@host:5432/database: write special characters in it "
                "as %40 for @, %2F for / and %25 for %."
            )
        options = parse_qsl(match["query"] or "", keep_blank_values=True)
        values = [match["password"] or "", *(value for key, value in options if key in _SECRET)]
        user = "" if match["user"] is None else f"{match['user']}@"
        secrets = {form for secret in values for form in (secret, unquote(secret)) if form}
        return cls(text, f"{match['scheme']}{user}{match['place']}", frozenset(secrets))

    def reason(self, error: BaseException) -> str:
        """Return the driver's message in one line; only its type if it holds a password."""
        words = " ".join(str(error).split())
        return words if words and not self.holds_secret(words) else type(error).__name__

    def holds_secret(self, words: str) -> bool:
        """Return whether a text holds the password."""
        return any(secret in words for secret in self._secrets)


def is_postgres(text: str) -> bool:
    """Return whether a text begins like the address of a PostgreSQL database."""
    return text.lower().startswith(("postgresql:", "postgres:"))


def without_password(text: str) -> str:
    """Return the name of a file, or an address without what may be a password."""
    if is_postgres(text):
        try:
            return PostgresURL.parse(text).shown
        except ParameterError:
            return "postgresql://…"
    scheme, separator, rest = text.partition("://")
    return f"{scheme}://…" if separator and "@" in rest else text
