"""Lists of checksums: making them and checking them."""
