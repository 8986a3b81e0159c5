"""Benchmarks that print the README's tables; pytest collects nothing here."""
