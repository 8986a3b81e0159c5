"""From roots to a table of files.  Opens no file, and knows no cache."""
