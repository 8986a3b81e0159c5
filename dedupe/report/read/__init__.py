"""From a saved report, our own or another finder's, back to a result."""
