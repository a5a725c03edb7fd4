"""What goes wrong with files: bytes changed, cut, repeated, inserted; lengths and counts that lie."""

from __future__ import annotations

import random
import struct

ODD = (
    b"\x00",
    b"\xff\xfe",
    b"\n",
    b"\r",
    b"\r\n",
    b'"',
    b"{",
    b"[",
    b"]",
    b",",
    b"\t",
    b"null",
    b"[]",
    b"{}",
    b"-1",
    b"NaN",
    b"9" * 5000,
    b"\xef\xbb\xbf",
    b"<",
    b"\\ud800",
    b"\\",
    b"\xed\xa0\x80",
    b"\x1b[2J",
    b"[" * 2000,
    b'{"a":' * 500,
    b"<div>" * 2000,
    b" " * 70_000,
    b"\n" * 5000,
    b"&#0;",
    b"1e999",
    b"PAR1",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\xe2\x80\xa8",
)
NUMBERS = (0, 1, -1, 2, 127, 255, 2**15, 2**16 - 1, 2**31 - 1, -(2**31), 2**30, 10**6)


def mutate(data: bytes, some: random.Random) -> bytes:
    """The data with a few things wrong; sometimes nothing."""
    changed = bytearray(data)
    for _ in range(some.choice((0, 0, 1, 1, 2, 5))):
        _mutate_once(changed, some)
    return bytes(changed)


def _mutate_once(data: bytearray, some: random.Random) -> None:
    at = some.randint(0, len(data))
    if some.random() < 0.3:  # headers and footers are where formats keep their counts
        at = min(len(data), some.randint(0, 80)) if some.random() < 0.5 else max(0, len(data) - some.randint(0, 400))
    kind = some.randrange(8)
    if kind == 0 and at < len(data):
        data[at] = some.randrange(256)
    elif kind == 1 and at < len(data):
        data[at] ^= 1 << some.randrange(8)
    elif kind == 2:
        del data[at : at + some.choice((1, 4, 200))]
    elif kind == 3:
        data[at:at] = data[at : at + 100] * some.randint(1, 20)
    elif kind == 4:
        data[at:at] = some.choice(ODD)
    elif kind == 5:
        del data[at:]
    elif kind == 6:
        number = struct.pack("<q", some.choice(NUMBERS))[: some.choice((1, 2, 4, 8))]
        data[at : at + len(number)] = number
    else:
        other = some.randint(0, len(data))
        data[at : at + 50] = data[other : other + 50]
