"""Which files are equal: fingerprints tell apart, full reads prove.  Knows no cache."""
