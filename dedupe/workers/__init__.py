"""Who does the work, how much at once, and in which order.  Knows nothing of the work itself."""
