"""Tests of the room `walk`."""
