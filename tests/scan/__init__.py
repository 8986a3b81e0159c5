"""Tests of the room `scan`."""
