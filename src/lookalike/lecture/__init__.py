"""Methods of the lecture notes as runnable examples that no job uses."""
