"""Races: many processes answer the same questions at once, and exactly one answer counts."""
