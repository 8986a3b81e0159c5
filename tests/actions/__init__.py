"""Tests of dedupe.actions."""
