"""The table of files, sets of them by index, and the groups made of it.  Touches no disk."""
