"""A model of linkage in trial: one score, decoys as chance, and what may match by evidence. See docs/log.md.

It links the cases of the bench beside `link` itself (`--sketch`), so that a mechanism can be judged before it becomes
part of the package: `--without NAME` leaves one out.
"""
