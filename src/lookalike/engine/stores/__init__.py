"""Data that one stage leaves for another: in memory or, if there is much of it, in files of the work folder."""
