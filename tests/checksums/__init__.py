"""Tests of the room `checksums`."""
