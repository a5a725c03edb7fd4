"""What an interrupt prints before the command line has started, while modules are still being imported.

Imports only what Python itself has imported by then, so that there is hardly a moment without it.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

SIGINT = 2
"""As in the module signal."""


def end_quietly() -> None:
    """Print one line instead of a traceback for an interrupt before `main` has started."""
    others = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            others(kind, error, trace)
            return
        try:
            os.write(2, b"lookalike: interrupted\n")
        finally:
            os._exit(128 + getattr(error, "signal_number", SIGINT))

    sys.excepthook = hook
