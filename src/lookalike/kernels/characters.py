"""UTF-8 as characters: which ones occur, how many each text has, and their numbers."""

from lookalike.kernels.compile import bare, kernel


@bare
def _decode(data, i):
    """The code point of the character at byte i of valid UTF-8, and the position of the next one."""
    lead = data[i]
    if lead < 0x80:
        return lead + 0, i + 1
    if lead < 0xE0:
        return (lead & 0x1F) << 6 | (data[i + 1] & 0x3F), i + 2
    if lead < 0xF0:
        return (lead & 0x0F) << 12 | (data[i + 1] & 0x3F) << 6 | (data[i + 2] & 0x3F), i + 3
    return ((lead & 0x07) << 18 | (data[i + 1] & 0x3F) << 12 | (data[i + 2] & 0x3F) << 6 | (data[i + 3] & 0x3F)), i + 4


@kernel("uint8[], int64[], bool[]")
def find_characters(data, ends, found):
    """Mark the code points that occur, in bool[0x110000]."""
    i = ends[0]
    while i < ends[ends.size - 1]:
        code, i = _decode(data, i)
        found[code] = True


@kernel("uint8[], int64[], int64[]")
def count_characters(data, ends, offsets):
    """The position of each text if every character takes one place: int64[texts + 1]."""
    at = 0
    for text in range(ends.size - 1):
        offsets[text] = at
        for i in range(ends[text], ends[text + 1]):
            at += (data[i] & 0xC0) != 0x80  # not a continuation byte
    offsets[ends.size - 1] = at


@kernel("uint8[], int64[], uint32[], int64[], C[]", C=("uint8", "uint32"))
def number_characters(data, ends, numbers, offsets, chars):
    """Replace each character by its number, given by code point in `numbers`."""
    for text in range(ends.size - 1):
        i, at = ends[text], offsets[text]
        while i < ends[text + 1]:
            code, i = _decode(data, i)
            chars[at] = numbers[code]
            at += 1
