"""What stages leave for each other, in memory or, where that is much, in files of the work folder."""
