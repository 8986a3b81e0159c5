"""Tests of the room `compare`."""
