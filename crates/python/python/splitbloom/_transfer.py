"""Copies filters to and from servers, through a connection of redis-py or valkey-py.

A filter gets its key only when it is complete: until then it has a temporary key in the same slot,
which expires if the load is abandoned. Each step is a transaction, so that no key lacks an expiry
that should have one, whenever this process ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from splitbloom._native import CountingFilter, KeyExistsError, temporary_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from splitbloom import Filter

# How long a filter stays whose load has been abandoned.
ABANDONED_SECONDS = 3_600


def push(filter: Filter | CountingFilter, connection: Any, key: str | bytes, replace: bool) -> None:
    """Loads `filter`, which nobody changes, into the server."""
    name = bytes_of(key)
    if not replace and ask(connection, "EXISTS", name):
        raise exists(key)
    command = "CF.LOADCHUNK" if isinstance(filter, CountingFilter) else "BF.LOADCHUNK"
    temporary = temporary_key(name)
    expire = ("EXPIRE", temporary, ABANDONED_SECONDS)
    try:
        iterator = 0
        while (chunk := filter._chunk(iterator)) is not None:
            iterator, data = chunk
            transact(connection, (command, temporary, iterator, data), expire)
        rename = ("RENAME" if replace else "RENAMENX", temporary, name)
        # If another client has taken the key, the temporary one is still there.
        _, renamed, _ = transact(connection, ("PERSIST", temporary), rename, expire)
        if not renamed:
            raise exists(key)
    except BaseException:
        try:
            connection.execute_command("UNLINK", temporary)
        except Exception:
            pass  # it expires
        raise


def chunks(command: str, connection: Any, key: str | bytes) -> Iterator[bytes]:
    """The chunks of a filter on the server."""
    name, iterator = bytes_of(key), 0
    while True:
        # Chunks are no text, even if the connection decodes replies.
        iterator, chunk = ask(connection, command, name, iterator, NEVER_DECODE=True)
        if iterator == 0:
            return
        if not isinstance(chunk, bytes):
            raise TypeError("the connection decodes replies that are no text")
        yield chunk


def ask(connection: Any, *command: str | bytes | int, **options: bool) -> Any:
    """The reply to a command."""
    reply = connection.execute_command(*command, **options)
    if hasattr(reply, "__await__"):
        if hasattr(reply, "close"):
            reply.close()
        raise TypeError("a connection of asyncio cannot be used: take one that waits")
    return reply


def transact(connection: Any, *commands: tuple[str | bytes | int, ...]) -> list[Any]:
    """The replies to the commands of a transaction."""
    with connection.pipeline(transaction=True) as pipeline:
        for command in commands:
            pipeline.execute_command(*command)
        replies: list[Any] = pipeline.execute()
    return replies


def bytes_of(key: str | bytes) -> bytes:
    if not isinstance(key, str | bytes):
        raise TypeError(f"a key is a str or bytes, not {type(key).__name__}")
    return key.encode() if isinstance(key, str) else key


def exists(key: str | bytes) -> KeyExistsError:
    return KeyExistsError(f"{key!r} exists already: replace=True takes its place")
