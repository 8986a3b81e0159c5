"""Tests of the room `folders`."""
