"""Tests of dedupe.query."""
