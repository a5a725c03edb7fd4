"""Record linkage: records of the same entity. fields -> blocking -> compare -> scoring -> decide."""
