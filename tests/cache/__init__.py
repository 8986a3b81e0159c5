"""Tests of the room `cache`."""
