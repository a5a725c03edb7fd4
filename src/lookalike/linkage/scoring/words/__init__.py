"""Scoring of records made of words: evidence, chance, weights learned from best partners."""
