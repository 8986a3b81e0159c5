"""Tests of the room `digests`."""
