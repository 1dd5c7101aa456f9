"""A site of PAGES pages, each with 4 links, on a free port of this machine, which it prints."""

import asyncio
import sys

PAGES = int(sys.argv[1])


def page(number: int) -> bytes:
    links = [number * 2 + 1, number * 2 + 2, number * 7, number + 1]
    body = "".join(f"<a href='/{n % PAGES}'>" for n in links).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            request = await reader.readuntil(b"\r\n\r\n")
            writer.write(page(int(request.split(b" ", 2)[1][1:] or 0)))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
