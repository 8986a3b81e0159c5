"""Which whole folders hold the same.  Reads nothing."""
