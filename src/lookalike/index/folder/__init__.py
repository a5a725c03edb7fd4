"""An index in a folder: immutable segments, a log and a manifest."""
