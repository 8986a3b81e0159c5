"""The tests: one file for each module, and one for each kind of failure that users of such tools have met."""
