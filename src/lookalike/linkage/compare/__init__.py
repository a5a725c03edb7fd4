"""How well the fields of two records agree."""
