"""Questions to several places at once: which contents of some does another not hold."""
