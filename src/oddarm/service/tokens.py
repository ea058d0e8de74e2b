"""Tokens: who calls, and what each role may do."""

from __future__ import annotations

import hmac
import os
import re
import shlex
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from oddarm.errors import ParameterError
from oddarm.store.catalog import NAME

__all__ = [
    "LEAST_ROLE",
    "ROLES",
    "Role",
    "Token",
    "as_tokens",
    "find_token",
    "may",
    "read_token",
    "read_tokens",
    "route_of",
]

Role: TypeAlias = Literal["read-only", "worker", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
"""The roles; each may do what those before it may."""

LEAST_ROLE: dict[tuple[str, str], Role] = {
    ("GET", "/caller"): "read-only",
    ("GET", "/metrics"): "read-only",
    ("GET", "/studies"): "read-only",
    ("GET", "/studies/{name}"): "read-only",
    ("GET", "/studies/{name}/result"): "read-only",
    ("GET", "/studies/{name}/view"): "read-only",
    ("GET", "/studies/{name}/events"): "read-only",
    ("GET", "/studies/{name}/export"): "read-only",
    ("POST", "/studies/{name}/ask"): "worker",
    ("POST", "/studies/{name}/tell"): "worker",
    ("POST", "/studies/{name}/data"): "worker",
    ("POST", "/studies/{name}/give-up"): "worker",
    ("POST", "/studies/{name}/set-aside"): "worker",
    ("POST", "/studies"): "admin",
    ("POST", "/studies/{name}/pause"): "admin",
    ("POST", "/studies/{name}/resume"): "admin",
    ("DELETE", "/studies/{name}"): "admin",
}
"""The least role that may call each route; docs/service.md has the same table."""

GUARDED = ("/studies", "/metrics", "/caller")
"""What the paths of these routes begin with; all others are open: the page, health, the docs."""
SHORTEST_TOKEN = 16
REMEDY = "make one with  openssl rand -hex 24."


@dataclass(frozen=True)
class Token:
    """What a caller sends to show who it is.

    Attributes:
        name: Who is to use it; the log has this name.
        role: What it may do: "read-only", "worker" or "admin".
        secret: What callers send. It is not shown.

    Examples:
        >>> Token("ci", "worker", "0123456789abcdef")
        Token(name='ci', role='worker')
    """

    name: str
    role: Role
    secret: str = field(repr=False)

    def __post_init__(self) -> None:
        if not re.fullmatch(NAME, self.name):
            raise ParameterError(
                f"token name {self.name!r}, must be 1 to 100 letters, digits, dots, hyphens and "
                "underscores, the first a letter or digit."
            )
        if self.role not in ROLES:
            raise ParameterError(
                f"role {self.role!r} of token {self.name!r}, must be {', '.join(ROLES[:-1])} or "
                f"{ROLES[-1]}."
            )


def as_tokens(token: str | Sequence[Token] | None) -> tuple[Token, ...]:
    """Return the tokens that a service takes; a text alone is the token of an admin."""
    if token is None:
        return ()
    tokens = (Token("admin", "admin", token),) if isinstance(token, str) else tuple(token)
    for kind, values in (
        ("name", [each.name for each in tokens]),
        ("secret", [each.secret for each in tokens]),
    ):
        twice = next((i for i, value in enumerate(values) if value in values[:i]), None)
        if twice is not None:
            first = tokens[values.index(values[twice])]
            raise ParameterError(
                f"tokens {first.name!r} and {tokens[twice].name!r} have the same {kind}, must "
                "have different ones."
            )
    return tokens


def find_token(tokens: Sequence[Token], given: str) -> Token | None:
    """Return the token that was given, in a time that says nothing of the secrets."""
    sent, found = given.encode(), None
    for token in tokens:
        if hmac.compare_digest(sent, token.secret.encode()):
            found = token  # and go on, so that the time does not say which one it was
    return found


def route_of(path: str) -> str:
    """Return the path of a request with the name of the study left out.

    Examples:
        >>> route_of("/studies/latency/ask")
        '/studies/{name}/ask'
    """
    parts = path.split("/", 3)
    if len(parts) < 3 or parts[1] != "studies":
        return path
    return "/".join(["", "studies", "{name}", *parts[3:]])


def may(role: Role, least: Role) -> bool:
    """Return whether a role may do what takes at least another one."""
    return ROLES.index(role) >= ROLES.index(least)


def read_tokens(path: Path) -> tuple[Token, ...]:
    """Return the tokens in a file that only its owner may read or change.

    The file has one token alone, which is an admin's, or lines of role, name and token. Empty lines
    and lines that begin with # do not count.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if os.name == "posix" and mode & 0o077:
            raise ParameterError(
                f"the token file {path} can be read or changed by others (mode {mode:04o}), must "
                f"be for its owner alone: run  chmod 600 {shlex.quote(str(path))}"
            )
        lines = [(number, line.strip()) for number, line in enumerate(file, 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if len(lines) <= 1 and not (lines and lines[0][1].split()[0] in ROLES):
        secret = lines[0][1] if lines else ""
        _check_secret(secret, f"the token in {path}")
        return as_tokens(secret)
    return as_tokens([_token_of(line, f"{path}, line {number}") for number, line in lines])


def read_token(path: Path) -> str:
    """Return the one token in a file, to be sent to a service."""
    tokens = read_tokens(path)
    if len(tokens) != 1:
        raise ParameterError(
            f"{path} has {len(tokens)} tokens, must have the one to send: "
            "write that one to a file of its own."
        )
    return tokens[0].secret


def _token_of(line: str, where: str) -> Token:
    words = line.split()
    if not all(word.isascii() and word.isprintable() for word in words):
        raise ParameterError(f"{where} is not text, must be all printable ASCII: {REMEDY}")
    if len(words) != 3:
        raise ParameterError(
            f"{where} has {len(words)} words, must have three: role, name and token, "
            "such as  worker ci 5f2a…"
        )
    role, name, secret = words
    _check_secret(secret, f"the token in {where}")
    try:
        return Token(name, role, secret)  # type: ignore[arg-type]  # which checks the role
    except ParameterError as error:
        raise ParameterError(f"{where}: {error}") from None


def _check_secret(secret: str, what: str) -> None:
    """Refuse a token that could be guessed, or that no header can carry."""
    if len(secret) < SHORTEST_TOKEN or not (secret.isascii() and secret.isprintable()):
        raise ParameterError(
            f"{what} has {len(secret)} characters, must be {SHORTEST_TOKEN} or more, "
            f"all printable ASCII: {REMEDY}"
        )
