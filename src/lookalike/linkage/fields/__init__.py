"""The fields of records: the kind of each, and its values in normal form."""
