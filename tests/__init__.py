"""The tests of dedupe, and the corpora and benchmarks that they share."""
