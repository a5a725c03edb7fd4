"""Long rows of JSONL and CSV: find where they end and where their long values are, and unescape these in place.

Unescaping never makes text longer, so a value of any size needs no second buffer. UTF-8 is not checked here.
"""

import numpy as np

from lookalike.kernels.compile import inlined, kernel

QUOTE, BACKSLASH, NEWLINE = ord('"'), ord("\\"), ord("\n")
QUOTED, ODD, CAN_OPEN, BEFORE = 0, 1, 2, 3
"""The state of `end_of_csv_row`: inside quotes; in an odd run of quotes; whether it may open a field; the last byte."""
CONTROL, ESCAPE, SURROGATE = -1, -2, -3
"""The results of `unescape_json` for a control character, an unknown escape, and half of a surrogate pair."""


@kernel("uint8[], int64, int64[,] -> int64")
def find_json_strings(data, least, spans):
    """Find where the strings of at least `least` bytes begin and end, without their quotes; return their number.

    `spans` is int64[data.size // least + 1, 2]. A string without a closing quote does not count.
    """
    count, i = np.int64(0), np.int64(0)
    while i < data.size:
        if data[i] != QUOTE:
            i += 1
            continue
        start = i + 1
        i = start
        while i < data.size and data[i] != QUOTE:
            i += 2 if data[i] == BACKSLASH else 1
        if i < data.size and i - start >= least:
            spans[count, 0], spans[count, 1] = start, i
            count += 1
        i += 1
    return count


@inlined
def _hex_value(data, i, end):
    """The value of the four hexadecimal digits data[i : i + 4]; -1 if they are not all hexadecimal digits."""
    value = np.int64(0)
    if i + 4 > end:
        return np.int64(-1)
    for k in range(4):
        digit = np.int64(data[i + k])
        lower = digit | 0x20
        if ord("0") <= digit <= ord("9"):
            value = value * 16 + digit - ord("0")
        elif ord("a") <= lower <= ord("f"):
            value = value * 16 + lower - ord("a") + 10
        else:
            return np.int64(-1)
    return value


@inlined
def _plain_escape(byte):
    """The byte that is written as a backslash and this byte; -1 if there is none."""
    if byte in (QUOTE, BACKSLASH, ord("/")):
        return np.int64(byte)
    for escape, meant in ((ord("n"), 10), (ord("t"), 9), (ord("r"), 13), (ord("b"), 8), (ord("f"), 12)):
        if byte == escape:
            return np.int64(meant)
    return np.int64(-1)


@inlined
def _write_utf8(data, out, code):
    """Write a code point as UTF-8; return the position after it."""
    if code < 0x80:
        data[out] = code
        return out + 1
    size = 2 if code < 0x800 else 3 if code < 0x10000 else 4
    for k in range(size - 1, 0, -1):
        data[out + k] = 0x80 | (code & 0x3F)
        code >>= 6
    data[out] = (0xF00 >> size) & 0xFF | code
    return out + size


@inlined
def _escaped_code(data, i, end):
    r"""The code point of the escape \uXXXX at data[i], or of a surrogate pair of them; negative if there is none."""
    code = _hex_value(data, i + 2, end)
    if code < 0:
        return np.int64(ESCAPE)
    if code < 0xD800 or code > 0xDFFF:
        return code
    low = np.int64(-1)
    if code < 0xDC00 and i + 8 <= end and data[i + 6] == BACKSLASH and data[i + 7] == ord("u"):
        low = _hex_value(data, i + 8, end)
    if low < 0xDC00 or low > 0xDFFF:
        return np.int64(SURROGATE)
    return 0x10000 + ((code - 0xD800) << 10) + low - 0xDC00


@kernel("uint8[], int64, int64 -> int64")
def unescape_json(data, start, end):
    """Unescape the JSON string data[start:end] in place; return its new end, or a code for what is wrong with it."""
    out = i = start
    while i < end:
        if data[i] != BACKSLASH:
            if data[i] < 0x20:
                return np.int64(CONTROL)
            data[out] = data[i]
            out, i = out + 1, i + 1
            continue
        if i + 1 < end and data[i + 1] == ord("u"):
            code, size = _escaped_code(data, i, end), np.int64(6)
            size = 12 if code >= 0x10000 else size
        else:
            code, size = _plain_escape(data[i + 1]) if i + 1 < end else np.int64(-1), np.int64(2)
            code = np.int64(ESCAPE) if code < 0 else code
        if code < 0:
            return code
        out, i = _write_utf8(data, out, code), i + size
    return out


@kernel("uint8[], int64, int64[] -> int64")
def end_of_csv_row(data, delimiter, state):
    """The end of the first row in `data`, or 0 if it continues; `state` (int64[4]) carries over from the piece before.

    A run of quotes counts if its length is odd and it is inside quotes or at the start of a field.
    """
    for i in range(data.size):
        byte = np.int64(data[i])
        if byte == QUOTE:
            if state[BEFORE] != QUOTE:
                starts = state[BEFORE] == NEWLINE or state[BEFORE] == delimiter
                state[ODD], state[CAN_OPEN] = 0, np.int64(starts)
            state[ODD] ^= 1
        else:
            if state[BEFORE] == QUOTE and state[ODD] and (state[QUOTED] or state[CAN_OPEN]):
                state[QUOTED] ^= 1
            if byte == NEWLINE and not state[QUOTED]:
                return i + 1
        state[BEFORE] = byte
    return np.int64(0)


@kernel("uint8[], int64, int64, int64[,] -> int64")
def find_csv_fields(data, delimiter, least, spans):
    """Find where the fields of one row that have at least `least` bytes, including quotes, begin and end.

    `spans` is int64[data.size // least + 1, 2]. Returns the number of fields, or -1 if a quote is not closed.
    """
    count, start, quoted = np.int64(0), np.int64(0), False
    for i in range(data.size + 1):
        if i < data.size and data[i] == QUOTE:
            quoted = not quoted if quoted or i == start or (data[start] == QUOTE and data[i - 1] == QUOTE) else False
        elif i == data.size or (data[i] == delimiter and not quoted):
            if i - start >= least:
                spans[count, 0], spans[count, 1] = start, i
                count += 1
            start = i + 1
    return np.int64(-1) if quoted else count


@kernel("uint8[], int64, int64 -> int64")
def unescape_csv(data, start, end):
    """Remove the quotes from the field data[start:end] in place; return its new end."""
    quoted = start < end and data[start] == QUOTE
    out, i = start, start + 1 if quoted else start
    while i < end:
        if quoted and data[i] == QUOTE:
            i += 1
            quoted = i < end and data[i] == QUOTE  # two stand for one; after a single one, the rest is literal
            if not quoted:
                continue
        data[out] = data[i]
        out, i = out + 1, i + 1
    return out
