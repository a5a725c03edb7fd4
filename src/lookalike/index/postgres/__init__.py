"""An index in a PostgreSQL database, for several servers that write to one store."""
