"""The lines of a small file that an option names, such as a list of ids. Does not know what they mean."""

from __future__ import annotations

from pathlib import Path

from lookalike.errors import BadDataError, UsageError


def read_small_lines(path: Path, option: str) -> list[str]:
    r"""All lines of a file in UTF-8, without their ends; errors name the option.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "ids.txt")
    ...     _ = path.write_text("a1\na2\n")
    ...     read_small_lines(path, "--ids")
    ['a1', 'a2']
    """
    try:
        return path.read_text("utf-8-sig").splitlines()
    except FileNotFoundError:
        raise UsageError(f"{option} {path}: no such file") from None
    except IsADirectoryError:
        raise UsageError(f"{option} {path}: this is a folder; name a file") from None
    except UnicodeDecodeError as error:
        raise BadDataError(f"{option} {path}: not UTF-8 ({error}); save it as UTF-8") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{option} {path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
