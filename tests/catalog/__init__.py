"""Tests of dedupe.catalog and of what is done with catalogs."""
