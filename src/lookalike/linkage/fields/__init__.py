"""The fields of records: what kind each is, and its values cleaned."""
