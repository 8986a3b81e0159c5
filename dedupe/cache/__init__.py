"""What is remembered between scans, and when it may be believed."""
