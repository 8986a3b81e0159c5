"""Tests of workers of other machines."""
