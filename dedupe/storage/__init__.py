"""What the operating system says and gives: stats, volumes, readers, paths.  Decides nothing about duplicates."""
