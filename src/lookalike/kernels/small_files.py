"""Many small files: their states, reading them into one array, and writing them from one.

Without Python's lock, several threads can do this at the same time, and each call of the system takes half the time.
Paths are one after the other in a block of bytes, each with a NUL at its end (`types.paths.path_block`).
"""

from lookalike.kernels.compile import bare, bare_kernel
from lookalike.kernels.system import (
    HERE,
    NOT_FOLLOWED,
    OF_HANDLE,
    READABLE,
    close_file,
    is_allowed,
    open_file,
    read_bytes,
    status_of,
    write_bytes,
)

_KIND, _REGULAR = 0xF000, 0x8000
"""The bits of a mode that tell the type of a file, and their value for a regular file."""
_PERMISSIONS = 0o666
"""Of new files, before the process' mask."""


@bare
def _after(paths, at):
    """The place of the NUL that ends the path that begins at `at`."""
    while paths[at]:
        at += 1
    return at


@bare_kernel("uint8[], bool, int64[,]")
def list_states(paths, permission, states):
    """Look up the state of each path; symbolic links are not followed.

    Parameters
    ----------
    paths : uint8[bytes]
    permission
        Whether to look up if this process may read the files.
    states : int64[files, 4]
        Result: mode (-1 if it cannot be determined), size, time of modification in nanoseconds, and whether it is a
        regular file that this process may read, as far as was looked up.
    """
    at = 0
    for file in range(states.shape[0]):
        mode, size, modified = status_of(HERE, paths, at, NOT_FOLLOWED)
        states[file, 0], states[file, 1], states[file, 2] = mode, size, modified
        regular = mode >= 0 and mode & _KIND == _REGULAR
        states[file, 3] = regular and (not permission or is_allowed(paths, at, READABLE))
        at = _after(paths, at) + 1


@bare_kernel("uint8[], int64, int64, uint8[]")
def read_heads(paths, flags, size, heads):
    """Read the first bytes of each file.

    Parameters
    ----------
    paths : uint8[bytes]
    flags
        How to open the files.
    size
        How many bytes to read.
    heads : uint8[files * size]
        Result; nothing is written beyond the end of a file, or if it cannot be read.
    """
    at = 0
    for file in range(heads.size // size):
        handle = open_file(paths, at, flags, 0)
        if handle >= 0:
            read_bytes(handle, heads, file * size, size)
            close_file(handle)
        at = _after(paths, at) + 1


@bare_kernel("uint8[], int64, int64[], int64[], uint8[] -> int64")
def read_files(paths, flags, edges, modified, data):
    """Read files, up to the first that is not as it was when it was found.

    Parameters
    ----------
    paths : uint8[bytes]
    flags
        How to open the files.
    edges : int64[files + 1]
        File i goes to data[edges[i]:edges[i + 1]].
    modified : int64[files]
        When each was modified, in nanoseconds.
    data : uint8[bytes + 1]
        Result. The last byte has no meaning: one byte more than a file should have is read, to see if it is there.

    Returns
    -------
    int64
        The number of the file that could not be read, or has another size or time than expected; the number of files
        if there is none.
    """
    at = 0
    for file in range(modified.size):
        end = _after(paths, at)
        size = edges[file + 1] - edges[file]
        handle = open_file(paths, at, flags, 0)
        if handle < 0:
            return file
        found = read_bytes(handle, data, edges[file], size + 1)
        _, now, when = status_of(handle, paths, end, OF_HANDLE)
        close_file(handle)
        if found != size or now != size or when != modified[file]:
            return file
        at = end + 1
    return modified.size


@bare
def _write_all(handle, data, start, stop):
    """Write data[start:stop], in several pieces if necessary; tell whether that worked."""
    while start < stop:
        written = write_bytes(handle, data, start, stop - start)
        if written <= 0:
            return False
        start += written
    return True


@bare_kernel("uint8[], int64, uint8[], int64[], int64[] -> int64")
def write_files(paths, flags, data, starts, stops):
    """Write data[starts[i]:stops[i]] to file i, up to the first file that fails.

    Parameters
    ----------
    paths : uint8[bytes]
    flags
        How to open the files.
    data : uint8[bytes], read-only
    starts, stops : int64[files]

    Returns
    -------
    int64
        The number of the file that could not be written; the number of files if there is none.
    """
    at = 0
    for file in range(starts.size):
        handle = open_file(paths, at, flags, _PERMISSIONS)
        if handle < 0:
            return file
        whole = _write_all(handle, data, starts[file], stops[file])
        if close_file(handle) < 0 or not whole:
            return file
        at = _after(paths, at) + 1
    return starts.size
