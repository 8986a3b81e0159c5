"""Digest backends: who computes a digest, and why.  Knows nothing of files."""
