"""Digest backends, and the choice among them.  Knows nothing of files."""
