"""Answers under way: the memory and disk that all of them may take, and how they are sent piece by piece."""
